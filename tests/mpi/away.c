/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that are away from home: ranks of one process insert the same random stream under a placement that
 * moves data, and each uses its own data between insertions in every way that the others do not see; all is
 * compared with one program that does the same in order. The network delays and refuses. Threads: one for
 * each rank, and workers. Owns: the data of each rank. Not here: streams without such uses (clusters.c).
 */
#include <starpu.h>

#include "mpi/value/exchange.h"
#include "mpi/value/moves.h"
#include "tests/mpi/in_process.h"

enum { DATA = 7, STEPS = 90, RANKS = 3, WORDS = 4 };

static uint64_t hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h =
        (a + 1) * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xbf58476d1ce4e5b9u ^ (c + 1) * 0x94d049bb133111ebu;
    h ^= h >> 31;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

/* ---- what is done to values ---- */

static uint64_t mixed(uint64_t to, uint64_t from, int step)
{
    return to * 3 + from + (uint64_t)step;
}

static uint64_t changed(uint64_t value, int step)
{
    return value * 5 + 7 + (uint64_t)step;
}

static uint64_t *words(void *buffer)
{
    return (uint64_t *)STARPU_VECTOR_GET_PTR(buffer);
}

static void mix(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    for (int i = 0; i < WORDS; i++)
        words(buffers[0])[i] = mixed(words(buffers[0])[i], words(buffers[1])[i], step);
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "mix"
};

/* Overwrites. */
static void copy(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    for (int i = 0; i < WORDS; i++) words(buffers[0])[i] = mixed(0, words(buffers[1])[i], step);
}
static struct starpu_codelet copy_cl = {
    .cpu_funcs = { copy }, .nbuffers = 2, .modes = { STARPU_W, STARPU_R }, .name = "copy"
};

static void change_words(uint64_t *w, size_t n, int step)
{
    for (size_t i = 0; i < n; i++) w[i] = changed(w[i], step);
}

static void change(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    change_words(words(buffers[0]), STARPU_VECTOR_GET_NX(buffers[0]), step);
}
static struct starpu_codelet change_cl = {
    .cpu_funcs = { change }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "change"
};

static atomic_int wrong, failed;

static bool are(const uint64_t *w, uint64_t value)
{
    for (int i = 0; i < WORDS; i++)
        if (w[i] != value) return false;
    return true;
}

static void look(void *buffers[], void *arg)
{
    uint64_t value;
    starpu_codelet_unpack_args(arg, &value);
    if (!are(words(buffers[0]), value)) atomic_fetch_add(&wrong, 1);
}
static struct starpu_codelet look_cl = {
    .cpu_funcs = { look }, .nbuffers = 1, .modes = { STARPU_R }, .name = "look"
};

/* ---- data ---- */

struct shared {
    starpu_data_handle_t handle[DATA], sent[RANKS];
    uint64_t value[DATA][WORDS]; /* of those that are this rank's */
    uint64_t box[RANKS][WORDS];  /* what others sent */
    int home[DATA];
};

static void register_data(struct orr_comm *c, struct shared *d)
{
    for (int i = 0; i < DATA; i++) {
        bool mine = i % c->size == c->rank;
        d->home[i] = i % c->size;
        for (int k = 0; k < WORDS; k++) d->value[i][k] = (uint64_t)i;
        starpu_vector_data_register(&d->handle[i], mine ? STARPU_MAIN_RAM : -1,
                                    mine ? (uintptr_t)d->value[i] : 0, WORDS, sizeof d->value[i][0]);
        orr_owned_set_tag(c->cluster->value, d->handle[i], 100 + i);
        orr_cache_set_owner(c, d->handle[i], i % c->size);
    }
    for (int i = 0; i < c->size; i++)
        starpu_vector_data_register(&d->sent[i], STARPU_MAIN_RAM, (uintptr_t)d->box[i], WORDS,
                                    sizeof d->box[i][0]);
}

