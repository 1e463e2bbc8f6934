/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events (calls of all kinds, or GPU work of all kinds) that wait to become an EVENTS chunk: of
 * each record its pattern, which is told once per segment, and what does not repeat. What has no
 * room among the patterns is refused and becomes a row of COLUMNS.
 */
#ifndef GPUTRACE_EVENT_STORE_H
#define GPUTRACE_EVENT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "event_layout.h"
#include "event_model.h"
#include "trace_file.h"

/* One record without its pattern. */
struct event_row {
	uint64_t begin, end;
	uint32_t pattern;
	uint32_t call_id, parent_id; /* calls only */
	uint32_t correlation;
};

/* Consecutive rows of one lane. */
struct event_run {
	uint32_t lane;
	uint32_t rows;
};

/* A column of a row that is not what its pattern says; in the order of rows. */
struct event_change {
	uint64_t difference; /* to the pattern's value */
	uint32_t row;
	uint8_t column;
	uint8_t is_kept; /* the pattern says this from now on */
};

/* What is looked at for every record first: of most kinds two cache lines. */
struct event_pattern {
	uint64_t seen_value; /* of the column that changed last */
	uint32_t next;	     /* what followed last time: where to look first */
	uint32_t first; /* place + 1 in store.firsts of what was written of it, 0: `record` is */
	uint16_t kind;
	uint8_t seen_column;
	uint8_t is_learned;		  /* its state is what chunks begin with */
	uint64_t record[EVENT_WORDS_MAX]; /* as of now: with the changes that were kept */
};

struct event_store {
	uint32_t family;
	struct event_layout layouts[EVENTS_KIND_COUNT]; /* by kind - EVENTS_FIRST_KIND */
	struct event_pattern *patterns;			/* [0] is none */
	struct event_state *states;			/* of each */
	uint32_t pattern_count, pattern_capacity, state_capacity;
	uint32_t written_count;	    /* patterns that stand in the file */
	uint32_t *slots;	    /* hash table of patterns */
	struct byte_buffer changed; /* u32: patterns whose record is not the first one */
	struct byte_buffer firsts;  /* and their first records */
	uint64_t chain_keys[EVENT_CHAIN_LIMIT];
	uint32_t chain_count;

	struct event_row *rows;
	uint32_t row_count, row_capacity;
	struct byte_buffer runs, changes;
	uint32_t kind_rows[EVENTS_KIND_COUNT];
	uint64_t first_time, last_time;
	uint32_t *threads; /* of each lane */
	uint32_t lane_count, lane_capacity, last_lane;
	uint32_t *lane_of; /* thread -> lane + 1 */
	uint32_t lane_of_count;
	uint32_t last_pattern; /* of the row before */
};

struct event_store *event_store_new(uint32_t family);
void event_store_free(struct event_store *store);

/* 1: taken; 0: not for this store, or no room; -ENOMEM. The record was checked. */
int event_store_add(struct event_store *store, uint32_t thread, uint16_t kind, const void *record);
/* The rows stand in the file. Patterns stay. */
void event_store_clear_rows(struct event_store *store);
/* A new segment: patterns are told anew. There must be no rows. */
void event_store_clear_patterns(struct event_store *store);

#endif
