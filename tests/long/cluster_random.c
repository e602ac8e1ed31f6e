/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs on whole clusters in one process, against a sequential oracle: 3 to 8 ranks over a network
 * that delays and reorders, under owner-computes, a placement that moves data by a hash of the place, and
 * dmda. Tasks of all modes, data of each rank's own, reductions, flushes, copies, collectives, other
 * communicators, no cache; iterations; tasks that ranks lend each other; and what home does to its data
 * unseen (acquire, tasks, messages, pieces). Every task and call checks what it finds. Threads: one for each
 * rank inserts; workers execute. Owns: the data of each rank. Not here: single cases (tests/mpi/clusters.c),
 * real messages (soak_mpi.c). Usage: cluster_random.tap [--seeds N] [--seed S]
 * [--limit SECONDS of one] [--does BITS]: N programs from seed S on; a failure names its seed.
 */
#include <pthread.h>
#include <signal.h>
#include <starpu.h>
#include <unistd.h>

#include "core/data/partition.h"
#include "mpi/value/borrow.h"
#include "mpi/value/calls.h"
#include "mpi/value/seen.h"
#include "tests/mpi/in_process.h"

#ifndef SEEDS
#define SEEDS 10000
#endif
enum {
    DATA = 6, /* neighbours, 0 and 1, 2 and 3..., are of one size */
    SUMS = 2,
    OWN = DATA + SUMS, /* and one that is every rank's own */
    ALL,
    MOST = 3,
    STEPS = 60,
    LIMIT_S = 60,
    LARGE = 3000
};

/* What a program may do, in bits. */
enum {
    DOES_LOOK = 1,       /* home reads its data unseen */
    DOES_CHANGE = 2,     /* and writes them */
    DOES_FLUSH = 4,      /* flushes, values fetched elsewhere, other homes */
    DOES_BEGIN_ANEW = 8, /* data end and begin again in the middle */
    DOES_COPY = 16,
    DOES_COLLECT = 32,   /* scatters and gathers */
    DOES_OWN = 64,       /* tasks that every rank runs, on data that are every rank's own */
    DOES_COMMS = 128,    /* on other communicators */
    DOES_PIECES = 256,   /* insertions with pieces of data */
    DOES_OTHERS = 512,   /* a task on several ranks or that the program submits, owners that are set anew,
                             another placement */
    DOES_ITERATE = 1024, /* iterations, which ranks replay or insert */
    DOES_LOOSE = 2048,   /* pieces of a whole that no insertion knows */
    DOES_ALL = 4095
};

static int does = DOES_ALL;                             /* --does */
static unsigned limit_s = SCALED(LIMIT_S, 4 * LIMIT_S); /* --limit: of one program */

static atomic_int wrong, failed, coming;
static _Atomic uint64_t lent, in_place, shown, recalled;
static uint64_t current_seed;

/* ---- numbers ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b * 0xd6e8feb86659fd93u)) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = mix(*state, 1);
    return (unsigned)(*state >> 33) % below;
}

/* ---- what a datum holds: the same number in each element ---- */

static void put(void *buffer, uint64_t value)
{
    uint64_t *p = (uint64_t *)STARPU_VECTOR_GET_PTR(buffer);
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffer); i++) p[i] = value;
}

static uint64_t get(void *buffer)
{
    return *(uint64_t *)STARPU_VECTOR_GET_PTR(buffer);
}

static void check(const uint64_t *p, uint32_t n, uint64_t expected, int step, int rank, const char *what)
{
    if (p[0] == expected && p[n - 1] == expected && p[n / 2] == expected) return;
    if (atomic_fetch_add(&wrong, 1) < 5)
        diag("seed %llu: %s of step %d on rank %d finds %llx, not %llx", (unsigned long long)current_seed,
             what, step, rank, (unsigned long long)p[0], (unsigned long long)expected);
}

static void check_buffer(void *buffer, uint64_t expected, int step, int rank, const char *what)
{
    check((uint64_t *)STARPU_VECTOR_GET_PTR(buffer), STARPU_VECTOR_GET_NX(buffer), expected, step, rank,
          what);
}

static void call(int status, int step, const char *what)
{
    if (!status) return;
    if (atomic_fetch_add(&failed, 1) < 5)
        diag("seed %llu: %s of step %d returns %d", (unsigned long long)current_seed, what, step, status);
}

/* ---- tasks ---- */

struct work {
    uint64_t salt, expected[MOST]; /* of those that are read */
    int count, step, rank, mode[MOST];
};

static void work(void *buffers[], void *arg)
{
    struct work w;
    starpu_codelet_unpack_args(arg, &w);
    for (int i = 0; i < w.count; i++)
        if (w.mode[i] == STARPU_R || w.mode[i] == STARPU_RW)
            check_buffer(buffers[i], w.expected[i], w.step, w.rank, "a task");
    if (w.salt % 16 == 0) usleep((unsigned)(w.salt >> 8) % 200);
    for (int i = 0; i < w.count; i++) {
        if (w.mode[i] == STARPU_W || w.mode[i] == STARPU_RW) put(buffers[i], mix(w.salt, (uint64_t)i));
        if (w.mode[i] & (STARPU_COMMUTE | STARPU_REDUX)) put(buffers[i], get(buffers[i]) + w.salt);
    }
}
static struct starpu_codelet work_cl = { .cpu_funcs = { work },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "work" };

static void zero(void *buffers[], void *arg)
{
    (void)arg;
    put(buffers[0], 0);
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};

static void add(void *buffers[], void *arg)
{
    (void)arg;
    put(buffers[0], get(buffers[0]) + get(buffers[1]));
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add }, .nbuffers = 2, .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R }, .name = "add"
};

/* On a datum whose halves have values of their own. */
static void work_on_both(void *buffers[], void *arg)
{
    struct work w;
    starpu_codelet_unpack_args(arg, &w);
    uint64_t *p = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint32_t half = STARPU_VECTOR_GET_NX(buffers[0]) / 2;
    for (uint32_t i = 0; i < 2; i++) {
        if (w.mode[0] & STARPU_R)
            check(p + i * half, half, w.expected[i], w.step, w.rank, "a task on both halves");
        for (uint32_t k = 0; k < half && w.mode[0] & STARPU_W; k++) p[i * half + k] = mix(w.salt, i);
    }
}
static struct starpu_codelet both_cl = { .cpu_funcs = { work_on_both },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "both" };

/* ---- a rank's program ---- */

struct datum {
    starpu_data_handle_t handle;
    uint64_t *memory; /* at home */
    uint64_t value;   /* as the oracle has it */
    uint32_t count;
    int home, first; /* now, and when it was registered */
};

/* Another communicator: some ranks, in some order. */
struct group {
    struct orr_inproc_comm comm;
    int ranks[IN_PROCESS_MAX], rank_in[IN_PROCESS_MAX]; /* -1: it is not part of it */
};

enum { KINDS = 3, REPEATED_MOST = 12 };
enum { BY_OWNER, ANYWHERE, BY_DMDA, PLACEMENTS };
static atomic_int replayed[PLACEMENTS]; /* iterations, of all ranks */
static atomic_int recognised[PLACEMENTS];

enum { MARKED_BY_NONE, MARKED_BY_ALL, MARKED_BY_ONE, MARKS }; /* by the seed: starpu_iteration_push, _pop */

enum { GROUPS = 3 };
static struct group groups[GROUPS]; /* of the program that runs */

