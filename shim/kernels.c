/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two open-addressed tables, pointer -> value: host stubs (value: the name, as registered) and
 * everything launched or named (value: an interned name). Readers take no lock; writers share one.
 * Tables grow by being replaced; the old ones stay, since a reader may be in them.
 */
#include "kernels.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "../collector/format/record.h"
#include "device.h"
#include "hash.h"
#include "lifecycle.h"
#include "session.h"
#include "spin.h"
#include "thread_write.h"

#define FIRST_CAPACITY 1024u
#define ARENA_BYTES    (256u * 1024)
#define PENDING	       256u   /* power of two */
#define NAME_MAX_BYTES 32000u /* longer names are cut; they do occur in template libraries */

struct entry {
	_Atomic uintptr_t key;
	_Atomic uintptr_t value;
};
struct table {
	uint32_t capacity; /* power of two */
	_Atomic uint32_t count;
	struct entry entries[];
};
struct name {
	uint64_t number;
	_Atomic uint64_t written_in; /* start_ticks of the session that has the name */
	_Atomic uint32_t epoch;	     /* of the last unload when the driver was asked; 0 told */
	uint32_t length;
	char text[];
};

static struct table *_Atomic stubs, *_Atomic handles, *_Atomic names;
static struct spin lock;
static _Atomic uintptr_t pending[PENDING]; /* handles that were launched into a capture */
static _Atomic uint32_t unload_epoch = 1;
static char *arena;
static size_t arena_left;

