/* SPDX-License-Identifier: BSD-3-Clause */
/* record.c: what happens, as the records of a file; an observer.
 * Threads: any that something happens on. Owns: the tape, which kinds are recorded. Not here: the rings
 * (core/base/tape.h), the thread that writes the file (record_file.c).
 *
 * Nothing here waits: a record goes to the ring of its thread, or is lost and counted. All is told where it
 * happens, so the subject may be looked at; what is kept of it are numbers and, once in each ring, its name:
 * names are known by a hash of their characters, as an address may be another name's later on. While nothing
 * is recorded no kind is wanted, and who tells of events pays what he pays without this file.
 *
 * What is not recorded because it follows from the rest: a task that is ready is pushed at once; one is over
 * when its body has ended; which data dependencies a task has follows from the accesses of those submitted
 * before it. That a task is taken is recorded only where its data may have to be brought. That a body began
 * is recorded when it ends; of those that take long the thread that writes tells before (record_file.c). */
#include "core/run/record.h"

#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/base/otrace.h"
#include "core/data/transfer.h"
#include "core/mem/node.h"
#include "core/task/perf.h"
#include "core/task/tag.h"
#include "core/worker/weighed.h"
#include "core/worker/worker.h"

extern struct orr_observer orr_record_observer;

static const uint64_t kinds =
    ORR_EVENT_BIT(TASK_SUBMITTED) | ORR_EVENT_BIT(TASK_READY) | ORR_EVENT_BIT(TASK_LAUNCHED) |
    ORR_EVENT_BIT(TASK_ENDED) | ORR_EVENT_BIT(TASK_GIVEN_UP) | ORR_EVENT_BIT(TASK_FAILED) |
    ORR_EVENT_BIT(TASK_PART_ENDED) | ORR_EVENT_BIT(TASK_DECLARED) | ORR_EVENT_BIT(TAG_BOUND) |
    ORR_EVENT_BIT(TAG_DECLARED) | ORR_EVENT_BIT(TAG_FREED) | ORR_EVENT_BIT(WORKER_IDLE) |
    ORR_EVENT_BIT(WORKER_BUSY) | ORR_EVENT_BIT(WORKER_SLEEPS) | ORR_EVENT_BIT(WORKER_WAKES) |
    ORR_EVENT_BIT(DATA_REGISTERED) | ORR_EVENT_BIT(DATA_UNREGISTERED) | ORR_EVENT_BIT(DATA_ALLOCATED) |
    ORR_EVENT_BIT(DATA_EVICTED) | ORR_EVENT_BIT(TRANSFER_STARTED) | ORR_EVENT_BIT(TRANSFER_ENDED) |
    ORR_EVENT_BIT(MESSAGE_STARTED) | ORR_EVENT_BIT(MESSAGE_SENT) | ORR_EVENT_BIT(MESSAGE_RECEIVED) |
    ORR_EVENT_BIT(USER_NUMBER) | ORR_EVENT_BIT(USER_TEXT) | ORR_EVENT_BIT(ITERATION_STARTED) |
    ORR_EVENT_BIT(ITERATION_ENDED) | ORR_EVENT_BIT(DATA_JOINED) | ORR_EVENT_BIT(MEMORY_USED) |
    ORR_EVENT_BIT(TASK_WEIGHED) | ORR_EVENT_BIT(BOUND_COMPUTED) | ORR_EVENT_BIT(MESSAGE_PASSED);

static struct orr_tape tape;
static struct orr_record_file *file; /* [own: who starts and stops the runtime] NULL: nothing is recorded */
static _Atomic bool running;         /* there is a file */
static _Atomic bool wanted = true;   /* by the program: starpu_fxt_start_profiling and its like */

/* ---- records ---- */

static struct orr_tape_ring *own_ring(void)
{
    bool anew = false;
    struct orr_tape_ring *ring = orr_tape_ring(&tape, &anew);
    if (orr_likely(!anew)) return ring;
    uint64_t *w = orr_tape_room(ring, 2);
    if (!w) return ring;
    w[0] = OTRACE_HEAD(OTRACE_THREAD, 2, orr_ticks());
    w[1] = (uint64_t)orr_self()->number;
    orr_tape_put(ring, 2);
    return ring;
}

