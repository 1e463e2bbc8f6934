/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libcupti, one per row of cupti.def. Its symbols have a version node, but
 * an unversioned wrapper satisfies references to any version. Nothing is recorded here: the
 * wrappers tell cupti_share.c what the program does with CUPTI.
 */
#include "cupti_abi.h"
#include "cupti_share.h"
#include "real.h"
#include "wrap.h"

enum cupti_slot {
#define CUPTI(name, params, args, share) SLOT_##name,
#include "api/cupti.def"
#undef CUPTI
	SLOT_COUNT
};

static wrap_function _Atomic cupti_real[1][SLOT_COUNT];

#define CUPTI(name, params, args, share)                                                           \
	WRAP_EXPORT int name params;                                                               \
	int name params                                                                            \
	{                                                                                          \
		int(*const real) params =                                                          \
			(int(*) params)real_function(&wrap_cupti, 0, SLOT_##name);                 \
		return share;                                                                      \
	}
#include "api/cupti.def"
#undef CUPTI

static int cupti_not_supported(void)
{
	return CUPTI_NOT_SUPPORTED;
}

#define CUPTI(name, params, args, share) {#name, API_NONE, EFFECT_QUIET, 0, {(wrap_function)name}},
static const struct wrap_row cupti_rows[SLOT_COUNT] = {
#include "api/cupti.def"
};
#undef CUPTI

static const char *const cupti_sonames[] = {"libcupti.so.13"};

const struct wrap_library wrap_cupti = {
	.module_prefix = "libcupti.so",
	.sonames = cupti_sonames,
	.nodes = NULL,
	.node_count = 1,
	.row_count = SLOT_COUNT,
	.rows = cupti_rows,
	.real = &cupti_real[0][0],
	.not_supported = (wrap_function)cupti_not_supported,
};
