/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the simulated runtime in two and three dimensions, between devices and in batches: the
 * bytes, the codes of bad arguments, the log.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <cuda_runtime_api.h>

#include "simtest_child.h"

enum { WIDTH = 96, ROWS = 7, SLICES = 3, BYTES = WIDTH * ROWS * SLICES };

static unsigned char sent[BYTES], back[BYTES];

static void fill(void)
{
	for (int i = 0; i < BYTES; i++)
		sent[i] = (unsigned char)(i * 13 + i / 7);
}

static void check_2d(void)
{
	size_t pitch = 0;
	void *device = NULL;

	fill();
	SIMTEST_EQUAL(cudaMallocPitch(&device, &pitch, WIDTH, ROWS), cudaSuccess);
	SIMTEST_CHECK(pitch >= WIDTH);
	SIMTEST_EQUAL(cudaMemcpy2D(device, pitch, sent, WIDTH, WIDTH, ROWS, cudaMemcpyDefault),
		      cudaSuccess);
	SIMTEST_EQUAL(cudaMemset2D((char *)device + 2 * pitch + 4, pitch, 0xee, 8, 2), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy2D(back, WIDTH, device, pitch, WIDTH, ROWS, cudaMemcpyDeviceToHost),
		      cudaSuccess);
	memset(sent + 2 * WIDTH + 4, 0xee, 8);
	memset(sent + 3 * WIDTH + 4, 0xee, 8);
	SIMTEST_EQUAL(memcmp(sent, back, WIDTH * ROWS), 0);
	SIMTEST_EQUAL(cudaMemcpy2D(device, 10, sent, WIDTH, WIDTH, 2, cudaMemcpyHostToDevice),
		      cudaErrorInvalidPitchValue);
	SIMTEST_EQUAL(cudaMemcpy2D(device, pitch, NULL, WIDTH, WIDTH, 2, cudaMemcpyHostToDevice),
		      cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaMemcpy2D(device, pitch, sent, WIDTH, WIDTH, 2, (enum cudaMemcpyKind)9),
		      cudaErrorInvalidMemcpyDirection);
	SIMTEST_EQUAL(cudaMemcpy2D(NULL, 0, NULL, 0, 0, 0, cudaMemcpyHostToDevice), cudaSuccess);
}

static void rows_arrive_at_their_pitch(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_2d, NULL), 0);
}

static void check_3d(void)
{
	struct cudaExtent extent = {WIDTH, ROWS, SLICES};
	struct cudaMemcpy3DParms parms = {.extent = extent, .kind = cudaMemcpyHostToDevice};
	struct cudaPitchedPtr device;

	fill();
	SIMTEST_EQUAL(cudaMalloc3D(&device, extent), cudaSuccess);
	parms.srcPtr = (struct cudaPitchedPtr){sent, WIDTH, WIDTH, ROWS};
	parms.dstPtr = device;
	SIMTEST_EQUAL(cudaMemcpy3D(&parms), cudaSuccess);
	/* One slice fewer rows than the memory has: the others stay. */
	SIMTEST_EQUAL(cudaMemset3D(device, 0x77, (struct cudaExtent){5, 2, SLICES}), cudaSuccess);
	for (int slice = 0; slice < SLICES; slice++) {
		for (int row = 0; row < 2; row++)
			memset(sent + (slice * ROWS + row) * WIDTH, 0x77, 5);
	}
	parms.srcPtr = device;
	parms.dstPtr = (struct cudaPitchedPtr){back, WIDTH, WIDTH, ROWS};
	parms.kind = cudaMemcpyDefault;
	SIMTEST_EQUAL(cudaMemcpy3DAsync(&parms, NULL), cudaSuccess);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
	SIMTEST_EQUAL(memcmp(sent, back, BYTES), 0);
	parms.srcArray = (cudaArray_t)sent; /* a pointer and an array */
	SIMTEST_EQUAL(cudaMemcpy3D(&parms), cudaErrorInvalidValue);
}

static void slices_arrive_at_their_place(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_3d, NULL), 0);
}

/* Eight bytes per element: 12 elements are one row of `sent`. */
static const struct cudaChannelFormatDesc pairs = {32, 32, 0, 0, cudaChannelFormatKindFloat};

