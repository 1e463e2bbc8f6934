/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a GPU model by name. Shared by the driver, NVML and the program that writes a machine's
 * files; without state.
 */
#include "sim_gpu_table.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct sim_gpu gpus[] = {
#define SIM_GPU(...) {__VA_ARGS__},
#include "sim_gpus.inc"
#undef SIM_GPU
};

/* "GeForce RTX 4090", "rtx4090" -> "rtx4090"; "A100-SXM4-80GB", "a100-sxm-80gb" -> "a100sxm80gb".
 */
static void normalise(const char *name, char *out, size_t size)
{
	static const char *const dropped[] = {"nvidia", "geforce", "tesla"};
	size_t used = 0;

	while (*name && used + 1 < size) {
		size_t skip = 0;

		for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
			if (strncasecmp(name, dropped[i], strlen(dropped[i])) == 0)
				skip = strlen(dropped[i]);
		}
		if (skip > 0) {
			name += skip;
			continue;
		}
		if (isalnum((unsigned char)*name)) {
			out[used++] = (char)tolower((unsigned char)*name);
			if (used >= 3 && memcmp(out + used - 3, "sxm", 3) == 0 &&
			    isdigit((unsigned char)name[1]))
				name++;
		}
		name++;
	}
	out[used] = '\0';
}

const struct sim_gpu *sim_gpu_table_find(const char *name)
{
	const struct sim_gpu *begins_so = NULL;
	char wanted[128], have[128];

	normalise(name, wanted, sizeof(wanted));
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		normalise(gpus[i].name, have, sizeof(have));
		if (strcmp(have, wanted) == 0)
			return &gpus[i];
		if (!begins_so && wanted[0] && strncmp(have, wanted, strlen(wanted)) == 0)
			begins_so = &gpus[i];
	}
	return begins_so;
}
