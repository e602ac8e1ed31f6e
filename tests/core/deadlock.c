/* SPDX-License-Identifier: BSD-3-Clause */
/* deadlock.c: programs that can never go on are told why and ended, and programs that can are left alone.
 * Threads: each case runs in a process of its own, all at a time. Owns: nothing. Not here: deadlocks across
 * ranks. */
#include <sys/time.h>

#include "tests/core/misuse.h"

enum { LONG_S = 3, LONGER_S = 13, PATIENCE_S = 45 };

static void nothing(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static void slow(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    sleep(LONG_S);
}

static struct starpu_codelet plain_cl = { .cpu_funcs = { nothing }, .name = "plain" };
static struct starpu_codelet slow_cl = { .cpu_funcs = { slow }, .name = "slow" };
static struct starpu_codelet writer_cl = {
    .cpu_funcs = { nothing }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "writer"
};
static struct starpu_codelet slow_writer_cl = {
    .cpu_funcs = { slow }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "slow_writer"
};

static struct starpu_task *make(struct starpu_codelet *cl, const char *name)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->name = name;
    return t;
}

static void submit(struct starpu_task *t)
{
    if (starpu_task_submit(t) != 0) exit(3);
}

static bool cycle(void)
{
    struct starpu_task *a = make(&plain_cl, "hen"), *b = make(&plain_cl, "egg");
    starpu_task_declare_deps_array(a, 1, &b);
    starpu_task_declare_deps_array(b, 1, &a);
    submit(a);
    submit(b);
    starpu_task_wait_for_all();
    return true;
}

static bool never_submitted(void)
{
    struct starpu_task *a = make(&plain_cl, "patient"), *b = make(&plain_cl, "forgotten");
    starpu_task_declare_deps_array(a, 1, &b);
    submit(a);
    starpu_task_wait_for_all();
    return true;
}

static bool never_released(void)
{
    static int x;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    if (starpu_data_acquire(h, STARPU_RW) != 0) exit(3);
    starpu_task_insert(&writer_cl, STARPU_RW, h, STARPU_NAME, "kept_out", 0);
    starpu_task_wait_for_all();
    return true;
}

static bool hole_in_order(void)
{
    struct starpu_task *t = make(&plain_cl, "second");
    t->execute_on_a_specific_worker = 1;
    t->workerid = 0;
    t->workerorder = 2;
    submit(t);
    starpu_task_wait_for_all();
    return true;
}

static struct starpu_task *ordered(const char *name, unsigned order)
{
    struct starpu_task *t = make(&plain_cl, name);
    t->execute_on_a_specific_worker = 1;
    t->workerid = 0;
    t->workerorder = order;
    return t;
}

/* The first of the order waits for the second. */
static bool order_against_dependency(void)
{
    struct starpu_task *a = ordered("leader", 1), *b = ordered("follower", 2);
    starpu_task_declare_deps_array(a, 1, &b);
    submit(a);
    b->file = "program.c"; /* (submit would say this file) */
    b->line = 77;
    if ((starpu_task_submit)(b)) exit(3);
    starpu_task_wait_for_all();
    return true;
}

/* A policy of the program's that says "two workers", and gives the task to one. */
static int push_to_one(struct starpu_task *task)
{
    starpu_parallel_task_barrier_init_n(task, 2);
    return starpu_push_local_task(0, starpu_task_dup(task), 0);
}
static struct starpu_sched_policy to_one = { .push_task = push_to_one, .policy_name = "to one" };
static struct starpu_codelet spmd_cl = { .cpu_funcs = { nothing }, .type = STARPU_SPMD, .name = "spmd" };

static bool half_a_team(void)
{
    starpu_shutdown();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.sched_policy = &to_one;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) return false;
    submit(make(&spmd_cl, "half"));
    starpu_task_wait_for_all();
    return true;
}

/* ---- threads alone, without a task ---- */

