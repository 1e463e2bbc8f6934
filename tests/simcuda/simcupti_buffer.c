/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's buffers: asked for when a record needs room, filled in the order of completion,
 * given back when full or flushed. One buffer is open at a time, whichever thread a record comes
 * from.
 *
 * Two locks. `order` is held by a producer from before it asks the client for a buffer until its
 * record is in, so that records keep their order; `buffer` guards the open buffer and is never held
 * while the client's functions run. A client may therefore flush from its own functions.
 */
#include "simcupti_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct open_buffer {
	uint8_t *bytes;
	size_t size_bytes, used_bytes;
	size_t records, max_records; /* max 0: as many as fit */
};

static pthread_mutex_t order = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static struct open_buffer open_buffer;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static _Atomic(size_t) dropped;
static _Atomic(uint64_t) record_count;

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
					   CUpti_BuffersCallbackCompleteFunc completed)
{
	SIMCUPTI_ENTER();
	if (!requested || !completed)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&buffer_lock);
	request = requested;
	complete = completed;
	pthread_mutex_unlock(&buffer_lock);
	return CUPTI_SUCCESS;
}

/* The fault "reorder": the records of a buffer, last one first. */
static void reverse_records(const struct open_buffer *full)
{
	uint8_t *copy = malloc(full->used_bytes);
	size_t from = 0, to = full->used_bytes;

	if (!copy)
		return;
	memcpy(copy, full->bytes, full->used_bytes);
	while (from < full->used_bytes) {
		CUpti_Activity head;
		size_t size;

		memcpy(&head, copy + from, sizeof(head));
		size = simcupti_record_size((int)head.kind);
		to -= size;
		memcpy(full->bytes + to, copy + from, size);
		from += size;
	}
	free(copy);
}

/* The fault "empty-buffer": one that is asked for and comes back with nothing in it. */
static void give_back_empty(CUpti_BuffersCallbackCompleteFunc function)
{
	struct open_buffer empty = {0};
	CUpti_BuffersCallbackRequestFunc ask_for;

	pthread_mutex_lock(&buffer_lock);
	ask_for = request;
	pthread_mutex_unlock(&buffer_lock);
	if (ask_for)
		ask_for(&empty.bytes, &empty.size_bytes, &empty.max_records);
	if (empty.bytes)
		function(NULL, 0, empty.bytes, empty.size_bytes, 0);
}

/* The fault "shuffle": of three full buffers the third, the first, the second. */
static struct open_buffer held[2];

static void give_back(const struct open_buffer *full, CUpti_BuffersCallbackCompleteFunc function)
{
	const struct simcupti_options *options = simcupti_options();
	struct open_buffer first = {0}, second = {0};
	bool is_held = false;

	if (!full->bytes)
		return;
	if (options->has_null_buffer)
		function(NULL, 0, NULL, 0, 0);
	if (options->has_empty_buffer)
		give_back_empty(function);
	if (options->is_reordering)
		reverse_records(full);
	if (options->is_shuffling) {
		pthread_mutex_lock(&buffer_lock);
		is_held = !held[0].bytes || !held[1].bytes;
		if (is_held) {
			held[held[0].bytes ? 1 : 0] = *full;
		} else {
			first = held[0];
			second = held[1];
			memset(held, 0, sizeof(held));
		}
		pthread_mutex_unlock(&buffer_lock);
	}
	if (!is_held)
		function(NULL, 0, full->bytes, full->size_bytes, full->used_bytes);
	if (first.bytes)
		function(NULL, 0, first.bytes, first.size_bytes, first.used_bytes);
	if (second.bytes)
		function(NULL, 0, second.bytes, second.size_bytes, second.used_bytes);
}

/* A flush returns what is held as well, the later one first. */
static void give_back_held(CUpti_BuffersCallbackCompleteFunc function)
{
	struct open_buffer both[2];

	pthread_mutex_lock(&buffer_lock);
	memcpy(both, held, sizeof(both));
	memset(held, 0, sizeof(held));
	pthread_mutex_unlock(&buffer_lock);
	for (int i = 1; i >= 0; i--) {
		if (both[i].bytes)
			function(NULL, 0, both[i].bytes, both[i].size_bytes, both[i].used_bytes);
	}
}

/* cuptiFinalize: what the client has not fetched is gone, and so are its functions. */
static void reset(void)
{
	pthread_mutex_lock(&buffer_lock);
	open_buffer = (struct open_buffer){0};
	memset(held, 0, sizeof(held));
	request = NULL;
	complete = NULL;
	pthread_mutex_unlock(&buffer_lock);
}

/* Copies the record in if it fits; the caller holds buffer_lock. */
static bool put(const union simcupti_record *record, size_t size)
{
	struct open_buffer *b = &open_buffer;

	if (!b->bytes || b->size_bytes - b->used_bytes < size ||
	    (b->max_records && b->records == b->max_records))
		return false;
	memset(b->bytes + b->used_bytes, 0, size);
	memcpy(b->bytes + b->used_bytes, record, size < sizeof(*record) ? size : sizeof(*record));
	b->used_bytes += size;
	b->records++;
	return true;
}

