/* SPDX-License-Identifier: BSD-3-Clause */
/* near.c: see near.h.
 * Threads: see near.h. Owns: see near.h. Not here: see near.h.
 *
 * Each rank makes memory with one ring for each rank of its node, itself among them, and maps its ring in the
 * memory of each other. A ring has one writer and one reader. It is an array of cells, each of two cache
 * lines that the processor fetches together: a message that fits is in the cell, a longer one beside it. The
 * writer fills a cell and then stores in it in which round of the array that was; the reader looks for that
 * word alone. So a message is one fetch from the other core. How far the reader is it says in a line of its
 * own, which the writer reads only when it believes the ring to be full.
 *
 * The memory has no name: others open it through the file system of processes, and know it by a number that
 * nobody guesses. It is as large as it is used. */
#include "mpi/wire/transports/near.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/sync.h"
#include "core/mem/arena.h"
#include "mpi/wire/host.h"

enum {
    CELLS = 128,
    SIDE_BYTES = 8 * ORR_NEAR_MAX, /* for messages that do not fit into their cells */
    KEPT_CELLS = 16,               /* for notes; */
    URGENT_CELLS = 16,             /* for what is urgent, */
    URGENT_BYTES = 2 * ORR_NEAR_MAX,
    TAKEN_PER_POLL = 16, /* of each rank */
    LOOK_CELLS = 32,     /* a reader looks so often whether its writer waits: who waits has left more there */
    LOOK_BYTES = ORR_NEAR_MAX,
    PAGE = 4096
};
/* For all arenas: a quarter of the addresses that a process has. */
static const size_t ADDRESSES = (size_t)1 << (sizeof(size_t) > 4 ? 45 : 30);

struct cell {
    _Alignas(2 * ORR_CACHE_LINE) _Atomic uint32_t round; /* [atomic: publishes the rest] */
    uint32_t kind;
    uint32_t count; /* bytes */
    uint32_t at;    /* of a longer one: where it is beside the cells, ever counted on */
    char inside[ORR_NEAR_NOTE_MAX];
};
_Static_assert(sizeof(struct cell) == 2 * ORR_CACHE_LINE, "and the writer's next cell is another pair");

struct ring {
    _Alignas(PAGE) _Atomic uint32_t taken; /* cells that the reader is through with, ever [atomic] */
    _Atomic uint32_t freed;                /* how far it is with the bytes beside them [atomic] */
    _Atomic uint32_t wanted; /* the writer waits for room, and may be asleep [atomic: pairs with has_room] */
    struct cell cells[CELLS];
    char side[SIDE_BYTES];
};

/* At the head of a rank's memory, to know it by; the rings come behind. */
struct head {
    _Alignas(PAGE) uint64_t secret;
};

/* What this rank knows of another one. */
struct neighbour {
    struct ring *out, *in;  /* in: NULL: it is none after all */
    uint32_t put, side_put; /* written there, ever */
    uint32_t taken, freed;  /* what its words in out said last */
    uint32_t reserved;      /* messages to come */
    uint32_t got;           /* read from there, ever */
    int32_t rank;
    pid_t pid;
    struct orr_mapping arena; /* where this rank sees that one's; not there: it has none, or it is not seen */
    uint64_t arena_at;        /* where it is there */
    bool reads_me, sees_me, changes_me;
    bool looks; /* it is time to look whether it waits for room */
};

struct orr_near {
    int32_t *places; /* by rank: which neighbour it is; -1: none [const] */
    struct head *memory;
    size_t memory_bytes;
    int count; /* this rank among them */
    bool all, fetches;
    struct neighbour neighbours[];
};

/* ---- opening ---- */

/* What ranks tell each other. */
struct offer {
    uint64_t secret; /* 0: this rank has no memory to share */
    uint64_t secret_at;
    uint64_t arena_at, arena_bytes; /* 0: it has none */
    int32_t pid, fd, arena_fd;
};

