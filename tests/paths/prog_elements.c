/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies with arrays, of more than 2^31 bytes, on the libraries of lib_elements.c. Prints the
 * results and how often the driver was asked for an array's format while a capture was open.
 */
#include <stdint.h>
#include <stdio.h>

#include "../../shim/api/cuda_abi.h"

extern unsigned int elements_asked;
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuMemcpy3DBatchAsync_v2(size_t count, struct batch_copy *copies, unsigned long long flags,
			    void *stream);
int cudaMemcpy3D(const struct cudaMemcpy3DParms *p);
int cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p);
int cudaMemcpy3DBatchAsync(size_t count, struct batch_copy *copies, unsigned long long flags,
			   void *stream);

#define ARRAY(number) ((void *)(uintptr_t)(0x1000 * (number)))
#define STREAM	      ((void *)0x77000)

static struct batch_operand operand(uint64_t array)
{
	struct batch_operand made = {.type = array ? 2 : 1};

	if (array)
		made.as.array.array = ARRAY(array);
	else
		made.as.pointer.address = 0x5000;
	return made;
}

int main(void)
{
	struct cudaMemcpy3DParms parms = {
		.srcPtr = {ARRAY(9), 64, 64, 64}, .extent = {100003, 307, 11}, .kind = 1};
	struct cudaMemcpy3DPeerParms peer = {.extent = {100003, 307, 11}};
	struct batch_copy copies[3] = {
		{.source = operand(0), .destination = operand(1), .extent = {100003, 307, 11}},
		{.source = operand(2), .destination = operand(0), .extent = {5000000001, 1, 1}},
		{.source = operand(0), .destination = operand(0), .extent = {7, 3, 2}},
	};
	void *graph = NULL;
	unsigned int before;

	for (uint64_t array = 1; array <= 3; array++) {
		parms.dstArray = ARRAY(array);
		printf("copy %d\n", cudaMemcpy3D(&parms));
	}
	parms.extent.width = 0;
	printf("refused copy %d\n", cudaMemcpy3D(&parms));
	peer.srcArray = ARRAY(2);
	peer.dstArray = ARRAY(2);
	printf("peer %d\n", cudaMemcpy3DPeer(&peer));
	printf("batch %d\n", cudaMemcpy3DBatchAsync(3, copies, 0, STREAM));
	printf("driver's batch %d\n", cuMemcpy3DBatchAsync_v2(3, copies, 0, STREAM));
	printf("begin %d\n", cuStreamBeginCapture_v2(STREAM, 0));
	before = elements_asked;
	parms.extent.width = 1000;
	printf("captured copy %d\n", cudaMemcpy3D(&parms));
	printf("captured batch %d\n", cuMemcpy3DBatchAsync_v2(3, copies, 0, STREAM));
	printf("asked in a capture: %u\n", elements_asked - before);
	printf("end %d\n", cuStreamEndCapture(STREAM, &graph));
	return 0;
}
