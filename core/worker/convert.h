/* SPDX-License-Identifier: BSD-3-Clause */
/* convert.h: running the codelets that convert multiformat data.
 * Threads: a worker of the node; for main memory any that may call functions of the program. Owns: nothing.
 * Not here: when a conversion is due (core/data/layouts.h). */
#ifndef ORR_WORKER_CONVERT_H
#define ORR_WORKER_CONVERT_H

#include <starpu.h>

struct orr_data;

/* Runs codelet cl with this argument on the copy of h on a node, which nobody throws out meanwhile. 0,
 * -ENODEV: it cannot be run on this thread for that node, or -ENOMEM. */
int orr_convert_here(struct orr_data *h, unsigned node, struct starpu_codelet *cl, void *cl_arg);

/* Has a worker of a device's node convert the copy of h there, which is held meanwhile, into the device's
 * layout. 0: done is called with 0 or -EIO, on any thread; -ENODEV: the node has no worker; or -ENOMEM. Any
 * thread. */
int orr_convert_there(struct orr_data *h, unsigned node, void (*done)(void *arg, int status), void *arg);

#endif
