/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes wrong between ranks is said and ends the job: ranks that die, stop or leave; ranks that
 * insert different tasks; messages without an other end or of another size or type; deadlocks. And what
 * is no failure is left alone. Each of failures_*.c names its part (FAILURES) and includes this file.
 * Threads: without arguments a program is the driver, which starts itself under mpirun for each case; a few
 * cases run at a time, as most of their time is waiting, and a thread for each reads what it says.
 * Owns: the processes of a case.
 * Not here: the logic of heartbeats in simulated time (pulse.c).
 */
#ifndef ORR_TESTS_FAILURES_H
#define ORR_TESTS_FAILURES_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <starpu_mpi.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/helper.h"
#include "tests/mpi/launches.h"

enum { RANKS = 3, OUTPUT_BYTES = 1 << 17, LIMIT_S = 40, CASES_MAX = 24, AT_A_TIME = 3 };

static int my_rank;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the cases, on each rank ---- */

/* The driver measures from here; it also sees that this process is gone in the end. */
static void event(void)
{
    fprintf(stderr, "EVENT %.3f\n", now_s());
}

static void nap_ms(int ms)
{
    for (double until = now_s() + 1e-3 * ms; now_s() < until;) usleep(1000);
}

static void add_func(void *buffers[], void *arg)
{
    (void)arg;
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]) + 1;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "add"
};
static struct starpu_codelet other_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "other"
};
static struct starpu_codelet wide_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_RW }, .name = "add"
};

enum { DATA = 6 };
static int values[DATA];
static starpu_data_handle_t handles[DATA];

/* Variable i has tag 10 + i and belongs to rank i % 3. */
static void open_data(void)
{
    for (int i = 0; i < DATA; i++) {
        values[i] = i;
        starpu_variable_data_register(&handles[i], my_rank == i % RANKS ? STARPU_MAIN_RAM : -1,
                                      my_rank == i % RANKS ? (uintptr_t)&values[i] : 0, sizeof values[i]);
        starpu_mpi_data_register(handles[i], 10 + i, i % RANKS);
    }
}

static void insert(struct starpu_codelet *cl, int to, int from)
{
    if (starpu_mpi_task_insert(MPI_COMM_WORLD, cl, cl->modes[0], handles[to], cl->modes[1], handles[from], 0))
        _exit(9);
}

static void close_data(void)
{
    for (int i = 0; i < DATA; i++) starpu_data_unregister(handles[i]);
}

/* A chain of tasks over all ranks; says whether it gave the right value. */
static void chain(int length)
{
    int expected[DATA];
    open_data();
    for (int i = 0; i < DATA; i++) expected[i] = i;
    for (int i = 0; i < length; i++) {
        insert(&add_cl, (i + 1) % DATA, i % DATA);
        expected[(i + 1) % DATA] += expected[i % DATA] + 1;
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < DATA; i++) {
        if (my_rank != i % RANKS) continue;
        starpu_data_acquire(handles[i], STARPU_R);
        fprintf(stderr, values[i] == expected[i] ? "RIGHT\n" : "WRONG\n");
        starpu_data_release(handles[i]);
    }
    close_data();
}

/* Waits for a message that never comes, busily outside of the runtime or blocked in it, according to rank. */
static void wait_in_vain(void)
{
    int x = 0;
    MPI_Status status;
    starpu_data_handle_t h;
    if (my_rank == 2) nap_ms(30000);
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    starpu_mpi_recv(h, 1, 1, MPI_COMM_WORLD, &status);
}

static void killed(void)
{
    if (my_rank != 1) wait_in_vain();
    nap_ms(300);
    event();
    raise(SIGKILL);
}

static void crash_func(void *buffers[], void *arg)
{
    (void)buffers;
    *(volatile int *)arg = 1;
}
static struct starpu_codelet crash_cl = { .cpu_funcs = { crash_func }, .name = "crasher" };

static void crashes(void)
{
    if (my_rank != 1) wait_in_vain();
    nap_ms(300);
    event();
    starpu_task_insert(&crash_cl, STARPU_NAME, "fatal", 0);
    starpu_task_wait_for_all();
}

/* Rank 0 has all of the work and lends it; the rank that this names dies in one of the tasks. */
static int dies_in_task = -1;

static void fatal_func(void *buffers[], void *arg)
{
    static atomic_int ran;
    (void)arg;
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    nap_ms(3);
    if (my_rank != dies_in_task || atomic_fetch_add(&ran, 1) != 10) return;
    event();
    raise(SIGKILL);
}
static struct starpu_codelet fatal_cl = {
    .cpu_funcs = { fatal_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "fatal"
};

static void lend_and_die(int who)
{
    enum { TASKS = 600 };
    static int v[TASKS];
    static starpu_data_handle_t h[TASKS];
    dies_in_task = who;
    for (int i = 0; i < TASKS; i++) {
        starpu_variable_data_register(&h[i], my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                      my_rank == 0 ? (uintptr_t)&v[i] : 0, sizeof v[i]);
        starpu_mpi_data_register(h[i], 200 + i, 0);
    }
    for (int i = 0; i < TASKS; i++)
        if (starpu_mpi_task_insert(MPI_COMM_WORLD, &fatal_cl, STARPU_RW, h[i], 0)) _exit(9);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < TASKS; i++) starpu_data_unregister(h[i]);
}

static void borrower_dies(void)
{
    lend_and_die(1);
}

static void lender_dies(void)
{
    lend_and_die(0);
}

static void stopped(void)
{
    if (my_rank != 1) wait_in_vain();
    nap_ms(300);
    event();
    raise(SIGSTOP);
    nap_ms(30000);
}

static void leaves(void)
{
    if (my_rank != 1) wait_in_vain();
    nap_ms(300);
    event();
    exit(0);
}

