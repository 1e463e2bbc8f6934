/* SPDX-License-Identifier: Apache-2.0 */
/* A host clock, a GPU clock and a queue between them are enough to give every record its times. */
#include "training_trace.h"

#include <stdio.h>
#include <string.h>

#include "ring.h"

#define CLOCK_HZ	   2000000000ull /* two ticks per ns keep the arithmetic visible */
#define START_TICKS	   7000000000ull
#define START_REALTIME_NS  1767225600000000000ull /* 2026-01-01 */
#define START_MONOTONIC_NS 90000000000ull
#define START_GPU_NS	   1767225599000000000ull /* a second behind the calendar, on purpose */
#define STREAM_HANDLE	   0x5581aa00ull
#define THREAD		   1u
#define THREAD_ID	   4242u

#define US 1000ull
#define MS 1000000ull

enum name_id {
	API_MEMCPY_ASYNC = 1,
	API_LAUNCH,
	API_STREAM_SYNC,
	API_DEVICE_SYNC,
	API_MALLOC,
	API_GEMM,
	API_MEMSET_ASYNC,
};

enum kernel_id {
	KERNEL_GEMM = 0x100,
	KERNEL_GEMM_UNPADDED,
	KERNEL_ATTENTION,
	KERNEL_NORM,
	KERNEL_GELU,
	KERNEL_ADD,
	KERNEL_SOFTMAX,
	KERNEL_ADAM,
};

enum site_id {
	SITE_LOAD = 0x51,
	SITE_FORWARD,
	SITE_HEAD,
	SITE_LOSS,
	SITE_BACKWARD,
	SITE_STEP,
	SITE_SYNC,
	SITE_SETUP
};

struct training {
	struct trace_writer *writer;
	struct error *err;
	uint32_t flaws;
	int rc;
	uint64_t host_ns; /* since the start */
	uint64_t gpu_ns;  /* the stream is busy until then */
	uint32_t call_id;
	uint32_t correlation;
	uint64_t random;
	uint64_t next_clock_ns;
};

static uint64_t to_ticks(uint64_t ns)
{
	return START_TICKS + ns * (CLOCK_HZ / 1000000000ull);
}

/* Small repeatable jitter: real durations are never equal. */
static uint64_t jitter(struct training *t, uint64_t ns)
{
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	return ns - ns / 16 + (t->random >> 33) % (ns / 8 + 1);
}

static void add(struct training *t, const void *record)
{
	const struct record_head *head = record;

	if (t->rc == 0)
		t->rc = trace_writer_add(t->writer, THREAD, record, head->size_bytes, t->err);
}

static void add_clock(struct training *t)
{
	struct record_clock clock = {
		.head = {.kind = RECORD_KIND_clock, .size_bytes = sizeof(clock)},
		.ticks = to_ticks(t->host_ns),
		.realtime_ns = START_REALTIME_NS + t->host_ns,
		.monotonic_ns = START_MONOTONIC_NS + t->host_ns,
		.gpu_ns = t->flaws & TRAINING_NO_GPU_TIMES ? 0 : START_GPU_NS + t->host_ns,
	};

	add(t, &clock);
	trace_writer_complete(t->writer, clock.ticks);
	t->next_clock_ns = t->host_ns + 1000 * MS;
}

static struct call_part begin_call(struct training *t, uint16_t kind, size_t bytes, uint16_t api,
				   uint64_t site)
{
	return (struct call_part){
		.head = {.kind = kind, .size_bytes = (uint16_t)bytes},
		.begin_ticks = to_ticks(t->host_ns),
		.site = site,
		.call_id = ++t->call_id,
		.correlation = ++t->correlation,
		.api = api,
		.flags = CALL_ASYNC,
	};
}

static void end_call(struct training *t, struct call_part *call, uint64_t duration_ns)
{
	t->host_ns += jitter(t, duration_ns);
	call->end_ticks = to_ticks(t->host_ns);
}

