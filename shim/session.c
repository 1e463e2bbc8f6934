/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and closes the session. The rings exist before the collector does, so that other threads
 * lose nothing while it starts; the thread that opens the session pays for the start.
 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../collector/format/record.h"
#include "bound_past.h"
#include "build.h"
#include "capture_block.h"
#include "collector_start.h"
#include "gpu_activity.h"
#include "lifecycle.h"
#include "mark.h"
#include "options.h"
#include "real.h"
#include "self.h"
#include "session_memory.h"
#include "shim_log.h"
#include "site.h"
#include "thread.h"
#include "ticks.h"
#include "totals.h"

#define CLOSE_LIMIT_NS	   10000000000ull
#define CLOSE_HEARTBEAT_NS 1000000000ull
#define FLUSH_LIMIT_NS	   20000000ull
#define SILENT_NS	   200000000ull /* without a heartbeat, after which it may be dead */
#define NOTICE_EVERY_NS	   100000000ull
#define FLUSH_EVERY_NS	   1000000000ull
#define INFO_VALUE_BYTES   4096u

struct ring_control *session_control;
pid_t session_pid;
static _Atomic uint64_t last_flush_ns, last_notice_ns;
/* While there was no control region yet. */
static _Atomic uint64_t early_unrecorded, early_counts[RING_COUNT_LIMIT];

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

const char *session_own_directory(void)
{
	return self_directory();
}

void session_info(const char *key, const char *value)
{
	struct thread *thread = thread_now;
	size_t key_bytes = strlen(key), value_bytes = strlen(value);
	if (value_bytes > INFO_VALUE_BYTES)
		value_bytes = INFO_VALUE_BYTES;
	size_t size = (sizeof(struct record_info) + key_bytes + value_bytes + 7) & ~(size_t)7;
	struct record_info *info = thread_reserve(thread, RECORD_KIND_info, size);
	if (!info)
		return;
	memset(info, 0, size);
	info->head.kind = RECORD_KIND_info;
	info->head.size_bytes = (uint16_t)size;
	info->key_bytes = (uint16_t)key_bytes;
	info->value_bytes = (uint32_t)value_bytes;
	memcpy(info->text, key, key_bytes);
	memcpy(info->text + key_bytes, value, value_bytes);
	thread_commit(thread);
}

void session_clock(uint64_t (*read_gpu_ns)(void))
{
	struct thread *thread = thread_now;
	uint64_t best = UINT64_MAX, before, after;
	struct record_clock pair = {.head = {RECORD_KIND_clock, sizeof(pair), 0}};
	/* The tightest of a few tries: an interrupt between the reads would shift the clocks. */
	for (int try = 0; try < 3; try++) {
		before = ticks_now();
		uint64_t realtime_ns = clock_ns(CLOCK_REALTIME);
		uint64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t gpu_ns = read_gpu_ns ? read_gpu_ns() : 0;
		after = ticks_now();
		if (after - before >= best)
			continue;
		best = after - before;
		pair.ticks = before + best / 2;
		pair.realtime_ns = realtime_ns;
		pair.monotonic_ns = monotonic_ns;
		pair.gpu_ns = gpu_ns;
	}
	struct record_clock *record = thread_reserve(thread, RECORD_KIND_clock, sizeof(pair));
	if (!record)
		return;
	*record = pair;
	thread_commit(thread);
}

/* What this process is, for whoever reads the trace later. */
static void describe_process(void)
{
	char text[INFO_VALUE_BYTES];
	session_info("shim.version", GPUTRACE_BUILD);
	snprintf(text, sizeof(text), "%d", (int)session_pid);
	session_info("process.pid", text);
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (count > 0) {
		for (ssize_t i = 0; i < count - 1; i++) {
			if (!text[i])
				text[i] = ' ';
		}
		text[count] = '\0';
		session_info("process.command", text);
	}
	if (session_memory_kind())
		session_info("session.memory", session_memory_kind());
	totals_describe(text, sizeof(text));
	session_info("recording.mode", text);
	if (shim_options.ignored)
		session_info("option.ignored", shim_options.ignored);
	if (lifecycle_is_injected)
		session_info(
			"calls.source",
			"CUPTI's callbacks, by CUDA_INJECTION64_PATH: the driver's calls; the "
			"names of calls into the runtime, cuBLAS and NCCL, what an allocator "
			"reports, and marks unless NVTX_INJECTION64_PATH is set, are not seen");
	session_info("copy.memory_kind",
		     "from the allocations and registrations that were seen; other host memory "
		     "counts as pageable");
}

