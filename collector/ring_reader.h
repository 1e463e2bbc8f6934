/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side of the shared memory of ring.h, in two steps: ring_take.c copies what is
 * committed out of the rings, on whichever thread has time, and ring_reader.c gives it on, on the
 * thread of the collector. The memory belongs to a process that may be broken or hostile: every
 * number is checked before use, records are copied out before they are looked at, and nothing read
 * twice is expected to be the same.
 */
#ifndef GPUTRACE_RING_READER_H
#define GPUTRACE_RING_READER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"
#include "ring_stage.h"

struct error;
struct record_head;

/* What the reader finds, in the order of one thread. All return nothing: a sink that cannot keep a
 * record counts it. */
struct ring_sink {
	void *context;
	/* A thread took a ring. `thread` numbers threads from 1 in this session. */
	void (*thread)(void *context, uint32_t thread, uint32_t thread_id, uint64_t claimed_ticks);
	/* Whole records back to back, 8-byte aligned, without RECORD_PAD and ring_owner. */
	void (*records)(void *context, uint32_t thread, const void *records, size_t bytes);
	void (*lost)(void *context, uint16_t kind, uint16_t reason, uint64_t count);
};

/* A ring as it is emptied; under the lock. */
struct ring_hold {
	struct ring_header *header; /* NULL: not mapped */
	uint64_t offset;
	uint32_t data_bytes;
	uint32_t generation;
	uint64_t tail; /* ours; the shared one is only told */
	uint64_t goal; /* where the head was when the drain `goal_of` came by first */
	uint64_t goal_of;
	uint64_t dropped[RING_DROP_KINDS];
	bool known;	  /* generation and the rest are set */
	bool refused;	  /* this generation's numbers are impossible */
	bool has_smaller; /* rings that its thread may have left are to be emptied first */
	bool is_visited;  /* at this moment, further up in the stack */
};

/* A ring as its records are given on. */
struct ring_view {
	uint32_t thread;
	uint32_t thread_id;
	uint64_t claimed_ticks;
	uint64_t tail;	     /* what was given on */
	uint64_t skip_until; /* what is there before is damaged */
	bool known;	     /* thread and the rest are set */
	bool refused;	     /* its numbers are impossible */
	bool damaged;	     /* counted already for this owner */
};

/* Threads whose rings went on to others at once are known for a while by this. */
#define RING_THREADS_MET 4096u

struct ring_thread {
	uint64_t claimed_ticks;
	uint32_t thread_id;
	uint32_t thread; /* 0: none */
};

struct ring_reader {
	int memfd;
	uint8_t *base; /* the whole memory, where there is no descriptor; NULL: there is one */
	uint64_t base_bytes;
	struct ring_control *control;
	uint32_t clock_kind;
	uint32_t threads; /* numbers given out */
	uint64_t unrecorded;
	uint32_t fill_percent; /* of the fullest ring when it was drained last */
	struct ring_view views[RING_SLOT_COUNT];
	pthread_mutex_t lock; /* of holds, fullest_percent and what is put into the stage */
	struct ring_stage stage;
	uint32_t fullest_percent;
	uint64_t drain; /* the number of a drain while it takes, 0: another thread does */
	uint64_t last_drain;
	struct ring_hold holds[RING_SLOT_COUNT];
	struct ring_thread met[RING_THREADS_MET]; /* by what identifies them; newer ones stay */
};

/* Maps and checks the control region. -EPROTO: not a session, or another major version. */
int ring_reader_open(struct ring_reader *reader, int memfd, struct error *err);
/* Likewise for memory that the caller has mapped and keeps. */
int ring_reader_open_mapped(struct ring_reader *reader, void *base, uint64_t bytes,
			    struct error *err);
void ring_reader_close(struct ring_reader *reader);

/* Gives on what every ring holds now, and what was taken before; sets fill_percent. Frees retired
 * slots once they are empty. Bytes given on. */
size_t ring_reader_drain(struct ring_reader *reader, const struct ring_sink *sink);
/* Empties rings of which one part of `share` parts is full, as far as there is room, for the next
 * drain to give on: from any thread, while another one is in a drain or elsewhere. False: no more
 * room. */
bool ring_reader_relieve(struct ring_reader *reader, uint32_t share);
/* Gives what waits between the two steps this much room, a power of two, before there is a second
 * thread. -ENOMEM: it stays as it is. */
int ring_reader_set_room(struct ring_reader *reader, uint64_t bytes);
/* Bytes that were taken and not given on; the most of them so far are in stage.most_bytes. */
uint64_t ring_reader_waiting(struct ring_reader *reader);
/* Gives memory back that was not needed since the last call. */
void ring_reader_trim(struct ring_reader *reader);
/* Reports what the producers dropped since the last call. */
void ring_reader_count_drops(struct ring_reader *reader, const struct ring_sink *sink);

/* Number of the thread that owns or owned a ring, by what its slot or record of an owner says; 0:
 * none was met, or so many since that it is forgotten. */
uint32_t ring_reader_thread(const struct ring_reader *reader, uint32_t thread_id,
			    uint64_t claimed_ticks);

#endif
