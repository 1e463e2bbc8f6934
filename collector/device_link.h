/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sysfs says about a GPU's PCIe link and NUMA node, for its device record.
 */
#ifndef GPUTRACE_DEVICE_LINK_H
#define GPUTRACE_DEVICE_LINK_H

#include <stdbool.h>

struct record_device;

/* Fills in numa_node, the link's capability and, when the GPU is working now, link_gen and
 * link_width, which only rise: an idle link drops to generation 1 by itself and says nothing. True
 * when anything changed. */
bool device_link_update(struct record_device *device, const char *root, bool is_busy);

#endif
