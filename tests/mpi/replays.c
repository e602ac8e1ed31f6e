/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations that are recorded and replayed, over whole ranks in one process: they compute what one rank
 * alone does, whatever happens between them, and each rank replays its own part only. What cannot be
 * replayed, or is not right any more, is inserted. Threads: one for each rank, and workers. Owns: the data of
 * each rank. Not here: the public functions, over MPI (iterations.c).
 */
#include <starpu.h>

#include "core/run/trace.h"
#include "mpi/place/recording.h"
#include "tests/mpi/in_process.h"
#include "tests/mpi/in_process_tasks.h"

enum { DATA = 8, TASKS = 40, KINDS = 3, ROUNDS = 24, SEEDS = SCALED(12, 3) };

/* ---- tasks ---- */

/* value = value * 10 + digit, and nothing when it is waited for */
static void digit(void *buffers[], void *arg)
{
    int value;
    starpu_codelet_unpack_args(arg, &value);
    uint64_t *to = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    *to = *to * 10 + (uint64_t)value;
}
static struct starpu_codelet digit_cl = {
    .cpu_funcs = { digit }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "digit"
};

/* ---- data ---- */

struct shared {
    starpu_data_handle_t handle[DATA];
    uint64_t value[DATA]; /* of those that are this rank's */
};

static void register_one(struct orr_comm *c, struct shared *d, int i)
{
    bool mine = i % c->size == c->rank;
    starpu_variable_data_register(&d->handle[i], mine ? STARPU_MAIN_RAM : -1,
                                  mine ? (uintptr_t)&d->value[i] : 0, sizeof d->value[i]);
    starpu_data_set_reduction_methods(d->handle[i], &add_cl, &zero_cl);
    orr_owned_set_tag(c->cluster->value, d->handle[i], 100 + i);
    orr_cache_set_owner(c, d->handle[i], i % c->size);
}

