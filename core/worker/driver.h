/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.h: the table a driver fills in: how many devices of a kind there are, and how a worker runs a task
 * on one.
 * Threads: each slot says who calls it. Owns: the table's shape. Not here: memory of devices
 * (core/mem/node.h), what else a kind is (core/base/kind.h). A driver is one folder in drivers/ that ends in
 * one const table, plus one line in core/base/kind.def. */
#ifndef ORR_WORKER_DRIVER_H
#define ORR_WORKER_DRIVER_H

#include <starpu.h>
#include <stdbool.h>

#include "core/base/kind.h"

struct orr_worker;
struct orr_task;

struct orr_driver_ops {
    const char *name; /* "CPU", "Sim" */
    /* How many workers of the kind to make, from conf and environment; before any worker exists. Main
     * thread. */
    int (*count)(const struct orr_kind *kind, const struct starpu_conf *conf);
    /* Fills in w's device, node (registering a memory node when the device has one), name. Main thread. 0 or
     * -errno. */
    int (*setup)(struct orr_worker *w, int devid, const struct starpu_conf *conf);
    /* On the worker's thread, before its first task / after its last. Optional. */
    int (*open)(struct orr_worker *w);
    void (*close)(struct orr_worker *w);
    /* Runs implementation nimpl of t (orr_worker_function) on w's thread; returns when the results are on the
     * device. Inputs are in place. */
    void (*execute)(struct orr_worker *w, struct orr_task *t, unsigned nimpl);
    /* Releases what setup took. Main thread, after the worker's thread ended. Optional. */
    void (*teardown)(struct orr_worker *w);
};

struct orr_driver {
    const struct orr_driver_ops *ops;
    const struct orr_kind *kind;
};

extern const struct orr_driver orr_drivers[]; /* the last has no ops; drivers/builtin.c */

#endif
