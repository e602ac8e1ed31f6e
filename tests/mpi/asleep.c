/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * Ranks that wait sleep, and are woken by each other's messages, as by their own tasks: with what ranks of a
 * node share, and without it.
 * Threads: main of each rank; workers.
 * Owns: the data.
 * Not here: the handshake of who sleeps and who rings (bells.c, core/worker/bell.pml).
 */
#include <dirent.h>
#include <starpu_mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

enum { ROUNDS = SCALED(300, 60), STARTS = 5, WAIT_MS = 300, LARGE = 1 << 20, GIVE_UP_MS = 3000 };

static int rank;

static void start(const char *bells, int workers)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    setenv("ORRERY_MPI_BELLS", bells, 1);
    if (starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf)) exit(1);
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static long switches(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_nvcsw;
}

static void add_one(void *buffers[], void *args)
{
    (void)args;
    ++*(long *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet codelet = { .cpu_funcs = { add_one }, .nbuffers = 1, .modes = { STARPU_RW } };

/* Back and forth, with pauses in which all threads fall asleep. Returns what it counted. */
static long to_and_fro(starpu_data_handle_t h, int rounds, long pause_ms)
{
    for (int i = 0; i < rounds; i++) {
        if (i % 2 == rank) {
            if (pause_ms && i % 8 < 2) nap_ms(pause_ms);
            starpu_task_insert(&codelet, STARPU_RW, h, 0);
            starpu_mpi_send(h, 1 - rank, i, MPI_COMM_WORLD);
        } else {
            starpu_mpi_recv(h, 1 - rank, i, MPI_COMM_WORLD, NULL);
        }
    }
    starpu_data_acquire(h, STARPU_R);
    long count = *(long *)starpu_data_get_local_ptr(h);
    starpu_data_release(h);
    return count;
}

/* Voluntary switches of all threads of this rank while it waits for a message that is long in coming. */
static long switches_of_a_wait(starpu_data_handle_t h)
{
    long before = switches();
    if (rank == 0) nap_ms(WAIT_MS);
    if (rank == 0)
        starpu_mpi_send(h, 1, 7, MPI_COMM_WORLD);
    else
        starpu_mpi_recv(h, 0, 7, MPI_COMM_WORLD, NULL);
    return switches() - before;
}

/* Tasks of this rank alone, each submitted when all workers have had time to fall asleep beside a receive
 * that is outstanding. */
static void own_tasks_beside_a_receive(starpu_data_handle_t h, starpu_data_handle_t other)
{
    starpu_mpi_req r;
    if (rank == 1) starpu_mpi_irecv(other, &r, 0, 8, MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++) {
        nap_ms(1);
        starpu_task_insert(&codelet, STARPU_RW, h, 0);
        starpu_task_wait_for_all();
    }
    starpu_mpi_barrier(MPI_COMM_WORLD);
    if (rank == 0) starpu_mpi_send(other, 1, 8, MPI_COMM_WORLD);
    if (rank == 1) starpu_mpi_wait(&r, NULL);
}

static _Atomic long sleeps;

static void count_sleep(unsigned worker)
{
    (void)worker;
    atomic_fetch_add(&sleeps, 1);
}

/* A thread that waits for messages polls; workers that are awake do not go on to do so for ever. True: some
 * of both ranks have gone to sleep meanwhile, on a busy machine after some time. */
static int sleep_beside_messages(starpu_data_handle_t h)
{
    enum { HOPS = SCALED(20000, 2000), ROUNDS_MOST = 50 };
    int slept = 0;
    starpu_worker_set_going_to_sleep_callback(count_sleep);
    atomic_store(&sleeps, 0); /* before the task: who has run that may sleep at once, and stay asleep */
    starpu_task_insert(&codelet, STARPU_RW, h, 0);
    for (int round = 0; !slept && round < ROUNDS_MOST; round++) {
        for (int i = 0; i < HOPS; i++) {
            if (i % 2 == rank)
                starpu_mpi_send(h, 1 - rank, 12, MPI_COMM_WORLD);
            else
                starpu_mpi_recv(h, 1 - rank, 12, MPI_COMM_WORLD, NULL);
        }
        int mine = atomic_load(&sleeps) > 0;
        MPI_Allreduce(&mine, &slept, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    starpu_worker_set_going_to_sleep_callback(NULL);
    return slept;
}

static int large_is_whole(void)
{
    static char bytes[LARGE];
    starpu_data_handle_t h;
    int good = 1;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)bytes, LARGE, 1);
    for (int i = 0; i < 6; i++) {
        if (i % 2 == rank) {
            nap_ms(3);
            bytes[LARGE - 1] = (char)(i + 1);
            starpu_mpi_send(h, 1 - rank, 9, MPI_COMM_WORLD);
        } else {
            starpu_mpi_recv(h, 1 - rank, 9, MPI_COMM_WORLD, NULL);
            good &= bytes[LARGE - 1] == (char)(i + 1);
        }
    }
    starpu_data_unregister(h);
    return good;
}

static _Atomic int seconds_over, firsts_gave_up;

/* Until that is more; in vain is counted. */
static void wait_for_more(_Atomic int *count, int than, _Atomic int *in_vain)
{
    for (int ms = 0; atomic_load(count) <= than; ms++) {
        if (ms == GIVE_UP_MS) {
            atomic_fetch_add(in_vain, 1);
            return;
        }
        nap_ms(1);
    }
}

/* Waits for the second message, which may take as long as it likes. */
static void first_over(void *round)
{
    wait_for_more(&seconds_over, (int)(intptr_t)round, &firsts_gave_up);
}

static void second_over(void *arg)
{
    (void)arg;
    atomic_fetch_add(&seconds_over, 1);
}

/* A message wakes one worker, and what it calls lasts until the next one. Returns how often that did not come
 * in time. */
static int callbacks_beside_sleepers(starpu_data_handle_t h, starpu_data_handle_t other, int rounds)
{
    atomic_store(&seconds_over, 0);
    atomic_store(&firsts_gave_up, 0);
    for (int i = 0; i < rounds; i++) {
        if (rank == 1) {
            starpu_mpi_irecv_detached(h, 0, 10, MPI_COMM_WORLD, first_over, (void *)(intptr_t)i);
            starpu_mpi_irecv_detached(other, 0, 11, MPI_COMM_WORLD, second_over, NULL);
            while (atomic_load(&seconds_over) <= i) nap_ms(1);
        } else {
            nap_ms(20); /* they fall asleep */
            starpu_mpi_send(h, 1, 10, MPI_COMM_WORLD);
            nap_ms(20);
            starpu_mpi_send(other, 1, 11, MPI_COMM_WORLD);
        }
        starpu_mpi_barrier(MPI_COMM_WORLD);
    }
    return atomic_load(&firsts_gave_up);
}

static _Atomic int sent, never_sent;

static void wait_until_sent(void *unused)
{
    (void)unused;
    wait_for_more(&sent, 0, &never_sent);
}

static void note_sent(void *unused)
{
    (void)unused;
    atomic_store(&sent, 1);
}

static void nap_body(void *buffers[], void *args)
{
    long ms;
    (void)buffers;
    starpu_codelet_unpack_args(args, &ms);
    nap_ms(ms);
}

/* A message calls a function, in the progress thread while both workers are busy, that waits for what is
 * called when a task lets go of a value; so does that task's own callback, on its worker. The other worker
 * sleeps by then. Returns how many waited in vain. */
static int callbacks_beside_callbacks(starpu_data_handle_t h, starpu_data_handle_t other)
{
    static struct starpu_codelet nap = { .cpu_funcs = { nap_body }, .nbuffers = 1, .modes = { STARPU_RW } };
    static long own;
    const long long_ms = 200, short_ms = 60;
    starpu_data_handle_t o;
    atomic_store(&sent, 0);
    atomic_store(&never_sent, 0);
    starpu_variable_data_register(&o, STARPU_MAIN_RAM, (uintptr_t)&own, sizeof own);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        starpu_task_insert(&nap, STARPU_RW, h, STARPU_VALUE, &long_ms, sizeof long_ms, STARPU_CALLBACK,
                           wait_until_sent, 0);
        starpu_task_insert(&nap, STARPU_RW, o, STARPU_VALUE, &short_ms, sizeof short_ms, 0);
        starpu_mpi_isend_detached(h, 0, 13, MPI_COMM_WORLD, note_sent, NULL);
        starpu_mpi_irecv_detached(other, 0, 14, MPI_COMM_WORLD, wait_until_sent, NULL);
        for (int ms = 0; !atomic_load(&sent) && ms < 2 * GIVE_UP_MS; ms++) nap_ms(1);
        starpu_task_wait_for_all();
    } else {
        nap_ms(20);
        starpu_mpi_send(other, 1, 14, MPI_COMM_WORLD);
        starpu_mpi_recv(h, 1, 13, MPI_COMM_WORLD, NULL);
    }
    starpu_mpi_barrier(MPI_COMM_WORLD);
    starpu_data_unregister(o);
    return atomic_load(&never_sent);
}

static void run(const char *bells)
{
    static long value, other;
    starpu_data_handle_t h, o;
    start(bells, 2);
    value = 0;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_variable_data_register(&o, STARPU_MAIN_RAM, (uintptr_t)&other, sizeof other);
    is_int(to_and_fro(h, ROUNDS, 0), ROUNDS, "bells %s: messages to and fro count on", bells);
    long waited = switches_of_a_wait(o);
    if (bells[0] == '1' && !SANITIZED)
        ok(rank == 0 || waited < 250, "a rank that waits %d ms for a message sleeps (%ld switches)", WAIT_MS,
           waited);
    starpu_data_acquire(h, STARPU_W);
    *(long *)starpu_data_get_local_ptr(h) = 0;
    starpu_data_release(h);
    own_tasks_beside_a_receive(h, o);
    starpu_data_acquire(h, STARPU_R);
    is_int(*(long *)starpu_data_get_local_ptr(h), 20, "tasks wake workers that listen for messages");
    starpu_data_release(h);
    ok(sleep_beside_messages(o),
       "workers fall asleep beside a thread that waits for one message after another");
    ok(large_is_whole(), "large messages find who sleeps");
    if (bells[0] == '1')
        is_int(callbacks_beside_sleepers(h, o, 2), 0,
               "a callback that waits for the next message holds up its thread alone");
    is_int(callbacks_beside_callbacks(h, o), 0, "nor do two that wait for a third hold up all threads");
    starpu_data_unregister(h);
    starpu_data_unregister(o);
    is_int(starpu_mpi_shutdown(), 0, "the layer ends beside workers that sleep");
}

/* The layer comes and goes while the runtime, and its workers, stay. */
static void start_again(void)
{
    long value = 0;
    starpu_data_handle_t h;
    int bad = starpu_init(NULL);
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < STARTS; i++) {
        nap_ms(1); /* they sleep at their own words */
        bad |= starpu_mpi_init(NULL, NULL, 0);
        to_and_fro(h, 6, 2);
        bad |= starpu_mpi_shutdown();
        for (int k = 0; k < 10; k++) starpu_task_insert(&codelet, STARPU_RW, h, 0);
        starpu_task_wait_for_all();
    }
    starpu_data_unregister(h);
    starpu_shutdown();
    is_int(bad, 0, "the layer starts and ends %d times beside the same workers", STARTS);
    ok(value >= STARTS * 10, "and their tasks run in between");
}

