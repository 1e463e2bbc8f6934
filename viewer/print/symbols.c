/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Dwfl per module file, opened when its first address comes. The address in the trace becomes
 * an offset in the file by the recorded mapping, and from there an address in the file's own terms
 * by its program headers: so neither the load address then nor the one now matters.
 */
#include "symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "trace_reader.h"
#include "xmalloc.h"

struct module {
	const struct record_library *library;
	Dwfl *dwfl;
	Dwfl_Module *dwfl_module;
	bool is_tried;
};

struct symbols {
	const struct trace *trace;
	struct module *modules; /* one per library of the trace */
	size_t count;
};

static char *no_debuginfo_path;
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &no_debuginfo_path,
	.section_address = dwfl_offline_section_address,
};

struct symbols *symbols_new(const struct trace *trace)
{
	struct symbols *symbols = xcalloc(1, sizeof(*symbols));

	symbols->trace = trace;
	symbols->count = trace ? trace_library_count(trace) : 0;
	symbols->modules = xcalloc(symbols->count, sizeof(*symbols->modules));
	for (size_t i = 0; i < symbols->count; i++)
		symbols->modules[i].library = trace_library(trace, i);
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->count; i++) {
		if (symbols->modules[i].dwfl)
			dwfl_end(symbols->modules[i].dwfl);
	}
	free(symbols->modules);
	free(symbols);
}

/* The latest mapping that holds the address: a later one replaced what was there before. */
static struct module *module_of(struct symbols *symbols, uint64_t address)
{
	for (size_t i = symbols->count; i-- > 0;) {
		const struct record_library *library = symbols->modules[i].library;

		if (address >= library->address && address - library->address < library->size_bytes)
			return &symbols->modules[i];
	}
	return NULL;
}

static bool has_same_build_id(const struct module *module)
{
	static const uint8_t none[sizeof(module->library->build_id)];
	const unsigned char *bits;
	GElf_Addr address;
	int length;

	if (!memcmp(module->library->build_id, none, sizeof(none)))
		return true;
	length = dwfl_module_build_id(module->dwfl_module, &bits, &address);
	if (length <= 0)
		return true; /* none to compare with */
	if ((size_t)length > sizeof(none))
		length = (int)sizeof(none);
	return !memcmp(bits, module->library->build_id, (size_t)length);
}

static void module_open(struct module *module)
{
	if (module->is_tried)
		return;
	module->is_tried = true;
	if (module->library->path[0] != '/')
		return;
	module->dwfl = dwfl_begin(&callbacks);
	if (!module->dwfl)
		return;
	dwfl_report_begin(module->dwfl);
	module->dwfl_module =
		dwfl_report_offline(module->dwfl, module->library->path, module->library->path, -1);
	dwfl_report_end(module->dwfl, NULL, NULL);
	if (module->dwfl_module && !has_same_build_id(module))
		module->dwfl_module = NULL;
}

/* Where Dwfl has the byte at this file offset. */
static bool dwfl_address_of(const struct module *module, uint64_t offset, GElf_Addr *address)
{
	GElf_Addr bias = 0;
	Elf *elf = dwfl_module_getelf(module->dwfl_module, &bias);
	size_t count;

	if (!elf || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		if (offset >= header.p_offset && offset - header.p_offset < header.p_filesz) {
			*address = bias + header.p_vaddr + (offset - header.p_offset);
			return true;
		}
	}
	return false;
}

bool symbols_find(struct symbols *symbols, uint64_t return_address, struct symbol *out)
{
	/* The call is in front of where it returns to. */
	uint64_t at = return_address ? return_address - 1 : 0;
	struct module *module = module_of(symbols, at);
	GElf_Addr address;
	Dwfl_Line *line;

	memset(out, 0, sizeof(*out));
	if (!module)
		return false;
	out->module = module->library->path;
	out->offset = at - module->library->address + module->library->file_offset;
	module_open(module);
	if (!module->dwfl_module || !dwfl_address_of(module, out->offset, &address))
		return true;
	out->function = dwfl_module_addrname(module->dwfl_module, address);
	line = dwfl_module_getsrc(module->dwfl_module, address);
	if (line)
		out->file = dwfl_lineinfo(line, NULL, &out->line, NULL, NULL, NULL);
	return true;
}