/* What a rank can do with the memory of all its neighbours. */
enum { MAPS = 1, READS = 2, SEES = 4, CHANGES = 8 };

/* Numbers the ranks that are on the node of rank b->rank, in groups of so many, and returns how many are in
 * its group. */
static int find_neighbours(const struct orr_bootstrap *b, const uint64_t *hosts, int most, int32_t *places)
{
    int before = 0, count = 0, group;
    for (int i = 0; i < b->rank; i++) before += hosts[i] == hosts[b->rank];
    group = before / most;
    before = 0;
    for (int i = 0; i < b->size; i++) {
        bool here = hosts[b->rank] && hosts[i] == hosts[b->rank];
        places[i] = here && before / most == group ? count++ : -1;
        before += here;
    }
    return count;
}

static size_t bytes_for(int count)
{
    return sizeof(struct head) + (size_t)count * sizeof(struct ring);
}

/* This rank's memory, and what others need to find it. */
static void make(struct orr_near *n, struct offer *mine)
{
    uint64_t secret;
    void *p = MAP_FAILED;
    *mine = (struct offer){ .fd = memfd_create("orrery", MFD_CLOEXEC) };
    if (mine->fd < 0) return;
    if (getrandom(&secret, sizeof secret, 0) == sizeof secret && secret &&
        orr_file_may_grow(n->memory_bytes) && ftruncate(mine->fd, (off_t)n->memory_bytes) == 0)
        p = mmap(NULL, n->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mine->fd, 0);
    if (p == MAP_FAILED) return;
    n->memory = p;
    n->memory->secret = secret;
    mine->secret = secret;
    mine->secret_at = (uintptr_t)&n->memory->secret;
    mine->pid = getpid();
    const struct orr_arena *a = orr_arena_open(ADDRESSES / (size_t)n->count);
    if (!a) return;
    mine->arena_at = (uintptr_t)a->base;
    mine->arena_bytes = a->bytes;
    mine->arena_fd = a->fd;
}

static int open_theirs(const struct offer *o, int fd, int how)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)o->pid, fd);
    return open(name, how | O_CLOEXEC);
}

