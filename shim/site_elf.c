// SPDX-License-Identifier: Apache-2.0
/*
 * Symbol look-up through DT_GNU_HASH, or DT_HASH where there is no other, of one module.
 * No libc call besides dl_iterate_phdr and string comparison.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "site_elf.h"

#include <elf.h>
#include <string.h>

struct each_module {
	bool (*visit)(const struct site_elf_module *module, void *context);
	void *context;
};

static int visit_module(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct each_module *each = data;
	struct site_elf_module module = {.path = info->dlpi_name ? info->dlpi_name : "",
					 .load_address = info->dlpi_addr,
					 .segments = info->dlpi_phdr,
					 .segment_count = info->dlpi_phnum};

	(void)size;
	return each->visit(&module, each->context) ? 1 : 0;
}

bool site_elf_each_module(bool (*visit)(const struct site_elf_module *module, void *context),
			  void *context)
{
	struct each_module each = {visit, context};

	return dl_iterate_phdr(visit_module, &each) != 0;
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
	const ElfW(Dyn) *entry = NULL;

	memset(tables, 0, sizeof(*tables));
	for (size_t i = 0; i < module->segment_count; i++) {
		if (module->segments[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(module->load_address +
						    module->segments[i].p_vaddr);
	}
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

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
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