static void check_flat_arrays(void)
{
	cudaArray_t one = NULL, two = NULL;

	fill();
	SIMTEST_EQUAL(cudaMallocArray(&one, &pairs, WIDTH / 8, ROWS, 0), cudaSuccess);
	SIMTEST_EQUAL(cudaMallocArray(&two, &pairs, WIDTH / 8, ROWS, 0), cudaSuccess);
	SIMTEST_EQUAL(
		cudaMemcpy2DToArray(one, 0, 0, sent, WIDTH, WIDTH, ROWS, cudaMemcpyHostToDevice),
		cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy2DToArray(two, 0, 0, sent + WIDTH * ROWS, WIDTH, WIDTH, ROWS,
					  cudaMemcpyDefault),
		      cudaSuccess);
	/* Rows 1 to 3 of the first, bytes 8 to 31, become rows 2 to 4 of the other, from byte 16.
	 */
	SIMTEST_EQUAL(
		cudaMemcpy2DArrayToArray(two, 16, 2, one, 8, 1, 24, 3, cudaMemcpyDeviceToDevice),
		cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy2DFromArrayAsync(back, WIDTH, two, 0, 0, WIDTH, ROWS,
						 cudaMemcpyDeviceToHost, NULL),
		      cudaSuccess);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
	for (int row = 2; row < 5; row++)
		memcpy(sent + (ROWS + row) * WIDTH + 16, sent + (row - 1) * WIDTH + 8, 24);
	SIMTEST_EQUAL(memcmp(back, sent + WIDTH * ROWS, WIDTH * ROWS), 0);
	SIMTEST_EQUAL(cudaMemcpy2DFromArray(back, WIDTH, two, 8, 0, WIDTH, 1, cudaMemcpyDefault),
		      cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaMemcpy2DFromArray(back, 8, two, 0, 0, WIDTH, 1, cudaMemcpyDefault),
		      cudaErrorInvalidPitchValue);
	SIMTEST_EQUAL(
		cudaMemcpy2DFromArray(back, WIDTH, two, 0, 0, WIDTH, 1, cudaMemcpyHostToDevice),
		cudaErrorInvalidMemcpyDirection);
	SIMTEST_EQUAL(cudaMemcpy2DArrayToArray(two, 0, 0, NULL, 0, 0, 8, 1, cudaMemcpyDefault),
		      cudaErrorInvalidValue);
}

static void arrays_keep_what_is_copied_to_them(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_flat_arrays, NULL), 0);
}

static void check_deep_arrays(void)
{
	const struct cudaExtent extent = {WIDTH / 8, ROWS, SLICES};
	const struct simtest_line *line;
	struct simtest_log *log;
	struct cudaMemcpy3DParms parms = {.srcPtr = {sent, WIDTH, WIDTH, ROWS},
					  .extent = extent,
					  .kind = cudaMemcpyHostToDevice};
	cudaArray_t array = NULL, narrow = NULL;

	fill();
	SIMTEST_EQUAL(cudaMalloc3DArray(&array, &pairs, extent, 0), cudaSuccess);
	SIMTEST_EQUAL(cudaMallocArray(&narrow,
				      &(struct cudaChannelFormatDesc){
					      8, 0, 0, 0, cudaChannelFormatKindUnsigned},
				      WIDTH, ROWS, 0),
		      cudaSuccess);
	parms.dstArray = array;
	SIMTEST_EQUAL(cudaMemcpy3D(&parms), cudaSuccess);
	/* Positions in the array count elements, those in memory bytes. */
	parms = (struct cudaMemcpy3DParms){.srcArray = array,
					   .srcPos = {3, 2, 1},
					   .dstPtr = {back, WIDTH, WIDTH, ROWS},
					   .dstPos = {5, 0, 0},
					   .extent = {4, 3, 2},
					   .kind = cudaMemcpyDefault};
	SIMTEST_EQUAL(cudaMemcpy3DAsync(&parms, NULL), cudaSuccess);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
	for (int slice = 0; slice < 2; slice++) {
		for (int row = 0; row < 3; row++)
			SIMTEST_EQUAL(memcmp(back + (slice * ROWS + row) * WIDTH + 5,
					     sent + ((slice + 1) * ROWS + row + 2) * WIDTH + 24,
					     32),
				      0);
	}
	SIMTEST_EQUAL(back[4], 0);
	SIMTEST_EQUAL(back[5 + 32], 0);
	parms.dstPtr.ptr = NULL;
	parms.dstArray = narrow; /* its elements are of another size */
	SIMTEST_EQUAL(cudaMemcpy3D(&parms), cudaErrorInvalidValue);
	log = simtest_log_read();
	line = simtest_log_find(log, "rt", "cudaMemcpy3DAsync", 0);
	SIMTEST_CHECK(line != NULL);
	SIMTEST_EQUAL(strcmp(simtest_log_value(line, "bytes"), "192"), 0);
	SIMTEST_EQUAL(strcmp(simtest_log_value(line, "direction"), "d2h"), 0);
	simtest_log_free(log);
}

