/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the samplers of the collector write down, of this process and of files made for the test.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"
#include "job_sampler.h"
#include "page_sampler.h"
#include "session_fixture.h"
#include "trace_file.h"
#include "trace_reader.h"
#include "trace_rows.h"
#include "trace_writer.h"

struct stage {
	char folder[512], root[600];
	struct sample_sink sink;
	struct trace_rows rows;
	char reason[256]; /* info pages.reason */
};

static void put(const struct stage *stage, const char *name, const char *text)
{
	char path[900];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", stage->root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void open_stage(struct stage *stage)
{
	const struct trace_writer_options options = {.clock_kind = RING_CLOCK_MONOTONIC,
						     .compression_level = 1};
	struct error err = {0};
	int dir_fd;

	memset(stage, 0, sizeof(*stage));
	snprintf(stage->folder, sizeof(stage->folder), "%s", session_make_dir());
	snprintf(stage->root, sizeof(stage->root), "%s/root", stage->folder);
	mkdir(stage->root, 0700);
	dir_fd = open(stage->folder, O_RDONLY | O_DIRECTORY);
	assert_true(dir_fd >= 0);
	stage->sink.clock_kind = RING_CLOCK_MONOTONIC;
	assert_int_equal(
		trace_writer_create(dir_fd, "x.gtrace", &options, &stage->sink.writer, &err), 0);
	close(dir_fd);
}

static void read_stage(struct stage *stage)
{
	struct error err = {0};
	struct trace *trace;
	char path[600];
	const char *reason;

	assert_int_equal(trace_writer_finish(stage->sink.writer, SESSION_EXITED, &err), 0);
	snprintf(path, sizeof(path), "%s/x.gtrace", stage->folder);
	assert_int_equal(trace_open(path, &trace, &err), 0);
	reason = trace_info(trace, "pages.reason");
	snprintf(stage->reason, sizeof(stage->reason), "%s", reason ? reason : "");
	assert_int_equal(trace_rows_load(trace, &stage->rows), 0);
	trace_close(trace);
}

static void close_stage(struct stage *stage)
{
	char command[700];

	trace_rows_free(&stage->rows);
	snprintf(command, sizeof(command), "rm -r '%s'", stage->folder);
	assert_int_equal(system(command), 0);
}

/* The newest value of a metric; -1 when it was not sampled. */
static int64_t sampled(const struct stage *stage, enum sample_metric metric, uint32_t subject)
{
	int64_t value = -1;

	for (size_t i = 0; i < stage->rows.kinds[RECORD_KIND_sample].count; i++) {
		const struct record_sample *sample =
			trace_rows_at(&stage->rows, RECORD_KIND_sample, i);

		if (sample->metric == metric && sample->subject == subject)
			value = sample->value;
	}
	return value;
}

static size_t pages_count(const struct stage *stage)
{
	return stage->rows.kinds[RECORD_KIND_pages].count;
}

static struct record_copy copy_of(const void *host, uint64_t bytes)
{
	return (struct record_copy){.call = {.device = 3},
				    .source = (uintptr_t)host,
				    .destination = 1,
				    .size_bytes = bytes,
				    .direction = COPY_H2D,
				    .source_kind = MEMORY_PAGEABLE};
}

static void pages_of_this_machine_have_a_node_or_a_reason(void **state)
{
	const size_t bytes = 4 << 20;
	char *buffer = malloc(bytes);
	struct page_sampler sampler;
	struct record_copy copy = copy_of(buffer, bytes);
	struct stage stage;

	(void)state;
	memset(buffer, 1, bytes);
	open_stage(&stage);
	page_sampler_init(&sampler, &stage.sink, "", 0);
	page_sampler_note(&sampler, &copy);
	page_sampler_run(&sampler, 1000000000);
	read_stage(&stage);
	if (stage.reason[0]) {
		assert_int_equal(pages_count(&stage), 0);
	} else {
		const struct record_pages *pages = trace_rows_at(&stage.rows, RECORD_KIND_pages, 0);

		assert_int_equal(pages_count(&stage), 1);
		assert_int_equal(pages->address, (uintptr_t)buffer);
		assert_int_equal(pages->size_bytes, bytes);
		assert_int_equal(pages->device, 3);
		assert_int_equal(pages->pages_sampled, 16);
		assert_true(pages->node >= 0);
		assert_true(pages->pages_on_node >= 1);
	}
	close_stage(&stage);
	free(buffer);
}

static void pages_of_a_simulated_machine_come_from_its_file(void **state)
{
	struct page_sampler sampler;
	struct record_copy copy = copy_of((void *)0x10000000, 4 << 20);
	const struct record_pages *pages;
	struct stage stage;

	(void)state;
	open_stage(&stage);
	/* The upper half lies on node 1. */
	put(&stage, "simcuda/pages", "10000000 2097152 0\n10200000 4194304 1\n");
	page_sampler_init(&sampler, &stage.sink, stage.root, 0);
	page_sampler_note(&sampler, &copy);
	copy.source += 2 << 20;
	copy.size_bytes = 2 << 20;
	page_sampler_note(&sampler, &copy);
	page_sampler_run(&sampler, 1000000000);
	read_stage(&stage);
	assert_int_equal(pages_count(&stage), 2);
	for (size_t i = 0; i < 2; i++) {
		pages = trace_rows_at(&stage.rows, RECORD_KIND_pages, i);
		assert_int_equal(pages->pages_sampled, 16);
		assert_int_equal(pages->pages_on_node, pages->address == 0x10000000 ? 8 : 16);
	}
	close_stage(&stage);
}

static void files_of_another_machine_are_a_reason_said_once(void **state)
{
	struct page_sampler sampler;
	struct record_copy copy = copy_of((void *)0x10000000, 4 << 20);
	struct stage stage;

	(void)state;
	open_stage(&stage);
	page_sampler_init(&sampler, &stage.sink, stage.root, 0);
	page_sampler_note(&sampler, &copy);
	page_sampler_run(&sampler, 1000000000);
	page_sampler_run(&sampler, 60000000000);
	read_stage(&stage);
	assert_int_equal(pages_count(&stage), 0);
	assert_string_equal(stage.reason, "the files of the machine are not this machine's");
	close_stage(&stage);
}

static void the_same_buffer_is_asked_rarely(void **state)
{
	struct page_sampler sampler;
	struct record_copy copy = copy_of((void *)0x10000000, 4 << 20);
	struct stage stage;

	(void)state;
	open_stage(&stage);
	put(&stage, "simcuda/pages", "10000000 4194304 0\n");
	page_sampler_init(&sampler, &stage.sink, stage.root, 0);
	for (uint64_t second = 1; second <= 9; second++) {
		page_sampler_note(&sampler, &copy);
		page_sampler_run(&sampler, second * 1000000000);
	}
	read_stage(&stage);
	assert_int_equal(pages_count(&stage), 1);
	close_stage(&stage);
}

static void small_managed_failed_and_captured_copies_are_not_asked(void **state)
{
	struct record_copy copies[4];
	struct page_sampler sampler;
	struct stage stage;

	(void)state;
	open_stage(&stage);
	put(&stage, "simcuda/pages", "10000000 4194304 0\n");
	page_sampler_init(&sampler, &stage.sink, stage.root, 0);
	for (int i = 0; i < 4; i++)
		copies[i] = copy_of((void *)0x10000000, 4 << 20);
	copies[0].size_bytes = 65536;
	copies[1].source_kind = MEMORY_MANAGED;
	copies[2].call.status = 1;
	copies[3].call.flags = CALL_CAPTURED;
	for (int i = 0; i < 4; i++)
		page_sampler_note(&sampler, &copies[i]);
	page_sampler_run(&sampler, 1000000000);
	read_stage(&stage);
	assert_int_equal(pages_count(&stage), 0);
	close_stage(&stage);
}

/* A ring of this thread, as the collector sees it. */
static void sample_job(struct stage *stage, bool is_active)
{
	struct session_fixture session;
	struct session_ring ring;
	static struct ring_reader reader;
	static struct job_sampler sampler;
	uint32_t thread_id = (uint32_t)syscall(SYS_gettid);
	struct error err = {0};

	session_fixture_init(&session, 1, RING_MIN_BYTES);
	session_ring_claim(&session, &ring, 0, thread_id, 1);
	assert_int_equal(ring_reader_open(&reader, session.memfd, &err), 0);
	reader.views[0].known = true;
	reader.views[0].thread_id = thread_id;
	reader.views[0].tail = is_active ? 64 : 0;
	job_sampler_init(&sampler, &stage->sink, stage->root, getpid());
	job_sampler_look_at_threads(&sampler, &reader);
	if (is_active)
		job_sampler_run(&sampler);
	ring_reader_close(&reader);
	session_fixture_fini(&session);
}

static void threads_are_on_the_node_of_their_cpu(void **state)
{
	uint32_t thread_id = (uint32_t)syscall(SYS_gettid);
	char list[64];
	struct stage stage;

	(void)state;
	open_stage(&stage);
	put(&stage, "sys/devices/system/node/online", "0-1\n");
	put(&stage, "sys/devices/system/node/node0/cpulist", "4000\n");
	snprintf(list, sizeof(list), "0-%ld\n", sysconf(_SC_NPROCESSORS_CONF));
	put(&stage, "sys/devices/system/node/node1/cpulist", list);
	sample_job(&stage, true);
	read_stage(&stage);
	assert_true(sampled(&stage, SAMPLE_thread_cpu, thread_id) >= 0);
	assert_int_equal(sampled(&stage, SAMPLE_thread_node, thread_id), 1);
	assert_true(sampled(&stage, SAMPLE_process_threads, 0) >= 1);
	assert_true(sampled(&stage, SAMPLE_process_runnable, 0) >= 1);
	assert_true(sampled(&stage, SAMPLE_process_resident_bytes, 0) > 100000);
	assert_true(sampled(&stage, SAMPLE_process_major_faults, 0) >= 0);
	if (access("/proc/self/schedstat", R_OK) == 0)
		assert_true(sampled(&stage, SAMPLE_thread_run_ns, thread_id) > 0);
	close_stage(&stage);
}

static void threads_that_record_nothing_are_not_looked_at(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	sample_job(&stage, false);
	read_stage(&stage);
	assert_int_equal(sampled(&stage, SAMPLE_thread_cpu, (uint32_t)syscall(SYS_gettid)), -1);
	close_stage(&stage);
}

static void a_cgroup_of_either_version_and_the_pressure_are_read(void **state)
{
	char text[4096] = "";
	struct stage stage;
	FILE *file = fopen("/proc/self/cgroup", "r");
	bool is_version1;

	(void)state;
	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
	}
	is_version1 = strstr(text, ":cpu,") || strstr(text, ",cpu:") || strstr(text, ":cpu:");
	open_stage(&stage);
	/* What a container sees: the mounted folder is the job's group. */
	if (is_version1)
		put(&stage, "sys/fs/cgroup/cpu,cpuacct/cpu.stat",
		    "nr_periods 100\nnr_throttled 12\nthrottled_time 3456000\n");
	else
		put(&stage, "sys/fs/cgroup/cpu.stat",
		    "usage_usec 99\nnr_periods 100\nnr_throttled 12\nthrottled_usec 3456\n");
	put(&stage,
	    is_version1 ? "sys/fs/cgroup/memory/memory.usage_in_bytes"
			: "sys/fs/cgroup/memory.current",
	    "123456789\n");
	put(&stage,
	    is_version1 ? "sys/fs/cgroup/memory/memory.oom_control" : "sys/fs/cgroup/memory.events",
	    "oom 3\noom_kill 2\n");
	put(&stage, "proc/pressure/cpu", "some avg10=1.00 avg60=0.00 avg300=0.00 total=77\n");
	put(&stage, "proc/pressure/io",
	    "some avg10=1.00 avg60=0.00 avg300=0.00 total=88\n"
	    "full avg10=1.00 avg60=0.00 avg300=0.00 total=66\n");
	sample_job(&stage, true);
	read_stage(&stage);
	assert_int_equal(sampled(&stage, SAMPLE_cgroup_throttled_us, 0), 3456);
	assert_int_equal(sampled(&stage, SAMPLE_cgroup_throttled_periods, 0), 12);
	assert_int_equal(sampled(&stage, SAMPLE_cgroup_memory_bytes, 0), 123456789);
	assert_int_equal(sampled(&stage, SAMPLE_cgroup_oom_kills, 0), 2);
	assert_int_equal(sampled(&stage, SAMPLE_psi_cpu_some_us, 0), 77);
	assert_int_equal(sampled(&stage, SAMPLE_psi_io_some_us, 0), 88);
	assert_int_equal(sampled(&stage, SAMPLE_psi_io_full_us, 0), 66);
	assert_int_equal(sampled(&stage, SAMPLE_psi_memory_some_us, 0), -1);
	close_stage(&stage);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_this_machine_have_a_node_or_a_reason),
		cmocka_unit_test(pages_of_a_simulated_machine_come_from_its_file),
		cmocka_unit_test(files_of_another_machine_are_a_reason_said_once),
		cmocka_unit_test(the_same_buffer_is_asked_rarely),
		cmocka_unit_test(small_managed_failed_and_captured_copies_are_not_asked),
		cmocka_unit_test(threads_are_on_the_node_of_their_cpu),
		cmocka_unit_test(threads_that_record_nothing_are_not_looked_at),
		cmocka_unit_test(a_cgroup_of_either_version_and_the_pressure_are_read),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
