/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CUDA toolkits, drivers and GPUs go together: cuda_versions.def. What the table does not
 * have is unknown; nobody extrapolates. Versions are plain numbers of three parts.
 */
#ifndef GPUTRACE_KNOWLEDGE_CUDA_VERSIONS_H
#define GPUTRACE_KNOWLEDGE_CUDA_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A toolkit ("12.2", patch 0) or a driver ("535.104.05"); major 0: unknown. */
struct cuda_version {
	uint16_t major, minor, patch;
};

/* "535.104.05", "12.2" and "12": missing parts are 0. False, and unknown, for anything else. */
bool cuda_version_parse(const char *text, struct cuda_version *out);
/* 12020, as cuDriverGetVersion and cudaRuntimeGetVersion say it. */
struct cuda_version cuda_version_of_number(int64_t number);
/* Below, equal or above 0, like strcmp. */
int cuda_version_compare(struct cuda_version left, struct cuda_version right);

/* The driver that a toolkit's first release shipped with: what its PTX needs. Unknown: major 0. */
struct cuda_version cuda_versions_shipped_driver(struct cuda_version toolkit);
/* The oldest driver on which programs of a toolkit start at all. Unknown: major 0. */
struct cuda_version cuda_versions_minimum_driver(struct cuda_version toolkit);
/* The newest toolkit in the table that a driver fully supports, which is what nvidia-smi calls its
 * "CUDA Version". Unknown, because the driver is older than the table: major 0. */
struct cuda_version cuda_versions_toolkit_of_driver(struct cuda_version driver);

struct cuda_capability {
	uint16_t cc_major, cc_minor;
	struct cuda_version first_toolkit;
	struct cuda_version last_toolkit; /* major 0: not known to be dropped */
	uint16_t last_driver_branch;	  /* 0: none known */
};

/* NULL: not in the table. */
const struct cuda_capability *cuda_versions_capability(uint16_t cc_major, uint16_t cc_minor);
size_t cuda_versions_capability_count(void);
const struct cuda_capability *cuda_versions_capability_row(size_t index);

enum cuda_support {
	CUDA_SUPPORT_UNKNOWN = 0, /* the table does not have the GPU */
	CUDA_SUPPORT_GIVEN,
	CUDA_SUPPORT_TOO_OLD, /* the toolkit came before the GPU: only PTX can run */
	CUDA_SUPPORT_DROPPED, /* the toolkit no longer builds for the GPU */
};

enum cuda_support cuda_versions_support(struct cuda_version toolkit, uint16_t cc_major,
					uint16_t cc_minor);
/* Whether machine code built for one compute capability runs on a GPU of another: the same major,
 * and a minor that is not newer than the GPU's. Code for "sm_90a" and its kind runs nowhere else;
 * that is the caller's to know. */
bool cuda_versions_binary_runs_on(uint16_t binary_major, uint16_t binary_minor, uint16_t cc_major,
				  uint16_t cc_minor);

#endif
