/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector looks at links ten times a second, after work was asked for; a link that falls
 * asleep sooner, or that wakes for nothing but small copies, is seen at generation 1. The number of
 * lanes does not change with that.
 */
#include "seen_link.h"

/* A copy's time is known that exactly; beyond it no link is faster than its raw rate. */
#define CERTAINTY 1.05

static double best_gbs(const struct copy_stats *copies)
{
	double best = 0;

	for (int lane = 0; lane < COPY_LANE_COUNT; lane++) {
		if (copies->lanes[lane].best_gbs > best)
			best = copies->lanes[lane].best_gbs;
	}
	return best;
}

struct link_rate seen_link(const struct record_device *device, const struct copy_stats *copies)
{
	struct link_rate link = link_rate_of(device->link_gen, device->link_width);

	if (device->link_gen < device->link_gen_max && best_gbs(copies) > CERTAINTY * link.raw_gbs)
		return (struct link_rate){0, 0, 0};
	return link;
}

bool seen_link_may_sleep(const struct record_device *device, const struct copy_stats *copies)
{
	return device->link_gen < device->link_gen_max && best_gbs(copies) <= 0;
}
