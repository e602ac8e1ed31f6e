/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared library with scheduling policies, for STARPU_SCHED_LIB: "plugged" (a central list) and, where it
 * only lists what it has (ONLY_LIST), that one alone. Loaded by interface_settings.c. Threads: as any policy.
 * Owns: the list. Not here: facts about it.
 */
#include <string.h>
#include <starpu.h>

static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task_list list;

static void init_sched(unsigned context)
{
    (void)context;
    starpu_task_list_init(&list);
}

static int push_task(struct starpu_task *task)
{
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    starpu_worker_relax_off();
    starpu_task_list_push_back(&list, task);
    starpu_push_task_end(task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) starpu_wake_worker_relax_light((int)w);
    return 0;
}

static struct starpu_task *pop_task(unsigned context)
{
    (void)context;
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    starpu_worker_relax_off();
    struct starpu_task *task = starpu_task_list_empty(&list) ? NULL : starpu_task_list_pop_front(&list);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return task;
}

static struct starpu_sched_policy plugged = { .init_sched = init_sched,
                                              .push_task = push_task,
                                              .pop_task = pop_task,
                                              .policy_name = "plugged",
                                              .policy_description = "a list in a library" };

#ifndef ONLY_LIST
struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    return strcmp(name, "plugged") == 0 || strcmp(name, "by_another_name") == 0 ? &plugged : NULL;
}
#endif

struct starpu_sched_policy **starpu_get_sched_lib_policies(void)
{
    static struct starpu_sched_policy *all[] = { &plugged, NULL };
    return all;
}
