/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Communicators of the program beside the one that the layer was started on: first used in different orders,
 * by two threads at once, freed and made anew, intersecting.
 * Threads: main of each rank; in one case a second thread of it.
 * Owns: the communicators of each case.
 * Not here: reductions on them (reductions.c).
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/mpi/helper_mpi.h"

static int send_int(int value, int to, MPI_Comm comm)
{
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    int r = starpu_mpi_send(handle, to, 7, comm);
    starpu_data_unregister(handle);
    return r;
}

static int receive_int(int from, MPI_Comm comm)
{
    int value = -1;
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    starpu_mpi_recv(handle, from, 7, comm, MPI_STATUS_IGNORE);
    starpu_data_unregister(handle);
    return value;
}

/* Every rank sends its number, and more, around the ring of comm; returns whether the right one came. */
static int ring(MPI_Comm comm, int salt)
{
    int rank, size, value, got = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    value = salt + rank;
    starpu_data_handle_t mine, other;
    register_int(&mine, &value);
    register_int(&other, &got);
    starpu_mpi_isend_detached(mine, (rank + 1) % size, 7, comm, NULL, NULL);
    starpu_mpi_recv(other, (rank + size - 1) % size, 7, comm, MPI_STATUS_IGNORE);
    starpu_data_unregister(mine);
    starpu_data_unregister(other);
    return got == salt + (rank + size - 1) % size;
}

/* ---- used first in another order ---- */

static void other_order(void)
{
    enum { N = 4 };
    MPI_Comm comms[N];
    int values[N], sent[N] = { 0 }, right = 1;
    starpu_data_handle_t handles[N];
    for (int i = 0; i < N; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int k = 0; k < N; k++) {
        int i = my_rank % 2 ? N - 1 - k : k; /* odd ranks begin at the other end */
        values[i] = my_rank == 0 ? 100 + i : -1;
        register_int(&handles[i], &values[i]);
        if (my_rank == 0)
            for (int to = 1; to < ranks; to++)
                sent[i] |= starpu_mpi_isend_detached(handles[i], to, 5, comms[i], NULL, NULL);
        else
            sent[i] |= starpu_mpi_irecv_detached(handles[i], 0, 5, comms[i], NULL, NULL);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(handles[i]);
        right &= values[i] == 100 + i && !sent[i];
    }
    fact(right, "communicators first used in different orders do not exchange their messages");
    for (int i = 0; i < N; i++) MPI_Comm_free(&comms[i]);
}

/* Large messages take another path, and messages that come before their receive another one still. */
static void other_order_large(void)
{
    enum { N = 3, BYTES = 200000 };
    MPI_Comm comms[N];
    char *bytes[N];
    starpu_data_handle_t handles[N];
    int right = 1;
    for (int i = 0; i < N; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    if (my_rank == 1) MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < N && my_rank < 2; k++) {
        int i = my_rank ? N - 1 - k : k;
        bytes[i] = malloc(BYTES);
        memset(bytes[i], my_rank ? 0 : 65 + i, BYTES);
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)bytes[i], BYTES, 1);
        if (my_rank == 0)
            starpu_mpi_isend_detached(handles[i], 1, 5, comms[i], NULL, NULL);
        else
            starpu_mpi_irecv_detached(handles[i], 0, 5, comms[i], NULL, NULL);
    }
    if (my_rank == 0) MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < N && my_rank < 2; i++) {
        starpu_data_unregister(handles[i]);
        right &= bytes[i][0] == 65 + i && bytes[i][BYTES - 1] == 65 + i;
        free(bytes[i]);
    }
    fact(right, "nor do large messages, sent before anybody receives on their communicator");
    for (int i = 0; i < N; i++) MPI_Comm_free(&comms[i]);
}

/* ---- by tasks and barriers ---- */

