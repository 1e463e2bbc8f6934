/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the rules on a hand-made recording and looks at what one of them said.
 */
#ifndef GPUTRACE_TESTS_RULE_BENCH_H
#define GPUTRACE_TESTS_RULE_BENCH_H

#include "unit_test.h"

#include "model_script.h"
#include "rule.h"

struct bench {
	struct script *script;
	struct machine machine;
	struct model *model;
	struct finding_list findings;
};

/* An A100 on PCIe gen 4 x16. */
void bench_init(struct bench *bench);
void bench_init_gpu(struct bench *bench, const char *gpu_name); /* likewise, with 108 SMs */
void bench_run(struct bench *bench); /* builds the model, runs the rules on device 0 */
void bench_fini(struct bench *bench);
void bench_set_capability(struct bench *bench, uint16_t major, uint16_t minor);

/* Loops of 20 steps that run at once. What is given is of site 5, the rest of site 6. */
void bench_run_kernel(struct bench *bench, const char *kernel, int64_t gpu_ns); /* beside 2.1 ms */
void bench_run_products(struct bench *bench, struct record_gemm gemm, const char *kernel,
			int64_t gpu_ns, int products_per_step);
/* Beside a large aligned product of 0.55 ms. */
void bench_run_beside_aligned(struct bench *bench, const struct record_gemm *gemm,
			      const char *kernel, int64_t gpu_ns);
#define BENCH_ALIGNED_KERNEL "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"

double bench_step_ms(const struct bench *bench);

/* The only finding of the rule; fails the test when there is none or more than one. */
const struct finding *bench_only(const struct bench *bench, const char *id);
size_t bench_count(const struct bench *bench, const char *id);
enum judgement_status bench_status(const struct bench *bench, const char *id);
const char *bench_reason(const struct bench *bench, const char *id);
double bench_number(const struct finding *finding, const char *key);
const char *bench_text(const struct finding *finding, const char *key);
/* The stated range holds what the cure gained. */
void bench_assert_range_holds(const struct finding *finding, double gained_ms);

#endif