static void register_data(struct orr_comm *c, struct shared *d)
{
    for (int i = 0; i < DATA; i++) {
        d->value[i] = (uint64_t)i;
        register_one(c, d, i);
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

static atomic_int wrong, failed, inserted, replayed, kept_most;

/* ---- random iterations ---- */

/* The same tasks on every rank; with values: run here, one after the other. */
static void tasks(struct orr_comm *c, struct shared *d, uint64_t seed, int count, uint64_t *values)
{
    for (int step = 0; step < count; step++) {
        int to = (int)(random_of(&seed) % DATA), from = (int)(random_of(&seed) % DATA);
        int where = (int)(random_of(&seed) % 5), rank = (int)(random_of(&seed) % 12), r = 0;
        if (to == from) continue;
        bool reduces = where == 4 && to < 2;
        if (values)
            values[to] =
                reduces ? values[to] + (uint64_t)step : values[to] * 3 + values[from] + (uint64_t)step;
        else if (reduces)
            r = insert(c, &contribute_cl, STARPU_REDUX, d->handle[to], STARPU_VALUE, &step, sizeof step,
                       STARPU_EXECUTE_ON_NODE, rank % c->size, 0);
        else if (where == 0)
            r = insert(c, &mix_cl, STARPU_RW, d->handle[to], STARPU_R, d->handle[from], STARPU_VALUE, &step,
                       sizeof step, STARPU_EXECUTE_ON_NODE, rank % c->size, 0);
        else if (where == 1)
            r = insert(c, &mix_cl, STARPU_RW, d->handle[to], STARPU_R, d->handle[from], STARPU_VALUE, &step,
                       sizeof step, STARPU_EXECUTE_ON_DATA, d->handle[rank % DATA], 0);
        else
            r = insert(c, &mix_cl, STARPU_RW, d->handle[to], STARPU_R, d->handle[from], STARPU_VALUE, &step,
                       sizeof step, 0);
        if (r) atomic_fetch_add(&failed, 1);
    }
}

/* What lies between two iterations, alike on all ranks: nothing, a few insertions, data given back. */
static void between(struct orr_comm *c, struct shared *d, uint64_t seed, uint64_t *values)
{
    uint64_t what = random_of(&seed) % 6;
    if (what == 0) tasks(c, d, seed, 5, values);
    if (what == 1 && !values) orr_cache_flush(c, d->handle[seed % DATA]);
    if (what == 2 && !values) orr_cache_flush_all(c);
}

static void iterate(struct orr_comm *c, struct shared *d, int id, uint64_t seed)
{
    int r = orr_replay_begin(c, id, NULL, NULL);
    if (r == 0) tasks(c, d, seed, TASKS, NULL);
    if (orr_replay_end(c) || r < 0) atomic_fetch_add(&failed, 1);
    atomic_fetch_add(r == 1 ? &replayed : &inserted, 1);
}

static uint64_t seed_of_job;

static void random_iterations(struct job *j, int rank)
{
    struct shared d;
    uint64_t values[DATA];
    if (rank_start(j, rank)) atomic_fetch_add(&failed, 1);
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    for (int i = 0; i < DATA; i++) values[i] = (uint64_t)i;
    for (uint64_t round = 0, seed = seed_of_job; round < ROUNDS; round++) {
        int id = (int)(random_of(&seed) % KINDS);
        uint64_t kind = seed_of_job * 10 + (uint64_t)id, gap = seed + round;
        if (seed_of_job % 4 == 3 && round == ROUNDS / 2) orr_cache_set(c->cluster->value, false);
        iterate(c, &d, id, kind);
        between(c, &d, gap, NULL);
        tasks(c, NULL, kind, TASKS, values);
        between(c, NULL, gap, values);
    }
    if (orr_wait_for_all(c)) atomic_fetch_add(&failed, 1);
    struct orr_stream *s = orr_load_acquire(&c->stream);
    if (s && orr_load_relaxed(&s->off)) atomic_fetch_add(&failed, 1);
    unregister_data(&d);
    for (int i = rank; i < DATA; i += j->ranks) atomic_fetch_add(&wrong, d.value[i] != values[i]);
    if (rank_end(j, rank)) atomic_fetch_add(&failed, 1);
}

static void oracle(int ranks)
{
    struct job j;
    wrong = failed = replayed = inserted = 0;
    for (seed_of_job = 1; seed_of_job <= SEEDS; seed_of_job++) {
        job_create(&j, ranks, 0, (unsigned)(seed_of_job % 3) * 7, random_iterations);
        job_run(&j);
        job_join(&j);
    }
    is_int(wrong, 0, "%d ranks that replay iterations compute what one alone does", ranks);
    is_int(failed, 0, "nothing fails, and no rank's stream seems to differ");
    ok(replayed * 2 > inserted, "many iterations are replayed (%d of %d)", replayed, replayed + inserted);
}

/* ---- what is kept of an iteration ---- */

enum { FAR = 500 };

/* Rank 1 and 2 have much to do, rank 0 has one task. */
static void far_tasks(struct orr_comm *c, struct shared *d)
{
    int one = 1;
    for (int k = 0; k < FAR; k++)
        insert(c, &mix_cl, STARPU_RW, d->handle[k % 2 ? 1 : 2], STARPU_R, d->handle[k % 2 ? 2 : 4],
               STARPU_VALUE, &k, sizeof k, 0);
    insert(c, &mix_cl, STARPU_RW, d->handle[0], STARPU_R, d->handle[3], STARPU_VALUE, &one, sizeof one, 0);
}

static uint64_t seen_by_rank_0[2];
static atomic_int old_noticed, far_parts;

static void read_far(struct orr_comm *c, struct shared *d, int k)
{
    static struct starpu_codelet copy_cl = {
        .cpu_funcs = { mix }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "copy"
    };
    int zero_step = 0;
    insert(c, &zero_cl, STARPU_W, d->handle[6], 0);
    insert(c, &copy_cl, STARPU_RW, d->handle[6], STARPU_R, d->handle[1], STARPU_VALUE, &zero_step,
           sizeof zero_step, 0);
    orr_wait_for_all(c);
    if (c->rank) return;
    starpu_data_acquire(d->handle[6], STARPU_R);
    seen_by_rank_0[k] = *(uint64_t *)starpu_data_get_local_ptr(d->handle[6]);
    starpu_data_release(d->handle[6]);
}

static void far_away(struct job *j, int rank)
{
    struct shared d;
    uint64_t values[DATA];
    rank_start(j, rank);
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    for (int k = 0; k < 3; k++) {
        int r = orr_replay_begin(c, 1, NULL, NULL);
        if (r == 0) far_tasks(c, &d);
        if (r == 1 && rank == 0) atomic_store(&far_parts, (int)orr_load_relaxed(&c->recording)->nparts);
        orr_replay_end(c);
        if (r != (k > 0)) atomic_fetch_add(&failed, 1);
    }
    read_far(c, &d, 0); /* rank 0 now has a copy of what the others write */
    int r = orr_replay_begin(c, 1, NULL, NULL);
    if (r == 0) far_tasks(c, &d);
    orr_replay_end(c);
    if (rank == 0) atomic_store(&old_noticed, r == 0);
    read_far(c, &d, 1);
    for (int k = 0; k < 3; k++) { /* it knows by now */
        r = orr_replay_begin(c, 1, NULL, NULL);
        if (r == 0) far_tasks(c, &d);
        if (r == 1 && rank == 0) atomic_store(&kept_most, (int)orr_load_relaxed(&c->recording)->nparts);
        orr_replay_end(c);
        read_far(c, &d, 1);
        if (r != 1) atomic_fetch_add(&failed, 1);
    }
    for (int i = 0; i < DATA; i++) values[i] = (uint64_t)i;
    for (int n = 0; n < 7; n++)
        for (int k = 0; k < FAR; k++)
            values[k % 2 ? 1 : 2] = values[k % 2 ? 1 : 2] * 3 + values[k % 2 ? 2 : 4] + (uint64_t)k;
    orr_wait_for_all(c);
    if (rank == 0) atomic_fetch_add(&wrong, seen_by_rank_0[1] != values[1] || seen_by_rank_0[0] == values[1]);
    unregister_data(&d);
    rank_end(j, rank);
}

static void own_part(void)
{
    struct job j;
    wrong = failed = 0;
    job_create(&j, 3, 0, 3, far_away);
    job_run(&j);
    job_join(&j);
    is_int(far_parts, 1, "a rank with one task of %d keeps that one alone", FAR + 1);
    ok(old_noticed, "once it has a copy of what the others write, it inserts and records anew");
    is_int(kept_most, 2, "and keeps one more, by which its copy becomes old");
    is_int(wrong, 0, "so it never reads an old one");
    is_int(failed, 0, "all others go on replaying");
}

/* ---- arguments, and many at a time ---- */

static void add_position(struct starpu_task *task, unsigned position, void *arg)
{
    /* packed: a count, then a size and the bytes of each value */
    int value = (int)position + *(int *)arg;
    memcpy((char *)task->cl_arg + sizeof(int) + sizeof(size_t), &value, sizeof value);
}

static void digits(struct orr_comm *c, struct shared *d, int first)
{
    for (int i = first; i < first + 2; i++)
        insert(c, &digit_cl, STARPU_RW, d->handle[0], STARPU_VALUE, &i, sizeof i, 0);
}

static atomic_ullong patched, in_flight;

static void with_arguments(struct job *j, int rank)
{
    struct shared d;
    rank_start(j, rank);
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    for (int k = 0; k < 3; k++) {
        int base = 3 + 2 * k;
        if (orr_replay_begin(c, 1, k == 2 ? add_position : NULL, &base) == 0) digits(c, &d, 1);
        orr_replay_end(c);
    }
    orr_wait_for_all(c);
    if (rank == 0) {
        starpu_data_acquire(d.handle[0], STARPU_RW);
        atomic_store(&patched, d.value[0]);
        d.value[0] = 7;
    }
    for (int k = 0; k < 8; k++) { /* none of them can run yet */
        if (orr_replay_begin(c, 1, NULL, NULL) != 1) atomic_fetch_add(&failed, 1);
        orr_replay_end(c);
    }
    if (rank == 0) starpu_data_release(d.handle[0]);
    orr_wait_for_all(c);
    unregister_data(&d);
    if (rank == 0) atomic_store(&in_flight, d.value[0]);
    rank_end(j, rank);
}

static void arguments(void)
{
    struct job j;
    failed = 0;
    job_create(&j, 2, 0, 0, with_arguments);
    job_run(&j);
    job_join(&j);
    is_int((long long)patched, 121278,
           "values are those of the record, or what the program's function makes");
    is_int((long long)in_flight, 71212121212121212, "eight iterations are under way at the same time");
    is_int(failed, 0, "none is inserted for that");
}

/* ---- kinds of tasks ---- */

enum { MANY = 12 };
static atomic_int called;
static const int factor = 3;

/* the first of n data becomes (the sum of all + the values) * the factor */
static void sum_up(void *buffers[], void *arg)
{
    int values[40], n;
    const int *by;
    uint64_t sum = 0;
    starpu_codelet_unpack_args(arg, &n, &by, values);
    for (int i = 0; i < n; i++) sum += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[i]);
    for (int i = 0; i < 40; i++) sum += (uint64_t)values[i];
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = sum * (uint64_t)*by;
}
static struct starpu_codelet sum_cl = { .cpu_funcs = { sum_up },
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "sum" };

static void add_pointed(void *buffers[], void *arg)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += (uint64_t) * (const int *)arg;
}
static struct starpu_codelet pointed_cl = {
    .cpu_funcs = { add_pointed }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "pointed"
};

