/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations under dmda, over whole ranks in one process: they go where they went while what dmda goes by
 * stands, and are replayed then; which iteration is the first of them, and which the first that is placed
 * anew, is told by hand: nothing is measured. Threads: one for each rank, and workers. Owns: the data of each
 * rank. Not here: real figures (dmda_replay.c), random iterations (tests/long/cluster_random.c).
 */
#include <unistd.h>

#include "mpi/place/frozen.h"
#include "mpi/value/calls.h"
#include "tests/mpi/in_process.h"

enum { RANKS = 3, DATA = 12, TASKS = 48, MOST = 80 };

extern const struct orr_place_ops orr_place_dmda;
static struct orr_place_ops told_dmda, hasty_dmda; /* nothing is measured; it is, and believed at once */
static struct orr_place_ops marked_dmda; /* ranks tell each other, but nothing they measured counts */

static atomic_int failed, wrong;

static atomic_int rests; /* counts tasks, which take their time then: now more, now less; 0: they do not */

/* to = to * 3 + from + step */
static void mix(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    uint64_t *to = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    *to = *to * 3 + *(const uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]) + (uint64_t)step;
    if (atomic_load(&rests)) usleep(20u << atomic_fetch_add(&rests, 1) / 400 % 4);
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "mix"
};

/* ---- a rank's program ---- */

struct program {
    struct orr_comm *c;
    starpu_data_handle_t handle[DATA];
    uint64_t value[DATA], expected[DATA];
    int by;            /* the tasks are others with another */
    int step;          /* insertions so far */
    bool never_again;  /* on this rank something in them cannot be repeated */
    bool unmarked;     /* of those that are only marked, this rank marks none */
    bool waits_inside; /* of them, before they end */
    /* of each iteration */
    int count, replayed[MOST], on_rank_1[MOST];
    bool placed[MOST]; /* the placement was asked for a task of it */
    uint64_t known;    /* a hash of where data are after each */
};
static struct program programs[RANKS];

static void check(int status)
{
    if (status) atomic_fetch_add(&failed, 1);
}

static void register_one(struct program *p, int i, int tag)
{
    bool mine = i % RANKS == p->c->rank;
    p->value[i] = p->expected[i] = (uint64_t)i;
    starpu_variable_data_register(&p->handle[i], mine ? STARPU_MAIN_RAM : -1,
                                  mine ? (uintptr_t)&p->value[i] : 0, sizeof p->value[i]);
    orr_owned_set_tag(p->c->cluster->value, p->handle[i], tag);
    orr_cache_set_owner(p->c, p->handle[i], i % RANKS);
}

static atomic_int tags;

static void one_task(struct program *p, int i, int by, bool inserts)
{
    int to = i % DATA, from = (i * by + 1) % DATA, step = i;
    if (to == from) return;
    p->expected[to] = p->expected[to] * 3 + p->expected[from] + (uint64_t)step;
    if (!inserts) return;
    if (p->never_again && i == 7)
        check(insert(p->c, &mix_cl, STARPU_RW, p->handle[to], STARPU_R, p->handle[from], STARPU_VALUE, &step,
                     sizeof step, STARPU_TAG, (starpu_tag_t)++tags, 0));
    else
        check(insert(p->c, &mix_cl, STARPU_RW, p->handle[to], STARPU_R, p->handle[from], STARPU_VALUE, &step,
                     sizeof step, 0));
}

/* What is to be the same on all ranks after an iteration. */
static void note_data(struct program *p, int n)
{
    int elsewhere = 0;
    for (int i = 0; i < DATA; i++) {
        int holder = orr_owned_holder(p->c, p->handle[i]);
        p->known =
            (p->known ^ (uint64_t)holder ^ orr_owned_of(p->handle[i])->version << 8) * 0x9e3779b97f4a7c15u;
        elsewhere += holder == 1;
    }
    p->on_rank_1[n] = elsewhere;
}

