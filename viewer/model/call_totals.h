/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session that sums (GPUTRACE_MODE=summary), or samples launches, tells in totals: exact
 * counts, times and bytes of like calls and of like work, by function, site and detail. The rows of
 * all threads and intervals are one here. Single records of such a session are no more than
 * examples.
 */
#ifndef GPUTRACE_MODEL_CALL_TOTALS_H
#define GPUTRACE_MODEL_CALL_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

enum model_recording {
	RECORDED_ALL = 0,
	RECORDED_SUMS,	  /* totals alone */
	RECORDED_SAMPLE,  /* single records of some launches */
	RECORDED_BY_RATE, /* likewise, only in the times that blind spans cover */
};

struct call_total {
	uint64_t detail; /* record_total.detail */
	uint64_t count, failed, bytes;
	int64_t duration_ns, longest_ns;
	uint32_t site;	 /* index of sites, 0 unknown */
	uint32_t kernel; /* launches and kernels: index of kernels, MODEL_NONE */
	uint16_t api;	 /* index of apis; 0 work of the GPU */
	uint16_t device; /* index of devices, MODEL_NO_DEVICE */
	uint16_t variant;
	uint8_t kind;  /* enum record_kind, of what */
	uint8_t flags; /* enum total_flag */
};

/* Whether the whole recording lacks single records, so that nothing that needs all can be judged.
 */
bool call_totals_replace_calls(const struct model *model);
/* Why, as a part of a sentence: "calls and GPU work were only summed (GPUTRACE_MODE=summary)". */
const char *call_totals_reason(const struct model *model);
/* Which rows, and what makes them one. */
struct call_total_query {
	bool is_gpu;	       /* work of the GPU; else host calls that are not inside others */
	bool is_of_any_device; /* else only of `device` */
	bool ignores_sites;
	uint16_t device;
	uint64_t least_bytes; /* without copies and sets whose size class begins below this */
};
/* The longest sum first; rows that differ in size, or in nothing that the query keeps, are one.
 * Owned by the caller; NULL without any. */
struct call_total *call_totals_list(const struct model *model, const struct call_total_query *query,
				    size_t *count);
/* Copies: record_total.detail. */
uint8_t call_total_direction(const struct call_total *total);
uint8_t call_total_source_kind(const struct call_total *total);
uint8_t call_total_destination_kind(const struct call_total *total);
/* Least bytes of one copy or set of this row. */
uint64_t call_total_least_bytes(const struct call_total *total);
/* Calls of a function at a site that failed. */
uint64_t call_totals_failed(const struct model *model, uint16_t api, uint32_t site);
/* What the totals are whole of. Sums are read once a second: what was not read is gone with the
 * collector that would have read it, and what was read goes with segments that are dropped. */
struct totals_span {
	bool has_begin; /* else nothing is there of what was before from_ns */
	bool has_end;	/* else what is later than until_ns may be missing; 0: anything may */
	int64_t from_ns, until_ns;
};
struct totals_span call_totals_span(const struct model *model);
/* Length of the time that the totals are of. */
int64_t call_totals_length_ns(const struct model *model);

#endif
