/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.c: see stream.h.
 * Threads: see stream.h. Owns: see stream.h. Not here: who ends the job
 * (guard.c).
 *
 * The hash at an insertion stands for all before it, so the first difference of two ranks is found by asking
 * for hashes at a few hundred places, and again between the last equal and the first different one. Questions
 * are answered by the other rank's guard, because whoever receives them must not call the engine. While a log
 * is read it is stopped, and what the inserting thread may be writing at that moment is not looked at. */
#include "mpi/live/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "mpi/wire/coll.h"

enum { SLACK = 64, ANSWER_MS = 1000, RANKS_COMPARED = 64 };

/* Of an insertion, for the rank that asks: */
enum says { SAYS_CONCERNS = 1, SAYS_OCCURS = 2 }; /* it has a part in it; what it has there is here later */

static struct orr_streams *streams_of(const struct orr_comm *c)
{
    return c->cluster->streams;
}

/* ---- the log ---- */

uint32_t orr_stream_fold_tag(int64_t tag)
{
    if (tag >= 0 && tag < 0x80000000) return (uint32_t)tag;
    if (tag == -1) return ORR_STREAM_NO_TAG;
    uint64_t h = (uint64_t)tag * 0x9e3779b97f4a7c15u;
    uint32_t fold = (uint32_t)(h >> 32) | 0x80000000u;
    return fold == ORR_STREAM_NO_TAG ? fold - 1 : fold;
}

static void free_stream(struct orr_stream *s)
{
    for (uint32_t i = 1; i < orr_load_relaxed(&s->nnames); i++) orr_free((void *)s->names[i].text);
    orr_free(s->codelets);
    orr_free(s->names);
    orr_free(s->log);
    orr_free(s);
}

struct orr_stream *orr_stream_create(struct orr_comm *c)
{
    struct orr_streams *all = streams_of(c);
    struct orr_stream *s = orr_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->log = orr_malloc_aligned(64, ORR_STREAM_LOG * sizeof *s->log);
    s->names = orr_calloc(ORR_STREAM_NAMES, sizeof *s->names);
    s->codelets = orr_calloc(ORR_STREAM_NAMES, sizeof *s->codelets);
    if (!s->log || !s->names || !s->codelets) {
        free_stream(s);
        return NULL;
    }
    s->names[0].text = "(one of very many)";
    orr_store_relaxed(&s->nnames, 1u);
    s->step = 1;
    s->owner = orr_self();
    s->context = c->context;
    s->comm = c;
    pthread_mutex_lock(&all->lock);
    struct orr_stream *old = orr_load_relaxed(&c->stream);
    if (!old) {
        s->next = all->list;
        all->list = s;
        orr_store_release(&c->stream, s); /* pairs with orr_stream_note */
    }
    pthread_mutex_unlock(&all->lock);
    if (!old) return s;
    free_stream(s);
    return old;
}

void orr_stream_drop(struct orr_comm *c)
{
    struct orr_streams *all = streams_of(c);
    struct orr_stream *s = orr_load_acquire(&c->stream);
    if (!s) return;
    pthread_mutex_lock(&all->lock);
    struct orr_stream **p = &all->list;
    while (*p != s) p = &(*p)->next;
    *p = s->next;
    pthread_mutex_unlock(&all->lock);
    orr_store_relaxed(&c->stream, NULL);
    free_stream(s);
}

void orr_streams_fini(struct orr_streams *all)
{
    for (struct orr_stream *s = all->list, *next; s; s = next) {
        next = s->next;
        free_stream(s);
    }
    all->list = NULL;
}

static uint64_t hash_of(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = name; *p; p++) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return h * 0xa0761d6478bd642fu;
}

/* Adds a name, which cl has. False: there are too many, or no memory. */
static bool add_name(struct orr_stream *s, uint32_t k, const char *name, const struct starpu_codelet *cl)
{
    size_t bytes = strlen(name) + 1;
    char *copy = k < ORR_STREAM_NAMES ? orr_malloc(bytes) : NULL;
    if (!copy) return false;
    memcpy(copy, name, bytes);
    uint64_t hash = hash_of(name);
    s->names[k] = (struct orr_stream_name){
        .text = copy, .hash = hash, .index = k, .codelet = (uint32_t)(uintptr_t)cl
    };
    s->codelets[k].first = (struct orr_stream_first){ hash, orr_load_relaxed(&s->count), s->rolling };
    orr_store_relaxed(&s->codelets[k].cl, cl);
    if (cl) memcpy(s->codelets[k].cpu_funcs, cl->cpu_funcs, sizeof cl->cpu_funcs);
    orr_store_release(&s->nnames, k + 1); /* pairs with orr_stream_codelet_... */
    return true;
}

