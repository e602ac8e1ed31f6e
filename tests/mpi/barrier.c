/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * A barrier makes ranks meet and does nothing else: it neither waits for tasks nor for messages, works on any
 * communicator, and from several threads at once. starpu_mpi_wait_for_all is what waits.
 * Threads: main of each rank, and two more in one case.
 * Owns: the data and communicators of each case.
 * Not here: messages (p2p.c).
 */
#include <pthread.h>
#include <time.h>
#include "tests/mpi/helper_mpi.h"

static atomic_int ran;
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };
static struct starpu_codelet reader_cl = {
    .cpu_funcs = { count_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "reader"
};

static void receives_pending(void)
{
    int out = 10 + my_rank, in = -1, next = (my_rank + 1) % ranks, previous = (my_rank + ranks - 1) % ranks;
    starpu_data_handle_t out_handle, in_handle;
    register_int(&out_handle, &out);
    register_int(&in_handle, &in);
    atomic_store(&ran, 0);
    int failed = starpu_mpi_irecv_detached(in_handle, previous, 1, MPI_COMM_WORLD, NULL, NULL);
    failed |= starpu_task_insert(&reader_cl, STARPU_R, in_handle, 0);
    failed |= starpu_mpi_barrier(MPI_COMM_WORLD);
    fact(!failed && atomic_load(&ran) == 0,
         "a barrier ends although a receive is pending and a task waits for it");
    MPI_Barrier(MPI_COMM_WORLD);
    failed |= starpu_mpi_isend_detached(out_handle, next, 1, MPI_COMM_WORLD, NULL, NULL);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && atomic_load(&ran) == 1 && in == 10 + previous,
         "waiting for all waits for the message and the task");
    starpu_data_unregister(out_handle);
    starpu_data_unregister(in_handle);
}

static void while_paused(void)
{
    atomic_store(&ran, 0);
    starpu_pause();
    int failed = starpu_task_insert(&count_cl, 0);
    failed |= starpu_mpi_barrier(MPI_COMM_WORLD);
    fact(!failed, "a barrier ends while workers are paused and a task is ready");
    starpu_resume();
    starpu_task_wait_for_all();
    fact(atomic_load(&ran) == 1, "which has run in the end");
}

/* ---- several threads ---- */

enum { ROUNDS = 100 };
struct meeting {
    MPI_Comm comm;
    int failed;
};

static void *meet(void *arg)
{
    struct meeting *m = arg;
    for (int i = 0; i < ROUNDS; i++) m->failed |= starpu_mpi_barrier(m->comm);
    return NULL;
}

static int meet_on(MPI_Comm first, MPI_Comm second)
{
    struct meeting a = { first, 0 }, b = { second, 0 };
    pthread_t thread;
    pthread_create(&thread, NULL, meet, &a);
    meet(&b);
    pthread_join(thread, NULL);
    return a.failed | b.failed;
}

static void several_threads(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    starpu_mpi_comm_register(copy);
    fact(meet_on(MPI_COMM_WORLD, copy) == 0, "two threads of each rank meet on two communicators");
    fact(meet_on(copy, copy) == 0, "and both on the same one");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&copy);
}

static atomic_int waits_done;
static void *wait_for_all(void *unused UNUSED)
{
    for (int i = 0; i < ROUNDS; i++) starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    atomic_store(&waits_done, 1);
    return NULL;
}

static void beside_wait_for_all(void)
{
    pthread_t thread;
    int failed = 0;
    pthread_create(&thread, NULL, wait_for_all, NULL);
    for (int i = 0; i < ROUNDS; i++) failed |= starpu_mpi_barrier(MPI_COMM_WORLD);
    pthread_join(thread, NULL);
    fact(!failed && atomic_load(&waits_done), "a barrier beside a thread that waits for all");
}

/* ---- some of the ranks ---- */

static void some_ranks(void)
{
    MPI_Comm part;
    int failed = 0;
    atomic_store(&ran, 0);
    MPI_Comm_split(MPI_COMM_WORLD, my_rank == ranks - 1, my_rank, &part);
    for (int i = 0; i < 10; i++) failed |= starpu_mpi_barrier(part);
    fact(!failed, "the ranks of a part meet without the others");
    MPI_Comm_free(&part);
    fact(starpu_mpi_barrier(MPI_COMM_NULL) == -EINVAL, "no communicator, no barrier");
}

