/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds simnvml_abi.h against the installed nvml.h; compiled only where that is found.
 */
#include <nvml.h>
#include <stddef.h>

#include "simnvml_abi.h"

#define SAME_SIZE(own, theirs) _Static_assert(sizeof(own) == sizeof(theirs), #theirs)
#define SAME_PLACE(own, field, theirs, other)                                                      \
	_Static_assert(offsetof(own, field) == offsetof(theirs, other), #theirs "." #other)
#define SAME(own, theirs) _Static_assert((int)(own) == (int)(theirs), #theirs)

SAME_SIZE(struct nvml_pci_info, nvmlPciInfo_t);
SAME_PLACE(struct nvml_pci_info, address, nvmlPciInfo_t, busId);
SAME_PLACE(struct nvml_pci_info, id, nvmlPciInfo_t, pciDeviceId);
SAME_SIZE(struct nvml_memory, nvmlMemory_t);
SAME_PLACE(struct nvml_memory, used, nvmlMemory_t, used);
SAME_SIZE(struct nvml_memory_v2, nvmlMemory_v2_t);
SAME_PLACE(struct nvml_memory_v2, used, nvmlMemory_v2_t, used);
_Static_assert(NVML_MEMORY_VERSION_2 == nvmlMemory_v2, "nvmlMemory_v2");
SAME_SIZE(struct nvml_utilization, nvmlUtilization_t);
SAME_SIZE(struct nvml_process_v1, nvmlProcessInfo_v1_t);
SAME_SIZE(struct nvml_process, nvmlProcessInfo_t);
SAME_SIZE(struct nvml_field, nvmlFieldValue_t);
SAME_PLACE(struct nvml_field, type, nvmlFieldValue_t, valueType);
SAME_PLACE(struct nvml_field, result, nvmlFieldValue_t, nvmlReturn);
SAME_PLACE(struct nvml_field, value, nvmlFieldValue_t, value);
SAME(NVML_OK, NVML_SUCCESS);
SAME(NVML_UNINITIALIZED, NVML_ERROR_UNINITIALIZED);
SAME(NVML_INVALID_ARGUMENT, NVML_ERROR_INVALID_ARGUMENT);
SAME(NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
SAME(NVML_NOT_FOUND, NVML_ERROR_NOT_FOUND);
SAME(NVML_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
SAME(NVML_DRIVER_NOT_LOADED, NVML_ERROR_DRIVER_NOT_LOADED);
SAME(NVML_VERSION_MISMATCH, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
SAME(NVML_LEVEL_SINGLE, NVML_TOPOLOGY_SINGLE);
SAME(NVML_LEVEL_MULTIPLE, NVML_TOPOLOGY_MULTIPLE);
SAME(NVML_LEVEL_HOSTBRIDGE, NVML_TOPOLOGY_HOSTBRIDGE);
SAME(NVML_LEVEL_NODE, NVML_TOPOLOGY_NODE);
SAME(NVML_LEVEL_SYSTEM, NVML_TOPOLOGY_SYSTEM);
SAME(NVML_P2P_OK, NVML_P2P_STATUS_OK);
SAME(NVML_P2P_CHIPSET, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED);
SAME(NVML_P2P_UNSUPPORTED, NVML_P2P_STATUS_NOT_SUPPORTED);
SAME(NVML_P2P_NVLINK, NVML_P2P_CAPS_INDEX_NVLINK);
SAME(NVML_P2P_PCI, NVML_P2P_CAPS_INDEX_PCI);
SAME(NVML_LINK_TO_GPU, NVML_NVLINK_DEVICE_TYPE_GPU);
SAME(NVML_LINK_TO_SWITCH, NVML_NVLINK_DEVICE_TYPE_SWITCH);
SAME(NVML_SM_CLOCK, NVML_CLOCK_SM);
SAME(NVML_MEMORY_CLOCK, NVML_CLOCK_MEM);
SAME(NVML_TX_BYTES, NVML_PCIE_UTIL_TX_BYTES);
SAME(NVML_RX_BYTES, NVML_PCIE_UTIL_RX_BYTES);
SAME(NVML_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME(NVML_REASON_IDLE, nvmlClocksEventReasonGpuIdle);
SAME(NVML_REASON_POWER_CAP, nvmlClocksEventReasonSwPowerCap);
SAME(NVML_REASON_SW_THERMAL, nvmlClocksEventReasonSwThermalSlowdown);
SAME(NVML_REASON_HW_THERMAL, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME(NVML_FIELD_ECC_CURRENT, NVML_FI_DEV_ECC_CURRENT);
SAME(NVML_FIELD_ECC_DOUBLE_VOLATILE, NVML_FI_DEV_ECC_DBE_VOL_TOTAL);
SAME(NVML_FIELD_NVLINK_COUNT, NVML_FI_DEV_NVLINK_LINK_COUNT);
SAME(NVML_FIELD_PCIE_REPLAYS, NVML_FI_DEV_PCIE_REPLAY_COUNTER);
SAME(NVML_TYPE_UNSIGNED, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME(NVML_TYPE_UNSIGNED_LONG_LONG, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
