/* SPDX-License-Identifier: BSD-3-Clause */
/* links.c: what went over each link between memory nodes, and how long something was under way there.
 * Threads: main. Owns: nothing. Not here: the copies (model.c), messages between ranks (clocks.c). */
#include <math.h>
#include <stdlib.h>

#include "tools/report/report.h"

static int by_link(const void *a, const void *b)
{
    const struct report_copy *x = *(const struct report_copy *const *)a,
                             *y = *(const struct report_copy *const *)b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return x->started < y->started ? -1 : x->started > y->started;
}

static bool is_on(const struct report_copy *c, const struct report_link *l)
{
    return c->file == l->file && c->from == l->from && c->to == l->to;
}

static double within(const struct report_model *m, double ns)
{
    return ns < m->from ? m->from : ns > m->to ? m->to : ns;
}

void report_links(struct report_model *m)
{
    const struct report_copy **sorted = tool_alloc(m->ncopies, sizeof *sorted);
    struct report_link *l = NULL;
    double until = 0;
    for (size_t i = 0; i < m->ncopies; i++) sorted[i] = &m->copies[i];
    if (m->ncopies) qsort(sorted, m->ncopies, sizeof *sorted, by_link);
    for (size_t i = 0; i < m->ncopies; i++) {
        const struct report_copy *c = sorted[i];
        if (!l || !is_on(c, l)) {
            l = TOOL_PUSH(m->links, m->nlinks, m->links_room);
            *l = (struct report_link){ .file = c->file, .from = c->from, .to = c->to };
            until = m->from;
        }
        double ended = isnan(c->ended) ? m->to : c->ended, from = c->started > until ? c->started : until;
        if (within(m, ended) > within(m, from)) {
            l->busy_ns += within(m, ended) - within(m, from);
            until = ended;
        }
        if (c->status) continue;
        l->copies++;
        l->bytes += c->bytes;
        if (!isnan(c->ended)) l->ns += c->ended - c->started;
    }
    free(sorted);
}
