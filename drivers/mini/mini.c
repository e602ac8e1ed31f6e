/* SPDX-License-Identifier: BSD-3-Clause */
/* mini.c: the smallest driver of a device with a memory of its own: a beginning for new ones, and a second
 * kind beside drivers/sim for tests. Off by default: ORRERY_NMINI says how many there are.
 * Threads: see core/worker/driver.h and core/mem/node.h. Owns: nothing. Not here: what takes time
 * (drivers/sim).
 *
 * Its memory is apart from the program's: a body that takes an address of main memory for one of the device
 * reads or writes something else. Copies end before copy returns, bodies before submit returns. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/mem/node.h"
#include "core/task/task.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"

enum { POISON = 0xdb };

/* ---- memory ---- */

static uintptr_t mini_alloc(unsigned node, size_t bytes)
{
    (void)node;
    return (uintptr_t)orr_malloc_aligned(ORR_CACHE_LINE, bytes);
}

/* What reads freed memory shall see it. */
static void mini_free(unsigned node, uintptr_t addr, size_t bytes)
{
    (void)node;
    memset((void *)addr, POISON, bytes);
    orr_free((void *)addr);
}

static int mini_copy(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                     struct orr_copy_event *event)
{
    (void)event;
    memcpy((void *)(dst->base + dst->offset), (const void *)(src->base + src->offset), bytes);
    return 0;
}

static int mini_test(struct orr_copy_event *event)
{
    (void)event; /* no copy goes on */
    return 0;
}

/* Where it is asked for, bodies use main memory in place. */
static uintptr_t mini_map(const struct orr_location *src, unsigned node, size_t bytes)
{
    (void)node;
    (void)bytes;
    return src->base + src->offset;
}

static const struct orr_node_ops mini_node_ops = {
    .name = "mini",
    .alloc = mini_alloc,
    .free = mini_free,
    .copy = mini_copy,
    .test = mini_test,
    .map = mini_map,
};

/* ---- workers ---- */

/* There are as many as somebody asks for. */
static int mini_probe(const struct orr_kind *kind, const struct starpu_conf *conf, struct orr_device *out,
                      unsigned max)
{
    long n = orr_kind_wanted(kind, conf, STARPU_MAXNODES - 1);
    (void)out; /* as they are */
    return n <= 0 ? 0 : n < (long)max ? (int)n : (int)max;
}

static int mini_open(struct orr_device *d)
{
    int node = orr_node_register(d->kind->memory, d->number, &mini_node_ops, 0, d->name);
    if (node < 0) return node;
    d->node = (unsigned)node;
    return 0;
}

static int mini_submit(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k)
{
    struct starpu_task *p = t->pub;
    (void)k; /* no kernel goes on */
    orr_worker_function(w, p->cl, t->nimpl)(STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    return 0;
}

const struct orr_driver_ops orr_mini_driver = {
    .name = "Mini",
    .probe = mini_probe,
    .open = mini_open,
    .submit = mini_submit,
};
