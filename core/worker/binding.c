/* SPDX-License-Identifier: BSD-3-Clause */
/* binding.c: which core a worker has, and cores for threads of the program.
 * Threads: any, between init and shutdown. Owns: the cores lent to threads of the program. Not here: hwloc
 * (core/topo). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/topo/topo.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"

enum { NO_CORE = -1 };

static ORR_MUTEX(lent_cores) lent_lock = PTHREAD_MUTEX_INITIALIZER; /* protects all below; leaf */
static bool lent[STARPU_MAXCPUS];                                   /* to threads of the program */
static unsigned next_shared;            /* when no core is free, busy threads take turns; others share one */
static int main_core = NO_CORE;         /* starpu_bind_thread_on_main */
static int by_core[STARPU_NMAXWORKERS]; /* answer of starpu_bindid_get_workerids */

/* ---- cores of workers ---- */

/* Reads "a", "a-b" or "a-" (to the last core) at *s, and what separates it from the next. False: something
 * else. */
static bool read_range(const char **s, long *first_out, long *last_out)
{
    char *end;
    if (!isdigit((unsigned char)**s)) return false;
    *first_out = *last_out = strtol(*s, &end, 10);
    if (*end == '-') {
        *last_out = (long)orr_topo_cores() - 1;
        if (isdigit((unsigned char)*++end)) *last_out = strtol(end, &end, 10);
    }
    if (*end && *end != ',' && !isspace((unsigned char)*end)) return false;
    while (*end == ',' || isspace((unsigned char)*end)) end++;
    *s = end;
    return *first_out <= *last_out && *last_out < STARPU_MAXCPUS;
}

/* How many cores the list names, at most max of them in cores_out; 0, with a warning, when it is no such
 * list. */
static unsigned read_cores(const struct orr_env *e, const char *list, int *cores_out, unsigned max)
{
    unsigned n = 0;
    const char *s = list + strspn(list, " \t,");
    for (long core, last; *s;) {
        if (!read_range(&s, &core, &last)) {
            orr_warn("%s=%s is ignored: it takes %s", e->name, list, e->help);
            return 0;
        }
        for (; core <= last && n < max; core++) cores_out[n++] = (int)core;
    }
    return n;
}

/* Takes the first of these cores that is free; NO_CORE: none is. */
static int take_first(const unsigned *list, unsigned n, bool *taken)
{
    for (unsigned i = 0; i < n; i++) {
        if (list[i] >= STARPU_MAXCPUS || taken[list[i]]) continue;
        taken[list[i]] = true;
        return (int)list[i];
    }
    return NO_CORE;
}

/* Whether the main thread is to have a core for itself; which one, or NO_CORE: any. */
static bool main_wants(int *core_out)
{
    long core = orr_env_long(ORR_SETTING(STARPU_MAIN_THREAD_CPUID), NO_CORE, 0, STARPU_MAXCPUS - 1);
    if (core < 0) core = orr_env_long(ORR_SETTING(STARPU_MAIN_THREAD_COREID), NO_CORE, 0, STARPU_MAXCPUS - 1);
    *core_out = core < 0 ? NO_CORE : (int)((unsigned)core % orr_topo_cores());
    return core >= 0 || orr_env_long(ORR_SETTING(STARPU_MAIN_THREAD_BIND), 0, 0, 1);
}

unsigned orr_binding_main_cores(void)
{
    int core;
    return main_wants(&core) ? 1 : 0;
}

/* Workers of devices that are nearer to some cores than to others come first. Of more workers than cores some
 * share one. */
