/* SPDX-License-Identifier: BSD-3-Clause */
/* dmda.c: the placement dmda: the rank on which a task is over first, by virtual clocks and agreed lengths,
 * with a price on what has to move. Threads: see place.h. Owns: struct dmda. Not here: clocks (clocks.h),
 * lengths (lengths.h), what was measured (feedback.h).
 *
 * The cost of a rank: when the best of its kinds of workers would be done (behind what was placed there, and
 * behind its data, those it lacks being sent), and H times what newly moves there; and what its energy is
 * worth. Without that price equal ranks would take work from each other for nothing; the more the ranks
 * differ, the lower it is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "mpi/place/lengths.h"
#include "mpi/place/place.h"
#include "mpi/value/moves.h"

enum {
    CANDIDATES = 24,
    DATA_WEIGHED = 16, /* of a task with more, the first */
    EQUAL_PERCENT = 10,
    LATENCY_NS = 2000,
    BYTES_PER_US = 5000,
    SHIFT = 16
};

/* What moving a datum costs beyond the time that it takes: times that time; and, in parts of a task as long
 * as this one, for what it reads and for what it writes, which then is elsewhere for the tasks to come. Found
 * with tools/orrery_simulate and the factorization of bench/cluster. */
enum { PARTS = 1024 };
struct price {
    uint64_t times, parts[2]; /* the second: of what it writes */
};
static const struct price price_of_equal = { 16, { PARTS / 2, PARTS } },
                          price_of_unequal = { 4, { PARTS / 2, PARTS } };

/* While the owners of what is written share the work well enough, tasks go there: no price makes equal ranks
 * send as little as that. Neither are they left while their work is not what takes long, but a path, or
 * messages. Judged where all ranks wait for all tasks, and from so many tasks on. Less unevenness is borne
 * where the rank with most to do is busy all the time (judge_busy); and since what is measured trembles, and
 * a rank that is disturbed for a moment makes any sharing look even, tasks go back to such owners when they
 * share clearly better than it took to leave them, twice in a row. */
enum {
    HOMES_PERCENT = 15,
    BUSY_HOMES_PERCENT = 4,
    BUSY_BACK_PERCENT = 2,
    FAR_PERCENT = 40,
    LOAD_PERCENT = 65,
    BUSY_PERCENT = 98,
    BACK_MEETS = 2,
    TASKS_OF_RANK = 64
};

struct size {
    uint64_t key; /* 1 + the footprint; 0: none */
    uint64_t move_ns;
};
enum { SIZES = 32 };

struct dmda {
    struct orr_clocks clocks;
    struct orr_lengths lengths;
    uint64_t latency_ns, ns_per_byte; /* the latter times 1 << SHIFT */
    uint64_t us_per_joule;
    bool weighs_energy; /* it is worth something, and some is known */
    struct price price;
    bool price_is_fixed, stale;     /* stale: what follows from slownesses is to be found anew */
    bool homes_are_fixed, at_homes; /* tasks go to the owner of what is written */
    unsigned uneven;                /* so often in a row owners did not share the work evenly */
    unsigned busy_uneven;           /* so often in a row that was too much for who is busy all the time */
    unsigned busy_even;             /* so often in a row it was not, or would not have been */
    bool busy_always; /* when tasks last went to owners the one with most to do was busy all the time */
    uint64_t guesses; /* tasks since all met whose length was not known */
    uint64_t tasks, began_ns; /* since all met; when that was */
    uint64_t *home_ns; /* work since then that owners would have, by rank and kind, where nothing is slow */
    uint64_t typical;  /* slowness: of a rank with the mean speed */
    uint32_t least_slow[ORR_CLOCK_KINDS]; /* of the fastest rank with workers of the kind */
    /* of iterations that go where they went */
    uint64_t figures; /* counts changes of what follows here, and of lengths and slownesses */
    uint64_t times_then;
    bool at_homes_then, weighs_energy_then;
    bool is_told;    /* something was measured */
    unsigned judged; /* so often since the last of these */
    bool passed;     /* such an iteration went by since all met */
    struct size sizes[SIZES];
};

