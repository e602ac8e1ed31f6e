/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With an error hook, a task whose data cannot be brought fails: its body does not run, who waits for it is
 * told, and what it was to write has no value, for tasks, acquisitions, reductions and pieces. Threads: main
 * submits and waits; workers execute. Owns: its data. Not here: running out of memory (alloc_failures.c).
 */
#include "orrery.h"
#include "tests/core/sim_helper.h"

static atomic_int ran, hooked, called;
static char message[512];

static void hook(const char *text, void *arg UNUSED)
{
    snprintf(message, sizeof message, "%s", text);
    hooked++;
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    ran++;
}

static void set_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = 1;
    ran++;
}

static void copy_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VECTOR_GET_PTR(buffers[0]) = *(int *)STARPU_VECTOR_GET_PTR(buffers[1]);
    ran++;
}

static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .cuda_funcs = { add_func },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .name = "add" };
static struct starpu_codelet set_cl = {
    .cpu_funcs = { set_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "set"
};
static struct starpu_codelet copy_cl = {
    .cpu_funcs = { copy_func }, .nbuffers = 2, .modes = { STARPU_W, STARPU_R }, .name = "copy"
};
static struct starpu_codelet contribute_cl = {
    .cpu_funcs = { copy_func }, .nbuffers = 2, .modes = { STARPU_REDUX, STARPU_R }, .name = "contribute"
};
static struct starpu_codelet device_cl = {
    .cuda_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "on a device"
};
static struct starpu_codelet sum_cl = { .cpu_funcs = { add_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R } };

static starpu_data_handle_t vector(int *at, size_t n)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, at ? STARPU_MAIN_RAM : -1, (uintptr_t)at, n, sizeof(int));
    return h;
}

static void count_call(void *arg UNUSED)
{
    called++;
}

static struct starpu_task *task_on(struct starpu_codelet *cl, starpu_data_handle_t a, starpu_data_handle_t b)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->handles[0] = a;
    task->handles[1] = b;
    task->callback_func = count_call;
    return task;
}

static int acquired(starpu_data_handle_t h)
{
    int r = starpu_data_acquire(h, STARPU_R);
    if (r == 0) starpu_data_release(h);
    return r;
}

static void waits(void)
{
    int value = 5;
    starpu_data_handle_t never = vector(NULL, 1), out = vector(&value, 1);
    struct starpu_task *task = task_on(&copy_cl, out, never), *next = task_on(&add_cl, out, NULL);
    ran = hooked = called = 0;
    task->detach = next->detach = 0;
    starpu_task_submit(task);
    int r = starpu_task_wait(task);
    ok(all_of(r == -ENODATA, hooked == 1, strstr(message, "copy"), strstr(message, "never written")),
       "who waits for a task whose data nobody wrote gets an error, and the hook says which");
    ok(all_of(ran == 0, value == 5, called == 1), "its body has not run, its callback was called");
    starpu_task_submit(next);
    r = starpu_task_wait(next);
    ok(all_of(r == -ENODATA, hooked == 2, ran == 0, strstr(message, "failed")),
       "who reads what it was to write fails in turn");
    is_int(starpu_task_wait_for_all(), -EIO, "waiting for all tells that some failed");
    is_int(starpu_task_wait_for_all(), 0, "once");
    is_int(acquired(out), -EINVAL, "what it was to write cannot be acquired");
    starpu_task_insert(&set_cl, STARPU_W, out, 0);
    starpu_task_insert(&add_cl, STARPU_RW, out, 0);
    ok(all_of(starpu_task_wait_for_all() == 0, acquired(out) == 0, ran == 2, value == 2),
       "until somebody writes it again");
    task = task_on(&copy_cl, out, never);
    task->synchronous = 1;
    r = starpu_task_submit(task);
    ok(all_of(r == -ENODATA, starpu_task_finished(task)),
       "a synchronous submission returns the error and the task");
    starpu_task_destroy(task);
    ok(starpu_data_cpy(out, never, 0, NULL, NULL) == -ENODATA, "so does a copy");
    struct starpu_task *both[2] = { task_on(&copy_cl, out, never), task_on(&set_cl, out, NULL) };
    for (int i = 0; i < 2; i++) {
        both[i]->detach = 0;
        starpu_task_submit(both[i]);
    }
    ok(all_of(starpu_task_wait_array(both, 2) == -ENODATA, acquired(out) == 0),
       "waiting for several waits for all of them, and returns the first error");
    starpu_task_wait_for_all();
    starpu_data_unregister(out);
    starpu_data_unregister(never);
}

