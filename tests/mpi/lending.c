/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ready tasks that are lent: ranks in one process ask another for tasks, run them, and the results are where
 * they belong; a codelet that the borrower does not know comes back; what cannot be sent is not lent; and a
 * rank that has nothing says so. Threads: one for each rank, and workers. Owns: the data of each rank. Not
 * here: when ranks ask (lending_mpi.c).
 */
#include <starpu.h>
#include <stdatomic.h>
#include <unistd.h>

#include "mpi/value/borrow.h"
#include "mpi/value/hungry.h"
#include "tests/mpi/in_process.h"

enum { RANKS = 3, CHAINS = 12, STEPS = 40, WIDTH = 37, ASKS = 150 };
enum { MADE_NX = 3, MADE_NY = 2, MADE_LD = 5, GAP_VALUE = 77 };

/* ---- tasks ---- */

static atomic_int borrowed_bodies, own_bodies, called_back;

/* to[i] = to[i] * 3 + from[i] + step; all of made = to[0] */
static void mix(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *from = (const uint64_t *)STARPU_MATRIX_GET_PTR(buffers[1]);
    size_t nx = STARPU_MATRIX_GET_NX(buffers[1]), ld = STARPU_MATRIX_GET_LD(buffers[1]);
    int step;
    starpu_codelet_unpack_args(arg, &step);
    for (size_t i = 0; i < WIDTH; i++) to[i] = to[i] * 3 + from[i % nx + i / nx * ld] + (uint64_t)step;
    uint64_t *made = (uint64_t *)STARPU_MATRIX_GET_PTR(buffers[2]);
    size_t made_ld = STARPU_MATRIX_GET_LD(buffers[2]);
    for (size_t i = 0; i < MADE_NX * MADE_NY; i++) made[i % MADE_NX + i / MADE_NX * made_ld] = to[0];
    atomic_fetch_add(strcmp(starpu_task_get_current()->cl->name, "mix") ? &borrowed_bodies : &own_bodies, 1);
    usleep(200);
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix }, .nbuffers = 3, .modes = { STARPU_RW, STARPU_R, STARPU_W }, .name = "mix"
};

/* The same where there is no function for CPUs. */
static struct starpu_codelet elsewhere_cl = {
    .cuda_funcs = { mix }, .nbuffers = 3, .modes = { STARPU_RW, STARPU_R, STARPU_W }, .name = "mix"
};
static bool borrowers_have_none, call_back;

static void count_callback(void *unused)
{
    (void)unused;
    atomic_fetch_add(&called_back, starpu_worker_get_id() >= 0);
}

/* ---- the program ---- */

/* Chains of tasks that change a vector, read a matrix with gaps, and make one. */
struct shared {
    uint64_t vector[CHAINS][WIDTH], matrix[10 * 8], made[CHAINS][MADE_LD * MADE_NY];
    starpu_data_handle_t vectors[CHAINS], table, numbers[CHAINS];
};

static struct shared all[RANKS];
static int owners; /* chain i belongs to rank i % owners, the table to rank 0 */

static void own(struct orr_comm *c, starpu_data_handle_t h, int64_t tag, int owner)
{
    orr_owned_set_tag(c->cluster->value, h, tag);
    orr_cache_set_owner(c, h, owner);
}

static void register_all(struct orr_comm *c, struct shared *d)
{
    int home = c->rank == 0 ? STARPU_MAIN_RAM : -1;
    for (int i = 0; i < 80; i++) d->matrix[i] = (uint64_t)i * 7;
    starpu_matrix_data_register(&d->table, home, home < 0 ? 0 : (uintptr_t)d->matrix, 10, 8, 8,
                                sizeof d->matrix[0]);
    own(c, d->table, 1, 0);
    for (int i = 0; i < CHAINS; i++) {
        home = c->rank == i % owners ? STARPU_MAIN_RAM : -1;
        for (int k = 0; k < WIDTH; k++) d->vector[i][k] = (uint64_t)(i * WIDTH + k);
        for (int k = 0; k < MADE_LD * MADE_NY; k++) d->made[i][k] = GAP_VALUE;
        starpu_vector_data_register(&d->vectors[i], home, home < 0 ? 0 : (uintptr_t)d->vector[i], WIDTH,
                                    sizeof d->vector[0][0]);
        own(c, d->vectors[i], 10 + i, i % owners);
        starpu_matrix_data_register(&d->numbers[i], home, home < 0 ? 0 : (uintptr_t)d->made[i], MADE_LD,
                                    MADE_NX, MADE_NY, sizeof d->made[0][0]);
        own(c, d->numbers[i], 1000 + i, i % owners);
    }
}

