/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readable names of C++ functions, by the demangler of the C++ library that this machine has.
 */
#ifndef GPUTRACE_PRINT_DEMANGLE_H
#define GPUTRACE_PRINT_DEMANGLE_H

/* "at::native::copy_(at::Tensor&)" of "_ZN2at...". What is not mangled, or cannot be read, comes
 * back as it is. Allocated, never NULL. */
char *demangle_name(const char *name);

#endif
