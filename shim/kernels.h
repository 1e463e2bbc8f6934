/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels by what a launch passes: host stubs (cudaLaunchKernel), function and kernel
 * handles (cuLaunchKernel). A kernel's number is a hash of its name, so the same kernel has the
 * same number whichever way it is launched and in CUPTI's records.
 */
#ifndef GPUTRACE_SHIM_KERNELS_H
#define GPUTRACE_SHIM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

/* From __cudaRegisterFunction: keeps both pointers, which live as long as the library that called.
 */
void kernels_register(const void *host_function, const char *name);
/* The handle means the kernel of that name (copied). */
void kernels_set_name(const void *handle, const char *name);
/* The handle means the same kernel as another handle or host stub. */
void kernels_set_alias(const void *handle, const void *other);
/* A module went away: handles found by asking the driver may mean something else now. */
void kernels_unload(void);

/* The kernel's number, written with its name to the thread's ring once per session; 0 unknown.
 * may_ask: the value is a driver handle and the driver may be asked for its name. */
uint64_t kernels_number(struct thread *thread, const void *function, bool may_ask);
/* The number of a handle whose name nobody knows while the driver may not be asked; 0: too many. */
uint64_t kernels_number_for_now(const void *function);
/* The driver may be asked again: writes the names of those numbers. */
void kernels_name_pending(struct thread *thread);
/* The number of a name seen elsewhere (CUPTI). */
uint64_t kernels_number_of_name(struct thread *thread, const char *name);

void kernels_after_fork(void);

#endif
