/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios for tests of the simulated driver. The driver reads its configuration once per process,
 * so each scenario runs in a child process; a failed CHECK prints the place and ends it.
 */
#ifndef GPUTRACE_SIM_SCENARIO_H
#define GPUTRACE_SIM_SCENARIO_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>

#include "simcuda.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define CHECK_RESULT(call, expected)                                                               \
	do {                                                                                       \
		CUresult result_ = (call);                                                         \
                                                                                                   \
		if (result_ != (expected)) {                                                       \
			fprintf(stderr, "%s:%d: %s gave %d, not %d\n", __FILE__, __LINE__, #call,  \
				(int)result_, (int)(expected));                                    \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define OK(call) CHECK_RESULT(call, CUDA_SUCCESS)

/* Runs the scenario in a child; the environment is given as NAME, VALUE, ..., NULL. */
static inline void run_scenario(void (*scenario)(void), ...)
{
	va_list list;
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		const char *name;

		va_start(list, scenario);
		while ((name = va_arg(list, const char *)))
			setenv(name, va_arg(list, const char *), 1);
		va_end(list);
		scenario();
		exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* cuInit and a current context on the device. */
static inline CUcontext open_device(int ordinal)
{
	CUcontext context;
	CUdevice device;

	OK(cuInit(0));
	OK(cuDeviceGet(&device, ordinal));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	return context;
}

static inline double wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline CUdeviceptr device_alloc(size_t bytes)
{
	CUdeviceptr address = 0;

	OK(cuMemAlloc(&address, bytes));
	CHECK(address != 0);
	return address;
}

/* Bytes that differ by position and by seed. */
static inline void fill_pattern(void *memory, size_t bytes, unsigned seed)
{
	unsigned char *at = memory;
	uint32_t state = seed * 2654435761U + 1;

	for (size_t i = 0; i < bytes; i++) {
		state = state * 1664525U + 1013904223U;
		at[i] = (unsigned char)(state >> 24);
	}
}

#endif
