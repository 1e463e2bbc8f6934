/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes come as text such as [[8192, 4096], [4096, 1536]], one list per argument. An operand's
 * layout is known only where the recording has strides; a layout that cuBLAS cannot take as it is
 * (neither stride is 1) is copied by PyTorch first, so it counts as unknown too.
 */
#include "import_gemm.h"

#include <string.h>

#define MAX_ARGUMENTS 4
#define MAX_DIMS      8

struct argument {
	int64_t dims[MAX_DIMS];
	int64_t strides[MAX_DIMS];
	size_t dim_count, stride_count;
	uint8_t type; /* enum element_type */
};

/* Operators, and where their two operands stand among the arguments. */
static const struct {
	const char *name;
	uint8_t left, right;
} products[] = {
	/* aten::linear and aten::matmul only wrap one of these. */
	{"aten::mm", 0, 1},
	{"aten::bmm", 0, 1},
	{"aten::addmm", 1, 2},
	{"aten::baddbmm", 1, 2},
	{"aten::_addmm_activation", 1, 2},
	{"aten::_scaled_mm", 0, 1},
	{"aten::_int_mm", 0, 1},
};

static const struct {
	const char *name;
	uint8_t type;
} type_names[] = {
	{"float", ELEMENT_F32},
	{"double", ELEMENT_F64},
	{"c10::Half", ELEMENT_F16},
	{"c10::BFloat16", ELEMENT_BF16},
	{"c10::Float8_e4m3fn", ELEMENT_F8E4M3},
	{"c10::Float8_e4m3fnuz", ELEMENT_F8E4M3},
	{"c10::Float8_e5m2", ELEMENT_F8E5M2},
	{"c10::Float8_e5m2fnuz", ELEMENT_F8E5M2},
	{"signed char", ELEMENT_I8},
	{"int", ELEMENT_I32},
	{"c10::complex<float>", ELEMENT_C64},
	{"c10::complex<double>", ELEMENT_C128},
};

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static int product_of(const struct json_slice *name)
{
	if (name->length < 8 || memcmp(name->at, "aten::", 6))
		return -1;
	for (size_t i = 0; i < LEN(products); i++) {
		if (json_is(name, products[i].name))
			return (int)i;
	}
	return -1;
}

static size_t read_list(struct json_cursor *cursor, int64_t values[MAX_DIMS])
{
	bool is_first = true, done = false;
	size_t count = 0;
	struct json_slice slice;
	while (json_element(cursor, &is_first, &done) == JSON_OK && !done) {
		if (json_value(cursor, &slice) != JSON_OK)
			return 0;
		/* A list of lists is a list of tensors, not one tensor. */
		if (count >= MAX_DIMS || !json_to_int(&slice, &values[count]) || values[count] < 0)
			return 0;
		count++;
	}
	return done ? count : 0;
}

static void read_lists(const struct json_slice *text, struct argument *arguments, bool are_strides)
{
	struct json_cursor cursor = {text->at, text->at + text->length};
	bool is_first = true, done = false;
	for (size_t i = 0; i < MAX_ARGUMENTS; i++) {
		struct json_slice slice;
		if (json_element(&cursor, &is_first, &done) != JSON_OK || done ||
		    json_value(&cursor, &slice) != JSON_OK)
			return;
		struct json_cursor inner = {slice.at, slice.at + slice.length};
		if (are_strides)
			arguments[i].stride_count = read_list(&inner, arguments[i].strides);
		else
			arguments[i].dim_count = read_list(&inner, arguments[i].dims);
	}
}

static void read_types(const struct json_slice *text, struct argument *arguments)
{
	struct json_cursor cursor = {text->at, text->at + text->length};
	bool is_first = true, done = false;
	for (size_t i = 0; i < MAX_ARGUMENTS; i++) {
		struct json_slice slice;
		if (json_element(&cursor, &is_first, &done) != JSON_OK || done ||
		    json_value(&cursor, &slice) != JSON_OK)
			return;
		for (size_t j = 0; j < LEN(type_names); j++) {
			if (json_is(&slice, type_names[j].name))
				arguments[i].type = type_names[j].type;
		}
	}
}

/* How cuBLAS sees a row-major matrix: as its transpose. 'N' when rows are contiguous. */
static void layout_of(const struct argument *a, size_t rows_at, uint8_t *op, uint32_t *leading)
{
	*op = 0;
	*leading = 0;
	if (a->stride_count != a->dim_count)
		return;
	int64_t row = a->strides[rows_at], column = a->strides[rows_at + 1];
	int64_t rows = a->dims[rows_at], columns = a->dims[rows_at + 1];
	if (column == 1 && row >= columns && row <= UINT32_MAX) {
		*op = 'N';
		*leading = (uint32_t)row;
	} else if (row == 1 && column >= rows && column <= UINT32_MAX) {
		*op = 'T';
		*leading = (uint32_t)column;
	}
}

static bool to_extent(int64_t value, uint32_t *out)
{
	if (value <= 0 || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

bool import_gemm_shape(const struct json_slice *name, const struct json_slice *dims,
		       const struct json_slice *types, const struct json_slice *strides,
		       struct record_gemm *out)
{
	int index = product_of(name);
	if (index < 0 || dims->length == 0)
		return false;
	struct argument arguments[MAX_ARGUMENTS] = {0};
	read_lists(dims, arguments, false);
	if (types->length)
		read_types(types, arguments);
	if (strides->length)
		read_lists(strides, arguments, true);

	const struct argument *left = &arguments[products[index].left];
	const struct argument *right = &arguments[products[index].right];
	size_t n = left->dim_count;
	if (n < 2 || n > 3 || right->dim_count != n || right->dims[n - 2] != left->dims[n - 1])
		return false;
	if (!to_extent(right->dims[n - 1], &out->m) || !to_extent(left->dims[n - 2], &out->n) ||
	    !to_extent(left->dims[n - 1], &out->k) ||
	    !to_extent(n == 3 ? left->dims[0] : 1, &out->batch))
		return false;
	layout_of(right, n - 2, &out->op_a, &out->lda);
	layout_of(left, n - 2, &out->op_b, &out->ldb);
	out->type_a = right->type;
	out->type_b = left->type;
	/* Products of narrow types widen by an argument that has no type in the recording. */
	bool widens = left->type == ELEMENT_F8E4M3 || left->type == ELEMENT_F8E5M2 ||
		      left->type == ELEMENT_I8;
	out->type_c = widens ? ELEMENT_UNKNOWN : left->type;
	return true;
}
