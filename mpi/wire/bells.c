/* SPDX-License-Identifier: BSD-3-Clause */
/* bells.c: see bells.h.
 * Threads: see bells.h. Owns: the file in shared memory, while ranks find it. Not here: see bells.h.
 *
 * Ranks with the same boot number are likely to be on one node. The first of them makes the memory, the
 * others map it if they can: they need not see the same files, or may be others' processes. Then all know who
 * shares it, and its name goes away. */
#include "mpi/wire/bells.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "mpi/wire/host.h"

/* What ranks tell each other. */
struct offer {
    uint64_t node;  /* equal on ranks of one node; 0: this rank takes no part */
    uint64_t nonce; /* names the memory of the rank that makes it */
};

/* At the head of the memory, to know it by. */
struct head {
    ORR_ALIGNED_LINE _Atomic uint64_t nonce;
};

static struct offer make_offer(void)
{
    struct offer o = { .node = orr_host_number() };
    if (getrandom(&o.nonce, sizeof o.nonce, 0) != sizeof o.nonce) o.node = 0;
    return o;
}

static void name_of(uint64_t nonce, char name[static 32])
{
    snprintf(name, 32, "/orrery-%016llx", (unsigned long long)nonce);
}

static struct head *map(int fd, size_t bytes)
{
    void *p = fd >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    return p == MAP_FAILED ? NULL : p;
}

/* The memory, made or mapped; NULL: it cannot be. */
static struct head *make(uint64_t nonce, size_t bytes)
{
    char name[32];
    name_of(nonce, name);
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes)) { /* a full file system would be a SIGBUS later */
        close(fd);
        shm_unlink(name);
        return NULL;
    }
    struct head *h = map(fd, bytes);
    if (h) orr_store_seq(&h->nonce, nonce);
    if (!h && fd >= 0) shm_unlink(name);
    return h;
}

static struct head *join(uint64_t nonce, size_t bytes)
{
    char name[32];
    struct stat st;
    name_of(nonce, name);
    int fd = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (fd >= 0 && (fstat(fd, &st) || (size_t)st.st_size != bytes)) {
        close(fd);
        return NULL;
    }
    struct head *h = map(fd, bytes);
    if (h && orr_load_seq(&h->nonce) == nonce) return h;
    if (h) munmap(h, bytes);
    return NULL;
}

/* Numbers the ranks of my node; returns the first of them, or -1: I am alone. */
static int find_neighbours(struct orr_bells *bells, const struct offer *offers, const struct orr_bootstrap *b)
{
    int first = -1;
    for (int i = 0; i < b->size; i++) {
        bool with_me = offers[b->rank].node && offers[i].node == offers[b->rank].node;
        bells->places[i] = with_me ? bells->count++ : -1;
        if (with_me && first < 0) first = i;
        if (i == b->rank) bells->mine = bells->places[i];
    }
    return bells->count > 1 ? first : -1;
}

/* Between two calls of all_gather, so that the others find it. Returns the memory, or NULL. */
static struct head *share(struct orr_bells *bells, const struct offer *offers, const struct orr_bootstrap *b,
                          uint8_t *joined)
{
    int first = find_neighbours(bells, offers, b);
    struct head *h = NULL;
    uint8_t have;
    bells->mapped_bytes = sizeof *h + (size_t)bells->count * sizeof(struct orr_bell);
    if (first == b->rank) h = make(offers[first].nonce, bells->mapped_bytes);
    have = h != NULL;
    if (b->all_gather(b, &have, 1, joined)) have = 0;
    if (first >= 0 && first != b->rank && joined[first]) h = join(offers[first].nonce, bells->mapped_bytes);
    have = h != NULL;
    if (b->all_gather(b, &have, 1, joined)) joined[b->rank] = 0;
    if (first == b->rank && h) {
        char name[32];
        name_of(offers[first].nonce, name);
        shm_unlink(name);
    }
    bells->all_ranks = true;
    for (int i = 0; i < b->size; i++) {
        if (!joined[i] || !joined[b->rank]) bells->places[i] = -1;
        bells->all_ranks &= bells->places[i] >= 0;
    }
    return h;
}

static void forget(struct orr_bells *bells)
{
    orr_free(bells->places);
    *bells = (struct orr_bells){ 0 };
}

void orr_bells_open(struct orr_bells *bells, const struct orr_bootstrap *b)
{
    struct offer mine = { 0 }, *offers = orr_malloc((size_t)b->size * sizeof *offers);
    uint8_t *joined = orr_malloc((size_t)b->size);
    struct head *h = NULL;
    *bells = (struct orr_bells){ .places = orr_malloc((size_t)b->size * sizeof *bells->places) };
    int r = b->agree(b, offers && joined && bells->places ? 0 : -ENOMEM);
    if (orr_env_long(ORR_SETTING(ORRERY_MPI_BELLS), 1, 0, 1)) mine = make_offer();
    if (!r && b->all_gather(b, &mine, sizeof mine, offers) == 0) h = share(bells, offers, b, joined);
    orr_free(joined);
    orr_free(offers);
    if (h)
        bells->first = (struct orr_bell *)(h + 1);
    else
        forget(bells);
}

void orr_bells_close(struct orr_bells *bells)
{
    if (bells->first) munmap((struct head *)bells->first - 1, bells->mapped_bytes);
    forget(bells);
}
