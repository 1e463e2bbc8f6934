/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts many plain numbers: a time per operation of a long recording.
 */
#ifndef GPUTRACE_MODEL_NUMBER_SORT_H
#define GPUTRACE_MODEL_NUMBER_SORT_H

#include <stddef.h>

/* Ascending; -0 comes before 0, and none may be NaN. Takes memory for a copy. */
void number_sort(double *numbers, size_t count);

#endif