enum how_cut {
    KNOWN,   /* all ranks cut it, and know the whole */
    LATE,    /* and know its halves first */
    UNKNOWN, /* all ranks cut it, and know the halves */
    AT_HOME, /* its home cuts it, and the halves are data of their own to the others */
    AT_ONCE, /* and it is cut all the time */
    HOWS_LOOSE = 4
};

struct cut {
    starpu_data_handle_t whole, half[2]; /* whole: NULL: here it is not */
    uint64_t *memory, value[2];
    uint32_t count; /* of a half */
    int home, tag;
    enum how_cut how;
};

struct program {
    struct orr_comm *c, *others[GROUPS];    /* NULL: this rank is not part of it */
    struct datum data[ALL];                 /* the last of them are summed up */
    struct cut cut, loose;                  /* data that are used in pieces, and whole */
    const struct datum *held;               /* no task has it: the program has acquired it at home */
    uint64_t state;                         /* of what all ranks draw alike */
    int step, rank, ranks, does, placement; /* -1: none that moves data */
    int version[KINDS];                     /* of iterations: what they do */
    int kind;                               /* of placement */
};

static void one_step(struct program *p);

static bool is_mine(const struct program *p, const struct datum *d)
{
    return d->home == p->rank || d->home == ORR_RANK_PER_NODE;
}

static void begin_datum(struct program *p, int i)
{
    struct datum *d = &p->data[i];
    bool mine = is_mine(p, d);
    d->first = d->home;
    if (mine)
        for (uint32_t k = 0; k < d->count; k++) d->memory[k] = d->value;
    starpu_vector_data_register(&d->handle, mine ? STARPU_MAIN_RAM : -1, mine ? (uintptr_t)d->memory : 0,
                                d->count, sizeof *d->memory);
    if (i >= DATA && i < OWN) starpu_data_set_reduction_methods(d->handle, &add_cl, &zero_cl);
    call(orr_owned_set_tag(p->c->cluster->value, d->handle, 100 + i), p->step, "set_tag");
    call(orr_cache_set_owner(p->c, d->handle, d->home), p->step, "set_rank");
}

static void end_datum(struct program *p, int i)
{
    struct datum *d = &p->data[i];
    bool mine = is_mine(p, d);
    if (mine && d->home != d->first) {
        call(starpu_data_acquire(d->handle, STARPU_R), p->step, "the last acquire");
        check((uint64_t *)starpu_vector_get_local_ptr(d->handle), d->count, d->value, p->step, p->rank,
              "the end of data");
        starpu_data_release(d->handle);
    }
    starpu_data_unregister(d->handle);
    if (mine && d->home == d->first)
        check(d->memory, d->count, d->value, p->step, p->rank, "the end of data");
}

/* Its own submission, without the others. */
static void own_task(struct program *p, starpu_data_handle_t h, int mode, uint64_t expected, uint64_t salt)
{
    struct work w = {
        .salt = salt, .expected = { expected }, .count = 1, .step = p->step, .rank = p->rank, .mode = { mode }
    };
    call(starpu_task_insert(&work_cl, mode, h, STARPU_VALUE, &w, sizeof w, 0), p->step, "a task of its own");
}

/* One to three data but the one that is held, each once, in any mode; where, and how urgently. */
static void some_task(struct program *p)
{
    static const int modes[] = { STARPU_R,  STARPU_R, STARPU_RW,
                                 STARPU_RW, STARPU_W, STARPU_RW | STARPU_COMMUTE };
    struct work w = { .salt = mix(p->state, 7), .step = p->step, .rank = p->rank };
    struct starpu_data_descr descr[MOST];
    unsigned first = draw(&p->state, DATA), most = 1 + draw(&p->state, MOST), count = 0;
    int priority = draw(&p->state, 4) ? 0 : (int)draw(&p->state, 9) - 4;
    int on = draw(&p->state, 4) ? -1 : (int)draw(&p->state, (unsigned)p->ranks);
    bool writes = false;
    for (unsigned i = 0; i < most; i++) {
        struct datum *d = &p->data[(first + 1 + i * (1 + w.salt % 2)) % DATA];
        int mode = modes[draw(&p->state, sizeof modes / sizeof modes[0])];
        if (d == p->held) continue;
        w.mode[count] = mode;
        w.expected[count] = d->value;
        descr[count] = (struct starpu_data_descr){ d->handle, (enum starpu_data_access_mode)mode };
        if (mode == STARPU_W || mode == STARPU_RW) d->value = mix(w.salt, count);
        if (mode & STARPU_COMMUTE) d->value += w.salt;
        writes |= mode != STARPU_R;
        count++;
    }
    if (count == 0) return;
    w.count = (int)count;
    if (on < 0 && !writes) on = (int)(w.salt % (uint64_t)p->ranks);
    if (on < 0)
        call(insert(p->c, &work_cl, STARPU_DATA_MODE_ARRAY, descr, w.count, STARPU_VALUE, &w, sizeof w,
                    STARPU_PRIORITY, priority, 0),
             p->step, "task_insert");
    else
        call(insert(p->c, &work_cl, STARPU_DATA_MODE_ARRAY, descr, w.count, STARPU_VALUE, &w, sizeof w,
                    STARPU_PRIORITY, priority, STARPU_EXECUTE_ON_NODE, on, 0),
             p->step, "task_insert on a rank");
}

/* ---- iterations ---- */

static void set_work(struct starpu_task *task, unsigned position, void *arg)
{
    const struct work *w = arg;
    memcpy((char *)task->cl_arg + sizeof(int) + sizeof(size_t), &w[position], sizeof *w);
}

static void note_nothing(void *arg)
{
    (void)arg;
}

/* A task of an iteration: what it does is always the same, what it computes is not. */
struct repeated {
    struct starpu_data_descr descr[MOST];
    int count, priority, on; /* -1: wherever it is placed */
    bool never_again;        /* it runs here, and is inserted with something that cannot be repeated */
};

static struct repeated draw_repeated(struct program *p, uint64_t *structure)
{
    static const int modes[] = { STARPU_R, STARPU_R, STARPU_RW, STARPU_RW, STARPU_W, STARPU_REDUX };
    struct repeated t = { .count = 1 + (int)draw(structure, MOST), .on = -1 };
    unsigned first = draw(structure, DATA), by = 1 + draw(structure, 2);
    bool writes = false;
    for (int i = 0; i < t.count; i++) {
        int mode = modes[draw(structure, 5 + !i)];
        struct datum *d =
            &p->data[mode == STARPU_REDUX ? DATA + first % SUMS : (first + (unsigned)i * by) % DATA];
        t.descr[i] = (struct starpu_data_descr){ d->handle, (enum starpu_data_access_mode)mode };
        writes |= mode != STARPU_R;
        if (mode == STARPU_REDUX) t.count = 1;
    }
    if (draw(structure, 4) == 0) t.priority = (int)draw(structure, 9) - 4;
    if (draw(structure, 4) == 0 || !writes || t.descr[0].mode == STARPU_REDUX)
        t.on = (int)draw(structure, (unsigned)p->ranks);
    t.never_again = draw(structure, 16) == 0 && t.on == p->rank;
    return t;
}

