/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel's name tells: its class for the ledger, whether it uses Tensor Cores, the alignment
 * it was built for, its element type and tile. Names are read as they are, mangled or not; what a
 * name does not tell stays unknown.
 */
#ifndef GPUTRACE_MODEL_KERNEL_CLASS_H
#define GPUTRACE_MODEL_KERNEL_CLASS_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of the ledger's compute parts. */
enum kernel_class {
	KERNEL_GEMM,
	KERNEL_CONV,
	KERNEL_ATTENTION,
	KERNEL_MEMORY_BOUND,
	KERNEL_OPTIMIZER,
	KERNEL_OTHER,
	KERNEL_GRAPH, /* a whole graph: its nodes have no times of their own */
	KERNEL_COMMUNICATION,
	KERNEL_CLASS_COUNT
};

struct kernel_traits {
	uint8_t kernel_class; /* enum kernel_class */
	bool is_tensor_op;    /* the name says Tensor Cores */
	bool is_simt;	      /* the name says CUDA cores */
	/* A product or convolution of fp32 on CUDA cores that could use Tensor Cores: no
	 * matrix-vector product, no depthwise one. */
	bool is_fp32_simt;
	bool is_fp64;		 /* double precision and nothing else in the name */
	bool is_split;		 /* split-K or stream-K: tiles are no measure of its blocks */
	bool is_persistent;	 /* blocks stay and fetch tiles: no waves */
	bool is_layout_change;	 /* NCHW to NHWC or back */
	bool is_fused;		 /* made by a compiler that fuses (Triton) */
	bool is_fusable;	 /* reads and writes element by element, or reduces rows */
	bool is_indexing;	 /* moves by index, so that its neighbours cannot take it over */
	uint8_t align_elements;	 /* alignN in the name, 0 none */
	uint8_t element_bytes;	 /* of A and B by the name, 0 unknown */
	uint16_t tile_m, tile_n; /* 0 unknown */
};

const char *kernel_class_name(enum kernel_class kernel_class);
struct kernel_traits kernel_traits_of(const char *name);

#endif
