/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver tells about devices, contexts and functions, asked through its real functions, a
 * few times per process. Nobody calls this while a capture is open or after exit began.
 */
#ifndef GPUTRACE_SHIM_DEVICE_H
#define GPUTRACE_SHIM_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_abi.h"

/* Writes a DEVICE record for every GPU that this process sees. */
void device_describe_all(void);
/* The device of the calling thread's current context; DEVICE_UNKNOWN without one. */
uint32_t device_current(void);
/* Contexts by handle, so that switching contexts costs no call into the driver. */
void device_learn_context(const void *context, int device);
uint32_t device_of_context(const void *context);
void device_forget_contexts(void);
/* Mangled name of a CUfunction or CUkernel; NULL when the driver is too old or may not be asked. */
const char *device_function_name(const void *function);
/* Of a CUarray, which a cudaArray_t is too. False: the driver may not be asked, or does not know.
 */
bool device_describe_array(const void *array, CUDA_ARRAY3D_DESCRIPTOR *description);

#endif
