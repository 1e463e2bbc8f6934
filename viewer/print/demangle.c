/* SPDX-License-Identifier: Apache-2.0 */
/*
 * __cxa_demangle of libstdc++, found when it is first needed: the viewer is C and has to run where
 * there is no C++ library.
 */
#include "demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "xmalloc.h"

/* Names are hostile: a demangler may take exponential time and space for a nested one. */
#define NAME_LIMIT 4096

typedef char *(*demangler)(const char *name, char *buffer, size_t *length, int *status);

static demangler find_demangler(void)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
	static demangler found;
	static bool is_tried;

	for (size_t i = 0; !is_tried && !found && i < ARRAY_LEN(libraries); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
		void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;

		/* ISO C knows no conversion between pointers to objects and to functions. */
		memcpy(&found, &symbol, sizeof(found));
	}
	is_tried = true;
	return found;
}

char *demangle_name(const char *name)
{
	demangler demangle;
	char *readable = NULL;
	int status = -1;

	if (!strncmp(name, "_Z", 2) && strlen(name) < NAME_LIMIT) {
		demangle = find_demangler();
		if (demangle)
			readable = demangle(name, NULL, NULL, &status);
	}
	return readable && !status ? readable : xstrdup(name);
}