static void count_call(void *arg)
{
    atomic_fetch_add(&called, arg == (void *)&factor);
}

static void all_kinds(struct orr_comm *c, struct shared *d)
{
    struct starpu_data_descr descrs[MANY];
    int values[40], n = DATA, one = 1, *owned = malloc(sizeof *owned);
    const int *by = &factor;
    *owned = 5;
    for (int i = 0; i < 40; i++) values[i] = i;
    for (int i = 0; i < MANY; i++) /* some twice */
        descrs[i] = (struct starpu_data_descr){ d->handle[i % DATA], i ? STARPU_R : STARPU_RW };
    insert(c, &sum_cl, STARPU_DATA_MODE_ARRAY, descrs, MANY, STARPU_VALUE, &n, sizeof n, STARPU_VALUE, &by,
           sizeof by, STARPU_VALUE, values, sizeof values,
           0); /* more data, and more bytes, than a task holds */
    insert(c, &pointed_cl, STARPU_RW, d->handle[0], STARPU_CL_ARGS_NFREE, &factor, sizeof factor,
           STARPU_CALLBACK, count_call, STARPU_CALLBACK_ARG_NFREE, &factor, 0);
    insert(c, &add_cl, STARPU_RW | STARPU_COMMUTE, d->handle[0], STARPU_R, d->handle[1], STARPU_PRIORITY, 3,
           STARPU_NAME, "commuting", 0);
    insert(c, &digit_cl, STARPU_RW, d->handle[0], STARPU_VALUE, &one, sizeof one, STARPU_EXECUTE_ON_WORKER, 0,
           0);
    if (c->rank == 0) /* the others have no use for it */
        insert(c, &pointed_cl, STARPU_RW, d->handle[0], STARPU_CL_ARGS, owned, sizeof *owned, 0);
    else
        free(owned);
    insert(c, NULL, STARPU_EXECUTE_ON_NODE, 0, STARPU_CALLBACK, count_call, STARPU_CALLBACK_ARG_NFREE,
           &factor, 0);
}

