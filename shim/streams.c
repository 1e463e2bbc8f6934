/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small table of handles in open captures. It is full only when a program captures very many
 * streams at once; then the rest counts as not captured.
 */
#include "streams.h"

#include <stddef.h>

#define MEMBERS 256u

static struct {
	_Atomic uintptr_t handle;   /* stream or event */
	_Atomic uintptr_t origin;   /* the stream whose capture it is in */
	_Atomic uint64_t site;	    /* of an origin: where the capture began */
	_Atomic uint32_t counts[4]; /* of an origin: nodes by kind (enum graph_node_kind) */
} members[MEMBERS];
_Atomic uint32_t streams_open_captures;

static bool add(uintptr_t handle, uintptr_t origin)
{
	for (uint32_t i = 0; i < MEMBERS; i++) {
		uintptr_t found = 0;
		if (atomic_load(&members[i].handle) == handle ||
		    atomic_compare_exchange_strong(&members[i].handle, &found, handle)) {
			atomic_store(&members[i].origin, origin);
			return true;
		}
	}
	return false;
}

static uintptr_t origin_of(uintptr_t handle)
{
	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (atomic_load_explicit(&members[i].handle, memory_order_relaxed) == handle)
			return atomic_load_explicit(&members[i].origin, memory_order_relaxed);
	}
	return 0;
}

static uint32_t index_of(uintptr_t handle)
{
	uint32_t i = 0;
	while (i < MEMBERS &&
	       atomic_load_explicit(&members[i].handle, memory_order_relaxed) != handle)
		i++;
	return i;
}

void streams_begin_capture(const void *stream, uint64_t site)
{
	/* Runtime and driver both report the begin of one capture. */
	if (!stream || origin_of((uintptr_t)stream) == (uintptr_t)stream)
		return;
	if (!add((uintptr_t)stream, (uintptr_t)stream))
		return;
	uint32_t at = index_of((uintptr_t)stream);
	if (at < MEMBERS) {
		atomic_store(&members[at].site, site);
		for (unsigned int kind = 0; kind < 4; kind++)
			atomic_store(&members[at].counts[kind], 0);
	}
	atomic_fetch_add(&streams_open_captures, 1);
}

bool streams_end_capture(const void *stream, struct graph_origin *captured)
{
	*captured = (struct graph_origin){0};
	if (origin_of((uintptr_t)stream) != (uintptr_t)stream || !stream)
		return false;
	uint32_t at = index_of((uintptr_t)stream);
	if (at < MEMBERS) {
		captured->site = atomic_load(&members[at].site);
		captured->kernels = atomic_load(&members[at].counts[GRAPH_NODE_KERNEL]);
		captured->copies = atomic_load(&members[at].counts[GRAPH_NODE_COPY]);
		captured->sets = atomic_load(&members[at].counts[GRAPH_NODE_SET]);
		captured->nodes = captured->kernels + captured->copies + captured->sets +
				  atomic_load(&members[at].counts[GRAPH_NODE_OTHER]);
	}
	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (atomic_load(&members[i].origin) == (uintptr_t)stream) {
			atomic_store(&members[i].origin, 0);
			atomic_store(&members[i].handle, 0);
		}
	}
	atomic_fetch_sub(&streams_open_captures, 1);
	return true;
}

void streams_count(const void *stream, enum graph_node_kind kind)
{
	uintptr_t origin = origin_of((uintptr_t)stream);
	uint32_t at = origin ? index_of(origin) : MEMBERS;
	if (at < MEMBERS)
		atomic_fetch_add_explicit(&members[at].counts[kind], 1, memory_order_relaxed);
}

void streams_join(const void *from, const void *to)
{
	uintptr_t origin = from ? origin_of((uintptr_t)from) : 0;
	if (origin && to)
		add((uintptr_t)to, origin);
}

bool streams_is_captured_slow(const void *stream)
{
	return stream && origin_of((uintptr_t)stream) != 0;
}

void streams_forget(void)
{
	for (uint32_t i = 0; i < MEMBERS; i++) {
		atomic_store(&members[i].handle, 0);
		atomic_store(&members[i].origin, 0);
	}
	atomic_store(&streams_open_captures, 0);
}
