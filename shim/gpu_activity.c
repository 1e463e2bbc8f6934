/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs CUPTI: subscribes to the callbacks of wrapped functions (they leave the correlation id in
 * the open call), hands out activity buffers, and fetches them from a thread of ours every 100 ms.
 * CUPTI's callbacks run on the program's threads: they only mark a buffer as full, and no lock is
 * held anywhere around a call into CUPTI.
 */
#include "gpu_activity.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cupti_find.h"
#include "gpu_records.h"
#include "own_threads.h"
#include "options.h"
#include "session.h"
#include "shim_log.h"
#include "thread.h"
#include "ticks.h"
#include "wrap.h"

#define BUFFER_BYTES	(1024u * 1024)
#define BUFFERS		256u
#define SPARE_BUFFERS	2u
#define PERIOD_MS	100
#define FINISH_LIMIT_NS 2000000000ull
#define CALLBACK_IDS	4096u /* ids of a domain; asking for the name ends earlier */
#define RECORD_BYTES	224u  /* to estimate how many records a lost buffer held */

enum buffer_state { BUFFER_NONE, BUFFER_FREE, BUFFER_OUT, BUFFER_FULL, BUFFER_BUSY };
static struct {
	_Atomic uint32_t state;
	uint8_t *bytes;
	size_t valid_size;
} buffers[BUFFERS];
/* Handed out when all buffers are out: CUPTI crashes on NULL. What lands here is lost. */
static _Alignas(8) uint8_t scratch[64 * 1024];

static struct cupti cupti;
static void *subscriber;
static _Atomic uint32_t running, stop, stopped;
static bool touched; /* CUPTI was set up in this process or, before a fork, in its parent */

/* ---- buffers ---- */

static uint8_t *new_bytes(void)
{
	void *bytes = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* Takes a buffer from one state to another; BUFFERS when there is none. */
static uint32_t take(uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < BUFFERS; i++) {
		uint32_t expected = from;
		if (atomic_load_explicit(&buffers[i].state, memory_order_relaxed) == from &&
		    atomic_compare_exchange_strong(&buffers[i].state, &expected, to))
			return i;
	}
	return BUFFERS;
}

/* Keeps a few buffers ready, so that the program's threads need not wait for memory. */
static void prepare_spares(void)
{
	uint32_t free_count = 0;
	for (uint32_t i = 0; i < BUFFERS; i++)
		free_count += atomic_load(&buffers[i].state) == BUFFER_FREE;
	while (free_count++ < SPARE_BUFFERS) {
		uint32_t at = take(BUFFER_NONE, BUFFER_BUSY);
		if (at == BUFFERS)
			return;
		buffers[at].bytes = new_bytes();
		atomic_store(&buffers[at].state, buffers[at].bytes ? BUFFER_FREE : BUFFER_NONE);
		if (!buffers[at].bytes)
			return;
	}
}

static void buffer_requested(uint8_t **bytes, size_t *size, size_t *max_records)
{
	int saved_errno = errno;
	uint32_t at = take(BUFFER_FREE, BUFFER_OUT);
	if (at == BUFFERS) {
		at = take(BUFFER_NONE, BUFFER_BUSY);
		if (at < BUFFERS) {
			buffers[at].bytes = new_bytes();
			atomic_store(&buffers[at].state,
				     buffers[at].bytes ? BUFFER_OUT : BUFFER_NONE);
			if (!buffers[at].bytes)
				at = BUFFERS;
		}
	}
	*bytes = at < BUFFERS ? buffers[at].bytes : scratch;
	*size = at < BUFFERS ? BUFFER_BYTES : sizeof(scratch);
	*max_records = 0;
	errno = saved_errno;
}

static void buffer_completed(void *context, uint32_t stream, uint8_t *bytes, size_t size,
			     size_t valid_size)
{
	(void)context;
	(void)stream;
	(void)size;
	for (uint32_t i = 0; i < BUFFERS; i++) {
		if (buffers[i].bytes == bytes && bytes &&
		    atomic_load(&buffers[i].state) == BUFFER_OUT) {
			buffers[i].valid_size =
				valid_size < BUFFER_BYTES ? valid_size : BUFFER_BYTES;
			atomic_store_explicit(&buffers[i].state, BUFFER_FULL, memory_order_release);
			return;
		}
	}
	gpu_records_count_dropped((valid_size + RECORD_BYTES - 1) / RECORD_BYTES);
}