static void leaves_at_once(void)
{
    if (my_rank != 1) wait_in_vain();
    nap_ms(300);
    event();
    _exit(0);
}

static void stop_for(int seconds)
{
    pid_t parent = getpid(), child = my_rank == 1 ? fork() : -1;
    if (child == 0) {
        sleep((unsigned)seconds);
        if (getppid() == parent) kill(parent, SIGCONT);
        _exit(0);
    }
    if (my_rank == 1) raise(SIGSTOP);
    chain(60);
    if (child > 0) waitpid(child, NULL, 0);
}

static void stopped_for_3_s(void)
{
    stop_for(3);
}

static struct starpu_codelet one_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "one"
};

static void slow_func(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    nap_ms(2500);
}
static struct starpu_codelet slow_cl = { .cpu_funcs = { slow_func }, .name = "slow" };

/* With a short limit: rank 0 computes outside of the runtime, rank 1 in a task, rank 2 waits. */
static void computes(void)
{
    if (my_rank == 0) nap_ms(2500);
    if (my_rank == 1) starpu_task_insert(&slow_cl, 0);
    chain(30);
}

static void finalizes(void)
{
    int x = 0, flag = 0;
    starpu_data_handle_t h;
    starpu_mpi_req request;
    chain(6);
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    starpu_mpi_irecv(h, &request, (my_rank + 1) % RANKS, 5, MPI_COMM_WORLD);
    MPI_Finalize();
    if (starpu_mpi_test(&request, &flag, MPI_STATUS_IGNORE) == -ECANCELED && flag)
        fprintf(stderr, "CANCELLED\n");
    size_t bytes[RANKS];
    starpu_mpi_comm_stats_retrieve(bytes);
    if (starpu_mpi_isend_detached(h, 0, 6, MPI_COMM_WORLD, NULL, NULL) == -EINVAL)
        fprintf(stderr, "REFUSED\n");
    starpu_data_unregister(h);
    fprintf(stderr, "AFTERWARDS %d\n", starpu_mpi_shutdown());
    exit(0);
}

/* Streams: 40 equal insertions, one that differs on rank 1, 40 more. */
static void stream(void (*differs)(void))
{
    open_data();
    for (int i = 0; i < 40; i++) insert(&add_cl, (i + 1) % DATA, i % DATA);
    differs();
    for (int i = 0; i < 40; i++) insert(&add_cl, (i + 2) % DATA, i % DATA);
    event();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    close_data();
}

static void other_task(void)
{
    insert(my_rank == 1 ? &other_cl : &add_cl, 1, 0);
}
static void other_mode(void)
{
    insert(my_rank == 1 ? &wide_cl : &add_cl, 1, 0);
}
static void other_tag(void)
{
    insert(&add_cl, my_rank == 1 ? 4 : 5, 2);
}
static void missing(void)
{
    if (my_rank != 1) insert(&add_cl, 1, 2);
}
static void nothing(void)
{
}

static void stream_task(void)
{
    stream(other_task);
}
static void stream_mode(void)
{
    stream(other_mode);
}
static void stream_tag(void)
{
    stream(other_tag);
}
static void stream_missing(void)
{
    stream(missing);
}
static void stream_equal(void)
{
    stream(nothing);
}

static void add_vector(void *buffers[], void *arg)
{
    (void)arg;
    ++*(int *)STARPU_VECTOR_GET_PTR(buffers[0]);
}
static struct starpu_codelet add_vector_cl = {
    .cpu_funcs = { add_vector }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "add vector"
};

/* Rank 0 cuts its data, and the others know the pieces as data of their own; tag: of the whole; -1: none. */
static void pieces_of_one(int tag)
{
    enum { PIECES = 3, EACH = 4 };
    static int v[PIECES * EACH];
    struct starpu_data_filter thirds = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    starpu_data_handle_t whole = NULL, piece[PIECES];
    if (my_rank == 0) {
        starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)v, PIECES * EACH, sizeof v[0]);
        if (tag >= 0) starpu_mpi_data_register(whole, tag, 0);
        starpu_data_partition(whole, &thirds);
    }
    for (int i = 0; i < PIECES; i++) {
        if (my_rank == 0)
            piece[i] = starpu_data_get_sub_data(whole, 1, i);
        else
            starpu_vector_data_register(&piece[i], -1, 0, EACH, sizeof v[0]);
        starpu_mpi_data_register(piece[i], 80 + i, 0);
    }
    event();
    for (int i = 0; i < 12; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &add_vector_cl, STARPU_RW, piece[i % PIECES], STARPU_R,
                               piece[(i + 1) % PIECES], STARPU_EXECUTE_ON_NODE, i % 2, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < PIECES && my_rank != 0; i++) starpu_data_unregister(piece[i]);
    if (my_rank != 0) return;
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    starpu_data_unregister(whole);
    if (v[0] == 4 && v[EACH] == 4 && v[2 * EACH] == 4) fprintf(stderr, "RIGHT PIECES\n");
}

static void stream_pieces(void)
{
    pieces_of_one(-1);
}

static void stream_known_pieces(void)
{
    pieces_of_one(79);
}

/* Iterations that all ranks mark, and from the fifth on rank 1 does not; or that it alone marks. */
static void mark_iterations(int by_all)
{
    open_data();
    for (int i = 0; i < 8; i++) {
        int marks = i < by_all || (my_rank != 1) == (by_all > 0);
        if (i == by_all) event();
        if (marks) starpu_iteration_push((unsigned long)i);
        for (int k = 0; k < 20; k++) insert(&add_cl, k * 5 % 3, 3 + k % 3);
        if (marks) starpu_iteration_pop();
        starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    }
    close_data();
}

static void stream_marks(void)
{
    mark_iterations(4);
}

static void stream_marks_of_one(void)
{
    mark_iterations(0);
}

