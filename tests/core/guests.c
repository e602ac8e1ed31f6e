/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Guests, which are tasks of another rank's: they go before tasks that became ready here meanwhile; a worker
 * that runs dry says so, when and as often as is asked for; and how long tasks take is known of codelets that
 * lie side by side, by which loans are judged. Threads: main submits; one worker, then two. Owns: nothing.
 * Not here: loans (tests/mpi/lending.c).
 */
#include <pthread.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/worker/lending.h"
#include "core/worker/worker.h"
#include "tests/helper.h"

enum { OWN = 5 };

static atomic_int order, guest_place;

static void own_body(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&order, 1);
}
static void guest_body(void *buffers[] UNUSED, void *arg UNUSED)
{
    orr_guest_begins();
    atomic_store(&guest_place, atomic_fetch_add(&order, 1));
}
static void guest_ended(void *unused UNUSED)
{
    orr_guest_is_over();
}
static struct starpu_codelet own_cl = { .cpu_funcs = { own_body } };
static struct starpu_codelet guest_cl = { .cpu_funcs = { guest_body } };

static void guests_go_first(void)
{
    struct gate gate;
    gate_close(&gate, -1);
    for (int i = 0; i < OWN; i++) starpu_task_insert(&own_cl, 0);
    struct starpu_task *t = starpu_task_create();
    t->cl = &guest_cl;
    t->callback_func = guest_ended;
    is_int(orr_guest_submit(t), 0, "a guest is submitted behind %d tasks that are ready", OWN);
    gate_open(&gate);
    starpu_task_wait_for_all();
    is_int(atomic_load(&guest_place), 0, "and runs before them: somebody waits for it");
    is_int(atomic_load(&order), OWN + 1, "all ran");
}

/* ---- where guests go ---- */

static atomic_int together;

static void meet_body(void *buffers[] UNUSED, void *arg UNUSED)
{
    enum { PATIENCE_MS = 2000 };
    orr_guest_begins();
    atomic_fetch_add(&together, 1);
    for (int ms = 0; atomic_load(&together) < 2 && ms < PATIENCE_MS; ms++) usleep(1000);
    if (atomic_load(&together) < 2) atomic_fetch_sub(&together, 1);
}
static struct starpu_codelet meet_cl = { .cpu_funcs = { meet_body } };

static void guests_share_workers(void)
{
    usleep(20000);
    for (int i = 0; i < 2; i++) {
        struct starpu_task *t = starpu_task_create();
        t->cl = &meet_cl;
        t->callback_func = guest_ended;
        if (orr_guest_submit(t)) atomic_fetch_sub(&together, 2);
    }
    for (int ms = 0; atomic_load(&together) < 2 && ms < 5000; ms++) usleep(1000);
    is_int(atomic_load(&together), 2, "two guests at once run on two workers that have nothing to do");
}

/* ---- a worker that gives back what it was given is idle ---- */

enum { LEAVE_US = 30000 };
static atomic_int pushes;

static int push_late(struct starpu_task *t)
{
    if (atomic_fetch_add(&pushes, 1) > 0) return starpu_push_local_task(0, t, 0);
    usleep(LEAVE_US);
    return starpu_push_local_task(1, t, 0);
}
static struct starpu_task *pop_none(unsigned ctx UNUSED)
{
    return NULL;
}
static void no_state(unsigned ctx UNUSED)
{
}
static struct starpu_sched_policy late_policy = { .init_sched = no_state,
                                                  .deinit_sched = no_state,
                                                  .push_task = push_late,
                                                  .pop_task = pop_none,
                                                  .policy_name = "late" };

static void *submit_one(void *ctx)
{
    starpu_task_insert(&own_cl, STARPU_SCHED_CTX, *(unsigned *)ctx, 0);
    return NULL;
}

static void stays_idle(void)
{
    int workers[] = { 0, 1 };
    pthread_t thread;
    unsigned ctx =
        starpu_sched_ctx_create(workers, 2, "late", STARPU_SCHED_CTX_POLICY_STRUCT, &late_policy, 0);
    pthread_create(&thread, NULL, submit_one, &ctx);
    usleep(LEAVE_US / 3);
    starpu_sched_ctx_remove_workers(&workers[1], 1, ctx);
    pthread_join(thread, NULL);
    starpu_task_wait_for_all();
    for (int ms = 0; orr_workers_busy() > 0 && ms < 2000; ms++) usleep(1000);
    ok(orr_workers_busy() == 0,
       "a worker that gives back a task of a context that it left is idle (%d pushes)", atomic_load(&pushes));
    starpu_sched_ctx_delete(ctx);
}

/* ---- who runs dry says so ---- */

enum { MS_NS = 1000000, LONG_MS = 60000 };
static atomic_int said, said_again, said_paused;

static void hear_idle(struct orr_idle_listener *l UNUSED, bool again)
{
    atomic_fetch_add(again ? &said_again : &said, 1);
}
static void hear_paused(struct orr_idle_listener *l UNUSED)
{
    atomic_fetch_add(&said_paused, 1);
}
static struct orr_idle_listener listener = { .idle = hear_idle, .paused = hear_paused };

static struct orr_idle_terms terms_ms(unsigned after_ms, unsigned again_ms)
{
    return (struct orr_idle_terms){ .after_ns = (uint64_t)after_ms * MS_NS,
                                    .again_ns = (uint64_t)again_ms * MS_NS };
}

/* The worker runs a task; then some ms go by. */
static void idle_again(unsigned ms)
{
    starpu_task_insert(&own_cl, 0);
    starpu_task_wait_for_all();
    usleep(ms * 1000);
}

