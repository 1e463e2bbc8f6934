/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver's management library says about the GPUs. It is loaded by name when it is there;
 * its calls may take long or never come back, so only nvml_watch.c and tests call this, in a
 * process that can be given up. Declarations are our own; a function that is missing or fails
 * leaves its numbers unknown.
 */
#ifndef GPUTRACE_NVML_H
#define GPUTRACE_NVML_H

#include <stdbool.h>
#include <stdint.h>

#define NVML_MAX_GPUS	   32
#define NVML_MAX_PROCESSES 16
#define NVML_MAX_LINKS	   18
#define NVML_LIBRARY	   "libnvidia-ml.so.1"

enum nvml_number {
#define NUMBER(name, function, form, selector, kind) NVML_##name,
#include "nvml_number.def"
#undef NUMBER
	/* These come several at a time, or not as a number alone. */
	NVML_gpu_busy_percent,
	NVML_memory_used_bytes,
	NVML_memory_free_bytes,
	NVML_memory_total_bytes,
	NVML_ecc_errors,
	NVML_ecc_enabled,
	NVML_mig_enabled,
	NVML_remapped_rows,    /* because of uncorrectable errors */
	NVML_remap_failed,     /* 1: no spare row was left */
	NVML_other_processes,  /* with memory on the GPU */
	NVML_memory_own_bytes, /* of the process that is watched */
	NVML_NUMBER_COUNT
};

struct nvml_process {
	uint32_t pid;
	uint64_t used_bytes; /* UINT64_MAX unknown */
};

struct nvml_gpu {
	char address[16]; /* "0000:3b:00.0" */
	char name[96];
	char uuid[48];
	uint32_t domain;
	uint16_t bus, device;
	uint16_t cc_major, cc_minor; /* 0 unknown */
	uint32_t known;		     /* bit per enum nvml_number */
	uint32_t process_count;
	int64_t values[NVML_NUMBER_COUNT];
	struct nvml_process processes[NVML_MAX_PROCESSES];
	uint8_t nvlinks[NVML_MAX_GPUS]; /* active NVLinks to each other GPU, switches included */
	uint8_t nvlinks_active;
	uint8_t nvlinks_total; /* that the GPU has */
};

struct nvml_state {
	char reason[200]; /* why there is nothing; "" all is well */
	char driver[40], version[40];
	int32_t cuda_version; /* 13000; 0 unknown */
	uint32_t gpu_count;
	bool is_simulated; /* the library of gputrace's own tests: nothing of it is measured */
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_us;   /* that asking has cost so far */
	struct nvml_gpu gpus[NVML_MAX_GPUS];
};

static inline bool nvml_has(const struct nvml_gpu *gpu, enum nvml_number number)
{
	return gpu->known >> number & 1;
}

struct nvml;

/* Loads the library and reads what does not change. NULL with state->reason set when it cannot. */
struct nvml *nvml_open(const char *library, uint32_t watched_pid, struct nvml_state *state);
/* What changes. */
void nvml_read(struct nvml *nvml, struct nvml_state *state);
void nvml_close(struct nvml *nvml);

#endif
