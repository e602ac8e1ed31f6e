/* SPDX-License-Identifier: BSD-3-Clause */
/* own_policy.c: a scheduling policy of the program's own: a queue for each worker. A ready task goes to the
 * worker with the fewest tasks that can run it; a worker that has none takes one from the longest queue.
 * Output: "own policy: 1000 tasks on 2 workers, all done" (the number of workers varies).
 * Threads: push_task on any; pop_task on workers. Owns: the queues. Not here: the built-in policies (sched/).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpu.h>

enum { TASKS = 1000 };

struct queues {
    starpu_pthread_mutex_t mutex; /* protects the rest */
    struct starpu_task_list list[STARPU_NMAXWORKERS];
    unsigned length[STARPU_NMAXWORKERS];
};

static void init_sched(unsigned context)
{
    struct queues *q = calloc(1, sizeof *q);
    STARPU_PTHREAD_MUTEX_INIT(&q->mutex, NULL);
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) starpu_task_list_init(&q->list[i]);
    starpu_sched_ctx_set_policy_data(context, q);
}

static void deinit_sched(unsigned context)
{
    struct queues *q = starpu_sched_ctx_get_policy_data(context);
    STARPU_PTHREAD_MUTEX_DESTROY(&q->mutex);
    free(q);
}

/* A worker that waits for this mutex is relaxed: others may wake it meanwhile. */
static void lock(struct queues *q)
{
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&q->mutex);
    starpu_worker_relax_off();
}

static int push_task(struct starpu_task *task)
{
    struct queues *q = starpu_sched_ctx_get_policy_data(task->sched_ctx);
    unsigned n = starpu_worker_get_count();
    int best = -1;
    lock(q);
    for (unsigned w = 0; w < n; w++)
        if (starpu_worker_can_execute_task_first_impl(w, task, NULL) &&
            (best < 0 || q->length[w] < q->length[best]))
            best = (int)w;
    if (best >= 0) {
        starpu_task_list_push_back(&q->list[best], task);
        q->length[best]++;
        starpu_push_task_end(task);
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&q->mutex);
    if (best < 0) return -ENODEV;
    starpu_wake_worker_relax_light(best);
    return 0;
}

/* The longest queue whose first task worker w can run, its own if that has one; -1: none. */
static int queue_for(struct queues *q, unsigned w)
{
    int longest = -1;
    if (q->length[w]) return (int)w;
    for (unsigned other = 0; other < starpu_worker_get_count(); other++)
        if (q->length[other] && (longest < 0 || q->length[other] > q->length[longest]) &&
            starpu_worker_can_execute_task_first_impl(w, starpu_task_list_front(&q->list[other]), NULL))
            longest = (int)other;
    return longest;
}

static struct starpu_task *pop_task(unsigned context)
{
    struct queues *q = starpu_sched_ctx_get_policy_data(context);
    struct starpu_task *task = NULL;
    lock(q);
    int from = queue_for(q, starpu_worker_get_id_check());
    if (from >= 0) {
        task = starpu_task_list_pop_front(&q->list[from]);
        q->length[from]--;
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&q->mutex);
    return task;
}

static struct starpu_sched_policy policy = {
    .init_sched = init_sched,
    .deinit_sched = deinit_sched,
    .push_task = push_task,
    .pop_task = pop_task,
    .policy_name = "fewest",
    .policy_description = "the worker with the fewest tasks; idle ones take from the longest queue",
};

static atomic_int done;
static void count(void *buffers[] STARPU_ATTRIBUTE_UNUSED, void *arg STARPU_ATTRIBUTE_UNUSED)
{
    atomic_fetch_add(&done, 1);
}
static struct starpu_codelet cl = { .cpu_funcs = { count }, .name = "count" };

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.sched_policy = &policy;
    if (starpu_init(&conf) != 0) return 77; /* no worker here */
    for (int i = 0; i < TASKS; i++)
        if (starpu_task_insert(&cl, 0) != 0) return 1;
    starpu_task_wait_for_all();
    printf("own policy: %d tasks on %u workers, %s\n", TASKS, starpu_worker_get_count(),
           atomic_load(&done) == TASKS ? "all done" : "not all done");
    starpu_shutdown();
    return atomic_load(&done) != TASKS;
}
