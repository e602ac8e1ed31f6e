/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks and tags that are used again: explicit dependencies, end dependencies and waiting threads belong to
 * the round they were meant for, whoever runs again, ends or goes meanwhile. And many of each.
 * Threads: main submits, one more waits for tags; workers execute. Owns: nothing.
 */
#include <pthread.h>
#include "tests/helper.h"

struct counted {
    atomic_int ran, early; /* how often; before as many runs of what it waits for */
    struct counted *after[3];
};

static void count_func(void *buffers[] UNUSED, void *arg)
{
    struct counted *c = arg;
    int mine = atomic_fetch_add(&c->ran, 1) + 1;
    for (int i = 0; i < 3 && c->after[i]; i++)
        atomic_fetch_add(&c->early, atomic_load(&c->after[i]->ran) < mine);
}

static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static struct starpu_task *create(struct counted *c)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = &count_cl;
    t->cl_arg = c;
    return t;
}

static void keep(struct starpu_task *t)
{
    t->destroy = 0;
    t->detach = 0;
}

static int failed; /* [own: main] */

static void submit(struct starpu_task *t)
{
    failed += starpu_task_submit(t) != 0;
}

static void wait_for(struct starpu_task *t)
{
    failed += starpu_task_wait(t) != 0;
}

/* ---- dependencies ---- */

enum { ROUNDS = 20 };

static void rounds(struct starpu_task *t[3], struct counted c[3], const char *what)
{
    for (int r = 0; r < ROUNDS; r++) {
        submit(t[2]);
        submit(t[r % 2]);
        submit(t[1 - r % 2]);
        for (int i = 0; i < 3; i++) wait_for(t[i]);
    }
    ok(all_of(c[2].ran == ROUNDS, c[2].early == 0), "%s: it waits in each round", what);
}

static void declared_before_kept(void)
{
    struct counted c[3] = { 0 };
    struct starpu_task *t[3];
    for (int i = 0; i < 3; i++) t[i] = create(&c[i]);
    c[2].after[0] = &c[0];
    c[2].after[1] = &c[1];
    starpu_task_declare_deps_array(t[2], 2, t);
    for (int i = 0; i < 3; i++) keep(t[i]);
    rounds(t, c, "dependencies declared before the task is made one to keep");
    for (int i = 0; i < 3; i++) starpu_task_destroy(t[i]);
}

static void in_own_memory(void)
{
    struct counted c[3] = { 0 };
    struct starpu_task own[3], *t[3] = { &own[0], &own[1], &own[2] };
    c[2].after[0] = &c[0];
    c[2].after[1] = &c[1];
    for (int i = 0; i < 3; i++) {
        starpu_task_init(t[i]);
        t[i]->cl = &count_cl;
        t[i]->cl_arg = &c[i];
        t[i]->destroy = i == 2; /* the usual value of a task that was created */
    }
    starpu_task_declare_deps(t[2], 2, t[0], t[1]);
    for (int i = 0; i < 3; i++) keep(t[i]);
    rounds(t, c, "tasks in the program's own memory");
    for (int i = 0; i < 3; i++) starpu_task_clean(t[i]);
}

static void prerequisite_goes(void)
{
    struct counted c[3] = { 0 };
    struct starpu_task *t[3];
    for (int i = 0; i < 3; i++) t[i] = create(&c[i]);
    keep(t[1]);
    keep(t[2]);
    starpu_task_declare_deps_array(t[2], 2, t);
    for (int i = 0; i < 3; i++) submit(t[i]);
    wait_for(t[1]);
    wait_for(t[2]);
    submit(t[2]); /* waits for t[1] alone */
    int early = starpu_task_finished(t[2]);
    submit(t[1]);
    wait_for(t[1]);
    wait_for(t[2]);
    starpu_task_destroy(t[1]);
    submit(t[2]); /* for nobody */
    wait_for(t[2]);
    ok(all_of(c[2].ran == 3, !early), "a prerequisite that was freed is none in later rounds");
    starpu_task_destroy(t[2]);
}

