/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint.h: values of registered data, and of the program's variables, as they are at one place of the
 * stream on all ranks, brought to files.
 * Threads: all ranks' main threads, in the same order; a thread of its own writes; whoever polls hears the
 * others. Owns: struct orr_checkpoints, templates and what is to be written. Not here: the files
 * (snapshot.h), the argument lists (api/checkpoint.c).
 *
 * A checkpoint is complete when every rank has its file: each tells rank 0, which tells all. The last two
 * complete ones are kept, others removed. */
#ifndef ORR_MPI_CHECKPOINT_H
#define ORR_MPI_CHECKPOINT_H

#include "core/data/data.h"
#include "mpi/live/control.h"
#include "mpi/value/snapshot.h"
#include "mpi/wire/cluster.h"

enum orr_checkpoint_kind { ORR_CHECKPOINT_DATA = 1, ORR_CHECKPOINT_VALUE };

/* What a checkpoint has. */
struct orr_checkpoint_entry {
    enum orr_checkpoint_kind kind;
    struct orr_data *handle; /* DATA */
    void *memory;            /* VALUE: of the program, on every rank its own */
    size_t bytes;
    int64_t tag; /* no two of a template have the same kind and tag */
    int writer;  /* DATA: who owned it when the template was frozen, and has it in its file */
};

struct orr_checkpoint_job;
struct orr_checkpoint_tally;

/* A template. */
struct orr_checkpoint {
    struct orr_checkpoints *all;          /* [const] */
    struct orr_checkpoint *next;          /* [lock: lock] */
    int id, domain;                       /* [const] no two templates have both */
    struct orr_checkpoint_entry *entries; /* [const once frozen] */
    unsigned count, room, local;          /* local: how many this rank writes [const once frozen] */
    uint32_t shape;                       /* [const once frozen] */
    bool frozen;                          /* [own: main thread] */
    uint64_t run;                         /* in names of files [const once submitted] */
    uint64_t submitted;                   /* the last instance [own: main thread] */
    uint64_t asked;                       /* how many were submitted by this run [own: main thread] */
    /* [lock: lock] */
    uint64_t settled;                 /* of these, how many are complete, or given up */
    int failed;                       /* of the last one that was given up, since it was asked for */
    struct orr_snapshot_when kept[2]; /* the last that are complete, the later first */
    unsigned nkept;
};

/* Begins as ORR_CHECKPOINTS_INITIALIZER. */
struct orr_checkpoints {
    struct orr_cluster *cluster;                   /* [const] */
    struct orr_controls *controls;                 /* [const] */
    char folder[PATH_MAX / 2], from[PATH_MAX / 2]; /* [const while it runs] from: "" is no restart */
    uint64_t run;                                  /* [const while it runs] on all ranks the same */
    bool runs;                                     /* [own: main thread] */
    pthread_t writer;
    ORR_MUTEX(checkpoints) lock; /* protects what follows, and what templates say */
    pthread_cond_t news;
    struct orr_checkpoint *templates;
    struct orr_checkpoint_job *first, **last; /* what the writer has to do, in order */
    struct orr_checkpoint_tally *tallies;     /* rank 0: instances that are not complete */
    bool ends;
};

#define ORR_CHECKPOINTS_INITIALIZER                                                                          \
    {                                                                                                        \
        .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER                                  \
    }

/* Each start of the layer. Borrows both. */
void orr_checkpoints_init(struct orr_checkpoints *all, struct orr_cluster *cl, struct orr_controls *controls);
/* Starts the writer and agrees on the run, unless that was done. from: a folder to restart from, or NULL; as
 * rank 0 says both. Collective. Blocks. 0, -EAGAIN (no thread), -ENAMETOOLONG or -EIO (said). */
int orr_checkpoints_start(struct orr_checkpoints *all, const char *folder, const char *from);
/* Waits for what is being written, ends the writer and all templates. Collective if it was started. Blocks. 0
 * or the status of what was given up. */
int orr_checkpoints_stop(struct orr_checkpoints *all);

/* NULL: out of memory, or there is one of that id and domain (said). */
struct orr_checkpoint *orr_checkpoint_create(struct orr_checkpoints *all, int id, int domain);
/* Copied. 0, -EINVAL: the tag is used already (said), -ENOMEM. */
int orr_checkpoint_add(struct orr_checkpoint *t, const struct orr_checkpoint_entry *e);
/* No entries are added any more. */
void orr_checkpoint_freeze(struct orr_checkpoint *t);

/* The values as they are at this place of the stream; does not wait for them. Collective. 0; -ENOMEM or what
 * a reduction says: then the instance is given up on all ranks. */
int orr_checkpoint_submit(struct orr_checkpoint *t, int priority);
/* Until all that were submitted are complete, or given up. Blocks. 0, or the status of the last that was
 * given up since this was asked. */
int orr_checkpoint_wait(struct orr_checkpoint *t);
/* Gives all entries the values of the last complete checkpoint of all ranks in the folder to restart from.
 * *instance_out: which; 0: nothing is to be restarted. Collective. Blocks. 0; -ENODATA: there is none that
 * all ranks can use (said, and why not). */
int orr_checkpoint_restart(struct orr_checkpoint *t, uint64_t *instance_out);
/* Waits, then removes this rank's files. Blocks. As orr_checkpoint_wait. */
int orr_checkpoint_discard(struct orr_checkpoint *t);

#endif