/* Finds the text, or adds it. What several codelets are called is no name for one. */
const struct orr_stream_name *orr_stream_name_slow(struct orr_stream *s, const char *name,
                                                   const struct starpu_codelet *cl)
{
    uint32_t k = 1, n = orr_load_relaxed(&s->nnames);
    while (k < n && strcmp(s->names[k].text, name)) k++;
    if (k == n && !add_name(s, k, name, cl)) return &s->names[0];
    if (s->names[k].codelet != (uint32_t)(uintptr_t)cl) {
        s->names[k].codelet = 0;
        orr_store_relaxed(&s->codelets[k].cl, NULL);
    }
    struct orr_stream_name *cached = &s->cache[orr_stream_slot(name)];
    *cached = s->names[k];
    cached->pointer = name;
    return cached;
}

/* Whether places of c's stream mean the same on all ranks, as far as this one knows. */
static const struct orr_stream *ordered_stream(const struct orr_comm *c)
{
    const struct orr_stream *s = orr_load_acquire(&c->stream);
    return s && !(orr_load_relaxed(&s->off) & (ORR_STREAM_MIXED | ORR_STREAM_LOST)) ? s : NULL;
}

/* Whether that is cl, and not what was in its memory before. */
static bool is_still(const struct orr_stream_codelet *it, const struct starpu_codelet *cl)
{
    return orr_load_relaxed(&it->cl) == cl && !memcmp(it->cpu_funcs, cl->cpu_funcs, sizeof cl->cpu_funcs);
}

bool orr_stream_codelet_first(const struct orr_comm *c, const struct starpu_codelet *cl,
                              struct orr_stream_first *first_out)
{
    const struct orr_stream *s = ordered_stream(c);
    uint32_t k = 1, n = s ? orr_load_acquire(&s->nnames) : 0;
    while (k < n && !is_still(&s->codelets[k], cl)) k++;
    if (k >= n) return false;
    *first_out = s->codelets[k].first;
    return true;
}

starpu_cpu_func_t orr_stream_codelet_find(const struct orr_comm *c, const struct orr_stream_first *first,
                                          unsigned nimpl, const char **name_out)
{
    const struct orr_stream *s = ordered_stream(c);
    uint32_t n = s ? orr_load_acquire(&s->nnames) : 0;
    for (uint32_t k = 1; k < n; k++) {
        const struct orr_stream_codelet *it = &s->codelets[k];
        if (it->first.name != first->name || it->first.position != first->position ||
            it->first.rolling != first->rolling || !orr_load_relaxed(&it->cl))
            continue;
        *name_out = s->names[k].text;
        return nimpl < STARPU_MAXIMPLEMENTATIONS ? it->cpu_funcs[nimpl] : NULL;
    }
    return NULL;
}

void orr_stream_lose(struct orr_stream *s)
{
    atomic_fetch_or_explicit(&s->off, ORR_STREAM_LOST, memory_order_relaxed);
}

void orr_stream_mixed(struct orr_stream *s)
{
    atomic_fetch_or_explicit(&s->off, ORR_STREAM_MIXED, memory_order_relaxed);
}

/* ---- iterations ---- */

static uint64_t mixed(uint64_t rolling, uint64_t hash)
{
    return ((rolling << 5 | rolling >> 59) ^ hash) * ORR_STREAM_MIX;
}

/* The hash of one insertion, from those of the stream after and before it. */
static uint64_t unmixed(uint64_t after, uint64_t before)
{
    uint64_t inverse = ORR_STREAM_MIX;
    for (int i = 0; i < 5; i++) inverse *= 2 - ORR_STREAM_MIX * inverse; /* Newton, modulo 2^64 */
    return after * inverse ^ (before << 5 | before >> 59);
}

