/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of result codes, by the library of the call that returned one.
 */
#ifndef GPUTRACE_KNOWLEDGE_ERROR_NAME_H
#define GPUTRACE_KNOWLEDGE_ERROR_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* "cudaErrorNotReady" for a call of the runtime, "CUDA_ERROR_NOT_READY" for one of the driver,
 * "CUBLAS_STATUS_..." for cuBLAS and "nccl..." for NCCL; NULL when the code is not known. */
const char *error_name_of(const char *api, int32_t status);
/* The context is lost: a code of the runtime or of the driver that every later call returns. */
bool error_name_is_sticky(const char *api, int32_t status);

#endif