static void positions_in_arrays_count_elements(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_deep_arrays, NULL), 0);
}

static void check_deep_batch(void)
{
	struct cudaMemcpy3DBatchOp operations[2] = {
		{.src = {.type = cudaMemcpyOperandTypePointer,
			 .op.ptr = {.ptr = sent, .rowLength = WIDTH, .layerHeight = ROWS}},
		 .dst = {.type = cudaMemcpyOperandTypePointer},
		 .extent = {30, 2, 2},
		 .srcAccessOrder = cudaMemcpySrcAccessOrderStream},
		{.src = {.type = cudaMemcpyOperandTypePointer,
			 .op.ptr = {.ptr = sent, .rowLength = WIDTH / 8}},
		 .dst = {.type = cudaMemcpyOperandTypeArray, .op.array = {.offset = {2, 1, 0}}},
		 .extent = {5, 3, 1},
		 .srcAccessOrder = cudaMemcpySrcAccessOrderStream},
	};
	cudaStream_t stream = NULL;
	cudaArray_t array = NULL;
	char *device = NULL;

	fill();
	SIMTEST_EQUAL(cudaStreamCreate(&stream), cudaSuccess);
	SIMTEST_EQUAL(cudaMalloc((void **)&device, BYTES), cudaSuccess);
	SIMTEST_EQUAL(cudaMallocArray(&array, &pairs, WIDTH / 8, ROWS, 0), cudaSuccess);
	operations[0].dst.op.ptr.ptr = device;
	operations[1].dst.op.array.array = array;
	SIMTEST_EQUAL(cudaMemcpy3DBatchAsync(2, operations, 0, stream), cudaSuccess);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
	/* Without a row length the rows lie one after the other. */
	SIMTEST_EQUAL(cudaMemcpy(back, device, 120, cudaMemcpyDeviceToHost), cudaSuccess);
	for (int i = 0; i < 4; i++)
		SIMTEST_EQUAL(memcmp(back + 30 * i, sent + (i / 2 * ROWS + i % 2) * WIDTH, 30), 0);
	SIMTEST_EQUAL(cudaMemcpy2DFromArray(back, 40, array, 16, 1, 40, 3, cudaMemcpyDeviceToHost),
		      cudaSuccess);
	for (int row = 0; row < 3; row++)
		SIMTEST_EQUAL(memcmp(back + 40 * row, sent + WIDTH * row, 40), 0);
	SIMTEST_EQUAL(cudaMemcpy3DBatchAsync(2, operations, 0, NULL), cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaMemcpy3DBatchAsync(2, operations, 1, stream), cudaErrorInvalidValue);
	operations[1].dst.op.array.offset.x = WIDTH / 8; /* past the array's end: none is copied */
	operations[0].src.op.ptr.ptr = sent + 1;
	SIMTEST_EQUAL(cudaMemcpy3DBatchAsync(2, operations, 0, stream), cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaMemcpy(back, device, 30, cudaMemcpyDeviceToHost), cudaSuccess);
	SIMTEST_EQUAL(memcmp(back, sent, 30), 0);
}

static void batches_copy_boxes_and_arrays(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_deep_batch, NULL), 0);
}

