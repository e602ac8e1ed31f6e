/* SPDX-License-Identifier: BSD-3-Clause */
/* api/lb.c: the load balancer: measures how long this rank's workers compute between two waits for all, and
 * has data of slow ranks change their owners.
 * Threads: the main thread of every rank, collectively; workers add what they measured. Owns: the balancer's
 * state. Not here: who gives to whom (place/heat.h), moving one piece of data (api/data.c).
 *
 * Loads, choices and tags are told to all by sums in which each rank fills in its own places. So all ranks
 * make the same migrations, in the order of ranks. */
#include "mpi/api/lb.h"

#include <errno.h>
#include <starpu_mpi.h>
#include <starpu_mpi_lb.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "mpi/api/session.h"
#include "mpi/place/heat.h"
#include "mpi/value/ownership.h"
#include "mpi/wire/coll.h"
#include "mpi/wire/event.h"

static struct {
    bool on; /* [own: main thread] */
    struct starpu_mpi_lb_conf conf;
    struct orr_heat heat;
} balancer;

/* ---- measuring ---- */

static _Atomic uint64_t busy_ticks; /* of bodies of tasks, since the last step */

static void see(struct orr_observer *o, const struct orr_seen *e)
{
    (void)o;
    orr_add_relaxed(&busy_ticks, e->b);
}

static struct orr_observer measure = {
    .name = "load balancer",
    .see = see,
    .kinds = ORR_EVENT_BIT(TASK_ENDED) | ORR_EVENT_BIT(TASK_PART_ENDED),
};

/* Microseconds that each worker computed, since this was asked. */
static int64_t take_load(void)
{
    uint64_t ticks = orr_exchange_acq_rel(&busy_ticks, (uint64_t)0);
    unsigned workers = starpu_worker_get_count();
    return (int64_t)((double)ticks * orr_ns_per_tick / 1e3 / (workers ? workers : 1));
}

/* ---- telling all ---- */

/* Each rank has filled in some of the values, others are 0: all get all. */
static int merge(struct orr_comm *c, int64_t *values, size_t count)
{
    for (size_t at = 0; at < count; at += ORR_COLL_VALUES) {
        int64_t v[ORR_COLL_VALUES] = { 0 };
        size_t n = count - at < ORR_COLL_VALUES ? count - at : ORR_COLL_VALUES;
        memcpy(v, values + at, n * sizeof *v);
        if (orr_coll_sum(c, v)) return -EIO;
        memcpy(values + at, v, n * sizeof *v);
    }
    return 0;
}

/* ---- choosing ---- */

/* Asks the program for this rank's neighbours, and the state for one of them; -1: none. */
static int choose(const struct orr_comm *c, const int64_t *load)
{
    int *neighbours = NULL, count = 0, valid = 0;
    balancer.conf.get_neighbors(&neighbours, &count);
    for (int i = 0; i < count; i++) {
        if (neighbours[i] >= 0 && neighbours[i] < c->size)
            neighbours[valid++] = neighbours[i];
        else
            orr_warn("load balancer: get_neighbors names rank %d, there are %d", neighbours[i], c->size);
    }
    int chosen = orr_heat_choose(&balancer.heat, load, c->rank, neighbours, valid);
    free(neighbours);
    return chosen;
}

/* Data of other communicators may have the same tags: only those of the layer's own move. */
static bool is_ours(const struct orr_data *h)
{
    return !(h->mpi_flags & ORR_MPI_OTHER_COMM);
}

/* The tags of a unit for that rank, of data that may go; NULL: none. */
static int64_t *ask_for_unit(const struct orr_comm *c, int receiver, int *count_out)
{
    starpu_data_handle_t *unit = NULL;
    int n = 0;
    *count_out = 0;
    balancer.conf.get_data_unit_to_migrate(&unit, &n, receiver);
    int64_t *tags = n > 0 ? orr_malloc((size_t)n * sizeof *tags) : NULL;
    for (int i = 0; i < n && tags; i++) {
        bool may = orr_data_valid(unit[i]) && orr_owned_tag(unit[i]) >= 0 &&
                   orr_owned_rank(c, unit[i]) == c->rank && is_ours(unit[i]) &&
                   !orr_load_relaxed(&unit[i]->partitioned);
        if (may)
            tags[(*count_out)++] = orr_owned_tag(unit[i]);
        else
            orr_warn(
                "load balancer: get_data_unit_to_migrate gives data that this rank does not own, that "
                "has no tag, that is partitioned, or of another communicator than the layer's; it stays");
    }
    free(unit);
    return tags;
}

/* ---- moving ---- */

struct move {
    int64_t tag;
    int receiver;
    struct orr_data *handle; /* NULL: this rank does not know it */
};

struct moves {
    struct move *move;
    size_t count;
};

static int by_tag(const void *a, const void *b)
{
    int64_t x = ((const struct move *)a)->tag, y = ((const struct move *)b)->tag;
    return x < y ? -1 : x > y;
}

static void find_handle(struct orr_owned *o, void *arg)
{
    struct moves *m = arg;
    const struct move key = { .tag = o->tag };
    struct move *found = bsearch(&key, m->move, m->count, sizeof *m->move, by_tag);
    if (found && o->handle->mpi_rank >= 0 && is_ours(o->handle)) found->handle = o->handle;
}

