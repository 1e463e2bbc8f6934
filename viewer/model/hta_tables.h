/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of HolisticTraceAnalysis for one device, by that tool's definitions (version 0.5.0),
 * so that the two can be compared number by number. They are not the ledger: kinds of kernels are
 * told by the beginnings of their names, idle time is split per stream, and where a recording has
 * two steps of torch.profiler or more, only what was launched before the last one counts.
 */
#ifndef GPUTRACE_MODEL_HTA_TABLES_H
#define GPUTRACE_MODEL_HTA_TABLES_H

#include "model.h"
#include "value_stats.h"

/* key, label; a kernel that is none of these counts as busy and nowhere else. */
#define HTA_KINDS(KIND)                                                                            \
	KIND(COMPUTATION, "computation", "computation")                                            \
	KIND(COMMUNICATION, "communication", "communication")                                      \
	KIND(MEMORY, "memory", "memory")

enum hta_kind {
#define KIND(name, key, label) HTA_##name,
	HTA_KINDS(KIND)
#undef KIND
		HTA_KIND_COUNT
};

#define HTA_KIND_SETS (1 << HTA_KIND_COUNT)

const char *hta_kind_key(enum hta_kind kind);
enum hta_kind hta_kind_of_op(const struct model *model, const struct gpu_op *op);

/* A gap of a stream, by the kernel that ends it: launched after the one before had ended; shorter
 * than 30 us; anything else. Overlapping work makes gaps negative. */
struct hta_stream {
	uint32_t stream;
	int64_t host_wait_ns, kernel_wait_ns, other_ns;
	struct value_stats queue_length; /* at every launch and begin */
};

struct hta_kernel {
	uint32_t kernel;
	enum hta_kind kind;
	uint64_t count;
	double sum_us, min_us, max_us, mean_us, std_us; /* std 0 with one launch */
};

/* key: name as Kineto has it. */
#define HTA_COPIES(COPY)                                                                           \
	COPY(H2D, "Memcpy HtoD")                                                                   \
	COPY(D2H, "Memcpy DtoH")                                                                   \
	COPY(D2D, "Memcpy DtoD")                                                                   \
	COPY(PEER, "Memcpy PtoP")                                                                  \
	COPY(SET, "Memset")

enum hta_copy {
#define COPY(name, key) HTA_COPY_##name,
	HTA_COPIES(COPY)
#undef COPY
		HTA_COPY_COUNT
};

const char *hta_copy_name(enum hta_copy copy);

struct hta_tables {
	size_t operations; /* that count */
	bool is_cut;	   /* what the last step launched is left out */

	/* Temporal breakdown. */
	int64_t kernel_ns; /* from the first begin to the last end */
	int64_t idle_ns, compute_ns, non_compute_ns;

	/* Time in which exactly these kinds ran: bit per enum hta_kind. */
	int64_t kinds_ns[HTA_KIND_SETS];

	/* Communication, and how much of it ran beside computation. */
	int64_t communication_ns, overlapped_ns;

	struct hta_stream *streams; /* by number */
	size_t stream_count;
	struct hta_kernel *kernels; /* computation and communication, most time first */
	size_t kernel_count;

	/* Launches by cudaLaunchKernel, cudaLaunchKernelExC, cudaMemcpyAsync, cudaMemsetAsync, us.
	 */
	struct value_stats launch_call_us, launch_gpu_us, launch_delay_us;
	size_t short_kernels;	 /* call of at most 50 us, longer than what it launched */
	size_t slow_calls;	 /* longer than 50 us */
	size_t delayed_launches; /* begin more than 100 us after the call returned */

	struct value_stats bandwidth_gbs[HTA_COPY_COUNT]; /* sums over what runs at once, above 0 */
};

void hta_tables_build(const struct model *model, size_t device, struct hta_tables *tables);
void hta_tables_free(struct hta_tables *tables);

/* For the files that build the tables. */
struct hta_scope {
	const struct model *model;
	size_t device;
	int64_t launched_before_ns; /* INT64_MAX: everything counts, with or without a launch */
};
bool hta_scope_has(const struct hta_scope *scope, const struct gpu_op *op);
/* hta_streams.c: idle split, queue lengths, bandwidths. */
void hta_streams_build(const struct hta_scope *scope, struct hta_tables *tables);
void hta_bandwidth_build(const struct hta_scope *scope, struct hta_tables *tables);

#endif