static void *pages(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static uint32_t place(uintptr_t key, uint32_t capacity)
{
	return (uint32_t)hash_mix(key) & (capacity - 1);
}

static uintptr_t lookup(struct table *_Atomic *where, uintptr_t key)
{
	struct table *table = atomic_load_explicit(where, memory_order_acquire);
	if (!table)
		return 0;
	for (uint32_t at = place(key, table->capacity);; at = (at + 1) & (table->capacity - 1)) {
		uintptr_t found =
			atomic_load_explicit(&table->entries[at].key, memory_order_acquire);
		if (found == key)
			return atomic_load_explicit(&table->entries[at].value,
						    memory_order_acquire);
		if (!found)
			return 0;
	}
}

/* With the lock. */
static void put(struct table *table, uintptr_t key, uintptr_t value)
{
	uint32_t at = place(key, table->capacity);
	uintptr_t found;
	while ((found = atomic_load_explicit(&table->entries[at].key, memory_order_relaxed)) &&
	       found != key)
		at = (at + 1) & (table->capacity - 1);
	atomic_store_explicit(&table->entries[at].value, value, memory_order_release);
	if (!found) {
		atomic_fetch_add_explicit(&table->count, 1, memory_order_relaxed);
		/* Pairs with lookup(): the value is there when the key is. */
		atomic_store_explicit(&table->entries[at].key, key, memory_order_release);
	}
}

static bool grow(struct table *_Atomic *where)
{
	struct table *old = atomic_load_explicit(where, memory_order_relaxed);
	if (old && atomic_load_explicit(&old->count, memory_order_relaxed) < old->capacity / 2)
		return true;
	uint32_t capacity = old ? old->capacity * 2 : FIRST_CAPACITY;
	struct table *table = pages(sizeof(*table) + capacity * sizeof(struct entry));
	if (!table)
		return false;
	table->capacity = capacity;
	for (uint32_t i = 0; old && i < old->capacity; i++) {
		uintptr_t key = atomic_load_explicit(&old->entries[i].key, memory_order_relaxed);
		if (key)
			put(table, key,
			    atomic_load_explicit(&old->entries[i].value, memory_order_relaxed));
	}
	atomic_store_explicit(where, table, memory_order_release);
	return true;
}

static void insert(struct table *_Atomic *where, uintptr_t key, uintptr_t value)
{
	if (!key || !spin_take(&lock))
		return;
	if (grow(where))
		put(atomic_load_explicit(where, memory_order_relaxed), key, value);
	spin_give(&lock);
}

/* With the lock: the name's own copy. */
static struct name *copy_name(const char *text, size_t length, uint64_t number)
{
	size_t size = (sizeof(struct name) + length + 1 + 15) & ~(size_t)15;
	if (size > arena_left) {
		char *fresh = pages(ARENA_BYTES);
		if (!fresh)
			return NULL;
		arena = fresh;
		arena_left = ARENA_BYTES;
	}
	struct name *name = (struct name *)(void *)arena;
	arena += size;
	arena_left -= size;
	name->number = number;
	name->length = (uint32_t)length;
	memcpy(name->text, text, length);
	name->text[length] = '\0';
	return name;
}

static struct name *intern(const char *text)
{
	size_t length = strnlen(text, NAME_MAX_BYTES);
	uint64_t number = hash_bytes(text, length);
	struct name *name = (struct name *)lookup(&names, (uintptr_t)number);
	if (name || !spin_take(&lock))
		return name;
	name = (struct name *)lookup(&names, (uintptr_t)number);
	if (!name && grow(&names)) {
		name = copy_name(text, length, number);
		if (name)
			put(atomic_load_explicit(&names, memory_order_relaxed), (uintptr_t)number,
			    (uintptr_t)name);
	}
	spin_give(&lock);
	return name;
}

void kernels_register(const void *host_function, const char *name)
{
	int saved_errno = errno;
	if (name) {
		lifecycle_watch_forks();
		insert(&stubs, (uintptr_t)host_function, (uintptr_t)name);
	}
	errno = saved_errno;
}

void kernels_set_name(const void *handle, const char *name)
{
	struct name *interned = name ? intern(name) : NULL;
	if (interned)
		insert(&handles, (uintptr_t)handle, (uintptr_t)interned);
}

static struct name *find_name(const void *function)
{
	struct name *name = (struct name *)lookup(&handles, (uintptr_t)function);
	if (name)
		return name;
	const char *text = (const char *)lookup(&stubs, (uintptr_t)function);
	if (!text)
		return NULL;
	name = intern(text);
	if (name)
		insert(&handles, (uintptr_t)function, (uintptr_t)name);
	return name;
}

void kernels_set_alias(const void *handle, const void *other)
{
	struct name *name = find_name(other);
	if (name)
		insert(&handles, (uintptr_t)handle, (uintptr_t)name);
}

void kernels_unload(void)
{
	atomic_fetch_add_explicit(&unload_epoch, 1, memory_order_relaxed);
}

/* Stands for "the driver was asked and knows no name". */
static struct name *unknown_name(void)
{
	return intern("");
}

static struct name *ask_driver(const void *function)
{
	uint32_t epoch = atomic_load_explicit(&unload_epoch, memory_order_relaxed);
	const char *text = device_function_name(function);
	struct name *name = text ? intern(text) : unknown_name();
	if (name) {
		atomic_store_explicit(&name->epoch, epoch, memory_order_relaxed);
		insert(&handles, (uintptr_t)function, (uintptr_t)name);
	}
	return name;
}

static uint64_t write_name(struct thread *thread, struct name *name)
{
	uint64_t session = session_control ? session_control->start_ticks : 0;
	if (!name || !name->length)
		return 0;
	if (__builtin_expect(
		    atomic_load_explicit(&name->written_in, memory_order_relaxed) != session, 0) &&
	    thread_write_name(thread, NAME_KERNEL, name->number, name->text, name->length))
		atomic_store_explicit(&name->written_in, session, memory_order_relaxed);
	return name->number;
}

uint64_t kernels_number(struct thread *thread, const void *function, bool may_ask)
{
	struct name *name = find_name(function);
	if (name && may_ask) {
		uint32_t asked = atomic_load_explicit(&name->epoch, memory_order_relaxed);
		if (asked && asked != atomic_load_explicit(&unload_epoch, memory_order_relaxed))
			name = ask_driver(function);
	} else if (!name && may_ask) {
		name = ask_driver(function);
	}
	return write_name(thread, name);
}

uint64_t kernels_number_for_now(const void *function)
{
	uint32_t at = place((uintptr_t)function, PENDING);
	for (uint32_t i = 0; i < PENDING; i++, at = (at + 1) & (PENDING - 1)) {
		uintptr_t found = 0;
		if (atomic_compare_exchange_strong(&pending[at], &found, (uintptr_t)function) ||
		    found == (uintptr_t)function)
			return hash_mix((uintptr_t)function) | 1;
	}
	return 0;
}

void kernels_name_pending(struct thread *thread)
{
	for (uint32_t i = 0; i < PENDING; i++) {
		uintptr_t function = atomic_load_explicit(&pending[i], memory_order_relaxed);
		if (!function)
			continue;
		struct name *name = ask_driver((const void *)function);
		/* Stays for the next capture when the ring was full. */
		if (!name || !name->length ||
		    thread_write_name(thread, NAME_KERNEL, hash_mix(function) | 1, name->text,
				      name->length))
			atomic_store(&pending[i], 0);
	}
}

uint64_t kernels_number_of_name(struct thread *thread, const char *text)
{
	return write_name(thread, intern(text));
}

void kernels_after_fork(void)
{
	spin_give(&lock); /* its holder may not exist here */
}
