/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cubin as the simulated driver reads one: an ELF file with kernels and variables. Made here, so
 * that the tests need no compiler for the GPU.
 */
#ifndef GPUTRACE_SIM_CUBIN_H
#define GPUTRACE_SIM_CUBIN_H

#include <elf.h>
#include <string.h>

enum { CUBIN_SECTIONS = 7, CUBIN_SYMBOLS = 5, CUBIN_SHARED_BYTES = 640 };

struct cubin {
	Elf64_Ehdr header;
	Elf64_Shdr sections[CUBIN_SECTIONS];
	Elf64_Sym symbols[CUBIN_SYMBOLS];
	char section_names[128], names[64];
	int variable;
};

static inline Elf64_Word cubin_name(char *table, size_t *used, const char *name)
{
	Elf64_Word at = (Elf64_Word)*used;

	strcpy(table + *used, name);
	*used += strlen(name) + 1;
	return at;
}

static inline void cubin_section(struct cubin *cubin, int index, size_t *used, const char *name,
				 Elf64_Word type, const void *data, size_t bytes)
{
	Elf64_Shdr *section = &cubin->sections[index];

	section->sh_name = cubin_name(cubin->section_names, used, name);
	section->sh_type = type;
	section->sh_offset = data ? (Elf64_Off)((const char *)data - (const char *)cubin) : 0;
	section->sh_size = bytes;
}

static inline void cubin_symbol(struct cubin *cubin, int index, size_t *used, const char *name,
				unsigned char type, unsigned char binding, int section,
				size_t bytes)
{
	Elf64_Sym *symbol = &cubin->symbols[index];

	symbol->st_name = cubin_name(cubin->names, used, name);
	symbol->st_info = (unsigned char)ELF64_ST_INFO(binding, type);
	symbol->st_shndx = (Elf64_Half)section;
	symbol->st_size = bytes;
}

/* Kernels "first" and "second", a device function "helper", a variable "counter" of value 42. */
static inline void cubin_make(struct cubin *cubin)
{
	size_t sections_used = 1, names_used = 1;
	Elf64_Ehdr *header = &cubin->header;

	memset(cubin, 0, sizeof(*cubin));
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_machine = 190;
	header->e_shoff = offsetof(struct cubin, sections);
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = CUBIN_SECTIONS;
	header->e_shstrndx = 1;
	cubin->variable = 42;
	cubin_section(cubin, 1, &sections_used, ".shstrtab", SHT_STRTAB, cubin->section_names,
		      sizeof(cubin->section_names));
	cubin_section(cubin, 2, &sections_used, ".strtab", SHT_STRTAB, cubin->names,
		      sizeof(cubin->names));
	cubin_section(cubin, 3, &sections_used, ".symtab", SHT_SYMTAB, cubin->symbols,
		      sizeof(cubin->symbols));
	cubin->sections[3].sh_link = 2;
	cubin_section(cubin, 4, &sections_used, ".text.first", SHT_PROGBITS, NULL, 0);
	cubin_section(cubin, 5, &sections_used, ".nv.shared.first", SHT_NOBITS, NULL,
		      CUBIN_SHARED_BYTES);
	cubin_section(cubin, 6, &sections_used, ".nv.global.init", SHT_PROGBITS, &cubin->variable,
		      sizeof(cubin->variable));
	cubin_symbol(cubin, 1, &names_used, "first", STT_FUNC, STB_GLOBAL, 4, 128);
	cubin_symbol(cubin, 2, &names_used, "second", STT_FUNC, STB_GLOBAL, 4, 128);
	cubin_symbol(cubin, 3, &names_used, "helper", STT_FUNC, STB_LOCAL, 4, 128);
	cubin_symbol(cubin, 4, &names_used, "counter", STT_OBJECT, STB_LOCAL, 6, sizeof(int));
}

#endif
