/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration side of the simulated runtime's registry: what the compiler's entry points
 * (simrt_compiler.c) tell it. The using side is in simrt_internal.h.
 */
#ifndef GPUTRACE_SIMRT_REGISTRY_H
#define GPUTRACE_SIMRT_REGISTRY_H

#include "simrt_internal.h"

/* NULL when memory runs out; all that takes a binary accepts only what this returned. */
struct simrt_binary *simrt_registry_add_binary(const void *image);
void simrt_registry_remove_binary(struct simrt_binary *binary);
/* The name must live as long as the binary. Registering an address twice keeps the first. */
void simrt_registry_add_kernel(struct simrt_binary *binary, const void *host_function,
			       const char *name);
void simrt_registry_add_variable(const struct simrt_variable *variable);
/* Sets the host pointers of the binary's __managed__ variables. Needs a context. */
cudaError_t simrt_registry_init_managed(struct simrt_binary *binary);

#endif