/* A datum, as far as it counts. */
struct weighed {
    const struct orr_rank_set *copies;
    uint64_t sent_ns, price; /* for a rank that does not have it */
    struct orr_owned *record;
    int holder, home;
    uint32_t some; /* who has it: as in a set of ranks */
    bool written;
};

struct task {
    const struct orr_length *length;
    uint64_t ns[ORR_CLOCK_KINDS];        /* on a rank of speed ORR_SPEED_UNIT */
    uint64_t energy_ns[ORR_CLOCK_KINDS]; /* what its energy is worth; set where that is weighed */
    uint64_t typical_ns;                 /* on a rank of the mean speed, on its best kind of worker */
    uint64_t price[2];                   /* of each datum, beside what follows from its size; as in parts */
    uint64_t ready_ns;                   /* all that it uses is there, somewhere */
    uint64_t best_cost, best_there;      /* there: when its data would be */
    uint64_t elsewhere;                  /* a price for each rank that is still to be weighed */
    int best, best_kind;                 /* -1: none yet */
    int holder;                          /* of what is written first; else -1 */
    int written;                         /* which datum that is; else -1 */
    bool is_guessed;                     /* its length is not known */
    int count;
    struct weighed data[DATA_WEIGHED];
};

/* ---- beginning and end ---- */

static int say_argument(const char *text)
{
    orr_error("ORRERY_MPI_SCHED: dmda takes "
              "h=PRICE,latency=NS,bandwidth=BYTES_PER_US,homes=0|1,gamma=US_PER_JOULE, "
              "and not \"%s\"",
              text);
    return -EINVAL;
}

static void set_bandwidth(struct dmda *s, uint64_t bytes_per_us)
{
    s->ns_per_byte = (UINT64_C(1000) << SHIFT) / bytes_per_us;
}

static int set_option(struct dmda *s, const char *name, size_t length, uint64_t value)
{
    if (length == 1 && *name == 'h') {
        s->price = (struct price){ .times = value };
        s->price_is_fixed = true;
    } else if (length == 5 && !memcmp(name, "homes", length) && value <= 1) {
        s->at_homes = value;
        s->homes_are_fixed = true;
    } else if (length == 5 && !memcmp(name, "gamma", length)) {
        s->us_per_joule = value;
    } else if (length == 7 && !memcmp(name, "latency", length)) {
        s->latency_ns = value;
    } else if (length == 9 && !memcmp(name, "bandwidth", length) && value > 0) {
        set_bandwidth(s, value);
    } else {
        return -EINVAL;
    }
    return 0;
}

static int read_argument(struct dmda *s, const char *text)
{
    for (const char *p = text; p && *p;) {
        char *end;
        size_t length = strcspn(p, "=,");
        if (p[length] != '=' || p[length + 1] < '0' || p[length + 1] > '9') return say_argument(text);
        uint64_t value = strtoull(p + length + 1, &end, 10);
        if ((*end && *end != ',') || value > 1000000000 || set_option(s, p, length, value))
            return say_argument(text);
        p = *end ? end + 1 : end;
    }
    return 0;
}

static int set_up_ranks(struct dmda *s, const struct orr_place_setup *setup)
{
    int r = orr_lengths_init(&s->lengths, setup), kinds = s->lengths.kinds;
    if (!r) r = orr_clocks_init(&s->clocks, setup->ranks, kinds);
    s->home_ns = r ? NULL : orr_calloc((size_t)setup->ranks * (size_t)kinds, sizeof *s->home_ns);
    if (!s->home_ns) return -ENOMEM;
    for (int rank = 0; rank < setup->ranks; rank++)
        for (int type = 0; type < STARPU_NARCH; type++)
            if (s->lengths.kind_of[type] != UINT8_MAX)
                orr_clocks_set(&s->clocks, rank, s->lengths.kind_of[type],
                               orr_lengths_workers(setup->machines, rank, type));
    orr_clocks_ready(&s->clocks);
    return 0;
}

static void end(void *state)
{
    struct dmda *s = state;
    orr_clocks_fini(&s->clocks);
    orr_lengths_fini(&s->lengths);
    orr_free(s->home_ns);
    orr_free(s);
}