static void place_near_devices(struct orr_device *const *devices, unsigned workers, int *cores_out)
{
    unsigned list[STARPU_MAXCPUS],
        all = orr_topo_cores() < STARPU_MAXCPUS ? orr_topo_cores() : STARPU_MAXCPUS;
    bool taken[STARPU_MAXCPUS] = { false };
    int mine;
    if (main_wants(&mine) && mine != NO_CORE && all > workers) taken[mine] = true;
    for (unsigned i = 0; i < workers; i++) {
        unsigned n = orr_topo_cores_near_pci(devices[i]->bus, list, STARPU_MAXCPUS);
        cores_out[i] = take_first(list, n, taken);
    }
    for (unsigned i = 0; i < all; i++) list[i] = i;
    for (unsigned i = 0; i < workers; i++) {
        if (cores_out[i] == NO_CORE) cores_out[i] = take_first(list, all, taken);
        if (cores_out[i] == NO_CORE) cores_out[i] = (int)i;
    }
}

void orr_binding_choose(const struct starpu_conf *conf, struct orr_device *const *devices, unsigned workers,
                        int *cores_out)
{
    int list[STARPU_NMAXWORKERS];
    const struct orr_env *e = orr_env_string(ORR_SETTING(STARPU_WORKERS_CPUID))
                                  ? ORR_SETTING(STARPU_WORKERS_CPUID)
                                  : ORR_SETTING(STARPU_WORKERS_COREID);
    const char *text = orr_env_string(e);
    if (conf->use_explicit_workers_bindid && conf->precedence_over_environment_variables) text = NULL;
    unsigned n = text ? read_cores(e, text, list, STARPU_NMAXWORKERS) : 0;
    if (n == 0 && !conf->use_explicit_workers_bindid) {
        place_near_devices(devices, workers, cores_out);
        return;
    }
    for (unsigned i = 0; i < workers; i++) cores_out[i] = n ? list[i % n] : (int)conf->workers_bindid[i];
}

int starpu_worker_get_bindid(int workerid)
{
    bool known = workerid >= 0 && (unsigned)workerid < orr_worker_count && orr_workers[workerid].bindid >= 0;
    return known ? (int)((unsigned)orr_workers[workerid].bindid % orr_topo_cores()) : -1;
}

static unsigned list_on(int bindid, int *list)
{
    unsigned n = 0;
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (starpu_worker_get_bindid((int)i) == bindid) list[n++] = (int)i;
    return n;
}

int starpu_bindid_get_workerids(int bindid, int **workerids)
{
    unsigned at = 0, n = 0;
    pthread_mutex_lock(&lent_lock);
    *workerids = NULL;
    for (unsigned core = 0; core < orr_topo_cores(); core++) { /* the same contents at each call */
        unsigned here = list_on((int)core, &by_core[at]);
        if ((int)core == bindid && here) {
            *workerids = &by_core[at];
            n = here;
        }
        at += here;
    }
    pthread_mutex_unlock(&lent_lock);
    return (int)n;
}

struct hwloc_bitmap_s *starpu_worker_get_hwloc_cpuset(int workerid)
{
    int core = starpu_worker_get_bindid(workerid);
    return core >= 0 ? orr_topo_cpuset_dup((unsigned)core) : NULL;
}

struct hwloc_obj *starpu_worker_get_hwloc_obj(int workerid)
{
    int core = starpu_worker_get_bindid(workerid);
    return core >= 0 ? orr_topo_object((unsigned)core) : NULL;
}

struct starpu_tree *starpu_workers_get_tree(void)
{
    return orr_topo_tree();
}

/* ---- cores for the program ---- */

static bool worker_has(unsigned core)
{
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (starpu_worker_get_bindid((int)i) == (int)core) return true;
    return false;
}

static bool is_free(unsigned core)
{
    return core < orr_topo_cores() && core < STARPU_MAXCPUS && !lent[core] && !worker_has(core);
}

/* A free core, preferably one of those; else each in turn for busy threads. Called with lent_lock held. */
static unsigned choose_locked(const unsigned *preferred, unsigned npreferred, bool busy)
{
    for (unsigned i = 0; i < npreferred; i++)
        if (is_free(preferred[i])) return preferred[i];
    for (unsigned core = 0; core < orr_topo_cores(); core++)
        if (is_free(core)) return core;
    if (npreferred) return preferred[0];
    unsigned core = next_shared % orr_topo_cores();
    if (busy) next_shared++;
    return core;
}

