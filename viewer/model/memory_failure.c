/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failed driver allocations wait for a success of the same thread and size; what is left joins the
 * framework's own reports.
 */
#include "memory_failure.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "memory_series.h"
#include "model.h"

#define STATUS_NO_MEMORY 2	    /* of the runtime and of the driver */
#define OPEN_LIMIT	 64	    /* requests at once that may still succeed */
#define LOOK_AHEAD	 65536	    /* blocks after a report that are looked at */
#define SAME_LIMIT_NS	 2000000000 /* giving back a cache waits for the GPU */

struct open_request {
	int64_t first_ns, last_ns;
	uint64_t size_bytes;
	uint32_t call; /* the last that failed */
	uint16_t thread;
	bool is_closed; /* it succeeded, or belongs to a report */
};

struct requests {
	struct open_request *items;
	size_t count, capacity;
	size_t first_open; /* none before it is looked at again */
};

static void close_success(const struct model *model, struct requests *requests,
			  const struct memory_event *event, struct memory_failures *out)
{
	const struct host_call *call = &model->calls[event->call];

	for (size_t i = requests->first_open; i < requests->count; i++) {
		struct open_request *request = &requests->items[i];
		int64_t cost_ns = call->end_ns - request->first_ns;

		if (request->is_closed || request->thread != call->thread ||
		    request->size_bytes != event->size_bytes)
			continue;
		request->is_closed = true;
		out->recovered++;
		if (out->recovered_call == MODEL_NONE || event->size_bytes > out->recovered_bytes) {
			out->recovered_bytes = event->size_bytes;
			out->recovered_call = event->call;
		}
		out->recovered_ns += cost_ns > 0 ? cost_ns : 0;
		return;
	}
}

static void open_failure(const struct model *model, struct requests *requests,
			 const struct memory_event *event)
{
	const struct host_call *call = &model->calls[event->call];

	for (size_t i = requests->first_open; i < requests->count; i++) {
		struct open_request *request = &requests->items[i];

		if (!request->is_closed && request->thread == call->thread &&
		    request->size_bytes == event->size_bytes) {
			request->last_ns = event->time_ns;
			request->call = event->call;
			return;
		}
	}
	if (requests->count == requests->capacity)
		requests->items =
			array_grow(requests->items, &requests->capacity, sizeof(*requests->items));
	requests->items[requests->count++] = (struct open_request){
		.first_ns = call->begin_ns,
		.last_ns = event->time_ns,
		.size_bytes = event->size_bytes,
		.call = event->call,
		.thread = call->thread,
	};
}

static void find_requests(const struct model *model, size_t device, struct requests *requests,
			  struct memory_failures *out)
{
	for (size_t i = 0; i < model->memory_event_count; i++) {
		const struct memory_event *event = &model->memory_events[i];
		const struct host_call *call = &model->calls[event->call];

		if (event->op != MEMORY_ALLOC || event->device != device ||
		    (call->flags & CALL_REDUNDANT))
			continue;
		if (requests->count > requests->first_open + OPEN_LIMIT)
			requests->first_open = requests->count - OPEN_LIMIT;
		while (requests->first_open < requests->count &&
		       event->time_ns - requests->items[requests->first_open].last_ns >
			       SAME_LIMIT_NS)
			requests->first_open++;
		if (call->status == STATUS_NO_MEMORY) {
			open_failure(model, requests, event);
		} else if (!call->status) {
			out->driver_allocations += !(call->flags & CALL_ASYNC);
			close_success(model, requests, event, out);
		}
	}
}

/* Whether the program made room and asked again with success. */
static bool is_repeated(const struct model *model, size_t at)
{
	const struct block_event *failed = &model->blocks[at];

	for (size_t i = at + 1; i < model->block_count && i - at < LOOK_AHEAD; i++) {
		const struct block_event *block = &model->blocks[i];

		if (block->time_ns - failed->time_ns > SAME_LIMIT_NS)
			return false;
		if (block->op == BLOCK_ALLOC && block->device == failed->device &&
		    block->size_bytes >= failed->size_bytes &&
		    block->size_bytes - failed->size_bytes <= 2 << 20)
			return true;
	}
	return false;
}

static void keep_last(struct memory_failures *out, const struct memory_failure *failure)
{
	out->lasting++;
	if (out->lasting == 1 || failure->time_ns >= out->last.time_ns)
		out->last = *failure;
}

/* A report stands for the failed calls right before it. Reports come in the order of time, requests
 * in that of their first failure. */
static uint32_t join_requests(struct requests *requests, int64_t time_ns)
{
	uint32_t call = MODEL_NONE;

	while (requests->first_open < requests->count &&
	       (requests->items[requests->first_open].is_closed ||
		time_ns - requests->items[requests->first_open].last_ns > SAME_LIMIT_NS))
		requests->first_open++;
	for (size_t i = requests->first_open; i < requests->count; i++) {
		struct open_request *request = &requests->items[i];

		if (request->first_ns > time_ns)
			break;
		if (request->is_closed || request->last_ns > time_ns ||
		    time_ns - request->last_ns > SAME_LIMIT_NS)
			continue;
		request->is_closed = true;
		call = request->call;
	}
	return call;
}

static void find_reports(const struct model *model, size_t device, struct requests *requests,
			 struct memory_failures *out)
{
	for (size_t i = 0; i < model->block_count; i++) {
		const struct block_event *block = &model->blocks[i];
		struct memory_failure failure;

		if (block->op != BLOCK_OUT_OF_MEMORY || block->device != device)
			continue;
		failure = (struct memory_failure){
			.time_ns = block->time_ns,
			.wanted_bytes = block->size_bytes,
			.allocated_bytes = block->allocated_bytes,
			.reserved_bytes = block->reserved_bytes,
			/* Only snapshots tell; 0 there is no different from not told. */
			.device_free_bytes = block->address ? block->address : UINT64_MAX,
			.call = join_requests(requests, block->time_ns),
			.site = block->site,
			.is_framework = true,
		};
		if (is_repeated(model, i)) {
			out->recovered++;
			if (block->size_bytes > out->recovered_bytes)
				out->recovered_bytes = block->size_bytes;
			continue;
		}
		keep_last(out, &failure);
	}
}

void memory_failures_find(const struct model *model, size_t device, struct memory_failures *out)
{
	struct requests requests = {0};

	memset(out, 0, sizeof(*out));
	out->recovered_call = MODEL_NONE;
	find_requests(model, device, &requests, out);
	requests.first_open = 0;
	find_reports(model, device, &requests, out);
	for (size_t i = 0; i < requests.count; i++) {
		const struct open_request *request = &requests.items[i];

		if (request->is_closed)
			continue;
		keep_last(out, &(struct memory_failure){
				       .time_ns = request->last_ns,
				       .wanted_bytes = request->size_bytes,
				       .device_free_bytes = UINT64_MAX,
				       .call = request->call,
				       .site = model_call_site(model, request->call),
			       });
	}
	if (out->lasting)
		out->last.live_bytes = memory_live_at(model, device, out->last.time_ns);
	free(requests.items);
}
