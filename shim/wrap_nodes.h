/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a library whose symbols have version nodes, since a process may hold those of CUDA 11, 12
 * and 13 at once: one exported function per row and node, each of which is forwarded to its own.
 * The includer defines NODE_11, NODE_12 and NODE_13, the names of the nodes. In a row `node` is 0,
 * 1 or 2 for them.
 */
#ifndef GPUTRACE_SHIM_WRAP_NODES_H
#define GPUTRACE_SHIM_WRAP_NODES_H

#include "wrap.h"

/* The versioned name only: an unversioned twin could win a versioned look-up. */
#define WRAP_VERSIONED(name, number, node)                                                         \
	__asm__(".symver " #name "__" #number "," #name "@" node ",remove");

#define WRAP_NODE(library, name, number, place, api, flags, effect, params, args, before, ...)     \
	WRAP_DEFINE(name##__##number, library, place, SLOT_##name, api, flags, effect, params,     \
		    args, const unsigned int node = (place);                                       \
		    (void)node; before, __VA_ARGS__)                                               \
	WRAP_VERSIONED(name, number, NODE_##number)
#define WRAP_EACH_NODE(library, name, api, flags, effect, params, args, before, ...)               \
	WRAP_NODE(library, name, 11, 0, api, flags, effect, params, args, before, __VA_ARGS__)     \
	WRAP_NODE(library, name, 12, 1, api, flags, effect, params, args, before, __VA_ARGS__)     \
	WRAP_NODE(library, name, 13, 2, api, flags, effect, params, args, before, __VA_ARGS__)

/* The wrappers of a row, for the table. */
#define WRAP_NODE_WRAPPERS(name)                                                                   \
	{                                                                                          \
		(wrap_function) name##__11, (wrap_function)name##__12, (wrap_function)name##__13   \
	}

#endif
