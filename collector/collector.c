/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One session from attaching to the end record. One loop: drain the rings, every tail interval put
 * what came on disk and say so in the control page, once a second look after what changes slowly,
 * sleep 0.5 to 5 ms. The job never wakes the collector: a wake-up would cost it more than all the
 * rest of a recorded call.
 */
#define _GNU_SOURCE
#include "collector.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "drain.h"
#include "error.h"
#include "host_facts.h"
#include "job_watch.h"
#include "library_map.h"
#include "live_marks.h"
#include "machine_facts.h"
#include "ring_reader.h"
#include "ring_relief.h"
#include "sampler.h"
#include "totals_reader.h"
#include "trace_file.h"
#include "trace_name.h"
#include "trace_writer.h"

#define LOG_TAG "collector"
#include "log.h"

#define MS_NS		1000000ull
#define DEFAULT_TAIL_MS 50u
#define SLEEP_MIN_NS	(MS_NS / 2)
#define SLEEP_MAX_NS	(5 * MS_NS)
#define BUSY_PERCENT	20u /* a ring this full is looked at again after a short sleep */
#define CALM_PERCENT	10u /* with less in the fullest one there may be a longer sleep */
#define RELIEF_PERCENT	25u /* emptying one this full may end in encoding, which takes long */
#define SLOW_NS		(1000 * MS_NS)
#define MAPS_MAX_NS	(8000 * MS_NS) /* reading the maps holds a lock of the job: not more often */
#define MAPS_BUDGET_NS	(10 * MS_NS)   /* of one look, as long as the rings wait */
#define MAPS_LAST_NS	(1000 * MS_NS) /* of the last looks, as long as the job waits */
#define WATCH_NS	(20 * MS_NS)
#define NAME_ATTEMPTS	100u

struct collector {
	const struct collector_options *options;
	struct ring_reader reader;
	struct totals_reader totals;
	struct drain drain;
	struct job_watch watch;
	struct library_map libraries;
	struct live_marks live_marks;
	struct sampler sampler;
	struct trace_writer *writer;
	struct ring_relief_thread *relief; /* NULL: nobody empties rings meanwhile */
	uint64_t tail_ns;
	uint64_t next_flush_ns, next_slow_ns, next_totals_ns, next_maps_ns, next_watch_ns;
	uint64_t maps_pause_ns;
	uint64_t sleep_ns;
	uint64_t flush_done;
	uint64_t polls;
	uint64_t counts[RING_COUNT_LIMIT]; /* as told */
	bool write_failed;		   /* said in the log already */
	uint16_t session_end;		   /* enum session_end, 0: goes on */
};

#ifndef GPUTRACE_VERSION
#define GPUTRACE_VERSION "0"
#endif

const char *collector_build(void)
{
	return "gputrace " GPUTRACE_VERSION;
}

/* ---- attaching ---- */

/* SIGXFSZ from a write, SIGPIPE from a log line, SIGTERM of a step that ends: none of them may end
 * a collector or reach a handler of the job. On Linux this is the mask of the calling thread. */
static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, _NSIG / 8);
}

static int attach(struct ring_control *control, const struct collector_options *options,
		  struct error *err)
{
	uint32_t none = RING_COLLECTOR_NONE;

	snprintf(control->collector_build, sizeof(control->collector_build), "%s",
		 collector_build());
	atomic_store_explicit(&control->collector_minor, RING_VERSION_MINOR, memory_order_release);
	atomic_store_explicit(&control->collector_heartbeat_ns, clocks_monotonic_ns(),
			      memory_order_relaxed);
	/* Both pair with the shim's acquire load: the build string is complete. */
	if (options->fallback_reason) {
		atomic_store_explicit(&control->collector_state, RING_COLLECTOR_READY,
				      memory_order_release);
		return 0;
	}
	if (!atomic_compare_exchange_strong_explicit(&control->collector_state, &none,
						     RING_COLLECTOR_READY, memory_order_release,
						     memory_order_relaxed))
		return error_set(err, -EBUSY, "the session has a collector already");
	return 0;
}

