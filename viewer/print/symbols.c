/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Dwfl per module file, opened when its first address comes. The address in the trace becomes
 * an offset in the file by the recorded mapping, and from there an address in the file's own terms
 * by its program headers: so neither the load address then nor the one now matters.
 */
#include "symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "demangle.h"
#include "map.h"
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
	struct map found; /* return address -> its symbol in `made`, or 0 */
	struct symbol **made;
	char **names; /* of functions */
	size_t made_count, made_capacity, name_count, name_capacity;
};

/* Inlined functions in each other; deeper ones are hostile. */
#define INLINE_LIMIT 64

static char *no_debuginfo_path;
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &no_debuginfo_path,
	.section_address = dwfl_offline_section_address,
};

static bool is_debuginfod_allowed;

void symbols_allow_debuginfod(bool is_allowed)
{
	is_debuginfod_allowed = is_allowed;
}

struct symbols *symbols_new(const struct trace *trace)
{
	struct symbols *symbols = xcalloc(1, sizeof(*symbols));

	/* libdwfl asks the servers that this names, without a switch of its own. */
	if (!is_debuginfod_allowed)
		unsetenv("DEBUGINFOD_URLS");
	map_init(&symbols->found);
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
	for (size_t i = 0; i < symbols->made_count; i++)
		free(symbols->made[i]);
	for (size_t i = 0; i < symbols->name_count; i++)
		free(symbols->names[i]);
	map_fini(&symbols->found);
	free(symbols->made);
	free(symbols->names);
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

/* The compilation unit of an address. Without .debug_aranges, as of clang, all have to be asked. */
static Dwarf_Die *unit_of(Dwfl_Module *module, GElf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);

	if (unit)
		return unit;
	do {
		unit = dwfl_module_nextcu(module, unit, bias);
	} while (unit && dwarf_haspc(unit, address - *bias) <= 0);
	return unit;
}

static struct symbol *add_symbol(struct symbols *symbols, const struct symbol *symbol)
{
	struct symbol *copy = xmalloc(sizeof(*copy));

	*copy = *symbol;
	if (symbols->made_count == symbols->made_capacity)
		symbols->made =
			array_grow(symbols->made, &symbols->made_capacity, sizeof(*symbols->made));
	symbols->made[symbols->made_count++] = copy;
	return copy;
}

static const char *add_name(struct symbols *symbols, const char *mangled)
{
	if (!mangled)
		return NULL;
	if (symbols->name_count == symbols->name_capacity)
		symbols->names = array_grow(symbols->names, &symbols->name_capacity,
					    sizeof(*symbols->names));
	symbols->names[symbols->name_count] = demangle_name(mangled);
	return symbols->names[symbols->name_count++];
}

static const char *name_of_scope(Dwarf_Die *scope)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(scope, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return dwarf_diename(scope);
}

/* Where the function that `scope` is an inlined copy of was called. */
static void read_call_place(Dwarf_Die *unit, Dwarf_Die *scope, struct symbol *caller)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;

	caller->file = NULL;
	caller->line = 0;
	if (!dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &number) &&
	    !dwarf_getsrcfiles(unit, &files, NULL))
		caller->file = dwarf_filesrc(files, number, NULL, NULL);
	if (!dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &number))
		caller->line = (int)number;
}

/* The scopes of an address from the innermost outwards, in terms of where they lie and not of where
 * they were written; *scopes is to be freed. */
static int scopes_of(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
	int count = dwarf_getscopes(unit, address, scopes);
	Dwarf_Die innermost;

	if (count <= 0)
		return 0;
	innermost = (*scopes)[0];
	free(*scopes);
	*scopes = NULL;
	count = dwarf_getscopes_die(&innermost, scopes);
	return count > 0 ? count : 0;
}

/* `symbol` knows module, offset, file and line; gives it its function, and its callers as far as it
 * was inlined. False: the debugging information does not tell. */
static bool add_scopes(struct symbols *symbols, Dwarf_Die *unit, Dwarf_Addr address,
		       struct symbol *symbol)
{
	Dwarf_Die *scopes = NULL;
	int count = scopes_of(unit, address, &scopes), depth = 0;
	struct symbol *at = symbol;

	for (int i = 0; i < count && depth < INLINE_LIMIT; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		at->function = add_name(symbols, name_of_scope(&scopes[i]));
		depth++;
		if (tag == DW_TAG_inlined_subroutine) {
			struct symbol caller = {.module = at->module, .offset = at->offset};
			struct symbol *made;

			read_call_place(unit, &scopes[i], &caller);
			made = add_symbol(symbols, &caller);
			at->caller = made;
			at = made;
			continue;
		}
		break;
	}
	free(scopes);
	return depth > 0;
}

static void describe(struct symbols *symbols, struct module *module, struct symbol *symbol)
{
	GElf_Addr address;
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit;
	Dwarf_Line *line;

	module_open(module);
	if (!module->dwfl_module || !dwfl_address_of(module, symbol->offset, &address))
		return;
	unit = unit_of(module->dwfl_module, address, &bias);
	line = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
	if (line) {
		symbol->file = dwarf_linesrc(line, NULL, NULL);
		dwarf_lineno(line, &symbol->line);
	}
	if (!unit || !add_scopes(symbols, unit, address - bias, symbol))
		symbol->function =
			add_name(symbols, dwfl_module_addrname(module->dwfl_module, address));
}

const struct symbol *symbols_find(struct symbols *symbols, uint64_t return_address)
{
	/* The call is in front of where it returns to. */
	uint64_t at = return_address ? return_address - 1 : 0;
	struct symbol symbol = {NULL, 0, NULL, NULL, 0, NULL};
	struct module *module;
	uint64_t *slot;
	bool is_new;

	slot = map_slot(&symbols->found, return_address, &is_new);
	if (!is_new)
		return (const struct symbol *)(uintptr_t)*slot;
	module = module_of(symbols, at);
	if (!module)
		return NULL;
	symbol.module = module->library->path;
	symbol.offset = at - module->library->address + module->library->file_offset;
	describe(symbols, module, &symbol);
	*slot = (uintptr_t)add_symbol(symbols, &symbol);
	return (const struct symbol *)(uintptr_t)*slot;
}
