/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * The simulated CUDA stack, as its own libraries and the tests meet it. Programs under test never
 * include this: they see only CUDA's public API. Nothing here is ever installed.
 *
 *   libcuda.so.1        public driver API; contexts, memory, streams, events, modules, launches;
 *                       one modelled GPU per ordinal; the exact log; faults on demand
 *   libcudart.so.13     runtime API on top of it, through cuGetProcAddress as the real one
 *   libcudart_static.a  the same objects for nvcc's default -cudart static
 *   libcublas.so.13     the gemm family; launches plausibly named kernels through the driver API
 *   libcupti.so.13      activity records of what the simulated driver did
 *   libnvidia-ml.so.1   what NVML tells of a described machine
 *
 * Environment (read at cuInit unless noted):
 *   SIMCUDA_GPU=NAME        row of viewer/knowledge/gpus.tsv: its name, or a lower-case alias with
 *                           dashes such as a100-sxm-80gb, h100-sxm, rtx4090. Default a100-sxm-80gb.
 *   SIMCUDA_GPUS=N          number of devices, 1..16. Default 1.
 *   SIMCUDA_MACHINE=DIR     a machine made by sim_machine (machines/README.md): its GPUs, links and
 *                           nodes; SIMCUDA_GPU, SIMCUDA_GPUS, SIMCUDA_LINK_GBS do not count then.
 *   SIMCUDA_MEMORY_MIB=N    device memory. Default: the table's.
 *   SIMCUDA_OTHERS_MIB=N    of it, held by other processes. Default 0.
 *   SIMCUDA_LINK_GBS=X      attainable pinned host-link rate in 1e9 bytes/s. Default by generation
 *                           and width: see sim_model.c.
 *   SIMCUDA_TIME_SCALE=X    wall seconds per modelled second. Default 1. 0: work completes at once
 *                           on the wall clock; modelled times stay the same. Other than 0 and 1 the
 *                           clock of activity times runs 1/X as fast as the wall clock.
 *   SIMCUDA_KERNEL_COSTS=F  file of "name-regex <tab> ns-fixed <tab> bytes-per-thread <tab>
 *                           flops-per-thread" for kernels whose cost the model cannot know.
 *   SIMCUDA_LOG=F           the exact log; %p in F becomes the pid. Format below.
 *   SIMCUDA_OOM_AT=N        allocations that would bring live device memory above N bytes fail.
 *   CUDA_INJECTION64_PATH=F a library that the first cuInit loads, and whose InitializeInjection()
 *                           it calls, as the real driver does.
 *   SIMCUDA_FAIL=FUNC:K:R[,...]  the K-th call (from 1) of driver function FUNC returns CUresult R.
 *   SIMCUDA_BLAS_BY_LT=1    products of libcublas go through cublasLtMatmul, as many real ones do.
 *   SIMCUDA_NCCL_GBS=X      rate of collectives in 1e9 bytes/s. Default: simnccl_model.c.
 *   SIMCUDA_NCCL_DIRECTORY=DIR  where ranks meet. Default /dev/shm.
 *   SIMCUDA_NCCL_DELAY_MS, SIMCUDA_NCCL_HANG, SIMCUDA_NCCL_ASYNC_ERROR  faults: simnccl_faults.c.
 *   SIMCUDA_CUPTI_VERSION=N what cuptiGetVersion reports, with that version's record sizes.
 *   SIMCUDA_CUPTI_FAULT=... comma list: busy (subscribe returns 39), zero-times=K (every K-th
 *                           record has no times), drop=K (every K-th record is lost and counted),
 *                           no-KIND (enabling activity kind KIND fails), and those in
 *                           simcupti_tool.c.
 *
 * Log: one line per event, fields separated by tabs, written when the call returns:
 *   call  SEQ TID FUNCTION RESULT key=value...   every driver call that allocates, frees, copies,
 *         sets, launches, synchronises, or touches streams, events, modules; values in decimal,
 *         addresses in 0x hex. Copies: dst= src= bytes= stream= async=
 *         direction=h2d|d2h|d2d|h2h|peer. Launches: name= grid=x,y,z block=x,y,z shared= stream=.
 *         Memory: address= bytes=.
 *   rt    SEQ TID FUNCTION RESULT key=value...   the same of the runtime library
 *   blas  SEQ TID FUNCTION RESULT m= n= k= lda= ldb= ldc= opa= opb= typea= typeb= typec= batch=
 *         epilogue=
 *   dnn   SEQ TID FUNCTION RESULT op= n= c= k= group_c= type=    a convolution, op 1 forward, 2 data, 3
 *         filter; or bytes= of a layer that is none
 *   gpu   CORRELATION KIND BEGIN_NS END_NS stream= bytes= name= direction=   KIND kernel|copy|set;
 *         times on the clock that CUPTI reports. Nodes of a graph have graph= node= as well; the
 *         launch of a graph as a whole is one more line, of KIND graph, with graph= nodes=
 *   live  BYTES device= KIND=...                 device bytes live, after each change; the kinds of
 *         the device that changed are in sim_live.def
 *
 * Details: FUNC and FUNCTION are exported names (cuMemAlloc_v2); FUNC without _v2, _ptsz and the
 * like means all versions of it together. stream= is the handle as passed (0x hex) in call lines,
 * where a line that creates a stream adds id=, and CUPTI's stream id in gpu lines. BYTES are those
 * of plain memory, arrays, used pool memory and physical memory of all devices; managed memory,
 * module globals and what pools keep for later are not in them. A failed call has the fields known
 * before it failed, one that SIMCUDA_FAIL stopped has none. gpu lines appear when the work is over.
 */
