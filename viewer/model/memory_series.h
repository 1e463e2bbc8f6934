/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory over time: at one instant, and its trend over the steady steps.
 */
#ifndef GPUTRACE_MODEL_MEMORY_SERIES_H
#define GPUTRACE_MODEL_MEMORY_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

enum memory_series {
	MEMORY_SERIES_FRAMEWORK, /* blocks of the framework's allocator */
	MEMORY_SERIES_DEVICE,	 /* the driver's device allocations */
	MEMORY_SERIES_PINNED,	 /* pinned host memory, of the whole process */
};

struct memory_trend {
	size_t steps;		    /* steady steps that it rests on */
	double bytes_per_step;	    /* slope of a straight line through the ends of the steps */
	double fit;		    /* how much of the variation the line explains, 0..1 */
	double late_bytes_per_step; /* slope of the second half alone */
	double growth_bytes;	    /* from the first to the last of those steps, along the line */
	uint64_t last_bytes;
	uint32_t site;	     /* that holds most of what the steps left behind; 0 unknown */
	uint64_t site_bytes; /* so much of it */
	bool is_growing;     /* long enough, straight enough, and not levelling off */
};

#define MEMORY_TREND_STEPS 10 /* fewer are not judged */

/* Bytes that the driver had handed out on the device, by the calls in the file. */
uint64_t memory_live_at(const struct model *model, size_t device, int64_t time_ns);
void memory_trend_of(const struct model *model, size_t device, enum memory_series series,
		     struct memory_trend *trend);

#endif
