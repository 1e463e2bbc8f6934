/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the loop in a launch sequence. An anchor is a token, or a pair of neighbouring tokens, that
 * stands once in every period; cutting the sequence at an anchor gives segments, and a good anchor
 * is one whose segments have nearly the same tokens, in any order. So shapes may change kernels, a
 * step may have a few launches more than another, and times do not matter at all.
 *
 * Of all anchors the shortest period that explains (nearly) as many tokens as the best one wins.
 * That keeps out both layers and micro-batches (the segment with the optimizer or the head differs)
 * and "every 10 steps" loops (they explain no more than the step does). Optimizer kernels, where
 * there are some, decide: one group of them per step.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "model_internal.h"
#include "number_select.h"
#include "xmalloc.h"

#define WINDOW_TOKENS	  600000 /* the loop is looked for in this many, taken from the middle */
#define ANCHORS_PER_COUNT 6	 /* candidates with the same number of occurrences that are tried */
#define MIN_STARTS	  4	 /* fewer repetitions prove no period */
#define CLOSE_ENOUGH	  0.01	 /* explaining this much less than the best anchor is as good */
#define MIN_COVERAGE	  0.6
#define OPTIMIZER_PAUSE	  8 /* tokens between two optimizer kernels of one group */
/* One optimizer group per period must explain about as much as the best period does: an optimizer
 * that runs layer by layer inside the backward pass does not tell steps. */
#define OPTIMIZER_SLACK 0.1
#define RUN_AHEAD	4 /* steps that a loop may launch before it first waits */

struct anchor {
	uint32_t first_token; /* UINT32_MAX: a single token */
	uint32_t token;
	size_t count;
	size_t first_at;  /* index of the first occurrence */
	size_t good_from; /* start of the first segment that is like the others */
	double explained; /* share of the window's tokens in such segments */
	bool is_tried;
};

struct anchor_list {
	struct anchor *items;
	size_t count, capacity;
};

struct period_search {
	const uint16_t *token;
	size_t begin, end; /* the window */
	const struct step_tokens *tokens;
	int32_t *reference, *current; /* token counts of segments */
	size_t reference_asides;      /* downloads and waits in the reference */
	size_t *starts;		      /* of the anchor being tried */
	size_t start_capacity;
	/* Where each token stands in the window, token by token; from first[token] on. */
	uint32_t *places, *first;
};

static uint32_t allowed_difference(size_t segment_tokens)
{
	uint32_t tenth = (uint32_t)(segment_tokens / 10);

	if (segment_tokens < 8)
		return segment_tokens < 4 ? 0 : 1;
	if (segment_tokens < 30)
		return 2;
	return tenth > 3 ? tenth : 3;
}

static bool anchor_is_at(const struct period_search *search, const struct anchor *anchor, size_t at)
{
	if (search->token[at] != anchor->token)
		return false;
	return anchor->first_token == UINT32_MAX ||
	       (at > search->begin && search->token[at - 1] == anchor->first_token);
}

static void add_start(struct period_search *search, size_t count, size_t at)
{
	if (count == search->start_capacity)
		search->starts = array_grow(search->starts, &search->start_capacity,
					    sizeof(*search->starts));
	search->starts[count] = at;
}

static size_t find_starts(struct period_search *search, const struct anchor *anchor, size_t begin,
			  size_t end)
{
	size_t count = 0;

	for (size_t at = begin; at < end; at++) {
		if (anchor_is_at(search, anchor, at))
			add_start(search, count++, at);
	}
	return count;
}

/* The same within the window, without looking at every token. */
static size_t find_starts_in_window(struct period_search *search, const struct anchor *anchor)
{
	size_t count = 0;

	for (uint32_t i = search->first[anchor->token]; i < search->first[anchor->token + 1]; i++) {
		size_t at = search->begin + search->places[i];

		if (anchor_is_at(search, anchor, at))
			add_start(search, count++, at);
	}
	return count;
}

