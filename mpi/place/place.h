/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: the table by which a placement chooses the ranks of tasks.
 * Threads: the thread that submits, and no other at the same time. Owns: the table's shape. Not here: which
 * placement is in use (policies.h), what the program says of a task (decide.c).
 *
 * Every rank repeats the same choice for itself, so it must come out the same: a placement is a function of
 * the stream of insertions and of its own state, which follows from the stream. It looks at no clock, at no
 * address, and not at the rank it runs on; sums are integers; ties go to the lowest rank. Then the ranks of a
 * large machine can be tried in one process (tests/mpi/placements.c). It runs once for each insertion.
 *
 * A placement is one file here that ends in one constant table, named in builtin.def. */
#ifndef ORR_MPI_PLACE_H
#define ORR_MPI_PLACE_H

#include <starpu_hash.h>
#include <starpu_task.h>

#include "core/data/data.h"
#include "mpi/value/ownership.h"

/* No rank is known, or said. */
enum { ORR_PLACE_OPEN = -1000 };

/* An insertion; borrowed for the call. */
struct orr_place_view {
    const struct orr_comm *comm;     /* whose ranks are meant; its own rank is not to be looked at */
    const struct starpu_codelet *cl; /* NULL: none */
    struct starpu_data_descr *data;  /* what it accesses; a handle may be NULL: left out here */
    int count;                       /* of data */
    int priority;
    int written_on;   /* the rank that owns all that it writes; ORR_PLACE_OPEN: several, or none */
    int fixed;        /* the rank that the program says; ORR_PLACE_OPEN: the placement chooses */
    const char *file; /* where it was inserted; NULL: not known */
    int line;
    uint64_t position; /* insertions on the communicator since begin; 0 for who is not asked for all */
};

/* What ranks measured and agreed on. */
struct orr_place_measure {
    uint64_t position;  /* told before this insertion, on every rank */
    uint64_t key;       /* of what tasks do (orr_length_key); 0: symbol and footprint say it */
    const char *symbol; /* NULL without a key: it is the slowness of a rank */
    uint32_t footprint;
    int rank;       /* of a slowness */
    int kind;       /* of worker: enum starpu_worker_archtype */
    uint64_t ns;    /* how long it takes where nothing is slow; 0: a slowness */
    uint32_t slow;  /* how many times that it takes there, of 1000 */
    bool is_energy; /* what it consumes, in ns as nanojoules */
};

struct orr_bootstrap;
struct orr_machines;
struct orr_place_program;

enum { ORR_PLACE_TEXT = 600 }; /* what is said of a difference */

/* What a placement that is asked for all tasks begins with; borrowed for the call, but for machines. */
struct orr_place_setup {
    int ranks;
    const char *argument; /* what the setting says behind the name and a colon; NULL: nothing */
    const struct orr_machines *machines;     /* what the ranks compute with; lasts longer. NULL: not known */
    uint64_t latency_ns, bytes_per_us;       /* of messages between ranks; 0: not known */
    uint64_t us_per_joule;                   /* what energy is worth; 0: nothing */
    const struct orr_place_program *program; /* of the program's own placement, else NULL */
    /* To be called when the stream has a codelet with a footprint for the first time. NULL: nobody asks. */
    void (*seen)(void *arg, const struct starpu_codelet *cl, uint32_t footprint);
    void *seen_arg; /* lasts longer */
};

struct orr_place_ops {
    const char *name; /* first (builtin.h) */
    /* It is asked for every task of the stream, those that the program places too (fixed), in order. False:
     * it has no state, and is asked only where neither the program nor the owner of what is written says it.
     */
    bool for_all;
    /* With for_all: what is written stays on the rank that wrote it, and goes to its owner only where the
     * program needs it there. */
    bool moves_data;
    /* With for_all and measured: it wants to know what tasks take, on all ranks, as the job goes on. */
    bool learns;
    /* With for_all: state for a communicator of so many ranks; must not grow with their number more than by
     * something for each. 0, -ENOMEM or -EINVAL (said why). */
    int (*begin)(const struct orr_place_setup *setup, void **state_out);
    /* Optional, with begin: whether all ranks have alike what the argument names. Collective, when the layer
     * starts. 0, or a negative errno: ranks differ, and why says how (-EINVAL). */
    int (*agree)(const struct orr_bootstrap *b, const char *argument, char why[ORR_PLACE_TEXT]);
    /* The rank; with view->fixed that one. A negative errno: it cannot say (said why). */
    int (*choose)(void *state, const struct orr_place_view *view);
    /* Optional: a time, or a slowness, is known from this place of the stream on. */
    void (*measured)(void *state, const struct orr_place_measure *m);
    /* Optional: at this place of the stream all ranks wait for all tasks. */
    void (*met)(void *state);
    /* Optional, with for_all: the task of the insertion at that position, on a rank that runs it, before it
     * is submitted: binds it to a worker. 0, or -EINVAL (said why): it is not submitted. */
    int (*bind)(void *state, struct starpu_task *task, uint64_t position);
    /* Optional, with for_all and without learns: an iteration is replayed. Whether the next so many
     * insertions, which are those from `from` on once more, go to the ranks of those; then they count as
     * chosen, and choose is not called for them. */
    bool (*repeat)(void *state, uint64_t from, uint64_t next, uint64_t count);
    /* Optional, with for_all, instead of repeat: a number that is another when what it goes by has changed.
     * An iteration that was inserted twice alike goes where it went then, until that happens (frozen.h).
     * Called where iterations begin and end, on all ranks. False: so soon it does not go by them for long. */
    bool (*figures)(void *state, uint64_t *figures_out);
    /* With figures: an iteration begins that goes where it went before, choose is not called for it; or (off)
     * one for which that is over. */
    void (*frozen)(void *state, bool on);
    void (*end)(void *state); /* with for_all */
};

/* The footprint that the task will have (starpu_task_data_footprint), from the shapes of its data alone. */
static inline uint32_t orr_place_footprint(const struct orr_place_view *v)
{
    uint32_t crc = 0;
    for (int i = 0; i < v->count; i++)
        if (v->data[i].handle && !(v->data[i].mode & STARPU_NOFOOTPRINT))
            crc = starpu_hash_crc32c_be(v->data[i].handle->footprint, crc);
    return crc;
}

#endif
