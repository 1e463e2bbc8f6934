/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets of the simulated driver in two and three dimensions, between devices, with arrays
 * and in batches: every byte against a model in plain C, and the errors.
 */
#include "sim_scenario.h"

#include <stdbool.h>

enum { PITCH = 160, HEIGHT = 12, DEPTH = 5, BYTES = PITCH * HEIGHT * DEPTH, ROUNDS = 200 };

static uint32_t random_state = 12345;

static size_t pick(size_t limit)
{
	random_state = random_state * 1664525U + 1013904223U;
	return (random_state >> 8) % limit;
}

/* One end of a copy: pitch and height of the volume that it lies in, and where it begins there. */
struct end {
	size_t pitch, height, x, y, z;
};

static struct end pick_end(size_t width, size_t rows, size_t slices)
{
	struct end end;

	end.pitch = PITCH - 8 * pick(3);
	end.height = HEIGHT - pick(3);
	end.x = pick(end.pitch - width + 1);
	end.y = pick(end.height - rows + 1);
	end.z = pick(DEPTH - slices + 1);
	return end;
}

static size_t at(const struct end *end, size_t x, size_t y, size_t z)
{
	return ((end->z + z) * end->height + end->y + y) * end->pitch + end->x + x;
}

struct memory {
	CUmemorytype type;
	unsigned char *host;
	CUdeviceptr device;
	unsigned char expected[BYTES];
};

static void open_memory(struct memory *memory, CUmemorytype type, unsigned seed)
{
	memory->type = type;
	memory->host = malloc(BYTES);
	CHECK(memory->host != NULL);
	fill_pattern(memory->host, BYTES, seed);
	memcpy(memory->expected, memory->host, BYTES);
	memory->device = device_alloc(BYTES);
	OK(cuMemcpyHtoD(memory->device, memory->host, BYTES));
}

static void check_memory(const struct memory *memory)
{
	unsigned char have[BYTES];

	if (memory->type == CU_MEMORYTYPE_HOST)
		memcpy(have, memory->host, BYTES);
	else
		OK(cuMemcpyDtoH(have, memory->device, BYTES));
	CHECK(memcmp(have, memory->expected, BYTES) == 0);
}

static void copy_3d(struct memory *to, const struct end *to_end, const struct memory *from,
		    const struct end *from_end, const size_t *extent, CUstream stream)
{
	CUDA_MEMCPY3D shape = {
		.srcXInBytes = from_end->x,
		.srcY = from_end->y,
		.srcZ = from_end->z,
		.srcMemoryType = from->type,
		.srcHost = from->host,
		.srcDevice = from->device,
		.srcPitch = from_end->pitch,
		.srcHeight = from_end->height,
		.dstXInBytes = to_end->x,
		.dstY = to_end->y,
		.dstZ = to_end->z,
		.dstMemoryType = to->type,
		.dstHost = to->host,
		.dstDevice = to->device,
		.dstPitch = to_end->pitch,
		.dstHeight = to_end->height,
		.WidthInBytes = extent[0],
		.Height = extent[1],
		.Depth = extent[2],
	};

	if (stream)
		OK(cuMemcpy3DAsync(&shape, stream));
	else
		OK(cuMemcpy3D(&shape));
}

static void copy_2d(struct memory *to, const struct end *to_end, const struct memory *from,
		    const struct end *from_end, const size_t *extent, CUstream stream)
{
	CUDA_MEMCPY2D shape = {
		.srcXInBytes = from_end->x,
		.srcY = from_end->y,
		.srcMemoryType = from->type,
		.srcHost = from->host,
		.srcDevice = from->device,
		.srcPitch = from_end->pitch,
		.dstXInBytes = to_end->x,
		.dstY = to_end->y,
		.dstMemoryType = to->type,
		.dstHost = to->host,
		.dstDevice = to->device,
		.dstPitch = to_end->pitch,
		.WidthInBytes = extent[0],
		.Height = extent[1],
	};

	if (stream)
		OK(cuMemcpy2DAsync(&shape, stream));
	else if (pick(2))
		OK(cuMemcpy2D(&shape));
	else
		OK(cuMemcpy2DUnaligned(&shape));
}

/* A copy of random shape from one memory to the other, and the same in the model. */
static void copy_some(struct memory *to, struct memory *from, CUstream stream)
{
	size_t extent[3] = {1 + pick(100), 1 + pick(8), 1 + pick(3)};
	bool is_flat = pick(2);
	struct end to_end, from_end;

	if (is_flat)
		extent[2] = 1;
	to_end = pick_end(extent[0], extent[1], extent[2]);
	from_end = pick_end(extent[0], extent[1], extent[2]);
	if (is_flat)
		to_end.z = from_end.z = 0;
	for (size_t z = 0; z < extent[2]; z++) {
		for (size_t y = 0; y < extent[1]; y++)
			memcpy(to->expected + at(&to_end, 0, y, z),
			       from->expected + at(&from_end, 0, y, z), extent[0]);
	}
	(is_flat ? copy_2d : copy_3d)(to, &to_end, from, &from_end, extent, stream);
}