static uint64_t kinds_value, kinds_want;

static void with_kinds(struct job *j, int rank)
{
    struct shared d;
    uint64_t want = 0;
    rank_start(j, rank);
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    for (int k = 0; k < 4; k++) {
        int r = orr_replay_begin(c, 1, NULL, NULL);
        if (r == 0) all_kinds(c, &d);
        if (r != (k > 0)) atomic_fetch_add(&failed, 1);
        orr_replay_end(c);
        want = (want + 28 + 780) * 3 + 3;
        want = (want + 1) * 10 + 1 + 5;
    }
    orr_wait_for_all(c);
    unregister_data(&d);
    if (rank == 0) {
        kinds_value = d.value[0];
        kinds_want = want;
    }
    rank_end(j, rank);
}

static void kinds(void)
{
    struct job j;
    failed = 0;
    job_create(&j, 2, 0, 0, with_kinds);
    job_run(&j);
    job_join(&j);
    ok(kinds_value == kinds_want,
       "tasks with many data, long, pointed-to and owned arguments, priorities and workers are replayed");
    is_int(called, 2 * 4, "their callbacks are called each time, also those of tasks without codelet");
    is_int(failed, 0, "and none is inserted");
}

/* ---- what is not replayed ---- */

static atomic_int refused_insertion, refused_nesting, refused_end, not_replayed, again, anew, streams_equal,
    difference_seen, forgotten;

