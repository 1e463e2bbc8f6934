/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_long_trace EVENTS FILE: the trace of a long training job, written piece by piece through the
 * trace writer, so that its size costs no memory. A step uploads a batch, launches the forward pass
 * on one thread and the backward pass on another, reduces gradients on a second stream, runs an
 * optimizer and reads the loss back; every 64th step waits for its data. The GPU works through its
 * streams in order, 17 us per kernel. Times vary, by a fixed sequence of random numbers.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "trace_file.h"
#include "trace_writer.h"

#define FORWARD_CALLS	180
#define BACKWARD_CALLS	300
#define OPTIMIZER_CALLS 50
#define KERNELS		40 /* beside the products and the optimizer */
#define PRODUCT_EVERY	6  /* one call of so many is a matrix product */
#define SITES		600
#define SLOW_STEP	64
#define SAMPLE_NS	100000000u
#define STREAM		0x55810000u

enum { THREAD_MAIN = 1, THREAD_BACKWARD, THREAD_GPU, THREAD_COUNT };
enum { API_LAUNCH = 1, API_GEMM, API_COPY, API_SET, API_SYNC, API_MALLOC };
enum { KERNEL_PRODUCT = 1, KERNEL_STEP, KERNEL_REDUCE, KERNEL_FIRST };
enum { GPU_COMPUTE = 7, GPU_COMM = 13 };

/* What one thread has recorded since it was last drained. */
struct outbox {
	uint8_t bytes[1u << 20];
	size_t used;
	uint32_t calls; /* numbered so far */
};

struct job {
	struct trace_writer *writer;
	struct error err;
	struct outbox *boxes; /* by thread */
	uint64_t events, wanted;
	uint64_t now_ns;	      /* of the host */
	uint64_t compute_ns, comm_ns; /* until when the streams are busy */
	uint64_t next_sample_ns;
	uint32_t correlation;
	uint64_t random;
};

static int die(const struct error *err)
{
	fprintf(stderr, "make_long_trace: %s\n", err->text);
	exit(1);
}

static uint32_t random_below(struct job *job, uint32_t limit)
{
	job->random ^= job->random << 13;
	job->random ^= job->random >> 7;
	job->random ^= job->random << 17;
	return (uint32_t)(job->random >> 32) % limit;
}

static void drain(struct job *job, uint32_t thread)
{
	struct outbox *box = &job->boxes[thread];

	if (box->used &&
	    trace_writer_add(job->writer, thread, box->bytes, box->used, &job->err) < 0)
		die(&job->err);
	box->used = 0;
}

static void put(struct job *job, uint32_t thread, uint16_t kind, void *record, size_t bytes)
{
	struct outbox *box = &job->boxes[thread];
	struct record_head *head = record;

	*head = (struct record_head){kind, (uint16_t)bytes, 0};
	if (box->used + bytes > sizeof(box->bytes))
		drain(job, thread);
	memcpy(box->bytes + box->used, record, bytes);
	box->used += bytes;
	job->events++;
}

/* The host's clock goes on by a call's gap and length. */
static struct call_part begin_call(struct job *job, uint32_t thread, uint16_t api, uint32_t site)
{
	struct call_part call = {.api = api, .site = (site + 1) * 0x9e3779b97f4a7c15ull};

	job->now_ns += 2500 + random_below(job, 1500);
	call.begin_ticks = job->now_ns;
	job->now_ns += 3000 + random_below(job, 2500);
	call.end_ticks = job->now_ns;
	call.call_id = ++job->boxes[thread].calls;
	call.correlation = ++job->correlation;
	call.flags = CALL_ASYNC;
	return call;
}

static struct gpu_part begin_gpu(struct job *job, const struct call_part *call, uint32_t stream,
				 uint64_t length_ns)
{
	uint64_t *busy_ns = stream == GPU_COMM ? &job->comm_ns : &job->compute_ns;
	uint64_t begin_ns = call->begin_ticks + 4000;

	if (begin_ns < *busy_ns + 900)
		begin_ns = *busy_ns + 900;
	*busy_ns = begin_ns + length_ns;
	return (struct gpu_part){.begin_ns = begin_ns,
				 .end_ns = *busy_ns,
				 .correlation = call->correlation,
				 .context = 1,
				 .stream = stream};
}

static void launch(struct job *job, uint32_t thread, uint64_t kernel, uint32_t site,
		   uint32_t parent, uint64_t length_ns)
{
	struct record_launch host = {.call = begin_call(job, thread, API_LAUNCH, site),
				     .kernel = kernel,
				     .stream = STREAM,
				     .grid = {1 + (uint32_t)kernel % 7 * 128, 1, 1},
				     .block = {256, 1, 1}};
	struct record_gpu_kernel gpu = {.kernel = kernel,
					.grid = {1 + (uint32_t)kernel % 7 * 128, 1, 1},
					.block = {256, 1, 1},
					.registers = 64};

	host.call.parent_id = parent;
	gpu.gpu = begin_gpu(job, &host.call, kernel == KERNEL_REDUCE ? GPU_COMM : GPU_COMPUTE,
			    length_ns * (90 + random_below(job, 20)) / 100);
	put(job, thread, RECORD_KIND_launch, &host, sizeof(host));
	put(job, THREAD_GPU, RECORD_KIND_gpu_kernel, &gpu, sizeof(gpu));
}

