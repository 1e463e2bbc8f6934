/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of descriptors and what their attributes mean. A descriptor is used by one thread at a
 * time until it is finished, and only read afterwards, by cuDNN's own rules; so only the keys are
 * shared between threads. A program that breaks them gets wrong numbers at worst: every count is
 * bounded where it is used.
 */
#include "cudnn_shadow.h"

#include <stdatomic.h>
#include <string.h>

#include "api/cudnn_abi.h"
#include "hash.h"

#define DESCRIPTORS 4096u
#define WINDOW	    16u /* places that a key may have: two cache lines of keys */
#define PACK_MAX    20

struct pack {
	int64_t ids[PACK_MAX];
	const void *pointers[PACK_MAX];
	uint8_t id_count, pointer_count;
	bool is_overridden; /* other shapes than the plan's */
};

static _Atomic uintptr_t keys[DESCRIPTORS];
static struct entry {
	int type;
	union {
		struct cudnn_tensor tensor;
		struct cudnn_product product;
		struct pack pack;
	} is;
} entries[DESCRIPTORS];

static uint32_t place_of(const void *descriptor, uint32_t step)
{
	return ((uint32_t)hash_mix((uintptr_t)descriptor) + step) % DESCRIPTORS;
}

static struct entry *find(const void *descriptor)
{
	for (uint32_t step = 0; descriptor && step < WINDOW; step++) {
		uint32_t at = place_of(descriptor, step);
		if (atomic_load_explicit(&keys[at], memory_order_acquire) == (uintptr_t)descriptor)
			return &entries[at];
	}
	return NULL;
}

static struct entry *find_type(const void *descriptor, int type)
{
	struct entry *entry = find(descriptor);
	return entry && entry->type == type ? entry : NULL;
}

void cudnn_shadow_destroy(const void *descriptor)
{
	for (uint32_t step = 0; descriptor && step < WINDOW; step++) {
		uintptr_t found = (uintptr_t)descriptor;
		/* Pairs with find(): whoever makes this place its own writes after this. */
		atomic_compare_exchange_strong_explicit(&keys[place_of(descriptor, step)], &found,
							0, memory_order_acq_rel,
							memory_order_relaxed);
	}
}

static bool is_kept(int type)
{
	switch (type) {
	case ABI_CUDNN_CONVOLUTION:
	case ABI_CUDNN_ENGINE:
	case ABI_CUDNN_ENGINECFG:
	case ABI_CUDNN_ENGINEHEUR:
	case ABI_CUDNN_EXECUTION_PLAN:
	case ABI_CUDNN_OPERATION_CONV_FORWARD:
	case ABI_CUDNN_OPERATION_CONV_FILTER:
	case ABI_CUDNN_OPERATION_CONV_DATA:
	case ABI_CUDNN_OPERATIONGRAPH:
	case ABI_CUDNN_VARIANT_PACK:
	case ABI_CUDNN_TENSOR:
	case ABI_CUDNN_MATMUL:
	case ABI_CUDNN_OPERATION_MATMUL:
		return true;
	default:
		return false;
	}
}

void cudnn_shadow_create(int type, void *const *out)
{
	void *descriptor = NULL;
	if (!out)
		return;
	memcpy(&descriptor, out, sizeof(descriptor));
	/* One that was destroyed by other ways than ours may have had this address. */
	cudnn_shadow_destroy(descriptor);
	for (uint32_t step = 0; descriptor && is_kept(type) && step < WINDOW; step++) {
		uint32_t at = place_of(descriptor, step);
		uintptr_t empty = 0;
		if (!atomic_compare_exchange_strong(&keys[at], &empty, (uintptr_t)descriptor))
			continue;
		memset(&entries[at], 0, sizeof(entries[at]));
		entries[at].type = type;
		for (int i = 0; type == ABI_CUDNN_CONVOLUTION && i < 3; i++)
			entries[at].is.product.stride[i] = entries[at].is.product.dilation[i] = 1;
		return;
	}
}

/* Up to `room` numbers; how many there are, or -1 when there are more. */
static int read_numbers(int64_t *numbers, int room, int type, int64_t count, const void *elements)
{
	if (type != ABI_CUDNN_TYPE_INT64 || !elements || count < 0 || count > room)
		return -1;
	memcpy(numbers, elements, (size_t)count * sizeof(*numbers));
	return (int)count;
}

/* Element i of an array of descriptors, NULL when there is none. */
static const void *descriptor_at(int type, int64_t count, const void *elements, int64_t i)
{
	const void *descriptor = NULL;
	if (type == ABI_CUDNN_TYPE_DESCRIPTOR && elements && i < count)
		memcpy(&descriptor, (const char *)elements + (size_t)i * sizeof(descriptor),
		       sizeof(descriptor));
	return descriptor;
}

static uint8_t read_element(int type, int64_t count, const void *elements)
{
	int value = -1;
	if (type == ABI_CUDNN_TYPE_DATA_TYPE && elements && count == 1)
		memcpy(&value, elements, sizeof(value));
	return cudnn_element(value);
}

