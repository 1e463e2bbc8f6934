/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX events as marks: the functions that NVTX v3 calls through its tables and the wrappers of
 * NVTX v2 call by name. Handles of domains and strings are entries of mark_name.c.
 */
#ifndef GPUTRACE_SHIM_NVTX_H
#define GPUTRACE_SHIM_NVTX_H

#include <stdint.h>
#include <wchar.h>

#include "nvtx_abi.h"

void nvtx_mark_ex(const struct nvtx_event *event);
void nvtx_mark_a(const char *message);
void nvtx_mark_w(const wchar_t *message);
int nvtx_push_ex(const struct nvtx_event *event);
int nvtx_push_a(const char *message);
int nvtx_push_w(const wchar_t *message);
int nvtx_pop(void);
void nvtx_domain_mark_ex(const void *domain, const struct nvtx_event *event);
int nvtx_domain_push_ex(const void *domain, const struct nvtx_event *event);
int nvtx_domain_pop(const void *domain);
const void *nvtx_register_a(const void *domain, const char *text);
const void *nvtx_register_w(const void *domain, const wchar_t *text);
const void *nvtx_domain_a(const char *name);
const void *nvtx_domain_w(const wchar_t *name);

/* id: what another tool answered, 0 for a number of ours. */
uint64_t nvtx_start_ex(const void *domain, const struct nvtx_event *event, uint64_t id);
uint64_t nvtx_start_a(const char *message, uint64_t id);
uint64_t nvtx_start_w(const wchar_t *message, uint64_t id);
void nvtx_end(uint64_t id);

/* True when libnvToolsExt (NVTX v2) calls our tables itself, so that its wrappers only forward. */
_Bool nvtx_v2_is_injected(void);

#endif
