/* SPDX-License-Identifier: BSD-3-Clause */
/* codelet.c: completes what a codelet leaves unsaid, once, at its first submission.
 * Threads: any. Owns: nothing (codelets are the program's). Not here: choosing an implementation
 * (core/worker).
 *
 * A codelet that the program marks as checked may be constant, in memory that cannot be written: it is read
 * as it is, and neither completed nor counted in. */
#include <string.h>

#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/task/task.h"

static pthread_mutex_t check_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects the first check of any codelet; leaf */

static int uncounted; /* [const while workers run] 1: codelets do not count */

void orr_codelets_init(void)
{
    uncounted = !orr_env_long(ORR_SETTING(STARPU_CODELET_PROFILING), 1, 0, 1);
}

static const char *codelet_name(const struct starpu_codelet *cl)
{
    return cl->name ? cl->name : cl->model && cl->model->symbol ? cl->model->symbol : "(unnamed)";
}

/* Old programs fill in the fields for a single implementation. */
static void adopt_single_implementations(struct starpu_codelet *cl)
{
    if (cl->cpu_func && cl->cpu_func != STARPU_MULTIPLE_CPU_IMPLEMENTATIONS && !cl->cpu_funcs[0])
        cl->cpu_funcs[0] = cl->cpu_func;
    if (cl->cuda_func && cl->cuda_func != STARPU_MULTIPLE_CUDA_IMPLEMENTATIONS && !cl->cuda_funcs[0])
        cl->cuda_funcs[0] = cl->cuda_func;
    if (cl->opencl_func && cl->opencl_func != STARPU_MULTIPLE_OPENCL_IMPLEMENTATIONS && !cl->opencl_funcs[0])
        cl->opencl_funcs[0] = cl->opencl_func;
}

uint32_t orr_codelet_where(const struct starpu_codelet *cl)
{
    return (cl->cpu_funcs[0] ? STARPU_CPU : 0) | (cl->cuda_funcs[0] ? STARPU_CUDA : 0) |
           (cl->opencl_funcs[0] ? STARPU_OPENCL : 0) | (cl->hip_funcs[0] ? STARPU_HIP : 0);
}

static int check_locked(struct starpu_codelet *cl)
{
    adopt_single_implementations(cl);
    if (cl->nbuffers < 0 && cl->nbuffers != STARPU_VARIABLE_NBUFFERS) {
        orr_error("codelet %s: nbuffers is %d; it takes 0 or more, or STARPU_VARIABLE_NBUFFERS",
                  codelet_name(cl), cl->nbuffers);
        return -EINVAL;
    }
    if (!cl->where) cl->where = orr_codelet_where(cl);
    return 0;
}

/* Whether where names a kind of worker that it has no function for. */
static bool claims_too_much(const struct starpu_codelet *cl)
{
    uint32_t kinds = STARPU_CPU | STARPU_CUDA | STARPU_OPENCL | STARPU_HIP;
    return (cl->where & kinds & ~orr_codelet_where(cl)) != 0;
}

int orr_codelet_check(struct starpu_codelet *cl)
{
    /* [atomic] 0 unknown, else bits of ORR_CODELET_CHECKED...; the program sets it before its first use and
     * never touches it again, and it is written once: who has seen it set reads it as it is */
    int checked = __atomic_load_n(&cl->checked, __ATOMIC_ACQUIRE);
    if (orr_likely(checked & ORR_CODELET_CHECKED)) return uncounted;
    if (checked) return 1;
    pthread_mutex_lock(&check_lock);
    bool known = __atomic_load_n(&cl->checked, __ATOMIC_RELAXED) != 0;
    int r = known ? 0 : check_locked(cl);
    if (!known && r == 0)
        __atomic_store_n(&cl->checked,
                         ORR_CODELET_CHECKED | (claims_too_much(cl) ? ORR_CODELET_CLAIMS_TOO_MUCH : 0),
                         __ATOMIC_RELEASE);
    pthread_mutex_unlock(&check_lock);
    return r ? r : uncounted;
}

void starpu_codelet_init(struct starpu_codelet *cl)
{
    memset(cl, 0, sizeof *cl);
}

void starpu_codelet_nop_func(void *descr[], void *arg)
{
    (void)descr;
    (void)arg;
}

struct starpu_codelet starpu_codelet_nop = { .where = STARPU_NOWHERE,
                                             .cpu_funcs = { starpu_codelet_nop_func },
                                             .name = "nop" };

void starpu_codelet_display_stats(struct starpu_codelet *cl)
{
    unsigned long total = 0;
    for (unsigned i = 0; i < STARPU_NMAXWORKERS; i++) total += cl->per_worker_stats[i];
    fprintf(stderr, "codelet %s: %lu tasks\n", codelet_name(cl), total);
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) {
        char name[64];
        starpu_worker_get_name((int)i, name, sizeof name);
        unsigned long n = cl->per_worker_stats[i];
        if (total) fprintf(stderr, "  %s: %lu (%.1f %%)\n", name, n, 100.0 * (double)n / (double)total);
    }
}
