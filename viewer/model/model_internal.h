/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that build a model share with each other, and with nobody else.
 */
#ifndef GPUTRACE_MODEL_INTERNAL_H
#define GPUTRACE_MODEL_INTERNAL_H

#include "map.h"
#include "model.h"
#include "trace_events.h"

/* What a file says about graphs, until operations are linked: model_graph.c. */
struct graph_links {
	struct graph_event *events;
	struct graph_node *nodes; /* of operations: gpu_op.origin is an index + 1 */
	size_t event_count, event_capacity, node_count, node_capacity;
};

/* The indexes that some numbers had lately. Number 0 is never in it. */
#define ID_CACHE_SLOTS 1024u
struct id_cache {
	uint64_t id[ID_CACHE_SLOTS];
	uint32_t index[ID_CACHE_SLOTS];
};

static inline size_t id_cache_slot(uint64_t id)
{
	return (size_t)(id * 0x9e3779b97f4a7c15u >> 54);
}

static inline bool id_cache_find(const struct id_cache *cache, uint64_t id, uint32_t *index)
{
	size_t slot = id_cache_slot(id);

	*index = cache->index[slot];
	return id && cache->id[slot] == id;
}

static inline void id_cache_put(struct id_cache *cache, uint64_t id, uint32_t index)
{
	size_t slot = id_cache_slot(id);

	cache->id[slot] = id;
	cache->index[slot] = index;
}

/* call_place.c: where the calls of each thread go; no threads: behind the last call. */
struct call_range {
	size_t next, limit;
};
struct call_places {
	struct call_range *threads;
	size_t thread_count, thread_capacity;
	size_t room; /* of all of them */
};
/* Kinds of host calls: what model_collect.c makes a host_call of. */
#define CALL_KINDS                                                                                 \
	(1ull << RECORD_KIND_call | 1ull << RECORD_KIND_sync | 1ull << RECORD_KIND_copy |          \
	 1ull << RECORD_KIND_set | 1ull << RECORD_KIND_launch | 1ull << RECORD_KIND_memory |       \
	 1ull << RECORD_KIND_gemm | 1ull << RECORD_KIND_conv | 1ull << RECORD_KIND_communicator |  \
	 1ull << RECORD_KIND_collective | 1ull << RECORD_KIND_graph)

/* Kinds of operations of a GPU, and all kinds that it takes. */
#define OP_KINDS                                                                                   \
	(1ull << RECORD_KIND_gpu_kernel | 1ull << RECORD_KIND_gpu_copy |                           \
	 1ull << RECORD_KIND_gpu_set | 1ull << RECORD_KIND_gpu_graph)
#define MODEL_KINDS                                                                                \
	(CALL_KINDS | OP_KINDS | 1ull << RECORD_KIND_mark | 1ull << RECORD_KIND_sample |           \
	 1ull << RECORD_KIND_pages | 1ull << RECORD_KIND_block | 1ull << RECORD_KIND_gpu_memory |  \
	 1ull << RECORD_KIND_gpu_pool | 1ull << RECORD_KIND_total)