/* Runs the iteration so often; how many times it was replayed. */
static int run(struct orr_comm *c, struct shared *d, int id, int times,
               void (*body)(struct orr_comm *, struct shared *))
{
    int n = 0;
    for (int k = 0; k < times; k++) {
        int r = orr_replay_begin(c, id, NULL, NULL);
        if (r == 0) body(c, d);
        n += r == 1;
        orr_replay_end(c);
    }
    return n;
}

static void plain(struct orr_comm *c, struct shared *d)
{
    digits(c, d, 0);
}

static void tagged(struct orr_comm *c, struct shared *d)
{
    static _Atomic starpu_tag_t tag = 1000;
    int one = 1;
    insert(c, &digit_cl, STARPU_RW, d->handle[0], STARPU_VALUE, &one, sizeof one, STARPU_TAG,
           atomic_fetch_add(&tag, 1), 0);
}

static void freed_argument(struct orr_comm *c, struct shared *d)
{
    int one = 1;
    void *arg = c->rank == 0 ? malloc(4) : NULL;
    insert(c, &digit_cl, STARPU_RW, d->handle[0], STARPU_VALUE, &one, sizeof one, STARPU_CALLBACK_ARG, arg,
           0);
}

static void alone(struct orr_comm *c, struct shared *d)
{
    int one = 1;
    digits(c, d, 0);
    starpu_task_insert(&digit_cl, STARPU_RW, d->handle[c->rank], STARPU_VALUE, &one, sizeof one, 0);
}

static void refusals(struct orr_comm *c, struct shared *d)
{
    int one = 1;
    bool first = c->rank == 0;
    run(c, d, 1, 1, plain);
    if (orr_replay_begin(c, 1, NULL, NULL) != 1) atomic_fetch_add(&failed, 1);
    int r = insert(c, &digit_cl, STARPU_RW, d->handle[0], STARPU_VALUE, &one, sizeof one, 0);
    if (first) refused_insertion = r;
    r = orr_replay_begin(c, 2, NULL, NULL);
    if (first) refused_nesting = r;
    if (orr_replay_end(c)) atomic_fetch_add(&failed, 1);
    r = orr_replay_end(c);
    if (first) refused_end = r;
}

static void not_replayable(struct job *j, int rank)
{
    struct shared d;
    rank_start(j, rank);
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    refusals(c, &d);
    int n = run(c, &d, 10, 3, tagged) + run(c, &d, 11, 3, freed_argument);
    if (rank == 0) atomic_fetch_add(&not_replayed, n); /* the other has no part in them */
    n = run(c, &d, 12, 3, alone);
    atomic_fetch_add(&not_replayed, n);
    /* data that are registered anew */
    if (run(c, &d, 20, 3, plain) != 2) atomic_fetch_add(&failed, 1);
    orr_wait_for_all(c);
    starpu_data_unregister(d.handle[0]);
    register_one(c, &d, 0);
    atomic_fetch_add(&anew, run(c, &d, 20, 1, plain) == 0);
    atomic_fetch_add(&again, run(c, &d, 20, 2, plain) == 2);
    orr_replay_forget(c, 20);
    atomic_fetch_add(&forgotten, run(c, &d, 20, 2, plain) == 1);
    orr_wait_for_all(c);
    struct orr_stream *s = orr_load_acquire(&c->stream);
    atomic_fetch_add(&streams_equal, !orr_load_relaxed(&s->off));
    /* one rank inserts another task where the other replays */
    if (rank == 1) orr_replay_forget(c, 20);
    if (rank == 1) d.handle[0]->mpi_tag++; /* as if it were another datum */
    run(c, &d, 20, 1, plain);
    orr_wait_for_all(c);
    atomic_fetch_add(&difference_seen, orr_load_relaxed(&s->off) != 0);
    unregister_data(&d);
    rank_end(j, rank);
}

