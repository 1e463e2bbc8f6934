/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the simulated driver share: its objects, the call in progress, and the
 * functions of each file. One lock (sim_lock in sim_call.c) guards every object; the wrappers that
 * sim_api.c expands hold it around each body, and a body that must wait or move many bytes gives it
 * up meanwhile. No NVIDIA text is here: the ABI comes from the installed cuda.h.
 */
#ifndef GPUTRACE_SIM_INTERNAL_H
#define GPUTRACE_SIM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* what these headers declare is what libcuda.so.1 exports */
/* Exact symbol names instead of cuda.h's mapping of cuMemAlloc to cuMemAlloc_v2 and the like. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include "simcuda.h"
#pragma GCC visibility pop

#include "sim_copy.h"
#include "sim_gpu_table.h"
#include "sim_link.h"
#include "sim_machine.h"
#include "sim_tree.h"

enum {
	SIM_DEVICES_MAX = 16,
	SIM_CONTEXT_DEPTH_MAX = 64,
	SIM_LOG_FIELDS_SIZE = 4096,
	SIM_WARP = 32,
	SIM_LEGACY_STREAM_ID = 7, /* what CUPTI calls a context's default stream */
};

/* Every handle given out starts with this; sim_pool.c checks it. */
struct sim_object {
	uint32_t is_live;
	struct sim_object *next_free;
};

/* MAPPED: physical memory at a reserved address; IMPORTED: memory of another process. */
enum sim_memory_kind {
	SIM_DEVICE,
	SIM_HOST,
	SIM_REGISTERED,
	SIM_MANAGED,
	SIM_MAPPED,
	SIM_IMPORTED,
	SIM_PAGEABLE
};

/* What is counted of a device's memory (sim_live.c). PLAIN, ARRAY, POOL_RESERVED and PHYSICAL fill
 * the device; POOL is the part of POOL_RESERVED in use; the others are addresses or host memory. */
enum sim_live_kind {
#define LIVE(NAME, name) SIM_LIVE_##NAME,
#include "sim_live.def"
#undef LIVE
	SIM_LIVE_KINDS
};

/* A block of device address space, used or free, or a piece of host memory that the driver knows.
 */
struct sim_range {
	struct sim_tree_node by_address;  /* in the table of known memory while in use */
	struct sim_tree_node by_size;	  /* in its heap while free */
	struct sim_range *before, *after; /* neighbours in the heap's address space */
	struct sim_range *next_dropped;
	uint64_t base;
	size_t bytes, reserved_bytes; /* asked for, and taken from the heap or mapped */
	ptrdiff_t backing;	      /* add to an address to get where the bytes really are */
	enum sim_memory_kind kind;
	struct sim_device *device;
	struct sim_context *context;
	unsigned flags;
	int node; /* NUMA node of pinned memory: where the thread ran that made it */
	bool is_module_global;
	struct sim_memory_pool *pool; /* of stream-ordered memory */
	uint64_t buffer_id;
	struct sim_physical *physical; /* behind a mapped range */
	uint64_t ready_ns;	       /* when freed pool memory is really free */
	const struct sim_stream *freed_on;
	int access, location; /* CUmemAccess_flags of a mapped range; where managed memory is */
	bool is_read_mostly;
};

/* A place in the order of the worker's jobs: after the newest job and the newest host function. */
struct sim_after {
	uint64_t job, host;
};

struct sim_heap {
	uint64_t base;
	size_t bytes;
	ptrdiff_t backing;
	struct sim_tree free_blocks;
};

/* sim_memory_pool.c: chunks of device memory, cut into blocks by a heap of its own. */
struct sim_memory_pool {
	struct sim_object object;
	struct sim_memory_pool *next; /* of the device */
	struct sim_device *device;
	struct sim_heap heap;
	struct sim_chunk *chunks;
	struct sim_range *freed; /* by next_dropped: given back, maybe still in use by a stream */
	uint64_t release_threshold, used_high, reserved_high, used, reserved, max_bytes;
	int follow_event, allow_opportunistic, allow_internal;
	unsigned handle_types;
	bool is_imported, is_destroyed; /* destroyed: goes with its last allocation */
};

