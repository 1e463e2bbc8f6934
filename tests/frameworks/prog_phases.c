/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop that names its steps and phases through NVTX or gputrace.h; the GPU sets memory.
 * usage: prog_phases nvtx|torch|own STEPS
 */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "../../shim/gputrace.h"

static void *memory;
static int is_own;

static void phase(const char *name, int operations)
{
	if (is_own)
		gputrace_push(name);
	else
		nvtxRangePushA(name);
	for (int i = 0; i < operations; i++)
		cudaMemsetAsync(memory, i, 1 << 26, 0);
	if (is_own)
		gputrace_pop();
	else
		nvtxRangePop();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "nvtx";
	int steps = argc > 2 ? atoi(argv[2]) : 20;
	char name[64];
	int result = 0;

	is_own = !strcmp(mode, "own");
	if (cudaMalloc(&memory, 1 << 26) != cudaSuccess)
		return 1;
	for (int step = 0; step < steps; step++) {
		snprintf(name, sizeof(name),
			 !strcmp(mode, "torch") ? "ProfilerStep#%d" : "iteration %d", step);
		if (is_own)
			gputrace_step((unsigned long long)step);
		else
			nvtxRangePushA(name);
		phase("forward", 4);
		phase("backward", 8);
		phase("optimizer", 2);
		cudaMemcpy(&result, memory, sizeof(result), cudaMemcpyDeviceToHost);
		if (!is_own)
			nvtxRangePop();
	}
	cudaFree(memory);
	return 0;
}