static int create_control(int *fd)
{
	struct ring_control *control;
	uint64_t hz = ticks_init();
	int rc = session_memory_create((uint64_t)shim_options.memory_mib << 20, &control, fd);
	if (rc)
		return rc;
	control->magic = RING_MAGIC;
	control->version_major = RING_VERSION_MAJOR;
	control->version_minor = RING_VERSION_MINOR;
	control->control_bytes = RING_CONTROL_BYTES;
	control->slot_count = RING_SLOT_COUNT;
	control->clock_kind = ticks_clock_kind;
	control->process_id = (uint32_t)getpid();
	control->clock_hz = hz;
	control->start_ticks = ticks_now();
	control->start_realtime_ns = clock_ns(CLOCK_REALTIME);
	snprintf(control->shim_build, sizeof(control->shim_build), "%s", GPUTRACE_BUILD);
	atomic_store_explicit(&control->memory_bytes, RING_CONTROL_BYTES, memory_order_relaxed);
	atomic_store_explicit(&control->capture_enabled, 1, memory_order_release);
	atomic_store(&control->unrecorded, atomic_exchange(&early_unrecorded, 0));
	for (uint32_t i = 0; i < RING_COUNT_LIMIT; i++)
		atomic_store(&control->counts[i], atomic_exchange(&early_counts[i], 0));
	control->recording = totals_open();
	session_control = control;
	session_pid = getpid();
	return 0;
}

int session_open(void)
{
	int fd, saved_errno = errno;
	const char *reason = NULL;
	int rc = create_control(&fd);
	if (!rc)
		rc = thread_init();
	if (!rc) {
		site_open();
		wrap_c10_find();
	}
	struct thread *muted = thread_now, *own = NULL;
	if (!rc) {
		/* Before others can take what memory there is: this one describes the session. */
		thread_now = &thread_idle;
		own = thread_attach();
		thread_now = muted;
		/* From here on other threads record. */
		atomic_store_explicit(&lifecycle_mode, LIFECYCLE_RECORDING, memory_order_release);
		rc = collector_start(fd, &reason);
	}
	if (rc) {
		SHIM_LOG(ERROR, "recording nothing: %s", strerror(-rc));
		if (session_control)
			atomic_store(&session_control->capture_enabled, 0);
		if (own) {
			thread_retire(own);
			thread_now = muted;
		}
		errno = saved_errno;
		return rc;
	}
	if (own) {
		thread_now = own;
		describe_process();
		mark_session_begins();
		site_report(false);
		session_clock(NULL);
		gpu_activity_start();
	}
	errno = saved_errno;
	return 0;
}

/* It is not started again: whatever ended it was stronger than a guest of this program. The same
 * where it has given up by itself, such as for want of room on the disk. */
static void give_up_without_collector(struct ring_control *control, uint64_t now_ns)
{
	uint32_t ready = RING_COLLECTOR_READY;
	uint32_t state = atomic_load_explicit(&control->collector_state, memory_order_acquire);
	if (state == RING_COLLECTOR_DONE ||
	    (state == RING_COLLECTOR_FAILED && !collector_has_thread()))
		atomic_store_explicit(&control->capture_enabled, 0, memory_order_release);
	uint64_t heartbeat_ns =
		atomic_load_explicit(&control->collector_heartbeat_ns, memory_order_relaxed);

	if (now_ns < heartbeat_ns || now_ns - heartbeat_ns < SILENT_NS || !collector_is_gone())
		return;
	if (!atomic_compare_exchange_strong(&control->collector_state, &ready,
					    RING_COLLECTOR_FAILED))
		return;
	atomic_store_explicit(&control->capture_enabled, 0, memory_order_release);
	SHIM_LOG(WARN, "the collector has died: nothing more is recorded");
}

