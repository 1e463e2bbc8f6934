/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of items of an array that is not a pointer.
 */
#ifndef GPUTRACE_BASE_ARRAY_LEN_H
#define GPUTRACE_BASE_ARRAY_LEN_H

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