static void places_build(struct period_search *search)
{
	uint32_t limit = search->tokens->token_limit;
	size_t tokens = search->end - search->begin;

	search->first = xcalloc(limit + 2u, sizeof(*search->first));
	search->places = xmalloc((tokens + 1) * sizeof(*search->places));
	/* Counted two tokens further on: first[token + 1] is where the next place of a token goes,
	 * until it is where those of the next token begin. */
	for (size_t i = 0; i < tokens; i++)
		search->first[search->token[search->begin + i] + 2u]++;
	for (uint32_t token = 1; token <= limit + 1; token++)
		search->first[token] += search->first[token - 1];
	for (size_t i = 0; i < tokens; i++)
		search->places[search->first[search->token[search->begin + i] + 1u]++] =
			(uint32_t)i;
}

static size_t median_length(const size_t *starts, size_t count)
{
	int64_t *lengths = xmalloc(count * sizeof(*lengths));
	size_t median;

	for (size_t i = 0; i + 1 < count; i++)
		lengths[i] = (int64_t)(starts[i + 1] - starts[i]);
	median = (size_t)number_select(lengths, count - 1, (count - 1) / 2);
	free(lengths);
	return median;
}

/* How many tokens a segment has that the reference lacks, and the other way round. Downloads and
 * waits beyond those of the reference do not count: a step in which the state is saved, or a value
 * logged, is a step like the others. Beyond `allowed` nobody asks how many more there are. */
static void segment_difference(struct period_search *search, size_t begin, size_t end,
			       uint32_t *more, uint32_t *fewer, size_t reference_tokens,
			       uint32_t allowed)
{
	uint32_t limit = search->tokens->token_limit, shared = 0, extra = 0;
	size_t at;

	for (at = begin; at < end && extra <= allowed; at++) {
		uint16_t token = search->token[at];

		if (search->current[token]++ < search->reference[token])
			shared++;
		else
			extra += !search->tokens->is_aside[token];
	}
	*more = extra;
	*fewer = (uint32_t)reference_tokens - shared;
	if (at - begin > limit / 4) {
		memset(search->current, 0, limit * sizeof(*search->current));
		return;
	}
	while (at > begin)
		search->current[search->token[--at]] = 0;
}

/* The reference is the segment of median length that lies furthest behind: the loop has settled. */
static size_t set_reference(struct period_search *search, size_t starts, size_t median)
{
	size_t chosen = starts - 2;

	while (chosen > 0 && search->starts[chosen + 1] - search->starts[chosen] != median)
		chosen--;
	memset(search->reference, 0, search->tokens->token_limit * sizeof(*search->reference));
	search->reference_asides = 0;
	for (size_t at = search->starts[chosen]; at < search->starts[chosen + 1]; at++) {
		search->reference[search->token[at]]++;
		search->reference_asides += search->tokens->is_aside[search->token[at]];
	}
	return search->starts[chosen + 1] - search->starts[chosen];
}

/* The first period may begin before its anchor: an anchor late in the step is no worse for that. */
static size_t explained_head(struct period_search *search, size_t reference_tokens,
			     uint32_t allowed)
{
	size_t head = search->starts[0] - search->begin;
	uint32_t more, fewer;

	if (head > reference_tokens)
		head = reference_tokens;
	segment_difference(search, search->starts[0] - head, search->starts[0], &more, &fewer,
			   reference_tokens, allowed);
	return more <= allowed ? head : 0;
}

static void anchor_try(struct period_search *search, struct anchor *anchor)
{
	size_t count = find_starts_in_window(search, anchor);
	size_t median, reference_tokens, explained = 0, plausible = 0;
	uint32_t allowed, more, fewer;
	bool is_good = false;

	anchor->is_tried = true;
	anchor->explained = 0;
	if (count < MIN_STARTS)
		return;
	median = median_length(search->starts, count);
	if (median < 2)
		return; /* one launch over and over is no loop with steps */
	allowed = allowed_difference(median);
	for (size_t i = 0; i + 1 < count; i++) {
		size_t length = search->starts[i + 1] - search->starts[i];

		if (length + allowed >= median && length <= median + allowed)
			plausible += length;
	}
	if ((double)plausible < 0.3 * (double)(search->end - search->begin))
		return; /* lengths alone show that it cannot explain enough */
	reference_tokens = set_reference(search, count, median);
	for (size_t i = 0; i < count; i++) {
		bool is_tail = i + 1 == count;
		size_t end = is_tail ? search->end : search->starts[i + 1];

		segment_difference(search, search->starts[i], end, &more, &fewer, reference_tokens,
				   allowed);
		/* The last one may be cut off. */
		if (more > allowed || (!is_tail && more + fewer > allowed))
			continue;
		if (!is_good)
			anchor->good_from = search->starts[i];
		is_good = true;
		explained += end - search->starts[i];
	}
	anchor->explained =
		(double)(explained + explained_head(search, reference_tokens, allowed)) /
		(double)(search->end - search->begin);
}

