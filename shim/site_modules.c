// SPDX-License-Identifier: Apache-2.0
/*
 * Two ways to the same answer. Both end in a look at the module's own headers, so that a module
 * without a binary search table counts as one without unwind data: searching it linearly, or from
 * its file, is not something to do inside somebody's cudaMemcpy.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "site_modules.h"
#include "site_elf.h"
#include "site_memory.h"

#include <elf.h>
#include <string.h>
#include <time.h>

#define TABLE_LIMIT 4096
#define RESCAN_NS   100000000u

/* As <dlfcn.h> of glibc 2.35 has it on the machines that we support. */
struct found_object {
	unsigned long long flags;
	void *map_begin;
	void *map_end;
	struct link_map *link_map;
	void *unwind_table;
	unsigned long long reserved[7];
};

static int (*find_object)(void *pc, struct found_object *result);
static struct site_module table[TABLE_LIMIT];
static uint32_t table_count;
static uint64_t next_scan_ns;

/* Version 1, a pointer to .eh_frame, a table of 4-byte offsets relative to the header. */
static bool is_searchable(const uint8_t header[4])
{
	return header[0] == 1 && header[1] != 0xff && header[2] != 0xff && header[3] == 0x3b;
}

static bool take_module(const struct site_elf_module *from, void *context)
{
	struct site_module *to = &table[table_count];

	(void)context;
	memset(to, 0, sizeof(*to));
	to->load_address = from->load_address;
	to->segments = (const ElfW(Phdr) *)from->segments_at;
	to->segment_count = (uint16_t)from->segment_count;
	for (size_t i = 0; i < from->segment_count; i++) {
		const ElfW(Phdr) *segment = &from->segments[i];
		uintptr_t begin = from->load_address + segment->p_vaddr;

		if (segment->p_type == PT_GNU_EH_FRAME)
			to->unwind_table = begin;
		if (segment->p_type != PT_LOAD)
			continue;
		if (!to->end || begin < to->begin)
			to->begin = begin;
		if (begin + segment->p_memsz > to->end)
			to->end = begin + segment->p_memsz;
	}
	table_count++;
	return table_count == TABLE_LIMIT;
}

static void scan(void)
{
	table_count = 0;
	site_elf_each_module(take_module, NULL);
}

static bool look_up_find_object(const struct site_elf_module *module, void *context)
{
	const char *slash = strrchr(module->path, '/');
	uintptr_t symbol;

	(void)context;
	if (!slash || (strncmp(slash, "/ld-", 4) != 0 && strncmp(slash, "/ld.", 4) != 0 &&
		       strncmp(slash, "/libc.so", 8) != 0))
		return false;
	symbol = site_elf_symbol(module, "_dl_find_object");
	if (symbol)
		find_object = (__typeof__(find_object))symbol;
	return symbol != 0;
}

void site_modules_attach(bool use_table)
{
	find_object = NULL;
	if (!use_table && site_elf_each_module(look_up_find_object, NULL))
		return;
	scan();
}

static bool find_by_object(uintptr_t pc, struct site_module *module)
{
	struct found_object found;
	const ElfW(Ehdr) * header;

	memset(&found, 0, sizeof(found));
	if (find_object((void *)pc, &found) != 0 || !found.unwind_table || !found.link_map)
		return false;
	/* The first page of a file's mapping holds its ELF header. */
	header = found.map_begin;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_phentsize != sizeof(ElfW(Phdr)))
		return false;
	module->begin = (uintptr_t)found.map_begin;
	module->end = (uintptr_t)found.map_end;
	module->load_address = found.link_map->l_addr;
	module->segments = (const ElfW(Phdr) *)(module->begin + header->e_phoff);
	module->segment_count = header->e_phnum;
	module->unwind_table = (uintptr_t)found.unwind_table;
	return is_searchable(found.unwind_table);
}

/* An entry may be of a file that was closed since; its header is read only if it is there. */
static bool find_in_table(uintptr_t pc, struct site_module *module)
{
	for (uint32_t i = 0; i < table_count; i++) {
		if (pc < table[i].begin || pc >= table[i].end)
			continue;
		*module = table[i];
		return module->unwind_table &&
		       site_memory_is_readable((const void *)module->unwind_table) &&
		       is_searchable((const uint8_t *)module->unwind_table);
	}
	return false;
}

static bool may_scan_now(void)
{
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (now_ns < next_scan_ns)
		return false;
	next_scan_ns = now_ns + RESCAN_NS;
	return true;
}

bool site_modules_find(uintptr_t pc, struct site_module *module)
{
	if (find_object)
		return find_by_object(pc, module);
	if (find_in_table(pc, module))
		return true;
	if (!may_scan_now())
		return false;
	scan();
	return find_in_table(pc, module);
}
