/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per thread the operators lie in an array ordered by begin (the longer first), each with its
 * parent, which a sweep with a stack finds. Profilers write operators before the calls inside them
 * and nearly in order, so the array is mostly extended at its end; where it is not, it is sorted
 * again at the next question, a bounded number of times so that hostile input cannot make it
 * quadratic. Chains of frames are interned in a tree: a node is its parent plus one frame, and a
 * node's site is written when it is first asked for. The tree's root for an operator of the
 * backward pass is the chain of its forward operator.
 */
#include "import_sites.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "big_array.h"
#include "import_sink.h"
#include "map.h"
#include "number_map.h"
#include "run_sort.h"
#include "xmalloc.h"

#define MAX_OPERATORS 50000000u /* 2 GB of files, and 1 for those of autograd */
#define SMALL	      1024u	/* operators of a thread that are sorted at every question */
#define MAX_WALK      4096u
#define FAR	      1024u
#define NONE	      UINT32_MAX

struct operator_span {
	int64_t begin_ns, end_ns;
	uint32_t parent; /* index, NONE outermost */
	uint32_t frame;	 /* index of the frame */
	uint32_t node;	 /* of the tree, 0 not looked up yet */
	uint32_t call_id;
	uint32_t forward; /* index of forwards + 1 of an operator of the backward pass, 0 none */
};

/* The forward operator of a number: of several the one that began last, since the number is given
 * out at its end. Numbers are counted per thread; one that two threads used tells nothing. */
struct forward {
	int64_t begin_ns;
	uint32_t thread;
	bool is_known, is_ambiguous;
};

struct thread_spans {
	struct operator_span *items;
	size_t count, capacity;
	size_t ordered;	   /* items before this one are sorted and have parents */
	size_t last_found; /* calls come in the order of time, mostly */
	uint32_t *open;	   /* the sweep's stack after `ordered` items */
	size_t open_count, open_capacity;
};

struct tree_node {
	uint32_t parent; /* index + 1, 0 the root */
	uint32_t frame;
	uint64_t site;
};

struct import_sites {
	struct import_sink *sink;
	struct thread_spans *threads; /* by thread number */
	size_t thread_count, thread_capacity;
	struct map frame_map; /* hash of the frame -> index + 1 */
	struct site_frame *frames;
	size_t frame_count, frame_capacity;
	struct map node_map; /* parent and frame -> index + 1 */
	struct tree_node *nodes;
	size_t node_count, node_capacity;
	struct number_map forward_map; /* autograd's number -> index + 1 */
	struct forward *forwards;
	size_t forward_count, forward_capacity;
	uint64_t total, dropped;
	bool was_dropped; /* the operator added last */
};

struct import_sites *import_sites_new(struct import_sink *sink)
{
	struct import_sites *sites = xcalloc(1, sizeof(*sites));
	sites->sink = sink;
	map_init(&sites->frame_map);
	map_init(&sites->node_map);
	number_map_init(&sites->forward_map);
	return sites;
}

void import_sites_free(struct import_sites *sites)
{
	if (!sites)
		return;
	for (size_t i = 0; i < sites->thread_count; i++) {
		big_array_free(sites->threads[i].items);
		free(sites->threads[i].open);
	}
	free(sites->threads);
	free(sites->frames);
	free(sites->nodes);
	map_fini(&sites->frame_map);
	map_fini(&sites->node_map);
	number_map_fini(&sites->forward_map);
	big_array_free(sites->forwards);
	free(sites);
}

uint64_t import_sites_dropped(const struct import_sites *sites)
{
	return sites->dropped;
}

static struct thread_spans *thread_of(struct import_sites *sites, uint32_t thread)
{
	while (sites->thread_count <= thread) {
		if (sites->thread_count == sites->thread_capacity)
			sites->threads = array_grow(sites->threads, &sites->thread_capacity,
						    sizeof(*sites->threads));
		memset(&sites->threads[sites->thread_count++], 0, sizeof(*sites->threads));
	}
	return &sites->threads[thread];
}

static uint32_t intern_frame(struct import_sites *sites, const struct site_frame *frame)
{
	bool is_new;
	uint64_t key = map_mix(map_mix(frame->type, frame->line), frame->value);
	uint64_t *slot = map_slot(&sites->frame_map, key, &is_new);
	if (!is_new)
		return (uint32_t)(*slot - 1);
	if (sites->frame_count == sites->frame_capacity)
		sites->frames =
			array_grow(sites->frames, &sites->frame_capacity, sizeof(*sites->frames));
	sites->frames[sites->frame_count++] = *frame;
	*slot = sites->frame_count;
	return (uint32_t)(*slot - 1);
}

