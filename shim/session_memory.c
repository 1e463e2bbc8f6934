/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings in the session's memory. The descriptor is checked before use, since programs close
 * descriptors that they do not know and open files of their own in their place.
 */
#include "session_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session.h"
#include "session_backing.h"

#define PAGE_LARGEST 65536u
#define FAIR_RINGS   128u /* that what is left of the memory shall have room for */

static struct {
	struct session_backing backing;
	dev_t device;
	ino_t inode;
	_Atomic uint64_t used_bytes;
	struct ring_header *rings[RING_SLOT_COUNT]; /* mapped, by slot; our own copies of what */
	uint32_t ring_bytes[RING_SLOT_COUNT];	    /* shared memory says, which others can write */
	uint64_t ring_heads[RING_SLOT_COUNT];
	bool ring_left[RING_SLOT_COUNT];	    /* its last owner went on in a larger one */
	struct ring_total *tables[RING_SLOT_COUNT]; /* likewise, by slot of tables */
	uint32_t table_rows[RING_SLOT_COUNT];
} memory = {.backing = {.fd = -1}};

/* stat functions of glibc have versions newer than the shim's floor. */
static int describe(int fd, struct stat *out)
{
	return (int)syscall(SYS_fstat, fd, out);
}

int session_memory_create(uint64_t memory_bytes, struct ring_control **control, int *fd)
{
	struct session_backing backing;
	struct stat status = {0};
	int rc = session_backing_open(RING_CONTROL_BYTES + memory_bytes, RING_CONTROL_BYTES,
				      &backing);

	if (rc)
		return rc;
	void *map = backing.base;
	if (!map) {
		if (describe(backing.fd, &status))
			rc = -errno;
		map = mmap(NULL, RING_CONTROL_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, backing.fd, 0);
		if (!rc && map == MAP_FAILED)
			rc = -errno;
	}
	if (rc) {
		close(backing.fd);
		return rc;
	}
	memset(memory.rings, 0, sizeof(memory.rings));
	memset(memory.ring_bytes, 0, sizeof(memory.ring_bytes));
	memset(memory.tables, 0, sizeof(memory.tables));
	memset(memory.table_rows, 0, sizeof(memory.table_rows));
	memory.backing = backing;
	memory.device = status.st_dev;
	memory.inode = status.st_ino;
	atomic_store_explicit(&memory.used_bytes, RING_CONTROL_BYTES, memory_order_relaxed);
	*control = map;
	*fd = backing.fd;
	return 0;
}

const char *session_memory_kind(void)
{
	return memory.backing.kind;
}

void *session_memory_base(uint64_t *size_bytes)
{
	*size_bytes = memory.backing.size_bytes;
	return memory.backing.base;
}

/* The descriptor is still the session's, or none is needed. */
static bool is_usable(void)
{
	struct stat status;
	if (memory.backing.base)
		return true;
	return memory.backing.fd >= 0 && !describe(memory.backing.fd, &status) &&
	       status.st_ino == memory.inode && status.st_dev == memory.device;
}

void session_memory_forget(void)
{
	/* The child's own copy of the descriptor, if nobody has put another file there. What is
	 * mapped stays: threads of the parent do not exist here, but signal handlers do. */
	if (!memory.backing.base && is_usable())
		close(memory.backing.fd);
	memory.backing = (struct session_backing){.fd = -1};
}

/* Maps so many bytes more of the memory; NULL when memory, budget or descriptor is gone. */
static void *map_part(uint64_t bytes, uint64_t *offset)
{
	/* Rings start on pages of the system. */
	uint64_t page = getauxval(AT_PAGESZ) ? getauxval(AT_PAGESZ) : PAGE_LARGEST;
	uint64_t size = (bytes + page - 1) & ~(page - 1);

	if (!is_usable())
		return NULL;
	*offset = atomic_fetch_add_explicit(&memory.used_bytes, size, memory_order_relaxed);
	if (*offset + size > memory.backing.size_bytes) {
		atomic_fetch_sub_explicit(&memory.used_bytes, size, memory_order_relaxed);
		return NULL;
	}
	/* On failure the range stays unused: another thread may already own what follows it. */
	if (session_backing_populate(&memory.backing, *offset, size))
		return NULL;
	void *map = memory.backing.base
			    ? memory.backing.base + *offset
			    : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
				   memory.backing.fd, (off_t)*offset);
	if (map == MAP_FAILED)
		return NULL;
	atomic_fetch_add_explicit(&session_control->memory_bytes, size, memory_order_relaxed);
	return map;
}

