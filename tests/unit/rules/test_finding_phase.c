/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding names the phase that it lies in: prefill keeps the GPU busy, decode launches tiny
 * kernels, and the mean over both is true of neither.
 */
#include "rule_bench.h"

#include <stdio.h>
#include <string.h>

enum { REQUESTS = 15, TOKENS = 60 };

static void mark(struct bench *bench, const char *name, int64_t begin_ns)
{
	if (name)
		script_add_mark(bench->script, name, begin_ns, bench->machine.host_ns);
}

/* Requests of one long prefill and many short decode passes. */
static void run_requests(struct bench *bench, const char *prefill, const char *decode)
{
	struct machine *machine = &bench->machine;

	bench_init(bench);
	for (int request = 0; request < REQUESTS; request++) {
		int64_t step_ns = machine->host_ns, begin_ns = step_ns;
		char name[32];

		snprintf(name, sizeof(name), "step %d", request);
		machine->site = 5;
		machine_copy(machine, COPY_H2D, 4 << 20, MEMORY_PAGEABLE, false);
		for (int layer = 0; layer < 8; layer++)
			machine_kernel(machine, "ampere_fp16_s16816gemm_fp16_128x128", 1000000);
		machine_sync(machine, "cudaStreamSynchronize", SYNC_STREAM);
		mark(bench, prefill, begin_ns);
		begin_ns = machine->host_ns;
		machine->site = 6;
		for (int token = 0; token < TOKENS; token++) {
			for (int layer = 0; layer < 20; layer++)
				machine_kernel(machine, "elementwise_kernel", 2000);
		}
		machine_sync(machine, "cudaStreamSynchronize", SYNC_STREAM);
		mark(bench, decode, begin_ns);
		mark(bench, name, step_ns);
	}
	bench_run(bench);
}

static const char *text_or_null(const struct finding *finding, const char *key)
{
	for (size_t i = 0; i < finding->evidence_count; i++) {
		if (!strcmp(finding->evidence[i].key, key))
			return finding->evidence[i].text;
	}
	return NULL;
}

static void launch_bound_decode_and_slow_prefill_are_told_apart(void **state)
{
	struct bench bench;
	const struct finding *launches, *copies;

	(void)state;
	run_requests(&bench, "prefill", "decode");
	launches = bench_only(&bench, "GT501");
	assert_string_equal(bench_text(launches, "phase"), "decode");
	assert_true(bench_number(launches, "phase_percent") > 95);
	assert_non_null(strstr(launches->summary, "Phase: decode"));
	copies = bench_only(&bench, "GT102");
	assert_string_equal(bench_text(copies, "phase"), "prefill");
	assert_true(bench_number(copies, "phase_percent") > 95);
	bench_fini(&bench);
}

static void without_two_phases_none_is_named(void **state)
{
	struct bench bench;

	(void)state;
	run_requests(&bench, NULL, NULL);
	assert_null(text_or_null(bench_only(&bench, "GT501"), "phase"));
	bench_fini(&bench);
	run_requests(&bench, "decode", "decode");
	assert_null(text_or_null(bench_only(&bench, "GT501"), "phase"));
	assert_null(strstr(bench_only(&bench, "GT501")->summary, "Phase:"));
	bench_fini(&bench);
}

/* Two uploads from one line, in both phases. */
static void a_finding_that_lies_in_both_phases_names_none(void **state)
{
	struct bench bench;
	struct machine *machine = &bench.machine;

	(void)state;
	bench_init(&bench);
	for (int request = 0; request < REQUESTS; request++) {
		static const char *const names[] = {"prefill", "decode"};
		int64_t step_ns = machine->host_ns;
		char name[32];

		for (int phase = 0; phase < 2; phase++) {
			int64_t begin_ns = machine->host_ns;

			machine->site = 5;
			machine_copy(machine, COPY_H2D, 4 << 20, MEMORY_PAGEABLE, false);
			machine_kernel(machine, "ampere_fp16_s16816gemm_fp16_128x128", 1000000);
			machine_sync(machine, "cudaStreamSynchronize", SYNC_STREAM);
			mark(&bench, names[phase], begin_ns);
		}
		snprintf(name, sizeof(name), "step %d", request);
		mark(&bench, name, step_ns);
	}
	bench_run(&bench);
	assert_null(text_or_null(bench_only(&bench, "GT102"), "phase"));
	bench_fini(&bench);
}

/* A range of a module's forward pass lies within the one that says what it is used for. */
static void a_forward_pass_belongs_to_what_it_is_used_for(void **state)
{
	struct bench bench;
	const struct phase_usage *phases;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < REQUESTS; step++) {
		int64_t begin_ns = bench.machine.host_ns, inner_ns = begin_ns + 10;
		char name[32];

		bench.machine.host_ns += 1000;
		machine_kernel(&bench.machine, "elementwise_kernel", 50000);
		mark(&bench, "forward", inner_ns);
		bench.machine.host_ns += 10;
		mark(&bench, "validation", begin_ns);
		machine_kernel(&bench.machine, "elementwise_kernel", 50000);
		mark(&bench, "forward", bench.machine.host_ns - 5000);
		snprintf(name, sizeof(name), "step %d", step);
		bench.machine.host_ns += 10;
		mark(&bench, name, begin_ns);
	}
	bench_run(&bench);
	phases = &bench.model->devices[0].phases;
	assert_true(phases->gpu_ns[PHASE_VALIDATION] > 0);
	assert_int_equal(phases->gpu_ns[PHASE_VALIDATION], phases->gpu_ns[PHASE_FORWARD]);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launch_bound_decode_and_slow_prefill_are_told_apart),
		cmocka_unit_test(without_two_phases_none_is_named),
		cmocka_unit_test(a_finding_that_lies_in_both_phases_names_none),
		cmocka_unit_test(a_forward_pass_belongs_to_what_it_is_used_for),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