static void set_tensor(struct cudnn_tensor *tensor, int name, int type, int64_t count,
		       const void *elements)
{
	int64_t number = 0;
	int read;

	switch (name) {
	case ABI_CUDNN_TENSOR_DATA_TYPE:
		tensor->element = read_element(type, count, elements);
		break;
	case ABI_CUDNN_TENSOR_DIMENSIONS:
		read = read_numbers(tensor->dims, CUDNN_RANK_MAX, type, count, elements);
		tensor->rank = (uint8_t)(read < 0 ? 0 : read);
		break;
	case ABI_CUDNN_TENSOR_STRIDES:
		if (read_numbers(tensor->strides, CUDNN_RANK_MAX, type, count, elements) < 0)
			memset(tensor->strides, 0, sizeof(tensor->strides));
		break;
	case ABI_CUDNN_TENSOR_VECTOR_COUNT:
		tensor->is_vectorized =
			read_numbers(&number, 1, type, count, elements) == 1 && number > 1;
		break;
	case ABI_CUDNN_TENSOR_UNIQUE_ID:
		read_numbers(&tensor->unique_id, 1, type, count, elements);
		break;
	default:
		break;
	}
}

/* Of a convolution descriptor, or of a matrix product's. */
static void set_arithmetic(struct cudnn_product *how, int name, int type, int64_t count,
			   const void *elements)
{
	int64_t *numbers = name == ABI_CUDNN_CONV_DILATIONS	 ? how->dilation
			   : name == ABI_CUDNN_CONV_STRIDES	 ? how->stride
			   : name == ABI_CUDNN_CONV_PRE_PADDINGS ? how->pad
								 : NULL;

	if (name == ABI_CUDNN_CONV_COMP_TYPE || name == ABI_CUDNN_MATMUL_COMP_TYPE)
		how->compute = read_element(type, count, elements);
	else if (numbers && read_numbers(numbers, 3, type, count, elements) < 0)
		how->is_unknown = true;
}

static void take_arithmetic(struct cudnn_product *product, const struct entry *from)
{
	const struct cudnn_product *how = from ? &from->is.product : NULL;
	if (!how || (from->type != ABI_CUDNN_CONVOLUTION && from->type != ABI_CUDNN_MATMUL)) {
		product->is_unknown = true;
		return;
	}
	product->compute = how->compute;
	product->is_unknown |= how->is_unknown;
	memcpy(product->pad, how->pad, sizeof(product->pad));
	memcpy(product->stride, how->stride, sizeof(product->stride));
	memcpy(product->dilation, how->dilation, sizeof(product->dilation));
}

static void set_operation(struct entry *operation, int name, const void *descriptor)
{
	struct cudnn_product *product = &operation->is.product;
	struct cudnn_tensor *tensor;

	switch (name) {
	case ABI_CUDNN_FORWARD_CONV:
	case ABI_CUDNN_DATA_CONV:
	case ABI_CUDNN_FILTER_CONV:
	case ABI_CUDNN_MATMUL_DESC:
		take_arithmetic(product, find(descriptor));
		return;
	case ABI_CUDNN_FORWARD_X:
	case ABI_CUDNN_DATA_DX:
	case ABI_CUDNN_FILTER_X:
	case ABI_CUDNN_MATMUL_A:
		tensor = &product->x;
		break;
	case ABI_CUDNN_FORWARD_W:
	case ABI_CUDNN_DATA_W:
	case ABI_CUDNN_FILTER_DW:
	case ABI_CUDNN_MATMUL_B:
		tensor = &product->w;
		break;
	case ABI_CUDNN_FORWARD_Y:
	case ABI_CUDNN_DATA_DY:
	case ABI_CUDNN_FILTER_DY:
	case ABI_CUDNN_MATMUL_C:
		tensor = &product->y;
		break;
	default:
		/* Sizes that a tensor tells when the product runs. */
		if (name >= ABI_CUDNN_MATMUL_M_OVERRIDE && name <= ABI_CUDNN_MATMUL_K_OVERRIDE)
			product->is_unknown = true;
		return;
	}
	const struct entry *from = find_type(descriptor, ABI_CUDNN_TENSOR);
	if (from)
		*tensor = from->is.tensor;
	else
		memset(tensor, 0, sizeof(*tensor));
	product->kind =
		operation->type == ABI_CUDNN_OPERATION_MATMUL ? CUDNN_MATMUL : CUDNN_CONVOLUTION;
	product->op = operation->type == ABI_CUDNN_OPERATION_CONV_FORWARD  ? CONV_FORWARD
		      : operation->type == ABI_CUDNN_OPERATION_CONV_DATA   ? CONV_BACKWARD_DATA
		      : operation->type == ABI_CUDNN_OPERATION_CONV_FILTER ? CONV_BACKWARD_FILTER
									   : 0;
}

static bool is_operation(int type)
{
	return type == ABI_CUDNN_OPERATION_MATMUL ||
	       (type >= ABI_CUDNN_OPERATION_CONV_FORWARD && type <= ABI_CUDNN_OPERATION_CONV_DATA);
}

