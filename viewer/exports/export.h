/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an export is, and what all of them share.
 */
#ifndef GPUTRACE_EXPORTS_EXPORT_H
#define GPUTRACE_EXPORTS_EXPORT_H

#include <stdio.h>

#include "model.h"
#include "stack_cost.h"

/* name for --weight, unit of speedscope, what it is. */
#define EXPORT_WEIGHTS(WEIGHT)                                                                     \
	WEIGHT(GPU_TIME, "gpu_time", "nanoseconds", "GPU time")                                    \
	WEIGHT(BYTES, "bytes", "bytes", "bytes copied")                                            \
	WEIGHT(LOST_TIME, "lost_time", "nanoseconds", "time lost in steady steps")                 \
	WEIGHT(HOST_TIME, "host_time", "nanoseconds", "time inside calls")

enum export_weight {
#define WEIGHT(name, key, unit, label) EXPORT_##name,
	EXPORT_WEIGHTS(WEIGHT)
#undef WEIGHT
		EXPORT_WEIGHT_COUNT
};

struct export_job {
	const struct model *const *models;
	size_t count;
	enum export_weight weight; /* of exports with stacks */
};

struct export
{
	const char *name;    /* filled in from the row */
	const char *summary; /* one line */
	bool has_weights;    /* stacks, which weigh what --weight says */
	void (*write)(const struct export_job *job, FILE *to);
};

extern const struct export *const exports_all[];
unsigned exports_count(void);
/* NULL when there is none of this name. */
const struct export *exports_find(const char *name);

/* False: there is no such weight. */
bool export_weight_find(const char *key, enum export_weight *weight);
const char *export_weight_key(enum export_weight weight);
const char *export_weight_unit(enum export_weight weight);
const char *export_weight_label(enum export_weight weight);
/* What this cost weighs, never negative. */
uint64_t export_weight_of(const struct stack_cost *cost, enum export_weight weight);
/* "rank 3, train.rank3.gtrace": tells the models of one export apart. Printable; caller frees. */
char *export_model_title(const struct model *model);

#endif
