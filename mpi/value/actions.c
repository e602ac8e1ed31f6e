/* SPDX-License-Identifier: BSD-3-Clause */
/* actions.c: see actions.h. Threads: see actions.h. Owns: see actions.h. Not here: see actions.h. */
#include "mpi/value/actions.h"

#include <errno.h>
#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "mpi/value/message.h"

static int grow(struct orr_actions *l)
{
    int room = l->room * 2;
    struct orr_action *more = orr_malloc((size_t)room * sizeof *more);
    if (!more) return -ENOMEM;
    memcpy(more, l->list, (size_t)l->count * sizeof *more);
    if (l->list != l->inline_list) orr_free(l->list);
    l->list = more;
    l->room = room;
    return 0;
}

static void give_up(struct starpu_task *task)
{
    task->destroy = 0;
    starpu_task_destroy(task);
}

void orr_actions_add(struct orr_actions *l, const struct orr_action *a)
{
    if (l->count < l->room || !grow(l)) {
        struct orr_action *mine = &l->list[l->count++];
        *mine = *a;
        mine->position = l->position;
        mine->hash = l->hash;
        return;
    }
    orr_error("starpu_mpi_task_insert: out of memory for what the task needs");
    l->status = -ENOMEM;
    if (a->task) give_up(a->task);
}

static int message(struct orr_comm *c, const struct orr_action *a)
{
    const struct orr_message_spec s = { .kind = a->kind == ORR_ACT_SEND ? ORR_SEND : ORR_RECV,
                                        .handle = a->handle,
                                        .comm = c,
                                        .peer = a->peer,
                                        .tag = orr_owned_tag(a->handle),
                                        .priority = a->priority,
                                        .sync = a->sync,
                                        .inferred = true,
                                        .only_read = a->only_read,
                                        .position = a->position,
                                        .hash = a->hash,
                                        .away = a->away,
                                        .unawaited = a->acquired,
                                        .detached = true };
    return orr_message_start(&s, "starpu_mpi_task_insert", NULL);
}

static int submit(struct starpu_task *task, bool sorted)
{
    int r = orr_task_submit(task, sorted ? ORR_TF_SORTED : 0);
    if (r) give_up(task);
    return r;
}

int orr_action_carry_out(struct orr_comm *c, const struct orr_action *a)
{
    switch ((enum orr_action_kind)a->kind) {
    case ORR_ACT_SEND:
    case ORR_ACT_RECEIVE: return message(c, a);
    case ORR_ACT_DROP: starpu_data_invalidate_submit(a->handle); return 0;
    case ORR_ACT_SUBMIT: return submit(a->task, a->sorted);
    case ORR_ACT_NONE: break;
    }
    return 0;
}

void orr_actions_fini(struct orr_actions *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->list[i].task) give_up(l->list[i].task);
    if (l->list != l->inline_list) orr_free(l->list);
}
