/* SPDX-License-Identifier: BSD-3-Clause */
/* marks.c: how far a device's kernels have come.
 * Threads: the device's worker; the bell is rung on threads of the library. Owns: the marks of a device.
 * Not here: what is put into the queue (kernel.c).
 *
 * A mark is a marker behind all that the queue was given until then; when it is over, so are the kernels
 * before it. The more are under way, the fewer marks they get (one for an eighth of them, but for many one
 * every APART kernels: who falls behind has fewer under way and must not pay for more marks), because a
 * marker costs as much as a launch; the last ones get theirs when they are asked for. A worker that is about
 * to sleep has the library ring a bell at the end of a mark: a call on one of its threads, which may come
 * late, when the mark is long forgotten; so it knows the device only, which stays until all such calls are
 * over. */
#include <errno.h>
#include <sched.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "drivers/opencl/opencl.h"

enum { PART = 8, APART = 24, TRIES = 3 };

static struct orr_opencl_mark *first_mark(struct orr_opencl_marks *m)
{
    return &m->ring[m->first];
}

/* Behind all that the queue has. False: it cannot be. */
static bool put(struct orr_opencl_device *d, cl_event before)
{
    struct orr_opencl_marks *m = &d->marks;
    cl_event event;
    if (m->count == ORR_OPENCL_BRIEF ||
        orr_cl.EnqueueMarkerWithWaitList(d->kernels, 0, NULL, &event) != CL_SUCCESS) {
        m->missed++;
        return false;
    }
    orr_cl.Flush(d->kernels); /* what it does not start now starts when it is asked */
    m->ring[(m->first + m->count++) % ORR_OPENCL_BRIEF] = (struct orr_opencl_mark){
        .words = { [OPENCL_EVENT] = (uintptr_t)event, [OPENCL_DEVICE] = (uintptr_t)d },
        .upto = m->submitted,
        .before = before
    };
    m->marked = m->submitted;
    m->missed = 0;
    return true;
}

uint64_t orr_opencl_mark(struct orr_opencl_device *d, cl_event before)
{
    struct orr_opencl_marks *m = &d->marks;
    m->submitted++;
    uint64_t since = m->submitted - m->marked, under_way = m->submitted - m->ended;
    bool due = before || (under_way < 2 * APART ? since * PART >= under_way : since >= APART);
    if (due && !put(d, before) && before) orr_cl.ReleaseEvent(before); /* it is tried again when asked */
    return m->submitted;
}

/* How long the kernel behind `before` took; 0: that is not known. */
static double time_of(const struct orr_opencl_mark *mark)
{
    cl_ulong begin = 0, end = 0;
    cl_event event = (cl_event)(uintptr_t)mark->words[OPENCL_EVENT];
    if (orr_cl.GetEventProfilingInfo(mark->before, CL_PROFILING_COMMAND_END, sizeof begin, &begin, NULL) ||
        orr_cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL))
        return 0;
    return end > begin ? (double)(end - begin) * 1e-3 : 0;
}

/* The first mark is over, or nothing of the device is touched any more. */
static void leave(struct orr_opencl_device *d, int status)
{
    struct orr_opencl_marks *m = &d->marks;
    struct orr_opencl_mark *mark = first_mark(m);
    m->over = mark->upto;
    m->status = status;
    m->us = status == 0 && mark->before ? time_of(mark) : 0;
    m->first = (m->first + 1) % ORR_OPENCL_BRIEF;
    m->count--;
    if (orr_load_relaxed(&d->silent)) return;
    orr_cl.ReleaseEvent((cl_event)(uintptr_t)mark->words[OPENCL_EVENT]);
    if (mark->before) orr_cl.ReleaseEvent(mark->before);
}

/* Waits for a kernel, the first one, that may have no mark yet. */
static int ask(struct orr_opencl_device *d, uint64_t number)
{
    struct orr_opencl_marks *m = &d->marks;
    if (number > m->marked && !put(d, NULL))
        return m->missed < TRIES ? -EAGAIN : orr_opencl_is_silent(d, "takes no marker any more");
    int r = orr_opencl_look(first_mark(m)->words);
    if (r != -EAGAIN) leave(d, r);
    return r;
}

int orr_opencl_mark_test(struct orr_opencl_device *d, uint64_t number, double *us_out)
{
    struct orr_opencl_marks *m = &d->marks;
    if (number > m->over && orr_load_relaxed(&d->silent)) return -EIO;
    if (number > m->over && ask(d, number) == -EAGAIN) return -EAGAIN;
    m->ended = number;
    *us_out = number == m->over ? m->us : 0;
    return orr_load_relaxed(&d->silent) ? -EIO : m->status;
}

/* ---- the bell ---- */

static void CL_CALLBACK ring(cl_event event, cl_int status, void *arg)
{
    struct orr_opencl_device *d = arg;
    (void)event;
    (void)status;
    orr_event_set(&d->bell);
    orr_sub_acq_rel(&d->rings, 1u); /* d may be gone now */
}

struct orr_event *orr_opencl_mark_bell(struct orr_opencl_device *d, uint64_t number)
{
    struct orr_opencl_marks *m = &d->marks;
    if (m->count == 0 || number > m->marked || number <= m->over || orr_load_relaxed(&d->silent)) return NULL;
    struct orr_opencl_mark *mark = first_mark(m);
    if (mark->rings && !orr_event_is_set(&d->bell)) return &d->bell;
    orr_event_init(&d->bell); /* that was an earlier mark's */
    orr_add_relaxed(&d->rings, 1u);
    mark->rings = orr_cl.SetEventCallback((cl_event)(uintptr_t)mark->words[OPENCL_EVENT], CL_COMPLETE, ring,
                                          d) == CL_SUCCESS;
    if (mark->rings) return &d->bell;
    orr_sub_acq_rel(&d->rings, 1u);
    return NULL;
}

bool orr_opencl_bell_rests(struct orr_opencl_device *d)
{
    enum { PATIENCE_NS = 1000000000 };
    uint64_t begin = orr_clock_ns();
    while (orr_load_acquire(&d->rings) > 0) {
        if (orr_clock_ns() - begin > PATIENCE_NS) return false;
        sched_yield();
    }
    return true;
}