/* Iteration id, of so many tasks. */
static void iterate_on(struct program *p, int id, int tasks)
{
    int r = orr_replay_begin(p->c, id, NULL, NULL), n = p->count++;
    for (int i = 0; i < tasks; i++) one_task(p, i, p->by, r == 0);
    check(orr_replay_end(p->c));
    check(r < 0 ? r : 0);
    p->replayed[n] = r == 1;
    note_data(p, n);
}

static _Thread_local int choices; /* of the placement, on this rank */

/* One that is only marked; replayed: it was recognised to its end. */
static void iterate_marked(struct program *p, int tasks)
{
    int n = p->count++, before = choices;
    if (!p->unmarked) orr_replay_push(p->c);
    for (int i = 0; i < tasks; i++) one_task(p, i, p->by, true);
    const struct orr_recording *r = orr_load_relaxed(&p->c->recording);
    p->replayed[n] = r && r->state == ORR_RECORDING_READY && !r->strayed;
    p->placed[n] = choices > before;
    if (p->waits_inside) check(orr_wait_for_all(p->c));
    if (!p->unmarked) orr_replay_pop(p->c);
    note_data(p, n);
    if (!p->waits_inside) check(orr_wait_for_all(p->c));
}

static void iterate(struct program *p, int id, int tasks)
{
    iterate_on(p, id, tasks);
    check(orr_wait_for_all(p->c));
}

static void tell_length(struct program *p, uint64_t ns)
{
    struct starpu_data_descr d[2] = { { p->handle[0], STARPU_RW }, { p->handle[1], STARPU_R } };
    const struct orr_place_view v = { .comm = p->c, .cl = &mix_cl, .data = d, .count = 2 };
    const struct orr_place_measure m = {
        .symbol = "mix", .footprint = orr_place_footprint(&v), .kind = STARPU_CPU_WORKER, .ns = ns
    };
    orr_placed_measured(p->c, &m);
}

static void tell_slow(struct program *p, int rank, uint32_t slow)
{
    const struct orr_place_measure m = { .rank = rank, .kind = STARPU_CPU_WORKER, .slow = slow };
    orr_placed_measured(p->c, &m);
}

static void look(struct program *p)
{
    for (int i = 0; i < DATA; i++) {
        if (i % RANKS != p->c->rank) continue;
        check(starpu_data_acquire(p->handle[i], STARPU_R));
        if (*(uint64_t *)starpu_data_get_local_ptr(p->handle[i]) != p->expected[i])
            atomic_fetch_add(&wrong, 1);
        starpu_data_release(p->handle[i]);
    }
}

/* ---- jobs ---- */

static void (*story)(struct program *p); /* what a rank does, from the first insertion on */

static void run(struct job *j, int rank)
{
    struct program *p = &programs[rank];
    *p = (struct program){ .by = 5 };
    check(rank_start(j, rank));
    p->c = comm_of(j, rank);
    for (int i = 0; i < DATA; i++) register_one(p, i, 100 + i);
    one_task(p, 0, p->by, true);
    check(orr_wait_for_all(p->c));
    tell_length(p, 1000000);
    story(p);
    check(orr_wait_for_all(p->c));
    look(p);
    for (int i = 0; i < DATA; i++) starpu_data_unregister(p->handle[i]);
    check(rank_end(j, rank));
}

static int counting_choose(void *state, const struct orr_place_view *v)
{
    choices++;
    return orr_place_dmda.choose(state, v);
}

/* What is told here has a name, what was measured has none. */
static void only_told(void *state, const struct orr_place_measure *m)
{
    if (m->symbol) orr_place_dmda.measured(state, m);
}

static bool hasty_figures(void *state, uint64_t *figures_out)
{
    orr_place_dmda.figures(state, figures_out);
    return true;
}

