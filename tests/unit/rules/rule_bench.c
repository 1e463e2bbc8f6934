/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See rule_bench.h.
 */
#include "rule_bench.h"

#include <string.h>

void bench_init_gpu(struct bench *bench, const char *gpu_name)
{
	memset(bench, 0, sizeof(*bench));
	bench->script = script_new(gpu_name, 108, 4, 16);
	machine_init(&bench->machine, bench->script);
}

void bench_init(struct bench *bench)
{
	bench_init_gpu(bench, "NVIDIA A100-SXM4-80GB");
}

void bench_run(struct bench *bench)
{
	bench->model = script_model(bench->script);
	rules_run(bench->model, 0, &bench->findings);
	for (size_t i = 0; i < bench->findings.count; i++) {
		const struct finding *finding = &bench->findings.items[i];
		double available_ms = 0;

		/* What holds for every finding of every rule. */
		for (int part = 0; part < LEDGER_PART_COUNT; part++) {
			if (finding->draws_from >> part & 1)
				available_ms += ledger_part_ms(&bench->model->devices[0].ledger,
							       (enum ledger_part)part);
		}
		assert_true(finding->gain_high_ms <= available_ms + 1e-9);
		assert_true(finding->gain_low_ms <= finding->gain_high_ms);
		assert_true(finding->gain_low_ms >= 0);
		assert_true(finding->cost_ms > 0 || finding->is_failure ||
			    finding->severity == SEVERITY_INFO);
		assert_non_null(finding->summary);
		assert_non_null(finding->fix);
		assert_true(finding->evidence_count > 0);
	}
	assert_int_equal(bench->findings.judgement_count, rules_count());
}

void bench_set_capability(struct bench *bench, uint16_t major, uint16_t minor)
{
	script_device(bench->script, 0)->cc_major = major;
	script_device(bench->script, 0)->cc_minor = minor;
}

void bench_run_kernel(struct bench *bench, const char *kernel, int64_t gpu_ns)
{
	for (int step = 0; step < 20; step++) {
		bench->machine.site = 5;
		machine_kernel(&bench->machine, kernel, gpu_ns);
		bench->machine.site = 6;
		machine_kernel(&bench->machine, "fill_buffer", 2000000);
		machine_kernel(&bench->machine, "adam_step", 100000);
	}
	bench_run(bench);
}

void bench_run_products(struct bench *bench, struct record_gemm gemm, const char *kernel,
			int64_t gpu_ns, int products_per_step)
{
	for (int step = 0; step < 20; step++) {
		bench->machine.site = 5;
		for (int i = 0; i < products_per_step; i++)
			machine_gemm(&bench->machine, &gemm, kernel, gpu_ns);
		bench->machine.site = 6;
		machine_kernel(&bench->machine, "adam_step", 100000);
	}
	bench_run(bench);
}

void bench_run_beside_aligned(struct bench *bench, const struct record_gemm *gemm,
			      const char *kernel, int64_t gpu_ns)
{
	struct record_gemm aligned = script_gemm_f16(4096, 4096, 4096);

	for (int step = 0; step < 20; step++) {
		bench->machine.site = 5;
		machine_gemm(&bench->machine, gemm, kernel, gpu_ns);
		bench->machine.site = 6;
		machine_gemm(&bench->machine, &aligned, BENCH_ALIGNED_KERNEL, 550000);
		machine_kernel(&bench->machine, "adam_step", 100000);
	}
	bench_run(bench);
}

void bench_fini(struct bench *bench)
{
	finding_list_free(&bench->findings);
	model_free(bench->model);
	script_free(bench->script);
}

double bench_step_ms(const struct bench *bench)
{
	return ledger_step_ms(&bench->model->devices[0].ledger);
}

size_t bench_count(const struct bench *bench, const char *id)
{
	size_t count = 0;

	for (size_t i = 0; i < bench->findings.count; i++)
		count += !strcmp(bench->findings.items[i].id, id);
	return count;
}

const struct finding *bench_only(const struct bench *bench, const char *id)
{
	const struct finding *found = NULL;

	assert_int_equal(bench_count(bench, id), 1);
	for (size_t i = 0; i < bench->findings.count; i++) {
		if (!strcmp(bench->findings.items[i].id, id))
			found = &bench->findings.items[i];
	}
	return found;
}

static const struct judgement *judgement_of(const struct bench *bench, const char *id)
{
	for (size_t i = 0; i < bench->findings.judgement_count; i++) {
		if (!strcmp(bench->findings.judgements[i].id, id))
			return &bench->findings.judgements[i];
	}
	fail_msg("%s was not run", id);
	return NULL;
}

enum judgement_status bench_status(const struct bench *bench, const char *id)
{
	return judgement_of(bench, id)->status;
}

const char *bench_reason(const struct bench *bench, const char *id)
{
	return judgement_of(bench, id)->reason;
}

static const struct evidence *evidence_of(const struct finding *finding, const char *key)
{
	for (size_t i = 0; i < finding->evidence_count; i++) {
		if (!strcmp(finding->evidence[i].key, key))
			return &finding->evidence[i];
	}
	fail_msg("%s has no evidence %s", finding->id, key);
	return NULL;
}

double bench_number(const struct finding *finding, const char *key)
{
	return evidence_of(finding, key)->value;
}

const char *bench_text(const struct finding *finding, const char *key)
{
	return evidence_of(finding, key)->text;
}

void bench_assert_range_holds(const struct finding *finding, double gained_ms)
{
	const double rounding_ms = 1e-6; /* both sides are sums of nanoseconds */

	if (gained_ms < finding->gain_low_ms - rounding_ms ||
	    gained_ms > finding->gain_high_ms + rounding_ms)
		fail_msg("%s: the cure gained %.3f ms, the range says %.3f to %.3f", finding->id,
			 gained_ms, finding->gain_low_ms, finding->gain_high_ms);
}
