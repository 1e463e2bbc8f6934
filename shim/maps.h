/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/self/maps without the loader's lock, stdio or malloc.
 */
#ifndef GPUTRACE_SHIM_MAPS_H
#define GPUTRACE_SHIM_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#define MAPS_PATH_BYTES 1024u

struct mapping {
	uint64_t begin, end;			    /* of the file's whole run of mappings */
	uint64_t code_begin, code_end, code_offset; /* of the executable part that was asked for */
	char path[MAPS_PATH_BYTES];		    /* "" for memory without a file */
};

/* The file that is mapped executable at the address. */
bool maps_find(uint64_t address, struct mapping *mapping);

#endif