/* The log of c, if the calling thread writes it; NULL: not. */
static struct orr_stream *own_stream(struct orr_comm *c)
{
    struct orr_stream *s = orr_load_acquire(&c->stream);
    if (!s) s = orr_stream_create(c);
    return s && s->owner == orr_self() ? s : NULL;
}

void orr_stream_iteration_begin(struct orr_comm *c)
{
    struct orr_stream *s = own_stream(c);
    if (!s) return;
    s->before = s->rolling;
    s->rolling = 0;
    s->step = 0;
}

/* It concerns all ranks (xrank -1), however each of them came by it. */
static void note_iteration(struct orr_comm *c, struct orr_stream *s, int id, uint64_t hash)
{
    static const struct starpu_codelet iteration = { .name = "iteration" };
    const struct orr_stream_insertion in = { .cl = &iteration, .xrank = -1, .priority = id };
    s->rolling ^= hash >> 5 | hash << 59;
    orr_stream_note(c, &in);
}

uint64_t orr_stream_iteration_end(struct orr_comm *c, int id)
{
    struct orr_stream *s = own_stream(c);
    if (!s) return 0;
    uint64_t hash = s->rolling;
    s->rolling = s->before;
    s->step = 1;
    note_iteration(c, s, id, hash);
    return hash;
}

void orr_stream_iteration_replayed(struct orr_comm *c, int id, uint64_t hash)
{
    struct orr_stream *s = own_stream(c);
    if (s) note_iteration(c, s, id, hash);
}

void orr_stream_iteration_marked(struct orr_comm *c)
{
    static const struct starpu_codelet mark = { .name = "starpu_iteration_push" };
    const struct orr_stream_insertion in = { .cl = &mark, .xrank = -1 };
    if (own_stream(c)) orr_stream_note(c, &in);
}

void orr_stream_last(const struct orr_comm *c, struct orr_stream_entry *entry_out)
{
    const struct orr_stream *s = orr_load_acquire(&c->stream);
    uint64_t n = s ? orr_load_relaxed(&s->count) : 0;
    if (!n) return;
    *entry_out = s->log[(n - 1) % ORR_STREAM_LOG];
    entry_out->rolling = unmixed(entry_out->rolling, n > 1 ? s->log[(n - 2) % ORR_STREAM_LOG].rolling : 0);
}

bool orr_stream_is_own(const struct orr_comm *c)
{
    const struct orr_stream *s = orr_load_acquire(&c->stream);
    return !s || (s->owner == orr_self() && !(orr_load_relaxed(&s->off) & ORR_STREAM_MIXED));
}

uint64_t orr_stream_iteration_last(struct orr_comm *c, uint64_t before, uint64_t hash)
{
    return mixed(hash, unmixed(orr_stream_rolling(c), before));
}

/* With its lock. */
static struct orr_stream *stream_of(struct orr_streams *all, uint32_t context)
{
    struct orr_stream *s = all->list;
    while (s && s->context != context) s = s->next;
    return s;
}

/* Stops the log; how many insertions, and the oldest that can be read. */
static uint64_t freeze(struct orr_stream *s, uint64_t *oldest_out)
{
    *oldest_out = 0;
    if (!s) return 0;
    atomic_fetch_or_explicit(&s->off, ORR_STREAM_FROZEN, memory_order_seq_cst);
    uint64_t count = orr_load_acquire(&s->count);
    if (count > ORR_STREAM_LOG - SLACK) *oldest_out = count - (ORR_STREAM_LOG - SLACK);
    return count;
}

static void thaw(struct orr_stream *s)
{
    if (s) atomic_fetch_and_explicit(&s->off, ~(uint32_t)ORR_STREAM_FROZEN, memory_order_relaxed);
}

/* ---- describing an insertion ---- */

static void print_tag(const struct orr_stream_data *data, char *text, size_t bytes, uint32_t fold)
{
    int64_t tag = fold;
    if (fold == ORR_STREAM_NO_TAG)
        snprintf(text, bytes, "without tag");
    else if (fold < 0x80000000u || data->find_tag(data->arg, fold, &tag))
        snprintf(text, bytes, "tag %lld", (long long)tag);
    else
        snprintf(text, bytes, "a tag over 2^31");
}

