/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the model's records come from: a trace file, or a list that a test made by hand. Both go
 * through the same code. The source must outlive the model, which keeps pointers to its names.
 */
#ifndef GPUTRACE_MODEL_SOURCE_H
#define GPUTRACE_MODEL_SOURCE_H

#include <stdint.h>

#include "clock_stretch.h"
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
	/* The stretch of either clock that a time is on. The functions may be NULL: then nothing is
	 * known but the time itself. */
	struct clock_stretch (*host_stretch)(void *context, uint64_t ticks);
	struct clock_stretch (*gpu_stretch)(void *context, uint64_t gpu_ns);
	/* As trace_read_events(); a source may give batches alone. */
	int (*read)(void *context, uint64_t kind_mask,
		    int (*fn)(void *context, const struct trace_batch *batch),
		    int (*events_fn)(void *context, const struct trace_events *events),
		    void *fn_context, struct error *err);
	/* As trace_count_threads(); NULL for a source that cannot say. */
	int (*count)(void *context, uint64_t kind_mask,
		     int (*fn)(void *context, const struct trace_batch *batch),
		     int (*runs_fn)(void *context, uint32_t thread, uint32_t rows),
		     void *fn_context, struct error *err);
	const char *path;		   /* for messages and titles */
	const struct trace_health *health; /* never NULL */
	const struct trace *trace;	   /* for symbols; NULL for hand-made sources */
};

/* A source over an open trace. */
struct model_source model_source_of_trace(struct trace *trace);

#endif
