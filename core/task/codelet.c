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

static ORR_MUTEX(codelet) check_lock =
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
#define SINGLE_FUNCTION(NAME, name)                                                                          \
    if (cl->name##_func && cl->name##_func != STARPU_MULTIPLE_##NAME##_IMPLEMENTATIONS &&                    \
        !cl->name##_funcs[0])                                                                                \
        cl->name##_funcs[0] = cl->name##_func;
#include "core/base/kind.def"
}

uint32_t orr_codelet_where(const struct starpu_codelet *cl)
{
    uint32_t where = 0;
#define WITH_FUNCTIONS(PREFIX, NAME, name)                                                                   \
    where |= cl->name##_funcs[0] ? STARPU_WORKER_TO_MASK(PREFIX##_##NAME##_WORKER) : 0u;
#include "core/base/kind.def"
    return where;
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
    uint32_t kinds = 0; /* that there are functions for */
#define WITH_FUNCTIONS(PREFIX, NAME, name) kinds |= STARPU_WORKER_TO_MASK(PREFIX##_##NAME##_WORKER);
#include "core/base/kind.def"
    return (cl->where & kinds & ~orr_codelet_where(cl)) != 0;
}

int orr_codelet_check(struct starpu_codelet *cl)
{
    /* [atomic] 0 unknown, else bits of ORR_CODELET_CHECKED...; the program sets it before its first use and
     * never touches it again, and it is written once: a thread that has seen it set may read it plainly */
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
