/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported forwarders of libc10, one per row of c10.def. The real function comes first; it is
 * found when the session opens or when a library registers kernels. A report that comes before
 * either finds it in libc10's own symbol table: reports come under the allocator's mutex, under
 * which the loader must not be asked.
 */
#include <stddef.h>
#include <string.h>

#include "capture_block.h"
#include "lifecycle.h"
#include "real.h"
#include "site_elf.h"
#include "wrap.h"

#define LOOKS_MAX 64

enum c10_slot {
#define C10(name, params, args, record) SLOT_##name,
#include "api/c10.def"
#undef C10
	SLOT_COUNT
};

static wrap_function _Atomic c10_real[1][SLOT_COUNT];
extern const struct wrap_library wrap_c10;
static wrap_function find_in_report(unsigned int row);

#define FRAME __builtin_frame_address(0)
#define C10(name, params, args, record)                                                            \
	WRAP_EXPORT void name params;                                                              \
	void name params                                                                           \
	{                                                                                          \
		wrap_function found =                                                              \
			atomic_load_explicit(&c10_real[0][SLOT_##name], memory_order_acquire);     \
		if (__builtin_expect(!found, 0))                                                   \
			found = find_in_report(SLOT_##name);                                       \
		((void(*) params)found) args;                                                      \
		record;                                                                            \
	}
#include "api/c10.def"
#undef C10
#undef FRAME

static void c10_not_supported(void)
{
}

#define C10(name, params, args, record) {#name, API_NONE, EFFECT_QUIET, 0, {(wrap_function)name}},
static const struct wrap_row c10_rows[SLOT_COUNT] = {
#include "api/c10.def"
};

static const char *const c10_sonames[] = {"libc10.so"};

const struct wrap_library wrap_c10 = {
	.module_prefix = "libc10.so",
	.sonames = c10_sonames,
	.nodes = NULL,
	.node_count = 1,
	.row_count = SLOT_COUNT,
	.rows = c10_rows,
	.real = &c10_real[0][0],
	.not_supported = (wrap_function)c10_not_supported,
};

struct search {
	const char *name;
	uintptr_t found;
};

/* In libc10, or in a program that has it linked in. */
static bool look_into(const struct site_elf_module *module, void *argument)
{
	struct search *search = argument;
	const char *slash = strrchr(module->path, '/');
	const char *name = slash ? slash + 1 : module->path;

	if (!name[0] || !strncmp(name, "libc10.so", 9))
		search->found = site_elf_symbol(module, search->name);
	return search->found != 0;
}

static wrap_function find_in_report(unsigned int row)
{
	struct search search = {c10_rows[row].name, 0};
	wrap_function found;

	if (!site_elf_each_module(look_into, &search))
		return c10_not_supported;
	found = (wrap_function)search.found;
	atomic_store_explicit(&c10_real[0][row], found, memory_order_release);
	return found;
}

static _Atomic uint32_t is_found;

void wrap_c10_find(void)
{
	/* Of all the variants a libc10 has one or two. */
	for (unsigned int row = 0; row < SLOT_COUNT; row++) {
		if (real_find(&wrap_c10, 0, row))
			atomic_store_explicit(&is_found, 1, memory_order_relaxed);
	}
}

void wrap_c10_library_came(const void *fat_binary)
{
	static const void *_Atomic last;
	static _Atomic uint32_t looks;
	if (atomic_load_explicit(&is_found, memory_order_relaxed) ||
	    atomic_load_explicit(&lifecycle_mode, memory_order_relaxed) != LIFECYCLE_RECORDING ||
	    atomic_exchange_explicit(&last, fat_binary, memory_order_relaxed) == fat_binary ||
	    atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed) >= LOOKS_MAX)
		return;
	wrap_c10_find();
}
