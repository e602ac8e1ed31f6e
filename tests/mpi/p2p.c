/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Sending and receiving handles between ranks, in every form: blocking, with requests, detached, synchronous,
 * unlocking tags, arrays.
 * Threads: main of each rank; the progress engine calls back.
 * Owns: the data of each case.
 * Not here: messages inferred from tasks (task_insert.c), early and late receives (early.c), layouts
 * (types.c).
 */
#include "tests/mpi/helper_mpi.h"

static int next_rank, previous_rank;

static void who(void)
{
    int size = 0, rank = -1;
    starpu_mpi_comm_size(MPI_COMM_WORLD, &size);
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    fact(size == ranks && rank == my_rank, "size and rank of a communicator");
    fact(starpu_mpi_world_size() == ranks && starpu_mpi_world_rank() == my_rank,
         "size and rank of the world");
}

static void increment_func(void *buffers[], void *arg UNUSED)
{
    (*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]))++;
}
static struct starpu_codelet increment_cl = {
    .cpu_funcs = { increment_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "increment",
};

static void token_around(void)
{
    int token = 0, failed = 0;
    MPI_Status status;
    starpu_data_handle_t handle;
    register_int(&handle, &token);
    for (int lap = 0; lap < 5; lap++) {
        if (lap > 0 || my_rank > 0)
            failed |= starpu_mpi_recv(handle, previous_rank, 10 + lap, MPI_COMM_WORLD, &status);
        failed |= starpu_task_insert(&increment_cl, STARPU_RW, handle, 0);
        int next_lap = lap + (my_rank == ranks - 1);
        if (next_lap < 5) failed |= starpu_mpi_send(handle, next_rank, 10 + next_lap, MPI_COMM_WORLD);
    }
    starpu_data_unregister(handle);
    fact(!failed && token == 4 * ranks + my_rank + 1,
         "a token incremented by a task on each rank, blocking, goes around 5 times");
}

static void requests(void)
{
    enum { N = 10 };
    int out[N], in[N], failed = 0, wrong = 0;
    starpu_data_handle_t out_handles[N], in_handles[N];
    starpu_mpi_req sends[N], receives[N];
    for (int i = 0; i < N; i++) {
        out[i] = 1000 * my_rank + i;
        in[i] = -1;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
        failed |= starpu_mpi_irecv(in_handles[i], &receives[i], previous_rank, 100 + i, MPI_COMM_WORLD);
    }
    for (int i = N - 1; i >= 0; i--)
        failed |= starpu_mpi_isend(out_handles[i], &sends[i], next_rank, 100 + i, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        MPI_Status status;
        if (i % 2) {
            failed |= starpu_mpi_wait(&receives[i], &status) | starpu_mpi_wait(&sends[i], &status);
        } else {
            int received = 0, sent = 0;
            while (!received) failed |= starpu_mpi_test(&receives[i], &received, &status);
            while (!sent) failed |= starpu_mpi_test(&sends[i], &sent, &status);
        }
        wrong += in[i] != 1000 * previous_rank + i;
    }
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
    }
    fact(!failed && wrong == 0,
         "ten messages with requests, sent in reverse, waited for and tested, arrive by their tags");
}

static atomic_int callbacks;
static void called_back(void *arg)
{
    atomic_fetch_add(&callbacks, *(int *)arg);
}

static void detached(void)
{
    enum { N = 20 };
    int out[N], in[N], failed = 0, wrong = 0, one = 1, hundred = 100;
    starpu_data_handle_t out_handles[N], in_handles[N];
    atomic_store(&callbacks, 0);
    for (int i = 0; i < N; i++) {
        out[i] = 5000 * my_rank + i;
        in[i] = -1;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
        failed |= starpu_mpi_irecv_detached(in_handles[i], previous_rank, 200 + i, MPI_COMM_WORLD,
                                            called_back, &one);
        failed |= starpu_mpi_isend_detached(out_handles[i], next_rank, 200 + i, MPI_COMM_WORLD, called_back,
                                            &hundred);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int called = comes_to(&callbacks, 101 * N, 2000);
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
        wrong += in[i] != 5000 * previous_rank + i;
    }
    fact(!failed && wrong == 0, "20 detached messages arrive, and waiting for all waits for them");
    fact(called && callbacks == 101 * N, "each send and each receive calls back once");
}