static void insertions(void)
{
    struct job j;
    failed = 0;
    job_create(&j, 2, 0, 0, not_replayable);
    job_run(&j);
    job_join(&j);
    is_int(refused_insertion, -EINVAL, "an insertion inside of a replayed iteration is refused");
    is_int(refused_nesting, -EINVAL, "so is a beginning inside of another");
    is_int(refused_end, -EINVAL, "and an end without a beginning");
    is_int(not_replayed, 0,
           "tasks with tags, with arguments that are freed, or of one rank alone are inserted");
    is_int(anew, 2, "data that were registered anew have it recorded anew");
    is_int(again, 2, "and then it is replayed again");
    is_int(forgotten, 2, "the program can have it recorded anew");
    is_int(streams_equal, 2, "ranks that replay and ranks that insert have the same stream");
    is_int(difference_seen, 2, "and an iteration that differs is noticed");
    is_int(failed, 0, "nothing else fails");
}

/* ---- by itself ---- */

static atomic_int followed, strayed;

/* The same with insertions that go on: values differ from one to the next, and sometimes the tasks. */
static void same_tasks(struct orr_comm *c, struct shared *d, uint64_t seed, int round, int end,
                       uint64_t *values)
{
    for (int step = 0; step < end; step++) {
        int to = (int)(random_of(&seed) % DATA), from = (int)(random_of(&seed) % DATA);
        int where = (int)(random_of(&seed) % 6), rank = (int)(random_of(&seed) % 12), r = 0;
        int value = step * 100 + round;
        if (to == from) continue;
        bool reduces = where == 4 && to < 2;
        struct starpu_data_descr both[2];
        if (values) {
            values[to] =
                reduces ? values[to] + (uint64_t)value : values[to] * 3 + values[from] + (uint64_t)value;
            continue;
        }
        both[0] = (struct starpu_data_descr){ d->handle[to], STARPU_RW };
        both[1] = (struct starpu_data_descr){ d->handle[from], STARPU_R };
        if (reduces)
            r = insert(c, &contribute_cl, STARPU_REDUX, d->handle[to], STARPU_VALUE, &value, sizeof value,
                       STARPU_EXECUTE_ON_NODE, rank % c->size, 0);
        else if (where == 0)
            r = insert(c, &mix_cl, STARPU_RW, d->handle[to], STARPU_R, d->handle[from], STARPU_VALUE, &value,
                       sizeof value, STARPU_EXECUTE_ON_NODE, rank % c->size, STARPU_NAME, "named", 0);
        else if (where == 5) /* is never compared */
            r = insert(c, &mix_cl, STARPU_DATA_MODE_ARRAY, both, 2, STARPU_VALUE, &value, sizeof value, 0);
        else
            r = insert(c, &mix_cl, STARPU_RW, d->handle[to], STARPU_R, d->handle[from], STARPU_VALUE, &value,
                       sizeof value, STARPU_PRIORITY, where, STARPU_FLOPS, 1.0 * where, 0);
        if (r) atomic_fetch_add(&failed, 1);
        if (step % 16 == 7 && round % 3 == 1) orr_cache_flush(c, d->handle[(unsigned)round % DATA]);
    }
}

static void pushed_iterations(struct job *j, int rank)
{
    struct shared d;
    uint64_t values[DATA];
    if (rank_start(j, rank)) atomic_fetch_add(&failed, 1);
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    for (int i = 0; i < DATA; i++) values[i] = (uint64_t)i;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t seed = seed_of_job + (round >= ROUNDS - 3 ? 1000 : 0), gap = seed + (uint64_t)round;
        int count = round == ROUNDS / 2 ? TASKS / 2 : TASKS;
        orr_replay_push(c);
        same_tasks(c, &d, seed, round, count, NULL);
        struct orr_recording *r = orr_load_relaxed(&c->recording);
        bool whole = r && r->state == ORR_RECORDING_READY && r->cursor == r->nlines && !r->strayed;
        atomic_fetch_add(whole ? &followed : &strayed, 1);
        orr_replay_pop(c);
        if (round == 5) between(c, &d, gap, NULL);
        same_tasks(c, NULL, seed, round, count, values);
        if (round == 5) between(c, NULL, gap, values);
    }
    if (orr_wait_for_all(c)) atomic_fetch_add(&failed, 1);
    struct orr_stream *s = orr_load_acquire(&c->stream);
    if (s && orr_load_relaxed(&s->off)) atomic_fetch_add(&failed, 1);
    unregister_data(&d);
    for (int i = rank; i < DATA; i += j->ranks) atomic_fetch_add(&wrong, d.value[i] != values[i]);
    if (rank_end(j, rank)) atomic_fetch_add(&failed, 1);
}

