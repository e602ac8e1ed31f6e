/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_worker.c: groups of CPU workers that run one task at a time on all their cores.
 * Threads: making and ending by the program's, outside of tasks; prologues on workers. Owns: the groups.
 * Not here: contexts (sched_ctx.c), the shape of the machine (core/topo), OpenMP and MKL, which are only
 * asked for when the program has them.
 *
 * The first worker of a group, its master, stays in its contexts and is bound to the cores of all; the others
 * stand by: they serve no context, and so they sleep. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/run/sched_ctx.h"
#include "core/topo/topo.h"
#include "core/worker/member.h"
#include "core/worker/wait.h"
#include "core/worker/worker.h"

struct group {
    unsigned first, count; /* its part of order */
};

struct starpu_parallel_worker_config {
    unsigned ngroups, nworkers;
    struct group groups[STARPU_NMAXWORKERS];
    int order[STARPU_NMAXWORKERS];  /* workers, group after group */
    int object[STARPU_NMAXWORKERS]; /* of each of those, the part of the machine it is in */
};

struct settings {
    int min, max; /* number of groups; 0: not said */
    bool few, homogeneous;
    void (*create)(void *);
    void *create_arg;
};

static struct starpu_parallel_worker_config
    *active; /* [own: the thread that makes and ends; const for masters] */

/* ---- arguments ---- */

typedef void (*create_fn)(void *);

static create_fn prologue_of(int type)
{
    switch (type) {
    case STARPU_PARALLEL_WORKER_OPENMP:
    case STARPU_PARALLEL_WORKER_INTEL_OPENMP_MKL: return starpu_parallel_worker_openmp_prologue;
    case STARPU_PARALLEL_WORKER_GNU_OPENMP_MKL: return starpu_parallel_worker_gnu_openmp_mkl_prologue;
    default: return NULL;
    }
}

static const char *refusal(int kind)
{
    switch (kind) {
    case STARPU_PARALLEL_WORKER_POLICY_NAME:
    case STARPU_PARALLEL_WORKER_POLICY_STRUCT:
        return "a group runs one task at a time: it has no policy inside (STARPU_PARALLEL_WORKER_POLICY_...)";
    case STARPU_PARALLEL_WORKER_AWAKE_WORKERS:
        return "the other workers of a group always sleep (STARPU_PARALLEL_WORKER_AWAKE_WORKERS)";
    case STARPU_PARALLEL_WORKER_PARTITION_ONE:
    case STARPU_PARALLEL_WORKER_NEW:
    case STARPU_PARALLEL_WORKER_NCORES:
        return "groups of chosen sizes (STARPU_PARALLEL_WORKER_NEW, ...) are not possible";
    default: return "an argument is none of STARPU_PARALLEL_WORKER_...; does the list end with 0?";
    }
}

/* NULL, or why the arguments cannot be followed. */
static const char *parse(struct settings *s, va_list *ap)
{
    s->create = prologue_of(STARPU_PARALLEL_WORKER_OPENMP);
    for (int kind; (kind = va_arg(*ap, int)) != 0;) {
        switch (kind) {
        case STARPU_PARALLEL_WORKER_MIN_NB: s->min = va_arg(*ap, int); break;
        case STARPU_PARALLEL_WORKER_MAX_NB: s->max = va_arg(*ap, int); break;
        case STARPU_PARALLEL_WORKER_NB: s->min = s->max = va_arg(*ap, int); break;
        case STARPU_PARALLEL_WORKER_PREFERE_MIN: s->few = va_arg(*ap, int) != 0; break;
        case STARPU_PARALLEL_WORKER_KEEP_HOMOGENEOUS: s->homogeneous = va_arg(*ap, int) != 0; break;
        case STARPU_PARALLEL_WORKER_CREATE_FUNC: s->create = va_arg(*ap, create_fn); break;
        case STARPU_PARALLEL_WORKER_CREATE_FUNC_ARG: s->create_arg = va_arg(*ap, void *); break;
        case STARPU_PARALLEL_WORKER_TYPE:
            s->create = prologue_of(va_arg(*ap, int));
            if (!s->create) return "STARPU_PARALLEL_WORKER_TYPE is not followed by one of the types";
            break;
        default: return refusal(kind);
        }
    }
    if (s->min < 0 || s->max < 0 || (s->max && s->min > s->max)) return "the number of groups makes no sense";
    return NULL;
}

/* ---- grouping ---- */

