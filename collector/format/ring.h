/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared-memory contract between the shim (writer) and the collector (reader).
 *
 * One memfd per traced process: a control region, then one ring per recording thread. Each ring has
 * exactly one producer and one consumer. FORMAT.md, part "Ring", specifies every byte; this header
 * is that table in C. Everything here may be read by a process that must treat it as hostile: the
 * collector validates every index, the shim masks every index it reads back.
 */
#ifndef GPUTRACE_FORMAT_RING_H
#define GPUTRACE_FORMAT_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define RING_MAGIC	   0x676e697265637467ull /* "gtcering" in little-endian bytes */
#define RING_VERSION_MAJOR 1			 /* layouts of different majors never meet */
#define RING_VERSION_MINOR 3			 /* a reader accepts any minor */

#define RING_CONTROL_BYTES (128u * 1024) /* whole pages on 4, 16 and 64 KiB systems */
#define RING_SLOTS_OFFSET  4096u
#define RING_SLOT_COUNT	   1024u
#define RING_TABLES_OFFSET (RING_SLOTS_OFFSET + 64u * RING_SLOT_COUNT)
#define RING_HEADER_BYTES  4096u /* head, tail and drop counters, before a ring's data */
#define RING_DROP_KINDS	   64u	 /* one counter per record kind */

/* Data bytes of one ring: a power of two between these. */
#define RING_MIN_BYTES (32u * 1024)
#define RING_MAX_BYTES (64u * 1024 * 1024)

/* Rows of one table of totals. */
#define RING_TABLE_MIN_ROWS 1024u
#define RING_TABLE_MAX_ROWS 65536u

/* Where ring_control.clock_kind says that ticks come from. */
enum ring_clock {
	RING_CLOCK_TSC = 1,	  /* x86 rdtsc, invariant */
	RING_CLOCK_CNTVCT = 2,	  /* aarch64 virtual counter */
	RING_CLOCK_MONOTONIC = 3, /* clock_gettime(CLOCK_MONOTONIC), ticks are nanoseconds */
};

/*
 * A collector attaches by compare-exchange NONE -> READY only. The shim that has waited in vain
 * does NONE -> FAILED by compare-exchange: a collector that comes later finds FAILED and exits at
 * once, and the thread inside the process (collector_options.fallback_reason set) stores READY over
 * it.
 */
enum ring_collector_state {
	RING_COLLECTOR_NONE = 0,  /* nobody attached yet */
	RING_COLLECTOR_READY = 1, /* attached, version and build checked, draining */
	RING_COLLECTOR_DONE = 2,  /* the file is complete; the job may exit */
	RING_COLLECTOR_FAILED = 3 /* gave up (collector_errno says why); records are only dropped */
};

enum ring_slot_state {
	RING_SLOT_FREE = 0,    /* never used, or drained after its thread ended: may be claimed */
	RING_SLOT_CLAIMED = 1, /* a thread is filling in the fields below, or the collector is
				  about to set FREE; not readable */
	RING_SLOT_LIVE = 2,    /* producer attached */
	RING_SLOT_RETIRED = 3  /* producer gone; the collector drains it: CLAIMED, then FREE */
};

/* Since ring 1.1 a thread may take over a RETIRED ring that is not drained yet, by compare-exchange
 * RETIRED -> LIVE. The slot's fields stay those of the owner that claimed it; the new owner's first
 * record is a ring_owner, and what follows it is the new owner's. Only where the collector has
 * stored a collector_minor of at least RING_MINOR_OWNERS. */
#define RING_MINOR_OWNERS 1
/* Sessions from this minor on may have tables of totals. */
#define RING_MINOR_TABLES 2
/* ... and from this one on count in the control region what they could not record. */
#define RING_MINOR_COUNTS 3
#define RING_PAD_OWNER	  1u /* record_head.reserved of a ring_owner; of other padding 0 */

struct ring_owner {
	uint16_t kind; /* RECORD_PAD: no record of a file */
	uint16_t size_bytes;
	uint32_t pad_kind; /* RING_PAD_OWNER */
	uint32_t thread_id;
	uint32_t reserved0;
	uint64_t claimed_ticks;
};

/* What CUPTI times of graphs; AS_STARTED: nobody has asked for another. */
enum ring_graphs {
	RING_GRAPHS_AS_STARTED = 0,
	RING_GRAPHS_WHOLE = 1,
	RING_GRAPHS_NODES = 2,
	RING_GRAPHS_REFUSED = 3
};

