// SPDX-License-Identifier: Apache-2.0
/*
 * The list starts at the program's DT_DEBUG entry. Nodes, names and headers are copied through the
 * kernel, since another thread may be unloading a module; symbols are looked up by plain reading,
 * in modules that stay (the program, the interpreter, the loader).
 */
#include "site_elf.h"
#include "site_memory.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#define MODULE_LIMIT  8192
#define SEGMENT_LIMIT 24
#define PATH_BYTES    1024

/* Through the kernel, or where that is forbidden, after asking whether the ends are mapped. */
static bool copy_checked(void *to, uintptr_t from, size_t size_bytes)
{
	const char *begin = (const char *)from;

	if (site_memory_copy(to, begin, size_bytes))
		return true;
	if (site_memory_can_copy() || !site_memory_is_readable(begin) ||
	    !site_memory_is_readable(begin + size_bytes - sizeof(uint64_t)))
		return false;
	memcpy(to, begin, size_bytes);
	return true;
}

/* A path in pieces that do not cross a page for nothing. */
static void copy_path(char path[PATH_BYTES], uintptr_t from)
{
	size_t used = 0;

	while (used + 64 < PATH_BYTES) {
		size_t piece = 64 - (from + used) % 64;

		if (!copy_checked(path + used, from + used, piece))
			break;
		if (memchr(path + used, 0, piece))
			return;
		used += piece;
	}
	path[0] = '\0';
}

/* The program's own headers are where the kernel says; its load address follows from them. */
static bool describe_program(struct site_elf_module *module)
{
	module->path = "";
	module->segments_at = getauxval(AT_PHDR);
	module->segments = (const ElfW(Phdr) *)module->segments_at;
	module->segment_count = getauxval(AT_PHNUM);
	module->load_address = 0;
	for (size_t i = 0; module->segments && i < module->segment_count; i++) {
		if (module->segments[i].p_type == PT_PHDR)
			module->load_address = module->segments_at - module->segments[i].p_vaddr;
	}
	return module->segments != NULL;
}

static const ElfW(Dyn) * dynamic_of(const struct site_elf_module *module)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		if (module->segments[i].p_type == PT_DYNAMIC)
			return (const ElfW(Dyn) *)(module->load_address +
						   module->segments[i].p_vaddr);
	}
	return NULL;
}

/* A library, from its node in the loader's list. */
static bool describe_library(const struct link_map *node, ElfW(Phdr) segments[SEGMENT_LIMIT],
			     struct site_elf_module *module)
{
	ElfW(Ehdr) header;

	if (!copy_checked(&header, node->l_addr, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_phentsize != sizeof(segments[0]) || header.e_phnum > SEGMENT_LIMIT ||
	    !copy_checked(segments, node->l_addr + header.e_phoff,
			  header.e_phnum * sizeof(segments[0])))
		return false;
	module->load_address = node->l_addr;
	module->segments = segments;
	module->segment_count = header.e_phnum;
	module->segments_at = node->l_addr + header.e_phoff;
	return true;
}

/* What the loader keeps for debuggers. */
static bool read_debug(const struct site_elf_module *program, struct r_debug *debug)
{
	const ElfW(Dyn) * entry;

	for (entry = dynamic_of(program); entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_DEBUG)
			return copy_checked(debug, entry->d_un.d_ptr, sizeof(*debug));
	}
	return false;
}

bool site_elf_loader_is_idle(void)
{
	struct site_elf_module program;
	struct r_debug debug;

	return !describe_program(&program) || !read_debug(&program, &debug) ||
	       debug.r_state == RT_CONSISTENT;
}

