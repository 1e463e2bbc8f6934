// SPDX-License-Identifier: Apache-2.0
/*
 * The rule of site_choice.h on path text. Folder names are compared as whole components, so that
 * my/torch/train.py or my-site-packages/x.py stay the user's.
 */
#include "site_choice.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Whether path holds folder as a whole component; returns what follows it. */
static const char *after_folder(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	for (const char *at = strstr(path, folder); at; at = strstr(at + 1, folder)) {
		if ((at == path || at[-1] == '/') && at[length] == '/')
			return at + length + 1;
	}
	return NULL;
}

static bool is_generated(const char *path)
{
	static const char *const starts[] = {"<frozen",		 "<__array_function__",
					     "<eval_with_key>",	 "<decorator-gen",
					     "<attrs generated", "<torch_package"};

	for (size_t i = 0; i < COUNT(starts); i++) {
		if (strncmp(path, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

/* lib/python3.11/threading.py, lib64/python3.9/..., but not lib/python3.11-project/x.py. */
static bool is_standard_library(const char *path)
{
	static const char *const folders[] = {"lib", "lib64"};

	for (size_t i = 0; i < COUNT(folders); i++) {
		const char *rest = after_folder(path, folders[i]);

		if (!rest || strncmp(rest, "python3", 7) != 0)
			continue;
		rest += 7;
		while (*rest == '.' || (*rest >= '0' && *rest <= '9') || *rest == 't')
			rest++;
		if (*rest == '/')
			return true;
	}
	return false;
}

/* A checkout of torch is outside of site-packages; its own folders tell it from one of the user's
 * that happens to be called torch. */
static bool is_torch_source(const char *path)
{
	static const char *const parts[] = {"nn/",
					    "autograd/",
					    "optim/",
					    "cuda/",
					    "utils/",
					    "distributed/",
					    "_dynamo/",
					    "_inductor/",
					    "amp/",
					    "fx/",
					    "jit/",
					    "functional.py",
					    "_tensor.py",
					    "_ops.py",
					    "profiler/",
					    "_functorch/",
					    "_library/",
					    "_refs/",
					    "_jit_internal.py"};
	const char *rest = after_folder(path, "torch");

	for (size_t i = 0; rest && i < COUNT(parts); i++) {
		if (strncmp(rest, parts[i], strlen(parts[i])) == 0)
			return true;
	}
	return false;
}

bool site_choice_is_library(const char *path)
{
	return is_generated(path) || after_folder(path, "site-packages") ||
	       after_folder(path, "dist-packages") || is_standard_library(path) ||
	       is_torch_source(path);
}

bool site_choice_python(const struct record_site *site,
			const char *(*name)(void *context, uint64_t number), void *context,
			uint32_t *index, bool *is_user)
{
	bool found = false;

	for (uint32_t i = 0; i < site->frame_count; i++) {
		const char *text = NULL, *path;

		if (site->frames[i].type == FRAME_PYTHON)
			text = name(context, site->frames[i].value);
		path = text ? strchr(text, '\x1f') : NULL;
		if (!path)
			continue;
		*is_user = !site_choice_is_library(path + 1);
		if (*is_user || !found)
			*index = i;
		found = true;
		if (*is_user)
			return true;
	}
	return found;
}

bool site_choice_is_library_module(const char *path)
{
	static const char *const parts[] = {
		"libcuda",  "libcublas", "libnccl",   "libcudnn",    "libgputrace",
		"libtorch", "libc10",	 "libpython", "libcusolver", "libcusparse",
		"libcufft", "libnvidia", "/libc.so",  "libstdc++",
	};

	for (size_t i = 0; i < COUNT(parts); i++) {
		if (strstr(path, parts[i]))
			return true;
	}
	return site_choice_is_interpreter_module(path);
}

bool site_choice_is_interpreter_module(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool is_python = !strncmp(name, "python", 6);

	for (name += is_python ? 6 : 0; is_python && *name; name++)
		is_python = *name == '.' || (*name >= '0' && *name <= '9') || *name == 't';
	return is_python || strstr(path, "/libpython") || strstr(path, "/libffi.so") ||
	       strstr(path, "/lib-dynload/");
}

bool site_choice_is_library_code(const char *function, const char *file)
{
	static const char *const parts[] = {
		"/include/c++/",
		"-linux/include/",
		"/cuda/include/",
		".cudafe1.stub.c",
	};
	static const char *const starts[] = {"__device_stub__", "__cudaLaunchKernel_helper"};

	for (size_t i = 0; function && i < COUNT(starts); i++) {
		if (!strncmp(function, starts[i], strlen(starts[i])))
			return true;
	}
	for (size_t i = 0; file && i < COUNT(parts); i++) {
		if (strstr(file, parts[i]))
			return true;
	}
	return file && !strncmp(file, "/usr/include/", 13);
}

bool site_choice_native(const struct record_site *site,
			enum site_frame_owner (*owner)(void *context, uint64_t address),
			void *context, uint32_t *index)
{
	bool found = false;

	for (uint32_t i = 0; i < site->frame_count; i++) {
		enum site_frame_owner of = SITE_FRAME_UNKNOWN;

		if (site->frames[i].type == FRAME_NATIVE)
			of = owner(context, site->frames[i].value);
		if (of == SITE_FRAME_UNKNOWN)
			continue;
		if (of == SITE_FRAME_USER || !found)
			*index = i;
		found = true;
		if (of == SITE_FRAME_USER)
			return true;
	}
	return found;
}

bool site_choice_is_waiting(const struct record_site *site)
{
	for (uint32_t i = 0; i < site->frame_count; i++) {
		if (site->frames[i].type == FRAME_WAITING)
			return true;
	}
	return false;
}

uint32_t site_choice_forward(const struct record_site *site)
{
	uint32_t i = 0;

	while (i < site->frame_count && site->frames[i].type != FRAME_FORWARD)
		i++;
	return i < site->frame_count ? i + 1 : i;
}
