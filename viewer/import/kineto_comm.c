/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives in PyTorch recordings: the annotation "nccl:all_reduce" becomes a mark, whose bytes
 * come from the operator record_param_comms around it, or else from the annotation's own tensors.
 */
#include "kineto_import.h"

#include <string.h>

void kineto_note_collective(struct kineto *k, uint32_t thread, int64_t end_ns)
{
	const struct kineto_event *e = &k->event;
	int64_t elements = e->in_elements > 0 ? e->in_elements : e->out_elements;
	uint64_t bytes;
	if (!e->collective.length || elements <= 0)
		return;
	if (__builtin_mul_overflow((uint64_t)elements,
				   import_element_bytes(e->element_type.at, e->element_type.length),
				   &bytes))
		return;
	k->collective = (struct kineto_collective){
		.thread = thread,
		.end_ns = end_ns,
		.bytes = bytes,
		.communicator = e->group.length ? map_hash_bytes(e->group.at, e->group.length) : 0,
	};
}

/* Bytes of all tensors in "[[4, 2048], [8]]" with their types, 0 if one is unknown. */
static uint64_t tensor_bytes(const struct json_slice *dims, const struct json_slice *types)
{
	struct json_cursor shapes = {dims->at, dims->at + dims->length};
	struct json_cursor names = {types->at, types->at + types->length};
	bool first_shape = true, first_name = true, done = false;
	uint64_t total = 0;
	struct json_slice shape, name;
	while (json_element(&shapes, &first_shape, &done) == JSON_OK && !done &&
	       json_value(&shapes, &shape) == JSON_OK &&
	       json_element(&names, &first_name, &done) == JSON_OK && !done &&
	       json_value(&names, &name) == JSON_OK) {
		struct json_cursor inner = {shape.at, shape.at + shape.length};
		bool is_first = true, ended = false;
		uint64_t bytes = import_element_bytes(name.at, name.length);
		struct json_slice extent;
		while (json_element(&inner, &is_first, &ended) == JSON_OK && !ended) {
			uint64_t number;
			if (json_value(&inner, &extent) != JSON_OK ||
			    !json_to_uint(&extent, &number) ||
			    __builtin_mul_overflow(bytes, number, &bytes))
				return 0;
		}
		if (!bytes || __builtin_add_overflow(total, bytes, &total))
			return 0;
	}
	return total;
}

void kineto_collective_of(const struct kineto *k, uint32_t thread, int64_t begin_ns,
			  struct record_mark *mark)
{
	const struct kineto_event *e = &k->event;
	if (e->name.length < 5 || memcmp(e->name.at, "nccl:", 5))
		return;
	if (k->collective.thread == thread && begin_ns < k->collective.end_ns) {
		mark->value = k->collective.bytes;
		mark->communicator = k->collective.communicator;
	} else if (e->dims.length && e->types.length) {
		mark->value = tensor_bytes(&e->dims, &e->types);
	}
}