static int shared[2];
static starpu_data_handle_t of_shared[2];

static void register_shared(void)
{
    for (int i = 0; i < 2; i++) {
        starpu_variable_data_register(&of_shared[i], STARPU_MAIN_RAM, (uintptr_t)&shared[i],
                                      sizeof shared[i]);
        starpu_data_set_name(of_shared[i], i ? "right hand" : "left hand");
    }
}

/* (Not static: its name is to be found.) */
__attribute__((noinline)) bool deadlock_test_takes(int which, enum starpu_data_access_mode mode);
bool deadlock_test_takes(int which, enum starpu_data_access_mode mode)
{
    if (starpu_data_acquire(of_shared[which], mode) != 0) exit(3);
    return true;
}

static bool acquired_again(void)
{
    register_shared();
    deadlock_test_takes(0, STARPU_R);
    return deadlock_test_takes(0, STARPU_W);
}

static bool unregistered_while_held(void)
{
    register_shared();
    deadlock_test_takes(1, STARPU_R);
    starpu_data_unregister(of_shared[1]);
    return true;
}

static bool commuting_turn_kept(void)
{
    register_shared();
    deadlock_test_takes(1, STARPU_RW | STARPU_COMMUTE);
    return deadlock_test_takes(1, STARPU_RW | STARPU_COMMUTE);
}

static bool fetched_while_held(void)
{
    register_shared();
    deadlock_test_takes(0, STARPU_W);
    return starpu_data_fetch_on_node(of_shared[0], STARPU_MAIN_RAM, 0) == 0;
}

static struct gate crossing;

static void *take_right_first(void *arg)
{
    (void)arg;
    deadlock_test_takes(1, STARPU_RW);
    gate_pass(&crossing);
    deadlock_test_takes(0, STARPU_RW);
    return NULL;
}

static bool crossed(void)
{
    pthread_t thread;
    register_shared();
    deadlock_test_takes(0, STARPU_RW);
    pthread_create(&thread, NULL, take_right_first, NULL);
    gate_wait_entered(&crossing, 1);
    gate_open(&crossing);
    return deadlock_test_takes(1, STARPU_RW);
}

static void *take_and_give(void *arg)
{
    (void)arg;
    deadlock_test_takes(0, STARPU_RW);
    starpu_data_release(of_shared[0]);
    return NULL;
}