/* A graph with one product and what is fused with it. Attention has two of them: no product. */
static void set_operations(struct cudnn_product *graph, int type, int64_t count,
			   const void *elements)
{
	int products = 0;

	memset(graph, 0, sizeof(*graph));
	for (int64_t i = 0; i < count && i < UINT16_MAX; i++) {
		const struct entry *operation = find(descriptor_at(type, count, elements, i));
		if (!operation || !is_operation(operation->type))
			continue;
		*graph = operation->is.product;
		products++;
	}
	graph->operations = count > UINT16_MAX ? UINT16_MAX : (uint16_t)(count < 0 ? 0 : count);
	if (products > 1)
		graph->kind = CUDNN_NO_PRODUCT;
}

static bool carries_product(int type)
{
	return type == ABI_CUDNN_OPERATIONGRAPH || type == ABI_CUDNN_ENGINE ||
	       type == ABI_CUDNN_ENGINECFG || type == ABI_CUDNN_ENGINEHEUR ||
	       type == ABI_CUDNN_EXECUTION_PLAN;
}

static void take_product(struct entry *entry, const void *from)
{
	const struct entry *source = find(from);
	if (source && carries_product(source->type))
		entry->is.product = source->is.product;
	else
		memset(&entry->is.product, 0, sizeof(entry->is.product));
}

static void set_pack(struct pack *pack, int name, int type, int64_t count, const void *elements)
{
	if (name == ABI_CUDNN_PACK_OVERRIDE_IDS && count > 0)
		pack->is_overridden = true;
	if (count < 0 || !elements)
		return;
	/* With more than there is room for, the rest has no address. */
	count = count > PACK_MAX ? PACK_MAX : count;
	if (name == ABI_CUDNN_PACK_IDS && type == ABI_CUDNN_TYPE_INT64) {
		pack->id_count = (uint8_t)count;
		memcpy(pack->ids, elements, (size_t)count * sizeof(*pack->ids));
	} else if (name == ABI_CUDNN_PACK_POINTERS && type == ABI_CUDNN_TYPE_POINTER) {
		pack->pointer_count = (uint8_t)count;
		memcpy(pack->pointers, elements, (size_t)count * sizeof(*pack->pointers));
	}
}

void cudnn_shadow_set(const void *descriptor, int name, int type, int64_t count,
		      const void *elements)
{
	struct entry *entry = find(descriptor);
	if (!entry)
		return;
	const void *first = descriptor_at(type, count, elements, 0);

	switch (entry->type) {
	case ABI_CUDNN_TENSOR:
		set_tensor(&entry->is.tensor, name, type, count, elements);
		break;
	case ABI_CUDNN_CONVOLUTION:
	case ABI_CUDNN_MATMUL:
		set_arithmetic(&entry->is.product, name, type, count, elements);
		break;
	case ABI_CUDNN_OPERATIONGRAPH:
		if (name == ABI_CUDNN_GRAPH_OPS)
			set_operations(&entry->is.product, type, count, elements);
		break;
	case ABI_CUDNN_VARIANT_PACK:
		set_pack(&entry->is.pack, name, type, count, elements);
		break;
	default:
		if (is_operation(entry->type))
			set_operation(entry, name, first);
		else if (name == ABI_CUDNN_ENGINE_GRAPH || name == ABI_CUDNN_HEUR_GRAPH ||
			 name == ABI_CUDNN_CFG_ENGINE || name == ABI_CUDNN_PLAN_CFG)
			take_product(entry, first);
		break;
	}
}

/* A heuristic writes its results into configurations that the program has made; a configuration
 * tells its engine. */
void cudnn_shadow_get(const void *descriptor, int name, int type, int64_t requested,
		      const int64_t *count, void *elements)
{
	int64_t written = requested;

	if (!descriptor || (name != ABI_CUDNN_HEUR_RESULTS && name != ABI_CUDNN_CFG_ENGINE))
		return;
	if (count && *count < written)
		written = *count;
	for (int64_t i = 0; i < written && i < DESCRIPTORS; i++) {
		struct entry *entry = find(descriptor_at(type, written, elements, i));
		if (entry && carries_product(entry->type))
			take_product(entry, descriptor);
	}
}

static const void *address_of(const struct pack *pack, const struct cudnn_tensor *tensor)
{
	for (int i = 0; i < pack->id_count && i < pack->pointer_count && i < PACK_MAX; i++) {
		if (pack->ids[i] == tensor->unique_id)
			return pack->pointers[i];
	}
	return NULL;
}

void cudnn_shadow_plan(const void *plan, const void *pack, struct cudnn_product *product,
		       struct cudnn_addresses *addresses)
{
	const struct entry *entry = find_type(plan, ABI_CUDNN_EXECUTION_PLAN);
	const struct entry *with = find_type(pack, ABI_CUDNN_VARIANT_PACK);

	memset(addresses, 0, sizeof(*addresses));
	if (!entry) {
		memset(product, 0, sizeof(*product));
		return;
	}
	*product = entry->is.product;
	if (!with)
		return;
	product->is_unknown |= with->is.pack.is_overridden;
	addresses->x = address_of(&with->is.pack, &product->x);
	addresses->w = address_of(&with->is.pack, &product->w);
	addresses->y = address_of(&with->is.pack, &product->y);
}
