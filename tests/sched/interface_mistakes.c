/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Policies of the program with deliberate mistakes: each is said in one line that names the policy, every
 * task runs once all the same where that is possible, and where it is not, the program ends with an
 * explanation instead of hanging or crashing. Threads: the runtime is started in a child for each mistake.
 * Owns: the policy's list. Not here: policies without mistakes (user_policy.c, interface.c).
 */
#include "tests/core/misuse.h"

enum mistake {
    NONE,
    REFUSES,        /* push_task returns an error for every task */
    REFUSES_ONE,    /* and for one, although it took it */
    TWICE,          /* pop_task gives each task twice */
    AFTERWARDS,     /* pop_task gives a task again that ended long ago */
    BEFORE,         /* fifty times so before it gives the next one */
    WRONG_WORKER,   /* pop_task does not ask who can execute a task */
    KEEPS,          /* pop_task always returns NULL */
    WAKES_NOBODY,   /* push_task wakes no worker */
    RELAXED,        /* pop_task forgets starpu_worker_relax_off */
    UNLOCKED,       /* pop_task releases the worker's mutex and does not take it again */
    LOCKED,         /* push_task does not release the policy's mutex */
    WORKER_LOCKED,  /* push_task does not release a worker's mutex */
    LOCAL_TWICE,    /* push_task gives each task to two workers */
    LOCAL_WRONG,    /* push_task gives a task to a worker that cannot execute it */
    FORGETS_WORKER, /* starpu_push_local_task to a worker that is not there, its error ignored */
};

enum { TASKS = 40 };

static enum mistake mistake;
static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task *list[TASKS + 8], *again;
static int first, last, given, stale;
static atomic_int runs[TASKS], wrong_worker, taken;

static void count_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&runs[(intptr_t)arg], 1);
}
static struct starpu_codelet task_cl = { .cpu_funcs = { count_func }, .name = "counted" };

static int on_worker_one(unsigned worker, struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return worker == 1;
}
static void picky_func(void *buffers[], void *arg)
{
    if (starpu_worker_get_id() != 1) atomic_fetch_add(&wrong_worker, 1);
    count_func(buffers, arg);
}
static struct starpu_codelet picky_cl = { .cpu_funcs = { picky_func },
                                          .can_execute = on_worker_one,
                                          .name = "picky" };

static void wake_all(void)
{
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) starpu_wake_worker_relax((int)w);
}

static int push_task(struct starpu_task *task)
{
    if (mistake == REFUSES) return -ENODEV;
    if (mistake == LOCAL_TWICE) {
        int r = starpu_push_local_task(0, task, 0);
        starpu_push_local_task(1, task, 0);
        return r;
    }
    if (mistake == LOCAL_WRONG) return starpu_push_local_task(0, task, 0);
    if (mistake == FORGETS_WORKER) starpu_push_local_task(77, task, 0);
    starpu_worker_relax_on();
    pthread_mutex_lock(&list_mutex);
    starpu_worker_relax_off();
    list[last++] = task;
    starpu_push_task_end(task);
    if (mistake != LOCKED) pthread_mutex_unlock(&list_mutex);
    if (mistake != WAKES_NOBODY) wake_all();
    if (mistake == WORKER_LOCKED) starpu_worker_lock(1);
    return mistake == REFUSES_ONE && last == 1 ? -EBUSY : 0;
}

static struct starpu_task *take_locked(void)
{
    if (mistake == KEEPS || mistake == FORGETS_WORKER) return NULL;
    if (mistake == TWICE && given % 2) {
        given++;
        return again;
    }
    if (mistake == AFTERWARDS && first == last && again) return again;
    if (mistake == BEFORE && again && ++stale % 50) return again;
    if (first == last) return NULL;
    unsigned worker = (unsigned)starpu_worker_get_id();
    struct starpu_task *task = list[first];
    if (mistake != WRONG_WORKER && !starpu_worker_can_execute_task(worker, task, 0)) return NULL;
    first++;
    atomic_fetch_add(&taken, 1);
    given++;
    again = task;
    return task;
}

static struct starpu_task *pop_task(unsigned context UNUSED)
{
    starpu_worker_relax_on();
    pthread_mutex_lock(&list_mutex);
    starpu_worker_relax_off();
    struct starpu_task *task = take_locked();
    pthread_mutex_unlock(&list_mutex);
    if (mistake == RELAXED) starpu_worker_relax_on();
    if (mistake == UNLOCKED) {
        starpu_pthread_mutex_t *mutex;
        starpu_pthread_cond_t *cond;
        starpu_worker_get_sched_condition(starpu_worker_get_id(), &mutex, &cond);
        pthread_mutex_unlock(mutex);
    }
    return task;
}

static struct starpu_sched_policy erring = { .push_task = push_task,
                                             .pop_task = pop_task,
                                             .policy_name = "erring" };

static bool start(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy = &erring;
    conf.precedence_over_environment_variables = 1;
    return starpu_init(&conf) == 0;
}

/* Whether TASKS tasks run once each, where they may. */
static bool run_tasks(struct starpu_codelet *cl)
{
    struct gate gate = { 0 };
    int wrong = 0;
    if (!start()) return false;
    if (mistake == WAKES_NOBODY) sleep(1);              /* all sleep */
    if (mistake == WRONG_WORKER) gate_submit(&gate, 1); /* worker 0 is the one to take something */
    for (int i = 0; i < TASKS; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = cl;
        task->cl_arg = (void *)(intptr_t)i;
        if (starpu_task_submit(task) != 0) return false;
        if (mistake == AFTERWARDS || mistake == BEFORE) starpu_task_wait_for_all();
    }
    if (mistake == WRONG_WORKER) comes_to(&taken, 1, 10000);
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_shutdown();
    for (int i = 0; i < TASKS; i++) wrong += atomic_load(&runs[i]) != 1;
    if (wrong) diag("%d of %d tasks did not run once", wrong, TASKS);
    return wrong == 0 && atomic_load(&wrong_worker) == 0;
}