/* What the oracle says of it, now. */
static struct work work_of(struct program *p, const struct repeated *t, int number)
{
    struct work w = {
        .salt = mix(p->state, 300 + (uint64_t)number), .count = t->count, .step = p->step, .rank = p->rank
    };
    for (int i = 0; i < t->count; i++) {
        struct datum *d = p->data;
        while (d->handle != t->descr[i].handle) d++;
        w.mode[i] = (int)t->descr[i].mode;
        w.expected[i] = d->value;
        if (w.mode[i] == STARPU_W || w.mode[i] == STARPU_RW) d->value = mix(w.salt, (uint64_t)i);
        if (w.mode[i] == STARPU_REDUX) d->value += w.salt;
    }
    return w;
}

static void insert_repeated(struct program *p, const struct repeated *t, const struct work *w)
{
    struct starpu_data_descr descr[MOST];
    memcpy(descr, t->descr, sizeof descr);
    if (t->never_again)
        call(insert(p->c, &work_cl, STARPU_DATA_MODE_ARRAY, descr, t->count, STARPU_VALUE, w, sizeof *w,
                    STARPU_PRIORITY, t->priority, STARPU_EXECUTE_ON_NODE, t->on, STARPU_CALLBACK,
                    note_nothing, STARPU_CALLBACK_ARG, malloc(1), 0),
             p->step, "a task of an iteration that is not repeated");
    else if (t->on >= 0)
        call(insert(p->c, &work_cl, STARPU_DATA_MODE_ARRAY, descr, t->count, STARPU_VALUE, w, sizeof *w,
                    STARPU_PRIORITY, t->priority, STARPU_EXECUTE_ON_NODE, t->on, 0),
             p->step, "a task of an iteration on a rank");
    else
        call(insert(p->c, &work_cl, STARPU_DATA_MODE_ARRAY, descr, t->count, STARPU_VALUE, w, sizeof *w,
                    STARPU_PRIORITY, t->priority, 0),
             p->step, "a task of an iteration");
}

/* All are inserted; those of some programs are marked, on all ranks or on one. */
static void marked_iteration(struct program *p, const struct repeated *t, const struct work *w, int count)
{
    int by = (int)(current_seed % MARKS);
    bool marks = by == MARKED_BY_ALL || (by == MARKED_BY_ONE && p->rank == 1);
    if (marks) orr_replay_push(p->c);
    for (int i = 0; i < count; i++) insert_repeated(p, &t[i], &w[i]);
    const struct orr_recording *r = orr_load_relaxed(&p->c->recording);
    if (r && r->by_itself && r->state == ORR_RECORDING_READY && !r->strayed && count)
        atomic_fetch_add(&recognised[p->kind], 1);
    if (marks) orr_replay_pop(p->c);
}

static void one_iteration(struct program *p, int id, bool marked)
{
    uint64_t structure = mix(current_seed, 400 + (uint64_t)(id + KINDS * p->version[id]));
    int count = (int)draw(&structure, REPEATED_MOST + 1);
    struct repeated t[REPEATED_MOST];
    struct work w[REPEATED_MOST];
    for (int i = 0; i < count; i++) {
        t[i] = draw_repeated(p, &structure);
        w[i] = work_of(p, &t[i], i);
    }
    if (marked) {
        marked_iteration(p, t, w, count);
        return;
    }
    int r = orr_replay_begin(p->c, id, set_work, w);
    if (r == 1) atomic_fetch_add(&replayed[p->kind], 1);
    if (r < 0) call(r, p->step, "the beginning of an iteration");
    for (int i = 0; i < count && r == 0; i++) insert_repeated(p, &t[i], &w[i]);
    call(orr_replay_end(p->c), p->step, "the end of an iteration");
}

/* One a few times, with something between, or it is another from now on. */
static void iterate(struct program *p)
{
    int id = (int)draw(&p->state, KINDS);
    if (draw(&p->state, 8) == 0) {
        p->version[id]++;
        orr_replay_forget(p->c, id);
    }
    bool marked = draw(&p->state, 3) == 0;
    for (unsigned n = 1 + draw(&p->state, marked ? 12 : 6); n > 0; n--) {
        one_iteration(p, id, marked);
        if (draw(&p->state, 3) == 0) one_step(p);
    }
}

/* On data of each rank's own: one rank looks at its own, or changes it, or all change theirs; with a datum
 * that all read, or that gets a value from there. */
static void task_on_own(struct program *p)
{
    static const int modes[] = { STARPU_R, STARPU_RW, STARPU_W };
    struct datum *own = &p->data[OWN], *d = &p->data[draw(&p->state, DATA)];
    int mode = modes[draw(&p->state, 3)], other = modes[draw(&p->state, 3)];
    int on = draw(&p->state, 2) ? -1 : (int)draw(&p->state, (unsigned)p->ranks);
    struct work w = { .salt = mix(p->state, 15),
                      .expected = { own->value, d->value },
                      .count = 2,
                      .step = p->step,
                      .rank = p->rank,
                      .mode = { mode, other } };
    if (mode == STARPU_R && on < 0) on = (int)(w.salt % (uint64_t)p->ranks);
    if (mode != STARPU_R && (on < 0 || on == p->rank)) own->value = mix(w.salt, 0);
    if (other != STARPU_R) d->value = mix(w.salt, 1);
    if (on < 0)
        call(insert(p->c, &work_cl, mode, own->handle, other, d->handle, STARPU_VALUE, &w, sizeof w, 0),
             p->step, "a task on all ranks");
    else
        call(insert(p->c, &work_cl, mode, own->handle, other, d->handle, STARPU_VALUE, &w, sizeof w,
                    STARPU_EXECUTE_ON_NODE, on, 0),
             p->step, "a task on a rank's own");
}

/* Some contributions, and perhaps a look at the sum. */
static void some_sum(struct program *p)
{
    struct datum *d = &p->data[DATA + draw(&p->state, SUMS)];
    for (unsigned n = draw(&p->state, 4); n > 0; n--) {
        struct work w = { .salt = mix(p->state, n), .count = 1, .step = p->step, .mode = { STARPU_REDUX } };
        d->value += w.salt;
        call(insert(p->c, &work_cl, STARPU_REDUX, d->handle, STARPU_VALUE, &w, sizeof w,
                    STARPU_EXECUTE_ON_NODE, (int)draw(&p->state, (unsigned)p->ranks), 0),
             p->step, "a contribution");
    }
    if (draw(&p->state, 4) == 0) {
        int arity = (int)draw(&p->state, 4);
        call(orr_call_gather_sums(p->c, d->handle, 0, arity == 1 ? 0 : arity), p->step, "redux_data");
    }
    if (draw(&p->state, 2)) return;
    struct work w = { .salt = mix(p->state, 9),
                      .expected = { d->value },
                      .count = 1,
                      .step = p->step,
                      .mode = { draw(&p->state, 2) ? STARPU_R : STARPU_RW } };
    if (w.mode[0] == STARPU_RW) d->value = mix(w.salt, 0);
    call(insert(p->c, &work_cl, w.mode[0], d->handle, STARPU_VALUE, &w, sizeof w, STARPU_EXECUTE_ON_NODE,
                (int)draw(&p->state, (unsigned)p->ranks), 0),
         p->step, "a look at a sum");
}

/* Nobody has a copy, and nothing is away. Without the cache nobody has copies. */
static void flush(struct program *p)
{
    if (orr_cache_is_on(p->c->cluster->value))
        orr_call_flush_all(p->c);
    else
        call(orr_wait_for_all(p->c), p->step, "wait_for_all");
}

static void came(void *arg)
{
    atomic_fetch_sub((atomic_int *)arg, 1);
}

