/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time without kernels is told piece by piece, each time the GPU thread wakes up: a job that is
 * killed meanwhile has told all but the last piece. Versions of CUPTI that hang, or mix launches
 * up, when kinds are switched are left alone.
 */
#include "gpu_switch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../collector/format/record.h"
#include "cupti_failed.h"
#include "cupti_share.h"
#include "mark_name.h"
#include "options.h"
#include "session.h"
#include "thread.h"
#include "ticks.h"

#define WINDOW_LEAST_MS 10
#define WINDOW_MOST_MS	3600000
#define NS_PER_MS	1000000ull

static struct {
	uint64_t on_ns, off_ns; /* of the duty cycle; 0: kernels are always on */
	uint64_t next_ns;	/* when to switch, ticks_monotonic() */
	uint64_t off_ticks;	/* untold time without kernels begins; 0: they are on */
	uint64_t told_ticks;	/* and ends, when they have been switched on again */
	uint32_t windows;	/* that were off */
	uint32_t graphs_told;
	bool may_switch;
	char duty_text[200]; /* until it is told */
} now;

/* facts: 13.0 may hang in cuptiActivityDisable(), 13.0 and 13.1 give launches of graphs wrong
 * numbers after a second start; updates of 13.1 do not all have a number of their own. */
static bool may_switch(uint32_t version)
{
	return version < 130000 || version >= 130200;
}

/* "200/800": milliseconds on and off. */
static bool read_duty(const char *text, uint64_t *on_ns, uint64_t *off_ns)
{
	unsigned int on_ms, off_ms;
	char end;
	if (sscanf(text, "%7u/%7u%c", &on_ms, &off_ms, &end) != 2 || on_ms < WINDOW_LEAST_MS ||
	    off_ms < WINDOW_LEAST_MS || on_ms > WINDOW_MOST_MS || off_ms > WINDOW_MOST_MS)
		return false;
	*on_ns = on_ms * NS_PER_MS;
	*off_ns = off_ms * NS_PER_MS;
	return true;
}

void gpu_switch_open(uint32_t version, bool graphs_are_whole)
{
	char *text = now.duty_text;
	const size_t size = sizeof(now.duty_text);
	memset(&now, 0, sizeof(now));
	now.may_switch = may_switch(version);
	if (session_control)
		atomic_store(&session_control->graphs_now,
			     graphs_are_whole ? RING_GRAPHS_WHOLE : RING_GRAPHS_NODES);
	if (!shim_options.duty)
		return;
	if (!read_duty(shim_options.duty, &now.on_ns, &now.off_ns)) {
		snprintf(text, size,
			 "kernels are always timed: GPUTRACE_DUTY=%.40s is not ON/OFF, both "
			 "%u to %u ms",
			 shim_options.duty, WINDOW_LEAST_MS, WINDOW_MOST_MS);
	} else if (!now.may_switch) {
		now.on_ns = now.off_ns = 0;
		snprintf(text, size,
			 "kernels are always timed: the CUPTI of CUDA 13.0 and 13.1 hangs or mixes "
			 "launches up when it is switched");
	} else {
		now.next_ns = ticks_monotonic() + now.on_ns;
		snprintf(text, size, "kernels are timed %llu ms, then not for %llu ms",
			 (unsigned long long)(now.on_ns / NS_PER_MS),
			 (unsigned long long)(now.off_ns / NS_PER_MS));
	}
}

bool gpu_switch_is_safe(void)
{
	return now.may_switch;
}

long gpu_switch_wait_ms(long most_ms)
{
	if (!now.on_ns)
		return most_ms;
	uint64_t time_ns = ticks_monotonic();
	if (time_ns >= now.next_ns)
		return 1;
	uint64_t left_ms = (now.next_ns - time_ns) / NS_PER_MS + 1;
	return left_ms < (uint64_t)most_ms ? (long)left_ms : most_ms;
}

