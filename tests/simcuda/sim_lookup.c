/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuGetProcAddress: a table generated from the installed cudaTypedefs.h (sim_gen_lookup.awk), so
 * that every answer is an exported symbol, an older ABI when that is the newest one asked for, and
 * "not found" for what this driver does not export.
 */
#include "sim_api.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct lookup_row {
	const char *name;
	int version;
	bool is_per_thread;
	void (*function)(void);
} rows[] = {
#define LOOKUP_ROW(name, version, per_thread, function)                                            \
	{name, version, per_thread, (void (*)(void))function},
#include "sim_lookup.inc"
#undef LOOKUP_ROW
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static pthread_once_t sorted = PTHREAD_ONCE_INIT;

static int compare(const void *a, const void *b)
{
	const struct lookup_row *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : left->version - right->version;
}

static void sort_rows(void)
{
	qsort(rows, ROWS, sizeof(rows[0]), compare);
}

/* Any row of the name, or NULL. */
static const struct lookup_row *find_name(const char *name)
{
	size_t low = 0, high = ROWS;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(rows[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ROWS && strcmp(rows[low].name, name) == 0 ? &rows[low] : NULL;
}

CUresult sim_lookup_find(const char *name, void **function, int version, cuuint64_t flags,
			 CUdriverProcAddressQueryResult *status)
{
	const struct lookup_row *first, *plain = NULL, *twin = NULL, *found;

	if (!name || !*name || !function || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_once(&sorted, sort_rows);
	first = find_name(name);
	for (const struct lookup_row *row = first;
	     row && row < rows + ROWS && strcmp(row->name, name) == 0; row++) {
		if (row->version > version)
			continue;
		if (row->is_per_thread)
			twin = row;
		else
			plain = row;
	}
	found = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && twin ? twin : plain;
	/* Both kinds of pointer have one representation here (POSIX, dlsym). */
	if (found)
		memcpy(function, &found->function, sizeof(*function));
	else
		*function = NULL;
	if (status && found)
		*status = CU_GET_PROC_ADDRESS_SUCCESS;
	else if (status)
		*status = first ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
				: CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}