static void product(struct job *job, uint32_t thread, uint32_t site)
{
	struct record_gemm gemm = {.call = begin_call(job, thread, API_GEMM, site),
				   .a = 0x7f2000000000u,
				   .b = 0x7f2010000000u,
				   .c = 0x7f2020000000u,
				   .stream = STREAM,
				   .m = 4096,
				   .n = 1024u << site % 3,
				   .k = 4096,
				   .lda = 4096,
				   .ldb = 4096,
				   .ldc = 4096,
				   .batch = 1,
				   .op_a = 'N',
				   .op_b = 'N',
				   .type_a = ELEMENT_BF16,
				   .type_b = ELEMENT_BF16,
				   .type_c = ELEMENT_BF16,
				   .type_compute = ELEMENT_F32};

	gemm.call.correlation = 0;
	/* The launch lies inside; it is recorded first because it returns first. */
	job->now_ns = gemm.call.begin_ticks;
	launch(job, thread, KERNEL_PRODUCT, site, gemm.call.call_id, 60000u << site % 3);
	job->now_ns += 400;
	gemm.call.end_ticks = job->now_ns;
	put(job, thread, RECORD_KIND_gemm, &gemm, sizeof(gemm));
}

static void pass(struct job *job, uint32_t thread, uint32_t calls, uint32_t first_site)
{
	for (uint32_t i = 0; i < calls; i++) {
		uint32_t site = (first_site + i) % SITES;

		if (i % PRODUCT_EVERY == 0)
			product(job, thread, site);
		else
			launch(job, thread, KERNEL_FIRST + site % KERNELS, site, 0,
			       6000 + site % 9 * 1500);
		if (thread == THREAD_BACKWARD && i % 100 == 99)
			launch(job, thread, KERNEL_REDUCE, site, 0, 700000);
	}
}

static void copy(struct job *job, uint8_t direction, uint64_t size_bytes, uint32_t site)
{
	bool is_up = direction == COPY_H2D;
	struct record_copy host = {.call = begin_call(job, THREAD_MAIN, API_COPY, site),
				   .destination = is_up ? 0x7f2000000000u : 0x55a000000000u,
				   .source = is_up ? 0x55a000000000u : 0x7f2000000000u,
				   .size_bytes = size_bytes,
				   .stream = STREAM,
				   .direction = direction,
				   .source_kind = is_up ? MEMORY_PINNED : MEMORY_DEVICE,
				   .destination_kind = is_up ? MEMORY_DEVICE : MEMORY_PINNED,
				   .peer_device = DEVICE_UNKNOWN};
	struct record_gpu_copy gpu = {.size_bytes = size_bytes,
				      .direction = direction,
				      .source_kind = host.source_kind,
				      .destination_kind = host.destination_kind,
				      .is_async = 1,
				      .peer_device = DEVICE_UNKNOWN};

	gpu.gpu = begin_gpu(job, &host.call, GPU_COMPUTE, 2000 + size_bytes / 24);
	put(job, THREAD_MAIN, RECORD_KIND_copy, &host, sizeof(host));
	put(job, THREAD_GPU, RECORD_KIND_gpu_copy, &gpu, sizeof(gpu));
}

static void clear_gradients(struct job *job)
{
	struct record_set host = {.call = begin_call(job, THREAD_MAIN, API_SET, 3),
				  .destination = 0x7f2030000000u,
				  .size_bytes = 64u << 20,
				  .stream = STREAM};
	struct record_gpu_set gpu = {.size_bytes = 64u << 20, .memory_kind = MEMORY_DEVICE};

	gpu.gpu = begin_gpu(job, &host.call, GPU_COMPUTE, 40000);
	put(job, THREAD_MAIN, RECORD_KIND_set, &host, sizeof(host));
	put(job, THREAD_GPU, RECORD_KIND_gpu_set, &gpu, sizeof(gpu));
}

static void wait_for_gpu(struct job *job)
{
	struct record_sync sync = {.call = begin_call(job, THREAD_MAIN, API_SYNC, 5),
				   .object = STREAM,
				   .scope = SYNC_STREAM};

	sync.call.flags = 0;
	if (job->now_ns < job->compute_ns + 5000)
		job->now_ns = job->compute_ns + 5000;
	sync.call.end_ticks = job->now_ns;
	put(job, THREAD_MAIN, RECORD_KIND_sync, &sync, sizeof(sync));
}

