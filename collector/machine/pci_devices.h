/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVIDIA GPUs and the fast network cards of a machine as the PCI tree has them, and the paths
 * between them in the words of `nvidia-smi topo -m`.
 */
#ifndef GPUTRACE_PCI_DEVICES_H
#define GPUTRACE_PCI_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#include "pci_link.h"

#define PCI_MAX_DEVICES 64

enum pci_device_type { PCI_DEVICE_GPU = 1, PCI_DEVICE_NET };

struct pci_device {
	char address[16]; /* "0000:3b:00.0" */
	char path[512];	  /* "pci0000:3a/0000:3a:00.0/0000:3b:00.0" */
	char cpus[256];	  /* CPUs nearby, "" unknown */
	char name[64];	  /* GPU: the driver's model name; network card: "mlx5_0"; "" unknown */
	struct pci_link link;
	uint32_t domain;
	uint16_t bus, device;
	uint16_t device_id; /* of the vendor, 0 unknown */
	int32_t numa_node;  /* -1 unknown */
	uint8_t type;	    /* enum pci_device_type */
};

/* From the nearest to the farthest. */
enum pci_path {
	PCI_PATH_UNKNOWN = 0,
	PCI_PATH_SELF, /* X */
	PCI_PATH_PIX,  /* at most one bridge, a switch's */
	PCI_PATH_PXB,  /* several bridges, no host bridge */
	PCI_PATH_PHB,  /* one host bridge */
	PCI_PATH_NODE, /* several host bridges of one NUMA node */
	PCI_PATH_SYS,  /* between NUMA nodes */
};

struct pci_devices {
	size_t count;
	struct pci_device items[PCI_MAX_DEVICES]; /* GPUs by address, then network cards */
};

void pci_devices_read(const char *root, struct pci_devices *devices);
/* Index of the GPU, -1 when it is not there. */
int pci_devices_find(const struct pci_devices *devices, uint32_t domain, uint16_t bus,
		     uint16_t device);
enum pci_path pci_devices_path(const struct pci_device *one, const struct pci_device *two);
const char *pci_path_name(enum pci_path path);

#endif
