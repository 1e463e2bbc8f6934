/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an nsys export says about the session: its GPUs, its start, its processes, the machine.
 */
#include "nsys_import.h"

#include <stdio.h>
#include <string.h>

#include "array.h"

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;
	return at ? (int)(at - digits) : -1;
}

static void read_uuid(const char *text, uint8_t out[16])
{
	size_t count = 0;
	for (; *text && count < 32; text++) {
		int digit = hex_digit(*text);
		if (digit < 0)
			continue;
		out[count / 2] = (uint8_t)(out[count / 2] << 4 | digit);
		count++;
	}
}

/* Numbers GPUs as the processes count them where the export tells, else as the machine does. */
static int read_device_numbers(struct nsys *n, struct map *cuda_of_gpu)
{
	static const char *const columns[] = {"gpuId", "cudaId", "pid"};
	sqlite3_stmt *s;
	struct map owner; /* CUDA number -> GPU + 1 */
	bool collides = false;
	int rc = nsys_select(n, "TARGET_INFO_CUDA_DEVICE", columns, 3, &s);
	if (rc || !s)
		return rc;
	map_init(&owner);
	while ((rc = nsys_step(n, s, "TARGET_INFO_CUDA_DEVICE")) > 0) {
		int64_t gpu = nsys_int(s, 0), cuda = nsys_int(s, 1);
		bool is_new;
		if (n->job->options->process && nsys_int(s, 2) != n->job->options->process)
			continue;
		if (gpu < 0 || gpu > 4096 || cuda < 0 || cuda > 4096 || !nsys_has(s, 1))
			continue;
		uint64_t *slot = map_slot(&owner, (uint64_t)cuda, &is_new);
		collides |= !is_new && *slot != (uint64_t)gpu + 1;
		*slot = (uint64_t)gpu + 1;
		*map_slot(cuda_of_gpu, (uint64_t)gpu, &is_new) = (uint64_t)cuda + 1;
		if (n->device_count == n->device_capacity)
			n->devices =
				array_grow(n->devices, &n->device_capacity, sizeof(*n->devices));
		n->devices[n->device_count++] =
			(struct nsys_device){nsys_int(s, 2), (uint32_t)cuda, (uint32_t)gpu};
	}
	/* Where processes each see another GPU as number 0, the machine's numbers are used. */
	for (size_t i = 0; !collides && i < n->device_count; i++)
		n->devices[i].ordinal = n->devices[i].cuda;
	if (collides) {
		map_fini(cuda_of_gpu);
		map_init(cuda_of_gpu);
	}
	map_fini(&owner);
	return rc;
}

int nsys_read_devices(struct nsys *n)
{
	static const char *const columns[] = {
		"id",	   "name", "busLocation",  "totalMemory",  "clockRate",
		"smCount", "uuid", "computeMajor", "computeMinor", "cuDevice"};
	struct map cuda_of_gpu;
	sqlite3_stmt *s;
	map_init(&cuda_of_gpu);
	int rc = read_device_numbers(n, &cuda_of_gpu);
	if (!rc)
		rc = nsys_select(n, "TARGET_INFO_GPU", columns, 10, &s);
	if (rc || !s) {
		map_fini(&cuda_of_gpu);
		return rc;
	}
	while ((rc = nsys_step(n, s, "TARGET_INFO_GPU")) > 0) {
		struct record_device r = {.numa_node = -1};
		unsigned domain, bus, device;
		int64_t id = nsys_int(s, 0);
		if (id < 0 || id > 4096)
			continue;
		const uint64_t *cuda = map_find(&cuda_of_gpu, (uint64_t)id);
		const char *name = (const char *)sqlite3_column_text(s, 1);
		const char *place = (const char *)sqlite3_column_text(s, 2);
		const char *uuid = (const char *)sqlite3_column_text(s, 6);
		r.ordinal = cuda ? (uint32_t)*cuda - 1 : (uint32_t)id;
		r.memory_bytes = nsys_int(s, 3) > 0 ? (uint64_t)nsys_int(s, 3) : 0;
		r.clock_khz = (uint32_t)(nsys_int(s, 4) / 1000);
		r.sm_count = (uint32_t)nsys_int(s, 5);
		r.cc_major = (uint16_t)nsys_int(s, 7);
		r.cc_minor = (uint16_t)nsys_int(s, 8);
		if (place && sscanf(place, "%x:%x:%x", &domain, &bus, &device) == 3) {
			r.pci_domain = domain;
			r.pci_bus = (uint16_t)bus;
			r.pci_device = (uint16_t)device;
		}
		if (uuid)
			read_uuid(uuid, r.uuid);
		import_sink_device(n->sink, &r, name ? name : "", name ? strlen(name) : 0);
	}
	map_fini(&cuda_of_gpu);
	return rc;
}