/* Growing state while records come in; gone when the model is done. */
struct model_builder {
	struct model *model;
	size_t op_capacity, call_capacity, kernel_capacity, transfer_capacity, gemm_capacity;
	size_t conv_capacity;
	size_t site_capacity, api_capacity, event_capacity, mark_capacity, thread_capacity;
	size_t device_capacity, phase_mark_capacity, block_capacity, driver_event_capacity;
	size_t series_capacity, page_sample_capacity;
	size_t communicator_capacity, collective_capacity, blind_capacity, total_capacity;
	bool is_imported; /* launches are without streams, 0 means nothing there */
	struct graph_links graphs;
	struct map kernels;   /* NAME_KERNEL number -> index */
	struct map sites;     /* site number -> index */
	struct map transfers; /* hash -> index */
	struct map gemms;     /* hash -> index */
	struct map convs;     /* likewise */
	struct map threads;   /* number in the file -> index */
	struct map devices;   /* ordinal -> index */
	/* Ahead of the maps, since events that are near each other look up the same. */
	struct id_cache site_cache, kernel_cache;
	uint16_t *apis; /* by NAME_API number; 0: not seen yet */
	bool has_last_thread, has_last_device;
	uint16_t last_thread, last_device;
	uint32_t last_thread_number, last_ordinal;
	struct call_places places;
	/* What the records of the chunk at hand are in the model: collect_events.c. */
	struct event_template *templates;
	size_t template_capacity;
	struct map totals;	   /* hash -> index */
	struct map series;	   /* metric and subject -> index */
	struct map mark_names;	   /* NAME_MARK number -> what the text means, model_marks.c */
	struct map sequence_names; /* NAME_MARK number -> autograd's number, forward_link.c */
	struct autograd_range *autograd_ranges;
	size_t autograd_range_count, autograd_range_capacity;
};

/* model_collect.c: all records of the source into the model's arrays, in file order. */
int model_collect(struct model_builder *builder, struct error *err);
int collect_batch(void *context, const struct trace_batch *batch);
/* A call as its record says, without what differs from event to event: times, numbers, thread. */
struct host_call collect_describe(struct model_builder *builder, uint16_t kind, const void *record);
/* Whether there is more to be kept of every such call than that. Then collect_single() does, when
 * the call is in its place. */
bool collect_is_single(const struct model *model, const struct host_call *call);
void collect_single(struct model_builder *builder, const void *record, struct host_call *call);
/* collect_events.c: the events of a chunk, for model_source.read. */
int collect_events(void *context, const struct trace_events *events);
/* call_place.c */
uint16_t collect_thread(struct model_builder *builder, uint32_t number);
int call_places_find(struct model_builder *builder, struct error *err);
/* Room for the operations of a long recording: an array that grows would move, page by page. */
int op_places_find(struct model_builder *builder, struct error *err);
/* The places of the thread's next calls; NULL: the file holds more calls now than were counted. */
struct host_call *call_places_take(struct model_builder *builder, uint16_t thread, uint32_t count);
/* The last ones that were taken are not needed. */
void call_places_give_back(struct model_builder *builder, uint16_t thread, uint32_t count);
struct host_call *call_place(struct model_builder *builder, uint16_t thread);
/* All calls are there. */
void call_places_close(struct model_builder *builder);
/* Brings the calls of each thread together where they stand in file order. */
void calls_gather(struct model *model);
uint32_t collect_transfer(struct model_builder *builder, const struct transfer *transfer);
/* model_product.c: indices of gemms and convs */
uint32_t collect_gemm(struct model_builder *builder, const struct record_gemm *record);
uint32_t collect_conv(struct model_builder *builder, const struct record_conv *record);
uint32_t collect_site(struct model_builder *builder, uint64_t id);
uint16_t collect_api(struct model_builder *builder, uint16_t id);
uint32_t collect_kernel(struct model_builder *builder, uint64_t id);
/* Ordinals beyond 65534 do not exist; such a number is an unknown device. */
uint16_t collect_peer(uint32_t peer_device);
/* model_gpu.c */
void collect_gpu(struct model_builder *builder, const struct trace_batch *batch);
/* An operation as its record says, without its times and its correlation. */
struct gpu_op collect_describe_op(struct model_builder *builder, uint16_t kind, const void *record);
/* The place of the next operation. */
struct gpu_op *op_place(struct model_builder *builder);
uint16_t collect_device(struct model_builder *builder, uint32_t ordinal);
/* A kernel by its number and what stands for it; the text is not owned. */
uint32_t collect_named_kernel(struct model_builder *builder, uint64_t id, const char *name);
/* model_graph.c: a host call about a graph; a launch becomes a launch call of the executable. */
void collect_graph_call(struct model_builder *builder, const struct record_graph *record,
			struct host_call *call);
