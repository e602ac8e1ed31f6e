/* SPDX-License-Identifier: BSD-3-Clause */
/* inputs.h: bringing a task's data to where its worker sees them, and ending their use after its body.
 * Threads: the worker's; fetches end on any. Owns: the shape of a load. Not here: what is valid where
 * (core/data/coherency.h), the pipelines of device workers (device.h), how a body is run (worker.h). */
#ifndef ORR_WORKER_INPUTS_H
#define ORR_WORKER_INPUTS_H

#include "core/base/sync.h"
#include "core/data/coherency.h"
#include "core/worker/worker.h"

enum { ORR_INLINE_FETCHES = 8 };

/* A task whose data are on their way. */
struct orr_input_load {
    struct orr_worker *worker;
    struct orr_task *task;
    struct orr_fetch *fetches; /* inline_fetches or heap */
    unsigned count;
    uint32_t nodes, turns; /* devices' nodes that it uses; whose turn it has */
    bool heap;
    _Atomic int left;   /* fetches outstanding; publishes status */
    _Atomic int status; /* the first error */
    struct orr_event loaded;
    struct orr_fetch inline_fetches[ORR_INLINE_FETCHES];
};

/* Brings what t needs to the nodes where worker w uses it, pins it there and fills in t's interfaces; sets
 * ORR_TF_FETCHED. Does nothing when that is set. Blocks, driving transfers meanwhile. 0, or -ENOMEM,
 * -ENODATA, -EIO with nothing pinned. */
int orr_fetch_task_inputs(struct orr_worker *w, struct orr_task *t);

/* The same for who keeps them longer than one function runs, which must not keep another process from its
 * memory: all are in memory of this one. */
int orr_fetch_inputs_to_keep(struct orr_worker *w, struct orr_task *t);

/* Whether the task that the calling thread runs reads h by a view. */
bool orr_task_holds_view(struct orr_data *h);

/* Says that it could not, with this status, and has t fail. */
void orr_task_without_inputs(struct orr_worker *w, struct orr_task *t, int status);

/* Ends the uses that orr_fetch_task_inputs began, after t's body; the caller clears ORR_TF_FETCHED. */
void orr_task_inputs_done(struct orr_worker *w, struct orr_task *t);

/* The same when the body did not run, or failed (touched: it may have written anything). Clears
 * ORR_TF_FETCHED. False: what it was to change in place is not to be had any more. */
bool orr_task_inputs_undo(struct orr_worker *w, struct orr_task *t, bool touched);

/* The same in pieces, for who does other things meanwhile: the list of fetches and the interfaces of the
 * task, nothing is started; 0 or -errno. */
int orr_inputs_prepare(struct orr_input_load *l, struct orr_worker *w, struct orr_task *t, bool quiet);
/* Whether l may load on all its nodes now. */
bool orr_inputs_turn(struct orr_input_load *l);
/* Starts the fetches. l must stay where it is until it is loaded: then the status says how it went; -EAGAIN:
 * it gave back what it had, take the turn and start again. */
void orr_inputs_start(struct orr_input_load *l);
/* One that is loaded gives back what it has, and is as one that did while it loaded. False: it is not, or has
 * nothing. */
bool orr_inputs_give_back(struct orr_input_load *l);
/* The task of a load (orr_starving.load) that may be over by now: only an address, copied (core/base/peek.h);
 * NULL: it cannot be read. Any thread. */
struct orr_task *orr_inputs_peek_task(const void *load);
/* Ends a load that is over. Returns its status. */
int orr_inputs_finish(struct orr_input_load *l);
/* Waits a little for transfers, perhaps for one event, without holding a core that others need. Callbacks
 * that a poll runs are no waiting; nor is it, for those who look for a standstill, when w's device computes
 * meanwhile. *since: 0 after each movement. */
void orr_inputs_wait(struct orr_worker *w, bool (*poll)(void), struct orr_event *e, bool computes,
                     uint64_t *since);
/* Whether who waits since then would sleep, not look again at once. */
bool orr_inputs_would_nap(uint64_t since);
/* Polls once, and unless something moved sleeps until e is set, but not for long. For who has enough under
 * way to come late, or whose device needs the core; full: and takes nothing more before e. */
void orr_inputs_nap(bool (*poll)(void), struct orr_event *e, bool full);

#endif
