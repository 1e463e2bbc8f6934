/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-made recordings for tests of model and rules. Two levels: records with explicit times, and a
 * tiny machine with a host clock and one in-order stream per device that makes plausible times by
 * itself. Times are nanoseconds, the same for host and GPU.
 */
#ifndef GPUTRACE_TESTS_MODEL_SCRIPT_H
#define GPUTRACE_TESTS_MODEL_SCRIPT_H

#include "model.h"

struct script;

/* gpu_name NULL: no device is described. */
struct script *script_new(const char *gpu_name, uint32_t sm_count, uint16_t link_gen,
			  uint16_t link_width);
void script_free(struct script *script);
/* Builds the model; the script must outlive it. Fails the test when the model cannot be built. */
struct model *script_model(struct script *script);
/* What it is built from. */
struct model_source script_source(struct script *script);
struct trace_health *script_health(struct script *script);
void script_info(struct script *script, const char *key, const char *value);
struct record_device *script_device(struct script *script, size_t index);

/* Another GPU, ordinal 1 and so on, on NUMA node 0. */
struct record_device *script_add_device(struct script *script, const char *gpu_name,
					uint16_t link_gen, uint16_t link_width);
/* What the next records have beside their arguments: CUPTI's stream number (7 at first), and of
 * copies the addresses, the stream's handle and the other GPU (nothing recorded at first). */
void script_use_stream(struct script *script, uint32_t stream);
/* Handle of the stream of the next launches; 0 at first, the legacy default stream. */
void script_use_launch_stream(struct script *script, uint64_t stream);
void script_use_copy(struct script *script, uint64_t source, uint64_t destination, uint64_t stream,
		     uint32_t peer_device);

/* ---- records with explicit times ---- */

struct script_call {
	int64_t begin_ns, end_ns;
	uint32_t thread;
	const char *api;
	uint64_t site;
	uint32_t parent_id;   /* 0 outermost */
	uint32_t correlation; /* 0: none */
	uint16_t flags;
	int32_t status;
	uint32_t device;
	uint64_t backing; /* of a memory record: a pool, a handle */
};
/* All return the call id. */
uint32_t script_add_launch(struct script *script, const struct script_call *call,
			   const char *kernel);
uint32_t script_add_copy(struct script *script, const struct script_call *call, uint8_t direction,
			 uint64_t bytes, uint8_t source_kind, uint8_t destination_kind);
uint32_t script_add_sync(struct script *script, const struct script_call *call, uint32_t scope);
uint32_t script_add_memory(struct script *script, const struct script_call *call, uint8_t op,
			   uint8_t kind, uint64_t address, uint64_t bytes);
uint32_t script_add_gemm(struct script *script, const struct script_call *call,
			 const struct record_gemm *gemm);
uint32_t script_add_plain(struct script *script, const struct script_call *call);
/* A call of any other kind; its common part is filled in. */
uint32_t script_add_call_record(struct script *script, const struct script_call *call,
				uint16_t kind, void *record, size_t bytes);
void script_add_mark(struct script *script, const char *name, int64_t begin_ns, int64_t end_ns);
/* source: enum mark_source */
void script_add_mark_of(struct script *script, uint8_t source, const char *name, int64_t begin_ns,
			int64_t end_ns);
/* A site of one Python frame: "function\x1f" "file". */
void script_add_site(struct script *script, uint64_t id, const char *python);
/* A site of several, the innermost first; line i + 1 for frame i. Frames that do not hold a "\x1f"
 * have a type of their own: "?" FRAME_TRUNCATED, "^" FRAME_WAITING, else FRAME_OPERATOR. */
void script_add_stack(struct script *script, uint64_t id, const char *const *frames,
		      uint32_t count);
/* A site of native return addresses, the innermost first. */
void script_add_native(struct script *script, uint64_t id, const uint64_t *addresses,
		       uint32_t count);
/* Any other record of a fixed size, from the collector; its head is filled in. */
void script_add_record(struct script *script, uint16_t kind, void *record, size_t bytes);
void script_add_block(struct script *script, const struct record_block *block);
void script_add_kernel(struct script *script, uint32_t device, const char *name,
		       uint32_t correlation, int64_t begin_ns, int64_t end_ns);
void script_add_gpu_copy(struct script *script, uint32_t device, uint8_t direction, uint64_t bytes,
			 uint8_t source_kind, uint8_t destination_kind, uint32_t correlation,
			 int64_t begin_ns, int64_t end_ns);
void script_add_gpu_set(struct script *script, uint32_t device, uint64_t bytes,
			uint32_t correlation, int64_t begin_ns, int64_t end_ns);
uint32_t script_next_correlation(struct script *script);

/* ---- the tiny machine: thread 1, device 0 ---- */

struct machine {
	struct script *script;
	int64_t host_ns;		 /* now, on the host */
	int64_t stream_ns;		 /* when the stream is free */
	int64_t launch_ns;		 /* what a launch costs the host; default 5 us */
	double pinned_gbs, pageable_gbs; /* default 25 and 10 */
	uint64_t site;			 /* of the next calls */
};
void machine_init(struct machine *machine, struct script *script);
void machine_kernel(struct machine *machine, const char *name, int64_t gpu_ns);
/* cublasGemmEx around a launch of `kernel`. */
void machine_gemm(struct machine *machine, const struct record_gemm *gemm, const char *kernel,
		  int64_t gpu_ns);
/* cudnnConvolutionForward around a launch of `kernel`. */
void machine_conv(struct machine *machine, const struct record_conv *conv, const char *kernel,
		  int64_t gpu_ns);
/* cudaMemcpyAsync, or cudaMemcpy when is_blocking. host_kind: MEMORY_PINNED or _PAGEABLE. */
void machine_copy(struct machine *machine, uint8_t direction, uint64_t bytes, uint8_t host_kind,
		  bool is_blocking);
void machine_sync(struct machine *machine, const char *api, uint32_t scope);
void machine_work(struct machine *machine, int64_t host_ns); /* the host does something else */

/* Column-major fp16 product with packed, aligned operands: A opT, B opN, as a torch linear layer.
 */
struct record_gemm script_gemm_f16(uint32_t m, uint32_t n, uint32_t k);
/* Forward convolution of fp16 images with filters of 3 x 3 that keep their size, channels last. */
struct record_conv script_conv_f16(uint32_t batch, uint32_t channels_in, uint32_t channels_out,
				   uint32_t width);

#endif