static const char *mode_text(uint32_t mode)
{
    if (mode & STARPU_SCRATCH) return "SCRATCH";
    if (mode & STARPU_REDUX) return "REDUX";
    if (mode & STARPU_MPI_REDUX) return "MPI_REDUX";
    if (mode & STARPU_COMMUTE) return mode & STARPU_R ? "RW|COMMUTE" : "W|COMMUTE";
    static const char *const plain[] = { "no access", "R", "W", "RW" };
    return plain[mode & STARPU_RW];
}

static const char piece_of[] = "piece with ";

/* Insertion k of s as text: "task gemm (RW tag 1, R tag 2), priority 3 to run on rank 0 [file.c:12]". */
static void describe(const struct orr_stream *s, uint64_t k, char *text, size_t bytes)
{
    if (!s || k >= orr_load_acquire(&s->count)) {
        snprintf(text, bytes, "nothing more");
        return;
    }
    const struct orr_stream_entry *e = &s->log[k % ORR_STREAM_LOG];
    const char *name = s->names[e->name].text;
    size_t used = (size_t)snprintf(text, bytes, "task %.100s (", *name ? name : "without name");
    for (int i = 0; i < e->count && i < ORR_STREAM_SHOWN && used < bytes; i++) {
        char tag[32];
        print_tag(&streams_of(s->comm)->data, tag, sizeof tag, (uint32_t)(e->data[i] >> 32));
        used += (size_t)snprintf(text + used, bytes - used, "%s%s %s%s", i ? ", " : "",
                                 mode_text((uint32_t)e->data[i]),
                                 e->data[i] & ORR_STREAM_PIECE ? piece_of : "", tag);
    }
    if (used < bytes && e->count > ORR_STREAM_SHOWN)
        used += (size_t)snprintf(text + used, bytes - used, ", ...");
    if (used < bytes) used += (size_t)snprintf(text + used, bytes - used, ")");
    if (used < bytes && e->priority)
        used += (size_t)snprintf(text + used, bytes - used, ", priority %d", e->priority);
    if (used < bytes && e->xrank >= 0)
        used += (size_t)snprintf(text + used, bytes - used, " to run on rank %d", e->xrank);
    if (used < bytes && e->file) snprintf(text + used, bytes - used, " [%s:%u]", e->file, e->line);
}

/* ---- whose an insertion is ---- */

/* Whether rank peer of the transport is known to have a part in insertion k: it runs the task, contributes,
 * or owns data that are still registered. */
static bool concerns(const struct orr_stream *s, uint64_t k, int peer)
{
    if (!s || k >= orr_load_acquire(&s->count)) return false;
    const struct orr_stream_entry *e = &s->log[k % ORR_STREAM_LOG];
    const struct orr_stream_data *data = &streams_of(s->comm)->data;
    if (e->xrank < 0 || orr_comm_peer(s->comm, e->xrank) == peer) return true;
    for (int i = 0; i < e->count && i < ORR_STREAM_SHOWN; i++) {
        uint32_t fold = (uint32_t)(e->data[i] >> 32);
        if (e->data[i] & (STARPU_REDUX | STARPU_MPI_REDUX)) return true;
        if (fold != ORR_STREAM_NO_TAG && data->owns(data->arg, fold, peer)) return true;
    }
    return false;
}

/* The hash of insertion k alone, from what has been mixed up to there; 0: not known. */
static uint64_t hash_alone(const struct orr_stream *s, uint64_t k, uint64_t oldest)
{
    if (!s || k >= orr_load_acquire(&s->count) || (k > 0 && k - 1 < oldest)) return 0;
    return unmixed(s->log[k % ORR_STREAM_LOG].rolling, k ? s->log[(k - 1) % ORR_STREAM_LOG].rolling : 0);
}

/* Whether an insertion of that hash is in the log from k on. */
static bool occurs(const struct orr_stream *s, uint64_t k, uint64_t oldest, uint64_t hash)
{
    uint64_t count = s && hash ? orr_load_acquire(&s->count) : 0;
    for (; k < count; k++)
        if (hash_alone(s, k, oldest) == hash) return true;
    return false;
}

/* ---- questions and answers ---- */

static void heard_ask(struct orr_streams *all, int source, const struct orr_wire_header *h)
{
    orr_spin_lock(&all->talk.lock);
    bool room = all->talk.nasks < ORR_STREAM_ASKS;
    if (room)
        all->talk.asks[all->talk.nasks++] = (struct orr_stream_ask){ source, (enum orr_control)h->type,
                                                                     (uint64_t)h->tag, h->id, h->bulk_tag };
    orr_spin_unlock(&all->talk.lock);
    if (room) orr_guard_wake(all->guard);
}

