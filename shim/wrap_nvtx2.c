/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libnvToolsExt (NVTX v2), one per row of nvtx2.def. That library also
 * honours NVTX_INJECTION64_PATH; when it has called our injection, its own calls into our tables
 * record, and the wrappers only forward. The real call comes first, since it is what injects.
 */
#include <stddef.h>

#include "nvtx.h"
#include "real.h"
#include "wrap.h"

enum nvtx2_slot {
#define NVTX2(type, name, params, args, record) SLOT_##name,
#define NVTX2_VOID(name, params, args, record)	SLOT_##name,
#include "api/nvtx2.def"
#undef NVTX2
#undef NVTX2_VOID
	SLOT_COUNT
};

static wrap_function _Atomic nvtx2_real[1][SLOT_COUNT];
extern const struct wrap_library wrap_nvtx2;

#define NVTX2(type, name, params, args, record)                                                    \
	WRAP_EXPORT type name params;                                                              \
	type name params                                                                           \
	{                                                                                          \
		type(*real) params = (type(*) params)real_function(&wrap_nvtx2, 0, SLOT_##name);   \
		type result = real args;                                                           \
		if (!nvtx_v2_is_injected())                                                        \
			record;                                                                    \
		return result;                                                                     \
	}
#define NVTX2_VOID(name, params, args, record)                                                     \
	WRAP_EXPORT void name params;                                                              \
	void name params                                                                           \
	{                                                                                          \
		void(*real) params = (void(*) params)real_function(&wrap_nvtx2, 0, SLOT_##name);   \
		real args;                                                                         \
		if (!nvtx_v2_is_injected())                                                        \
			record;                                                                    \
	}
#include "api/nvtx2.def"
#undef NVTX2
#undef NVTX2_VOID

/* For any result type: no level, no number, no handle. */
static uint64_t nvtx2_not_supported(void)
{
	return 0;
}

#define NVTX2(type, name, params, args, record)                                                    \
	{#name, API_NONE, EFFECT_QUIET, 0, {(wrap_function)name}},
#define NVTX2_VOID(name, params, args, record)                                                     \
	{#name, API_NONE, EFFECT_QUIET, 0, {(wrap_function)name}},
static const struct wrap_row nvtx2_rows[SLOT_COUNT] = {
#include "api/nvtx2.def"
};

static const char *const nvtx2_sonames[] = {"libnvToolsExt.so.1"};

const struct wrap_library wrap_nvtx2 = {
	.module_prefix = "libnvToolsExt.so",
	.sonames = nvtx2_sonames,
	.nodes = NULL,
	.node_count = 1,
	.row_count = SLOT_COUNT,
	.rows = nvtx2_rows,
	.real = &nvtx2_real[0][0],
	.not_supported = (wrap_function)nvtx2_not_supported,
};