/* All ranks see that a value goes elsewhere: all copies go, one more rank has it, or it has another home. */
static void elsewhere(struct program *p)
{
    int i = (int)draw(&p->state, DATA), to = (int)draw(&p->state, (unsigned)p->ranks);
    struct datum *d = &p->data[i];
    switch (draw(&p->state, 4)) {
    case 0: flush(p); break;
    case 1: orr_call_flush(p->c, d->handle); break;
    case 2:
        if (p->rank == to) atomic_fetch_add(&coming, 1);
        call(orr_call_get(p->c, d->handle, to, p->rank == to ? came : NULL, &coming), p->step,
             "get_data_on_node");
        break;
    default: call(orr_call_migrate(p->c, d->handle, to), p->step, "migrate"); d->home = to;
    }
}

/* All ranks: a datum gets its neighbour's value. */
static void copy(struct program *p)
{
    int i = (int)draw(&p->state, DATA);
    struct datum *to = &p->data[i], *from = &p->data[i ^ 1];
    bool waits = draw(&p->state, 2), called = p->rank == to->home;
    if (called) atomic_fetch_add(&coming, 1);
    if (p->does & DOES_FLUSH && draw(&p->state, 8) == 0) flush(p);
    call(orr_call_copy(p->c, to->handle, from->handle, !waits, called ? came : NULL, &coming, 0), p->step,
         "data_cpy");
    to->value = from->value;
}

/* All ranks: values of some data go to one rank, which looks at them; or come from there. */
static void collect(struct program *p)
{
    starpu_data_handle_t handles[DATA];
    bool gathers = draw(&p->state, 2);
    struct orr_collective w = { .handles = handles,
                                .root = (int)draw(&p->state, (unsigned)p->ranks),
                                .gather = gathers,
                                .sent = came,
                                .sent_arg = &coming,
                                .received = came,
                                .received_arg = &coming };
    unsigned first = draw(&p->state, DATA);
    uint64_t salt = mix(p->state, 13);
    w.count = 1 + (int)draw(&p->state, DATA);
    if (!gathers) flush(p); /* the root puts a value where it may have a copy */
    for (int i = 0; i < w.count; i++) {
        struct datum *d = &p->data[(first + (unsigned)i) % DATA];
        handles[i] = d->handle;
        if (gathers) continue;
        if (p->rank == w.root) own_task(p, d->handle, STARPU_W, 0, salt);
        d->value = mix(salt, 0);
    }
    atomic_fetch_add(&coming, 1);
    call(orr_call_collective(p->c, &w), p->step, gathers ? "gather" : "scatter");
    for (int i = 0; i < w.count && gathers && p->rank == w.root; i++)
        own_task(p, handles[i], STARPU_R, p->data[(first + (unsigned)i) % DATA].value, salt);
}

/* The same task on several ranks; what it writes counts on the first. */
static void task_on_several(struct program *p)
{
    struct datum *to = &p->data[draw(&p->state, DATA)], *from = &p->data[draw(&p->state, DATA)];
    int ranks[IN_PROCESS_MAX], count = 1 + (int)draw(&p->state, (unsigned)p->ranks),
                               first = (int)draw(&p->state, (unsigned)p->ranks);
    bool writes = draw(&p->state, 2);
    if (to == from) return;
    for (int i = 0; i < count; i++) ranks[i] = (first + i) % p->ranks;
    struct work w = { .salt = mix(p->state, 19),
                      .expected = { to->value, from->value },
                      .count = 2,
                      .step = p->step,
                      .rank = p->rank,
                      .mode = { writes ? STARPU_RW : STARPU_R, STARPU_R } };
    if (writes) to->value = mix(w.salt, 0);
    struct starpu_data_descr descr[] = { { to->handle, (enum starpu_data_access_mode)w.mode[0] },
                                         { from->handle, STARPU_R } };
    call(insert_on(p->c, &work_cl, count, ranks, STARPU_DATA_MODE_ARRAY, descr, 2, STARPU_VALUE, &w, sizeof w,
                   0),
         p->step, "a task on several ranks");
}

/* The program submits the task itself: one that writes a datum, reads another, or reads both. */
static void built_task(struct program *p)
{
    static const int modes[] = { STARPU_R, STARPU_RW, STARPU_W };
    struct datum *to = &p->data[draw(&p->state, DATA)], *from = &p->data[draw(&p->state, DATA)];
    int mode = modes[draw(&p->state, 3)], on = (int)draw(&p->state, (unsigned)p->ranks);
    if (to == from) return;
    struct starpu_task *task;
    struct work w = { .salt = mix(p->state, 27),
                      .expected = { to->value, from->value },
                      .count = 2,
                      .step = p->step,
                      .rank = p->rank,
                      .mode = { mode, STARPU_R } };
    struct starpu_data_descr descr[] = { { to->handle, (enum starpu_data_access_mode)mode },
                                         { from->handle, STARPU_R } };
    call(build(p->c, &task, &work_cl, STARPU_DATA_MODE_ARRAY, descr, 2, STARPU_VALUE, &w, sizeof w,
               STARPU_EXECUTE_ON_NODE, on, 0),
         p->step, "task_build");
    if (task) call(starpu_task_submit(task), p->step, "the submission of a task that was built");
    call(post_build(p->c, &work_cl, STARPU_DATA_MODE_ARRAY, descr, 2, STARPU_VALUE, &w, sizeof w,
                    STARPU_EXECUTE_ON_NODE, on, 0),
         p->step, "task_post_build");
    if (mode != STARPU_R) to->value = mix(w.salt, 0);
}

static void know(struct program *p, starpu_data_handle_t h, int tag, int home)
{
    call(orr_owned_set_tag(p->c->cluster->value, h, tag), p->step, "set_tag");
    call(orr_call_set_owner(p->c, h, home), p->step, "set_rank");
}

static void begin_cut(struct program *p, struct cut *c)
{
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    bool mine = c->home == p->rank;
    uintptr_t at = mine ? (uintptr_t)c->memory : 0;
    int node = mine ? STARPU_MAIN_RAM : -1;
    c->value[0] = mix(p->state, 31);
    c->value[1] = mix(p->state, 32);
    for (uint32_t k = 0; k < 2 * c->count && mine; k++) c->memory[k] = c->value[k / c->count];
    c->whole = NULL;
    if (c->how < AT_HOME || mine)
        starpu_vector_data_register(&c->whole, node, at, 2 * c->count, sizeof *c->memory);
    if (c->how == KNOWN) know(p, c->whole, c->tag, c->home);
    if (c->whole && c->how != AT_ONCE) starpu_data_partition_plan(c->whole, &halves, c->half);
    if (c->whole && c->how == AT_ONCE) starpu_data_partition(c->whole, &halves);
    for (int i = 0; i < 2; i++) {
        if (!c->whole) starpu_vector_data_register(&c->half[i], -1, 0, c->count, sizeof *c->memory);
        if (c->whole && c->how == AT_ONCE) c->half[i] = starpu_data_get_sub_data(c->whole, 1, i);
        know(p, c->half[i], c->tag + 1 + i, c->home);
    }
    if (c->how == LATE) know(p, c->whole, c->tag, c->home);
}