static void unregister_data(struct orr_comm *c, struct shared *d, int how)
{
    for (int i = 0; i < DATA; i++) {
        int k = how & 1 ? DATA - 1 - i : i; /* in any order */
        if (how & 2)
            starpu_data_unregister_submit(d->handle[k]);
        else
            starpu_data_unregister(d->handle[k]);
    }
    for (int i = 0; i < c->size; i++) starpu_data_unregister(d->sent[i]);
}

/* ---- what home does between insertions ---- */

enum use {
    LOOKS,
    CHANGES,
    TASK_LOOKS,
    TASK_CHANGES,
    CALLBACK_CHANGES,
    TRIES,
    SENDS,
    RECEIVES,
    PIECES,
    PREFETCHES,
    USES
};

static enum use use_of(uint64_t seed, int step, int datum)
{
    uint64_t h = hash(seed, (uint64_t)step, (uint64_t)datum);
    return h % 4 ? USES : (enum use)(h / 4 % USES);
}

struct late {
    starpu_data_handle_t handle;
    int step;
};

static void change_late(void *arg)
{
    struct late *l = arg;
    change_words((uint64_t *)starpu_data_get_local_ptr(l->handle), WORDS, l->step);
    starpu_data_release(l->handle);
    free(l);
}

static void by_callback(starpu_data_handle_t h, int step)
{
    struct late *l = malloc(sizeof *l);
    *l = (struct late){ h, step };
    if (starpu_data_acquire_cb(h, STARPU_RW, change_late, l)) atomic_fetch_add(&failed, 1);
}

static void look_now(starpu_data_handle_t h, uint64_t value, bool tries)
{
    while (tries && starpu_data_acquire_try(h, STARPU_R)) sched_yield();
    if (!tries && starpu_data_acquire(h, STARPU_R)) atomic_fetch_add(&failed, 1);
    if (!are((uint64_t *)starpu_data_get_local_ptr(h), value)) atomic_fetch_add(&wrong, 1);
    starpu_data_release(h);
}

static void message(struct orr_comm *c, enum orr_request_kind kind, starpu_data_handle_t h, int peer, int tag)
{
    const struct orr_message_spec m = {
        .kind = kind, .handle = h, .comm = c, .peer = peer, .tag = tag, .detached = true
    };
    if (orr_message_start(&m, "away", NULL)) atomic_fetch_add(&failed, 1);
}

static void in_pieces(starpu_data_handle_t h, int step)
{
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_data_partition(h, &halves);
    for (int i = 0; i < 2; i++)
        starpu_task_insert(&change_cl, STARPU_RW, starpu_data_get_sub_data(h, 1, i), STARPU_VALUE, &step,
                           sizeof step, 0);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
}

/* Home uses datum i; value: what it must find. */
static void use(struct orr_comm *c, struct shared *d, enum use u, int step, int i, uint64_t value)
{
    starpu_data_handle_t h = d->handle[i];
    int next = (c->rank + 1) % c->size;
    switch (u) {
    case LOOKS:
    case TRIES: look_now(h, value, u == TRIES); break;
    case CHANGES:
        if (starpu_data_acquire(h, STARPU_RW)) atomic_fetch_add(&failed, 1);
        change_words((uint64_t *)starpu_data_get_local_ptr(h), WORDS, step);
        starpu_data_release(h);
        break;
    case TASK_LOOKS: starpu_task_insert(&look_cl, STARPU_R, h, STARPU_VALUE, &value, sizeof value, 0); break;
    case TASK_CHANGES:
        starpu_task_insert(&change_cl, STARPU_RW, h, STARPU_VALUE, &step, sizeof step, 0);
        break;
    case CALLBACK_CHANGES: by_callback(h, step); break;
    case SENDS: message(c, ORR_SEND, h, next, 5000 + step * DATA + i); break;
    case RECEIVES: message(c, ORR_RECV, h, next, 5000 + step * DATA + i); break;
    case PIECES: in_pieces(h, step); break;
    case PREFETCHES: starpu_data_prefetch_on_node(h, STARPU_MAIN_RAM, 1); break;
    case USES: break;
    }
}

