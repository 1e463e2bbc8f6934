/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a module calls what we wrap, its table of addresses tells whom: us, or CUDA's library
 * behind our back. Everything is read through the kernel, for another thread may be unloading a
 * module, and nothing asks the loader. Runs when a session ends, and now and then before.
 */
#include "bound_past.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "real.h"
#include "self.h"
#include "session.h"
#include "site_elf.h"
#include "site_memory.h"
#include "ticks.h"
#include "wrap_lookup.h"

#define LIBRARIES_MAX 32
#define DYNAMIC_MAX   96 /* entries of one module */
#define CHUNK	      128u
#define PAGE_BYTES    4096u
#define TEXT_BYTES    1024u
#define LIMIT_NS      20000000u
#define FIRST_NS      1000000000u
#define PAUSE_MAX_NS  32000000000u
#if defined(__x86_64__)
#define RELOCATES_DATA R_X86_64_GLOB_DAT
#define RELOCATES_CALL R_X86_64_JUMP_SLOT
#else
#define RELOCATES_DATA R_AARCH64_GLOB_DAT
#define RELOCATES_CALL R_AARCH64_JUMP_SLOT
#endif

struct range {
	uintptr_t begin, end;
};

struct search {
	struct range libraries[LIBRARIES_MAX]; /* of CUDA */
	uint32_t library_count;
	uintptr_t real_dlsym;
	uint64_t until_ns;
	const char *module; /* file name of the one that is looked at */
	uint32_t found_here;
	uintptr_t page_at; /* of `page`, 0: none */
	unsigned char page[PAGE_BYTES];
	char calls[TEXT_BYTES], look_ups[TEXT_BYTES];
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_cuda(const char *name)
{
	static const char *const prefixes[] = {"libcuda.so", "libcudart", "libcublas",
					       "libnccl.so"};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

static struct range range_of(const struct site_elf_module *module)
{
	struct range range = {UINTPTR_MAX, 0};
	for (size_t i = 0; i < module->segment_count; i++) {
		uintptr_t at = module->load_address + module->segments[i].p_vaddr;
		if (module->segments[i].p_type != PT_LOAD)
			continue;
		if (at < range.begin)
			range.begin = at;
		if (at + module->segments[i].p_memsz > range.end)
			range.end = at + module->segments[i].p_memsz;
	}
	return range;
}

static bool note_library(const struct site_elf_module *module, void *context)
{
	struct search *search = context;
	if (is_cuda(file_name(module->path)) && search->library_count < LIBRARIES_MAX)
		search->libraries[search->library_count++] = range_of(module);
	return false;
}

static bool is_in_library(const struct search *search, uintptr_t address)
{
	for (uint32_t i = 0; i < search->library_count; i++) {
		if (address >= search->libraries[i].begin && address < search->libraries[i].end)
			return true;
	}
	return false;
}

/* A word of the module's memory; its neighbours are asked for next. */
static bool read_word(struct search *search, uintptr_t at, uintptr_t *word)
{
	uintptr_t page = at & ~(uintptr_t)(PAGE_BYTES - 1);
	if (at % sizeof(*word))
		return false;
	if (search->page_at != page) {
		search->page_at = 0;
		if (!site_memory_copy(search->page, (const void *)page, PAGE_BYTES))
			return false;
		search->page_at = page;
	}
	memcpy(word, search->page + at % PAGE_BYTES, sizeof(*word));
	return true;
}

static void append(char text[TEXT_BYTES], const char *before, const char *what)
{
	size_t used = strlen(text);
	if (used + strlen(before) + strlen(what) + 1 < TEXT_BYTES)
		snprintf(text + used, TEXT_BYTES - used, "%s%s", before, what);
}

static void note_call(struct search *search, const char *name)
{
	if (search->found_here++ == 0) {
		append(search->calls, search->calls[0] ? "; " : "", search->module);
		append(search->calls, ": ", name);
	} else {
		append(search->calls, ", ", name);
	}
}

struct tables {
	uintptr_t symbols, strings;
	struct range relocations[2];
};

static bool read_tables(const struct site_elf_module *module, struct tables *tables)
{
	ElfW(Dyn) entry;
	uintptr_t at = 0, sizes[2] = {0};

	memset(tables, 0, sizeof(*tables));
	for (size_t i = 0; i < module->segment_count; i++) {
		if (module->segments[i].p_type == PT_DYNAMIC)
			at = module->load_address + module->segments[i].p_vaddr;
	}
	for (int i = 0; at && i < DYNAMIC_MAX; i++, at += sizeof(entry)) {
		if (!site_memory_copy(&entry, (const void *)at, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		/* glibc has relocated the addresses of all but the vDSO. */
		uintptr_t address = entry.d_un.d_ptr < module->load_address
					    ? entry.d_un.d_ptr + module->load_address
					    : entry.d_un.d_ptr;
		switch (entry.d_tag) {
		case DT_SYMTAB:
			tables->symbols = address;
			break;
		case DT_STRTAB:
			tables->strings = address;
			break;
		case DT_JMPREL:
			tables->relocations[0].begin = address;
			break;
		case DT_PLTRELSZ:
			sizes[0] = entry.d_un.d_val;
			break;
		case DT_RELA:
			tables->relocations[1].begin = address;
			break;
		case DT_RELASZ:
			sizes[1] = entry.d_un.d_val;
			break;
		default:
			break;
		}
	}
	for (int i = 0; i < 2; i++)
		tables->relocations[i].end = tables->relocations[i].begin + sizes[i];
	return tables->symbols && tables->strings;
}

/* The name behind a relocation, when it is one of those that matter. */
static bool read_name(const struct tables *tables, const ElfW(Rela) * relocation, char name[64])
{
	ElfW(Sym) symbol;
	uintptr_t at = tables->symbols + ELF64_R_SYM(relocation->r_info) * sizeof(symbol);

	if (!site_memory_copy(&symbol, (const void *)at, sizeof(symbol)) || !symbol.st_name)
		return false;
	at = tables->strings + symbol.st_name;
	/* Names near the end of the table may have less behind them. */
	for (size_t size = 63; size >= 8; size /= 2) {
		memset(name, 0, 64);
		if (site_memory_copy(name, (const void *)at, size))
			return true;
	}
	return false;
}

static void look_at(struct search *search, const struct site_elf_module *module,
		    const struct tables *tables, const ElfW(Rela) * relocation)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
	uintptr_t target;
	char name[64];

	if (type != RELOCATES_DATA && type != RELOCATES_CALL)
		return;
	if (!read_word(search, module->load_address + relocation->r_offset, &target))
		return;
	if (target != search->real_dlsym && !is_in_library(search, target))
		return;
	if (!read_name(tables, relocation, name))
		return;
	if (target == search->real_dlsym && !strcmp(name, "dlsym"))
		append(search->look_ups, search->look_ups[0] ? ", " : "", search->module);
	else if (lookup_is_wrapped(name))
		note_call(search, name);
}

static bool look_into(const struct site_elf_module *module, void *context)
{
	struct search *search = context;
	struct tables tables;
	ElfW(Rela) chunk[CHUNK];
	struct range own = range_of(module);

	search->module = file_name(module->path);
	search->found_here = 0;
	/* Libraries of CUDA among themselves are no calls of the program. */
	if (self_contains((const void *)own.begin) || is_in_library(search, own.begin) ||
	    !strncmp(search->module, "libc.so", 7) || !strncmp(search->module, "libgputrace", 11) ||
	    !read_tables(module, &tables))
		return false;
	for (int i = 0; i < 2; i++) {
		const struct range *range = &tables.relocations[i];
		for (uintptr_t at = range->begin; range->begin && at < range->end;) {
			size_t bytes =
				range->end - at < sizeof(chunk) ? range->end - at : sizeof(chunk);
			if (ticks_monotonic() > search->until_ns)
				return true;
			if (!site_memory_copy(chunk, (const void *)at, bytes))
				break;
			for (size_t r = 0; r < bytes / sizeof(chunk[0]); r++)
				look_at(search, module, &tables, &chunk[r]);
			at += bytes;
		}
	}
	return false;
}

/* How often the flag was taken away from dlopen(), where libgputrace-nodeepbind.so is preloaded. */
static bool tell_cleared(const struct site_elf_module *module, void *context)
{
	char text[24];
	(void)context;
	if (strcmp(file_name(module->path), "libgputrace-nodeepbind.so") != 0)
		return false;
	uintptr_t at = site_elf_symbol(module, "gputrace_nodeepbind_count");
	uint64_t count;
	if (!at || !site_memory_copy(&count, (const void *)at, sizeof(count)))
		return true;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
	session_info("dlopen.deepbind_cleared", text);
	return true;
}

void bound_past_report(void)
{
	struct search search;
	union {
		real_dlsym_function function;
		uintptr_t address;
	} convert = {real_dlsym_address()};

	memset(&search, 0, sizeof(search));
	search.real_dlsym = convert.address;
	search.until_ns = ticks_monotonic() + LIMIT_NS;
	site_elf_each_module(note_library, &search);
	if (search.library_count)
		site_elf_each_module(look_into, &search);
	site_elf_each_module(tell_cleared, NULL);
	if (search.calls[0])
		session_info("calls.past", search.calls);
	if (search.look_ups[0])
		session_info("lookups.past", search.look_ups);
}

static bool add_module(const struct site_elf_module *module, void *context)
{
	uint64_t *state = context;
	*state = (*state ^ module->load_address) * 0x100000001b3u + 1;
	return false;
}

void bound_past_turn(void)
{
	static uint64_t session_ticks, next_ns, pause_ns, seen;
	uint64_t now_ns = ticks_monotonic(), state = 0;

	if (session_ticks != session_control->start_ticks) {
		session_ticks = session_control->start_ticks;
		seen = 0;
		pause_ns = FIRST_NS;
		next_ns = now_ns + pause_ns;
	}
	if (now_ns < next_ns)
		return;
	pause_ns = pause_ns < PAUSE_MAX_NS ? pause_ns * 2 : PAUSE_MAX_NS;
	next_ns = now_ns + pause_ns;
	site_elf_each_module(add_module, &state);
	if (state != seen)
		bound_past_report();
	seen = state;
}
