/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled where cuDNN's own header is: what cudnn_lists.h says of the ABI is what the header says.
 * A number or a parameter that differs does not compile.
 */
#include <cudnn.h>
#ifdef GPUTRACE_CUDNN_DECLARED_H
#error "this is our own cudnn.h"
#endif

#include "cudnn_declared/cudnn_lists.h"

#define SAME_VALUE(name, number) _Static_assert((int)(name) == (number), #name);
#define SAME_VALUES(type)	 VALUES_OF_##type(SAME_VALUE)
CUDNN_ENUMS(SAME_VALUES)

/* A second declaration of a function must agree with the first. */
#define SAME_FUNCTION(name, parameters) cudnnStatus_t name parameters;
CUDNN_FUNCTIONS(SAME_FUNCTION)
