/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a node that exchange messages through memory, without MPI: each rank is a process of this program.
 * They agree on who is near whatever some of them cannot do; messages of all sizes arrive whole and in their
 * order, also where a reader is late; large transfers are copied, or refused, between memory of any shape.
 * Threads: main of each process.
 * Owns: memory by which a refused transfer goes.
 * Not here: the engine over it (engine_mpi.c).
 */
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include "core/base/sync.h"
#include "core/mem/arena.h"
#include "mpi/wire/transports/near.h"
#include "mpi/wire/transports/near_copy.h"
#include "tests/helper.h"
#include "tests/mpi/processes.h"

enum {
    RANKS = 4,
    MESSAGES = SCALED(4000, 800),
    TRANSFERS = SCALED(60, 20),
    FAR_BYTES = 1 << 22,
    GAP = 512,
    SHORT = 200
};

/* ---- who is near ---- */

static int count_near(const struct orr_near *n)
{
    int count = 0;
    for (int i = 0; i < RANKS; i++) count += orr_near_reaches(n, i);
    return count;
}

static bool all_are_near(const struct orr_bootstrap *b)
{
    struct orr_near *n = orr_near_open(b);
    bool good = count_near(n) == RANKS && orr_near_reaches_all(n);
    for (int i = 0; good && i < RANKS; i++) good = orr_near_rank_fetches(n, i) == orr_near_fetches_from(n, i);
    orr_near_close(n);
    return good;
}

static bool rank_1_refuses(const struct orr_bootstrap *b)
{
    if (b->rank == 1) setenv("ORRERY_MPI_NEAR", "0", 1);
    struct orr_near *n = orr_near_open(b);
    bool good = b->rank == 1 ? !n : count_near(n) == RANKS - 1 && !orr_near_reaches(n, 1);
    good &= !orr_near_reaches_all(n);
    orr_near_close(n);
    return good;
}

static bool two_by_two(const struct orr_bootstrap *b)
{
    setenv("ORRERY_MPI_NEAR", "2", 1);
    struct orr_near *n = orr_near_open(b);
    bool good = count_near(n) == 2 && orr_near_reaches(n, b->rank) && orr_near_reaches(n, b->rank ^ 1);
    orr_near_close(n);
    return good;
}

/* The smaller groups hold, of whomever they are wanted. */
static bool some_two_by_two(const struct orr_bootstrap *b)
{
    if (b->rank == 2) setenv("ORRERY_MPI_NEAR", "2", 1);
    struct orr_near *n = orr_near_open(b);
    bool good = n != NULL;
    for (int i = 0; i < RANKS; i++) {
        good &= orr_near_reaches(n, i) == (i / 2 == b->rank / 2);
        if (good && orr_near_reaches(n, i)) good = orr_near_note(n, i, 0, "note", 4);
    }
    meet();
    orr_near_close(n);
    return good;
}

/* It has no memory to share. */
static bool rank_0_cannot(const struct orr_bootstrap *b)
{
    signal(SIGXFSZ, SIG_IGN);
    if (b->rank == 0) setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
    struct orr_near *n = orr_near_open(b);
    bool good = b->rank == 0 ? !n : count_near(n) == RANKS - 1 && !orr_near_reaches(n, 0);
    orr_near_close(n);
    return good;
}

/* It cannot open what others have. */
static bool rank_2_cannot(const struct orr_bootstrap *b)
{
    if (b->rank == 2) setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4, 4 }); /* its own is the fourth */
    struct orr_near *n = orr_near_open(b);
    bool good = b->rank == 2 ? !n : count_near(n) == RANKS - 1 && !orr_near_reaches(n, 2);
    orr_near_close(n);
    return good;
}

/* It has a limit on addresses, which the memory that ranks see would use up. */
static bool rank_2_is_limited(const struct orr_bootstrap *b)
{
    if (b->rank == 2) setrlimit(RLIMIT_AS, &(struct rlimit){ (rlim_t)1 << 60, (rlim_t)1 << 60 });
    struct orr_near *n = orr_near_open(b);
    bool good = count_near(n) == RANKS && (b->rank == 2) == !orr_load_acquire(&orr_arena_bytes);
    for (int i = 0; good && i < RANKS; i++) {
        good = orr_near_rank_sees(n, i) == (i != 2);
        bool sees =
            orr_near_view(n, i, (uintptr_t)orr_the_arena.base, 1); /* places are not the same for all */
        if (i == b->rank) good = good && sees == (b->rank != 2);
    }
    orr_near_close(n);
    return good;
}

