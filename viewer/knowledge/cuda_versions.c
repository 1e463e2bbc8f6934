/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up cuda_versions.def. The tables are short and asked a few times per run: plain searches.
 */
#include "cuda_versions.h"

#include <ctype.h>
#include <stdlib.h>

#include "array_len.h"

struct toolkit_row {
	struct cuda_version toolkit, driver;
};

static const struct toolkit_row toolkit_rows[] = {
#define TOOLKIT(major, minor, driver_major, driver_minor, driver_patch)                            \
	{{major, minor, 0}, {driver_major, driver_minor, driver_patch}},
#include "cuda_versions.def"
#undef TOOLKIT
};

static const struct toolkit_row family_rows[] = {
#define FAMILY(major, driver_major, driver_minor, driver_patch)                                    \
	{{major, 0, 0}, {driver_major, driver_minor, driver_patch}},
#include "cuda_versions.def"
#undef FAMILY
};

static const struct cuda_capability capability_rows[] = {
#define CAPABILITY(cc_major, cc_minor, first_major, first_minor, last_major, last_minor, branch)   \
	{cc_major, cc_minor, {first_major, first_minor, 0}, {last_major, last_minor, 0}, branch},
#include "cuda_versions.def"
#undef CAPABILITY
};

bool cuda_version_parse(const char *text, struct cuda_version *out)
{
	uint16_t parts[3] = {0, 0, 0};
	size_t count = 0;

	*out = (struct cuda_version){0, 0, 0};
	for (;;) {
		char *behind;
		unsigned long part;

		if (!isdigit((unsigned char)*text) || count == ARRAY_LEN(parts))
			return false;
		part = strtoul(text, &behind, 10);
		if (part > UINT16_MAX)
			return false;
		parts[count++] = (uint16_t)part;
		if (!*behind)
			break;
		if (*behind != '.')
			return false;
		text = behind + 1;
	}
	*out = (struct cuda_version){parts[0], parts[1], parts[2]};
	return out->major != 0;
}

struct cuda_version cuda_version_of_number(int64_t number)
{
	if (number < 1000 || number / 1000 > UINT16_MAX)
		return (struct cuda_version){0, 0, 0};
	return (struct cuda_version){(uint16_t)(number / 1000), (uint16_t)(number % 1000 / 10), 0};
}

int cuda_version_compare(struct cuda_version left, struct cuda_version right)
{
	if (left.major != right.major)
		return left.major < right.major ? -1 : 1;
	if (left.minor != right.minor)
		return left.minor < right.minor ? -1 : 1;
	return (left.patch > right.patch) - (left.patch < right.patch);
}

struct cuda_version cuda_versions_shipped_driver(struct cuda_version toolkit)
{
	for (size_t i = 0; i < ARRAY_LEN(toolkit_rows); i++) {
		const struct toolkit_row *row = &toolkit_rows[i];

		if (row->toolkit.major == toolkit.major && row->toolkit.minor == toolkit.minor)
			return row->driver;
	}
	return (struct cuda_version){0, 0, 0};
}

struct cuda_version cuda_versions_minimum_driver(struct cuda_version toolkit)
{
	for (size_t i = 0; i < ARRAY_LEN(family_rows); i++) {
		if (family_rows[i].toolkit.major == toolkit.major)
			return family_rows[i].driver;
	}
	return cuda_versions_shipped_driver(toolkit);
}

struct cuda_version cuda_versions_toolkit_of_driver(struct cuda_version driver)
{
	struct cuda_version newest = {0, 0, 0};

	for (size_t i = 0; i < ARRAY_LEN(toolkit_rows); i++) {
		if (cuda_version_compare(toolkit_rows[i].driver, driver) <= 0)
			newest = toolkit_rows[i].toolkit;
	}
	return newest;
}

const struct cuda_capability *cuda_versions_capability(uint16_t cc_major, uint16_t cc_minor)
{
	for (size_t i = 0; i < ARRAY_LEN(capability_rows); i++) {
		if (capability_rows[i].cc_major == cc_major &&
		    capability_rows[i].cc_minor == cc_minor)
			return &capability_rows[i];
	}
	return NULL;
}

size_t cuda_versions_capability_count(void)
{
	return ARRAY_LEN(capability_rows);
}

const struct cuda_capability *cuda_versions_capability_row(size_t index)
{
	return &capability_rows[index];
}

enum cuda_support cuda_versions_support(struct cuda_version toolkit, uint16_t cc_major,
					uint16_t cc_minor)
{
	const struct cuda_capability *row = cuda_versions_capability(cc_major, cc_minor);
	struct cuda_version plain = {toolkit.major, toolkit.minor, 0};

	if (!row || !toolkit.major)
		return CUDA_SUPPORT_UNKNOWN;
	if (cuda_version_compare(plain, row->first_toolkit) < 0)
		return CUDA_SUPPORT_TOO_OLD;
	if (row->last_toolkit.major && cuda_version_compare(plain, row->last_toolkit) > 0)
		return CUDA_SUPPORT_DROPPED;
	return CUDA_SUPPORT_GIVEN;
}

bool cuda_versions_binary_runs_on(uint16_t binary_major, uint16_t binary_minor, uint16_t cc_major,
				  uint16_t cc_minor)
{
	return binary_major == cc_major && binary_minor <= cc_minor;
}