static void switch_kernels(void)
{
	uint64_t time_ns = ticks_monotonic();
	if (!now.on_ns || time_ns < now.next_ns)
		return;
	if (now.off_ticks) {
		if (cupti_failed_note(CUPTI_FAILED_KIND_ON,
				      cupti_share_enable_kind(CUPTI_KIND_CONCURRENT_KERNEL)))
			return; /* tried again next time; the time goes on being told */
		now.told_ticks = ticks_now();
		now.next_ns = time_ns + now.on_ns;
		return;
	}
	uint64_t begin_ticks = ticks_now();
	if (cupti_share_disable_kind(CUPTI_KIND_CONCURRENT_KERNEL))
		return;
	now.off_ticks = begin_ticks;
	now.told_ticks = 0;
	now.windows++;
	now.next_ns = time_ns + now.off_ns;
}

static void switch_graphs(void)
{
	struct ring_control *control = session_control;
	uint32_t wanted = atomic_load_explicit(&control->graphs_wanted, memory_order_acquire);
	if ((wanted != RING_GRAPHS_WHOLE && wanted != RING_GRAPHS_NODES) ||
	    wanted == atomic_load_explicit(&control->graphs_now, memory_order_relaxed))
		return;
	bool is_done =
		now.may_switch &&
		!(wanted == RING_GRAPHS_WHOLE ? cupti_share_enable_kind(CUPTI_KIND_GRAPH_TRACE)
					      : cupti_share_disable_kind(CUPTI_KIND_GRAPH_TRACE));
	/* Pairs with the acquire load of `gputrace capture`. */
	atomic_store_explicit(&control->graphs_now, is_done ? wanted : RING_GRAPHS_REFUSED,
			      memory_order_release);
	if (!is_done)
		atomic_store(&control->graphs_wanted, RING_GRAPHS_AS_STARTED);
	now.graphs_told = is_done ? wanted : RING_GRAPHS_REFUSED;
}

void gpu_switch_turn(void)
{
	switch_kernels();
	switch_graphs();
}

static void tell_off(struct thread *thread)
{
	uint64_t end_ticks = now.told_ticks ? now.told_ticks : ticks_now();
	uint64_t name = mark_name_number(
		thread, mark_name_intern(MARK_KERNELS_OFF, strlen(MARK_KERNELS_OFF)));
	uint64_t domain = mark_name_number(
		thread, mark_name_intern(MARK_OWN_DOMAIN, strlen(MARK_OWN_DOMAIN)));
	struct record_mark *record = thread_reserve(thread, RECORD_KIND_mark, sizeof(*record));
	if (!record)
		return; /* told with the next piece */
	*record = (struct record_mark){
		.head = {RECORD_KIND_mark, sizeof(*record), 0},
		.begin_ticks = now.off_ticks,
		.end_ticks = end_ticks,
		.name = name,
		.domain = domain,
		.value = now.windows,
		.type = MARK_SPAN,
		.source = MARK_OWN,
		.peer = MARK_NO_PEER,
	};
	thread_commit(thread);
	now.off_ticks = now.told_ticks ? 0 : end_ticks;
}

static void tell_graphs(void)
{
	static const char *const words[] = {
		[RING_GRAPHS_WHOLE] = "whole: graphs instantiated from now on",
		[RING_GRAPHS_NODES] = "nodes: graphs instantiated from now on",
		[RING_GRAPHS_REFUSED] = "asked for, but this CUPTI cannot be switched safely",
	};
	if (now.graphs_told && now.graphs_told < sizeof(words) / sizeof(words[0]))
		session_info("gpu_times.graphs_switched", words[now.graphs_told]);
	now.graphs_told = 0;
}

void gpu_switch_tell(struct thread *thread, bool is_last)
{
	char text[24];
	if (now.duty_text[0])
		session_info("gpu_times.duty", now.duty_text);
	now.duty_text[0] = '\0';
	if (now.off_ticks)
		tell_off(thread);
	tell_graphs();
	if (is_last && now.windows) {
		snprintf(text, sizeof(text), "%u", now.windows);
		session_info("gpu_times.duty_count", text);
	}
}