static void heard_answer(struct orr_streams *all, int source, const struct orr_wire_header *h,
                         const void *data)
{
    orr_spin_lock(&all->talk.lock);
    if (source == all->talk.from && !all->talk.answered) {
        all->talk.answered = true;
        if (h->type == ORR_CONTROL_TEXT) {
            size_t n = h->bytes < ORR_STREAM_TEXT - 1 ? h->bytes : ORR_STREAM_TEXT - 1;
            memcpy(all->talk.text, data, n);
            all->talk.text[n] = 0;
            all->talk.text_says = (uint64_t)h->tag;
            all->talk.text_hash = h->id;
        } else {
            all->talk.count = (uint64_t)h->tag;
            all->talk.oldest = h->id;
            all->talk.nhashes = (unsigned)(h->bytes / sizeof all->talk.hashes[0]);
            if (all->talk.nhashes > ORR_STREAM_HASHES) all->talk.nhashes = ORR_STREAM_HASHES;
            memcpy(all->talk.hashes, data, all->talk.nhashes * sizeof all->talk.hashes[0]);
        }
    }
    orr_spin_unlock(&all->talk.lock);
}

/* A control message came: ASK to TEXT. */
static void heard(void *streams, int source, const struct orr_wire_header *h, const void *data)
{
    struct orr_streams *all = streams;
    if (h->type == ORR_CONTROL_ASK || h->type == ORR_CONTROL_ASK_TEXT)
        heard_ask(all, source, h);
    else
        heard_answer(all, source, h, data);
}

/* With its lock. */
static void answer(struct orr_streams *all, const struct orr_stream_ask *a)
{
    struct orr_stream *s = stream_of(all, a->context);
    uint64_t oldest, count = freeze(s, &oldest), hashes[ORR_STREAM_HASHES];
    unsigned n = 0;
    if (a->what == ORR_CONTROL_ASK_TEXT) {
        char text[ORR_STREAM_TEXT];
        describe(s, a->first, text, sizeof text);
        int64_t says = (concerns(s, a->first, a->source) ? SAYS_CONCERNS : 0) |
                       (occurs(s, a->first, oldest, a->stride) ? SAYS_OCCURS : 0);
        orr_control_send(all->controls, a->source, ORR_CONTROL_TEXT, says, hash_alone(s, a->first, oldest), 0,
                         text, strlen(text));
        return;
    }
    size_t most = orr_engine_control_max(&all->cluster->engine) / sizeof hashes[0];
    if (most > ORR_STREAM_HASHES) most = ORR_STREAM_HASHES;
    for (uint64_t k = a->first; a->stride && k >= oldest && k < count && n < most; k += a->stride)
        hashes[n++] = s->log[k % ORR_STREAM_LOG].rolling;
    orr_control_send(all->controls, a->source, ORR_CONTROL_ANSWER, (int64_t)count, oldest, n, hashes,
                     n * sizeof hashes[0]);
}

/* Answers what was asked. */
static void serve(struct orr_streams *all)
{
    for (;;) {
        orr_spin_lock(&all->talk.lock);
        bool any = all->talk.nasks > 0;
        struct orr_stream_ask a = { 0 };
        if (any) a = all->talk.asks[--all->talk.nasks];
        orr_spin_unlock(&all->talk.lock);
        if (!any) return;
        pthread_mutex_lock(&all->lock);
        answer(all, &a);
        pthread_mutex_unlock(&all->lock);
    }
}

static bool is_answered(struct orr_streams *all)
{
    orr_spin_lock(&all->talk.lock);
    bool is = all->talk.answered;
    orr_spin_unlock(&all->talk.lock);
    return is;
}

