/* SPDX-License-Identifier: BSD-3-Clause */
/* two_contexts shows the hypervisor: two contexts of two workers each, one of which has hardly anything to
 * do. Its workers exceed the idle time that it allows them, and one moves to where the work is. Threads: main
 * submits; a worker that is idle takes the hypervisor's role and decides. Expected output: begin: 2 workers
 * for the short job, 2 for the long one a worker has moved: 1 for the short job, 3 for the long one 600 tasks
 * have run
 */
#include <sc_hypervisor.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHORT_TASKS = 100, LONG_TASKS = 500 };

static atomic_int ran;

static void work(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    usleep(1000);
    atomic_fetch_add(&ran, 1);
}

static struct starpu_codelet work_cl = { .cpu_funcs = { work }, .name = "work" };

static int submit(unsigned context, int tasks)
{
    int refused = 0;
    for (int i = 0; i < tasks; i++)
        refused += starpu_task_insert(&work_cl, STARPU_SCHED_CTX, context, 0) != 0;
    return refused;
}

/* A context that the hypervisor observes, through the counters, and may resize. */
static unsigned make_context(const char *name, int first_worker, void *counters)
{
    int workers[2] = { first_worker, first_worker + 1 };
    unsigned context = starpu_sched_ctx_create(workers, 2, name, STARPU_SCHED_CTX_POLICY_NAME, "lws", 0);
    starpu_sched_ctx_set_perf_counters(context, counters);
    sc_hypervisor_register_ctx(context, 0.0);
    return context;
}

/* Workers may go from the short job when they have been idle for 5 ms; one stays. */
static void allow_to_leave(unsigned context)
{
    int workers[2] = { 0, 1 };
    sc_hypervisor_ctl(context, SC_HYPERVISOR_MAX_IDLE, workers, 2, 5000.0, SC_HYPERVISOR_MIN_WORKERS, 1,
                      SC_HYPERVISOR_GRANULARITY, 1, SC_HYPERVISOR_NULL);
}

int main(void)
{
    struct starpu_conf conf;
    struct sc_hypervisor_policy strategy = { .name = "idle" };
    starpu_conf_init(&conf);
    conf.ncpus = 4;
    setenv("SC_HYPERVISOR_STOP_PRINT", "1", 0);
    if (starpu_init(&conf) || starpu_cpu_worker_get_count() < 4) {
        fprintf(stderr, "two_contexts: there are no four workers\n");
        return 77;
    }
    void *counters = sc_hypervisor_init(&strategy);
    if (!counters) return 1;
    unsigned short_job = make_context("short", 0, counters), long_job = make_context("long", 2, counters);
    allow_to_leave(short_job);
    printf("begin: %u workers for the short job, %u for the long one\n",
           starpu_sched_ctx_get_nworkers(short_job), starpu_sched_ctx_get_nworkers(long_job));
    int refused = submit(short_job, SHORT_TASKS) + submit(long_job, LONG_TASKS);
    starpu_task_wait_for_all();
    unsigned in_short = starpu_sched_ctx_get_nworkers(short_job),
             in_long = starpu_sched_ctx_get_nworkers(long_job);
    printf("a worker has moved: %u for the short job, %u for the long one\n", in_short, in_long);
    printf("%d tasks have run\n", atomic_load(&ran));
    starpu_shutdown();
    sc_hypervisor_shutdown();
    return refused || atomic_load(&ran) != SHORT_TASKS + LONG_TASKS || in_short != 1 || in_long != 3;
}
