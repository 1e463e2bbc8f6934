/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs CUPTI: enables its records and its callbacks of wrapped functions (they leave the
 * correlation id in the open call), and fetches what it holds from a thread of ours every 100 ms.
 * Who else wants CUPTI is cupti_share.c's matter; what the records say is gpu_records.c's.
 */
#include "gpu_activity.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bound_past.h"
#include "callback_set.h"
#include "cupti_copies.h"
#include "cupti_failed.h"
#include "cupti_find.h"
#include "cupti_kinds.h"
#include "cupti_others.h"
#include "cupti_pauses.h"
#include "cupti_share.h"
#include "gpu_buffers.h"
#include "gpu_events.h"
#include "gpu_pause.h"
#include "gpu_records.h"
#include "gpu_switch.h"
#include "injection.h"
#include "lifecycle.h"
#include "options.h"
#include "own_threads.h"
#include "real.h"
#include "session.h"
#include "shim_log.h"
#include "thread.h"
#include "ticks.h"
#include "wrap.h"

#define PERIOD_MS	100
#define ASK_MS		2
#define SWITCH_MS	20 /* how late CUPTI follows the switch of recording */
#define FINISH_LIMIT_NS 2000000000ull

static struct cupti cupti;
static _Atomic uint32_t running, stop, stopped;
static bool touched;	 /* CUPTI was set up in this process or, before a fork, in its parent */
static int flush_result; /* the first failure, told once */
static uint32_t pauses_told;
static bool managed_asked, managed_told;
static int managed_result;

static void convert(void *thread, uint8_t *bytes, size_t valid_size)
{
	gpu_records_convert(&cupti, thread, bytes, valid_size);
}

void gpu_activity_drain(void)
{
	struct thread *thread = thread_now;
	if (atomic_load_explicit(&running, memory_order_acquire) && thread->is_live)
		gpu_buffers_drain(convert, thread);
}

/* ---- correlation ids ---- */

/* Whether a function of that name starts or awaits GPU work; the runtime's names end in _v7000. */
static bool wants_correlation(const char *name, int domain)
{
	size_t length = strlen(name);
	if (domain == CUPTI_DOMAIN_RUNTIME) {
		size_t end = length;
		while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
			end--;
		if (end > 2 && end < length && name[end - 1] == 'v' && name[end - 2] == '_')
			length = end - 2;
	}
	const struct wrap_library *library =
		domain == CUPTI_DOMAIN_RUNTIME ? &wrap_cudart : &wrap_driver;
	for (unsigned int row = 0; row < library->row_count; row++) {
		const char *wrapped = library->rows[row].name;
		if (!strncmp(wrapped, "__", 2) && strncmp(name, "__", 2))
			wrapped += 2;
		if ((library->rows[row].effect & EFFECT_WAITS) && !strncmp(wrapped, name, length) &&
		    !wrapped[length])
			return true;
	}
	return false;
}

static unsigned int enable_callbacks(int domain)
{
	unsigned int enabled = 0;
	/* A call of the runtime ends in calls of the driver, and those are recorded then. */
	if (lifecycle_is_injected && domain == CUPTI_DOMAIN_RUNTIME)
		return 0;
	for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
		const char *name = NULL;
		if (cupti.GetCallbackName(domain, id, &name) || !name)
			continue;
		bool is_wanted = lifecycle_is_injected ? injection_wants(name, id)
						       : wants_correlation(name, domain);
		if (is_wanted && !cupti_share_enable_callback(domain, id))
			enabled++;
	}
	return enabled;
}

/* ---- the thread ---- */

static uint64_t read_gpu_clock(void)
{
	uint64_t now_ns = 0;
	return cupti_failed_note(CUPTI_FAILED_CLOCK, cupti.GetTimestamp(&now_ns)) ? 0 : now_ns;
}

static void count_dropped(void)
{
	size_t dropped = 0;
	if (!cupti_failed_note(CUPTI_FAILED_DROPPED,
			       cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped)) &&
	    dropped)
		gpu_records_count_dropped(dropped);
}

