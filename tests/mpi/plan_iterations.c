/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations that are recorded and replayed under a plan, over whole ranks in one process: random ones, each
 * kind on the ranks that its plan says, compute what one rank alone does, whatever lies between them; each
 * rank keeps its own part only; and where the plan has other ranks for an iteration it is inserted. Threads:
 * one for each rank, and workers. Owns: the data of each rank, and a file for the plan. Not here: replays
 * under owner-computes (replays.c), plans by themselves (plan_replay.c).
 */
#include <unistd.h>

#include "mpi/place/gaps.h"
#include "mpi/value/calls.h"
#include "tests/mpi/in_process.h"
#include "tests/mpi/in_process_tasks.h"

enum { DATA = 10, SUMS = 2, TASKS = 40, KINDS = 3, ROUNDS = 24, SEEDS = SCALED(8, 2), FAR = 500 };

static char path[] = "/tmp/orrery-plan.XXXXXX";
static atomic_int wrong, failed, inserted, replayed, parts;
static _Atomic uint64_t looks; /* what readers saw, added up */

/* ---- tasks ---- */

static void set(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) =
        *(const uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]) * 7 + (uint64_t)step;
}
static struct starpu_codelet set_cl = {
    .cpu_funcs = { set }, .nbuffers = 2, .modes = { STARPU_W, STARPU_R }, .name = "set"
};

static void look(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    atomic_fetch_add(&looks, (*(const uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) ^
                              *(const uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1])) +
                                 (uint64_t)step);
}
static struct starpu_codelet look_cl = {
    .cpu_funcs = { look }, .nbuffers = 2, .modes = { STARPU_R, STARPU_R }, .name = "look"
};

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
        starpu_data_set_reduction_methods(d->handle[i], &add_cl, &zero_cl);
        orr_owned_set_tag(c->cluster->value, d->handle[i], 100 + i);
        orr_cache_set_owner(c, d->handle[i], i % c->size);
    }
}

static void check(int status)
{
    if (status) atomic_fetch_add(&failed, 1);
}

static uint64_t random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* ---- a stream, for whom it is ---- */

/* All of one insertion. */
struct op {
    struct starpu_codelet *cl;
    int to, from, step, rank;
    bool fixed; /* the program says the rank */
};

/* What is done with each: it is inserted on c, computed here, or written to the plan. */
struct reader {
    struct orr_comm *c;
    struct shared *d;
    uint64_t *values, *seen;
    FILE *plan;
    int count; /* of the plan */
    int added; /* to the value of each task */
};

static void insert_op(struct orr_comm *c, const struct shared *d, const struct op *o)
{
    int step = o->step;
    if (o->cl == &contribute_cl)
        check(insert(c, o->cl, STARPU_REDUX, d->handle[o->to], STARPU_VALUE, &step, sizeof step, 0));
    else if (o->fixed)
        check(insert(c, o->cl, o->cl->modes[0], d->handle[o->to], STARPU_R, d->handle[o->from], STARPU_VALUE,
                     &step, sizeof step, STARPU_EXECUTE_ON_NODE, o->rank, 0));
    else
        check(insert(c, o->cl, o->cl->modes[0], d->handle[o->to], STARPU_R, d->handle[o->from], STARPU_VALUE,
                     &step, sizeof step, 0));
}

static void compute_op(uint64_t *values, uint64_t *seen, const struct op *o)
{
    uint64_t *to = &values[o->to], from = values[o->from], step = (uint64_t)o->step;
    if (o->cl == &contribute_cl)
        *to += step;
    else if (o->cl == &set_cl)
        *to = from * 7 + step;
    else if (o->cl == &look_cl)
        *seen += (*to ^ from) + step;
    else
        *to = *to * 3 + from + step;
}

static void plan_op(FILE *f, int position, const struct op *o)
{
    static const char *const names[] = { "R", "W", "RW" };
    fprintf(f, "task %d %s rank %d ", position, o->cl->name, o->rank);
    if (o->cl == &contribute_cl)
        fprintf(f, "REDUX:%d\n", 100 + o->to);
    else
        fprintf(f, "%s:%d R:%d\n", names[o->cl->modes[0] - 1], 100 + o->to, 100 + o->from);
}

static void read_op(struct reader *r, const struct op *o)
{
    if (r->c) insert_op(r->c, r->d, o);
    if (r->values) compute_op(r->values, r->seen, o);
    if (r->plan) plan_op(r->plan, r->count++, o);
}