/* Asks, and waits for the answer, which is then in all->talk. Called with asking held. */
static bool ask(struct orr_streams *all, int peer, enum orr_control what, uint64_t first, uint64_t stride,
                uint32_t context)
{
    uint64_t until = orr_clock_ns() + (uint64_t)ANSWER_MS * 1000000;
    orr_spin_lock(&all->talk.lock);
    all->talk.from = peer;
    all->talk.answered = false;
    orr_spin_unlock(&all->talk.lock);
    bool sent = false;
    while (!is_answered(all) && orr_clock_ns() < until) {
        if (!sent)
            sent = orr_control_send(all->controls, peer, what, (int64_t)first, stride, context, NULL, 0);
        orr_progress_pass(&all->cluster->progress);
        serve(all);
        usleep(50);
    }
    orr_spin_lock(&all->talk.lock);
    all->talk.from = -1;
    orr_spin_unlock(&all->talk.lock);
    return is_answered(all);
}

/* ---- the first difference ---- */

struct search {
    struct orr_streams *all;
    struct orr_stream *mine;
    int peer;
    uint32_t context;   /* as the peer calls the communicator */
    uint64_t low, high; /* it is in [low, high], high included only as "one goes on" */
};

/* Narrows down [low, high). 1: found, at low. 0: equal up to high. -EAGAIN. */
static int narrow(struct search *q)
{
    struct orr_streams *all = q->all;
    while (q->low < q->high) {
        uint64_t stride = (q->high - q->low + ORR_STREAM_HASHES - 1) / ORR_STREAM_HASHES, first = q->low,
                 k = first;
        if (!ask(all, q->peer, ORR_CONTROL_ASK, first, stride, q->context) || all->talk.nhashes == 0)
            return -EAGAIN;
        unsigned i = 0;
        for (; i < all->talk.nhashes && k < q->high; i++, k += stride)
            if (all->talk.hashes[i] != q->mine->log[k % ORR_STREAM_LOG].rolling) break;
        bool differs = i < all->talk.nhashes && k < q->high;
        if (i > 0) q->low = k - stride + 1;
        if (!differs) continue;
        if (i == 0 || q->low == k) {
            q->low = k;
            return 1;
        }
        q->high = k + 1;
    }
    return 0;
}

/* Whether one of the ranks may have left out what the other has here, because it has no part in it: then its
 * own comes later on the other one, if that has a part in it. */
static bool pruning_explains(const struct search *q, uint64_t oldest)
{
    const struct orr_streams *all = q->all;
    bool mine_concerns = concerns(q->mine, q->low, q->peer),
         theirs_concerns = all->talk.text_says & SAYS_CONCERNS;
    if (!mine_concerns && (!theirs_concerns || occurs(q->mine, q->low, oldest, all->talk.text_hash)))
        return true;
    return !theirs_concerns && all->talk.text_says & SAYS_OCCURS;
}

static int tell_difference(const struct search *q, uint64_t oldest, char *text, size_t bytes)
{
    struct orr_streams *all = q->all;
    char mine[ORR_STREAM_TEXT];
    describe(q->mine, q->low, mine, sizeof mine);
    if (!ask(all, q->peer, ORR_CONTROL_ASK_TEXT, q->low, hash_alone(q->mine, q->low, oldest), q->context))
        return -EAGAIN;
    bool pieces = strstr(mine, piece_of) || strstr(all->talk.text, piece_of);
    snprintf(
        text, bytes, "as insertion %llu rank %d has %s, and rank %d has %s%s", (unsigned long long)q->low + 1,
        all->cluster->rank, mine, q->peer, all->talk.text,
        pieces ? "; where a placement moves data, what is a piece of data with a tag on one rank must be so "
                 "on all: cut the whole on all ranks (starpu_data_partition_plan), or give it no tag, or "
                 "use ORRERY_MPI_SCHED=owner"
               : "");
    return pruning_explains(q, oldest) ? ORR_STREAM_PRUNED : 1;
}