/* Between two calls the program itself runs (Python). */
static void host_work(struct training *t, uint64_t ns)
{
	t->host_ns += jitter(t, ns);
}

static struct gpu_part gpu_work(struct training *t, uint16_t kind, size_t bytes,
				uint32_t correlation, uint64_t duration_ns)
{
	uint64_t begin_ns = t->gpu_ns > t->host_ns + 2 * US ? t->gpu_ns + 800 : t->host_ns + 2 * US;

	t->gpu_ns = begin_ns + jitter(t, duration_ns);
	return (struct gpu_part){
		.head = {.kind = kind, .size_bytes = (uint16_t)bytes},
		.begin_ns = START_GPU_NS + begin_ns,
		.end_ns = START_GPU_NS + t->gpu_ns,
		.correlation = correlation,
		.context = 1,
		.stream = 7,
	};
}

static void launch(struct training *t, uint64_t kernel, uint64_t site, uint32_t parent,
		   uint32_t blocks, uint64_t gpu_ns)
{
	struct record_launch launch = {.kernel = kernel,
				       .stream = STREAM_HANDLE,
				       .grid = {blocks, 1, 1},
				       .block = {256, 1, 1}};
	struct record_gpu_kernel gpu = {
		.kernel = kernel, .grid = {blocks, 1, 1}, .block = {256, 1, 1}, .registers = 64};

	launch.call = begin_call(t, RECORD_KIND_launch, sizeof(launch), API_LAUNCH, site);
	launch.call.parent_id = parent;
	gpu.gpu = gpu_work(t, RECORD_KIND_gpu_kernel, sizeof(gpu), launch.call.correlation, gpu_ns);
	end_call(t, &launch.call, 4 * US);
	add(t, &launch);
	if (!(t->flaws & TRAINING_NO_GPU_TIMES))
		add(t, &gpu);
	if (!parent)
		host_work(t, 3 * US);
}

static void gemm(struct training *t, uint64_t site, uint32_t m, uint32_t n, uint32_t k,
		 uint64_t gpu_ns)
{
	struct record_gemm gemm = {
		.a = 0x7f2000000000,
		.b = 0x7f2010000000,
		.c = 0x7f2020000000,
		.stream = STREAM_HANDLE,
		.m = m,
		.n = n,
		.k = k,
		.lda = m,
		.ldb = k,
		.ldc = m,
		.batch = 1,
		.op_a = 'N',
		.op_b = 'N',
		.type_a = ELEMENT_BF16,
		.type_b = ELEMENT_BF16,
		.type_c = ELEMENT_BF16,
		.type_compute = ELEMENT_F32,
	};
	uint32_t blocks = (m + 127) / 128 * ((n + 127) / 128);

	gemm.call = begin_call(t, RECORD_KIND_gemm, sizeof(gemm), API_GEMM, site);
	host_work(t, 2 * US);
	launch(t, m % 8 ? KERNEL_GEMM_UNPADDED : KERNEL_GEMM, site, gemm.call.call_id, blocks,
	       gpu_ns);
	end_call(t, &gemm.call, 2 * US);
	add(t, &gemm);
	host_work(t, 3 * US);
}

static void copy(struct training *t, uint8_t direction, uint64_t bytes, uint8_t host_kind,
		 uint64_t site, uint64_t ns_per_kib)
{
	uint64_t gpu_ns = 2 * US + bytes * ns_per_kib / 1024;
	int to_device = direction == COPY_H2D;
	struct record_copy copy = {
		.destination = to_device ? 0x7f2030000000 : 0x55a000001000,
		.source = to_device ? 0x55a000100000 : 0x7f2030000000,
		.size_bytes = bytes,
		.stream = STREAM_HANDLE,
		.direction = direction,
		.source_kind = to_device ? host_kind : MEMORY_DEVICE,
		.destination_kind = to_device ? MEMORY_DEVICE : host_kind,
		.peer_device = DEVICE_UNKNOWN,
	};
	struct record_gpu_copy gpu = {
		.size_bytes = bytes,
		.direction = direction,
		.source_kind = copy.source_kind,
		.destination_kind = copy.destination_kind,
		.is_async = 1,
		.peer_device = DEVICE_UNKNOWN,
	};

	copy.call = begin_call(t, RECORD_KIND_copy, sizeof(copy), API_MEMCPY_ASYNC, site);
	gpu.gpu = gpu_work(t, RECORD_KIND_gpu_copy, sizeof(gpu), copy.call.correlation, gpu_ns);
	/* A pageable source is staged: the call returns when most of it is on its way. */
	end_call(t, &copy.call, host_kind == MEMORY_PAGEABLE && to_device ? gpu_ns : 5 * US);
	add(t, &copy);
	if (!(t->flaws & TRAINING_NO_GPU_TIMES))
		add(t, &gpu);
	host_work(t, 10 * US);
}

