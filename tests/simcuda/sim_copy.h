/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a copy or a set is asked to do, in any number of dimensions; sim_internal.h includes it.
 */
#ifndef GPUTRACE_SIM_COPY_H
#define GPUTRACE_SIM_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of `width` bytes, `rows` of them in each slice. A pitch is from row to row, a slice from
 * slice to slice. A plain copy has one row. */
struct sim_box {
	size_t width, rows, slices;
	size_t to_pitch, to_slice, from_pitch, from_slice;
};

static inline struct sim_box sim_box_of_bytes(size_t bytes)
{
	return (struct sim_box){.width = bytes, .rows = 1, .slices = 1};
}

static inline size_t sim_box_bytes(const struct sim_box *box)
{
	return box->width * box->rows * box->slices;
}

/* From the first byte of a side to the end of its last one. */
static inline size_t sim_box_span(const struct sim_box *box, size_t pitch, size_t slice)
{
	return (box->slices - 1) * slice + (box->rows - 1) * pitch + box->width;
}

#endif