void import_sites_add(struct import_sites *sites, uint32_t thread, int64_t begin_ns, int64_t end_ns,
		      const struct site_frame *frame, uint32_t call_id)
{
	sites->was_dropped = sites->total >= MAX_OPERATORS;
	if (sites->was_dropped) {
		sites->dropped++;
		return;
	}
	struct thread_spans *t = thread_of(sites, thread);
	if (t->count == t->capacity)
		t->items = big_array_grow(t->items, &t->capacity, sizeof(*t->items));
	t->items[t->count++] = (struct operator_span){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.parent = NONE,
		.frame = intern_frame(sites, frame),
		.call_id = call_id,
	};
	sites->total++;
}

void import_sites_tie(struct import_sites *sites, uint32_t thread, int64_t sequence,
		      bool is_backward)
{
	struct operator_span *span;
	struct forward *forward;
	uint32_t number;
	if (sites->was_dropped)
		return;
	span = &sites->threads[thread].items[sites->threads[thread].count - 1];
	number = number_map_get(&sites->forward_map, (uint64_t)sequence);
	if (!number) {
		if (sites->forward_count == sites->forward_capacity)
			sites->forwards = big_array_grow(sites->forwards, &sites->forward_capacity,
							 sizeof(*sites->forwards));
		memset(&sites->forwards[sites->forward_count++], 0, sizeof(*sites->forwards));
		number = (uint32_t)sites->forward_count;
		number_map_set(&sites->forward_map, (uint64_t)sequence, number);
	}
	if (is_backward) {
		span->forward = number;
		return;
	}
	forward = &sites->forwards[number - 1];
	forward->is_ambiguous |= forward->is_known && forward->thread != thread;
	if (!forward->is_known || forward->begin_ns <= span->begin_ns)
		forward->begin_ns = span->begin_ns;
	forward->thread = thread;
	forward->is_known = true;
}

/* The longer of two that begin together encloses the other. */
static int compare_spans(const void *a, const void *b)
{
	const struct operator_span *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return 0;
}

static void sweep(struct thread_spans *t)
{
	for (size_t i = t->ordered; i < t->count; i++) {
		struct operator_span *span = &t->items[i];
		while (t->open_count &&
		       t->items[t->open[t->open_count - 1]].end_ns <= span->begin_ns)
			t->open_count--;
		span->parent = t->open_count ? t->open[t->open_count - 1] : NONE;
		span->node = 0;
		if (t->open_count == t->open_capacity)
			t->open = array_grow(t->open, &t->open_capacity, sizeof(*t->open));
		t->open[t->open_count++] = (uint32_t)i;
	}
	t->ordered = t->count;
}

static void order(struct thread_spans *t)
{
	if (t->ordered == t->count)
		return;
	bool is_sorted = true;
	for (size_t i = t->ordered ? t->ordered : 1; i < t->count && is_sorted; i++)
		is_sorted = compare_spans(&t->items[i - 1], &t->items[i]) <= 0;
	if (!is_sorted) {
		/* Few late ones are not worth sorting many again: the sum stays geometric. */
		if (t->ordered > SMALL && (t->count - t->ordered) * 4 < t->ordered)
			return;
		run_sort(t->items, t->count, sizeof(*t->items), compare_spans);
		t->ordered = 0;
		t->open_count = 0;
	}
	sweep(t);
}

/* The last of the ordered spans that began at or before the time, NONE if there is none. Looks ever
 * farther from the one that was found last: the next time is near, after it or before. */
static uint32_t last_begun(struct thread_spans *t, int64_t time_ns)
{
	size_t low = 0, high = t->ordered, step = 1, next;
	if (t->last_found < high && t->items[t->last_found].begin_ns <= time_ns) {
		for (low = t->last_found + 1; low < high; low = next + 1, step *= 2) {
			next = step < high - low ? low + step : high - 1;
			if (t->items[next].begin_ns > time_ns) {
				high = next;
				break;
			}
		}
	} else if (t->last_found < high) {
		for (high = t->last_found; high; high = next, step *= 2) {
			next = step < high ? high - step : 0;
			if (t->items[next].begin_ns <= time_ns) {
				low = next + 1;
				break;
			}
		}
	}
	if (step > FAR)
		big_array_jump();
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->items[middle].begin_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	t->last_found = low ? low - 1 : 0;
	return low ? (uint32_t)(low - 1) : NONE;
}

