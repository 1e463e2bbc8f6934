/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libnvToolsExt.so.1 where no tool is attached: every function answers as that
 * library does then, under its version node.
 */
#include "lib_nvtx2.h"

#include <stddef.h>

int nvtxRangePushA(const char *message)
{
	(void)message;
	return -2;
}

int nvtxRangePop(void)
{
	return -2;
}

void nvtxMarkA(const char *message)
{
	(void)message;
}

void nvtxMarkW(const wchar_t *message)
{
	(void)message;
}

uint64_t nvtxRangeStartA(const char *message)
{
	(void)message;
	return 0;
}

void nvtxRangeEnd(uint64_t id)
{
	(void)id;
}

void *nvtxDomainCreateA(const char *name)
{
	(void)name;
	return NULL;
}

void *nvtxDomainRegisterStringA(void *domain, const char *text)
{
	(void)domain;
	(void)text;
	return NULL;
}

int nvtxDomainRangePushEx(void *domain, const struct nvtx2_event *event)
{
	(void)domain;
	(void)event;
	return -2;
}

int nvtxDomainRangePop(void *domain)
{
	(void)domain;
	return -2;
}

void nvtxDomainDestroy(void *domain)
{
	(void)domain;
}
