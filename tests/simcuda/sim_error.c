/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of results, listed from the installed cuda.h at build time, and their texts, which are the
 * names in plain words.
 */
#include "sim_api.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

static struct error_row {
	CUresult result;
	const char *name;
	char text[64];
} errors[] = {
#define SIM_ERROR(name) {name, #name, ""},
#include "sim_errors.inc"
#undef SIM_ERROR
};

static pthread_once_t texts_made = PTHREAD_ONCE_INIT;

/* CUDA_ERROR_OUT_OF_MEMORY -> out of memory */
static void make_texts(void)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		const char *name = errors[i].name;
		size_t used = 0;

		name += strncmp(name, "CUDA_ERROR_", 11) == 0 ? 11 : 5;
		for (; *name && used + 1 < sizeof(errors[i].text); name++)
			errors[i].text[used++] =
				*name == '_' ? ' ' : (char)tolower((unsigned char)*name);
	}
}

static CUresult find(CUresult result, const struct error_row **found)
{
	*found = NULL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].result == result) {
			*found = &errors[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_error_name(CUresult error, const char **name)
{
	const struct error_row *row;
	CUresult result = find(error, &row);

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = row ? row->name : NULL;
	return result;
}

CUresult sim_error_text(CUresult error, const char **text)
{
	const struct error_row *row;
	CUresult result = find(error, &row);

	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_once(&texts_made, make_texts);
	*text = row ? row->text : NULL;
	return result;
}