static int create_file(struct collector *collector, int dir_fd, struct error *err)
{
	const struct collector_options *options = collector->options;
	const struct ring_control *control = collector->reader.control;
	const struct trace_writer_options writer_options = {
		.clock_kind = control->clock_kind,
		.start_realtime_ns = control->start_realtime_ns,
		.compression_level = options->compression_level ? options->compression_level : 1,
		.tail_interval_ms =
			options->tail_interval_ms ? options->tail_interval_ms : DEFAULT_TAIL_MS,
		.max_bytes = options->max_bytes,
		.keep_ns = options->keep_ns,
	};
	const char *rank = trace_name_rank(options->environment);
	char job[64], name[256];
	struct utsname names;
	int rc = -EEXIST;

	trace_name_job(options->pid, job, sizeof(job));
	if (uname(&names) < 0)
		snprintf(names.nodename, sizeof(names.nodename), "host");
	for (unsigned int attempt = 0; rc == -EEXIST && attempt < NAME_ATTEMPTS; attempt++) {
		trace_name_build(name, sizeof(name), options->name ? options->name : job, rank,
				 names.nodename, (pid_t)control->process_id,
				 control->start_realtime_ns, attempt);
		rc = trace_writer_create(dir_fd, name, &writer_options, &collector->writer, err);
	}
	if (rc == 0)
		log_info("trace file: name=\"%s\"", name);
	return rc;
}

static int open_file(struct collector *collector, struct error *err)
{
	const struct collector_options *options = collector->options;
	int dir_fd = options->out_dir_fd;
	int rc;

	if (dir_fd < 0) {
		dir_fd = open(options->out_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir_fd < 0)
			return error_set(err, -errno, "cannot open directory %s: %s",
					 options->out_dir, strerror(errno));
	}
	rc = create_file(collector, dir_fd, err);
	if (options->out_dir_fd < 0)
		close(dir_fd);
	return rc;
}

/* ---- what the loop does ---- */

static void tell_library(void *context, const struct record_library *library)
{
	struct collector *collector = context;

	trace_writer_add(collector->writer, 0, library, library->head.size_bytes, NULL);
	sampler_note_library(&collector->sampler, library);
}

static void tell_clock(struct collector *collector)
{
	struct record_clock clock;

	clocks_sample(collector->reader.clock_kind, &clock);
	trace_writer_add(collector->writer, 0, &clock, sizeof(clock), NULL);
}

static void tell_number(struct collector *collector, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	trace_writer_info(collector->writer, key, text, NULL);
}

/* What the shim counts, where it has grown. */
static void tell_counts(struct collector *collector)
{
	struct ring_control *control = collector->reader.control;

	for (uint32_t i = 0; control->version_minor >= RING_MINOR_COUNTS && i < RING_COUNT_LIMIT;
	     i++) {
		uint64_t count = atomic_load_explicit(&control->counts[i], memory_order_relaxed);

		if (ring_count_key(i) && count > collector->counts[i])
			tell_number(collector, ring_count_key(i), collector->counts[i] = count);
	}
}

static void update_libraries(struct collector *collector, uint64_t now_ns)
{
	const char *maps;
	bool changed;

	maps = library_map_update(&collector->libraries, clocks_ticks(collector->reader.clock_kind),
				  MAPS_BUDGET_NS, &changed, tell_library, collector);
	/* A job that is just ending has no maps either. */
	if (maps && !collector->session_end &&
	    job_watch_maps_lack_memory(&collector->watch, maps) &&
	    job_watch_state(&collector->watch) != JOB_DEAD)
		collector->session_end = SESSION_EXECED;
	collector->maps_pause_ns = changed ? SLOW_NS : collector->maps_pause_ns * 2;
	if (collector->maps_pause_ns > MAPS_MAX_NS)
		collector->maps_pause_ns = MAPS_MAX_NS;
	collector->next_maps_ns = now_ns;
	if (!collector->libraries.is_unfinished)
		collector->next_maps_ns += collector->maps_pause_ns;
}

/* `ticks` and `request` were read before the last drain: all that was committed then is on disk
 * after a flush that succeeds. */
static void flush(struct collector *collector, uint64_t ticks, uint64_t request)
{
	struct ring_control *control = collector->reader.control;
	struct error err = {0};
	int rc;

	drain_count_drops(&collector->drain);
	trace_writer_complete(collector->writer, ticks);
	rc = trace_writer_flush(collector->writer, &err);
	if (rc == 0) {
		atomic_store_explicit(&control->written_ticks, ticks, memory_order_release);
	} else if (!collector->write_failed) {
		collector->write_failed = true;
		log_warn("cannot write, records will be lost and counted: %s", err.text);
	}
	/* Also after a failure: waiting would not help the job. */
	collector->flush_done = request;
	atomic_store_explicit(&control->flush_done, request, memory_order_release);
}

