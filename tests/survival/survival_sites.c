/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that calls cudaMemset from 20,000 places: more than a table of totals can tell apart.
 * Prints how many calls it made and how many bytes they set. The first argument, a ledger, is not
 * used.
 */
#include <stdio.h>

#include <cuda_runtime_api.h>

#define PLACES 20000
#define SET    failures += cudaMemset(buffer, 0, 3) != cudaSuccess;
#define TEN(x) x x x x x x x x x x

int main(void)
{
	void *buffer = NULL;
	int failures = 0;

	if (cudaMalloc(&buffer, 64) != cudaSuccess)
		return 1;
	TEN(TEN(TEN(TEN(SET SET))))
	printf("%d %d\n", PLACES, 3 * PLACES);
	return failures || cudaFree(buffer) != cudaSuccess;
}
