/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h: a CUDA device as the files of this folder share it, and marks: how far a stream has come.
 * Threads: each function says. Owns: the shapes of a device and a mark. Not here: memory (memory.h). */
#ifndef ORR_DRIVERS_CUDA_DEVICE_H
#define ORR_DRIVERS_CUDA_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sync.h"
#include "core/mem/node.h"
#include "drivers/cuda/library.h"

struct orr_kind;
struct orr_worker;
struct cuda_buffer;
struct cuda_mark;

enum { CUDA_WORKERS_MAX = 16, CUDA_BRIEF = 8 };

/* A queue of the device's, in order. */
struct cuda_queue {
    cuda_stream stream;
    _Atomic uint64_t moved_ns; /* when something was last seen to end there [any: statistic] */
};

struct cuda_device {
    /* [const between open and close] */
    int number;
    cuda_device_handle handle;
    cuda_context context;
    unsigned node, workers;
    char name[40];
    uint64_t patience_ns;                        /* how long it may answer nothing; 0: for ever */
    struct cuda_queue in, out, peer;             /* copies from main memory, to it, from other devices */
    struct cuda_queue kernels[CUDA_WORKERS_MAX]; /* by worker */
    /* written by the main thread while devices are opened [const while workers run] */
    uint32_t reaches; /* bit: it reads that node's memory directly */
    /* the rest */
    _Atomic bool lost;           /* nothing of it is used again */
    _Atomic bool hangs;          /* and not even given back: that might never end */
    ORR_SPIN(cuda_marks) lock;   /* protects marks and buffers; leaf */
    struct cuda_mark *marks;     /* that nobody uses */
    struct cuda_buffer *buffers; /* the same, of those for copies with a stop (staging.c) */
    unsigned buffer_count;       /* of all of these */
};

/* The device of a node, or NULL: it is none of ours. Any thread. */
struct cuda_device *orr_cuda_of_node(unsigned node);
/* The device with this number; NULL: it is not open. Any thread. */
struct cuda_device *orr_cuda_by_number(int number);
/* The device of the calling CUDA worker, and the worker's queue; NULL: the calling thread is none. */
struct cuda_device *orr_cuda_mine(struct cuda_queue **queue_out);

/* Makes the device's context the calling thread's, until orr_cuda_leave. -EIO: it cannot. */
struct cuda_visit {
    bool pushed;
};
int orr_cuda_enter(struct cuda_device *d, struct cuda_visit *v_out);
void orr_cuda_leave(const struct cuda_visit *v);

/* Says what a function of the library answered; returns -EIO. */
int orr_cuda_failed(const struct cuda_device *d, const char *function, int result);
/* Gives the device up, which does not answer (hangs) or answers everything with errors; the first time that
 * is said. */
void orr_cuda_lose(struct cuda_device *d, bool hangs, const char *why);

/* Gives a copy between two nodes, one of them of CUDA's, to a stream of the calling thread's context: a
 * result of the library's. What has begun goes on even if it is an error. */
int orr_cuda_copy_in(cuda_stream stream, const struct orr_location *src, const struct orr_location *dst,
                     const struct orr_box *box);

/* ---- marks: the end of what a queue was given until now ---- */

/* In the device's context, each. One at a time touches a mark. */

/* A mark of nothing yet; NULL: none can be made. */
struct cuda_mark *orr_cuda_mark_get(struct cuda_device *d, struct cuda_queue *q);
/* It now stands for all that the queue was given until now. failed: part of that could not be given to it, as
 * was said, so it ends with -EIO. Enters the context itself. */
void orr_cuda_mark_set(struct cuda_mark *m, bool failed);
/* 0: the queue has come there; -EAGAIN: not yet; -EIO: it has, or never will, and something failed: why_out
 * says what. When it is over, the mark is given back. Enters the context itself; does not block. */
int orr_cuda_mark_test(struct cuda_mark *m, struct cuda_text *why_out);
/* Gives back one that was never set. */
void orr_cuda_mark_put(struct cuda_mark *m);

/* ---- for device.c ---- */

/* Registers the device's memory node. In its context. 0, or -errno. */
int orr_cuda_memory_open(struct cuda_device *d, const struct orr_kind *kind, const char *name);
/* Frees all marks. In its context, but for a lost device. */
void orr_cuda_marks_free(struct cuda_device *d);

extern const struct orr_driver_ops orr_cuda_driver;

#endif