static void end_cut(struct program *p, struct cut *c)
{
    for (int i = 0; i < 2 && !c->whole; i++) starpu_data_unregister(c->half[i]);
    if (c->whole && c->how != AT_ONCE) starpu_data_partition_clean(c->whole, 2, c->half);
    if (c->whole && c->how == AT_ONCE) starpu_data_unpartition(c->whole, STARPU_MAIN_RAM);
    if (c->whole) starpu_data_unregister(c->whole);
    for (int i = 0; i < 2 && c->home == p->rank; i++)
        check(c->memory + (uint32_t)i * c->count, c->count, c->value[i], p->step, p->rank,
              "the end of a half");
}

/* A task on one half, or on the whole, with a datum that it reads, or that gets a value from it. */
static void task_on_pieces(struct program *p, struct cut *c)
{
    static const int modes[] = { STARPU_R, STARPU_RW, STARPU_W };
    int i = (int)draw(&p->state, c->how < UNKNOWN ? 3 : 2), mode = modes[draw(&p->state, 3)];
    struct datum *d = &p->data[draw(&p->state, DATA)];
    int on = draw(&p->state, 2) ? -1 : (int)draw(&p->state, (unsigned)p->ranks);
    struct work w = { .salt = mix(p->state, 25),
                      .expected = { c->value[i % 2], d->value },
                      .count = 2,
                      .step = p->step,
                      .rank = p->rank,
                      .mode = { mode, draw(&p->state, 2) ? STARPU_R : STARPU_RW } };
    struct starpu_data_descr descr[] = { { i < 2 ? c->half[i] : c->whole,
                                           (enum starpu_data_access_mode)mode },
                                         { d->handle, (enum starpu_data_access_mode)w.mode[1] } };
    if (on < 0 && mode == STARPU_R && (i == 2 || w.mode[1] == STARPU_R))
        on = (int)(w.salt % (uint64_t)p->ranks);
    if (i == 2) {
        memcpy(w.expected, c->value, sizeof c->value);
        w.count = 1;
    } else if (w.mode[1] == STARPU_RW) {
        d->value = mix(w.salt, 1);
    }
    for (int k = 0; k < 2 && mode != STARPU_R; k++)
        if (i == 2 || i == k) c->value[k] = mix(w.salt, i == 2 ? (uint64_t)k : 0);
    struct starpu_codelet *cl = i == 2 ? &both_cl : &work_cl;
    if (on < 0)
        call(insert(p->c, cl, STARPU_DATA_MODE_ARRAY, descr, w.count, STARPU_VALUE, &w, sizeof w, 0), p->step,
             "a task on pieces");
    else
        call(insert(p->c, cl, STARPU_DATA_MODE_ARRAY, descr, w.count, STARPU_VALUE, &w, sizeof w,
                    STARPU_EXECUTE_ON_NODE, on, 0),
             p->step, "a task on pieces on a rank");
}

static void look_at_both(const struct cut *c, const struct work *w)
{
    uint64_t *here = (uint64_t *)starpu_vector_get_local_ptr(c->whole);
    for (uint32_t i = 0; i < 2; i++) {
        if (w->mode[0] & STARPU_R)
            check(here + i * c->count, c->count, w->expected[i], w->step, w->rank,
                  "an acquire of both halves");
        for (uint32_t k = 0; k < c->count && w->mode[0] & STARPU_W; k++)
            here[i * c->count + k] = mix(w->salt, i);
    }
}

struct both_called {
    struct cut cut;
    struct work work;
};

static void both_acquired(void *arg)
{
    struct both_called *b = arg;
    look_at_both(&b->cut, &b->work);
    starpu_data_release(b->cut.whole);
    free(b);
}

/* The whole, by its home, which the others do not see. */
static void whole_at_home(struct program *p, const struct cut *c, const struct work *w, unsigned way)
{
    enum starpu_data_access_mode mode = (enum starpu_data_access_mode)w->mode[0];
    struct both_called *b;
    switch (way) {
    case 0:
        call(starpu_data_acquire(c->whole, mode), p->step, "acquire of a whole");
        look_at_both(c, w);
        starpu_data_release(c->whole);
        break;
    case 1:
        b = malloc(sizeof *b);
        *b = (struct both_called){ *c, *w };
        call(starpu_data_acquire_cb(c->whole, mode, both_acquired, b), p->step, "acquire_cb of a whole");
        break;
    default:
        call(starpu_task_insert(&both_cl, mode, c->whole, STARPU_VALUE, w, sizeof *w, 0), p->step,
             "a task of its own on a whole");
    }
}

/* What home does with the halves, or with the whole, and others do not see. */
static void pieces_at_home(struct program *p, struct cut *c, bool moves)
{
    static const int modes[] = { STARPU_R, STARPU_RW, STARPU_W };
    int mode = modes[p->does & DOES_CHANGE ? draw(&p->state, 3) : 0];
    unsigned i = draw(&p->state, 4), way = draw(&p->state, 4);
    struct work w = { .salt = mix(p->state, 27),
                      .expected = { c->value[0], c->value[1] },
                      .count = 1,
                      .step = p->step,
                      .rank = p->rank,
                      .mode = { mode } };
    bool stays = !moves || c->how == LATE; /* then who has a copy does not hear of it */
    if (mode != STARPU_R && (stays || draw(&p->state, 8) == 0)) flush(p);
    if (i < 2 || c->how == AT_ONCE) {
        i %= 2;
        if (p->rank == c->home) own_task(p, c->half[i], mode, c->value[i], w.salt);
        if (mode != STARPU_R) c->value[i] = mix(w.salt, 0);
        return;
    }
    bool by_hand = way == 2, mine = p->rank == c->home;
    if (by_hand && mine)
        own_task(p, c->half[1], STARPU_R, c->value[1], 0); /* begins the plan, if it is not */
    if (by_hand && mine) starpu_data_unpartition_submit(c->whole, 2, c->half, -1);
    if (mine) whole_at_home(p, c, &w, way);
    for (uint64_t k = 0; k < 2 && mode != STARPU_R; k++) c->value[k] = mix(w.salt, k);
    if (!by_hand) return;
    if (draw(&p->state, 2))
        flush(p);
    else
        some_task(p);
    if (!mine) return;
    call(orr_partition_shut(c->half[0]) == 1 ? 0 : -EINVAL, p->step, "a plan that nobody used since");
    starpu_data_partition_submit(c->whole, 2, c->half);
}

static void with_loose(struct program *p, bool moves)
{
    if (draw(&p->state, 3))
        task_on_pieces(p, &p->loose);
    else if (p->does & DOES_LOOK)
        pieces_at_home(p, &p->loose, moves);
}

/* Another rank owns a datum from here on, and its value is written anew. */
static void give_away(struct program *p)
{
    struct datum *d = &p->data[draw(&p->state, DATA)];
    int to = (int)draw(&p->state, (unsigned)p->ranks);
    struct work w = { .salt = mix(p->state, 23), .count = 1, .step = p->step, .mode = { STARPU_W } };
    call(orr_call_set_owner(p->c, d->handle, to), p->step, "set_rank");
    d->home = to;
    d->value = mix(w.salt, 0);
    call(insert(p->c, &work_cl, STARPU_W, d->handle, STARPU_VALUE, &w, sizeof w, 0), p->step,
         "a task on a new owner");
}

static void other_placement(struct program *p)
{
    struct orr_place *place = &sessions[p->rank].place;
    if (orr_policy_get_current(place) == 0)
        call(orr_policy_set_current(place, p->placement), p->step, "set_current_policy");
    else
        call(orr_policy_set_current(place, 0), p->step, "set_current_policy");
}

static void begin_anew(struct program *p)
{
    int i = (int)draw(&p->state, DATA);
    end_datum(p, i);
    begin_datum(p, i);
}