static void unregister_all(struct shared *d)
{
    starpu_data_unregister(d->table);
    for (int i = 0; i < CHAINS; i++) starpu_data_unregister(d->vectors[i]);
    for (int i = 0; i < CHAINS; i++) starpu_data_unregister(d->numbers[i]);
}

/* How many values of this rank's are not what one thread alone computes. */
static int count_wrong(const struct shared *d, int rank)
{
    int wrong = 0;
    for (int i = rank; i < CHAINS && rank < owners; i += owners) {
        uint64_t v[WIDTH];
        for (int k = 0; k < WIDTH; k++) v[k] = (uint64_t)(i * WIDTH + k);
        for (int step = 0; step < STEPS; step++)
            for (int k = 0; k < WIDTH; k++)
                v[k] = v[k] * 3 + (uint64_t)(k % 8 + k / 8 * 10) * 7 + (uint64_t)step;
        for (int k = 0; k < WIDTH; k++) wrong += v[k] != d->vector[i][k];
        for (int k = 0; k < MADE_LD * MADE_NY; k++)
            wrong += d->made[i][k] != (k % MADE_LD < MADE_NX ? v[0] : GAP_VALUE);
    }
    return wrong;
}

static atomic_int wrong, failed;
static struct orr_lend_counts counts[RANKS];

static void stream(struct orr_comm *c, struct shared *d)
{
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < CHAINS; i++)
            insert(c, c->rank && borrowers_have_none ? &elsewhere_cl : &mix_cl, STARPU_RW, d->vectors[i],
                   STARPU_R, d->table, STARPU_W, d->numbers[i], STARPU_VALUE, &step, sizeof step,
                   STARPU_CALLBACK, call_back ? count_callback : NULL, 0);
}

static void ask_often(struct job *j, int rank)
{
    for (int i = 0; i < ASKS; i++) {
        orr_borrow_ask(&sessions[j->first + rank].lend, rank ? 0 : 1, 1 + (uint32_t)i % 5);
        usleep(300);
    }
}

/* One rank of a job; early: it asks before it has inserted anything. */
static void ask_and_work(struct job *j, int rank, bool early)
{
    if (rank_start(j, rank)) atomic_fetch_add(&failed, 1);
    struct orr_comm *c = comm_of(j, rank);
    struct shared *d = &all[rank];
    register_all(c, d);
    if (rank && early) ask_often(j, rank);
    stream(c, d);
    if (!early && (rank || owners > 1)) ask_often(j, rank);
    if (orr_wait_for_all(c)) atomic_fetch_add(&failed, 1);
    unregister_all(d);
    atomic_fetch_add(&wrong, count_wrong(d, rank));
    struct orr_lend *l = &sessions[j->first + rank].lend;
    if (rank_end(j, rank)) atomic_fetch_add(&failed, 1);
    counts[rank] = orr_lend_get_counts(l);
}

static void asks(struct job *j, int rank)
{
    ask_and_work(j, rank, false);
}

static void forget(void)
{
    owners = 1;
    wrong = failed = borrowed_bodies = own_bodies = called_back = 0;
}