static bool cannot_talk(const struct orr_bootstrap *b)
{
    is_mute = true;
    struct orr_near *n = orr_near_open(b);
    orr_near_close(n);
    return !n;
}

/* ---- messages ---- */

static struct orr_near *near;
static int own, in_order[RANKS];
static bool wrong;
static uint64_t seed;

/* The number-th message of one rank to another: how long it is, and what is in it. */
static size_t length_of(int from, int to, int number)
{
    uint64_t s = (uint64_t)number * 64 + (uint64_t)from * 8 + (uint64_t)to + 1;
    unsigned kind = random_below(&s, 8);
    return kind == 0 ? ORR_NEAR_MAX : random_below(&s, kind < 5 ? ORR_NEAR_NOTE_MAX + 2 : ORR_NEAR_MAX + 1);
}

static void fill(unsigned char *to, size_t count, uint64_t what)
{
    for (size_t i = 0; i < count; i++) to[i] = (unsigned char)(what * 31 + i * 7 + (i >> 8));
}

static void let_sleep(void *arg, int peer)
{
    (void)arg;
    (void)peer;
}

static bool take(void *late, int rank, unsigned kind, const void *bytes, size_t count)
{
    static unsigned char expected[ORR_NEAR_MAX];
    if (late && random_below(&seed, 50) == 0) return false;
    if (kind == SHORT) return true;
    int number = in_order[rank]++;
    uint64_t what = (uint64_t)number * RANKS + (uint64_t)rank;
    fill(expected, count, what);
    wrong |= count != length_of(rank, own, number) || kind != (unsigned)number % 100 ||
             memcmp(bytes, expected, count) != 0;
    return true;
}

static bool try_to_send(int to, int number, bool urgent)
{
    static unsigned char bytes[ORR_NEAR_MAX];
    size_t count = length_of(own, to, number);
    fill(bytes, count, (uint64_t)number * RANKS + (uint64_t)own);
    if (count <= ORR_NEAR_NOTE_MAX && random_below(&seed, 2))
        return orr_near_note(near, to, (unsigned)number % 100, bytes, count);
    if (!orr_near_reserve(near, to, urgent)) return false;
    if (random_below(&seed, 20) == 0) {
        orr_near_release(near, to);
        return false;
    }
    orr_near_put(near, to, (unsigned)number % 100, bytes, count);
    return true;
}

static bool storm(const struct orr_bootstrap *b)
{
    int sent[RANKS] = { 0 }, left = RANKS * MESSAGES, got = 0;
    near = orr_near_open(b);
    own = b->rank;
    seed = (uint64_t)own + 1;
    if (!near) return false;
    while (left > 0 || got < RANKS * MESSAGES) {
        int to = (int)random_below(&seed, RANKS);
        for (unsigned burst = random_below(&seed, 200); burst > 0 && sent[to] < MESSAGES; burst--) {
            if (!try_to_send(to, sent[to], random_below(&seed, 2))) break;
            sent[to]++;
            left--;
        }
        if (random_below(&seed, 3) == 0 && !orr_near_poll(near, take, near, let_sleep)) sched_yield();
        got = 0;
        for (int i = 0; i < RANKS; i++) got += in_order[i];
    }
    bool good = !wrong && !orr_near_poll(near, take, NULL, let_sleep);
    meet();
    orr_near_close(near);
    return good;
}

static bool take_all(void *woken, int rank, unsigned kind, const void *bytes, size_t count)
{
    (void)woken;
    return take(NULL, rank, kind, bytes, count);
}

static void count_room(void *woken, int rank)
{
    *(int *)woken += rank == 0;
}

static int fill_up(int to, int *number, bool urgent)
{
    static unsigned char bytes[ORR_NEAR_MAX];
    int before = *number;
    while (orr_near_reserve(near, to, urgent)) {
        size_t count = length_of(own, to, *number);
        fill(bytes, count, (uint64_t)*number * RANKS + (uint64_t)own);
        orr_near_put(near, to, (unsigned)(*number)++ % 100, bytes, count);
    }
    return *number - before;
}

/* Rank 0 writes to rank 1, which reads later, and to rank 2, which reads at once. */
static bool one_is_late(const struct orr_bootstrap *b)
{
    int numbers[RANKS] = { 0 };
    bool good = true;
    near = orr_near_open(b);
    own = b->rank;
    if (!near) return false;
    if (own == 0) {
        bool some = fill_up(1, &numbers[1], false) > 0, more = fill_up(1, &numbers[1], true) > 0;
        good = some && more && !orr_near_reserve(near, 1, true);
        good &= orr_near_note(near, 1, SHORT, "note", 4); /* there is room for short ones */
        good &= orr_near_reserve(near, 2, false);
        orr_near_release(near, 2);
        good &= fill_up(2, &numbers[2], false) > 0;
    }
    processes->status[own] = numbers[1];
    meet();
    int expected = processes->status[0];
    if (own == 1) {
        int woken = 0;
        while (in_order[0] < expected) orr_near_poll(near, take_all, &woken, count_room);
        good = !wrong && woken == 1;
    }
    meet();
    if (own == 0) good &= orr_near_reserve(near, 1, false); /* its room came back */
    meet();
    orr_near_close(near);
    return good;
}