void gpu_activity_drain(void)
{
	struct thread *thread = thread_now;
	if (!atomic_load_explicit(&running, memory_order_acquire) || !thread->is_live)
		return;
	for (uint32_t i = 0; i < BUFFERS; i++) {
		uint32_t expected = BUFFER_FULL;
		if (!atomic_compare_exchange_strong_explicit(&buffers[i].state, &expected,
							     BUFFER_BUSY, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		gpu_records_convert(&cupti, thread, buffers[i].bytes, buffers[i].valid_size);
		/* We promised CUPTI zeroed buffers. */
		memset(buffers[i].bytes, 0, buffers[i].valid_size);
		atomic_store_explicit(&buffers[i].state, BUFFER_FREE, memory_order_release);
	}
}

/* ---- correlation ids ---- */

static void api_callback(void *user, int domain, uint32_t callback_id, const void *data)
{
	uint32_t site, correlation;
	(void)user;
	(void)domain;
	(void)callback_id;
	memcpy(&site, (const char *)data + CUPTI_CALLBACK_SITE, sizeof(site));
	memcpy(&correlation, (const char *)data + CUPTI_CALLBACK_CORRELATION, sizeof(correlation));
	if (site == CUPTI_SITE_ENTER && thread_now->is_live)
		thread_now->correlation = correlation;
}

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
	for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
		const char *name = NULL;
		if (cupti.GetCallbackName(domain, id, &name) || !name)
			continue;
		if (wants_correlation(name, domain) &&
		    !cupti.EnableCallback(1, subscriber, domain, id))
			enabled++;
	}
	return enabled;
}

/* ---- the thread ---- */

static uint64_t read_gpu_clock(void)
{
	uint64_t now_ns = 0;
	return cupti.GetTimestamp(&now_ns) ? 0 : now_ns;
}

static void count_dropped(void)
{
	size_t dropped = 0;
	if (!cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) && dropped)
		gpu_records_count_dropped(dropped);
}

static void fetch(struct thread *thread, uint32_t forced)
{
	thread_mute();
	cupti.ActivityFlushAll(forced);
	count_dropped();
	thread_unmute(thread);
	gpu_activity_drain();
	gpu_records_write_losses(thread);
	session_clock(read_gpu_clock);
}

static void *activity_thread(void *unused)
{
	(void)unused;
	struct thread *thread = thread_attach();
	/* A program whose main thread ended by pthread_exit() ends with its last thread: not ours.
	 */
	while (thread && !atomic_load_explicit(&stop, memory_order_acquire) &&
	       !own_threads_are_last()) {
		prepare_spares();
		struct timespec period = {0, PERIOD_MS * 1000000};
		syscall(SYS_futex, &stop, FUTEX_WAIT_PRIVATE, 0, &period, NULL, 0);
		if (!atomic_load(&stop))
			fetch(thread, 0);
	}
	if (thread) {
		/* Only now by force: what is in flight comes back without an end, for good. */
		fetch(thread, 1);
		thread_retire(thread);
	}
	atomic_store_explicit(&stopped, 1, memory_order_release);
	return NULL;
}

/* ---- start and end ---- */

static void set_attribute(int attribute, uint8_t value)
{
	size_t size = sizeof(value);
	if (cupti.ActivitySetAttribute)
		cupti.ActivitySetAttribute(attribute, &size, &value);
}

static const char *result_text(int result, char *buffer, size_t size, const char *what)
{
	const char *name = NULL;
	if (cupti.GetResultString)
		cupti.GetResultString(result, &name);
	snprintf(buffer, size, "%s: %s (%d)", what, name ? name : "error", result);
	return buffer;
}

/* The kinds that are read; one that cannot be enabled leaves the others on. */
static int enable_kinds(char *missing, size_t size, const char **graphs)
{
	static const struct {
		int kind;
		const char *name;
	} kinds[] = {
		{CUPTI_KIND_CONCURRENT_KERNEL, "kernels"}, {CUPTI_KIND_MEMCPY, "copies"},
		{CUPTI_KIND_MEMCPY2, "peer copies"},	   {CUPTI_KIND_MEMSET, "sets"},
		{CUPTI_KIND_SYNCHRONIZATION, "waits"},
	};
	int enabled = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int result = cupti.ActivityEnable(kinds[i].kind);
		size_t used = strlen(missing);
		if (!result)
			enabled++;
		else
			snprintf(missing + used, size - used, "%s%s (error %d)", used ? ", " : "",
				 kinds[i].name, result);
	}
	/* Launches of graphs as wholes, or all their nodes: several times slower on the GPU. */
	if (strcmp(shim_options.graphs, "whole"))
		*graphs = "nodes";
	else if (cupti.ActivityEnable(CUPTI_KIND_GRAPH_TRACE))
		*graphs = "nodes: this CUPTI or driver cannot time a launch as a whole";
	else
		*graphs = "whole";
	/* Programs that poll events would flood the trace. */
	if (cupti.ActivityEnableAllSyncRecords)
		cupti.ActivityEnableAllSyncRecords(0);
	return enabled;
}

