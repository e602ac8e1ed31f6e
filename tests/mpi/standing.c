/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What orrery_why says of messages while ranks run: those that wait for their other ends or their data, with
 * a task behind them or without, and tasks whose data they hold; and under load, when all of them move.
 * ranks: 2 3
 * Threads: main; one waits for a message; tools are children of rank 0. Owns: pages, in the folder that each
 * run has for itself. Not here: tasks that wait for others (tests/tools/why.c), deadlocks (failures.h).
 */
#include <pthread.h>

#include "tests/mpi/helper_mpi.h"
#include "tests/tools/runs.h"

enum { COMES = 7, HELD, SYNCHRONOUS, WAITED, EARLY, USED, LARGE, TAGS };
enum { LARGE_BYTES = 4 << 20, ASKED = SCALED(12, 6), SMALL = 64 };

static char large[LARGE_BYTES];
static int value[TAGS];
static starpu_data_handle_t data[TAGS];
static const char *const names[TAGS] = {
    [COMES] = "comes", [HELD] = "held", [SYNCHRONOUS] = "sync", [WAITED] = "waited",
    [EARLY] = "early", [USED] = "used", [LARGE] = "large"
};

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet reads = {
    .cpu_funcs = { nothing }, .nbuffers = 1, .modes = { STARPU_R }, .name = "reads"
};
static struct starpu_codelet gated = {
    .cpu_funcs = { gate_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "gated"
};

static int submit(struct starpu_codelet *cl, starpu_data_handle_t h, void *arg)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->handles[0] = h;
    t->cl_arg = arg;
    return starpu_task_submit(t);
}

static void register_all(void)
{
    for (int i = COMES; i < LARGE; i++)
        starpu_variable_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)&value[i], sizeof value[i]);
    starpu_vector_data_register(&data[LARGE], STARPU_MAIN_RAM, (uintptr_t)large, LARGE_BYTES, 1);
    for (int i = COMES; i < TAGS; i++) starpu_data_set_name(data[i], names[i]);
}

