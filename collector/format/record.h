/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records: what the shim writes into a ring, what a trace file holds, what the viewer reads.
 *
 * Every record starts with struct record_head, is a multiple of 8 bytes long and little-endian.
 * Host times are ticks of ring_control.clock_kind; GPU times are nanoseconds of the GPU clock
 * (CUPTI's). CLOCK records tie the two and the calendar together; only the reader converts.
 * Unknown is 0 unless a field says otherwise. FORMAT.md has the same tables with their history.
 */
#ifndef GPUTRACE_FORMAT_RECORD_H
#define GPUTRACE_FORMAT_RECORD_H

#include <assert.h>
#include <stdint.h>

enum record_kind {
	RECORD_PAD = 0, /* fills the end of a ring before it wraps; never in a file */
#define RECORD(number, name, layout) RECORD_KIND_##name = number,
#include "record.def"
#undef RECORD
	RECORD_KIND_LIMIT = 64 /* kinds are below this */
};

struct record_head {
	uint16_t kind;	     /* enum record_kind */
	uint16_t size_bytes; /* whole record, multiple of 8 */
	uint32_t reserved;
};

/* ---- what names and describes ---- */

enum name_space {
	NAME_API = 1,	 /* function name of an intercepted call, e.g. "cudaMemcpyAsync" */
	NAME_KERNEL = 2, /* mangled kernel name */
	NAME_PYTHON = 3, /* "function\x1f/path/file.py" */
	NAME_CLASS = 4,	 /* library and operation of an imported event, e.g. "aten::mm" */
	NAME_MARK = 5,	 /* text of a range, of its domain or category */
};

struct record_name {
	struct record_head head;
	uint64_t id;	/* number used by other records, unique in its space; never 0 */
	uint16_t space; /* enum name_space */
	uint16_t reserved0;
	uint32_t text_bytes; /* without NUL; bytes as found, not always UTF-8 */
	char text[];
};

/* Facts about a session. Keys are dotted lower case; the list with meanings is in FORMAT.md. */
struct record_info {
	struct record_head head;
	uint16_t key_bytes;
	uint16_t reserved0;
	uint32_t value_bytes;
	char text[]; /* key, then value, neither NUL terminated */
};

enum device_flag {
	DEVICE_SIMULATED = 1 /* the gputrace simulated stack: every time of it is modelled */
};

struct record_device {
	struct record_head head;
	uint32_t ordinal; /* as CUDA counts in this process */
	uint32_t flags;	  /* enum device_flag */
	uint64_t memory_bytes;
	uint32_t sm_count;
	uint32_t clock_khz; /* maximum SM clock */
	uint16_t cc_major, cc_minor;
	uint32_t pci_domain;
	uint16_t pci_bus, pci_device;
	int32_t numa_node;	       /* -1 unknown */
	uint16_t link_gen, link_width; /* most that was seen, generation under load; 0 unknown */
	uint16_t link_gen_max, link_width_max; /* what device and slot can do; 0 unknown */
	uint8_t uuid[16];
	uint32_t name_bytes;
	uint32_t reserved0;
	char name[];
};

/* One instant on several clocks. gpu_ns 0: that clock was not read. */
struct record_clock {
	struct record_head head;
	uint64_t ticks;
	uint64_t realtime_ns;  /* CLOCK_REALTIME */
	uint64_t monotonic_ns; /* CLOCK_MONOTONIC_RAW */
	uint64_t gpu_ns;       /* cuptiGetTimestamp */
};

struct record_thread {
	struct record_head head;
	uint32_t thread;    /* number used by chunks of this file */
	uint32_t thread_id; /* Linux tid */
	uint64_t begin_ticks;
	uint32_t name_bytes;
	uint32_t reserved0;
	char name[];
};

struct record_library {
	struct record_head head;
	uint64_t address; /* of the mapping */
	uint64_t size_bytes;
	uint64_t file_offset;
	uint64_t first_seen_ticks;
	uint8_t build_id[20]; /* zeros: none */
	uint32_t path_bytes;
	char path[];
};

enum frame_type {
	FRAME_NATIVE = 1,    /* value: return address */
	FRAME_PYTHON = 2,    /* value: NAME_PYTHON number, line set */
	FRAME_TRUNCATED = 3, /* the walk was cut here */
	FRAME_OPERATOR = 4,  /* value: NAME_CLASS number, an operator such as "aten::item" */
	FRAME_WAITING = 5,   /* the Python frames after this one are those of the thread that waits
			      * for this one: autograd runs backward() on threads without such */
	FRAME_FORWARD = 6    /* the frames after this one are those of the forward operator that
			      * this one, of the backward pass, belongs to */
};

struct site_frame {
	uint32_t type; /* enum frame_type */
	uint32_t line; /* Python: 1-based line, 0 unknown */
	uint64_t value;
};

/* Frames from the innermost outwards. */
struct record_site {
	struct record_head head;
	uint64_t id; /* hash of the frames; 0 is never used: "no site" */
	uint32_t frame_count;
	uint32_t reserved0;
	struct site_frame frames[];
};

enum loss_reason {
	LOSS_RING_FULL = 1, /* the ring was full */
	LOSS_NO_RING = 2,   /* the thread got no ring */
	LOSS_CUPTI = 3,	    /* CUPTI reported dropped records */
	LOSS_ZERO_TIME = 4, /* GPU record without times */
	LOSS_BAD_TIME = 5,  /* GPU record with impossible times */
	LOSS_DAMAGED = 6,   /* the collector found an invalid record and skipped the rest */
	LOSS_WRITE = 7,	    /* the file could not take them (disk full) */
	LOSS_IMPORT = 8,    /* an imported event that could not be read */
};

struct record_loss {
	struct record_head head;
	uint64_t ticks;
	uint64_t count;
	uint16_t lost_kind; /* enum record_kind, 0 unknown */
	uint16_t reason;    /* enum loss_reason */
	uint32_t reserved0;
};

/* What the collector sampled; SAMPLE(number, name, unit, about). */
enum sample_metric {
#define SAMPLE(number, name, unit, about) SAMPLE_##name = number,
#include "sample.def"
#undef SAMPLE
	SAMPLE_METRIC_LIMIT
};

struct record_sample {
	struct record_head head;
	uint64_t ticks;
	int64_t value;	  /* in the metric's unit (sample.def) */
	uint32_t subject; /* device ordinal, Linux tid, or 0: the metric says which */
	uint16_t metric;  /* enum sample_metric */
	uint16_t reserved0;
};

/* Some pages of one host buffer, asked for their NUMA node; an estimate for the whole buffer. */
struct record_pages {
	struct record_head head;
	uint64_t ticks;
	uint64_t address;
	uint64_t size_bytes;
	uint32_t pages_sampled; /* that had a node */
	uint32_t pages_on_node; /* of these on `node` */
	int32_t node;		/* the one with the most pages, -1 unknown */
	uint32_t device;	/* ordinal of the GPU it is copied to or from, DEVICE_UNKNOWN */
};

/* ---- what the host called ---- */

enum call_flag {
	CALL_ASYNC = 1,	   /* returned without waiting for the GPU, as far as the API says */
	CALL_CAPTURED = 2, /* recorded into a graph under capture, not executed */
	CALL_NO_TIMES = 4, /* end_ticks was not measured */
	CALL_PER_THREAD_STREAM = 8 /* stream 0 means the per-thread default stream */
};

/* Common part of every host call; the payload, if any, follows it. */
struct call_part {
	struct record_head head;
	uint64_t begin_ticks;
	uint64_t end_ticks;
	uint64_t site;	      /* record_site.id, 0 unknown */
	uint32_t call_id;     /* counts per thread from 1; with the thread it names the call */
	uint32_t parent_id;   /* call_id of the enclosing intercepted call, 0 outermost */
	uint32_t correlation; /* CUPTI's id, 0 unknown */
	int32_t status;	      /* the library's own result code, 0 success */
	uint16_t api;	      /* NAME_API number */
	uint16_t flags;	      /* enum call_flag */
	uint32_t device;      /* current device ordinal, UINT32_MAX unknown */
};
#define DEVICE_UNKNOWN UINT32_MAX

struct record_call {
	struct call_part call;
	uint64_t object; /* stream, event, module, ... handle */
};

enum sync_scope { SYNC_DEVICE = 1, SYNC_STREAM, SYNC_EVENT };

struct record_sync {
	struct call_part call;
	uint64_t object; /* stream or event handle, 0 for the device or default stream */
	uint32_t scope;	 /* enum sync_scope */
	uint32_t reserved0;
};

enum memory_kind {
	MEMORY_UNKNOWN = 0,
	MEMORY_PAGEABLE = 1,
	MEMORY_PINNED = 2,
	MEMORY_DEVICE = 3,
	MEMORY_ARRAY = 4,
	MEMORY_MANAGED = 5,
	MEMORY_POOL = 6,     /* stream-ordered pool */
	MEMORY_PHYSICAL = 7, /* cuMemCreate */
	MEMORY_RESERVED = 8, /* address range without memory */
	MEMORY_IMPORTED = 9, /* another process's memory */
};

enum copy_direction {
	COPY_UNKNOWN = 0,
	COPY_H2D = 1,
	COPY_D2H = 2,
	COPY_D2D = 3,
	COPY_H2H = 4,
	COPY_PEER = 5
};

struct record_copy {
	struct call_part call;
	uint64_t destination;
	uint64_t source;
	uint64_t size_bytes;
	uint64_t stream;
	uint8_t direction;   /* enum copy_direction */
	uint8_t source_kind; /* enum memory_kind, as far as the shim knows */
	uint8_t destination_kind;
	uint8_t reserved0;
	uint32_t peer_device; /* destination device of COPY_PEER, else DEVICE_UNKNOWN */
};

struct record_set {
	struct call_part call;
	uint64_t destination;
	uint64_t size_bytes;
	uint64_t stream;
};

struct record_launch {
	struct call_part call;
	uint64_t kernel; /* NAME_KERNEL number, 0 unknown */
	uint64_t stream;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes; /* dynamic */
	uint32_t launch_flags; /* 1 cooperative, 2 graph, 4 host function */
};

/* Element types of matrix operands, independent of cudaDataType_t. */
enum element_type {
	ELEMENT_UNKNOWN = 0,
	ELEMENT_F64 = 1,
	ELEMENT_F32 = 2,
	ELEMENT_TF32 = 3,
	ELEMENT_F16 = 4,
	ELEMENT_BF16 = 5,
	ELEMENT_F8E4M3 = 6,
	ELEMENT_F8E5M2 = 7,
	ELEMENT_I8 = 8,
	ELEMENT_I32 = 9,
	ELEMENT_C64 = 10 /* two f32 */,
	ELEMENT_C128 = 11 /* two f64 */,
	ELEMENT_F4 = 12
};

/* Column-major as cuBLAS means it: C(m x n) = op(A)(m x k) * op(B)(k x n). */
struct record_gemm {
	struct call_part call;
	uint64_t a, b, c; /* pointers; batched by array of pointers: 0 */
	uint64_t stream;
	int64_t stride_a, stride_b, stride_c; /* elements, strided batches */
	uint32_t m, n, k;
	uint32_t lda, ldb, ldc;
	uint32_t batch;	    /* >= 1 */
	uint8_t op_a, op_b; /* 'N', 'T', 'C'; 0 unknown: imported without strides */
	uint8_t type_a, type_b, type_c, type_compute; /* enum element_type */
	uint8_t math_flags; /* 1: TF32 allowed on f32, 2: pedantic asked for */
	uint8_t reserved0;
	uint32_t epilogue; /* cublasLtEpilogue_t: what is done to the result; 0 not told, 1 nothing
			    */
};

enum mark_type {
	MARK_RANGE = 1,	 /* opened and closed by the same thread, nested there */
	MARK_SPAN = 2,	 /* start and end may be on different threads; need not nest */
	MARK_INSTANT = 3 /* end_ticks == begin_ticks */
};

enum mark_source { MARK_NVTX = 1, MARK_TORCH = 2, MARK_API = 3, MARK_OWN = 4 };
#define MARK_OWN_DOMAIN	   "gputrace" /* OWN: a time that was not recorded; its names: */
#define MARK_RECORDING_OFF "recording off"
#define MARK_KERNELS_OFF   "kernel times off" /* of what is launched in it */
#define MARK_GPU_OFF	   "GPU times off"    /* no record of the GPU at all */

/* A step is a mark whose name says so ("ProfilerStep#12"); the model decides. */
struct record_mark {
	struct record_head head;
	uint64_t begin_ticks;
	uint64_t end_ticks; /* 0: never closed in this recording */
	uint64_t name;	    /* NAME_MARK number */
	uint64_t domain;    /* NAME_MARK number, 0 the default domain */
	uint64_t value;	    /* integer payload, 0 none; NCCL's marks: bytes */
	uint8_t type;	    /* enum mark_type */
	uint8_t source;	    /* enum mark_source */
	uint16_t reserved0;
	uint32_t category;     /* as the program numbers them, 0 none */
	uint64_t communicator; /* NCCL's marks: its hash, 0 none */
	uint32_t peer;	       /* NCCL's marks: root or peer rank; MARK_NO_PEER none */
	uint32_t reserved1;
};
#define MARK_NO_PEER UINT32_MAX

enum block_op {
	BLOCK_ALLOC = 1,	  /* a block was handed out */
	BLOCK_FREE = 2,		  /* a block may be used again */
	BLOCK_FREE_REQUESTED = 3, /* given back, still used by a stream */
	BLOCK_SEGMENT_ALLOC = 4,  /* memory taken from the driver */
	BLOCK_SEGMENT_FREE = 5,
	BLOCK_SEGMENT_MAP = 6, /* an expandable segment grew */
	BLOCK_SEGMENT_UNMAP = 7,
	BLOCK_OUT_OF_MEMORY = 8, /* size_bytes: the request; address: what the driver had free */
	/* What there was at one instant (a snapshot), in address order; blocks follow their
	   segment. */
	BLOCK_HELD_SEGMENT = 16,
	BLOCK_HELD_LIVE = 17,	 /* handed out */
	BLOCK_HELD_PENDING = 18, /* given back, still used by a stream */
	BLOCK_HELD_FREE = 19	 /* cached */
};

enum block_flag {
	BLOCK_SMALL_POOL = 1,	/* of the pool for small blocks */
	BLOCK_PRIVATE_POOL = 2, /* of a pool of its own (CUDA graphs, user pools) */
	BLOCK_EXPANDABLE = 4	/* of an expandable segment */
};

struct record_block {
	struct record_head head;
	uint64_t ticks;
	uint64_t site; /* record_site.id, 0 unknown */
	uint64_t address;
	uint64_t size_bytes;	  /* as rounded by the allocator */
	uint64_t requested_bytes; /* as asked for, 0 unknown */
	uint64_t stream;
	uint64_t allocated_bytes; /* the allocator's total after this event, 0 unknown */
	uint64_t reserved_bytes;  /* likewise */
	uint32_t device;
	uint8_t op;    /* enum block_op */
	uint8_t flags; /* enum block_flag */
	uint16_t reserved0;
};

enum communicator_op {
	COMMUNICATOR_INIT = 1,	/* joined */
	COMMUNICATOR_SPLIT = 2, /* made from another one */
	COMMUNICATOR_FINALIZE = 3,
	COMMUNICATOR_DESTROY = 4,
	COMMUNICATOR_ABORT = 5
};

/* hash names the communicator on all its ranks: of the ncclUniqueId, or of parent, color and
 * the count of splits before. */
struct record_communicator {
	struct call_part call;
	uint64_t handle; /* ncclComm_t */
	uint64_t hash;	 /* 0 unknown */
	uint64_t parent; /* hash of the parent of a split, else 0 */
	uint32_t rank;
	uint32_t rank_count;
	uint32_t device; /* ordinal the rank uses */
	uint8_t op;	 /* enum communicator_op */
	uint8_t reserved0;
	uint16_t reserved1;
};

enum collective_op {
	COLLECTIVE_ALL_REDUCE = 1,
	COLLECTIVE_BROADCAST = 2,
	COLLECTIVE_REDUCE = 3,
	COLLECTIVE_ALL_GATHER = 4,
	COLLECTIVE_REDUCE_SCATTER = 5,
	COLLECTIVE_ALL_TO_ALL = 6,
	COLLECTIVE_GATHER = 7,
	COLLECTIVE_SCATTER = 8,
	COLLECTIVE_SEND = 9,
	COLLECTIVE_RECV = 10
};

enum collective_flag { COLLECTIVE_GROUPED = 1 /* between ncclGroupStart and ncclGroupEnd */ };

struct record_collective {
	struct call_part call;
	uint64_t communicator;	/* handle */
	uint64_t hash;		/* of the communicator, 0 unknown */
	uint64_t send, receive; /* addresses, 0 none */
	uint64_t count;		/* elements as passed */
	uint64_t
		size_bytes; /* payload of this rank: the larger of what it gives and what it gets */
	uint64_t stream;
	uint32_t sequence; /* counts the communicator's collectives from 1, messages per peer */
	uint32_t group;	   /* groups of this thread from 1, 0 not grouped */
	uint32_t peer;	   /* root or peer rank; MARK_NO_PEER none */
	uint8_t op;	   /* enum collective_op */
	uint8_t element;   /* ncclDataType_t */
	uint8_t reduction; /* ncclRedOp_t; 0 also where none applies */
	uint8_t flags;	   /* enum collective_flag */
};

enum graph_op {
	GRAPH_CAPTURE_BEGIN = 1,
	GRAPH_CAPTURE_END = 2, /* graph: what was captured, nodes counted where the API tells */
	GRAPH_CREATE = 3,      /* built by hand, or a clone */
	GRAPH_INSTANTIATE = 4, /* graph -> executable */
	GRAPH_UPDATE = 5,
	GRAPH_UPLOAD = 6,
	GRAPH_LAUNCH = 7,
	GRAPH_DESTROY = 8,
	GRAPH_EXEC_DESTROY = 9
};

struct record_graph {
	struct call_part call;
	uint64_t graph;	     /* CUgraph, 0 unknown */
	uint64_t executable; /* CUgraphExec, 0 none */
	uint64_t stream;
	uint64_t capture_site; /* INSTANTIATE and LAUNCH: site of the capture, 0 unknown */
	uint32_t node_count;   /* 0 unknown */
	uint32_t kernel_nodes, copy_nodes, set_nodes; /* 0 also when unknown */
	uint32_t graph_id; /* CUPTI's number of the executable, 0 unknown */
	uint8_t op;	   /* enum graph_op */
	uint8_t reserved0;
	uint16_t reserved1;
};

static_assert(sizeof(struct record_head) == 8, "record_head");
static_assert(sizeof(struct call_part) == 56, "call_part");
static_assert(sizeof(struct record_copy) == 96, "record_copy");
static_assert(sizeof(struct record_launch) == 104, "record_launch");
static_assert(sizeof(struct record_gemm) == 152, "record_gemm");
static_assert(sizeof(struct record_sample) == 32, "record_sample");
static_assert(sizeof(struct record_pages) == 48, "record_pages");
static_assert(sizeof(struct record_communicator) == 96, "record_communicator");
static_assert(sizeof(struct record_collective) == 128, "record_collective");
static_assert(sizeof(struct record_graph) == 112, "record_graph");
static_assert(sizeof(struct record_mark) == 72, "record_mark");
static_assert(sizeof(struct record_block) == 80, "record_block");
#include "record_conv.h"
#include "record_gpu.h"
#include "record_memory.h"
#include "record_total.h"

#endif
