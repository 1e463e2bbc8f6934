/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened in one recorded process, ready for questions: host calls per thread, GPU operations
 * per device, which call launched which operation, live memory, steps and the ledger. Built once by
 * model_build(), const afterwards; rules, reports and gates read it and never each other.
 *
 * Arrays are compact (40 bytes per GPU operation, 48 per host call) and refer to each other by
 * index; MODEL_NONE is "no index". Texts belong to the source. All times are ns since the session's
 * start.
 */
#ifndef GPUTRACE_MODEL_H
#define GPUTRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blind_span.h"
#include "call_totals.h"
#include "collective.h"
#include "framework_memory.h"
#include "kernel_class.h"
#include "ledger.h"
#include "driver_memory.h"
#include "memory_live.h"
#include "model_source.h"
#include "phase.h"
#include "record.h"
#include "sample_series.h"

#define MODEL_NONE	UINT32_MAX
#define MODEL_NO_DEVICE UINT16_MAX

/* GRAPH: a launch of a whole graph, whose nodes have no times of their own. */
enum gpu_op_type { GPU_OP_KERNEL = 1, GPU_OP_COPY, GPU_OP_SET, GPU_OP_GRAPH };

/* One thing a GPU did. Sorted by device, then begin. */
struct gpu_op {
	int64_t begin_ns, end_ns;
	uint32_t call;	 /* the launching call, MODEL_NONE when its launch is not in the file */
	uint32_t detail; /* kernel, graph: index of kernels; copy and set: index of transfers */
	uint16_t device; /* index of devices */
	uint8_t type;	 /* enum gpu_op_type */
	uint8_t kernel_class; /* enum kernel_class */
	uint32_t stream;      /* CUPTI's number */
	uint32_t
		origin; /* node of a graph: the captured call that it comes from, else MODEL_NONE */
};

/* One intercepted call. Sorted by thread, then begin; a parent comes before its children. */
struct host_call {
	int64_t begin_ns, end_ns;
	uint32_t site;	 /* index of sites, 0 unknown */
	uint32_t parent; /* index of the enclosing call, MODEL_NONE outermost */
	uint32_t detail; /* launch: kernels; copy, set: transfers; gemm: gemms; conv:
			  * convs; memory: memory_events; sync: enum sync_scope; collective:
			  * collectives; end of an NCCL group: its number; else 0 */
	uint32_t correlation;
	uint32_t call_id; /* within its thread */
	int32_t status;
	uint16_t api;	 /* index of apis */
	uint16_t thread; /* index of threads */
	uint16_t device; /* index of devices, MODEL_NO_DEVICE unknown */
	uint8_t kind;	 /* enum record_kind */
	uint8_t flags;	 /* enum call_flag, and: */
};
#define CALL_STREAM_KNOWN   16 /* launch, copy: its stream is in the file */
#define CALL_DEFAULT_STREAM 32 /* and is the legacy default stream */
#define CALL_BLOCKS	    64 /* waits for the GPU: a sync, a blocking copy, a synchronising free */
/* Not counted: the same thing as its parent, one library deeper; or captured, not executed. */
#define CALL_REDUNDANT 128

struct model_kernel {
	uint64_t id;
	const char *name;      /* as recorded, mangled; never NULL */
	char *short_name;      /* readable base name; owned */
	uint32_t first_launch; /* the earliest call that launched it, MODEL_NONE none */
	/* An executable graph stands for a kernel in its launches; 0: a kernel. */
	uint64_t executable;
	uint32_t capture_site;	      /* index of sites, 0 unknown */
	uint32_t nodes, kernel_nodes; /* 0 unknown */
	struct kernel_traits traits;
};

#define TRANSFER_SET 15 /* in transfer.direction: a memset */

/* Everything that distinguishes one copy from another except when it happened. */
struct transfer {
	uint64_t size_bytes;
	uint64_t host_address; /* calls that upload: where from; 0 not recorded */
	uint8_t direction;     /* enum copy_direction or TRANSFER_SET */
	uint8_t source_kind;   /* enum memory_kind */
	uint8_t destination_kind;
	uint8_t is_async;	   /* the API call does not wait, as far as it says */
	uint8_t is_default_stream; /* on the legacy default stream, for certain */
	uint16_t peer;		   /* ordinal of the other GPU of a peer copy, MODEL_NO_DEVICE */
};

