/* SPDX-License-Identifier: Apache-2.0 */
/* PCIe link and NUMA node of the job's GPUs, from sysfs. */
#ifndef GPUTRACE_DEVICE_LINK_H
#define GPUTRACE_DEVICE_LINK_H

#include <stdbool.h>

struct record_device;

/* Fills in numa_node and link_* of a device that is on this machine's PCI bus. A slow link is
 * normal for an idle GPU, so link_gen and link_width only rise over calls. True when something
 * changed. */
bool device_link_update(struct record_device *device, const char *sysfs_dir);

#endif