/* clang-format on */
#ifndef GPUTRACE_SIMCUDA_H
#define GPUTRACE_SIMCUDA_H

#include <stddef.h>
#include <stdint.h>

/* Exported by libcuda.so.1 so that a trace can say "simulated". A NUL-terminated sentence. */
extern const char gputrace_simulated_cuda[];

/* What a kernel costs on the modelled GPU. */
struct simcuda_cost {
	double fixed_ns;
	double bytes; /* device memory traffic */
	double flops;
	double peak_flops; /* rate to divide flops by; 0: the device's fp32 rate */
	double efficiency; /* 0..1 of peak_flops that the kernel reaches; 0 means 1 */
};

/* A CUfunction named `name` that exists in no module, for the fake libraries; the same name gives
 * the same handle. Cost applies to the next launch of it by this thread. Exported by libcuda.so.1.
 */
void *simcuda_library_kernel(const char *name, const struct simcuda_cost *next_launch);

/* Nothing is computed here, so a program says itself who uses managed memory: its host now, or the
 * kernel that this thread launches next. What is on the other side migrates, in pieces of 2 MiB,
 * and whoever touched it waits. Exported by libcuda.so.1. */
void simcuda_host_touches(const void *address, size_t bytes);
void simcuda_next_launch_touches(const void *address, size_t bytes);

/* A kernel of NCCL: it begins when its stream is ready and ends when the other processes of its
 * communicator have come as well. `flag` is set once `bytes` lie in `memory`. */
struct simcuda_transfer {
	uint64_t address; /* as the application gave it */
	void *memory;
	size_t bytes;
	uint32_t *flag;
};
struct simcuda_arrivals {
	uint64_t end_ns;
	struct simcuda_transfer *in; /* allocated, as are its memories: the driver frees them */
	size_t count;
};
struct simcuda_meeting {
	void *data;
	const struct simcuda_transfer *out; /* of this rank to the others, in stream order */
	size_t out_count;
	/* By the launching thread, under the driver's lock: says when the kernel begins. */
	void (*arrive)(void *data, uint64_t begin_ns);
	/* True when all have come, and then `data` is gone; waits for them if it may, without the
	 * driver's lock. With arrivals NULL: the launch failed. */
	int (*finish)(void *data, int may_wait, struct simcuda_arrivals *arrivals);
};
/* The next launch of `kernel` by this thread is such a one. Exported by libcuda.so.1. */
void simcuda_next_launch_meets(void *kernel, const struct simcuda_meeting *meeting);

