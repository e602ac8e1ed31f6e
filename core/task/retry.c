/* SPDX-License-Identifier: BSD-3-Clause */
/* retry.c: tasks that are tried again until their result is good (starpu_task_ft_...).
 * Threads: that of a prologue or a callback. Owns: nothing but a trial for each try under way. Not here:
 * tasks that cannot run where they are (core/worker/elsewhere.c), checkpoints (mpi/api/checkpoint.c).
 *
 * The program's task (the whole) holds its data and has no body any more once its first try is made: its end
 * waits for a release. Tries run its codelet on the data that it holds, past their queues. */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/deps.h"
#include "core/task/task.h"

#undef starpu_task_submit_nodeps

struct trial { /* [own: its try, freed with it] */
    struct starpu_task *whole;
    void (*check)(void *); /* NULL: good unless starpu_task_ft_failed says otherwise */
};

static void give_up(struct starpu_task *whole, int status)
{
    orr_task_fail(orr_task_of(whole), status);
    starpu_task_end_dep_release(whole);
}

static int try_again(struct starpu_task *whole, struct starpu_task *last)
{
    struct starpu_task *next = starpu_task_ft_create_retry(whole, last, NULL);
    int r = next ? starpu_task_submit_nodeps(next) : -ENOMEM;
    if (next && r) starpu_task_destroy(next);
    return r;
}

/* A try has ended; its callback. */
static void tried(void *arg)
{
    const struct trial *trial = arg;
    struct starpu_task *whole = trial->whole, *last = starpu_task_get_current();
    const struct orr_task *t = orr_task_of(last);
    if (t->flags & ORR_TF_FAILED) { /* it could not run: nor could another */
        give_up(whole, t->rare && t->rare->status ? t->rare->status : -EIO);
    } else if (trial->check) {
        trial->check(whole);
    } else if (!last->failed) {
        starpu_task_ft_success(whole);
    } else {
        int r = try_again(whole, last);
        if (r) give_up(whole, r);
    }
}

/* Leaves to a copy of the whole, or of a try, what concerns its run, and no more. */
static void reduce_to_run(struct starpu_task *p, struct trial *trial)
{
    p->detach = 1;
    p->synchronous = p->use_tag = p->failed = p->scheduled = p->prefetched = 0;
    p->nb_termination_call_required = 0;
    p->prologue_callback_func = p->epilogue_callback_func = NULL;
    p->prologue_callback_arg = p->epilogue_callback_arg = NULL;
    p->handles_sequential_consistency = NULL;
    p->callback_func = tried;
    p->callback_arg = trial;
    p->callback_arg_free = 1;
}

static const char *why_not(const struct starpu_task *whole)
{
    if (!whole->cl || orr_task_where(whole) == STARPU_NOWHERE) return "it has no body";
    if (whole->regenerate) return "it is submitted again when it ends";
    if (whole->workerorder) return "it has a place in the order of a worker (workerorder)";
    return orr_task_of(whole)->flags & ORR_TF_LISTED ? "it is a job of a list" : NULL;
}

struct starpu_task *starpu_task_ft_create_retry(const struct starpu_task *meta_task,
                                                const struct starpu_task *template_task,
                                                void (*check_ft)(void *))
{
    struct starpu_task *whole = (struct starpu_task *)meta_task;
    bool first = meta_task == template_task;
    const char *why = !meta_task || !template_task ? "it is NULL" : first ? why_not(whole) : NULL;
    if (why) {
        orr_error("starpu_task_ft_create_retry: task %s cannot be tried again: %s",
                  orr_task_name(whole ? orr_task_of(whole) : NULL), why);
        return NULL;
    }
    struct trial *trial = orr_malloc(sizeof *trial);
    struct starpu_task *copy = trial ? orr_task_copy(template_task) : NULL;
    if (!copy) {
        orr_free(trial);
        return NULL;
    }
    *trial = (struct trial){ whole, check_ft };
    reduce_to_run(copy, trial);
    copy->sched_ctx = orr_task_of(template_task)->sched_ctx;
    if (first) {
        whole->prologue_callback_pop_func = NULL; /* its tries have it */
        starpu_task_end_dep_add(whole, 1);
        whole->where = STARPU_NOWHERE; /* it is ready, and is about to be asked for its body */
    }
    return copy;
}

void starpu_task_ft_prologue(void *check_ft)
{
    struct starpu_task *whole = starpu_task_get_current();
    if (!whole) {
        orr_error("starpu_task_ft_prologue: not called as the prologue of a task");
        return;
    }
    struct starpu_task *first = starpu_task_ft_create_retry(whole, whole, (void (*)(void *))check_ft);
    if (!first) return; /* it runs once, then */
    int r = starpu_task_submit_nodeps(first);
    if (r == 0) return;
    starpu_task_destroy(first);
    give_up(whole, r);
}

void starpu_task_ft_failed(struct starpu_task *task)
{
    if (task) task->failed = 1;
}

void starpu_task_ft_success(struct starpu_task *meta_task)
{
    starpu_task_end_dep_release(meta_task);
}
