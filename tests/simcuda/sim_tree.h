/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordered tree (treap) whose nodes live inside the things it orders, by two numbers. The
 * simulated driver finds memory by address and free blocks by size with it, in O(log n).
 */
#ifndef GPUTRACE_SIM_TREE_H
#define GPUTRACE_SIM_TREE_H

#include <stddef.h>
#include <stdint.h>

struct sim_tree_node {
	struct sim_tree_node *left, *right;
	uint64_t key, second_key;
	uint32_t priority;
};

struct sim_tree {
	struct sim_tree_node *root;
};

#define SIM_TREE_ITEM(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

void sim_tree_insert(struct sim_tree *tree, struct sim_tree_node *node, uint64_t key,
		     uint64_t second_key);
void sim_tree_remove(struct sim_tree *tree, struct sim_tree_node *node);
/* The last node that is not above the key, and the first that is not below it; NULL when none. */
struct sim_tree_node *sim_tree_floor(const struct sim_tree *tree, uint64_t key);
struct sim_tree_node *sim_tree_ceiling(const struct sim_tree *tree, uint64_t key,
				       uint64_t second_key);
/* Calls visit on every node in order; visit must not change the tree. */
void sim_tree_visit(const struct sim_tree *tree,
		    void (*visit)(struct sim_tree_node *node, void *data), void *data);

#endif
