/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.h: the table a kind of device fills in: how many there are, and how a worker runs a task on one.
 * Threads: each slot says who calls it. Owns: the table's shape. Not here: memory of devices
 * (core/mem/node.h). A driver is one folder in drivers/ that ends in one const table, plus one line in
 * drivers/builtin.def. */
#ifndef ORR_WORKER_DRIVER_H
#define ORR_WORKER_DRIVER_H

#include <starpu.h>
#include <stdbool.h>

struct orr_worker;
struct orr_task;

struct orr_driver_ops {
    const char *name; /* "CPU", "Sim" */
    enum starpu_worker_archtype type;
    uint32_t where; /* bit in starpu_codelet.where */
    /* How many workers to make, from conf and environment; before any worker exists. Main thread. */
    int (*count)(const struct starpu_conf *conf);
    /* Fills in w's device, node (registering a memory node when the device has one), name. Main thread. 0 or
     * -errno. */
    int (*setup)(struct orr_worker *w, int devid, const struct starpu_conf *conf);
    /* On the worker's thread, before its first task / after its last. Optional. */
    int (*open)(struct orr_worker *w);
    void (*close)(struct orr_worker *w);
    /* Runs implementation nimpl of t on w's thread; returns when the results are on the device. Inputs are in
     * place. */
    void (*execute)(struct orr_worker *w, struct orr_task *t, unsigned nimpl);
    /* Whether t has implementation nimpl for this kind of device. */
    bool (*has_impl)(const struct starpu_codelet *cl, unsigned nimpl);
    /* Releases what setup took. Main thread, after the worker's thread ended. Optional. */
    void (*teardown)(struct orr_worker *w);
};

extern const struct orr_driver_ops *const orr_drivers[]; /* NULL-terminated; drivers/builtin.c */

#endif