static void copy_all_ways(void)
{
	static const CUmemorytype types[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
					     CU_MEMORYTYPE_DEVICE};
	static struct memory memories[3];
	CUstream stream;

	open_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 3; i++)
		open_memory(&memories[i], types[i], i + 1);
	for (int round = 0; round < ROUNDS; round++) {
		size_t to = pick(3), from = (to + 1 + pick(2)) % 3;

		copy_some(&memories[to], &memories[from], pick(2) ? stream : NULL);
		/* Streams do not wait for each other here. */
		OK(cuStreamSynchronize(stream));
	}
	for (int i = 0; i < 3; i++)
		check_memory(&memories[i]);
}

static void every_byte_of_a_shape_arrives_and_no_other(void **state)
{
	(void)state;
	run_scenario(copy_all_ways, "SIMCUDA_TIME_SCALE", "0", NULL);
}

/* ---- devices ---- */

static void copy_to_peer(void)
{
	unsigned char sent[PITCH * 4], back[PITCH * 4], expected[PITCH * 4];
	CUcontext contexts[2] = {open_device(0), open_device(1)};
	CUdeviceptr memory[2];
	CUDA_MEMCPY3D_PEER shape;

	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		memory[i] = device_alloc(sizeof(sent));
		OK(cuMemsetD8(memory[i], 0, sizeof(sent)));
	}
	fill_pattern(sent, sizeof(sent), 3);
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuMemcpyHtoD(memory[0], sent, sizeof(sent)));
	shape = (CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				     .srcDevice = memory[0],
				     .srcContext = contexts[0],
				     .srcPitch = PITCH,
				     .dstXInBytes = 10,
				     .dstY = 1,
				     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				     .dstDevice = memory[1],
				     .dstContext = contexts[1],
				     .dstPitch = PITCH,
				     .WidthInBytes = 100,
				     .Height = 3,
				     .Depth = 1};
	OK(cuMemcpy3DPeer(&shape));
	OK(cuCtxSynchronize());
	memset(expected, 0, sizeof(expected));
	for (size_t row = 0; row < 3; row++)
		memcpy(expected + (row + 1) * PITCH + 10, sent + row * PITCH, 100);
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuMemcpyDtoH(back, memory[1], sizeof(back)));
	CHECK(memcmp(back, expected, sizeof(back)) == 0);
	shape.dstContext = NULL;
	CHECK_RESULT(cuMemcpy3DPeer(&shape), CUDA_ERROR_INVALID_CONTEXT);
}

static void rows_can_go_to_another_device(void **state)
{
	(void)state;
	run_scenario(copy_to_peer, "SIMCUDA_GPUS", "2", NULL);
}

/* ---- arrays ---- */

static void copy_through_array(void)
{
	unsigned char sent[32 * 4 * 6], back[32 * 4 * 6] = {0};
	CUDA_ARRAY_DESCRIPTOR description = {
		.Width = 32, .Height = 6, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUDA_MEMCPY2D shape = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = sent,
			       .srcPitch = 128,
			       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			       .WidthInBytes = 128,
			       .Height = 6};

	open_device(0);
	fill_pattern(sent, sizeof(sent), 9);
	OK(cuArrayCreate(&shape.dstArray, &description));
	OK(cuMemcpy2D(&shape));
	shape.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	shape.srcArray = shape.dstArray;
	shape.srcY = 2;
	shape.dstMemoryType = CU_MEMORYTYPE_HOST;
	shape.dstHost = back;
	shape.dstPitch = 128;
	shape.Height = 4;
	OK(cuMemcpy2D(&shape));
	CHECK(memcmp(back, sent + 2 * 128, 4 * 128) == 0);
	shape.Height = 5; /* one row too many */
	CHECK_RESULT(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE);
	shape.srcArray = (CUarray)back;
	CHECK_RESULT(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_HANDLE);
}

static void arrays_keep_what_was_copied_into_them(void **state)
{
	(void)state;
	run_scenario(copy_through_array, NULL);
}

/* ---- batches ---- */

