/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 *
 * Lending beside what a program may do meanwhile: the borrower waits for its own tasks, pauses its workers,
 * and its kernels ask what they are called with; a codelet's memory becomes another codelet. Threads: main of
 * each rank, workers. Owns: the data. Not here: that tasks are lent (lending_mpi.c).
 */
#include <stdatomic.h>
#include <unistd.h>

#include "mpi/api/session.h"
#include "mpi/value/borrow.h"
#include "mpi/value/hungry.h"
#include "tests/mpi/helper_mpi.h"

enum { TASKS = 60, VALUES = 64, NAP_US = 3000, GIVE_UP_MS = 5000 };

static int value[TASKS][VALUES];
static starpu_data_handle_t handle[TASKS];
static atomic_int inside, gave_up, mistaken, ran_here;
static atomic_bool gated, open_gate;

static void nap_ms(void)
{
    usleep(1000);
}

/* Whether it comes true. */
static int soon(atomic_int *count, int at_least)
{
    int ms = 0;
    for (; atomic_load(count) < at_least && ms < GIVE_UP_MS; ms++) nap_ms();
    return ms < GIVE_UP_MS;
}

/* In a kernel, until the program opens the gate. */
static void until_let_go(void)
{
    int ms = 0;
    atomic_fetch_add(&inside, 1);
    for (; !atomic_load(&open_gate) && ms < GIVE_UP_MS; ms++) nap_ms();
    if (ms == GIVE_UP_MS) atomic_fetch_add(&gave_up, 1);
}

/* value[0] += the argument; value[1]: the rank. On rank 1 it waits until the program lets it go. */
static void work(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), step;
    const struct starpu_task *t = starpu_task_get_current();
    starpu_codelet_unpack_args(arg, &step);
    if (STARPU_TASK_GET_NBUFFERS(t) != 1 || t->cl_arg != arg ||
        strcmp(starpu_task_get_name(starpu_task_get_current()), "work"))
        atomic_fetch_add(&mistaken, 1);
    usleep(NAP_US);
    if (my_rank == 1 && atomic_load(&gated)) until_let_go();
    v[0] += step;
    v[1] = my_rank;
    atomic_fetch_add(&ran_here, 1);
}
static struct starpu_codelet work_cl = { .cpu_funcs = { work },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "work" };

static void begin_values(void)
{
    for (int i = 0; i < TASKS; i++) {
        memset(value[i], 0, sizeof value[i]);
        starpu_vector_data_register(&handle[i], my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                    my_rank == 0 ? (uintptr_t)value[i] : 0, VALUES, sizeof value[i][0]);
        starpu_mpi_data_register(handle[i], i, 0);
    }
}

/* All run on rank 0, or are lent. */
static void insert_all(struct starpu_codelet *cl, int step)
{
    for (int i = 0; i < TASKS; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, cl, STARPU_RW, handle[i], STARPU_VALUE, &step, sizeof step, 0);
}

/* Whether each value is the sum; *elsewhere_out: so many were made by rank 1 last. */
static int end_values(int sum, int *elsewhere_out)
{
    int right = 1;
    *elsewhere_out = 0;
    for (int i = 0; i < TASKS; i++) starpu_data_unregister(handle[i]);
    for (int i = 0; i < TASKS && my_rank == 0; i++) {
        right &= value[i][0] == sum;
        *elsewhere_out += value[i][1] == 1;
    }
    return right;
}

/* What is borrowed is nothing that the borrower's program waits for. */
static void waits(void)
{
    int elsewhere;
    begin_values();
    atomic_store(&gated, true);
    insert_all(&work_cl, 1);
    if (my_rank == 1) {
        fact(soon(&inside, 1), "a rank without work borrows tasks");
        int left = starpu_task_nsubmitted();
        starpu_task_wait_for_all();
        fact(left == 0 && gave_up == 0 && atomic_load(&inside) > 0,
             "who waits for all tasks of its own does not wait for those that it borrowed");
    } else {
        fact(1, "a rank without work borrows tasks");
        fact(1, "who waits for all tasks of its own does not wait for those that it borrowed");
    }
    atomic_store(&open_gate, true);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    atomic_store(&gated, false);
    fact(end_values(1, &elsewhere), "and they end");
    fact(mistaken == 0,
         "kernels see how many data a task has, its arguments and name, where they were lent (%d do not)",
         mistaken);
}

