/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads kernel names by the patterns of kernel_class.def and by what NVIDIA's libraries write into
 * theirs. Called once per distinct name, so regular expressions are cheap enough.
 */
#include "kernel_class.h"

#include <regex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "kernel_name.h"
#include "xmalloc.h"

struct class_row {
	enum kernel_class kernel_class;
	const char *pattern;
};

static const struct class_row class_rows[] = {
#define CLASS(name, regular) {KERNEL_##name, regular},
#include "kernel_class.def"
#undef CLASS
};

static const struct trait_row {
	size_t offset; /* of a bool in struct kernel_traits */
	const char *pattern;
} trait_rows[] = {
#define TRAIT(field, regular) {offsetof(struct kernel_traits, field), regular},
#include "kernel_trait.def"
#undef TRAIT
};

static const char *const class_names[KERNEL_CLASS_COUNT] = {
	[KERNEL_GEMM] = "gemm",		  [KERNEL_CONV] = "convolution",
	[KERNEL_ATTENTION] = "attention", [KERNEL_MEMORY_BOUND] = "memory_bound",
	[KERNEL_OPTIMIZER] = "optimizer", [KERNEL_OTHER] = "other",
	[KERNEL_GRAPH] = "graph",	  [KERNEL_COMMUNICATION] = "communication",
};

const char *kernel_class_name(enum kernel_class kernel_class)
{
	return kernel_class < KERNEL_CLASS_COUNT ? class_names[kernel_class] : "other";
}

/* Our own patterns always compile: tests/unit/model checks every one. */
static bool text_matches(const char *pattern, const char *text, int flags, size_t group_count,
			 regmatch_t *groups)
{
	regex_t compiled;
	bool matches;

	if (regcomp(&compiled, pattern, REG_EXTENDED | flags | (groups ? 0 : REG_NOSUB)))
		return false;
	matches = !regexec(&compiled, text, group_count, groups, 0);
	regfree(&compiled);
	return matches;
}

static bool name_matches(const char *pattern, const char *name, size_t group_count,
			 regmatch_t *groups)
{
	return text_matches(pattern, name, REG_ICASE, group_count, groups);
}

/* In a mangled name the case of a letter is its meaning. */
static bool mangled_matches(const char *pattern, const char *name)
{
	return text_matches(pattern, name, 0, 0, NULL);
}

static enum kernel_class class_of(const char *own_name, const char *name)
{
	const char *const texts[] = {own_name, name};

	for (size_t text = 0; text < ARRAY_LEN(texts); text++) {
		for (size_t row = 0; row < ARRAY_LEN(class_rows); row++) {
			if (name_matches(class_rows[row].pattern, texts[text], 0, NULL))
				return class_rows[row].kernel_class;
		}
	}
	return KERNEL_OTHER;
}

static uint16_t number_at(const char *name, const regmatch_t *group)
{
	unsigned long value = strtoul(name + group->rm_so, NULL, 10);

	return value > UINT16_MAX ? 0 : (uint16_t)value;
}

/* Bytes of one element of A and B, as far as the name says. */
static uint8_t element_bytes_of(const char *name)
{
	if (name_matches("e4m3|e5m2|fp8|_f8", name, 0, NULL))
		return 1;
	if (name_matches("bf16|[^t]f16|fp16|half|h(884|1688)|16816", name, 0, NULL))
		return 2;
	if (name_matches("i8816|i16832|(^|_)[su]8(_|$)|int8", name, 0, NULL))
		return 1;
	if (name_matches("d884|f64|dgemm", name, 0, NULL))
		return 8;
	if (name_matches("tf32|f32|1688|sgemm", name, 0, NULL))
		return 4;
	return 0;
}

/* Products and convolutions that Tensor Cores could take over: matrix by vector and depthwise ones
 * are bound by memory, and the engines of cuDNN name their type only among their arguments. */
static bool is_fp32_product(const char *own_name, const char *name)
{
	if (name_matches("gemv|dot_kernel|gemmsn|gemmk1|depthwise|dwconv|[dzch]gemm", own_name, 0,
			 NULL))
		return false;
	if (name_matches("sgemm|scudnn|f32f32_f32f32.*(simt|ffma)", own_name, 0, NULL))
		return true;
	if (!name_matches("engine|winograd|convolve", own_name, 0, NULL))
		return false;
	return !strncmp(name, "_Z", 2) ? mangled_matches("If+(E|Li)", name)
				       : name_matches("<float[,>]", name, 0, NULL);
}

/* Scalars are often double where the data is not: a name with another type in it is none. */
static bool is_double(const char *own_name, const char *name)
{
	if (name_matches("[dz]gemm|d884|[^a-z]f64f64", own_name, 0, NULL))
		return true;
	if (!strncmp(name, "_Z", 2))
		return mangled_matches("I[a-z]*d(E|Li|S_)|PKd|[^a-z]Pd|vPd", name) &&
		       !mangled_matches("I[a-z]*f(E|Li|S_)|PKf|[^a-z]Pf|vPf|alf|[bB]float16", name);
	return name_matches("(^|[^a-z_0-9])double($|[^a-z_0-9])", name, 0, NULL) &&
	       !name_matches("(^|[^a-z_0-9])float|half|bfloat16", name, 0, NULL);
}

static void read_table_traits(struct kernel_traits *traits, const char *own_name)
{
	for (size_t row = 0; row < ARRAY_LEN(trait_rows); row++) {
		bool *field = (bool *)((char *)traits + trait_rows[row].offset);

		*field |= name_matches(trait_rows[row].pattern, own_name, 0, NULL);
	}
}

struct kernel_traits kernel_traits_of(const char *name)
{
	struct kernel_traits traits = {.kernel_class = KERNEL_OTHER};
	char *own_name = kernel_short_name(name);
	regmatch_t groups[4];

	traits.kernel_class = (uint8_t)class_of(own_name, name);
	if (traits.kernel_class == KERNEL_GEMM || traits.kernel_class == KERNEL_CONV ||
	    traits.kernel_class == KERNEL_ATTENTION) {
		traits.is_tensor_op =
			name_matches("[^0-9](884|1688|16816|8816|16832)|tensorop|xmma|"
				     "nvjet|wgmma|hmma|mma_sync|tcgen05",
				     own_name, 0, NULL) &&
			!name_matches("simt|ffma", own_name, 0, NULL);
		traits.is_simt = !traits.is_tensor_op &&
				 name_matches("simt|ffma|[sdh]gemm|gemv|scudnn|gemmsn|dot_kernel",
					      own_name, 0, NULL);
		traits.element_bytes = element_bytes_of(own_name);
		if (name_matches("align([0-9]+)", own_name, 2, groups))
			traits.align_elements = (uint8_t)number_at(own_name, &groups[1]);
		if (name_matches("(_|tilesize)([0-9]{2,3})x([0-9]{2,3})(_|x|$)", own_name, 4,
				 groups)) {
			traits.tile_m = number_at(own_name, &groups[2]);
			traits.tile_n = number_at(own_name, &groups[3]);
		}
	}
	if (traits.kernel_class == KERNEL_GEMM || traits.kernel_class == KERNEL_CONV)
		traits.is_fp32_simt = !traits.is_tensor_op && is_fp32_product(own_name, name);
	traits.is_fp64 = is_double(own_name, name);
	read_table_traits(&traits, own_name);
	free(own_name);
	return traits;
}