/* What a session records of calls and of GPU work. */
enum ring_recording {
	RING_RECORD_ALL = 0,
	RING_RECORD_SUMMED = 1,	 /* totals; single records only of what is rare */
	RING_RECORD_SAMPLED = 2, /* totals, and single records of some launches */
	RING_RECORD_BY_RATE = 3	 /* totals; all launches until a thread makes too many */
};

/*
 * What the shim counts of what it could not record, each the info key that it has in the trace. It
 * lies here so that a job that is killed leaves it, whatever its threads did last. A number is a
 * place in ring_control.counts and is never used again for something else.
 */
#define RING_COUNTS(COUNT)                                                                         \
	COUNT(NOT_SUPPORTED, 0, "calls.not_supported")                                             \
	COUNT(NO_STACK, 1, "stacks.unrecorded")                                                    \
	COUNT(MARKS_NOT_KEPT, 2, "marks.not_kept")
enum ring_count {
#define RING_COUNT(name, number, key) RING_COUNT_##name = (number),
	RING_COUNTS(RING_COUNT)
#undef RING_COUNT
		RING_COUNT_LIMIT = 8
};

/* What a trace calls it; NULL: no meaning yet. */
static inline const char *ring_count_key(uint32_t what)
{
	static const char *const keys[RING_COUNT_LIMIT] = {
#define RING_COUNT(name, number, key) [number] = (key),
		RING_COUNTS(RING_COUNT)
#undef RING_COUNT
	};

	return keys[what];
}

enum ring_mark_state { RING_MARK_FREE = 0, RING_MARK_WRITING = 1, RING_MARK_READY = 2 };

/*
 * One recording thread. A slot that becomes FREE keeps its offset and data_bytes, so that the next
 * thread reuses the memory. data_bytes == 0: no memory attached yet. A thread that moves to a
 * larger ring claims a second slot, with the same thread_id and claimed_ticks, and retires the
 * first: the pair (thread_id, claimed_ticks) identifies a thread. head, tail and dropped go on from
 * where the ring's previous owner left them: the collector keeps its own tail per slot and must not
 * assume 0.
 */
struct ring_slot {
	_Atomic uint32_t state; /* enum ring_slot_state; release on LIVE and RETIRED and FREE */
	uint32_t thread_id;	/* Linux tid in the job's own PID namespace */
	uint64_t offset;	/* of the ring header in the memfd, page aligned */
	uint32_t data_bytes;	/* power of two, RING_MIN_BYTES .. RING_MAX_BYTES */
	uint32_t generation;	/* incremented at every claim */
	uint64_t claimed_ticks; /* when this thread took its first slot */
	uint64_t reserved[4];
};

/* At ring_slot.offset. Positions count bytes since the ring's creation and never wrap in practice;
 * a byte's place is position & (data_bytes - 1). Data starts RING_HEADER_BYTES after this header.
 */
struct ring_header {
	_Alignas(64) _Atomic uint64_t head; /* producer: end of committed records (release) */
	_Alignas(64) _Atomic uint64_t tail; /* collector: end of consumed records (release) */
	_Alignas(
		64) _Atomic uint64_t dropped[RING_DROP_KINDS]; /* producer: records lost, by kind */
};

/*
 * A table of totals: row_count rows at `offset`. It belongs to one thread, which only ever adds; a
 * larger one, or another thread, claims another slot. A slot that becomes FREE keeps its memory,
 * which its next owner empties before LIVE. Where no other can be had, a thread takes a RETIRED one
 * over (to LIVE, same generation) and adds to what is in it; so a collector takes a RETIRED one for
 * itself (CLAIMED) before the look after which it is FREE. A killed process leaves all that it
 * summed.
 */
struct ring_table {
	_Atomic uint32_t state; /* enum ring_slot_state, with the same orders */
	uint32_t thread_id;
	uint64_t offset; /* in the memfd, page aligned */
	uint32_t row_count;
	uint32_t generation;
	uint64_t claimed_ticks;
};

/* One cache line. The owner stores `what` last (release); the rest of the key is constant then. */
struct ring_total {
	_Atomic uint64_t what; /* 0 empty; api, kind, flags, variant, device: ring_total_what() */
	uint64_t site;
	uint64_t detail;
	_Atomic uint64_t count;
	_Atomic uint64_t failed;
	_Atomic uint64_t bytes;
	_Atomic uint64_t duration; /* ticks; of GPU work ns */
	_Atomic uint64_t longest;  /* likewise, since the row was made */
};