static void tell_pauses(void)
{
	char text[160];
	uint64_t total_ns;
	uint32_t pauses = cupti_pauses_count(&total_ns);
	if (!pauses)
		return;
	pauses_told = pauses;
	snprintf(text, sizeof(text),
		 "the program's own profiler had CUPTI %u %s, %llu ms in all, without GPU times "
		 "here",
		 pauses, pauses == 1 ? "time" : "times", (unsigned long long)(total_ns / 1000000));
	session_info("gpu_times.paused", text);
}

static void tell_managed(void)
{
	char text[160];
	if (!managed_asked || managed_told)
		return;
	managed_told = true;
	session_info("gpu_times.managed",
		     managed_result
			     ? cupti_kinds_result(&cupti, managed_result, text, sizeof(text),
						  "migrations of managed memory are not recorded")
			     : "migrations of managed memory are recorded");
}

static void tell_flush(int result)
{
	char text[160];
	if (!result || flush_result)
		return;
	flush_result = result;
	session_info("gpu_times.flush", cupti_kinds_result(&cupti, result, text, sizeof(text),
							   "cuptiActivityFlushAll failed"));
}

/* At most once a second: what CUPTI says it cost the program itself. */
static void tell_overhead(bool is_last)
{
	static uint64_t told_ns, told_at_ns;
	uint64_t overhead_ns = gpu_records_overhead_ns(), now_ns = ticks_monotonic();
	char text[24];
	if (overhead_ns == told_ns || (!is_last && now_ns - told_at_ns < 1000000000ull))
		return;
	told_ns = overhead_ns;
	told_at_ns = now_ns;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)overhead_ns);
	session_info("gpu_times.overhead_ns", text);
}

/* Counters of managed memory need a driver that runs, so not at the start of the session. */
static void enable_managed(void)
{
	union {
		void *object;
		int (*function)(int *);
	} count = {real_driver_symbol("cuDeviceGetCount")};
	int devices = 0;
	if (managed_asked || !strcmp(shim_options.managed, "off"))
		return;
	if (!count.object || count.function(&devices) || !devices)
		return;
	managed_asked = true;
	int result = CUPTI_NOT_SUPPORTED;
	for (uint32_t device = 0; device < (uint32_t)devices && device < 64; device++) {
		struct cupti_managed_config wanted[] = {
			{CUPTI_MANAGED_SCOPE_DEVICE, CUPTI_MANAGED_HTOD, device, 1},
			{CUPTI_MANAGED_SCOPE_DEVICE, CUPTI_MANAGED_DTOH, device, 1},
		};
		if (cupti.ActivityConfigureUnifiedMemoryCounter)
			result = cupti.ActivityConfigureUnifiedMemoryCounter(wanted, 2);
	}
	if (!result)
		result = cupti_share_enable_kind(CUPTI_KIND_MANAGED);
	managed_result = result;
}

static void fetch(struct thread *thread, uint32_t forced)
{
	int result = 0;
	bool is_ours = cupti_share_enter();
	thread_mute();
	if (is_ours) {
		result = cupti.ActivityFlushAll(forced);
		count_dropped();
		enable_managed();
		gpu_switch_turn();
	}
	thread_unmute(thread);
	session_clock(is_ours ? read_gpu_clock : NULL);
	cupti_share_leave();
	injection_turn();
	gpu_activity_drain();
	gpu_records_write_losses(thread);
	gpu_switch_tell(thread, forced != 0);
	session_notice_collector();
	tell_flush(result);
	tell_overhead(forced != 0);
	tell_managed();
	cupti_failed_tell(&cupti, forced != 0);
	if (!forced && !lifecycle_is_injected)
		bound_past_turn();
	if (is_ours || forced)
		return;
	thread_mute();
	bool is_back = cupti_share_resume();
	thread_unmute(thread);
	uint64_t total_ns, begin_ticks;
	cupti_pauses_since(&begin_ticks);
	if (is_back)
		gpu_pause_mark(thread, begin_ticks);
	if (is_back || cupti_pauses_count(&total_ns) != pauses_told)
		tell_pauses();
}

