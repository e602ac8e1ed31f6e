/* SPDX-License-Identifier: BSD-3-Clause */
/* transaction.c: epochs of tasks that run, or are left out as a whole.
 * Threads: any opens, inserts, goes on and closes; workers decide. Owns: transactions and their epochs. Not
 * here: tasks tried again (retry.c).
 *
 * Between two epochs stands a gate, an empty task. It is made with the epoch before it and waits for that
 * one's gate and tasks, so it becomes ready when all of them have ended; then the program is asked for the
 * epoch behind it. Its tasks wait for the gate; where the answer is known already they have nothing to wait
 * for. */
#include "core/task/transaction.h"

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/task/deps.h"
#include "core/task/task.h"

#undef starpu_task_submit

typedef int (*start_fn)(void *descr, void *arg);

struct starpu_trs_epoch {
    struct starpu_transaction *of;   /* [const] */
    void *arg;                       /* [const] for do_start; once the epoch is begun */
    struct starpu_task *gate;        /* [lock: transaction] before it; valid until decided */
    struct starpu_trs_epoch *before; /* [lock: transaction] freed when this one's gate opens */
    bool decided;                    /* [lock: transaction] */
    bool runs;                       /* written before its tasks become ready */
    bool last;                       /* [const] behind it is nothing: the transaction is over */
};

struct starpu_transaction {
    start_fn do_start;                /* [const] */
    struct starpu_trs_epoch *current; /* [lock: transaction] that tasks join */
    struct starpu_trs_epoch *next;    /* [lock: transaction] its gate waits for them */
};

/* Protects all transactions: joins and gates are short. */
static ORR_MUTEX(transaction) lock = PTHREAD_MUTEX_INITIALIZER;

/* All before the gate has ended; its prologue. */
static void gate_opens(void *arg)
{
    struct starpu_trs_epoch *e = arg;
    struct starpu_transaction *t = e->of;
    bool runs = !e->last && (!t->do_start || t->do_start(NULL, e->arg) != 0);
    pthread_mutex_lock(&lock);
    e->runs = runs;
    e->decided = true;
    struct starpu_trs_epoch *before = e->before;
    e->before = NULL;
    pthread_mutex_unlock(&lock);
    orr_free(before);
    if (!e->last) return;
    orr_free(e);
    orr_free(t);
}

/* An epoch with its gate, which waits for that of the epoch before. NULL: out of memory. */
static struct starpu_trs_epoch *epoch_create(struct starpu_transaction *t, struct starpu_trs_epoch *before)
{
    struct starpu_trs_epoch *e = orr_calloc(1, sizeof *e);
    struct starpu_task *gate = e ? starpu_task_create() : NULL;
    if (!gate) {
        orr_free(e);
        return NULL;
    }
    gate->name = "transaction";
    gate->prologue_callback_func = gate_opens;
    gate->prologue_callback_arg = e;
    *e = (struct starpu_trs_epoch){ .of = t, .gate = gate, .before = before };
    if (before) starpu_task_declare_deps_array(gate, 1, &before->gate); /* not submitted: it is there */
    return e;
}

static void epoch_destroy(struct starpu_trs_epoch *e)
{
    if (!e) return;
    starpu_task_destroy(e->gate);
    orr_free(e);
}

struct starpu_transaction *starpu_transaction_open(int (*do_start_func)(void *descr, void *arg),
                                                   void *do_start_arg)
{
    struct starpu_transaction *t = orr_calloc(1, sizeof *t);
    if (!t) return NULL;
    t->do_start = do_start_func;
    t->current = epoch_create(t, NULL);
    t->next = t->current ? epoch_create(t, t->current) : NULL;
    if (t->current) t->current->arg = do_start_arg;
    if (t->next && starpu_task_submit(t->current->gate) == 0) return t;
    epoch_destroy(t->next);
    epoch_destroy(t->current);
    orr_free(t);
    return NULL;
}

/* Nothing joins the current epoch any more. Without memory for another one the transaction cannot go on. */
static void go_on(struct starpu_transaction *t, void *arg, bool close)
{
    pthread_mutex_lock(&lock);
    struct starpu_trs_epoch *e = t->next, *after = close ? NULL : epoch_create(t, e);
    bool good = close || after;
    if (good) {
        e->arg = arg;
        e->last = close;
        t->current = e;
        t->next = after;
    }
    pthread_mutex_unlock(&lock);
    int r = good ? starpu_task_submit(e->gate) : -ENOMEM;
    if (r)
        orr_fatal("starpu_transaction_%s: its next epoch cannot begin (%d)", close ? "close" : "next_epoch",
                  r);
}

void starpu_transaction_next_epoch(struct starpu_transaction *p_trs, void *do_start_arg)
{
    if (p_trs)
        go_on(p_trs, do_start_arg, false);
    else
        orr_error("starpu_transaction_next_epoch: the transaction is NULL");
}

void starpu_transaction_close(struct starpu_transaction *p_trs)
{
    if (p_trs) go_on(p_trs, NULL, true);
}

/* The prologue of a task of an epoch, which may be over when the program takes its task up again: the task is
 * of none any more. */
static void member_is_ready(void *arg)
{
    struct orr_task *t = orr_task_current();
    struct starpu_task *p = t->pub;
    bool runs = p->trs_epoch->runs;
    orr_transaction_leave(p, p);
    if (!runs) {
        p->prologue_callback_pop_func = NULL;
        p->where = STARPU_NOWHERE; /* it is ready, and is about to be asked for its body */
    } else if (p->prologue_callback_func) {
        p->prologue_callback_func(arg);
    }
}

int orr_transaction_join(struct starpu_task *task)
{
    struct starpu_transaction *x = task->transaction;
    struct orr_task *t = orr_task_private(task);
    if (task->regenerate || task->workerorder) {
        orr_error("task %s: a task of a transaction cannot be submitted again, nor have a workerorder",
                  orr_task_name(t));
        return -EINVAL;
    }
    struct orr_task_rare *r = t ? orr_task_rare_get(t) : NULL;
    if (!r) return -ENOMEM;
    pthread_mutex_lock(&lock);
    struct starpu_trs_epoch *e = x->current;
    if (!e->decided) starpu_task_declare_deps_array(task, 1, &e->gate);
    starpu_task_declare_deps_array(x->next->gate, 1, &task);
    pthread_mutex_unlock(&lock);
    task->trs_epoch = e;
    r->prologue = task->prologue_callback_func;
    task->prologue_callback_func = member_is_ready;
    return 0;
}

void orr_transaction_leave(struct starpu_task *copy, const struct starpu_task *task)
{
    copy->prologue_callback_func = orr_task_of(task)->rare->prologue;
    copy->transaction = NULL;
    copy->trs_epoch = NULL;
}