static uint32_t round_up(uint32_t bytes)
{
	uint32_t rounded = RING_MIN_BYTES;
	while (rounded < bytes && rounded < RING_MAX_BYTES)
		rounded *= 2;
	return rounded;
}

/* Takes a free slot: with a mapped ring of at least `bytes`, or with none. */
static struct ring_slot *take_slot(bool mapped, uint32_t bytes, uint32_t *index)
{
	struct ring_slot *slots = ring_slots(session_control);
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		uint32_t expected = RING_SLOT_FREE;
		if (atomic_load_explicit(&slots[i].state, memory_order_relaxed) != RING_SLOT_FREE)
			continue;
		/* Acquire pairs with the collector's release of FREE: it is done with the ring. */
		if (!atomic_compare_exchange_strong_explicit(
			    &slots[i].state, &expected, RING_SLOT_CLAIMED, memory_order_acquire,
			    memory_order_relaxed))
			continue;
		if (mapped ? memory.rings[i] && memory.ring_bytes[i] >= bytes : !memory.rings[i]) {
			*index = i;
			return &slots[i];
		}
		atomic_store_explicit(&slots[i].state, RING_SLOT_FREE, memory_order_release);
	}
	return NULL;
}

/* The size of a thread's first ring, which may grow, as long as there are few. */
static uint32_t fair_bytes(uint32_t bytes, uint32_t least_bytes)
{
	uint64_t used_bytes = atomic_load_explicit(&memory.used_bytes, memory_order_relaxed);
	uint64_t left_bytes =
		memory.backing.size_bytes > used_bytes ? memory.backing.size_bytes - used_bytes : 0;
	if (left_bytes >= memory.backing.size_bytes / 2)
		return bytes;
	while (bytes / 2 >= least_bytes && bytes > left_bytes / FAIR_RINGS)
		bytes /= 2;
	return bytes;
}

int session_ring_claim(uint32_t data_bytes, uint32_t least_bytes, uint32_t thread_id,
		       uint64_t claimed_ticks, struct session_ring *ring)
{
	uint32_t bytes = round_up(data_bytes), least = round_up(least_bytes), index;
	bytes = fair_bytes(bytes, least);
	struct ring_slot *slot = take_slot(true, bytes, &index);
	if (!slot) {
		slot = take_slot(false, bytes, &index);
		if (!slot)
			return -ENOSPC;
		uint64_t offset;
		struct ring_header *header = map_part((uint64_t)bytes + RING_HEADER_BYTES, &offset);
		while (!header && bytes / 2 >= least) {
			bytes /= 2; /* better a small ring than none */
			header = map_part((uint64_t)bytes + RING_HEADER_BYTES, &offset);
		}
		if (!header) {
			atomic_store_explicit(&slot->state, RING_SLOT_FREE, memory_order_release);
			return -ENOMEM;
		}
		memory.rings[index] = header;
		memory.ring_bytes[index] = bytes;
		memory.ring_heads[index] = 0;
		slot->offset = offset;
		slot->data_bytes = bytes;
	}
	memory.ring_left[index] = false;
	slot->thread_id = thread_id;
	slot->claimed_ticks = claimed_ticks;
	slot->generation++;
	ring->header = memory.rings[index];
	ring->data_bytes = memory.ring_bytes[index];
	ring->slot = index;
	ring->head = memory.ring_heads[index];
	/* Pairs with the collector's acquire load of state: the fields above are complete. */
	atomic_store_explicit(&slot->state, RING_SLOT_LIVE, memory_order_release);
	return 0;
}

/* Bytes that a retired ring has left, as far as its shared numbers can be believed. */
static uint64_t room_left(uint32_t index, uint64_t head)
{
	uint64_t tail = atomic_load_explicit(&memory.rings[index]->tail, memory_order_acquire);
	uint64_t used = head - tail, data_bytes = memory.ring_bytes[index];
	return tail <= head && used <= data_bytes ? data_bytes - used : 0;
}

/*
 * Threads that start and end faster than the collector looks would need a ring each until then. So
 * a ring that still holds the records of an ended thread goes to the next one as it is: whoever
 * moves its state from RETIRED to LIVE is its one producer.
 */
