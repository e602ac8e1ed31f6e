/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * Functions of the program that follow from messages are never called on a thread that posts one: it may hold
 * a lock that they take. They come promptly all the same, whoever is busy.
 * Threads: main of each rank; callbacks on whoever progresses.
 * Owns: the data of each case.
 * Not here: which messages arrive (p2p.c), callbacks of tasks (tests/core).
 */
#include <pthread.h>
#include "tests/mpi/helper_mpi.h"

enum { N = 200, LARGE = 1 << 20 };

static _Thread_local int posting; /* this thread is inside a function that must not call back */
static atomic_int inside, called;
static int other;

static void note_thread(void *unused UNUSED)
{
    if (posting) atomic_fetch_add(&inside, 1);
    atomic_fetch_add(&called, 1);
}

static void start_case(void)
{
    atomic_store(&inside, 0);
    atomic_store(&called, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void everybody_posts(void)
{
    int out[N], in[N], failed = 0;
    starpu_data_handle_t out_handles[N], in_handles[N];
    for (int i = 0; i < N; i++) {
        out[i] = i;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
    }
    start_case();
    posting = 1;
    for (int i = 0; i < N; i++) {
        failed |= starpu_mpi_irecv_detached(in_handles[i], other, i, MPI_COMM_WORLD, note_thread, NULL);
        failed |= starpu_mpi_isend_detached(out_handles[i], other, i, MPI_COMM_WORLD, note_thread, NULL);
    }
    posting = 0;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && called == 2 * N, "each of %d messages with a callback calls back once", 2 * N);
    fact(inside == 0, "and no callback runs inside isend_detached or irecv_detached");
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
    }
}

/* What else follows from a message: an acquisition with a callback, a task without a codelet, a tag. */
static void release_it(void *handle)
{
    note_thread(NULL);
    starpu_data_release((starpu_data_handle_t)handle);
}

static struct starpu_codelet nothing_cl = {
    .where = STARPU_NOWHERE, .nbuffers = 1, .modes = { STARPU_R }, .name = "nothing"
};

static void other_consequences(void)
{
    enum { ROUNDS = 60 };
    int out = my_rank, in = -1, failed = 0;
    starpu_data_handle_t out_handle, in_handle;
    register_int(&out_handle, &out);
    register_int(&in_handle, &in);
    start_case();
    for (int i = 0; i < ROUNDS; i++) {
        posting = 1;
        failed |= starpu_mpi_irecv_detached(in_handle, other, i, MPI_COMM_WORLD, NULL, NULL);
        posting = 0;
        failed |= starpu_data_acquire_cb(in_handle, STARPU_R, release_it, in_handle);
        failed |= starpu_task_insert(&nothing_cl, STARPU_R, in_handle, STARPU_CALLBACK, note_thread, 0);
        posting = 1;
        failed |= starpu_mpi_isend_detached(out_handle, other, i, MPI_COMM_WORLD, NULL, NULL);
        /* one more message, so that this thread is likely to see what has come meanwhile */
        failed |= starpu_mpi_isend_detached(out_handle, other, 1000 + i, MPI_COMM_WORLD, NULL, NULL);
        posting = 0;
        failed |= starpu_mpi_irecv_detached(in_handle, other, 1000 + i, MPI_COMM_WORLD, NULL, NULL);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && called == 2 * ROUNDS, "acquisitions and tasks without codelet behind receives call back");
    fact(inside == 0, "and not inside a call that posts a message either");
    starpu_data_unregister(out_handle);
    starpu_data_unregister(in_handle);
}

/* What is here already calls back too, but not inside the call. */
static void here_already(void)
{
    int value = my_rank, failed = 0;
    starpu_data_handle_t handle;
    register_owned(&handle, &value, 7, 0);
    start_case();
    posting = 1;
    failed |= starpu_mpi_get_data_on_node_detached(MPI_COMM_WORLD, handle, 0, note_thread, NULL);
    failed |= starpu_mpi_gather_detached(&handle, 1, 0, MPI_COMM_WORLD, NULL, NULL, note_thread, NULL);
    posting = 0;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && (my_rank == 1 || comes_to(&called, 2, 20000)) && inside == 0,
         "values that are here already call back as well, and not inside the call");
    starpu_data_unregister(handle);
}