static bool soon(atomic_int *count, int at_least)
{
    int ms = 0;
    for (; atomic_load(count) < at_least && ms < 2000; ms++) usleep(1000);
    return ms < 2000;
}

static unsigned wants_more(void *unused UNUSED)
{
    return 0;
}

static void says_it_is_idle(void)
{
    enum { LATE_MS = 40, OFTEN = 3 };
    usleep(20000);
    orr_idle_listen(&listener, terms_ms(0, LONG_MS));
    ok(soon(&said, 1), "a worker that is idle already, asleep, says so");
    struct orr_lend_look before, after;
    orr_lend_look(&before, 0);
    usleep(50000);
    orr_lend_look(&after, 0);
    ok(after.idle_all_ns - before.idle_all_ns > (after.now_ns - before.now_ns) / 10 * 9,
       "and counts as idle");
    idle_again(20);
    ok(soon(&said, 2), "one that becomes so, too");
    usleep(20000);
    ok(atomic_load(&said) == 2 && atomic_load(&said_again) == 0, "each once");
    orr_idle_change(terms_ms(LATE_MS, LONG_MS));
    uint64_t before_ns = orr_clock_ns();
    idle_again(4);
    ok(soon(&said, 3) && orr_clock_ns() - before_ns >= (uint64_t)LATE_MS * MS_NS,
       "when it has been idle for so long, asleep");
    int hook = starpu_progression_hook_register(wants_more, NULL);
    idle_again(4);
    ok(soon(&said, 4), "or has polled for as long, for a hook that wants to be called again");
    starpu_progression_hook_deregister(hook);
    orr_idle_change(terms_ms(0, 2));
    idle_again(0);
    ok(soon(&said_again, OFTEN), "and again while it is idle, as often as is asked for");
    is_int(atomic_load(&said_paused), 0, "workers that sleep are not paused");
    starpu_pause();
    is_int(atomic_load(&said_paused), 1, "who pauses them is heard");
    starpu_resume();
    orr_idle_unlisten();
    int heard = atomic_load(&said) + atomic_load(&said_again);
    idle_again(10);
    is_int(atomic_load(&said) + atomic_load(&said_again), heard,
           "nothing is said to who does not want to hear it any more");
}

enum { IDLE_MS = 10 };

/* Looks, as often as it can, while the workers run tasks now and then; how often their idleness grew shorter
 * by half of what one lasts: by a moment it may, since who writes down that it ended can be held up behind
 * its clock. */
static void *look_all_the_time(void *going)
{
    struct orr_lend_look look;
    uint64_t last_ns = 0, shorter = 0;
    while (atomic_load((atomic_bool *)going)) {
        orr_lend_look(&look, 0);
        shorter += look.idle_all_ns + IDLE_MS * MS_NS / 2 < last_ns;
        last_ns = look.idle_all_ns;
    }
    return (void *)(uintptr_t)shorter;
}

static void idleness_is_counted_once(void)
{
    enum { TIMES = 60 };
    atomic_bool going = true;
    pthread_t thread;
    void *shorter;
    orr_idle_listen(&listener, terms_ms(LONG_MS, LONG_MS));
    for (int i = 0; i < 4; i++) idle_again(1);
    pthread_create(&thread, NULL, look_all_the_time, &going);
    for (int i = 0; i < TIMES; i++) {
        starpu_task_insert(&own_cl, 0);
        starpu_task_wait_for_all();
        usleep(IDLE_MS * 1000);
    }
    atomic_store(&going, false);
    pthread_join(thread, &shorter);
    is_int((int)(uintptr_t)shorter, 0, "who looks while an idleness ends counts it once");
    orr_idle_unlisten();
}

/* Who said so last is in a long task. */
static void another_goes_on(void)
{
    enum { OFTEN = 3 };
    bool went_on = true;
    orr_idle_listen(&listener, terms_ms(0, 2));
    for (int worker = 0; worker < 2; worker++) {
        struct gate gate;
        gate_close(&gate, worker);
        usleep(10000);
        atomic_store(&said_again, 0);
        went_on = soon(&said_again, OFTEN) && went_on;
        gate_open(&gate);
        starpu_task_wait_for_all();
    }
    ok(went_on, "of two that are idle the other one goes on when one has turned to work");
    orr_idle_unlisten();
}

/* ---- how long tasks take ---- */

enum { CODELETS = 4, ROUNDS = 50 };

static void nap_body(void *buffers[] UNUSED, void *arg UNUSED)
{
    usleep(20);
}

static void durations_are_known(void)
{
    static struct starpu_codelet side_by_side[CODELETS];
    for (int i = 0; i < CODELETS; i++) side_by_side[i].cpu_funcs[0] = nap_body;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CODELETS; i++) starpu_task_insert(&side_by_side[i], 0);
    starpu_task_wait_for_all();
    int known = 0;
    for (int i = 0; i < CODELETS; i++) known += orr_worker_recent_ns(&orr_workers[0], &side_by_side[i]) > 0;
    is_int(known, CODELETS, "the durations of tasks of codelets side by side are known of all");
}

static bool start(int cpus)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.precedence_over_environment_variables = 1;
    conf.ncpus = cpus;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy_name = "eager"; /* first come, first served */
    return starpu_init(&conf) == 0;
}

int main(void)
{
    if (!start(1)) skip_all("no runtime");
    guests_go_first();
    says_it_is_idle();
    idleness_is_counted_once();
    durations_are_known();
    starpu_shutdown();
    if (start(2)) {
        guests_share_workers();
        another_goes_on();
        stays_idle();
        starpu_shutdown();
    }
    return done_testing();
}