static void synchronize(struct training *t, uint16_t api, uint32_t scope, uint64_t site)
{
	struct record_sync sync = {.object = scope == SYNC_STREAM ? STREAM_HANDLE : 0,
				   .scope = scope};

	sync.call = begin_call(t, RECORD_KIND_sync, sizeof(sync), api, site);
	sync.call.flags = 0;
	if (t->gpu_ns > t->host_ns)
		t->host_ns = t->gpu_ns;
	end_call(t, &sync.call, 4 * US);
	add(t, &sync);
}

static void layers(struct training *t, uint64_t site, int backward)
{
	uint64_t factor = backward ? 2 : 1;

	for (int layer = 0; layer < 12; layer++) {
		launch(t, KERNEL_NORM, site, 0, 1024, 30 * US * factor);
		gemm(t, site, 2304, 8192, 768, 180 * US * factor);
		launch(t, KERNEL_ATTENTION, site, 0, 768, 210 * US * factor);
		gemm(t, site, 768, 8192, 768, 70 * US * factor);
		launch(t, KERNEL_ADD, site, 0, 2048, 25 * US * factor);
		launch(t, KERNEL_NORM, site, 0, 1024, 30 * US * factor);
		gemm(t, site, 3072, 8192, 768, 230 * US * factor);
		launch(t, KERNEL_GELU, site, 0, 4096, 60 * US * factor);
		gemm(t, site, 768, 8192, 3072, 230 * US * factor);
		launch(t, KERNEL_ADD, site, 0, 2048, 25 * US * factor);
	}
}

static void mark_step(struct training *t, uint32_t step, uint64_t begin_ns)
{
	char text[32];
	struct record_mark mark = {
		.head = {.kind = RECORD_KIND_mark, .size_bytes = sizeof(mark)},
		.begin_ticks = to_ticks(begin_ns),
		.end_ticks = to_ticks(t->host_ns),
		.name = 0x1000 + step,
		.type = MARK_RANGE,
		.source = MARK_NVTX,
	};

	snprintf(text, sizeof(text), "step %u", step);
	if (t->rc == 0)
		t->rc = trace_writer_name(t->writer, NAME_MARK, mark.name, text, t->err);
	add(t, &mark);
}

