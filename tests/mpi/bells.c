/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a node that wake each other, without MPI: each rank is a process of this program. They agree on
 * who shares memory, whatever some of them cannot do; and of threads that sleep without a time-out none is
 * left asleep beside a message. Threads: main of each process; in the second half several that listen. Owns:
 * what they count. Not here: how they bootstrap (processes.h), what wakes whom in the layer (asleep.c).
 */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "mpi/wire/bells.h"
#include "tests/mpi/processes.h"
#include "tests/tap.h"

enum { RANKS = 3, LISTENERS_MAX = 3, MESSAGES = 3000, SECONDS = 1 };

static struct shared {
    ORR_ALIGNED_LINE _Atomic uint64_t sent[RANKS], taken[RANKS], total[RANKS];
} * shared;

/* ---- who shares ---- */

static int shared_files(void)
{
    int count = 0;
    DIR *d = opendir("/dev/shm");
    for (struct dirent *e; d && (e = readdir(d));) count += strncmp(e->d_name, "orrery-", 7) == 0;
    if (d) closedir(d);
    return count;
}

static bool all_share(const struct orr_bootstrap *b)
{
    struct orr_bells bells;
    orr_bells_open(&bells, b);
    bool good = bells.first && bells.all_ranks && bells.count == RANKS && bells.mine == b->rank;
    for (int i = 0; good && i < RANKS; i++) good = bells.places[i] == i;
    /* each writes into the bell of the next */
    if (good) orr_store_seq(&bells.first[(b->rank + 1) % RANKS].rings, (uint32_t)b->rank + 7);
    meet();
    if (good)
        good = orr_load_seq(&orr_bells_mine(&bells)->rings) == (uint32_t)((b->rank + RANKS - 1) % RANKS) + 7;
    orr_bells_close(&bells);
    return good && !bells.first;
}

static bool rank_1_refuses(const struct orr_bootstrap *b)
{
    struct orr_bells bells;
    if (b->rank == 1) setenv("ORRERY_MPI_BELLS", "0", 1);
    orr_bells_open(&bells, b);
    bool good = b->rank == 1 ? !bells.first
                             : bells.first && !bells.all_ranks && bells.places[1] < 0 && bells.places[2] == 1;
    orr_bells_close(&bells);
    return good;
}

/* It is to make the memory. */
static bool rank_0_cannot(const struct orr_bootstrap *b)
{
    struct orr_bells bells;
    signal(SIGXFSZ, SIG_IGN);
    if (b->rank == 0) setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
    orr_bells_open(&bells, b);
    bool good = !bells.first && !orr_bells_mine(&bells);
    orr_bells_ring(&bells, 1, false); /* nothing happens */
    orr_bells_close(&bells);
    return good;
}

static bool cannot_talk(const struct orr_bootstrap *b)
{
    struct orr_bells bells;
    is_mute = true;
    orr_bells_open(&bells, b);
    bool good = !bells.first;
    orr_bells_close(&bells);
    return good;
}

/* ---- nobody is left asleep ---- */

static struct orr_bells ringers;
static int own_rank, listeners, burst; /* of each rank; messages at a time */

static uint64_t taken(int who)
{
    return orr_load_seq(&shared->taken[who]);
}

static bool all_taken(void)
{
    return taken(own_rank) == orr_load_seq(&shared->total[own_rank]);
}

static bool needed(void *arg)
{
    (void)arg;
    return !all_taken();
}

/* Takes what was sent. */
static bool look(void *arg)
{
    (void)arg;
    uint64_t sent = orr_load_seq(&shared->sent[own_rank]), before = taken(own_rank);
    while (before < sent && !orr_cas_seq(&shared->taken[own_rank], &before, sent)) continue;
    return before < sent;
}

static void pause_for(unsigned *seed, int most)
{
    for (int i = rand_r(seed) % most; i > 0; i--) orr_cpu_relax();
}

static void listen_once(void)
{
    uint32_t seen;
    bool moved;
    struct orr_bell *b = orr_bell_enter(ORR_LISTEN_WAITER, &seen, &moved);
    if (b && !moved && !all_taken()) orr_bell_sleep(b, ORR_LISTEN_WAITER, 0, seen, -1, NULL);
    if (b) orr_bell_leave(b, ORR_LISTEN_WAITER);
}

/* Looks for a while, on behalf of those that fall asleep meanwhile. True if it took something. */
static bool look_for_all(unsigned *seed)
{
    bool took = false;
    orr_bell_looks_begin();
    for (int i = rand_r(seed) % 20; i > 0 && !took; i--) took = look(NULL);
    orr_bell_looks_end();
    return took;
}

/* Who took the first message of a burst is busy until another took the last. */
static void *listener(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number;
    while (!all_taken()) {
        if (!(rand_r(&seed) % 2 ? look(NULL) : look_for_all(&seed))) {
            pause_for(&seed, 50);
            listen_once();
            continue;
        }
        uint64_t now = taken(own_rank), end = now + now % (uint64_t)burst; /* one or two at a time */
        orr_bell_give_back();
        while (taken(own_rank) < end) sched_yield();
    }
    orr_bell_call(ORR_LISTEN_WAITER); /* the others have nothing to wait for */
    return NULL;
}

/* Takes what comes, as the one that is woken while all others compute. */
static void *attendant(void *unused)
{
    struct orr_bell *b = orr_bells_mine(&ringers);
    while (!all_taken()) {
        orr_bell_attend_begin(b);
        if (!look(NULL) && !all_taken()) orr_bell_attend_sleep(b, -1);
        orr_bell_attend_end(b);
    }
    return unused;
}

