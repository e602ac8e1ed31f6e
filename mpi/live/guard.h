/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.h: a thread of the layer's own on every rank: it beats, notices ranks that died or stopped and ends
 * the job, and does what others of the room leave to it. Threads: start, closing and stop by the main thread;
 * wake from any. Owns: struct orr_guard. Not here: who listens to whom (pulse.h), other ranks' questions
 * about the stream of insertions (stream.h). */
#ifndef ORR_MPI_GUARD_H
#define ORR_MPI_GUARD_H

#include <poll.h>

#include "mpi/live/control.h"
#include "mpi/live/pulse.h"
#include "mpi/wire/cluster.h"

enum { ORR_GUARD_PROCESSES = 16 };

/* Zero at first. */
struct orr_guard {
    struct orr_cluster *cluster;    /* [const] */
    struct orr_controls *controls;  /* [const] */
    bool (*chore)(void *chore_arg); /* [const while running] */
    void *chore_arg;                /* [const while running] */
    pthread_t thread;
    _Atomic bool running;
    bool watching; /* [const while running] */
    pid_t pid;     /* a forked child has no guard [const while running] */
    int wake_fd;   /* 0: none yet */
    /* [own: guard] wake_fd first, then processes of other ranks */
    struct pollfd fds[1 + ORR_GUARD_PROCESSES];
    int rank_of[1 + ORR_GUARD_PROCESSES];
    bool silent[1 + ORR_GUARD_PROCESSES];
    int nfds;
    struct orr_pulse pulse;
    _Atomic uint32_t stop, closing, silenced, leaving; /* leaving: 1 asked for, 2 told */
    _Atomic uint64_t told;                             /* last GONE: 1 + rank, why << 32; 0: none */
    int named[2 * ORR_GUARD_PROCESSES], nnamed;        /* [own: guard] */
};

struct orr_guard_setup {
    uint32_t limit_ms;        /* how long a rank may be silent, the same on all ranks; 0: nobody is watched */
    const pid_t *pids;        /* by rank: its process as seen from here, 0 unknown; borrowed during start */
    bool (*chore)(void *arg); /* what the thread does besides, each time it looks; true: the job is to end */
    void *chore_arg;
};

/* Before anything else. Borrows both. */
void orr_guard_init(struct orr_guard *g, struct orr_cluster *cl, struct orr_controls *controls);

/* How long a rank may be silent, as this rank's environment says. */
uint32_t orr_guard_limit_ms(void);
/* 0, or -EAGAIN: no thread. With one rank there is nothing to guard. */
int orr_guard_start(struct orr_guard *g, const struct orr_guard_setup *setup);
/* All ranks are about to stop: one that ends now may have done all its work. */
void orr_guard_closing(struct orr_guard *g);
void orr_guard_stop(struct orr_guard *g);
/* The program exits: if the layer still runs the others are told, while they can hear it. */
void orr_guard_exit(struct orr_guard *g);

/* There is something to do before the next look. */
void orr_guard_wake(struct orr_guard *g);
/* This rank ends for a reason that was said: what becomes of the others is not. */
void orr_guard_silence(struct orr_guard *g);
/* Ends this process with status 1 for such a reason, and the job with it, but lets the others say theirs
 * first. */
_Noreturn void orr_guard_end(struct orr_guard *g);

#endif
