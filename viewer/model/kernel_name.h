/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads C++ kernel names, mangled or not, just far enough to find the kernel's own name.
 */
#ifndef GPUTRACE_MODEL_KERNEL_NAME_H
#define GPUTRACE_MODEL_KERNEL_NAME_H

/* The kernel's own name: without return type, namespaces, template and function arguments. Wrapper
 * templates such as cutlass::Kernel2<...> give the name that they carry. Allocated, never NULL;
 * what cannot be read comes back as it is. */
char *kernel_short_name(const char *name);

#endif