/* NULL, or why there are no GPU times; the text is static or in `text`. */
static const char *set_up(char *text, size_t size, char *missing, size_t missing_size,
			  const char **graphs)
{
	if (!strcmp(shim_options.gpu, "off"))
		return "switched off by GPUTRACE_GPU=off";
	if (touched)
		return "forked from a process that was using CUPTI";
	const char *reason = cupti_find(&cupti);
	if (reason)
		return reason;
	touched = true;
	if (cupti.SetThreadIdType)
		cupti.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
	int result = cupti.Subscribe(&subscriber, api_callback, NULL);
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS)
		return "another tool in this process uses CUPTI (error 39)";
	if (result == CUPTI_UNKNOWN)
		return "CUPTI finds no usable driver (error 999)";
	if (result)
		return result_text(result, text, size, "cuptiSubscribe failed");
	if (cupti.version >= CUPTI_PER_THREAD_VERSION)
		set_attribute(CUPTI_ATTRIBUTE_PER_THREAD, 1);
	set_attribute(CUPTI_ATTRIBUTE_ZEROED_OUT, 1);
	result = cupti.ActivityRegisterCallbacks(buffer_requested, buffer_completed);
	if (result) {
		cupti.Unsubscribe(subscriber);
		return result_text(result, text, size, "cuptiActivityRegisterCallbacks failed");
	}
	unsigned int callbacks = enable_callbacks(CUPTI_DOMAIN_RUNTIME);
	callbacks += enable_callbacks(CUPTI_DOMAIN_DRIVER);
	SHIM_LOG(DEBUG, "CUPTI: callbacks=%u", callbacks);
	if (!enable_kinds(missing, missing_size, graphs)) {
		cupti.Unsubscribe(subscriber);
		return "CUPTI enabled none of its records";
	}
	return NULL;
}

void gpu_activity_start(void)
{
	struct thread *thread = thread_now;
	char text[256], missing[256] = "", source[64];
	thread_mute();
	prepare_spares();
	const char *graphs = NULL;
	const char *reason = set_up(text, sizeof(text), missing, sizeof(missing), &graphs);
	if (!reason) {
		atomic_store(&stop, 0);
		atomic_store(&stopped, 0);
		atomic_store_explicit(&running, 1, memory_order_release);
		if (own_threads_start("gputrace-gpu", activity_thread)) {
			atomic_store(&running, 0);
			cupti.Unsubscribe(subscriber);
			reason = "no thread could be started to fetch CUPTI's records";
		}
	}
	dlerror(); /* what was not found on the way is not the program's business */
	thread_unmute(thread);
	if (reason) {
		SHIM_LOG(INFO, "no GPU times: %s", reason);
		session_info("gpu_times.source", "none");
		session_info("gpu_times.reason", reason);
		return;
	}
	snprintf(source, sizeof(source), "cupti %u", cupti.version);
	session_info("gpu_times.source", source);
	session_info("gpu_times.library", cupti.path);
	session_info("gpu_times.graphs", graphs);
	if (missing[0])
		session_info("gpu_times.missing", missing);
}

void gpu_activity_finish(void)
{
	if (!atomic_load_explicit(&running, memory_order_acquire))
		return;
	uint64_t begin_ns = ticks_monotonic();
	atomic_store_explicit(&stop, 1, memory_order_release);
	syscall(SYS_futex, &stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (!atomic_load_explicit(&stopped, memory_order_acquire) &&
	       ticks_monotonic() - begin_ns < FINISH_LIMIT_NS) {
		struct timespec pause = {0, 1000000};
		nanosleep(&pause, NULL);
	}
	if (!atomic_load(&stopped))
		SHIM_LOG(WARN, "CUPTI did not give back its records within 2 s");
	atomic_store(&running, 0);
}

void gpu_activity_forget(void)
{
	atomic_store(&running, 0);
	for (uint32_t i = 0; i < BUFFERS; i++) {
		/* The parent's CUPTI still owns what is out; the child never touches it. */
		atomic_store(&buffers[i].state, BUFFER_NONE);
		buffers[i].bytes = NULL;
	}
}
