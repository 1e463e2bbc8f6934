/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks a GPU up by its reported name. The rows are generated from gpus.tsv at build time.
 */
#include "gpu_table.h"

#include <regex.h>
#include <stdbool.h>
#include <string.h>

#include "array_len.h"
#include "record.h"

static const struct gpu_row gpu_rows[] = {
#include "gpu_rows.inc"
};

size_t gpu_table_count(void)
{
	return ARRAY_LEN(gpu_rows);
}

const struct gpu_row *gpu_table_row(size_t index)
{
	return &gpu_rows[index];
}

static bool name_matches(const char *pattern, const char *name)
{
	regex_t compiled;
	bool matches;

	if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	matches = !regexec(&compiled, name, 0, NULL, 0);
	regfree(&compiled);
	return matches;
}

/* "GRID A100-4-20C", "NVIDIA A40-8Q": profiles end in "-<number><A, B, C or Q>"; "ME" behind it is
 * one with media engines. */
static bool is_vgpu_name(const char *name)
{
	return !strncmp(name, "GRID ", 5) || name_matches("-[0-9]+[ABCQ](ME)?$", name);
}

struct gpu_match gpu_table_find(const char *reported_name, uint32_t sm_count)
{
	struct gpu_match match = {NULL, GPU_WHOLE, 1};
	const char *mig = strstr(reported_name, " MIG ");
	char name[256];
	size_t length = mig ? (size_t)(mig - reported_name) : strlen(reported_name);

	if (is_vgpu_name(reported_name)) {
		match.partition = GPU_VGPU;
		return match;
	}
	if (length >= sizeof(name))
		return match;
	memcpy(name, reported_name, length);
	name[length] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(gpu_rows); i++) {
		const struct gpu_row *row = &gpu_rows[i];

		if (!name_matches(row->name_pattern, name))
			continue;
		/* Several modules report one name ("Orin"): the SM count decides. */
		if (!match.row || row->sm_count == sm_count)
			match.row = row;
	}
	if (mig) {
		match.partition = GPU_MIG;
		if (match.row && sm_count && sm_count < match.row->sm_count)
			match.sm_share = (double)sm_count / match.row->sm_count;
	}
	return match;
}

double gpu_row_matrix_tflops(const struct gpu_row *row, uint8_t element_type, int is_tf32_allowed)
{
	switch (element_type) {
	case ELEMENT_F64:
		return row->fp64_tensor_tflops;
	case ELEMENT_F32:
		return is_tf32_allowed && row->tf32_tflops > 0 ? row->tf32_tflops
							       : row->fp32_tflops;
	case ELEMENT_TF32:
		return row->tf32_tflops;
	case ELEMENT_F16:
		return row->fp16_tflops;
	case ELEMENT_BF16:
		return row->bf16_tflops;
	case ELEMENT_F8E4M3:
	case ELEMENT_F8E5M2:
		return row->fp8_tflops;
	case ELEMENT_I8:
		return row->int8_tops;
	case ELEMENT_F4:
		return row->fp4_tflops;
	default:
		return 0;
	}
}
