/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch recordings written by hand: what each event becomes, and how calls find their operators.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "import_fixture.h"

#define LAUNCH(ts, corr)                                                                           \
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "     \
	"100, "                                                                                    \
	"\"tid\": 100, \"ts\": " ts ", \"dur\": 5, \"args\": {\"correlation\": " corr "}}"
#define KERNEL(ts, dur, corr)                                                                      \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void k<float>(int)\", \"pid\": 0, "      \
	"\"tid\": 7, \"ts\": " ts ", \"dur\": " dur ", \"args\": {\"device\": 0, \"context\": 1, " \
	"\"stream\": 7, \"correlation\": " corr ", \"grid\": [2, 3, 4], \"block\": [32, 1, 1], "   \
	"\"registers per thread\": 40, \"shared memory\": 512}}"
#define OPERATOR(name, ts, dur, more)                                                              \
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name                                   \
	"\", \"pid\": 100, \"tid\": 100, "                                                         \
	"\"ts\": " ts ", \"dur\": " dur ", \"args\": {" more "}}"

static void kernels_keep_times_and_geometry(void **state)
{
	struct imported in;
	struct record_gpu_kernel k;
	(void)state;
	import_events(LAUNCH("10.5", "77") "," KERNEL("20.125", "3.5", "77"), &in);
	assert_int_equal(in.rc, 0);
	assert_true(imported_record(&in, RECORD_KIND_gpu_kernel, 0, &k, NULL));
	assert_int_equal(k.gpu.end_ns - k.gpu.begin_ns, 3500);
	assert_int_equal(k.gpu.correlation, 77);
	assert_int_equal(k.gpu.stream, 7);
	assert_int_equal(k.grid[1], 3);
	assert_int_equal(k.block[0], 32);
	assert_int_equal(k.registers, 40);
	assert_string_equal(imported_name(&in, NAME_KERNEL, k.kernel), "void k<float>(int)");
	/* The session starts with its first event, and its calendar time comes from the base. */
	assert_int_equal(trace_gpu_to_ns(in.trace, k.gpu.begin_ns), 9625);
	assert_int_equal(trace_start_realtime_ns(in.trace), 1700000000000010500);
	imported_free(&in);
}

static void launches_belong_to_the_product_around_them(void **state)
{
	struct imported in;
	struct record_launch inside, outside;
	struct record_gemm gemm;
	(void)state;
	import_events(OPERATOR("aten::linear", "10", "50", "") "," OPERATOR(
			      "aten::addmm", "15", "30",
			      "\"Input Dims\": [[8], [4, 16], [16, 8], [], []], "
			      "\"Input type\": [\"float\", \"float\", \"float\", \"Scalar\", "
			      "\"Scalar\"]") "," LAUNCH("20", "1") "," LAUNCH("100", "2"),
		      &in);
	assert_int_equal(in.rc, 0);
	assert_true(imported_record(&in, RECORD_KIND_gemm, 0, &gemm, NULL));
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &inside, NULL));
	assert_true(imported_record(&in, RECORD_KIND_launch, 1, &outside, NULL));
	assert_int_equal(gemm.m, 8);
	assert_int_equal(gemm.n, 4);
	assert_int_equal(gemm.k, 16);
	assert_int_equal(inside.call.parent_id, gemm.call.call_id);
	assert_int_equal(outside.call.parent_id, 0);
	const struct record_site *site = trace_site(in.trace, inside.call.site);
	assert_non_null(site);
	assert_int_equal(site->frame_count, 2);
	assert_int_equal(site->frames[0].type, FRAME_OPERATOR);
	assert_string_equal(imported_name(&in, NAME_CLASS, site->frames[0].value), "aten::addmm");
	assert_string_equal(imported_name(&in, NAME_CLASS, site->frames[1].value), "aten::linear");
	assert_int_equal(outside.call.site, 0);
	imported_free(&in);
}

