/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVML's binary interface that the simulated library offers, in our own words;
 * simnvml_check.c holds it against the installed nvml.h where there is one.
 */
#ifndef GPUTRACE_SIMNVML_ABI_H
#define GPUTRACE_SIMNVML_ABI_H

enum nvml_return {
	NVML_OK = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_VERSION_MISMATCH = 25,
};

enum nvml_topology_level {
	NVML_LEVEL_INTERNAL = 0,
	NVML_LEVEL_SINGLE = 10,	  /* one PCIe switch */
	NVML_LEVEL_MULTIPLE = 20, /* several, but no host bridge */
	NVML_LEVEL_HOSTBRIDGE = 30,
	NVML_LEVEL_NODE = 40,
	NVML_LEVEL_SYSTEM = 50,
};

enum nvml_p2p_status { NVML_P2P_OK = 0, NVML_P2P_CHIPSET = 1, NVML_P2P_UNSUPPORTED = 5 };
enum nvml_p2p_index {
	NVML_P2P_READ,
	NVML_P2P_WRITE,
	NVML_P2P_NVLINK,
	NVML_P2P_ATOMICS,
	NVML_P2P_PCI,
};
enum nvml_link_end { NVML_LINK_TO_GPU = 0, NVML_LINK_TO_SWITCH = 2 };
enum nvml_clock { NVML_GRAPHICS_CLOCK, NVML_SM_CLOCK, NVML_MEMORY_CLOCK, NVML_VIDEO_CLOCK };
enum { NVML_TX_BYTES = 0, NVML_RX_BYTES = 1 };
enum { NVML_CORRECTED = 0, NVML_UNCORRECTED = 1 };

/* Bits of the reasons for lower clocks. */
enum {
	NVML_REASON_IDLE = 0x1,
	NVML_REASON_POWER_CAP = 0x4,
	NVML_REASON_SW_THERMAL = 0x20,
	NVML_REASON_HW_THERMAL = 0x40,
};

/* Fields that can be asked by number. */
enum {
	NVML_FIELD_ECC_CURRENT = 1,
	NVML_FIELD_ECC_DOUBLE_VOLATILE = 4,
	NVML_FIELD_NVLINK_COUNT = 91,
	NVML_FIELD_PCIE_REPLAYS = 94,
};
enum { NVML_TYPE_UNSIGNED = 1, NVML_TYPE_UNSIGNED_LONG_LONG = 3 };

typedef struct simnvml_device *nvml_device;

struct nvml_pci_info {
	char legacy_address[16];
	unsigned int domain, bus, device, id, subsystem_id;
	char address[32];
};

struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_VERSION_2 (unsigned int)(sizeof(struct nvml_memory_v2) | 2U << 24)

struct nvml_utilization {
	unsigned int gpu, memory;
};

struct nvml_process_v1 {
	unsigned int pid;
	unsigned long long used_bytes;
};

struct nvml_process {
	unsigned int pid;
	unsigned long long used_bytes;
	unsigned int gpu_instance, compute_instance;
};

union nvml_value {
	double as_double;
	unsigned int as_unsigned;
	unsigned long long as_unsigned_long_long;
};

struct nvml_field {
	unsigned int id, scope;
	long long timestamp, latency_us;
	int type, result;
	union nvml_value value;
};

#endif
