/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.h: the table a driver fills in: which devices of a kind there are, and how a worker runs a task on
 * one.
 * Threads: each slot says who calls it. Owns: the shape of the table and of struct orr_device. Not here:
 * memory of devices (core/mem/node.h), what else a kind is (core/base/kind.h), making workers (setup.c). A
 * driver is one folder in drivers/ that ends in one const table, plus one line in core/base/kind.def. */
#ifndef ORR_WORKER_DRIVER_H
#define ORR_WORKER_DRIVER_H

#include <starpu.h>
#include <stdbool.h>

#include "core/base/kind.h"
#include "core/base/sync.h"

struct orr_driver_ops;
struct orr_task;
struct orr_worker;

/* A device that was found. It is no worker: those that share it point here, each a stream of its own. */
struct orr_device {
    /* set before probe [const] */
    const struct orr_driver_ops *ops;
    const struct orr_kind *kind;
    /* set by probe; else as said here [const after it] */
    int number;       /* among the devices of its kind that this machine has; from 0 on */
    unsigned workers; /* how many share it; 1 */
    bool runs_cpu;    /* its workers also run what has functions for CPUs only; false */
    bool uses_cores;  /* it computes on cores of this machine: who waits for it leaves them to it; false */
    char name[64];    /* for people; the kind's title and the number */
    char bus[20];     /* where it is, as "0000:3b:00.0" (PCI); "": not known. Open may say it, too */
    /* set by open [const while workers run] */
    unsigned node; /* its memory: the main memory, or the node that open registers */
    void *state;   /* [own: driver] */
    /* what became of it (elsewhere.h) */
    _Atomic unsigned failures; /* in a row */
    _Atomic bool out;          /* it is given nothing any more */
};

/* A body under way on a device. */
struct orr_kernel {
    uint64_t words[4]; /* [own: driver] */
    double us;         /* how long it took, when the driver knows that; 0: the worker's clock says */
    bool timed;        /* before submit: somebody wants to know that */
};

struct orr_driver_ops {
    const char *name; /* "CPU", "Sim" */
    /* Describes the devices of the kind, max at most, as conf and environment want them: returns how many.
     * Nothing is opened. What is in devices_out before is said above. Main thread, before any worker
     * exists. */
    int (*probe)(const struct orr_kind *kind, const struct starpu_conf *conf, struct orr_device *devices_out,
                 unsigned max);
    /* Makes a device ready for its workers, d->workers of them; registers its memory node last, when it has
     * one. 0; or -errno with nothing left behind, and the device is not there: it gets no worker. Main
     * thread, before workers are numbered. Optional. */
    int (*open)(struct orr_device *d);
    /* After its workers ended, and all data are gone from its memory. Main thread. Optional. */
    void (*close)(struct orr_device *d);
    /* What is bound to a thread: on the worker's, before its first task / after its last. What goes wrong
     * here shows when a task is run. Optional. */
    void (*enter)(struct orr_worker *w);
    void (*leave)(struct orr_worker *w);
    /* Starts t's implementation t->nimpl (orr_worker_function) on w's thread; inputs are in place. What w
     * starts ends in order. 0: the results are on the device. -EAGAIN: the kernel goes on, k says to test
     * which it is; w starts others meanwhile (as many as its pipeline holds). Else -errno: nothing of it was
     * started, so nothing was written: what may have begun goes on, and fails in test. */
    int (*submit)(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k);
    /* How it goes with the first of those kernels: 0: it ended, -EAGAIN: not yet; else -errno: it failed, and
     * may have written anything where it was to write. On w's thread; must not block. Optional: where submit
     * never says -EAGAIN. */
    int (*test)(struct orr_worker *w, struct orr_kernel *k);
    /* What is set when the first of those kernels is over, or may be, once test said that it goes on: w is
     * about to sleep. NULL: nothing. On w's thread. Optional. */
    struct orr_event *(*alarm)(struct orr_worker *w, struct orr_kernel *k);
    /* Whether that is how a program names the device in starpu_conf.not_launched_drivers. Any thread.
     * Optional: by its number. */
    bool (*is_named)(const struct orr_device *d, const struct starpu_driver *name);
    /* Whether the device that is plugged in there is this driver's, as the last probe found: of this process,
     * or of another rank of the node with the same settings. Other drivers leave it alone then. Main thread.
     * Optional: none is. */
    bool (*drives)(const char *bus);
    /* What the device has taken since some time in the past, in J, for all that it did. 0; or -errno, it is
     * not known, and why is said. Any thread; may block. Optional. */
    int (*energy)(const struct orr_device *d, double *joules_out);
    /* How many brief kernels it takes at once where the program does not say how many; 0: as many as any. */
    unsigned brief_depth;
};

struct orr_driver {
    const struct orr_driver_ops *ops;
    const struct orr_kind *kind;
};

extern const struct orr_driver orr_drivers[]; /* the last has no ops; drivers/builtin.c */

/* CPU workers as conf or environment ask for them by number, less reserved cores; -1: neither does.
 * *reserved_out: cores that get no worker. */
long orr_cpus_wanted(const struct starpu_conf *conf, long *reserved_out);

/* For a driver's probe: whether a driver before it has the device that is plugged in there, and neither
 * program nor environment says how many of this kind are wanted. Main thread. */
bool orr_device_is_anothers(const struct orr_kind *kind, const struct starpu_conf *conf, const char *bus);

/* How many workers the accelerators have that were opened: each keeps a core busy. For the driver of CPUs,
 * which is asked last. */
unsigned orr_accelerator_workers(void);

#endif