static void in_task(void *buffers[] UNUSED, void *arg)
{
    *(int *)arg = starpu_mpi_barrier(MPI_COMM_WORLD);
}
static struct starpu_codelet in_task_cl = { .cpu_funcs = { in_task }, .name = "in task" };

static void where_it_cannot(void)
{
    int status = 0;
    struct starpu_task *task = starpu_task_create();
    task->cl = &in_task_cl;
    task->cl_arg = &status;
    task->synchronous = 1;
    fact(starpu_task_submit(task) == 0 && status == -EDEADLK, "a task is refused a barrier");
}

static struct starpu_task *task_in(unsigned context, struct starpu_codelet *cl)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->sched_ctx = context;
    return task;
}

static void slow_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    usleep(20000);
    atomic_fetch_add(&ran, 1);
}
static struct starpu_codelet slow_cl = { .cpu_funcs = { slow_func }, .name = "slow" };

static void in_contexts(void)
{
    int worker = 0;
    unsigned context = starpu_sched_ctx_create(&worker, 1, "inner", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    struct starpu_task *first = task_in(0, &count_cl), *second = task_in(0, &count_cl);
    starpu_task_declare_deps_array(second, 1, &first);
    atomic_store(&ran, 0);
    int failed = starpu_task_submit(second); /* it waits for one that is not submitted yet */
    failed |= starpu_task_submit(task_in(context, &count_cl));
    failed |= starpu_mpi_wait_for_all_in_ctx(MPI_COMM_WORLD, context);
    fact(!failed && atomic_load(&ran) == 1, "waiting in a context waits for its tasks, and for no others");
    failed |= starpu_task_submit(first);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && atomic_load(&ran) == 3, "waiting for all waits for the others as well");
    starpu_sched_ctx_set_context(&context);
    failed |= starpu_task_submit(task_in(0, &slow_cl));
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && atomic_load(&ran) == 4, "also on a thread that has set a context");
    fact(starpu_sched_ctx_get_context() == context, "which it still has then");
    starpu_sched_ctx_set_context(NULL);
    starpu_sched_ctx_delete(context);
    fact(starpu_mpi_wait_for_all_in_ctx(MPI_COMM_WORLD, 99) == -EINVAL, "nobody waits in context 99");
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* No message of the program is under way, and one rank after the other comes so late that the others sleep.
 * The clock is that of one machine, which others may use, too. How often the barrier ended soon, on all ranks
 * alike. */
static int soon_of(int times, int *failed)
{
    enum { LATE_US = 3000, SOON_US = 4000 };
    double when[times][2], last[times][2]; /* compared afterwards: ranks may wait for others in MPI awake */
    int soon = 0;
    for (int i = 0; i < times; i++) {
        if (my_rank == i % ranks) usleep(LATE_US);
        when[i][0] = now_us();
        *failed |= starpu_mpi_barrier(MPI_COMM_WORLD);
        when[i][1] = now_us();
    }
    MPI_Allreduce(when, last, 2 * times, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < times; i++) soon += last[i][1] - last[i][0] < SOON_US;
    return soon;
}

/* Who is not woken sleeps 10 ms each time. Who is may get no core for as long where other programs run: then
 * once more. */
static void late_comers(void)
{
    enum { TIMES = 20, TRIES = 5 };
    int failed = 0, woken = 0;
    for (int i = 0; i < TRIES && !woken; i++) woken = soon_of(TIMES, &failed) > TIMES / 2;
    fact(!failed && woken, "who waits in a barrier is woken when the last rank has come");
}

int main(int argc, char **argv)
{
    setenv("STARPU_SILENT", "1", 0);
    mpi_start(&argc, &argv, 1);
    late_comers();
    receives_pending();
    while_paused();
    several_threads();
    beside_wait_for_all();
    some_ranks();
    where_it_cannot();
    in_contexts();
    return mpi_finish();
}
