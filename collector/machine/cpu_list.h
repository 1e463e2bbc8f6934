/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's lists of CPUs and nodes: "0-3,8" holds five numbers. Bad text ends a list.
 */
#ifndef GPUTRACE_CPU_LIST_H
#define GPUTRACE_CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* The next range at *at, which moves behind it; false at the end. */
bool cpu_list_next(const char **at, uint32_t *first, uint32_t *last);
uint32_t cpu_list_count(const char *list);
bool cpu_list_has(const char *list, uint32_t number);
/* Whether the two lists have a number in common. */
bool cpu_list_overlap(const char *left, const char *right);

#endif
