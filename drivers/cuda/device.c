/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c: which CUDA devices there are, and making one ready.
 * Threads: main, but for the look-ups. Owns: the list of open devices. Not here: memory (memory.c), tasks
 * (kernel.c), the library itself (library.c).
 *
 * A device is used through its primary context, which programs that use CUDA's runtime, and cuBLAS, have in
 * common with us. It has a queue for each worker and three for copies: these are apart from the default
 * stream, the workers' are not, so that a function that launches there is in order with its task's end. */
#include "drivers/cuda/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/topo/topo.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"
#include "drivers/cuda/energy.h"
#include "drivers/cuda/kernel.h"
#include "drivers/cuda/staging.h"

static struct cuda_device *by_node[STARPU_MAXNODES];           /* [const while workers run] */
static struct cuda_queue *queue_by_worker[STARPU_NMAXWORKERS]; /* [own: the worker] */

/* ---- look-ups ---- */

struct cuda_device *orr_cuda_of_node(unsigned node)
{
    return node < STARPU_MAXNODES ? by_node[node] : NULL;
}

struct cuda_device *orr_cuda_by_number(int number)
{
    for (unsigned n = 0; n < STARPU_MAXNODES; n++)
        if (by_node[n] && by_node[n]->number == number) return by_node[n];
    return NULL;
}

struct cuda_queue *orr_cuda_queue_of(const struct orr_worker *w)
{
    return queue_by_worker[w->id];
}

struct cuda_device *orr_cuda_mine(struct cuda_queue **queue_out)
{
    struct orr_worker *w = orr_worker_here();
    if (!w || w->device->ops != &orr_cuda_driver) return NULL;
    *queue_out = orr_cuda_queue_of(w);
    return w->device->state;
}

/* ---- contexts and errors ---- */

int orr_cuda_failed(const struct cuda_device *d, const char *function, int result)
{
    if (!orr_load_relaxed(&d->lost))
        orr_warn("CUDA %d: %s says %s", d->number, function, orr_cuda_text(result).chars);
    return -EIO;
}

void orr_cuda_lose(struct cuda_device *d, bool hangs, const char *why)
{
    if (hangs) orr_store_relaxed(&d->hangs, true);
    if (orr_exchange_acq_rel(&d->lost, true)) return;
    orr_error("CUDA %d is given up: %s; what it was to compute or copy counts as failed, and its memory is "
              "not used again",
              d->number, why);
}

int orr_cuda_enter(struct cuda_device *d, struct cuda_visit *v_out)
{
    cuda_context now = NULL;
    v_out->pushed = false;
    if (orr_cuda.context_get(&now) == CUDA_OK && now == d->context) return 0;
    int r = orr_cuda.context_push(d->context);
    if (r != CUDA_OK) return orr_cuda_failed(d, "cuCtxPushCurrent", r);
    v_out->pushed = true;
    return 0;
}

void orr_cuda_leave(const struct cuda_visit *v)
{
    cuda_context c;
    if (v->pushed) orr_cuda.context_pop(&c);
}

/* ---- which there are ---- */

/* The numbers of the devices to use; returns how many. */
static unsigned choose(const struct orr_kind *kind, const struct starpu_conf *conf, unsigned there, int *out,
                       unsigned max)
{
    int list[STARPU_MAXNODES];
    long wanted = orr_kind_wanted(kind, conf, STARPU_MAXNODES - 1);
    unsigned first = 0, n = orr_kind_ids(kind, conf, list, STARPU_MAXNODES), count = 0;
    if (n == 0) {
        n = orr_topo_devices(there, wanted, &first);
        for (unsigned i = 0; i < n && count < max; i++) out[count++] = (int)((first + i) % there);
        return count;
    }
    for (unsigned i = 0; i < n && count < max && (wanted < 0 || count < (unsigned long)wanted); i++) {
        bool twice = false;
        for (unsigned j = 0; j < i; j++) twice |= list[j] == list[i];
        if (list[i] >= (int)there)
            orr_warn("there is no CUDA device %d: this machine has %u", list[i], there);
        else if (!twice)
            out[count++] = list[i];
    }
    return count;
}

static void describe(struct orr_device *d, int number)
{
    char name[40] = "";
    cuda_device_handle h;
    if (orr_cuda.device_get(&h, number) == CUDA_OK) {
        orr_cuda.device_name(name, sizeof name, h);
        if (orr_cuda.device_bus(d->bus, sizeof d->bus, h) != CUDA_OK) d->bus[0] = 0;
    }
    d->number = number;
    d->workers = (unsigned)orr_env_long(ORR_SETTING(STARPU_NWORKER_PER_CUDA), 1, 1, CUDA_WORKERS_MAX);
    d->runs_cpu = orr_cuda_runs_cpu_functions();
    snprintf(d->name, sizeof d->name, "%s %d (%s)", d->kind->title, number, name);
}

/* The devices of the ranks of this node, by where they are plugged in. */
static char places[STARPU_MAXNODES][20]; /* [own: main]; as struct orr_device's */
static unsigned place_count;

static void note_places(const struct orr_kind *kind, const struct starpu_conf *conf, unsigned there,
                        const int *numbers, unsigned n)
{
    cuda_device_handle h;
    bool all = !orr_kind_is_asked_for(kind, conf); /* ranks share them out */
    place_count = 0;
    for (unsigned i = 0; i < (all ? there : n) && place_count < STARPU_MAXNODES; i++)
        if (orr_cuda.device_get(&h, all ? (int)i : numbers[i]) == CUDA_OK &&
            orr_cuda.device_bus(places[place_count], sizeof places[0], h) == CUDA_OK)
            place_count++;
}

