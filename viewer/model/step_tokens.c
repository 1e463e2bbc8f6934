/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch sequence as small numbers. Dynamic shapes change kernel names from step to step, so a
 * token stands for a class: all matrix products are one token; of other kernels the base name
 * counts without its digits; of copies the direction and the size to a power of two; of waits the
 * scope.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "big_array.h"
#include "call_merge.h"
#include "model_internal.h"
#include "run_sort.h"
#include "xmalloc.h"

#define TOKEN_LIMIT 4096 /* rarer classes beyond that share one */

struct token_space {
	const struct model *model;
	struct map ids;	     /* class hash -> token */
	uint16_t *of_kernel; /* by kernel index; UINT16_MAX: not asked yet */
	struct step_tokens *tokens;
};

static uint16_t token_of_hash(struct token_space *space, uint64_t hash)
{
	struct step_tokens *tokens = space->tokens;
	bool is_new;
	uint64_t *slot;

	if (tokens->token_limit == TOKEN_LIMIT) {
		const uint64_t *found = map_find(&space->ids, hash);

		return found ? (uint16_t)*found : TOKEN_LIMIT - 1;
	}
	slot = map_slot(&space->ids, hash, &is_new);
	if (is_new)
		*slot = tokens->token_limit++;
	return (uint16_t)*slot;
}

static uint16_t token_of_kernel(struct token_space *space, uint32_t index)
{
	const struct model_kernel *kernel = &space->model->kernels[index];
	uint16_t token = space->of_kernel[index];
	uint64_t hash = 1;

	if (token != UINT16_MAX)
		return token;
	switch (kernel->traits.kernel_class) {
	case KERNEL_GEMM:
	case KERNEL_CONV:
	case KERNEL_ATTENTION:
		hash = map_mix(2, kernel->traits.kernel_class);
		break;
	default:
		for (const char *at = kernel->short_name; *at; at++) {
			if (!isdigit((unsigned char)*at))
				hash = map_mix(hash, (unsigned char)*at);
		}
	}
	token = token_of_hash(space, hash);
	space->of_kernel[index] = token;
	space->tokens->is_heavy[token] = kernel->traits.kernel_class <= KERNEL_ATTENTION;
	space->tokens->is_optimizer[token] = kernel->traits.kernel_class == KERNEL_OPTIMIZER;
	return token;
}

static uint16_t token_of_transfer(struct token_space *space, uint32_t index)
{
	const struct transfer *transfer = &space->model->transfers[index];
	uint64_t bucket =
		transfer->size_bytes ? 64 - (uint64_t)__builtin_clzll(transfer->size_bytes) : 0;

	uint16_t token;

	/* Small sizes vary with shapes; large ones tell loops apart. */
	if (transfer->direction == TRANSFER_SET || bucket < 12)
		bucket = 0;
	token = token_of_hash(space, map_mix(3 + (uint64_t)transfer->direction, bucket));
	space->tokens->is_aside[token] = transfer->direction == COPY_D2H;
	return token;
}

/* False: this call is no part of the sequence. */
static bool token_of_call(struct token_space *space, uint32_t index, uint16_t *token)
{
	const struct host_call *call = &space->model->calls[index];

	if (call->flags & (CALL_REDUNDANT | CALL_CAPTURED))
		return false;
	switch (call->kind) {
	case RECORD_KIND_launch:
		*token = token_of_kernel(space, call->detail);
		return true;
	case RECORD_KIND_copy:
	case RECORD_KIND_set:
		*token = token_of_transfer(space, call->detail);
		return true;
	case RECORD_KIND_sync:
		if (call->parent != MODEL_NONE)
			return false;
		*token = token_of_hash(space, map_mix(40, call->detail));
		space->tokens->is_aside[*token] = true;
		return true;
	default:
		return false;
	}
}

static int64_t source_time(const struct model *model, bool is_from_ops, uint32_t source)
{
	return is_from_ops ? model->ops[source].begin_ns : model->calls[source].begin_ns;
}

