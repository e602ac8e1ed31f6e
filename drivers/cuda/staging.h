/* SPDX-License-Identifier: BSD-3-Clause */
/* staging.h: copies between a device and main memory that is not pinned.
 * Threads: any, for one copy one at a time. Owns: nothing. Not here: the other copies (memory.c). */
#ifndef ORR_DRIVERS_CUDA_STAGING_H
#define ORR_DRIVERS_CUDA_STAGING_H

#include "drivers/cuda/device.h"

/* A copy as it is given to a queue. */
struct cuda_job {
    struct cuda_device *device; /* in whose context */
    struct cuda_queue *queue;
    struct cuda_device *from, *to; /* NULL: main memory */
    uintptr_t src, dst;
};

/* Gives it to the queue, in the context: 0, or what the library says; *begun_out: part of it was taken. */
int orr_cuda_give_box(const struct cuda_job *j, const struct orr_box *b, bool *begun_out);

/* Whether the copy needs a stop: one end is main memory that CUDA knows nothing of. */
bool orr_cuda_needs_stop(const struct cuda_job *j, const struct orr_box *b);

/* Such a copy under way. */
struct cuda_staged {
    struct cuda_staged *next; /* [own: the caller] */
    struct cuda_job job;
    struct orr_box box;
    size_t plane, row, offset; /* of what is given next */
    struct cuda_piece {
        struct cuda_mark *mark;
        struct cuda_buffer *buffer;
        uintptr_t at; /* in main memory */
        size_t bytes, rows;
    } pieces[2]; /* that the device has, from `first` on */
    unsigned first, count;
    bool failed;
};

/* Begins one, in the context; NULL: there is no memory for stops. */
struct cuda_staged *orr_cuda_stage(const struct cuda_job *j, const struct orr_box *b);
/* How it goes on, and takes it further, as *moved then says: 0: it is over; -EAGAIN; -EIO: over, and it
 * failed: why_out says what. When it is over it is freed. Enters the context itself; does not block. */
int orr_cuda_staged_test(struct cuda_staged *s, struct cuda_text *why_out, bool *moved);

/* Gives back the device's memory for stops, when nothing is under way any more; not CUDA's unless inside the
 * context. */
void orr_cuda_buffers_free(struct cuda_device *d, bool inside);

#endif
