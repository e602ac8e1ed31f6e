/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * Ending the MPI layer with messages left: what is under way is waited for, however long it takes; what can
 * never end is given up and taken off the network; data that is let go of afterwards, and the next start of
 * the layer, meet nothing of it.
 * Threads: main of each rank, one that holds data for a while.
 * Owns: the data of each case; the runtime, which goes on from case to case.
 * Not here: lines about messages without an other end (failures_messages.c).
 */
#include <pthread.h>
#include "tests/mpi/helper_mpi.h"

enum { LARGE = 4 << 20, LENGTH = 300 };

static char *memory;

static void layer_start(void)
{
    if (starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, NULL)) MPI_Abort(MPI_COMM_WORLD, 1);
}

static starpu_data_handle_t register_memory(int bytes)
{
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)memory, (uint32_t)bytes, 1);
    return handle;
}

/* A message from rank 0 to rank 1 works. */
static int works(void)
{
    int value = my_rank == 0 ? 42 : 0, failed = 0;
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    if (my_rank == 0) failed = starpu_mpi_send(handle, 1, 77, MPI_COMM_WORLD);
    if (my_rank == 1) failed = starpu_mpi_recv(handle, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    starpu_data_unregister(handle);
    return !failed && (my_rank > 1 || value == 42);
}

static void *release_later(void *handle)
{
    usleep(2600000);
    memset(starpu_data_get_local_ptr(handle), 3, LARGE);
    starpu_data_release((starpu_data_handle_t)handle);
    return NULL;
}

/* Two messages from rank 0 to rank 1: the data of one is in use where it goes to, that of the other where it
 * comes from, by a thread of the program for longer than a shutdown used to wait. */
static void slow_ends(void)
{
    static unsigned char *data[2];
    starpu_data_handle_t handle[2];
    pthread_t thread;
    layer_start();
    for (int i = 0; i < 2; i++) {
        data[i] = malloc(LARGE);
        memset(data[i], my_rank == 0, LARGE);
        starpu_vector_data_register(&handle[i], STARPU_MAIN_RAM, (uintptr_t)data[i], LARGE, 1);
    }
    starpu_data_handle_t slow = handle[!my_rank]; /* the first one's receiver, the second one's sender */
    if (my_rank < 2) {
        starpu_data_acquire(slow, STARPU_W);
        pthread_create(&thread, NULL, release_later, slow);
    }
    for (int i = 0; i < 2; i++) {
        if (my_rank == 0) starpu_mpi_isend_detached(handle[i], 1, 1 + i, MPI_COMM_WORLD, NULL, NULL);
        if (my_rank == 1) starpu_mpi_irecv_detached(handle[i], 0, 1 + i, MPI_COMM_WORLD, NULL, NULL);
    }
    int status = starpu_mpi_shutdown();
    if (my_rank < 2) pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) starpu_data_unregister(handle[i]);
    fact(status == 0 && (my_rank != 1 || data[0][LARGE - 1] == 1),
         "a shutdown waits for a large message whose receiver is not ready yet");
    fact(status == 0 && (my_rank != 1 || data[1][LARGE - 1] == 3),
         "a shutdown waits for a large message whose sender is not ready yet");
    for (int i = 0; i < 2; i++) free(data[i]);
}

static void never_received(void)
{
    layer_start();
    starpu_data_handle_t handle = register_memory(LARGE), small;
    int value = 1;
    register_int(&small, &value);
    if (my_rank == 0) {
        starpu_mpi_isend_detached(handle, 1, 1, MPI_COMM_WORLD, NULL, NULL);
        starpu_mpi_isend_detached(small, 1, 2, MPI_COMM_WORLD, NULL, NULL);
        starpu_mpi_issend_detached(handle, 1, 3, MPI_COMM_WORLD, NULL, NULL);
    } else if (my_rank == 1) {
        starpu_mpi_irecv_detached(handle, 0, 4, MPI_COMM_WORLD, NULL, NULL);
    }
    int status = starpu_mpi_shutdown();
    fact(status == -EIO, "messages that nobody receives are given up, and the shutdown returns -EIO");
    starpu_data_unregister(handle);
    starpu_data_unregister(small);
    memset(memory, 9, LARGE);
    layer_start();
    int again = works();
    status = starpu_mpi_shutdown();
    fact(again && status == 0, "their data is free then, and the layer starts again");
}

