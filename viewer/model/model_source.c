/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model's source over a trace file: forwards to viewer/reader.
 */
#include "model_source.h"

static const char *source_name(void *context, uint16_t space, uint64_t id)
{
	return trace_name(context, space, id);
}

static const struct record_site *source_site(void *context, uint64_t id)
{
	return trace_site(context, id);
}

static const char *source_info(void *context, const char *key)
{
	return trace_info(context, key);
}

/* The latest mapping that holds the address: a later one replaced what was there before. */
static const char *source_library(void *context, uint64_t address)
{
	for (size_t i = trace_library_count(context); i-- > 0;) {
		const struct record_library *library = trace_library(context, i);

		if (address >= library->address && address - library->address < library->size_bytes)
			return library->path;
	}
	return NULL;
}

static int64_t source_host_ns(void *context, uint64_t ticks)
{
	return trace_ticks_to_ns(context, ticks);
}

static int64_t source_gpu_ns(void *context, uint64_t gpu_ns)
{
	return trace_gpu_to_ns(context, gpu_ns);
}

static size_t source_device_count(void *context)
{
	return trace_device_count(context);
}

static const struct record_device *source_device(void *context, size_t index)
{
	return trace_device(context, index);
}

static size_t source_thread_count(void *context)
{
	return trace_thread_count(context);
}

static const struct record_thread *source_thread(void *context, size_t index)
{
	return trace_thread(context, index);
}

static struct clock_stretch source_host_stretch(void *context, uint64_t ticks)
{
	return trace_host_stretch(context, ticks);
}

static struct clock_stretch source_gpu_stretch(void *context, uint64_t gpu_ns)
{
	return trace_gpu_stretch(context, gpu_ns);
}

static int source_read(void *context, uint64_t kind_mask,
		       int (*fn)(void *context, const struct trace_batch *batch),
		       int (*events_fn)(void *context, const struct trace_events *events),
		       void *fn_context, struct error *err)
{
	return trace_read_events(context, kind_mask, fn, events_fn, fn_context, err);
}

static int source_count(void *context, uint64_t kind_mask,
			int (*fn)(void *context, const struct trace_batch *batch),
			int (*runs_fn)(void *context, uint32_t thread, uint32_t rows),
			void *fn_context, struct error *err)
{
	return trace_count_threads(context, kind_mask, fn, runs_fn, fn_context, err);
}

struct model_source model_source_of_trace(struct trace *trace)
{
	return (struct model_source){
		.context = trace,
		.name = source_name,
		.site = source_site,
		.info = source_info,
		.library = source_library,
		.host_ns = source_host_ns,
		.gpu_ns = source_gpu_ns,
		.device_count = source_device_count,
		.device = source_device,
		.thread_count = source_thread_count,
		.thread = source_thread,
		.host_stretch = source_host_stretch,
		.gpu_stretch = source_gpu_stretch,
		.read = source_read,
		.count = source_count,
		.path = trace_path(trace),
		.health = trace_health(trace),
		.trace = trace,
	};
}