/* Recording is switched by a word that nobody wakes us for. */
static void wait_a_period(struct thread *thread)
{
	/* Until counters of managed memory are asked for, what migrates is lost. */
	static int asks_left = 500;
	bool is_asking = !managed_asked && asks_left && strcmp(shim_options.managed, "off") != 0;
	asks_left -= is_asking;
	long left_ms = is_asking ? ASK_MS : gpu_switch_wait_ms(PERIOD_MS);
	while (left_ms > 0 && !atomic_load(&stop)) {
		struct timespec part = {0, (left_ms < SWITCH_MS ? left_ms : SWITCH_MS) * 1000000};
		syscall(SYS_futex, &stop, FUTEX_WAIT_PRIVATE, 0, &part, NULL, 0);
		gpu_pause_follow(thread);
		injection_turn();
		left_ms -= SWITCH_MS;
	}
}

static void *activity_thread(void *unused)
{
	(void)unused;
	struct thread *thread = thread_attach();
	if (thread)
		thread->is_own = 1;
	/* A program whose main thread ended by pthread_exit() ends with its last thread: not ours.
	 */
	while (thread && !atomic_load_explicit(&stop, memory_order_acquire) &&
	       !own_threads_are_last()) {
		gpu_buffers_prepare();
		wait_a_period(thread);
		if (!atomic_load(&stop))
			fetch(thread, 0);
	}
	if (thread) {
		/* Only now by force: what is in flight comes back without an end, for good. */
		uint64_t begin_ticks;
		fetch(thread, 1);
		gpu_pause_end(thread);
		tell_pauses();
		if (cupti_pauses_since(&begin_ticks))
			gpu_pause_mark(thread, begin_ticks);
		thread_retire(thread);
	}
	atomic_store_explicit(&stopped, 1, memory_order_release);
	return NULL;
}

/* ---- start and end ---- */

/* What makes records better, and without which they come all the same. */
static void set_preferences(void)
{
	uint8_t value = 1;
	size_t size = sizeof(value);
	if (cupti.SetThreadIdType)
		cupti_failed_note(CUPTI_FAILED_THREAD_ID,
				  cupti.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM));
	if (cupti.version >= CUPTI_PER_THREAD_VERSION && cupti.ActivitySetAttribute)
		cupti_failed_note(
			CUPTI_FAILED_PER_THREAD,
			cupti.ActivitySetAttribute(CUPTI_ATTRIBUTE_PER_THREAD, &size, &value));
}

static const char *refused(char *text, size_t size)
{
	char name[64], where[COPIES_TEXT_BYTES];
	cupti_others_name(&cupti, name, sizeof(name));
	cupti_copies_find(cupti.path, where, sizeof(where));
	if (!where[0])
		cupti_copies_find_user(where, sizeof(where));
	if (!name[0] && !where[0])
		snprintf(where, sizeof(where),
			 "no module shows that it does, so it has perhaps a "
			 "static copy of CUPTI");
	snprintf(text, size, "another tool in this process uses CUPTI (error 39)%s%s%s%s",
		 name[0] ? ": " : "", name, where[0] ? "; " : "", where);
	return text;
}

/* NULL, or why there are no GPU times; the text is static or in `text`. */
static const char *set_up(char *text, size_t size, char *missing, size_t missing_size,
			  const char **graphs)
{
	if (!strcmp(shim_options.gpu, "off"))
		return "switched off by GPUTRACE_GPU=off";
	if (touched)
		return "forked from a process that was using CUPTI";
	const char *reason = cupti_others_find(), *what;
	if (!reason)
		reason = cupti_find(&cupti);
	if (reason)
		return reason;
	touched = true;
	set_preferences();
	int result = cupti_share_open(&cupti, &what);
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS)
		return refused(text, size);
	if (result == CUPTI_UNKNOWN || result == CUPTI_NOT_INITIALIZED)
		return cupti_kinds_result(&cupti, result, text, size,
					  "CUPTI finds no usable driver");
	if (result) {
		char failed[80];
		snprintf(failed, sizeof(failed), "%s failed", what);
		return cupti_kinds_result(&cupti, result, text, size, failed);
	}
	injection_use(&cupti);
	unsigned int callbacks = enable_callbacks(CUPTI_DOMAIN_RUNTIME);
	callbacks += enable_callbacks(CUPTI_DOMAIN_DRIVER);
	SHIM_LOG(DEBUG, "CUPTI: callbacks=%u", callbacks);
	if (!cupti_kinds_enable(&cupti, missing, missing_size, graphs)) {
		cupti_share_close();
		return "CUPTI enabled none of its records";
	}
	return NULL;
}

