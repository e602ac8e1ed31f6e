/* SPDX-License-Identifier: BSD-3-Clause */
/* ownership.c: see ownership.h.
 * Threads: see ownership.h. Owns: its part of struct orr_value. Not here: the public functions (api/data.c).
 */
#include "mpi/value/ownership.h"

#include <errno.h>
#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/partition.h"
#include "mpi/value/relatives.h"
#include "mpi/wire/cluster.h"

/* A copy that is old: a value that is received again and again, as at the edge of a stencil, keeps
 * its place: otherwise each step would pay for giving the memory back and having it again. What is kept stays
 * until it is used, flushed or unregistered: the program may have put a value of its own there meanwhile. */
enum { OLD_BYTES_MAX = 4 << 20 };

/* ---- sets of ranks ---- */

static bool spill(struct orr_rank_set *s, int ranks)
{
    uint64_t words = ((uint64_t)ranks + 63) / 64;
    struct orr_rank_bits *bits = orr_calloc(1, sizeof *bits + words * sizeof bits->word[0]);
    if (!bits) return false;
    bits->words = words;
    for (uint32_t i = 0; i < s->count; i++)
        bits->word[s->inline_ranks[i] / 64] |= UINT64_C(1) << (s->inline_ranks[i] % 64);
    s->bits = bits;
    return true;
}

bool orr_rank_set_add(struct orr_rank_set *s, int rank, int ranks, bool *failed_out)
{
    *failed_out = false;
    if (orr_rank_set_has(s, rank)) return true;
    if (!s->bits && s->count < ORR_RANKS_INLINE) {
        s->inline_ranks[s->count] = rank;
    } else if ((!s->bits && !spill(s, ranks)) || (uint32_t)rank / 64 >= s->bits->words) {
        *failed_out = true;
        return false;
    } else {
        s->bits->word[rank / 64] |= UINT64_C(1) << (rank % 64);
    }
    s->some |= orr_rank_some(rank);
    s->count++;
    return false;
}

static uint32_t find_some(const struct orr_rank_set *s)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < s->count && !s->bits; i++) all |= orr_rank_some(s->inline_ranks[i]);
    for (uint64_t i = 0; s->bits && i < s->bits->words; i++) all |= s->bits->word[i];
    return (uint32_t)(all | all >> ORR_RANKS_SOME);
}

void orr_rank_set_remove(struct orr_rank_set *s, int rank)
{
    if (!orr_rank_set_has(s, rank)) return;
    s->count--;
    if (s->bits) {
        s->bits->word[rank / 64] &= ~(UINT64_C(1) << (rank % 64));
    } else {
        uint32_t i = 0;
        while (s->inline_ranks[i] != rank) i++;
        s->inline_ranks[i] = s->inline_ranks[s->count];
    }
    s->some = find_some(s);
}

void orr_rank_set_free(struct orr_rank_set *s)
{
    orr_free(s->bits);
    *s = (struct orr_rank_set){ 0 };
}

/* ---- records ---- */

bool orr_owned_forget_old(struct orr_owned *o)
{
    uint32_t bytes = o->old_bytes;
    o->old_bytes = 0;
    if (bytes) orr_sub_acq_rel(&o->value->old_bytes, (size_t)bytes);
    return bytes > 0;
}

bool orr_owned_keep_old(struct orr_owned *o, size_t bytes)
{
    orr_owned_forget_old(o);
    if (!bytes) bytes = 1;
    if (bytes > OLD_BYTES_MAX) return false;
    if (orr_add_relaxed(&o->value->old_bytes, bytes) + bytes > OLD_BYTES_MAX) {
        orr_sub_acq_rel(&o->value->old_bytes, bytes);
        return false;
    }
    o->old_bytes = (uint32_t)bytes;
    return true;
}

/* ---- away from home ---- */

/* With the lock. */
static void come_home(struct orr_owned *o)
{
    struct orr_value *v = o->value;
    if (!o->place_away) return;
    struct orr_owned *last = v->moves.list[--v->moves.away];
    v->moves.list[o->place_away - 1] = last;
    last->place_away = o->place_away;
    o->place_away = 0;
}

/* With the lock. */
static void go_away(struct orr_owned *o)
{
    struct orr_value *v = o->value;
    if (v->moves.away == v->moves.room) {
        uint32_t room = v->moves.room ? 2 * v->moves.room : 64;
        struct orr_owned **more = orr_realloc(v->moves.list, room * sizeof *more);
        if (!more)
            orr_fatal(
                "out of memory: the data with tag %lld, which goes away from its owner, could not be found "
                "again; set ORRERY_MPI_SCHED=owner on all ranks",
                (long long)o->tag);
        v->moves.list = more;
        v->moves.room = room;
    }
    v->moves.list[v->moves.away++] = o;
    o->place_away = v->moves.away;
}

