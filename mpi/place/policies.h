/* SPDX-License-Identifier: BSD-3-Clause */
/* policies.h: placements by number (node selection policies), and which is in use.
 * Threads: the thread that submits. Owns: struct orr_place, struct orr_placed. Not here: what a placement is
 * (place.h), when it is asked (decide.c). */
#ifndef ORR_MPI_POLICIES_H
#define ORR_MPI_POLICIES_H

#include "mpi/place/network.h"
#include "mpi/place/program.h"

struct orr_built;
struct orr_history;

enum { ORR_POLICIES_MAX = 63, ORR_PLACE_ARGUMENT = 1024 };

struct orr_recording;

struct orr_policy {
    const struct orr_place_ops *ops; /* NULL: there is none of this number */
    struct orr_place_program program;
};

/* What the room keeps for one cluster. Zero at first: the program may choose before the layer starts. */
struct orr_place {
    struct orr_policy added[ORR_POLICIES_MAX]; /* numbered after those of builtin.def */
    int current;
    char argument[ORR_PLACE_ARGUMENT]; /* of the setting; "": none [const while running] */
    char refusal[ORR_PLACE_TEXT];      /* how ranks differ in that; "": they do not [const while running] */
    uint64_t us_per_joule; /* what energy is worth, the same on all ranks; 0: nothing [const while running] */
    const struct orr_machines *machines; /* [const while running] */
    struct orr_network network;          /* as measured when the layer started [const while running] */
    bool for_all;                        /* so is the current one [read at each insertion] */
    bool moves;                          /* and it moves data [the same] */
    bool follows;                        /* there is a history, or it binds tasks [the same] */
    struct orr_history *history;         /* history.h; NULL: none [const while running] */
    struct orr_built *built; /* insert.c: tasks that the program has to submit [own: who inserts] */
    uint32_t changes;        /* counts those of current */
    _Atomic(struct orr_recording *)
        recording; /* replay.c: an iteration that is recorded now; NULL: none [any] */
    void (*_Atomic pre_submit_hook)(struct starpu_task *task); /* insert.c [atomic] */
};

/* The number of a built-in one, by its name up to a colon; NULL is the default's name. -EINVAL: there is none
 * (said, with those that are). */
int orr_policy_find(const char *name);
/* Adds one: fn for the program's own, else NULL. Its number, -ENOSPC or -EINVAL (said). */
int orr_policy_add(struct orr_place *p, const struct orr_place_ops *ops, orr_select_fn fn);
/* The program's own that sees a view. As orr_policy_add. */
int orr_policy_add_viewer(struct orr_place *p, orr_view_fn fn, void *arg);
int orr_policy_remove(struct orr_place *p, int policy);
int orr_policy_get_current(const struct orr_place *p);
/* From this place of the stream on; the same on all ranks. -1: no change. 0 or -EINVAL (said). */
int orr_policy_set_current(struct orr_place *p, int policy);

/* Whether a function of the program's answers for that number; -1: the current one. */
bool orr_policy_is_programs(const struct orr_place *p, int policy);

/* The layer starts with one that the environment chose, on all ranks: whether they have its argument alike.
 * What it says keeps it from beginning, on all ranks. Collective. */
void orr_policy_agree(struct orr_place *p, const struct orr_bootstrap *b);

/* The layer has started: measures what the current one wants to know. Collective. */
void orr_policy_start(struct orr_place *p, struct orr_comm *c);

/* The rank for one insertion, by a placement without state; policy -1: the current one. -EINVAL: there is
 * none of that number, or its answer is no rank (said). */
int orr_policy_choose(const struct orr_place *p, int policy, const struct orr_place_view *v);

/* ---- those that are asked for all ---- */

/* The rank for the next insertion on c, which gets its position. -EINVAL or -ENOMEM (said why). */
int orr_placed_choose(struct orr_comm *c, struct orr_place_view *v);
/* The task of the insertion that was chosen last, or of that at a position, where it runs here. 0 or -EINVAL
 * (said). */
int orr_placed_bind(struct orr_comm *c, struct starpu_task *task);
int orr_placed_bind_at(struct orr_comm *c, struct starpu_task *task, uint64_t position);
/* Whether the current one says what it repeats; the position of the next insertion; and whether so many from
 * there on are placed as those from `from` on: then they have been (struct orr_place_ops). */
bool orr_policy_repeats(const struct orr_place *p);
uint64_t orr_placed_position(const struct orr_comm *c);
bool orr_placed_repeat(struct orr_comm *c, uint64_t from, uint64_t count, uint64_t *at_out);
/* The same of one, `step` behind `from`, that is known to do what that did; under a placement with figures,
 * too. */
bool orr_placed_repeat_one(struct orr_comm *c, uint64_t from, uint64_t step, uint64_t *at_out);
/* Whether the current one has figures (struct orr_place_ops): its iterations go where they went while these
 * stand (frozen.h). begin and end are called on all ranks alike; begin: whether the iteration goes where it
 * went, or, under a placement without figures, may; then a rank that has recorded these choices, of so many
 * insertions, repeats them from *at_out on, and they count as placed. end: what was chosen. */
bool orr_policy_has_figures(const struct orr_place *p);
bool orr_placed_iteration_begin(struct orr_comm *c, int id);
uint64_t orr_placed_iteration_choices(const struct orr_comm *c);
bool orr_placed_iteration_repeat(struct orr_comm *c, uint64_t choices, uint64_t count, uint64_t *at_out);
uint64_t orr_placed_iteration_end(struct orr_comm *c);
/* The program marks where one begins and ends (starpu_iteration_push, _pop), perhaps on this rank alone. Once
 * the ranks have told each other that their marks are alike, those count: begun; whether it goes where it
 * went; ended; what was chosen. cut: it ends here without a mark. */
bool orr_placed_mark_begin(struct orr_comm *c, bool *repeats_out);
bool orr_placed_mark_end(struct orr_comm *c, uint64_t *choices_out);
uint64_t orr_placed_mark_cut(struct orr_comm *c);
/* At the same place of the stream on every rank: the next iterations are chosen anew. */
void orr_placed_thaw(struct orr_comm *c);
/* From the start on, or NULL. */
void orr_place_set_history(struct orr_place *p, struct orr_history *h);
/* At the same place of the stream of c on every rank. */
void orr_placed_measured(struct orr_comm *c, const struct orr_place_measure *m);
/* All ranks of c wait for all tasks at this place of its stream. */
void orr_placed_met(struct orr_comm *c);
void orr_placed_drop(struct orr_comm *c); /* c ends */

#endif