/* The other end: what comes is looked at by a task, what goes is a value that the receiver knows. */
static void use_by_peer(struct orr_comm *c, struct shared *d, enum use u, int step, int i, uint64_t value)
{
    int home = d->home[i], tag = 5000 + step * DATA + i;
    starpu_data_handle_t h = d->sent[home];
    if (c->rank != (home + 1) % c->size) return;
    if (u == SENDS) {
        message(c, ORR_RECV, h, home, tag);
        starpu_task_insert(&look_cl, STARPU_R, h, STARPU_VALUE, &value, sizeof value, 0);
    } else if (u == RECEIVES) {
        if (starpu_data_acquire(h, STARPU_W)) atomic_fetch_add(&failed, 1);
        for (int k = 0; k < WORDS; k++) ((uint64_t *)starpu_data_get_local_ptr(h))[k] = (uint64_t)tag;
        starpu_data_release(h);
        message(c, ORR_SEND, h, home, tag);
    }
}

/* ... and what becomes of the value. */
static uint64_t used(enum use u, uint64_t value, int step, int i)
{
    if (u == RECEIVES) return (uint64_t)(5000 + step * DATA + i);
    return u == CHANGES || u == TASK_CHANGES || u == CALLBACK_CHANGES || u == PIECES ? changed(value, step)
                                                                                     : value;
}

/* ---- the stream ---- */

struct script {
    uint64_t seed;
    unsigned delays, refuses;
    int waits_each; /* of insertions: all wait; 0: never */
    bool uses;      /* at home, between them */
    int end;        /* how data are unregistered */
    bool events;    /* that all see, between them */
};

static const struct script *script;

static void all_use(struct orr_comm *c, struct shared *d, int step, uint64_t *values)
{
    for (int i = 0; i < DATA && script->uses; i++) {
        enum use u = use_of(script->seed, step, i);
        if (d->home[i] == c->rank) use(c, d, u, step, i, values[i]);
        use_by_peer(c, d, u, step, i, values[i]);
        values[i] = used(u, values[i], step, i);
    }
}

static void one_insertion(struct orr_comm *c, struct shared *d, int step, uint64_t *values)
{
    uint64_t h = hash(script->seed + 77, (uint64_t)step, 3);
    int to = (int)(h % DATA), from = (int)(h / 16 % DATA);
    if (to == from) return;
    bool overwrites = h / 512 % 4 == 0;
    int r = insert(c, overwrites ? &copy_cl : &mix_cl, overwrites ? STARPU_W : STARPU_RW, d->handle[to],
                   STARPU_R, d->handle[from], STARPU_VALUE, &step, sizeof step, 0);
    if (r) atomic_fetch_add(&failed, 1);
    values[to] = mixed(overwrites ? 0 : values[to], values[from], step);
}