/* ---- large transfers ---- */

enum shape { IN_A_ROW, STRIDED, NARROW, ON_DEVICE, UNREADABLE, HALF_READABLE, SHAPES };

struct transfer {
    struct orr_bulk bulk; /* first */
    struct orr_payload payload;
    unsigned char *memory, *protected;
    bool over, is_far, must_be_near;
    int from, to;
    uint64_t what; /* is in it */
};

/* Where refused ones go: by its two ranks and its number. */
static struct far {
    _Atomic uint32_t full;
    unsigned char bytes[FAR_BYTES];
} * far_memory;
static struct transfer transfers[2 * RANKS * TRANSFERS];
static int left_over;

static struct far *far_of(const struct transfer *t)
{
    return &far_memory[(t->from * RANKS + t->to) * TRANSFERS + (int)t->bulk.tag];
}

static void far(void *arg, struct orr_bulk *bulk)
{
    struct transfer *t = (struct transfer *)bulk;
    (void)arg;
    t->is_far = true;
    if (t->protected) mprotect(t->protected, 1 << 16, PROT_READ | PROT_WRITE);
    if (!bulk->sending) return;
    orr_payload_gather(&t->payload, far_of(t)->bytes);
    orr_store_release(&far_of(t)->full, 1u);
}

static void over(struct transfer *t)
{
    wrong |= t->over;
    t->over = true;
    left_over--;
}

static void poll_far(struct transfer *t)
{
    if (!t->is_far || t->over || !orr_load_acquire(&far_of(t)->full)) return;
    if (!t->bulk.sending) orr_payload_scatter(&t->payload, far_of(t)->bytes);
    over(t);
}

static void bulk_done(void *arg, struct orr_bulk *bulk, int status)
{
    (void)arg;
    wrong |= status != 0;
    over((struct transfer *)bulk);
}

static const struct orr_transport_sink sink = { .wake = let_sleep, .bulk_done = bulk_done };

static bool hear(void *copies, int rank, unsigned kind, const void *bytes, size_t count)
{
    (void)count;
    return orr_near_copies_heard(copies, rank, kind, bytes, &sink);
}

/* Memory for so many bytes in that shape. Of strided ones the bytes are a multiple of 8 rows of 4 times 2. */
static void lay_out(struct transfer *t, size_t bytes, enum shape shape, bool in_arena)
{
    size_t run = shape == NARROW ? bytes / (64 * 64) : bytes / 64;
    t->payload = (struct orr_payload){ .bytes = bytes, .on_device = shape == ON_DEVICE };
    size_t room = 3 * bytes + (GAP << 12) + (1 << 17);
    t->memory = in_arena ? orr_arena_alloc(room, false) : NULL;
    if (!t->memory) t->memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    t->payload.base = t->memory;
    if (shape == STRIDED || shape == NARROW) {
        size_t columns = shape == NARROW ? 64 * 8 : 8;
        t->payload.kind = ORR_PAYLOAD_STRIDED;
        t->payload.run_bytes = run;
        t->payload.ndims = 2;
        t->payload.dims[0].count = columns;
        t->payload.dims[0].stride_bytes = run + GAP / 2;
        t->payload.dims[1].count = 8;
        t->payload.dims[1].stride_bytes = columns * (run + GAP / 2) + GAP;
        if (shape == NARROW) t->payload.dims[0].stride_bytes = run + 8;
    }
}

static void protect(struct transfer *t, enum shape shape)
{
    if ((shape != UNREADABLE && shape != HALF_READABLE) || orr_arena_owns(t->memory)) return;
    size_t half = shape == HALF_READABLE ? t->payload.bytes / 2 & ~(size_t)0xffff : 0;
    t->protected = t->memory + half;
    mprotect(t->protected, 1 << 16, PROT_NONE);
}

/* Whether it has what it should. */
static bool is_whole(const struct transfer *t)
{
    static unsigned char got[FAR_BYTES], expected[FAR_BYTES];
    orr_payload_gather(&t->payload, got);
    fill(expected, t->payload.bytes, t->what);
    return memcmp(got, expected, t->payload.bytes) == 0;
}