void orr_owned_set_holder(struct orr_data *h, int rank)
{
    struct orr_owned *o = orr_owned_of(h);
    int32_t now = rank == h->mpi_rank ? -1 : rank;
    if (orr_owned_goes_or_comes(h, rank)) {
        pthread_mutex_lock(&o->value->records_lock);
        if (now >= 0)
            go_away(o);
        else
            come_home(o);
        pthread_mutex_unlock(&o->value->records_lock);
    }
    o->holder = now;
}

/* From the end: the one that comes home gives its place to one that was visited. */
void orr_owned_visit_away(struct orr_value *v, void (*fn)(struct orr_owned *o, void *arg), void *arg)
{
    pthread_mutex_lock(&v->records_lock);
    for (uint32_t i = v->moves.away; i > 0; i--) fn(v->moves.list[i - 1], arg);
    pthread_mutex_unlock(&v->records_lock);
}

void orr_owned_end_redux(struct orr_owned *o)
{
    if (!o->redux) return;
    orr_comm_drop(o->redux->comm);
    orr_free(o->redux);
    o->redux = NULL;
    orr_sub_acq_rel(&o->value->pending, (size_t)1);
    o->handle->mpi_flags &= ~(uint32_t)ORR_MPI_REDUX;
}

/* ---- what records count on ---- */

static void upset(struct orr_value *v, const char *why)
{
    orr_store_relaxed(&v->upset_why, why);
    orr_add_acq_rel(&v->upsets, 1u); /* pairs with the load in place/replay.c */
}

void orr_owned_marks_slow(struct orr_value *v, struct orr_data *h)
{
    h->mpi_flags = (h->mpi_flags & ~(uint32_t)ORR_MPI_LEFT_OUT) | ORR_MPI_TOUCHED;
    upset(v, "data of other ranks are now used here");
}

void orr_owned_reduces_slow(struct orr_value *v, struct orr_data *h)
{
    h->mpi_flags = (h->mpi_flags & ~(uint32_t)(ORR_MPI_LEFT_OUT | ORR_MPI_UNREDUCED)) | ORR_MPI_REDUCED;
    upset(v, "data are now reduced over ranks, or come from another rank than their owner");
}

void orr_owned_ends(struct orr_value *v, struct orr_data *h, const char *why)
{
    if (!(h->mpi_flags & ORR_MPI_RECORDED)) return;
    h->mpi_flags &= ~(uint32_t)(ORR_MPI_RECORDED | ORR_MPI_LEFT_OUT | ORR_MPI_UNREDUCED);
    orr_add_acq_rel(&v->ends, 1u); /* pairs with the load in place/recording.c */
    upset(v, why);
}

/* The program gives the handle up, now or when its tasks are done. */
static void leaves(struct orr_data *h)
{
    orr_store_relaxed(&orr_owned_of(h)->ended, true);
    orr_owned_ends(orr_owned_of(h)->value, h, "data were unregistered");
}

/* ---- the handle ends ---- */

static void forget(struct orr_data *h)
{
    struct orr_owned *o = h->mpi;
    struct orr_value *v = o->value;
    leaves(h);
    if (v->forget_guest) v->forget_guest(o); /* it was told, unless the owner is counted elsewhere by now */
    orr_owned_forget_old(o);
    pthread_mutex_lock(&v->records_lock);
    come_home(o);
    *o->prev = o->next;
    if (o->next) o->next->prev = o->prev;
    pthread_mutex_unlock(&v->records_lock);
    orr_rank_set_free(&o->sent);
    if (o->comm) orr_comm_drop(o->comm);
    for (struct orr_redirection *r = o->redirections, *next; r; r = next) {
        next = r->next;
        orr_free(r);
    }
    orr_owned_end_redux(o);
    orr_free(o);
    h->mpi = NULL;
}

static pthread_once_t hook_once = PTHREAD_ONCE_INIT;

static void install_hook(void)
{
    orr_data_hooks.forget = forget;
    orr_data_hooks.leaves = leaves;
}

/* On no list: who takes it off one finds that it is alone. */
static struct orr_owned *make_record(struct orr_value *v, struct orr_data *h)
{
    struct orr_owned *o = orr_calloc(1, sizeof *o);
    if (!o) {
        orr_error("out of memory for what the MPI layer keeps of a handle");
        return NULL;
    }
    o->handle = h;
    o->tag = -1;
    o->holder = -1;
    o->value = v;
    o->prev = &o->next;
    pthread_once(&hook_once, install_hook);
    return o;
}

struct orr_owned *orr_owned_get(struct orr_value *v, struct orr_data *h)
{
    struct orr_owned *o = h->mpi;
    if (o) return o;
    o = make_record(v, h);
    if (!o) return NULL;
    pthread_mutex_lock(&v->records_lock);
    o->next = v->records;
    o->prev = &v->records;
    if (o->next) o->next->prev = &o->next;
    v->records = o;
    pthread_mutex_unlock(&v->records_lock);
    h->mpi = o;
    return o;
}

