/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libnccl, one per row of nccl.def. Its symbols have no versions.
 */
#include "wrap.h"

#include "api/cuda_abi.h"
#include "api/nccl_abi.h"
#include "call.h"
#include "capture.h"
#include "capture_comm.h"
#include "real.h"

enum nccl_slot {
#define ROW(name, twin, check, effect, params, args, before, ...) SLOT_##name,
#include "api/rows.h"
#include "api/nccl.def"
#include "api/rows_end.h"
	SLOT_COUNT
};

static wrap_function _Atomic nccl_real[1][SLOT_COUNT];

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	WRAP_DEFINE(name, nccl, 0, SLOT_##name, API_##name, WRAP_FLAGS_PLAIN, EFFECT_##effect,     \
		    params, args, (call->thread->in_collective++, before),                         \
		    call->thread->in_collective--, __VA_ARGS__)
#include "api/rows.h"
#include "api/nccl.def"
#include "api/rows_end.h"

static int nccl_not_supported(void)
{
	return ABI_NCCL_INTERNAL_ERROR;
}

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{#name, API_##name, EFFECT_##effect, 0, {(wrap_function)name}},
static const struct wrap_row nccl_rows[SLOT_COUNT] = {
#include "api/rows.h"
#include "api/nccl.def"
#include "api/rows_end.h"
};

static const char *const nccl_sonames[] = {"libnccl.so.2"};

const struct wrap_library wrap_nccl = {
	.module_prefix = "libnccl.so",
	.sonames = nccl_sonames,
	.nodes = NULL,
	.node_count = 1,
	.row_count = SLOT_COUNT,
	.rows = nccl_rows,
	.real = &nccl_real[0][0],
	.not_supported = (wrap_function)nccl_not_supported,
};

int (*wrap_nccl_user_rank(void))(const void *, int *)
{
	return (int (*)(const void *, int *))real_find(&wrap_nccl, 0, SLOT_ncclCommUserRank);
}

int (*wrap_nccl_count(void))(const void *, int *)
{
	return (int (*)(const void *, int *))real_find(&wrap_nccl, 0, SLOT_ncclCommCount);
}