static void check_end(struct collector *collector, uint64_t now_ns)
{
	const struct ring_control *control = collector->reader.control;

	if (atomic_load_explicit(&control->session_ended, memory_order_acquire)) {
		collector->session_end = SESSION_EXITED;
		return;
	}
	if (now_ns < collector->next_watch_ns)
		return;
	collector->next_watch_ns = now_ns + WATCH_NS;
	switch (job_watch_state(&collector->watch)) {
	case JOB_DEAD:
		/* It may have ended normally since the look above. */
		collector->session_end =
			atomic_load_explicit(&control->session_ended, memory_order_acquire)
				? SESSION_EXITED
				: SESSION_KILLED;
		break;
	case JOB_EXECED:
		collector->session_end = SESSION_EXECED;
		break;
	default:
		break;
	}
}

/* Waking costs more than taking: of a ring that fills slowly much is taken at a time. */
static void adapt_sleep(struct collector *collector)
{
	uint32_t percent = collector->reader.fill_percent;

	if (percent >= BUSY_PERCENT)
		collector->sleep_ns = SLEEP_MIN_NS;
	else if (percent < CALM_PERCENT && collector->sleep_ns < SLEEP_MAX_NS)
		collector->sleep_ns += collector->sleep_ns / 4;
}

/* Tables are read after the rings: what a record in a ring tells is in no table before it. */
static void read_totals(struct collector *collector, uint64_t ticks, enum totals_look look)
{
	if (!totals_reader_is_needed(&collector->totals))
		return;
	drain_totals(&collector->drain, &collector->totals, ticks, look);
	if (look != TOTALS_ENDED)
		live_marks_summed(&collector->live_marks, collector->reader.control,
				  collector->writer, ticks);
}

/* Whether this round may take longer than rings should wait: it writes, or asks the machine. */
static bool round_is_long(struct collector *collector, uint64_t now_ns)
{
	return now_ns >= collector->next_flush_ns || now_ns >= collector->next_slow_ns ||
	       now_ns >= collector->next_maps_ns ||
	       collector->reader.fill_percent >= RELIEF_PERCENT ||
	       ring_reader_waiting(&collector->reader) > 0 ||
	       atomic_load_explicit(&collector->reader.control->flush_request,
				    memory_order_relaxed) != collector->flush_done;
}

/* One round; the session's end is decided before the drain, so that the drain sees everything. */
static void poll_once(struct collector *collector)
{
	struct ring_control *control = collector->reader.control;
	uint64_t now_ns = clocks_monotonic_ns();
	uint64_t ticks, request;

	atomic_store_explicit(&control->collector_heartbeat_ns, now_ns, memory_order_relaxed);
	check_end(collector, now_ns);
	ticks = clocks_ticks(collector->reader.clock_kind);
	/* Pairs with the shim's release increment: what it committed before is in the rings. */
	request = atomic_load_explicit(&control->flush_request, memory_order_acquire);
	drain_run(&collector->drain);
	live_marks_poll(&collector->live_marks, control, collector->writer, ticks);
	read_totals(collector, ticks,
		    request != collector->flush_done || now_ns >= collector->next_totals_ns
			    ? TOTALS_ALL
			    : TOTALS_ENDED);
	if (now_ns >= collector->next_totals_ns)
		collector->next_totals_ns = now_ns + SLOW_NS;
	if (request != collector->flush_done || now_ns >= collector->next_flush_ns) {
		flush(collector, ticks, request);
		collector->next_flush_ns = now_ns + collector->tail_ns;
	}
	if (now_ns >= collector->next_slow_ns) {
		collector->next_slow_ns = now_ns + SLOW_NS;
		tell_clock(collector);
		tell_counts(collector);
		drain_refresh(&collector->drain);
		ring_reader_trim(&collector->reader);
	}
	if (now_ns >= collector->next_maps_ns)
		update_libraries(collector, now_ns);
	sampler_run(&collector->sampler, now_ns);
	collector->polls++;
	adapt_sleep(collector);
}

/* Somebody empties the rings during a round that takes long. */
static void run_round(struct collector *collector)
{
	const struct ring_relief *relief = collector->options->relief;

	if (!collector->relief || !round_is_long(collector, clocks_monotonic_ns())) {
		poll_once(collector);
		return;
	}
	relief->begin(collector->relief);
	poll_once(collector);
	relief->end(collector->relief);
}

/* ---- the end ---- */