static void train_step(struct training *t, uint32_t step)
{
	int pageable = t->flaws & TRAINING_PAGEABLE_COPY;
	int unpadded = t->flaws & TRAINING_UNPADDED_GEMM;
	uint32_t vocabulary = unpadded ? 50257 : 50304;
	uint64_t begin_ns = t->host_ns;

	host_work(t, 400 * US);
	copy(t, COPY_H2D, 24ull << 20, pageable ? MEMORY_PAGEABLE : MEMORY_PINNED, SITE_LOAD,
	     pageable ? 180 : 42);
	layers(t, SITE_FORWARD, 0);
	gemm(t, SITE_HEAD, vocabulary, 8192, 768, unpadded ? 5200 * US : 2900 * US);
	launch(t, KERNEL_SOFTMAX, SITE_LOSS, 0, 8192, 900 * US);
	if (t->flaws & TRAINING_SYNC_IN_LOOP) {
		copy(t, COPY_D2H, 4, MEMORY_PAGEABLE, SITE_LOSS, 42);
		synchronize(t, API_STREAM_SYNC, SYNC_STREAM, SITE_LOSS);
		host_work(t, 300 * US);
	}
	gemm(t, SITE_BACKWARD, 768, 8192, vocabulary, unpadded ? 5300 * US : 2900 * US);
	layers(t, SITE_BACKWARD, 1);
	for (int group = 0; group < 16; group++)
		launch(t, KERNEL_ADAM, SITE_STEP, 0, 2048, 120 * US);
	if (t->flaws & TRAINING_SYNC_IN_LOOP)
		synchronize(t, API_DEVICE_SYNC, SYNC_DEVICE, SITE_SYNC);
	else if (t->gpu_ns > t->host_ns + 60 * MS)
		t->host_ns = t->gpu_ns - 60 * MS; /* the launch queue is full: calls block */
	if (t->flaws & TRAINING_STEP_MARKS)
		mark_step(t, step, begin_ns);
	if (t->host_ns >= t->next_clock_ns)
		add_clock(t);
}

/* ---- what names and describes ---- */

static const struct {
	uint16_t space;
	uint64_t id;
	const char *text;
} names[] = {
	{NAME_API, API_MEMCPY_ASYNC, "cudaMemcpyAsync"},
	{NAME_API, API_LAUNCH, "cudaLaunchKernel"},
	{NAME_API, API_STREAM_SYNC, "cudaStreamSynchronize"},
	{NAME_API, API_DEVICE_SYNC, "cudaDeviceSynchronize"},
	{NAME_API, API_MALLOC, "cudaMalloc"},
	{NAME_API, API_GEMM, "cublasGemmEx"},
	{NAME_API, API_MEMSET_ASYNC, "cudaMemsetAsync"},
	{NAME_KERNEL, KERNEL_GEMM, "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn"},
	{NAME_KERNEL, KERNEL_GEMM_UNPADDED,
	 "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align1"},
	{NAME_KERNEL, KERNEL_ATTENTION, "_Z16flash_fwd_kernelPKvS0_S0_Pvi"},
	{NAME_KERNEL, KERNEL_NORM, "_Z22layer_norm_fwd_kernelPKfPfi"},
	{NAME_KERNEL, KERNEL_GELU, "_Z29vectorized_elementwise_kernelILi4EEvi"},
	{NAME_KERNEL, KERNEL_ADD, "_Z27unrolled_elementwise_kernelv"},
	{NAME_KERNEL, KERNEL_SOFTMAX, "_Z23cunn_SoftMaxForwardSmemv"},
	{NAME_KERNEL, KERNEL_ADAM, "_Z25multi_tensor_apply_kernelv"},
	{NAME_PYTHON, 1, "load_batch\x1f/app/train.py"},
	{NAME_PYTHON, 2, "forward\x1f/app/model.py"},
	{NAME_PYTHON, 3, "train\x1f/app/train.py"},
	{NAME_PYTHON, 4, "<module>\x1f/app/train.py"},
};

static const struct {
	const char *key, *value;
} infos[] = {
	{"process.job", "train"},   {"process.command", "python train.py"},
	{"host.name", "node17"},    {"host.cpus", "32"},
	{"host.numa_nodes", "2"},   {"process.pid", "4242"},
	{"clock.hz", "2000000000"}, {"gputrace.test", "written by tests/traces/make_traces"},
};

static void add_site(struct training *t, uint64_t id, uint64_t function, uint32_t line)
{
	struct {
		struct record_head head;
		uint64_t id;
		uint32_t frame_count, reserved0;
		struct site_frame frames[3];
	} site = {
		.head = {.kind = RECORD_KIND_site, .size_bytes = sizeof(site)},
		.id = id,
		.frame_count = 3,
		.frames = {{FRAME_PYTHON, line, function},
			   {FRAME_PYTHON, 88, 3},
			   {FRAME_PYTHON, 120, 4}},
	};

	add(t, &site);
}

