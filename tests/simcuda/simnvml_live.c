/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changes on a GPU, as the simulated NVML tells it: memory and processes, load, clocks, power,
 * errors. Memory and load are those of the simulated processes; clocks, power and temperature
 * follow from whether the GPU works and from what the description says of it. They are a model:
 * real ones lag and scatter.
 */
#include "simnvml_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_NS	50000000U /* rates are over at least this long */
#define LINGER_NS	20000000U /* clocks stay up this long after the last work */
#define IDLE_MHZ	210U
#define IDLE_MEMORY_MHZ 405U

#define NUMBER(name)                                                                               \
	SIMNVML_API int name(nvml_device device, unsigned int *value);                             \
	int name(nvml_device device, unsigned int *value)

/* The driver's clock: it starts as CLOCK_REALTIME and follows CLOCK_MONOTONIC. */
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static struct sim_shared_gpu *state_of(const struct simnvml_device *device)
{
	return &simnvml.shared->gpus[device->index];
}

static bool is_loaded(const struct simnvml_device *device)
{
	uint64_t until = atomic_load(&state_of(device)->busy_until_ns);

	return until > 0 && now_ns() < until + LINGER_NS;
}

/* How fast a counter grows, over the time since it was last asked for. */
static double rate_of(struct simnvml_rate *rate, uint64_t count)
{
	uint64_t now = now_ns();
	double per_second;

	pthread_mutex_lock(&simnvml_lock);
	if (rate->at_ns == 0 || now >= rate->at_ns + SAMPLE_NS) {
		rate->per_second = rate->at_ns == 0 ? 0
						    : (double)(count - rate->count) * 1e9 /
							      (double)(now - rate->at_ns);
		rate->at_ns = now;
		rate->count = count;
	}
	per_second = rate->per_second;
	pthread_mutex_unlock(&simnvml_lock);
	return per_second;
}

/* ---- memory and processes ---- */

static uint64_t used_bytes(const struct simnvml_device *device)
{
	uint64_t used = sim_shared_held_bytes(simnvml.folder, device->index);

	for (int i = 0; i < SIM_SHARED_PROCESSES; i++) {
		const struct sim_shared_process *process = &simnvml.shared->processes[i];
		uint64_t bytes = atomic_load(&process->memory_bytes[device->index]);

		if (bytes > 0 && sim_shared_is_alive(process))
			used += bytes;
	}
	return used;
}

SIMNVML_API int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory);
int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
	int result = simnvml_check(device, memory);

	if (result)
		return result;
	memory->total = device->described->memory_mib << 20;
	memory->used = used_bytes(device);
	if (memory->used > memory->total)
		memory->used = memory->total;
	memory->free = memory->total - memory->used;
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *memory);
int nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *memory)
{
	struct nvml_memory plain;
	int result = simnvml_check(device, memory);

	if (result)
		return result;
	if (memory->version != NVML_MEMORY_VERSION_2)
		return NVML_VERSION_MISMATCH;
	nvmlDeviceGetMemoryInfo(device, &plain);
	memory->total = plain.total;
	memory->reserved = 0;
	memory->used = plain.used;
	memory->free = plain.free;
	return NVML_OK;
}

/* The processes with memory on the GPU: how many, and as many of them as fit. */
static unsigned int
list_processes(const struct simnvml_device *device, unsigned int room,
	       void (*put)(void *infos, unsigned int at, int pid, uint64_t bytes), void *infos)
{
	unsigned int count = 0;

	for (int i = 0; i < SIM_SHARED_PROCESSES; i++) {
		const struct sim_shared_process *process = &simnvml.shared->processes[i];
		uint64_t bytes = atomic_load(&process->memory_bytes[device->index]);

		if (bytes == 0 || !sim_shared_is_alive(process))
			continue;
		if (count < room)
			put(infos, count, atomic_load(&process->pid), bytes);
		count++;
	}
	return count;
}

static void put_v1(void *infos, unsigned int at, int pid, uint64_t bytes)
{
	((struct nvml_process_v1 *)infos)[at] =
		(struct nvml_process_v1){.pid = (unsigned int)pid, .used_bytes = bytes};
}

static void put_v3(void *infos, unsigned int at, int pid, uint64_t bytes)
{
	((struct nvml_process *)infos)[at] = (struct nvml_process){.pid = (unsigned int)pid,
								   .used_bytes = bytes,
								   .gpu_instance = ~0U,
								   .compute_instance = ~0U};
}

