/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about GPU models: gpus.tsv, compiled in. A GPU that is not in the table is unknown;
 * nobody guesses for it. Rates are dense and count FP32 accumulation, which is what the libraries
 * use. 0 means that the table has no value.
 */
#ifndef GPUTRACE_KNOWLEDGE_GPU_TABLE_H
#define GPUTRACE_KNOWLEDGE_GPU_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct gpu_row {
	const char *name;
	const char *name_pattern; /* POSIX extended regular expression over the reported name */
	const char *architecture;
	uint16_t cc_major, cc_minor;
	uint16_t sm_count;
	uint16_t boost_mhz;
	uint16_t tensor_core_gen; /* 0: none */
	double fp64_tensor_tflops, tf32_tflops, fp16_tflops, bf16_tflops, fp8_tflops;
	double int8_tops, fp4_tflops, fp32_tflops;
	double memory_gib, memory_gbs, l2_mib;
	uint16_t pcie_gen, pcie_width;
	double nvlink_gbs; /* both directions of all links together, as NVIDIA counts; 0: none */
	uint16_t nvlink_gen;
	uint16_t mig_max_instances;
};

enum gpu_partition {
	GPU_WHOLE,
	GPU_MIG, /* an instance of a larger GPU: scale by SMs */
	GPU_VGPU /* a share of unknown size: not judged */
};

struct gpu_match {
	const struct gpu_row *row; /* NULL: unknown GPU */
	enum gpu_partition partition;
	double sm_share; /* of the row's SMs that this device has; 1 for a whole GPU */
};

/* By the name that CUDA reports; sm_count (0 unknown) tells apart models that share a name and
 * gives the share of a MIG instance. */
struct gpu_match gpu_table_find(const char *reported_name, uint32_t sm_count);
size_t gpu_table_count(void);
const struct gpu_row *gpu_table_row(size_t index);
/* Dense peak of matrix products whose operands have this type (enum element_type), 0 unknown. */
double gpu_row_matrix_tflops(const struct gpu_row *row, uint8_t element_type, int is_tf32_allowed);

#endif