/* A GPU operation that is a node of a graph, or a whole one. */
void collect_graph_node(struct model_builder *builder, const struct gpu_part *part,
			struct gpu_op *op);
void collect_graph_op(struct model_builder *builder, const struct gpu_part *part,
		      struct gpu_op *op);
/* After calls and operations are sorted and linked: nodes to the calls that were captured. */
void model_link_graphs(struct model_builder *builder);
void graph_links_fini(struct graph_links *graphs);
/* model_marks.c: ranges that name steps or phases. */
void collect_marks(struct model_builder *builder, const struct trace_batch *batch);
/* forward_link.c: ranges that carry autograd's numbers; gives calls of the backward pass the
 * frames of their forward operators. */
void forward_collect(struct model_builder *builder, uint32_t thread,
		     const struct record_mark *mark);
void forward_link(struct model_builder *builder);
/* framework_memory.c: what a framework's allocator reported. */
void collect_blocks(struct model_builder *builder, const struct trace_batch *batch);
void framework_memory_sort(struct model *model);
void framework_memory_count_retries(struct model *model);
/* phase.c: GPU time by phase of the steady steps. */
void phases_build(struct model *model);
/* model_link.c: sorts, links calls to parents and operations to calls, fills in what follows. */
void model_link(struct model_builder *builder);
/* memory_live.c: live memory and its peak per device. */
void memory_live_build(struct model *model);
/* memory_owner.c: whose the allocations are. */
void memory_owners_build(struct model *model);
/* step_detect.c: steps from marks or from the launch sequence, and their counters. */
void step_detect(struct model *model);

/* step_windows.c: the steps' windows on every device, and the outliers among them. */
void step_windows_build(struct model *model);
/* Which step a host time belongs to; SIZE_MAX none. */
size_t step_at(const struct step_list *steps, int64_t host_ns);

/* call_totals.c: what is told in sums, and whether the session tells the rest. */
void collect_totals(struct model_builder *builder, const struct trace_batch *batch);
void call_totals_learn_recording(struct model *model);
/* blind_span.c: times without records; sorted and merged; the steps that lack something. */
void collect_blind_span(struct model_builder *builder, const struct record_mark *mark);
void blind_spans_merge(struct model *model);
void blind_spans_mark_steps(struct model *model);

/* step_tokens.c: the launch sequence as small numbers. */
struct step_tokens {
	uint16_t *token;  /* class of what was launched */
	uint32_t *source; /* index of calls, or of ops when there are no calls */
	size_t count;
	bool is_from_ops;
	uint16_t token_limit; /* tokens are below this */
	bool *is_optimizer;   /* by token */
	bool *is_heavy;	      /* by token: GEMM, convolution or attention */
	bool *is_aside;	      /* by token: a download or a wait, which a step may have more of */
};
void step_tokens_build(const struct model *model, struct step_tokens *tokens);
void step_tokens_free(struct step_tokens *tokens);
int64_t step_token_time(const struct model *model, const struct step_tokens *tokens, size_t index);

/* step_period.c: where periods of the launch sequence begin. */
struct step_period {
	enum step_source source;
	double coverage;
	size_t *starts; /* indexes into the tokens */
	size_t count;
};
void step_period_find(const struct step_tokens *tokens, struct step_period *period);

/* idle_gap.c: who answers for an idle gap of a device. */
struct gap_verdict {
	enum ledger_part part;
	uint32_t call;	      /* to charge, MODEL_NONE nobody */
	uint32_t launch_call; /* that ended the gap, MODEL_NONE unknown */
	bool is_readback, is_sync_call;
	int64_t other_ns; /* ISSUE: inside of calls that load or allocate */
};
struct gap_verdict idle_gap_judge(const struct model *model, int64_t begin_ns, int64_t end_ns,
				  const struct gpu_op *ended_by);

#endif