void orr_binding_main_start(void)
{
    int core;
    if (!main_wants(&core)) return;
    pthread_mutex_lock(&lent_lock);
    if (core == NO_CORE) core = main_core == NO_CORE ? (int)choose_locked(NULL, 0, true) : main_core;
    main_core = core;
    if (core < STARPU_MAXCPUS) lent[core] = true;
    pthread_mutex_unlock(&lent_lock);
    orr_topo_bind_main((unsigned)core);
}

unsigned starpu_get_next_bindid(unsigned flags, unsigned *preferred, unsigned npreferred)
{
    pthread_mutex_lock(&lent_lock);
    unsigned core = choose_locked(preferred, npreferred, (flags & STARPU_THREAD_ACTIVE) != 0);
    if ((flags & STARPU_THREAD_ACTIVE) && core < STARPU_MAXCPUS) lent[core] = true;
    pthread_mutex_unlock(&lent_lock);
    return core;
}

int starpu_bind_thread_on(int cpuid, unsigned flags, const char *name)
{
    if (cpuid < 0)
        cpuid = (int)starpu_get_next_bindid(flags, NULL, 0);
    else if ((flags & STARPU_THREAD_ACTIVE) && worker_has((unsigned)cpuid)) {
        orr_warn("thread %s cannot have core %d for itself: a worker has it; leave it out with "
                 "STARPU_RESERVE_NCPU",
                 name ? name : "of the program", cpuid);
        return -EBUSY;
    } else if (flags & STARPU_THREAD_ACTIVE) {
        pthread_mutex_lock(&lent_lock);
        if (cpuid < STARPU_MAXCPUS) lent[cpuid] = true;
        pthread_mutex_unlock(&lent_lock);
    }
    orr_topo_bind_self((unsigned)cpuid);
    return 0;
}

void starpu_bind_thread_on_cpu(int cpuid)
{
    if (cpuid >= 0) orr_topo_bind_self((unsigned)cpuid);
}

void starpu_bind_thread_on_worker(unsigned workerid)
{
    starpu_bind_thread_on_cpu(starpu_worker_get_bindid((int)workerid));
}

void starpu_bind_thread_on_main(void)
{
    pthread_mutex_lock(&lent_lock);
    if (main_core == NO_CORE) main_core = (int)choose_locked(NULL, 0, true);
    int core = main_core;
    pthread_mutex_unlock(&lent_lock);
    orr_topo_bind_self((unsigned)core);
}

/* ---- names and prints ---- */

int starpu_cpu_os_index(int cpuid)
{
    return cpuid >= 0 ? (int)orr_topo_os_index((unsigned)cpuid) : -1;
}

int starpu_get_pu_os_index(unsigned logical_index)
{
    return (int)orr_topo_os_index(logical_index);
}

hwloc_topology_t starpu_get_hwloc_topology(void)
{
    return orr_topo_handle();
}

long starpu_get_memory_location_bitmap(void *ptr, size_t size)
{
    return orr_topo_memory_location(ptr, size);
}

static void print_bindings(FILE *f)
{
    for (unsigned i = 0; i < orr_worker_count && i < STARPU_NMAXWORKERS; i++) {
        int core = starpu_worker_get_bindid((int)i);
        fprintf(f, "%3u  %-24s memory node %u  ", i, orr_workers[i].name, orr_workers[i].node);
        if (core >= 0)
            fprintf(f, "core %d (P#%u)\n", core, orr_topo_os_index((unsigned)core));
        else
            fprintf(f, "not bound\n");
    }
}

void starpu_display_bindings(void)
{
    fprintf(stdout, "worker  name, memory, core:\n");
    print_bindings(stdout);
}

void starpu_topology_print(FILE *f)
{
    orr_topo_print(f);
    fprintf(f, "workers:\n");
    print_bindings(f);
}
