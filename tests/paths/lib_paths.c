/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of CUDA with nothing in it but the functions of one table: each writes its name and a
 * hash of the arguments that arrived to the file of PATHS_LOG, changes errno and returns
 * PATHS_STATUS. What a wrapper passes on, and what it passes back, is so seen for every row.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../shim/api/cuda_abi.h"
#include "../../shim/api/cublaslt_abi.h"
#include "../../shim/api/cudnn_abi.h"
#include "../../shim/api/nccl_abi.h"

struct nvtx_event;

static uint64_t mix(uint64_t hash, const void *value, size_t size_bytes)
{
	const unsigned char *bytes = value;
	for (size_t i = 0; i < size_bytes; i++)
		hash = (hash ^ bytes[i]) * 1099511628211u;
	return hash;
}

static int log_call(const char *name, uint64_t hash)
{
	const char *status = getenv("PATHS_STATUS"), *path = getenv("PATHS_LOG");
	int result = status ? atoi(status) : 0, size;
	char line[160];
	int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	size = snprintf(line, sizeof(line), "%s\t%016llx\t%d\n", name, (unsigned long long)hash,
			result);
	if (file >= 0) {
		if (write(file, line, (size_t)size) != size)
			abort();
		close(file);
	}
	errno = 1 + (int)(hash % 100);
	return result;
}

/* A parameter that is declared as an array is a pointer, and its size is what is wanted here. */
#pragma GCC diagnostic ignored "-Wsizeof-array-argument"

/* HASH(args): mixes every argument of a list in parentheses, which may be empty. */
#define VALUE(x) hash = mix(hash, &(x), sizeof(x));
#define EMPTY(x)
#define NOTHING()	   ~, EMPTY
#define SECOND(a, b, ...)  b
#define PICK(...)	   SECOND(__VA_ARGS__)
#define HASH_1(x)	   PICK(NOTHING x(), VALUE, ~)(x)
#define HASH_2(x, ...)	   VALUE(x) HASH_1(__VA_ARGS__)
#define HASH_3(x, ...)	   VALUE(x) HASH_2(__VA_ARGS__)
#define HASH_4(x, ...)	   VALUE(x) HASH_3(__VA_ARGS__)
#define HASH_5(x, ...)	   VALUE(x) HASH_4(__VA_ARGS__)
#define HASH_6(x, ...)	   VALUE(x) HASH_5(__VA_ARGS__)
#define HASH_7(x, ...)	   VALUE(x) HASH_6(__VA_ARGS__)
#define HASH_8(x, ...)	   VALUE(x) HASH_7(__VA_ARGS__)
#define HASH_9(x, ...)	   VALUE(x) HASH_8(__VA_ARGS__)
#define HASH_10(x, ...)	   VALUE(x) HASH_9(__VA_ARGS__)
#define HASH_11(x, ...)	   VALUE(x) HASH_10(__VA_ARGS__)
#define HASH_12(x, ...)	   VALUE(x) HASH_11(__VA_ARGS__)
#define HASH_13(x, ...)	   VALUE(x) HASH_12(__VA_ARGS__)
#define HASH_14(x, ...)	   VALUE(x) HASH_13(__VA_ARGS__)
#define HASH_15(x, ...)	   VALUE(x) HASH_14(__VA_ARGS__)
#define HASH_16(x, ...)	   VALUE(x) HASH_15(__VA_ARGS__)
#define HASH_17(x, ...)	   VALUE(x) HASH_16(__VA_ARGS__)
#define HASH_18(x, ...)	   VALUE(x) HASH_17(__VA_ARGS__)
#define HASH_19(x, ...)	   VALUE(x) HASH_18(__VA_ARGS__)
#define HASH_20(x, ...)	   VALUE(x) HASH_19(__VA_ARGS__)
#define HASH_21(x, ...)	   VALUE(x) HASH_20(__VA_ARGS__)
#define HASH_22(x, ...)	   VALUE(x) HASH_21(__VA_ARGS__)
#define HASH_23(x, ...)	   VALUE(x) HASH_22(__VA_ARGS__)
#define HASH_24(x, ...)	   VALUE(x) HASH_23(__VA_ARGS__)
#define HASH_25(x, ...)	   VALUE(x) HASH_24(__VA_ARGS__)
#define HASH_26(x, ...)	   VALUE(x) HASH_25(__VA_ARGS__)
#define HASH_27(x, ...)	   VALUE(x) HASH_26(__VA_ARGS__)
#define HASH_28(x, ...)	   VALUE(x) HASH_27(__VA_ARGS__)
#define HASH_29(x, ...)	   VALUE(x) HASH_28(__VA_ARGS__)
#define HASH_30(x, ...)	   VALUE(x) HASH_29(__VA_ARGS__)
#define HASH_31(x, ...)	   VALUE(x) HASH_30(__VA_ARGS__)
#define HASH_32(x, ...)	   VALUE(x) HASH_31(__VA_ARGS__)
#define HASH_33(x, ...)	   VALUE(x) HASH_32(__VA_ARGS__)
#define HASH_34(x, ...)	   VALUE(x) HASH_33(__VA_ARGS__)
#define HASH_35(x, ...)	   VALUE(x) HASH_34(__VA_ARGS__)
#define HASH_36(x, ...)	   VALUE(x) HASH_35(__VA_ARGS__)
#define JOIN(a, b)	   a##b
#define HASH_N(count, ...) JOIN(HASH_, count)(__VA_ARGS__)
#define COUNT_(p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18,    \
	       p19, p20, p21, p22, p23, p24, p25, p26, p27, p28, p29, p30, p31, p32, p33, p34,     \
	       p35, p36, count, ...)                                                               \
	count
#define COUNT(...)                                                                                 \
	COUNT_(__VA_ARGS__, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,    \
	       19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define HASH(...) HASH_N(COUNT(__VA_ARGS__), __VA_ARGS__)

/* The words that a form of CUDA 12 has and that of CUDA 13 has not arrive as garbage. */
#define PATH_ROW(name, params, args)                                                               \
	int name params;                                                                           \
	int name params                                                                            \
	{                                                                                          \
		uint64_t hash = 14695981039346656037u;                                             \
		HASH args return log_call(#name, hash);                                            \
	}
#include "path_rows.h"

#ifdef PATH_DRIVER
static const struct {
	const char *name;
	void (*function)(void);
} functions[] = {
#undef PATH_ROW
#define PATH_ROW(name, params, args) {#name, (void (*)(void))name},
#include "path_rows.h"
};

/* The program asks by the exported names. */
int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags, int *status);
int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags, int *status)
{
	(void)version;
	(void)flags;
	*pfn = NULL;
	if (status)
		*status = 1;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(functions[i].name, symbol))
			continue;
		memcpy(pfn, &functions[i].function, sizeof(*pfn));
		if (status)
			*status = 0;
	}
	return 0;
}

int cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags);
int cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}
#endif