static const struct mistake_case {
    const char *what;
    enum mistake mistake;
    bool picky;
    bool ends;           /* it cannot go on: ends with status 1 */
    const char *said[2]; /* in the output */
} cases[] = {
    { "no mistake: nothing is said", NONE, false, false, { NULL } },
    { "push_task refuses every task: said once, and they run",
      REFUSES,
      false,
      false,
      { "policy erring: push_task refused task counted (-19)" } },
    { "push_task takes a task and returns an error: it runs once",
      REFUSES_ONE,
      false,
      false,
      { "policy erring" } },
    { "pop_task gives each task twice: said once, and each runs once",
      TWICE,
      false,
      false,
      { "policy erring: pop_task returned a task that it does not hold" } },
    { "pop_task gives tasks that have ended: said once",
      AFTERWARDS,
      false,
      false,
      { "policy erring: pop_task returned a task that it does not hold" } },
    { "pop_task gives tasks that have ended before those that wait: these run nevertheless",
      BEFORE,
      false,
      false,
      { "policy erring: pop_task returned a task that it does not hold" } },
    { "pop_task gives a worker what it cannot execute: said once, and others execute it",
      WRONG_WORKER,
      true,
      false,
      { "policy erring: pop_task gave worker 0", "task picky" } },
    { "pop_task gives nothing: the deadlock names the policy and what it holds",
      KEEPS,
      false,
      true,
      { "policy erring holds 40 tasks and gives none" } },
    { "nobody is woken: the deadlock names the policy and what it holds",
      WAKES_NOBODY,
      false,
      true,
      { "policy erring holds", "starpu_wake_worker" } },
    { "pop_task returns relaxed: said once",
      RELAXED,
      false,
      false,
      { "policy erring: pop_task returned relaxed" } },
    { "pop_task returns without the worker's mutex: said once",
      UNLOCKED,
      false,
      false,
      { "policy erring: pop_task returned without the mutex" } },
    { "push_task keeps the policy's mutex: the deadlock says where everybody waits",
      LOCKED,
      false,
      true,
      { "inside push_task of scheduling policy erring" } },
    { "push_task does not release a worker's mutex: said once, and it is released",
      WORKER_LOCKED,
      false,
      false,
      { "policy erring: push_task returned with worker 1 locked" } },
    { "each task is given to two workers: refused the second time, and each runs once",
      LOCAL_TWICE,
      false,
      false,
      { "policy erring: starpu_push_local_task(1, task counted): it was given to a worker before" } },
    { "a task is given to a worker that cannot execute it: refused, and it runs elsewhere",
      LOCAL_WRONG,
      true,
      false,
      { "policy erring: starpu_push_local_task(0, task picky)", "cannot execute it" } },
    { "a task is given to no worker, and kept: the deadlock says who holds it",
      FORGETS_WORKER,
      false,
      true,
      { "policy erring holds 40 tasks" } },
};

static const struct mistake_case *now;

static bool run_now(void)
{
    mistake = now->mistake;
    return run_tasks(now->picky ? &picky_cl : &task_cl);
}

static struct trial begin(const struct mistake_case *c)
{
    now = c;
    return misuse_begin(&(struct misuse){ .what = c->what, .run = run_now });
}

static void check(const struct mistake_case *c, const struct outcome *o)
{
    bool right = WIFEXITED(o->status) && WEXITSTATUS(o->status) == (c->ends ? 1 : AS_DOCUMENTED);
    for (unsigned i = 0; i < LENGTH(c->said) && c->said[i]; i++) right &= strstr(o->said, c->said[i]) != NULL;
    bool each_time = c->mistake == LOCAL_TWICE || c->mistake == LOCAL_WRONG || c->mistake == REFUSES_ONE;
    if (!c->ends && !each_time) right &= o->lines == (c->said[0] != NULL);
    if (c->mistake == REFUSES_ONE) right &= o->lines <= 2; /* whose the task is depends on who is faster */
    if (ok(right, "%s", c->what)) return;
    diag("%s, with %d lines said", outcome_text(o->status), o->lines);
    outcome_show(o);
}

static bool without_push(void)
{
    static struct starpu_sched_policy empty = { .pop_task = pop_task, .policy_name = "hollow" };
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.sched_policy = &empty;
    conf.precedence_over_environment_variables = 1;
    return returns(starpu_init(&conf), -EINVAL);
}

int main(void)
{
    static const struct misuse m = { "a policy without push_task is refused", without_push, 0 };
    unsetenv("ORRERY_ON_DEADLOCK");
    static struct trial trials[LENGTH(cases)];
    for (unsigned i = 0; i < LENGTH(cases); i++) trials[i] = begin(&cases[i]);
    for (unsigned i = 0; i < LENGTH(cases); i++) {
        misuse_end(&trials[i]);
        check(&cases[i], &trials[i].o);
    }
    struct outcome o = misuse_try(&m);
    ok(all_of(WIFEXITED(o.status), WEXITSTATUS(o.status) == 0, o.lines == 1, strstr(o.said, "policy hollow")),
       "%s", m.what);
    return done_testing();
}