/* Of the thread of this process with that name; -1: there is none. */
static long switches_of(const char *thread)
{
    char path[300], line[100];
    long count = -1;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *d; threads && (d = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/status", d->d_name);
        FILE *f = fopen(path, "r");
        int is_it = 0;
        while (f && fgets(line, sizeof line, f)) {
            if (strncmp(line, "Name:\t", 6) == 0)
                is_it = strncmp(line + 6, thread, strlen(thread)) == 0 && line[6 + strlen(thread)] == '\n';
            if (is_it) sscanf(line, "voluntary_ctxt_switches: %ld", &count);
        }
        if (f) fclose(f);
    }
    if (threads) closedir(threads);
    return count;
}

static void last_a_ms(void *buffers[], void *args)
{
    double end = starpu_timing_now() + 1000;
    while (starpu_timing_now() < end) continue;
    add_one(buffers, args);
}

static long switches_of_main(void)
{
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    return u.ru_nvcsw;
}

struct woken {
    double progress, main; /* times a second: the progress thread, and who waits */
    int good;              /* its times could be read, and all tasks ran */
};

/* Kernels of 1 ms on both ranks, in so many chains, each of which reads what the other rank wrote. */
static struct woken run_chains(int chains, int steps, int (*wait)(MPI_Comm comm))
{
    enum { CHAINS_MOST = 4 };
    static long value[2 * CHAINS_MOST];
    static struct starpu_codelet step = { .cpu_funcs = { last_a_ms },
                                          .nbuffers = 2,
                                          .modes = { STARPU_RW, STARPU_R } };
    starpu_data_handle_t h[2 * CHAINS_MOST];
    start("1", 1);
    for (int i = 0; i < 2 * chains; i++) {
        value[i] = 0;
        starpu_variable_data_register(&h[i], i % 2 == rank ? STARPU_MAIN_RAM : -1,
                                      i % 2 == rank ? (uintptr_t)&value[i] : 0, sizeof value[i]);
        starpu_mpi_data_register(h[i], i, i % 2);
    }
    starpu_mpi_barrier(MPI_COMM_WORLD);
    double begin = starpu_timing_now();
    long before = switches_of("orr-mpi");
    for (int i = 0; i < steps; i++)
        for (int k = 0; k < 2 * chains; k++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &step, STARPU_RW, h[k], STARPU_R, h[k ^ 1], 0);
    long main_before = switches_of_main();
    wait(MPI_COMM_WORLD);
    double woken = (double)(switches_of("orr-mpi") - before), s = (starpu_timing_now() - begin) * 1e-6,
           main_woken = (double)(switches_of_main() - main_before);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < 2 * chains; i++) starpu_data_unregister(h[i]);
    starpu_mpi_shutdown();
    diag("woken %.0f and %.0f times in %.2f s", woken, main_woken, s);
    return (struct woken){ woken / s, main_woken / s, before >= 0 && value[rank] == steps };
}

