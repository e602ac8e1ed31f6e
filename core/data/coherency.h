/* SPDX-License-Identifier: BSD-3-Clause */
/* coherency.h: where the valid copies of a handle are (MSI), and bringing one to a memory node.
 * Threads: any. Owns: the replicates' states and the transfers under way. Not here: who may access
 * (access.h), how bytes are copied between two nodes (core/mem/node.h), how an interface copies itself
 * (ops->copy_methods). */
#ifndef ORR_DATA_COHERENCY_H
#define ORR_DATA_COHERENCY_H

#include "core/data/data.h"
#include "core/mem/node.h"

/* How many of h's places there are nodes for: one may be for a store that is yet to come. */
static inline unsigned orr_data_nodes(const struct orr_data *h)
{
    unsigned count = orr_load_acquire(&orr_node_count);
    return count && count < h->nnodes ? count : h->nnodes;
}
static inline bool orr_data_has_node(const struct orr_data *h, unsigned node)
{
    return node < orr_data_nodes(h);
}

/* A wish for a valid copy on a node. Filled by the caller; owned by it until done() was called. */
struct orr_fetch {
    void (*done)(struct orr_fetch *f,
                 int status); /* status 0, -ENOMEM, -EIO, for a set -EAGAIN (orr_memory_load_begin); any
                               * thread, no locks held, must not block */
    struct orr_fetch *next;
    struct orr_data *handle;
    uint16_t node;
    uint16_t
        mode; /* STARPU_R: bytes are brought; STARPU_W alone: only memory; SCRATCH: memory without contents */
    bool prefetch; /* may be dropped (done() is called all the same); does not pin; STARPU_W announces no
                      write */
    bool idle;     /* only when the bus is idle */
    bool awaited;  /* of a prefetch: a task that is queued is to use the copy there */
    int prio;
    bool brief; /* what it fetches is used by one function that runs then (orr_fetch_task_inputs): a copy is
                 * used where another process has it (view.h) */
    bool quiet; /* the caller says itself why it failed */
    bool gives_up;  /* ends with -ENOMEM when orr_memory_give_up cancels what it waits for */
    uint8_t layout; /* of multiformat data (layouts.h): 0: as the program uses it, in main memory the CPU's
                     * and on a device as it is; ORR_LAYOUT_ANY; or the one to convert to: then this thread is
                     * a worker of the node, which has the copy, and starts the fetch */
    /* The fetches of one task (this one among them), NULL when it is alone: what they hold does not count as
     * held by others when it is decided whether room may yet come. Borrowed until done. */
    const struct orr_fetch *set;
    uint16_t set_count;
    void *arg;     /* for the caller */
    bool pinned;   /* [own: coherency] holds the copy; valid once done */
    bool has_turn; /* [own: coherency] of a prefetch: counts among those under way */
};

/* Starts the fetch. Returns 1 when the copy was there already (done() will not be called; the copy is pinned
 * unless prefetch), 0 when under way (done() will be called), or a negative error (-ENOMEM: no room even
 * after eviction; -ENODATA: nobody ever wrote it). */
ORR_EXPORT int orr_fetch_start(struct orr_fetch *f);

/* One of these nodes (a bit each) that has a valid copy of h while no main memory has; else the home node.
 * What it says may be over at once: copies come and go. */
ORR_EXPORT unsigned orr_data_only_on(struct orr_data *h, uint32_t nodes);

/* Ends a use begun by a successful fetch: unpins, and after a write makes this node the owner (the write
 * itself was announced at fetch time: other copies are invalid from then on). */
ORR_EXPORT void orr_fetch_end(struct orr_data *h, unsigned node, int mode);

/* Ends a use that came to nothing: what it was to write is as it was before, where that can be had (touched:
 * it is spoiled on this node). False: it cannot, and mode wants it read. */
bool orr_fetch_undo(struct orr_data *h, unsigned node, int mode, bool touched);

/* A writer goes on as a reader: its value may be brought elsewhere now, and is where the program wants it
 * (write-through). orr_fetch_end with STARPU_R is still due. */
void orr_fetch_downgrade(struct orr_data *h, unsigned node);

/* Puts h's copy on a node of this worker's, which holds it, into a layout. 0, or -EIO, which was said. */
int orr_fetch_layout(struct orr_data *h, unsigned node, unsigned layout);

/* orr_fetch_start + waiting; progress of all devices is driven meanwhile. 0 or a negative error. */
int orr_fetch_blocking(struct orr_data *h, unsigned node, int mode);