/* Ranks of about the same speed keep what they have; others rather take it. */
static void find_price(struct dmda *s)
{
    uint64_t least = UINT64_MAX, most = 0, speeds = 0, count = 0;
    memset(s->least_slow, -1, sizeof s->least_slow);
    for (int i = 0; i < s->clocks.ranks * s->clocks.kinds; i++) {
        if (!s->clocks.clock[i].workers) continue;
        uint32_t slow = s->lengths.slow[i], *of_kind = &s->least_slow[i % s->clocks.kinds];
        if (slow < *of_kind) *of_kind = slow;
        if (slow < least) least = slow;
        if (slow > most) most = slow;
        speeds += (UINT64_C(1) << 30) / slow;
        count++;
    }
    if (speeds) s->typical = (count << 30) / speeds;
    if (!s->price_is_fixed)
        s->price = most * 100 <= least * (100 + EQUAL_PERCENT) ? price_of_equal : price_of_unequal;
}

static int begin(const struct orr_place_setup *setup, void **state_out)
{
    struct dmda *s = orr_calloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    s->price = price_of_equal;
    s->at_homes = true;
    s->figures = 1;
    s->typical = ORR_SPEED_UNIT;
    s->latency_ns = setup->latency_ns ? setup->latency_ns : LATENCY_NS;
    set_bandwidth(s, setup->bytes_per_us ? setup->bytes_per_us : BYTES_PER_US);
    s->us_per_joule = setup->us_per_joule;
    int r = read_argument(s, setup->argument);
    if (!r) r = set_up_ranks(s, setup);
    if (r) {
        end(s);
        return r;
    }
    find_price(s);
    *state_out = s;
    return 0;
}

/* ---- what a rank would cost ---- */

static inline bool is_there(const struct dmda *s, const struct weighed *d, int rank)
{
    bool some = d->some >> ((uint32_t)rank % ORR_RANKS_SOME) & 1;
    if (s->clocks.ranks <= ORR_RANKS_SOME) return some;
    return some && (d->holder == rank || orr_rank_set_has(d->copies, rank));
}

/* What has to be sent, in time; and the price of what moves. Which data a rank lacks nobody foresees, the
 * processor's guesses included: there are no branches for it. */
static inline uint64_t transfers(const struct dmda *s, const struct task *t, int rank, uint64_t *price_out)
{
    uint64_t sent = 0, price = 0;
    for (int i = 0; i < t->count; i++) {
        const struct weighed *d = &t->data[i];
        uint64_t lacks = (uint64_t)is_there(s, d, rank) - 1;
        sent += d->sent_ns & lacks;
        price += d->price & lacks;
    }
    *price_out = price;
    return sent;
}

static inline void weigh(const struct dmda *s, struct task *t, int rank)
{
    uint64_t price = 0, there = 0;
    const struct orr_clock *clock = orr_clocks_at(&s->clocks, rank, 0);
    const uint32_t *slow = &s->lengths.slow[rank * s->lengths.kinds];
    for (uint32_t kinds = t->length->kinds; kinds; kinds &= kinds - 1) {
        int k = __builtin_ctz(kinds);
        uint64_t from = clock[k].lane[clock[k].earliest], length = t->ns[k] * slow[k] / ORR_SPEED_UNIT;
        if (!clock[k].workers) continue;
        if (from < s->clocks.floor) from = s->clocks.floor;
        if (from < t->ready_ns) from = t->ready_ns;
        if (from + length + t->elsewhere > t->best_cost) continue; /* whatever else it lacks */
        if (!there) there = t->ready_ns + transfers(s, t, rank, &price);
        if (from < there) from = there;
        uint64_t cost = from + length + price;
        if (orr_unlikely(s->weighs_energy)) cost += t->energy_ns[k];
        if (orr_likely(cost > t->best_cost)) continue;
        if (cost == t->best_cost && (t->best == t->holder || (rank != t->holder && rank > t->best))) continue;
        t->best_cost = cost;
        t->best_there = there;
        t->best = rank;
        t->best_kind = k;
    }
}

/* ---- which ranks are weighed ---- */

struct candidates {
    uint64_t some; /* bits of their numbers modulo 64: most that are not there are told by this */
    int count, ranks[CANDIDATES];
};