bool site_elf_each_module(bool (*visit)(const struct site_elf_module *module, void *context),
			  void *context)
{
	struct site_elf_module module;
	struct r_debug debug;
	struct link_map node;
	char path[PATH_BYTES];

	if (!describe_program(&module))
		return false;
	if (visit(&module, context))
		return true;
	if (!read_debug(&module, &debug) || !debug.r_map ||
	    !copy_checked(&node, (uintptr_t)debug.r_map, sizeof(node)))
		return false;
	for (int i = 0; i < MODULE_LIMIT && node.l_next; i++) {
		ElfW(Phdr) segments[SEGMENT_LIMIT];

		if (!copy_checked(&node, (uintptr_t)node.l_next, sizeof(node)))
			break;
		copy_path(path, (uintptr_t)node.l_name);
		module.path = path;
		if (path[0] && describe_library(&node, segments, &module) &&
		    visit(&module, context))
			return true;
	}
	return false;
}

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *old_hash;
};

/* glibc has relocated d_ptr of ordinary modules, but not that of the vDSO. */
static uintptr_t dynamic_address(const struct site_elf_module *module, uintptr_t value)
{
	return value < module->load_address ? value + module->load_address : value;
}

static bool read_tables(const struct site_elf_module *module, struct tables *tables)
{
	const ElfW(Dyn) *entry = dynamic_of(module);

	memset(tables, 0, sizeof(*tables));
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		uintptr_t address = dynamic_address(module, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			tables->symbols = (const ElfW(Sym) *)address;
		else if (entry->d_tag == DT_STRTAB)
			tables->strings = (const char *)address;
		else if (entry->d_tag == DT_GNU_HASH)
			tables->gnu_hash = (const uint32_t *)address;
		else if (entry->d_tag == DT_HASH)
			tables->old_hash = (const uint32_t *)address;
	}
	return tables->symbols && tables->strings;
}

static bool is_defined_as(const struct tables *tables, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &tables->symbols[index];

	/* An indirect function's value is that of the function which chooses. */
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
	       (symbol->st_info & 15) != STT_GNU_IFUNC &&
	       strcmp(tables->strings + symbol->st_name, name) == 0;
}

static uint32_t find_by_gnu_hash(const struct tables *tables, const char *name)
{
	uint32_t bucket_count = tables->gnu_hash[0];
	uint32_t first_symbol = tables->gnu_hash[1];
	uint32_t bloom_words = tables->gnu_hash[2];
	const uint32_t *buckets =
		tables->gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 5381, index;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = hash * 33 + *c;
	if (bucket_count == 0)
		return 0;
	index = buckets[hash % bucket_count];
	if (index < first_symbol)
		return 0;
	for (;; index++) {
		uint32_t entry = chain[index - first_symbol];

		if ((entry | 1) == (hash | 1) && is_defined_as(tables, index, name))
			return index;
		if (entry & 1)
			return 0;
	}
}

static uint32_t find_by_old_hash(const struct tables *tables, const char *name)
{
	uint32_t chain_count = tables->old_hash[1];

	for (uint32_t i = 1; i < chain_count; i++) {
		if (is_defined_as(tables, i, name))
			return i;
	}
	return 0;
}

uintptr_t site_elf_symbol(const struct site_elf_module *module, const char *name)
{
	struct tables tables;
	uint32_t index = 0;

	if (!read_tables(module, &tables))
		return 0;
	if (tables.gnu_hash)
		index = find_by_gnu_hash(&tables, name);
	else if (tables.old_hash)
		index = find_by_old_hash(&tables, name);
	return index ? module->load_address + tables.symbols[index].st_value : 0;
}

bool site_elf_needs(const struct site_elf_module *module, const char *library)
{
	struct tables tables;
	const ElfW(Dyn) *entry = dynamic_of(module);

	if (!read_tables(module, &tables))
		return false;
	for (; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_NEEDED &&
		    !strncmp(tables.strings + entry->d_un.d_val, library, strlen(library)))
			return true;
	}
	return false;
}

bool site_elf_code_range(const struct site_elf_module *module, uintptr_t *begin, uintptr_t *end)
{
	bool found = false;

	for (size_t i = 0; i < module->segment_count; i++) {
		const ElfW(Phdr) *segment = &module->segments[i];
		uintptr_t from = module->load_address + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		if (!found || from < *begin)
			*begin = from;
		if (!found || from + segment->p_memsz > *end)
			*end = from + segment->p_memsz;
		found = true;
	}
	return found;
}
