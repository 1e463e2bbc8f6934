/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loaded modules and their symbols, read without asking the loader for anything.
 *
 * dlsym takes the lock that dlopen holds while constructors run, and dl_iterate_phdr takes one that
 * the child of a fork may find locked for ever. So the list is read as a debugger reads it, through
 * the kernel where somebody may be changing it. Called at session start, never on the hot path.
 */
#ifndef GPUTRACE_SITE_ELF_H
#define GPUTRACE_SITE_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct site_elf_module {
	const char *path; /* "" for the program itself; valid during the visit */
	uintptr_t load_address;
	const ElfW(Phdr) * segments; /* valid during the visit */
	size_t segment_count;
	uintptr_t segments_at; /* where they lie in the module */
};

/* Calls visit for each loaded module until it returns true. Returns whether one did. */
bool site_elf_each_module(bool (*visit)(const struct site_elf_module *module, void *context),
			  void *context);

/* Whether the loader is in the middle of nothing; true when it does not say. */
bool site_elf_loader_is_idle(void);

/* Address of a defined, exported symbol; 0: the module has none. Any version of it is taken. */
uintptr_t site_elf_symbol(const struct site_elf_module *module, const char *name);

/* Whether the module was linked against a library whose name begins so. */
bool site_elf_needs(const struct site_elf_module *module, const char *library);

/* Where the module's executable code lies; false: it has none. */
bool site_elf_code_range(const struct site_elf_module *module, uintptr_t *begin, uintptr_t *end);

#endif
