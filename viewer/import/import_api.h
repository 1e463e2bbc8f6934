/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CUDA or HIP function does, told from its name, and what the name of a GPU copy says; for
 * recordings that give names and no arguments.
 */
#ifndef GPUTRACE_IMPORT_API_H
#define GPUTRACE_IMPORT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum api_family {
	API_OTHER = 0,
	API_LAUNCH,
	API_GRAPH_LAUNCH,
	API_HOST_FUNCTION,
	API_COPY,
	API_SET,
	API_SYNC,
	API_ALLOC,
	API_FREE
};

struct api_class {
	uint8_t family;	     /* enum api_family */
	uint8_t scope;	     /* API_SYNC: enum sync_scope */
	uint8_t memory_kind; /* API_ALLOC, API_FREE: enum memory_kind */
	uint8_t direction;   /* API_COPY: enum copy_direction as far as the name says */
	bool is_async;
	bool is_amd; /* a HIP function */
};

/* The name without its namespace; nsys appends "_v7000", which is ignored. */
struct api_class import_api_classify(const char *name, size_t length);
/* The length of the name without nsys' version suffix. */
size_t import_api_base_length(const char *name, size_t length);

struct copy_kinds {
	uint8_t direction;	     /* enum copy_direction */
	uint8_t source, destination; /* enum memory_kind */
};
/* "Memcpy HtoD (Pageable -> Device)". */
struct copy_kinds import_copy_kinds(const char *name, size_t length);

/* Size of an element type as c10d or PyTorch's profiler names it; 0 unknown. */
uint64_t import_element_bytes(const char *name, size_t length);

#endif
