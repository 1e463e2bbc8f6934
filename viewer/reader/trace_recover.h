/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a complete trace file of what is undamaged in a damaged one: the whole chunks as they are,
 * the loss as a record, an end and an index.
 */
#ifndef GPUTRACE_TRACE_RECOVER_H
#define GPUTRACE_TRACE_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

struct error;

struct trace_recovery {
	uint64_t chunks, records; /* taken over */
	uint64_t lost_chunks;	  /* damaged, not taken over */
	uint64_t lost_records;	  /* as the headers of these say */
	uint64_t gap_bytes;	  /* where no chunk stood, unfinished ones included */
	uint64_t bytes;		  /* of the new file */
	bool is_head_rebuilt;	  /* the head was damaged; the session id is lost */
	bool had_end;
};

/* Writes to `fd`, which is empty and stays open. 0, or a negative code with the reason in *err;
 * -EBADMSG when nothing at all can be recovered. */
int trace_recover(const char *path, int fd, struct trace_recovery *recovery, struct error *err);

#endif
