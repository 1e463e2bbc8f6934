/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of exports, and of what stacks can be weighted by.
 */
#include "export.h"

#include <string.h>

#include "array_len.h"
#include "printable.h"

#define EXPORT(export_name) extern const struct export export_##export_name;
#include "exports.def"
#undef EXPORT

const struct export *const exports_all[] = {
#define EXPORT(export_name) &export_##export_name,
#include "exports.def"
#undef EXPORT
};

static const struct {
	const char *key, *unit, *label;
} weights[EXPORT_WEIGHT_COUNT] = {
#define WEIGHT(name, key, unit, label) [EXPORT_##name] = {key, unit, label},
	EXPORT_WEIGHTS(WEIGHT)
#undef WEIGHT
};

unsigned exports_count(void)
{
	return ARRAY_LEN(exports_all);
}

const struct export *exports_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(exports_all); i++) {
		if (!strcmp(exports_all[i]->name, name))
			return exports_all[i];
	}
	return NULL;
}

bool export_weight_find(const char *key, enum export_weight *weight)
{
	for (int i = 0; i < EXPORT_WEIGHT_COUNT; i++) {
		if (!strcmp(weights[i].key, key)) {
			*weight = (enum export_weight)i;
			return true;
		}
	}
	return false;
}

const char *export_weight_key(enum export_weight weight)
{
	return weights[weight].key;
}

const char *export_weight_unit(enum export_weight weight)
{
	return weights[weight].unit;
}

const char *export_weight_label(enum export_weight weight)
{
	return weights[weight].label;
}

uint64_t export_weight_of(const struct stack_cost *cost, enum export_weight weight)
{
	int64_t value = 0;

	switch (weight) {
	case EXPORT_BYTES:
		return cost->bytes;
	case EXPORT_GPU_TIME:
		value = cost->gpu_ns;
		break;
	case EXPORT_LOST_TIME:
		value = cost->idle_ns + cost->exposed_ns;
		break;
	case EXPORT_HOST_TIME:
		value = cost->host_ns;
		break;
	case EXPORT_WEIGHT_COUNT:
		break;
	}
	return value > 0 ? (uint64_t)value : 0;
}

char *export_model_title(const struct model *model)
{
	const char *path = model->source.path ? model->source.path : "recording";
	const char *slash = strrchr(path, '/');
	struct text text;

	text_init(&text);
	if (model->rank >= 0)
		text_addf(&text, "rank %lld, ", (long long)model->rank);
	text_add_printable(&text, slash ? slash + 1 : path);
	return text_take(&text);
}
