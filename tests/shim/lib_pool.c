/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a large segment as RMM does; built as librmm.so, whose name is what the viewer goes by. */
#include <cuda_runtime_api.h>

int pool_take_segment(void **segment, size_t bytes);
int pool_take_segment(void **segment, size_t bytes)
{
	int status = (int)cudaMalloc(segment, bytes);

	__asm__ volatile("" ::: "memory"); /* no tail call: this frame is the point */
	return status;
}