/* A matrix product; pointers are kept only as their misalignment. */
struct gemm_shape {
	uint32_t m, n, k;
	uint32_t lda, ldb, ldc;
	uint32_t batch;
	uint8_t op_a, op_b;
	uint8_t type_a, type_b, type_c, type_compute; /* enum element_type */
	uint8_t math_flags;
	/* Largest power of two that divides the pointer, at most 128; 0 when it is not known. */
	uint8_t align_a, align_b, align_c;
};

/* A convolution; see record_conv. dimensions 0: its shape is not known. */
struct conv_shape {
	uint32_t batch;
	uint32_t channels_in, channels_out, groups;
	uint32_t in[3], filter[3], out[3];
	uint16_t stride[3], dilation[3];
	uint16_t operations;
	uint8_t dimensions;
	uint8_t op;				      /* enum conv_op */
	uint8_t layout_x, layout_w, layout_y;	      /* enum conv_layout */
	uint8_t type_x, type_w, type_y, type_compute; /* enum element_type */
	uint8_t math_flags;
};

struct model_site {
	uint64_t id;
	const struct record_site *record; /* NULL: the file does not tell */
	uint8_t memory_owner;		  /* of what is allocated here, memory_owner.c; 0 unknown */
};

struct model_thread {
	uint32_t number; /* in the file */
	uint32_t thread_id;
	const char *name;
	size_t first_call, call_count;	   /* in calls */
	int64_t median_launch_interval_ns; /* begin to begin, 0 with too few launches */
};

struct memory_event {
	int64_t time_ns; /* allocations by end, frees by begin: an address is reused in between */
	uint64_t address, size_bytes;
	uint64_t backing; /* pool, or the handle of a mapping; see record_memory */
	uint32_t call;
	uint16_t device; /* MODEL_NO_DEVICE: host memory */
	uint8_t op;	 /* enum memory_op */
	uint8_t kind;	 /* enum memory_kind */
};

/* What a framework's allocator did or, BLOCK_HELD_*, what it held at the end. By time. */
struct block_event {
	int64_t time_ns;
	uint64_t address, size_bytes; /* BLOCK_OUT_OF_MEMORY: what was free, what was asked for */
	uint64_t allocated_bytes, reserved_bytes; /* after the event; 0 unknown */
	uint32_t site;				  /* index of sites */
	uint16_t device;
	uint8_t op;    /* enum block_op */
	uint8_t flags; /* enum block_flag */
};

/* Device memory that the process's own allocations hold. */
struct memory_usage {
	uint64_t live_bytes, peak_bytes; /* at the end; at the highest point */
	int64_t peak_ns;
	uint64_t allocations, frees, unknown_frees;
	uint64_t kind_bytes[LIVE_KIND_COUNT], kind_peak_bytes[LIVE_KIND_COUNT];
};

/* One GPU as this process saw it, and its share of the ledger. */
struct model_device {
	const struct record_device *record; /* NULL: operations without a description */
	uint32_t ordinal;
	const char *name; /* "GPU 0" when unknown */
	bool is_simulated;
	size_t first_op, op_count; /* in ops */
	size_t unlinked_ops;	   /* without a launch in the file */
	int64_t begin_ns, end_ns;  /* of its first and last operation */
	struct memory_usage memory;
	struct driver_memory driver_memory;
	struct framework_memory framework;
	struct phase_usage phases;
	struct device_ledger ledger;
};

/* What was measured by pairs of events instead of CUPTI; copies [0] to the GPU, [1] back. */
struct event_times {
	size_t count; /* operations with a time, 0: CUPTI's or none */
	uint64_t bytes[2];
	int64_t busy_ns[2];
	size_t collectives, launches; /* kernels of collectives; the other, sampled ones */
	int64_t collective_ns, launch_ns;
};

enum step_source {
	STEPS_NONE = 0,	 /* the whole run stands for one step */
	STEPS_MARKS,	 /* ranges that the program named */
	STEPS_OPTIMIZER, /* the launch sequence repeats, one optimizer per period */
	STEPS_PERIOD,	 /* the launch sequence repeats */
};

enum step_kind { STEP_WARM_UP = 1, STEP_STEADY, STEP_OUTLIER, STEP_PARTIAL };

struct step {
	int64_t host_begin_ns, host_end_ns; /* first call of this step, of the next one */
	uint8_t kind;			    /* enum step_kind */
	uint32_t launches;		    /* kernels launched by the host calls of this step */
	uint32_t copies, sets, syncs;
	uint64_t h2d_bytes, d2h_bytes, other_bytes;
};

/* The surer, the higher. */
enum step_mark_kind { STEP_MARK_RANGE = 1, STEP_MARK_TORCH, STEP_MARK_API };

