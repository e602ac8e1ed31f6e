/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs over job lists, and the rule that their record is held against.
 * Threads: main and adders build; workers execute and record. Owns: the programs. Not here: the cases
 * (joblist_cases.h, tests/long/joblist_soak.c).
 *
 * Each job takes a number from one clock when its body begins and when it ends. The rule for a list: what is
 * after a wait begins after the end of all that is before its signal; a job begins before an earlier one of
 * its list only if a worker had taken that one already, so before at most one for each other worker.
 */
#ifndef ORR_TESTS_SCHED_JOBLIST_H
#define ORR_TESTS_SCHED_JOBLIST_H

#include <orrery.h>
#include "tests/helper.h"

enum { PROGRAM_LISTS = 400, PROGRAM_JOBS = 6000, PROGRAM_HANDLES = 8 };

struct job_record {
    int list, gate; /* gate: jobs of its list with lower places than this have ended when it begins */
    int place;
    int is_empty;     /* without a body */
    int work;         /* iterations */
    int wants_worker; /* -1: any */
    atomic_int runs, worker;
    atomic_long begin, end;
};

struct job_program {
    int lists, jobs;
    struct orrery_joblist *list[PROGRAM_LISTS];
    int length[PROGRAM_LISTS]; /* jobs in it */
    int signal[PROGRAM_LISTS]; /* place of the open signal, -1 */
    int gate[PROGRAM_LISTS];   /* of its next job */
    struct job_record job[PROGRAM_JOBS];
    starpu_data_handle_t handles[PROGRAM_HANDLES];
    long values[PROGRAM_HANDLES];
    int refused;
};

static atomic_long job_clock;

static inline void job_spin(int iterations)
{
    for (volatile int i = 0; i < iterations;) i = i + 1;
}

static inline void job_func(void *buffers[] UNUSED, void *arg)
{
    struct job_record *r = arg;
    atomic_store(&r->begin, atomic_fetch_add(&job_clock, 1));
    atomic_fetch_add(&r->runs, 1);
    atomic_store(&r->worker, starpu_worker_get_id());
    job_spin(r->work);
    atomic_store(&r->end, atomic_fetch_add(&job_clock, 1));
}

/* For jobs without a body. */
static inline void job_callback(void *arg)
{
    struct job_record *r = arg;
    atomic_fetch_add(&r->runs, 1);
    long now = atomic_fetch_add(&job_clock, 1);
    atomic_store(&r->begin, now);
    atomic_store(&r->end, now);
}

UNUSED static struct starpu_codelet job_cl = {
    .cpu_funcs = { job_func }, .cuda_funcs = { job_func }, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "job"
};
UNUSED static struct starpu_codelet job_cpu_cl = { .cpu_funcs = { job_func },
                                                   .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                                   .name = "job_cpu" };

static inline struct starpu_task *job_task(struct starpu_codelet *cl, struct job_record *r)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = r;
    return task;
}

static inline void program_open(struct job_program *p, int lists, unsigned context)
{
    memset(p, 0, sizeof *p);
    p->lists = lists;
    for (int i = 0; i < lists; i++) {
        char name[16];
        snprintf(name, sizeof name, "list %d", i);
        p->list[i] = orrery_joblist_create(name, context);
        p->signal[i] = -1;
        p->refused += !p->list[i];
    }
    for (int i = 0; i < PROGRAM_HANDLES; i++)
        starpu_variable_data_register(&p->handles[i], STARPU_MAIN_RAM, (uintptr_t)&p->values[i],
                                      sizeof p->values[i]);
}

/* Returns the sum of the handles' values: one for each write. */
static inline long program_close(struct job_program *p)
{
    long sum = 0;
    for (int i = 0; i < p->lists; i++) orrery_joblist_destroy(p->list[i]);
    for (int i = 0; i < PROGRAM_HANDLES; i++) {
        starpu_data_unregister(p->handles[i]);
        sum += p->values[i];
    }
    return sum;
}

static inline struct job_record *program_record(struct job_program *p, int list)
{
    struct job_record *r = &p->job[p->jobs++];
    r->list = list;
    r->place = p->length[list]++;
    r->gate = p->gate[list];
    r->wants_worker = -1;
    atomic_store(&r->worker, -1);
    return r;
}

static inline void program_mark(struct job_program *p, int list)
{
    int open = p->signal[list] >= 0;
    if (open) {
        p->refused += orrery_joblist_add_wait(p->list[list]) != 0;
        p->gate[list] = p->signal[list];
        p->signal[list] = -1;
    } else {
        p->refused += orrery_joblist_add_signal(p->list[list]) != 0;
        p->signal[list] = p->length[list];
    }
}

struct program_traits {
    int handles;   /* how many of the handles jobs use, at most 3 each */
    int bound;     /* some jobs are bound to a worker, some to any of a set */
    int empty;     /* some have no body */
    int commuting; /* some writes commute, some go without sequential consistency */
    int priorities;
    int devices; /* some jobs only run on CPUs */
    int depends; /* some wait for an earlier job of any list */
    int work;
};