/* in_place: ranks may use each other's memory. */
static void tasks_go_out(unsigned delays, bool in_place)
{
    struct job j;
    forget();
    job_create(&j, RANKS, 0, delays, asks);
    if (in_place) orr_inproc_show(j.net);
    j.lends = true;
    job_run(&j);
    job_join(&j);
    printf("# %d of %d tasks were lent, %llu came back undone; %llu questions, %llu refused\n",
           (int)counts[0].lent, CHAINS * STEPS, (unsigned long long)counts[0].undone,
           (unsigned long long)(counts[1].asked + counts[2].asked),
           (unsigned long long)(counts[1].refused + counts[2].refused));
    is_int(wrong, 0, "what was lent, over a network that delays by %u, has the right results", delays);
    if (in_place)
        ok(counts[0].bytes == 0 && counts[0].in_place == 3 * counts[0].lent,
           "on data that were used in place: %d, and no byte was sent", (int)counts[0].in_place);
    else
        ok(counts[0].bytes > 0 && counts[0].in_place == 0, "of data that were sent: %llu bytes",
           (unsigned long long)counts[0].bytes);
    is_int(failed, 0, "ranks that lend start, wait and end");
    ok(counts[0].lent > 0, "tasks were lent");
    is_int((int)(counts[1].borrowed + counts[2].borrowed), (int)counts[0].lent, "to those who borrowed them");
    is_int(borrowed_bodies, (int)(counts[0].lent - counts[0].undone), "who ran them");
    is_int(borrowed_bodies + own_bodies, CHAINS * STEPS, "each task ran once");
}

static void callbacks_stay(void)
{
    struct job j;
    forget();
    call_back = true;
    job_create(&j, RANKS, 0, 0, asks);
    j.lends = true;
    job_run(&j);
    job_join(&j);
    call_back = false;
    is_int((int)counts[0].lent, 0, "tasks with callbacks are not lent");
    is_int(called_back, CHAINS * STEPS, "each is called back once, by a worker");
    is_int(wrong + failed, 0, "with the right results");
}

/* Which of two values of one name comes first nobody can say. */
static void ways_have_names(void)
{
    int64_t last = orr_loan_value_tag(ORR_LOAN_TAG_VALUE, (UINT64_C(1) << 35) - 1, ORR_LOAN_DATA - 1);
    ok(ORR_LOAN_TAG_BACK < ORR_LOAN_TAG_VALUE && last < ORR_LOAN_TAG_RESULT,
       "what goes there and what comes back are never called the same, whatever the loans' numbers");
}

/* Both lend to each other: loans of the two have the same numbers, and values of the same size go both ways.
 */
static void both_lend(unsigned delays, bool in_place)
{
    struct job j;
    forget();
    owners = 2;
    job_create(&j, 2, 0, delays, asks);
    if (in_place) orr_inproc_show(j.net);
    j.lends = true;
    job_run(&j);
    job_join(&j);
    is_int(wrong + failed, 0, "ranks that lend to each other have the right results");
    ok(counts[0].lent > 0 && counts[1].lent > 0, "both lent (%d, %d)", (int)counts[0].lent,
       (int)counts[1].lent);
}

/* ---- who asks by itself ---- */

static void works_briefly(struct job *j, int rank)
{
    enum { PAUSES = 4, PAUSE_US = 1500 };
    if (rank_start(j, rank)) atomic_fetch_add(&failed, 1);
    struct orr_comm *c = comm_of(j, rank);
    struct shared *d = &all[rank];
    register_all(c, d);
    /* Each time a worker becomes idle, and may say so as late as at the end. */
    for (int i = 0; i < PAUSES; i++) {
        insert(c, &mix_cl, STARPU_RW, d->vectors[0], STARPU_R, d->table, STARPU_W, d->numbers[0],
               STARPU_VALUE, &i, sizeof i, 0);
        if (orr_wait_for_all(c)) atomic_fetch_add(&failed, 1);
        usleep(PAUSE_US);
    }
    unregister_all(d);
    struct orr_lend *l = &sessions[j->first + rank].lend;
    if (rank_end(j, rank)) atomic_fetch_add(&failed, 1);
    counts[rank] = orr_lend_get_counts(l);
}

static void ask_by_themselves(void)
{
    enum { SESSIONS = 20 };
    uint64_t asked = 0;
    forget();
    for (int i = 0; i < SESSIONS; i++) {
        struct job j;
        job_create(&j, 2, 0, 0, works_briefly);
        j.asks = true;
        job_run(&j);
        job_join(&j);
        asked += counts[0].asked + counts[1].asked;
    }
    is_int(failed, 0, "%d times ranks that ask by themselves begin and end", SESSIONS);
    ok(asked > 0, "they asked when their workers were idle (%d times)", (int)asked);
}

