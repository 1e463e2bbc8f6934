/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: a 3x3 convolution in fp16, channels last, of 34 channels. Channels are what is
 * contiguous, and 68 bytes are no multiple of 16: Tensor Cores load 4 bytes at a time.
 * Cure (--cured): 40 channels, the next multiple of 8.
 * Negative twin: any --batch and --size of the cured one, odd or even. Neither is contiguous, so
 * nothing must be said about it.
 */
#include "gpu_dnn.h"
#include "step_loop.h"

enum { FILTER = 3, BYTES_PER_ELEMENT = 2, WORKSPACE_BYTES = 64 << 20 };

struct conv_layer {
	void *x, *w, *y, *conv;		/* descriptors */
	void *x_data, *w_data, *y_data; /* x and y hold values going forward, gradients back */
	void *w_gradient, *workspace;
};

static void conv_open(struct conv_layer *layer, const struct gpu_dnn *dnn, const int extents[4])
{
	const int batch = extents[0], in = extents[1], out = extents[2], size = extents[3];
	const size_t points = (size_t)batch * (size_t)size * (size_t)size * BYTES_PER_ELEMENT;
	const size_t weights = (size_t)in * (size_t)out * FILTER * FILTER * BYTES_PER_ELEMENT;

	GPU_TRY(dnn->tensor_create(&layer->x));
	GPU_TRY(dnn->tensor_create(&layer->y));
	GPU_TRY(dnn->filter_create(&layer->w));
	GPU_TRY(dnn->conv_create(&layer->conv));
	GPU_TRY(dnn->tensor_set(layer->x, GPU_DNN_NHWC, GPU_DNN_HALF, batch, in, size, size));
	GPU_TRY(dnn->tensor_set(layer->y, GPU_DNN_NHWC, GPU_DNN_HALF, batch, out, size, size));
	GPU_TRY(dnn->filter_set(layer->w, GPU_DNN_HALF, GPU_DNN_NHWC, out, in, FILTER, FILTER));
	GPU_TRY(dnn->conv_set(layer->conv, 1, 1, 1, 1, 1, 1, GPU_DNN_CROSS_CORRELATION,
			      GPU_DNN_FLOAT));
	GPU_TRY(dnn->conv_math(layer->conv, GPU_DNN_TENSOR_OP_MATH));
	GPU_TRY(gpu_alloc(&layer->x_data, points * (size_t)in));
	GPU_TRY(gpu_alloc(&layer->y_data, points * (size_t)out));
	GPU_TRY(gpu_alloc(&layer->w_data, weights));
	GPU_TRY(gpu_alloc(&layer->w_gradient, weights));
	GPU_TRY(gpu_alloc(&layer->workspace, WORKSPACE_BYTES));
}

static void conv_close(struct conv_layer *layer, const struct gpu_dnn *dnn)
{
	GPU_TRY(gpu_free(layer->x_data));
	GPU_TRY(gpu_free(layer->y_data));
	GPU_TRY(gpu_free(layer->w_data));
	GPU_TRY(gpu_free(layer->w_gradient));
	GPU_TRY(gpu_free(layer->workspace));
	GPU_TRY(dnn->tensor_destroy(layer->x));
	GPU_TRY(dnn->tensor_destroy(layer->y));
	GPU_TRY(dnn->filter_destroy(layer->w));
	GPU_TRY(dnn->conv_destroy(layer->conv));
}

/* Forward, the gradient of the weights, which needs the input, and that of the input. */
static void conv_step(struct conv_layer *layer, const struct gpu_dnn *dnn)
{
	const float one = 1, zero = 0;

	GPU_TRY(dnn->forward(dnn->handle, &one, layer->x, layer->x_data, layer->w, layer->w_data,
			     layer->conv, GPU_DNN_ALGORITHM_1, layer->workspace, WORKSPACE_BYTES,
			     &zero, layer->y, layer->y_data));
	GPU_TRY(dnn->backward_filter(dnn->handle, &one, layer->x, layer->x_data, layer->y,
				     layer->y_data, layer->conv, GPU_DNN_ALGORITHM_1,
				     layer->workspace, WORKSPACE_BYTES, &zero, layer->w,
				     layer->w_gradient));
	GPU_TRY(dnn->backward_data(dnn->handle, &one, layer->w, layer->w_data, layer->y,
				   layer->y_data, layer->conv, GPU_DNN_ALGORITHM_1,
				   layer->workspace, WORKSPACE_BYTES, &zero, layer->x,
				   layer->x_data));
}

int main(int argc, char **argv)
{
	long steps = 30, batch = 256, channels = 34, filters = 256, size = 56;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (30)"},
		{"batch", NULL, &batch, "images of a batch (256)"},
		{"channels", NULL, &channels, "input channels (34)"},
		{"filters", NULL, &filters, "output channels (256)"},
		{"size", NULL, &size, "width and height of an image (56)"},
		{"cured", &cured, NULL, "40 input channels"},
		{NULL, NULL, NULL, NULL}};
	struct conv_layer layer;
	struct gpu_dnn dnn;
	struct step_pace pace;
	gpu_stream stream;

	sample_parse(argc, argv, options);
	if (cured)
		channels = 40;
	const int extents[4] = {(int)batch, (int)channels, (int)filters, (int)size};

	gpu_open();
	gpu_dnn_open(&dnn);
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(dnn.set_stream(dnn.handle, stream));
	conv_open(&layer, &dnn, extents);
	step_pace_open(&pace);
	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		conv_step(&layer, &dnn);
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	printf("unpadded_conv: %ld steps, batch %ld, %ld channels, %ld filters, %ldx%ld\n", steps,
	       batch, channels, filters, size, size);
	step_pace_close(&pace);
	conv_close(&layer, &dnn);
	GPU_TRY(dnn.destroy(dnn.handle));
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return 0;
}