struct sim_device {
	const struct sim_gpu *gpu;
	int ordinal, physical; /* physical: in the machine's description, where there is one */
	struct sim_pci_address address;
	size_t memory_bytes, others_bytes; /* others: held by processes that are not there */
	size_t live[SIM_LIVE_KINDS];
	bool live_is_changed;
	double link_rate; /* bytes per second, pinned, where no machine is described */
	struct sim_heap heap;
	uint64_t compute_tail_ns;   /* kernels that fill the GPU run one after the other */
	uint64_t engine_tail_ns[2]; /* copy engines: 0 to the device, 1 from it */
	struct sim_context *primary;
	unsigned primary_count, primary_flags;
	struct sim_memory_pool *default_pool, *current_pool, *pools;
	unsigned char uuid[16];
	struct sim_after reuse_after; /* of memory that was freed in stream order */
	uint32_t peers;		      /* ordinals that this device's contexts may access */
};

/* The nodes that the next one of a captured stream needs, or that a captured event stands for. */
struct sim_capture_place {
	struct sim_graph_node **needs;
	size_t count;
};

struct sim_stream {
	struct sim_object object;
	struct sim_context *context;
	struct sim_stream *next; /* of the context */
	uint64_t tail_ns;	 /* when all of its work is done */
	struct sim_after after;	 /* what its next work comes after */
	uint64_t unique_id;	 /* cuStreamGetId */
	uint32_t id;		 /* CUPTI's number, in the context */
	unsigned flags;
	int priority;
	bool is_legacy, is_blocking;
	uint64_t *queue_ends; /* of the last launches, see sim_launch.c */
	unsigned queue_next;
	const struct sim_thread *owner; /* of a per-thread default stream */
	struct sim_capture *capture;	/* that it is in */
	struct sim_capture_place capture_place;
};

struct sim_event {
	struct sim_object object;
	struct sim_context *context;
	struct sim_event *next, *previous; /* of the context */
	uint64_t time_ns;
	struct sim_after after;
	unsigned flags;
	bool is_recorded;
	uint64_t capture_id; /* of the capture that it was last recorded in */
	struct sim_capture_place capture_place;
};

struct sim_context {
	struct sim_object object;
	struct sim_device *device;
	uint64_t unique_id; /* tells a reused handle from the one that was destroyed */
	uint32_t id;
	unsigned flags, api_version;
	bool is_primary;
	struct sim_stream *streams, *legacy;
	struct sim_event *events;
	struct sim_module *modules;
	uint64_t tail_ns, blocking_tail_ns; /* over all streams, over the blocking ones */
	struct sim_after after, blocking_after;
	uint32_t next_stream_id;
	size_t limits[CU_LIMIT_MAX];
	CUfunc_cache cache_config;
};

struct sim_function {
	struct sim_object object;
	struct sim_function *next; /* of its module */
	struct sim_module *module; /* NULL for kernels of the simulated libraries */
	const char *name;
	const struct sim_named_cost *cost;
	int registers, static_shared_bytes, dynamic_shared_bytes_max, carveout;
};

/* A module of a context, or a library (context NULL), whose CUlibrary and CUmodule are the same. */
struct sim_module {
	struct sim_object object;
	struct sim_context *context;
	struct sim_module *next;
	struct sim_function *functions;
	struct sim_global *globals;
	struct sim_image *image;
	bool is_library;
};

struct sim_global {
	struct sim_global *next;
	const char *name;
	const struct sim_context *context;
	uint64_t address;
	size_t bytes;
};

/* Costs of SIMCUDA_KERNEL_COSTS. */
struct sim_named_cost {
	double fixed_ns, bytes_per_thread, flops_per_thread;
};

struct sim_thread {
	struct sim_context *contexts[SIM_CONTEXT_DEPTH_MAX];
	uint64_t context_ids[SIM_CONTEXT_DEPTH_MAX];
	int depth;
	int tid;
	uint32_t runtime_depth, runtime_correlation;
	bool is_in_host_function;   /* where CUDA calls are not permitted */
	uint64_t stream_context_id; /* in which `stream` is this thread's default stream */
	struct sim_stream *stream;
	struct sim_function *cost_function; /* whose next launch costs `cost` */
	struct simcuda_cost cost;
	uint64_t touched; /* managed memory that the next launch uses */
	size_t touched_bytes;
	CUstreamCaptureMode capture_mode;
	char *log_fields;
	char *live_lines; /* of the call that just changed what is live */
};

