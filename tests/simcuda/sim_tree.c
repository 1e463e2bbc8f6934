/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The treap of sim_tree.h: a search tree by key, a heap by pseudo-random priority, which keeps it
 * balanced with little code. The caller locks.
 */
#include "sim_tree.h"

#include <stdbool.h>

static bool is_below(uint64_t key, uint64_t second, const struct sim_tree_node *node)
{
	return key < node->key || (key == node->key && second < node->second_key);
}

/* Splits into the nodes below the key and the rest. */
static void split(struct sim_tree_node *node, uint64_t key, uint64_t second,
		  struct sim_tree_node **below, struct sim_tree_node **rest)
{
	while (node) {
		if (node->key < key || (node->key == key && node->second_key < second)) {
			*below = node;
			below = &node->right;
			node = node->right;
		} else {
			*rest = node;
			rest = &node->left;
			node = node->left;
		}
	}
	*below = NULL;
	*rest = NULL;
}

void sim_tree_insert(struct sim_tree *tree, struct sim_tree_node *node, uint64_t key,
		     uint64_t second_key)
{
	static uint32_t seed = 2463534242U;
	struct sim_tree_node **link = &tree->root;

	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	node->priority = seed;
	node->key = key;
	node->second_key = second_key;
	while (*link && (*link)->priority >= node->priority)
		link = is_below(key, second_key, *link) ? &(*link)->left : &(*link)->right;
	split(*link, key, second_key, &node->left, &node->right);
	*link = node;
}

void sim_tree_remove(struct sim_tree *tree, struct sim_tree_node *node)
{
	struct sim_tree_node **link = &tree->root, *left = node->left, *right = node->right;

	while (*link != node)
		link = is_below(node->key, node->second_key, *link) ? &(*link)->left
								    : &(*link)->right;
	while (left && right) {
		if (left->priority > right->priority) {
			*link = left;
			link = &left->right;
			left = left->right;
		} else {
			*link = right;
			link = &right->left;
			right = right->left;
		}
	}
	*link = left ? left : right;
}

struct sim_tree_node *sim_tree_floor(const struct sim_tree *tree, uint64_t key)
{
	struct sim_tree_node *node = tree->root, *found = NULL;

	while (node) {
		if (node->key <= key) {
			found = node;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return found;
}

struct sim_tree_node *sim_tree_ceiling(const struct sim_tree *tree, uint64_t key,
				       uint64_t second_key)
{
	struct sim_tree_node *node = tree->root, *found = NULL;

	while (node) {
		if (node->key > key || (node->key == key && node->second_key >= second_key)) {
			found = node;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	return found;
}

static void visit_below(struct sim_tree_node *node,
			void (*visit)(struct sim_tree_node *node, void *data), void *data)
{
	if (!node)
		return;
	visit_below(node->left, visit, data);
	visit(node, data);
	visit_below(node->right, visit, data);
}

void sim_tree_visit(const struct sim_tree *tree,
		    void (*visit)(struct sim_tree_node *node, void *data), void *data)
{
	visit_below(tree->root, visit, data);
}
