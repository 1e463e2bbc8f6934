/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number that would stand at a place if all were sorted, for medians of many.
 */
#ifndef GPUTRACE_MODEL_NUMBER_SELECT_H
#define GPUTRACE_MODEL_NUMBER_SELECT_H

#include <stddef.h>
#include <stdint.h>

/* rank < count. The numbers change their places. */
int64_t number_select(int64_t *numbers, size_t count, size_t rank);

#endif