static void sample(struct job *job)
{
	for (; job->next_sample_ns < job->now_ns; job->next_sample_ns += SAMPLE_NS) {
		struct record_sample sample = {.ticks = job->next_sample_ns,
					       .value = 1410 - random_below(job, 3) * 15,
					       .metric = SAMPLE_sm_clock_mhz};

		put(job, THREAD_MAIN, RECORD_KIND_sample, &sample, sizeof(sample));
	}
}

static void step(struct job *job, uint64_t number)
{
	if (number % SLOW_STEP == SLOW_STEP - 1)
		job->now_ns += 90000000; /* the loader is late */
	copy(job, COPY_H2D, 12u << 20, 1);
	pass(job, THREAD_MAIN, FORWARD_CALLS, 10);
	pass(job, THREAD_BACKWARD, BACKWARD_CALLS, 200);
	for (uint32_t i = 0; i < OPTIMIZER_CALLS; i++)
		launch(job, THREAD_MAIN, KERNEL_STEP, 550, 0, 30000);
	clear_gradients(job);
	copy(job, COPY_D2H, 4, 4);
	wait_for_gpu(job);
	sample(job);
	for (uint32_t thread = 1; thread < THREAD_COUNT; thread++)
		drain(job, thread);
}

static void put_name(struct job *job, uint16_t space, uint64_t id, const char *text)
{
	if (trace_writer_name(job->writer, space, id, text, &job->err) < 0)
		die(&job->err);
}

static void describe_kernels(struct job *job)
{
	char text[80];

	put_name(job, NAME_KERNEL, KERNEL_PRODUCT, "sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n");
	put_name(job, NAME_KERNEL, KERNEL_STEP, "multi_tensor_apply_kernel_adam");
	put_name(job, NAME_KERNEL, KERNEL_REDUCE, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
	for (uint32_t i = 0; i < KERNELS; i++) {
		snprintf(text, sizeof(text), "elementwise_kernel_%c%c", 'a' + (int)i % 26,
			 'a' + (int)i / 26);
		put_name(job, NAME_KERNEL, KERNEL_FIRST + i, text);
	}
}

static void describe(struct job *job)
{
	static const char *const apis[] = {[API_LAUNCH] = "cudaLaunchKernel",
					   [API_GEMM] = "cublasGemmEx",
					   [API_COPY] = "cudaMemcpyAsync",
					   [API_SET] = "cudaMemsetAsync",
					   [API_SYNC] = "cudaStreamSynchronize"};
	struct record_clock clock = {.ticks = 1, .realtime_ns = 1700000000000000000u, .gpu_ns = 1};
	static const char name[] = "NVIDIA A100-SXM4-80GB";
	uint64_t bytes[32] = {0};
	struct record_device *device = (struct record_device *)bytes;
	struct record_site *site = (struct record_site *)bytes;

	put(job, THREAD_MAIN, RECORD_KIND_clock, &clock, sizeof(clock));
	*device = (struct record_device){.memory_bytes = 80ull << 30,
					 .sm_count = 108,
					 .clock_khz = 1410000,
					 .cc_major = 8,
					 .numa_node = -1,
					 .name_bytes = sizeof(name) - 1};
	memcpy(device->name, name, sizeof(name) - 1);
	put(job, THREAD_MAIN, RECORD_KIND_device, device, sizeof(*device) + 24);
	for (uint16_t api = API_LAUNCH; api <= API_SYNC; api++)
		put_name(job, NAME_API, api, apis[api]);
	describe_kernels(job);
	put_name(job, NAME_PYTHON, 1, "train_step\x1f/job/train.py");
	for (uint32_t i = 0; i < SITES; i++) {
		*site = (struct record_site){.id = (i + 1) * 0x9e3779b97f4a7c15ull,
					     .frame_count = 1};
		site->frames[0] =
			(struct site_frame){.type = FRAME_PYTHON, .line = i + 1, .value = 1};
		put(job, THREAD_MAIN, RECORD_KIND_site, site,
		    sizeof(*site) + sizeof(site->frames[0]));
	}
	drain(job, THREAD_MAIN);
	job->events = 0; /* these are none */
}

int main(int argc, char **argv)
{
	const struct trace_writer_options options = {.compression_level = 1,
						     .start_realtime_ns = 1700000000000000000u};
	struct job job = {.random = 88172645463325252u, .now_ns = 1000000};

	if (argc != 3 || (job.wanted = strtoull(argv[1], NULL, 10)) == 0) {
		fprintf(stderr, "usage: make_long_trace EVENTS FILE\n");
		return 2;
	}
	job.boxes = calloc(THREAD_COUNT, sizeof(*job.boxes));
	if (!job.boxes)
		return 1;
	unlink(argv[2]);
	if (trace_writer_create(AT_FDCWD, argv[2], &options, &job.writer, &job.err) < 0)
		die(&job.err);
	describe(&job);
	for (uint64_t number = 0; job.events < job.wanted; number++)
		step(&job, number);
	if (trace_writer_finish(job.writer, SESSION_EXITED, &job.err) < 0)
		die(&job.err);
	free(job.boxes);
	return 0;
}
