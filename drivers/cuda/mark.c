/* SPDX-License-Identifier: BSD-3-Clause */
/* mark.c: marks in a device's queues (device.h): an event of CUDA's, and what is known when that fails.
 * Threads: any. Owns: the marks of each device. Not here: who waits for one (kernel.c, memory.c).
 *
 * Any call may fail, and then nothing is known of what the device was given. An event that cannot be recorded
 * or asked makes way for the whole queue: when that is empty, what the mark stands for is over, and counts as
 * failed. A device that does not tell that either is lost, as is one that shows no progress for as long as
 * ORRERY_DEVICE_PATIENCE says: its memory is never used or freed again, as something may still write there.
 */
#include <errno.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "drivers/cuda/device.h"

struct cuda_mark {
    struct cuda_mark *next;
    struct cuda_device *device;
    struct cuda_queue *queue;
    cuda_event event;
    uint64_t since_ns;
    bool failed; /* something that it stands for */
    bool drains; /* the event says nothing: it is over when the queue is empty */
    int result;  /* of the call that failed */
};

struct cuda_mark *orr_cuda_mark_get(struct cuda_device *d, struct cuda_queue *q)
{
    orr_spin_lock(&d->lock);
    struct cuda_mark *m = d->marks;
    if (m) d->marks = m->next;
    orr_spin_unlock(&d->lock);
    if (!m) {
        if (!(m = orr_calloc(1, sizeof *m))) return NULL;
        int r = orr_cuda.event_create(&m->event, CUDA_EVENT_NO_TIMING);
        if (r != CUDA_OK) {
            orr_cuda_failed(d, "cuEventCreate", r);
            orr_free(m);
            return NULL;
        }
        m->device = d;
    }
    m->queue = q;
    m->failed = m->drains = false;
    m->result = CUDA_OK;
    return m;
}

void orr_cuda_mark_put(struct cuda_mark *m)
{
    struct cuda_device *d = m->device;
    orr_spin_lock(&d->lock);
    m->next = d->marks;
    d->marks = m;
    orr_spin_unlock(&d->lock);
}

static void gone_wrong(struct cuda_mark *m, int result)
{
    m->failed = m->drains = true;
    if (m->result == CUDA_OK) m->result = result;
}

void orr_cuda_mark_set(struct cuda_mark *m, bool failed)
{
    struct cuda_visit v;
    m->failed |= failed;
    if (m->device->patience_ns) m->since_ns = orr_clock_ns();
    int r = orr_cuda_enter(m->device, &v) ? CUDA_INVALID_CONTEXT : CUDA_OK;
    if (r == CUDA_OK) {
        r = orr_cuda.event_record(m->event, m->queue->stream);
        orr_cuda_leave(&v);
    }
    if (r != CUDA_OK) gone_wrong(m, r);
}

/* Nothing has ended: whether it is too long ago that something did. */
static bool is_stuck(const struct cuda_mark *m)
{
    uint64_t patience = m->device->patience_ns;
    if (!patience) return false;
    uint64_t now = orr_clock_ns(), moved = orr_load_relaxed(&m->queue->moved_ns);
    uint64_t since = moved > m->since_ns ? moved : m->since_ns;
    return now > since && now - since > patience;
}

static int ask(const struct cuda_mark *m)
{
    struct cuda_visit v;
    if (orr_cuda_enter(m->device, &v)) return CUDA_INVALID_CONTEXT;
    int r = m->drains ? orr_cuda.stream_query(m->queue->stream) : orr_cuda.event_query(m->event);
    orr_cuda_leave(&v);
    return r;
}

/* It is over: the result of all that it stood for. */
static int over(struct cuda_mark *m, struct cuda_text *why_out)
{
    int r = m->failed ? -EIO : 0;
    if (m->failed && m->result != CUDA_OK)
        *why_out = orr_cuda_text(m->result);
    else if (m->failed)
        *why_out = (struct cuda_text){ "as was said before" };
    if (m->device->patience_ns) orr_store_relaxed(&m->queue->moved_ns, orr_clock_ns());
    orr_cuda_mark_put(m);
    return r;
}

static int over_as_lost(struct cuda_mark *m, struct cuda_text *why_out)
{
    *why_out = (struct cuda_text){ "the device is given up" };
    orr_cuda_mark_put(m);
    return -EIO;
}

int orr_cuda_mark_test(struct cuda_mark *m, struct cuda_text *why_out)
{
    if (orr_unlikely(orr_load_relaxed(&m->device->lost))) return over_as_lost(m, why_out);
    int r = ask(m);
    if (r == CUDA_OK) return over(m, why_out);
    if (r == CUDA_NOT_READY) {
        if (!is_stuck(m)) return -EAGAIN;
        orr_cuda_lose(m->device, true, "it has ended nothing for as long as ORRERY_DEVICE_PATIENCE says");
        return over_as_lost(m, why_out);
    }
    if (!m->drains) {
        gone_wrong(m, r);
        return -EAGAIN;
    }
    gone_wrong(m, r);
    orr_cuda_lose(m->device, false, orr_cuda_text(m->result).chars);
    return over(m, why_out);
}

void orr_cuda_marks_free(struct cuda_device *d)
{
    for (struct cuda_mark *m; (m = d->marks);) {
        d->marks = m->next;
        if (!orr_load_relaxed(&d->hangs)) orr_cuda.event_destroy(m->event);
        orr_free(m);
    }
}