struct step_list {
	enum step_source source;
	enum step_mark_kind mark_kind; /* with STEPS_MARKS */
	double marked_share; /* with STEPS_MARKS: of the time from the first to the last, 0..1 */
	double coverage;     /* share of the launch sequence that the period explains, 0..1 */
	struct step *items;  /* with STEPS_NONE one item, the whole run */
	size_t count, steady_count, warm_up_count, outlier_count, partial_count;
};

struct model {
	struct model_source source;
	int64_t begin_ns, end_ns; /* of everything recorded */
	int64_t rank;		  /* of the job, -1 unknown */

	struct model_device *devices;
	size_t device_count;
	struct model_thread *threads;
	size_t thread_count;
	struct gpu_op *ops;
	size_t op_count;
	struct host_call *calls;
	size_t call_count;
	struct model_kernel *kernels;
	size_t kernel_count;
	struct transfer *transfers;
	size_t transfer_count;
	struct gemm_shape *gemms;
	size_t gemm_count;
	struct conv_shape *convs;
	size_t conv_count;
	struct model_site *sites; /* [0] is "unknown" */
	size_t site_count;
	const char **apis; /* names; [0] is "unknown call" */
	size_t api_count;
	struct memory_event *memory_events; /* by time */
	size_t memory_event_count;
	struct live_change *live_changes; /* what the events did, in their order */
	size_t live_change_count;
	struct driver_event *driver_events; /* by time: what CUPTI told of memory */
	size_t driver_event_count;
	struct block_event *blocks; /* by time */
	size_t block_count;
	struct model_communicator *communicators; /* in file order */
	size_t communicator_count;
	struct model_collective *collectives; /* by thread, then begin */
	size_t collective_count;
	struct step_mark *step_marks; /* by begin */
	size_t step_mark_count;
	struct record_site **forward_sites; /* that forward_link.c made of two; owned */
	size_t forward_site_count;
	struct phase_mark *phase_marks; /* by begin */
	size_t phase_mark_count;
	bool has_uses;		   /* ranges name prefill, decode or validation */
	uint8_t *site_phases;	   /* enum model_phase by index of sites */
	struct blind_span *blinds; /* by begin, apart from each other */
	size_t blind_count;
	enum model_recording recording;
	struct call_total *totals; /* of sessions that sum; each row once */
	size_t total_count;
	int64_t totals_begin_ns, totals_end_ns; /* of the time that they are of */
	int64_t totals_complete_ns;   /* up to there nothing is missing for sure; 0: unknown */
	struct sample_series *series; /* what the collector sampled */
	size_t series_count;
	struct page_sample *page_samples; /* in file order */
	size_t page_sample_count;
	uint64_t failed_calls; /* returned an error */
	bool has_gpu_times;
	struct event_times event_times;

	struct step_list steps;
};

/* A range that the program named as a step. */
struct step_mark {
	int64_t begin_ns, end_ns;
	uint8_t kind; /* enum step_mark_kind */
};

/* Reads everything from the source. 0 or a negative code with the reason in *err. */
int model_build(const struct model_source *source, struct model **out, struct error *err);
void model_free(struct model *model);

/* The outermost call around this one, itself if it is not nested. */
uint32_t model_call_root(const struct model *model, uint32_t call);
/* The call that says most about an operation: of a graph's node the captured one, else the launch.
 */
uint32_t model_op_call(const struct gpu_op *op);
/* Whether its detail is an index of kernels. */
bool model_op_has_kernel(const struct gpu_op *op);
/* The nearest matrix product at or around this call, MODEL_NONE if there is none. */
uint32_t model_call_gemm(const struct model *model, uint32_t call);
/* Likewise of a convolution, which may contain a matrix product that then does not count. */
uint32_t model_call_conv(const struct model *model, uint32_t call);
/* The site of a call, of the nearest call around it that has one, or 0. */
uint32_t model_call_site(const struct model *model, uint32_t call);
const char *model_api_name(const struct model *model, uint32_t call);
/* Ops of one step on one device: first and one behind the last index that begin in the window. */
void model_ops_between(const struct model *model, size_t device, int64_t begin_ns, int64_t end_ns,
		       size_t *first, size_t *limit);
/* Number of steps that the ledger's means are taken over, at least 1. */
size_t model_steady_count(const struct model *model);
/* First steady step that has a window on this device, SIZE_MAX if none. */
size_t model_first_steady(const struct model *model, size_t device);

#endif