/* Lists the CPU workers of the main context by the object they are in; returns the number of objects. */
static unsigned list_workers(struct starpu_parallel_worker_config *c, int level)
{
    unsigned objects = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        int core = starpu_worker_get_bindid((int)i);
        if (orr_workers[i].type != STARPU_CPU_WORKER || core < 0 || !orr_ctx_has(&orr_contexts[0], i))
            continue;
        int object = orr_topo_object_above((unsigned)core, level);
        unsigned at = c->nworkers++;
        for (; at > 0 && c->object[at - 1] > object; at--) {
            c->order[at] = c->order[at - 1];
            c->object[at] = c->object[at - 1];
        }
        c->order[at] = (int)i;
        c->object[at] = object;
    }
    for (unsigned i = 0; i < c->nworkers; i++) objects += i == 0 || c->object[i] != c->object[i - 1];
    return objects;
}

static unsigned how_many(const struct settings *s, unsigned objects, unsigned workers)
{
    unsigned n = s->few && s->min ? (unsigned)s->min : objects;
    if (s->min && n < (unsigned)s->min) n = (unsigned)s->min;
    if (s->max && n > (unsigned)s->max) n = (unsigned)s->max;
    return n <= workers ? n : 0;
}

static void add_group(struct starpu_parallel_worker_config *c, unsigned first, unsigned end)
{
    if (end > first) c->groups[c->ngroups++] = (struct group){ first, end - first };
}

/* Where object number `object` begins in order. */
static unsigned start_of(const struct starpu_parallel_worker_config *c, unsigned object)
{
    unsigned i = 0, seen = 0;
    for (; i < c->nworkers; i++) {
        if (i > 0 && c->object[i] != c->object[i - 1]) seen++;
        if (seen == object) break;
    }
    return i;
}

/* Whole objects to each group; or, with more groups than objects, an even part of the workers, which are in
 * the objects' order: where a group then lies in two objects, the numbers cannot be had otherwise, or not
 * evenly. */
static void make_groups(struct starpu_parallel_worker_config *c, unsigned n, unsigned objects)
{
    for (unsigned g = 0; g < n; g++) {
        if (n <= objects)
            add_group(c, start_of(c, g * objects / n), start_of(c, (g + 1) * objects / n));
        else
            add_group(c, g * c->nworkers / n, (g + 1) * c->nworkers / n);
    }
}

static void make_equal(struct starpu_parallel_worker_config *c)
{
    unsigned least = c->nworkers;
    for (unsigned g = 0; g < c->ngroups; g++)
        if (c->groups[g].count < least) least = c->groups[g].count;
    for (unsigned g = 0; g < c->ngroups; g++) c->groups[g].count = least;
}

/* ---- masters ---- */

static const struct group *my_group(void)
{
    int id = starpu_worker_get_id();
    for (unsigned g = 0; active && id >= 0 && g < active->ngroups; g++)
        if (active->order[active->groups[g].first] == id) return &active->groups[g];
    return NULL;
}

/* Calls a function of a library that the program may have. */
static void call_if_present(const char *function, int argument)
{
    void (*f)(int);
    *(void **)&f = dlsym(RTLD_DEFAULT, function);
    if (f) f(argument);
}

static void set_threads(unsigned count)
{
    call_if_present("omp_set_num_threads", (int)count); /* of the calling thread's parallel regions */
    call_if_present("MKL_Set_Num_Threads_Local", (int)count);
}

/* Threads that the master makes later inherit its binding. */
static void bind_to_group(const struct group *g)
{
    unsigned cores[STARPU_NMAXWORKERS];
    for (unsigned i = 0; i < g->count; i++)
        cores[i] = (unsigned)starpu_worker_get_bindid(active->order[g->first + i]);
    orr_topo_bind_self_to(cores, g->count);
}

void starpu_parallel_worker_openmp_prologue(void *arg)
{
    const struct group *g = my_group();
    (void)arg;
    if (g) set_threads(g->count);
}

void starpu_parallel_worker_gnu_openmp_mkl_prologue(void *arg)
{
    enum { MKL_GNU_LAYER = 3 };
    call_if_present("MKL_Set_Threading_Layer", MKL_GNU_LAYER);
    starpu_parallel_worker_openmp_prologue(arg);
}

static void master_begin(void *arg)
{
    const struct settings *s = arg;
    bind_to_group(my_group());
    if (s->create) s->create(s->create_arg);
}

static void master_end(void *arg)
{
    (void)arg;
    set_threads(1);
    orr_topo_bind_self((unsigned)starpu_worker_get_bindid(starpu_worker_get_id()));
}

