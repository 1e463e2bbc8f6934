/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses NVTX v2 as old programs do: functions of libnvToolsExt.so.1 by name. Prints what they
 * answer. usage: prog_nvtx2
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include <cuda_runtime_api.h>

#include "lib_nvtx2.h"

int main(void)
{
	void *memory = NULL;
	struct nvtx2_event event = {.version = 2, .size_bytes = sizeof(event), .category = 4};

	if (cudaMalloc(&memory, 4096) != cudaSuccess)
		return 1;
	printf("%d\n", nvtxRangePushA("v2 range"));
	nvtxMarkA("v2 instant");
	nvtxMarkW(L"v2 wide");
	printf("%d\n", nvtxRangePop());

	void *domain = nvtxDomainCreateA("v2 domain");
	void *text = nvtxDomainRegisterStringA(domain, "v2 registered");
	event.message_type = 3;
	event.message = text;
	event.payload_type = 1;
	event.payload = 123456789012ull;
	nvtxDomainRangePushEx(domain, &event);
	nvtxDomainRangePop(domain);
	nvtxDomainDestroy(domain);

	uint64_t first = nvtxRangeStartA("v2 first"), second = nvtxRangeStartA("v2 second");
	nvtxRangeEnd(first);
	nvtxRangeEnd(second);
	cudaFree(memory);
	return 0;
}
