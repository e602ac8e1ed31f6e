/* SPDX-License-Identifier: BSD-3-Clause */
/* lengths.h: how long a task will take, without a task: by what it does (symbol, footprint, the kinds of
 * worker it can use), by the kind of worker, and by the speed of the rank.
 * Threads: the thread that submits. Owns: struct orr_lengths. Not here: who measures (feedback.h), until when
 * ranks are busy (clocks.h).
 *
 * What a task does gets a number, in the order in which the stream first has it: the same on all ranks. Its
 * lengths are changed at the same place of the stream on all ranks, and there alone. */
#ifndef ORR_MPI_LENGTHS_H
#define ORR_MPI_LENGTHS_H

#include <starpu_perfmodel.h>
#include <starpu_task.h>
#include <stdint.h>

#include "mpi/place/clocks.h"
#include "mpi/place/place.h"

enum { ORR_SPEED_UNIT = 1000, ORR_LENGTH_UNKNOWN_NS = 100000, ORR_CHANGED_PERCENT = 20 };
/* What takes less takes what measuring, caches and interrupts make of it. */
enum { ORR_LENGTH_BRIEF_NS = 1000 };

/* Something that tasks do. */
struct orr_length {
    uint64_t key;
    uint32_t kinds;                    /* of the cluster's, that can do it; a bit each */
    bool seen;                         /* in the stream: until then kinds is not known */
    uint64_t ns[ORR_CLOCK_KINDS];      /* on a rank of speed ORR_SPEED_UNIT; 0: not known */
    uint64_t nj[ORR_CLOCK_KINDS];      /* nanojoules that it takes; 0: not known */
    uint64_t then_ns[ORR_CLOCK_KINDS]; /* when it was remembered; 0: it was not known */
};

struct orr_lengths {
    int kinds, ranks;
    uint8_t kind_of[STARPU_NARCH]; /* type of worker -> kind of the cluster; UINT8_MAX: no rank has one */
    struct orr_length *known;      /* by number */
    int count, room;
    bool has_energy; /* something's is known */
    int32_t *slots;  /* open addressing: numbers + 1 */
    uint32_t mask;
    uint32_t *slow;      /* [rank * kinds + kind]: how many times the length, of ORR_SPEED_UNIT */
    uint32_t *slow_then; /* when they were remembered */
    bool is_new;         /* a length was not known then */
    bool is_other;       /* a length was another then, by more than ORR_CHANGED_PERCENT */
    void (*seen)(void *arg, const struct starpu_codelet *cl, uint32_t footprint); /* place.h; or NULL */
    void *seen_arg;
    uint64_t unknown_ns; /* what stands for a length that is not known */
    struct {             /* where the latest were found */
        uint64_t key;
        int32_t number;
    } recent[64];
};

/* For the kinds of workers that there are; without a table of machines each rank counts as one core. 0 or
 * -ENOMEM; then fini. */
int orr_lengths_init(struct orr_lengths *l, const struct orr_place_setup *setup);
void orr_lengths_fini(struct orr_lengths *l);
/* The name by which times of a codelet are kept. */
static inline const char *orr_length_symbol(const struct starpu_codelet *cl)
{
    const char *s = cl->model ? cl->model->symbol : NULL;
    return s ? s : cl->name ? cl->name : "";
}
/* What stands for a symbol and a footprint; not 0. */
uint64_t orr_length_key(const char *symbol, uint32_t footprint);
/* The number of what such a task does, made now if it is new; -1: out of memory. */
int orr_lengths_number(struct orr_lengths *l, const struct orr_place_view *v);
/* The same by its key, made if the stream did not have it yet; -1: out of memory. */
int orr_lengths_of_key(struct orr_lengths *l, uint64_t key);
unsigned orr_lengths_workers(const struct orr_machines *m, int rank, int type); /* rank -1: of all */
/* Something agreed, from this place of the stream on. True: it was a slowness. */
bool orr_lengths_measured(struct orr_lengths *l, const struct orr_place_measure *m);
/* All as it is now: what changes from here on shows in is_new and is_other, and in the slownesses here. */
void orr_lengths_remember(struct orr_lengths *l);
bool orr_lengths_are_others(const struct orr_lengths *l); /* slownesses, by more than ORR_CHANGED_PERCENT */
/* What number takes on a rank with that kind. */
static inline uint64_t orr_lengths_ns(const struct orr_lengths *l, const struct orr_length *what, int rank,
                                      int kind)
{
    uint64_t ns = what->ns[kind] ? what->ns[kind] : l->unknown_ns;
    return ns * l->slow[rank * l->kinds + kind] / ORR_SPEED_UNIT;
}

#endif
