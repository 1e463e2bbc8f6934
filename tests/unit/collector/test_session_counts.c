/* SPDX-License-Identifier: Apache-2.0 */
/* What a shim counts in the control region stands in the trace of a job that was killed. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session_fixture.h"
#include "trace_reader.h"

#define RING_BYTES (256u * 1024)

/* What was counted in the control region stands in the file as facts. */
static void expect_counts(const char *dir, bool are_told)
{
	char path[1024];
	struct trace *trace;

	session_find_trace(dir, path, sizeof(path));
	assert_int_equal(trace_open(path, &trace, NULL), 0);
	assert_null(trace_info(trace, "calls.not_supported"));
	if (are_told) {
		assert_string_equal(trace_info(trace, "stacks.unrecorded"), "5");
		assert_string_equal(trace_info(trace, "marks.not_kept"), "5000000000");
	} else {
		assert_null(trace_info(trace, "stacks.unrecorded"));
		assert_null(trace_info(trace, "marks.not_kept"));
	}
	trace_close(trace);
}

/* A shim of ring 1.2 has something else there, or nothing. */
static void count_in_a_job_that_is_killed(uint16_t version_minor, bool are_told)
{
	const char *dir = session_make_dir(), *program = getenv("GPUTRACE_TEST_COLLECTOR");
	struct session_fixture session;
	pid_t collector, job;

	assert_non_null(program);
	session_fixture_init(&session, 1, RING_BYTES);
	session.control->version_minor = version_minor;
	job = fork();
	assert_true(job >= 0);
	if (job == 0) {
		pause();
		_exit(0);
	}
	collector = session_start_collector(&session, program, job, dir, "job");
	assert_true(session_wait_state(&session, RING_COLLECTOR_READY));
	atomic_store(&session.control->counts[RING_COUNT_NO_STACK], 5);
	atomic_store(&session.control->counts[RING_COUNT_MARKS_NOT_KEPT], 5000000000);
	atomic_store(&session.control->counts[RING_COUNT_LIMIT - 1], 3); /* no meaning yet */
	kill(job, SIGKILL);
	assert_true(session_wait_state(&session, RING_COLLECTOR_DONE));
	waitpid(collector, NULL, 0);
	waitpid(job, NULL, 0);
	expect_counts(dir, are_told);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

static void a_killed_job_leaves_what_it_could_not_record(void **state)
{
	(void)state;
	count_in_a_job_that_is_killed(RING_VERSION_MINOR, true);
	count_in_a_job_that_is_killed(RING_MINOR_COUNTS - 1, false);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_job_leaves_what_it_could_not_record),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