static void job_lists(void)
{
    int value = 0;
    starpu_data_handle_t never = vector(NULL, 1), out = vector(&value, 1);
    struct orrery_joblist *list = orrery_joblist_create("failing", 0),
                          *other = orrery_joblist_create("other", 0);
    orrery_joblist_add_job(other, task_on(&set_cl, out, NULL));
    is_int(orrery_joblist_wait_for_all(other), 0, "a job list whose job has run is waited for");
    orrery_joblist_add_job(list, task_on(&copy_cl, out, never));
    orrery_joblist_add_job(list, task_on(&set_cl, out, NULL));
    is_int(orrery_joblist_wait_for_all(list), -EIO, "waiting for a list of which a job failed tells");
    is_int(orrery_joblist_wait_for_all(list), 0, "once");
    is_int(orrery_joblist_wait_for_all(other), 0, "who waits for another list is not told");
    orrery_joblist_add_job(list, task_on(&copy_cl, out, never));
    starpu_task_wait_for_all();
    is_int(orrery_joblist_wait_for_all(list), -EIO, "so does waiting when it has ended already");
    orrery_joblist_destroy(list);
    orrery_joblist_destroy(other);
    starpu_data_unregister(out);
    starpu_data_unregister(never);
}

static void release_it(void *arg)
{
    called++;
    starpu_data_release(arg);
}

static void by_callback(void)
{
    starpu_data_handle_t never = vector(NULL, 1), out = vector(NULL, 1);
    called = hooked = 0;
    is_int(starpu_data_acquire_cb(never, STARPU_R, release_it, never), -EINVAL,
           "acquiring data that nobody wrote with a callback is refused");
    starpu_data_acquire(never, STARPU_W);
    int r = starpu_data_acquire_cb(never, STARPU_R, release_it, never);
    starpu_data_invalidate_submit(never);
    r |= starpu_data_acquire_cb(never, STARPU_R, release_it, never);
    ok(all_of(r == 0, hooked == 0, called == 0), "while somebody may yet write it, that waits");
    starpu_data_release(never);
    ok(all_of(comes_to(&hooked, 1, 10000), called == 1), "if there is no value in the end, the hook is told");
    starpu_data_acquire(out, STARPU_W);
    starpu_task_insert(&copy_cl, STARPU_W, out, STARPU_R, never, 0);
    r = starpu_data_acquire_cb(out, STARPU_R, release_it, out);
    starpu_data_release(out);
    ok(all_of(starpu_task_wait_for_all() == -EIO, comes_to(&hooked, 3, 10000), r == 0, called == 1),
       "so it is behind a task that failed");
    starpu_data_unregister(out);
    starpu_data_unregister(never);
}

static void dependencies(void)
{
    starpu_data_handle_t never = vector(NULL, 1), other = vector(NULL, 1);
    struct starpu_task *task = task_on(&add_cl, never, NULL), *after = task_on(&set_cl, other, NULL);
    ran = 0;
    task->use_tag = 1;
    task->tag_id = 77;
    starpu_task_declare_deps_array(after, 1, &task);
    starpu_task_submit(after);
    starpu_task_submit(task);
    is_int(starpu_tag_wait(77), 0, "the tag of a task that failed is reached");
    starpu_task_wait_for_all();
    ok(all_of(ran == 1, acquired(other) == 0), "tasks that only wait for its end run");
    starpu_data_unregister(other);
    starpu_data_unregister(never);
}

static void reductions(void)
{
    int value = 0;
    int one = 1;
    starpu_data_handle_t never = vector(NULL, 1), out = vector(&value, 1), good = vector(&one, 1);
    starpu_data_set_reduction_methods(out, &sum_cl, &set_cl);
    starpu_task_insert(&contribute_cl, STARPU_REDUX, out, STARPU_R, never, 0);
    is_int(starpu_task_wait_for_all(), -EIO, "a contribution may fail");
    is_int(acquired(out), -EINVAL, "then the reduction has no value");
    starpu_task_wait_for_all();
    starpu_task_insert(&contribute_cl, STARPU_REDUX, out, STARPU_R, good, 0);
    ok(all_of(starpu_task_wait_for_all() == 0, acquired(out) == -EINVAL),
       "which contributions that come after it do not replace");
    starpu_task_wait_for_all();
    starpu_task_insert(&set_cl, STARPU_W, out, 0);
    ok(all_of(starpu_task_wait_for_all() == 0, acquired(out) == 0), "until it is written");
    starpu_data_unregister(out);
    starpu_data_unregister(never);
    starpu_data_unregister(good);
}

