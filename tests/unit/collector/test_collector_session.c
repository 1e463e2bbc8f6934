/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector program on sessions of fake jobs: normal end, kill, exec, forked workers, a second
 * collector, another version, a thread inside the job.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"
#include "error.h"
#include "record.h"
#include "sample_record.h"
#include "session_fixture.h"
#include "trace_file.h"
#include "trace_reader.h"
#include "trace_rows.h"

#define RING_BYTES (256u * 1024)

static const char *program(void)
{
	const char *path = getenv("GPUTRACE_TEST_COLLECTOR");

	assert_non_null(path);
	return path;
}

static void put_calls(struct session_ring *ring, uint32_t first, uint32_t count)
{
	struct timespec now;

	for (uint32_t i = first; i < first + count; i++) {
		struct record_call call = {
			.call = {.head = {.kind = RECORD_KIND_call, .size_bytes = sizeof(call)},
				 .call_id = i + 1,
				 .api = 7,
				 .device = DEVICE_UNKNOWN},
			.object = i,
		};

		clock_gettime(CLOCK_MONOTONIC, &now);
		call.call.begin_ticks = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		call.call.end_ticks = call.call.begin_ticks + 1000;
		while (!session_ring_put(ring, &call))
			usleep(200);
	}
}

/* Every call once, in order. */
static void expect_calls(const char *dir, uint32_t count, uint16_t session_end,
			 struct trace_health *health)
{
	char path[1024];
	struct trace_rows rows;
	struct trace *trace;
	struct error err = {0};

	session_find_trace(dir, path, sizeof(path));
	assert_string_not_equal(path, "");
	if (trace_open(path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	assert_int_equal(rows.kinds[RECORD_KIND_call].count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct record_call *call = trace_rows_at(&rows, RECORD_KIND_call, i);

		assert_int_equal(call->call.call_id, i + 1);
		assert_int_equal(call->object, i);
	}
	assert_int_equal(trace_health(trace)->session_end, session_end);
	*health = *trace_health(trace);
	trace_rows_free(&rows);
	trace_close(trace);
}

static void a_session_that_ends_leaves_a_complete_file(void **state)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	struct session_ring ring;
	struct trace_health health;
	char path[1024];
	struct trace *trace;
	pid_t collector;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	collector = session_start_collector(&session, program(), getpid(), dir, "train");
	assert_true(session_wait_state(&session, RING_COLLECTOR_READY));
	session_ring_claim(&session, &ring, 0, (uint32_t)getpid(), session.control->start_ticks);
	put_calls(&ring, 0, 20000);
	session_ring_retire(&ring);
	atomic_store(&session.control->session_ended, 1);
	assert_true(session_wait_state(&session, RING_COLLECTOR_DONE));
	waitpid(collector, NULL, 0);
	expect_calls(dir, 20000, SESSION_EXITED, &health);
	assert_int_equal(health.damaged_bytes, 0);
	assert_int_equal(health.lost_total, 0);
	session_find_trace(dir, path, sizeof(path));
	assert_int_equal(trace_open(path, &trace, NULL), 0);
	assert_int_equal(trace_thread_count(trace), 1);
	assert_int_equal(trace_thread(trace, 0)->thread_id, getpid());
	assert_true(trace_library_count(trace) > 0);
	assert_string_equal(trace_info(trace, "collector.mode"), "process");
	assert_string_equal(trace_info(trace, "shim.build"), "test shim");
	assert_non_null(trace_info(trace, "host.cpus"));
	/* Times are since the session's start, and the calls were just now. */
	assert_true(health.host_complete_ns > 0 && health.host_complete_ns < 60000000000);
	trace_close(trace);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

static void a_flush_request_is_answered_when_the_records_are_in_the_file(void **state)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	struct session_ring ring;
	struct trace_rows rows;
	char path[1024];
	pid_t collector;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	collector = session_start_collector(&session, program(), getpid(), dir, "flush");
	assert_true(session_wait_state(&session, RING_COLLECTOR_READY));
	session_ring_claim(&session, &ring, 0, 1, 1);
	put_calls(&ring, 0, 10);
	atomic_store(&session.control->flush_request, 5);
	for (int i = 0; i < 5000 && atomic_load(&session.control->flush_done) != 5; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&session.control->flush_done), 5);
	assert_true(atomic_load(&session.control->written_ticks) > session.control->start_ticks);
	kill(collector, SIGKILL);
	waitpid(collector, NULL, 0);
	session_find_trace(dir, path, sizeof(path));
	trace_rows_of_file(path, &rows);
	assert_int_equal(rows.kinds[RECORD_KIND_call].count, 10);
	trace_rows_free(&rows);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

/* As when a container ends. */
static void a_kill_of_job_and_collector_loses_only_the_last_50_ms(void **state)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	struct session_ring ring;
	struct trace_rows rows;
	char path[1024];
	pid_t collector;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	collector = session_start_collector(&session, program(), getpid(), dir, "both");
	assert_true(session_wait_state(&session, RING_COLLECTOR_READY));
	session_ring_claim(&session, &ring, 0, 1, 1);
	for (uint32_t i = 0; i < 10; i++) {
		struct timespec now;
		uint64_t last_ns;

		put_calls(&ring, 100 * i, 100);
		clock_gettime(CLOCK_MONOTONIC, &now);
		last_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		/* Busy machines are late; what counts is that it happens without being asked for.
		 */
		while (atomic_load(&session.control->written_ticks) < last_ns)
			usleep(1000);
	}
	kill(collector, SIGKILL);
	waitpid(collector, NULL, 0);
	session_find_trace(dir, path, sizeof(path));
	trace_rows_of_file(path, &rows);
	assert_int_equal(rows.kinds[RECORD_KIND_call].count, 1000);
	trace_rows_free(&rows);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

/* ---- jobs that end without saying so ---- */

enum job_end { KILLED, EXECED, EXECED_SAME_PROGRAM, WORKER_LIVES };

static void be_job(struct session_fixture *session, enum job_end end)
{
	struct session_ring ring;

	session_ring_claim(session, &ring, 0, (uint32_t)getpid(), 1);
	put_calls(&ring, 0, 5000);
	if (end == WORKER_LIVES && fork() == 0) {
		sleep(30);
		_exit(0);
	}
	if (end == EXECED)
		execl("/bin/sleep", "sleep", "30", (char *)NULL);
	if (end == EXECED_SAME_PROGRAM)
		execl("/proc/self/exe", "test_collector_session", "--sleep", (char *)NULL);
	if (end == WORKER_LIVES)
		_exit(0);
	pause();
}

static void run_job(enum job_end end, uint16_t expected_end)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	struct trace_health health;
	pid_t collector, job;

