/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_tree.h: a tree of processing units, as policies that follow the topology walk it.
 *
 * Threads: the caller keeps others out while it changes a tree.
 * Owns: nothing.
 * Not here: the tree of the workers (starpu_workers_get_tree() in starpu_worker.h).
 */
#ifndef STARPU_TREE_H
#define STARPU_TREE_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_tree {
    struct starpu_tree *nodes; /* array of its children */
    union {
        struct starpu_tree *father; /* NULL: the root */
        struct starpu_tree *parent;
    };
    int arity; /* number of children */
    int id;    /* unique in the tree; of a processing unit: its logical number */
    int level; /* distance from the root */
    int is_pu; /* is it a processing unit? */
};

/* Clear the marks, indexed by id, of the units below tree. */
void starpu_tree_reset_visited(struct starpu_tree *tree, char *visited);

/* Give a node `arity` empty children, in a new array that starpu_tree_free() frees. Out of memory: none, and
 * orrery_set_error_hook(). */
void starpu_tree_prepare_children(unsigned arity, struct starpu_tree *father);

/* Fill in a node. */
void starpu_tree_insert(struct starpu_tree *tree, int id, int level, int is_pu, int arity,
                        struct starpu_tree *father);

/* The node with an id, at or below tree; NULL: none. */
struct starpu_tree *starpu_tree_get(struct starpu_tree *tree, int id);

/* The unit nearest to node that is in present and not in visited, both indexed by id; NULL: none. */
struct starpu_tree *starpu_tree_get_neighbour(struct starpu_tree *tree, struct starpu_tree *node,
                                              char *visited, char *present);

/* Free what is below the node, which has no children then; the node itself is the caller's. */
void starpu_tree_free(struct starpu_tree *tree);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
