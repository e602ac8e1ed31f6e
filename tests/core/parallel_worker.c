/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel workers: one worker of each group runs the tasks, on all cores of the group; the others sleep.
 * Threads: main makes and ends the groups; tasks look at where they run.
 * Owns: nothing.
 * Not here: scheduling contexts (contexts.c).
 */
#include "tests/helper.h"

static atomic_int ran_on[STARPU_NMAXWORKERS], most_cores;

static void look_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    cpu_set_t set;
    atomic_fetch_add(&ran_on[starpu_worker_get_id()], 1);
    if (sched_getaffinity(0, sizeof set, &set) == 0) raise_to(&most_cores, CPU_COUNT(&set));
    usleep(200);
}

static struct starpu_codelet look_cl = { .cpu_funcs = { look_func }, .name = "look" };

/* Runs tasks, and returns how many workers took part. */
static int workers_that_run(int tasks)
{
    int used = 0, done = 0;
    memset(ran_on, 0, sizeof ran_on);
    atomic_store(&most_cores, 0);
    for (int i = 0; i < tasks; i++)
        if (starpu_task_insert(&look_cl, 0) != 0) return -1;
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) {
        used += atomic_load(&ran_on[i]) > 0;
        done += atomic_load(&ran_on[i]);
    }
    return done == tasks ? used : -1;
}

static atomic_int created, created_elsewhere;

static void create(void *arg)
{
    atomic_fetch_add(&created, *(int *)arg);
    if (starpu_worker_get_id() < 0) atomic_fetch_add(&created_elsewhere, 1);
}

static void one_group(int can_bind)
{
    int two = 2, before = workers_that_run(60);
    diag("%d workers ran tasks before", before);
    struct starpu_parallel_worker_config *groups = starpu_parallel_worker_init(
        HWLOC_OBJ_MACHINE, STARPU_PARALLEL_WORKER_NB, 1, STARPU_PARALLEL_WORKER_CREATE_FUNC, create,
        STARPU_PARALLEL_WORKER_CREATE_FUNC_ARG, &two, 0);
    ok(groups != NULL, "the machine is made one group");
    is_int(atomic_load(&created), 2, "the function is called once, with its argument");
    is_int(atomic_load(&created_elsewhere), 0, "it is called on a worker");
    is_int(workers_that_run(60), 1, "one worker runs all tasks");
    if (can_bind)
        is_int(atomic_load(&most_cores), 2, "its tasks may use the cores of both workers");
    else
        skip("workers are not bound to different cores here");
    ok(!starpu_parallel_worker_init(HWLOC_OBJ_MACHINE, 0), "a second grouping is refused");
    is_int(starpu_parallel_worker_print(groups), 0, "the groups can be printed");
    is_int(starpu_parallel_worker_shutdown(groups), 0, "the groups are undone");
    is_int(starpu_sched_ctx_get_nworkers(0), 2, "all workers are back");
    ok(workers_that_run(200) >= 1, "tasks run as before");
    if (can_bind)
        is_int(atomic_load(&most_cores), 1, "each on one core");
    else
        skip("workers are not bound to different cores here");
}

static void group_for_each(void)
{
    struct starpu_parallel_worker_config *groups =
        starpu_parallel_worker_init(HWLOC_OBJ_MACHINE, STARPU_PARALLEL_WORKER_TYPE,
                                    STARPU_PARALLEL_WORKER_GNU_OPENMP_MKL, STARPU_PARALLEL_WORKER_NB, 2, 0);
    ok(groups != NULL, "two groups of one core each");
    is_int(starpu_sched_ctx_get_nworkers(0), 2, "no worker sleeps");
    ok(workers_that_run(60) >= 1, "tasks run");
    is_int(starpu_parallel_worker_shutdown(groups), 0, "they are undone");
}

static void old_names(void)
{
    struct starpu_cluster_machine *groups = starpu_cluster_machine(
        HWLOC_OBJ_MACHINE, STARPU_CLUSTER_TYPE, STARPU_CLUSTER_OPENMP, STARPU_CLUSTER_MAX_NB, 1, 0);
    ok(groups != NULL, "the names of StarPU 1.3 group as well");
    is_int(starpu_sched_ctx_get_nworkers(0), 1, "one worker is left to run tasks");
    is_int(starpu_cluster_print(groups), 0, "print");
    is_int(starpu_uncluster_machine(groups), 0, "and undo");
}

static void refusals(void)
{
    ok(!starpu_parallel_worker_init(HWLOC_OBJ_MACHINE, STARPU_PARALLEL_WORKER_NB, 3, 0),
       "more groups than workers are refused");
    ok(!starpu_parallel_worker_init(HWLOC_OBJ_MACHINE, 12345, 1, 0), "an unknown argument is refused");
    ok(!starpu_parallel_worker_init(HWLOC_OBJ_MACHINE, STARPU_PARALLEL_WORKER_POLICY_NAME, "prio", 0),
       "a policy inside of a group is refused");
    ok(!starpu_parallel_worker_init(HWLOC_OBJ_MACHINE, STARPU_PARALLEL_WORKER_TYPE, 77, 0),
       "an unknown runtime is refused");
    is_int(starpu_parallel_worker_shutdown(NULL), -1, "there is nothing to undo");
    is_int(starpu_sched_ctx_get_nworkers(0), 2, "nothing is left of what was refused");
}

int main(void)
{
    runtime_start(2, NULL);
    require_workers(2);
    int can_bind = starpu_worker_get_bindid(0) != starpu_worker_get_bindid(1) && workers_that_run(20) > 0 &&
                   atomic_load(&most_cores) == 1;
    one_group(can_bind);
    group_for_each();
    old_names();
    refusals();
    starpu_shutdown();
    return done_testing();
}
