/* SPDX-License-Identifier: BSD-3-Clause */
/* arch.c: the numbered table of architectures and the public functions on it.
 * Threads: any; adding takes a mutex, looking up takes none (entries are published by the count and never
 * change). Owns: the table. Not here: models (perfmodel.c). */
#include "core/perf/arch.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/base/sync.h"

enum { DEVICES_MAX = 64 };

struct orr_perf_worker orr_perf_workers[STARPU_NMAXWORKERS];
unsigned orr_perf_worker_count;

static struct starpu_perfmodel_arch archs[ORR_ARCH_MAX];    /* [const below arch_count] */
static struct starpu_perfmodel_device single[ORR_ARCH_MAX]; /* the device of those that have one [same] */
static _Atomic int arch_count;
static ORR_MUTEX(archs) arch_mutex = PTHREAD_MUTEX_INITIALIZER; /* protects adding; leaf */

static bool same_devices(const struct starpu_perfmodel_arch *a, int ndevices,
                         const struct starpu_perfmodel_device *devices)
{
    if (a->ndevices != ndevices) return false;
    for (int i = 0; i < ndevices; i++) {
        const struct starpu_perfmodel_device *x = &a->devices[i], *y = &devices[i];
        if (x->type != y->type || x->devid != y->devid || x->ncores != y->ncores) return false;
    }
    return true;
}

static int find_below(int count, int ndevices, const struct starpu_perfmodel_device *devices)
{
    for (int i = 0; i < count; i++)
        if (same_devices(&archs[i], ndevices, devices)) return i;
    return -1;
}

int orr_arch_count(void)
{
    return orr_load_acquire(&arch_count); /* pairs with orr_arch_intern */
}

const struct starpu_perfmodel_arch *orr_arch_get(int comb)
{
    return comb >= 0 && comb < orr_arch_count() ? &archs[comb] : NULL;
}

int orr_arch_find(const struct starpu_perfmodel_arch *arch)
{
    if (!arch) return -1;
    uintptr_t offset = (uintptr_t)arch - (uintptr_t)archs;
    if (offset < sizeof archs) return (int)(offset / sizeof archs[0]);
    return find_below(orr_arch_count(), arch->ndevices, arch->devices);
}

/* Called with arch_mutex held, and room. */
static void add_locked(int comb, int ndevices, const struct starpu_perfmodel_device *devices,
                       struct starpu_perfmodel_device *room)
{
    memcpy(room, devices, (size_t)ndevices * sizeof *room);
    archs[comb] = (struct starpu_perfmodel_arch){ .ndevices = ndevices, .devices = room };
    orr_store_release(&arch_count, comb + 1); /* pairs with orr_arch_count */
}

int orr_arch_intern(int ndevices, const struct starpu_perfmodel_device *devices)
{
    if (ndevices < 1 || ndevices > DEVICES_MAX) return -1;
    int comb = find_below(orr_arch_count(), ndevices, devices);
    if (comb >= 0) return comb;
    struct starpu_perfmodel_device *room =
        ndevices > 1 ? orr_malloc((size_t)ndevices * sizeof *room) : NULL; /* until the table is cleared */
    if (ndevices > 1 && !room) return -1;
    pthread_mutex_lock(&arch_mutex);
    int count = orr_load_relaxed(&arch_count);
    comb = find_below(count, ndevices, devices);
    if (comb < 0 && count < ORR_ARCH_MAX) {
        comb = count;
        add_locked(comb, ndevices, devices, room ? room : &single[comb]);
        room = NULL;
    }
    pthread_mutex_unlock(&arch_mutex);
    orr_free(room);
    return comb;
}

void orr_archs_clear(void)
{
    pthread_mutex_lock(&arch_mutex);
    int count = orr_load_relaxed(&arch_count);
    orr_store_release(&arch_count, 0);
    for (int i = 0; i < count; i++)
        if (archs[i].devices != &single[i]) orr_free(archs[i].devices);
    pthread_mutex_unlock(&arch_mutex);
}

static bool homogeneous(enum starpu_worker_archtype type)
{
    const struct orr_kind *k = &orr_kinds[type];
    return k->shared_model_setting && orr_env_long(k->shared_model_setting, k->is_shared_model, 0, 1) != 0;
}