/* ---- what home does unseen ---- */

struct called {
    struct datum *d;
    uint32_t count;
    uint64_t expected, salt;
    bool reads, writes;
    int step, rank;
};

static void with_datum(const struct called *q)
{
    uint64_t *here = (uint64_t *)starpu_vector_get_local_ptr(q->d->handle);
    if (q->reads) check(here, q->count, q->expected, q->step, q->rank, "an acquire");
    for (uint32_t k = 0; k < q->count && q->writes; k++) here[k] = q->salt;
}

static void acquired(void *arg)
{
    struct called *q = arg;
    with_datum(q);
    starpu_data_release(q->d->handle);
    free(q);
}

static void acquire(struct program *p, const struct called *q, bool waits)
{
    enum starpu_data_access_mode mode =
        (enum starpu_data_access_mode)((q->reads ? STARPU_R : 0) | (q->writes ? STARPU_W : 0));
    if (waits) {
        call(starpu_data_acquire(q->d->handle, mode), p->step, "acquire");
        with_datum(q);
        starpu_data_release(q->d->handle);
        return;
    }
    struct called *copy = malloc(sizeof *copy);
    *copy = *q;
    call(starpu_data_acquire_cb(q->d->handle, mode, acquired, copy), p->step, "acquire_cb");
}

static void message(struct program *p, enum orr_request_kind kind, starpu_data_handle_t h, int peer)
{
    const struct orr_message_spec m = {
        .kind = kind, .handle = h, .comm = p->c, .peer = peer, .tag = 1000000 + p->step, .detached = true
    };
    call(orr_message_start(&m, "message", NULL), p->step, "a message of its own");
}

/* Home sends the datum to a neighbour, or gets a value from it: messages of the program's own. */
static void exchange(struct program *p, struct datum *d, uint64_t salt, bool changes, bool moves)
{
    int other = (d->home + 1) % p->ranks;
    starpu_data_handle_t own;
    if (p->rank == d->home) message(p, changes ? ORR_RECV : ORR_SEND, d->handle, other);
    if (p->rank != other) return;
    if (!changes && moves && salt % 2) { /* into its copy, which may be the only one */
        message(p, ORR_RECV, d->handle, d->home);
        own_task(p, d->handle, STARPU_R, d->value, salt);
        return;
    }
    starpu_vector_data_register(&own, -1, 0, d->count, sizeof *d->memory);
    if (changes) own_task(p, own, STARPU_W, 0, salt);
    message(p, changes ? ORR_SEND : ORR_RECV, own, d->home);
    if (!changes) own_task(p, own, STARPU_R, d->value, salt);
    starpu_data_unregister_submit(own);
}

static void partition(struct program *p, const struct called *q)
{
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_data_handle_t h = q->d->handle;
    starpu_data_partition(h, &halves);
    for (int i = 0; i < 2; i++)
        own_task(p, starpu_data_get_sub_data(h, 1, i), q->writes ? STARPU_RW : STARPU_R, q->expected,
                 q->salt);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
}

/* Home has it while tasks with other data are inserted, and all ranks wait for all of them. */
static void hold(struct program *p, const struct called *q, bool mine)
{
    enum starpu_data_access_mode mode =
        (enum starpu_data_access_mode)((q->reads ? STARPU_R : 0) | (q->writes ? STARPU_W : 0));
    if (mine) call(starpu_data_acquire(q->d->handle, mode), p->step, "acquire, to hold it");
    p->held = q->d;
    for (unsigned n = draw(&p->state, 3); n > 0; n--) some_task(p);
    call(orr_wait_for_all(p->c), p->step, "wait_for_all while home holds a datum");
    for (unsigned n = draw(&p->state, 3); n > 0; n--) some_task(p);
    p->held = NULL;
    if (!mine) return;
    with_datum(q);
    starpu_data_release(q->d->handle);
}

/* Of one datum, by its home: the others only know that it happens. */
static void at_home(struct program *p, bool moves)
{
    struct datum *d = &p->data[draw(&p->state, DATA)];
    struct called q = { .d = d,
                        .count = d->count,
                        .expected = d->value,
                        .salt = mix(p->state, 11),
                        .step = p->step,
                        .rank = p->rank };
    unsigned how = draw(&p->state, 6);
    q.writes = p->does & DOES_CHANGE && draw(&p->state, 2);
    q.reads = !q.writes || draw(&p->state, 2);
    if (q.writes && (!moves || draw(&p->state, 8) == 0)) flush(p); /* who has a copy does not hear of it */
    bool mine = p->rank == d->home;
    switch (how) {
    case 0:
    case 1:
        if (mine) acquire(p, &q, how == 0);
        d->value = q.writes ? q.salt : d->value;
        break;
    case 2:
        if (mine) own_task(p, d->handle, q.writes ? STARPU_RW : STARPU_R, d->value, q.salt);
        d->value = q.writes ? mix(q.salt, 0) : d->value;
        break;
    case 3:
        exchange(p, d, q.salt, q.writes, moves);
        d->value = q.writes ? mix(q.salt, 0) : d->value;
        break;
    case 4:
        hold(p, &q, mine);
        d->value = q.writes ? q.salt : d->value;
        break;
    default:
        if (d->count < 2) break;
        if (mine) partition(p, &q);
        d->value = q.writes ? mix(q.salt, 0) : d->value;
    }
}

/* ---- on other communicators: not all ranks see it ---- */

/* A datum whose home is part of the group, from a drawn one on. */
static struct datum *datum_in(struct program *p, const struct group *g)
{
    unsigned first = draw(&p->state, DATA);
    for (unsigned i = 0; i < DATA; i++) {
        struct datum *d = &p->data[(first + i) % DATA];
        if (g->rank_in[d->home] >= 0) return d;
    }
    return NULL;
}

/* Reads one, and perhaps writes another or the same. */
static void task_in_group(struct program *p, struct orr_comm *c, const struct group *g, bool moves)
{
    static const int modes[] = { STARPU_RW, STARPU_W, STARPU_R };
    struct datum *from = datum_in(p, g), *to = datum_in(p, g);
    int mode = modes[draw(&p->state, 3)], on = (int)draw(&p->state, (unsigned)g->comm.size);
    if (!from) return;
    struct work w = { .salt = mix(p->state, 17),
                      .expected = { to->value, from->value },
                      .count = from == to ? 1 : 2,
                      .step = p->step,
                      .rank = p->rank,
                      .mode = { mode, STARPU_R } };
    if (mode != STARPU_R && !moves) flush(p); /* who is not part of it does not hear of it */
    if (mode != STARPU_R) to->value = mix(w.salt, 0);
    struct starpu_data_descr descr[] = { { to->handle, (enum starpu_data_access_mode)mode },
                                         { from->handle, STARPU_R } };
    if (c)
        call(insert(c, &work_cl, STARPU_DATA_MODE_ARRAY, descr, w.count, STARPU_VALUE, &w, sizeof w,
                    STARPU_EXECUTE_ON_NODE, on, 0),
             p->step, "a task in a group");
}

static void get_in_group(struct program *p, struct orr_comm *c, const struct group *g)
{
    struct datum *d = datum_in(p, g);
    int to = (int)draw(&p->state, (unsigned)g->comm.size);
    if (!d || !c) return;
    if (c->rank == to) atomic_fetch_add(&coming, 1);
    call(orr_call_get(c, d->handle, to, c->rank == to ? came : NULL, &coming), p->step,
         "get_data_on_node in a group");
    if (c->rank == to) own_task(p, d->handle, STARPU_R, d->value, 0);
}

