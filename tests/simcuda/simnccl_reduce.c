/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of reductions, in the order of the ranks, so that every rank gets the same bytes.
 * Types of 16 and 8 bits are summed in float and rounded once, to nearest even.
 */
#include "simnccl_internal.h"

#include <math.h>
#include <string.h>

static const struct {
	uint8_t bytes;
	const char *name;
} types[ncclNumTypes] = {
	[ncclInt8] = {1, "i8"},		  [ncclUint8] = {1, "u8"},
	[ncclInt32] = {4, "i32"},	  [ncclUint32] = {4, "u32"},
	[ncclInt64] = {8, "i64"},	  [ncclUint64] = {8, "u64"},
	[ncclFloat16] = {2, "f16"},	  [ncclFloat32] = {4, "f32"},
	[ncclFloat64] = {8, "f64"},	  [ncclBfloat16] = {2, "bf16"},
	[ncclFloat8e4m3] = {1, "f8e4m3"}, [ncclFloat8e5m2] = {1, "f8e5m2"},
};

size_t simnccl_type_bytes(ncclDataType_t type)
{
	return (unsigned int)type < ncclNumTypes ? types[type].bytes : 0;
}

const char *simnccl_type_name(ncclDataType_t type)
{
	return (unsigned int)type < ncclNumTypes ? types[type].name : "?";
}

/* A small float: sign, exponent, mantissa; `is_finite_only` has no infinities (e4m3). */
struct layout {
	int exponent_bits, mantissa_bits;
	bool is_finite_only;
};
static const struct layout layout_f16 = {5, 10, false}, layout_bf16 = {8, 7, false},
			   layout_e4m3 = {4, 3, true}, layout_e5m2 = {5, 2, false};

static double decode(uint32_t bits, const struct layout *l)
{
	uint32_t mantissa = bits & ((1u << l->mantissa_bits) - 1);
	int exponent = (int)(bits >> l->mantissa_bits) & ((1 << l->exponent_bits) - 1);
	int top = (1 << l->exponent_bits) - 1, bias = top >> 1;
	bool is_negative = bits >> (l->mantissa_bits + l->exponent_bits) & 1;
	double value;

	if (exponent == top && !l->is_finite_only)
		value = mantissa ? (double)NAN : (double)INFINITY;
	else if (exponent == top && mantissa == (1u << l->mantissa_bits) - 1)
		value = (double)NAN;
	else if (exponent == 0)
		value = ldexp((double)mantissa, 1 - bias - l->mantissa_bits);
	else
		value = ldexp((double)(mantissa | 1u << l->mantissa_bits),
			      exponent - bias - l->mantissa_bits);
	return is_negative ? -value : value;
}

static uint32_t encode(double value, const struct layout *l)
{
	int top = (1 << l->exponent_bits) - 1, bias = top >> 1, exponent;
	uint32_t sign = signbit(value) ? 1u << (l->mantissa_bits + l->exponent_bits) : 0;
	uint32_t not_a_number =
		((uint32_t)top << l->mantissa_bits) | ((1u << l->mantissa_bits) - 1);
	uint32_t largest =
		l->is_finite_only ? not_a_number - 1 : ((uint32_t)top << l->mantissa_bits) - 1;
	double scaled;
	uint32_t bits;

	value = fabs(value);
	if (isnan(value))
		return sign | not_a_number;
	if (value > decode(largest, l) * 2.0)
		return sign | (l->is_finite_only ? largest : (uint32_t)top << l->mantissa_bits);
	frexp(value, &exponent);
	exponent += bias - 1;
	if (exponent < 1)
		exponent = 1;
	/* nearbyint() rounds to nearest even; a carry runs into the exponent, as it should. */
	scaled = nearbyint(ldexp(value, l->mantissa_bits + bias - exponent));
	bits = (uint32_t)scaled + ((uint32_t)(exponent - 1) << l->mantissa_bits);
	if (bits > largest)
		bits = l->is_finite_only ? largest : (uint32_t)top << l->mantissa_bits;
	return sign | bits;
}

#define COMBINE(accumulator, value, reduction)                                                     \
	((reduction) == ncclProd  ? (accumulator) * (value)                                        \
	 : (reduction) == ncclMax ? ((value) > (accumulator) ? (value) : (accumulator))            \
	 : (reduction) == ncclMin ? ((value) < (accumulator) ? (value) : (accumulator))            \
				  : (accumulator) + (value))