static inline void add_once(struct candidates *c, int rank)
{
    if (rank < 0 || c->count == CANDIDATES) return;
    uint64_t bit = UINT64_C(1) << (rank % 64);
    if (c->some & bit)
        for (int i = 0; i < c->count; i++)
            if (c->ranks[i] == rank) return;
    c->some |= bit;
    c->ranks[c->count++] = rank;
}

/* Who has its data, and who has least to do. */
static void find_candidates(const struct dmda *s, const struct task *t, struct candidates *c)
{
    add_once(c, orr_clocks_least(&s->clocks));
    for (int i = 0; i < t->count; i++) {
        const struct weighed *d = &t->data[i];
        add_once(c, d->holder);
        if (d->written) add_once(c, d->home);
        if (d->copies->count && !d->copies->bits) add_once(c, d->copies->inline_ranks[0]);
    }
}

/* A rank that lacks the datum d costs no less: one that has nothing to do but the least that any has, is the
 * fastest, and lacks nothing else. */
static inline uint64_t least_without(const struct dmda *s, const struct task *t, const struct weighed *d)
{
    uint64_t from = orr_clocks_least_free(&s->clocks), length = UINT64_MAX;
    if (from < s->clocks.floor) from = s->clocks.floor;
    if (from < t->ready_ns + d->sent_ns) from = t->ready_ns + d->sent_ns;
    for (uint32_t kinds = t->length->kinds; kinds; kinds &= kinds - 1) {
        int k = __builtin_ctz(kinds);
        uint64_t ns = t->ns[k] * s->least_slow[k] / ORR_SPEED_UNIT;
        if (ns < length) length = ns;
    }
    return from + length + d->price;
}

/* Most tasks stay with what they write: then no other rank is looked at. */
static bool stays(const struct dmda *s, struct task *t)
{
    if (t->written < 0) return false;
    const struct weighed *d = &t->data[t->written];
    weigh(s, t, d->holder);
    if (t->best < 0 || d->copies->count) return false;
    t->elsewhere = d->price;
    return least_without(s, t, d) > t->best_cost;
}

static void weigh_ranks(const struct dmda *s, struct task *t)
{
    struct candidates c;
    if (stays(s, t)) return;
    c.some = 0;
    c.count = 0;
    if (s->clocks.ranks > ORR_CLOCKS_FEW) find_candidates(s, t, &c);
    for (int i = 0; i < c.count; i++) weigh(s, t, c.ranks[i]);
    for (int i = 0; !c.count && i < s->clocks.ranks; i++) weigh(s, t, i);
    for (int i = 0; t->best < 0 && i < s->clocks.ranks; i++) weigh(s, t, i); /* none of those can run it */
}

/* ---- a task ---- */

/* What moving h takes. Data of one footprint have the same size, so few are asked; it is kept by the stream
 * alone. */
static inline uint64_t move_ns_of(struct dmda *s, struct orr_data *h)
{
    struct size *known = &s->sizes[h->footprint % SIZES];
    uint64_t key = UINT64_C(1) + h->footprint;
    if (orr_unlikely(known->key != key))
        *known = (struct size){ key, s->latency_ns + (h->ops->get_size(h) * s->ns_per_byte >> SHIFT) };
    return known->move_ns;
}

/* Copies count where all ranks know them alike. */
static inline void add_datum(struct dmda *s, struct task *t, const struct orr_comm *c,
                             const struct starpu_data_descr *d)
{
    static const struct orr_rank_set none;
    struct orr_data *h = d->handle;
    uint32_t mode = d->mode;
    if (orr_unlikely(!h || mode & (STARPU_SCRATCH | STARPU_LOCALITY))) return;
    if (orr_unlikely(mode & (STARPU_REDUX | STARPU_MPI_REDUX))) mode = 0;
    int holder = orr_owned_holder(c, h);
    if (orr_unlikely(holder < 0)) return;
    struct orr_owned *o = orr_owned_of(h);
    bool written = mode & STARPU_W;
    uint64_t move_ns = move_ns_of(s, h);
    struct weighed *w = &t->data[t->count++];
    w->copies = orr_likely(o && orr_owned_can_move(c, h)) ? &o->sent : &none;
    w->some = w->copies->some | orr_rank_some(holder);
    _Static_assert(STARPU_R == 1, "a factor");
    w->sent_ns = move_ns * (mode & STARPU_R);
    w->price = move_ns * s->price.times + t->price[written];
    w->record = o;
    w->holder = holder;
    w->home = h->mpi_rank;
    w->written = written;
    if (o && o->ready_ns > t->ready_ns) t->ready_ns = o->ready_ns;
    if (!written || t->written >= 0) return;
    t->written = t->count - 1;
    t->holder = holder;
}