struct sort_entry {
	int64_t time_ns;
	uint32_t source;
	uint16_t token;
};

static int compare_entries(const void *left, const void *right)
{
	const struct sort_entry *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->source > b->source) - (a->source < b->source);
}

/* Devices make one sequence by time. */
static void tokens_sort(const struct model *model, struct step_tokens *tokens)
{
	struct sort_entry *entries;
	bool is_sorted = true;

	for (size_t i = 1; i < tokens->count && is_sorted; i++)
		is_sorted =
			step_token_time(model, tokens, i - 1) <= step_token_time(model, tokens, i);
	if (is_sorted)
		return;
	entries = big_array_new(tokens->count, sizeof(*entries));
	for (size_t i = 0; i < tokens->count; i++)
		entries[i] = (struct sort_entry){step_token_time(model, tokens, i),
						 tokens->source[i], tokens->token[i]};
	run_sort(entries, tokens->count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < tokens->count; i++) {
		tokens->source[i] = entries[i].source;
		tokens->token[i] = entries[i].token;
	}
	big_array_free(entries);
}

/* Threads (forward here, backward there) make one sequence by time. */
static void tokens_from_calls(struct token_space *space)
{
	struct step_tokens *tokens = space->tokens;
	size_t token_capacity = 0, source_capacity = 0;
	struct call_merge merge;
	uint16_t token;

	call_merge_init(&merge, space->model);
	for (uint32_t i; (i = call_merge_next(&merge)) != MODEL_NONE;) {
		if (!token_of_call(space, i, &token))
			continue;
		if (tokens->count == token_capacity)
			tokens->token = big_array_grow(tokens->token, &token_capacity,
						       sizeof(*tokens->token));
		if (tokens->count == source_capacity)
			tokens->source = big_array_grow(tokens->source, &source_capacity,
							sizeof(*tokens->source));
		tokens->token[tokens->count] = token;
		tokens->source[tokens->count++] = i;
	}
	call_merge_fini(&merge);
}

void step_tokens_build(const struct model *model, struct step_tokens *tokens)
{
	struct token_space space = {.model = model, .tokens = tokens};

	memset(tokens, 0, sizeof(*tokens));
	tokens->is_heavy = xcalloc(TOKEN_LIMIT, sizeof(bool));
	tokens->is_optimizer = xcalloc(TOKEN_LIMIT, sizeof(bool));
	tokens->is_aside = xcalloc(TOKEN_LIMIT, sizeof(bool));
	map_init(&space.ids);
	space.of_kernel = xmalloc((model->kernel_count + 1) * sizeof(*space.of_kernel));
	memset(space.of_kernel, 0xff, model->kernel_count * sizeof(*space.of_kernel));
	tokens_from_calls(&space);
	tokens->is_from_ops = tokens->count == 0;
	if (tokens->is_from_ops) {
		tokens->count = model->op_count;
		tokens->token = big_array_take(tokens->count, sizeof(*tokens->token));
		tokens->source = big_array_take(tokens->count, sizeof(*tokens->source));
	}
	for (uint32_t i = 0; tokens->is_from_ops && i < model->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];

		tokens->source[i] = i;
		tokens->token[i] = model_op_has_kernel(op) ? token_of_kernel(&space, op->detail)
							   : token_of_transfer(&space, op->detail);
	}
	if (tokens->is_from_ops)
		tokens_sort(model, tokens);
	map_fini(&space.ids);
	free(space.of_kernel);
}

void step_tokens_free(struct step_tokens *tokens)
{
	big_array_free(tokens->token);
	big_array_free(tokens->source);
	free(tokens->is_heavy);
	free(tokens->is_optimizer);
	free(tokens->is_aside);
	memset(tokens, 0, sizeof(*tokens));
}

int64_t step_token_time(const struct model *model, const struct step_tokens *tokens, size_t index)
{
	return source_time(model, tokens->is_from_ops, tokens->source[index]);
}
