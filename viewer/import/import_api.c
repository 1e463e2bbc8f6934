/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first row whose word starts the name (behind "cuda", "cu" or "hip") decides, so longer words
 * stand before their prefixes.
 */
#define _GNU_SOURCE /* memmem */
#include "import_api.h"

#include <string.h>

static const struct {
	const char *word;
	struct api_class class;
} families[] = {
	{"LaunchHostFunc", {.family = API_HOST_FUNCTION, .is_async = true}},
	{"Launch", {.family = API_LAUNCH, .is_async = true}},
	{"ExtModuleLaunch", {.family = API_LAUNCH, .is_async = true}},
	{"ExtLaunch", {.family = API_LAUNCH, .is_async = true}},
	{"ModuleLaunch", {.family = API_LAUNCH, .is_async = true}},
	{"GraphLaunch", {.family = API_GRAPH_LAUNCH, .is_async = true}},
	{"DeviceSynchronize", {.family = API_SYNC, .scope = SYNC_DEVICE}},
	{"CtxSynchronize", {.family = API_SYNC, .scope = SYNC_DEVICE}},
	{"ThreadSynchronize", {.family = API_SYNC, .scope = SYNC_DEVICE}},
	{"StreamSynchronize", {.family = API_SYNC, .scope = SYNC_STREAM}},
	{"EventSynchronize", {.family = API_SYNC, .scope = SYNC_EVENT}},
	{"MemcpyHtoD", {.family = API_COPY, .direction = COPY_H2D}},
	{"MemcpyDtoH", {.family = API_COPY, .direction = COPY_D2H}},
	{"MemcpyDtoD", {.family = API_COPY, .direction = COPY_D2D}},
	{"MemcpyPeer", {.family = API_COPY, .direction = COPY_PEER}},
	{"Memcpy", {.family = API_COPY}},
	{"Memset", {.family = API_SET}},
	{"MallocHost", {.family = API_ALLOC, .memory_kind = MEMORY_PINNED}},
	{"MallocManaged", {.family = API_ALLOC, .memory_kind = MEMORY_MANAGED}},
	{"MallocAsync", {.family = API_ALLOC, .memory_kind = MEMORY_POOL}},
	{"MallocFromPool", {.family = API_ALLOC, .memory_kind = MEMORY_POOL}},
	{"MallocArray", {.family = API_ALLOC, .memory_kind = MEMORY_ARRAY}},
	{"Malloc3DArray", {.family = API_ALLOC, .memory_kind = MEMORY_ARRAY}},
	{"Malloc", {.family = API_ALLOC, .memory_kind = MEMORY_DEVICE}},
	{"HostAlloc", {.family = API_ALLOC, .memory_kind = MEMORY_PINNED}},
	{"HostMalloc", {.family = API_ALLOC, .memory_kind = MEMORY_PINNED}},
	{"HostRegister", {.family = API_ALLOC, .memory_kind = MEMORY_PINNED}},
	{"MemHostAlloc", {.family = API_ALLOC, .memory_kind = MEMORY_PINNED}},
	{"MemAllocHost", {.family = API_ALLOC, .memory_kind = MEMORY_PINNED}},
	{"MemAllocManaged", {.family = API_ALLOC, .memory_kind = MEMORY_MANAGED}},
	{"MemAllocAsync", {.family = API_ALLOC, .memory_kind = MEMORY_POOL}},
	{"MemAllocFromPool", {.family = API_ALLOC, .memory_kind = MEMORY_POOL}},
	{"MemAlloc", {.family = API_ALLOC, .memory_kind = MEMORY_DEVICE}},
	{"MemCreate", {.family = API_ALLOC, .memory_kind = MEMORY_PHYSICAL}},
	{"FreeHost", {.family = API_FREE, .memory_kind = MEMORY_PINNED}},
	{"FreeAsync", {.family = API_FREE, .memory_kind = MEMORY_POOL}},
	{"FreeArray", {.family = API_FREE, .memory_kind = MEMORY_ARRAY}},
	{"Free", {.family = API_FREE, .memory_kind = MEMORY_DEVICE}},
	{"HostFree", {.family = API_FREE, .memory_kind = MEMORY_PINNED}},
	{"HostUnregister", {.family = API_FREE, .memory_kind = MEMORY_PINNED}},
	{"MemFreeHost", {.family = API_FREE, .memory_kind = MEMORY_PINNED}},
	{"MemFreeAsync", {.family = API_FREE, .memory_kind = MEMORY_POOL}},
	{"MemFree", {.family = API_FREE, .memory_kind = MEMORY_DEVICE}},
	{"MemRelease", {.family = API_FREE, .memory_kind = MEMORY_PHYSICAL}},
};

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static bool starts(const char *text, size_t length, const char *word)
{
	size_t n = strlen(word);
	return length >= n && !memcmp(text, word, n);
}