/* What owner-computes would have given to whom. The owner's best kind of worker for it; -1: it cannot run
 * there. */
static inline int note_home(struct dmda *s, const struct orr_place_view *v, const struct task *t)
{
    int rank = v->written_on, best = -1;
    uint64_t least = UINT64_MAX;
    s->tasks++;
    s->guesses += t->is_guessed;
    if (rank < 0 || rank >= s->clocks.ranks) return -1;
    const struct orr_clock *clock = orr_clocks_at(&s->clocks, rank, 0);
    const uint32_t *slow = &s->lengths.slow[rank * s->lengths.kinds];
    for (uint32_t kinds = t->length->kinds; kinds; kinds &= kinds - 1) {
        int k = __builtin_ctz(kinds);
        if (!clock[k].workers || t->ns[k] * slow[k] >= least) continue;
        least = t->ns[k] * slow[k];
        best = k;
    }
    if (best >= 0) s->home_ns[rank * s->clocks.kinds + best] += t->ns[best];
    return best;
}

/* A task goes to the owner of what it writes: nothing is weighed, time goes on. */
static int place_at_home(struct dmda *s, const struct orr_place_view *v, const struct task *t, int kind)
{
    int rank = v->written_on;
    uint64_t ready = 0,
             length = t->ns[kind] * s->lengths.slow[rank * s->lengths.kinds + kind] / ORR_SPEED_UNIT;
    for (int i = 0; i < v->count; i++) {
        const struct orr_owned *o = v->data[i].handle ? orr_owned_of(v->data[i].handle) : NULL;
        uint64_t there =
            !o ? 0 : o->ready_ns + (orr_owned_holder(v->comm, o->handle) == rank ? 0 : s->latency_ns);
        if (there > ready) ready = there;
    }
    uint64_t over = orr_clocks_take(&s->clocks, rank, kind, ready, length);
    for (int i = 0; i < v->count; i++) {
        struct orr_owned *o = v->data[i].handle ? orr_owned_of(v->data[i].handle) : NULL;
        if (o && v->data[i].mode & STARPU_W) o->ready_ns = over;
    }
    return rank;
}

static int place(struct dmda *s, const struct orr_place_view *v, struct task *t)
{
    if (v->fixed == ORR_PLACE_OPEN)
        weigh_ranks(s, t);
    else if (v->fixed >= 0 && v->fixed < s->clocks.ranks)
        weigh(s, t, v->fixed);
    if (t->best < 0) return v->fixed != ORR_PLACE_OPEN ? v->fixed : t->holder >= 0 ? t->holder : 0;
    uint64_t length = orr_lengths_ns(&s->lengths, t->length, t->best, t->best_kind);
    uint64_t over = orr_clocks_take(&s->clocks, t->best, t->best_kind, t->best_there, length);
    for (int i = 0; i < t->count; i++)
        if (t->data[i].written && t->data[i].record) t->data[i].record->ready_ns = over;
    return t->best;
}

/* Of the kind of worker of which owners have most to do: how long the one with most takes, how long each
 * would if they shared it evenly, and how long all took. */
struct balance {
    uint64_t most_ns, even_ns, took_ns;
};

