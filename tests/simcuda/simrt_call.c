/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bracket around every public function of the simulated runtime: driver, cuInit, context,
 * correlation id on the way in; the thread's last error and the exact log on the way out.
 */
#include "simrt_internal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Thread_local struct simrt_thread simrt_thread;

static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static cudaError_t init_status;
static bool is_logging;

static void init(void)
{
	init_status = simrt_from_driver(simrt_driver.Init(0));
	/* Formatting a line costs more than a whole simulated call: not without a log. */
	is_logging = simrt_driver.log && getenv("SIMCUDA_LOG");
}

cudaError_t simrt_begin(struct simrt_call *call, const char *function, enum simrt_need need)
{
	cudaError_t status = simrt_driver_load();

	call->function = function;
	call->correlation = 0;
	if (status != cudaSuccess)
		return status;
	if (simrt_driver.runtime_enter)
		call->correlation = simrt_driver.runtime_enter(function);
	if (need == SIMRT_DRIVER)
		return cudaSuccess;
	pthread_once(&init_once, init);
	if (init_status != cudaSuccess)
		return init_status;
	if (need == SIMRT_INIT)
		return cudaSuccess;
	status = simrt_context_bind();
	return status != cudaSuccess ? status : simrt_context_sticky();
}

cudaError_t simrt_end(const struct simrt_call *call, cudaError_t status, const char *format, ...)
{
	if (status != cudaSuccess) {
		simrt_thread.last_error = status;
		simrt_context_note(status);
	}
	if (is_logging && format) {
		char text[1024];
		va_list arguments;

		va_start(arguments, format);
		vsnprintf(text, sizeof(text), format, arguments);
		va_end(arguments);
		simrt_driver.log("rt", call->function, (int)status, "%s", text);
	}
	if (simrt_driver.runtime_enter && call->correlation)
		simrt_driver.runtime_exit(call->function, call->correlation, (int)status);
	return status;
}