static void tell_of(void (*what)(struct program *), const struct orr_place_ops *ops, const char *argument)
{
    struct job j;
    story = what;
    failed = wrong = 0;
    job_create(&j, RANKS, 0, 5, run);
    for (int i = 0; i < RANKS; i++) strcpy(sessions[i].place.argument, argument);
    for (int i = 0; i < RANKS; i++) j.placement = orr_policy_add(&sessions[i].place, ops, NULL);
    job_run(&j);
    job_join(&j);
    for (int i = 0; i < RANKS; i++) orr_policy_remove(&sessions[i].place, j.placement);
}

static void tell(void (*what)(struct program *))
{
    tell_of(what, &told_dmda, "");
}

/* Which iterations were replayed, '1', and which inserted, '0'; "?": the ranks differ. */
static const char *replays(int rank)
{
    static char text[MOST + 1];
    for (int i = 0; i < programs[rank].count; i++) text[i] = (char)('0' + programs[rank].replayed[i]);
    text[programs[rank].count] = 0;
    return text;
}

static bool all_alike(const char *expected)
{
    bool alike = true;
    for (int rank = 0; rank < RANKS; rank++) {
        alike &= !strcmp(replays(rank), expected) && programs[rank].known == programs[0].known;
        if (strcmp(replays(rank), expected)) diag("rank %d: %s, not %s", rank, replays(rank), expected);
    }
    return alike;
}

static void stated(const char *what)
{
    is_int(wrong, 0, "%s: data have their values", what);
    is_int(failed, 0, "and nothing fails");
}

/* ---- by themselves ---- */

/* An iteration of so many insertions that the placement sends to rank 2; how many it is asked for. */
static int follow(struct orr_frozen *f, int id, uint64_t before, uint64_t after, int tasks, int *state_out)
{
    int asked = 0;
    *state_out = orr_frozen_begin(f, id, before, true);
    for (int i = 0; i < tasks; i++) {
        if (orr_frozen_next(f, 100u + (unsigned)i) == 2) continue;
        asked++;
        if (orr_frozen_note(f, 100u + (unsigned)i, 2)) return -1;
    }
    orr_frozen_end(f, after);
    return asked;
}

static void by_themselves(void)
{
    struct orr_frozen f = { 0 };
    int state[9], asked[9];
    for (int i = 0; i < 3; i++) asked[i] = follow(&f, 1, 7, 7, 10, &state[i]);
    ok(all_of(asked[0] == 10, asked[1] == 10, asked[2] == 0, state[1] == ORR_FROZEN_NOT,
              state[2] == ORR_FROZEN_STILL),
       "an iteration that was twice the same under the same figures goes where it went");
    asked[3] = follow(&f, 1, 7, 8, 10, &state[3]);
    asked[4] = follow(&f, 1, 8, 8, 10, &state[4]);
    ok(all_of(asked[3] == 0, asked[4] == 10, state[4] == ORR_FROZEN_NO_MORE),
       "when figures change it does so to its end, and not the next time");
    asked[5] = follow(&f, 1, 8, 9, 10, &state[5]);
    asked[6] = follow(&f, 1, 9, 9, 10, &state[6]);
    asked[7] = follow(&f, 1, 9, 9, 10, &state[7]);
    asked[8] = follow(&f, 1, 9, 9, 10, &state[8]);
    ok(all_of(asked[5] == 10, asked[6] == 10, asked[7] == 10, asked[8] == 0),
       "one in which they change counts for none");
    asked[0] = follow(&f, 1, 9, 9, 12, &state[0]);
    asked[1] = follow(&f, 1, 9, 9, 12, &state[1]);
    asked[2] = follow(&f, 1, 9, 9, 12, &state[2]);
    ok(all_of(asked[0] == 2, asked[1] == 12, asked[2] == 0), "what comes behind its end is placed");
    asked[3] = follow(&f, 1, 9, 9, 4, &state[3]);
    asked[4] = follow(&f, 1, 9, 9, 4, &state[4]);
    ok(all_of(asked[3] == 0, asked[4] == 4, state[4] == ORR_FROZEN_NO_MORE),
       "and where it ends before, the next");
    orr_frozen_fini(&f);
}