static void operators_of_other_threads_do_not_count(void **state)
{
	struct imported in;
	struct record_launch launch;
	(void)state;
	import_events("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 100, "
		      "\"tid\": 101, \"ts\": 10, \"dur\": 50, \"args\": {}}," LAUNCH("20", "1"),
		      &in);
	assert_int_equal(in.rc, 0);
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &launch, NULL));
	assert_int_equal(launch.call.site, 0);
	imported_free(&in);
}

static void operators_may_come_in_any_order(void **state)
{
	struct imported in;
	struct record_launch launch;
	(void)state;
	import_events(
		OPERATOR("inner", "30", "10", "") "," OPERATOR("next", "60", "10", "") "," OPERATOR(
			"outer", "10", "45", "") "," LAUNCH("35", "1"),
		&in);
	assert_int_equal(in.rc, 0);
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &launch, NULL));
	const struct record_site *site = trace_site(in.trace, launch.call.site);
	assert_non_null(site);
	assert_int_equal(site->frame_count, 2);
	assert_string_equal(imported_name(&in, NAME_CLASS, site->frames[0].value), "inner");
	assert_string_equal(imported_name(&in, NAME_CLASS, site->frames[1].value), "outer");
	imported_free(&in);
}

static void python_functions_become_frames_with_lines(void **state)
{
	struct imported in;
	struct record_launch launch;
	(void)state;
	import_events(
		"{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"my dir/train(1).py(12): "
		"step: x\", \"pid\": 100, \"tid\": 100, \"ts\": 10, \"dur\": 50, \"args\": {}},"
		"{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"<built-in method "
		"run>\", "
		"\"pid\": 100, \"tid\": 100, \"ts\": 11, \"dur\": 40, \"args\": {}}," LAUNCH("20",
											     "1"),
		&in);
	assert_int_equal(in.rc, 0);
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &launch, NULL));
	const struct record_site *site = trace_site(in.trace, launch.call.site);
	assert_non_null(site);
	assert_int_equal(site->frames[0].type, FRAME_OPERATOR);
	assert_int_equal(site->frames[1].type, FRAME_PYTHON);
	assert_int_equal(site->frames[1].line, 12);
	assert_string_equal(imported_name(&in, NAME_PYTHON, site->frames[1].value),
			    "step: x\x1fmy dir/train(1).py");
	imported_free(&in);
}

static void copies_get_their_bytes_from_either_side(void **state)
{
	static const char call[] =
		"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaMemcpyAsync\", "
		"\"pid\": 1, "
		"\"tid\": 1, \"ts\": 10, \"dur\": 5, \"args\": {\"correlation\": 9}}";
	static const char copy[] =
		"{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD (Pinned -> "
		"Device)\", "
		"\"pid\": 2, \"tid\": 7, \"ts\": 20, \"dur\": 5, \"args\": {\"device\": 2, "
		"\"correlation\": 9, \"bytes\": 4294967296}}";
	char events[2048];
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct imported in;
		struct record_copy host;
		struct record_gpu_copy gpu;
		snprintf(events, sizeof(events), "%s,%s", order ? call : copy, order ? copy : call);
		import_events(events, &in);
		assert_int_equal(in.rc, 0);
		assert_true(imported_record(&in, RECORD_KIND_copy, 0, &host, NULL));
		assert_true(imported_record(&in, RECORD_KIND_gpu_copy, 0, &gpu, NULL));
		assert_true(host.size_bytes == 4294967296);
		assert_int_equal(host.direction, COPY_H2D);
		assert_int_equal(host.source_kind, MEMORY_PINNED);
		assert_int_equal(host.call.device, 2);
		assert_int_equal(host.call.flags, CALL_ASYNC);
		assert_true(gpu.size_bytes == 4294967296);
		imported_free(&in);
	}
}

