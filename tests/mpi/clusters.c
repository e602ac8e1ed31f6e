/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole clusters in one process: ranks that share nothing but the runtime insert tasks, exchange data,
 * reduce, notice that their streams differ, and end while messages are under way; two jobs at the same time,
 * too. Threads: one for each rank, and workers. Owns: the data of each rank. Not here: the same over MPI
 * (task_insert.c and others), the start (bringup.c).
 */
#include <fcntl.h>
#include <starpu.h>
#include <unistd.h>

#include "tests/mpi/in_process.h"
#include "tests/mpi/in_process_tasks.h"

enum { DATA = 6, STEPS = 120, RANKS = 3, LARGE = 4000, LARGE_COUNT = 40 };

/* ---- data ---- */

struct shared {
    starpu_data_handle_t handle[DATA];
    uint64_t value[DATA]; /* of those that are this rank's */
};

static void register_data(struct orr_comm *c, struct shared *d)
{
    for (int i = 0; i < DATA; i++) {
        bool mine = i % c->size == c->rank;
        d->value[i] = (uint64_t)i;
        starpu_variable_data_register(&d->handle[i], mine ? STARPU_MAIN_RAM : -1,
                                      mine ? (uintptr_t)&d->value[i] : 0, sizeof d->value[i]);
        orr_owned_set_tag(c->cluster->value, d->handle[i], 100 + i);
        orr_cache_set_owner(c, d->handle[i], i % c->size);
    }
}

static void unregister_data(struct shared *d)
{
    for (int i = 0; i < DATA; i++) starpu_data_unregister(d->handle[i]);
}

static uint64_t random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* The same stream on every rank; with values: run here, one task after the other. */
static void stream(struct orr_comm *c, struct shared *d, uint64_t seed, uint64_t *values)
{
    for (int step = 0; step < STEPS; step++) {
        int to = (int)(random_of(&seed) % DATA), from = (int)(random_of(&seed) % DATA);
        int where = (int)(random_of(&seed) % 4);
        if (to == from) continue;
        if (values) {
            values[to] = values[to] * 3 + values[from] + (uint64_t)step;
        } else if (where == 0) {
            insert(c, &mix_cl, STARPU_RW, d->handle[to], STARPU_R, d->handle[from], STARPU_VALUE, &step,
                   sizeof step, STARPU_EXECUTE_ON_NODE, step % c->size, 0);
        } else {
            insert(c, &mix_cl, STARPU_RW, d->handle[to], STARPU_R, d->handle[from], STARPU_VALUE, &step,
                   sizeof step, 0);
        }
    }
}

/* ---- facts ---- */

static atomic_int wrong, failed, foreign_records;

static void count_record(struct orr_owned *o, void *arg)
{
    int *counts = arg;
    counts[0]++;
    counts[1] += o->comm && o->comm->cluster->value != o->value;
}

static void random_stream(struct job *j, int rank)
{
    struct shared d;
    if (rank_start(j, rank)) atomic_fetch_add(&failed, 1);
    struct orr_comm *c = comm_of(j, rank);
    for (uint64_t round = 0; round < 2; round++) {
        uint64_t values[DATA], seed = 17 * (uint64_t)(j->first + 1) + round;
        for (int i = 0; i < DATA; i++) values[i] = (uint64_t)i;
        register_data(c, &d);
        int counts[2] = { 0 };
        orr_owned_visit(c->cluster->value, count_record, counts);
        if (counts[0] != DATA || counts[1]) atomic_fetch_add(&foreign_records, 1);
        stream(c, &d, seed, NULL);
        if (orr_wait_for_all(c)) atomic_fetch_add(&failed, 1);
        stream(c, NULL, seed, values);
        unregister_data(&d);
        for (int i = rank; i < DATA; i += j->ranks) atomic_fetch_add(&wrong, d.value[i] != values[i]);
    }
    if (rank_end(j, rank)) atomic_fetch_add(&failed, 1);
}

static void one_job(void)
{
    struct job j;
    job_create(&j, RANKS, 0, 5, random_stream);
    job_run(&j);
    job_join(&j);
    is_int(wrong, 0, "%d ranks in one process compute what one alone does", RANKS);
    is_int(failed, 0, "they start, wait for all, and end");
    is_int(foreign_records, 0, "each knows its own data alone");
}

