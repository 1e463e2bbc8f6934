/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was told to the descriptors of cuDNN's graph API, since they do not tell it again: tensors
 * -> operation -> graph -> engine -> configuration -> plan. Each step copies what the next one
 * needs, so it does not matter when the program destroys a descriptor. A table of fixed size
 * without a lock: what finds no place is unknown. Kept while nothing is recorded too, or a plan
 * could get the shape of one that had its address before.
 */
#ifndef GPUTRACE_SHIM_CUDNN_SHADOW_H
#define GPUTRACE_SHIM_CUDNN_SHADOW_H

#include "cudnn_product.h"

/* out: where the new descriptor was returned; NULL: it was not made. */
void cudnn_shadow_create(int type, void *const *out);
/* Before the real call: the address may come again before it returns. */
void cudnn_shadow_destroy(const void *descriptor);
/* After success; descriptor NULL: it failed, nothing may be read. */
void cudnn_shadow_set(const void *descriptor, int name, int type, int64_t count,
		      const void *elements);
void cudnn_shadow_get(const void *descriptor, int name, int type, int64_t requested,
		      const int64_t *count, void *elements);

/* What a plan computes and where; kind CUDNN_NO_PRODUCT when that is not known. */
void cudnn_shadow_plan(const void *plan, const void *pack, struct cudnn_product *product,
		       struct cudnn_addresses *addresses);

#endif
