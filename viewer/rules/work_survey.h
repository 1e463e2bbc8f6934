/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the steady steps of one device spent in each kernel and in each shape of a matrix product.
 * Built once per device; the rules about kernels read it.
 */
#ifndef GPUTRACE_RULES_WORK_SURVEY_H
#define GPUTRACE_RULES_WORK_SURVEY_H

#include "model.h"

#define WORK_MATH_PEDANTIC 2 /* in gemm_shape.math_flags: exact math was asked for */

/* Of one shape, of a product or a convolution. */
struct shape_use {
	int64_t busy_ns, heaviest_ns;
	uint64_t products;
	uint32_t call, kernel; /* of the longest kernel */
	uint32_t last_product; /* the call counted last, and the launch of its graph */
	uint32_t last_launch;
	uint64_t refused; /* calls that returned an error, in the whole run */
	bool is_split;	  /* split-K or stream-K by a kernel's name */
};

/* Of one kernel. */
struct kernel_use {
	int64_t busy_ns, longest_ns;
	int64_t shaped_ns;   /* within products and convolutions whose shape is known */
	int64_t pedantic_ns; /* within such that ask for exact math */
	uint64_t launches;
	uint32_t call; /* that launched the longest one */
};

struct work_survey {
	struct shape_use *shapes; /* by index of model->gemms */
	/* By index of model->convs; only the kernels that do the arithmetic, not what turns layouts
	 * round inside the same call. */
	struct shape_use *convs;
	struct kernel_use *kernels; /* by index of model->kernels */
	int64_t product_ns;	    /* matrix products and convolutions */
	int64_t shaped_ns;	    /* those with a shape */
	uint64_t refused;	    /* products that the library returned with an error */
};

/* Kernels of one sort together. */
struct kernel_sum {
	int64_t busy_ns;
	uint64_t launches;
	size_t names;
	uint32_t kernel, call; /* the name with most time, MODEL_NONE none; its longest launch */
};

void work_survey_build(const struct model *model, size_t device, struct work_survey *survey);
void work_survey_free(struct work_survey *survey);

struct kernel_sum work_sum(const struct model *model, const struct work_survey *survey,
			   bool (*is_wanted)(const struct kernel_traits *traits));

/* Calls visit() for every operation of the device's steady steps, in the order of their begins. */
void work_visit_steady(const struct model *model, size_t device,
		       void (*visit)(void *context, const struct gpu_op *op), void *context);

#endif