int session_ring_take_over(uint32_t room_bytes, struct session_ring *ring)
{
	struct ring_slot *slots = ring_slots(session_control);

	if (atomic_load_explicit(&session_control->collector_minor, memory_order_acquire) <
	    RING_MINOR_OWNERS)
		return -ENOSPC;
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		/* Acquire pairs with the release of whoever retired it: its numbers are set. */
		uint32_t state = atomic_load_explicit(&slots[i].state, memory_order_acquire);
		if (state != RING_SLOT_RETIRED || memory.ring_left[i] ||
		    room_left(i, atomic_load_explicit(&memory.rings[i]->head,
						      memory_order_relaxed)) < room_bytes)
			continue;
		if (!atomic_compare_exchange_strong_explicit(&slots[i].state, &state,
							     RING_SLOT_LIVE, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		/* Meanwhile it may have had another owner. */
		if (!memory.ring_left[i] && room_left(i, memory.ring_heads[i]) >= room_bytes) {
			*ring = (struct session_ring){memory.rings[i], memory.ring_bytes[i], i,
						      memory.ring_heads[i]};
			return 0;
		}
		atomic_store_explicit(&slots[i].state, RING_SLOT_RETIRED, memory_order_release);
	}
	return -ENOSPC;
}

void session_ring_retire(uint32_t index, uint64_t head, bool has_moved)
{
	memory.ring_heads[index] = head;
	memory.ring_left[index] = has_moved;
	atomic_store_explicit(&ring_slots(session_control)[index].state, RING_SLOT_RETIRED,
			      memory_order_release);
}

/* ---- tables of totals ---- */

/* Takes a free slot: with a mapped table of at least `rows`, or with none. */
static struct ring_table *take_table(bool mapped, uint32_t rows, uint32_t *index)
{
	struct ring_table *tables = ring_tables(session_control);
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		uint32_t expected = RING_SLOT_FREE;
		if (atomic_load_explicit(&tables[i].state, memory_order_relaxed) != RING_SLOT_FREE)
			continue;
		/* Acquire pairs with the collector's release of FREE: it has read the last sums. */
		if (!atomic_compare_exchange_strong_explicit(
			    &tables[i].state, &expected, RING_SLOT_CLAIMED, memory_order_acquire,
			    memory_order_relaxed))
			continue;
		if (mapped ? memory.tables[i] && memory.table_rows[i] >= rows : !memory.tables[i]) {
			*index = i;
			return &tables[i];
		}
		atomic_store_explicit(&tables[i].state, RING_SLOT_FREE, memory_order_release);
	}
	return NULL;
}

/* A table that a thread has left and nobody has read since: what is in it stays and is added to. */
static bool take_over_table(uint32_t rows, struct session_table *table)
{
	struct ring_table *tables = ring_tables(session_control);
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		uint32_t expected = RING_SLOT_RETIRED;
		if (!memory.tables[i] || memory.table_rows[i] < rows ||
		    !atomic_compare_exchange_strong_explicit(&tables[i].state, &expected,
							     RING_SLOT_LIVE, memory_order_acq_rel,
							     memory_order_relaxed))
			continue;
		*table = (struct session_table){memory.tables[i], memory.table_rows[i], i, 0};
		for (uint32_t row = 0; row < table->row_count; row++)
			table->used += atomic_load_explicit(&table->rows[row].what,
							    memory_order_relaxed) != 0;
		return true;
	}
	return false;
}

int session_table_claim(uint32_t rows, uint32_t thread_id, uint64_t claimed_ticks,
			struct session_table *table)
{
	uint32_t index;
	struct ring_table *slot = take_table(true, rows, &index);
	table->used = 0;
	if (slot) {
		memset(memory.tables[index], 0,
		       memory.table_rows[index] * sizeof(struct ring_total));
	} else {
		slot = take_table(false, rows, &index);
		if (!slot)
			return take_over_table(rows, table) ? 0 : -ENOSPC;
		uint64_t offset;
		struct ring_total *mapped =
			map_part((uint64_t)rows * sizeof(struct ring_total), &offset);
		if (!mapped) {
			atomic_store_explicit(&slot->state, RING_SLOT_FREE, memory_order_release);
			return take_over_table(rows, table) ? 0 : -ENOMEM;
		}
		memory.tables[index] = mapped;
		memory.table_rows[index] = rows;
		slot->offset = offset;
		slot->row_count = rows;
	}
	slot->thread_id = thread_id;
	slot->claimed_ticks = claimed_ticks;
	slot->generation++;
	table->rows = memory.tables[index];
	table->row_count = memory.table_rows[index];
	table->slot = index;
	/* Pairs with the collector's acquire load of state: the fields above are complete. */
	atomic_store_explicit(&slot->state, RING_SLOT_LIVE, memory_order_release);
	return 0;
}

void session_table_retire(uint32_t index)
{
	atomic_store_explicit(&ring_tables(session_control)[index].state, RING_SLOT_RETIRED,
			      memory_order_release);
}