/* The workers poll between kernels, so the progress thread, which takes a core of theirs each time, has
 * nothing to look for (it woke 360 times a second); nor has, beside workers that never wait, the thread that
 * waits for all (580). Where other programs run, workers come by less often: then once more. */
static void kernels_are_left_alone(int chains, int steps, int (*wait)(MPI_Comm comm), double most,
                                   double main_most)
{
    enum { TRIES = 4 };
    bool has_core = sysconf(_SC_NPROCESSORS_ONLN) > 2;
    struct woken w = { 0 };
    int good = 1;
    for (int i = 0, alone = 0; i < TRIES && !alone; i++) {
        w = run_chains(chains, steps, wait);
        good &= w.good;
        int mine = w.progress < most && (has_core || w.main < main_most);
        MPI_Allreduce(&mine, &alone, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    ok(w.progress < most, "the progress thread leaves kernels alone that end one after another in %d chains",
       chains);
    if (has_core)
        skip("the thread that waits for all has a core for itself");
    else
        ok(w.main < main_most, "and so does the thread that waits for all");
    ok(good, "and all of them ran, each time");
}

static int wait_for_tasks(MPI_Comm unused)
{
    (void)unused;
    return starpu_task_wait_for_all();
}

int main(int argc, char **argv)
{
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &(int){ 0 });
    setenv("ORRERY_HEARTBEAT_MS", "0", 1); /* a beat would look for messages, too */
    run("1");
    run("0");
    kernels_are_left_alone(1, 300, wait_for_tasks, 200, 200);
    kernels_are_left_alone(4, 150, starpu_mpi_wait_for_all, 280, 280);
    unsetenv("ORRERY_MPI_BELLS");
    start_again();
    MPI_Finalize();
    return done_testing();
}