/* Counts every token and every pair of neighbours. */
static void anchors_collect(const struct period_search *search, struct anchor_list *list)
{
	struct map known;

	map_init(&known);
	for (size_t at = search->begin; at < search->end; at++) {
		for (int is_pair = 0; is_pair < 2; is_pair++) {
			uint32_t first = UINT32_MAX;
			uint64_t *slot;
			bool is_new;

			if (is_pair) {
				if (at == search->begin)
					continue;
				first = search->token[at - 1];
			}
			slot = map_slot(&known, (uint64_t)first << 32 | search->token[at], &is_new);
			if (is_new) {
				if (list->count == list->capacity)
					list->items = array_grow(list->items, &list->capacity,
								 sizeof(*list->items));
				*slot = list->count;
				list->items[list->count++] = (struct anchor){
					.first_token = first,
					.token = search->token[at],
					.first_at = at,
				};
			}
			list->items[*slot].count++;
		}
	}
	map_fini(&known);
}

static int compare_anchors(const void *left, const void *right)
{
	const struct anchor *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->first_at != b->first_at)
		return a->first_at < b->first_at ? -1 : 1;
	/* At one place the single token says the same as the pair. */
	return (a->first_token < b->first_token) - (a->first_token > b->first_token);
}

/* Groups of optimizer kernels: one ends where a matrix product, convolution or attention follows,
 * or where other work goes on for longer than what stands between two optimizer kernels. */
static size_t count_optimizer_groups(const struct period_search *search)
{
	size_t groups = 0, others = 0;
	bool is_inside = false;

	for (size_t at = search->begin; at < search->end; at++) {
		uint16_t token = search->token[at];

		if (search->tokens->is_optimizer[token]) {
			groups += !is_inside;
			is_inside = true;
			others = 0;
		} else if (search->tokens->is_heavy[token] || ++others > OPTIMIZER_PAUSE) {
			is_inside = false;
		}
	}
	return groups;
}

static bool is_near(size_t count, size_t groups)
{
	size_t slack = 1 + groups / 20;

	return count + slack >= groups && count <= groups + slack;
}

/* The shortest period that is good enough; of equal ones the one that begins the loop. groups 0:
 * any number of periods. */
static const struct anchor *anchor_choose(const struct anchor_list *list, size_t groups)
{
	const struct anchor *best = NULL;
	double most = 0, most_of_all = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct anchor *anchor = &list->items[i];

		if (anchor->explained > most_of_all)
			most_of_all = anchor->explained;
		if ((!groups || is_near(anchor->count, groups)) && anchor->explained > most)
			most = anchor->explained;
	}
	if (most < MIN_COVERAGE * 0.5 || most < most_of_all - OPTIMIZER_SLACK)
		return NULL;
	for (size_t i = 0; i < list->count; i++) {
		const struct anchor *anchor = &list->items[i];

		if (groups && !is_near(anchor->count, groups))
			continue;
		if (anchor->explained < most - CLOSE_ENOUGH)
			continue;
		/* Counts within one of each other are the same period cut at another place. */
		if (!best || anchor->count > best->count + 1 ||
		    (anchor->count + 1 >= best->count && anchor->good_from < best->good_from))
			best = anchor;
	}
	return best;
}

static void anchors_try(struct period_search *search, struct anchor_list *list, size_t groups)
{
	size_t same = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct anchor *anchor = &list->items[i];

		if (anchor->count < MIN_STARTS)
			return; /* sorted: nothing but rarer ones follow */
		same = i && anchor->count == list->items[i - 1].count ? same + 1 : 0;
		if (same < ANCHORS_PER_COUNT ||
		    (groups && is_near(anchor->count, groups) && same < 4 * ANCHORS_PER_COUNT))
			anchor_try(search, anchor);
	}
}