/* ---- who does not know the codelet ---- */

/* Rank 1 asks before it has inserted anything. */
static void asks_too_early(struct job *j, int rank)
{
    ask_and_work(j, rank, true);
}

static void early_get_none(void)
{
    struct job j;
    forget();
    job_create(&j, 2, 0, 3, asks_too_early);
    j.lends = true;
    job_run(&j);
    job_join(&j);
    is_int((int)counts[0].lent, 0, "a rank that has not come to a codelet yet is given no tasks of it");
    is_int(wrong + failed, 0, "with the right results");
}

static void unknown_come_back(void)
{
    struct job j;
    forget();
    borrowers_have_none = true;
    job_create(&j, 2, 0, 3, asks);
    j.lends = true;
    job_run(&j);
    job_join(&j);
    borrowers_have_none = false;
    printf("# %d lent, %d came back undone\n", (int)counts[0].lent, (int)counts[0].undone);
    ok(counts[0].undone > 0, "tasks come back undone from a rank that has no function for them");
    is_int((int)counts[0].undone, (int)counts[1].failed, "as many as it could not run");
    ok(counts[0].undone <= ORR_LEND_AT_ONCE * 2, "and it is given no more of them");
    is_int(borrowed_bodies + own_bodies, CHAINS * STEPS, "each task ran once all the same");
    is_int(wrong + failed, 0, "with the right results");
}

static void *sees_nothing(struct orr_transport *t, int peer, uint64_t at, uint64_t bytes)
{
    (void)t, (void)peer, (void)at, (void)bytes;
    return NULL;
}

/* Who was to use data in place and does not see them. */
static void unseen_come_back(void)
{
    struct orr_transport_ops blind = orr_transport_inproc;
    struct job j;
    forget();
    blind.view = sees_nothing;
    job_create(&j, 2, 0, 3, asks);
    orr_inproc_show(j.net);
    j.ops = &blind;
    j.lends = true;
    job_run(&j);
    job_join(&j);
    ok(counts[0].undone > 0 && counts[0].undone == counts[0].lent,
       "tasks come back undone from a rank that does not see their data (%d)", (int)counts[0].undone);
    ok(counts[0].undone <= ORR_LEND_AT_ONCE * 2, "and it is given no more of them");
    is_int(wrong + failed, 0, "with the right results");
}

/* ---- when to ask ---- */