/* The same tasks for all that read it; places: on which ranks. */
static void tasks(struct reader *r, int ranks, uint64_t seed, uint64_t places, int count)
{
    for (int step = 0; step < count; step++) {
        int what = (int)(random_of(&seed) % 12), to = (int)(random_of(&seed) % DATA);
        int from = (int)(random_of(&seed) % DATA), said = (int)(random_of(&seed) % (unsigned)ranks);
        int rank = (int)(random_of(&places) % (unsigned)ranks);
        struct op o = {
            what < 7 ? &mix_cl : what < 9 ? &set_cl : &look_cl, to, from, step + r->added, rank, what == 0
        };
        if (what == 0) o.rank = said;
        if (what == 11 && to < SUMS) o.cl = &contribute_cl;
        if (to != from) read_op(r, &o);
    }
}

/* ---- what lies between two iterations ---- */

static void look_at(struct orr_comm *c, const struct shared *d, int i, uint64_t expected)
{
    check(starpu_data_acquire(d->handle[i], STARPU_R));
    if (*(uint64_t *)starpu_data_get_local_ptr(d->handle[i]) != expected) atomic_fetch_add(&wrong, 1);
    starpu_data_release(d->handle[i]);
    (void)c;
}

static void change_at_home(const struct shared *d, int i)
{
    check(starpu_data_acquire(d->handle[i], STARPU_RW));
    *(uint64_t *)starpu_data_get_local_ptr(d->handle[i]) *= 5;
    starpu_data_release(d->handle[i]);
}

/* Alike on all ranks; home: of each datum. */
static void between(struct reader *r, int ranks, uint64_t seed, int *home)
{
    struct orr_comm *c = r->c;
    int what = (int)(random_of(&seed) % 11), i = SUMS + (int)(random_of(&seed) % (DATA - SUMS));
    int node = (int)(random_of(&seed) % (unsigned)ranks);
    if (what == 0) tasks(r, ranks, seed, seed, 5);
    if (what == 1 && c) orr_call_flush(c, r->d->handle[i]);
    if (what == 2 && c) orr_call_flush_all(c);
    if (what == 3 && c && seed % 2) check(orr_call_migrate(c, r->d->handle[i], node));
    if (what == 3 && home && seed % 2) home[i] = node;
    if (what == 4 && c && c->rank == home[i]) change_at_home(r->d, i);
    if (what == 4 && r->values) r->values[i] *= 5;
    if (what == 5 && c && c->rank == home[i]) look_at(c, r->d, i, r->values[i]);
    if (what == 6 && c) check(orr_wait_for_all(c));
    if (what != 7 || !c) return;
    check(orr_call_get(c, r->d->handle[i], node, NULL, NULL));
    if (c->rank == node) look_at(c, r->d, i, r->values[i]);
}

static uint64_t seed_of_job;
static int job_ranks;
static bool by_itself; /* the program inserts, and says only where iterations begin and end */

/* The rounds of a job; one: what is done with an iteration that begins. */
static void rounds(struct reader *r, void (*one)(struct reader *, int id, uint64_t kind, uint64_t places),
                   int *home)
{
    uint64_t seed = seed_of_job;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        int id = (int)(random_of(&seed) % KINDS);
        if (by_itself) id = 0, r->added = (int)round;
        uint64_t kind = seed_of_job * 10 + (uint64_t)id, gap = seed + round,
                 other = random_of(&seed) % 10 == 0;
        one(r, id, kind, kind + 77 * other);
        r->added = 0;
        between(r, job_ranks, gap, home);
    }
}

static void read_iteration(struct reader *r, int id, uint64_t kind, uint64_t places)
{
    (void)id;
    tasks(r, job_ranks, kind, places, TASKS);
}

/* A hash of what each rank knows after each iteration: where values are, who has copies in which order, how
 * often they were written. */
static uint64_t known[IN_PROCESS_MAX];

static void note_known(const struct orr_comm *c, const struct shared *d)
{
    for (int i = 0; i < DATA; i++) {
        const struct orr_owned *o = orr_owned_of(d->handle[i]);
        uint64_t h = known[c->rank] * 31 + (uint64_t)orr_owned_holder(c, d->handle[i]) + 1000 * o->version;
        for (uint32_t n = 0; n < o->sent.count && n < ORR_RANKS_INLINE; n++)
            h = h * 31 + (uint64_t)o->sent.inline_ranks[n] + 1;
        known[c->rank] = h * 31 + o->sent.count;
    }
}

static void follow(struct reader *r, int id, uint64_t kind, uint64_t places)
{
    struct orr_comm *c = r->c;
    (void)id;
    orr_replay_push(c);
    tasks(r, job_ranks, kind, places, TASKS);
    const struct orr_recording *rec = orr_load_relaxed(&c->recording);
    bool whole = rec && rec->state == ORR_RECORDING_READY && rec->cursor == rec->nlines && !rec->strayed;
    orr_replay_pop(c);
    note_known(c, r->d);
    atomic_fetch_add(whole ? &replayed : &inserted, 1);
}