static struct balance find_balance(const struct dmda *s)
{
    uint64_t most = 0, least = 1;
    for (int k = 0; k < s->clocks.kinds; k++) {
        uint64_t sum = 0, speeds = 0;
        for (int rank = 0, i = k; rank < s->clocks.ranks; rank++, i += s->clocks.kinds) {
            uint64_t workers = s->clocks.clock[i].workers;
            if (!workers) continue;
            sum += s->home_ns[i];
            speeds += (workers << 20) / s->lengths.slow[i];
            if (s->home_ns[i] * s->lengths.slow[i] / workers > most)
                most = s->home_ns[i] * s->lengths.slow[i] / workers;
        }
        uint64_t even = speeds ? (sum / speeds << 20) : 0;
        if (even > least) least = even;
    }
    uint64_t took = s->clocks.latest > s->began_ns ? s->clocks.latest - s->began_ns : 0;
    return (struct balance){ most / ORR_SPEED_UNIT, least / ORR_SPEED_UNIT, took };
}

static inline bool is_within(const struct balance *b, uint64_t percent)
{
    return b->most_ns * 100 <= b->even_ns * (100 + percent);
}

/* Where all met, and tasks went to owners: is the rank with most to do busy all the time? Then less is too
 * much, also to go back. */
static void judge_busy(struct dmda *s, const struct balance *b, bool guessed)
{
    if (s->at_homes) s->busy_always = !guessed && b->most_ns * 100 >= b->took_ns * BUSY_PERCENT;
    bool uneven = !is_within(b, BUSY_HOMES_PERCENT), even = is_within(b, BUSY_BACK_PERCENT);
    s->busy_uneven = s->busy_always && uneven ? s->busy_uneven + 1 : 0;
    s->busy_even = even ? s->busy_even + 1 : 0;
}

/* What is measured trembles, and what is not yet is guessed: owners are left when it was uneven twice, or far
 * from even. */
static void judge_homes(struct dmda *s, bool met)
{
    struct balance b = find_balance(s);
    bool guessed = s->guesses * 4 > s->tasks,
         light = s->at_homes && b.most_ns * 100 < b.took_ns * LOAD_PERCENT,
         even = light || is_within(&b, guessed ? FAR_PERCENT : HOMES_PERCENT);
    if (met) judge_busy(s, &b, guessed);
    s->uneven = even ? 0 : s->uneven + 1;
    bool bears = even || (s->uneven < 2 && is_within(&b, FAR_PERCENT)),
         is_back = even && (!s->busy_always || (met && s->busy_even >= BACK_MEETS));
    bool leaves = s->at_homes && !(bears && s->busy_uneven < 2);
    if (leaves) s->busy_even = 0;
    s->at_homes = s->at_homes ? !leaves : is_back;
}

/* Where iterations went by without being asked for, what was placed besides is no measure of homes: what they
 * were found to be then stands. */
static void judge(struct dmda *s, bool met)
{
    if (s->passed) {
        if (met) s->uneven = s->busy_uneven = s->busy_even = 0;
        return;
    }
    if (!s->tasks || (!met && s->tasks < (uint64_t)TASKS_OF_RANK * s->clocks.ranks)) return;
    if (!s->homes_are_fixed) judge_homes(s, met);
    s->judged++;
}

/* All that follows from what was measured. */
static void settle(struct dmda *s, bool met)
{
    s->stale = false;
    find_price(s);
    judge(s, met);
    if (!s->at_homes && s->clocks.unsorted) orr_clocks_ready(&s->clocks);
    s->clocks.unsorted = s->at_homes;
}

/* Only data are moved: nothing runs. */
static const struct orr_length no_task;

/* How long it takes, as far as the rank does not matter. */
static inline void find_lengths(const struct dmda *s, struct task *t)
{
    uint64_t least = UINT64_MAX;
    for (int k = 0; k < s->clocks.kinds; k++) {
        t->ns[k] = t->length->ns[k] ? t->length->ns[k] : s->lengths.unknown_ns;
        if (t->length->kinds >> k & 1 && t->length->ns[k] && t->length->ns[k] < least)
            least = t->length->ns[k];
    }
    t->is_guessed = least == UINT64_MAX;
    if (t->is_guessed) least = s->lengths.unknown_ns;
    t->typical_ns = least * s->typical / ORR_SPEED_UNIT;
}

/* 1 us of a joule is a thousandth of a ns of a nJ. */
static void find_energies(const struct dmda *s, struct task *t)
{
    enum { NJ_MOST_LOG2 = 34 };
    for (int k = 0; k < s->clocks.kinds; k++) {
        uint64_t nj = t->length->nj[k], worth = s->us_per_joule;
        bool exactly = nj >> NJ_MOST_LOG2 == 0; /* us_per_joule has 30 bits */
        t->energy_ns[k] = exactly ? nj * worth / 1000000 : nj / 1000000 * worth;
    }
}