static void send(int to, unsigned *seed)
{
    orr_add_seq(&shared->sent[to], 1u);
    orr_bells_ring(&ringers, to, listeners == 0);
    pause_for(seed, 300);
}

/* Each rank sends bursts to the next one for a second, each when the last was taken, and listens with several
 * threads; or, with none, has an attendant. */
static bool hammer(const struct orr_bootstrap *b)
{
    pthread_t threads[LISTENERS_MAX];
    unsigned seed = (unsigned)b->rank;
    own_rank = b->rank;
    int next = (b->rank + 1) % RANKS;
    orr_bells_open(&ringers, b);
    struct orr_bell_watch watch = { .bell = orr_bells_mine(&ringers), .needed = needed, .look = look };
    if (!watch.bell || !orr_bell_hang(&watch)) return false;
    int count = listeners ? listeners : 1;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, listeners ? listener : attendant,
                       (void *)(uintptr_t)(i + b->rank * LISTENERS_MAX));
    uint64_t end_ns = orr_clock_ns() + SECONDS * UINT64_C(1000000000);
    int sent = 0;
    for (; sent < MESSAGES && orr_clock_ns() < end_ns; sent += burst) {
        for (int k = 0; k < burst; k++) send(next, &seed);
        while (taken(next) < (uint64_t)(sent + burst)) sched_yield();
        pause_for(&seed, burst > 1 ? 2000 : 200);
    }
    orr_store_seq(&shared->total[next],
                  (uint64_t)sent); /* one of its threads is told, and tells the others */
    orr_bells_ring(&ringers, next, listeners == 0);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    orr_bell_take_down();
    meet();
    orr_bells_close(&ringers);
    return all_taken();
}

/* ---- nobody is woken for nothing ---- */

static bool is_needed(void *arg)
{
    (void)arg;
    return true;
}

static bool finds_nothing(void *arg)
{
    (void)arg;
    return false;
}

/* One listens, another posts something while a third looks. */
static bool one_looks(const struct orr_bootstrap *b)
{
    struct orr_bell own = { .wanted = 0 };
    struct orr_bell_watch watch = { .bell = &own, .needed = is_needed, .look = finds_nothing };
    uint32_t seen;
    bool moved;
    if (b->rank > 0) return true;
    if (!orr_bell_hang(&watch)) return false;
    orr_bell_looks_begin();
    struct orr_bell *bell = orr_bell_enter(ORR_LISTEN_WAITER, &seen, &moved);
    orr_bell_give_back();
    bool good = bell == &own && !orr_load_seq(&own.wanted);
    orr_bell_looks_end();
    good &= orr_load_seq(&own.wanted) != 0;
    orr_bell_leave(bell, ORR_LISTEN_WAITER);
    orr_bell_take_down();
    return good;
}

/* While all others compute one thread is woken by what needs an answer. */
static bool one_attends(const struct orr_bootstrap *b)
{
    struct orr_bell own = { .wanted = 0 };
    struct orr_bell_watch watch = { .bell = &own, .needed = is_needed, .look = finds_nothing };
    if (b->rank > 0) return true;
    if (!orr_bell_hang(&watch)) return false;
    orr_bell_attend_begin(&own);
    orr_bell_ring(&own, false);
    orr_bell_attend_sleep(&own, 1000); /* not woken */
    bool good = !orr_bell_attend_end(&own);
    orr_bell_attend_begin(&own);
    orr_bell_ring(&own, true);
    orr_bell_attend_sleep(&own, -1);
    good &= orr_bell_attend_end(&own);
    orr_store_seq(&own.wanted, 1u << ORR_LISTEN_WORKER); /* of one that has left */
    orr_bell_attend_begin(&own);
    orr_bell_ring(&own, true);
    good &= orr_bell_attend_end(&own);
    orr_bell_attend_begin(&own);
    orr_bell_call_attendant();
    orr_bell_attend_sleep(&own, -1);
    good &= orr_bell_attend_end(&own);
    orr_bell_take_down();
    orr_bell_call_attendant(); /* nothing happens */
    return good && orr_load_seq(&orr_bell_listeners) == 0;
}

int main(void)
{
    processes_init(RANKS);
    shared = shared_memory(sizeof *shared);
    int before = shared_files();
    is_int(on_all_ranks(all_share), RANKS, "the ranks of a node share memory, and each has its bell there");
    is_int(on_all_ranks(rank_1_refuses), RANKS, "where one takes no part, the others do");
    is_int(on_all_ranks(rank_0_cannot), RANKS, "without room for the memory all do without");
    is_int(on_all_ranks(cannot_talk), RANKS, "and so do ranks that cannot talk");
    is_int(shared_files(), before, "no file is left");
    is_int(on_all_ranks(one_looks), RANKS,
           "who sleeps beside a thread that looks is not rung for until that stops");
    is_int(on_all_ranks(one_attends), RANKS, "an attendant is woken by what needs an answer, not by values");
    for (int round = 0; round < 3; round++) {
        listeners = round == 0 ? 0 : round == 1 ? 1 : LISTENERS_MAX;
        burst = listeners > 1 ? 2 : 1;
        memset(shared->sent, 0, sizeof shared->sent);
        memset(shared->taken, 0, sizeof shared->taken);
        memset(shared->total, 0xff, sizeof shared->total);
        is_int(on_all_ranks(hammer), RANKS,
               "of %d %s of a rank that sleep without a time-out, none misses one of %d messages",
               listeners ? listeners : 1, listeners ? "threads" : "attendants", burst);
    }
    return done_testing();
}
