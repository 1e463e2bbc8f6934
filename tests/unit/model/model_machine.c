/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tiny machine of model_script.h: a host that launches in order and a stream that works in
 * order.
 */
#include <string.h>

#include "model_script.h"

#define GPU_LATENCY_NS 2000 /* from the end of a launch to the earliest begin of its work */
#define WAKE_NS	       3000 /* from the end of GPU work to the return of who waits for it */

void machine_init(struct machine *machine, struct script *script)
{
	memset(machine, 0, sizeof(*machine));
	machine->script = script;
	machine->host_ns = 1000000;
	machine->stream_ns = 0;
	machine->launch_ns = 5000;
	machine->pinned_gbs = 25;
	machine->pageable_gbs = 10;
}

static int64_t stream_place(struct machine *machine, int64_t ready_ns, int64_t gpu_ns)
{
	int64_t begin_ns = ready_ns + GPU_LATENCY_NS;

	if (begin_ns < machine->stream_ns)
		begin_ns = machine->stream_ns;
	machine->stream_ns = begin_ns + gpu_ns;
	return begin_ns;
}

static void launch_at(struct machine *machine, const char *name, int64_t gpu_ns, uint32_t parent)
{
	struct script_call call = {
		.begin_ns = machine->host_ns,
		.end_ns = machine->host_ns + machine->launch_ns,
		.thread = 1,
		.api = parent ? "cuLaunchKernelEx" : "cudaLaunchKernel",
		.site = machine->site,
		.parent_id = parent,
		.correlation = script_next_correlation(machine->script),
		.flags = CALL_ASYNC,
	};
	int64_t begin_ns = stream_place(machine, call.end_ns, gpu_ns);

	script_add_launch(machine->script, &call, name);
	script_add_kernel(machine->script, 0, name, call.correlation, begin_ns, begin_ns + gpu_ns);
	machine->host_ns = call.end_ns;
}

void machine_kernel(struct machine *machine, const char *name, int64_t gpu_ns)
{
	launch_at(machine, name, gpu_ns, 0);
}

void machine_gemm(struct machine *machine, const struct record_gemm *gemm, const char *kernel,
		  int64_t gpu_ns)
{
	struct script_call call = {
		.begin_ns = machine->host_ns,
		.end_ns = machine->host_ns + machine->launch_ns + 1000,
		.thread = 1,
		.api = "cublasGemmEx",
		.site = machine->site,
	};
	uint32_t id = script_add_gemm(machine->script, &call, gemm);

	machine->host_ns += 500;
	launch_at(machine, kernel, gpu_ns, id);
	machine->host_ns = call.end_ns;
}

void machine_conv(struct machine *machine, const struct record_conv *conv, const char *kernel,
		  int64_t gpu_ns)
{
	struct script_call call = {
		.begin_ns = machine->host_ns,
		.end_ns = machine->host_ns + machine->launch_ns + 1000,
		.thread = 1,
		.api = "cudnnConvolutionForward",
		.site = machine->site,
	};
	struct record_conv record = *conv;
	uint32_t id = script_add_call_record(machine->script, &call, RECORD_KIND_conv, &record,
					     sizeof(record));

	machine->host_ns += 500;
	launch_at(machine, kernel, gpu_ns, id);
	machine->host_ns = call.end_ns;
}

void machine_copy(struct machine *machine, uint8_t direction, uint64_t bytes, uint8_t host_kind,
		  bool is_blocking)
{
	double rate_gbs =
		host_kind == MEMORY_PAGEABLE ? machine->pageable_gbs : machine->pinned_gbs;
	int64_t gpu_ns = 1500 + (int64_t)((double)bytes / rate_gbs);
	uint8_t source = direction == COPY_H2D ? host_kind : MEMORY_DEVICE;
	uint8_t destination = direction == COPY_H2D ? MEMORY_DEVICE : host_kind;
	struct script_call call = {
		.begin_ns = machine->host_ns,
		.end_ns = machine->host_ns + machine->launch_ns,
		.thread = 1,
		.api = is_blocking ? "cudaMemcpy" : "cudaMemcpyAsync",
		.site = machine->site,
		.correlation = script_next_correlation(machine->script),
		.flags = is_blocking ? 0 : CALL_ASYNC,
	};
	int64_t begin_ns = stream_place(machine, call.end_ns, gpu_ns);

	if (is_blocking || host_kind == MEMORY_PAGEABLE)
		call.end_ns = begin_ns + gpu_ns + WAKE_NS;
	script_add_copy(machine->script, &call, direction, bytes, source, destination);
	script_add_gpu_copy(machine->script, 0, direction, bytes, source, destination,
			    call.correlation, begin_ns, begin_ns + gpu_ns);
	machine->host_ns = call.end_ns;
}

void machine_sync(struct machine *machine, const char *api, uint32_t scope)
{
	struct script_call call = {
		.begin_ns = machine->host_ns,
		.end_ns = machine->host_ns + 1000,
		.thread = 1,
		.api = api,
		.site = machine->site,
	};

	if (machine->stream_ns + WAKE_NS > call.end_ns)
		call.end_ns = machine->stream_ns + WAKE_NS;
	script_add_sync(machine->script, &call, scope);
	machine->host_ns = call.end_ns;
}

void machine_work(struct machine *machine, int64_t host_ns)
{
	machine->host_ns += host_ns;
}

struct record_gemm script_gemm_f16(uint32_t m, uint32_t n, uint32_t k)
{
	struct record_gemm gemm;

	memset(&gemm, 0, sizeof(gemm));
	gemm.a = 0x7f0000000000;
	gemm.b = 0x7f1000000000;
	gemm.c = 0x7f2000000000;
	gemm.m = m;
	gemm.n = n;
	gemm.k = k;
	gemm.op_a = 'T';
	gemm.op_b = 'N';
	gemm.lda = k;
	gemm.ldb = k;
	gemm.ldc = m;
	gemm.batch = 1;
	gemm.type_a = gemm.type_b = gemm.type_c = ELEMENT_F16;
	gemm.type_compute = ELEMENT_F32;
	return gemm;
}

struct record_conv script_conv_f16(uint32_t batch, uint32_t channels_in, uint32_t channels_out,
				   uint32_t width)
{
	struct record_conv conv;

	memset(&conv, 0, sizeof(conv));
	conv.batch = batch;
	conv.channels_in = channels_in;
	conv.channels_out = channels_out;
	conv.groups = conv.operations = 1;
	conv.in[0] = conv.out[0] = conv.filter[0] = 1;
	for (int i = 1; i < 3; i++) {
		conv.in[i] = conv.out[i] = width;
		conv.filter[i] = 3;
		conv.pad[i] = 1;
	}
	for (int i = 0; i < 3; i++)
		conv.stride[i] = conv.dilation[i] = 1;
	conv.dimensions = 2;
	conv.op = CONV_FORWARD;
	conv.layout_x = conv.layout_w = conv.layout_y = CONV_CHANNELS_LAST;
	conv.type_x = conv.type_w = conv.type_y = ELEMENT_F16;
	conv.type_compute = ELEMENT_F32;
	return conv;
}