void session_notice_collector(void)
{
	struct ring_control *control = session_control;
	uint64_t now_ns = ticks_monotonic();
	uint64_t last_ns = atomic_load_explicit(&last_notice_ns, memory_order_relaxed);

	if (!control || now_ns - last_ns < NOTICE_EVERY_NS ||
	    !atomic_compare_exchange_strong(&last_notice_ns, &last_ns, now_ns))
		return;
	give_up_without_collector(control, now_ns);
}

/* For who reads the trace. The collector tells them too, for a job that does not come this far. */
static void tell_counts(void)
{
	for (uint32_t i = 0; i < RING_COUNT_LIMIT; i++) {
		uint64_t count = atomic_load(&session_control->counts[i]);
		char text[24];
		snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
		if (count && ring_count_key(i))
			session_info(ring_count_key(i), text);
	}
}

/* Whether somebody works at the file, or is about to. A thread that has not run yet has not said
 * that it is ready, and after a process that did not answer the state is still that process's. */
static bool is_being_written(const struct ring_control *control)
{
	uint32_t state = atomic_load_explicit(&control->collector_state, memory_order_acquire);

	return state == RING_COLLECTOR_READY ||
	       (state != RING_COLLECTOR_DONE && collector_has_thread());
}

void session_close(void)
{
	struct ring_control *control = session_control;
	uint64_t begin_ns = ticks_monotonic(), now_ns = begin_ns;

	if (!control || session_pid != getpid())
		return;
	if (thread_now->is_live) {
		session_clock(NULL);
		mark_session_ends();
		site_report(true);
		tell_counts();
		if (!lifecycle_is_injected)
			bound_past_report();
		thread_retire(thread_now);
	}
	atomic_store_explicit(&control->session_ended, 1, memory_order_release);
	/* The collector holds the file; a program that starts next may want to read it. Looks for
	 * its death begin anew: waiting for the dead would be a second. */
	atomic_store_explicit(&last_notice_ns, 0, memory_order_relaxed);
	while (now_ns - begin_ns < CLOSE_LIMIT_NS) {
		if (!is_being_written(control))
			break;
		session_notice_collector();
		uint64_t heartbeat_ns = atomic_load_explicit(&control->collector_heartbeat_ns,
							     memory_order_relaxed);
		if (now_ns > heartbeat_ns && now_ns - heartbeat_ns > CLOSE_HEARTBEAT_NS &&
		    now_ns - begin_ns > CLOSE_HEARTBEAT_NS)
			break; /* it is gone; never hold up the program for it */
		struct timespec pause = {0, 200000};
		nanosleep(&pause, NULL);
		now_ns = ticks_monotonic();
	}
}

void session_forget(void)
{
	/* They were this process's before the fork. */
	for (uint32_t i = 0; i < RING_COUNT_LIMIT; i++)
		atomic_store(&early_counts[i], 0);
	session_memory_forget();
	collector_forget();
	session_control = NULL;
	session_pid = 0;
}

void session_count_unrecorded(void)
{
	struct ring_control *control = session_control;
	atomic_fetch_add_explicit(control ? &control->unrecorded : &early_unrecorded, 1,
				  memory_order_relaxed);
}

_Atomic uint64_t *session_counter(enum ring_count what)
{
	struct ring_control *control = session_control;
	return control ? &control->counts[what] : &early_counts[what];
}

uint64_t session_count(enum ring_count what)
{
	return atomic_fetch_add_explicit(session_counter(what), 1, memory_order_relaxed);
}

void session_flush_wait(void)
{
	struct ring_control *control = session_control;
	uint64_t begin_ns = ticks_monotonic();
	uint64_t last_ns = atomic_load_explicit(&last_flush_ns, memory_order_relaxed);

	if (!control || begin_ns - last_ns < FLUSH_EVERY_NS ||
	    !atomic_compare_exchange_strong(&last_flush_ns, &last_ns, begin_ns))
		return;
	int saved_errno = errno;
	uint64_t request = atomic_fetch_add(&control->flush_request, 1) + 1;
	while (atomic_load_explicit(&control->flush_done, memory_order_acquire) < request &&
	       ticks_monotonic() - begin_ns < FLUSH_LIMIT_NS) {
		struct timespec pause = {0, 200000};
		nanosleep(&pause, NULL);
	}
	errno = saved_errno;
}
