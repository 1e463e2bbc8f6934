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
