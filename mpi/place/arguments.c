/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.c: see arguments.h.
 * Threads: see arguments.h. Owns: nothing. Not here: see arguments.h. */
#include "mpi/place/arguments.h"

#include <errno.h>
#include <orrery.h>
#include <starpu.h>
#include <string.h>

#include "core/base/log.h"
#include "core/task/insert.h"

static bool make_room(struct orr_arguments *a, int count)
{
    if (orr_likely(a->count + count <= a->room)) return true;
    int room = (a->count + count) * 2;
    struct starpu_data_descr *more = orr_malloc((size_t)room * sizeof *more);
    if (!more) return false;
    memcpy(more, a->data, (size_t)a->count * sizeof *more);
    orr_arguments_fini(a);
    a->data = more;
    a->room = room;
    return true;
}

static inline void add(struct orr_arguments *a, struct orr_data *h, int mode)
{
    if (orr_likely(h != NULL)) orr_prefetch_read(&h->magic); /* in the line that is looked at next */
    a->data[a->count].handle = h;
    a->data[a->count++].mode = (enum starpu_data_access_mode)mode;
}

static int add_array(struct orr_arguments *a, struct starpu_codelet *cl, starpu_data_handle_t *handles, int n)
{
    if (n < 0 || !make_room(a, n)) return n < 0 ? -EINVAL : -ENOMEM;
    for (int i = 0; i < n; i++) {
        if (!cl) return -EINVAL;
        add(a, handles[i], STARPU_CODELET_GET_MODE(cl, a->count));
    }
    return 0;
}

static int add_descrs(struct orr_arguments *a, const struct starpu_data_descr *descrs, int n)
{
    if (n < 0 || !make_room(a, n)) return n < 0 ? -EINVAL : -ENOMEM;
    for (int i = 0; i < n; i++) add(a, descrs[i].handle, descrs[i].mode);
    return 0;
}

/* A worker of the cluster names the rank, whatever else does. */
static void read_worker(struct orr_arguments *a, int worker)
{
    if (worker == -1) return;
    a->xrank = ORR_PLACE_OF_WORKER;
    a->on_worker = worker;
}

static void read_data(struct orr_arguments *a, struct orr_data *h)
{
    if (a->xrank == ORR_PLACE_OF_WORKER) return;
    a->xrank = ORR_PLACE_OF_DATA;
    a->on_data = h;
}

static void read_rank(struct orr_arguments *a, int rank)
{
    if (a->xrank == ORR_PLACE_OF_WORKER) return;
    a->xrank = rank == -1 ? ORR_PLACE_OPEN : rank < ORR_RANK_PER_NODE ? ORR_RANK_OUTSIDE : rank;
}

/* Arguments that are no plain access. */
static int read_other(struct orr_arguments *a, struct starpu_codelet *cl, int kind, va_list *ap)
{
    switch (kind) {
    case STARPU_PRIORITY: a->priority = va_arg(*ap, int); return 0;
    case STARPU_SEQUENTIAL_CONSISTENCY: a->unordered = va_arg(*ap, unsigned) == 0; return 0;
    case STARPU_HANDLES_SEQUENTIAL_CONSISTENCY: a->ordered = va_arg(*ap, unsigned char *); return 0;
    case STARPU_EXECUTE_ON_NODE: read_rank(a, va_arg(*ap, int)); return 0;
    case STARPU_NODE_SELECTION_POLICY: a->policy = va_arg(*ap, int); return 0;
    case STARPU_EXECUTE_ON_DATA: read_data(a, va_arg(*ap, starpu_data_handle_t)); return 0;
    case STARPU_EXECUTE_ON_WORKER: a->is_bound = va_arg(*ap, int) != -1; return 0;
    case ORRERY_EXECUTE_ON_CLUSTER_WORKER: read_worker(a, va_arg(*ap, int)); return 0;
    case STARPU_DATA_ARRAY: {
        starpu_data_handle_t *handles = va_arg(*ap, starpu_data_handle_t *);
        return add_array(a, cl, handles, va_arg(*ap, int));
    }
    case STARPU_DATA_MODE_ARRAY: {
        const struct starpu_data_descr *descrs = va_arg(*ap, struct starpu_data_descr *);
        return add_descrs(a, descrs, va_arg(*ap, int));
    }
    default:
        if (orr_insert_skip(kind, ap)) return 0;
        orr_error("starpu_mpi_task_insert: unknown argument kind %d%s; the list must end with 0", kind,
                  a->count ? " after the data" : "");
        return -EINVAL;
    }
}

int orr_arguments_read(struct orr_arguments *a, struct starpu_codelet *cl, va_list *ap)
{
    for (int kind; (kind = va_arg(*ap, int)) != 0;) {
        if (orr_likely(kind < STARPU_ACCESS_MODE_MAX)) {
            if (orr_unlikely(!make_room(a, 1))) return -ENOMEM;
            add(a, va_arg(*ap, starpu_data_handle_t), kind);
        } else if (kind == STARPU_TASK_FILE) {
            a->file = va_arg(*ap, const char *);
        } else if (kind == STARPU_TASK_LINE) {
            a->line = va_arg(*ap, int);
        } else {
            int r = read_other(a, cl, kind, ap);
            if (orr_unlikely(r)) return r;
        }
    }
    return 0;
}