/* This rank's ring in that one's memory; NULL: it cannot be had. */
static struct ring *map_ring(const struct offer *o, int place)
{
    uint64_t secret = 0;
    off_t at = (off_t)bytes_for(place);
    void *p = MAP_FAILED;
    int fd = open_theirs(o, o->fd, O_RDWR);
    if (fd < 0) return NULL;
    if (pread(fd, &secret, sizeof secret, 0) == sizeof secret && secret == o->secret)
        p = mmap(NULL, sizeof(struct ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

/* Has to's arena mapped, if there is one; it is known to be that process. */
static bool map_arena(struct neighbour *to, const struct offer *o, bool in_place)
{
    if (!o->arena_bytes) return true;
    int fd = open_theirs(o, o->arena_fd, in_place ? O_RDWR : O_RDONLY);
    struct stat st;
    bool is_mapped =
        fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size == o->arena_bytes &&
        orr_mapping_make(&to->arena, fd, o->arena_bytes, in_place ? PROT_READ | PROT_WRITE : PROT_READ);
    if (fd >= 0) close(fd);
    to->arena_at = o->arena_at;
    return is_mapped;
}

static bool can_read(const struct offer *o)
{
    uint64_t secret = 0;
    struct iovec here = { &secret, sizeof secret },
                 there = { (void *)(uintptr_t)o->secret_at, sizeof secret };
    return process_vm_readv(o->pid, &here, 1, &there, 1, 0) == sizeof secret && secret == o->secret;
}

static void unmap_arenas(struct orr_near *n)
{
    for (int i = 0; i < n->count; i++) orr_mapping_end(&n->neighbours[i].arena);
}

/* Has all arenas mapped, or none; they may be of an earlier start, with other neighbours. */
static bool map_arenas(struct orr_near *n, const struct offer *offers, bool in_place)
{
    uint64_t left = ADDRESSES;
    for (int i = 0; i < n->count; i++) {
        const struct offer *o = &offers[n->neighbours[i].rank];
        bool fits = o->arena_bytes <= left;
        left -= fits ? o->arena_bytes : 0;
        if (fits && map_arena(&n->neighbours[i], o, in_place)) continue;
        unmap_arenas(n);
        return false;
    }
    return true;
}

/* Returns what this rank can do. */
static uint8_t join(struct orr_near *n, const struct orr_bootstrap *b, const struct offer *offers)
{
    uint8_t can = MAPS | READS;
    int own = n->places[b->rank];
    for (int i = 0; i < b->size; i++) {
        if (n->places[i] < 0) continue;
        struct neighbour *to = &n->neighbours[n->places[i]];
        to->rank = i;
        to->pid = offers[i].pid;
        if (!n->memory) return 0;
        if (!offers[i].secret) continue; /* it says so of itself, too */
        to->in = (struct ring *)(n->memory + 1) + n->places[i];
        to->out = map_ring(&offers[i], own);
        if (!to->out) return 0;
        if (!can_read(&offers[i])) can &= ~READS;
    }
    if (map_arenas(n, offers, b->in_place)) can |= SEES | (b->in_place ? CHANGES : 0);
    return can;
}

/* Leaves out those who cannot; returns whether anybody is left. */
static bool settle(struct orr_near *n, const struct orr_bootstrap *b, const uint8_t *can)
{
    n->all = true;
    n->fetches = can[b->rank] & (READS | SEES);
    int left = 0;
    for (int i = 0; i < b->size; i++) {
        if (n->places[i] >= 0 && can[b->rank] & MAPS && can[i] & MAPS) {
            n->neighbours[n->places[i]].reads_me = can[i] & READS;
            n->neighbours[n->places[i]].sees_me = can[i] & SEES;
            n->neighbours[n->places[i]].changes_me = can[i] & CHANGES;
            left++;
        } else {
            if (n->places[i] >= 0) n->neighbours[n->places[i]].in = NULL;
            n->places[i] = -1;
            n->all = false;
        }
    }
    return left > 1;
}

static bool share(struct orr_near *n, const struct orr_bootstrap *b, struct offer *offers, uint8_t *can)
{
    struct offer mine = { .fd = -1 };
    uint8_t own = 0;
    n->memory_bytes = bytes_for(n->count);
    if (n->count > 1) make(n, &mine);
    if (b->all_gather(b, &mine, sizeof mine, offers) == 0 && n->count > 1) own = join(n, b, offers);
    bool all_told = b->all_gather(b, &own, sizeof own, can) == 0; /* and all have opened what they could */
    if (mine.fd >= 0) close(mine.fd);
    return all_told && settle(n, b, can);
}

struct orr_near *orr_near_open(const struct orr_bootstrap *b)
{
    size_t size = (size_t)b->size;
    int most = (int)orr_env_long(ORR_SETTING(ORRERY_MPI_NEAR), INT_MAX, 0, INT_MAX);
    uint64_t host = most > 1 ? orr_host_number() : 0, *hosts = orr_malloc(size * sizeof *hosts);
    int32_t *places = orr_malloc(size * sizeof *places);
    struct offer *offers = orr_malloc(size * sizeof *offers);
    uint8_t *can = orr_malloc(size);
    struct orr_near *n = NULL;
    int count = 0, r = b->agree(b, hosts && places && offers && can ? 0 : -ENOMEM);
    most = b->agree(b, most > 1 ? most : INT_MAX); /* the smallest groups that anybody wants who takes part */
    if (!r) r = b->all_gather(b, &host, sizeof host, hosts);
    if (!r) {
        count = find_neighbours(b, hosts, most > 0 ? most : 1, places);
        n = orr_calloc(1, sizeof *n + (size_t)count * sizeof n->neighbours[0]);
    }
    r = b->agree(b, n ? 0 : -ENOMEM);
    if (n) n->places = places, n->count = count;
    bool shared = !r && share(n, b, offers, can);
    orr_free(hosts);
    orr_free(offers);
    orr_free(can);
    if (!n) orr_free(places);
    if (shared) return n;
    orr_near_close(n);
    return NULL;
}

void orr_near_close(struct orr_near *n)
{
    if (!n) return;
    for (int i = 0; i < n->count; i++) {
        struct neighbour *of = &n->neighbours[i];
        if (of->out) munmap(of->out, sizeof(struct ring));
    }
    unmap_arenas(n);
    if (n->memory) munmap(n->memory, n->memory_bytes);
    orr_free(n->places);
    orr_free(n);
}

/* ---- who is near ---- */

bool orr_near_reaches(const struct orr_near *n, int rank)
{
    return n && n->places[rank] >= 0;
}

bool orr_near_reaches_all(const struct orr_near *n)
{
    return n && n->all;
}

bool orr_near_rank_reads(const struct orr_near *n, int rank)
{
    return orr_near_reaches(n, rank) && n->neighbours[n->places[rank]].reads_me;
}

bool orr_near_rank_sees(const struct orr_near *n, int rank)
{
    return orr_near_reaches(n, rank) && n->neighbours[n->places[rank]].sees_me;
}

bool orr_near_rank_changes(const struct orr_near *n, int rank)
{
    return orr_near_reaches(n, rank) && n->neighbours[n->places[rank]].changes_me;
}

bool orr_near_rank_fetches(const struct orr_near *n, int rank)
{
    return orr_near_rank_reads(n, rank) || orr_near_rank_sees(n, rank);
}

bool orr_near_fetches_from(const struct orr_near *n, int rank)
{
    return orr_near_reaches(n, rank) && n->fetches;
}

char *orr_near_view(struct orr_near *n, int rank, uint64_t at, uint64_t bytes)
{
    struct neighbour *of = &n->neighbours[n->places[rank]];
    uint64_t offset = at - of->arena_at;
    if (bytes > of->arena.bytes || offset > of->arena.bytes - bytes) return NULL;
    return orr_mapping_reach(&of->arena, offset + bytes) ? of->arena.base + offset : NULL;
}

pid_t orr_near_process(const struct orr_near *n, int rank)
{
    return n->neighbours[n->places[rank]].pid;
}

/* ---- writing ---- */

/* Whether so many cells and bytes are free; a message may leave some bytes at the end of the ring unused. */
static bool fits(const struct neighbour *to, uint32_t cells, uint32_t bytes)
{
    return CELLS - (to->put - to->taken) >= cells && SIDE_BYTES - (to->side_put - to->freed) >= bytes;
}

static bool fits_now(struct neighbour *to, uint32_t cells, uint32_t bytes)
{
    to->taken = orr_load_acquire(&to->out->taken); /* pairs with take_one: it has read them */
    to->freed = orr_load_acquire(&to->out->freed);
    return fits(to, cells, bytes);
}

/* The same; if not, the reader tells when there is room. */
static bool has_room(struct neighbour *to, uint32_t cells, uint32_t bytes)
{
    if (orr_likely(fits(to, cells, bytes)) || fits_now(to, cells, bytes)) return true;
    orr_store_relaxed(&to->out->wanted, 1u);
    orr_fence(); /* before the last look: pairs with is_wanted */
    return fits_now(to, cells, bytes);
}

bool orr_near_reserve(struct orr_near *n, int rank, bool urgent)
{
    struct neighbour *to = &n->neighbours[n->places[rank]];
    uint32_t messages = to->reserved + 1;
    if (!has_room(to, messages + KEPT_CELLS + (urgent ? 0 : URGENT_CELLS),
                  (messages + 1) * ORR_NEAR_MAX + (urgent ? 0 : URGENT_BYTES)))
        return false;
    to->reserved++;
    return true;
}

void orr_near_release(struct orr_near *n, int rank)
{
    n->neighbours[n->places[rank]].reserved--;
}

/* The end of so many bytes beside the cells that begin at a place, each ever counted on. */
static uint32_t side_end(uint32_t at, size_t count)
{
    return at + (uint32_t)((count + ORR_CACHE_LINE - 1) / ORR_CACHE_LINE * ORR_CACHE_LINE);
}

static void write_cell(struct neighbour *to, unsigned kind, const void *bytes, size_t count)
{
    struct cell *c = &to->out->cells[to->put % CELLS];
    char *at = c->inside;
    c->kind = kind;
    c->count = (uint32_t)count;
    if (count > sizeof c->inside) {
        uint32_t start = to->side_put;
        if (side_end(start % SIDE_BYTES, count) > SIDE_BYTES) start += SIDE_BYTES - start % SIDE_BYTES;
        c->at = start;
        at = to->out->side + start % SIDE_BYTES;
        to->side_put = side_end(start, count);
    }
    memcpy(at, bytes, count);
    orr_store_release(&c->round, to->put / CELLS + 1); /* pairs with orr_near_poll */
    to->put++;
}

void orr_near_put(struct orr_near *n, int rank, unsigned kind, const void *bytes, size_t count)
{
    struct neighbour *to = &n->neighbours[n->places[rank]];
    assert(to->reserved > 0 && count <= ORR_NEAR_MAX);
    to->reserved--;
    write_cell(to, kind, bytes, count);
}

bool orr_near_note(struct orr_near *n, int rank, unsigned kind, const void *bytes, size_t count)
{
    struct neighbour *to = &n->neighbours[n->places[rank]];
    assert(count <= ORR_NEAR_NOTE_MAX);
    if (!has_room(to, to->reserved + 1, 0)) return false;
    write_cell(to, kind, bytes, count);
    return true;
}

/* ---- reading ---- */

/* The next of that rank; false: there is none, or it is not taken now. */
static bool take_one(struct neighbour *from, orr_near_take_fn take, void *arg)
{
    struct ring *r = from->in;
    struct cell *c = &r->cells[from->got % CELLS];
    if (orr_load_acquire(&c->round) != from->got / CELLS + 1) return false; /* pairs with write_cell */
    bool is_long = c->count > sizeof c->inside;
    const char *at = is_long ? r->side + c->at % SIDE_BYTES : c->inside;
    if (!take(arg, from->rank, c->kind, at, c->count)) return false;
    from->got++;
    if (is_long) {
        uint32_t freed = side_end(c->at, c->count);
        from->looks |= freed / LOOK_BYTES != orr_load_relaxed(&r->freed) / LOOK_BYTES;
        orr_store_release(&r->freed, freed);
    }
    from->looks |= from->got % LOOK_CELLS == 0;
    orr_store_release(&r->taken, from->got);
    return true;
}

/* Whether its writer waits for the room that there is now. */
static bool is_wanted(struct neighbour *from)
{
    from->looks = false;
    orr_fence(); /* after what was taken was said: pairs with has_room */
    if (orr_likely(!orr_load_relaxed(&from->in->wanted))) return false;
    orr_store_relaxed(&from->in->wanted, 0u);
    return true;
}

bool orr_near_poll(struct orr_near *n, orr_near_take_fn take, void *arg, orr_near_room_fn room)
{
    bool any = false;
    for (int i = 0; i < n->count; i++) {
        struct neighbour *from = &n->neighbours[i];
        int taken = 0;
        while (from->in && taken < TAKEN_PER_POLL && take_one(from, take, arg)) taken++;
        any |= taken > 0;
        if (orr_unlikely(from->looks) && is_wanted(from)) room(arg, from->rank);
    }
    return any;
}
