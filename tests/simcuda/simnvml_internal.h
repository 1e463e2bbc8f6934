/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated NVML. Everything it says comes from the description of the machine
 * (DIR/machine.tsv), from the state that its processes share (DIR/state) and from the files in the
 * tree, where DIR is SIMCUDA_MACHINE or, in a process that has no variables but gputrace's,
 * GPUTRACE_ROOT.
 *
 * Threads: any. State after nvmlInit is constant but for the samples, which a lock guards.
 */
#ifndef GPUTRACE_SIMNVML_INTERNAL_H
#define GPUTRACE_SIMNVML_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim_gpu_table.h"
#include "sim_machine.h"
#include "sim_shared.h"
#include "simnvml_abi.h"

#define SIMNVML_API __attribute__((visibility("default")))

/* What was counted when a rate was last asked for, and the rate since then. */
struct simnvml_rate {
	uint64_t at_ns, count;
	double per_second;
};

struct simnvml_device {
	int index;
	const struct sim_machine_gpu *described;
	const struct sim_gpu *model;
	struct simnvml_rate busy, copied[2];
};

struct simnvml {
	int users; /* nvmlInit less nvmlShutdown */
	char folder[4096];
	struct sim_machine machine;
	struct sim_shared *shared;
	struct simnvml_device devices[SIM_MACHINE_GPUS_MAX];
};

extern struct simnvml simnvml;
extern pthread_mutex_t simnvml_lock;

/* NVML_OK when the library is open, the handle is one of ours and the result pointer is there. */
int simnvml_check(const struct simnvml_device *device, const void *result);
int simnvml_text(char *text, unsigned int size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void simnvml_fill_pci(const struct simnvml_device *device, struct nvml_pci_info *pci);
/* The links of a GPU, counted over all its peers. */
unsigned int simnvml_link_count(const struct simnvml_device *device);

#endif
