/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPT-like model, forward, backward and optimizer, as launches and matrix products of the right
 * shapes and sizes. It learns nothing: kernels.def says what its kernels compute.
 */
#ifndef GPUTRACE_SAMPLES_GPT_MODEL_H
#define GPUTRACE_SAMPLES_GPT_MODEL_H

#include "linear_layer.h"

enum { GPT_WIDTH = 4096, GPT_HEADS = 32, GPT_HEAD_WIDTH = 128, GPT_MAX_LAYERS = 64 };

struct gpt_block {
	struct linear_layer qkv, projection, up, down;
};

struct gpt_model {
	int layers, rows, feed_forward, vocabulary;
	struct gpt_block blocks[GPT_MAX_LAYERS];
	struct linear_layer head;
	void *x, *y, *qkv, *scores, *hidden, *logits; /* activations, bf16 */
	void *optimizer_state; /* parameters and both moments, large enough for every layer */
	size_t largest_layer;  /* weights */
	gpu_stream stream;
};

static inline size_t gpt_bytes(const struct gpt_model *model, int width)
{
	return (size_t)model->rows * (size_t)width * LINEAR_BYTES_PER_ELEMENT;
}

/* What a kernel that streams `bytes` of bf16 is launched over. */
static inline size_t gpt_words(size_t bytes)
{
	return bytes / sizeof(float);
}

static inline void gpt_note_layer(struct gpt_model *model, const struct linear_layer *layer)
{
	if (linear_weights(layer) > model->largest_layer)
		model->largest_layer = linear_weights(layer);
}

static inline void gpt_open(struct gpt_model *model, gpu_stream stream)
{
	model->stream = stream;
	model->largest_layer = 0;
	for (int i = 0; i < model->layers; i++) {
		struct gpt_block *block = &model->blocks[i];

		linear_open(&block->qkv, GPT_WIDTH, 3 * GPT_WIDTH);
		linear_open(&block->projection, GPT_WIDTH, GPT_WIDTH);
		linear_open(&block->up, GPT_WIDTH, model->feed_forward);
		linear_open(&block->down, model->feed_forward, GPT_WIDTH);
		gpt_note_layer(model, &block->qkv);
		gpt_note_layer(model, &block->up);
	}
	linear_open(&model->head, GPT_WIDTH, model->vocabulary);
	gpt_note_layer(model, &model->head);
	GPU_TRY(gpu_alloc(&model->x, gpt_bytes(model, GPT_WIDTH)));
	GPU_TRY(gpu_alloc(&model->y, gpt_bytes(model, GPT_WIDTH)));
	GPU_TRY(gpu_alloc(&model->qkv, gpt_bytes(model, 3 * GPT_WIDTH)));
	GPU_TRY(gpu_alloc(&model->scores, gpt_bytes(model, model->rows) * GPT_HEADS));
	GPU_TRY(gpu_alloc(&model->hidden, gpt_bytes(model, model->feed_forward)));
	GPU_TRY(gpu_alloc(&model->logits, gpt_bytes(model, model->vocabulary)));
	size_t state_bytes = 3 * model->largest_layer * LINEAR_BYTES_PER_ELEMENT;

	GPU_TRY(gpu_alloc(&model->optimizer_state, state_bytes));
	GPU_TRY(gpu_set_async(model->optimizer_state, 0, state_bytes, stream));
}

static inline void gpt_close(struct gpt_model *model)
{
	for (int i = 0; i < model->layers; i++) {
		struct gpt_block *block = &model->blocks[i];

		linear_close(&block->qkv);
		linear_close(&block->projection);
		linear_close(&block->up);
		linear_close(&block->down);
	}
	linear_close(&model->head);
	GPU_TRY(gpu_free(model->x));
	GPU_TRY(gpu_free(model->y));
	GPU_TRY(gpu_free(model->qkv));
	GPU_TRY(gpu_free(model->scores));
	GPU_TRY(gpu_free(model->hidden));
	GPU_TRY(gpu_free(model->logits));
	GPU_TRY(gpu_free(model->optimizer_state));
}

/* One matrix product per head: scores (rows x rows) = q k', or the like with op_a == N. */
static inline void gpt_attention_product(const struct gpt_model *model, int op_a, int m, int k,
					 const void *a, int lda, const void *b, int ldb, void *c,
					 int ldc)
{
	long long scores = (long long)model->rows * model->rows, head = GPT_HEAD_WIDTH;
	long long stride_b = b == model->scores ? scores : head;
	long long stride_c = c == model->scores ? scores : head;

	GPU_TRY(gpu_gemm_batched(op_a, GPU_BLAS_N, m, model->rows, k, &linear_one, a, GPU_BLAS_BF16,
				 lda, GPT_HEAD_WIDTH, b, GPU_BLAS_BF16, ldb, stride_b, &linear_zero,
				 c, GPU_BLAS_BF16, ldc, stride_c, GPT_HEADS, GPU_BLAS_COMPUTE_F32,
				 GPU_BLAS_ALGORITHM_DEFAULT));
}

