/* SPDX-License-Identifier: BSD-3-Clause */
/* loan.c: see loan.h. Threads: see loan.h. Owns: nothing. Not here: see loan.h. */
#include "mpi/value/loan.h"

void orr_loan_post(struct orr_lend *l, struct orr_request *r, enum orr_request_kind kind, int peer,
                   int64_t tag)
{
    struct orr_cluster *cl = l->cluster;
    r->node = (struct orr_match_node){ .context = cl->comm->context | ORR_CONTEXT_UNCOUNTED,
                                       .peer = peer,
                                       .tag = tag };
    r->kind = (uint8_t)kind;
    r->uncounted = true;
    orr_engine_post(&cl->engine, r, true);
}

void orr_loan_move(struct orr_lend *l)
{
    orr_progress_pass(&l->cluster->progress);
}

void orr_loan_over(struct orr_lend *l)
{
    struct orr_mpi_progress *p = &l->cluster->progress;
    orr_sub_seq(&l->open, 1);
    orr_progress_signal(p);
}

void orr_loan_look(struct orr_lend *l)
{
    orr_add_seq(&l->lookers, 1u);
    struct orr_hungry *g = orr_load_seq(&l->hungry); /* pairs with orr_hungry_stop */
    if (g) l->look(g);
    orr_sub_seq(&l->lookers, 1u);
}

struct orr_lend_counts orr_lend_get_counts(struct orr_lend *l)
{
    orr_spin_lock(&l->lock);
    struct orr_lend_counts c = l->counts;
    orr_spin_unlock(&l->lock);
    return c;
}