static void start_events(void)
{
	struct thread *thread = thread_now;
	thread_mute();
	const char *reason = gpu_events_start();
	thread_unmute(thread);
	session_info("gpu_times.source", reason ? "none" : "events");
	if (reason)
		session_info("gpu_times.reason", reason);
	if (lifecycle_is_injected)
		session_info("calls.missing", "no call is recorded, since that takes CUPTI");
}

void gpu_activity_start(void)
{
	if (!strcmp(shim_options.gpu, "events")) {
		start_events();
		return;
	}
	struct thread *thread = thread_now;
	char text[1024], missing[256] = "", source[64];
	char copy[COPIES_TEXT_BYTES];
	thread_mute();
	gpu_buffers_prepare();
	const char *graphs = NULL;
	const char *reason = set_up(text, sizeof(text), missing, sizeof(missing), &graphs);
	if (!reason) {
		atomic_store(&stop, 0);
		atomic_store(&stopped, 0);
		atomic_store_explicit(&running, 1, memory_order_release);
		gpu_switch_open(cupti.version, !strcmp(graphs, "whole"));
		if (own_threads_start("gputrace-gpu", activity_thread)) {
			atomic_store(&running, 0);
			cupti_share_close();
			reason = "no thread could be started to fetch CUPTI's records";
		}
	}
	cupti_copies_find(cupti.path, copy, sizeof(copy));
	dlerror(); /* what was not found on the way is not the program's business */
	thread_unmute(thread);
	if (copy[0])
		session_info("gpu_times.second_cupti", copy);
	if (reason) {
		SHIM_LOG(INFO, "no GPU times: %s", reason);
		session_info("gpu_times.source", "none");
		session_info("gpu_times.reason", reason);
		if (lifecycle_is_injected)
			session_info("calls.missing",
				     "no call is recorded, since that takes CUPTI");
		return;
	}
	snprintf(source, sizeof(source), "cupti %u", cupti.version);
	session_info("gpu_times.source", source);
	session_info("gpu_times.library", cupti.path);
	session_info("gpu_times.graphs", graphs);
	if (missing[0])
		session_info("gpu_times.missing", missing);
	cupti_kinds_tell(&cupti);
	cupti_failed_tell(&cupti, false);
}

void gpu_activity_finish(void)
{
	gpu_events_finish();
	if (!atomic_load_explicit(&running, memory_order_acquire))
		return;
	uint64_t begin_ns = ticks_monotonic();
	atomic_store_explicit(&stop, 1, memory_order_release);
	gpu_activity_wake();
	while (!atomic_load_explicit(&stopped, memory_order_acquire) &&
	       ticks_monotonic() - begin_ns < FINISH_LIMIT_NS) {
		struct timespec pause = {0, 1000000};
		nanosleep(&pause, NULL);
	}
	if (!atomic_load(&stopped)) {
		SHIM_LOG(WARN, "CUPTI's records were not all fetched within 2 s");
		gpu_records_count_dropped(gpu_buffers_unread());
		if (thread_now->is_live)
			gpu_records_write_losses(thread_now);
	}
	atomic_store(&running, 0);
}

void gpu_activity_wake(void)
{
	syscall(SYS_futex, &stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void gpu_activity_forget(void)
{
	atomic_store(&running, 0);
	gpu_buffers_forget();
	cupti_share_forget();
	gpu_pause_forget();
	cupti_failed_forget();
	gpu_events_forget();
	pauses_told = 0;
	managed_asked = managed_told = false;
	flush_result = 0;
}
