/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collector wrote down about one GPU of the machine, by its PCI address: info records
 * "gpu.ADDRESS.NAME".
 */
#ifndef GPUTRACE_MODEL_DEVICE_INFO_H
#define GPUTRACE_MODEL_DEVICE_INFO_H

#include <stddef.h>
#include <stdint.h>

struct model;

/* NULL: not recorded. */
const char *device_info_text(const struct model *model, size_t device, const char *name);
/* -1: not recorded. */
int64_t device_info_number(const struct model *model, size_t device, const char *name);

#endif
