/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the loaded objects and at /proc/self/maps to find this object. The instance marker is
 * exported: of two copies in one process the first in search order works, the other forwards.
 */
#include "self.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "maps.h"
#include "real.h"
#include "site_elf.h"
#include "wrap.h"

WRAP_EXPORT extern const char gputrace_shim_instance[];
const char gputrace_shim_instance[] = "gputrace";

static uintptr_t self_begin, self_end;

struct order {
	bool libc_seen;
	bool before_libc;
};

static bool visit(const struct site_elf_module *module, void *argument)
{
	struct order *order = argument;
	uintptr_t begin = UINTPTR_MAX, end = 0;
	const char *slash = strrchr(module->path, '/');
	const char *name = slash ? slash + 1 : module->path;

	for (size_t i = 0; i < module->segment_count; i++) {
		if (module->segments[i].p_type != PT_LOAD)
			continue;
		uintptr_t at = module->load_address + module->segments[i].p_vaddr;
		begin = at < begin ? at : begin;
		end = at + module->segments[i].p_memsz > end ? at + module->segments[i].p_memsz
							     : end;
	}
	if ((uintptr_t)(const void *)&self_begin >= begin &&
	    (uintptr_t)(const void *)&self_begin < end) {
		self_begin = begin;
		self_end = end;
		order->before_libc = !order->libc_seen;
		return true;
	}
	if (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2", 6))
		order->libc_seen = true;
	return false;
}

bool self_is_first_and_preloaded(void)
{
	struct order order = {false, false};
	/* Not dl_iterate_phdr: a child that was forked while another thread was in it would wait
	 * for ever, and in a child this may be the first question. */
	site_elf_each_module(visit, &order);
	if (!order.before_libc)
		return false;
	const void *first = real_dlsym(RTLD_DEFAULT, "gputrace_shim_instance");
	return !first || self_contains(first);
}

bool self_is_alone(void)
{
	struct order order = {false, false};
	site_elf_each_module(visit, &order); /* finds our own range */
	const void *first = real_dlsym(RTLD_DEFAULT, "gputrace_shim_instance");
	return !first || self_contains(first);
}

bool self_contains(const void *address)
{
	return (uintptr_t)address >= self_begin && (uintptr_t)address < self_end;
}

const char *self_path(void)
{
	static char path[4096];
	struct mapping mapping;
	Dl_info info;
	if (path[0])
		return path;
	/* A relative name may be relative to a directory that the program has left: then the
	 * kernel's own list must do. */
	if (dladdr(&self_begin, &info) && info.dli_fname && info.dli_fname[0] == '/') {
		if (!realpath(info.dli_fname, path))
			path[0] = '\0';
	} else if (maps_find((uintptr_t)&self_path, &mapping)) {
		memcpy(path, mapping.path, strlen(mapping.path) + 1);
	}
	return path;
}

const char *self_directory(void)
{
	static char directory[4096];
	if (!directory[0]) {
		strcpy(directory, self_path());
		char *slash = strrchr(directory, '/');
		if (slash)
			*slash = '\0';
		else
			directory[0] = '\0';
	}
	return directory;
}