static inline void program_job(struct job_program *p, const struct program_traits *traits, int list,
                               uint64_t *seed, struct starpu_task **earlier)
{
    struct job_record *r = program_record(p, list);
    r->work = traits->work ? (int)random_below(seed, (unsigned)traits->work) : 0;
    r->is_empty = traits->empty && random_below(seed, 10) == 0;
    struct starpu_task *task =
        job_task(traits->devices && random_below(seed, 3) == 0 ? &job_cpu_cl : &job_cl, r);
    int n = traits->handles ? (int)random_below(seed, 4) : 0;
    unsigned first = random_below(seed, PROGRAM_HANDLES);
    task->nbuffers = n;
    for (int i = 0; i < n; i++) {
        task->handles[i] = p->handles[(first + (unsigned)i * 3) % PROGRAM_HANDLES];
        int mode = random_below(seed, 2) ? STARPU_R : STARPU_RW;
        if (mode == STARPU_RW && traits->commuting && random_below(seed, 2)) mode |= STARPU_COMMUTE;
        task->modes[i] = (enum starpu_data_access_mode)mode;
    }
    if (traits->commuting && random_below(seed, 8) == 0) task->sequential_consistency = 0;
    if (traits->bound && random_below(seed, 8) == 0) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = random_below(seed, starpu_cpu_worker_get_count());
        r->wants_worker = (int)task->workerid;
    }
    if (traits->priorities) task->priority = (int)random_below(seed, 3) - 1;
    if (r->is_empty) {
        task->cl = NULL;
        task->nbuffers = 0;
        task->execute_on_a_specific_worker = 0;
        r->wants_worker = -1;
        task->callback_func = job_callback;
        task->callback_arg = r;
    }
    if (traits->depends) { /* its record stays, so the task may have ended: it is the program's */
        task->destroy = 0;
        if (p->jobs > 1 && random_below(seed, 5) == 0)
            starpu_task_declare_deps(task, 1, earlier[random_below(seed, (unsigned)p->jobs - 1)]);
        earlier[p->jobs - 1] = task;
    }
    p->refused += orrery_joblist_add_job(p->list[list], task) != 0;
}

/* Builds and starts a program of so many jobs over all lists, then waits for it. */
static inline void program_run(struct job_program *p, const struct program_traits *traits, int jobs,
                               uint64_t seed)
{
    static struct starpu_task *earlier[PROGRAM_JOBS];
    for (int i = 0; i < jobs; i++) {
        /* a third of all goes to the first list: one huge one beside many short ones */
        int list = random_below(&seed, 3) ? (int)random_below(&seed, (unsigned)p->lists) : 0;
        program_job(p, traits, list, &seed, earlier);
        if (random_below(&seed, 6) == 0) program_mark(p, list);
        if (random_below(&seed, 400) == 0) orrery_joblist_wait_for_all(p->list[list]); /* it runs dry */
    }
    for (int i = 0; i < p->lists; i++) p->refused += orrery_joblist_wait_for_all(p->list[i]) != 0;
    if (traits->depends) {
        starpu_task_wait_for_all();
        for (int i = 0; i < jobs; i++) starpu_task_destroy(earlier[i]);
    }
}

/* Checks the record of all lists; says the first breach. Returns the number of breaches. */
static inline int program_breaches(const struct job_program *p, int workers)
{
    int breaches = p->refused;
    if (breaches) diag("%d calls were refused", breaches);
    for (int l = 0; l < p->lists; l++) {
        static const struct job_record *row[PROGRAM_JOBS];
        static long ended_by[PROGRAM_JOBS + 1]; /* the latest end of the first n jobs */
        int n = 0;
        for (int i = 0; i < p->jobs; i++)
            if (p->job[i].list == l) row[n++] = &p->job[i];
        ended_by[0] = -1;
        for (int i = 0; i < n; i++) {
            long end = atomic_load(&row[i]->end), begin = atomic_load(&row[i]->begin);
            int worker = atomic_load(&row[i]->worker);
            ended_by[i + 1] = end > ended_by[i] ? end : ended_by[i];
            const char *what = NULL;
            if (atomic_load(&row[i]->runs) != 1)
                what = "did not run once";
            else if (row[i]->gate && begin < ended_by[row[i]->gate])
                what = "began before the end of a job before the signal";
            else if (row[i]->wants_worker >= 0 && row[i]->wants_worker != worker)
                what = "ran on another worker than the one it is bound to";
            if (what && breaches++ == 0) diag("job %d of list %d (gate %d) %s", i, l, row[i]->gate, what);
        }
        for (int i = 0; i < n;
             i++) { /* those with bodies: an empty one is over when its callback is called */
            int overtaken = 0;
            for (int k = i - 1; k >= 0 && k > i - 200 && !row[i]->is_empty; k--)
                overtaken += !row[k]->is_empty && atomic_load(&row[k]->begin) > atomic_load(&row[i]->begin);
            if (overtaken >= workers && breaches++ == 0)
                diag("job %d of list %d began before %d earlier ones, with %d workers", i, l, overtaken,
                     workers);
        }
    }
    return breaches;
}

#endif