/* ---- a lock held around posting ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_lock(void *unused UNUSED)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&called, 1);
}

static void lock_around_posting(void)
{
    int out[N], in[N], failed = 0;
    starpu_data_handle_t out_handles[N], in_handles[N];
    for (int i = 0; i < N; i++) {
        out[i] = i;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
    }
    start_case();
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&lock);
        failed |= starpu_mpi_isend_detached(out_handles[i], other, i, MPI_COMM_WORLD, take_lock, NULL);
        failed |= starpu_mpi_irecv_detached(in_handles[i], other, i, MPI_COMM_WORLD, take_lock, NULL);
        pthread_mutex_unlock(&lock);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && called == 2 * N, "a lock held while posting may be taken by callbacks");
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
    }
}

/* ---- nobody idle ---- */

static atomic_int gate_is_open;
static void wait_until_open(void *buffers[] UNUSED, void *arg UNUSED)
{
    comes_to(&gate_is_open, 1, 30000);
}
static struct starpu_codelet busy_cl = { .cpu_funcs = { wait_until_open }, .name = "busy" };

static void nobody_idle(void)
{
    int value = 7, in = 0;
    starpu_data_handle_t handle, large;
    char *bytes = calloc(1, LARGE);
    register_int(&handle, &value);
    starpu_vector_data_register(&large, STARPU_MAIN_RAM, (uintptr_t)bytes, LARGE, 1);
    start_case();
    atomic_store(&gate_is_open, 0);
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) starpu_task_insert(&busy_cl, 0);
    starpu_mpi_isend_detached(handle, other, 1, MPI_COMM_WORLD, note_thread, NULL);
    int sent = comes_to(&called, 1, 20000);
    fact(sent, "the callback of a small send comes although every worker is busy and nobody waits");
    if (my_rank == 0)
        starpu_mpi_isend_detached(large, 1, 2, MPI_COMM_WORLD, note_thread, NULL);
    else
        starpu_mpi_irecv_detached(large, 0, 2, MPI_COMM_WORLD, note_thread, NULL);
    fact(comes_to(&called, 2, 20000), "and that of a large message at both ends");
    atomic_store(&gate_is_open, 1);
    starpu_data_handle_t into;
    register_int(&into, &in);
    starpu_mpi_recv(into, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(into);
    starpu_data_unregister(handle);
    starpu_data_unregister(large);
    free(bytes);
}

/* ---- a slow callback ---- */

static starpu_data_handle_t slow_handle;

static void slow(void *unused UNUSED)
{
    usleep(2300000); /* longer than it takes to call a deadlock one */
    starpu_mpi_isend_detached(slow_handle, other, 2, MPI_COMM_WORLD, NULL, NULL);
}