static void add_device(struct training *t)
{
	static const char name[] = "NVIDIA A100-SXM4-80GB";
	const struct record_device device = {
		.head = {.kind = RECORD_KIND_device,
			 .size_bytes =
				 (offsetof(struct record_device, name) + sizeof(name) + 7) / 8 * 8},
		.flags = DEVICE_SIMULATED,
		.memory_bytes = 85899345920ull,
		.sm_count = 108,
		.clock_khz = 1410000,
		.cc_major = 8,
		.pci_bus = 0x3b,
		.numa_node = 0,
		.link_gen = 4,
		.link_width = 16,
		.link_gen_max = 4,
		.link_width_max = 16,
		.uuid = {0x47, 0x50, 0x55},
		.name_bytes = sizeof(name) - 1,
	};
	_Alignas(8) char record[sizeof(device) + sizeof(name) + 8] = {0};

	memcpy(record, &device, offsetof(struct record_device, name));
	memcpy(record + offsetof(struct record_device, name), name, sizeof(name) - 1);
	add(t, record);
}

static void add_thread(struct training *t)
{
	static const char name[] = "python";
	const struct record_thread thread = {
		.head = {.kind = RECORD_KIND_thread,
			 .size_bytes =
				 (offsetof(struct record_thread, name) + sizeof(name) + 7) / 8 * 8},
		.thread = THREAD,
		.thread_id = THREAD_ID,
		.begin_ticks = START_TICKS,
		.name_bytes = sizeof(name) - 1,
	};
	_Alignas(8) char record[sizeof(thread) + sizeof(name) + 8] = {0};

	memcpy(record, &thread, offsetof(struct record_thread, name));
	memcpy(record + offsetof(struct record_thread, name), name, sizeof(name) - 1);
	add(t, record);
}

static void describe(struct training *t)
{
	for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]) && t->rc == 0; i++)
		t->rc = trace_writer_info(t->writer, infos[i].key, infos[i].value, t->err);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && t->rc == 0; i++)
		t->rc = trace_writer_name(t->writer, names[i].space, names[i].id, names[i].text,
					  t->err);
	add_site(t, SITE_LOAD, 1, 41);
	add_site(t, SITE_FORWARD, 2, 17);
	add_site(t, SITE_HEAD, 2, 31);
	add_site(t, SITE_LOSS, 3, 92);
	add_site(t, SITE_BACKWARD, 3, 95);
	add_site(t, SITE_STEP, 3, 97);
	add_site(t, SITE_SYNC, 3, 99);
	add_site(t, SITE_SETUP, 3, 60);
	add_device(t);
	add_thread(t);
}

static void allocate(struct training *t, uint64_t address, uint64_t bytes)
{
	struct record_memory memory = {.address = address,
				       .size_bytes = bytes,
				       .op = MEMORY_ALLOC,
				       .memory_kind = MEMORY_DEVICE};

	memory.call = begin_call(t, RECORD_KIND_memory, sizeof(memory), API_MALLOC, SITE_SETUP);
	memory.call.flags = 0;
	end_call(t, &memory.call, 120 * US);
	add(t, &memory);
}

void training_trace_options(struct trace_writer_options *options)
{
	*options = (struct trace_writer_options){
		.clock_kind = RING_CLOCK_TSC,
		.start_realtime_ns = START_REALTIME_NS,
		.compression_level = 1,
		.tail_interval_ms = 50,
	};
}

int training_trace_write(struct trace_writer *writer, uint32_t steps, uint32_t flaws,
			 struct error *err)
{
	struct training t = {.writer = writer, .err = err, .flaws = flaws, .random = 1};

	describe(&t);
	add_clock(&t);
	allocate(&t, 0x7f2000000000, 2ull << 30);
	allocate(&t, 0x7f2080000000, 6ull << 30);
	for (uint32_t step = 0; step < steps && t.rc == 0; step++)
		train_step(&t, step);
	add_clock(&t);
	return t.rc;
}