/* Marks every copy invalid (buffers of ours are given back). Called with the handle write-acquired. */
ORR_EXPORT void orr_data_invalidate_copies(struct orr_data *h);

/* The same after a task that was to write it failed: readers are told so. */
void orr_data_lose(struct orr_data *h);
/* Whether somebody wrote it, or it was registered with memory; why there is no copy of h, for messages. A
 * plan that reads may switch meanwhile. */
bool orr_data_has_value(struct orr_data *h);
const char *orr_data_why_none(struct orr_data *h);

/* On which node a worker of a node uses h. CPUs use any main memory: the copy where it is valid, else the
 * place where h has memory, else their own. */
unsigned orr_data_place_slow(struct orr_data *h, unsigned node);
static inline unsigned orr_data_place(struct orr_data *h, unsigned node)
{
    return orr_likely(orr_main_memories == 1) || !orr_node_is_cpu(node) ? node : orr_data_place_slow(h, node);
}
/* The same for who is no worker, and wants it in main memory. */
ORR_EXPORT unsigned orr_data_main(struct orr_data *h);
/* The same with the queue lock held; -1: in no main memory. */
int orr_data_main_place_locked(const struct orr_data *h, unsigned node);

/* Sets ready_interface again if nothing but main memory can hold the data.
 * Called with the queue lock held. */
void orr_data_update_ready_locked(struct orr_data *h);

/* Tests the copies under way and goes on with what was waiting; true when something moved. Any thread,
 * without locks. The layer above registers it as a progress function, and lets somebody call it while
 * orr_transfers_active is not 0. */
bool orr_transfers_poll(void);
/* The same, by who was told that a copy has ended and is told no more: if another thread looks just now, that
 * one looks again. Any thread. */
void orr_transfers_told(void);
/* Blocks until the event is set, polling meanwhile. */
void orr_transfers_wait(struct orr_event *e);
/* The same, but false when for so long nothing has moved, and all that is under way waits for memory; 0:
 * never false. */
bool orr_transfers_wait_fed(struct orr_event *e, uint64_t patience_us);
extern _Atomic uint32_t orr_transfers_active; /* [atomic: read by workers after they announced to sleep] */
extern void (*_Atomic orr_transfers_started)(
    void); /* called when a transfer starts; without locks; NULL: nobody */

/* The turn to load a task on a device's node, for one at a time: were two to take memory piece by piece, each
 * might wait for what the other holds. fetches: the task's, with set pointing to them; borrowed until the
 * end. False: not now. When what it holds is in the way of others, all that is still to come for it ends with
 * -EAGAIN: the caller ends all uses and the turn, and begins again later. */
bool orr_memory_load_begin(unsigned node, const struct orr_fetch *fetches, unsigned count);
void orr_memory_load_end(unsigned node);

/* How much of about so many bytes, which are wanted of a node that has no room, would have to be written back
 * first. A guess: what is being used just now counts as nothing. */
size_t orr_memory_write_back(unsigned node, size_t bytes);

/* Reads the settings of making room. Main thread, at start-up. */
void orr_memory_init(void);

/* Writes back what only a device has and throws out the rest, as far as nobody uses it just now; does not
 * wait. */
void orr_memory_empty(unsigned node);
/* This thread waits no longer for orr_memory_make_room. */
void orr_memory_room_over(unsigned node);
/* For a counted allocation of the program's that found no room: throws data out, or goes on with that. False:
 * there is nothing that could go. No locks held. */
bool orr_memory_make_room(unsigned node, size_t bytes);
/* By a worker of the node that has nothing to do: keeps some of it free, and some copies clean, as the
 * settings ask, if nothing is under way. */
void orr_memory_idle(unsigned node);
/* Copies were under way when a worker of the node looked: one of them looks again before it sleeps. [any] */
extern _Atomic bool orr_memory_untidy[STARPU_MAXNODES];

/* At shutdown, after workers stopped and before nodes are forgotten: forgets what is known of devices'
 * memories. */
void orr_transfers_fini(void);

/* Worker's private buffer of the shape of h, for STARPU_SCRATCH; fetched with mode STARPU_SCRATCH on its
 * node. NULL: no memory. Called by that worker. Destroyed with h. */
struct orr_data *orr_data_scratch(struct orr_data *h, unsigned worker_id);
void orr_data_scratch_free(struct orr_data *h);

#endif