/* ---- stories ---- */

static void again(struct program *p, int times)
{
    while (times-- > 0) iterate(p, 1, TASKS);
}

static void slower(struct program *p)
{
    again(p, 6);
    tell_slow(p, 1, 1150);
    again(p, 2);
    tell_slow(p, 1, 3000);
    again(p, 7);
    tell_slow(p, 1, 1000);
    again(p, 8);
}

static void a_rank_gets_slower(void)
{
    tell(slower);
    const int *there = programs[0].on_rank_1;
    ok(all_alike("000111"
                 "11"
                 "0000111"
                 "00000111"),
       "two iterations that dmda placed by the same figures are where the next go: one more is inserted, "
       "then all "
       "are replayed, on all ranks, until the speed of one changes by more than 20 %%");
    ok(all_of(there[7] == DATA / RANKS, there[12] < there[7], there[14] == there[12]),
       "a rank that is three times slower gets less (%d data of %d are there then)", there[12], there[7]);
    stated("while a rank gets slower");
}

/* Its tasks are others from now on, and the program says so. */
static void other_tasks(struct program *p)
{
    again(p, 5);
    p->by = 7;
    orr_replay_forget(p->c, 1);
    again(p, 5);
    orr_replay_forget(p->c, 1);
    again(p, 2);
}

static void tasks_change(void)
{
    tell(other_tasks);
    ok(all_alike("00011"
                 "00011"
                 "01"),
       "where the tasks of an iteration are others, it is placed anew; where they are not, only recorded "
       "anew");
    stated("with other tasks");
}

/* A datum is another, at once and then when its tasks are done; the same to all that has no look at tags. */
static void other_data(struct program *p)
{
    again(p, 5);
    starpu_data_unregister(p->handle[4]);
    register_one(p, 4, 104);
    again(p, 2);
    starpu_data_unregister_submit(p->handle[4]);
    register_one(p, 4, 204);
    again(p, 5);
}

static void data_change(void)
{
    tell(other_data);
    ok(all_alike("00011"
                 "01"
                 "00011"),
       "with other data under the same tag it is recorded anew, under another tag placed anew");
    stated("with other data");
}

static void fewer_tasks(struct program *p)
{
    again(p, 5);
    orr_replay_forget(p->c, 1);
    for (int i = 0; i < 5; i++) iterate(p, 1, TASKS / 2);
    orr_replay_forget(p->c, 1);
    for (int i = 0; i < 5; i++) iterate(p, 1, TASKS);
}

static void tasks_are_fewer(void)
{
    tell(fewer_tasks);
    ok(all_alike("00011"
                 "00011"
                 "00011"),
       "and so where they are fewer, or more");
    stated("with fewer tasks");
}

/* Ranks replay, and one of them inserts. */
static void unequal(struct program *p)
{
    p->never_again = p->c->rank == 1;
    again(p, 6);
    tell_slow(p, 0, 3000);
    again(p, 6);
}

static void one_rank_inserts(void)
{
    tell(unequal);
    bool known = programs[1].known == programs[0].known && programs[2].known == programs[0].known;
    ok(all_of(known, !strcmp(replays(0), "000111000011"), !strcmp(replays(2), "000111000011")),
       "a rank that cannot repeat its part inserts, and others replay: all know the same of data");
    ok(!strcmp(replays(1), "000000000000") || strchr(replays(1), '1'), "rank 1: %s", replays(1));
    stated("where one rank inserts");
}

/* Two kinds, and tasks between; something in each rank's hand that is nobody else's. */
static void mixed(struct program *p)
{
    for (int i = 0; i < 7; i++) {
        iterate(p, 1, TASKS);
        iterate(p, 2, TASKS / 3);
        for (int k = 0; k < 4; k++) one_task(p, k, 3, true);
        look(p);
    }
}