/* With asking held. */
static int compare_locked(struct orr_comm *c, int peer, bool prefix_only, char *text, size_t bytes)
{
    struct orr_streams *all = streams_of(c);
    struct search q = { .all = all, .mine = orr_load_acquire(&c->stream), .peer = peer };
    uint64_t oldest, count = freeze(q.mine, &oldest);
    q.context = orr_engine_name(&all->cluster->engine, c->context, peer);
    if (!q.context || !ask(all, peer, ORR_CONTROL_ASK, 0, 0, q.context)) return -EAGAIN;
    uint64_t other = all->talk.count;
    q.low = oldest > all->talk.oldest ? oldest : all->talk.oldest;
    q.high = count < other ? count : other;
    uint64_t begin = q.low;
    if (q.low >= q.high && begin > 0) {
        snprintf(
            text, bytes,
            "rank %d has inserted %llu tasks and rank %d %llu: what they have in common is out of the log",
            all->cluster->rank, (unsigned long long)count, peer, (unsigned long long)other);
        return prefix_only ? 0 : ORR_STREAM_PRUNED; /* for all that is known */
    }
    int r = narrow(&q);
    if (r < 0) return r;
    if (r == 0 && (prefix_only || count == other)) return 0;
    if (r > 0 && q.low == begin && begin > 0) {
        snprintf(text, bytes,
                 "ranks %d and %d differ before insertion %llu, which is out of the log of %d insertions",
                 all->cluster->rank, peer, (unsigned long long)begin + 1, ORR_STREAM_LOG);
        return ORR_STREAM_PRUNED; /* for all that is known */
    }
    if (r == 0) q.low = q.high;
    return tell_difference(&q, oldest, text, bytes);
}

int orr_stream_compare(struct orr_comm *c, int peer, bool prefix_only, char *text, size_t bytes)
{
    struct orr_streams *all = streams_of(c);
    pthread_mutex_lock(&all->asking);
    int r = compare_locked(c, peer, prefix_only, text, bytes);
    pthread_mutex_unlock(&all->asking);
    return r;
}

/* The first rank that differs from this one, other than as pruned loops do if there is one; as
 * orr_stream_compare. */
static int compare_all(struct orr_comm *c, bool prefix_only, char *text, size_t bytes)
{
    int found = 0;
    for (int rank = 1; rank < c->size && rank <= RANKS_COMPARED; rank++) {
        int peer = orr_comm_peer(c, rank),
            r = peer < 0 ? 0 : orr_stream_compare(c, peer, prefix_only, text, bytes);
        if (r == 1) return r;
        if (r > 0) found = r;
    }
    return found;
}

/* ---- when it is done ---- */

static bool is_pruned(void)
{
    return orr_env_long(ORR_SETTING(ORRERY_MPI_PRUNED), 0, 0, 1) != 0;
}

static bool is_off(const struct orr_stream *s)
{
    return is_pruned() || (s && orr_load_relaxed(&s->off));
}

static bool is_whole(const struct orr_stream *s)
{
    return s && orr_load_relaxed(&s->whole);
}

int orr_stream_need_whole(struct orr_comm *c)
{
    if (!streams_of(c))
        return 0; /* ranks that there are not, whose placement is tried: nobody to differ from */
    if (is_pruned()) {
        orr_error(
            "the placement in use needs the same insertions on every rank, but ORRERY_MPI_PRUNED=1 says that "
            "loops are pruned; use ORRERY_MPI_SCHED=owner, or insert all tasks on all ranks");
        return -EINVAL;
    }
    struct orr_stream *s = orr_load_acquire(&c->stream);
    if (!s && !(s = orr_stream_create(c))) return -ENOMEM;
    orr_store_relaxed(&s->whole, true);
    return 0;
}

int orr_stream_meet(struct orr_comm *c, bool final)
{
    struct orr_stream *s = orr_load_acquire(&c->stream);
    uint64_t count = s ? orr_load_acquire(&s->count) : 0,
             own = count ? s->log[(count - 1) % ORR_STREAM_LOG].rolling : 0;
    int64_t low = (int64_t)(own & UINT32_MAX), high = (int64_t)(own >> 32);
    int64_t v[ORR_COLL_VALUES] = { low, high, is_off(s), is_whole(s) };
    if (orr_coll_sum(c, v)) return -EIO;
    if (v[2] || (v[0] == low * c->size && v[1] == high * c->size)) return 0;
    if (orr_coll_greet_root(c, RANKS_COMPARED)) return -EIO;
    char text[3 * ORR_STREAM_TEXT];
    bool whole = v[3] > 0;
    int difference = c->rank == 0 ? compare_all(c, !final && !whole, text, sizeof text) : 0;
    int64_t found[ORR_COLL_VALUES] = { difference == 1 || (whole && difference > 0) };
    if (found[0] && whole)
        orr_error(
            "the ranks insert different tasks: %s. The placement in use needs the same on every rank, and "
            "the job ends; ORRERY_MPI_SCHED=owner does without",
            text);
    else if (found[0])
        orr_warn("the ranks insert different tasks: %s. No transfer was wrong so far; ORRERY_MPI_PRUNED=1 "
                 "says that "
                 "loops are pruned on purpose",
                 text);
    int r = orr_coll_sum(c, found);
    if (whole && found[0] && !r) orr_guard_end(streams_of(c)->guard);
    s = orr_load_acquire(&c->stream);
    if (s && found[0]) atomic_fetch_or_explicit(&s->off, ORR_STREAM_SAID, memory_order_relaxed);
    thaw(s);
    return r;
}