static void *wait_for_one(void *failed)
{
    *(int *)failed = starpu_mpi_recv(data[WAITED], 1, WAITED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

/* Whether the answer says it; the other rank's part of it may be on its way. */
static int comes_to_say(const char *text)
{
    for (int i = 0; i < 200; i++) {
        if (run("tools/orrery_why %d", (int)getpid()) != 0) break;
        if (strstr(output, text)) return 1;
        usleep(10000);
    }
    return says(text);
}

static void look(void)
{
    fact(comes_to_say(
             "waits for data \"comes\", which the receive of tag 7 from rank 1 holds, until its other "
             "end comes\n"),
         "a task waits for data that a message is to bring: which, and for whom that waits");
    fact(comes_to_say("a receive of tag 7 from rank 1 (4 bytes, data comes) waits for its other end: not "
                      "announced\n"),
         "that message is told by itself, too");
    fact(comes_to_say("a send of tag 8 to rank 1 (4 bytes, data held) waits for its data, which no task or "
                      "message has: the program holds it\n"),
         "one waits for data that the program has");
    fact(comes_to_say("a send of tag 12 to rank 1 (4 bytes, data used) waits for its data, which task gated "
                      "(job "),
         "one for data that a task has");
    fact(comes_to_say("a synchronous send of tag 9 to rank 1 (4 bytes, data sync) waits for its other end: "
                      "sent\n"),
         "a synchronous send waits for its receive");
    fact(comes_to_say("a receive of tag 10 from rank 1 (4 bytes, data waited) waits for its other end"),
         "a thread waits for a message without a task");
    fact(comes_to_say("a message of 4 bytes with tag 11 came from rank 1, and no receive was started for it"),
         "a message came that nobody has asked for");
    fact(
        comes_to_say("a send of tag 13 to rank 1 (4194304 bytes, data large) is announced, and its bytes are "
                     "on their way\n"),
        "a large one is announced");
    fact(comes_to_say("this rank waits for rank 0 in a barrier"), "and another rank waits in a barrier");
}

/* Rank 0 has the one end of each, and looks; then rank 1 the other. */
static void all_stand(void)
{
    struct gate gate = { 0 };
    pthread_t thread;
    int failed = 0, received = 0;
    register_all();
    if (my_rank == 0) {
        failed |= starpu_data_acquire(data[HELD], STARPU_RW);
        failed |= submit(&gated, data[USED], &gate);
        gate_wait_entered(&gate, 1);
        failed |= starpu_mpi_irecv_detached(data[COMES], 1, COMES, MPI_COMM_WORLD, NULL, NULL);
        failed |= submit(&reads, data[COMES], NULL);
        failed |= starpu_mpi_isend_detached(data[HELD], 1, HELD, MPI_COMM_WORLD, NULL, NULL);
        failed |= starpu_mpi_isend_detached(data[USED], 1, USED, MPI_COMM_WORLD, NULL, NULL);
        failed |= starpu_mpi_issend_detached(data[SYNCHRONOUS], 1, SYNCHRONOUS, MPI_COMM_WORLD, NULL, NULL);
        failed |= starpu_mpi_isend_detached(data[LARGE], 1, LARGE, MPI_COMM_WORLD, NULL, NULL);
        failed |= pthread_create(&thread, NULL, wait_for_one, &received);
        look();
        starpu_data_release(data[HELD]);
        gate_open(&gate);
    } else {
        if (my_rank == 1)
            failed |= starpu_mpi_isend_detached(data[EARLY], 0, EARLY, MPI_COMM_WORLD, NULL, NULL);
        for (int i = 0; i < 9; i++) fact(1, "rank 0 looks");
    }
    starpu_mpi_barrier(MPI_COMM_WORLD);
    static const int from_zero[] = { HELD, USED, SYNCHRONOUS, LARGE };
    for (unsigned i = 0; my_rank == 1 && i < LENGTH(from_zero); i++)
        failed |= starpu_mpi_irecv_detached(data[from_zero[i]], 0, from_zero[i], MPI_COMM_WORLD, NULL, NULL);
    if (my_rank == 1) {
        failed |= starpu_mpi_isend_detached(data[COMES], 0, COMES, MPI_COMM_WORLD, NULL, NULL);
        failed |= starpu_mpi_isend_detached(data[WAITED], 0, WAITED, MPI_COMM_WORLD, NULL, NULL);
    } else if (my_rank == 0) {
        failed |= starpu_mpi_irecv_detached(data[EARLY], 1, EARLY, MPI_COMM_WORLD, NULL, NULL);
        pthread_join(thread, NULL);
    }
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(failed == 0 && received == 0, "and all go on to their end");
    for (int i = COMES; i < TAGS; i++) starpu_data_unregister(data[i]);
}

static atomic_int over;

/* Values go round all ranks, each time changed by a task, until rank 0 says that it is enough; what is sent
 * and received is registered anew each time. */
static void go_round(void)
{
    int next = (my_rank + 1) % ranks, prior = (my_rank + ranks - 1) % ranks, stop = 0;
    while (!stop) {
        static int small[2][SMALL];
        starpu_data_handle_t out[SMALL], in[SMALL];
        for (int i = 0; i < SMALL; i++) {
            starpu_variable_data_register(&out[i], STARPU_MAIN_RAM, (uintptr_t)&small[0][i], sizeof(int));
            starpu_variable_data_register(&in[i], STARPU_MAIN_RAM, (uintptr_t)&small[1][i], sizeof(int));
            starpu_data_set_name(in[i], "round");
            starpu_mpi_irecv_detached(in[i], prior, 100 + i, MPI_COMM_WORLD, NULL, NULL);
            submit(&reads, in[i], NULL);
            submit(&reads, out[i], NULL);
            starpu_mpi_isend_detached(out[i], next, 100 + i, MPI_COMM_WORLD, NULL, NULL);
        }
        for (int i = 0; i < SMALL; i++) {
            starpu_data_unregister(out[i]);
            starpu_data_unregister(in[i]);
        }
        stop = my_rank == 0 && atomic_load(&over);
        MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

static void *ask_on_and_on(void *answered)
{
    const char *times = getenv("ORR_TEST_ASKED");
    int asked = times ? atoi(times) : ASKED;
    for (int i = 0; i < asked; i++)
        *(int *)answered += run("tools/orrery_why %d", (int)getpid()) == 0 && says(" tasks wait for others");
    *(int *)answered -= asked;
    atomic_store(&over, 1);
    return NULL;
}

static void all_move(void)
{
    pthread_t thread;
    int missing = 0;
    if (my_rank == 0) pthread_create(&thread, NULL, ask_on_and_on, &missing);
    go_round();
    if (my_rank == 0) pthread_join(thread, NULL);
    fact(missing == 0, "ranks whose messages all move answer each time, and come to no harm");
}

int main(int argc, char **argv)
{
    setenv("ORRERY_LIVE", getenv("STARPU_HOME") ? getenv("STARPU_HOME") : "/tmp", 1);
    setenv("ORRERY_ON_DEADLOCK", "off", 1);
    mpi_start(&argc, &argv, 1);
    all_stand();
    all_move();
    return mpi_finish();
}