/* One end of the number-th transfer of all. */
static void prepare(struct transfer *t, int number, bool sending)
{
    static unsigned char bytes[FAR_BYTES];
    uint64_t plan = (uint64_t)number + 1;
    size_t size = (size_t)(1 + random_below(&plan, random_below(&plan, 4) ? 20 : 255)) << 14;
    enum shape there = random_below(&plan, SHAPES), here = random_below(&plan, SHAPES);
    t->from = number / TRANSFERS / RANKS;
    t->to = number / TRANSFERS % RANKS;
    t->what = (uint64_t)number * 12345;
    t->bulk = (struct orr_bulk){ .payload = &t->payload,
                                 .peer = sending ? t->to : t->from,
                                 .tag = (uint32_t)(number % TRANSFERS),
                                 .sending = sending };
    bool in_arena = random_below(&plan, 2);
    t->must_be_near = in_arena && there != ON_DEVICE && here != ON_DEVICE;
    lay_out(t, size, sending ? there : here, in_arena);
    if (sending) {
        fill(bytes, size, t->what);
        orr_payload_scatter(&t->payload, bytes);
    }
    protect(t, sending ? there : here);
}

/* This rank's ends of all transfers; returns how many. */
static int prepare_all(void)
{
    int count = 0;
    for (int i = 0; i < RANKS * RANKS * TRANSFERS; i++) {
        if (i / TRANSFERS / RANKS == own) prepare(&transfers[count++], i, true);
        if (i / TRANSFERS % RANKS == own) prepare(&transfers[count++], i, false);
    }
    return count;
}

static void shuffle(int *order, int count)
{
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int k = (int)random_below(&seed, (unsigned)i + 1), at = order[i];
        order[i] = order[k];
        order[k] = at;
    }
}

/* All pairs of ranks, each with transfers of all shapes, begun in any order at either end. */
static bool all_shapes(const struct orr_bootstrap *b)
{
    int order[LENGTH(transfers)], begun = 0, far_ones = 0;
    near = orr_near_open(b);
    struct orr_near_copies *c = near ? orr_near_copies_new(near, far, NULL) : NULL;
    if (!c) return false;
    own = b->rank;
    seed = (uint64_t)own + 77;
    int count = left_over = prepare_all();
    shuffle(order, count);
    while (left_over > 0) {
        for (unsigned some = random_below(&seed, 30); some > 0 && begun < count; some--)
            orr_near_copies_start(c, &transfers[order[begun++]].bulk);
        bool moved = orr_near_poll(near, hear, c, let_sleep);
        moved |= orr_near_copies_poll(c, &sink);
        for (int i = 0; i < count; i++) poll_far(&transfers[i]);
        if (!moved) sched_yield();
    }
    while (orr_near_copies_unsent(c)) orr_near_copies_poll(c, &sink);
    for (int i = 0; i < count; i++) {
        wrong |= !is_whole(&transfers[i]) || (transfers[i].must_be_near && transfers[i].is_far);
        far_ones += transfers[i].is_far;
    }
    meet();
    orr_near_copies_free(c);
    orr_near_close(near);
    return !wrong && far_ones > 0 && far_ones < count;
}

int main(void)
{
    processes_init(RANKS);
    far_memory = shared_memory(RANKS * RANKS * TRANSFERS * sizeof *far_memory);
    is_int(on_all_ranks(all_are_near), RANKS, "the ranks of a node are near each other");
    is_int(on_all_ranks(rank_1_refuses), RANKS, "where one takes no part, the others do");
    is_int(on_all_ranks(two_by_two), RANKS, "they may be near two by two");
    is_int(on_all_ranks(some_two_by_two), RANKS, "and are, where one alone wants it so");
    is_int(on_all_ranks(rank_0_cannot), RANKS, "who has no memory to share is left out");
    is_int(on_all_ranks(rank_2_cannot), RANKS, "who cannot open that of others is left out");
    is_int(on_all_ranks(rank_2_is_limited), RANKS, "who has a limit on addresses sees none, and all talk");
    is_int(on_all_ranks(cannot_talk), RANKS, "ranks that cannot talk do without");
    is_int(on_all_ranks(storm), RANKS, "%d messages of all sizes from each to each are whole and in order",
           MESSAGES);
    is_int(on_all_ranks(one_is_late), RANKS,
           "who does not read holds up its own alone, no short ones, and says when there is room");
    is_int(on_all_ranks(all_shapes), RANKS, "%d large ones from each to each, of all shapes, are whole",
           TRANSFERS);
    return done_testing();
}
