/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a convolution's record as ring_dump.c prints them. */
#ifndef GPUTRACE_TESTS_RING_PRINT_CONV_H
#define GPUTRACE_TESTS_RING_PRINT_CONV_H

#include <inttypes.h>
#include <stdio.h>

#include "../../collector/format/record.h"

static inline void ring_print_conv(FILE *out, const struct record_conv *r)
{
	fprintf(out,
		"\top=%u\tn=%u\tc=%u\tk=%u\tgroups=%u\tin=%u,%u,%u\tfilter=%u,%u,%u\t"
		"out=%u,%u,%u\tstride=%u,%u,%u\tdilation=%u,%u,%u\tpad=%u,%u,%u\t"
		"dimensions=%u\tlayouts=%u,%u,%u\ttypes=%u,%u,%u\tcompute=%u\tmath=%u\t"
		"operations=%u\tx=0x%" PRIx64 "\tw=0x%" PRIx64 "\ty=0x%" PRIx64
		"\tstream=0x%" PRIx64,
		r->op, r->batch, r->channels_in, r->channels_out, r->groups, r->in[0], r->in[1],
		r->in[2], r->filter[0], r->filter[1], r->filter[2], r->out[0], r->out[1], r->out[2],
		r->stride[0], r->stride[1], r->stride[2], r->dilation[0], r->dilation[1],
		r->dilation[2], r->pad[0], r->pad[1], r->pad[2], r->dimensions, r->layout_x,
		r->layout_w, r->layout_y, r->type_x, r->type_w, r->type_y, r->type_compute,
		r->math_flags, r->operations, r->x, r->w, r->y, r->stream);
}

#endif