/* The last end of a prerequisite comes while what waited for it in an earlier round is destroyed. */
static void waiter_goes(void)
{
    enum { TIMES = 3000 };
    struct counted of_p = { 0 }, of_t = { 0 }, of_next = { 0 };
    struct starpu_task *p = create(&of_p);
    keep(p);
    for (int i = 0; i < TIMES; i++) {
        struct starpu_task *t = create(&of_t);
        keep(t);
        starpu_task_declare_deps_array(t, 1, &p);
        submit(t);
        submit(p);
        wait_for(t);
        wait_for(p);
        submit(p);
        starpu_task_destroy(t);
        struct starpu_task *next = create(&of_next); /* in its place */
        starpu_task_declare_deps_array(next, 1, &p);
        wait_for(p);
        submit(next);
        submit(p);
        wait_for(p);
    }
    starpu_task_destroy(p);
    starpu_task_wait_for_all();
    ok(all_of(of_p.ran == 3 * TIMES, of_t.ran == TIMES, of_next.ran == TIMES),
       "a task may be destroyed while what it waited for runs again");
}

static void many_prerequisites(void)
{
    enum { MANY = SCALED(200000, 70000) };
    static struct starpu_task *all[MANY];
    struct counted each = { 0 }, last = { 0 };
    struct starpu_task *t = create(&last);
    for (int i = 0; i < MANY; i++) all[i] = create(&each);
    starpu_task_declare_deps_array(t, MANY, all);
    submit(t);
    for (int i = 0; i < MANY; i++) submit(all[i]);
    starpu_task_wait_for_all();
    ok(all_of(each.ran == MANY, last.ran == 1), "a task waits for %d others", (int)MANY);
}

/* ---- ends ---- */

static void end_waits_once(void)
{
    struct counted of_p = { 0 }, of_t = { 0 }, of_other = { 0 };
    struct starpu_task *p = create(&of_p), *t = create(&of_t);
    keep(p);
    keep(t);
    starpu_task_declare_end_deps_array(t, 1, &p);
    submit(t);
    while (atomic_load(&of_t.ran) == 0) sched_yield();
    usleep(1000);
    int early = starpu_task_finished(t);
    submit(p);
    wait_for(p);
    wait_for(t);
    starpu_task_destroy(t);
    struct starpu_task *other = create(&of_other); /* in its place */
    keep(other);
    starpu_task_end_dep_add(other, 1);
    submit(other);
    submit(p);
    wait_for(p);
    while (atomic_load(&of_other.ran) == 0) sched_yield();
    usleep(1000);
    int unrelated = starpu_task_finished(other);
    starpu_task_end_dep_release(other);
    wait_for(other);
    starpu_task_destroy(other);
    ok(!early, "an end waits for another task's");
    ok(!unrelated, "when that runs again it ends no unrelated task");
    starpu_task_destroy(p);
}

static void end_waits_in_one_round(void)
{
    struct counted of_p = { 0 };
    struct gate gate = { 0, 0 };
    struct starpu_task *p = create(&of_p), *t = starpu_task_create();
    t->cl = &gate_cl;
    t->cl_arg = &gate;
    keep(p);
    keep(t);
    starpu_task_declare_end_deps_array(t, 1, &p);
    atomic_store(&gate.open, 1);
    submit(t);
    submit(p);
    wait_for(p);
    wait_for(t);
    atomic_store(&gate.open, 0);
    atomic_store(&gate.entered, 0);
    submit(t);
    gate_wait_entered(&gate, 1);
    submit(p);
    wait_for(p);
    int early = starpu_task_finished(t);
    gate_open(&gate);
    wait_for(t);
    ok(!early, "and in its task's next round the end waits for the body");
    starpu_task_destroy(p);
    starpu_task_destroy(t);
}

static void many_ends(void)
{
    enum { MANY = SCALED(200000, 70000) };
    static struct starpu_task *all[MANY];
    struct counted each = { 0 };
    for (int i = 0; i < MANY; i++) {
        all[i] = create(&each);
        if (i > 0) starpu_task_declare_end_deps_array(all[i], 1, &all[i - 1]);
    }
    for (int i = MANY - 1; i >= 0; i--) submit(all[i]);
    starpu_task_wait_for_all();
    is_int(each.ran, MANY, "%d ends wait for each other in a row", (int)MANY);
}

