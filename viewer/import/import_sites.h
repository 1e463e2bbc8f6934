/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who called: the operators and Python functions that were open on a thread at a given time, for
 * recordings that hold them as separate events. A call's site is the chain of what encloses it, and
 * its matrix product, if one encloses it, is its parent.
 */
#ifndef GPUTRACE_IMPORT_SITES_H
#define GPUTRACE_IMPORT_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

struct import_sink;
struct import_sites;

struct import_sites *import_sites_new(struct import_sink *sink);
void import_sites_free(struct import_sites *sites);

/* An operator that was open on `thread`. call_id: of its GEMM record; 0 none. */
void import_sites_add(struct import_sites *sites, uint32_t thread, int64_t begin_ns, int64_t end_ns,
		      const struct site_frame *frame, uint32_t call_id);

/* Says which forward operator the operator of the backward pass belongs to: both have autograd's
 * number. For the operator of the thread that was added last. */
void import_sites_tie(struct import_sites *sites, uint32_t thread, int64_t sequence,
		      bool is_backward);

struct import_caller {
	uint64_t site;	  /* record_site.id, written to the sink; 0 none */
	uint32_t call_id; /* of the innermost enclosing GEMM; 0 none */
};
/* own_call_id: of the GEMM that asks, which is not its own caller; 0 for other calls. */
struct import_caller import_sites_find(struct import_sites *sites, uint32_t thread, int64_t time_ns,
				       uint32_t own_call_id);

/* Operators that were not kept because there were too many. */
uint64_t import_sites_dropped(const struct import_sites *sites);

#endif
