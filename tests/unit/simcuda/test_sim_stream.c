/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order and modelled time in the simulated driver: streams, events, copy engines, host functions.
 * Times are compared with the model through events, never with how fast this machine is; against
 * the wall clock only "not earlier than" is checked.
 */
#include "sim_scenario.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MS = 1000000 };

static void launch_for(double ns, unsigned blocks, CUstream stream)
{
	struct simcuda_cost cost = {.fixed_ns = ns};
	CUfunction function = simcuda_library_kernel("modelled", &cost);

	OK(cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static CUstream new_stream(unsigned flags)
{
	CUstream stream;

	OK(cuStreamCreate(&stream, flags));
	return stream;
}

static CUevent record(CUstream stream)
{
	CUevent event;

	OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
	OK(cuEventRecord(event, stream));
	return event;
}

static float elapsed_ms(CUevent start, CUevent end)
{
	float ms = -1;

	OK(cuEventElapsedTime(&ms, start, end));
	return ms;
}

static int is_near(float value, double expected)
{
	return value > expected - 0.001 && value < expected + 0.001;
}

/* Work behind this is enqueued before it could begin, so that its times are exact. */
static void get_ahead(CUstream stream)
{
	launch_for(5000.0 * MS, 1, stream);
}

static void time_kernels(void)
{
	CUevent start, middle, end;
	CUstream stream;

	open_device(0);
	stream = new_stream(CU_STREAM_NON_BLOCKING);
	get_ahead(stream);
	start = record(stream);
	launch_for(5.0 * MS, 1, stream);
	middle = record(stream);
	launch_for(7.0 * MS, 1000, stream);
	end = record(stream);
	CHECK(is_near(elapsed_ms(start, middle), 5));
	CHECK(is_near(elapsed_ms(start, end), 12));
	CHECK(is_near(elapsed_ms(end, start), -12));
}

static void events_carry_the_modelled_times(void **state)
{
	(void)state;
	run_scenario(time_kernels, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void overlap_kernels(void)
{
	CUevent start, small[2], large[2];
	CUstream streams[2];

	open_device(0);
	streams[0] = new_stream(CU_STREAM_NON_BLOCKING);
	streams[1] = new_stream(CU_STREAM_NON_BLOCKING);
	get_ahead(streams[0]);
	start = record(streams[0]);
	OK(cuStreamWaitEvent(streams[1], start, 0));
	for (int i = 0; i < 2; i++) {
		launch_for(3.0 * MS, 1, streams[i]);
		small[i] = record(streams[i]);
	}
	for (int i = 0; i < 2; i++) {
		launch_for(4.0 * MS, 108, streams[i]);
		large[i] = record(streams[i]);
	}
	CHECK(is_near(elapsed_ms(start, small[0]), 3) && is_near(elapsed_ms(start, small[1]), 3));
	CHECK(is_near(elapsed_ms(start, large[0]), 7) && is_near(elapsed_ms(start, large[1]), 11));
}

static void small_kernels_overlap_and_full_ones_do_not(void **state)
{
	(void)state;
	run_scenario(overlap_kernels, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void mix_default_stream(void)
{
	CUstream blocking, independent;
	CUevent start, legacy, after, aside;

	open_device(0);
	blocking = new_stream(CU_STREAM_DEFAULT);
	independent = new_stream(CU_STREAM_NON_BLOCKING);
	get_ahead(blocking);
	start = record(blocking);
	launch_for(2.0 * MS, 1, blocking);
	launch_for(3.0 * MS, 1, NULL);
	legacy = record(CU_STREAM_LEGACY);
	launch_for(4.0 * MS, 1, blocking);
	after = record(blocking);
	launch_for(1.0 * MS, 1, independent);
	aside = record(independent);
	CHECK(is_near(elapsed_ms(start, legacy), 5));
	CHECK(is_near(elapsed_ms(start, after), 9));
	CHECK(elapsed_ms(start, aside) < -1000);
}

static void the_legacy_stream_orders_blocking_streams_only(void **state)
{
	(void)state;
	run_scenario(mix_default_stream, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void *launch_in_thread(void *context)
{
	OK(cuCtxSetCurrent(context));
	launch_for(3.0 * MS, 1, CU_STREAM_PER_THREAD);
	return record(CU_STREAM_PER_THREAD);
}

static void use_thread_streams(void)
{
	CUcontext context = open_device(0);
	CUevent mine;
	void *other;
	pthread_t thread;

	get_ahead(CU_STREAM_PER_THREAD);
	mine = record(CU_STREAM_PER_THREAD);
	CHECK(pthread_create(&thread, NULL, launch_in_thread, context) == 0);
	CHECK(pthread_join(thread, &other) == 0);
	/* The other thread's work did not wait for five seconds of this thread's. */
	CHECK(elapsed_ms(mine, other) < -1000);
}

static void threads_have_default_streams_of_their_own(void **state)
{
	(void)state;
	run_scenario(use_thread_streams, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void share_engines(void)
{
	const size_t bytes = 4000000;
	CUstream streams[3];
	CUevent start, ends[3];
	CUdeviceptr memory;
	char *host;
	float one;

	open_device(0);
	memory = device_alloc(bytes);
	OK(cuMemAllocHost((void **)&host, 3 * bytes));
	for (int i = 0; i < 3; i++)
		streams[i] = new_stream(CU_STREAM_NON_BLOCKING);
	get_ahead(streams[0]);
	start = record(streams[0]);
	for (int i = 1; i < 3; i++)
		OK(cuStreamWaitEvent(streams[i], start, 0));
	OK(cuMemcpyHtoDAsync(memory, host, bytes, streams[0]));
	ends[0] = record(streams[0]);
	OK(cuMemcpyHtoDAsync(memory, host + bytes, bytes, streams[1]));
	ends[1] = record(streams[1]);
	OK(cuMemcpyDtoHAsync(host + 2 * bytes, memory, bytes, streams[2]));
	ends[2] = record(streams[2]);
	OK(cuCtxSynchronize());
	one = elapsed_ms(start, ends[0]);
	CHECK(is_near(one, 0.0015 + 1000.0 * (double)bytes / 20e9));
	CHECK(is_near(elapsed_ms(start, ends[1]), 2.0 * (double)one));
	CHECK(is_near(elapsed_ms(start, ends[2]), (double)one));
}

static void each_direction_has_one_copy_engine(void **state)
{
	(void)state;
	run_scenario(share_engines, "SIMCUDA_TIME_SCALE", "0", "SIMCUDA_LINK_GBS", "20", NULL);
}

static void wait_on_the_wall(void)
{
	CUstream stream;
	CUevent event;
	double begin;

	open_device(0);
	stream = new_stream(CU_STREAM_DEFAULT);
	begin = wall_seconds();
	launch_for(200.0 * MS, 1, stream);
	event = record(stream);
	CHECK_RESULT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	CHECK_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	CHECK_RESULT(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	OK(cuEventSynchronize(event));
	CHECK(wall_seconds() - begin >= 0.2);
	OK(cuStreamQuery(stream));
	OK(cuEventQuery(event));
	begin = wall_seconds();
	launch_for(50.0 * MS, 1, stream);
	OK(cuCtxSynchronize());
	CHECK(wall_seconds() - begin >= 0.05);
}

static void synchronising_takes_the_modelled_time(void **state)
{
	(void)state;
	run_scenario(wait_on_the_wall, NULL);
}

static void scale_time(void)
{
	CUevent start, end;
	double begin = wall_seconds();

	open_device(0);
	start = record(NULL);
	launch_for(2000.0 * MS, 1, NULL);
	end = record(NULL);
	OK(cuStreamSynchronize(NULL));
	CHECK(wall_seconds() - begin >= 0.02);
	CHECK(elapsed_ms(start, end) >= 2000.0F);
}

static void do_no_waiting(void)
{
	CUevent start, end;

	open_device(0);
	start = record(NULL);
	for (int i = 0; i < 100; i++)
		launch_for(1e6 * MS, 1, NULL);
	end = record(NULL);
	OK(cuCtxSynchronize());
	OK(cuStreamQuery(NULL));
	CHECK(elapsed_ms(start, end) >= 1e8F);
}

static void the_time_scale_changes_the_wall_clock_only(void **state)
{
	(void)state;
	run_scenario(scale_time, "SIMCUDA_TIME_SCALE", "0.01", NULL);
	run_scenario(do_no_waiting, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void hold_callers(void)
{
	const size_t bytes = 1 << 20;
	char *pinned, *pageable = malloc(bytes);
	CUdeviceptr memory;
	double begin;

	open_device(0);
	memory = device_alloc(bytes);
	OK(cuMemAllocHost((void **)&pinned, bytes));
	launch_for(300.0 * MS, 1, NULL);
	OK(cuMemcpyDtoHAsync(pinned, memory, bytes, NULL));
	CHECK_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	OK(cuMemcpyHtoDAsync(memory, pageable, 1000, NULL));
	CHECK_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	begin = wall_seconds();
	OK(cuCtxSynchronize());
	begin = wall_seconds();
	launch_for(100.0 * MS, 1, NULL);
	OK(cuMemcpyDtoHAsync(pageable, memory, bytes, NULL));
	CHECK(wall_seconds() - begin >= 0.1);
	begin = wall_seconds();
	launch_for(100.0 * MS, 1, NULL);
	OK(cuMemcpyHtoDAsync(memory, pageable, bytes, NULL));
	CHECK(wall_seconds() - begin >= 0.1);
	free(pageable);
}

static void pageable_copies_hold_the_caller_and_pinned_ones_do_not(void **state)
{
	(void)state;
	run_scenario(hold_callers, NULL);
}

static void fill_queue(void)
{
	double begin;

	open_device(0);
	begin = wall_seconds();
	for (int i = 0; i < 1024 + 50; i++)
		launch_for(2.0 * MS, 1, NULL);
	CHECK(wall_seconds() - begin >= 0.098);
	CHECK_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
}

static void launches_run_about_a_thousand_ahead(void **state)
{
	(void)state;
	run_scenario(fill_queue, NULL);
}

static struct {
	uint32_t *pinned;
	CUresult inside;
	atomic_int calls;
} host_work;

static void write_pinned(void *value)
{
	host_work.pinned[0] = *(uint32_t *)value;
	host_work.inside = cuCtxSynchronize();
	atomic_fetch_add(&host_work.calls, 1);
}

static void write_in_callback(CUstream stream, CUresult status, void *value)
{
	(void)stream;
	CHECK(status == CUDA_SUCCESS);
	write_pinned(value);
}

static void run_host_functions(void)
{
	uint32_t first = 11, second = 22, seen = 0;
	CUdeviceptr memory;
	CUstream stream, other;
	CUevent event;

	open_device(0);
	memory = device_alloc(1 << 20);
	OK(cuMemAllocHost((void **)&host_work.pinned, 1 << 20));
	stream = new_stream(CU_STREAM_NON_BLOCKING);
	other = new_stream(CU_STREAM_NON_BLOCKING);
	launch_for(30.0 * MS, 1, stream);
	OK(cuLaunchHostFunc(stream, write_pinned, &first));
	/* This one must not wait for the host function ... */
	OK(cuMemsetD32Async(memory + 4096, 5, 1000, other));
	OK(cuStreamSynchronize(other));
	CHECK(atomic_load(&host_work.calls) == 0);
	/* ... but this one comes after it, in its stream and across an event. */
	OK(cuMemcpyHtoDAsync(memory, host_work.pinned, 1 << 20, stream));
	event = record(stream);
	OK(cuStreamWaitEvent(other, event, 0));
	OK(cuMemcpyDtoHAsync(host_work.pinned + 1000, memory, 4, other));
	OK(cuStreamSynchronize(other));
	CHECK(atomic_load(&host_work.calls) == 1);
	CHECK(host_work.pinned[1000] == 11 && host_work.inside == CUDA_ERROR_NOT_PERMITTED);
	OK(cuStreamAddCallback(stream, write_in_callback, &second, 0));
	OK(cuMemcpyHtoDAsync(memory, host_work.pinned, 4, stream));
	OK(cuMemcpyDtoHAsync(&seen, memory, 4, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(seen == 22 && atomic_load(&host_work.calls) == 2);
}

static void host_functions_run_in_stream_order(void **state)
{
	(void)state;
	run_scenario(run_host_functions, NULL);
}

static void misuse_events(void)
{
	CUevent plain, untimed, never;
	CUstream stream;
	float ms = 7;

	open_device(0);
	plain = record(NULL);
	OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&never, CU_EVENT_BLOCKING_SYNC));
	OK(cuEventRecord(untimed, NULL));
	CHECK_RESULT(cuEventElapsedTime(&ms, plain, untimed), CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuEventElapsedTime(&ms, plain, never), CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuEventElapsedTime(NULL, plain, plain), CUDA_ERROR_INVALID_VALUE);
	launch_for(300.0 * MS, 1, NULL);
	OK(cuEventRecord(untimed, NULL));
	CHECK_RESULT(cuEventElapsedTime(&ms, record(NULL), plain), CUDA_ERROR_NOT_READY);
	CHECK(ms >= 7 && ms <= 7);
	OK(cuEventQuery(never));
	OK(cuEventSynchronize(never));
	OK(cuStreamWaitEvent(NULL, never, 0));
	CHECK_RESULT(cuEventCreate(&plain, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
	OK(cuEventDestroy(never));
	CHECK_RESULT(cuEventDestroy(never), CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuEventRecord(never, NULL), CUDA_ERROR_INVALID_HANDLE);
	stream = new_stream(CU_STREAM_DEFAULT);
	OK(cuStreamDestroy(stream));
	CHECK_RESULT(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuStreamCreate(&stream, 0x40), CUDA_ERROR_INVALID_VALUE);
}

static void events_and_streams_refuse_misuse(void **state)
{
	(void)state;
	run_scenario(misuse_events, NULL);
}

enum { THREADS = 4, ROUNDS = 30, BLOCK = 600000 };

static void *copy_in_thread(void *context)
{
	unsigned char *out, *back;
	CUdeviceptr memory;
	CUstream stream;

	OK(cuCtxSetCurrent(context));
	OK(cuMemAllocHost((void **)&out, BLOCK));
	OK(cuMemAllocHost((void **)&back, BLOCK));
	stream = new_stream(CU_STREAM_DEFAULT);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t bytes = round % 3 == 0 ? 1000 : BLOCK;

		OK(cuMemAllocAsync(&memory, BLOCK, stream));
		fill_pattern(out, bytes, round + (unsigned)(uintptr_t)stream);
		OK(cuMemcpyHtoDAsync(memory, out, bytes, stream));
		OK(cuMemcpyDtoHAsync(back, memory, bytes, stream));
		launch_for(1000, 1, round % 5 == 0 ? NULL : stream);
		OK(cuMemFreeAsync(memory, stream));
		OK(cuStreamSynchronize(stream));
		CHECK(memcmp(out, back, bytes) == 0);
	}
	OK(cuMemFreeHost(out));
	OK(cuMemFreeHost(back));
	OK(cuStreamDestroy(stream));
	return NULL;
}

static void copy_in_threads(void)
{
	CUcontext context = open_device(0);
	pthread_t threads[THREADS];
	size_t available, total;

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, copy_in_thread, context) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	OK(cuMemGetInfo(&available, &total));
	CHECK(available == total);
}

static void threads_do_not_disturb_each_other(void **state)
{
	(void)state;
	run_scenario(copy_in_threads, NULL);
	run_scenario(copy_in_threads, "SIMCUDA_TIME_SCALE", "0", NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_carry_the_modelled_times),
		cmocka_unit_test(small_kernels_overlap_and_full_ones_do_not),
		cmocka_unit_test(the_legacy_stream_orders_blocking_streams_only),
		cmocka_unit_test(threads_have_default_streams_of_their_own),
		cmocka_unit_test(each_direction_has_one_copy_engine),
		cmocka_unit_test(synchronising_takes_the_modelled_time),
		cmocka_unit_test(the_time_scale_changes_the_wall_clock_only),
		cmocka_unit_test(pageable_copies_hold_the_caller_and_pinned_ones_do_not),
		cmocka_unit_test(launches_run_about_a_thousand_ahead),
		cmocka_unit_test(host_functions_run_in_stream_order),
		cmocka_unit_test(events_and_streams_refuse_misuse),
		cmocka_unit_test(threads_do_not_disturb_each_other),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