/* Loops pruned by hand: each rank inserts only what it runs or owns data of. What is read is not written. */
static void insert_own_part(int i)
{
    int to = (i * 5 + i / 7) % 3, from = 3 + (i / 2) % 3;
    if (to % RANKS == my_rank || from % RANKS == my_rank) insert(&add_cl, to, from);
}

static void stream_pruned(void)
{
    open_data();
    for (int i = 0; i < 200; i++) insert_own_part(i);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++) insert_own_part(i);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    close_data();
}

static void receive_alone(void);
static void pruned_stuck(void)
{
    open_data();
    for (int i = 0; i < 200; i++) insert_own_part(i);
    receive_alone();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
}

/* Where all ranks must insert the same: what cannot be is refused, each with its reason. */
static void *insert_aside(void *unused)
{
    (void)unused;
    if (starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, handles[1], STARPU_R, handles[0], 0) ==
        -EINVAL)
        fprintf(stderr, "REFUSED THREAD\n");
    return NULL;
}

static void stream_refused(void)
{
    pthread_t other;
    open_data();
    insert(&add_cl, 1, 0);
    pthread_create(&other, NULL, insert_aside, NULL);
    pthread_join(other, NULL);
    if (starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, handles[1], STARPU_R, NULL, 0) == -EINVAL)
        fprintf(stderr, "REFUSED NULL\n");
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    close_data();
}

static void stream_said_pruned(void)
{
    setenv("ORRERY_MPI_PRUNED", "1", 1);
    open_data();
    if (starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, handles[1], STARPU_R, handles[0], 0) ==
        -EINVAL)
        fprintf(stderr, "REFUSED PRUNED\n");
    close_data();
}

/* Far more insertions than the log holds, then one that differs. */
static void stream_long(void)
{
    open_data();
    for (int i = 0; i < 100000; i++) insert(&add_cl, 3, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    insert(my_rank == 2 ? &other_cl : &add_cl, 3, 0);
    for (int i = 0; i < 1000; i++) insert(&add_cl, 3, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    close_data();
}

static void receive_alone(void)
{
    int x = 0;
    MPI_Status status;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    event();
    if (my_rank == 1) starpu_mpi_recv(h, 0, 77, MPI_COMM_WORLD, &status);
    starpu_data_unregister(h);
}

/* A thread that the runtime does not know sends it after all. */
static void *late_sender(void *h)
{
    sleep(8);
    starpu_mpi_send(h, 1, 77, MPI_COMM_WORLD);
    return NULL;
}

static void receive_late(void)
{
    int x = 0;
    pthread_t thread;
    MPI_Status status;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    if (my_rank == 0) {
        pthread_create(&thread, NULL, late_sender, h);
        pthread_setname_np(thread, "late sender");
    }
    if (my_rank == 1) starpu_mpi_recv(h, 0, 77, MPI_COMM_WORLD, &status);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    if (my_rank == 0) pthread_join(thread, NULL);
    starpu_data_unregister(h);
}

static void send_alone(void)
{
    int x = 0;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    event();
    if (my_rank == 1) starpu_mpi_isend_detached(h, 0, 78, MPI_COMM_WORLD, NULL, NULL);
    starpu_data_unregister(h);
}

enum { MANY_SENDS = 40 };

static void sends_alone(void)
{
    int x[100] = { 0 };
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, sizeof x);
    event();
    for (int i = 0; i < MANY_SENDS && my_rank == 1; i++)
        starpu_mpi_isend_detached(h, 0, 100 + i, MPI_COMM_WORLD, NULL, NULL);
    starpu_data_unregister(h);
}

/* Rank 0 waits for a value of rank 1 whose task waits for data that rank 1's program holds. */
static void crossed(void)
{
    open_data();
    if (my_rank == 1) starpu_data_acquire(handles[1], STARPU_RW);
    insert(&add_cl, 1, 0);
    insert(&add_cl, 0, 1);
    event();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
}

/* Rank 1 keeps a piece and sends the whole. */
static void kept_piece(void)
{
    static int v[12];
    struct starpu_data_filter thirds = { .filter_func = starpu_vector_filter_block, .nchildren = 3 };
    starpu_data_handle_t whole, piece[3];
    starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)v, 12, sizeof v[0]);
    starpu_data_partition_plan(whole, &thirds, piece);
    starpu_data_set_name(whole, "whole");
    starpu_data_set_name(piece[1], "kept");
    if (my_rank == 1) starpu_data_acquire(piece[1], STARPU_RW);
    event();
    if (my_rank == 1) starpu_mpi_send(whole, 0, 90, MPI_COMM_WORLD);
    if (my_rank == 0) starpu_mpi_recv(whole, 1, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
}

/* Eight bytes on both ranks: two ints on the owner, one double elsewhere. */
static void register_unlike(starpu_data_handle_t *h, int elements, size_t bytes)
{
    static int pair[2];
    if (my_rank == 0)
        starpu_vector_data_register(h, STARPU_MAIN_RAM, (uintptr_t)pair, 2, sizeof(int));
    else if (elements)
        starpu_vector_data_register(h, -1, 0, (unsigned)elements, bytes);
    else
        starpu_variable_data_register(h, -1, 0, bytes);
    starpu_mpi_data_register(*h, 20, 0);
}

static void insert_unlike(int elements, size_t bytes)
{
    starpu_data_handle_t h;
    open_data();
    register_unlike(&h, elements, bytes);
    event();
    starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, handles[1], STARPU_R, h, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(h);
    close_data();
}

static void other_type(void)
{
    insert_unlike(0, 8);
}
static void other_size(void)
{
    insert_unlike(3, sizeof(int));
}

