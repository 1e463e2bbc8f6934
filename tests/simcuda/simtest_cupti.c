/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small CUPTI client for the tests of the simulated CUPTI.
 */
#include "simtest_cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <cublas_v2.h>

#include "simtest_child.h"

struct simtest_cupti simtest_cupti = {.buffer_bytes = 8192};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, simtest_cupti.buffer_bytes);
	*size = simtest_cupti.buffer_bytes;
	*max_records = 0;
	pthread_mutex_lock(&lock);
	simtest_cupti.asked++;
	pthread_mutex_unlock(&lock);
}

static void note(const CUpti_Activity *record)
{
	struct simtest_record *s = &simtest_cupti.records[simtest_cupti.count];

	if (simtest_cupti.count == SIMTEST_RECORDS_MAX)
		return;
	*s = (struct simtest_record){.kind = (int)record->kind};
	if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		const CUpti_ActivityKernel9 *k = (const void *)record;

		s->correlation = k->correlationId;
		s->stream = k->streamId;
		s->begin_ns = k->start;
		s->end_ns = k->end;
		snprintf(s->name, sizeof(s->name), "%s", k->name);
	} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
		const CUpti_ActivityMemcpy5 *c = (const void *)record;

		s->correlation = c->correlationId;
		s->stream = c->streamId;
		s->begin_ns = c->start;
		s->end_ns = c->end;
		s->bytes = c->bytes;
		s->direction = c->copyKind;
	} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
		const CUpti_ActivityMemcpyPtoP4 *p = (const void *)record;

		s->correlation = p->correlationId;
		s->stream = p->streamId;
		s->begin_ns = p->start;
		s->end_ns = p->end;
		s->bytes = p->bytes;
		s->direction = p->copyKind;
		s->source_device = p->srcDeviceId;
		s->destination_device = p->dstDeviceId;
	} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
		const CUpti_ActivityMemset4 *m = (const void *)record;

		s->correlation = m->correlationId;
		s->stream = m->streamId;
		s->begin_ns = m->start;
		s->end_ns = m->end;
		s->bytes = m->bytes;
	} else if (record->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
		const CUpti_ActivitySynchronization *y = (const void *)record;

		s->correlation = y->correlationId;
		s->direction = (int)y->type;
	} else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
		s->correlation = ((const CUpti_ActivityAPI *)(const void *)record)->correlationId;
	}
	simtest_cupti.count++;
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream, (void)size;
	pthread_mutex_lock(&lock);
	if (buffer)
		simtest_cupti.buffers++;
	else
		simtest_cupti.null_buffers++;
	while (buffer && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		note(record);
	pthread_mutex_unlock(&lock);
	free(buffer);
}

void simtest_cupti_start(void)
{
	SIMTEST_EQUAL(cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), CUPTI_SUCCESS);
}

/* 40 gemms, 40 copies each way, 40 sets, on two streams. */
void simtest_cupti_work(void)
{
	cublasHandle_t handle;
	cudaStream_t streams[2];
	const float one = 1, zero = 0;
	char *device = NULL, *host = NULL;

	SIMTEST_EQUAL(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
	cudaStreamCreate(&streams[0]);
	cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking);
	cudaMalloc((void **)&device, 64 << 20);
	cudaMallocHost((void **)&host, 4 << 20);
	for (int i = 0; i < 40; i++) {
		cudaStream_t stream = streams[i % 2];

		cublasSetStream(handle, stream);
		cudaMemcpyAsync(device, host, 1000 + (size_t)i, cudaMemcpyHostToDevice, stream);
		SIMTEST_EQUAL(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 512, 512, 64 + i, &one,
					  (float *)(void *)device, 512, (float *)(void *)device,
					  512, &zero, (float *)(void *)device, 512),
			      CUBLAS_STATUS_SUCCESS);
		cudaMemsetAsync(device, i, 5000 + (size_t)i, stream);
		cudaMemcpyAsync(host, device, 3000 + (size_t)i, cudaMemcpyDeviceToHost, stream);
	}
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
}

size_t simtest_cupti_count(int kind)
{
	size_t count = 0;

	for (size_t i = 0; i < simtest_cupti.count; i++)
		count += simtest_cupti.records[i].kind == kind;
	return count;
}