/* The main thread, which has what another waits for, is outside of the runtime for so long. */
static bool held_for(unsigned seconds)
{
    pthread_t thread;
    register_shared();
    deadlock_test_takes(0, STARPU_RW);
    pthread_create(&thread, NULL, take_and_give, NULL);
    sleep(seconds);
    starpu_data_release(of_shared[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) starpu_data_unregister(of_shared[i]);
    return true;
}

static bool tag_without_task(void)
{
    return starpu_tag_wait(77) == 0;
}

static void *wait_for_second(void *unused)
{
    (void)unused;
    starpu_tag_wait(79);
    return NULL;
}

/* A tag that waits for another, and two threads. */
static bool tags_of_two(void)
{
    pthread_t thread;
    starpu_tag_declare_deps(78, 1, (starpu_tag_t)79);
    pthread_create(&thread, NULL, wait_for_second, NULL);
    return starpu_tag_wait(78) == 0;
}

/* The thread that waits would be deaf to a callback that reached its tag. */
static void notify_late(void *arg)
{
    (void)arg;
    sleep(LONG_S);
    starpu_tag_notify_from_apps(80);
}

static bool tag_of_callback(void)
{
    struct starpu_task *t = make(&plain_cl, "caller");
    t->callback_func = notify_late;
    submit(t);
    return starpu_tag_wait(80) == 0;
}

static bool held_for_a_while(void)
{
    return held_for(LONG_S);
}

static bool held_for_long(void)
{
    alarm(PATIENCE_S);
    return held_for(LONGER_S);
}

/* The thread waits that long for tasks and not for the program. */
static bool long_in_tasks(void)
{
    alarm(PATIENCE_S);
    register_shared();
    for (int i = 0; i < LONGER_S / LONG_S; i++)
        starpu_task_insert(&slow_writer_cl, STARPU_RW, of_shared[0], 0);
    deadlock_test_takes(0, STARPU_R);
    starpu_data_release(of_shared[0]);
    for (int i = 0; i < 2; i++) starpu_data_unregister(of_shared[i]);
    return true;
}

static bool only_long(void)
{
    submit(make(&slow_cl, "long"));
    starpu_task_wait_for_all();
    return true;
}

/* The main thread is outside the runtime all the while, and submits what is missing in the end. */
static bool late_program(void)
{
    struct starpu_task *a = make(&plain_cl, "patient"), *b = make(&plain_cl, "late");
    starpu_task_declare_deps_array(a, 1, &b);
    submit(a);
    sleep(LONG_S);
    submit(b);
    starpu_task_wait_for_all();
    return true;
}

static void no_verdict(void *whole)
{
    (void)whole;
}

static bool never_judged(void)
{
    struct starpu_task *t = make(&plain_cl, "tried");
    t->prologue_callback_func = starpu_task_ft_prologue;
    t->prologue_callback_arg = (void *)no_verdict;
    submit(t);
    starpu_task_wait_for_all();
    return true;
}

/* Keeps the calling thread where it stands, as if it had no core. */
static void stand_still(int signal)
{
    double until = starpu_timing_now() + 1e6 * LONG_S;
    (void)signal;
    while (starpu_timing_now() < until) continue;
}

static void tick(int signal)
{
    (void)signal;
}

/* A timer of the program's wakes the main thread while it waits. */
static bool woken_in_vain(void)
{
    struct itimerval often = { { 0, 50000 }, { 0, 50000 } };
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &often, NULL);
    return never_submitted();
}

/* Keeps the calling thread elsewhere, asleep now and then. */
static void nap(int signal)
{
    (void)signal;
    for (int i = 0; i < LONG_S * 100; i++) usleep(10000);
}

static pthread_t waiter;

static void keep_waiter(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    usleep(50000); /* it waits */
    pthread_kill(waiter, SIGUSR1);
}
static struct starpu_codelet keep_cl = { .cpu_funcs = { keep_waiter }, .name = "keep" };

/* What it waits for is over, and the main thread, which has more to do, comes late. */
static bool comes_late(void (*handler)(int))
{
    struct starpu_task *keep = make(&keep_cl, "keep"), *patient = make(&plain_cl, "patient");
    waiter = pthread_self();
    signal(SIGUSR1, handler);
    starpu_tag_declare_deps(1, 1, (starpu_tag_t)2);
    patient->use_tag = 1;
    patient->tag_id = 1;
    keep->detach = 0;
    submit(patient);
    submit(keep);
    if (starpu_task_wait(keep) != 0) exit(3);
    starpu_tag_notify_from_apps(2);
    starpu_task_wait_for_all();
    return true;
}

static bool late_thread(void)
{
    return comes_late(stand_still);
}

static bool thread_in_handler(void)
{
    return comes_late(nap);
}