static int processes(const struct simnvml_device *device, unsigned int *count, void *infos,
		     void (*put)(void *infos, unsigned int at, int pid, uint64_t bytes))
{
	int result = simnvml_check(device, count);
	unsigned int room, found;

	if (result)
		return result;
	room = infos ? *count : 0;
	found = list_processes(device, room, put, infos);
	*count = found;
	return found > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

#define PROCESSES(name, type, put)                                                                 \
	SIMNVML_API int name(nvml_device device, unsigned int *count, struct type *infos);         \
	int name(nvml_device device, unsigned int *count, struct type *infos)                      \
	{                                                                                          \
		return processes(device, count, infos, put);                                       \
	}
PROCESSES(nvmlDeviceGetComputeRunningProcesses, nvml_process_v1, put_v1)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, nvml_process, put_v3)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, nvml_process, put_v3)

/* ---- load ---- */

SIMNVML_API int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *rates);
int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *rates)
{
	int result = simnvml_check(device, rates);
	double percent;

	if (result)
		return result;
	percent = rate_of(&device->busy, atomic_load(&state_of(device)->kernel_ns)) / 1e7;
	rates->gpu = percent > 100 ? 100 : (unsigned int)(percent + 0.5);
	rates->memory = rates->gpu / 2; /* the driver does not know who used the memory how much */
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetPcieThroughput(nvml_device device, int counter, unsigned int *value);
int nvmlDeviceGetPcieThroughput(nvml_device device, int counter, unsigned int *value)
{
	int result = simnvml_check(device, value);
	int lane = counter == NVML_TX_BYTES; /* what the GPU sends comes from it */

	if (result)
		return result;
	if (counter != NVML_TX_BYTES && counter != NVML_RX_BYTES)
		return NVML_INVALID_ARGUMENT;
	*value = (unsigned int)(rate_of(&device->copied[lane],
					atomic_load(&state_of(device)->copied_bytes[lane])) /
				1000);
	return NVML_OK;
}

NUMBER(nvmlDeviceGetPcieReplayCounter)
{
	int result = simnvml_check(device, value);

	if (result == NVML_OK)
		*value = (unsigned int)device->described->pcie_replays;
	return result;
}

/* ---- clocks, power, temperature ---- */

static unsigned int memory_mhz(const struct simnvml_device *device)
{
	/* As the driver's attribute: twice this over a bus of 5120 bits is the table's bandwidth.
	 */
	return (unsigned int)(device->model->bandwidth_gbs * 1e3 / (2.0 * 5120 / 8));
}

SIMNVML_API int nvmlDeviceGetMaxClockInfo(nvml_device device, int type, unsigned int *value);
int nvmlDeviceGetMaxClockInfo(nvml_device device, int type, unsigned int *value)
{
	int result = simnvml_check(device, value);

	if (result)
		return result;
	if (type < NVML_GRAPHICS_CLOCK || type > NVML_VIDEO_CLOCK)
		return NVML_INVALID_ARGUMENT;
	*value = type == NVML_MEMORY_CLOCK ? memory_mhz(device)
					   : (unsigned int)device->model->boost_mhz;
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetClockInfo(nvml_device device, int type, unsigned int *value);
int nvmlDeviceGetClockInfo(nvml_device device, int type, unsigned int *value)
{
	int result = nvmlDeviceGetMaxClockInfo(device, type, value);

	if (result)
		return result;
	if (!is_loaded(device))
		*value = type == NVML_MEMORY_CLOCK ? IDLE_MEMORY_MHZ : IDLE_MHZ;
	else if (type != NVML_MEMORY_CLOCK)
		*value = (unsigned int)(*value * device->described->clock_share);
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetCurrentClocksEventReasons(nvml_device device,
						       unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksEventReasons(nvml_device device, unsigned long long *reasons)
{
	int result = simnvml_check(device, reasons);

	if (result == NVML_OK)
		*reasons =
			is_loaded(device) ? device->described->throttle_reasons : NVML_REASON_IDLE;
	return result;
}

SIMNVML_API int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
							  unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *reasons)
{
	return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

NUMBER(nvmlDeviceGetEnforcedPowerLimit)
{
	int result = simnvml_check(device, value);

	if (result == NVML_OK)
		*value = device->described->power_limit_w * 1000;
	return result;
}

NUMBER(nvmlDeviceGetPowerManagementLimit)
{
	return nvmlDeviceGetEnforcedPowerLimit(device, value);
}

NUMBER(nvmlDeviceGetPowerUsage)
{
	int result = nvmlDeviceGetEnforcedPowerLimit(device, value);

	if (result)
		return result;
	if (!is_loaded(device))
		*value = *value / 100 * 15;
	else if (!(device->described->throttle_reasons & NVML_REASON_POWER_CAP))
		*value = *value / 100 * 85;
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned int *value);
int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned int *value)
{
	int result = simnvml_check(device, value);

	if (result)
		return result;
	if (sensor != 0)
		return NVML_INVALID_ARGUMENT;
	if (device->described->temperature_c > 0)
		*value = device->described->temperature_c;
	else if (!is_loaded(device))
		*value = 34;
	else
		*value = device->described->throttle_reasons &
					 (NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL)
				 ? 88
				 : 62;
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetPerformanceState(nvml_device device, int *state);
int nvmlDeviceGetPerformanceState(nvml_device device, int *state)
{
	int result = simnvml_check(device, state);

	if (result == NVML_OK)
		*state = is_loaded(device) ? 0 : 8;
	return result;
}

NUMBER(nvmlDeviceGetComputeMode)
{
	int result = simnvml_check(device, value);

	if (result == NVML_OK)
		*value = 0;
	return result;
}

/* ---- errors and modes ---- */

/* As the driver's attribute says it. */
static bool has_ecc(const struct simnvml_device *device)
{
	return device->model->memory_gib >= 40;
}

SIMNVML_API int nvmlDeviceGetEccMode(nvml_device device, unsigned int *current,
				     unsigned int *pending);
int nvmlDeviceGetEccMode(nvml_device device, unsigned int *current, unsigned int *pending)
{
	int result = simnvml_check(device, current && pending ? current : NULL);

	if (result)
		return result;
	if (!has_ecc(device))
		return NVML_NOT_SUPPORTED;
	*current = *pending = 1;
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetTotalEccErrors(nvml_device device, int type, int counter,
					    unsigned long long *errors);
int nvmlDeviceGetTotalEccErrors(nvml_device device, int type, int counter,
				unsigned long long *errors)
{
	int result = simnvml_check(device, errors);

	if (result)
		return result;
	if (type < NVML_CORRECTED || type > NVML_UNCORRECTED || counter < 0 || counter > 1)
		return NVML_INVALID_ARGUMENT;
	if (!has_ecc(device))
		return NVML_NOT_SUPPORTED;
	*errors = type == NVML_UNCORRECTED ? device->described->ecc_errors : 0;
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetRemappedRows(nvml_device device, unsigned int *corrected,
					  unsigned int *uncorrected, unsigned int *is_pending,
					  unsigned int *has_failed);
int nvmlDeviceGetRemappedRows(nvml_device device, unsigned int *corrected,
			      unsigned int *uncorrected, unsigned int *is_pending,
			      unsigned int *has_failed)
{
	bool is_complete = corrected && uncorrected && is_pending && has_failed;
	int result = simnvml_check(device, is_complete ? corrected : NULL);

	if (result)
		return result;
	if (!has_ecc(device))
		return NVML_NOT_SUPPORTED;
	*corrected = *has_failed = 0;
	/* A row that failed is exchanged at the next reset. */
	*uncorrected = *is_pending = device->described->ecc_errors > 0;
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetMigMode(nvml_device device, unsigned int *current,
				     unsigned int *pending);
int nvmlDeviceGetMigMode(nvml_device device, unsigned int *current, unsigned int *pending)
{
	int result = simnvml_check(device, current && pending ? current : NULL);

	if (result)
		return result;
	if (device->model->major < 8 || device->model->minor != 0)
		return NVML_NOT_SUPPORTED;
	*current = *pending = device->described->has_mig;
	return NVML_OK;
}

static bool read_field(const struct simnvml_device *device, struct nvml_field *field)
{
	field->type = NVML_TYPE_UNSIGNED;
	switch (field->id) {
	case NVML_FIELD_ECC_CURRENT:
		field->value.as_unsigned = has_ecc(device);
		return true;
	case NVML_FIELD_ECC_DOUBLE_VOLATILE:
		field->type = NVML_TYPE_UNSIGNED_LONG_LONG;
		field->value.as_unsigned_long_long = device->described->ecc_errors;
		return has_ecc(device);
	case NVML_FIELD_NVLINK_COUNT:
		field->value.as_unsigned = simnvml_link_count(device);
		return true;
	case NVML_FIELD_PCIE_REPLAYS:
		field->value.as_unsigned = (unsigned int)device->described->pcie_replays;
		return true;
	default:
		return false;
	}
}

SIMNVML_API int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields);
int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields)
{
	int result = simnvml_check(device, count > 0 ? fields : NULL);

	if (result)
		return result;
	for (int i = 0; i < count; i++) {
		fields[i].timestamp = (long long)(now_ns() / 1000);
		fields[i].latency_us = 0;
		memset(&fields[i].value, 0, sizeof(fields[i].value));
		fields[i].result = read_field(device, &fields[i]) ? NVML_OK : NVML_NOT_SUPPORTED;
	}
	return NVML_OK;
}