static uint32_t intern_node(struct import_sites *sites, uint32_t parent, uint32_t frame)
{
	bool is_new;
	uint64_t *slot = map_slot(&sites->node_map, (uint64_t)parent << 32 | frame, &is_new);
	if (!is_new)
		return (uint32_t)*slot;
	if (sites->node_count == sites->node_capacity)
		sites->nodes =
			array_grow(sites->nodes, &sites->node_capacity, sizeof(*sites->nodes));
	sites->nodes[sites->node_count++] = (struct tree_node){parent, frame, 0};
	*slot = sites->node_count;
	return (uint32_t)*slot;
}

/* The innermost span that holds the time, NONE if none does. */
static uint32_t innermost_at(struct thread_spans *t, int64_t time_ns)
{
	uint32_t at = last_begun(t, time_ns);
	/* Old recordings have whole microseconds: a call may begin with an operator of no length.
	 */
	while (at != NONE && t->items[at].end_ns <= time_ns && t->items[at].begin_ns != time_ns)
		at = t->items[at].parent;
	return at;
}

static uint32_t node_of(struct import_sites *sites, struct thread_spans *t, uint32_t index);

/* What stands above a span that nothing encloses: the root, or the forward operator's chain. */
static uint32_t root_of(struct import_sites *sites, const struct operator_span *span)
{
	static const struct site_frame mark = {.type = FRAME_FORWARD};
	const struct forward *forward = span->forward ? &sites->forwards[span->forward - 1] : NULL;
	struct thread_spans *t;
	uint32_t at, outermost;
	size_t steps = 0;
	if (!forward || !forward->is_known || forward->is_ambiguous ||
	    forward->begin_ns >= span->begin_ns)
		return 0;
	t = &sites->threads[forward->thread];
	order(t);
	at = outermost = innermost_at(t, forward->begin_ns);
	while (outermost != NONE && t->items[outermost].parent != NONE && steps++ < MAX_WALK)
		outermost = t->items[outermost].parent;
	/* A gradient of a gradient: one step back is told, not the whole way. */
	if (outermost == NONE || t->items[outermost].forward)
		return 0;
	return intern_node(sites, node_of(sites, t, at), intern_frame(sites, &mark));
}

/* The tree node of a span: interned from the outermost unknown ancestor inwards. */
static uint32_t node_of(struct import_sites *sites, struct thread_spans *t, uint32_t index)
{
	uint32_t chain[MAX_WALK];
	size_t depth = 0;
	uint32_t node = 0;
	for (uint32_t at = index; at != NONE; at = t->items[at].parent) {
		if (t->items[at].node) {
			node = t->items[at].node;
			break;
		}
		if (depth == MAX_WALK)
			break;
		chain[depth++] = at;
	}
	if (depth && !node)
		node = root_of(sites, &t->items[chain[depth - 1]]);
	while (depth) {
		struct operator_span *span = &t->items[chain[--depth]];
		node = span->node = intern_node(sites, node, span->frame);
	}
	return node;
}

static uint64_t site_of(struct import_sites *sites, uint32_t node)
{
	struct tree_node *n = &sites->nodes[node - 1];
	if (n->site)
		return n->site;
	struct site_frame frames[IMPORT_MAX_FRAMES + 1];
	size_t count = 0;
	/* One frame more than fits, so that the sink sees that there are more. */
	for (uint32_t at = node; at && count <= IMPORT_MAX_FRAMES; at = sites->nodes[at - 1].parent)
		frames[count++] = sites->frames[sites->nodes[at - 1].frame];
	n->site = import_sink_site(sites->sink, frames, count);
	return n->site;
}

struct import_caller import_sites_find(struct import_sites *sites, uint32_t thread, int64_t time_ns,
				       uint32_t own_call_id)
{
	struct import_caller caller = {0, 0};
	if (thread >= sites->thread_count)
		return caller;
	struct thread_spans *t = &sites->threads[thread];
	order(t);
	uint32_t at = innermost_at(t, time_ns);
	if (at == NONE)
		return caller;
	caller.site = site_of(sites, node_of(sites, t, at));
	size_t steps = 0;
	for (; at != NONE && !caller.call_id && steps < MAX_WALK;
	     at = t->items[at].parent, steps++) {
		if (t->items[at].call_id != own_call_id)
			caller.call_id = t->items[at].call_id;
	}
	return caller;
}
