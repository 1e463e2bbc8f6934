/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PCIe device's link as sysfs tells it: what it is now, and what both of its ends can do. The
 * port above a device is the parent of its directory.
 */
#ifndef GPUTRACE_PCI_LINK_H
#define GPUTRACE_PCI_LINK_H

#include <stdint.h>

struct pci_link_end {
	uint16_t gen, width; /* 0 unknown */
};

struct pci_link {
	struct pci_link_end now, device_max, port_max;
	struct pci_link_end able; /* the smaller of the two ends, by generation and by width */
};

/* By its number "0000:3b:00.0". */
void pci_link_read(const char *root, const char *address, struct pci_link *link);
/* Only what it is now: for often. */
struct pci_link_end pci_link_now(const char *root, const char *address);

#endif