struct ring_control {
	uint64_t magic;
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t control_bytes; /* RING_CONTROL_BYTES */
	uint32_t slot_count;	/* RING_SLOT_COUNT */
	uint32_t clock_kind;	/* enum ring_clock */
	uint32_t process_id;	/* as the job sees itself */
	uint32_t reserved0;
	uint64_t clock_hz; /* nominal ticks per second; CLOCK records are the truth */
	uint64_t start_ticks;
	uint64_t start_realtime_ns;
	char shim_build[40]; /* build string of the shim, NUL terminated */

	_Alignas(64) _Atomic uint32_t collector_state; /* enum ring_collector_state (release) */
	int32_t collector_errno;
	char collector_build[40];
	_Atomic uint64_t collector_heartbeat_ns; /* CLOCK_MONOTONIC, at least every 50 ms */
	_Atomic uint64_t written_ticks; /* everything committed before this tick is in the file */

	/* The shim asks "write everything committed so far" by incrementing flush_request; the
	 * collector answers by storing the request number it has satisfied. */
	_Alignas(64) _Atomic uint64_t flush_request;
	_Atomic uint64_t flush_done;
	_Atomic uint32_t collector_minor; /* of the ring, as the collector knows it (release) */

	_Alignas(64) _Atomic uint32_t capture_enabled; /* 1 record, 0 leave one branch per call */
	_Atomic uint32_t session_ended; /* shim: normal exit, drain, write the end, become DONE */
	_Atomic uint64_t memory_bytes;	/* end of the last ring allocated in the memfd */
	_Atomic uint64_t unrecorded;	/* calls of threads that got no ring (limits, no memory) */

	/* A mark from outside (`gputrace capture mark`): FREE -> WRITING by compare-exchange, then
	 * READY with the text; the collector takes it and stores FREE. */
	_Alignas(64) _Atomic uint32_t mark_state; /* enum ring_mark_state */
	uint32_t mark_bytes;			  /* at most sizeof(mark_text) */
	char mark_text[248];

	/* `gputrace capture nodes|whole` stores what it wants (release); the shim answers in
	 * graphs_now, for graphs that are instantiated later. */
	_Alignas(64) _Atomic uint32_t graphs_wanted; /* enum ring_graphs */
	_Atomic uint32_t graphs_now;		     /* likewise; AS_STARTED: CUPTI is not in use */

	uint32_t recording; /* enum ring_recording, before a collector comes; since 1.2 */
	uint32_t reserved1;
	_Atomic uint64_t counts[RING_COUNT_LIMIT]; /* by enum ring_count; since 1.3 */
};

static_assert(sizeof(struct ring_owner) == 24, "ring_owner has no holes");
static_assert(sizeof(struct ring_slot) == 64, "ring_slot is one cache line");
static_assert(sizeof(struct ring_header) <= RING_HEADER_BYTES, "ring_header fits");
static_assert(sizeof(struct ring_control) <= RING_SLOTS_OFFSET, "ring_control fits its page");
static_assert(sizeof(struct ring_total) == 64, "ring_total is one cache line");
static_assert(sizeof(struct ring_table) == 32, "ring_table");
static_assert(RING_SLOTS_OFFSET + RING_SLOT_COUNT * sizeof(struct ring_slot) <= RING_TABLES_OFFSET,
	      "slots end where tables begin");
static_assert(RING_TABLES_OFFSET + RING_SLOT_COUNT * sizeof(struct ring_table) <=
		      RING_CONTROL_BYTES,
	      "slots and tables fit the control region");

static inline struct ring_slot *ring_slots(struct ring_control *control)
{
	return (struct ring_slot *)((char *)control + RING_SLOTS_OFFSET);
}

static inline struct ring_table *ring_tables(struct ring_control *control)
{
	return (struct ring_table *)((char *)control + RING_TABLES_OFFSET);
}

/* The packed part of a row's key; a kind is never 0. device: an ordinal, 0xffff and above unknown.
 */
static inline uint64_t ring_total_what(uint16_t api, uint8_t kind, uint8_t flags, uint16_t variant,
				       uint32_t device)
{
	return (uint64_t)api | (uint64_t)kind << 16 | (uint64_t)flags << 24 |
	       (uint64_t)variant << 32 | (uint64_t)(device < 0xffff ? device : 0xffff) << 48;
}

#endif
