/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on demand: SIMCUDA_FAIL=FUNC:K:R[,...] makes the K-th call of a driver function return R
 * without doing anything. FUNC is an exported name, or a name without _v2, _ptsz and the like,
 * which then means all of its versions together.
 */
#include "sim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_MAX = 64 };

static struct fault {
	char function[96];
	unsigned long remaining;
	CUresult result;
} faults[FAULTS_MAX];
static unsigned fault_count;

void sim_faults_load(void)
{
	const char *text = getenv("SIMCUDA_FAIL");

	while (text && *text && fault_count < FAULTS_MAX) {
		struct fault *fault = &faults[fault_count];
		unsigned long count;
		int result;

		if (sscanf(text, "%95[A-Za-z0-9_]:%lu:%d", fault->function, &count, &result) == 3 &&
		    count > 0) {
			fault->remaining = count;
			fault->result = (CUresult)result;
			fault_count++;
		} else {
			fprintf(stderr, "simcuda: SIMCUDA_FAIL has no FUNC:K:R at \"%s\"\n", text);
		}
		text = strchr(text, ',');
		if (text)
			text++;
	}
	sim_state.has_faults = fault_count > 0;
}

/* True for the name itself and for name + _vN, _ptds, _ptsz. */
static bool is_version_of(const char *function, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(function, name, length) != 0)
		return false;
	function += length;
	if (function[0] == '_' && function[1] == 'v' && function[2] >= '2' && function[2] <= '9')
		function += 3;
	return *function == '\0' || strcmp(function, "_ptds") == 0 ||
	       strcmp(function, "_ptsz") == 0;
}

CUresult sim_faults_next(const char *function)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < fault_count; i++) {
		struct fault *fault = &faults[i];

		if (fault->remaining > 0 && is_version_of(function, fault->function) &&
		    --fault->remaining == 0)
			result = fault->result;
	}
	return result;
}
