/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the model's records come from: a trace file, or a list that a test made by hand. Both go
 * through the same code. The source must outlive the model, which keeps pointers to its names.
 */
#ifndef GPUTRACE_MODEL_SOURCE_H
#define GPUTRACE_MODEL_SOURCE_H

#include <stdint.h>

#include "trace_reader.h"

struct model_source {
	void *context;
	const char *(*name)(void *context, uint16_t space, uint64_t id); /* NULL unknown */
	const struct record_site *(*site)(void *context, uint64_t id);	 /* NULL unknown */
	const char *(*info)(void *context, const char *key);		 /* NULL unknown */
	/* Path of the file mapped at an address of code; NULL unknown. The function may be NULL. */
	const char *(*library)(void *context, uint64_t address);
	int64_t (*host_ns)(void *context, uint64_t ticks);
	int64_t (*gpu_ns)(void *context, uint64_t gpu_ns);
	size_t (*device_count)(void *context);
	const struct record_device *(*device)(void *context, size_t index);
	size_t (*thread_count)(void *context);
	const struct record_thread *(*thread)(void *context, size_t index);
	/* As trace_read(). */
	int (*read)(void *context, uint64_t kind_mask,
		    int (*fn)(void *context, const struct trace_batch *batch), void *fn_context,
		    struct error *err);
	const char *path;		   /* for messages and titles */
	const struct trace_health *health; /* never NULL */
	const struct trace *trace;	   /* for symbols; NULL for hand-made sources */
};

/* A source over an open trace. */
struct model_source model_source_of_trace(struct trace *trace);

#endif