/* ---- tags ---- */

enum { TAG = 77 };
static atomic_int stage, waited;
static struct starpu_task *of_second_round;

static void *wait_for_tag(void *arg UNUSED)
{
    atomic_store(&stage, 1);
    atomic_store(&waited, starpu_tag_wait(TAG) == 0 ? 1 : -1);
    return NULL;
}

static void begin_second_round(void *arg UNUSED)
{
    starpu_task_end_dep_add(of_second_round, 1);
    if (starpu_task_submit(of_second_round) != 0) atomic_store(&waited, -2);
}

/* The thread sleeps when its round ends, and the next begins at once. */
static void tag_is_bound_again(void)
{
    pthread_t waiter;
    struct gate gate = { 0, 0 };
    struct counted second = { 0 };
    struct starpu_task *t = starpu_task_create();
    t->cl = &gate_cl;
    t->cl_arg = &gate;
    t->use_tag = 1;
    t->tag_id = TAG;
    t->callback_func = begin_second_round;
    of_second_round = create(&second);
    of_second_round->destroy = 0;
    of_second_round->use_tag = 1;
    of_second_round->tag_id = TAG;
    submit(t);
    gate_wait_entered(&gate, 1);
    atomic_store(&stage, 0);
    atomic_store(&waited, 0);
    pthread_create(&waiter, NULL, wait_for_tag, NULL);
    comes_to(&stage, 1, 5000);
    usleep(30000); /* it sleeps, most likely: else this finds nothing */
    gate_open(&gate);
    ok(comes_to(&waited, 1, 5000),
       "a thread that waits for a tag hears of its round, though the next has begun");
    starpu_task_end_dep_release(of_second_round);
    pthread_join(waiter, NULL);
    is_int(starpu_tag_wait(TAG), 0, "and the next can be waited for");
    starpu_tag_remove(TAG);
    starpu_task_destroy(of_second_round);
}

static void remove_tag(void *arg UNUSED)
{
    starpu_tag_remove(TAG);
}

static void tag_is_removed(void)
{
    enum { TIMES = 2000 };
    struct counted c = { 0 };
    int wrong = 0;
    for (int i = 0; i < TIMES; i++) {
        struct starpu_task *t = create(&c);
        t->use_tag = 1;
        t->tag_id = TAG;
        t->callback_func = remove_tag;
        submit(t);
        pthread_t waiter;
        if (i % 100 == 0) pthread_create(&waiter, NULL, wait_for_tag, NULL);
        starpu_task_wait_for_all();
        if (i % 100 != 0) continue;
        starpu_tag_notify_from_apps(TAG); /* if that came late */
        pthread_join(waiter, NULL);
        wrong += atomic_load(&waited) != 1;
        starpu_tag_remove(TAG);
    }
    is_int(wrong, 0, "a tag may be removed by its task's callback while threads wait for it");
    pthread_t waiter;
    atomic_store(&stage, 0);
    atomic_store(&waited, 0);
    pthread_create(&waiter, NULL, wait_for_tag, NULL);
    comes_to(&stage, 1, 5000);
    usleep(10000);
    starpu_tag_remove(TAG);
    if (!comes_to(&waited, -1, 2000) && atomic_load(&waited) == 0) { /* it was not waiting yet */
        usleep(100000);
        starpu_tag_remove(TAG);
        for (int i = 0; i < 50000 && atomic_load(&waited) == 0; i++) usleep(100);
    }
    pthread_join(waiter, NULL);
    is_int(atomic_load(&waited), -1, "a thread that waits for one nobody can reach any more is told");
}

int main(void)
{
    runtime_start(2, "eager");
    require_workers(2);
    declared_before_kept();
    in_own_memory();
    prerequisite_goes();
    waiter_goes();
    many_prerequisites();
    end_waits_once();
    end_waits_in_one_round();
    many_ends();
    tag_is_bound_again();
    tag_is_removed();
    is_int(failed, 0, "every call returned 0");
    starpu_shutdown();
    return done_testing();
}