/* Whether all ranks may know it. */
static void look_if_known(struct orr_data *h, void *known)
{
    *(bool *)known |= h->mpi && (orr_owned_tag(h) != -1 || h->mpi_rank != ORR_RANK_UNKNOWN);
}

void orr_owned_meets(struct orr_value *v, struct orr_data *h)
{
    bool known = false;
    if (orr_likely(!orr_has_relatives(h)) || h->mpi_flags & ORR_MPI_PIECE) return;
    orr_partition_relatives(h, look_if_known, &known);
    if (!known) return;
    h->mpi_flags |= ORR_MPI_PIECE;
    orr_store_relaxed(&v->moves.pieces, true);
}

int orr_owned_set_tag(struct orr_value *v, struct orr_data *h, int64_t tag)
{
    struct orr_owned *o = orr_owned_get(v, h);
    if (!o) return -ENOMEM;
    orr_owned_meets(v, h);
    if (o->tag != tag) {
        if (v->forget_guest) v->forget_guest(o);
        h->mpi_flags &= ~(uint32_t)ORR_MPI_NOTED;
    }
    o->tag = tag;
    h->mpi_tag = orr_stream_fold_tag(tag);
    return 0;
}

int orr_owned_hide(struct orr_value *v, struct orr_data *h, int64_t tag)
{
    struct orr_owned *o = make_record(v, h);
    if (!o) return -ENOMEM;
    o->tag = tag;
    h->mpi = o;
    h->mpi_tag = orr_stream_fold_tag(tag);
    return 0;
}

int orr_owned_rank_slow(const struct orr_comm *c, const struct orr_data *h)
{
    const struct orr_owned *o = orr_owned_of(h);
    if (h->mpi_rank < 0 || !o || o->comm == c) return h->mpi_rank;
    int rank = orr_comm_rank_of(c, o->comm ? orr_comm_peer(o->comm, h->mpi_rank) : h->mpi_rank);
    return rank >= 0 ? rank : ORR_RANK_OUTSIDE;
}

int orr_owned_source(const struct orr_comm *c, const struct orr_data *h, int node)
{
    if (orr_likely(!(h->mpi_flags & ORR_MPI_REDIRECTED))) return orr_owned_rank(c, h);
    for (struct orr_redirection *r = orr_owned_of(h)->redirections; r; r = r->next)
        if (r->node == node) return r->source;
    return orr_owned_rank(c, h);
}

void orr_owned_visit(struct orr_value *v, void (*fn)(struct orr_owned *o, void *arg), void *arg)
{
    pthread_mutex_lock(&v->records_lock);
    for (struct orr_owned *o = v->records, *next; o; o = next) {
        next = o->next;
        fn(o, arg);
    }
    pthread_mutex_unlock(&v->records_lock);
}

static void let_go(struct orr_owned *o, void *unused)
{
    (void)unused;
    struct orr_data *h = o->handle;
    if (o->comm && h->mpi_rank >= 0) h->mpi_rank = orr_comm_peer(o->comm, h->mpi_rank);
    h->mpi_flags &= ~(uint32_t)ORR_MPI_OTHER_COMM;
    orr_owned_end_redux(o);
    h->mpi_flags &= ~(uint32_t)(ORR_MPI_AWAY | ORR_MPI_PINNED);
    orr_store_relaxed(&h->away, false);
    come_home(o);
    o->holder = -1;
    o->version = o->asked = o->served = 0;
    o->is_guest = o->changed = false;
    orr_store_relaxed(&o->put_off, 0u);
    o->comm = NULL;
    o->ready_ns = 0;
}

void orr_owned_let_go(struct orr_value *v)
{
    orr_owned_visit(v, let_go, NULL);
    orr_free(v->moves.list);
    v->moves.list = NULL;
    v->moves.room = 0;
}

/* ---- what the log of insertions asks ---- */

struct search {
    uint32_t folded_tag;
    int peer;
    int64_t tag;
    bool found, owns;
};

static void look_at(struct orr_owned *o, void *arg)
{
    struct search *s = arg;
    if (orr_stream_fold_tag(o->tag) != s->folded_tag) return;
    int owner = orr_owned_rank(o->value->cluster->comm, o->handle);
    s->tag = o->tag;
    s->found = true;
    s->owns |= owner == ORR_RANK_PER_NODE || owner == s->peer;
}

static bool find_tag(void *v, uint32_t folded_tag, int64_t *tag_out)
{
    struct search s = { .folded_tag = folded_tag };
    orr_owned_visit(v, look_at, &s);
    if (s.found) *tag_out = s.tag;
    return s.found;
}

static bool owns(void *v, uint32_t folded_tag, int peer)
{
    struct search s = { .folded_tag = folded_tag, .peer = peer };
    orr_owned_visit(v, look_at, &s);
    return s.owns;
}

struct orr_stream_data orr_owned_stream_data(struct orr_value *v)
{
    return (struct orr_stream_data){ find_tag, owns, v };
}
