/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and events of the simulated runtime.
 */
#include "simrt_internal.h"

static cudaError_t create_stream(const char *function, cudaStream_t *stream, unsigned flags,
				 const int *priority)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUstream made = NULL;

	if (status == cudaSuccess && !stream)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess && priority)
		status = simrt_from_driver(
			simrt_driver.StreamCreateWithPriority(&made, flags, *priority));
	else if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.StreamCreate(&made, flags));
	if (status == cudaSuccess)
		*stream = made;
	return simrt_end(&call, status, "stream=0x%llx\tflags=%u", simrt_address(made), flags);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	return create_stream(__func__, stream, cudaStreamDefault, NULL);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	return create_stream(__func__, stream, flags, NULL);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	return create_stream(__func__, stream, flags, &priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	/* The default streams are nobody's to destroy. */
	if (status == cudaSuccess &&
	    (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread))
		status = cudaErrorInvalidResourceHandle;
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.StreamDestroy(stream));
	return simrt_end(&call, status, "stream=0x%llx", simrt_address(stream));
}

cudaError_t simrt_cudaStreamSynchronize(const struct simrt_flavour *via, const char *function,
					cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->StreamSynchronize(stream));
	return simrt_end(&call, status, "stream=0x%llx", simrt_address(stream));
}

cudaError_t simrt_cudaStreamQuery(const struct simrt_flavour *via, const char *function,
				  cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->StreamQuery(stream));
	return simrt_end(&call, status, "stream=0x%llx", simrt_address(stream));
}

cudaError_t simrt_cudaStreamWaitEvent(const struct simrt_flavour *via, const char *function,
				      cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->StreamWaitEvent(stream, event, flags));
	return simrt_end(&call, status, "stream=0x%llx\tevent=0x%llx", simrt_address(stream),
			 simrt_address(event));
}

cudaError_t simrt_cudaStreamGetFlags(const struct simrt_flavour *via, const char *function,
				     cudaStream_t stream, unsigned *flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->StreamGetFlags(stream, flags));
	return simrt_end(&call, status, NULL);
}

cudaError_t simrt_cudaStreamGetPriority(const struct simrt_flavour *via, const char *function,
					cudaStream_t stream, int *priority)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->StreamGetPriority(stream, priority));
	return simrt_end(&call, status, NULL);
}

static cudaError_t create_event(const char *function, cudaEvent_t *event, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUevent made = NULL;

	if (status == cudaSuccess && !event)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.EventCreate(&made, flags));
	if (status == cudaSuccess)
		*event = made;
	return simrt_end(&call, status, "event=0x%llx\tflags=%u", simrt_address(made), flags);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return create_event(__func__, event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	return create_event(__func__, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.EventDestroy(event));
	return simrt_end(&call, status, "event=0x%llx", simrt_address(event));
}

cudaError_t simrt_cudaEventRecord(const struct simrt_flavour *via, const char *function,
				  cudaEvent_t event, cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->EventRecord(event, stream));
	return simrt_end(&call, status, "event=0x%llx\tstream=0x%llx", simrt_address(event),
			 simrt_address(stream));
}

cudaError_t simrt_cudaEventRecordWithFlags(const struct simrt_flavour *via, const char *function,
					   cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->EventRecordWithFlags(event, stream, flags));
	return simrt_end(&call, status, "event=0x%llx\tstream=0x%llx", simrt_address(event),
			 simrt_address(stream));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.EventQuery(event));
	return simrt_end(&call, status, "event=0x%llx", simrt_address(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.EventSynchronize(event));
	return simrt_end(&call, status, "event=0x%llx", simrt_address(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.EventElapsedTime(milliseconds, start, end));
	return simrt_end(&call, status, NULL);
}
