/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of NVTX v2 that prog_nvtx2.c calls, as libnvToolsExt.so.1 exports them. */
#ifndef GPUTRACE_TESTS_LIB_NVTX2_H
#define GPUTRACE_TESTS_LIB_NVTX2_H

#include <stdint.h>
#include <wchar.h>

struct nvtx2_event {
	uint16_t version, size_bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

int nvtxRangePushA(const char *message);
int nvtxRangePop(void);
void nvtxMarkA(const char *message);
void nvtxMarkW(const wchar_t *message);
uint64_t nvtxRangeStartA(const char *message);
void nvtxRangeEnd(uint64_t id);
void *nvtxDomainCreateA(const char *name);
void *nvtxDomainRegisterStringA(void *domain, const char *text);
int nvtxDomainRangePushEx(void *domain, const struct nvtx2_event *event);
int nvtxDomainRangePop(void *domain);
void nvtxDomainDestroy(void *domain);

#endif
