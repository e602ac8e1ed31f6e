/* SPDX-License-Identifier: BSD-3-Clause */
/* inspect.c: who waits for a task or comes after it, and where; names of what a task is doing.
 * Threads: any that keeps the task from ending meanwhile, as its scheduler or its body. Owns: nothing.
 * Not here: the queues of data (core/data/access.h). */
#include <starpu.h>

#include "core/base/kind.h"
#include "core/mem/node.h"
#include "core/task/deps.h"
#include "core/task/task.h"

/* Whether it waits for one thing only. */
static bool waits_for_this_alone(struct orr_task *t)
{
    return orr_load_acquire(&t->pending) == 1;
}

/* The tasks that get h when t has released it: those of the group that follows t's in the queue. Appends to
 * out. */
static unsigned list_after(struct orr_task *t, struct orr_access *mine, struct orr_data *h, unsigned n,
                           unsigned room, struct starpu_task **out)
{
    orr_spin_lock(&h->queue.lock);
    struct orr_access *a = h->queue.head, *i = a;
    while (i && i != mine) i = (struct orr_access *)i->waiter.next;
    if (i) a = (struct orr_access *)i->waiter.next; /* t waits itself: those behind it */
    while (a && i && a->group == mine->group && a->group == ORR_GROUP_READ)
        a = (struct orr_access *)a->waiter.next;
    uint8_t group = a ? a->group : ORR_GROUP_NONE;
    for (; a && a->group == group;
         a = group == ORR_GROUP_WRITE ? NULL : (struct orr_access *)a->waiter.next) {
        struct orr_task *s = orr_access_task(a);
        if (!s || s == t) continue;
        if (n < room) out[n] = s->pub;
        n++;
    }
    orr_spin_unlock(&h->queue.lock);
    return n;
}

static int list_successors(struct starpu_task *task, unsigned ndeps, struct starpu_task *task_array[],
                           bool only_last)
{
    struct orr_task *t = orr_task_of(task);
    struct orr_edge *e = t ? orr_load_acquire(&t->successors) : NULL;
    unsigned n = 0;
    if (!t || e == ORR_EDGES_CLOSED) return 0;
    for (; e; e = e->next) {
        struct orr_task *s = orr_edge_waiting_task(e);
        if (!s || (only_last && !waits_for_this_alone(s))) continue;
        if (n < ndeps) task_array[n] = s->pub;
        n++;
    }
    for (unsigned i = 0; !only_last && t->pub->cl && i < t->naccesses; i++) {
        struct orr_access *a = &orr_task_accesses(t)[i];
        n = list_after(t, a, STARPU_TASK_GET_HANDLE(t->pub, a->index), n, ndeps, task_array);
    }
    return (int)n;
}

int starpu_task_get_task_succs(struct starpu_task *task, unsigned ndeps, struct starpu_task *task_array[])
{
    return list_successors(task, ndeps, task_array, false);
}

int starpu_task_get_task_scheduled_succs(struct starpu_task *task, unsigned ndeps,
                                         struct starpu_task *task_array[])
{
    return list_successors(task, ndeps, task_array, true);
}

char *starpu_task_status_get_as_string(enum starpu_task_status status)
{
    static char names[][32] = { "STARPU_TASK_INIT",
                                "STARPU_TASK_BLOCKED",
                                "STARPU_TASK_READY",
                                "STARPU_TASK_RUNNING",
                                "STARPU_TASK_FINISHED",
                                "STARPU_TASK_BLOCKED_ON_TAG",
                                "STARPU_TASK_BLOCKED_ON_TASK",
                                "STARPU_TASK_BLOCKED_ON_DATA",
                                "STARPU_TASK_STOPPED" };
    static char unknown[] = "STARPU_TASK_UNKNOWN";
    return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : unknown;
}

/* Those of nodes (a bit each) on which t can run; 0: it may run on a CPU, too. */
static uint32_t can_run_on(const struct orr_task *t, uint32_t nodes)
{
    uint32_t some = 0, where = t->pub->cl ? orr_task_where(t->pub) : STARPU_CPU;
    if (where & STARPU_CPU) return 0;
    if (t->pub->execute_on_a_specific_worker)
        return nodes & UINT32_C(1) << starpu_worker_get_memory_node(t->pub->workerid);
    for (unsigned n = 0; n < orr_node_count; n++) {
        const struct orr_kind *k = nodes >> n & 1 ? orr_kind_of_memory(orr_nodes[n].kind) : NULL;
        if (k && where & STARPU_WORKER_TO_MASK(k->type)) some |= UINT32_C(1) << n;
    }
    return some;
}

static bool is_one(uint32_t nodes)
{
    return nodes && !(nodes & (nodes - 1));
}

unsigned orr_data_next_on(struct orr_data *h, uint32_t nodes)
{
    uint32_t with_memory = 0;
    orr_spin_lock(&h->queue.lock);
    struct orr_task *t = h->queue.head ? orr_access_task(h->queue.head) : NULL;
    uint32_t some = t ? can_run_on(t, nodes) : 0;
    for (unsigned n = 0; n < h->nnodes; n++)
        if (h->replicates[n].allocated) with_memory |= UINT32_C(1) << n;
    orr_spin_unlock(&h->queue.lock);
    if (!is_one(some)) some &= with_memory;
    return is_one(some) ? (unsigned)__builtin_ctz(some) : orr_node_home();
}