/* Flags of the rows of sim_api*.def. */
enum { ANY = 0, INIT = 1, CTX = 3, LOG = 4, SYNC = 8, CONFIGURES = 16 };

/* The driver call in progress. */
struct sim_call {
	struct sim_thread *thread;
	struct sim_context *context; /* the current one; there is one when the row says CTX */
	const char *function;
	const void *arguments; /* as CUPTI passes them; NULL: none, or not known */
	unsigned flags;
	uint32_t correlation;
	bool is_per_thread; /* a _ptds or _ptsz twin */
	bool is_locked;
	bool is_waiting_without_spin;
	size_t log_used;
	bool live_is_changed;
	uint64_t wait_ns; /* to be over before the call returns, and so is wait_after */
	struct sim_after wait_after;
	uint64_t begin_ns;
	int sync_type; /* CUpti_ActivitySynchronizationType of the wait, 0 for none */
	uint32_t sync_stream;
};

struct sim_state {
	bool is_initialised, has_faults;
	atomic_bool is_forked, is_exiting, has_log;
	struct sim_device devices[SIM_DEVICES_MAX];
	int device_count;
	const struct sim_machine *machine; /* of SIMCUDA_MACHINE, or NULL */
	uint64_t oom_at_bytes;
	struct sim_capture *captures; /* the open ones */
	_Atomic(const struct simcuda_tool *) tool;
};
extern struct sim_state sim_state;

/* sim_call.c: around every exported function. Returns what to return at once, or CUDA_SUCCESS. */
CUresult sim_call_begin(struct sim_call *call, const char *function, unsigned flags,
			bool is_per_thread, const void *arguments);
CUresult sim_call_end(struct sim_call *call, CUresult result);
void sim_lock(void);
void sim_unlock(void);
/* Gives up the lock until the condition is signalled or CLOCK_MONOTONIC passes (0: never). */
void sim_lock_wait(pthread_cond_t *condition, uint64_t deadline_ns);
struct sim_thread *sim_call_thread(void);
/* The call returns once the time and the jobs are over; it waits after its lock is free. */
void sim_call_wait(struct sim_call *call, uint64_t ns, struct sim_after after);
/* Waits now, without the lock; afterwards handles must be looked up again. */
void sim_call_wait_now(struct sim_call *call, uint64_t ns, struct sim_after after);

/* sim_faults.c */
void sim_faults_load(void);
CUresult sim_faults_next(const char *function);