/* Workers that are paused borrow nothing, and what comes nevertheless goes back. */
static void pauses(void)
{
    int elsewhere, none = 0;
    begin_values();
    starpu_mpi_barrier(MPI_COMM_WORLD);
    if (my_rank == 1) starpu_pause();
    insert_all(&work_cl, 2);
    if (my_rank == 0) {
        starpu_task_wait_for_all();
        MPI_Send(&none, 1, MPI_INT, 1, 77, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&none, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        starpu_resume();
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(end_values(2, &elsewhere), "a rank whose workers are paused holds up nobody's tasks");
}

/* A rank pauses that has borrowed tasks which no worker of its has begun, and meets the other one before it
 * resumes. */
static void pauses_with_guests(void)
{
    enum { ROUNDS = 4 };
    int elsewhere;
    begin_values();
    for (int round = 0; round < ROUNDS; round++) {
        insert_all(&work_cl, 1);
        if (my_rank == 1) {
            usleep(30000 + 731 * (unsigned)round);
            starpu_pause();
            starpu_mpi_barrier(MPI_COMM_WORLD);
            starpu_resume();
        } else {
            starpu_task_wait_for_all();
            starpu_mpi_barrier(MPI_COMM_WORLD);
        }
        starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    }
    fact(end_values(ROUNDS, &elsewhere), "nor does one that had borrowed some when it paused them");
}

/* The same where the workers leave the main context, and the rank hears no more until the other one's tasks
 * are over. */
static void leaves_with_guests(void)
{
    enum { ROUNDS = 4, ENOUGH = 5 };
    int elsewhere, none = 0, ids[STARPU_NMAXWORKERS];
    unsigned n = starpu_worker_get_count(), ctx;
    for (unsigned i = 0; i < n; i++) ids[i] = (int)i;
    atomic_store(&ran_here, 0);
    begin_values();
    for (int round = 1; round <= ROUNDS; round++) insert_all(&work_cl, 1);
    if (my_rank == 1) {
        soon(&ran_here, ENOUGH);
        ctx = starpu_sched_ctx_create(ids, (int)n, "away", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
        starpu_sched_ctx_remove_workers(ids, n, 0);
        MPI_Recv(&none, 1, MPI_INT, 0, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        starpu_sched_ctx_add_workers(ids, n, 0);
        starpu_sched_ctx_delete(ctx);
    } else {
        starpu_task_wait_for_all();
        MPI_Send(&none, 1, MPI_INT, 1, 78, MPI_COMM_WORLD);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(end_values(ROUNDS, &elsewhere), "nor one whose workers leave the main context with some");
}

static atomic_bool others_done;
static atomic_int held_for_ms;

static void brief(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    usleep(1000);
    v[0]++;
    v[1] = my_rank;
}
static struct starpu_codelet brief_cl = { .cpu_funcs = { brief },
                                          .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                          .name = "brief" };

/* Until the other rank's tasks are over. */
static void hold(void *buffers[] UNUSED, void *arg UNUSED)
{
    int ms = 0;
    for (; !atomic_load(&others_done) && ms < GIVE_UP_MS; ms++) nap_ms();
    if (ms > atomic_load(&held_for_ms)) atomic_store(&held_for_ms, ms);
}
static struct starpu_codelet hold_cl = { .cpu_funcs = { hold }, .name = "hold" };

/* The workers of a rank that has borrowed tasks turn to long ones of its own, which here last until those
 * are over: they go back. */
static void turns_away_with_guests(void)
{
    enum { ROUNDS = SCALED(40, 10) };
    int elsewhere, none = 0, stuck = 0;
    begin_values();
    int rounds = 0;
    for (; rounds < ROUNDS && !stuck; rounds++) {
        insert_all(&brief_cl, 1);
        if (my_rank == 1) {
            atomic_store(&others_done, false);
            usleep(5000 + 997 * (unsigned)(rounds % 20));
            for (unsigned i = 0; i < starpu_worker_get_count(); i++) starpu_task_insert(&hold_cl, 0);
            MPI_Recv(&none, 1, MPI_INT, 0, 79, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            atomic_store(&others_done, true);
        } else {
            starpu_task_wait_for_all();
            MPI_Send(&none, 1, MPI_INT, 1, 79, MPI_COMM_WORLD);
        }
        starpu_mpi_wait_for_all(MPI_COMM_WORLD);
        stuck = atomic_load(&held_for_ms) >= GIVE_UP_MS;
        MPI_Bcast(&stuck, 1, MPI_INT, 1, MPI_COMM_WORLD);
    }
    fact(!stuck && end_values(rounds, &elsewhere),
         "a rank whose workers turn to long tasks of its own gives back what it has borrowed");
}

enum { MANY = 10 };
static atomic_int strange_nodes;

/* Of data that this rank has no handles of: writes the first. */
static void ask_for_nodes(void *buffers[], void *arg UNUSED)
{
    usleep(NAP_US);
    ++*(int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < MANY; i++) {
        if (starpu_task_get_current_data_node(i) != STARPU_MAIN_RAM) atomic_fetch_add(&strange_nodes, 1);
        if (my_rank == 1 && STARPU_TASK_GET_HANDLE(starpu_task_get_current(), i))
            atomic_fetch_add(&strange_nodes, 1);
    }
    atomic_fetch_add(&ran_here, 1);
}
static struct starpu_codelet ask_for_nodes_cl = { .cpu_funcs = { ask_for_nodes },
                                                  .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                                  .name = "ask_for_nodes" };

/* All read the first data, and each writes one of the others: so many are ready at once that a rank is given
 * some even if it was slower before. */
static int many_data_once(void)
{
    enum { READ = MANY - 1 };
    int elsewhere;
    struct starpu_data_descr descrs[MANY];
    atomic_store(&ran_here, 0);
    begin_values();
    for (int k = 0; k < READ; k++) {
        value[k][0] = 1;
        descrs[1 + k] = (struct starpu_data_descr){ handle[k], STARPU_R };
    }
    for (int i = READ; i < TASKS; i++) {
        descrs[0] = (struct starpu_data_descr){ handle[i], STARPU_RW };
        starpu_mpi_task_insert(MPI_COMM_WORLD, &ask_for_nodes_cl, STARPU_DATA_MODE_ARRAY, descrs, MANY, 0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int right = end_values(1, &elsewhere), lent = atomic_load(&ran_here) > 0;
    MPI_Bcast(&lent, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return right ? lent : -1;
}

static void many_data(void)
{
    int lent = 0;
    for (int i = 0; i < 40 && lent == 0; i++) lent = many_data_once();
    fact(lent > 0 && strange_nodes == 0, "lent tasks of %d data that ask where these are: in main memory",
         MANY);
}

static void nap_long(void *buffers[] UNUSED, void *arg UNUSED)
{
    usleep(800000);
}
static struct starpu_codelet long_cl = {
    .cpu_funcs = { nap_long }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "long"
};

/* Rank 0's worker is in a long task, others wait behind it: an answer takes as long. */
static void rests(void)
{
    enum { LONG = 3 };
    struct timespec began, ended;
    double share = 0;
    begin_values();
    starpu_mpi_barrier(MPI_COMM_WORLD);
    for (int i = 0; i < LONG; i++) starpu_mpi_task_insert(MPI_COMM_WORLD, &long_cl, STARPU_RW, handle[i], 0);
    usleep(300000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
    usleep(400000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
    share = ((double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) * 1e-9) / 0.4;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < TASKS; i++) starpu_data_unregister(handle[i]);
    fact(share < 0.3, "who waits for the answer of a rank in a long task lets the cores be (%.0f %%)",
         share * 100);
}

/* ---- what is learnt from loans ---- */

static uint64_t lent_before;
static atomic_bool none_lent;

static uint64_t lent_now(void)
{
    struct orr_lend_counts c = orr_lend_get_counts(&orr_the_session.lend);
    return c.lent - c.undone;
}

static atomic_int bodies_here, slow_body; /* slow_body: the one of that number; 0: none */

static void learn(void *buffers[] UNUSED, void *arg UNUSED)
{
    usleep(atomic_fetch_add(&bodies_here, 1) + 1 == atomic_load(&slow_body) ? 300000 : 2000);
}
static struct starpu_codelet learn_cl = {
    .cpu_funcs = { learn }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "learn"
};

/* Tasks on data of so many bytes, all owned by rank 0; returns whether rank 1 ran some. */
static bool some_are_lent(size_t bytes)
{
    static char memory[TASKS][65536];
    uint64_t before = lent_now();
    int lent;
    for (int i = 0; i < TASKS; i++) {
        starpu_vector_data_register(&handle[i], my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                    my_rank == 0 ? (uintptr_t)memory[i] : 0, (uint32_t)bytes, 1);
        starpu_mpi_data_register(handle[i], i, 0);
    }
    for (int i = 0; i < TASKS; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &learn_cl, STARPU_RW, handle[i], 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < TASKS; i++) starpu_data_unregister(handle[i]);
    lent = lent_now() > before;
    MPI_Bcast(&lent, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return lent;
}

static bool are_lent_soon(size_t bytes, int rounds)
{
    bool lent = false;
    for (int round = 0; round < rounds && !lent; round++) lent = some_are_lent(bytes);
    return lent;
}

static void learns(void)
{
    fact(are_lent_soon(0, 3) && are_lent_soon(0, 3), "tasks of data without bytes are lent");
    fact(are_lent_soon(8, 3), "and of some bytes");
    fact(are_lent_soon(65536, 4), "which says little of how long many bytes take: these are lent as well");
}

static void forgives(void)
{
    if (my_rank == 1) atomic_store(&slow_body, atomic_load(&bodies_here) + 2);
    some_are_lent(8);
    fact(are_lent_soon(8, 30), "a rank that took long once is given tasks again");
}

/* ---- a codelet that becomes another ---- */

/* On the rank that lends the first tasks wait until others are lent, so that it does not matter how late the
 * other rank asks. */
static void until_lent(void)
{
    for (int ms = 0; my_rank == 0 && lent_now() == lent_before && !atomic_load(&none_lent); ms++) {
        if (ms == GIVE_UP_MS) atomic_store(&none_lent, true);
        nap_ms();
    }
    usleep(NAP_US);
}

static void add(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), step;
    starpu_codelet_unpack_args(arg, &step);
    until_lent();
    v[0] += step;
    v[1] = my_rank;
}

static void subtract(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), step;
    starpu_codelet_unpack_args(arg, &step);
    until_lent();
    v[0] -= step;
    v[1] = my_rank;
}

/* All tasks of cl, of which some are to be lent. */
static void lend_some(struct starpu_codelet *cl)
{
    begin_values();
    lent_before = lent_now();
    insert_all(cl, 5);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
}

static void becomes_another(void)
{
    static struct starpu_codelet cl;
    int elsewhere, before;
    starpu_codelet_init(&cl);
    cl.cpu_funcs[0] = add;
    cl.nbuffers = 1;
    cl.modes[0] = STARPU_RW;
    cl.name = "add";
    lend_some(&cl);
    fact(end_values(5, &before), "a codelet's tasks are lent");
    cl.cpu_funcs[0] = subtract;
    cl.name = "subtract";
    lend_some(&cl);
    fact(end_values(-5, &elsewhere), "another one in the same memory is not taken for it");
    fact(my_rank == 1 || (before > 0 && elsewhere > 0), "tasks of both are lent (%d, %d)", before, elsewhere);
    cl.cpu_funcs[0] = add;
    lend_some(&cl);
    fact(end_values(5, &elsewhere), "nor is one that was given another function");
}

static void hold_on(void *buffers[] UNUSED, void *arg UNUSED)
{
    until_let_go();
}
static struct starpu_codelet hold_on_cl = { .cpu_funcs = { hold_on }, .name = "hold_on" };

static bool asks_rank_0(void)
{
    int ms = 0;
    for (; !orr_borrow_is_asked(&orr_the_session.lend, 0) && ms < GIVE_UP_MS; ms++) nap_ms();
    return ms < GIVE_UP_MS;
}

/* A rank ends while its question waits for a worker of the other one, which none of them has time for: its
 * own part of starpu_mpi_shutdown, and then it goes on. */
static void ends_while_it_asks(void)
{
    int elsewhere, none = 0, workers = (int)starpu_worker_get_count();
    struct orr_lend *l = &orr_the_session.lend;
    begin_values();
    atomic_store(&inside, 0);
    atomic_store(&gave_up, 0);
    atomic_store(&open_gate, false);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    for (int i = 0; i < workers && my_rank == 0; i++)
        starpu_task_insert(&hold_on_cl, STARPU_EXECUTE_ON_WORKER, i, 0);
    if (my_rank == 0) soon(&inside, workers);
    insert_all(&work_cl, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 1) {
        fact(asks_rank_0(), "a rank without work asks one whose workers are all in long tasks");
        orr_hungry_stop(l);
        orr_borrow_settle(l);
        MPI_Send(&none, 1, MPI_INT, 0, 78, MPI_COMM_WORLD);
        fact(orr_hungry_start(l) == 0, "and asks no more, nor waits for one of these");
    } else {
        MPI_Recv(&none, 1, MPI_INT, 1, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fact(atomic_load(&inside) == workers,
             "a rank without work asks one whose workers are all in long tasks");
        fact(atomic_load(&gave_up) == 0, "and asks no more, nor waits for one of these");
    }
    atomic_store(&open_gate, true);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(end_values(3, &elsewhere), "what it had asked for is done");
}

int main(int argc, char **argv)
{
    setenv("ORRERY_MPI_LEND", "1", 1);
    mpi_start(&argc, &argv, 2);
    turns_away_with_guests(); /* before anything is learnt of loans */
    many_data();
    rests();
    becomes_another();
    pauses();
    pauses_with_guests();
    leaves_with_guests();
    learns();
    waits();
    forgives();
    ends_while_it_asks();
    return mpi_finish();
}
