/* SPDX-License-Identifier: BSD-3-Clause */
/* convert.c: converting a copy of multiformat data from one layout to another on its node, and which
 * conversions lie before a use (layouts.h).
 * Threads: whoever fetches; a device's layout is made by workers of the device only. Owns: nothing. Not here:
 * when a copy is looked at (coherency.c), the layouts themselves (interfaces/multiformat.c), running the
 * codelet (core/worker/convert.c). */
#include <errno.h>

#include <starpu.h>

#include "core/base/log.h"
#include "core/data/layouts.h"
#include "core/data/transfer.h"

int (*orr_layout_on_device)(struct orr_data *h, unsigned node, void (*done)(void *arg, int status),
                            void *arg);

void orr_layouts_own(const struct orr_fetch *f)
{
    unsigned nodes = orr_layout_of_node(f->handle, f->node);
    if (f->layout) return;
    if (!(f->mode & STARPU_R) || (orr_layouts(f->handle, f->node) & nodes))
        orr_layouts_set(f->handle, f->node, nodes);
}

bool orr_layouts_fit(const struct orr_data *h, unsigned src, unsigned dst)
{
    if (orr_node_is_cpu(dst)) return true;
    if (orr_layouts_by_program(h)) return orr_node_is_cpu(src) && (orr_layouts(h, src) & ORR_LAYOUT_CPU);
    return (orr_layouts(h, src) & (ORR_LAYOUT_CPU | orr_layout_of_node(h, dst)));
}

unsigned orr_layout_wanted(const struct orr_fetch *f)
{
    if (f->prefetch || !(f->mode & STARPU_R)) return 0;
    if (!f->layout) return orr_node_is_cpu(f->node) ? ORR_LAYOUT_CPU : 0;
    return f->layout & ~(unsigned)ORR_LAYOUT_ANY;
}

unsigned orr_layout_missing(const struct orr_fetch *f)
{
    struct orr_data *h = f->handle;
    if (h->replicates[f->node].state == ORR_INVALID) return 0;
    return orr_layout_wanted(f) & ~orr_layouts(h, f->node);
}

static int convert(struct orr_transfer *t)
{
    struct orr_data *h = t->handle;
    unsigned from = orr_layouts(h, t->dst), to = t->converts;
    struct starpu_codelet *cl = orr_layout_codelet(h, from, to);
    int r = !cl ? -ENOSYS : orr_data_hooks.convert ? orr_data_hooks.convert(h, t->dst, cl, NULL) : -ENODEV;
    if (r == 0) {
        orr_layouts_set(h, t->dst, from | to);
        return 0;
    }
    char label[64];
    orr_error("data %s could not be converted from the layout of %s to that of %s on memory node %u (%s): %s",
              orr_data_label(h, label, sizeof label), orr_layout_title(from), orr_layout_title(to), t->dst,
              orr_nodes[t->dst].name,
              r == -ENOSYS ? "its struct starpu_multiformat_data_interface_ops names no codelet for that"
              : r == -ENODEV
                  ? "the codelet for that needs one buffer, and an implementation for those who use "
                    "the data there"
                  : strerror(-r));
    return -EIO;
}

static void convert_later(struct orr_waiter *w)
{
    struct orr_transfer *t = (struct orr_transfer *)((char *)w - offsetof(struct orr_transfer, later));
    orr_transfer_finish(t, convert(t));
}

void orr_convert(struct orr_transfer *t)
{
    if (!orr_waiter_put_off(&t->later, convert_later)) convert_later(&t->later);
}

/* ---- foretelling ---- */

unsigned orr_data_conversions(struct orr_data *h, unsigned node,
                              struct orr_conversion out[ORR_CONVERSIONS_MAX])
{
    unsigned count = 0, have = 0, to = orr_layout_of_node(h, node);
    orr_spin_lock(&h->queue.lock);
    bool there = node < h->nnodes && h->replicates[node].state != ORR_INVALID;
    int src = there ? (int)node : orr_transfer_source_locked(h, node, 0);
    if (src >= 0) have = orr_layouts(h, (unsigned)src);
    orr_spin_unlock(&h->queue.lock);
    if (!have || (have & to)) return 0;
    if (!(have & ORR_LAYOUT_CPU))
        out[count++] =
            (struct orr_conversion){ orr_layout_codelet(h, have, ORR_LAYOUT_CPU), orr_node_main_of(node) };
    if (to != ORR_LAYOUT_CPU)
        out[count++] = (struct orr_conversion){ orr_layout_codelet(h, ORR_LAYOUT_CPU, to), node };
    return count;
}
