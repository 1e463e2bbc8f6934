/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways from one GPU of the machine to the others and to its network cards, as the collector
 * wrote them down: info records "gpu.ADDRESS.paths" and "gpu.ADDRESS.nvlinks".
 */
#ifndef GPUTRACE_MODEL_DEVICE_PATHS_H
#define GPUTRACE_MODEL_DEVICE_PATHS_H

#include <stdbool.h>
#include <stddef.h>

struct model;

struct device_path {
	char to[64];  /* a GPU's PCI address, or a network card's name */
	char way[16]; /* "PIX", "SYS", "?" unknown, "NV18" */
	bool is_gpu;  /* `to` is an address */
};

/* The next one of a list; *at moves on. False at its end. NULL is an empty list. */
bool device_path_next(const char **at, struct device_path *path);
/* False: not recorded. By index of devices. NVLinks count before the PCI tree. */
bool device_path_between(const struct model *model, size_t one, size_t other,
			 struct device_path *path);
/* From the nearest to the farthest, 0 unknown; every NVLink is nearer than the PCI tree. */
int device_path_distance(const struct device_path *path);
/* From here on the way leads from one socket to another one. */
#define DEVICE_PATH_SYS 6

#endif