static void count_came(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static atomic_int came, expected;

/* What all ranks call, and see, at the same place. */
static void one_event(struct orr_comm *c, struct shared *d, int step, uint64_t *values)
{
    uint64_t h = hash(script->seed + 5, (uint64_t)step, 1);
    int i = (int)(h % DATA), node = (int)(h / 16 % (uint64_t)c->size), r = 0;
    starpu_data_handle_t one = d->handle[i];
    switch (h / 256 % 16) {
    case 0:
        if (!orr_moves_flush_one(c, one)) orr_cache_flush(c, one);
        break;
    case 1:
        if (!orr_moves_flush_all(c)) orr_cache_flush_all(c);
        break;
    case 2:
    case 3:
        if (!orr_moves_get(c, one, node, &r)) return;
        if (r) atomic_fetch_add(&failed, 1);
        if (c->rank != node) break;
        atomic_fetch_add(&expected, 1);
        if (orr_exchange_call_when_here(c, one, count_came, &came)) atomic_fetch_add(&failed, 1);
        look_now(one, values[i], false);
        break;
    case 4:
        if (d->home[i] != node && orr_moves_migrate(c, one, node)) d->home[i] = node;
        break;
    case 5:
        if (orr_moves_home(c, one)) atomic_fetch_add(&failed, 1);
        break;
    default: break;
    }
}

static void run_script(struct job *j, int rank)
{
    static struct shared all[RANKS];
    struct shared *d = &all[rank];
    uint64_t values[DATA];
    if (rank_start(j, rank)) atomic_fetch_add(&failed, 1);
    struct orr_comm *c = comm_of(j, rank);
    for (int i = 0; i < DATA; i++) values[i] = (uint64_t)i;
    register_data(c, d);
    for (int step = 0; step < STEPS; step++) {
        all_use(c, d, step, values);
        one_insertion(c, d, step, values);
        if (script->events) one_event(c, d, step, values);
        if (script->waits_each && step % script->waits_each == script->waits_each - 1 && orr_wait_for_all(c))
            atomic_fetch_add(&failed, 1);
    }
    all_use(c, d, STEPS, values);
    for (int i = 0; i < DATA; i++) { /* memory of the program's is where it was at first */
        if (d->home[i] != i % c->size) orr_moves_migrate(c, d->handle[i], i % c->size);
        d->home[i] = i % c->size;
    }
    unregister_data(c, d, script->end);
    if (rank_end(j, rank)) atomic_fetch_add(&failed, 1);
    for (int i = rank; i < DATA; i += j->ranks)
        if (!are(d->value[i], values[i])) atomic_fetch_add(&wrong, 1);
}

/* ---- a placement that moves data ---- */

static int scatter_begin(const struct orr_place_setup *setup, void **state_out)
{
    int *state = malloc(sizeof *state);
    *state = setup->ranks;
    *state_out = state;
    return 0;
}

static int scatter_choose(void *state, const struct orr_place_view *v)
{
    return (int)(hash(v->position, 5, 9) % (uint64_t) * (int *)state);
}

static void scatter_end(void *state)
{
    free(state);
}

static const struct orr_place_ops scatter = { .name = "scatter",
                                              .for_all = true,
                                              .moves_data = true,
                                              .begin = scatter_begin,
                                              .choose = scatter_choose,
                                              .end = scatter_end };

static void play(const struct script *s, const char *what)
{
    struct job j;
    script = s;
    wrong = failed = came = expected = 0;
    job_create(&j, RANKS, 0, 0, run_script);
    orr_inproc_destroy(j.net);
    j.net = orr_inproc_create(RANKS, s->seed, s->delays, s->refuses);
    for (int i = 0; i < RANKS; i++) j.placement = orr_policy_add(&sessions[i].place, &scatter, NULL);
    job_run(&j);
    job_join(&j);
    for (int i = 0; i < RANKS; i++) orr_policy_remove(&sessions[i].place, j.placement);
    is_int(wrong, 0, "%s: as one program computes it", what);
    is_int(failed + expected - came, 0, "%s: nothing fails, and all that was asked for came", what);
}

static struct script by_seed(uint64_t seed)
{
    return (struct script){ .seed = seed,
                            .delays = (unsigned)(seed % 7),
                            .refuses = (unsigned)(seed % 30),
                            .uses = true,
                            .end = (int)(seed % 4),
                            .events = seed % 3 > 0 };
}

/* Seeds from the first argument on, as many as the second says; without them a few. */
int main(int argc, char **argv)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    if (starpu_init(&conf)) skip_all("no worker");
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 20,
             count = argc > 2 ? strtoull(argv[2], NULL, 0) : 4;
    struct script alone = { .seed = 1, .delays = 4, .refuses = 10 }, waits = alone;
    waits.waits_each = 15;
    play(&alone, "insertions alone");
    play(&waits, "insertions, and all wait now and then");
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct script s = by_seed(seed);
        play(&s, s.events ? "uses at home, and what all see" : "uses at home that others do not see");
        if (wrong || failed || came != expected) diag("seed %llu", (unsigned long long)seed);
    }
    starpu_shutdown();
    if (starpu_init(&conf)) return 1;
    struct script again = by_seed(first);
    play(&again, "the same in a runtime that was started again");
    starpu_shutdown();
    return done_testing();
}