static inline void gpt_attention(const struct gpt_model *model, bool forward)
{
	size_t words = gpt_words(gpt_bytes(model, model->rows) * GPT_HEADS);
	int rows = model->rows, wide = 3 * GPT_WIDTH;

	gpt_attention_product(model, GPU_BLAS_T, rows, GPT_HEAD_WIDTH, model->qkv, wide, model->qkv,
			      wide, model->scores, rows);
	if (forward)
		GPU_TRY(gpu_launch(softmax_forward, words, model->stream, model->scores,
				   model->scores));
	else
		GPU_TRY(gpu_launch(softmax_backward, words, model->stream, model->scores,
				   model->scores));
	gpt_attention_product(model, GPU_BLAS_N, GPT_HEAD_WIDTH, rows, model->qkv, wide,
			      model->scores, rows, model->y, GPT_WIDTH);
}

static inline void gpt_forward(const struct gpt_model *model, const void *batch)
{
	size_t words = gpt_words(gpt_bytes(model, GPT_WIDTH));

	GPU_TRY(gpu_launch(embedding_forward, words, model->stream, model->x, batch));
	for (int i = 0; i < model->layers; i++) {
		const struct gpt_block *block = &model->blocks[i];

		GPU_TRY(gpu_launch(layer_norm_forward, words, model->stream, model->y, model->x));
		linear_forward(&block->qkv, model->rows, model->qkv, model->y);
		gpt_attention(model, true);
		linear_forward(&block->projection, model->rows, model->x, model->y);
		GPU_TRY(gpu_launch(residual_add, words, model->stream, model->x, model->y));
		GPU_TRY(gpu_launch(layer_norm_forward, words, model->stream, model->y, model->x));
		linear_forward(&block->up, model->rows, model->hidden, model->y);
		GPU_TRY(gpu_launch(gelu_forward, gpt_words(gpt_bytes(model, model->feed_forward)),
				   model->stream, model->hidden, model->hidden));
		linear_forward(&block->down, model->rows, model->y, model->hidden);
		GPU_TRY(gpu_launch(residual_add, words, model->stream, model->x, model->y));
	}
	linear_forward(&model->head, model->rows, model->logits, model->x);
	GPU_TRY(gpu_launch(cross_entropy, gpt_words(gpt_bytes(model, model->vocabulary)),
			   model->stream, model->logits, model->logits));
}

/* The backward pass in parts, each of which leaves gradients that are final: the head, every block
 * from the last one on, the embedding. */
static inline void gpt_backward_head(const struct gpt_model *model)
{
	linear_backward(&model->head, model->rows, model->y, model->logits, model->x);
}

static inline void gpt_backward_block(const struct gpt_model *model, int index)
{
	const struct gpt_block *block = &model->blocks[index];
	size_t words = gpt_words(gpt_bytes(model, GPT_WIDTH));

	linear_backward(&block->down, model->rows, model->hidden, model->y, model->hidden);
	GPU_TRY(gpu_launch(gelu_backward, gpt_words(gpt_bytes(model, model->feed_forward)),
			   model->stream, model->hidden, model->hidden));
	linear_backward(&block->up, model->rows, model->y, model->hidden, model->x);
	GPU_TRY(gpu_launch(layer_norm_backward, words, model->stream, model->x, model->y));
	linear_backward(&block->projection, model->rows, model->y, model->x, model->y);
	gpt_attention(model, false);
	gpt_attention(model, false);
	linear_backward(&block->qkv, model->rows, model->y, model->qkv, model->x);
	GPU_TRY(gpu_launch(layer_norm_backward, words, model->stream, model->x, model->y));
}

static inline void gpt_backward_embedding(const struct gpt_model *model)
{
	size_t words = gpt_words(gpt_bytes(model, GPT_WIDTH));

	GPU_TRY(gpu_launch(embedding_backward, words, model->stream, model->x, model->y));
}

static inline void gpt_optimize_layer(const struct gpt_model *model,
				      const struct linear_layer *layer)
{
	/* Everything is bf16, two weights to a word. */
	GPU_TRY(gpu_launch(adamw_step, linear_weights(layer) / 2, model->stream,
			   model->optimizer_state, layer->gradient));
}

static inline void gpt_optimize(const struct gpt_model *model)
{
	for (int i = 0; i < model->layers; i++) {
		const struct gpt_block *block = &model->blocks[i];

		gpt_optimize_layer(model, &block->qkv);
		gpt_optimize_layer(model, &block->projection);
		gpt_optimize_layer(model, &block->up);
		gpt_optimize_layer(model, &block->down);
	}
	gpt_optimize_layer(model, &model->head);
}

#endif