static unsigned has_nothing_to_do(void *arg)
{
    (void)arg;
    return 1;
}

/* As many functions that idle workers call as a program can have, and one for each rank. */
static void beside_hooks(void)
{
    enum { HOOKS = 4 };
    int hook[HOOKS];
    struct job j;
    for (int i = 0; i < HOOKS; i++) hook[i] = starpu_progression_hook_register(has_nothing_to_do, &hook[i]);
    job_create(&j, IN_PROCESS_MAX, 0, 5, random_stream);
    job_run(&j);
    job_join(&j);
    for (int i = 0; i < HOOKS; i++) starpu_progression_hook_deregister(hook[i]);
    is_int(wrong + failed, 0, "%d ranks run beside %d hooks of the program", IN_PROCESS_MAX, HOOKS);
}

static void two_jobs(void)
{
    struct job a, b;
    job_create(&a, 2, 0, 3, random_stream);
    job_create(&b, 2, 2, 9, random_stream);
    job_run(&a);
    job_run(&b);
    job_join(&a);
    job_join(&b);
    is_int(wrong, 0, "two jobs at the same time, with the same tags, compute what each alone does");
    is_int(failed, 0, "they start, wait for all, and end");
    is_int(foreign_records, 0, "no rank knows data of the other job");
}

/* ---- a placement that is asked for every task ---- */

static atomic_int begun, over;

static int turns_begin(const struct orr_place_setup *setup, void **state_out)
{
    int *state = malloc(sizeof *state);
    *state = setup->ranks;
    *state_out = state;
    atomic_fetch_add(&begun, 1);
    return 0;
}

static int turns_choose(void *state, const struct orr_place_view *v)
{
    return (int)(v->position % (uint64_t) * (int *)state);
}

static void turns_end(void *state)
{
    free(state);
    atomic_fetch_add(&over, 1);
}

static const struct orr_place_ops turns = {
    .name = "turns", .for_all = true, .begin = turns_begin, .choose = turns_choose, .end = turns_end
};

/* The same, and what is written stays where it was. */
static const struct orr_place_ops moving = { .name = "moving turns",
                                             .for_all = true,
                                             .moves_data = true,
                                             .begin = turns_begin,
                                             .choose = turns_choose,
                                             .end = turns_end };

static void by_turns(const struct orr_place_ops *ops)
{
    struct job j;
    begun = over = 0;
    job_create(&j, RANKS, 0, 2, random_stream);
    for (int i = 0; i < RANKS; i++) j.placement = orr_policy_add(&sessions[i].place, ops, NULL);
    job_run(&j);
    job_join(&j);
    is_int(wrong, 0, "ranks by %s, wherever the data are owned, compute the same", ops->name);
    is_int(failed, 0, "and nothing fails");
    is_int(begun, RANKS, "each rank has a state of the placement");
    is_int(over, RANKS, "which ends with the layer");
    for (int i = 0; i < RANKS; i++) orr_policy_remove(&sessions[i].place, j.placement);
}

/* The placement dmda: it moves data, and learns from the tasks of all ranks while the stream goes on. */
static void by_dmda(void)
{
    for (int homes = 0; homes < 2; homes++) {
        struct job j;
        job_create(&j, RANKS, 0, 2, random_stream);
        j.placement = orr_policy_find("dmda");
        for (int i = 0; i < RANKS; i++) strcpy(sessions[i].place.argument, homes ? "" : "homes=0");
        job_run(&j);
        job_join(&j);
        is_int(wrong, 0, "dmda%s computes the same", homes ? "" : " that leaves owners at once");
        is_int(failed, 0, "and nothing fails");
    }
    for (int i = 0; i < RANKS; i++) orr_policy_set_current(&sessions[i].place, 0);
}

/* ---- a reduction ---- */

static uint64_t sum;

static void reduces(struct job *j, int rank)
{
    starpu_data_handle_t h;
    rank_start(j, rank);
    struct orr_comm *c = comm_of(j, rank);
    starpu_variable_data_register(&h, rank == 0 ? STARPU_MAIN_RAM : -1, rank == 0 ? (uintptr_t)&sum : 0,
                                  sizeof sum);
    starpu_data_set_reduction_methods(h, &add_cl, &zero_cl);
    orr_owned_set_tag(c->cluster->value, h, 7);
    orr_cache_set_owner(c, h, 0);
    insert(c, &zero_cl, STARPU_W, h, 0);
    for (int i = 0; i < 30; i++)
        insert(c, &contribute_cl, STARPU_REDUX, h, STARPU_VALUE, &i, sizeof i, STARPU_EXECUTE_ON_NODE,
               i % c->size, 0);
    atomic_fetch_add(&failed, orr_wait_for_all(c) != 0);
    starpu_data_unregister(h);
    atomic_fetch_add(&failed, rank_end(j, rank) != 0);
}

