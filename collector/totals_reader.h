/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the tables of totals of a session that sums calls (ring.h) and makes records of what was
 * added since it last looked. Like ring_reader.h it believes nothing that stands in shared memory.
 */
#ifndef GPUTRACE_TOTALS_READER_H
#define GPUTRACE_TOTALS_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

struct ring_reader;
struct ring_sink;

/* What of a row is in the file already. */
struct totals_seen {
	uint64_t what, count, failed, bytes, duration;
};

struct totals_view {
	struct ring_total *rows; /* NULL: not mapped */
	struct totals_seen *seen;
	uint64_t offset;
	uint64_t since_ticks; /* end of the last interval */
	uint32_t row_count;
	uint32_t generation;
	uint32_t thread;
	uint32_t missed; /* looks at which the thread had no number yet */
	bool known;
	bool damaged; /* counted already for this generation */
};

enum totals_look {
	TOTALS_ENDED, /* only threads that have ended */
	TOTALS_ALL,
	TOTALS_LAST /* all, and there is no later look: also of threads that the rings never told */
};

struct totals_reader {
	struct ring_reader *rings;
	struct totals_view views[RING_SLOT_COUNT];
};

void totals_reader_init(struct totals_reader *reader, struct ring_reader *rings);
void totals_reader_close(struct totals_reader *reader);
/* Whether the session has tables at all. */
bool totals_reader_is_needed(const struct totals_reader *reader);
/* Records of what was added up to now_ticks. Tables of threads that have ended are free then. */
void totals_reader_run(struct totals_reader *reader, const struct ring_sink *sink,
		       uint64_t now_ticks, enum totals_look look);

#endif
