/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-addressed table of interned texts in memory of our own, of a fixed size: programs put
 * step numbers into their texts, so there is no end to new ones. Readers take no lock.
 */
#include "mark_name.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "../collector/format/record.h"
#include "hash.h"
#include "session.h"
#include "spin.h"
#include "thread_write.h"

#define NAMES	       16384u /* places; at most 3/4 are used */
#define ARENA_BYTES    (1024u * 1024)
#define TEXT_MAX_BYTES 1024u

struct mark_name {
	uint64_t number;
	_Atomic uint64_t written_in; /* start_ticks of the session that has the text */
	uint32_t length;
	char text[];
};

static struct {
	struct mark_name *_Atomic places[NAMES];
	_Alignas(16) char arena[ARENA_BYTES];
} * _Atomic store;
static size_t arena_used;
static uint32_t name_count;
static struct spin lock;

static size_t cut(size_t length)
{
	return length < TEXT_MAX_BYTES ? length : TEXT_MAX_BYTES;
}

static struct mark_name *find(uint64_t number, uint32_t *at)
{
	*at = (uint32_t)number % NAMES;
	for (;; *at = (*at + 1) % NAMES) {
		struct mark_name *name =
			atomic_load_explicit(&store->places[*at], memory_order_acquire);
		if (!name || name->number == number)
			return name;
	}
}

/* With the lock. */
static struct mark_name *add(const char *text, size_t length, uint64_t number)
{
	uint32_t at;
	if (!store) {
		void *memory = mmap(NULL, sizeof(*store), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return NULL;
		atomic_store_explicit(&store, memory, memory_order_release);
	}
	struct mark_name *name = find(number, &at);
	size_t size = (sizeof(*name) + length + 1 + 15) & ~(size_t)15;
	if (name || name_count >= NAMES / 4 * 3 || size > ARENA_BYTES - arena_used)
		return name;
	name = (struct mark_name *)(void *)(store->arena + arena_used);
	arena_used += size;
	name_count++;
	name->number = number;
	name->length = (uint32_t)length;
	memcpy(name->text, text, length);
	atomic_store_explicit(&store->places[at], name, memory_order_release);
	return name;
}

const struct mark_name *mark_name_intern(const char *text, size_t length)
{
	uint32_t at;
	if (!text)
		return NULL;
	length = cut(length);
	uint64_t number = hash_bytes(text, length);
	struct mark_name *name =
		atomic_load_explicit(&store, memory_order_acquire) ? find(number, &at) : NULL;
	if (__builtin_expect(name != NULL, 1) || !spin_take(&lock))
		return name;
	int saved_errno = errno;
	name = add(text, length, number);
	errno = saved_errno;
	spin_give(&lock);
	return name;
}

bool mark_name_is_ours(const void *pointer)
{
	uintptr_t begin = (uintptr_t)atomic_load_explicit(&store, memory_order_acquire);
	return begin && (uintptr_t)pointer >= begin && (uintptr_t)pointer < begin + sizeof(*store);
}

const char *mark_name_text(const struct mark_name *name)
{
	return name ? name->text : "";
}

uint64_t mark_name_write(struct thread *thread, const char *text, size_t length)
{
	length = cut(length);
	uint64_t number = hash_bytes(text, length);
	return thread_write_name(thread, NAME_MARK, number, text, length) ? number : 0;
}

uint64_t mark_name_number(struct thread *thread, const struct mark_name *name)
{
	if (!name)
		return 0;
	uint64_t session = session_control ? session_control->start_ticks : 0;
	struct mark_name *own = (struct mark_name *)(uintptr_t)name;
	if (__builtin_expect(
		    atomic_load_explicit(&own->written_in, memory_order_relaxed) != session, 0) &&
	    thread_write_name(thread, NAME_MARK, own->number, own->text, own->length))
		atomic_store_explicit(&own->written_in, session, memory_order_relaxed);
	return own->number;
}

void mark_name_after_fork(void)
{
	spin_give(&lock); /* its holder may not exist here */
}
