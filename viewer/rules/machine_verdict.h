/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a machine, from its numbers alone: links, clocks, memory errors, tenants,
 * versions. The rules say it about a recording, `gputrace doctor` about the machine itself.
 */
#ifndef GPUTRACE_RULES_MACHINE_VERDICT_H
#define GPUTRACE_RULES_MACHINE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_versions.h"
#include "text.h"

enum machine_verdict {
	MACHINE_UNKNOWN = 0, /* the numbers are not there */
	MACHINE_GOOD,
	MACHINE_INFO,  /* worth knowing */
	MACHINE_FAULT, /* something to repair */
};

struct machine_link {
	uint16_t gen, width, gen_able, width_able; /* 0 unknown */
};

/* Bits of NVML's reasons why clocks are not at their highest. */
enum throttle_reason {
	THROTTLE_IDLE = 0x1,
	THROTTLE_APPLICATION_CLOCKS = 0x2,
	THROTTLE_POWER_CAP = 0x4,
	THROTTLE_HARDWARE = 0x8,
	THROTTLE_SYNC_BOOST = 0x10,
	THROTTLE_THERMAL = 0x20,
	THROTTLE_HARDWARE_THERMAL = 0x40,
	THROTTLE_POWER_BRAKE = 0x80,
	THROTTLE_DISPLAY_CLOCKS = 0x100,
};
#define THROTTLE_FAULTS                                                                            \
	(THROTTLE_HARDWARE | THROTTLE_THERMAL | THROTTLE_HARDWARE_THERMAL | THROTTLE_POWER_BRAKE)

/* -1: unknown. */
struct machine_health {
	int64_t ecc_errors; /* uncorrected, since the driver was loaded */
	int64_t ecc_growth; /* of these, during the recording */
	int64_t remapped_rows, remap_failed;
	int64_t pcie_replays;
};

struct machine_tenants {
	int64_t other_processes;
	uint64_t other_bytes; /* that they hold, 0 unknown */
	bool has_mig, has_mps;
};

struct machine_versions {
	struct cuda_version driver, toolkit; /* major 0 unknown */
	uint16_t cc_major, cc_minor;	     /* 0 unknown */
};

/* All append one or two sentences each to `what` and `fix` when there is something to say. */
enum machine_verdict machine_judge_link(const struct machine_link *link, bool is_loaded,
					struct text *what, struct text *fix);
enum machine_verdict machine_judge_clocks(uint64_t reasons, struct text *what, struct text *fix);
enum machine_verdict machine_judge_health(const struct machine_health *health, struct text *what,
					  struct text *fix);
enum machine_verdict machine_judge_tenants(const struct machine_tenants *tenants, struct text *what,
					   struct text *fix);
enum machine_verdict machine_judge_versions(const struct machine_versions *versions,
					    struct text *what, struct text *fix);
/* The reasons by name, "thermal slowdown, power brake". */
void machine_add_reasons(struct text *text, uint64_t reasons);

/* A function of CUDA's runtime or driver: the codes of cuBLAS, cuDNN and NCCL mean other things. */
bool machine_is_cuda_call(const char *api);
/* An error code of CUDA that says that versions do not fit; NULL for all others. */
const char *machine_version_error(int32_t status);
/* What to do about it. */
const char *machine_version_error_fix(int32_t status);

#endif