static void reduction(void)
{
    struct job j;
    job_create(&j, RANKS, 0, 5, reduces);
    job_run(&j);
    job_join(&j);
    is_int((long long)sum, 29 * 30 / 2, "contributions of all ranks are added up at the owner");
    is_int(failed, 0, "and nothing fails");
}

/* ---- streams that differ ---- */

static void differs(struct job *j, int rank)
{
    struct shared d;
    rank_start(j, rank);
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    for (int step = 0; step < 20; step++)
        insert(c, &mix_cl, STARPU_RW, d.handle[0], STARPU_R, d.handle[1], STARPU_VALUE, &step, sizeof step,
               STARPU_PRIORITY, rank == 2 && step == 11 ? 5 : 0, STARPU_TASK_FILE, "here.c", STARPU_TASK_LINE,
               rank == 2 ? 20 : 10, 0);
    atomic_fetch_add(&failed, orr_wait_for_all(c) != 0);
    unregister_data(&d);
    atomic_fetch_add(&failed, rank_end(j, rank) != 0);
}

static void different_streams(void)
{
    static char text[4000];
    int saved = dup(2), file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    struct job j;
    dup2(file, 2);
    job_create(&j, RANKS, 0, 2, differs);
    job_run(&j);
    job_join(&j);
    dup2(saved, 2);
    if (pread(file, text, sizeof text - 1, 0) < 0) text[0] = 0;
    close(file);
    close(saved);
    const char *said = strstr(text, "as insertion 12 rank 0 has task mix");
    ok(said, "the first difference of two ranks' streams is named");
    ok(said && strstr(said, "[here.c:10]") && strstr(said, "[here.c:20]"), "with the lines of both");
    ok(said && !strstr(said + 1, "as insertion"), "once");
    is_int(failed, 0, "a difference without harm is a warning");
    if (!said) diag("%s", text);
}

/* ---- an end while messages are under way ---- */

static atomic_int received;

static void one_came(void *arg)
{
    (void)arg;
    atomic_fetch_add(&received, 1);
}

static void leaves_early(struct job *j, int rank)
{
    static char memory[2][LARGE_COUNT][LARGE];
    starpu_data_handle_t h[LARGE_COUNT];
    rank_start(j, rank);
    struct orr_comm *c = comm_of(j, rank);
    for (int i = 0; i < LARGE_COUNT; i++) {
        memory[rank][i][5] = (char)(rank == 0 ? i : -1);
        starpu_vector_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)memory[rank][i], i % 2 ? LARGE : 8, 1);
        const struct orr_message_spec m = { .kind = rank ? ORR_RECV : ORR_SEND,
                                            .handle = h[i],
                                            .comm = c,
                                            .peer = !rank,
                                            .tag = i,
                                            .detached = true,
                                            .callback = rank ? one_came : NULL };
        atomic_fetch_add(&failed, orr_message_start(&m, "leaves_early", NULL) != 0);
    }
    atomic_fetch_add(&failed, rank_end(j, rank) != 0);
    for (int i = 0; i < LARGE_COUNT; i++) {
        starpu_data_unregister(h[i]);
        atomic_fetch_add(&wrong, memory[rank][i][5] != (char)i);
    }
}

static void early_end(void)
{
    struct job j;
    job_create(&j, 2, 0, 40, leaves_early);
    job_run(&j);
    job_join(&j);
    is_int(received, LARGE_COUNT, "who ends while messages are under way ends after them");
    is_int(wrong, 0, "they are whole");
    is_int(failed, 0, "and nothing fails");
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    if (starpu_init(&conf)) skip_all("no worker");
    one_job();
    beside_hooks();
    two_jobs();
    by_turns(&turns);
    by_turns(&moving);
    by_dmda();
    reduction();
    different_streams();
    early_end();
    one_job();
    starpu_shutdown();
    return done_testing();
}