static void increment_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1 + *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet increment_cl = {
    .cpu_funcs = { increment_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "increment"
};

/* Even and odd ranks halve the world, and each half meets a further communicator of all at another moment. */
static void halves(void)
{
    MPI_Comm half, all;
    int rank, size, value[2], failed = 0;
    starpu_data_handle_t handle[2];
    MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, -my_rank, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    if (my_rank % 2) starpu_mpi_comm_register(all);
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    for (int i = 0; i < 2; i++) {
        int owner = i % size;
        value[i] = 10 * i;
        starpu_variable_data_register(&handle[i], rank == owner ? STARPU_MAIN_RAM : -1,
                                      rank == owner ? (uintptr_t)&value[i] : 0, sizeof value[i]);
        starpu_mpi_data_register_comm(handle[i], 20 + i, owner, half);
    }
    for (int k = 0; k < 10; k++)
        failed |= starpu_mpi_task_insert(half, &increment_cl, STARPU_RW, handle[k % 2], STARPU_R,
                                         handle[!(k % 2)], 0);
    starpu_mpi_wait_for_all(half);
    starpu_mpi_barrier(all);
    int expected[2] = { 0, 10 };
    for (int k = 0; k < 10; k++) expected[k % 2] += 1 + expected[!(k % 2)];
    for (int i = 0; i < 2; i++) starpu_data_unregister(handle[i]);
    for (int i = 0; i < 2; i++) failed |= rank == i % size && value[i] != expected[i];
    fact(!failed, "tasks on halves of the world beside barriers of all");
    fact(ring(all, 3000) && ring(half, 4000), "and messages on both");
    MPI_Comm_free(&half);
    MPI_Comm_free(&all);
}

static void intersecting(void)
{
    MPI_Comm low, high;
    int in_low = my_rank<ranks - 1, in_high = my_rank> 0, right = 1;
    MPI_Comm_split(MPI_COMM_WORLD, in_low ? 0 : MPI_UNDEFINED, 0, &low);
    MPI_Comm_split(MPI_COMM_WORLD, in_high ? 0 : MPI_UNDEFINED, 0, &high);
    for (int i = 0; i < 3; i++) {
        if (in_low) right &= ring(low, 100 * i);
        if (in_high) right &= ring(high, 100 * i + 50);
    }
    if (in_low) MPI_Comm_free(&low);
    if (in_high) MPI_Comm_free(&high);
    right &= ring(MPI_COMM_SELF, 1);
    fact(right, "messages on communicators that intersect, and on MPI_COMM_SELF");
}

/* ---- data of one communicator, used on another ---- */

static int expect(starpu_data_handle_t handle, int here, int expected)
{
    if (!here) return 1;
    if (starpu_data_acquire(handle, STARPU_R)) return 0;
    int value = *(int *)starpu_data_get_local_ptr(handle);
    starpu_data_release(handle);
    return value == expected;
}

/* The ranks of reversed are those of the world in the opposite order. */
static void reversed(void)
{
    MPI_Comm comm;
    int value[2] = { 1000, 0 }, rank, right = 1, failed = 0;
    int last = ranks - 1;
    starpu_data_handle_t a, b;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -my_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    register_owned(&a, &value[0], 60, 0); /* last of reversed */
    register_owned(&b, &value[1], 61, last);
    failed |= starpu_mpi_task_insert(comm, &increment_cl, STARPU_RW, b, STARPU_R, a, 0); /* 1001 */
    if (my_rank == 0) {
        right &= starpu_mpi_cached_send_comm(a, 0, comm) && starpu_mpi_cached_send(a, last);
        right &= !starpu_mpi_cached_send_comm(a, last, comm) && !starpu_mpi_cached_send(a, 0);
    }
    fact(right && !failed, "whether a value was sent is answered for that rank of that communicator");
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &increment_cl, STARPU_RW, a, STARPU_R, b, 0); /* 2002 */
    failed |= starpu_mpi_task_insert(comm, &increment_cl, STARPU_RW, b, STARPU_R, a, STARPU_EXECUTE_ON_DATA,
                                     a, 0); /* 3004 */
    failed |= starpu_mpi_task_insert(comm, &increment_cl, STARPU_RW, a, STARPU_R, b, STARPU_EXECUTE_ON_NODE,
                                     0, 0); /* 5007, computed where b is */
    right &= expect(a, my_rank == 0, 5007) && expect(b, my_rank == last, 3004);
    fact(right && !failed, "tasks on a communicator with another order of ranks than that of the owners");
    failed |= starpu_mpi_get_data_on_node(comm, b, last); /* rank 0 of the world */
    right &= expect(b, my_rank == 0, 3004);
    starpu_mpi_cache_flush_all_data(comm);
    starpu_mpi_data_migrate(comm, a, 0);
    right &= starpu_mpi_data_get_rank(a) == 0 && expect(a, my_rank == last, 5007);
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &increment_cl, STARPU_RW, a, STARPU_R, b, 0); /* 8012 */
    failed |= starpu_mpi_get_data_on_node(MPI_COMM_WORLD, a, 0);
    right &= expect(a, my_rank == 0 || my_rank == last, 8012);
    fact(right && !failed, "data fetched, flushed and moved there");
    starpu_mpi_wait_for_all(comm);
    starpu_data_unregister(a);
    starpu_data_unregister(b);
    MPI_Comm_free(&comm);
}

/* What a part of the ranks flushes, the others still have; where data move all ranks know who has what, so
 * such a flush changes nothing. */
static void flushed_in_part(void)
{
    MPI_Comm pair;
    const char *placement = getenv("ORRERY_MPI_SCHED");
    int moves = placement && strcmp(placement, "owner") != 0;
    int value[1 + RANKS_MOST] = { 3 }, right = 1, failed = 0;
    starpu_data_handle_t a, to[RANKS_MOST];
    MPI_Comm_split(MPI_COMM_WORLD, my_rank < 2 ? 0 : MPI_UNDEFINED, 0, &pair);
    register_owned(&a, &value[0], 70, 0);
    for (int r = 0; r < ranks; r++) register_owned(&to[r], &value[1 + r], 71 + r, r);
    for (int round = 0; round < 2; round++) {
        for (int r = 0; r < ranks; r++)
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &increment_cl, STARPU_RW, to[r], STARPU_R, a, 0);
        if (my_rank < 2) starpu_mpi_cache_flush(pair, a);
        if (my_rank == 0 && !moves) right &= !starpu_mpi_cached_send(a, 1);
        for (int r = 2; r < ranks && my_rank == 0; r++) right &= starpu_mpi_cached_send(a, r);
    }
    right &= expect(to[my_rank], 1, 8);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) starpu_data_unregister(to[r]);
    starpu_data_unregister(a);
    if (my_rank < 2) MPI_Comm_free(&pair);
    fact(right && !failed, "a flush on a part of the ranks leaves the values of the others where they are");
}