static void check_batch(void)
{
	struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
	size_t sizes[2] = {100, 50}, index = 0;
	const void *from[2] = {sent + 7, sent + 300};
	const struct simtest_line *line;
	struct simtest_log *log;
	cudaStream_t stream = NULL;
	char *device = NULL;
	void *to[2];

	fill();
	SIMTEST_EQUAL(cudaStreamCreate(&stream), cudaSuccess);
	SIMTEST_EQUAL(cudaMalloc((void **)&device, BYTES), cudaSuccess);
	to[0] = device;
	to[1] = device + 100;
	SIMTEST_EQUAL(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, stream),
		      cudaSuccess);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy(back, device, 150, cudaMemcpyDeviceToHost), cudaSuccess);
	SIMTEST_EQUAL(memcmp(back, sent + 7, 100), 0);
	SIMTEST_EQUAL(memcmp(back + 100, sent + 300, 50), 0);
	SIMTEST_EQUAL(cudaMemcpyBatchAsync(to, from, sizes, 2, NULL, &index, 1, stream),
		      cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaMemcpyBatchAsync(NULL, from, sizes, 2, &attributes, &index, 1, stream),
		      cudaErrorInvalidValue);
	log = simtest_log_read();
	line = simtest_log_find(log, "call", "cuMemcpyBatchAsync_v2", 0);
	SIMTEST_CHECK(line != NULL);
	SIMTEST_EQUAL(strcmp(simtest_log_value(line, "bytes"), "150"), 0);
	SIMTEST_EQUAL(strcmp(simtest_log_value(line, "direction"), "h2d"), 0);
	simtest_log_free(log);
}

static void batches_copy_each_of_their_parts(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_batch, NULL), 0);
}

static void check_peers(void)
{
	struct cudaMemcpy3DPeerParms parms = {.extent = {WIDTH, ROWS, 1}};
	unsigned char *far = NULL, *near = NULL;
	char address[32];
	int can = -1, device = -1;

	fill();
	SIMTEST_EQUAL(cudaSetDevice(1), cudaSuccess);
	SIMTEST_EQUAL(cudaMalloc((void **)&far, BYTES), cudaSuccess);
	SIMTEST_EQUAL(cudaSetDevice(0), cudaSuccess);
	SIMTEST_EQUAL(cudaMalloc((void **)&near, BYTES), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy(near, sent, BYTES, cudaMemcpyHostToDevice), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpyPeer(far, 1, near, 0, BYTES), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy(back, far, BYTES, cudaMemcpyDefault), cudaSuccess);
	SIMTEST_EQUAL(memcmp(sent, back, BYTES), 0);
	SIMTEST_EQUAL(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
	SIMTEST_EQUAL(can, 1);
	SIMTEST_EQUAL(cudaDeviceCanAccessPeer(&can, 0, 2), cudaErrorInvalidDevice);
	SIMTEST_EQUAL(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
	SIMTEST_EQUAL(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
	SIMTEST_EQUAL(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
	SIMTEST_EQUAL(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
	parms.srcPtr = (struct cudaPitchedPtr){near, WIDTH, WIDTH, ROWS};
	parms.dstPtr = (struct cudaPitchedPtr){far, WIDTH, WIDTH, ROWS};
	parms.srcPos.z = 1;
	parms.dstDevice = 1;
	SIMTEST_EQUAL(cudaMemcpy3DPeerAsync(&parms, NULL), cudaSuccess);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy(back, far, BYTES, cudaMemcpyDefault), cudaSuccess);
	SIMTEST_EQUAL(memcmp(sent + WIDTH * ROWS, back, WIDTH * ROWS), 0);
	SIMTEST_EQUAL(cudaMemcpyPeer(far, 5, near, 0, 8), cudaErrorInvalidDevice);
	SIMTEST_EQUAL(cudaDeviceGetPCIBusId(address, sizeof(address), 1), cudaSuccess);
	SIMTEST_EQUAL(cudaDeviceGetByPCIBusId(&device, address), cudaSuccess);
	SIMTEST_EQUAL(device, 1);
	SIMTEST_EQUAL(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 1),
		      cudaSuccess);
	SIMTEST_EQUAL(can, 1);
}

static void devices_copy_to_each_other(void **state)
{
	const char *const settings[] = {"SIMCUDA_GPUS=2", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_peers, settings), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_arrive_at_their_pitch),
		cmocka_unit_test(slices_arrive_at_their_place),
		cmocka_unit_test(arrays_keep_what_is_copied_to_them),
		cmocka_unit_test(positions_in_arrays_count_elements),
		cmocka_unit_test(batches_copy_each_of_their_parts),
		cmocka_unit_test(batches_copy_boxes_and_arrays),
		cmocka_unit_test(devices_copy_to_each_other),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
