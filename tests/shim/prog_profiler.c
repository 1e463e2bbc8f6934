/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a profiler of its own, as torch.profiler is one: it takes CUPTI for a while,
 * counts what it gets, and gives it back. What it prints must not depend on the shim. usage:
 * prog_profiler plt|dlsym MODE
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>
#include <cupti.h>

#define FUNCTIONS(F)                                                                               \
	F(cuptiSubscribe)                                                                          \
	F(cuptiSubscribe_v2)                                                                       \
	F(cuptiUnsubscribe)                                                                        \
	F(cuptiEnableCallback)                                                                     \
	F(cuptiEnableDomain)                                                                       \
	F(cuptiEnableAllDomains)                                                                   \
	F(cuptiActivityRegisterCallbacks)                                                          \
	F(cuptiActivityEnable)                                                                     \
	F(cuptiActivityDisable)                                                                    \
	F(cuptiActivityFlushAll)                                                                   \
	F(cuptiActivityGetNextRecord)                                                              \
	F(cuptiFinalize)

static struct {
#define FIELD(name) __typeof__(&name) name;
	FUNCTIONS(FIELD)
#undef FIELD
} cupti;

static unsigned int copies, sets, others, strange_buffers, callbacks;
static void *own_buffers[64];

static void find_functions(bool by_name)
{
#define PLT(name) cupti.name = name;
	FUNCTIONS(PLT)
#undef PLT
	void *library = by_name ? dlopen("libcupti.so.13", RTLD_NOW) : NULL;
	if (!library)
		return;
#define LOOK(name) memcpy(&cupti.name, &(void *){dlsym(library, #name)}, sizeof(void *));
	FUNCTIONS(LOOK)
#undef LOOK
}

static void requested(uint8_t **bytes, size_t *size, size_t *max_records)
{
	*size = 64 * 1024;
	*max_records = 0;
	*bytes = aligned_alloc(8, *size);
	for (int i = 0; i < 64; i++) {
		if (!own_buffers[i]) {
			own_buffers[i] = *bytes;
			return;
		}
	}
}

static void completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size,
		      size_t valid_size)
{
	CUpti_Activity *record = NULL;
	bool is_own = false;
	(void)context, (void)stream, (void)size;
	for (int i = 0; i < 64 && !is_own; i++) {
		is_own = own_buffers[i] == bytes;
		if (is_own)
			own_buffers[i] = NULL;
	}
	if (!is_own) {
		strange_buffers++;
		return;
	}
	while (!cupti.cuptiActivityGetNextRecord(bytes, valid_size, &record)) {
		if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
			copies++;
		else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET)
			sets++;
		else
			others++;
	}
	free(bytes);
}

static void on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
	callbacks++;
}

static void rest(int milliseconds)
{
	struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000l};
	nanosleep(&pause, NULL);
}

static void work(int times)
{
	static void *device;
	static char host[4096];
	if (!device)
		cudaMalloc(&device, sizeof(host));
	for (int i = 0; i < times; i++) {
		cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice);
		cudaMemset(device, 0, sizeof(host));
	}
	/* What was done before a session must be over when it begins. */
	cudaDeviceSynchronize();
	rest(50);
}

static void tell(const char *what)
{
	printf("%s: copies=%u sets=%u others=%u strange=%u callbacks=%u\n", what, copies, sets,
	       others, strange_buffers, callbacks);
	copies = sets = others = callbacks = 0;
}

/* One session as Kineto has it: the buffers' functions anew each time, the flush after the end. */
static void profile(int times)
{
	printf("register = %d\n", (int)cupti.cuptiActivityRegisterCallbacks(requested, completed));
	printf("enable = %d\n", (int)cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	work(times);
	cupti.cuptiActivityFlushAll(0);
	cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY);
	cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	printf("flush = %d\n", (int)cupti.cuptiActivityFlushAll(0));
	tell("profiled");
}

static void enable_callbacks(unsigned int enable, CUpti_SubscriberHandle mine, bool all_domains)
{
	if (all_domains)
		printf("all domains = %d\n", (int)cupti.cuptiEnableAllDomains(enable, mine));
	else
		cupti.cuptiEnableDomain(enable, mine, CUPTI_CB_DOMAIN_RUNTIME_API);
}

static void with_subscriber(bool all_domains)
{
	CUpti_SubscriberHandle mine = NULL, second = NULL;
	printf("subscribe = %d\n", (int)cupti.cuptiSubscribe(&mine, on_callback, NULL));
	printf("again = %d\n", (int)cupti.cuptiSubscribe(&second, on_callback, NULL));
	enable_callbacks(1, mine, all_domains);
	profile(20);
	enable_callbacks(0, mine, all_domains);
	work(5);
	tell("callbacks off");
	rest(400);
	work(20);
	printf("unsubscribe = %d\n", (int)cupti.cuptiUnsubscribe(mine));
	printf("again = %d\n", (int)cupti.cuptiUnsubscribe(mine) != 0);
	work(20);
	tell("afterwards");
}

static void with_second_kind(void)
{
	CUpti_SubscriberHandle mine = NULL;
	CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
					 .subscriberName = "test"};
	printf("subscribe = %d\n", (int)cupti.cuptiSubscribe_v2(&mine, on_callback, NULL, &params));
	profile(20);
	printf("unsubscribe = %d\n", (int)cupti.cuptiUnsubscribe(mine));
	rest(400);
	work(20);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	find_functions(argc > 1 && !strcmp(argv[1], "dlsym"));
	if (!strcmp(mode, "early")) {
		profile(0);
	} else {
		work(20);
	}
	if (!strcmp(mode, "subscribe") || !strcmp(mode, "all-domains")) {
		with_subscriber(!strcmp(mode, "all-domains"));
	} else if (!strcmp(mode, "second-kind")) {
		with_second_kind();
	} else {
		for (int i = 0; i < 2; i++) {
			profile(20);
			if (!strcmp(mode, "finalize"))
				printf("finalize = %d\n", (int)cupti.cuptiFinalize());
			rest(400);
			work(20);
		}
	}
	tell("end");
	return 0;
}