/* ---- threads ---- */

struct user {
    MPI_Comm comm;
    int right;
};

static pthread_barrier_t together;

static void *use(void *p)
{
    struct user *u = p;
    pthread_barrier_wait(&together);
    u->right = ring(u->comm, 77);
    return NULL;
}

static int two_threads(MPI_Comm a, MPI_Comm b)
{
    pthread_t thread;
    struct user first = { a, 0 }, second = { b, 0 };
    pthread_barrier_init(&together, NULL, 2);
    pthread_create(&thread, NULL, use, &first);
    use(&second);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&together);
    return first.right && second.right;
}

static void *send_on(void *p)
{
    MPI_Comm comm = *(MPI_Comm *)p;
    pthread_barrier_wait(&together);
    send_int(1, my_rank, comm);
    return NULL;
}

/* Two threads that meet one communicator at the same moment: one record of it. */
static int same_one(void)
{
    pthread_t thread;
    MPI_Comm comm;
    int got;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    pthread_barrier_init(&together, NULL, 2);
    pthread_create(&thread, NULL, send_on, &comm);
    pthread_barrier_wait(&together);
    got = my_rank == 0 ? receive_int(0, comm) : 1;
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&together);
    MPI_Comm_free(&comm);
    return got == 1;
}

static void threads(void)
{
    int right = 1;
    for (int i = 0; i < 10; i++) {
        MPI_Comm a, b;
        MPI_Comm_dup(MPI_COMM_WORLD, &a);
        MPI_Comm_dup(MPI_COMM_WORLD, &b);
        right &= my_rank % 2 ? two_threads(a, b) : two_threads(b, a);
        MPI_Comm_free(&a);
        MPI_Comm_free(&b);
    }
    fact(right, "two threads first use two communicators at the same time");
    for (int i = 0; i < 10 && my_rank == 0; i++) right &= same_one();
    fact(right, "and two threads first use the same one");
}

/* ---- freed ones ---- */

static void freed(void)
{
    int right = 1;
    for (int i = 0; i < 200; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? my_rank : -my_rank, &comm);
        if (i % 3) right &= ring(comm, i);
        MPI_Comm_free(&comm);
    }
    fact(right, "communicators that are freed and made anew under the same name");
}

/* The program frees a communicator while what it posted there is under way, as MPI allows. */
static void freed_early(void)
{
    MPI_Comm comm;
    int value = my_rank == 0 ? 55 : -1;
    starpu_data_handle_t handle;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    register_int(&handle, &value);
    if (my_rank == 0) {
        for (int to = 1; to < ranks; to++) starpu_mpi_isend_detached(handle, to, 9, comm, NULL, NULL);
    } else {
        starpu_mpi_irecv_detached(handle, 0, 9, comm, NULL, NULL);
    }
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    int right = ring(comm, 1);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    fact(right && value == 55, "a communicator freed while its messages are under way");
    MPI_Comm_free(&comm);
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * 4;
}

/* What is kept for the insertions of one communicator alone is a megabyte. */
static void memory(void)
{
    long before = 0;
    int failed = 0;
    for (int i = 0; i < 120; i++) {
        MPI_Comm comm;
        int value = 1, other = 2;
        starpu_data_handle_t a, b;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        register_int(&a, &value);
        register_int(&b, &other);
        starpu_mpi_data_register_comm(a, 1, 0, comm);
        starpu_mpi_data_register_comm(b, 2, ranks - 1, comm);
        for (int k = 0; k < 100; k++)
            failed |= starpu_mpi_task_insert(comm, &increment_cl, STARPU_RW, a, STARPU_R, b, 0);
        starpu_mpi_wait_for_all(comm);
        starpu_data_unregister(a);
        starpu_data_unregister(b);
        failed |= my_rank == 0 && value != 1 + 100 * 3;
        MPI_Comm_free(&comm);
        if (i == 19) before = resident_kib();
    }
    long grown = resident_kib() - before;
    const char *build = getenv("ORR_SANITIZER"); /* sanitizers keep freed memory for a while */
    fact(!failed && (grown < 1500 || (build && strcmp(build, "none") != 0)),
         "100 communicators, used and freed, leave no memory behind (%s)", grown < 1500 ? "none" : "they do");
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    other_order();
    other_order_large();
    halves();
    intersecting();
    reversed();
    flushed_in_part();
    threads();
    freed();
    freed_early();
    memory();
    return mpi_finish();
}
