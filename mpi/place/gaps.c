/* SPDX-License-Identifier: BSD-3-Clause */
/* gaps.c: see gaps.h. What is left out is found by going through the insertions once more, with what may be
 * here of each datum: at first what was here when the recorded iteration began, or is when it has ended,
 * since the next one begins either way. Threads: see gaps.h. Owns: see gaps.h. Not here: see gaps.h. */
#include "mpi/place/gaps.h"

#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "mpi/value/away.h"

/* ---- room ---- */

/* For one more than count. */
static bool grow(void *array, size_t *room, size_t count, size_t bytes)
{
    if (count < *room) return true;
    size_t more = *room ? 2 * *room : 64;
    void *now, *new;
    memcpy(&now, array, sizeof now);
    if (!(new = orr_realloc(now, more * bytes))) return false;
    memcpy(array, &new, sizeof new);
    *room = more;
    return true;
}

/* ---- what is left out ---- */

/* A reader, in a list that ends with 0. */
struct link {
    int32_t rank;
    uint32_t next; /* 1 + its number */
};

/* A datum of the iteration. */
struct datum {
    struct orr_data *handle;      /* NULL: free */
    bool whole;                   /* all insertions with it are kept */
    bool here;                    /* something of it may be here now */
    bool certain;                 /* that does not depend on the state at the beginning */
    bool left_out, must;          /* in some insertion; while not certain */
    uint32_t writes, first, last; /* missed since the last that is kept; 1 + links */
    int32_t writer;
};

struct survey {
    struct orr_recording *r;
    struct orr_comm *c;
    struct orr_gaps *g;
    struct datum *slots;
    struct link *links;
    size_t mask, nlinks, links_room, nparts, ndata;
};

static struct datum *find(const struct survey *s, const struct orr_data *h)
{
    size_t i = (size_t)(((uintptr_t)h >> 6) * 0x9e3779b97f4a7c15u >> 20) & s->mask;
    while (s->slots[i].handle && s->slots[i].handle != h) i = (i + 1) & s->mask;
    return &s->slots[i];
}

static bool is_known(const struct orr_data *h)
{
    return h && h->mpi_rank != ORR_RANK_UNKNOWN;
}

static bool look_at_all(struct survey *s)
{
    enum { NO_READER = STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX };
    size_t slots = 64;
    while (slots < 2 * s->r->ndata) slots *= 2;
    s->slots = orr_calloc(slots, sizeof *s->slots);
    s->mask = slots - 1;
    for (size_t i = 0; s->slots && i < s->r->ndata; i++) {
        struct orr_data *h = s->r->data[i].handle;
        if (!is_known(h)) continue;
        struct datum *d = find(s, h);
        if (!d->handle) d->here = s->g->was_here[i] || orr_moves_is_here(h);
        d->handle = h;
        d->whole |= s->r->data[i].mode & NO_READER || !orr_moves_left_out(s->c, h);
    }
    return s->slots != NULL;
}

static bool runs_here(const struct survey *s, const struct orr_recorded *p)
{
    return p->xrank < 0 || p->xrank == s->c->rank;
}

static bool is_kept(const struct survey *s, const struct orr_recorded *p)
{
    bool kept = runs_here(s, p);
    for (uint32_t k = 0; k < p->count && !kept; k++) {
        const struct orr_data *h = s->r->data[p->first + k].handle;
        const struct datum *d = find(s, h);
        kept = is_known(h) && (d->whole || d->here);
    }
    return kept;
}

static bool add_reader(struct survey *s, struct datum *d, int32_t rank)
{
    for (uint32_t i = d->first; i; i = s->links[i - 1].next)
        if (s->links[i - 1].rank == rank) return true;
    if (s->nlinks >= UINT32_MAX - 1 || !grow(&s->links, &s->links_room, s->nlinks, sizeof *s->links))
        return false;
    s->links[s->nlinks++] = (struct link){ .rank = rank };
    if (d->first)
        s->links[d->last - 1].next = (uint32_t)s->nlinks;
    else
        d->first = (uint32_t)s->nlinks;
    d->last = (uint32_t)s->nlinks;
    return true;
}

static bool leave_out(struct survey *s, const struct orr_recorded *p)
{
    bool good = true;
    for (uint32_t k = 0; k < p->count && good; k++) {
        const struct starpu_data_descr *a = &s->r->data[p->first + k];
        if (!is_known(a->handle)) continue;
        struct datum *d = find(s, a->handle);
        d->left_out = true;
        d->must |= !d->certain;
        if (a->mode & STARPU_W) {
            d->writes++;
            d->writer = p->xrank;
            d->first = 0;
        } else if (a->mode & STARPU_R) {
            good = add_reader(s, d, p->xrank);
        }
    }
    return good;
}

/* What was left out of d is made good from here on. Readers are numbers, until all are there. */
static bool miss(struct survey *s, struct datum *d)
{
    struct orr_gaps *g = s->g;
    if (!d->writes && !d->first) return true;
    if (!grow(&g->missed, &g->missed_room, g->nmissed, sizeof *g->missed)) return false;
    struct orr_missed *m = &g->missed[g->nmissed++];
    *m = (struct orr_missed){ .handle = d->handle, .writes = d->writes, .writer = d->writer };
    for (uint32_t i = d->first; i; i = s->links[i - 1].next, m->nreaders++) {
        if (!grow(&g->readers, &g->readers_room, g->nreaders, sizeof *g->readers)) return false;
        g->readers[g->nreaders++] = s->links[i - 1].rank;
    }
    d->writes = d->first = 0;
    return true;
}

