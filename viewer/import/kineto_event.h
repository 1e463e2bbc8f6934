/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event of a PyTorch (Kineto) or Chrome trace, as its text says it: all members that any
 * version since PyTorch 1.8 writes and that we use. Slices point into the walker's window.
 */
#ifndef GPUTRACE_KINETO_EVENT_H
#define GPUTRACE_KINETO_EVENT_H

#include "json_text.h"

enum kineto_category {
	KINETO_OTHER = 0,
	KINETO_OPERATOR,   /* cpu_op, Operator */
	KINETO_ANNOTATION, /* user_annotation */
	KINETO_PYTHON,	   /* python_function */
	KINETO_RUNTIME,	   /* cuda_runtime, cuda_driver, Runtime */
	KINETO_KERNEL,
	KINETO_COPY,
	KINETO_SET,
	KINETO_SYNC,   /* cuda_sync */
	KINETO_MEMORY, /* [memory] */
	KINETO_OVERHEAD,
	KINETO_PROFILER_RANGE,
	KINETO_METADATA /* ph M */
};

/* Which numbers the event has. */
enum kineto_has {
	HAS_TIME = 1,
	HAS_DURATION = 2,
	HAS_DEVICE = 4,
	HAS_STREAM = 8,
	HAS_CORRELATION = 16,
	HAS_BAD_NUMBER = 32, /* a member that must be a number is not: NaN, Infinity, text */
	HAS_PROCESS = 64,
	HAS_THREAD = 128,
	HAS_BYTES = 256,
	HAS_SEQUENCE = 512
};

struct kineto_event {
	char phase;
	enum kineto_category category;
	uint32_t has; /* enum kineto_has */
	struct json_slice name, category_text;
	struct json_slice process_text, thread_text; /* when they are not numbers */
	int64_t process, thread;
	int64_t begin_ns, duration_ns;
	/* args */
	int64_t correlation, external_id, stream, device, context, bytes;
	int64_t registers, shared_bytes, graph, graph_node;
	int64_t sequence,
		forward_thread; /* autograd's number; 0: no operator of the backward pass */
	int64_t address, device_type, device_id, total_allocated, total_reserved, to_device;
	int64_t grid[3], block[3];
	struct json_slice dims, types, strides;
	/* collectives */
	int64_t in_elements, out_elements;
	struct json_slice collective, element_type, group;
	struct json_slice label; /* args.name of metadata */
};

/* JSON_BAD when it is not an object or does not parse. */
enum json_result kineto_event_read(struct json_cursor *cursor, struct kineto_event *event);

#endif
