/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of cuDNN's work. Descriptors of the API without graphs are asked by functions of the same
 * library that runs the convolution, one set per version node: they read memory of the host only.
 */
#include "capture_conv.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "api/cudnn_abi.h"
#include "real.h"
#include "streams.h"

enum { CONV_TF32_ALLOWED = 1, CONV_PEDANTIC = 2 };

typedef int get_tensor_function(const void *descriptor, int requested, int *type, int *rank,
				int dims[], int strides[]);
typedef int get_filter_function(const void *descriptor, int requested, int *type, int *format,
				int *rank, int dims[]);
typedef int get_conv_function(const void *descriptor, int requested, int *length, int pads[],
			      int strides[], int dilations[], int *mode, int *type);
typedef int get_math_function(const void *descriptor, int *math);

union reader {
	void *object;
	get_tensor_function *tensor;
	get_filter_function *filter;
	get_conv_function *conv;
	get_math_function *math;
};

enum { READ_TENSOR, READ_FILTER, READ_CONV, READ_MATH, READER_COUNT };
static const char *const reader_names[READER_COUNT] = {
	"cudnnGetTensorNdDescriptor", "cudnnGetFilterNdDescriptor",
	"cudnnGetConvolutionNdDescriptor", "cudnnGetConvolutionMathType"};
static _Atomic(void *) readers[WRAP_NODES_MAX][READER_COUNT];

/* object NULL: no loaded library has it, or the loader cannot be asked now. */
static union reader reader(unsigned int node, int which)
{
	union reader found = {atomic_load_explicit(&readers[node][which], memory_order_acquire)};
	if (!found.object) {
		found.object = real_symbol(&wrap_cudnn, node, reader_names[which]);
		if (found.object)
			atomic_store_explicit(&readers[node][which], found.object,
					      memory_order_release);
	}
	return found;
}

static bool read_tensor(unsigned int node, const void *descriptor, struct cudnn_tensor *tensor)
{
	int type = -1, rank = 0, dims[CUDNN_RANK_MAX] = {0}, strides[CUDNN_RANK_MAX] = {0};
	union reader get = reader(node, READ_TENSOR);

	if (!descriptor || !get.object ||
	    get.tensor(descriptor, CUDNN_RANK_MAX, &type, &rank, dims, strides) || rank < 1 ||
	    rank > CUDNN_RANK_MAX)
		return false;
	tensor->rank = (uint8_t)rank;
	tensor->element = cudnn_element(type);
	tensor->is_vectorized = type == ABI_CUDNN_INT8X4 || type == ABI_CUDNN_INT8X32;
	for (int i = 0; i < rank; i++) {
		tensor->dims[i] = dims[i];
		tensor->strides[i] = strides[i];
	}
	return true;
}

static bool read_filter(unsigned int node, const void *descriptor, struct cudnn_tensor *tensor)
{
	int type = -1, format = -1, rank = 0, dims[CUDNN_RANK_MAX] = {0};
	union reader get = reader(node, READ_FILTER);

	if (!descriptor || !get.object ||
	    get.filter(descriptor, CUDNN_RANK_MAX, &type, &format, &rank, dims) || rank < 1 ||
	    rank > CUDNN_RANK_MAX)
		return false;
	tensor->rank = (uint8_t)rank;
	tensor->element = cudnn_element(type);
	tensor->is_vectorized = format == ABI_CUDNN_NCHW_VECT_C;
	tensor->layout = format == ABI_CUDNN_NCHW   ? CONV_CHANNELS_FIRST
			 : format == ABI_CUDNN_NHWC ? CONV_CHANNELS_LAST
						    : CONV_LAYOUT_UNKNOWN;
	for (int i = 0; i < rank; i++)
		tensor->dims[i] = dims[i];
	return true;
}

static bool read_arithmetic(unsigned int node, const void *descriptor,
			    struct cudnn_product *product)
{
	int length = 0, pads[3] = {0}, strides[3] = {0}, dilations[3] = {0}, mode, type = -1;
	int math = -1;
	union reader get = reader(node, READ_CONV), get_math = reader(node, READ_MATH);

	if (!descriptor || !get.object ||
	    get.conv(descriptor, 3, &length, pads, strides, dilations, &mode, &type) ||
	    length < 1 || length > 3)
		return false;
	for (int i = 0; i < length; i++) {
		product->pad[i] = pads[i];
		product->stride[i] = strides[i];
		product->dilation[i] = dilations[i];
	}
	product->compute = cudnn_element(type);
	if (get_math.object && !get_math.math(descriptor, &math))
		product->math_flags = math == ABI_CUDNN_FMA_MATH	  ? CONV_PEDANTIC
				      : product->x.element == ELEMENT_F32 ? CONV_TF32_ALLOWED
									  : 0;
	return true;
}

static void write_conv(struct call *call, const void *stream, const struct cudnn_product *product,
		       const struct cudnn_addresses *addresses)
{
	struct record_conv *record = call_record(call, RECORD_KIND_conv, sizeof(*record));
	if (!record)
		return;
	record->x = (uintptr_t)addresses->x;
	record->w = (uintptr_t)addresses->w;
	record->y = (uintptr_t)addresses->y;
	record->stream = (uintptr_t)stream;
	cudnn_product_conv(product, record);
	call_commit(call);
}

/* The handle's stream; the call's flags say whether it is being captured. */
static const void *enter_stream(struct call *call, const void *handle)
{
	int math;
	const void *stream = capture_handle_stream(handle, &math);

	call->flags |=
		(uint16_t)(CALL_ASYNC |
			   (streams_is_captured(stream_key(call, stream)) ? CALL_CAPTURED : 0));
	return stream;
}

void capture_conv(struct call *call, unsigned int node, const void *handle,
		  const struct conv_call *conv)
{
	struct cudnn_product product = {.kind = CUDNN_CONVOLUTION,
					.op = (uint8_t)conv->op,
					.operations = (uint16_t)conv->operations};
	const struct cudnn_addresses addresses = {conv->x, conv->w, conv->y};
	const void *stream = enter_stream(call, handle);
	int saved_errno = errno;

	/* Descriptors of a refused call may be anything: they are the program's, and the library
	 * says that they are bad. */
	if (call->status || !read_tensor(node, conv->x_desc, &product.x) ||
	    !read_filter(node, conv->w_desc, &product.w) ||
	    !read_tensor(node, conv->y_desc, &product.y) ||
	    !read_arithmetic(node, conv->conv_desc, &product))
		product.is_unknown = true;
	errno = saved_errno;
	write_conv(call, stream, &product, &addresses);
}

void capture_cudnn_plan(struct call *call, const void *handle, const void *plan, const void *pack)
{
	struct cudnn_product product = {.kind = CUDNN_NO_PRODUCT};
	struct cudnn_addresses addresses;
	struct gemm_shape shape;
	const void *stream = enter_stream(call, handle);

	if (!call->status)
		cudnn_shadow_plan(plan, pack, &product, &addresses);
	if (product.kind == CUDNN_CONVOLUTION) {
		write_conv(call, stream, &product, &addresses);
	} else if (cudnn_product_gemm(&product, &addresses, &shape)) {
		capture_gemm_write(call, &shape, stream, 0, 0);
	} else {
		capture_plain(call, plan);
	}
}

void capture_cudnn(struct call *call, const void *handle)
{
	enter_stream(call, handle);
	capture_plain(call, handle);
}