/* The same by the program's own messages: an error code, and the program goes on. */
static void own_type(void)
{
    static int pair[2];
    static double one;
    MPI_Status status;
    starpu_data_handle_t h;
    if (my_rank == 0)
        starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)pair, 2, sizeof(int));
    else
        starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&one, sizeof one);
    if (my_rank == 0) starpu_mpi_send(h, 1, 5, MPI_COMM_WORLD);
    if (my_rank == 1 && starpu_mpi_recv(h, 0, 5, MPI_COMM_WORLD, &status) == -EPROTOTYPE)
        fprintf(stderr, "REFUSED\n");
    starpu_data_unregister(h);
}

static void tell_func(void *buffers[], void *arg)
{
    add_func(buffers, arg);
    fprintf(stderr, "BODY RAN\n");
}
static struct starpu_codelet tell_cl = {
    .cpu_funcs = { tell_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "tell"
};

/* A task of rank 1 needs what rank 0 owns, and never wrote. */
static void unsent(void)
{
    starpu_data_handle_t h;
    open_data();
    starpu_variable_data_register(&h, -1, 0, sizeof(int));
    starpu_mpi_data_register(h, 20, 0);
    event();
    starpu_mpi_task_insert(MPI_COMM_WORLD, &tell_cl, STARPU_RW, handles[1], STARPU_R, h, 0);
    fprintf(stderr, "WAITED %d\n", starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    starpu_data_unregister(h);
    close_data();
}

/* A task waits for a receive that nobody sends for. */
static void task_behind_receive(void)
{
    int x = 0;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    event();
    if (my_rank == 1) {
        starpu_mpi_irecv_detached(h, 2, 79, MPI_COMM_WORLD, NULL, NULL);
        starpu_task_insert(&one_cl, STARPU_R, h, 0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(h);
}

static atomic_int holds;

static void *hold_for_13_s(void *arg)
{
    if (starpu_data_acquire(handles[0], STARPU_RW)) _exit(9);
    holds = 1;
    nap_ms(13000);
    values[0] += 100;
    starpu_data_release(handles[0]);
    return arg;
}

/* Rank 0 holds what a task of rank 1 reads, and one of its own; its main thread waits for that, or outside of
 * the runtime. */
static void held_for_13_s(bool main_waits)
{
    pthread_t thread;
    open_data();
    if (my_rank == 0) {
        if (pthread_create(&thread, NULL, hold_for_13_s, NULL)) _exit(9);
        while (!holds) usleep(1000);
    }
    insert(&add_cl, 1, 0);
    insert(&other_cl, 3, 0);
    if (my_rank == 0 && !main_waits) pthread_join(thread, NULL);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    if (my_rank == 0 && main_waits) pthread_join(thread, NULL);
    close_data();
    if (my_rank == 0 && values[3] == 104) fprintf(stderr, "RIGHT\n");
    if (my_rank == 1 && values[1] == 102) fprintf(stderr, "RIGHT\n");
}

static void held_and_waited_for(void)
{
    held_for_13_s(true);
}
static void held_for_long(void)
{
    held_for_13_s(false);
}

static void insert_ordered(struct starpu_codelet *cl, int to, int from, unsigned order)
{
    if (starpu_mpi_task_insert(MPI_COMM_WORLD, cl, STARPU_RW, handles[to], STARPU_R, handles[from],
                               STARPU_EXECUTE_ON_WORKER, 0, STARPU_WORKER_ORDER, order, 0))
        _exit(9);
}

/* On ranks 0 and 1 the second of the order gives what the first of the other rank needs. */
static void orders_crossed(void)
{
    open_data();
    event();
    insert_ordered(&add_cl, 0, 2, 2);
    insert_ordered(&add_cl, 1, 5, 2);
    insert_ordered(&other_cl, 3, 1, 1);
    insert_ordered(&other_cl, 4, 0, 1);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    close_data();
}

/* Rank 1 has an order that begins with 8. */
static void order_missing(void)
{
    open_data();
    event();
    insert_ordered(&add_cl, 1, 0, 8);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    close_data();
}

static const struct {
    const char *name;
    void (*body)(void);
} cases[] = {
    { "killed", killed },
    { "crashes", crashes },
    { "borrower_dies", borrower_dies },
    { "lender_dies", lender_dies },
    { "stopped", stopped },
    { "leaves", leaves },
    { "leaves_at_once", leaves_at_once },
    { "stopped_for_3_s", stopped_for_3_s },
    { "computes", computes },
    { "finalizes", finalizes },
    { "stream_task", stream_task },
    { "stream_mode", stream_mode },
    { "stream_tag", stream_tag },
    { "stream_missing", stream_missing },
    { "stream_marks", stream_marks },
    { "stream_marks_of_one", stream_marks_of_one },
    { "stream_equal", stream_equal },
    { "stream_pieces", stream_pieces },
    { "stream_known_pieces", stream_known_pieces },
    { "stream_long", stream_long },
    { "stream_refused", stream_refused },
    { "stream_said_pruned", stream_said_pruned },
    { "stream_pruned", stream_pruned },
    { "pruned_stuck", pruned_stuck },
    { "receive_alone", receive_alone },
    { "receive_late", receive_late },
    { "send_alone", send_alone },
    { "sends_alone", sends_alone },
    { "crossed", crossed },
    { "kept_piece", kept_piece },
    { "other_type", other_type },
    { "other_size", other_size },
    { "own_type", own_type },
    { "unsent", unsent },
    { "task_behind_receive", task_behind_receive },
    { "held_and_waited_for", held_and_waited_for },
    { "held_for_long", held_for_long },
    { "orders_crossed", orders_crossed },
    { "order_missing", order_missing },
};

static int rank_main(const char *name)
{
    struct starpu_conf conf;
    int provided;
    alarm(LIMIT_S);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    if (provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "NO THREADS\n");
        MPI_Finalize();
        return 0;
    }
    fprintf(stderr, "PID %d\n", (int)getpid());
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.precedence_over_environment_variables = 1;
    if (starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf)) return 8;
    for (unsigned i = 0; i < LENGTH(cases); i++)
        if (strcmp(cases[i].name, name) == 0) cases[i].body();
    int r = starpu_mpi_shutdown();
    fprintf(stderr, "SHUTDOWN %d\n", r);
    MPI_Finalize();
    return 0;
}

/* ---- the driver ---- */

struct outcome {
    int status;         /* of mpirun; -1: killed by a signal or after the limit */
    double after_event; /* seconds from the last event to the end of mpirun */
    double said_after;  /* to the first line about it */
    int left;           /* processes that are still there */
    char text[OUTPUT_BYTES];
};

/* A run of a case. */
struct job {
    const char *name, *option, *variable, *value;
    char folder[32]; /* of its launcher's: two that start at once trip over each other's */
    int fd;          /* what it says */
    pid_t child;
    pthread_t reader;
    struct outcome got;
};

static const char *program;
static struct job jobs[CASES_MAX];
static int planned, begun, ended; /* how many of them */
static bool planning;
static struct outcome got; /* of the run that facts are stated about */

/* How often text has something. */
static int count(const char *something)
{
    int n = 0;
    for (const char *p = got.text; (p = strstr(p, something)); p++) n++;
    return n;
}

static int has(const char *something)
{
    return count(something) > 0;
}

/* How many lines have both. */
static int lines_with(const char *one, const char *two)
{
    int n = 0;
    for (const char *p = got.text, *end; *p; p = *end ? end + 1 : end) {
        end = strchr(p, '\n');
        if (!end) end = p + strlen(p);
        const char *a = strstr(p, one), *b = strstr(p, two);
        n += a && a < end && b && b < end;
    }
    return n;
}

static void mpirun(const char *name, const char *option, const char *folder, int fd)
{
    const char *launcher = getenv("ORR_MPIRUN");
    char ranks[16];
    snprintf(ranks, sizeof ranks, "%d", RANKS);
    setpgid(0, 0);
    dup2(fd, 1);
    dup2(fd, 2);
    setenv("TMPDIR", folder, 1);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
    if (!launcher || !*launcher) launcher = "mpirun";
    if (option)
        execlp(launcher, launcher, option, "-n", ranks, program, "--case", name, (char *)NULL);
    else
        execlp(launcher, launcher, "-n", ranks, program, "--case", name, (char *)NULL);
    _exit(127);
}

/* Collects what is written until the end or the limit; notes when a line of ours first came. */
static void collect(int fd, pid_t child, struct outcome *o)
{
    size_t used = 0;
    double begin = now_s(), said = 0;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    for (ssize_t n = 1; n > 0 && used < OUTPUT_BYTES - 1;) {
        if (now_s() > begin + LIMIT_S) {
            kill(-child, SIGKILL);
            break;
        }
        if (poll(&p, 1, 100) <= 0) continue;
        n = read(fd, o->text + used, OUTPUT_BYTES - 1 - used);
        if (n > 0) used += (size_t)n;
        o->text[used] = 0;
        if (said == 0 && strstr(o->text, "orrery[rank")) said = now_s();
    }
    o->said_after = said;
}

/* Processes of the ranks that are not gone soon after the end. */
static int count_left(const struct outcome *o)
{
    int left = 0;
    for (const char *p = o->text; (p = strstr(p, "PID ")); p += 4) {
        pid_t pid = (pid_t)atoi(p + 4);
        for (int i = 0; i < 40 && pid > 0 && kill(pid, 0) == 0; i++) usleep(50000);
        left += pid > 0 && kill(pid, 0) == 0;
    }
    return left;
}

static void *read_job(void *arg)
{
    struct job *j = arg;
    struct outcome *o = &j->got;
    int status;
    collect(j->fd, j->child, o);
    close(j->fd);
    waitpid(j->child, &status, 0);
    double end = now_s(), event_at = 0;
    for (const char *p = o->text; (p = strstr(p, "EVENT ")); p += 6)
        if (atof(p + 6) > event_at) event_at = atof(p + 6);
    o->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    o->after_event = end - event_at;
    o->said_after -= event_at;
    o->left = count_left(o);
    return NULL;
}

static void begin_job(struct job *j)
{
    int fd[2];
    snprintf(j->folder, sizeof j->folder, "/tmp/orrery-case-XXXXXX");
    if (pipe2(fd, O_CLOEXEC) || !mkdtemp(j->folder)) exit(99);
    fflush(stdout);
    if (j->variable) setenv(j->variable, j->value, 1);
    j->child = fork();
    if (j->child == 0) mpirun(j->name, j->option, j->folder, fd[1]);
    if (j->variable) unsetenv(j->variable);
    close(fd[1]);
    j->fd = fd[0];
    if (pthread_create(&j->reader, NULL, read_job, j) != 0) exit(99);
}

static void remove_folder(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) diag("%s stays", folder);
}

/* Runs a case, and leaves in got how it went. A first pass over all calls only notes them (planning), so that
 * the second can begin the next cases while one is waited for. */
static void run(const char *name, const char *option, const char *variable, const char *value)
{
    if (planning) {
        if (planned == CASES_MAX) exit(99);
        jobs[planned++] =
            (struct job){ .name = name, .option = option, .variable = variable, .value = value };
        return;
    }
    while (begun < planned && begun < ended + AT_A_TIME) begin_job(&jobs[begun++]);
    pthread_join(jobs[ended].reader, NULL);
    remove_folder(jobs[ended].folder);
    got = jobs[ended++].got;
}

/* A fact about the last run; all of its output is shown when it fails. */
#define said(cond, ...)                                                                                      \
    do {                                                                                                     \
        if (!planning && !ok((cond), __VA_ARGS__)) show();                                                   \
    } while (0)

static void show(void)
{
    diag("status %d, %.2f s after the event, first said after %.2f s, %d processes left", got.status,
         got.after_event, got.said_after, got.left);
    for (const char *p = got.text, *end; *p; p = *end ? end + 1 : end) {
        end = strchr(p, '\n');
        if (!end) end = p + strlen(p);
        diag("%.*s", (int)(end - p), p);
    }
}

/* Anything of ours, but how the ranks share the node. */
static bool says_more(void)
{
    return lines_with("orrery", "") > lines_with("orrery", " node ");
}

static double slack = 3; /* ORR_SLACK=1 on an idle machine */

static void ends_within(double seconds, const char *what)
{
    if (!planning) diag("%s: said after %.2f s, over after %.2f s", what, got.said_after, got.after_event);
    said(got.status > 0 && got.after_event < seconds * slack && got.left == 0,
         "%s: the job ends soon, with a status that is not zero, and leaves no process", what);
}

static int is_open_mpi(void)
{
    static int known = -1;
    if (known < 0)
        known = system("${ORR_MPIRUN:-mpirun} --version 2>/dev/null | grep -q -e 'Open MPI' -e OpenRTE") == 0;
    return known;
}

/* Each, once. MPICH's launcher ends them all when the first of them ends the job, or leaves them no time at
 * all when a rank was killed. */
static int survivors_name(int gone)
{
    int naming = 0, survivors = RANKS - 1;
    for (int rank = 0; rank < RANKS; rank++) {
        char from[32], says[32];
        snprintf(from, sizeof from, "rank %d]", rank);
        snprintf(says, sizeof says, "rank %d is gone", gone);
        naming += rank != gone && lines_with(from, says) == 1;
    }
    return is_open_mpi() ? naming == survivors : naming > 0;
}

UNUSED static void dying(void)
{
    const char *recovery = is_open_mpi() ? "--enable-recovery" : NULL;
    run("killed", recovery, NULL, NULL);
    said(got.after_event < 5 * slack && got.left == 0,
         "a rank is killed, the launcher goes on: the others end");
    said(!recovery || survivors_name(1),
         "every survivor names it, once, when the launcher leaves them the time");
    run("killed", NULL, NULL, NULL);
    ends_within(5, "a rank is killed, and the launcher kills the others");
    run("crashes", NULL, NULL, NULL);
    ends_within(5, "a kernel of a rank crashes");
    said(lines_with("orrery[rank 1]: error: SIGSEGV", "in task fatal") == 1,
         "that rank names itself, the signal and the task");
    run("borrower_dies", recovery, "ORRERY_MPI_LEND", "1");
    said(got.after_event < 5 * slack && got.left == 0 && count("EVENT") == 1 &&
             (!recovery || survivors_name(1)),
         "a rank is killed in a task that it borrowed: the others end");
    run("lender_dies", recovery, "ORRERY_MPI_LEND", "1");
    said(got.after_event < 5 * slack && got.left == 0 && count("EVENT") == 1 &&
             (!recovery || survivors_name(0)),
         "a rank is killed while others have tasks of it: they end");
    run("stopped", NULL, NULL, NULL);
    ends_within(5, "a rank is stopped for ever");
    said(survivors_name(1), "every survivor names the stopped rank, once");
    run("leaves", NULL, NULL, NULL);
    ends_within(5, "a rank calls exit too early");
    said(survivors_name(1), "every survivor names the rank that called exit");
    run("leaves_at_once", recovery, NULL, NULL);
    said(got.after_event < 5 * slack && got.left == 0,
         "a rank calls _exit, the launcher goes on: the others end");
    said(!recovery || survivors_name(1), "every survivor names the rank that called _exit");
}

UNUSED static void living(void)
{
    run("stopped_for_3_s", NULL, NULL, NULL);
    said(got.status == 0 && count("RIGHT") == DATA && !has("gone"),
         "a rank that is stopped for 3 s goes on, with the right result");
    run("computes", NULL, "ORRERY_HEARTBEAT_MS", "1000");
    said(got.status == 0 && count("RIGHT") == DATA && !has("gone"),
         "ranks that compute for longer than the limit, in a task or outside of the runtime, are not given "
         "up");
    run("stopped_for_3_s", NULL, "ORRERY_HEARTBEAT_MS", "1000");
    said(got.status > 0 && has("rank 1 is gone"), "ORRERY_HEARTBEAT_MS=1000: they are given up after 1 s");
    run("stopped_for_3_s", NULL, "ORRERY_HEARTBEAT_MS", "0");
    said(got.status == 0 && count("RIGHT") == DATA, "ORRERY_HEARTBEAT_MS=0: nobody is given up");
    run("finalizes", NULL, NULL, NULL);
    said(has("MPI_Finalize was called before starpu_mpi_shutdown") && !has("gone"),
         "MPI_Finalize before starpu_mpi_shutdown is said");
    said(count("CANCELLED") == RANKS && count("AFTERWARDS -5") == RANKS && got.status == 0,
         "messages end with it, and starpu_mpi_shutdown returns -EIO after it");
    said(count("REFUSED") == RANKS, "calls in between are refused, and none of them reaches MPI");
    run("held_and_waited_for", NULL, NULL, NULL);
    said(got.status == 0 && count("RIGHT") == 2 && count("warning: deadlock? A thread waits") == 1,
         "a thread of rank 0 holds for 13 s what its main thread waits for: a warning after 10 s");
    said(lines_with("rank 0]",
                    "a send of tag 10 to rank 1 (4 bytes) waits for its data, which the program") == 1 &&
             lines_with("rank 0]", "task other") == 1 &&
             lines_with("starpu_data_acquire without starpu_data_release", "rank 0]") == 2,
         "with the message and the task that wait for it, and who has it");
    run("held_for_long", NULL, NULL, NULL);
    said(got.status == 0 && count("RIGHT") == 2 && !has("deadlock"),
         "the same while no thread of the rank waits for it: nothing is said");
}

static int names_difference(void)
{
    return lines_with("insert different tasks", "as insertion 41 rank") >= 1 &&
           lines_with("failures.h:", "as insertion 41") >= 1;
}

/* A placement for which all ranks must insert the same. */
static void whole_streams(void)
{
    static const char which[] = "ORRERY_MPI_SCHED", dmda[] = "dmda";
    run("stream_equal", NULL, which, dmda);
    said(got.status == 0 && !says_more(), "dmda, equal streams: nothing is said");
    run("stream_task", NULL, which, dmda);
    ends_within(5, "dmda, another task");
    said(got.status > 0 && names_difference(), "it is named with file and line, though it does no harm");
    run("stream_missing", NULL, which, dmda);
    ends_within(5, "dmda, a missing task");
    said(got.status > 0 && names_difference(), "it is named with file and line");
    run("stream_pruned", NULL, which, dmda);
    said(got.status > 0 && got.left == 0 && lines_with("insert different tasks", "failures.h:") > 0,
         "dmda, pruned loops: the job ends, and the first difference is named");
    run("stream_marks_of_one", NULL, which, dmda);
    said(got.status == 0 && !says_more(), "dmda, iterations that one rank alone marks: nothing is said");
    run("stream_marks", NULL, which, dmda);
    ends_within(5, "dmda, iterations that one rank marks no more");
    said(got.status > 0 && lines_with("insert different tasks", "starpu_iteration_push") > 0,
         "they are named");
    run("stream_pieces", NULL, which, dmda);
    said(got.status == 0 && count("RIGHT PIECES") == 1 && count("insert different") == 0,
         "dmda, pieces of rank 0 that others know as data of their own: they move");
    run("stream_known_pieces", NULL, which, dmda);
    ends_within(5, "dmda, the same, and the whole has a tag");
    said(got.status > 0 && lines_with("RW piece with tag 80", "on one rank must be so on all") > 0 &&
             lines_with("as insertion 1 rank", "failures.h:") > 0,
         "they are named with what to do, and where the program uses them first");
    run("stream_known_pieces", NULL, which, "owner");
    said(got.status == 0 && count("RIGHT PIECES") == 1 && count("insert different") == 0,
         "under owner-computes they may be so");
    run("stream_refused", NULL, which, dmda);
    said(count("REFUSED THREAD") == RANKS && lines_with("two threads insert", "failures.h:") == RANKS &&
             lines_with("starpu_mpi_task_insert (", "the other from ") == RANKS,
         "dmda: a second thread's insertion is refused, and why, with file and line of both");
    said(count("REFUSED NULL") == RANKS && has("a handle is NULL here"),
         "so is a handle that is NULL, and why");
    run("stream_said_pruned", NULL, which, dmda);
    said(count("REFUSED PRUNED") == RANKS && has("ORRERY_MPI_PRUNED=1 says"),
         "ORRERY_MPI_PRUNED=1 and dmda: refused, and why");
}

UNUSED static void streams(void)
{
    run("stream_equal", NULL, NULL, NULL);
    said(got.status == 0 && !says_more(), "equal streams: nothing is said");
    run("stream_task", NULL, NULL, NULL);
    said(got.status == 0 && count("insert different tasks") == 1 &&
             lines_with("warning",
                        "as insertion 41 rank 0 has task add (RW tag 11, R tag 10) to run on rank 1") == 1 &&
             lines_with("rank 1 has task other (RW tag 11, R tag 10) to run on rank 1", "failures.h:") == 1,
         "another task that does no harm: one warning names the first difference on both ranks");
    run("stream_task", NULL, "ORRERY_MPI_PRUNED", "1");
    said(got.status == 0 && !says_more(), "ORRERY_MPI_PRUNED=1: nothing is said");
    run("stream_pruned", NULL, NULL, NULL);
    said(got.status == 0 && !says_more(), "loops pruned by hand: nothing is said");
    run("pruned_stuck", NULL, NULL, NULL);
    said(has("a receive of tag 77 from rank 0") && !has("insert different tasks"),
         "pruned loops, and a receive that nobody sends for: the pruning is not called a cause");
    run("stream_mode", NULL, NULL, NULL);
    ends_within(5, "another mode");
    said(lines_with("insertion 41 rank 0 has task add (RW tag 11, R tag 10)",
                    "rank 1 has task add (RW tag 11, RW tag 10)") >= 1,
         "another mode: the first difference is named, with the modes of both ranks");
    run("stream_tag", NULL, NULL, NULL);
    ends_within(5, "another tag");
    said(lines_with("insertion 41 rank", "task add (RW tag 15, R tag 12)") >= 1 &&
             lines_with("insertion 41 rank", "rank 1 has task add (RW tag 14, R tag 12)") >= 1,
         "another tag: the first difference is named, with the tags of both ranks");
    run("stream_missing", NULL, NULL, NULL);
    ends_within(5, "a missing task");
    said(lines_with("insertion 41 rank 0 has task add (RW tag 11, R tag 12)",
                    "rank 1 has task add (RW tag 12, R tag 10)") >= 1,
         "a missing task: the first difference is named, with what either rank inserts there");
    run("stream_long", NULL, NULL, NULL);
    said(got.status == 0 && lines_with("insertion 100001 rank 0 has task add", "rank 2 has task other") == 1,
         "a difference after 100000 insertions is named");
    whole_streams();
}

/* A graph of the case "crossed": which is removed. */
static bool drawn(const char *path)
{
    char text[8192] = "";
    FILE *f = planning ? NULL : fopen(path, "r");
    if (!f) return false;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    remove(path);
    return strstr(text, "label=\"rank 0\";   n") && strstr(text, "\"receive of tag 11 from rank 1\"") &&
           strstr(text, "\"send of tag 11 to rank 0\"") && strstr(text, "[color=red]");
}

UNUSED static void messages(void)
{
    run("receive_alone", NULL, NULL, NULL);
    ends_within(4, "a receive without a send");
    said(lines_with("a receive of tag 77 from rank 0", "waits") == 1 && has("deadlock across ranks"),
         "the receive that nobody sends for is named");
    said(lines_with("rank 0]", "they wait in a circle: ") == 1 &&
             lines_with("rank 0]", "rank 0: send of tag 77 to rank 1 (not begun) -> rank 0: the program") ==
                 1,
         "and the circle: why the other rank does not send it");
    run("receive_alone", NULL, "ORRERY_MPI_LEND", "1");
    said(has("deadlock across ranks"), "also among ranks that ask each other for tasks meanwhile");
    run("receive_late", NULL, NULL, NULL);
    said(got.status == 0 && has("deadlock across ranks?") && has("late sender") &&
             !has("deadlock across ranks:"),
         "a thread that the runtime does not know sends after 8 s: the ranks warn, name it, and go on");
    run("send_alone", NULL, NULL, NULL);
    said(lines_with("rank 0]", "tag 78 from rank 1 was never received") == 1 && has("SHUTDOWN -5"),
         "a send without a receive is named at shutdown, which returns -EIO");
    run("sends_alone", NULL, NULL, NULL);
    said(lines_with("rank 0]", "from rank 1 was never received") == 16 &&
             lines_with("rank 0]", "and 24 more such messages") == 1,
         "of %d of them sixteen are named, and the others counted", MANY_SENDS);
    run("sends_alone", NULL, "ORRERY_MPI_EARLY_MIB", "0");
    said(lines_with("rank 1]", "a send of tag") == 16 && has("and 24 more messages") && !has("synchronous"),
         "where none is kept early their sender waits: it names them, and does not call them synchronous");
    static char drawing[64];
    snprintf(drawing, sizeof drawing, "/tmp/orrery-drawing-%d.dot", (int)getpid());
    run("crossed", NULL, "ORRERY_DEADLOCK_DOT", drawing);
    ends_within(4, "a deadlock through two ranks");
    said(lines_with("rank 0]", "a receive of tag 11 from rank 1") == 1 &&
             lines_with("rank 1]",
                        "which the program holds: starpu_data_acquire without starpu_data_release") == 2,
         "each rank says what it waits for");
    said(lines_with("rank 1]", "a send of tag 11 to rank 0 (4 bytes) waits for its data, which") == 1,
         "and which message waits for data that is in use");
    said(lines_with("they wait in a circle: rank 1: data",
                    "acquired by the program -> rank 1: the program") == 1,
         "the circle is named");
    said(drawn(drawing), "and drawn, with what each rank waits for");
    run("crossed", NULL, "ORRERY_MPI_SCHED", "dmda");
    said(lines_with("rank 1]", "a send of tag 11 to rank 0 (4 bytes, for insertion 2) waits for its data") ==
             1,
         "where all ranks see all insertions: for which one a message is");
    run("kept_piece", NULL, NULL, NULL);
    ends_within(4, "a piece that is kept while its parent is to be sent");
    said(lines_with("a send of tag 90 to rank 0 (48 bytes, data whole) waits for its data",
                    "whose partition waits for data \"kept\", which the program holds") == 1,
         "the send and the piece are named");
    run("other_type", NULL, NULL, NULL);
    ends_within(5, "the same bytes of another type");
    said(lines_with("a vector of 4-byte elements was sent",
                    "the receiving data is a variable of 8-byte elements") == 1,
         "both types are named");
    run("other_size", NULL, NULL, NULL);
    ends_within(5, "another size");
    said(lines_with("8 bytes were sent", "the receiving data has 12") == 1, "both sizes are named");
    run("own_type", NULL, NULL, NULL);
    said(got.status == 0 && has("REFUSED"), "in the program's own messages another type is an error code");
    run("unsent", NULL, NULL, NULL);
    said(!has("BODY RAN") && !has("WAITED 0\nWAITED 0\nWAITED 0"),
         "data that its owner never wrote: the task of another rank that reads it does not run");
    said(lines_with("rank 0]", "with tag 20 cannot be sent to rank 1") == 1 &&
             lines_with("rank 1]", "did not come from rank 0 (tag 20)") == 1,
         "both ranks name it");
    run("task_behind_receive", NULL, NULL, NULL);
    said(lines_with("task one", "the receive of tag 79 from rank 2 holds") == 1 &&
             !has("without starpu_data_release"),
         "a task behind a receive that nobody sends for: the receive holds its data, not the program");
    run("orders_crossed", NULL, NULL, NULL);
    ends_within(4, "orders on two ranks that go against the data between them");
    said(lines_with("they wait in a circle: rank 0", "order 2 on worker 0, ") == 1 &&
             lines_with("they wait in a circle: rank 0", "order 1 on worker 0, ") == 1 &&
             lines_with("they wait in a circle: rank 0", "rank 1: send of tag 11 to rank 0") == 1 &&
             lines_with("they wait in a circle: rank 0", "rank 0: send of tag 10 to rank 1") == 1,
         "the circle has tasks, ranks, workers and orders, and what is between them");
    run("order_missing", NULL, NULL, NULL);
    ends_within(4, "an order that is missing on one of three ranks");
    said(lines_with("rank 1]", "worker 0 waits for order 1 (STARPU_WORKER_ORDER), which no task has") == 1 &&
             lines_with("rank 1]", "order 8 on worker 0") > 0,
         "the number is named, and who has a later one");
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--case") == 0) return rank_main(argv[2]);
    program = argv[0];
    if (!may_launch()) return 0;
    if (getenv("ORR_SLACK")) slack = atof(getenv("ORR_SLACK"));
    planning = true;
    FAILURES();
    planning = false;
    FAILURES();
    return done_testing();
}

#endif
