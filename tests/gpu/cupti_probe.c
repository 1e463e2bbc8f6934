/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a CUPTI, without the shim, what its documentation leaves open. usage: cupti_probe PROBE
 * LIBCUPTI. Prints one line, the answer; exit code 1 and the reason where there is none. Everything
 * of CUPTI that is used here is declared in shim/cupti_abi.h or below.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../samples/gpu.h"
#include "../../shim/cupti_abi.h"

enum { KIND_MEMORY2 = 49, BUFFER_BYTES = 1 << 20, WORDS = 1 << 16, EXTERNAL_CUSTOM = 3 };

static struct cupti cupti;
static void *library;

/* What the buffers held. */
static struct {
	unsigned long kernels, copies, memories, zero_times, other;
	unsigned long with_correlation, repeated, names_right, times_right;
	unsigned long long memory_bytes;
	uint32_t last_correlation;
} seen;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void stop(const char *what, int result)
{
	printf("no answer: %s (result %d)\n", what, result);
	exit(1);
}

#define CUPTI_TRY(call)                                                                            \
	do {                                                                                       \
		int result_ = (call);                                                              \
		if (result_)                                                                       \
			stop(#call, result_);                                                      \
	} while (0)

static void *find(const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

static void open_cupti(const char *path)
{
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		stop("this libcupti cannot be loaded", 0);
#define FIND(field, parameters, needed)                                                            \
	do {                                                                                       \
		union {                                                                            \
			void *object;                                                              \
			int(*function) parameters;                                                 \
		} convert = {find("cupti" #field)};                                                \
		cupti.field = convert.function;                                                    \
		if ((needed) && !cupti.field)                                                      \
			stop("it lacks cupti" #field, 0);                                          \
	} while (0);
	CUPTI_FUNCTIONS(FIND)
#undef FIND
	CUPTI_TRY(cupti.GetVersion(&cupti.version));
}

/* ---- records ---- */

static uint64_t field(const uint8_t *record, size_t offset, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, record + offset, size);
	return value;
}

#define READ(kind, name) field(record, CUPTI_AT_##kind##_##name, CUPTI_BYTES_##kind##_##name)
enum {
#define FIELD_BYTES(record, name, type, offset, header_struct, member)                             \
	CUPTI_BYTES_##record##_##name = sizeof(type),
	CUPTI_FIELDS(FIELD_BYTES)
};

static void see_correlation(uint32_t correlation)
{
	seen.with_correlation += correlation != 0;
	seen.repeated += correlation && correlation == seen.last_correlation;
	seen.last_correlation = correlation;
}

static void see_kernel(const uint8_t *record)
{
	const char *name = (const char *)(uintptr_t)READ(kernel, name);
	uint64_t begin_ns = READ(kernel, start), end_ns = READ(kernel, end);

	seen.kernels++;
	seen.zero_times += !begin_ns || !end_ns;
	seen.times_right += begin_ns && begin_ns < end_ns && end_ns - begin_ns < 1000000000u;
	seen.names_right += name && strstr(name, "gelu_forward") &&
			    READ(kernel, grid_x) == gpu_blocks(WORDS) &&
			    READ(kernel, block_x) == GPU_BLOCK_THREADS;
	see_correlation((uint32_t)READ(kernel, correlation));
}

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid_bytes)
{
	void *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	while (cupti.ActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_OK && record) {
		uint32_t kind = (uint32_t)field(record, 0, 4);

		if (kind == CUPTI_KIND_CONCURRENT_KERNEL) {
			see_kernel(record);
		} else if (kind == CUPTI_KIND_MEMCPY) {
			seen.copies++;
			see_correlation((uint32_t)field(record, CUPTI_AT_memcpy_correlation, 4));
		} else if (kind == KIND_MEMORY2) {
			seen.memories++;
			seen.memory_bytes += field(record, 24, 8);
		} else {
			seen.other++;
		}
	}
	free(buffer);
}

/* ---- work ---- */

struct work {
	gpu_stream stream;
	void *device, *host;
};

static void work_open(struct work *work)
{
	gpu_open();
	GPU_TRY(gpu_stream_open(&work->stream));
	GPU_TRY(gpu_alloc(&work->device, WORDS * 4));
	GPU_TRY(gpu_host_alloc(&work->host, WORDS * 4));
	memset(work->host, 0, WORDS * 4);
}

static void work_do(const struct work *work, int times)
{
	for (int i = 0; i < times; i++) {
		GPU_TRY(gpu_upload_async(work->device, work->host, WORDS * 4, work->stream));
		GPU_TRY(gpu_launch(gelu_forward, WORDS, work->stream, work->device, work->device));
	}
	GPU_TRY(gpu_stream_sync(work->stream));
}

static void record_work(int times)
{
	struct work work;

	CUPTI_TRY(cupti.ActivityRegisterCallbacks(buffer_requested, buffer_completed));
	CUPTI_TRY(cupti.ActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL));
	CUPTI_TRY(cupti.ActivityEnable(CUPTI_KIND_MEMCPY));
	work_open(&work);
	work_do(&work, times);
	CUPTI_TRY(cupti.ActivityFlushAll(1));
}

/* ---- probes ---- */

static void probe_correlation(void)
{
	record_work(100);
	printf("without API records and callbacks %lu of %lu records have a correlation number, "
	       "%lu "
	       "the one of their neighbour\n",
	       seen.with_correlation, seen.kernels + seen.copies, seen.repeated);
}

static void probe_layout(void)
{
	int (*struct_size)(int, uint32_t, size_t *) = NULL;
	void *found = find("cuptiActivityGetStructSize");
	size_t kernel = 0, copy = 0;

	record_work(100);
	printf("CUPTI %u: name and grid right in %lu of %lu kernels, times in %lu", cupti.version,
	       seen.names_right, seen.kernels, seen.times_right);
	memcpy(&struct_size, &found, sizeof(found));
	if (struct_size && !struct_size(CUPTI_KIND_CONCURRENT_KERNEL, cupti.version, &kernel) &&
	    !struct_size(CUPTI_KIND_MEMCPY, cupti.version, &copy))
		printf("; records of %zu and %zu bytes", kernel, copy);
	printf("\n");
}

static unsigned long callbacks;
static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
	callbacks++;
}

static void probe_init(void)
{
	int (*count)(int *) = NULL;
	void *subscriber, *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *found = driver ? dlsym(driver, "cuDeviceGetCount") : NULL;
	int devices = 0, before, after;

	if (!found)
		stop("no driver", 0);
	memcpy(&count, &found, sizeof(found));
	before = count(&devices);
	CUPTI_TRY(cupti.Subscribe(&subscriber, on_callback, NULL));
	after = count(&devices);
	printf("cuptiSubscribe %s cuInit (cuDeviceGetCount: %d before, %d after)\n",
	       before == 3 && after == 3 ? "does not call" : "calls", before, after);
}

static double ns_per_call(int (*function)(int *), int times)
{
	double best = 1e18;
	int device;

	for (int round = 0; round < 5; round++) {
		double begin = now_ns();

		for (int i = 0; i < times; i++)
			function(&device);
		double took = (now_ns() - begin) / times;

		best = took < best ? took : best;
	}
	return best;
}

static void enable_named(void *subscriber, const char *wanted)
{
	const char *name;

	for (uint32_t id = 1; id < 2000; id++) {
		name = NULL;
		if (!cupti.GetCallbackName(CUPTI_DOMAIN_DRIVER, id, &name) && name &&
		    !strcmp(name, wanted)) {
			CUPTI_TRY(cupti.EnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, id));
			return;
		}
	}
	stop("no callback has that name", 0);
}