static void several_kinds(void)
{
    tell(mixed);
    ok(all_alike("00000011111111"), "several kinds of iterations, with tasks between them, are replayed");
    stated("with several kinds");
}

static void nothing(struct program *p)
{
    for (int i = 0; i < 5; i++) {
        one_task(p, i, 3, true);
        iterate(p, 1, 0);
    }
}

static void moved(struct program *p)
{
    again(p, 5);
    orr_placed_thaw(p->c);
    check(orr_call_migrate(p->c, p->handle[1], 1)); /* where it is */
    again(p, 5);
}

static void thawed(void)
{
    tell(nothing);
    ok(all_alike("00011"), "an iteration without tasks is replayed like any other");
    stated("without tasks");
    tell(moved);
    ok(all_alike("0001100011"), "once owners change all is placed anew");
    stated("with other owners");
}

/* No wait for all: nobody judges who should have what. */
static void unjudged(struct program *p)
{
    for (int i = 0; i < 6; i++) {
        p->replayed[p->count] = orr_replay_begin(p->c, 1, NULL, NULL) == 1;
        for (int k = 0; k < TASKS; k++) one_task(p, k, p->by, !p->replayed[p->count]);
        check(orr_replay_end(p->c));
        p->count++;
    }
}

static void too_soon(void)
{
    tell(unjudged);
    ok(all_alike("000000"), "nothing is repeated before homes were judged by what is known");
    stated("without a wait");
}

/* Turns of the feedback fall into iterations that one rank inserts and the others replay. */
static void measured(struct program *p)
{
    p->never_again = p->c->rank == 1;
    while (p->count < MOST) {
        iterate_on(p, 1, TASKS);
        for (int k = 0; k < 6; k++) one_task(p, k, 3, true);
    }
}

static void with_measures(void)
{
    rests = 1;
    tell_of(measured, &hasty_dmda, "homes=0,h=0");
    rests = 0;
    bool known = programs[1].known == programs[0].known && programs[2].known == programs[0].known;
    ok(known, "with what tasks really take, by which all are placed, ranks know the same of data");
    diag("iterations that rank 0 replayed: %s", replays(0));
    stated("with measures");
}

/* Which were placed. */
static const char *placed(int rank)
{
    static char text[MOST + 1];
    for (int i = 0; i < programs[rank].count; i++) text[i] = (char)('0' + programs[rank].placed[i]);
    text[programs[rank].count] = 0;
    return text;
}

static bool all_placed(const char *expected)
{
    bool alike = true;
    for (int rank = 0; rank < RANKS; rank++) {
        alike &= !strcmp(placed(rank), expected);
        if (strcmp(placed(rank), expected)) diag("rank %d placed: %s, not %s", rank, placed(rank), expected);
    }
    return alike;
}

static void only_marked(struct program *p)
{
    for (int i = 0; i < 8; i++) iterate_marked(p, TASKS);
    p->by = 7;
    for (int i = 0; i < 7; i++) iterate_marked(p, TASKS);
    for (int i = 0; i < 7; i++) iterate_marked(p, TASKS / 2);
}

/* The first of those that are marked is over before ranks know that all have marked it. One that strays goes
 * where it went up to there, and one that is shorter to its end. */
static void marks_of_all(void)
{
    tell_of(only_marked, &marked_dmda, "");
    ok(all_placed("11100000"
                  "1100000"
                  "0100000"),
       "iterations that all ranks only mark go where they went as well, until their tasks are others or "
       "fewer");
    ok(all_alike("00001111"
                 "0001111"
                 "1001111"),
       "and are recognised then, on all ranks");
    stated("with marks");
}

static void wait_inside(struct program *p)
{
    p->waits_inside = true;
    for (int i = 0; i < 8; i++) iterate_marked(p, TASKS);
    p->by = 7;
    for (int i = 0; i < 7; i++) iterate_marked(p, TASKS);
}