/* Appends one line ("blas\t..." or "rt\t...") to the exact log; adds the sequence number and the
 * thread. No-op without SIMCUDA_LOG. Exported by libcuda.so.1. */
void simcuda_log(const char *tag, const char *function, int result, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* How libcupti.so.13 learns what the driver did. All calls come from the thread that makes the CUDA
 * call (enter/exit) or from the simulated GPU's thread (activity). */
struct simcuda_activity {
	int kind; /* 1 kernel, 2 copy, 3 set, 4 sync, 5 a whole launch of a graph, 6 migration */
	uint64_t begin_ns, end_ns;
	uint32_t correlation, device, context, stream;
	uint64_t bytes;
	int direction;			   /* CUpti_ActivityMemcpyKind */
	int source_kind, destination_kind; /* CUpti_ActivityMemoryKind */
	int is_async;
	uint32_t grid[3], block[3], shared_static, shared_dynamic, registers;
	uint32_t value;	  /* memset; CUpti_ActivityUnifiedMemoryMigrationCause */
	int sync_type;	  /* CUpti_ActivitySynchronizationType */
	const char *name; /* valid for the life of the process */
	uint32_t source_device, destination_device; /* of a copy between devices (direction 10) */
	uint64_t graph_node;			    /* of a node of a graph, else 0 */
	uint32_t graph;	      /* the executable's number, 0 for work outside of graphs */
	uint32_t graph_nodes; /* kind 5: nodes that did something */
	int graph_was_seen;   /* a tool was attached when the executable was made */
};
/* What happened to a graph; numbered as CUPTI's resource callbacks are. The tool may ask for ids.
 */
enum simcuda_graph_event_type {
	SIMCUDA_GRAPH_CREATED = 9,
	SIMCUDA_GRAPH_DESTROY_STARTING = 10,
	SIMCUDA_GRAPH_CLONED = 11,
	SIMCUDA_GRAPH_NODE_CREATED = 13,
	SIMCUDA_GRAPH_EXEC_CREATED = 18,
	SIMCUDA_GRAPH_EXEC_DESTROY_STARTING = 19,
	SIMCUDA_GRAPH_NODE_CLONED = 20,
};
struct simcuda_graph_event {
	int event;
	const void *graph, *other_graph; /* other: the original, or the executable */
	const void *node, *other_node;
	int node_type;
};
struct simcuda_tool {
	/* domain 1 driver, 2 runtime; function is the API name; site 0 enter, 1 exit; arguments:
	 * the function's structure of generated_cuda_meta.h, NULL for the runtime's functions. */
	void (*api)(int domain, int site, const char *function, uint32_t correlation, int result,
		    const void *arguments);
	void (*activity)(const struct simcuda_activity *activity);
	void (*graph)(const struct simcuda_graph_event *event); /* may be NULL */
};
/* The number that CUPTI gives a graph, an executable or a node; 0: no such. Exported. */
uint64_t simcuda_graph_id(const void *handle);
/* One tool; NULL detaches. Exported by libcuda.so.1. */
void simcuda_attach_tool(const struct simcuda_tool *tool);
/* Calls the tool, on this thread, for all work that is over by now: what cuptiActivityFlushAll
 * needs. Without it the simulated GPU's thread delivers within a millisecond or so. */
void simcuda_deliver(void);
uint64_t simcuda_gpu_clock_ns(void); /* the clock of activity times: CLOCK_REALTIME based */

/* For libcudart: brackets a runtime call so that nested driver calls share its correlation id. */
uint32_t simcuda_runtime_enter(const char *function);
void simcuda_runtime_exit(const char *function, uint32_t correlation, int result);

#endif
