/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c: see names.h.
 * Threads: see names.h. Owns: see names.h. Not here: when names are asked for (receiving.c). */
#include "mpi/wire/names.h"

#include "core/base/alloc.h"

struct orr_name *orr_name_add(struct orr_match_table *names, uint32_t context, int peer)
{
    struct orr_name *n = orr_calloc(1, sizeof *n);
    if (!n) return NULL;
    n->node = (struct orr_match_node){ .context = context, .peer = peer };
    n->waiting.tail = &n->waiting.head;
    orr_match_append(names, &n->node);
    return n;
}

void orr_name_remove(struct orr_match_table *names, struct orr_name *n)
{
    orr_match_pop(names, n->node.context, n->node.peer, 0);
    orr_free(n);
}

struct orr_name *orr_name_find(const struct orr_match_table *names, uint32_t context, int peer)
{
    return (struct orr_name *)orr_match_first(names, context, peer, 0);
}

static void give(struct orr_name *n, struct orr_request *r)
{
    r->node.context = n->hello.name | (r->node.context & ORR_CONTEXT_UNCOUNTED);
    r->foreign = false;
}

bool orr_name_apply(const struct orr_match_table *names, struct orr_request *r)
{
    struct orr_name *n = orr_name_find(names, r->node.context & ~ORR_CONTEXT_UNCOUNTED, r->node.peer);
    if (n->known) {
        give(n, r);
        return true;
    }
    r->next = NULL;
    *n->waiting.tail = r;
    n->waiting.tail = &r->next;
    return false;
}

struct orr_request *orr_name_take_waiting(struct orr_name *n)
{
    struct orr_request *all = n->waiting.head;
    n->waiting = (struct orr_request_list){ .tail = &n->waiting.head };
    return all;
}

struct orr_request *orr_name_heard(struct orr_name *n)
{
    struct orr_request *all = orr_name_take_waiting(n);
    n->known = true;
    for (struct orr_request *r = all; r; r = r->next) give(n, r);
    return all;
}

struct visit {
    void (*fn)(const struct orr_request *r, void *arg);
    void *arg;
};

static void visit_name(struct orr_match_node *node, void *arg)
{
    const struct visit *v = arg;
    for (struct orr_request *r = ((struct orr_name *)node)->waiting.head; r; r = r->next) v->fn(r, v->arg);
}

void orr_names_visit(const struct orr_match_table *names,
                     void (*visit)(const struct orr_request *r, void *arg), void *arg)
{
    struct visit v = { visit, arg };
    orr_match_visit(names, visit_name, &v);
}
