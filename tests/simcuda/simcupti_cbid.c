/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callback ids and their names, from the installed headers at build time. Driver names are exported
 * symbols; runtime names carry the version of their ABI, cudaMalloc_v3020, and of several versions
 * of one function the highest id is the one that a runtime of this toolkit calls.
 */
#include "simcupti_internal.h"

#include <pthread.h>
#include <string.h>

struct named {
	const char *name;
	uint32_t cbid;
};
static const struct named driver_names[] = {
#define SIMCUPTI_CBID(name, number) {name, number},
#include "simcupti_driver_cbids.inc"
};
static const struct named runtime_names[] = {
#include "simcupti_runtime_cbids.inc"
#undef SIMCUPTI_CBID
};

enum { SLOTS = 4096 }; /* about 1,330 names: a load below a half */
static struct slot {
	const char *name;
	size_t length;
	uint32_t cbid;
	int domain;
} slots[SLOTS];
static pthread_once_t fill_once = PTHREAD_ONCE_INIT;

static size_t hash(int domain, const char *name, size_t length)
{
	uint64_t h = 14695981039346656037u + (uint64_t)domain;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)name[i]) * 1099511628211u;
	return (size_t)(h ^ h >> 32) % SLOTS;
}

/* The slot of the name, or the empty one where it belongs. */
static struct slot *find(int domain, const char *name, size_t length)
{
	size_t i = hash(domain, name, length);

	while (slots[i].name && (slots[i].domain != domain || slots[i].length != length ||
				 memcmp(slots[i].name, name, length)))
		i = (i + 1) % SLOTS;
	return &slots[i];
}

/* Length without "_v" and digits at the end. */
static size_t unversioned_length(const char *name)
{
	size_t length = strlen(name), end = length;

	while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	return end < length && end > 2 && !memcmp(name + end - 2, "_v", 2) ? end - 2 : length;
}

static void add(int domain, const struct named *named, size_t length)
{
	struct slot *slot = find(domain, named->name, length);

	if (!slot->name || named->cbid > slot->cbid)
		*slot = (struct slot){named->name, length, named->cbid, domain};
}

static void fill(void)
{
	for (size_t i = 0; i < sizeof(driver_names) / sizeof(driver_names[0]); i++)
		add(CUPTI_CB_DOMAIN_DRIVER_API, &driver_names[i], strlen(driver_names[i].name));
	for (size_t i = 0; i < sizeof(runtime_names) / sizeof(runtime_names[0]); i++)
		add(CUPTI_CB_DOMAIN_RUNTIME_API, &runtime_names[i],
		    unversioned_length(runtime_names[i].name));
}

uint32_t simcupti_cbid_find(int domain, const char *function)
{
	pthread_once(&fill_once, fill);
	return find(domain, function, strlen(function))->cbid;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	SIMCUPTI_ENTER();
	const struct named *names = driver_names;
	size_t count = sizeof(driver_names) / sizeof(driver_names[0]);

	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
		names = runtime_names;
		count = sizeof(runtime_names) / sizeof(runtime_names[0]);
	} else if (domain != CUPTI_CB_DOMAIN_DRIVER_API) {
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	}
	for (size_t i = 0; i < count && name; i++) {
		if (names[i].cbid == cbid) {
			*name = names[i].name;
			return CUPTI_SUCCESS;
		}
	}
	return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
}