static void run_batches(void)
{
	CUmemcpyAttributes attributes[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
					    {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY}};
	static unsigned char sent[3000], back[3000];
	size_t sizes[3] = {1000, 1500, 500}, indices[2] = {0, 2};
	CUdeviceptr to[3], from[3], memory;
	CUstream stream;

	open_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	memory = device_alloc(sizeof(sent));
	fill_pattern(sent, sizeof(sent), 4);
	for (int i = 0; i < 3; i++) {
		size_t offset = i == 0 ? 0 : i == 1 ? 1000 : 2500;

		to[i] = memory + offset;
		from[i] = (uintptr_t)(sent + offset);
	}
	OK(cuMemcpyBatchAsync(to, from, sizes, 3, attributes, indices, 2, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH(back, memory, sizeof(back)));
	CHECK(memcmp(sent, back, sizeof(back)) == 0);

	CHECK_RESULT(cuMemcpyBatchAsync(to, from, sizes, 3, attributes, indices, 2, NULL),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemcpyBatchAsync(to, from, sizes, 0, attributes, indices, 1, stream),
		     CUDA_ERROR_INVALID_VALUE);
	indices[0] = 1;
	CHECK_RESULT(cuMemcpyBatchAsync(to, from, sizes, 3, attributes, indices, 2, stream),
		     CUDA_ERROR_INVALID_VALUE);
}

/* The function of CUDA 12.8, which tells the copy that failed. */
static void find_the_wrong_one(void)
{
	CUresult (*batch)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
			  size_t *, size_t, size_t *, CUstream);
	CUmemcpyAttributes attribute = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUdriverProcAddressQueryResult found;
	size_t sizes[2] = {100, 100}, index = 0, failed = 77;
	unsigned char host[200] = {0};
	CUdeviceptr to[2], from[2];
	CUstream stream;

	open_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuGetProcAddress_v2("cuMemcpyBatchAsync", (void **)&batch, 12080, 0, &found));
	CHECK(found == CU_GET_PROC_ADDRESS_SUCCESS);
	to[0] = device_alloc(100);
	to[1] = to[0] + 50; /* runs over the end */
	from[0] = from[1] = (uintptr_t)host;
	CHECK_RESULT(batch(to, from, sizes, 2, &attribute, &index, 1, &failed, stream),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK(failed == 1);
	CHECK_RESULT(batch(to, from, sizes, 2, NULL, &index, 1, &failed, stream),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK(failed == SIZE_MAX);
}

static void batches_copy_all_or_say_which_failed(void **state)
{
	(void)state;
	run_scenario(run_batches, NULL);
	run_scenario(find_the_wrong_one, NULL);
}

/* ---- sets and errors ---- */

static void set_rows(void)
{
	static unsigned char have[PITCH * HEIGHT], expected[PITCH * HEIGHT];
	uint16_t two = 0xabcd;
	uint32_t four = 0x12345678;
	CUdeviceptr memory;
	CUstream stream;

	open_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	memory = device_alloc(sizeof(have));
	OK(cuMemsetD8(memory, 0, sizeof(have)));
	OK(cuCtxSynchronize());
	OK(cuMemsetD2D8(memory + 3, PITCH, 0x5a, 7, 2));
	OK(cuMemsetD2D16(memory + 3 * PITCH, PITCH, two, 11, 3));
	OK(cuCtxSynchronize());
	OK(cuMemsetD2D32Async(memory + 7 * PITCH + 8, PITCH, four, 5, 4, stream));
	OK(cuStreamSynchronize(stream));
	for (size_t row = 0; row < 2; row++)
		memset(expected + row * PITCH + 3, 0x5a, 7);
	for (size_t row = 3; row < 6; row++) {
		for (size_t i = 0; i < 11; i++)
			memcpy(expected + row * PITCH + 2 * i, &two, 2);
	}
	for (size_t row = 7; row < 11; row++) {
		for (size_t i = 0; i < 5; i++)
			memcpy(expected + row * PITCH + 8 + 4 * i, &four, 4);
	}
	OK(cuMemcpyDtoH(have, memory, sizeof(have)));
	CHECK(memcmp(have, expected, sizeof(have)) == 0);
	CHECK_RESULT(cuMemsetD2D8(memory, 4, 0, 8, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemsetD2D32(memory + 2, PITCH, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemsetD2D8(memory, PITCH, 0, 8, HEIGHT + 1), CUDA_ERROR_INVALID_VALUE);
}

static void sets_of_rows_leave_the_gaps_alone(void **state)
{
	(void)state;
	run_scenario(set_rows, NULL);
}

static void refuse_shapes(void)
{
	unsigned char host[400] = {0};
	CUDA_MEMCPY2D shape = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = host,
			       .srcPitch = 20,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstPitch = 20,
			       .WidthInBytes = 20,
			       .Height = 20};

	open_device(0);
	shape.dstDevice = device_alloc(sizeof(host));
	OK(cuMemcpy2D(&shape));
	CHECK_RESULT(cuMemcpy2D(NULL), CUDA_ERROR_INVALID_VALUE);
	shape.dstXInBytes = 1; /* no longer fits into a row */
	CHECK_RESULT(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE);
	shape.dstXInBytes = 0;
	shape.dstY = 1; /* nor into the memory */
	CHECK_RESULT(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE);
	shape.dstY = 0;
	shape.dstMemoryType = (CUmemorytype)9;
	CHECK_RESULT(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE);
	shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	shape.dstDevice = (uintptr_t)host; /* the driver knows no such device memory */
	CHECK_RESULT(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE);
	shape.Height = 0;
	OK(cuMemcpy2D(&shape));
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	run_scenario(refuse_shapes, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_of_a_shape_arrives_and_no_other),
		cmocka_unit_test(rows_can_go_to_another_device),
		cmocka_unit_test(arrays_keep_what_was_copied_into_them),
		cmocka_unit_test(batches_copy_all_or_say_which_failed),
		cmocka_unit_test(sets_of_rows_leave_the_gaps_alone),
		cmocka_unit_test(shapes_that_do_not_fit_are_refused),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