static const struct deadlock_case {
    struct misuse m;
    const char *said;
} cases[] = {
    { { "a cycle of dependencies is printed as one, and the program ends with status 1", cycle, UP | ENDS },
      "in a circle" },
    { { "a dependency that was never submitted is named", never_submitted, UP | ENDS }, "forgotten" },
    { { "data that the program never released is named", never_released, UP | ENDS },
      "starpu_data_acquire without starpu_data_release" },
    { { "a task whose tries nobody finds good or bad is not told to be without a worker", never_judged,
        UP | ENDS },
      "end waits for 1 calls" },
    { { "a missing workerorder is named, and that no task has it", hole_in_order, UP | ENDS },
      "worker 0 waits for order 1 (STARPU_WORKER_ORDER), which no task has" },
    { { "and who waits behind it, with its order", hole_in_order, UP | ENDS }, "order 2 on worker 0" },
    { { "an order that goes against the dependencies is a circle", order_against_dependency, UP | ENDS },
      "in a circle: leader (job 1, order 1 on worker 0, " },
    { { "with order, worker, file and line", order_against_dependency, UP | ENDS },
      ") -> follower (job 2, order 2 on worker 0, program.c:77) -> leader" },
    { { "and said of the task whose turn it is not", order_against_dependency, UP | ENDS },
      "waits for its turn: task leader" },
    { { "a parallel task that too few workers were given is named", half_a_team, UP | ENDS }, "half" },
    { { "and how many have come", half_a_team, UP | ENDS }, "on 2 workers together, and 1 have come" },
    { { "a thread that signals wake is seen to wait all the same", woken_in_vain, UP | ENDS }, "forgotten" },
    { { "a thread that acquires again what it has is told, without a task", acquired_again, UP | ENDS },
      "for data \"left hand\", at " },
    { { "and that it has it", acquired_again, UP | ENDS },
      "which the program holds: starpu_data_acquire without starpu_data_release, at " },
    { { "so is one that unregisters it", unregistered_while_held, UP | ENDS },
      "for data \"right hand\", which" },
    { { "or waits for its turn among commuting ones", commuting_turn_kept, UP | ENDS },
      "for data \"right hand\", at " },
    { { "or fetches it and waits", fetched_while_held, UP | ENDS }, "which the program holds" },
    { { "two threads that wait for each other's data are told, the one", crossed, UP | ENDS },
      "for data \"left hand\", at " },
    { { "and the other", crossed, UP | ENDS }, "for data \"right hand\", at " },
    { { "a thread that waits 10 s for data which the program has acquired is told", held_for_long,
        UP | LINES },
      "which the program holds: starpu_data_acquire without starpu_data_release, at " },
    { { "a thread that waits for a tag is told, without a task", tag_without_task, UP | ENDS },
      "1 thread waits in starpu_tag_wait for tag 77, which no task has that was submitted" },
    { { "and so are two", tags_of_two, UP | ENDS }, "1 thread waits in starpu_tag_wait for tag 79" },
    { { "but not while a callback may reach it", tag_of_callback, UP | QUIET }, NULL },
    { { "one that waits for a few is not", held_for_a_while, UP | QUIET }, NULL },
    { { "nor one that waits for tasks", long_in_tasks, UP | QUIET }, NULL },
    { { "a task that runs longer than the limit is no deadlock", only_long, UP | QUIET }, NULL },
    { { "a program that computes outside the runtime is no deadlock", late_program, UP | QUIET }, NULL },
    { { "a thread whose wait is over, and that comes late, is none", late_thread, UP | QUIET }, NULL },
    { { "nor is one that sleeps in the handler of a signal", thread_in_handler, UP | QUIET }, NULL },
};

static void check(const struct deadlock_case *c, const struct outcome *o)
{
    bool good;
    int status = c->m.flags & ENDS ? 1 : 0;
    if (c->said)
        good = ok(all_of(WIFEXITED(o->status), WEXITSTATUS(o->status) == status, strstr(o->said, "deadlock"),
                         strstr(o->said, c->said)),
                  "%s", c->m.what);
    else
        good = ok(all_of(o->status == 0, !strstr(o->said, "deadlock")), "%s", c->m.what);
    if (good) return;
    diag("%s", outcome_text(o->status));
    outcome_show(o);
}

int main(void)
{
    static struct trial trials[LENGTH(cases)];
    for (size_t i = 0; i < LENGTH(cases); i++) trials[i] = misuse_begin(&cases[i].m);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        misuse_end(&trials[i]);
        check(&cases[i], &trials[i].o);
    }
    return done_testing();
}