static inline void put1(unsigned kind, uint64_t a)
{
    struct orr_tape_ring *ring = own_ring();
    uint64_t *w = orr_likely(ring != NULL) ? orr_tape_room(ring, 2) : NULL;
    if (orr_unlikely(!w)) return;
    w[0] = OTRACE_HEAD(kind, 2, orr_ticks());
    w[1] = a;
    orr_tape_put(ring, 2);
}

static inline void put2(unsigned kind, uint64_t a, uint64_t b)
{
    struct orr_tape_ring *ring = own_ring();
    uint64_t *w = orr_likely(ring != NULL) ? orr_tape_room(ring, 3) : NULL;
    if (orr_unlikely(!w)) return;
    w[0] = OTRACE_HEAD(kind, 3, orr_ticks());
    w[1] = a;
    w[2] = b;
    orr_tape_put(ring, 3);
}

static void put(unsigned kind, const uint64_t *words, unsigned n)
{
    struct orr_tape_ring *ring = own_ring();
    uint64_t *w = ring ? orr_tape_room(ring, n + 1) : NULL;
    if (!w) return;
    w[0] = OTRACE_HEAD(kind, n + 1, orr_ticks());
    memcpy(w + 1, words, n * sizeof *words);
    orr_tape_put(ring, n + 1);
}