static void held_for_ever(void)
{
    layer_start();
    memset(memory, 5, LARGE);
    starpu_data_handle_t handle = register_memory(LARGE), sent;
    int value = 1;
    register_int(&sent, &value);
    if (my_rank == 0) starpu_mpi_isend_detached(handle, 1, 1, MPI_COMM_WORLD, NULL, NULL);
    if (my_rank == 1) {
        starpu_data_acquire(handle, STARPU_W);
        starpu_data_acquire(sent, STARPU_W);
        starpu_mpi_irecv_detached(handle, 0, 1, MPI_COMM_WORLD, NULL, NULL);
        starpu_mpi_isend_detached(sent, 0, 2, MPI_COMM_WORLD, NULL, NULL);
    }
    int status = starpu_mpi_shutdown();
    fact(status == -EIO, "so are messages whose data the program does not let go of");
    if (my_rank == 1) starpu_data_release(sent);
    layer_start();
    int again = works();
    if (my_rank == 1) starpu_data_release(handle);
    starpu_data_unregister(handle);
    starpu_data_unregister(sent);
    again &= starpu_mpi_wait_for_all(MPI_COMM_WORLD) == 0 && works();
    status = starpu_mpi_shutdown();
    fact(again && status == 0, "which end when it does, before the layer starts again and after");
}

/* Heartbeats that are sent as the layer ends must not come to the next one. */
static void again_and_again(void)
{
    enum { STARTS = 25 };
    int right = 0;
    for (int i = 0; i < STARTS; i++) {
        layer_start();
        right += works();
        usleep((unsigned)(i * 1000 + my_rank * 500));
        right += starpu_mpi_shutdown() == 0;
    }
    fact(right == 2 * STARTS, "%d starts one after the other, each with a message", (int)STARTS);
}

static atomic_int called;
static starpu_data_handle_t chain_handle;

static void next_of_chain(void *unused UNUSED)
{
    int i = atomic_fetch_add(&called, 1) + 1;
    if (i >= LENGTH) return;
    if ((i & 1) == my_rank)
        starpu_mpi_isend_detached(chain_handle, 1 - my_rank, i, MPI_COMM_WORLD, next_of_chain, NULL);
    else
        starpu_mpi_irecv_detached(chain_handle, 1 - my_rank, i, MPI_COMM_WORLD, next_of_chain, NULL);
}

static void chain(void)
{
    layer_start();
    chain_handle = register_memory(1000);
    atomic_store(&called, -1);
    if (my_rank < 2) next_of_chain(NULL);
    int status = starpu_mpi_shutdown();
    fact(status == 0 && (my_rank > 1 || atomic_load(&called) == LENGTH),
         "messages that callbacks post during a shutdown are waited for");
    starpu_data_unregister(chain_handle);
}

static starpu_data_handle_t late_handle;
static atomic_int posted;

static void post_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    usleep(20000);
    int status = my_rank == 0 ? starpu_mpi_isend_detached(late_handle, 1, 5, MPI_COMM_WORLD, NULL, NULL)
                              : starpu_mpi_irecv_detached(late_handle, 0, 5, MPI_COMM_WORLD, NULL, NULL);
    atomic_store(&posted, status);
}
static struct starpu_codelet post_cl = { .cpu_funcs = { post_func }, .name = "post" };

/* The thread that ends the layer works in another context than the task. */
static void from_another_context(void)
{
    int value = my_rank == 0 ? 42 : 0, worker = 0;
    layer_start();
    unsigned context = starpu_sched_ctx_create(&worker, 1, "inner", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    register_int(&late_handle, &value);
    struct starpu_task *task = starpu_task_create();
    task->cl = &post_cl;
    task->sched_ctx = 0;
    atomic_store(&posted, 1);
    starpu_sched_ctx_set_context(&context);
    int failed = starpu_task_submit(task), status = starpu_mpi_shutdown();
    starpu_sched_ctx_set_context(NULL);
    starpu_task_wait_for_all();
    starpu_data_unregister(late_handle);
    fact(!failed && status == 0 && atomic_load(&posted) == 0 && value == 42,
         "messages of tasks in other contexts than the thread's are waited for");
    starpu_sched_ctx_delete(context);
}

/* Programs end the runtime that they started, and the layer after. */
static void runtime_first(void)
{
    if (starpu_init(NULL) || starpu_mpi_init(NULL, NULL, 0)) MPI_Abort(MPI_COMM_WORLD, 1);
    starpu_shutdown();
    int good = works();
    fact(starpu_mpi_shutdown() == 0 && good && !starpu_is_initialized(),
         "the runtime stays until the layer has ended, where the program gave it up before");
}

int main(int argc, char **argv)
{
    setenv("STARPU_SILENT", "1", 0);
    mpi_start(&argc, &argv, 1);
    starpu_mpi_shutdown();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf)) MPI_Abort(MPI_COMM_WORLD, 1);
    memory = calloc(1, LARGE);
    slow_ends();
    held_for_ever();
    never_received();
    chain();
    from_another_context();
    again_and_again();
    starpu_shutdown();
    free(memory);
    runtime_first();
    layer_start();
    return mpi_finish();
}