static void rules(void)
{
    enum { MS = 1000000 };
    struct orr_appetite a = { .giver = -1, .last = 0 };
    uint32_t surplus[4] = { 0 };
    bool asked[4] = { false };
    is_int((int)orr_appetite_gap_ns(&a), MS / 10, "a gap of less than 0.1 ms is none");
    orr_appetite_worked(&a, 10.0 * MS, 1);
    ok(orr_appetite_gap_ns(&a) == 10 * MS, "nor is one shorter than a task");
    struct orr_lend_look look = { .workers = 2, .idle = 2, .hungry = 1 };
    is_int((int)orr_appetite_wish(&a, &look, 0), 1,
           "who was given nothing asks for workers that idle for long");
    is_int((int)orr_appetite_wish(&a, &look, 1), 0, "unless it has borrowed as many");
    look.hungry = look.idle = 0;
    a.giver = 1;
    is_int((int)orr_appetite_wish(&a, &look, 4), 4,
           "who is given asks again when each of its workers has one more to run");
    is_int((int)orr_appetite_wish(&a, &look, 5), 0, "not before");
    is_int((int)orr_appetite_wish(&a, &look, 0), 8, "and for more when they have none");
    look.backlog = 1;
    is_int((int)orr_appetite_wish(&a, &look, 0), 0, "nor where it has tasks itself");
    a.giver = -1;
    struct orr_appetite once = a;
    orr_appetite_worked(&once, 5000.0 * MS, 2);
    ok(orr_appetite_gap_ns(&once) == ORR_HUNGRY_GAP_MOST_NS,
       "but 20 ms are one: that task may be an exception");
    orr_appetite_worked(&once, 100.0 * MS, 102);
    ok(orr_appetite_gap_ns(&once) < 2 * MS, "and is forgotten after many others");
    look = (struct orr_lend_look){ .workers = 2, .now_ns = 10 * (uint64_t)MS, .run = 102, .pauses = 1 };
    orr_appetite_saw(&once, &look);
    look.now_ns += 10 * (uint64_t)MS;
    look.idle_all_ns += 10 * (uint64_t)MS;
    look.run += 50;
    orr_appetite_saw(&once, &look);
    ok(once.length_ns > 0.15 * MS && once.length_ns < 0.25 * MS,
       "of two workers' 20 ms, 10 of them idle, 50 tasks have 0.2 each");
    look.now_ns += 5000 * (uint64_t)MS;
    look.pauses++;
    orr_appetite_saw(&once, &look);
    ok(once.length_ns < 0.25 * MS, "a time in which they were paused is not a task");
    look.now_ns += 5000 * (uint64_t)MS;
    look.workers = 1;
    orr_appetite_saw(&once, &look);
    ok(once.length_ns < 0.25 * MS, "nor one in which some left");
    look.now_ns += 5 * (uint64_t)MS;
    orr_appetite_saw(&once, &look);
    ok(once.length_ns > 4. * MS, "one in which they worked and nothing ended is");
    once.length_ns = 0;
    ok(orr_appetite_again_ns(&once, &look, false, 1) >= 10 * MS &&
           orr_appetite_again_ns(&once, &look, true, 0) <= MS,
       "who has asked everybody in vain looks seldom, who waits for an answer until it is late");
    is_int(orr_appetite_whom(&a, 2, 4, surplus, asked), 1, "who knows nothing asks one after another");
    a.last = 1;
    is_int(orr_appetite_whom(&a, 2, 4, surplus, asked), 3, "itself left out");
    surplus[0] = 3;
    surplus[1] = 9;
    is_int(orr_appetite_whom(&a, 2, 4, surplus, asked), 1, "else the one that has most");
    orr_appetite_answered(&a, 0, 2, MS, 100 * MS);
    is_int(orr_appetite_whom(&a, 2, 4, surplus, asked), 0, "but first the one that gave last");
    ok(a.not_before_ns == 0, "at once");
    uint64_t now = 1000 * (uint64_t)MS, first = 0, late = 0;
    for (int i = 0; i < 12; i++) {
        orr_appetite_answered(&a, i % 4, 0, MS, now);
        late = a.not_before_ns - now;
        if (i == 0) first = late;
    }
    ok(first == orr_appetite_gap_ns(&a) && late == ORR_HUNGRY_PAUSE_MOST_NS,
       "refusals make it wait, longer and longer, up to 0.256 s");
    is_int(a.giver, -1, "and it does not cling to who refused");
    orr_appetite_worked(&a, 10.0 * MS, 2);
    ok(a.not_before_ns == 0 && a.refusals == 0, "until it had something to do itself");
    a = (struct orr_appetite){ .giver = 0, .last = 0, .answer_ns = MS };
    asked[0] = true;
    is_int(orr_appetite_whom(&a, 2, 4, surplus, asked), 1, "who does not answer is not asked again");
    orr_appetite_answered(&a, 0, 1, 500 * MS, now);
    ok(a.answer_ns == MS && a.giver == 0,
       "an answer that was not waited for says little of how long they take");
    asked[1] = asked[3] = true;
    is_int(orr_appetite_whom(&a, 2, 4, surplus, asked), -1, "when all were asked, nobody is");
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    if (starpu_init(&conf)) skip_all("no runtime");
    tasks_go_out(0, false);
    tasks_go_out(9, false);
    tasks_go_out(0, true);
    tasks_go_out(9, true);
    ways_have_names();
    both_lend(0, false);
    both_lend(9, false);
    both_lend(9, true);
    ask_by_themselves();
    callbacks_stay();
    early_get_none();
    unknown_come_back();
    unseen_come_back();
    rules();
    starpu_shutdown();
    return done_testing();
}
