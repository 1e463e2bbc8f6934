/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph API of the simulated cuDNN: descriptors that remember what was set and, like the real
 * ones, do not tell a graph's operations again; heuristics with one result; plans with one
 * convolution. Functions inside call no exported one, since a tool may stand in between.
 */
#include "simcudnn_internal.h"

#include <stdlib.h>
#include <string.h>

#define ATTRIBUTES 16

struct descriptor {
	cudnnBackendDescriptorType_t type;
	bool is_final;
	int count;
	struct attribute {
		int name, type;
		int64_t count;
		void *elements;
	} attributes[ATTRIBUTES];
};

static size_t size_of(cudnnBackendAttributeType_t type)
{
	switch (type) {
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_DOUBLE:
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
		return 8;
	case CUDNN_TYPE_BOOLEAN:
		return sizeof(bool);
	default:
		return 4;
	}
}

static const struct attribute *find(const struct descriptor *descriptor, int name)
{
	for (int i = 0; descriptor && i < descriptor->count; i++) {
		if (descriptor->attributes[i].name == name)
			return &descriptor->attributes[i];
	}
	return NULL;
}

static cudnnStatus_t set(struct descriptor *descriptor, int name, cudnnBackendAttributeType_t type,
			 int64_t count, const void *elements)
{
	struct attribute *attribute = (struct attribute *)find(descriptor, name);

	if (!descriptor || !elements || count < 1 || count > 1024)
		return CUDNN_STATUS_BAD_PARAM;
	if (descriptor->is_final)
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!attribute) {
		if (descriptor->count == ATTRIBUTES)
			return CUDNN_STATUS_NOT_SUPPORTED;
		attribute = &descriptor->attributes[descriptor->count++];
	}
	free(attribute->elements);
	*attribute =
		(struct attribute){name, (int)type, count, malloc((size_t)count * size_of(type))};
	if (!attribute->elements)
		return CUDNN_STATUS_ALLOC_FAILED;
	memcpy(attribute->elements, elements, (size_t)count * size_of(type));
	return CUDNN_STATUS_SUCCESS;
}

/* The descriptor that another one was given under this name. */
static struct descriptor *follow(const struct descriptor *from, int name)
{
	const struct attribute *attribute = find(from, name);

	return attribute && attribute->type == CUDNN_TYPE_BACKEND_DESCRIPTOR
		       ? *(struct descriptor **)attribute->elements
		       : NULL;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
					   cudnnBackendDescriptor_t *out)
{
	struct descriptor *made = out ? calloc(1, sizeof(*made)) : NULL;

	if (!out)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (!made)
		return CUDNN_STATUS_ALLOC_FAILED;
	made->type = type;
	*out = made;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle)
{
	struct descriptor *descriptor = handle;

	for (int i = 0; descriptor && i < descriptor->count; i++)
		free(descriptor->attributes[i].elements);
	free(descriptor);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
				       cudnnBackendAttributeName_t name,
				       cudnnBackendAttributeType_t type, int64_t count,
				       const void *elements)
{
	return set(descriptor, (int)name, type, count, elements);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle)
{
	struct descriptor *descriptor = handle;

	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	descriptor->is_final = true;
	return CUDNN_STATUS_SUCCESS;
}

/* A configuration gets its graph at once: engines are no matter of the simulation. */
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const handle,
				       cudnnBackendAttributeName_t name,
				       cudnnBackendAttributeType_t type, int64_t requested,
				       int64_t *count, void *elements)
{
	struct descriptor *graph = follow(handle, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);

	if (!handle || name != CUDNN_ATTR_ENGINEHEUR_RESULTS ||
	    type != CUDNN_TYPE_BACKEND_DESCRIPTOR || !graph)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (count)
		*count = 1;
	return requested < 1 || !elements
		       ? CUDNN_STATUS_SUCCESS
		       : set(*(struct descriptor **)elements, CUDNN_ATTR_ENGINECFG_ENGINE,
			     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
}

static void read_tensor(const struct descriptor *descriptor, struct simcudnn_tensor *tensor)
{
	const struct attribute *dims = find(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS);
	const struct attribute *strides = find(descriptor, CUDNN_ATTR_TENSOR_STRIDES);
	const struct attribute *type = find(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE);
	const struct attribute *id = find(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID);

	if (!dims || !strides || !type || dims->count > SIMCUDNN_RANK ||
	    strides->count != dims->count)
		return;
	tensor->rank = (int)dims->count;
	tensor->type = *(int *)type->elements;
	tensor->id = id ? *(int64_t *)id->elements : 0;
	memcpy(tensor->dims, dims->elements, (size_t)dims->count * sizeof(int64_t));
	memcpy(tensor->strides, strides->elements, (size_t)dims->count * sizeof(int64_t));
}

static void read_numbers(const struct descriptor *from, int name, int64_t numbers[3])
{
	const struct attribute *attribute = find(from, name);

	if (attribute && attribute->count <= 3)
		memcpy(numbers, attribute->elements, (size_t)attribute->count * sizeof(int64_t));
}

static const void *address(const struct descriptor *pack, int64_t id)
{
	const struct attribute *ids = find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	const struct attribute *pointers = find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);

	for (int64_t i = 0; ids && pointers && i < ids->count && i < pointers->count; i++) {
		if (((int64_t *)ids->elements)[i] == id)
			return ((void **)pointers->elements)[i];
	}
	return NULL;
}

/* Attribute numbers of the three kinds of convolutions: what, x, w, y. */
static const int names[3][4] = {
	{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
	 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
	 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
	 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
	 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
	 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
	 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
	 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
				  cudnnBackendDescriptor_t pack)
{
	struct descriptor *at = follow(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG), *how;
	struct simcudnn_conv conv = {.function = __func__};
	const int *name;

	at = follow(at, CUDNN_ATTR_ENGINECFG_ENGINE);
	if (at && at->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR)
		at = follow(at, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
	at = follow(at, CUDNN_ATTR_OPERATIONGRAPH_OPS); /* the first one */
	if (!at)
		return CUDNN_STATUS_BAD_PARAM;
	conv.op = at->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR	     ? 1
		  : at->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ? 2
											     : 3;
	name = names[conv.op - 1];
	how = follow(at, name[0]);
	read_tensor(follow(at, name[1]), &conv.x);
	read_tensor(follow(at, name[2]), &conv.w);
	read_tensor(follow(at, name[3]), &conv.y);
	read_numbers(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, conv.pad);
	read_numbers(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, conv.stride);
	read_numbers(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, conv.dilation);
	conv.at_x = address(pack, conv.x.id);
	conv.at_w = address(pack, conv.w.id);
	conv.at_y = address(pack, conv.y.id);
	return simcudnn_conv_run(handle, &conv);
}