int orr_perf_worker_register(int workerid, enum starpu_worker_archtype type, int devid, unsigned node)
{
    if (workerid < 0 || workerid >= STARPU_NMAXWORKERS) return -ENOSPC;
    struct starpu_perfmodel_device d = { .type = type, .devid = homogeneous(type) ? 0 : devid, .ncores = 1 };
    int comb = orr_arch_intern(1, &d);
    if (comb < 0) return orr_arch_count() == ORR_ARCH_MAX ? -ENOSPC : -ENOMEM;
    for (unsigned i = orr_perf_worker_count; i < (unsigned)workerid; i++) orr_perf_workers[i].comb = -1;
    orr_perf_workers[workerid] = (struct orr_perf_worker){ .comb = comb, .node = node, .type = type };
    if ((unsigned)workerid >= orr_perf_worker_count) orr_perf_worker_count = (unsigned)workerid + 1;
    return 0;
}

void orr_perf_workers_clear(void)
{
    orr_perf_worker_count = 0;
}

static int combined[STARPU_NMAX_COMBINEDWORKERS]; /* [const below combined_count] */
static _Atomic unsigned combined_count;

void orr_perf_combined_register(unsigned n, int comb)
{
    combined[n] = comb;
    orr_store_release(&combined_count, n + 1); /* pairs with orr_perf_comb_of */
}

void orr_perf_combined_clear(void)
{
    orr_store_release(&combined_count, 0u);
}

int orr_perf_comb_of(unsigned workerid)
{
    if (workerid < orr_perf_worker_count) return orr_perf_workers[workerid].comb;
    unsigned n = workerid - orr_perf_worker_count;
    return n < orr_load_acquire(&combined_count) ? combined[n] : -1;
}

int orr_archtype_by_name(const char *name, size_t length)
{
    const struct orr_kind *k = orr_kind_by_word(name, length);
    return k ? (int)k->type : -1;
}

struct starpu_perfmodel_arch *starpu_worker_get_perf_archtype(int workerid, unsigned sched_ctx_id)
{
    (void)sched_ctx_id;
    int comb = workerid >= 0 ? orr_perf_comb_of((unsigned)workerid) : -1;
    return comb >= 0 ? &archs[comb] : NULL;
}

int starpu_perfmodel_get_narch_combs(void)
{
    return orr_arch_count();
}

int starpu_perfmodel_arch_comb_add(int ndevices, struct starpu_perfmodel_device *devices)
{
    int comb = orr_arch_intern(ndevices, devices);
    if (comb < 0)
        orr_error(
            "starpu_perfmodel_arch_comb_add: no room for an architecture of %d devices (1 to %d devices, "
            "at most %d architectures)",
            ndevices, DEVICES_MAX, ORR_ARCH_MAX);
    return comb;
}

int starpu_perfmodel_arch_comb_get(int ndevices, struct starpu_perfmodel_device *devices)
{
    return find_below(orr_arch_count(), ndevices, devices);
}

struct starpu_perfmodel_arch *starpu_perfmodel_arch_comb_fetch(int comb)
{
    return comb >= 0 && comb < orr_arch_count() ? &archs[comb] : NULL;
}

const char *starpu_perfmodel_get_archtype_name(enum starpu_worker_archtype archtype)
{
    return (unsigned)archtype < STARPU_NARCH ? orr_kinds[archtype].word : "unknown";
}

void starpu_perfmodel_get_arch_name(struct starpu_perfmodel_arch *arch, char *archname, size_t maxlen,
                                    unsigned nimpl)
{
    size_t used = 0;
    if (maxlen == 0) return;
    archname[0] = 0;
    for (int i = 0; i < arch->ndevices && used < maxlen; i++) {
        const struct starpu_perfmodel_device *d = &arch->devices[i];
        int n = snprintf(archname + used, maxlen - used, "%s%s%d_ncores%d", i ? "+" : "",
                         starpu_perfmodel_get_archtype_name(d->type), d->devid, d->ncores);
        used += n > 0 ? (size_t)n : 0;
    }
    if (used < maxlen) snprintf(archname + used, maxlen - used, "_impl%u", nimpl);
}
