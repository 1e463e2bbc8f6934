/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds of CUPTI's records are wanted, and how they are switched. What cannot be switched
 * while the job runs stays as it is; its records are left out or missed, and the failure is noted.
 */
#include "cupti_kinds.h"

#include <stdio.h>
#include <string.h>

#include "cupti_failed.h"
#include "cupti_share.h"
#include "lifecycle.h"
#include "options.h"
#include "session.h"

const char *cupti_kinds_result(const struct cupti *cupti, int result, char *buffer, size_t size,
			       const char *what)
{
	const char *name = NULL;
	if (cupti->GetResultString)
		cupti->GetResultString(result, &name);
	snprintf(buffer, size, "%s: %s (%d)", what, name ? name : "error", result);
	return buffer;
}

/* Twice the records for the same calls where wrappers see them, so only on demand or without those.
 * Said at the end of the start: the session is not open for facts now. */
static int memory_result = -1; /* CUPTI's, -1: not wanted */

static void enable_memory(void)
{
	bool is_wanted = !strcmp(shim_options.allocations, "auto")
				 ? lifecycle_is_injected != 0
				 : !strcmp(shim_options.allocations, "on");
	memory_result = -1;
	if (!is_wanted)
		return;
	memory_result = cupti_share_enable_kind(CUPTI_KIND_MEMORY2);
	int result = cupti_share_enable_kind(CUPTI_KIND_MEMORY_POOL);
	if (!memory_result)
		memory_result = result;
}

void cupti_kinds_tell(const struct cupti *cupti)
{
	char text[160];
	if (memory_result >= 0)
		session_info("gpu_times.memory",
			     memory_result
				     ? cupti_kinds_result(
					       cupti, memory_result, text, sizeof(text),
					       "allocations or pools are not recorded by CUPTI")
				     : "allocations and pools are recorded as CUPTI tells them");
}

/* The kinds that are read; one that cannot be enabled leaves the others on. */
int cupti_kinds_enable(const struct cupti *cupti, char *missing, size_t size, const char **graphs)
{
	static const struct {
		int kind;
		const char *name;
	} kinds[] = {
		{CUPTI_KIND_CONCURRENT_KERNEL, "kernels"}, {CUPTI_KIND_MEMCPY, "copies"},
		{CUPTI_KIND_MEMCPY2, "peer copies"},	   {CUPTI_KIND_MEMSET, "sets"},
		{CUPTI_KIND_SYNCHRONIZATION, "waits"},	   {CUPTI_KIND_OVERHEAD, "overhead"},
	};
	int enabled = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int result = cupti_share_enable_kind(kinds[i].kind);
		size_t used = strlen(missing);
		if (!result)
			enabled++;
		else
			snprintf(missing + used, size - used, "%s%s (error %d)", used ? ", " : "",
				 kinds[i].name, result);
	}
	/* Launches of graphs as wholes, or all their nodes: several times slower on the GPU. */
	if (strcmp(shim_options.graphs, "whole"))
		*graphs = "nodes";
	else if (cupti_share_enable_kind(CUPTI_KIND_GRAPH_TRACE))
		*graphs = "nodes: this CUPTI or driver cannot time a launch as a whole";
	else
		*graphs = "whole";
	enable_memory();
	/* Programs that poll events would flood the trace. */
	if (cupti->ActivityEnableAllSyncRecords && cupti->version >= CUPTI_ALL_SYNC_VERSION)
		cupti_failed_note(CUPTI_FAILED_SYNC_RECORDS,
				  cupti->ActivityEnableAllSyncRecords(0));
	return enabled;
}

void cupti_kinds_switch(const struct cupti *cupti, uint64_t kinds, bool is_on)
{
	for (int kind = 0; kind < KINDS; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		if (is_on)
			cupti_failed_note(CUPTI_FAILED_KIND_ON, cupti->ActivityEnable(kind));
		else
			cupti_failed_note(CUPTI_FAILED_KIND_OFF, cupti->ActivityDisable(kind));
	}
}

void cupti_kinds_set_zeroed(const struct cupti *cupti, uint8_t is_zeroed)
{
	size_t size = sizeof(is_zeroed);
	if (cupti->ActivitySetAttribute)
		cupti_failed_note(
			CUPTI_FAILED_ZEROED,
			cupti->ActivitySetAttribute(CUPTI_ATTRIBUTE_ZEROED_OUT, &size, &is_zeroed));
}