static int begins_told, ends_told;

static void count_told(bool begins)
{
    begins ? begins_told++ : ends_told++;
}

static void by_itself(void)
{
    struct job j;
    wrong = failed = 0;
    orr_iteration_hook = count_told;
    starpu_iteration_push(1);
    starpu_iteration_push(2);
    starpu_iteration_pop();
    starpu_iteration_pop();
    orr_iteration_hook = NULL;
    ok(begins_told == 1 && ends_told == 1,
       "the layer is told of the outermost iteration that the program marks");
    for (seed_of_job = 1; seed_of_job <= SEEDS; seed_of_job++) {
        job_create(&j, 2 + (int)(seed_of_job % 3), 0, (unsigned)(seed_of_job % 2) * 7, pushed_iterations);
        job_run(&j);
        job_join(&j);
    }
    is_int(wrong, 0, "iterations that are recognised when they are inserted again compute the same");
    is_int(failed, 0, "nothing fails, and the streams agree");
    ok(followed * 2 > strayed && strayed > 0, "many are recognised, and those that differ are not (%d, %d)",
       followed, strayed);
}

/* What makes two insertions different ones. */
enum { VARIANTS = 12 };
static void look(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}
static struct starpu_codelet look_cl = {
    .cpu_funcs = { look }, .nbuffers = 2, .modes = { STARPU_R, STARPU_R }, .name = "look"
};
static struct starpu_codelet look_too_cl = {
    .cpu_funcs = { look }, .nbuffers = 2, .modes = { STARPU_R, STARPU_R }, .name = "look"
};
static struct starpu_codelet write_cl = {
    .cpu_funcs = { look }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "look"
};

static int insert_variant(struct orr_comm *c, starpu_data_handle_t *h, int variant)
{
    static const char name[] = "name", same_name[] = "name";
    double bytes[2] = { variant };
    switch (variant) {
    case 1: return insert(c, &look_cl, STARPU_R, h[1], STARPU_R, h[0], STARPU_VALUE, bytes, (size_t)8, 0);
    case 2: return insert(c, &look_cl, STARPU_R, h[0], STARPU_R, h[2], STARPU_VALUE, bytes, (size_t)8, 0);
    case 3: return insert(c, &look_cl, STARPU_R, h[0], STARPU_R, h[1], STARPU_VALUE, bytes, (size_t)16, 0);
    case 4: return insert(c, &look_cl, STARPU_R, h[0], STARPU_R, h[1], 0);
    case 5: return insert(c, &look_cl, STARPU_VALUE, bytes, (size_t)8, STARPU_R, h[0], STARPU_R, h[1], 0);
    case 6:
        return insert(c, &look_cl, STARPU_R, h[0], STARPU_R, h[1], STARPU_VALUE, bytes, (size_t)8,
                      STARPU_PRIORITY, 1, 0);
    case 7:
        return insert(c, &look_cl, STARPU_R, h[0], STARPU_R, h[1], STARPU_VALUE, bytes, (size_t)8,
                      STARPU_NAME, name, 0);
    case 8:
        return insert(c, &look_cl, STARPU_R, h[0], STARPU_R, h[1], STARPU_VALUE, bytes, (size_t)8,
                      STARPU_NAME, same_name, 0);
    case 9: return insert(c, &look_too_cl, STARPU_R, h[0], STARPU_R, h[1], STARPU_VALUE, bytes, (size_t)8, 0);
    case 10: return insert(c, &write_cl, STARPU_RW, h[0], STARPU_R, h[1], STARPU_VALUE, bytes, (size_t)8, 0);
    case 11:
        return insert(c, &look_cl, STARPU_R, h[0], STARPU_R, h[1], STARPU_VALUE, bytes, (size_t)8,
                      STARPU_TASK_FILE, name, 0);
    default: return insert(c, &look_cl, STARPU_R, h[0], STARPU_R, h[1], STARPU_VALUE, bytes, (size_t)8, 0);
    }
}