static bool is_zeroed_by_client(void)
{
	uint8_t value = 0;
	size_t size = sizeof(value);

	return cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
					 &value) == CUPTI_SUCCESS &&
	       value;
}

struct client {
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
};

static struct client client(void)
{
	struct client now;

	pthread_mutex_lock(&buffer_lock);
	now = (struct client){request, complete};
	pthread_mutex_unlock(&buffer_lock);
	return now;
}

/* A new buffer from the client; without bytes when it gives none that a record would fit in. */
static struct open_buffer ask(const struct client *from, size_t least_bytes)
{
	struct open_buffer fresh = {0};

	if (from->request)
		from->request(&fresh.bytes, &fresh.size_bytes, &fresh.max_records);
	if (fresh.bytes && (fresh.size_bytes < least_bytes || (uintptr_t)fresh.bytes % 8)) {
		give_back(&fresh, from->complete);
		fresh.bytes = NULL;
	}
	if (fresh.bytes && !is_zeroed_by_client())
		memset(fresh.bytes, 0, fresh.size_bytes);
	return fresh;
}

/* Under `order`. */
static bool put_in_fresh_buffer(const union simcupti_record *record, size_t size)
{
	const struct client to = client();
	struct open_buffer fresh = ask(&to, size), full;
	bool is_in;

	pthread_mutex_lock(&buffer_lock);
	full = open_buffer;
	open_buffer = fresh;
	is_in = put(record, size);
	pthread_mutex_unlock(&buffer_lock);
	give_back(&full, to.complete);
	return is_in;
}

static void clear_times(union simcupti_record *record)
{
	switch ((int)record->head.kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		record->kernel.start = record->kernel.end = record->kernel.completed = 0;
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		record->copy.start = record->copy.end = 0;
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		record->peer_copy.start = record->peer_copy.end = 0;
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		record->set.start = record->set.end = 0;
		break;
	default:
		break;
	}
}

void simcupti_buffer_add(const union simcupti_record *record)
{
	const struct simcupti_options *options = simcupti_options();
	size_t size = simcupti_record_size((int)record->head.kind);
	uint64_t number = atomic_fetch_add(&record_count, 1) + 1;
	union simcupti_record changed;
	bool is_in;

	if (options->drop_every && number % options->drop_every == 0) {
		atomic_fetch_add(&dropped, 1);
		return;
	}
	if (options->zero_times_every && number % options->zero_times_every == 0) {
		changed = *record;
		clear_times(&changed);
		record = &changed;
	}
	pthread_mutex_lock(&order);
	pthread_mutex_lock(&buffer_lock);
	is_in = put(record, size);
	pthread_mutex_unlock(&buffer_lock);
	if (!is_in && !put_in_fresh_buffer(record, size))
		atomic_fetch_add(&dropped, 1);
	pthread_mutex_unlock(&order);
}

void simcupti_buffer_flush(void)
{
	struct open_buffer full;
	CUpti_BuffersCallbackCompleteFunc function;

	pthread_mutex_lock(&buffer_lock);
	full = open_buffer;
	function = complete;
	open_buffer = (struct open_buffer){0};
	pthread_mutex_unlock(&buffer_lock);
	give_back(&full, function);
	give_back_held(function);
}

/* Every record is of complete work, so that a forced flush gives no more than a plain one. */
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	SIMCUPTI_ENTER();
	(void)flag;
	if (!client().complete)
		return simcupti_return(CUPTI_ERROR_INVALID_OPERATION);
	simcupti_deliver();
	simcupti_activity_add_own();
	simcupti_buffer_flush();
	return CUPTI_SUCCESS;
}

/* The real worker gives back full buffers at this period; here they are given back at once. */
CUptiResult cuptiActivityFlushPeriod(uint32_t period_ms)
{
	(void)period_ms;
	return CUPTI_SUCCESS;
}

/* The count is that of all contexts and streams; asking resets it. */
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count)
{
	SIMCUPTI_ENTER();
	(void)context, (void)stream;
	if (!count)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	*count = atomic_exchange(&dropped, 0);
	return CUPTI_SUCCESS;
}

/* *record is the last one, or NULL to begin. */
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
	SIMCUPTI_ENTER();
	size_t at = 0, size;
	CUpti_Activity head;

	if (!buffer || !record)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (*record) {
		memcpy(&head, *record, sizeof(head));
		at = (size_t)((uint8_t *)*record - buffer) + simcupti_record_size((int)head.kind);
	}
	if (at + sizeof(head) > valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	memcpy(&head, buffer + at, sizeof(head));
	size = simcupti_record_size((int)head.kind);
	if (!size)
		return simcupti_return(CUPTI_ERROR_INVALID_KIND);
	if (at + size > valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)(buffer + at);
	return CUPTI_SUCCESS;
}

/* Everything is as before the first call: no subscriber, no kinds, no buffers. */
CUptiResult cuptiFinalize(void)
{
	SIMCUPTI_ENTER();
	if (client().complete) {
		simcupti_deliver();
		simcupti_buffer_flush();
	}
	simcupti_callback_reset();
	simcupti_activity_reset();
	reset();
	simcupti_detach();
	return CUPTI_SUCCESS;
}