static void on_masters(void (*f)(void *), void *arg, const char *name)
{
    unsigned masters[STARPU_NMAXWORKERS];
    for (unsigned g = 0; g < active->ngroups; g++)
        masters[g] = (unsigned)active->order[active->groups[g].first];
    starpu_execute_on_specific_workers(f, arg, active->ngroups, masters, name);
}

/* Everybody but the masters stands by (change 1), or comes back (-1). */
static void hold_others(const struct starpu_parallel_worker_config *c, int change)
{
    int others[STARPU_NMAXWORKERS];
    unsigned n = 0;
    for (unsigned i = 0; i < c->nworkers; i++) {
        bool master = false;
        for (unsigned g = 0; g < c->ngroups; g++) master |= c->groups[g].first == i;
        if (!master) others[n++] = c->order[i];
    }
    orr_sched_ctx_suspend(others, n, change);
}

/* ---- making and ending ---- */

static struct starpu_parallel_worker_config *make(int level, const char *function, va_list *ap)
{
    struct settings s = { 0 };
    struct starpu_parallel_worker_config *c = NULL;
    const char *why = parse(&s, ap);
    unsigned objects = 0, n = 0;
    if (!why && !starpu_is_initialized()) why = "the runtime is not initialised; call starpu_init";
    if (!why && (orr_task_inside())) why = "not possible in a task or a callback";
    if (!why && active) why = "there are groups already; end them with starpu_parallel_worker_shutdown";
    if (!why && !(c = orr_calloc(1, sizeof *c))) why = "out of memory";
    if (!why && (objects = list_workers(c, level)) == 0) why = "the main context has no CPU worker";
    if (!why && (n = how_many(&s, objects, c->nworkers)) == 0)
        why = "more groups are asked for than there are CPU workers";
    if (!why) {
        make_groups(c, n, objects);
        if (s.homogeneous) make_equal(c);
    }
    if (why) {
        orr_error("%s: %s", function, why);
        orr_free(c);
        return NULL;
    }
    hold_others(c, 1);
    active = c;
    on_masters(master_begin, &s, function);
    return c;
}

struct starpu_parallel_worker_config *starpu_parallel_worker_init(hwloc_obj_type_t parallel_worker_level, ...)
{
    va_list ap;
    va_start(ap, parallel_worker_level);
    struct starpu_parallel_worker_config *c =
        make((int)parallel_worker_level, "starpu_parallel_worker_init", &ap);
    va_end(ap);
    return c;
}

int starpu_parallel_worker_shutdown(struct starpu_parallel_worker_config *c)
{
    if (!c || c != active) return -1;
    if (starpu_is_initialized()) {
        if (orr_task_inside()) {
            orr_error("starpu_parallel_worker_shutdown: not possible in a task or a callback");
            return -1;
        }
        orr_wait_until(0); /* of all contexts */
        on_masters(master_end, NULL, "starpu_parallel_worker_shutdown");
        hold_others(c, -1);
    }
    active = NULL;
    orr_free(c);
    return 0;
}

int starpu_parallel_worker_print(struct starpu_parallel_worker_config *c)
{
    if (!c) return -1;
    printf("%u parallel workers\n", c->ngroups);
    for (unsigned g = 0; g < c->ngroups; g++) {
        printf("  %u: workers", g);
        for (unsigned i = 0; i < c->groups[g].count; i++) printf(" %d", c->order[c->groups[g].first + i]);
        printf(", cores");
        for (unsigned i = 0; i < c->groups[g].count; i++)
            printf(" P#%u",
                   orr_topo_os_index((unsigned)starpu_worker_get_bindid(c->order[c->groups[g].first + i])));
        printf("\n");
    }
    return 0;
}

/* ---- the names of StarPU 1.3 ---- */

struct starpu_cluster_machine *starpu_cluster_machine(hwloc_obj_type_t cluster_level, ...)
{
    va_list ap;
    va_start(ap, cluster_level);
    void *c = make((int)cluster_level, "starpu_cluster_machine", &ap);
    va_end(ap);
    return c;
}

int starpu_uncluster_machine(struct starpu_cluster_machine *clusters)
{
    return starpu_parallel_worker_shutdown((struct starpu_parallel_worker_config *)clusters);
}

int starpu_cluster_print(struct starpu_cluster_machine *clusters)
{
    return starpu_parallel_worker_print((struct starpu_parallel_worker_config *)clusters);
}