static void tell_own_cost(struct collector *collector)
{
	struct timespec used = {0};

	clock_gettime(collector->options->pid ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID,
		      &used);
	tell_number(collector, "collector.cpu_us",
		    (uint64_t)used.tv_sec * 1000000u + (uint64_t)used.tv_nsec / 1000u);
	tell_number(collector, "collector.polls", collector->polls);
	tell_number(collector, "collector.ring_bytes", collector->drain.records_bytes);
	tell_number(collector, "collector.waited_bytes", collector->reader.stage.most_bytes);
}

static int finish(struct collector *collector, struct error *err)
{
	uint64_t ticks = clocks_ticks(collector->reader.clock_kind);
	uint64_t now_ns = clocks_monotonic_ns();

	/* A thread of a living job may commit a few more records meanwhile; they belong in too. */
	drain_run(&collector->drain);
	read_totals(collector, ticks, TOTALS_LAST);
	drain_count_drops(&collector->drain);
	if (collector->session_end != SESSION_EXITED) {
		tell_counts(collector); /* else the shim has told them */
	} else {
		do {
			update_libraries(collector, now_ns);
		} while (collector->libraries.is_unfinished &&
			 clocks_monotonic_ns() - now_ns < MAPS_LAST_NS);
	}
	sampler_finish(&collector->sampler, now_ns);
	live_marks_finish(&collector->live_marks, collector->writer, ticks);
	tell_clock(collector);
	tell_own_cost(collector);
	trace_writer_complete(collector->writer, ticks);
	return trace_writer_finish(collector->writer, collector->session_end, err);
}

static void detach(struct ring_control *control, uint32_t state, int code)
{
	control->collector_errno = -code;
	/* Pairs with the shim's acquire load: the file is complete, or the reason is set. */
	atomic_store_explicit(&control->collector_state, state, memory_order_release);
}

static void stop_relief(struct collector *collector)
{
	if (collector->relief)
		collector->options->relief->stop(collector->relief);
	collector->relief = NULL;
}

static int run_session(struct collector *collector, struct error *err)
{
	const struct collector_options *options = collector->options;
	const char *root = options->root;
	int rc;

	if (!root)
		root = trace_name_variable(options->environment, "GPUTRACE_ROOT");
	if (!root)
		root = "";
	collector->tail_ns =
		(options->tail_interval_ms ? options->tail_interval_ms : DEFAULT_TAIL_MS) * MS_NS;
	collector->sleep_ns = SLEEP_MIN_NS;
	collector->maps_pause_ns = SLOW_NS;
	collector->libraries.pid = options->pid;
	job_watch_open(&collector->watch, options->pid, options->memfd);
	/* Until the first round ends: to make a file and to look at a machine takes its time. */
	if (options->relief)
		collector->relief = options->relief->start(&collector->reader);
	if (collector->relief)
		options->relief->begin(collector->relief);
	rc = open_file(collector, err);
	if (rc < 0)
		return rc;
	totals_reader_init(&collector->totals, &collector->reader);
	collector->live_marks.summed_since_ticks = collector->reader.control->start_ticks;
	drain_init(&collector->drain, collector->writer, &collector->reader, options->pid, root);
	sampler_init(&collector->sampler, collector->writer, &collector->drain, options, root);
	drain_watch(&collector->drain, sampler_note_record, &collector->sampler);
	host_facts_add(collector->writer, options, root, collector->reader.control);
	machine_facts_add(collector->writer, root);
	for (;;) {
		run_round(collector);
		if (collector->session_end)
			break;
		if (job_watch_sleep(&collector->watch, collector->sleep_ns))
			collector->next_watch_ns = 0;
	}
	stop_relief(collector);
	return finish(collector, err);
}

int collector_run(const struct collector_options *options, struct error *err)
{
	struct collector *collector = calloc(1, sizeof(*collector));
	int rc;

	if (!collector)
		return error_set(err, -ENOMEM, "out of memory for a collector");
	block_signals();
	collector->options = options;
	rc = options->memory ? ring_reader_open_mapped(&collector->reader, options->memory,
						       options->memory_bytes, err)
			     : ring_reader_open(&collector->reader, options->memfd, err);
	if (rc == 0)
		rc = attach(collector->reader.control, options, err);
	if (rc == 0) {
		rc = run_session(collector, err);
		detach(collector->reader.control,
		       rc < 0 ? RING_COLLECTOR_FAILED : RING_COLLECTOR_DONE, rc);
	}
	stop_relief(collector);
	job_watch_close(&collector->watch);
	library_map_fini(&collector->libraries);
	totals_reader_close(&collector->totals);
	ring_reader_close(&collector->reader);
	free(collector);
	return rc;
}
