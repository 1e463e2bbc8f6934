/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link of a device as the recording saw it, if it was awake when it was seen: an idle link
 * drops to generation 1 and its rate then says nothing.
 */
#ifndef GPUTRACE_RULES_SEEN_LINK_H
#define GPUTRACE_RULES_SEEN_LINK_H

#include "copy_stats.h"
#include "link_rate.h"

/* Copies that were faster than the link as seen prove that it was seen asleep: rate 0, unknown. */
struct link_rate seen_link(const struct record_device *device, const struct copy_stats *copies);
/* A generation below what device and slot can do, and no copy so large that it would have been
 * seen with the link awake. */
bool seen_link_may_sleep(const struct record_device *device, const struct copy_stats *copies);

#endif
