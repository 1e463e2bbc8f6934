/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up a function that the library, its dependency and the program all have: what RTLD_NEXT and
 * RTLD_DEFAULT find depends on who asks. -DVALUE=..., -DDEPENDENCY for the dependency.
 */
#include <dlfcn.h>
#include <stddef.h>

int probe_value(void);
int probe_value(void)
{
	return VALUE;
}

#ifndef DEPENDENCY
int look_up_next(const char *name);
int look_up_default(const char *name);

static int call(void *object)
{
	union {
		void *object;
		int (*function)(void);
	} found = {object};
	return found.object ? found.function() : -1;
}

int look_up_next(const char *name)
{
	return call(dlsym(RTLD_NEXT, name));
}

int look_up_default(const char *name)
{
	return call(dlsym(RTLD_DEFAULT, name));
}
#endif
