/* SPDX-License-Identifier: Apache-2.0 */
/* What names and describes in one trace, once each however many segments repeat it. */
#ifndef GPUTRACE_TRACE_TEXTS_H
#define GPUTRACE_TRACE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

/* Pointers to copies of records, in the order of their first appearance. */
struct text_list {
	const void **items;
	size_t count;
	size_t capacity;
};

struct trace_texts {
	struct text_list devices, threads, libraries, infos;
	struct text_slot *slots; /* hash table of everything by what identifies it */
	size_t slot_count, slots_used;
	struct text_block *blocks; /* memory of the copies */
};

/* A checked TEXT record of `size_bytes`; a later one replaces an earlier one about the same thing.
 * 0 or -ENOMEM. */
int trace_texts_add(struct trace_texts *texts, uint16_t kind, const uint8_t *record,
		    uint16_t size_bytes);
void trace_texts_fini(struct trace_texts *texts);

/* Texts of these are NUL-terminated although the records say their length. */
const struct record_name *trace_texts_name(const struct trace_texts *texts, uint16_t space,
					   uint64_t id);
const struct record_site *trace_texts_site(const struct trace_texts *texts, uint64_t id);
/* Key and value of an info record, each NUL-terminated. */
const char *trace_texts_info_key(const struct record_info *info);
const char *trace_texts_info_value(const struct record_info *info);

#endif
