/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a range costs that is recorded: prints two ratios to two reads of the clock, and the
 * nanoseconds, for a text and for a registered text. Run under the shim; without it NVTX does
 * nothing.
 */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define ROUNDS 100
#define PAIRS  1000

int cudaMalloc(void **memory, size_t size);

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static unsigned long long read_clock(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return (unsigned long long)now_ns();
#endif
}

/* Lets the collector empty the ring: a dropped record is cheaper than a kept one. */
static void rest(void)
{
	struct timespec pause = {0, 2000000};
	nanosleep(&pause, NULL);
}

int main(void)
{
	double best[3] = {1e9, 1e9, 1e9};
	unsigned long long sum = 0;
	void *memory = NULL;
	nvtxEventAttributes_t event;
	nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");

	cudaMalloc(&memory, 1);
	memset(&event, 0, sizeof(event));
	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event.message.registered = nvtxDomainRegisterStringA(domain, "forward pass");
	for (int round = 0; round < ROUNDS; round++) {
		double at[4];
		rest();
		at[0] = now_ns();
		for (int i = 0; i < 2 * PAIRS; i++)
			sum += read_clock();
		at[1] = now_ns();
		for (int i = 0; i < PAIRS; i++) {
			nvtxRangePushA("forward pass");
			nvtxRangePop();
		}
		at[2] = now_ns();
		for (int i = 0; i < PAIRS; i++) {
			nvtxDomainRangePushEx(domain, &event);
			nvtxDomainRangePop(domain);
		}
		at[3] = now_ns();
		for (int i = 0; i < 3; i++) {
			double each = (at[i + 1] - at[i]) / PAIRS;
			best[i] = each < best[i] ? each : best[i];
		}
	}
	printf("two clock reads %.1f ns; range %.1f ns (%.2f), registered %.1f ns (%.2f)%s\n",
	       best[0], best[1], best[1] / best[0], best[2], best[2] / best[0], sum ? "" : ".");
	return 0;
}
