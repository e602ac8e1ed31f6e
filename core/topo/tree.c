/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c: trees of processing units (struct starpu_tree), for policies that follow the topology.
 * Threads: the caller keeps others out while it changes a tree. Owns: nothing; a tree owns the arrays of its
 * children. Not here: reading the machine into one (topo.c). */
#include <starpu_tree.h>
#include <stddef.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

void starpu_tree_prepare_children(unsigned arity, struct starpu_tree *father)
{
    father->arity = 0;
    father->nodes = arity ? orr_calloc(arity, sizeof *father->nodes) : NULL;
    if (arity && !father->nodes) {
        orr_fatal("starpu_tree_prepare_children: out of memory for %u children", arity);
        return;
    }
    father->arity = (int)arity;
    for (unsigned i = 0; i < arity; i++) father->nodes[i].father = father;
}

void starpu_tree_insert(struct starpu_tree *tree, int id, int level, int is_pu, int arity,
                        struct starpu_tree *father)
{
    tree->id = id;
    tree->level = level;
    tree->is_pu = is_pu;
    tree->arity = arity;
    tree->father = father;
}

struct starpu_tree *starpu_tree_get(struct starpu_tree *tree, int id)
{
    if (tree->id == id) return tree;
    for (int i = 0; i < tree->arity; i++) {
        struct starpu_tree *found = starpu_tree_get(&tree->nodes[i], id);
        if (found) return found;
    }
    return NULL;
}

void starpu_tree_reset_visited(struct starpu_tree *tree, char *visited)
{
    if (tree->arity == 0) visited[tree->id] = 0;
    for (int i = 0; i < tree->arity; i++) starpu_tree_reset_visited(&tree->nodes[i], visited);
}

/* The first unit below tree that is present and not visited; what is under `except` is passed over. */
static struct starpu_tree *find_below(struct starpu_tree *tree, const struct starpu_tree *except,
                                      const char *visited, const char *present)
{
    if (tree == except) return NULL;
    if (tree->arity == 0) return tree->is_pu && present[tree->id] && !visited[tree->id] ? tree : NULL;
    for (int i = 0; i < tree->arity; i++) {
        struct starpu_tree *found = find_below(&tree->nodes[i], except, visited, present);
        if (found) return found;
    }
    return NULL;
}

struct starpu_tree *starpu_tree_get_neighbour(struct starpu_tree *tree, struct starpu_tree *node,
                                              char *visited, char *present)
{
    for (struct starpu_tree *from = node; from != tree && from->father; from = from->father) {
        struct starpu_tree *found = find_below(from->father, from, visited, present);
        if (found) return found;
    }
    return NULL;
}

void starpu_tree_free(struct starpu_tree *tree)
{
    for (int i = 0; i < tree->arity; i++) starpu_tree_free(&tree->nodes[i]);
    orr_free(tree->nodes);
    tree->nodes = NULL;
    tree->arity = 0;
}