/* "NvDriverVersion" and others become facts under our keys. */
int nsys_read_environment(struct nsys *n)
{
	static const char *const columns[] = {"name", "value"};
	static const struct {
		const char *table, *name, *key;
	} facts[] = {
		{"TARGET_INFO_SYSTEM_ENV", "NvDriverVersion", "driver.version"},
		{"TARGET_INFO_SYSTEM_ENV", "CudaDriverVersion", "cuda.driver_version"},
		{"TARGET_INFO_SYSTEM_ENV", "Hostname", "host.name"},
		{"META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "import.nsys_version"},
		{"META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "import.nsys_schema"},
	};
	static const char *const tables[] = {"TARGET_INFO_SYSTEM_ENV", "META_DATA_EXPORT"};
	for (size_t t = 0; t < 2; t++) {
		sqlite3_stmt *s;
		int rc = nsys_select(n, tables[t], columns, 2, &s);
		while (!rc && s && (rc = nsys_step(n, s, tables[t])) > 0) {
			const char *name = (const char *)sqlite3_column_text(s, 0);
			const char *value = (const char *)sqlite3_column_text(s, 1);
			for (size_t i = 0; name && value && i < sizeof(facts) / sizeof(facts[0]);
			     i++) {
				if (!strcmp(facts[i].table, tables[t]) &&
				    !strcmp(facts[i].name, name))
					import_sink_info(n->sink, facts[i].key, "%s", value);
			}
			rc = 0;
		}
		if (rc)
			return rc;
	}
	return 0;
}

/* The calendar, the first time, and whether numbers of several processes must be kept apart. */
int nsys_read_session(struct nsys *n)
{
	static const char *const start[] = {"utcEpochNs"};
	static const char *const times[] = {"start"};
	static const char *const processes[] = {"globalPid"};
	static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
					     "CUPTI_ACTIVITY_KIND_KERNEL",
					     "CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS"};
	sqlite3_stmt *s;
	int64_t first = 0, process = -1;
	int rc = 0;
	for (size_t i = 0; i < 4; i++) {
		rc = nsys_select(n, tables[i], times, 1, &s);
		while (!rc && s && (rc = nsys_step(n, s, tables[i])) > 0) {
			int64_t t = nsys_int(s, 0);
			/* An hour before the start is not a beginning but damage. */
			if (t < first && t > -3600ll * 1000000000)
				first = t;
			rc = 0;
		}
		if (rc)
			return rc;
	}
	n->shift_ns = -first;
	for (size_t i = 1; i < 3; i++) {
		rc = nsys_select(n, tables[i], processes, 1, &s);
		while (!rc && s && (rc = nsys_step(n, s, tables[i])) > 0) {
			int64_t p = nsys_process(nsys_int(s, 0));
			n->has_many_processes |= process >= 0 && p != process;
			process = p;
			rc = 0;
		}
		if (rc)
			return rc;
	}
	rc = nsys_select(n, "TARGET_INFO_SESSION_START_TIME", start, 1, &s);
	while (!rc && s && (rc = nsys_step(n, s, "TARGET_INFO_SESSION_START_TIME")) > 0) {
		int64_t epoch = nsys_int(s, 0);
		if (epoch > 0)
			import_sink_set_realtime(n->sink, epoch - n->shift_ns);
		rc = 0;
	}
	return rc;
}
