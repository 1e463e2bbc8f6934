/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order: one that is loaded already; the path that the user gave; the one that belongs to the
 * loaded libcudart; and only in a process without Python the toolkit's or the search path's, of the
 * same major version as the runtime or the driver.
 */
#include "cupti_find.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "real.h"
#include "shim_log.h"
#include "site_elf.h"

#define PATH_BYTES 1024

struct loaded {
	char cupti[PATH_BYTES], cudart[PATH_BYTES];
	bool has_python;
};

static bool look(const struct site_elf_module *module, void *argument)
{
	struct loaded *loaded = argument;
	const char *path = module->path;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (!strncmp(name, "libcupti", 8))
		snprintf(loaded->cupti, PATH_BYTES, "%s", path);
	else if (!strncmp(name, "libcudart", 9))
		snprintf(loaded->cudart, PATH_BYTES, "%s", path);
	else if (!strncmp(name, "libpython", 9))
		loaded->has_python = true;
	return false;
}

/* Python linked into its executable exports its C API from there. */
static bool has_python(const struct loaded *loaded)
{
	return loaded->has_python || real_dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL;
}

/* CUPTI of CUDA 11 had a name of its own for each minor version; older than 11.8 is not read. */
static const char *minor_of(int major)
{
	return major == 11 ? ".8" : "";
}

static void *open_at(const char *format, const char *directory, int major)
{
	char path[2 * PATH_BYTES];
	snprintf(path, sizeof(path), format, directory, major, minor_of(major));
	return access(path, R_OK) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int major_of(const char *path)
{
	const char *suffix = strstr(path, ".so.");
	return suffix ? atoi(suffix + 4) : 0;
}

/* Wheels and toolkits put it in different places relative to the runtime. */
static void *open_beside(const char *cudart)
{
	static const char *const places[] = {
		"%s/libcupti.so.%d%s",
		"%s/../../cuda_cupti/lib/libcupti.so.%d%s",
		"%s/../extras/CUPTI/lib64/libcupti.so.%d%s",
		"%s/../lib/libcupti.so.%d%s",
	};
	char directory[PATH_BYTES];
	void *handle = NULL;
	snprintf(directory, sizeof(directory), "%s", cudart);
	char *slash = strrchr(directory, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !handle; i++)
		handle = open_at(places[i], directory, major_of(cudart));
	return handle;
}

static void *open_in_toolkit(const char *root, int major)
{
	if (!root)
		return NULL;
	void *handle = open_at("%s/extras/CUPTI/lib64/libcupti.so.%d%s", root, major);
	return handle ? handle : open_at("%s/lib64/libcupti.so.%d%s", root, major);
}

/* What the environment names, then the search path, then the usual place. */
static void *open_toolkit(int major)
{
	char name[64];
	snprintf(name, sizeof(name), "libcupti.so.%d%s", major, minor_of(major));
	void *handle = open_in_toolkit(getenv("CUDA_HOME"), major);
	if (!handle)
		handle = open_in_toolkit(getenv("CUDA_PATH"), major);
	if (!handle)
		handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	return handle ? handle : open_in_toolkit("/usr/local/cuda", major);
}

static int driver_major(void)
{
	union {
		void *object;
		int (*function)(int *);
	} get_version = {real_driver_symbol("cuDriverGetVersion")};
	int version = 0;
	if (!get_version.object || get_version.function(&version))
		return 0;
	return version / 1000;
}

static void *open_any(const char **reason)
{
	struct loaded loaded = {"", "", false};
	void *handle = NULL;

	*reason = "the process was forked in the middle of loading a library";
	if (!real_may_open())
		return NULL;
	site_elf_each_module(look, &loaded);
	*reason = NULL;
	if (loaded.cupti[0])
		handle = dlopen(loaded.cupti, RTLD_LAZY | RTLD_NOLOAD);
	if (handle)
		return handle;
	if (shim_options.cupti) {
		handle = dlopen(shim_options.cupti, RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			*reason = "the library named by GPUTRACE_CUPTI cannot be loaded";
		return handle;
	}
	if (loaded.cudart[0])
		handle = open_beside(loaded.cudart);
	if (handle)
		return handle;
	if (has_python(&loaded)) {
		*reason = "no CUPTI beside this program's CUDA runtime (set GPUTRACE_CUPTI)";
		return NULL;
	}
	int major = loaded.cudart[0] ? major_of(loaded.cudart) : driver_major();
	if (major)
		handle = open_toolkit(major);
	if (!handle)
		*reason = "no CUPTI of this CUDA version was found (set GPUTRACE_CUPTI)";
	return handle;
}

const char *cupti_find(struct cupti *cupti)
{
	const char *reason;
	void *handle = open_any(&reason);
	if (!handle)
		return reason;
#define CUPTI_LOAD(name, params, needed)                                                           \
	do {                                                                                       \
		union {                                                                            \
			void *object;                                                              \
			int(*function) params;                                                     \
		} convert = {real_dlsym(handle, "cupti" #name)};                                   \
		cupti->name = convert.function;                                                    \
		if ((needed) && !convert.object)                                                   \
			return "libcupti lacks cupti" #name;                                       \
	} while (0);
	CUPTI_FUNCTIONS(CUPTI_LOAD)
#undef CUPTI_LOAD
	union {
		int (*function)(uint32_t *);
		void *object;
	} any = {cupti->GetVersion};
	Dl_info info;
	if (dladdr(any.object, &info) && info.dli_fname)
		snprintf(cupti->path, sizeof(cupti->path), "%s", info.dli_fname);
	/* From 13.5 on it takes a driver to tell the version. */
	int result = cupti->GetVersion(&cupti->version);
	if (result)
		return result == CUPTI_UNKNOWN ? "CUPTI finds no usable driver (999)"
					       : "cuptiGetVersion failed";
	if (cupti->version < CUPTI_OLDEST_VERSION)
		return "this CUPTI is older than that of CUDA 11.8";
	SHIM_LOG(INFO, "CUPTI: path=\"%s\", version=%u", cupti->path, cupti->version);
	return NULL;
}
