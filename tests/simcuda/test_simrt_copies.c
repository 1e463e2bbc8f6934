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
	parms.srcArray = (cudaArray_t)sent;
	SIMTEST_EQUAL(cudaMemcpy3D(&parms), cudaErrorNotSupported);
}

static void slices_arrive_at_their_place(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_3d, NULL), 0);
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
		cmocka_unit_test(batches_copy_each_of_their_parts),
		cmocka_unit_test(devices_copy_to_each_other),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