static void probe_callback(void)
{
	int (*push)(int, uint64_t) = NULL, (*pop)(int, uint64_t *) = NULL;
	int (*current)(int *) = NULL;
	void *subscriber, *of_push = find("cuptiActivityPushExternalCorrelationId");
	void *of_pop = find("cuptiActivityPopExternalCorrelationId");
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *found = driver ? dlsym(driver, "cuCtxGetDevice") : NULL;
	struct work work;
	double plain, with;
	uint64_t id;

	if (!found)
		stop("no driver", 0);
	memcpy(&current, &found, sizeof(found));
	memcpy(&push, &of_push, sizeof(of_push));
	memcpy(&pop, &of_pop, sizeof(of_pop));
	work_open(&work);
	plain = ns_per_call(current, 200000);
	CUPTI_TRY(cupti.Subscribe(&subscriber, on_callback, NULL));
	enable_named(subscriber, "cuCtxGetDevice");
	with = ns_per_call(current, 200000);
	printf("two callbacks of a call cost %.0f ns (%lu came)", with - plain, callbacks);
	if (push && pop) {
		double begin = now_ns();

		for (uint64_t i = 0; i < 100000; i++) {
			push(EXTERNAL_CUSTOM, i);
			pop(EXTERNAL_CUSTOM, &id);
		}
		printf(", a push and a pop %.0f ns", (now_ns() - begin) / 100000);
	}
	printf("\n");
}