/* sim_log.c */
void sim_log_open(void);
void sim_log_reset_after_fork(void);
void sim_log_note(struct sim_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sim_log_call(struct sim_call *call, CUresult result);
void sim_log_activity(const struct simcuda_activity *activity);
#define SIM_NOTE(call, ...)                                                                        \
	do {                                                                                       \
		if (sim_state.has_log)                                                             \
			sim_log_note(call, __VA_ARGS__);                                           \
	} while (0)

/* sim_clock.c: nanoseconds of the modelled GPU's clock. */
uint64_t sim_clock_now_ns(void);
bool sim_clock_is_over(uint64_t ns); /* always, when the time scale is 0 */
void sim_clock_wait(uint64_t ns, bool may_spin);
void sim_clock_load(void);
uint64_t sim_clock_monotonic_ns(void);
uint64_t sim_clock_wall_deadline_ns(uint64_t ns); /* on CLOCK_MONOTONIC */

/* sim_pool.c: typed handles that can be told from garbage and from destroyed ones. */
enum sim_pool_type {
	POOL_CONTEXT,
	POOL_STREAM,
	POOL_EVENT,
	POOL_MODULE,
	POOL_FUNCTION,
	POOL_MEMORY,
	POOL_PHYSICAL,
	POOL_ARRAY,
	POOL_GRAPH,
	POOL_GRAPH_NODE,
	POOL_GRAPH_EXEC,
	POOL_TYPES
};
void *sim_pool_new(enum sim_pool_type type);
void sim_pool_free(enum sim_pool_type type, void *object);
bool sim_pool_holds(enum sim_pool_type type, const void *handle);

/* sim_model.c */
double sim_model_link_rate(const struct sim_gpu *gpu);
void sim_model_load_costs(const char *path);
const struct sim_named_cost *sim_model_named_cost(const char *kernel);
uint64_t sim_model_kernel_ns(const struct sim_device *device, const struct sim_function *function,
			     const struct simcuda_cost *library_cost, uint64_t threads);
struct sim_copy_cost {
	uint64_t start_ns;	       /* from the call to the first byte */
	uint64_t busy_ns;	       /* on the engine */
	uint64_t unstaged_ns;	       /* how long before the end the host's buffer is free again */
	bool is_in_command;	       /* so small that the host's buffer is free at once */
	double link_share, rate_limit; /* what the kind of memory allows, over any link */
};
struct sim_copy_cost sim_model_copy(const struct sim_device *device, size_t bytes, int direction,
				    bool is_pageable);
uint64_t sim_model_peer_ns(const struct sim_device *from, const struct sim_device *to,
			   bool is_direct, size_t bytes);
uint64_t sim_model_set_ns(const struct sim_device *device, size_t bytes);
uint64_t sim_model_launch_latency_ns(void);

/* sim_device.c */
struct sim_device *sim_device_get(CUdevice device); /* NULL: no such device */

/* sim_context.c */
struct sim_context *sim_context_current(struct sim_thread *thread);

/* sim_stream.c: where work goes and when it may begin. */
struct sim_stream *sim_stream_find(struct sim_call *call, CUstream handle); /* NULL: no such */
struct sim_stream *sim_stream_new(struct sim_context *context, unsigned flags, int priority);
void sim_stream_free(struct sim_stream *stream);
uint64_t sim_stream_ready_ns(const struct sim_stream *stream);
struct sim_after sim_stream_after(const struct sim_stream *stream);
void sim_stream_advance(struct sim_stream *stream, uint64_t end_ns, struct sim_after after);

/* sim_worker.c: the simulated GPU's own thread, for what must happen when nobody calls. */
struct sim_job {
	struct sim_job *next;
	uint64_t id;
	struct sim_after after;
	enum { JOB_MOVE, JOB_SET, JOB_HOST } type;
	bool is_device_memory;
	void *to;
	const void *from; /* of a move */
	void *owned;	  /* freed when done */
	size_t bytes;
	struct sim_box box; /* of a move or set with rows; else `bytes` in a row */
	uint32_t value;	    /* of a set, repeated every `width` bytes */
	unsigned width;
	uint64_t when_ns; /* of a host function */
	CUhostFn function;
	CUstreamCallback callback;
	CUstream handle;
	void *data;
};
/* Takes a copy of the job and advances the stream behind it; false when memory or the thread cannot
 * be had. */
bool sim_worker_add(struct sim_stream *stream, const struct sim_job *job);
void sim_worker_run_now(const struct sim_job *job); /* the same by the caller */
bool sim_worker_is_done(struct sim_after after);
struct sim_after sim_worker_join(struct sim_after a, struct sim_after b);
bool sim_worker_is_idle(void);
void sim_worker_wait(struct sim_after after); /* without the lock */
void sim_worker_deliver_soon(void);
struct sim_after sim_worker_everything(void);
void sim_worker_reset_after_fork(void);

/* sim_activity.c: modelled work, delivered to log and tool once its time is over. */
bool sim_activity_is_wanted(void);
void sim_activity_add(const struct simcuda_activity *activity);
void sim_activity_deliver(bool to_tool);
bool sim_activity_is_pending(void);
void sim_activity_reset_after_fork(void);

/* sim_meeting.c: kernels that end when other processes have come. The settling functions wait and
 * give up the lock meanwhile. */
bool sim_meeting_is_next(const void *kernel);
CUresult sim_meeting_open(struct sim_stream *stream, const struct simcuda_activity *activity);
void sim_meeting_settle_stream(const struct sim_stream *stream);
void sim_meeting_settle_context(const struct sim_context *context);
bool sim_meeting_is_open(const struct sim_stream *stream);
void sim_meeting_poll(void);
void sim_meeting_reset_after_fork(void);

/* sim_memory.c, sim_heap.c */
bool sim_heap_reserve(struct sim_heap *heap, size_t bytes);
struct sim_range *sim_heap_take(struct sim_heap *heap, size_t bytes);
void sim_heap_give(struct sim_heap *heap, struct sim_range *block);
struct sim_range *sim_memory_find(uint64_t address); /* the range that holds it, or NULL */
/* Where `bytes` at `address` really are; false when they run over the end of known memory. A host
 * address that the driver does not know is SIM_PAGEABLE and is where it says. */
struct sim_place {
	void *bytes;
	enum sim_memory_kind kind;
	struct sim_device *device;
	int node; /* of the host's memory, or SIM_MACHINE_NONE */
};
bool sim_memory_place(uint64_t address, size_t bytes, struct sim_place *place);
CUresult sim_memory_take(struct sim_context *context, size_t bytes, struct sim_range **taken);
struct sim_range *sim_memory_take_global(struct sim_context *context, size_t bytes); /* not live */
void sim_memory_give(struct sim_range *range);
void sim_memory_know(struct sim_range *range, struct sim_context *context,
		     enum sim_memory_kind kind);
void sim_memory_forget(struct sim_range *range);
bool sim_memory_overlaps(uint64_t address, size_t bytes);
void sim_memory_know_free_standing(struct sim_range *range, struct sim_device *device,
				   enum sim_memory_kind kind);

/* sim_live.c: the truth about live memory. */
void sim_live_add(struct sim_device *device, enum sim_live_kind kind, size_t bytes);
void sim_live_sub(struct sim_device *device, enum sim_live_kind kind, size_t bytes);
enum sim_live_kind sim_live_kind_of(const struct sim_range *range);
size_t sim_live_occupied(const struct sim_device *device);
size_t sim_live_free(const struct sim_device *device);
bool sim_live_has_room(const struct sim_device *device, size_t bytes);
void sim_live_write(struct sim_call *call);

/* sim_memory_pool.c */
void sim_pool_memory_give(struct sim_range *range);
/* Gives chunks that are wholly free back to the device, down to the thresholds, or all of them. */
bool sim_pool_memory_release(struct sim_device *device, bool all);

/* sim_array.c: an array lies row by row in device memory. */
struct sim_array {
	struct sim_object object;
	struct sim_array *next;
	struct sim_context *context;
	struct sim_device *device;
	struct sim_range *range; /* NULL: a level of `parent` */
	struct sim_array *parent;
	CUDA_ARRAY3D_DESCRIPTOR description;
	size_t row_bytes, rows, slices, offset; /* slices: depth or layers */
	size_t bytes;
	unsigned levels; /* of a mipmapped one, else 0 */
	struct sim_array *level_arrays[16];
};
struct sim_array *sim_array_find(CUarray handle);
uint64_t sim_array_address(const struct sim_array *array);
void sim_array_drop_context(const struct sim_context *context);

/* sim_vmm.c */
void sim_vmm_forget(struct sim_range *range);
/* sim_ipc.c */
void sim_ipc_forget(struct sim_range *range);
void sim_memory_drop_context(const struct sim_context *context);

/* sim_image.c: kernel names inside a cubin or fatbin, where they can be read. */
struct sim_image *sim_image_open(const void *data);
void sim_image_close(struct sim_image *image);
bool sim_image_has_kernel(const struct sim_image *image, const char *name,
			  int *static_shared_bytes);
bool sim_image_find_global(const struct sim_image *image, const char *name, size_t *bytes,
			   const void **initial);
unsigned sim_image_kernel_count(const struct sim_image *image);
const char *sim_image_kernel_name(const struct sim_image *image, unsigned index);

/* sim_module.c */
struct sim_function *sim_module_function(CUfunction handle);
void sim_module_drop_context(struct sim_context *context);

/* sim_lookup.c */
CUresult sim_lookup_find(const char *name, void **function, int version, cuuint64_t flags,
			 CUdriverProcAddressQueryResult *status);

#endif
