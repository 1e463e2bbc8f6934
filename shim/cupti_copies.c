/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes by what every module tells the loader: the symbols that it exports and the libraries that it
 * needs. A program linked with a static CUPTI exports its functions with -rdynamic, and so do most
 * libraries that have one.
 */
#include "cupti_copies.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "self.h"
#include "site_elf.h"

struct search {
	const char *used_path;
	char *text;
	size_t size;
};

static bool is_libcupti(const char *path)
{
	const char *slash = strrchr(path, '/');
	return !strncmp(slash ? slash + 1 : path, "libcupti", 8);
}

/* Cut at the front when it is long: the end of a path says more. */
static const char *name_of(const struct site_elf_module *module, char *buffer, size_t size)
{
	const char *path = module->path;
	if (!path[0]) {
		ssize_t length = readlink("/proc/self/exe", buffer, size - 1);
		buffer[length > 0 ? length : 0] = '\0';
		path = length > 0 ? buffer : "the program itself";
	}
	size_t length = strlen(path);
	return length > 400 ? path + length - 400 : path;
}

static bool look_for_copy(const struct site_elf_module *module, void *argument)
{
	struct search *search = argument;
	char buffer[1024];
	uintptr_t address = site_elf_symbol(module, "cuptiSubscribe");
	if (!address)
		address = site_elf_symbol(module, "cuptiActivityRegisterCallbacks");
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	if (!address || self_contains((const void *)address) ||
	    site_elf_symbol(module, "gputrace_shim_instance") ||
	    !strcmp(module->path, search->used_path) ||
	    (!search->used_path[0] && is_libcupti(module->path)))
		return false;
	snprintf(search->text, search->size,
		 is_libcupti(module->path)
			 ? "a second CUPTI is loaded, %s: what uses it is not seen"
			 : "%s has CUPTI's functions of its own, perhaps a static copy of CUPTI: "
			   "what uses them is not seen",
		 name_of(module, buffer, sizeof(buffer)));
	return true;
}

void cupti_copies_find(const char *used_path, char *text, size_t size)
{
	struct search search = {used_path, text, size};
	text[0] = '\0';
	site_elf_each_module(look_for_copy, &search);
}

static bool look_for_user(const struct site_elf_module *module, void *argument)
{
	struct search *search = argument;
	char buffer[1024];
	if (is_libcupti(module->path) || !site_elf_needs(module, "libcupti.so"))
		return false;
	snprintf(search->text, search->size,
		 "%s is linked against libcupti, and its calls went past gputrace, as those of a "
		 "library opened with RTLD_DEEPBIND do",
		 name_of(module, buffer, sizeof(buffer)));
	return true;
}

void cupti_copies_find_user(char *text, size_t size)
{
	struct search search = {"", text, size};
	text[0] = '\0';
	site_elf_each_module(look_for_user, &search);
}