static void copy_in_group(struct program *p, struct orr_comm *c, const struct group *g)
{
    struct datum *from = datum_in(p, g), *to = from ? &p->data[(from - p->data) ^ 1] : NULL;
    bool waits = draw(&p->state, 2);
    if (!to || g->rank_in[to->home] < 0) return;
    flush(p);
    if (p->rank == to->home) atomic_fetch_add(&coming, 1);
    if (c)
        call(
            orr_call_copy(c, to->handle, from->handle, !waits, p->rank == to->home ? came : NULL, &coming, 0),
            p->step, "data_cpy in a group");
    to->value = from->value;
}

/* Who has a copy and is not part of the group hears of it only where data move. */
static void sum_in_group(struct program *p, struct orr_comm *c, const struct group *g, bool moves)
{
    struct datum *d = &p->data[DATA + draw(&p->state, SUMS)];
    bool at_once = draw(&p->state, 2);
    if (g->rank_in[d->home] < 0) return;
    call(orr_call_gather_sums(p->c, d->handle, 0, 0), p->step, "redux_data before a group's");
    if (!moves) flush(p);
    for (unsigned n = draw(&p->state, 4); n > 0; n--) {
        struct work w = { .salt = mix(p->state, n), .count = 1, .step = p->step, .mode = { STARPU_REDUX } };
        int on = (int)draw(&p->state, (unsigned)g->comm.size);
        d->value += w.salt;
        if (c)
            call(insert(c, &work_cl, STARPU_REDUX, d->handle, STARPU_VALUE, &w, sizeof w,
                        STARPU_EXECUTE_ON_NODE, on, 0),
                 p->step, "a contribution in a group");
    }
    if (c && (at_once || !moves))
        call(orr_call_gather_sums(c, d->handle, 0, 0), p->step, "redux_data in a group");
}

static void in_group(struct program *p, bool moves)
{
    int i = (int)draw(&p->state, GROUPS);
    const struct group *g = &groups[i];
    struct orr_comm *c = p->others[i];
    switch (draw(&p->state, 8)) {
    case 0: get_in_group(p, c, g); break;
    case 1: copy_in_group(p, c, g); break;
    case 2: sum_in_group(p, c, g, moves); break;
    case 3:
        if (draw(&p->state, 2) == 0 && c) call(orr_coll_barrier(c), p->step, "a barrier in a group");
        break;
    default: task_in_group(p, c, g, moves);
    }
}

/* Some of the ranks, or all, in another order. */
static void make_groups(uint64_t state, int ranks)
{
    for (int i = 0; i < GROUPS; i++) {
        struct group *g = &groups[i];
        g->comm = (struct orr_inproc_comm){ .ranks = g->ranks };
        unsigned first = draw(&state, (unsigned)ranks),
                 few = i ? 2 + draw(&state, (unsigned)ranks - 1) : (unsigned)ranks;
        for (int r = 0; r < IN_PROCESS_MAX; r++) g->rank_in[r] = -1;
        for (unsigned k = 0; k < few; k++) {
            int r = (int)((first + (unsigned)ranks - k) % (unsigned)ranks);
            g->rank_in[r] = g->comm.size;
            g->ranks[g->comm.size++] = r;
        }
    }
}

/* ---- programs ---- */

static void others(struct program *p)
{
    switch (draw(&p->state, 5)) {
    case 0: give_away(p); break;
    case 1:
        if (p->placement >= 0 && draw(&p->state, 2)) other_placement(p);
        break;
    case 2: built_task(p); break;
    default: task_on_several(p);
    }
}

/* As if the network took no time, and other ranks were fast: so short tasks are lent, too. */
static void lend_gladly(struct program *p)
{
    struct orr_lend *l = &sessions[p->rank].lend;
    orr_spin_lock(&l->lock);
    l->transfer_ns = 1;
    l->transfer_bytes = 1e12;
    for (int i = 0; i < p->ranks; i++) l->slowness[i] = 1e-3;
    orr_spin_unlock(&l->lock);
}

/* Unseen by others: it asks one of them for tasks. */
static void borrow(struct program *p)
{
    uint64_t how = mix(p->state, 200 + (uint64_t)p->rank);
    lend_gladly(p);
    if (how % 4)
        orr_borrow_ask(&sessions[p->rank].lend, (int)(how / 4 % (uint64_t)p->ranks), 1 + how / 64 % 8);
}

static void one_step(struct program *p)
{
    /* a program may have gone back to owner-computes before its first insertion: no data move then */
    bool moves = orr_load_relaxed(&sessions[p->rank].value.moves.on);
    uint64_t late = mix(p->state, 100 + (uint64_t)p->rank);
    if (late % 32 == 0) usleep((unsigned)(late >> 8) % 500);
    if (sessions[p->rank].lend.on) borrow(p);
    unsigned what = draw(&p->state, 40);
    if (what >= 36 && p->does & DOES_LOOSE)
        with_loose(p, moves);
    else if (what >= 36)
        some_task(p);
    else if (what < 14 || (what == 14 && !(p->does & DOES_PIECES)) ||
             (what == 15 && !(p->does & DOES_OTHERS)))
        some_task(p);
    else if (what >= 32 && p->does & DOES_ITERATE)
        iterate(p);
    else if (what == 14)
        task_on_pieces(p, &p->cut);
    else if (what == 15)
        others(p);
    else if (what == 16 && p->does & DOES_OWN)
        task_on_own(p);
    else if (what < 19)
        some_sum(p);
    else if (what == 19)
        call(orr_wait_for_all(p->c), p->step, "wait_for_all");
    else if (what >= 20 && what <= 22 && p->does & DOES_FLUSH)
        elsewhere(p);
    else if (what == 23 && p->does & DOES_BEGIN_ANEW)
        begin_anew(p);
    else if (what == 26 && p->does & DOES_COMMS)
        in_group(p, moves);
    else if (what > 25 && p->does & DOES_LOOK)
        at_home(p, moves);
    else if (what == 24 && p->does & DOES_COLLECT)
        collect(p);
    else if (what == 25 && p->does & DOES_COPY)
        copy(p);
}

static int kind_of(uint64_t seed)
{
    return seed % 2 ? BY_OWNER : seed % 4 ? ANYWHERE : BY_DMDA;
}

