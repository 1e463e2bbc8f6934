/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up symbols in loaded modules by reading their ELF tables, without dlsym.
 *
 * dlsym takes the lock that dlopen holds while constructors run; a CUDA call from a constructor
 * must not wait for that. The list of modules is read with dl_iterate_phdr, whose own lock is only
 * held while the list changes. Called at session start, never on the hot path.
 */
#ifndef GPUTRACE_SITE_ELF_H
#define GPUTRACE_SITE_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct site_elf_module {
	const char *path; /* "" for the program itself; valid while the module is loaded */
	uintptr_t load_address;
	const ElfW(Phdr) * segments;
	size_t segment_count;
};

/* Calls visit for each loaded module until it returns true. Returns whether one did. */
bool site_elf_each_module(bool (*visit)(const struct site_elf_module *module, void *context),
			  void *context);

/* Address of a defined, exported symbol; 0: the module has none. Any version of it is taken. */
uintptr_t site_elf_symbol(const struct site_elf_module *module, const char *name);

/* Where the module's executable code lies; false: it has none. */
bool site_elf_code_range(const struct site_elf_module *module, uintptr_t *begin, uintptr_t *end);

#endif
