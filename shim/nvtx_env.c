/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that happens when the shim is loaded: the process is remembered, and NVTX_INJECTION64_PATH is
 * set to our own file, unless it is set. Libraries read it at their first NVTX call, long before
 * any CUDA call tells us to wake up. getenv and setenv may be the program's own (bash has them) and
 * not ready, so the environment is read by hand and written by the setenv of libc.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "real.h"
#include "self.h"

#if defined(__x86_64__)
#define SETENV_VERSION "GLIBC_2.2.5"
#else
#define SETENV_VERSION "GLIBC_2.17"
#endif

static const char *environment_value(const char *name)
{
	size_t length = strlen(name);
	for (char **at = environ; at && *at; at++) {
		if (!strncmp(*at, name, length) && (*at)[length] == '=')
			return *at + length + 1;
	}
	return NULL;
}

__attribute__((constructor)) static void name_injection(void)
{
	static const char variable[] = "NVTX_INJECTION64_PATH";
	const char *mode = environment_value("GPUTRACE");
	union {
		void *object;
		int (*function)(const char *name, const char *value, int overwrite);
	} libc;
	int saved_errno = errno;

	real_remember_process();
	if (environment_value(variable) || (mode && !strcmp(mode, "off")) || getauxval(AT_SECURE) ||
	    !self_is_first_and_preloaded())
		return;
	libc.object = dlvsym(RTLD_NEXT, "setenv", SETENV_VERSION);
	const char *path = self_path();
	if (libc.object && path[0])
		libc.function(variable, path, 0);
	errno = saved_errno;
}
