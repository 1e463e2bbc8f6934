/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes records of what GPUs did into the model's operations; model_collect.c hands them over.
 */
#include "big_array.h"
#include "event_time.h"
#include "model_internal.h"

struct gpu_op collect_describe_op(struct model_builder *builder, uint16_t kind, const void *record)
{
	const struct gpu_part *part = record;
	const struct record_gpu_copy *copy = record;
	struct transfer transfer = {
		.direction = TRANSFER_SET, .is_async = 1, .peer = MODEL_NO_DEVICE};
	struct gpu_op op = {.device = collect_device(builder, part->device),
			    .stream = part->stream,
			    .kernel_class = KERNEL_OTHER};

	if (op.device == MODEL_NO_DEVICE)
		op.device = collect_device(builder, 0);
	switch (kind) {
	case RECORD_KIND_gpu_kernel:
		op.type = GPU_OP_KERNEL;
		op.detail =
			collect_kernel(builder, ((const struct record_gpu_kernel *)record)->kernel);
		op.kernel_class = builder->model->kernels[op.detail].traits.kernel_class;
		break;
	case RECORD_KIND_gpu_copy:
		op.type = GPU_OP_COPY;
		transfer.size_bytes = copy->size_bytes;
		transfer.direction = copy->direction;
		transfer.source_kind = copy->source_kind;
		transfer.destination_kind = copy->destination_kind;
		transfer.is_async = copy->is_async;
		transfer.peer = collect_peer(copy->peer_device);
		op.detail = collect_transfer(builder, &transfer);
		break;
	case RECORD_KIND_gpu_graph:
		collect_graph_op(builder, part, &op);
		break;
	default:
		op.type = GPU_OP_SET;
		transfer.size_bytes = ((const struct record_gpu_set *)record)->size_bytes;
		op.detail = collect_transfer(builder, &transfer);
		break;
	}
	return op;
}

struct gpu_op *op_place(struct model_builder *builder)
{
	struct model *model = builder->model;

	if (model->op_count == builder->op_capacity)
		model->ops = big_array_grow(model->ops, &builder->op_capacity, sizeof(*model->ops));
	return &model->ops[model->op_count++];
}

void collect_gpu(struct model_builder *builder, const struct trace_batch *batch)
{
	const struct model *model = builder->model;

	for (uint32_t i = 0; i < batch->count; i++) {
		const void *record = (const char *)batch->rows + (size_t)i * batch->row_bytes;
		const struct gpu_part *part = record;
		struct gpu_op *op = op_place(builder);

		*op = collect_describe_op(builder, batch->kind, record);
		op->begin_ns = event_time_gpu(model, part->begin_ns);
		op->end_ns = event_time_end(op->begin_ns, event_time_gpu(model, part->end_ns));
		op->call = part->correlation; /* becomes an index in model_link() */
		collect_graph_node(builder, part, op);
	}
}