/* The insertions of c alone are left to the replay. */
static void iterate(struct reader *r, int id, uint64_t kind, uint64_t places)
{
    struct orr_comm *c = r->c;
    int done = orr_replay_begin(c, id, NULL, NULL);
    if (done == 1) r->c = NULL;
    tasks(r, job_ranks, kind, places, TASKS);
    r->c = c;
    if (orr_replay_end(c) || done < 0) atomic_fetch_add(&failed, 1);
    note_known(c, r->d);
    atomic_fetch_add(done == 1 ? &replayed : &inserted, 1);
}

static void begin_plan(struct reader *r, int ranks)
{
    int workers = (int)starpu_worker_get_count();
    *r = (struct reader){ .plan = fopen(path, "w") };
    fprintf(r->plan, "orrery-plan 1\nmachine %d\n", ranks);
    for (int k = 0; k < ranks; k++) fprintf(r->plan, "rank %d node 0 workers %d\n", k, workers);
    for (int w = 0; w < ranks * workers; w++) fprintf(r->plan, "worker %d CPU -\n", w);
}

static void end_plan(struct reader *r)
{
    fprintf(r->plan, "end %d\n", r->count);
    fclose(r->plan);
}

static uint64_t expected_looks;

static void random_iterations(struct job *j, int rank)
{
    struct shared d;
    int home[DATA];
    uint64_t values[DATA], seen = 0;
    check(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    for (int i = 0; i < DATA; i++) values[i] = (uint64_t)i, home[i] = i % j->ranks;
    struct reader r = { .c = c, .d = &d, .values = values, .seen = &seen };
    rounds(&r, by_itself ? follow : iterate, home);
    struct orr_stream *s = orr_load_acquire(&c->stream);
    if (s && orr_load_relaxed(&s->off)) atomic_fetch_add(&failed, 1);
    for (int i = 0; i < SUMS; i++) check(orr_call_gather_sums(c, d.handle[i], 0, 0));
    check(orr_wait_for_all(c));
    for (int i = 0; i < DATA; i++)
        if (home[i] == rank) look_at(c, &d, i, values[i]);
    if (rank == 0) expected_looks = seen;
    for (int i = 0; i < DATA; i++) starpu_data_unregister(d.handle[i]);
    check(rank_end(j, rank));
}

static void run_job(int ranks, unsigned delays, void (*body)(struct job *, int))
{
    struct job j;
    job_create(&j, ranks, 0, delays, body);
    j.placement = orr_policy_find("plan");
    for (int i = 0; i < ranks; i++) strcpy(sessions[i].place.argument, path);
    job_run(&j);
    job_join(&j);
    for (int i = 0; i < ranks; i++) orr_policy_set_current(&sessions[i].place, 0);
}

static void oracle(int ranks)
{
    int missing = 0, otherwise = 0;
    wrong = failed = replayed = inserted = 0;
    job_ranks = ranks;
    for (seed_of_job = 1; seed_of_job <= SEEDS; seed_of_job++) {
        struct reader plan;
        begin_plan(&plan, ranks);
        rounds(&plan, read_iteration, NULL);
        end_plan(&plan);
        looks = 0;
        memset(known, 0, sizeof known);
        run_job(ranks, (unsigned)(seed_of_job % 3) * 7, random_iterations);
        missing += looks != expected_looks;
        for (int i = 1; i < ranks; i++) otherwise += known[i] != known[0];
    }
    is_int(wrong + missing, 0, "%d ranks that %s iterations of a plan compute what one alone does", ranks,
           by_itself ? "recognise" : "replay");
    is_int(otherwise, 0, "what each rank left out it knows nevertheless: who has which data");
    is_int(failed, 0, "nothing fails, and no rank's stream seems to differ");
    ok(replayed > inserted / 2, "many iterations are %s (%d of %d)", by_itself ? "recognised" : "replayed",
       replayed, replayed + inserted);
}

/* ---- what is kept, and for how long ---- */

/* Ranks 1 and 2 have much to do, with data of their own; rank 0 has one task. */
static void far_tasks(struct reader *r)
{
    for (int k = 0; k < FAR; k++) {
        struct op o = { &mix_cl, k % 2 ? 4 : 5, k % 2 ? 5 : 4, k, 1 + k % 3 / 2, false };
        read_op(r, &o);
    }
    struct op last = { &mix_cl, 3, 6, FAR, 0, false };
    read_op(r, &last);
}

static void look_once(struct reader *r)
{
    struct op o = { &look_cl, 4, 5, 0, 0, false };
    read_op(r, &o);
}

/* r->c NULL: for the plan. 1: it was replayed. */
static int iterate_one(struct reader *r, int id, void (*one)(struct reader *))
{
    struct orr_comm *c = r->c;
    int done = c ? orr_replay_begin(c, id, NULL, NULL) : 0;
    if (done == 0) one(r);
    if (c && c->rank == 0 && done == 1 && !parts) parts = (int)orr_load_relaxed(&c->recording)->nparts;
    if (c) check(orr_replay_end(c));
    return done;
}

static int iterate_far(struct reader *r)
{
    return iterate_one(r, 1, far_tasks);
}

enum { AGAIN = 4 };

static atomic_int again[3];

static void far_away(struct job *j, int rank)
{
    struct shared d;
    check(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    struct reader r = { .c = c, .d = &d };
    register_data(c, &d);
    for (int i = 0; i < AGAIN; i++) again[0] += iterate_far(&r);
    check(orr_call_migrate(c, d.handle[3], 1));
    check(orr_call_migrate(c, d.handle[3], 0));
    for (int i = 0; i < AGAIN; i++) again[1] += iterate_far(&r);
    look_once(&r); /* rank 0 has copies of what the others write */
    for (int i = 0; i < AGAIN; i++) {
        int done = iterate_far(&r);
        if (rank == 0) again[2] += done;
    }
    check(orr_wait_for_all(c));
    for (int i = 0; i < DATA; i++) starpu_data_unregister(d.handle[i]);
    check(rank_end(j, rank));
}

static void own_part(void)
{
    struct reader plan;
    begin_plan(&plan, 3);
    for (int i = 0; i < 3 * AGAIN; i++) {
        if (i == 2 * AGAIN) look_once(&plan);
        iterate_far(&plan);
    }
    end_plan(&plan);
    failed = 0;
    run_job(3, 3, far_away);
    is_int(again[0], 3 * (AGAIN - 1),
           "under a plan an iteration is inserted once, and replayed from then on");
    is_int(parts, 1, "a rank with one task of %d keeps that one alone", FAR + 1);
    is_int(again[1], 3 * (AGAIN - 1), "once data of it had another owner it is inserted anew");
    is_int(again[2], AGAIN - 1, "and where a rank got a copy of what others write, there");
    is_int(failed, 0, "nothing fails");
}

/* Two kinds of iterations by turns: one leaves copies on rank 0 of what the ranks write in the other. */
static void by_turns(struct job *j, int rank)
{
    struct shared d;
    check(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    struct reader r = { .c = c, .d = &d };
    register_data(c, &d);
    for (int i = 0; i < AGAIN; i++) again[0] += iterate_far(&r) + iterate_one(&r, 2, look_once);
    check(orr_wait_for_all(c));
    for (int i = 0; i < DATA; i++) starpu_data_unregister(d.handle[i]);
    check(rank_end(j, rank));
}

static void two_kinds(void)
{
    struct reader plan;
    begin_plan(&plan, 3);
    for (int i = 0; i < AGAIN; i++) {
        iterate_far(&plan);
        iterate_one(&plan, 2, look_once);
    }
    end_plan(&plan);
    failed = again[0] = 0;
    run_job(3, 3, by_turns);
    ok(again[0] >= 3 * 2 * (AGAIN - 1) - 1,
       "iterations of two kinds by turns are replayed, though one begins with the other's copies (%d)",
       again[0]);
    is_int(failed, 0, "nothing fails");
}

/* A program that found nothing to do. */
static void nothing(struct job *j, int rank)
{
    struct shared d;
    check(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    struct reader r = { .c = c, .d = &d };
    register_data(c, &d);
    for (int i = 0; i < AGAIN; i++) {
        look_once(&r);
        again[0] += orr_replay_begin(c, 1, NULL, NULL);
        check(orr_replay_end(c));
    }
    check(orr_wait_for_all(c));
    for (int i = 0; i < DATA; i++) starpu_data_unregister(d.handle[i]);
    check(rank_end(j, rank));
}

static void empty_iterations(void)
{
    struct reader plan;
    begin_plan(&plan, 2);
    for (int i = 0; i < AGAIN; i++) look_once(&plan);
    end_plan(&plan);
    failed = 0;
    again[0] = 0;
    run_job(2, 3, nothing);
    is_int(again[0], 2 * (AGAIN - 1), "an iteration without tasks is replayed as any other");
    is_int(failed, 0, "nothing fails");
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    if (starpu_init(&conf)) skip_all("no worker");
    if (mkstemp(path) < 0) skip_all("no temporary file");
    for (int ranks = 2; ranks <= 4; ranks++) oracle(ranks);
    own_part();
    two_kinds();
    empty_iterations();
    by_itself = true;
    for (int ranks = 2; ranks <= 4; ranks++) oracle(ranks);
    starpu_shutdown();
    unlink(path);
    return done_testing();
}
