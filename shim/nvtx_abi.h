/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The injection interface of NVTX v3, in our own words: what a tool is handed by each library that
 * contains NVTX, and what that library then passes to the tool. Compared with the installed headers
 * by api/abi_check_nvtx.c.
 */
#ifndef GPUTRACE_SHIM_NVTX_ABI_H
#define GPUTRACE_SHIM_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

/* What a push or pop returns where nobody counts levels, as without a tool. */
#define NVTX_ABI_NO_LEVEL (-2)

enum { NVTX_ABI_TABLE_CALLBACKS = 1 };
enum { NVTX_ABI_MODULE_CORE = 1, NVTX_ABI_MODULE_CORE2 = 5 };

/* Places in the function table of MODULE_CORE and MODULE_CORE2. */
enum {
	NVTX_ABI_MarkEx = 1,
	NVTX_ABI_MarkA = 2,
	NVTX_ABI_MarkW = 3,
	NVTX_ABI_RangeStartEx = 4,
	NVTX_ABI_RangeStartA = 5,
	NVTX_ABI_RangeStartW = 6,
	NVTX_ABI_RangeEnd = 7,
	NVTX_ABI_RangePushEx = 8,
	NVTX_ABI_RangePushA = 9,
	NVTX_ABI_RangePushW = 10,
	NVTX_ABI_RangePop = 11,
};
enum {
	NVTX_ABI_DomainMarkEx = 1,
	NVTX_ABI_DomainRangeStartEx = 2,
	NVTX_ABI_DomainRangeEnd = 3,
	NVTX_ABI_DomainRangePushEx = 4,
	NVTX_ABI_DomainRangePop = 5,
	NVTX_ABI_DomainRegisterStringA = 10,
	NVTX_ABI_DomainRegisterStringW = 11,
	NVTX_ABI_DomainCreateA = 12,
	NVTX_ABI_DomainCreateW = 13,
};

typedef void (*nvtx_function)(void);

struct nvtx_callbacks {
	size_t size_bytes;
	int (*function_table)(unsigned int module, nvtx_function ***table, unsigned int *count);
};
typedef const void *(*nvtx_get_table)(uint32_t table);

enum { NVTX_ABI_MESSAGE_ASCII = 1, NVTX_ABI_MESSAGE_WIDE = 2, NVTX_ABI_MESSAGE_REGISTERED = 3 };
enum {
	NVTX_ABI_PAYLOAD_UNSIGNED_INT64 = 1,
	NVTX_ABI_PAYLOAD_INT64 = 2,
	NVTX_ABI_PAYLOAD_UNSIGNED_INT32 = 4,
	NVTX_ABI_PAYLOAD_INT32 = 5,
	NVTX_ABI_PAYLOAD_EXTENDED = (int)0xdfbd0009u,
};

struct nvtx_event {
	uint16_t version;
	uint16_t size_bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t payload_count; /* of extended payloads */
	union {
		uint64_t u64;
		uint32_t u32;
		int32_t i32;
	} payload;
	int32_t message_type;
	union {
		const char *ascii;
		const void *wide;
		const void *registered;
	} message;
};

/* ---- the payload extension ---- */

enum { NVTX_ABI_EXTENSION_PAYLOAD = 2 };
enum {
	NVTX_ABI_SLOT_SCHEMA_REGISTER = 0,
	NVTX_ABI_SLOT_MARK = 2,
	NVTX_ABI_SLOT_RANGE_PUSH = 3,
	NVTX_ABI_SLOT_RANGE_POP = 4,
	NVTX_ABI_SLOT_RANGE_START = 5,
	NVTX_ABI_SLOT_RANGE_END = 6,
	NVTX_ABI_SLOT_DOMAIN_IS_ENABLED = 7,
};

struct nvtx_segment {
	size_t id;
	size_t slot_count;
	intptr_t *slots;
};

struct nvtx_extension {
	uint16_t version;
	uint16_t size_bytes;
	uint16_t module;
	uint16_t compatibility;
	size_t segment_count;
	struct nvtx_segment *segments;
	const void *get_function;
	const void *info;
};

struct nvtx_payload {
	uint64_t schema;
	size_t size_bytes;
	const void *bytes;
};

struct nvtx_schema_entry {
	uint64_t flags;
	uint64_t type;
	const char *name;
	const char *description;
	uint64_t detail;
	uint64_t offset;
	const void *semantics;
	const void *reserved;
};

struct nvtx_schema {
	uint64_t valid; /* bits of the fields below that are set */
	const char *name;
	uint64_t type;
	uint64_t flags;
	const struct nvtx_schema_entry *entries;
	size_t entry_count;
	size_t size_bytes;
	size_t packing;
	uint64_t id;
	void *extension;
};
enum {
	NVTX_ABI_SCHEMA_HAS_ENTRIES = 16,
	NVTX_ABI_SCHEMA_HAS_COUNT = 32,
	NVTX_ABI_SCHEMA_HAS_ID = 256
};

/* Numbers from here on are free for schemas whose id the tool chooses. */
#define NVTX_ABI_SCHEMA_FIRST_DYNAMIC (1ull << 32)

#endif