static int seen_by_task;
static void look_func(void *buffers[], void *arg UNUSED)
{
    seen_by_task = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet look_cl = {
    .cpu_funcs = { look_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "look"
};

static void among_tasks(void)
{
    int out = 10 * my_rank, in = -1, failed = 0;
    starpu_data_handle_t out_handle, in_handle;
    register_int(&out_handle, &out);
    register_int(&in_handle, &in);
    seen_by_task = -1;
    failed |= starpu_task_insert(&increment_cl, STARPU_RW, out_handle, 0);
    failed |= starpu_mpi_isend_detached(out_handle, next_rank, 300, MPI_COMM_WORLD, NULL, NULL);
    failed |= starpu_task_insert(&increment_cl, STARPU_RW, out_handle, 0);
    failed |= starpu_mpi_irecv_detached(in_handle, previous_rank, 300, MPI_COMM_WORLD, NULL, NULL);
    failed |= starpu_task_insert(&look_cl, STARPU_R, in_handle, 0);
    failed |= starpu_task_insert(&increment_cl, STARPU_RW, in_handle, 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(out_handle);
    starpu_data_unregister(in_handle);
    fact(!failed && seen_by_task == 10 * previous_rank + 1,
         "a task after a detached receive sees what a task before the send wrote");
    fact(out == 10 * my_rank + 2 && in == 10 * previous_rank + 2,
         "a task after the send changes only its own copy");
}

static void in_order(void)
{
    enum { N = 20 };
    int in = -1, out = 0, failed = 0, wrong = 0;
    starpu_data_handle_t in_handle, out_handle;
    register_int(&in_handle, &in);
    register_int(&out_handle, &out);
    for (int i = 0; i < N; i++) {
        failed |= starpu_task_insert(&increment_cl, STARPU_RW, out_handle, 0);
        failed |= starpu_mpi_isend_detached(out_handle, next_rank, 400, MPI_COMM_WORLD, NULL, NULL);
    }
    for (int i = 0; i < N; i++) {
        MPI_Status status;
        failed |= starpu_mpi_recv(in_handle, previous_rank, 400, MPI_COMM_WORLD, &status);
        failed |= starpu_data_acquire(in_handle, STARPU_R);
        wrong += in != i + 1;
        starpu_data_release(in_handle);
    }
    starpu_data_unregister(in_handle);
    starpu_data_unregister(out_handle);
    fact(!failed && wrong == 0,
         "messages of one tag between two ranks arrive in the order in which they were sent");
}

static void synchronous(void)
{
    int value = my_rank == 0 ? 7 : -1, failed = 0, flag = 0, early = 0;
    starpu_data_handle_t handle;
    starpu_mpi_req request;
    MPI_Status status;
    register_int(&handle, &value);
    if (my_rank == 0) {
        failed |= starpu_mpi_issend(handle, &request, 1, 500, MPI_COMM_WORLD);
        for (int i = 0; i < 20; i++) {
            usleep(1000);
            failed |= starpu_mpi_test(&request, &flag, &status);
            early |= flag;
        }
        MPI_Send(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
        if (!flag) failed |= starpu_mpi_wait(&request, &status);
    } else if (my_rank == 1) {
        int go;
        MPI_Recv(&go, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &status);
        failed |= starpu_mpi_recv(handle, 0, 500, MPI_COMM_WORLD, &status);
    }
    fact(!failed && !early, "a synchronous send is not complete before its receive is posted");
    atomic_store(&callbacks, 0);
    int one = 1;
    if (my_rank == 0)
        failed |= starpu_mpi_issend_detached(handle, 1, 501, MPI_COMM_WORLD, called_back, &one);
    else if (my_rank == 1)
        failed |= starpu_mpi_irecv_detached(handle, 0, 501, MPI_COMM_WORLD, called_back, &one);
    if (!STARPU_AT_LEAST(1, 4) && my_rank < 2)
        comes_to(&callbacks, 1, 2000); /* 1.3 deadlocks in the wait with a synchronous send under way */
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int called = my_rank > 1 || comes_to(&callbacks, 1, 2000);
    starpu_data_unregister(handle);
    fact(!failed && called && (my_rank > 1 || value == 7),
         "a detached synchronous send arrives and calls back");
}

static void unlocking_tags(void)
{
    int out = my_rank, in = -1, failed = 0;
    starpu_data_handle_t out_handle, in_handle;
    register_int(&out_handle, &out);
    register_int(&in_handle, &in);
    failed |= starpu_mpi_isend_detached_unlock_tag(out_handle, next_rank, 600, MPI_COMM_WORLD, 0x10);
    failed |= starpu_mpi_irecv_detached_unlock_tag(in_handle, previous_rank, 600, MPI_COMM_WORLD, 0x11);
    failed |= starpu_tag_wait(0x11) | starpu_tag_wait(0x10);
    failed |= starpu_data_acquire(in_handle, STARPU_R);
    fact(!failed && in == previous_rank, "a receive and a send unlock a tag each");
    starpu_data_release(in_handle);
    starpu_data_unregister(out_handle);
    starpu_data_unregister(in_handle);
    starpu_tag_remove(0x10);
    starpu_tag_remove(0x11);
}

static void arrays(void)
{
    enum { N = 8 };
    int out[N], in[N], to[N], from[N], failed = 0, wrong = 0;
    starpu_mpi_tag_t tags[N];
    MPI_Comm comms[N];
    starpu_data_handle_t out_handles[N], in_handles[N];
    for (int i = 0; i < N; i++) {
        out[i] = 100 * my_rank + i;
        in[i] = -1;
        to[i] = next_rank;
        from[i] = previous_rank;
        tags[i] = 700 + i;
        comms[i] = MPI_COMM_WORLD;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
    }
    failed |= starpu_mpi_irecv_array_detached_unlock_tag(N, in_handles, from, tags, comms, 0x20);
    failed |= starpu_mpi_isend_array_detached_unlock_tag(N, out_handles, to, tags, comms, 0x21);
    failed |= starpu_tag_wait(0x20) | starpu_tag_wait(0x21);
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
        wrong += in[i] != 100 * previous_rank + i;
    }
    starpu_tag_remove(0x20);
    starpu_tag_remove(0x21);
    fact(!failed && wrong == 0, "arrays of eight messages unlock one tag when all have passed");
}

static void priorities_and_large_tags(void)
{
    int out[3], in[3], failed = 0, wrong = 0;
    starpu_data_handle_t out_handles[3], in_handles[3];
    starpu_mpi_req request;
    MPI_Status status;
    starpu_mpi_tag_t large = (starpu_mpi_tag_t)1 << 40;
    for (int i = 0; i < 3; i++) {
        out[i] = 10 * my_rank + i;
        in[i] = -1;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
        failed |=
            starpu_mpi_irecv_detached(in_handles[i], previous_rank, large + i, MPI_COMM_WORLD, NULL, NULL);
    }
    failed |= starpu_mpi_isend_prio(out_handles[0], &request, next_rank, large, 5, MPI_COMM_WORLD);
    failed |=
        starpu_mpi_isend_detached_prio(out_handles[1], next_rank, large + 1, -5, MPI_COMM_WORLD, NULL, NULL);
    failed |= starpu_mpi_send_prio(out_handles[2], next_rank, large + 2, 9, MPI_COMM_WORLD);
    failed |= starpu_mpi_wait(&request, &status);
    for (int i = 0; i < 3; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
        wrong += in[i] != 10 * previous_rank + i;
    }
    fact(!failed && wrong == 0, "sends with priorities arrive, under tags of more than 32 bits");
}

static void large_message(void)
{
    enum { N = 1 << 19 };
    int *out = malloc(N * sizeof *out), *in = calloc(N, sizeof *in), failed = 0, wrong = 0;
    starpu_data_handle_t out_handle, in_handle;
    for (int i = 0; i < N; i++) out[i] = i ^ my_rank;
    starpu_vector_data_register(&out_handle, STARPU_MAIN_RAM, (uintptr_t)out, N, sizeof *out);
    starpu_vector_data_register(&in_handle, STARPU_MAIN_RAM, (uintptr_t)in, N, sizeof *in);
    failed |= starpu_mpi_isend_detached(out_handle, next_rank, 800, MPI_COMM_WORLD, NULL, NULL);
    failed |= starpu_mpi_irecv_detached(in_handle, previous_rank, 800, MPI_COMM_WORLD, NULL, NULL);
    starpu_data_unregister(out_handle);
    starpu_data_unregister(in_handle);
    for (int i = 0; i < N; i++) wrong += in[i] != (i ^ previous_rank);
    free(out);
    free(in);
    fact(!failed && wrong == 0, "2 MiB arrive whole, and unregistering waits for the message");
}

static void separate_communicator(void)
{
    /* pairs of ranks in a communicator whose ranks are reversed */
    MPI_Comm reversed;
    int value = -1, failed = 0, rank;
    MPI_Status status;
    starpu_data_handle_t handle;
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - my_rank, &reversed);
#if STARPU_AT_LEAST(1, 4)
    starpu_mpi_comm_register(reversed);
    MPI_Comm_rank(reversed, &rank);
    register_int(&handle, &value);
    if (rank == 0) {
        value = 99;
        failed |= starpu_mpi_send(handle, 1, 900, reversed);
    } else if (rank == 1) {
        failed |= starpu_mpi_recv(handle, 0, 900, reversed, &status);
    }
    starpu_data_unregister(handle);
    fact(!failed && (rank > 1 || value == 99), "a message in another communicator goes by its ranks");
#else
    (void)value, (void)failed, (void)rank, (void)status, (void)handle;
#endif
    starpu_mpi_barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&reversed);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    next_rank = (my_rank + 1) % ranks;
    previous_rank = (my_rank + ranks - 1) % ranks;
    who();
    token_around();
    requests();
    detached();
    among_tasks();
    in_order();
    synchronous();
    unlocking_tags();
    arrays();
    priorities_and_large_tags();
    large_message();
    separate_communicator();
    fact(starpu_mpi_barrier(MPI_COMM_WORLD) == 0, "all ranks meet at a barrier");
    return mpi_finish();
}
