/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the simulated cuBLASLt: made, changed and asked, all in host memory.
 */
#include "simblaslt_internal.h"

#include <stdlib.h>
#include <string.h>

enum { LAYOUT_MAGIC = 0x6c61796f, PRODUCT_MAGIC = 0x6d756c74, WISH_MAGIC = 0x77697368 };

struct field {
	int attribute;
	size_t offset, bytes;
};

static const struct field layout_fields[] = {
#define FIELD(attribute, member)                                                                   \
	{                                                                                          \
		CUBLASLT_MATRIX_LAYOUT_##attribute, offsetof(struct simblaslt_layout, member),     \
			sizeof(((struct simblaslt_layout *)NULL)->member)                          \
	}
	FIELD(TYPE, type),
	FIELD(ORDER, order),
	FIELD(ROWS, rows),
	FIELD(COLS, columns),
	FIELD(LD, ld),
	FIELD(BATCH_COUNT, batch),
	FIELD(STRIDED_BATCH_OFFSET, stride),
#undef FIELD
};

static const struct field product_fields[] = {
#define FIELD(attribute, member)                                                                   \
	{                                                                                          \
		CUBLASLT_MATMUL_DESC_##attribute, offsetof(struct simblaslt_product, member),      \
			sizeof(((struct simblaslt_product *)NULL)->member)                         \
	}
	FIELD(COMPUTE_TYPE, compute), FIELD(SCALE_TYPE, scale), FIELD(POINTER_MODE, pointer_mode),
	FIELD(TRANSA, opa),	      FIELD(TRANSB, opb),	FIELD(EPILOGUE, epilogue),
	FIELD(BIAS_POINTER, bias),
#undef FIELD
};

static const struct field *find(const struct field *fields, size_t count, int attribute)
{
	for (size_t i = 0; i < count; i++) {
		if (fields[i].attribute == attribute)
			return &fields[i];
	}
	return NULL;
}

static cublasStatus_t set(void *object, const struct field *field, const void *value, size_t bytes)
{
	if (!object || !field || !value || bytes != field->bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)object + field->offset, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

/* With no room the size is told. */
static cublasStatus_t get(const void *object, const struct field *field, void *value, size_t bytes,
			  size_t *written)
{
	if (!object || !field || (!bytes && !written) ||
	    (bytes && (!value || bytes < field->bytes)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (written)
		*written = field->bytes;
	if (bytes)
		memcpy(value, (const char *)object + field->offset, field->bytes);
	return CUBLAS_STATUS_SUCCESS;
}

const struct simblaslt_layout *simblaslt_layout_of(const void *descriptor)
{
	const struct simblaslt_layout *layout = descriptor;

	return layout && layout->magic == LAYOUT_MAGIC ? layout : NULL;
}

const struct simblaslt_product *simblaslt_product_of(const void *descriptor)
{
	const struct simblaslt_product *product = descriptor;

	return product && product->magic == PRODUCT_MAGIC ? product : NULL;
}

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size,
						 cudaDataType type, uint64_t rows, uint64_t columns,
						 int64_t ld)
{
	struct simblaslt_layout made = {.magic = LAYOUT_MAGIC,
					.type = (uint32_t)type,
					.batch = 1,
					.rows = rows,
					.columns = columns,
					.ld = ld};

	if (!layout || size < sizeof(*layout))
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(layout, 0, sizeof(*layout));
	memcpy(layout, &made, sizeof(made));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
					  uint64_t rows, uint64_t columns, int64_t ld)
{
	if (!layout)
		return CUBLAS_STATUS_INVALID_VALUE;
	*layout = malloc(sizeof(**layout));
	if (!*layout)
		return CUBLAS_STATUS_ALLOC_FAILED;
	return cublasLtMatrixLayoutInit_internal(*layout, sizeof(**layout), type, rows, columns,
						 ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
	free(layout);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
						cublasLtMatrixLayoutAttribute_t attribute,
						const void *value, size_t bytes)
{
	return set(simblaslt_layout_of(layout) ? layout : NULL,
		   find(layout_fields, COUNT(layout_fields), (int)attribute), value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
						cublasLtMatrixLayoutAttribute_t attribute,
						void *value, size_t bytes, size_t *written)
{
	return get(simblaslt_layout_of(layout),
		   find(layout_fields, COUNT(layout_fields), (int)attribute), value, bytes,
		   written);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t product, size_t size,
					       cublasComputeType_t compute, cudaDataType_t scale)
{
	struct simblaslt_product made = {.magic = PRODUCT_MAGIC,
					 .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
					 .compute = (int32_t)compute,
					 .scale = (int32_t)scale};

	if (!product || size < sizeof(*product))
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(product, 0, sizeof(*product));
	memcpy(product, &made, sizeof(made));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product, cublasComputeType_t compute,
					cudaDataType_t scale)
{
	if (!product)
		return CUBLAS_STATUS_INVALID_VALUE;
	*product = malloc(sizeof(**product));
	if (!*product)
		return CUBLAS_STATUS_ALLOC_FAILED;
	return cublasLtMatmulDescInit_internal(*product, sizeof(**product), compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product)
{
	free(product);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
					      cublasLtMatmulDescAttributes_t attribute,
					      const void *value, size_t bytes)
{
	return set(simblaslt_product_of(product) ? product : NULL,
		   find(product_fields, COUNT(product_fields), (int)attribute), value, bytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t product,
					      cublasLtMatmulDescAttributes_t attribute, void *value,
					      size_t bytes, size_t *written)
{
	return get(simblaslt_product_of(product),
		   find(product_fields, COUNT(product_fields), (int)attribute), value, bytes,
		   written);
}

/* ---- preferences: kept, and without effect on the model ---- */

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t wish, size_t size)
{
	if (!wish || size < sizeof(*wish))
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(wish, 0, sizeof(*wish));
	wish->data[0] = WISH_MAGIC;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *wish)
{
	if (!wish)
		return CUBLAS_STATUS_INVALID_VALUE;
	*wish = malloc(sizeof(**wish));
	return *wish ? cublasLtMatmulPreferenceInit_internal(*wish, sizeof(**wish))
		     : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t wish)
{
	free(wish);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t wish,
						    cublasLtMatmulPreferenceAttributes_t attribute,
						    const void *value, size_t bytes)
{
	return wish && wish->data[0] == WISH_MAGIC && value && bytes && (int)attribute >= 0
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_INVALID_VALUE;
}