static void marks_around_waits(void)
{
    tell_of(wait_inside, &marked_dmda, "");
    bool alike = all_placed("111000001100000");
    ok(all_of(alike, all_alike("000011110001111")), "those that wait for their tasks before they end, too");
    stated("with waits inside");
}

/* The same marks, but for one rank on the other side of a wait. */
static void marked_late(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        int before = choices, n = p->count++;
        if (p->c->rank != 2) orr_replay_push(p->c);
        check(orr_wait_for_all(p->c));
        if (p->c->rank == 2) orr_replay_push(p->c);
        for (int k = 0; k < TASKS; k++) one_task(p, k, p->by, true);
        orr_replay_pop(p->c);
        p->placed[n] = choices > before;
        note_data(p, n);
    }
}

static void marks_on_both_sides(void)
{
    tell_of(marked_late, &marked_dmda, "");
    ok(all_placed("11111111"), "marks on different sides of a wait are not alike");
    stated("with marks on both sides of a wait");
}

static void marked_by_one(struct program *p)
{
    p->unmarked = p->c->rank != 1;
    for (int i = 0; i < 8; i++) iterate_marked(p, TASKS);
}

static void marks_of_one(void)
{
    tell_of(marked_by_one, &marked_dmda, "");
    ok(all_placed("11111111"), "marks of one rank alone count for nothing, and the others need none");
    stated("with marks of one rank");
}

/* One rank cannot recognise a task of its own. */
static void marked_unequal(struct program *p)
{
    p->never_again = p->c->rank == 1;
    for (int i = 0; i < 7; i++) iterate_marked(p, TASKS);
    again(p, 6); /* with a number, in between */
    for (int i = 0; i < 7; i++) iterate_marked(p, TASKS);
}

static void marks_and_numbers(void)
{
    tell_of(marked_unequal, &marked_dmda, "");
    for (int rank = 0; rank < RANKS; rank++) diag("rank %d: %s placed %s", rank, replays(rank), placed(rank));
    bool known = programs[1].known == programs[0].known && programs[2].known == programs[0].known;
    ok(all_of(known, !strcmp(placed(0), placed(1)), !strcmp(placed(0), placed(2))),
       "a rank that repeats less places the same as the others, with iterations of both kinds");
    stated("with both kinds");
}

/* A mark within an iteration that has a number, which a rank that replays that does not come by. */
static void mark_inside(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        int r = orr_replay_begin(p->c, 1, NULL, NULL), n = p->count++;
        if (r == 0) orr_replay_push(p->c);
        for (int k = 0; k < TASKS; k++) one_task(p, k, p->by, r == 0);
        if (r == 0) orr_replay_pop(p->c);
        check(orr_replay_end(p->c));
        p->replayed[n] = r == 1;
        note_data(p, n);
        check(orr_wait_for_all(p->c));
    }
}

static void marks_inside(void)
{
    tell_of(mark_inside, &marked_dmda, "");
    ok(all_alike("00011111"), "marks inside of an iteration with a number are none");
    stated("with marks inside");
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    told_dmda = orr_place_dmda;
    told_dmda.learns = false;
    hasty_dmda = orr_place_dmda;
    hasty_dmda.figures = hasty_figures;
    marked_dmda = orr_place_dmda;
    marked_dmda.choose = counting_choose;
    marked_dmda.measured = only_told;
    if (starpu_init(&conf)) skip_all("no worker");
    by_themselves();
    a_rank_gets_slower();
    tasks_change();
    data_change();
    tasks_are_fewer();
    one_rank_inserts();
    several_kinds();
    thawed();
    too_soon();
    with_measures();
    marks_of_all();
    marks_around_waits();
    marks_on_both_sides();
    marks_of_one();
    marks_and_numbers();
    marks_inside();
    starpu_shutdown();
    return done_testing();
}