static void migrate(struct orr_comm *c, struct moves *m)
{
    qsort(m->move, m->count, sizeof *m->move, by_tag); /* the same order on all ranks */
    MPI_Comm comm = (MPI_Comm)(intptr_t)orr_load_acquire(&c->program_comm);
    orr_owned_visit(c->cluster->value, find_handle, m);
    for (size_t i = 0; i < m->count; i++)
        if (m->move[i].handle) starpu_mpi_data_migrate(comm, m->move[i].handle, m->move[i].receiver);
}

/* counts: by rank, how many tags it gives; mine: this rank's. */
static int tell_and_migrate(struct orr_comm *c, const int *choice, const int64_t *counts, const int64_t *mine)
{
    size_t total = 0, at = 0;
    for (int r = 0; r < c->size; r++) total += (size_t)counts[r];
    if (!total) return 0;
    int64_t *tags = orr_calloc(total, sizeof *tags);
    struct moves m = { .move = orr_calloc(total, sizeof *m.move), .count = total };
    int64_t lacks[ORR_COLL_VALUES] = { !tags || !m.move };
    int r = merge(c, lacks, 1);
    for (int q = 0; q < c->rank; q++) at += (size_t)counts[q];
    if (!r && !lacks[0] && counts[c->rank]) memcpy(tags + at, mine, (size_t)counts[c->rank] * sizeof *tags);
    if (!r && !lacks[0]) r = merge(c, tags, total);
    at = 0;
    for (int q = 0; q < c->size && !r && !lacks[0]; q++)
        for (int64_t i = 0; i < counts[q]; i++, at++)
            m.move[at] = (struct move){ .tag = tags[at], .receiver = choice[q] };
    if (!r && !lacks[0]) migrate(c, &m);
    orr_free(m.move);
    orr_free(tags);
    return r;
}

/* With room for each rank's values, on all ranks. */
static int step(struct orr_comm *c, int64_t *load, int64_t *values, int *choice)
{
    int me = c->rank, count = 0;
    load[me] = take_load();
    int r = merge(c, load, (size_t)c->size);
    if (r) return r;
    values[me] = 1 + choose(c, load);
    r = merge(c, values, (size_t)c->size);
    for (int i = 0; i < c->size; i++) choice[i] = (int)values[i] - 1;
    if (r || !orr_heat_settle(load, choice, c->size)) return r;
    int64_t *tags = choice[me] >= 0 ? ask_for_unit(c, choice[me], &count) : NULL;
    orr_heat_gives(&balancer.heat, load, me, count ? choice[me] : -1);
    memset(values, 0, (size_t)c->size * sizeof *values);
    values[me] = count;
    r = merge(c, values, (size_t)c->size);
    if (!r) r = tell_and_migrate(c, choice, values, tags);
    orr_free(tags);
    return r;
}

int orr_lb_step(struct orr_comm *c)
{
    if (!balancer.on || !orr_comm_is_base(c)) return 0;
    int64_t *load = orr_calloc(2 * (size_t)c->size, sizeof *load), lacks[1] = { 0 };
    int *choice = orr_calloc((size_t)c->size, sizeof *choice);
    lacks[0] = !load || !choice;
    int r = merge(c, lacks, 1);
    if (!r && !lacks[0]) r = step(c, load, load + c->size, choice);
    orr_free(choice);
    orr_free(load);
    return r;
}

/* ---- public ---- */

void starpu_mpi_lb_init(const char *lb_policy_name, struct starpu_mpi_lb_conf *itf)
{
    static const char fn[] = "starpu_mpi_lb_init";
    const char *name = orr_env_string(ORR_SETTING(STARPU_MPI_LB));
    if (!name) name = lb_policy_name;
    if (!orr_session_check(fn)) return;
    bool known = name && strcmp(name, "heat") == 0;
    bool can = known && itf && itf->get_neighbors && itf->get_data_unit_to_migrate;
    if (name && !known)
        orr_warn("%s: there is no load balancer \"%s\", only \"heat\"; data stay with their owners", fn,
                 name);
    if (known && !can)
        orr_error("%s: heat needs get_neighbors and get_data_unit_to_migrate; data stay with their owners",
                  fn);
    int64_t able[1] = { can };
    struct orr_comm *c = orr_the_session.cluster.comm;
    if (merge(c, able, 1) || able[0] < c->size) {
        if (can)
            orr_error("%s: only %lld of %d ranks ask for it and can; data stay with their owners", fn,
                      (long long)able[0], c->size);
        return;
    }
    starpu_mpi_lb_shutdown();
    if (orr_observer_add(&measure) != 0) orr_warn("%s: this rank's load cannot be measured", fn);
    orr_store_relaxed(&busy_ticks, (uint64_t)0);
    balancer.conf = *itf;
    memset(&balancer.heat, 0, sizeof balancer.heat);
    balancer.on = true;
}

void starpu_mpi_lb_shutdown(void)
{
    if (!balancer.on) return;
    orr_observer_remove(&measure);
    balancer.on = false;
}