static atomic_int not_taken[VARIANTS][VARIANTS];

/* Recorded as one variant, inserted as another: whether it was taken for the same. */
static void variants(struct job *j, int rank)
{
    struct shared d;
    if (rank_start(j, rank)) atomic_fetch_add(&failed, 1);
    struct orr_comm *c = comm_of(j, rank);
    register_data(c, &d);
    for (int first = 0; first < VARIANTS; first++)
        for (int second = 0; second < VARIANTS; second++) {
            for (int round = 0; round < 3; round++) { /* recorded, recognised, compared */
                orr_replay_push(c);
                if (insert_variant(c, d.handle, round == 2 ? second : first)) atomic_fetch_add(&failed, 1);
                struct orr_recording *r = orr_load_relaxed(&c->recording);
                if (!r || (round && r->state != ORR_RECORDING_READY) || (round == 1 && r->strayed))
                    atomic_fetch_add(&failed, 1);
                if (round == 2 && r && r->strayed) atomic_fetch_add(&not_taken[first][second], 1);
                orr_replay_pop(c);
            }
            if (first != second) continue;
            orr_replay_push(c); /* with another, so that the next is recorded */
            insert_variant(c, d.handle, (first + 1) % VARIANTS);
            orr_replay_pop(c);
        }
    if (orr_wait_for_all(c)) atomic_fetch_add(&failed, 1);
    unregister_data(&d);
    if (rank_end(j, rank)) atomic_fetch_add(&failed, 1);
}

static void what_differs(void)
{
    struct job j;
    int taken_wrongly = 0, missed = 0;
    failed = 0;
    job_create(&j, 2, 0, 0, variants);
    job_run(&j);
    job_join(&j);
    for (int i = 0; i < VARIANTS; i++)
        for (int k = 0; k < VARIANTS; k++)
            *(i == k ? &missed : &taken_wrongly) += i == k ? not_taken[i][k] != 0 : not_taken[i][k] != 2;
    ok(taken_wrongly == 0 && missed == 0 && failed == 0,
       "an insertion is taken for the recorded one if its arguments are the same, values apart (%d, %d, %d)",
       taken_wrongly, missed, failed);
}

/* ---- a placement that is asked for every task ---- */

static int turns_begin(const struct orr_place_setup *setup, void **state_out)
{
    int *state = malloc(sizeof *state);
    *state = setup->ranks;
    *state_out = state;
    return 0;
}

static int turns_choose(void *state, const struct orr_place_view *v)
{
    return (int)(v->position % (uint64_t) * (int *)state);
}

static const struct orr_place_ops turns = {
    .name = "turns", .for_all = true, .begin = turns_begin, .choose = turns_choose, .end = free
};

static void by_turns(void)
{
    struct job j;
    wrong = failed = replayed = inserted = 0;
    seed_of_job = 2;
    job_create(&j, 3, 0, 2, random_iterations);
    for (int i = 0; i < 3; i++) j.placement = orr_policy_add(&sessions[i].place, &turns, NULL);
    job_run(&j);
    job_join(&j);
    is_int(wrong + failed, 0, "under a placement that is asked for all tasks the results are the same");
    is_int(replayed, 0, "and each iteration is inserted");
    for (int i = 0; i < 3; i++) orr_policy_remove(&sessions[i].place, j.placement);
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    if (starpu_init(&conf)) skip_all("no worker");
    for (int ranks = 2; ranks <= 4; ranks++) oracle(ranks);
    own_part();
    arguments();
    kinds();
    insertions();
    by_itself();
    what_differs();
    by_turns();
    starpu_shutdown();
    return done_testing();
}
