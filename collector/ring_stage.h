/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was taken out of rings and waits to be looked at: pieces, first in first out, in memory of a
 * fixed size. One side puts, under the lock of its owner; the other one takes out, without it.
 */
#ifndef GPUTRACE_RING_STAGE_H
#define GPUTRACE_RING_STAGE_H

#include <stdatomic.h>
#include <stdint.h>

enum ring_piece_what {
	RING_PIECE_NONE = 0,	/* fills up to the end of the memory */
	RING_PIECE_RECORDS = 1, /* bytes of a ring, as they stood there */
	RING_PIECE_OWNER = 2,	/* a slot has a new owner */
	RING_PIECE_LOST = 3,	/* the producer dropped records */
	RING_PIECE_DAMAGE = 4,	/* the ring's numbers make no sense */
};

/* Heads and bytes begin at multiples of its size. */
struct ring_piece {
	uint32_t what; /* enum ring_piece_what */
	uint32_t slot;
	uint64_t bytes;		/* that follow */
	uint64_t position;	/* RECORDS: of the first one in the ring */
	uint64_t end;		/* RECORDS: of what was committed then, in the ring */
	uint64_t claimed_ticks; /* OWNER */
	uint64_t count;		/* LOST */
	uint32_t thread_id;	/* OWNER */
	uint16_t kind;		/* LOST */
	uint8_t is_refused;	/* OWNER: its ring cannot be read */
	uint8_t reserved0;
	uint64_t reserved1;
};

struct ring_stage {
	uint8_t *memory;
	uint64_t size_bytes;   /* a power of two */
	uint64_t write;	       /* positions only grow, until both are the same */
	_Atomic uint64_t read; /* of the side that takes out */
	uint64_t highest;      /* bytes of memory that were used since the last trim */
	uint64_t most_bytes;   /* that waited at once */
};

/* 0 or -ENOMEM. */
int ring_stage_open(struct ring_stage *stage, uint64_t size_bytes);
void ring_stage_close(struct ring_stage *stage);

/* ---- the side that puts, and only under the lock ---- */

/* Bytes that the next piece can have, at most `wanted`. */
uint64_t ring_stage_room(struct ring_stage *stage, uint64_t wanted);
/* Bytes for all, heads and what is lost at the end of the memory included. */
uint64_t ring_stage_free(const struct ring_stage *stage);
/* Adds a piece for which there is room; where its bytes go. */
void *ring_stage_put(struct ring_stage *stage, const struct ring_piece *piece);
/* Begins at the start of the memory again if everything is taken out: what is used stays small. */
void ring_stage_rewind(struct ring_stage *stage);
/* Gives memory back that was not used since the last trim. */
void ring_stage_trim(struct ring_stage *stage);

/* ---- the side that takes out ---- */

/* The next piece before `end`, a `write` that was read under the lock; NULL: none. Its bytes stand
 * behind it. */
const struct ring_piece *ring_stage_next(struct ring_stage *stage, uint64_t end);
/* The piece is done with. */
void ring_stage_pop(struct ring_stage *stage, const struct ring_piece *piece);

#endif