/* Reductions of a type that C has. Sums are wrapped in a wider or unsigned type by the caller's
 * choice of `wide`. The sum has a loop of its own, which compilers make fast. */
#define REDUCE_PLAIN(name, type, wide)                                                             \
	static void name(void *receive, const void *const *inputs, int ranks, size_t count,        \
			 int reduction, double scalar)                                             \
	{                                                                                          \
		type *out = receive;                                                               \
                                                                                                   \
		memcpy(out, inputs[0], count * sizeof(*out));                                      \
		for (size_t i = 0; i < count && reduction > ncclAvg; i++)                          \
			out[i] = (type)((double)out[i] * scalar);                                  \
		for (int rank = 1; rank < ranks; rank++) {                                         \
			const type *in = inputs[rank];                                             \
                                                                                                   \
			if (reduction == ncclSum || reduction == ncclAvg) {                        \
				for (size_t i = 0; i < count; i++)                                 \
					out[i] = (type)((wide)out[i] + (wide)in[i]);               \
				continue;                                                          \
			}                                                                          \
			for (size_t i = 0; i < count; i++) {                                       \
				if (reduction <= ncclMin)                                          \
					out[i] = (type)COMBINE((wide)out[i], (wide)in[i],          \
							       reduction);                         \
				else                                                               \
					out[i] = (type)((wide)out[i] +                             \
							(wide)((double)in[i] * scalar));           \
			}                                                                          \
		}                                                                                  \
		for (size_t i = 0; i < count && reduction == ncclAvg; i++)                         \
			out[i] = (type)(out[i] / (type)ranks);                                     \
	}
REDUCE_PLAIN(reduce_i8, int8_t, int32_t)
REDUCE_PLAIN(reduce_u8, uint8_t, uint32_t)
REDUCE_PLAIN(reduce_i32, int32_t, int64_t)
REDUCE_PLAIN(reduce_u32, uint32_t, uint64_t)
REDUCE_PLAIN(reduce_i64, int64_t, int64_t)
REDUCE_PLAIN(reduce_u64, uint64_t, uint64_t)
REDUCE_PLAIN(reduce_f32, float, float)
REDUCE_PLAIN(reduce_f64, double, double)

static void reduce_small(void *receive, const void *const *inputs, int ranks, size_t count,
			 size_t bytes, const struct layout *layout, int reduction, double scalar)
{
	for (size_t i = 0; i < count; i++) {
		double sum = 0.0;
		uint32_t bits = 0;

		for (int rank = 0; rank < ranks; rank++) {
			double value;

			bits = 0;
			memcpy(&bits, (const char *)inputs[rank] + i * bytes, bytes);
			value = decode(bits, layout);
			if (reduction > ncclAvg)
				value *= scalar;
			sum = rank == 0 ? value : COMBINE(sum, value, reduction);
		}
		bits = encode(reduction == ncclAvg ? sum / ranks : sum, layout);
		memcpy((char *)receive + i * bytes, &bits, bytes);
	}
}

void simnccl_reduce(void *receive, const void *const *inputs, int ranks, size_t count,
		    ncclDataType_t type, int reduction, double scalar)
{
	static void (*const plain[ncclNumTypes])(void *, const void *const *, int, size_t, int,
						 double) = {
		[ncclInt8] = reduce_i8,	    [ncclUint8] = reduce_u8,	[ncclInt32] = reduce_i32,
		[ncclUint32] = reduce_u32,  [ncclInt64] = reduce_i64,	[ncclUint64] = reduce_u64,
		[ncclFloat32] = reduce_f32, [ncclFloat64] = reduce_f64,
	};
	const struct layout *layout = type == ncclFloat16      ? &layout_f16
				      : type == ncclBfloat16   ? &layout_bf16
				      : type == ncclFloat8e4m3 ? &layout_e4m3
							       : &layout_e5m2;

	if (plain[type])
		plain[type](receive, inputs, ranks, count, reduction, scalar);
	else
		reduce_small(receive, inputs, ranks, count, simnccl_type_bytes(type), layout,
			     reduction, scalar);
}