static bool cuda_drives(const char *bus)
{
    for (unsigned i = 0; i < place_count; i++)
        if (strcasecmp(places[i], bus) == 0) return true;
    return false;
}

static int cuda_probe(const struct orr_kind *kind, const struct starpu_conf *conf, struct orr_device *out,
                      unsigned max)
{
    int there = 0, numbers[STARPU_MAXNODES];
    long wanted = orr_kind_wanted(kind, conf, STARPU_MAXNODES - 1);
    place_count = 0;
    if (wanted == 0 || STARPU_MAXCUDADEVS == 0 || !orr_cuda_load()) return 0;
    if (orr_cuda.device_count(&there) != CUDA_OK || there <= 0) return 0;
    if (max > STARPU_MAXNODES - 1) max = STARPU_MAXNODES - 1;
    if (max > STARPU_MAXCUDADEVS) max = STARPU_MAXCUDADEVS;
    unsigned n = choose(kind, conf, (unsigned)there, numbers, max);
    for (unsigned i = 0; i < n; i++) describe(&out[i], numbers[i]);
    note_places(kind, conf, (unsigned)there, numbers, n);
    return (int)n;
}

/* ---- open and close ---- */

/* The queues that it has, or -1 when all are told. */
static struct cuda_queue *queue_at(struct cuda_device *d, unsigned i)
{
    struct cuda_queue *const copies[] = { &d->in, &d->out, &d->peer };
    return i < 3 ? copies[i] : i < 3 + d->workers ? &d->kernels[i - 3] : NULL;
}

static void destroy_queues(struct cuda_device *d)
{
    struct cuda_queue *q;
    for (unsigned i = 0; (q = queue_at(d, i)); i++)
        if (q->stream) orr_cuda.stream_destroy(q->stream);
}

static int create_queues(struct cuda_device *d)
{
    struct cuda_queue *q;
    for (unsigned i = 0; (q = queue_at(d, i)); i++) {
        int r = orr_cuda.stream_create(&q->stream, i < 3 ? CUDA_STREAM_NON_BLOCKING : CUDA_STREAM_DEFAULT);
        if (r != CUDA_OK) {
            q->stream = NULL;
            orr_cuda_failed(d, "cuStreamCreate", r);
            destroy_queues(d);
            return -ENODEV;
        }
    }
    return 0;
}

/* Inside the context: all that it needs. 0, or -errno with nothing left. */
static int fit_out(struct cuda_device *d, const struct orr_kind *kind)
{
    char name[32];
    snprintf(name, sizeof name, "%s %d", kind->title, d->number);
    int r = create_queues(d);
    if (r) return r;
    r = orr_cuda_memory_open(d, kind, name);
    if (r) destroy_queues(d);
    return r;
}

static int take_context(struct cuda_device *d)
{
    int r = orr_cuda.device_get(&d->handle, d->number);
    if (r == CUDA_OK) r = orr_cuda.context_retain(&d->context, d->handle);
    if (r == CUDA_OK) return 0;
    orr_cuda_failed(d, "opening it", r);
    return -ENODEV;
}

static int cuda_open(struct orr_device *device)
{
    struct cuda_visit v;
    struct cuda_device *d = orr_calloc(1, sizeof *d);
    if (!d) return -ENOMEM;
    d->number = device->number;
    d->workers = device->workers;
    d->patience_ns = (uint64_t)(orr_env_double(ORR_SETTING(ORRERY_DEVICE_PATIENCE), 0, 0, 1e9) * 1e9);
    orr_spin_init(&d->lock);
    int r = take_context(d);
    if (r == 0) {
        r = orr_cuda_enter(d, &v) ? -ENODEV : fit_out(d, device->kind);
        if (r == 0) by_node[d->node] = d;
        orr_cuda_leave(&v);
        if (r) orr_cuda.context_release(d->handle);
    }
    if (r) {
        orr_free(d);
        return r;
    }
    device->state = d;
    device->node = d->node;
    return 0;
}

static void cuda_close(struct orr_device *device)
{
    struct cuda_device *d = device->state;
    struct cuda_visit v;
    by_node[d->node] = NULL;
    bool inside = !orr_load_relaxed(&d->hangs) && orr_cuda_enter(d, &v) == 0;
    orr_cuda_marks_free(d);
    orr_cuda_buffers_free(d, inside);
    if (inside) {
        destroy_queues(d);
        orr_cuda_leave(&v);
    }
    if (!orr_load_relaxed(&d->hangs)) orr_cuda.context_release(d->handle);
    orr_free(d);
}

/* How many of the device's workers come before it. Another driver may have one with the same number. */
static unsigned place_among(const struct orr_worker *w)
{
    unsigned n = 0;
    for (const struct orr_worker *e = orr_workers; e < w; e++) n += e->device == w->device;
    return n;
}

/* What this cannot do, each task does for itself (orr_cuda_enter). */
static void cuda_enter(struct orr_worker *w)
{
    struct cuda_device *d = w->device->state;
    queue_by_worker[w->id] = &d->kernels[place_among(w)];
    orr_cuda.context_set(d->context);
}

static void cuda_leave(struct orr_worker *w)
{
    struct cuda_device *d = w->device->state;
    if (!orr_load_relaxed(&d->hangs)) orr_cuda.context_set(NULL);
}

const struct orr_driver_ops orr_cuda_driver = {
    .name = "CUDA",
    .probe = cuda_probe,
    .drives = cuda_drives,
    .open = cuda_open,
    .close = cuda_close,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .submit = orr_cuda_submit,
    .test = orr_cuda_test,
    .energy = orr_cuda_energy,
    .brief_depth = CUDA_BRIEF,
};