/* The hash of a name, which is in this ring from now on. 0: it has none, or there was no room. */
static uint32_t name_put(const char *name)
{
    enum { NAME_WORDS = OTRACE_RECORD_WORDS - 3 };
    size_t bytes = name ? strnlen(name, NAME_WORDS * sizeof(uint64_t)) : 0;
    struct orr_tape_ring *ring = bytes ? own_ring() : NULL;
    if (!ring) return 0;
    uint32_t hash = otrace_name_hash(name, bytes), *known = &ring->names[hash % ORR_TAPE_NAMES];
    if (orr_likely(*known == hash)) return hash;
    unsigned n = 3 + (unsigned)((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    uint64_t *w = orr_tape_room(ring, n);
    if (!w) return 0;
    w[0] = OTRACE_HEAD(OTRACE_NAME, n, orr_ticks());
    w[1] = hash;
    w[2] = bytes;
    w[n - 1] = 0;
    memcpy(w + 3, name, bytes);
    orr_tape_put(ring, n);
    *known = hash;
    return hash;
}

/* ---- tasks ---- */

static uint64_t group_bits(uint64_t group)
{
    static const uint8_t groups[] = { [ORR_GROUP_READ] = OTRACE_READ,
                                      [ORR_GROUP_WRITE] = OTRACE_WRITE,
                                      [ORR_GROUP_COMMUTE] = OTRACE_COMMUTE,
                                      [ORR_GROUP_REDUX] = OTRACE_REDUX,
                                      [ORR_GROUP_REDUCING] = OTRACE_WRITE };
    return group < sizeof groups ? groups[group] : 0;
}

static uint64_t access_word(const struct orr_task *t, const struct orr_access *a)
{
    return (uintptr_t)STARPU_TASK_GET_HANDLE(t->pub, a->index) | group_bits(a->group) |
           (a->flags & ORR_AF_LATE ? OTRACE_LATE : 0);
}

static void submitted(struct orr_task *t)
{
    enum { FIRST = OTRACE_RECORD_WORDS - 3, MORE = OTRACE_RECORD_WORDS - 2 };
    const struct starpu_task *p = t->pub;
    const struct orr_access *a = orr_task_accesses(t);
    unsigned left = t->naccesses, n = left < FIRST ? left : FIRST;
    uint64_t name = name_put(orr_task_name(t));
    uint64_t flags = (t->flags & ORR_TF_INTERNAL ? OTRACE_INTERNAL : 0) |
                     (p->cl && orr_task_where(p) != STARPU_NOWHERE ? 0 : OTRACE_NO_BODY) |
                     (t->flags & ORR_TF_NO_QUEUE ? OTRACE_NO_ORDER : 0) | (left > n ? OTRACE_DIVIDED : 0);
    struct orr_tape_ring *ring = own_ring();
    uint64_t *w = ring ? orr_tape_room(ring, n + 3) : NULL;
    if (!w) return;
    w[0] = OTRACE_HEAD(OTRACE_SUBMITTED, n + 3, orr_ticks());
    w[1] = t->id;
    w[2] = name | (uint64_t)(uint16_t)t->priority << 32 | flags << 48 | (uint64_t)t->sched_ctx << 56;
    for (unsigned i = 0; i < n; i++) w[3 + i] = access_word(t, &a[i]);
    orr_tape_put(ring, n + 3);
    for (left -= n, a += n; orr_unlikely(left > 0); left -= n, a += n) {
        uint64_t more[MORE] = { t->id };
        n = left < MORE - 1 ? left : MORE - 1;
        for (unsigned i = 0; i < n; i++) more[1 + i] = access_word(t, &a[i]);
        put(OTRACE_ACCESSES, more, n + 1);
    }
}

/* A number of ns, in so many bits. */
static uint64_t ns_in(double ns, unsigned bits)
{
    double most = (double)((UINT64_C(1) << bits) - 1);
    return ns > 0 ? (uint64_t)(ns < most ? ns : most) : 0; /* NAN is 0, too */
}

static void launched(const struct orr_task *t, uint64_t worker)
{
    double us = t->pub->predicted;
    if (us > 0)
        put2(OTRACE_STARTED, OTRACE_PAIR(t->id, worker), ns_in(us * 1e3, 48));
    else
        put1(OTRACE_STARTED, OTRACE_PAIR(t->id, worker));
}

/* Its model, and what that knows it by: as good as for nothing where the model is asked or told, too. */
static uint64_t model_word(struct orr_task *t)
{
    uint64_t name = name_put(t->pub->cl->model->symbol);
    return orr_task_model_footprint(t) | name << 32;
}

/* Where the worker was inside the body until now, one record has its beginning, too, and no clock is read. */
static void ended(struct orr_task *t, uint64_t worker, uint64_t ticks)
{
    uint64_t since;
    double us = t->pub->predicted;
    bool has_model = t->pub->cl->model != NULL;
    uint64_t model = has_model ? model_word(t) : 0;
    unsigned n = has_model ? 5 : us > 0 ? 4 : 3;
    if (orr_unlikely(orr_worker_body(&orr_workers[worker], &since) != t->id)) {
        put(OTRACE_ENDED, (uint64_t[]){ OTRACE_PAIR(t->id, worker), ticks, model }, has_model ? 3 : 2);
        return;
    }
    struct orr_tape_ring *ring = own_ring();
    uint64_t *w = orr_likely(ring != NULL) ? orr_tape_room(ring, n) : NULL;
    if (orr_unlikely(!w)) return;
    w[0] = OTRACE_HEAD(OTRACE_RAN, n, since + ticks);
    w[1] = OTRACE_PAIR(t->id, worker);
    w[2] = ticks;
    if (n > 3) w[3] = ns_in(us * 1e3, 48);
    if (n > 4) w[4] = model;
    orr_tape_put(ring, n);
}

static void weighed(const struct orr_task *t, const struct orr_weighed *g)
{
    uint64_t words[1 + 2 * ORR_WEIGHED_MOST];
    unsigned n = 0;
    words[n++] = OTRACE_PAIR(t->id, g->chosen < 0 ? OTRACE_NOBODY : g->chosen);
    for (unsigned i = 0; i < g->count; i++) {
        words[n++] = OTRACE_PAIR(ns_in(g->candidate[i].cost_ns, 48), g->candidate[i].worker);
        words[n++] = ns_in(g->candidate[i].us * 1e3, 32) | ns_in(g->candidate[i].transfer_us * 1e3, 32) << 32;
    }
    put(OTRACE_WEIGHED, words, n);
}

/* What not every task has. */
static void task_seen(struct orr_task *t, const struct orr_seen *e)
{
    switch (e->kind) {
    case ORR_EVENT_TASK_TAKEN: put1(OTRACE_TAKEN, OTRACE_PAIR(t->id, e->a)); break;
    case ORR_EVENT_TASK_LAUNCHED: launched(t, e->a); break;
    case ORR_EVENT_TASK_WEIGHED: weighed(t, (const struct orr_weighed *)(uintptr_t)e->b); break;
    case ORR_EVENT_TASK_GIVEN_UP: put2(OTRACE_GIVEN_UP, OTRACE_PAIR(t->id, e->a), e->b); break;
    case ORR_EVENT_TASK_FAILED: put2(OTRACE_FAILED, t->id, e->a); break;
    case ORR_EVENT_TASK_DECLARED:
        put2(OTRACE_DECLARED, t->id, ((const struct orr_task *)(uintptr_t)e->a)->id);
        break;
    default: break;
    }
}

/* ---- the rest ---- */

static uint64_t copy_target(uint64_t c)
{
    static const uint8_t causes[] = { [ORR_PREFETCH] = OTRACE_PREFETCHED,
                                      [ORR_NEEDED] = OTRACE_ASKED,
                                      [ORR_LOADING] = OTRACE_LOADED,
                                      [ORR_COPY_MAKES_ROOM] = OTRACE_WRITTEN_BACK };
    uint64_t why = c >> ORR_COPY_CAUSE_SHIFT;
    return OTRACE_PAIR(why < sizeof causes ? causes[why] : 0, c & UINT16_MAX);
}

static void data_seen(const struct orr_seen *e)
{
    uint64_t h = (uintptr_t)e->subject;
    char name[64];
    switch (e->kind) {
    case ORR_EVENT_DATA_REGISTERED: put2(OTRACE_REGISTERED, h, OTRACE_PAIR(e->a, e->b)); break;
    case ORR_EVENT_DATA_UNREGISTERED:
        if (!orr_data_name((struct orr_data *)e->subject, name, sizeof name)) name[0] = 0;
        put2(OTRACE_UNREGISTERED, h, name_put(name));
        break;
    case ORR_EVENT_DATA_ALLOCATED: put2(OTRACE_ALLOCATED, h, OTRACE_PAIR(e->a, e->b)); break;
    case ORR_EVENT_DATA_EVICTED: put2(OTRACE_EVICTED, h, OTRACE_PAIR(0, e->b)); break;
    case ORR_EVENT_DATA_JOINED: put2(OTRACE_JOINED, OTRACE_PAIR(e->a, e->c), h | group_bits(e->b)); break;
    case ORR_EVENT_MEMORY_USED: put2(OTRACE_MEMORY, OTRACE_PAIR(e->b, e->a), e->c); break;
    case ORR_EVENT_TRANSFER_STARTED:
        put(OTRACE_COPY_STARTED, (uint64_t[]){ h, OTRACE_PAIR(e->a, e->b), copy_target(e->c) }, 3);
        break;
    case ORR_EVENT_TRANSFER_ENDED:
        put(OTRACE_COPY_ENDED, (uint64_t[]){ h, OTRACE_PAIR(e->a, e->b), OTRACE_PAIR(0, e->c) }, 3);
        break;
    default: break;
    }
}

static void rest_seen(const struct orr_seen *e)
{
    uint64_t subject = (uintptr_t)e->subject;
    switch (e->kind) {
    case ORR_EVENT_TASK_PART_ENDED: put2(OTRACE_PART, OTRACE_PAIR(e->b, e->a), e->c); break;
    case ORR_EVENT_TAG_BOUND:
        put2(OTRACE_TAG_BOUND, subject, ((const struct orr_task *)(uintptr_t)e->a)->id);
        break;
    case ORR_EVENT_TAG_DECLARED: put2(OTRACE_TAG_DECLARED, subject, e->a); break;
    case ORR_EVENT_TAG_FREED: put1(OTRACE_TAG_FREED, subject); break;
    case ORR_EVENT_WORKER_IDLE: put2(OTRACE_IDLE, e->a, e->b); break;
    case ORR_EVENT_WORKER_BUSY: put1(OTRACE_BUSY, e->a); break;
    case ORR_EVENT_WORKER_SLEEPS: put1(OTRACE_SLEEPS, e->a); break;
    case ORR_EVENT_WORKER_WAKES: put1(OTRACE_WAKES, e->a); break;
    case ORR_EVENT_MESSAGE_STARTED:
        put(OTRACE_MESSAGE, (uint64_t[]){ subject, OTRACE_PAIR(e->b, e->a), e->c }, 3);
        break;
    case ORR_EVENT_MESSAGE_SENT:
    case ORR_EVENT_MESSAGE_RECEIVED:
        put(e->kind == ORR_EVENT_MESSAGE_SENT ? OTRACE_SENT : OTRACE_RECEIVED,
            (uint64_t[]){ subject, e->a, (uint32_t)e->b, e->c, e->b >> 32 }, 5);
        break;
    case ORR_EVENT_MESSAGE_PASSED:
        put(OTRACE_PASSED,
            (uint64_t[]){ subject, e->a == ORR_PASSED_DECLINED ? OTRACE_DECLINED : e->a, e->b }, 3);
        break;
    case ORR_EVENT_USER_NUMBER: put1(OTRACE_USER_NUMBER, e->a); break;
    case ORR_EVENT_USER_TEXT: put1(OTRACE_USER_TEXT, name_put(e->subject)); break;
    case ORR_EVENT_BOUND_COMPUTED: put1(OTRACE_BOUND, e->a); break;
    case ORR_EVENT_ITERATION_STARTED: put2(OTRACE_ITERATION, e->a, e->b); break;
    case ORR_EVENT_ITERATION_ENDED: put2(OTRACE_ITERATION_END, e->a, e->b); break;
    default: data_seen(e); break;
    }
}

static void record_see(struct orr_observer *o, const struct orr_seen *e)
{
    static const uint64_t tasks = ORR_EVENT_BIT(TASK_TAKEN) | ORR_EVENT_BIT(TASK_LAUNCHED) |
                                  ORR_EVENT_BIT(TASK_GIVEN_UP) | ORR_EVENT_BIT(TASK_FAILED) |
                                  ORR_EVENT_BIT(TASK_DECLARED) | ORR_EVENT_BIT(TASK_WEIGHED);
    struct orr_task *t = (struct orr_task *)e->subject;
    (void)o;
    /* what each task has comes first: branches that are foreseen, and no table of jumps */
    if (orr_likely(e->kind == ORR_EVENT_TASK_READY))
        put1(OTRACE_READY, e->a);
    else if (orr_likely(e->kind == ORR_EVENT_TASK_ENDED))
        ended(t, e->a, e->b);
    else if (orr_likely(e->kind == ORR_EVENT_TASK_SUBMITTED))
        submitted(t);
    else if (tasks >> e->kind & 1)
        task_seen(t, e);
    else
        rest_seen(e);
}

/* ---- beginning and end ---- */

bool orr_record_is_on(void)
{
    return orr_load_acquire(&running) && orr_load_acquire(&wanted);
}

static void listen(void)
{
    static ORR_MUTEX(recording) lock = PTHREAD_MUTEX_INITIALIZER; /* the last of several has seen all */
    pthread_mutex_lock(&lock);
    uint64_t more = orr_node_count > 1 ? ORR_EVENT_BIT(TASK_TAKEN) : 0;
    orr_observer_want(&orr_record_observer, orr_record_is_on() ? kinds | more : 0);
    pthread_mutex_unlock(&lock);
}

bool orr_record_possible(void)
{
    char *name = orr_load_acquire(&running) ? NULL : orr_record_name();
    bool named = name != NULL;
    orr_free(name);
    return named || orr_load_acquire(&running);
}

void orr_record_switch(bool on)
{
    orr_store_release(&wanted, on);
    listen();
}

static void start(struct orr_observer *o)
{
    (void)o;
    char *name = orr_record_name();
    file = name ? orr_record_file_open(name, &tape) : NULL;
    orr_free(name);
    orr_store_release(&running, file != NULL);
    listen();
}

/* Once the observer is removed nobody is in it. */
static void stop(struct orr_observer *o)
{
    if (!file) return;
    orr_store_release(&running, false);
    listen();
    orr_observer_remove(o);
    orr_record_file_close(file);
    file = NULL;
}

struct orr_observer orr_record_observer = {
    .name = "recording", .see = record_see, .start = start, .stop = stop
};