static void steps_and_loader_waits_become_marks(void **state)
{
	struct imported in;
	struct record_mark step, loader;
	(void)state;
	import_events("{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#3\", "
		      "\"pid\": 1, \"tid\": 1, \"ts\": 10, \"dur\": 50, \"args\": {}},"
		      "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": "
		      "\"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\", "
		      "\"pid\": 1, \"tid\": 1, \"ts\": 12, \"dur\": 5, \"args\": {}}",
		      &in);
	assert_int_equal(in.rc, 0);
	assert_true(imported_record(&in, RECORD_KIND_mark, 0, &step, NULL));
	assert_true(imported_record(&in, RECORD_KIND_mark, 1, &loader, NULL));
	assert_string_equal(imported_name(&in, NAME_MARK, step.name), "ProfilerStep#3");
	assert_int_equal(step.end_ticks - step.begin_ticks, 50000);
	assert_int_equal(step.type, MARK_RANGE);
	assert_int_equal(loader.end_ticks - loader.begin_ticks, 5000);
	imported_free(&in);
}

static void collectives_keep_their_bytes(void **state)
{
	struct imported in;
	struct record_mark told, own;
	(void)state;
	import_events(
		OPERATOR(
			"record_param_comms", "10", "50",
			"\"Collective name\": \"allreduce\", \"In msg nelems\": 1000, \"dtype\": "
			"\"Half\", \"Process Group Name\": \"0\"") ","
								   "{\"ph\": \"X\", \"cat\": "
								   "\"user_annotation\", \"name\": "
								   "\"nccl:all_reduce\", "
								   "\"pid\": 100, \"tid\": 100, "
								   "\"ts\": 12, \"dur\": 5, "
								   "\"args\": {}},"
								   "{\"ph\": \"X\", \"cat\": "
								   "\"user_annotation\", \"name\": "
								   "\"nccl:all_to_all\", "
								   "\"pid\": 100, \"tid\": 100, "
								   "\"ts\": 70, \"dur\": 5, "
								   "\"args\": {\"Input Dims\": "
								   "[[8, 4], [2]], \"Input type\": "
								   "[\"float\", \"c10::Half\"]}}",
		&in);
	assert_int_equal(in.rc, 0);
	assert_true(imported_record(&in, RECORD_KIND_mark, 0, &told, NULL));
	assert_true(imported_record(&in, RECORD_KIND_mark, 1, &own, NULL));
	assert_int_equal(told.value, 2000);
	assert_int_not_equal(told.communicator, 0);
	assert_int_equal(told.peer, MARK_NO_PEER);
	assert_int_equal(own.value, 8 * 4 * 4 + 2 * 2);
	assert_int_equal(own.communicator, 0);
	imported_free(&in);
}

static void gpu_annotations_are_not_work(void **state)
{
	struct imported in;
	(void)state;
	import_events(KERNEL("10", "1", "1") ","
					     "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", "
					     "\"name\": \"x\", \"pid\": 0, "
					     "\"tid\": 7, \"ts\": 5, \"dur\": 500, \"args\": {}}",
		      &in);
	assert_int_equal(in.rc, 0);
	assert_int_equal(in.report.gpu_records, 1);
	assert_int_equal(in.report.records, 1);
	imported_free(&in);
}

static void allocator_events_keep_their_totals(void **state)
{
	struct imported in;
	struct record_block block;
	(void)state;
	import_events(
		"{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, "
		"\"ts\": 10, \"args\": {\"Device Type\": 1, \"Device Id\": 0, \"Addr\": 4096, "
		"\"Bytes\": -512, \"Total Allocated\": 100, \"Total Reserved\": 200}},"
		"{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, "
		"\"ts\": 10, \"args\": {\"Device Type\": 0, \"Device Id\": 0, \"Bytes\": 512}}",
		&in);
	assert_int_equal(in.rc, 0);
	assert_int_equal(imported_count(&in, RECORD_KIND_block), 1); /* the other is of the host */
	assert_true(imported_record(&in, RECORD_KIND_block, 0, &block, NULL));
	assert_int_equal(block.op, BLOCK_FREE);
	assert_int_equal(block.size_bytes, 512);
	assert_int_equal(block.address, 4096);
	assert_int_equal(block.allocated_bytes, 100);
	assert_int_equal(block.reserved_bytes, 200);
	imported_free(&in);
}