static bool contains(const char *text, size_t length, const char *word)
{
	return length && memmem(text, length, word, strlen(word));
}

size_t import_api_base_length(const char *name, size_t length)
{
	size_t at = length;
	while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	/* cuMemAlloc_v2 is a name of its own: only CUPTI's four and five digit versions go. */
	if (length - at >= 4 && at >= 2 && name[at - 1] == 'v' && name[at - 2] == '_')
		return at - 2;
	return length;
}

struct api_class import_api_classify(const char *name, size_t length)
{
	struct api_class class = {0};
	length = import_api_base_length(name, length);
	bool is_async = contains(name, length, "Async");
	bool is_amd = starts(name, length, "hip");
	size_t skip = starts(name, length, "cuda") ? 4
		      : is_amd			   ? 3
		      : starts(name, length, "cu") ? 2
						   : 0;
	if (!skip)
		return class;
	for (size_t i = 0; i < LEN(families); i++) {
		if (starts(name + skip, length - skip, families[i].word)) {
			class = families[i].class;
			break;
		}
	}
	class.is_async |= is_async;
	class.is_amd = is_amd;
	return class;
}

struct copy_kinds import_copy_kinds(const char *name, size_t length)
{
	static const struct {
		const char *word;
		uint8_t value;
	} directions[] =
		{
			{"HtoD", COPY_H2D},  {"HtoA", COPY_H2D}, {"DtoH", COPY_D2H},
			{"AtoH", COPY_D2H},  {"DtoD", COPY_D2D}, {"DtoA", COPY_D2D},
			{"AtoD", COPY_D2D},  {"AtoA", COPY_D2D}, {"HtoH", COPY_H2H},
			{"PtoP", COPY_PEER},
		},
	  kinds[] = {
		  {"Pageable", MEMORY_PAGEABLE}, {"Pinned", MEMORY_PINNED},
		  {"Device", MEMORY_DEVICE},	 {"Array", MEMORY_ARRAY},
		  {"Managed", MEMORY_MANAGED},	 {"Unified", MEMORY_MANAGED},
	  };
	struct copy_kinds out = {0};
	if (!length)
		return out;
	for (size_t i = 0; i < LEN(directions); i++) {
		if (contains(name, length, directions[i].word))
			out.direction = directions[i].value;
	}
	const char *arrow = memmem(name, length, "->", 2);
	const char *open = memchr(name, '(', length);
	if (!arrow || !open || open > arrow)
		return out;
	for (size_t i = 0; i < LEN(kinds); i++) {
		if (contains(open, (size_t)(arrow - open), kinds[i].word))
			out.source = kinds[i].value;
		if (contains(arrow, length - (size_t)(arrow - name), kinds[i].word))
			out.destination = kinds[i].value;
	}
	return out;
}

static const struct {
	const char *name;
	uint32_t bytes;
} element_types[] = {
	/* c10d's names */
	{"Float", 4},
	{"Half", 2},
	{"BFloat16", 2},
	{"Double", 8},
	{"Long", 8},
	{"Int", 4},
	{"Short", 2},
	{"Char", 1},
	{"Byte", 1},
	{"Bool", 1},
	{"Float8_e4m3fn", 1},
	{"Float8_e5m2", 1},
	/* the profiler's */
	{"float", 4},
	{"c10::Half", 2},
	{"c10::BFloat16", 2},
	{"double", 8},
	{"long", 8},
	{"long int", 8},
	{"int", 4},
	{"short", 2},
	{"signed char", 1},
	{"unsigned char", 1},
	{"bool", 1},
};

uint64_t import_element_bytes(const char *name, size_t length)
{
	for (size_t i = 0; i < LEN(element_types); i++) {
		if (length == strlen(element_types[i].name) &&
		    !memcmp(name, element_types[i].name, length))
			return element_types[i].bytes;
	}
	return 0;
}
