/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's tools show themselves by variables that they set for the program and by the libraries
 * that they load into it. Where neither is there, only CUPTI's refusal is left.
 */
#include "cupti_others.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_failed.h"
#include "site_elf.h"

struct other {
	const char *variable, *part; /* the variable is set, and holds this part if there is one */
	const char *library;	     /* or a library whose name begins so is loaded */
	const char *text;
};

static const struct other others[] = {
	{"NSYS_PROFILING_SESSION_ID", NULL, "libToolsInjection",
	 "Nsight Systems is at work in this process"},
	{"CUDA_INJECTION64_PATH", "nsight-systems", NULL,
	 "Nsight Systems is at work in this process"},
	{"CUDA_INJECTION64_PATH", "libcuda-injection", "libcuda-injection",
	 "Nsight Compute is at work in this process"},
	{"CUDA_INJECTION64_PATH", "libsanitizer", "libsanitizer-collection",
	 "compute-sanitizer is at work in this process"},
	{"CUDBG_USE_LEGACY_DEBUGGER", NULL, "libcudadebugger",
	 "a CUDA debugger is at work in this process"},
};

struct search {
	const char *library;
	bool is_loaded;
};

static bool look(const struct site_elf_module *module, void *argument)
{
	struct search *search = argument;
	const char *slash = strrchr(module->path, '/');
	search->is_loaded = !strncmp(slash ? slash + 1 : module->path, search->library,
				     strlen(search->library));
	return search->is_loaded;
}

const char *cupti_others_find(void)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const char *value = getenv(others[i].variable);
		if (value && *value && (!others[i].part || strstr(value, others[i].part)))
			return others[i].text;
		struct search search = {others[i].library, false};
		if (search.library)
			site_elf_each_module(look, &search);
		if (search.is_loaded)
			return others[i].text;
	}
	return NULL;
}

static void no_callback(void *user, int domain, uint32_t id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

void cupti_others_name(const struct cupti *cupti, char *name, size_t size)
{
	struct cupti_subscriber ask = {sizeof(ask), "gputrace", name, size};
	void *subscriber = NULL;

	name[0] = '\0';
	if (!cupti->Subscribe_v2)
		return;
	/* It can only succeed when the other one has just gone. */
	if (!cupti->Subscribe_v2(&subscriber, no_callback, NULL, &ask))
		cupti_failed_unsubscribe(cupti, subscriber);
	name[size - 1] = '\0';
}
