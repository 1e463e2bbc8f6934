/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the allowed variables into a buffer of our own: the program may change its environment
 * while the collector starts.
 */
#include "collector_env.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

extern char **environ;

#define ENV_COUNT 128
#define ENV_BYTES 16384

/* A name ending in * allows a prefix. Ranks name the file; the others are settings that make jobs
 * slow, which the analyzer knows. */
static const char *const allowed[] = {
	"GPUTRACE*",
	"TZ",
	"TMPDIR",
	/* ranks and jobs */
	"RANK",
	"LOCAL_RANK",
	"WORLD_SIZE",
	"LOCAL_WORLD_SIZE",
	"GROUP_RANK",
	"NODE_RANK",
	"SLURM_PROCID",
	"SLURM_LOCALID",
	"SLURM_NTASKS",
	"SLURM_JOB_ID",
	"SLURM_NODEID",
	"OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_LOCAL_RANK",
	"OMPI_COMM_WORLD_SIZE",
	"PMI_RANK",
	"PMI_SIZE",
	"PMIX_RANK",
	"TORCHELASTIC_RUN_ID",
	/* settings */
	"CUDA_VISIBLE_DEVICES",
	"CUDA_LAUNCH_BLOCKING",
	"CUDA_DEVICE_ORDER",
	"CUDA_DEVICE_MAX_CONNECTIONS",
	"CUDA_MODULE_LOADING",
	"CUDA_CACHE_DISABLE",
	"NVIDIA_TF32_OVERRIDE",
	"NCCL_P2P_DISABLE",
	"NCCL_P2P_LEVEL",
	"NCCL_IB_HCA",
	"NCCL_IB_DISABLE",
	"NCCL_SHM_DISABLE",
	"NCCL_ALGO",
	"NCCL_PROTO",
	"NCCL_NET_GDR_LEVEL",
	"NCCL_DEBUG",
	"TORCH_DISTRIBUTED_DEBUG",
	"PYTORCH_NO_CUDA_MEMORY_CACHING",
	"PYTORCH_CUDA_ALLOC_CONF",
	"PYTORCH_ALLOC_CONF",
	"OMP_NUM_THREADS",
	"MKL_NUM_THREADS",
	"CUBLAS_WORKSPACE_CONFIG",
	"CUDA_MPS_PIPE_DIRECTORY",
	"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
	"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
};

static bool is_allowed(const char *variable)
{
	size_t length = strcspn(variable, "=");
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		size_t name_length = strlen(allowed[i]);
		bool is_prefix = allowed[i][name_length - 1] == '*';
		if (is_prefix ? !strncmp(variable, allowed[i], name_length - 1)
			      : name_length == length && !strncmp(variable, allowed[i], length))
			return true;
	}
	return false;
}

const char *const *collector_env_build(void)
{
	static const char *list[ENV_COUNT + 1];
	static char text[ENV_BYTES];
	size_t count = 0, used = 0;

	for (char **variable = environ; variable && *variable && count < ENV_COUNT; variable++) {
		size_t size = strlen(*variable) + 1;
		if (!is_allowed(*variable) || used + size > sizeof(text))
			continue;
		list[count++] = memcpy(text + used, *variable, size);
		used += size;
	}
	list[count] = NULL;
	return list;
}