static void run(struct job *j, int rank)
{
    static uint64_t memory[IN_PROCESS_MAX][ALL + 2][LARGE];
    call(rank_start(j, rank), 0, "start");
    if (current_seed % 2) sessions[rank].value.moves.tree_bytes = 0; /* all data go along trees */
    struct program p = { .c = sessions[rank].cluster.comm,
                         .state = mix(current_seed, 3),
                         .rank = rank,
                         .ranks = j->ranks,
                         .does = does,
                         .placement = j->placement,
                         .kind = kind_of(current_seed) };
    for (int i = 0; i < GROUPS; i++)
        if (groups[i].rank_in[rank] >= 0)
            p.others[i] = orr_comm_meet(&sessions[rank].cluster.comms, &groups[i].comm);
    if (current_seed / 2 % 4 == 0) orr_call_set_cache(p.c, false);
    for (int i = 0; i < ALL; i++) {
        p.data[i] =
            (struct datum){ .memory = memory[rank][i],
                            .value = i < DATA ? (uint64_t)i : 0,
                            .count = draw(&p.state, 8) ? 1 + draw(&p.state, 8) : LARGE,
                            .home = i == OWN ? ORR_RANK_PER_NODE : (int)draw(&p.state, (unsigned)j->ranks) };
        if (i % 2 && i < DATA) p.data[i].count = p.data[i - 1].count;
        begin_datum(&p, i);
    }
    for (int i = 0; i < 2; i++) {
        struct cut *c = i ? &p.loose : &p.cut;
        c->home = (int)draw(&p.state, (unsigned)j->ranks);
        c->count = draw(&p.state, 4) ? 1 + draw(&p.state, 8) : LARGE / 2;
        c->memory = memory[rank][ALL + i];
        c->tag = 200 + 10 * i;
        c->how = i ? 1 + draw(&p.state, HOWS_LOOSE) : KNOWN;
    }
    if (p.does & DOES_PIECES) begin_cut(&p, &p.cut);
    if (p.does & DOES_LOOSE) begin_cut(&p, &p.loose);
    for (p.step = 1; p.step <= STEPS; p.step++) one_step(&p);
    bool ends_early = draw(&p.state, 2); /* tasks may be left, and values away */
    if (p.does & DOES_LOOSE && ends_early) end_cut(&p, &p.loose);
    call(orr_wait_for_all(p.c), p.step, "the last wait_for_all");
    for (int i = 0; i < ALL; i++) end_datum(&p, i);
    if (p.does & DOES_PIECES) end_cut(&p, &p.cut);
    if (p.does & DOES_LOOSE && !ends_early) end_cut(&p, &p.loose);
    struct orr_lend *l = &sessions[rank].lend;
    bool lends = l->on;
    struct orr_view_counts views = orr_views_get_counts(&sessions[rank].value);
    atomic_fetch_add(&shown, views.shown);
    atomic_fetch_add(&recalled, views.recalled);
    call(rank_end(j, rank), p.step, "shutdown");
    if (!lends) return;
    struct orr_lend_counts counts = orr_lend_get_counts(l);
    atomic_fetch_add(&lent, counts.lent);
    atomic_fetch_add(&in_place, counts.in_place);
}

/* ---- a placement that moves data wherever it likes ---- */

struct anywhere {
    int ranks;
    uint64_t calls, figures;
};

static int anywhere_begin(const struct orr_place_setup *setup, void **state_out)
{
    struct anywhere *s = calloc(1, sizeof *s);
    s->ranks = setup->ranks;
    *state_out = s;
    return 0;
}

static int anywhere_choose(void *state, const struct orr_place_view *v)
{
    const struct anywhere *s = state;
    uint64_t x = mix(current_seed, v->position);
    int holder = v->count ? orr_owned_holder(v->comm, v->data[0].handle) : -1;
    return x % 4 == 0 && holder >= 0 ? holder : (int)((x >> 8) % (uint64_t)s->ranks);
}

/* It changes now and then, and does not know at once that it stands. */
static bool anywhere_figures(void *state, uint64_t *figures_out)
{
    struct anywhere *s = state;
    uint64_t x = mix(current_seed + 77, s->calls++);
    s->figures += x % 16 == 0;
    *figures_out = s->figures;
    return x / 16 % 8 != 0;
}

static void anywhere_frozen(void *state, bool on)
{
    struct anywhere *s = state;
    s->calls += on ? 3 : 5;
}

static const struct orr_place_ops anywhere = { .name = "anywhere",
                                               .for_all = true,
                                               .moves_data = true,
                                               .begin = anywhere_begin,
                                               .choose = anywhere_choose,
                                               .figures = anywhere_figures,
                                               .frozen = anywhere_frozen,
                                               .end = free };

/* ---- dmda, which believes its figures at once: programs are short ---- */

extern const struct orr_place_ops orr_place_dmda;
static struct orr_place_ops hasty_dmda;

static bool hasty_figures(void *state, uint64_t *figures_out)
{
    orr_place_dmda.figures(state, figures_out);
    return true;
}

static void make_hasty(void)
{
    hasty_dmda = orr_place_dmda;
    hasty_dmda.figures = hasty_figures;
}

static void too_long(int signal)
{
    (void)signal;
    fprintf(stderr, "# seed %llu does not end\n", (unsigned long long)current_seed);
    abort();
}

/* False: wrong. */
static bool one_program(uint64_t seed, bool moves)
{
    struct job j;
    uint64_t state = mix(seed, 5);
    int before = wrong + failed, ranks = 3 + (int)draw(&state, IN_PROCESS_MAX - 2);
    current_seed = seed;
    alarm(limit_s);
    make_groups(mix(seed, 21), ranks);
    job_create(&j, ranks, 0, draw(&state, 4) * draw(&state, 10), run);
    j.lends = seed % 3 > 0;
    if (seed % 3 == 2) orr_inproc_show(j.net); /* lent tasks use their data where these are, and large
                                                * values are read where they are */
    for (int i = 0; i < ranks; i++) strcpy(sessions[i].place.argument, seed % 8 == 4 ? "homes=0,h=0" : "");
    for (int i = 0; i < ranks && moves; i++)
        j.placement =
            orr_policy_add(&sessions[i].place, kind_of(seed) == BY_DMDA ? &hasty_dmda : &anywhere, NULL);
    job_run(&j);
    job_join(&j);
    for (int i = 0; i < ranks && moves; i++) orr_policy_remove(&sessions[i].place, j.placement);
    return wrong + failed == before;
}

int main(int argc, char **argv)
{
    uint64_t seeds = SEEDS, first = 1, bad = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seeds")) seeds = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--limit")) limit_s = (unsigned)atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--does")) does = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--seed")) first = strtoull(argv[i + 1], NULL, 10);
    }
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    setenv("ORRERY_MPI_IN_PLACE", "1", 1); /* where memory is shown */
    signal(SIGALRM, too_long);
    make_hasty();
    if (starpu_init(&conf)) skip_all("no worker");
    for (uint64_t s = first; s < first + seeds && bad < 5; s++) bad += !one_program(s, s % 2 == 0);
    is_int(wrong, 0, "%llu random programs on 3 to 8 ranks find what a sequential one would: all values",
           (unsigned long long)seeds);
    is_int(failed, 0, "and no call fails");
    is_int(coming, 0, "and who was told when a value came was told");
    ok(seeds < 32 || all_of(replayed[BY_OWNER] > 0, replayed[ANYWHERE] > 0, replayed[BY_DMDA] > 0),
       "ranks replayed iterations (%d under owner-computes, %d with data that move, %d under dmda)",
       replayed[BY_OWNER], replayed[ANYWHERE], replayed[BY_DMDA]);
    ok(seeds < 96 || all_of(recognised[BY_OWNER] > 0, recognised[BY_DMDA] > 0),
       "and recognised some that are only marked (%d under owner-computes, %d under dmda)",
       recognised[BY_OWNER], recognised[BY_DMDA]);
    ok(lent > 0 || seeds < 8, "ranks ran tasks of others (%llu)", (unsigned long long)lent);
    ok(in_place > 0 || seeds < 96, "some on data that were used in place (%llu)",
       (unsigned long long)in_place);
    ok(all_of(shown > 0, recalled > 0) || seeds < 96,
       "and values were read where their owner has them (%llu, of which %llu were recalled)",
       (unsigned long long)shown, (unsigned long long)recalled);
    starpu_shutdown();
    return done_testing();
}
