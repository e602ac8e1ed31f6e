/* SPDX-License-Identifier: BSD-3-Clause */
/* viewer.c: a function of the program's as a placement that is asked for all tasks, and sees what placements
 * see: where data are, how long a task takes where (orrery_mpi_node_selection_register).
 * Threads: see place.h. Owns: struct viewer. Not here: its number (policies.c), lengths (lengths.h). */
#include <errno.h>
#include <orrery_mpi.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "mpi/place/lengths.h"
#include "mpi/place/program.h"

struct viewer {
    struct orr_place_program program;
    struct orr_lengths lengths;
};

/* What the program's function gets; the rest is for its questions. */
struct shown {
    struct orrery_mpi_view pub; /* first */
    const struct viewer *viewer;
    const struct orr_comm *comm;
    const struct orr_length *length;
};

static int begin(const struct orr_place_setup *setup, void **state_out)
{
    struct viewer *w = orr_calloc(1, sizeof *w);
    if (!w) return -ENOMEM;
    w->program = *setup->program;
    if (orr_lengths_init(&w->lengths, setup)) {
        orr_free(w);
        return -ENOMEM;
    }
    *state_out = w;
    return 0;
}

static void end(void *state)
{
    struct viewer *w = state;
    orr_lengths_fini(&w->lengths);
    orr_free(w);
}

static int choose(void *state, const struct orr_place_view *v)
{
    struct viewer *w = state;
    int number = v->cl ? orr_lengths_number(&w->lengths, v) : -1;
    if (v->cl && number < 0) return -ENOMEM;
    const struct shown s = { .pub = { .ranks = v->comm->size,
                                      .priority = v->priority,
                                      .owner = v->written_on >= 0 ? v->written_on : -1,
                                      .count = v->count,
                                      .position = v->position,
                                      .codelet = v->cl,
                                      .data = v->data },
                             .viewer = w,
                             .comm = v->comm,
                             .length = number >= 0 ? &w->lengths.known[number] : NULL };
    return v->fixed != ORR_PLACE_OPEN ? v->fixed : w->program.see(&s.pub, w->program.arg);
}

static void measured(void *state, const struct orr_place_measure *m)
{
    orr_lengths_measured(&((struct viewer *)state)->lengths, m);
}

const struct orr_place_ops orr_place_viewer = { .name = "the program's, with a view",
                                                .for_all = true,
                                                .moves_data = true,
                                                .learns = true,
                                                .begin = begin,
                                                .choose = choose,
                                                .measured = measured,
                                                .end = end };

/* ---- what the program's function may ask ---- */

static const struct orr_data *datum_of(const struct orrery_mpi_view *v, int datum)
{
    return datum >= 0 && datum < v->count ? v->data[datum].handle : NULL;
}

int orrery_mpi_view_holder(const struct orrery_mpi_view *view, int datum)
{
    const struct orr_data *h = datum_of(view, datum);
    int holder = h ? orr_owned_holder(((const struct shown *)view)->comm, h) : -1;
    return holder >= 0 ? holder : -1;
}

int orrery_mpi_view_has(const struct orrery_mpi_view *view, int datum, int rank)
{
    const struct orr_data *h = datum_of(view, datum);
    if (!h || rank < 0 || rank >= view->ranks) return 0;
    return orrery_mpi_view_holder(view, datum) == rank || orr_rank_set_has(orr_owned_copies(h), rank);
}

uint64_t orrery_mpi_view_expected_ns(const struct orrery_mpi_view *view, int rank,
                                     enum starpu_worker_archtype type)
{
    const struct shown *s = (const struct shown *)view;
    const struct orr_lengths *l = &s->viewer->lengths;
    int kind = (int)type >= 0 && type < STARPU_NARCH ? l->kind_of[type] : UINT8_MAX;
    if (!s->length || kind == UINT8_MAX || rank < 0 || rank >= view->ranks) return 0;
    return s->length->ns[kind] ? orr_lengths_ns(l, s->length, rank, kind) : 0;
}