static void devices_and_ranks_are_facts_of_the_session(void **state)
{
	struct imported in;
	(void)state;
	import_text("{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"GPU "
		    "\\\"A\\\"\", "
		    "\"totalGlobalMem\": 85174583296, \"computeMajor\": 8, \"computeMinor\": 6, "
		    "\"numSms\": 108}], \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, "
		    "\"world_size\": 8}, \"traceEvents\": [" KERNEL("10", "1", "1") "]}",
		    &in);
	assert_int_equal(in.rc, 0);
	assert_int_equal(in.report.rank, 3);
	assert_string_equal(trace_info(in.trace, "rank"), "3");
	assert_string_equal(trace_info(in.trace, "world_size"), "8");
	assert_string_equal(trace_info(in.trace, "import.gpu"), "nvidia");
	assert_int_equal(trace_device_count(in.trace), 1);
	const struct record_device *device = trace_device(in.trace, 0);
	assert_int_equal(device->sm_count, 108);
	assert_int_equal(device->cc_minor, 6);
	assert_true(device->memory_bytes == 85174583296);
	assert_int_equal(device->name_bytes, 7);
	assert_memory_equal(device->name, "GPU \"A\"", 7);
	imported_free(&in);
}

static void missing_gpu_work_is_said(void **state)
{
	struct imported in;
	(void)state;
	import_events(LAUNCH("10", "1"), &in);
	assert_int_equal(in.rc, 0);
	assert_non_null(
		strstr(trace_info(in.trace, "gpu_times.reason"), "1 launch and no GPU event"));
	imported_free(&in);

	import_events(OPERATOR("aten::add", "10", "5",
			       "") ","
				   "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
				   "\"ProfilerStep#1\", "
				   "\"pid\": 1, \"tid\": 1, \"ts\": 10, \"dur\": 50}",
		      &in);
	assert_int_equal(in.rc, 0);
	assert_string_equal(trace_info(in.trace, "import.gpu"), "none");
	imported_free(&in);
}

static void amd_recordings_are_imported_and_named(void **state)
{
	struct imported in;
	(void)state;
	import_events(
		"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"hipLaunchKernel\", "
		"\"pid\": 9, "
		"\"tid\": 9, \"ts\": 10, \"dur\": 5, \"args\": {\"correlation\": 1, \"kernel\": "
		"\"x\"}},{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 2, "
		"\"tid\": 0, "
		"\"ts\": 20, \"dur\": 5, \"args\": {\"device\": 2, \"stream\": 0, "
		"\"correlation\": 1, \"kind\": \"Dispatch Kernel\"}}",
		&in);
	assert_int_equal(in.rc, 0);
	assert_true(in.report.is_amd);
	assert_string_equal(trace_info(in.trace, "import.gpu"), "amd");
	assert_int_equal(imported_count(&in, RECORD_KIND_gpu_kernel), 1);
	assert_int_equal(imported_count(&in, RECORD_KIND_launch), 1);
	imported_free(&in);
}

static void threads_keep_their_names(void **state)
{
	struct imported in;
	(void)state;
	import_events(LAUNCH("10", "1") ","
					"{\"name\": \"thread_name\", \"ph\": \"M\", \"ts\": 0, "
					"\"pid\": 100, \"tid\": 100, "
					"\"args\": {\"name\": \"thread 100 (python)\"}},"
					"{\"name\": \"thread_name\", \"ph\": \"M\", \"ts\": 0, "
					"\"pid\": 0, \"tid\": 7, "
					"\"args\": {\"name\": \"stream 7 \"}}",
		      &in);
	assert_int_equal(in.rc, 0);
	assert_int_equal(trace_thread_count(in.trace), 1);
	const struct record_thread *thread = trace_thread(in.trace, 0);
	assert_int_equal(thread->thread_id, 100);
	assert_int_equal(thread->name_bytes, 6);
	assert_memory_equal(thread->name, "python", 6);
	imported_free(&in);
}