/* A loop that waits for the step before the last lets its first steps go without the wait, which an
 * anchor may need. They stand before the first start: the reference without its waits and
 * downloads, a few times over. More often than RUN_AHEAD it is a loop of its own. Fills begins, the
 * latest first. */
static size_t find_run_ahead(struct period_search *search, size_t first_start,
			     size_t reference_tokens, size_t *begins)
{
	size_t wanted = reference_tokens - search->reference_asides, end = first_start, found = 0;

	while (wanted && found <= RUN_AHEAD) {
		size_t begin = end, got = 0;

		while (begin > 0 && got < wanted) {
			uint16_t token = search->token[begin - 1];

			if (!search->tokens->is_aside[token]) {
				if (search->current[token] == search->reference[token])
					break;
				search->current[token]++;
				got++;
			}
			begin--;
		}
		for (size_t at = begin; at < end; at++)
			search->current[search->token[at]] = 0;
		if (got < wanted)
			break;
		if (found < RUN_AHEAD)
			begins[found] = begin;
		found++;
		end = begin;
	}
	return found > RUN_AHEAD ? 0 : found;
}

static void prepend_run_ahead(struct period_search *search, struct step_period *period)
{
	size_t begins[RUN_AHEAD], found, tokens;

	if (period->count < MIN_STARTS)
		return;
	tokens = set_reference(search, period->count, median_length(search->starts, period->count));
	if (!search->reference_asides)
		return; /* it never waits */
	found = find_run_ahead(search, search->starts[0], tokens, begins);
	while (search->start_capacity < period->count + found)
		search->starts = array_grow(search->starts, &search->start_capacity,
					    sizeof(*search->starts));
	memmove(search->starts + found, search->starts, period->count * sizeof(*search->starts));
	for (size_t i = 0; i < found; i++)
		search->starts[i] = begins[found - 1 - i];
	period->count += found;
}

void step_period_find(const struct step_tokens *tokens, struct step_period *period)
{
	struct period_search search = {
		.token = tokens->token, .end = tokens->count, .tokens = tokens};
	struct anchor_list list = {NULL, 0, 0};
	const struct anchor *chosen;
	double loop_share;
	size_t groups;

	memset(period, 0, sizeof(*period));
	if (tokens->count < 2 * MIN_STARTS)
		return;
	if (tokens->count > WINDOW_TOKENS) {
		search.begin = (tokens->count - WINDOW_TOKENS) / 2;
		search.end = search.begin + WINDOW_TOKENS;
	}
	search.reference = xcalloc(tokens->token_limit + 1u, sizeof(*search.reference));
	search.current = xcalloc(tokens->token_limit + 1u, sizeof(*search.current));
	places_build(&search);
	anchors_collect(&search, &list);
	qsort(list.items, list.count, sizeof(*list.items), compare_anchors);
	groups = count_optimizer_groups(&search);
	anchors_try(&search, &list, groups);
	chosen = groups >= MIN_STARTS ? anchor_choose(&list, groups) : NULL;
	period->source = STEPS_OPTIMIZER;
	if (!chosen) {
		chosen = anchor_choose(&list, 0);
		period->source = STEPS_PERIOD;
	}
	if (chosen) {
		/* How sure: of what follows the loop's begin, the share that repeats. What goes
		 * before it (loading weights) is no evidence against a loop. */
		loop_share = (double)(search.end - chosen->good_from) /
			     (double)(search.end - search.begin);
		period->coverage = chosen->explained / loop_share;
		if (period->coverage > 1)
			period->coverage = 1;
	}
	if (chosen && period->coverage >= MIN_COVERAGE && chosen->explained >= 0.3) {
		/* The whole sequence, beginning where the segments become alike. */
		search.begin = search.begin ? 0 : chosen->good_from;
		if (search.begin && chosen->first_token != UINT32_MAX)
			search.begin--;
		period->count = find_starts(&search, chosen, search.begin, tokens->count);
		prepend_run_ahead(&search, period);
		period->starts = search.starts;
		search.starts = NULL;
	} else {
		period->source = STEPS_NONE;
		period->coverage = 0;
	}
	free(search.starts);
	free(search.reference);
	free(search.current);
	free(search.places);
	free(search.first);
	free(list.items);
}
