/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks result codes up: those of runtime and driver in error_name.def, the few of cuBLAS and NCCL
 * here. Which library returned one is told from the name of the call.
 */
#include "error_name.h"

#include <stddef.h>
#include <string.h>

#include "array_len.h"

enum library { LIBRARY_OTHER, LIBRARY_RUNTIME, LIBRARY_DRIVER, LIBRARY_CUBLAS, LIBRARY_NCCL };

struct code_name {
	int32_t number;
	const char *name;
};

static const struct {
	int32_t number;
	const char *runtime, *driver;
	bool is_sticky;
} codes[] = {
#define ERROR(number, runtime, driver, is_sticky) {number, runtime, driver, is_sticky},
#include "error_name.def"
#undef ERROR
};

static const struct code_name cublas_codes[] = {
	{1, "CUBLAS_STATUS_NOT_INITIALIZED"}, {3, "CUBLAS_STATUS_ALLOC_FAILED"},
	{7, "CUBLAS_STATUS_INVALID_VALUE"},   {8, "CUBLAS_STATUS_ARCH_MISMATCH"},
	{11, "CUBLAS_STATUS_MAPPING_ERROR"},  {13, "CUBLAS_STATUS_EXECUTION_FAILED"},
	{14, "CUBLAS_STATUS_INTERNAL_ERROR"}, {15, "CUBLAS_STATUS_NOT_SUPPORTED"},
	{16, "CUBLAS_STATUS_LICENSE_ERROR"},
};

static const struct code_name nccl_codes[] = {
	{1, "ncclUnhandledCudaError"}, {2, "ncclSystemError"},	{3, "ncclInternalError"},
	{4, "ncclInvalidArgument"},    {5, "ncclInvalidUsage"}, {6, "ncclRemoteError"},
	{7, "ncclInProgress"},
};

static enum library library_of(const char *api)
{
	if (!strncmp(api, "cublas", 6))
		return LIBRARY_CUBLAS;
	if (!strncmp(api, "nccl", 4))
		return LIBRARY_NCCL;
	if (!strncmp(api, "cudnn", 5))
		return LIBRARY_OTHER;
	if (!strncmp(api, "cuda", 4) || !strncmp(api, "__cuda", 6))
		return LIBRARY_RUNTIME;
	return !strncmp(api, "cu", 2) ? LIBRARY_DRIVER : LIBRARY_OTHER;
}

static const char *find_name(const struct code_name *names, size_t count, int32_t status)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i].number == status)
			return names[i].name;
	}
	return NULL;
}

const char *error_name_of(const char *api, int32_t status)
{
	enum library library = library_of(api);

	if (library == LIBRARY_CUBLAS)
		return find_name(cublas_codes, ARRAY_LEN(cublas_codes), status);
	if (library == LIBRARY_NCCL)
		return find_name(nccl_codes, ARRAY_LEN(nccl_codes), status);
	for (size_t i = 0; library != LIBRARY_OTHER && i < ARRAY_LEN(codes); i++) {
		const char *name = library == LIBRARY_RUNTIME ? codes[i].runtime : codes[i].driver;

		if (codes[i].number == status)
			return name[0] == '-' ? NULL : name;
	}
	return NULL;
}

bool error_name_is_sticky(const char *api, int32_t status)
{
	enum library library = library_of(api);

	if (library != LIBRARY_RUNTIME && library != LIBRARY_DRIVER)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		if (codes[i].number == status)
			return codes[i].is_sticky;
	}
	return false;
}
