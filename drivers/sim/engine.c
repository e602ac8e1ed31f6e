/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c: the copies of one direction of a simulated link.
 * Threads: each engine has its own; any adds and looks. Owns: copies under way. Not here: memory.c.
 *
 * A copy is put on the list with the time when it ends, which follows from the copies before it. The engine's
 * thread moves the bytes as late as it can, large ones so that they are there at the end: as the hardware it
 * stands for, it needs nobody's help and keeps no worker from its work. So the destination is not valid a
 * moment too early, and a source that is freed or written meanwhile shows as wrong data. Then the thread goes
 * on with what waited for the copy, since everybody else may compute or sleep. Who looks after the end and
 * finds the bytes not moved yet, moves them: small copies are over before a thread wakes up. */
#include "drivers/sim/engine.h"

#include <string.h>
#include <sys/prctl.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/data/coherency.h"

enum { POISON = 0xdb };
enum { LARGE_BYTES = 1 << 14, WAKE_NS = 20000 }; /* moved ahead of the end; how late a thread may wake */

struct sim_copy {
    struct sim_copy *next;
    uintptr_t src, dst;
    struct orr_box box;
    uint64_t end_ns, number;
    bool fails, moved;
};

void orr_sim_spoil(uintptr_t at, size_t bytes)
{
    memset((void *)at, POISON, bytes);
}

static size_t bytes_of(const struct sim_copy *c)
{
    return c->box.bytes * c->box.rows * c->box.planes;
}

static void move_bytes(const struct sim_copy *c)
{
    const struct orr_box *b = &c->box;
    for (size_t plane = 0; plane < b->planes; plane++)
        for (size_t row = 0; row < b->rows; row++) {
            uintptr_t dst = c->dst + plane * b->dst_plane + row * b->dst_row;
            if (c->fails)
                orr_sim_spoil(dst, b->bytes);
            else
                memcpy((void *)dst, (const void *)(c->src + plane * b->src_plane + row * b->src_row),
                       b->bytes);
        }
}

/* Lets go of the lock meanwhile: who adds a copy does not wait. */
static void move_first_locked(struct sim_engine *e)
{
    struct sim_copy *c = e->first;
    size_t bytes = bytes_of(c);
    e->moving = true;
    pthread_mutex_unlock(&e->lock);
    uint64_t start = orr_clock_ns();
    move_bytes(c);
    double ns = (double)(orr_clock_ns() - start);
    pthread_mutex_lock(&e->lock);
    if (bytes >= LARGE_BYTES) e->ns_per_byte += (ns / (double)bytes - e->ns_per_byte) / 4;
    c->moved = true;
    e->moving = false;
}

/* Ends the copies whose time has come. */
static void run_locked(struct sim_engine *e)
{
    while (e->first && !e->moving && e->first->end_ns <= orr_clock_ns()) {
        struct sim_copy *c = e->first;
        if (!c->moved) move_first_locked(e);
        e->first = c->next;
        orr_store_release(&e->completed, c->number); /* pairs with the load in is_complete */
        orr_free(c);
    }
}

static bool is_complete(struct sim_engine *e, uint64_t number)
{
    return orr_load_acquire(&e->completed) >= number;
}

bool orr_sim_engine_test(struct sim_engine *e, uint64_t number)
{
    if (is_complete(e, number)) return true;
    if (pthread_mutex_trylock(&e->lock) != 0) return false;
    run_locked(e);
    if (e->first) pthread_cond_signal(&e->news); /* the thread may have found it moving */
    pthread_mutex_unlock(&e->lock);
    return is_complete(e, number);
}

/* When there is something to do for the first copy: its bytes are moved, or it ends. */
static uint64_t due_ns(const struct sim_engine *e)
{
    const struct sim_copy *c = e->first;
    size_t bytes = bytes_of(c);
    if (c->moved || bytes < LARGE_BYTES) return c->end_ns;
    uint64_t ahead = (uint64_t)(1.25 * e->ns_per_byte * (double)bytes) + WAKE_NS;
    return c->end_ns > ahead ? c->end_ns - ahead : 0;
}

static void wait_until_locked(struct sim_engine *e, uint64_t ns)
{
    struct timespec until = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
    pthread_cond_timedwait(&e->news, &e->lock, &until);
}

static void *run(void *arg)
{
    struct sim_engine *e = arg;
    orr_thread_is_internal();
    orr_self()->serves = true;
    prctl(PR_SET_TIMERSLACK, 1ul);
    pthread_mutex_lock(&e->lock);
    while (!e->ends) {
        if (!e->first || e->moving) {
            pthread_cond_wait(&e->news, &e->lock);
            continue;
        }
        uint64_t due = due_ns(e), completed = orr_load_relaxed(&e->completed);
        if (due > orr_clock_ns()) {
            wait_until_locked(e, due);
            continue;
        }
        if (!e->first->moved) move_first_locked(e);
        run_locked(e);
        if (orr_load_relaxed(&e->completed) == completed) continue;
        pthread_mutex_unlock(&e->lock);
        orr_transfers_told();
        pthread_mutex_lock(&e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

uint64_t orr_sim_engine_add(struct sim_engine *e, const struct orr_location *src,
                            const struct orr_location *dst, const struct orr_box *box, uint64_t link_ns,
                            uint64_t latency_ns, bool fails)
{
    struct sim_copy *c = orr_malloc(sizeof *c);
    if (!c) return 0;
    *c = (struct sim_copy){
        .src = src->base + src->offset, .dst = dst->base + dst->offset, .box = *box, .fails = fails
    };
    pthread_mutex_lock(&e->lock);
    uint64_t now = orr_clock_ns(), begin = e->free_at_ns > now ? e->free_at_ns : now;
    e->free_at_ns = begin + link_ns;
    c->end_ns = e->free_at_ns + latency_ns;
    uint64_t number = c->number = ++e->started;
    if (e->first)
        e->last->next = c;
    else
        e->first = c;
    e->last = c;
    if (!e->has_thread) e->has_thread = orr_thread_start(&e->thread, run, e, "orr-sim") == 0;
    if (e->first == c) pthread_cond_signal(&e->news);
    pthread_mutex_unlock(&e->lock);
    return number;
}

void orr_sim_engine_init(struct sim_engine *e)
{
    pthread_condattr_t monotonic;
    memset(e, 0, sizeof *e);
    e->ns_per_byte = .1;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void orr_sim_engine_fini(struct sim_engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->ends = true;
    pthread_cond_signal(&e->news);
    pthread_mutex_unlock(&e->lock);
    if (e->has_thread) pthread_join(e->thread, NULL);
    pthread_cond_destroy(&e->news);
    pthread_mutex_destroy(&e->lock);
}