static const char differs[] = "the ranks insert different tasks";
static const char differs_maybe[] = "what the ranks insert differs, as it may where loops are pruned by hand";

/* The least rank of those with which messages that tasks made have no other end here; -1: none. */
static void suspect_request(const struct orr_request *r, void *peer)
{
    if (r->inferred && (*(int *)peer < 0 || r->node.peer < *(int *)peer)) *(int *)peer = r->node.peer;
}

static void suspect_early(const struct orr_match_node *n, const struct orr_wire_header *h, void *peer)
{
    if (h->flags & ORR_WIRE_INFERRED && (*(int *)peer < 0 || n->peer < *(int *)peer)) *(int *)peer = n->peer;
}

void orr_stream_explain(struct orr_comm *c)
{
    struct orr_streams *all = streams_of(c);
    char text[3 * ORR_STREAM_TEXT];
    int peer = -1, r = 0;
    if (is_pruned()) return;
    orr_engine_visit_unmatched(&all->cluster->engine, suspect_request, &peer);
    orr_engine_visit_early(&all->cluster->engine, suspect_early, &peer);
    if (peer >= 0 && peer != all->cluster->rank)
        r = orr_stream_compare(c, peer, false, text, sizeof text);
    else if (all->cluster->rank == 0)
        r = compare_all(c, false, text, sizeof text);
    if (r > 0) orr_error("  %s: %s", r == 1 ? differs : differs_maybe, text);
}

int orr_stream_explain_all(struct orr_comm *c)
{
    orr_stream_explain(c);
    return orr_coll_barrier(c);
}

void orr_stream_blame(struct orr_comm *c, int peer)
{
    struct orr_streams *all = streams_of(c);
    orr_spin_lock(&all->talk.lock);
    all->talk.blamed = peer + 1;
    all->talk.blamed_comm = c;
    orr_spin_unlock(&all->talk.lock);
    orr_guard_wake(all->guard);
}

/* Whether somebody must be blamed; says so. */
static bool must_end(struct orr_streams *all)
{
    orr_spin_lock(&all->talk.lock);
    int peer = all->talk.blamed - 1;
    struct orr_comm *c = all->talk.blamed_comm;
    orr_spin_unlock(&all->talk.lock);
    if (peer < 0) return false;
    char text[3 * ORR_STREAM_TEXT];
    int r =
        peer == all->cluster->rank || is_pruned() ? 0 : orr_stream_compare(c, peer, false, text, sizeof text);
    if (r > 0)
        orr_error("%s: %s; a transfer does not fit, and the job ends",
                  r == 1 || is_whole(orr_load_acquire(&c->stream)) ? differs : differs_maybe, text);
    else
        orr_error("a transfer between ranks %d and %d does not fit, and the job ends; %s", peer,
                  all->cluster->rank,
                  r == 0 ? "the tasks agree as far as can be known: look at how the data are registered"
                         : "what the other rank inserted is not known");
    return true;
}

bool orr_stream_chore(void *streams)
{
    struct orr_streams *all = streams;
    serve(all);
    return must_end(all);
}

void orr_streams_init(struct orr_streams *all, struct orr_cluster *cl, struct orr_controls *controls,
                      struct orr_guard *guard, const struct orr_stream_data *data)
{
    all->cluster = cl;
    all->controls = controls;
    all->guard = guard;
    all->data = *data;
    pthread_mutex_init(&all->asking, NULL);
    pthread_mutex_init(&all->lock, NULL);
    all->list = NULL;
    all->talk.nasks = 0;
    all->talk.blamed = 0;
    all->talk.from = -1;
    orr_control_listen(controls, ORR_CONTROL_ASK, ORR_CONTROL_TEXT, heard, all);
}