/* Everybody waits, but for a callback that will go on. */
static void slow_callback(void)
{
    int value = 5 + my_rank, in = 0;
    starpu_data_handle_t in_handle;
    register_int(&slow_handle, &value);
    register_int(&in_handle, &in);
    start_case();
    int failed = starpu_mpi_isend_detached(slow_handle, other, 1, MPI_COMM_WORLD, slow, NULL);
    failed |= starpu_mpi_recv(in_handle, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    failed |= starpu_mpi_recv(in_handle, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fact(!failed && in == 5 + other, "a callback of 2.3 s while all else waits is no deadlock");
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(slow_handle);
    starpu_data_unregister(in_handle);
}

/* ---- a callback that waits for another ---- */

static void wait_for_note(void *unused UNUSED)
{
    atomic_fetch_add(&inside, 1);
    comes_to(&called, 1, 10000);
}

/* Every worker computes: the progress thread has the first callback. Then they sleep, and nobody waits: what
 * this thread's call ends is called back by a worker, though no more messages come. */
static void one_waits_for_another(void)
{
    int value = 7, in = 0, failed = 0;
    starpu_data_handle_t handle, in_handle;
    register_int(&handle, &value);
    register_int(&in_handle, &in);
    start_case();
    atomic_store(&gate_is_open, 0);
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) failed |= starpu_task_insert(&busy_cl, 0);
    usleep(20000);
    failed |= starpu_mpi_irecv_detached(in_handle, other, 11, MPI_COMM_WORLD, wait_for_note, NULL);
    failed |= starpu_mpi_isend_detached(handle, other, 11, MPI_COMM_WORLD, NULL, NULL);
    int waits = comes_to(&inside, 1, 10000);
    atomic_store(&gate_is_open, 1);
    usleep(100000); /* they end, and fall asleep */
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) /* nothing comes back, for which a worker would be woken */
        failed |= starpu_mpi_isend_detached(handle, 1, 12, MPI_COMM_WORLD, note_thread, NULL);
    else
        atomic_store(&called, 1);
    fact(!failed && waits && comes_to(&called, 1, 5000),
         "a callback comes while another one waits for it, and all workers sleep");
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 1) starpu_mpi_recv(in_handle, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    starpu_data_unregister(in_handle);
}

/* ---- messages from callbacks ---- */

enum { LENGTH = 300 };
static starpu_data_handle_t chain_handle, self_handle;
static starpu_mpi_req self_request;

/* Every message posts the next, there and back; one of them tests a request in between. */
static void next_of_chain(void *unused UNUSED)
{
    int i = atomic_fetch_add(&called, 1) + 1, flag;
    if (i >= LENGTH) return;
    if ((i & 1) == my_rank)
        starpu_mpi_isend_detached(chain_handle, other, i, MPI_COMM_WORLD, next_of_chain, NULL);
    else
        starpu_mpi_irecv_detached(chain_handle, other, i, MPI_COMM_WORLD, next_of_chain, NULL);
    if (i != LENGTH / 2) return;
    starpu_mpi_irecv(self_handle, &self_request, my_rank, 5000, MPI_COMM_WORLD);
    starpu_mpi_isend_detached(chain_handle, my_rank, 5000, MPI_COMM_WORLD, NULL, NULL);
    starpu_mpi_test(&self_request, &flag, MPI_STATUS_IGNORE);
}

static void chain(void)
{
    int value = 3, own = 0, failed = 0;
    register_int(&chain_handle, &value);
    register_int(&self_handle, &own);
    start_case();
    atomic_store(&called, -1);
    next_of_chain(NULL);
    int done = comes_to(&called, LENGTH, 20000);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    if (self_request) failed = starpu_mpi_wait(&self_request, MPI_STATUS_IGNORE);
    fact(done && !failed && own == 3, "%d messages, each posted by the callback of the one before, arrive",
         (int)LENGTH);
    starpu_data_unregister(chain_handle);
    starpu_data_unregister(self_handle);
}

static atomic_int refused, asked;

static void block(void *unused UNUSED)
{
    atomic_fetch_add(&refused, starpu_mpi_barrier(MPI_COMM_SELF) == -EDEADLK);
    atomic_fetch_add(&asked, 1);
}

/* A callback that blocked would keep the thread from calling others: all are told so alike. */
static void none_may_block(void)
{
    int value = 0;
    starpu_data_handle_t handle, none = NULL;
    register_owned(&handle, &value, 500, my_rank);
    starpu_mpi_scatter_detached(&none, 1, 0, MPI_COMM_WORLD, block, NULL, block, NULL);
    starpu_mpi_get_data_on_node_detached(MPI_COMM_WORLD, handle, my_rank, block, NULL);
    int came = comes_to(&asked, 2, 5000);
    fact(came && atomic_load(&refused) == 2, "blocking is refused in callbacks that no message calls");
    starpu_data_unregister(handle);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    other = 1 - my_rank;
    everybody_posts();
    other_consequences();
    here_already();
    lock_around_posting();
    nobody_idle();
    slow_callback();
    one_waits_for_another();
    chain();
    none_may_block();
    return mpi_finish();
}
