/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: matrix products with extents that are not a multiple of 16 bytes where they are
 * contiguous: a vocabulary of 50257 and a feed-forward width of 10922 in bf16. Tensor Cores then
 * load 2 or 4 bytes at a time.
 * Cure (--cured): 50304 and 10944, the next multiples of 64.
 * Negative twin: any --batch, 31 for one. The rows of a batch are contiguous in no operand, so an
 * odd number of them costs nothing and nothing must be said about it.
 */
#include "linear_layer.h"
#include "step_loop.h"

enum { WIDTH = 4096 };

int main(int argc, char **argv)
{
	long steps = 30, rows = 4096, vocabulary = 50257, feed_forward = 10922;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (30)"},
		{"batch", NULL, &rows, "rows of a batch (4096)"},
		{"vocabulary", NULL, &vocabulary, "width of the output layer (50257)"},
		{"feed-forward", NULL, &feed_forward, "width of the hidden layer (10922)"},
		{"cured", &cured, NULL, "vocabulary 50304, feed-forward 10944"},
		{NULL, NULL, NULL, NULL}};
	struct linear_layer up, down, head;
	struct step_pace pace;
	void *x, *hidden, *y, *logits;
	gpu_stream stream;

	sample_parse(argc, argv, options);
	if (cured) {
		vocabulary = 50304;
		feed_forward = 10944;
	}
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_gemm_stream(stream));
	linear_open(&up, WIDTH, feed_forward);
	linear_open(&down, feed_forward, WIDTH);
	linear_open(&head, WIDTH, vocabulary);
	size_t row_bytes = (size_t)rows * LINEAR_BYTES_PER_ELEMENT;

	GPU_TRY(gpu_alloc(&x, row_bytes * WIDTH));
	GPU_TRY(gpu_alloc(&hidden, row_bytes * (size_t)feed_forward));
	GPU_TRY(gpu_alloc(&y, row_bytes * WIDTH));
	GPU_TRY(gpu_alloc(&logits, row_bytes * (size_t)vocabulary));
	step_pace_open(&pace);

	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		linear_forward(&up, (int)rows, hidden, x);
		linear_forward(&down, (int)rows, y, hidden);
		linear_forward(&head, (int)rows, logits, y);
		/* The gradients take the places of the activations they belong to. */
		linear_backward(&head, (int)rows, y, logits, y);
		linear_backward(&down, (int)rows, hidden, y, hidden);
		linear_backward(&up, (int)rows, x, hidden, x);
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	printf("unpadded_gemm: %ld steps, batch %ld, vocabulary %ld, feed-forward %ld\n", steps,
	       rows, vocabulary, feed_forward);
	step_pace_close(&pace);
	GPU_TRY(gpu_free(x));
	GPU_TRY(gpu_free(hidden));
	GPU_TRY(gpu_free(y));
	GPU_TRY(gpu_free(logits));
	linear_close(&up);
	linear_close(&down);
	linear_close(&head);
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return 0;
}