static void change(struct datum *d, int mode, bool here)
{
    if (!here && !(mode & STARPU_W)) return;
    d->here = here; /* what another writes is here no more */
    d->certain = true;
}

static bool keep(struct survey *s, const struct orr_recorded *p, uint64_t hash)
{
    struct orr_gap *gap = &s->g->gap[s->nparts];
    size_t first = s->ndata, before = s->g->nmissed;
    bool good = true, here = runs_here(s, p);
    for (uint32_t k = 0; k < p->count && good; k++) {
        const struct starpu_data_descr a = s->r->data[p->first + k];
        s->r->data[s->ndata++] = a;
        if (!is_known(a.handle)) continue;
        struct datum *d = find(s, a.handle);
        good = miss(s, d);
        change(d, (int)a.mode, here);
    }
    *gap = (struct orr_gap){ .hash = hash, .missed = before, .nmissed = s->g->nmissed - before };
    struct orr_recorded *mine = &s->r->parts[s->nparts++];
    *mine = *p;
    mine->first = (uint32_t)first;
    return good;
}

static bool go_through(struct survey *s)
{
    bool good = true;
    for (size_t i = 0; i < s->r->nparts && good; i++) {
        const struct orr_recorded p = s->r->parts[i];
        good = is_kept(s, &p) ? keep(s, &p, s->g->gap[i].hash) : leave_out(s, &p);
    }
    return good;
}

/* Behind the last part, or by it, if nothing is left out behind it. */
static bool end(struct survey *s)
{
    struct orr_gaps *g = s->g;
    struct orr_recorded *last = s->nparts ? &s->r->parts[s->nparts - 1] : NULL;
    size_t before = g->nmissed;
    for (size_t i = 0; i <= s->mask; i++) {
        struct datum *d = &s->slots[i];
        if (!d->left_out) continue;
        if (!miss(s, d) || !grow(&g->data, &g->data_room, g->ndata, sizeof *g->data)) return false;
        g->data[g->ndata++] = (struct orr_left_out){ d->handle, d->must };
    }
    if (last && last->position + 1 == s->r->insertions)
        g->gap[s->nparts - 1].nmissed += g->nmissed - before;
    else
        g->gap[s->nparts] = (struct orr_gap){ .missed = before, .nmissed = g->nmissed - before };
    size_t reader = 0;
    for (size_t i = 0; i < g->nmissed; i++) {
        g->missed[i].readers = g->readers + reader;
        reader += g->missed[i].nreaders;
    }
    return true;
}

bool orr_gaps_make(struct orr_recording *r, struct orr_comm *c)
{
    struct survey s = { .r = r, .c = c, .g = r->gaps };
    bool good = look_at_all(&s) && go_through(&s) && end(&s);
    orr_free(s.slots);
    orr_free(s.links);
    orr_free(r->gaps->was_here);
    r->gaps->was_here = NULL;
    if (!good) return false;
    r->nparts = s.nparts;
    r->ndata = s.ndata;
    return true;
}

bool orr_gaps_fit(const struct orr_recording *r, const struct orr_comm *c)
{
    bool fits = true;
    for (size_t i = 0; i < r->gaps->ndata && fits; i++) {
        const struct orr_left_out *d = &r->gaps->data[i];
        fits = orr_moves_left_out(c, d->handle) && !(d->must_be_elsewhere && orr_moves_is_here(d->handle));
    }
    return fits;
}

/* ---- replaying ---- */

static int repeat(struct orr_comm *c, const struct orr_recording *r, size_t i, uint64_t at,
                  orr_replay_patch_fn patch, void *arg)
{
    const struct orr_recorded *p = &r->parts[i];
    const struct orr_gap *gap = &r->gaps->gap[i];
    const struct orr_moving m = { .data = r->data + p->first,
                                  .count = (int)p->count,
                                  .priority = p->priority,
                                  .ranks = &p->xrank,
                                  .nranks = 1,
                                  .hash = gap->hash,
                                  .missed = r->gaps->missed + gap->missed,
                                  .nmissed = gap->nmissed };
    return orr_repeat_moving(c, p, &m, at + p->position, patch, arg);
}

/* What is left out behind the last part. */
static int repeat_end(struct orr_comm *c, const struct orr_recording *r, uint64_t places)
{
    struct orr_actions l;
    const struct orr_gap *gap = &r->gaps->gap[r->nparts];
    if (!places) return 0;
    orr_away_skip(c, places - 1);
    orr_moves_begin(&l, c);
    orr_moves_catch_up(c, r->gaps->missed + gap->missed, gap->nmissed);
    int status = orr_away_do(&l);
    orr_actions_fini(&l);
    return status;
}

int orr_gaps_replay(struct orr_comm *c, const struct orr_recording *r, uint64_t at, orr_replay_patch_fn patch,
                    void *arg)
{
    int status = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < r->nparts; i++) {
        const struct orr_recorded *p = &r->parts[i];
        orr_repeat_prefetch(r, i);
        orr_away_skip(c, p->position - next);
        next = p->position + 1;
        int s = repeat(c, r, i, at, patch, arg);
        if (orr_likely(!s)) continue;
        orr_error("orrery_mpi_iteration_begin: iteration %d was replayed, and its insertion %u failed (%d)",
                  r->id, (unsigned)p->position + 1, s);
        if (!status) status = s;
    }
    int last = repeat_end(c, r, r->insertions - next);
    return status ? status : last;
}