static void pieces(void)
{
    int values[4] = { 0 };
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_data_handle_t never = vector(NULL, 2), h = vector(values, 4), planned[2];
    starpu_data_partition(h, &f);
    starpu_task_insert(&copy_cl, STARPU_W, starpu_data_get_child(h, 1), STARPU_R, never, 0);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_task_wait_for_all();
    is_int(acquired(h), -EINVAL, "data with a piece that could not be written has no value");
    starpu_data_partition(h, &f);
    starpu_task_insert(&set_cl, STARPU_W, starpu_data_get_child(h, 0), 0);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    is_int(acquired(h), -EINVAL, "nor when another piece is written since");
    starpu_task_insert(&set_cl, STARPU_W, h, 0);
    starpu_data_partition_plan(h, &f, planned);
    starpu_task_insert(&copy_cl, STARPU_W, planned[0], STARPU_R, never, 0);
    starpu_task_wait_for_all();
    is_int(acquired(h), -EINVAL, "by plan neither");
    starpu_task_insert(&set_cl, STARPU_W, planned[1], 0);
    is_int(acquired(h), -EINVAL, "nor there when another is written");
    starpu_task_insert(&set_cl, STARPU_W, planned[0], 0);
    starpu_task_insert(&set_cl, STARPU_W, planned[1], 0);
    is_int(acquired(h), 0, "written anew, it has one");
    starpu_data_partition_clean(h, 2, planned);
    starpu_data_unregister(h);
    starpu_data_unregister(never);
}

static void devices(void)
{
    enum { LARGE = 1 << 20 };
    starpu_data_handle_t large = vector(NULL, LARGE);
    ran = hooked = 0;
    starpu_data_acquire(large, STARPU_W);
    starpu_data_release(large);
    struct starpu_task *task = task_on(&device_cl, large, NULL);
    task->detach = 0;
    starpu_task_submit(task);
    int r = starpu_task_wait(task);
    ok(all_of(r == -ENOMEM, ran == 0, hooked == 1), "a task whose data does not fit a device fails");
    is_int(acquired(large), -EINVAL, "and what it was to change has no value");
    starpu_task_wait_for_all();
    starpu_data_unregister(large);
}

/* ---- tasks that several workers run ---- */

static struct starpu_codelet spmd_cl = { .cpu_funcs = { add_func },
                                         .type = STARPU_SPMD,
                                         .max_parallelism = INT_MAX,
                                         .nbuffers = 1,
                                         .modes = { STARPU_RW },
                                         .name = "spmd" };
static struct starpu_codelet forkjoin_cl = { .cpu_funcs = { add_func },
                                             .type = STARPU_FORKJOIN,
                                             .max_parallelism = INT_MAX,
                                             .nbuffers = 1,
                                             .modes = { STARPU_RW },
                                             .name = "forkjoin" };

static int waited_in(struct starpu_codelet *cl, unsigned ctx)
{
    starpu_data_handle_t never = vector(NULL, 1);
    struct starpu_task *task = task_on(cl, never, NULL);
    ran = 0;
    task->detach = 0;
    int r = starpu_task_submit_to_ctx(task, ctx);
    if (!r) r = starpu_task_wait(task);
    starpu_data_unregister(never);
    return r;
}

static void together(void)
{
    runtime_start(2, "peager");
    ok(all_of(waited_in(&spmd_cl, 0) == -ENODATA, ran == 0),
       "no worker of an SPMD task runs its body without the data");
    ok(all_of(waited_in(&forkjoin_cl, 0) == -ENODATA, ran == 0), "nor does that of a fork-join task");
    is_int(starpu_task_wait_for_all(), -EIO, "who waits for all is told");
    starpu_shutdown();
    runtime_start(2, NULL);
    if (starpu_cpu_worker_get_count() >= 2) {
        unsigned ctx = starpu_sched_ctx_create((int[]){ 0, 1 }, 2, "all", STARPU_SCHED_CTX_AWAKE_WORKERS, 0);
        ok(all_of(waited_in(&add_cl, ctx) == -ENODATA, ran == 0),
           "nor do the workers of a context without a policy");
        ok(all_of(starpu_task_wait_for_all_in_ctx(ctx) == -EIO, starpu_task_wait_for_all_in_ctx(ctx) == 0),
           "who waits for all in that context is told, once");
        is_int(starpu_task_wait_for_all_in_ctx(0), 0, "who waits in another is not");
        starpu_sched_ctx_delete(ctx);
    } else {
        skip("a context of two workers needs two");
    }
    starpu_shutdown();
}

int main(void)
{
    orrery_set_error_hook(hook, NULL);
    sim_start(2, &(struct sim_config){ .devices = "1", .mem_mb = "1" });
    waits();
    job_lists();
    by_callback();
    dependencies();
    reductions();
    pieces();
    devices();
    starpu_shutdown();
    together();
    return done_testing();
}