/* A virtual address range with physical memory behind it, as PyTorch's expandable segments. */
static int map_memory(size_t *bytes)
{
	struct {
		int type, handles, location, ordinal;
		void *attributes;
		unsigned char flags[8];
	} properties = {1, 0, 1, 0, NULL, {0}};
	struct {
		int location, ordinal, flags;
	} access = {1, 0, 3};
	static const char *const names[] = {"cuMemGetAllocationGranularity", "cuMemCreate",
					    "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"};
	void *found[5], *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*granularity)(size_t *, const void *, int);
	int (*create)(unsigned long long *, size_t, const void *, unsigned long long);
	int (*reserve)(gpu_address *, size_t, size_t, gpu_address, unsigned long long);
	int (*map)(gpu_address, size_t, size_t, unsigned long long, unsigned long long);
	int (*set_access)(gpu_address, size_t, const void *, size_t);
	unsigned long long handle;
	gpu_address address;

	for (int i = 0; i < 5; i++) {
		found[i] = driver ? dlsym(driver, names[i]) : NULL;
		if (!found[i])
			return 500;
	}
	memcpy(&granularity, &found[0], sizeof(found[0]));
	memcpy(&create, &found[1], sizeof(found[0]));
	memcpy(&reserve, &found[2], sizeof(found[0]));
	memcpy(&map, &found[3], sizeof(found[0]));
	memcpy(&set_access, &found[4], sizeof(found[0]));
	int result = granularity(bytes, &properties, 0);

	if (!result)
		result = create(&handle, *bytes, &properties, 0);
	if (!result)
		result = reserve(&address, *bytes, 0, 0, 0);
	if (!result)
		result = map(address, *bytes, 0, handle, 0);
	return result ? result : set_access(address, *bytes, &access, 1);
}

static void probe_memory(void)
{
	unsigned long by_alloc;
	size_t mapped = 0;
	void *device;

	CUPTI_TRY(cupti.ActivityRegisterCallbacks(buffer_requested, buffer_completed));
	CUPTI_TRY(cupti.ActivityEnable(KIND_MEMORY2));
	gpu_open();
	CUPTI_TRY(cupti.ActivityFlushAll(1));
	memset(&seen, 0, sizeof(seen));
	GPU_TRY(gpu_alloc(&device, 4 << 20));
	CUPTI_TRY(cupti.ActivityFlushAll(1));
	by_alloc = seen.memories;
	int result = map_memory(&mapped);

	if (result)
		stop("physical memory cannot be mapped", result);
	CUPTI_TRY(cupti.ActivityFlushAll(1));
	printf("cuMemAlloc gives %lu memory records, cuMemCreate with cuMemMap of %zu KiB %lu\n",
	       by_alloc, mapped >> 10, seen.memories - by_alloc);
}

static void probe_growth(void)
{
	struct work work;
	gpu_graph graph;
	gpu_graph_exec exec;
	size_t before, after, total;
	unsigned long launches = 0;

	CUPTI_TRY(cupti.ActivityRegisterCallbacks(buffer_requested, buffer_completed));
	CUPTI_TRY(cupti.ActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL));
	work_open(&work);
	GPU_TRY(gpu_capture_begin(work.stream));
	for (int i = 0; i < 50; i++)
		GPU_TRY(gpu_launch(gelu_forward, WORDS, work.stream, work.device, work.device));
	GPU_TRY(gpu_capture_end(work.stream, &graph));
	GPU_TRY(gpu_graph_instantiate(&exec, graph));
	GPU_TRY(gpu_graph_launch(exec, work.stream));
	GPU_TRY(gpu_stream_sync(work.stream));
	GPU_TRY(gpu_memory(&before, &total));
	double end = now_ns() + 4e9;

	for (; now_ns() < end; launches++) {
		GPU_TRY(gpu_graph_launch(exec, work.stream));
		if (launches % 50 == 49) {
			GPU_TRY(gpu_stream_sync(work.stream));
			CUPTI_TRY(cupti.ActivityFlushAll(0));
		}
	}
	GPU_TRY(gpu_stream_sync(work.stream));
	CUPTI_TRY(cupti.ActivityFlushAll(1));
	GPU_TRY(gpu_memory(&after, &total));
	printf("CUPTI %u: %lu launches of a graph of 50 kernels by nodes: GPU memory grew by %lld "
	       "MiB, %lu of %lu records without times\n",
	       cupti.version, launches, ((long long)before - (long long)after) / 1048576,
	       seen.zero_times, seen.kernels);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*probe)(void);
	} probes[] = {
		{"correlation", probe_correlation}, {"callback", probe_callback},
		{"layout", probe_layout},	    {"init", probe_init},
		{"memory", probe_memory},	    {"growth", probe_growth},
	};

	for (size_t i = 0; argc == 3 && i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (strcmp(argv[1], probes[i].name) != 0)
			continue;
		open_cupti(argv[2]);
		probes[i].probe();
		return 0;
	}
	fprintf(stderr,
		"usage: cupti_probe correlation|callback|layout|init|memory|growth LIBCUPTI\n");
	return 2;
}