	session_fixture_init(&session, 1, 1024 * 1024);
	job = fork();
	assert_true(job >= 0);
	if (job == 0) {
		setpgid(0, 0);
		while (atomic_load(&session.control->collector_state) != RING_COLLECTOR_READY)
			usleep(1000);
		be_job(&session, end);
		_exit(0);
	}
	setpgid(job, job);
	collector = session_start_collector(&session, program(), job, dir, "job");
	assert_true(session_wait_state(&session, RING_COLLECTOR_READY));
	if (end == KILLED) {
		usleep(200000);
		kill(job, SIGKILL);
	}
	assert_true(session_wait_state(&session, RING_COLLECTOR_DONE));
	waitpid(collector, NULL, 0);
	expect_calls(dir, 5000, expected_end, &health);
	kill(-job, SIGKILL);
	waitpid(job, NULL, 0);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

static void a_killed_job_loses_nothing_that_it_committed(void **state)
{
	(void)state;
	run_job(KILLED, SESSION_KILLED);
}

static void exec_ends_the_session(void **state)
{
	(void)state;
	run_job(EXECED, SESSION_EXECED);
}

static void exec_of_the_same_program_ends_the_session(void **state)
{
	(void)state;
	run_job(EXECED_SAME_PROGRAM, SESSION_EXECED);
}

static void a_forked_worker_does_not_keep_the_session_alive(void **state)
{
	(void)state;
	run_job(WORKER_LIVES, SESSION_KILLED);
}

/* ---- attaching ---- */

static void a_collector_that_comes_too_late_leaves_at_once(void **state)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	char path[1024];
	int status;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	atomic_store(&session.control->collector_state, RING_COLLECTOR_FAILED);
	waitpid(session_start_collector(&session, program(), getpid(), dir, "late"), &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(atomic_load(&session.control->collector_state), RING_COLLECTOR_FAILED);
	session_find_trace(dir, path, sizeof(path));
	assert_string_equal(path, "");
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

static void another_ring_version_is_not_attached_to(void **state)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	int status;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	session.control->version_major = RING_VERSION_MAJOR + 1;
	waitpid(session_start_collector(&session, program(), getpid(), dir, "new"), &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(atomic_load(&session.control->collector_state), RING_COLLECTOR_NONE);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

static void an_output_directory_that_refuses_files_fails_the_session(void **state)
{
	struct session_fixture session;
	int status;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	waitpid(session_start_collector(&session, program(), getpid(), "/proc", "x"), &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(atomic_load(&session.control->collector_state), RING_COLLECTOR_FAILED);
	assert_true(session.control->collector_errno > 0);
	session_fixture_fini(&session);
}

/* SIGXFSZ would end the collector, and a collector that is gone would end the recording. */
static void a_file_size_limit_costs_records_that_are_counted_and_kills_nothing(void **state)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	struct session_ring ring;
	struct trace_rows rows;
	struct trace *trace;
	char path[1024];
	int status;
	pid_t collector;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	session_file_limit = 20000;
	collector = session_start_collector(&session, program(), getpid(), dir, "limit");
	session_file_limit = 0;
	assert_true(session_wait_state(&session, RING_COLLECTOR_READY));
	session_ring_claim(&session, &ring, 0, (uint32_t)getpid(), 1);
	put_calls(&ring, 0, 200000);
	atomic_store(&session.control->session_ended, 1);
	assert_true(session_wait_state(&session, RING_COLLECTOR_DONE));
	waitpid(collector, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	session_find_trace(dir, path, sizeof(path));
	assert_int_equal(trace_open(path, &trace, NULL), 0);
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	assert_true(trace_health(trace)->file_bytes <= 20000);
	assert_true(trace_health(trace)->lost[RECORD_KIND_call] > 0);
	assert_int_equal(rows.kinds[RECORD_KIND_call].count +
				 trace_health(trace)->lost[RECORD_KIND_call],
			 200000);
	assert_int_equal(trace_health(trace)->session_end, SESSION_EXITED);
	trace_rows_free(&rows);
	trace_close(trace);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

static void *run_in_job(void *argument)
{
	struct error err = {0};

	return (void *)(intptr_t)collector_run(argument, &err);
}

static void the_same_code_works_as_a_thread_of_the_job(void **state)
{
	static const char *const environment[] = {"RANK=3", "SECRET=x", "NCCL_ALGO=Ring", NULL};
	const char *dir = session_make_dir();
	struct session_fixture session;
	struct session_ring ring;
	struct trace_health health;
	struct collector_options options = {
		.out_dir_fd = -1,
		.out_dir = dir,
		.environment = environment,
		.fallback_reason = "a test",
	};
	char path[1024];
	struct trace *trace;
	pthread_t thread;
	void *result;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	options.memfd = session.memfd;
	/* As after a collector process that did not answer in time. */
	atomic_store(&session.control->collector_state, RING_COLLECTOR_FAILED);
	assert_int_equal(pthread_create(&thread, NULL, run_in_job, &options), 0);
	assert_true(session_wait_state(&session, RING_COLLECTOR_READY));
	session_ring_claim(&session, &ring, 0, (uint32_t)getpid(), 1);
	put_calls(&ring, 0, 3000);
	atomic_store(&session.control->session_ended, 1);
	pthread_join(thread, &result);
	assert_null(result);
	assert_int_equal(atomic_load(&session.control->collector_state), RING_COLLECTOR_DONE);
	expect_calls(dir, 3000, SESSION_EXITED, &health);
	session_find_trace(dir, path, sizeof(path));
	assert_non_null(strstr(path, ".rank3."));
	assert_int_equal(trace_open(path, &trace, NULL), 0);
	assert_string_equal(trace_info(trace, "collector.mode"), "thread");
	assert_string_equal(trace_info(trace, "collector.fallback"), "a test");
	assert_string_equal(trace_info(trace, "rank"), "3");
	assert_string_equal(trace_info(trace, "env.NCCL_ALGO"), "Ring");
	assert_null(trace_info(trace, "env.SECRET"));
	trace_close(trace);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

static void pipes_of_the_job_are_closed(void **state)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	int ends[2];
	char byte;
	pid_t collector;

	(void)state;
	session_fixture_init(&session, 1, RING_BYTES);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], 60), 60);
	collector = session_start_collector(&session, program(), getpid(), dir, "pipe");
	assert_true(session_wait_state(&session, RING_COLLECTOR_READY));
	close(60);
	close(ends[1]);
	/* End of file, although the collector was started with the other end open. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	atomic_store(&session.control->session_ended, 1);
	waitpid(collector, NULL, 0);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_that_ends_leaves_a_complete_file),
		cmocka_unit_test(a_flush_request_is_answered_when_the_records_are_in_the_file),
		cmocka_unit_test(a_kill_of_job_and_collector_loses_only_the_last_50_ms),
		cmocka_unit_test(a_killed_job_loses_nothing_that_it_committed),
		cmocka_unit_test(exec_ends_the_session),
		cmocka_unit_test(exec_of_the_same_program_ends_the_session),
		cmocka_unit_test(a_forked_worker_does_not_keep_the_session_alive),
		cmocka_unit_test(a_collector_that_comes_too_late_leaves_at_once),
		cmocka_unit_test(another_ring_version_is_not_attached_to),
		cmocka_unit_test(an_output_directory_that_refuses_files_fails_the_session),
		cmocka_unit_test(
			a_file_size_limit_costs_records_that_are_counted_and_kills_nothing),
		cmocka_unit_test(the_same_code_works_as_a_thread_of_the_job),
		cmocka_unit_test(pipes_of_the_job_are_closed),
	};

	if (argc > 1 && strcmp(argv[1], "--sleep") == 0) {
		sleep(30);
		return 0;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