static int choose(void *state, const struct orr_place_view *v)
{
    struct dmda *s = state;
    struct task t;
    if (orr_unlikely(s->stale)) settle(s, false);
    int number = v->cl ? orr_lengths_number(&s->lengths, v) : -1;
    if (v->cl && number < 0) return -ENOMEM;
    t.length = number >= 0 ? &s->lengths.known[number] : &no_task;
    find_lengths(s, &t);
    t.ready_ns = 0;
    t.best_cost = UINT64_MAX;
    t.elsewhere = 0;
    t.best = t.holder = t.written = -1;
    t.count = 0;
    int home_kind = note_home(s, v, &t);
    if (orr_unlikely(s->weighs_energy)) find_energies(s, &t);
    if (s->at_homes && v->fixed == ORR_PLACE_OPEN && home_kind >= 0)
        return place_at_home(s, v, &t, home_kind);
    t.price[0] = s->price.parts[0] * t.typical_ns / PARTS;
    t.price[1] = s->price.parts[1] * t.typical_ns / PARTS;
    for (int i = 0; i < v->count && t.count < DATA_WEIGHED; i++) add_datum(s, &t, v->comm, &v->data[i]);
    return place(s, v, &t);
}

static void measured(void *state, const struct orr_place_measure *m)
{
    struct dmda *s = state;
    s->is_told = true;
    s->stale |= orr_lengths_measured(&s->lengths, m);
    if (orr_likely(!s->lengths.has_energy || !s->us_per_joule || s->weighs_energy)) return;
    s->weighs_energy = s->stale = true;
    if (s->homes_are_fixed) return;
    s->at_homes = false; /* owners know nothing of it */
    s->homes_are_fixed = true;
}

/* From here on it is counted anew who gets what. */
static void count_anew(struct dmda *s)
{
    size_t pairs = (size_t)s->clocks.ranks * (size_t)s->clocks.kinds;
    orr_clocks_meet(&s->clocks);
    s->clocks.unsorted = s->at_homes;
    s->began_ns = s->clocks.floor;
    s->tasks = s->guesses = 0;
    s->passed = false;
    memset(s->home_ns, 0, pairs * sizeof *s->home_ns);
}

static void met(void *state)
{
    settle(state, true);
    count_anew(state);
}

/* ---- iterations ---- */

/* While owners get what they own, prices and lengths decide nothing; slownesses, whether they should. */
static bool is_changed(const struct dmda *s)
{
    if (!s->at_homes && (s->price.times != s->times_then || s->lengths.is_other)) return true;
    return s->at_homes != s->at_homes_then || s->weighs_energy != s->weighs_energy_then ||
           s->lengths.is_new || orr_lengths_are_others(&s->lengths);
}

/* They stand once homes were judged by them as often as it takes to leave them. */
static bool figures(void *state, uint64_t *figures_out)
{
    enum { JUDGED = 2 };
    struct dmda *s = state;
    if (s->stale) settle(s, false);
    if (is_changed(s)) {
        s->figures++;
        s->judged = 0;
        s->times_then = s->price.times;
        s->at_homes_then = s->at_homes;
        s->weighs_energy_then = s->weighs_energy;
        orr_lengths_remember(&s->lengths);
    }
    *figures_out = s->figures;
    return s->clocks.ranks == 1 || (s->is_told && s->judged >= JUDGED);
}

/* Time stands still while iterations pass. When they are placed again, all ranks are even. */
static void frozen(void *state, bool on)
{
    struct dmda *s = state;
    if (!on) count_anew(s);
    s->passed = on;
}

const struct orr_place_ops orr_place_dmda = { .name = "dmda",
                                              .for_all = true,
                                              .moves_data = true,
                                              .learns = true,
                                              .begin = begin,
                                              .choose = choose,
                                              .measured = measured,
                                              .met = met,
                                              .figures = figures,
                                              .frozen = frozen,
                                              .end = end };