static void kernel_names_tell_how_operands_lie(void **state)
{
	static const struct {
		const char *kernel;
		char op_a, op_b;
		uint8_t compute;
	} rows[] = {
		{"ampere_sgemm_128x64_nn", 'N', 'N', ELEMENT_UNKNOWN},
		{"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x5_tn_align4>(x)",
		 'T', 'N', ELEMENT_TF32},
		{"sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize128x64x8", 'N', 'T',
		 ELEMENT_UNKNOWN},
		{"volta_sgemm_64x32_sliced1x4_tt", 'T', 'T', ELEMENT_UNKNOWN},
		{"some_nn_gemm", 0, 0, ELEMENT_UNKNOWN},
		{"gemm_ntx", 0, 0, ELEMENT_UNKNOWN},
	};
	char events[4096];
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) * 2; i++) {
		const char *kernel = rows[i / 2].kernel;
		char gpu[1024];
		snprintf(gpu, sizeof(gpu),
			 "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, "
			 "\"tid\": 7, "
			 "\"ts\": 30, \"dur\": 5, \"args\": {\"correlation\": 1}}",
			 kernel);
		/* The kernel may come before or after its launch. */
		snprintf(events, sizeof(events), "%s,%s,%s",
			 OPERATOR("aten::mm", "10", "50",
				  "\"Input Dims\": [[4, 16], [16, 8]], \"Input type\": [\"float\", "
				  "\"float\"]"),
			 i % 2 ? gpu : LAUNCH("20", "1"), i % 2 ? LAUNCH("20", "1") : gpu);
		struct imported in;
		struct record_gemm gemm;
		import_events(events, &in);
		assert_int_equal(in.rc, 0);
		assert_true(imported_record(&in, RECORD_KIND_gemm, 0, &gemm, NULL));
		assert_int_equal(gemm.op_a, rows[i / 2].op_a);
		assert_int_equal(gemm.op_b, rows[i / 2].op_b);
		assert_int_equal(gemm.type_compute, rows[i / 2].compute);
		imported_free(&in);
	}
}

static void unused_gpus_of_the_machine_are_left_out(void **state)
{
	struct imported in;
	(void)state;
	import_text("{\"deviceProperties\": [{\"id\": 0, \"name\": \"A\"}, {\"id\": 1, \"name\": "
		    "\"B\"}], "
		    "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", "
		    "\"ts\": 1, "
		    "\"dur\": 1, \"args\": {\"device\": 1}}]}",
		    &in);
	assert_int_equal(in.rc, 0);
	assert_int_equal(trace_device_count(in.trace), 1);
	assert_int_equal(trace_device(in.trace, 0)->ordinal, 1);
	imported_free(&in);

	import_text("{\"deviceProperties\": [{\"id\": 0, \"name\": \"A\"}, {\"id\": 1, \"name\": "
		    "\"B\"}], "
		    "\"traceEvents\": [" LAUNCH("1", "1") "]}",
		    &in);
	assert_int_equal(in.rc, 0);
	assert_int_equal(trace_device_count(in.trace), 2);
	imported_free(&in);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_keep_times_and_geometry),
		cmocka_unit_test(launches_belong_to_the_product_around_them),
		cmocka_unit_test(operators_of_other_threads_do_not_count),
		cmocka_unit_test(operators_may_come_in_any_order),
		cmocka_unit_test(python_functions_become_frames_with_lines),
		cmocka_unit_test(copies_get_their_bytes_from_either_side),
		cmocka_unit_test(steps_and_loader_waits_become_marks),
		cmocka_unit_test(collectives_keep_their_bytes),
		cmocka_unit_test(gpu_annotations_are_not_work),
		cmocka_unit_test(allocator_events_keep_their_totals),
		cmocka_unit_test(devices_and_ranks_are_facts_of_the_session),
		cmocka_unit_test(missing_gpu_work_is_said),
		cmocka_unit_test(amd_recordings_are_imported_and_named),
		cmocka_unit_test(threads_keep_their_names),
		cmocka_unit_test(kernel_names_tell_how_operands_lie),
		cmocka_unit_test(unused_gpus_of_the_machine_are_left_out),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
