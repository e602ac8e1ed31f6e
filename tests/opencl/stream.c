/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many kernels under way on an OpenCL device: how many at a time, what marks their ends, who is told, how
 * long they took. Threads: main; launches on the device's worker. Owns: the counters. Not here: data,
 * failures.
 */
#include <dlfcn.h>

#include "tests/opencl/opencl_helper.h"
#include "tests/opencl/shim.h"

static const char source[] = "__kernel void turn(__global int *v, uint turns)\n"
                             "{\n"
                             "    int x = v[0];\n"
                             "    for (uint i = 0; i < turns; i++) x = x * 1103515245 + 12345;\n"
                             "    v[0] = x;\n"
                             "}\n";

enum { MANY = 1000, LONG_TURNS = 20000000, NAP_US = 150000 };

static const struct shim *shim;
static cl_mem cell;
static atomic_int begun, ended, most, refused;

struct work {
    unsigned turns, nap_us;
};

static void args_of(cl_kernel kernel, void *arg)
{
    const struct work *w = arg;
    if (clSetKernelArg(kernel, 0, sizeof cell, &cell) ||
        clSetKernelArg(kernel, 1, sizeof w->turns, &w->turns))
        atomic_fetch_add(&refused, 1);
}

static void turn_func(void *buffers[] UNUSED, void *arg)
{
    struct work *w = arg;
    int under_way = atomic_fetch_add(&begun, 1) + 1 - atomic_load(&ended);
    if (under_way > atomic_load(&most)) atomic_store(&most, under_way);
    if (w->nap_us) usleep(w->nap_us);
    if (opencl_launch("turn", 1, args_of, w) != CL_SUCCESS) atomic_fetch_add(&refused, 1);
}

static void count_ended(void *arg UNUSED)
{
    atomic_fetch_add(&ended, 1);
}

static struct starpu_codelet turn_cl = { .opencl_funcs = { turn_func },
                                         .opencl_flags = { STARPU_OPENCL_ASYNC } };
static struct starpu_codelet sync_cl = { .opencl_funcs = { turn_func } };

/* Returns the task, which stays, or NULL. */
static struct starpu_task *submit(struct starpu_codelet *cl, struct work *w)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->cl_arg = w;
    t->callback_func = count_ended;
    t->destroy = 0;
    t->detach = 0;
    t->execute_on_a_specific_worker = 1; /* the cell is its device's */
    t->workerid = (unsigned)opencl_worker();
    return starpu_task_submit(t) == 0 ? t : NULL;
}

static bool start(void)
{
    begun = ended = most = refused = 0;
    opencl_start(0, NULL);
    return opencl_build(source) &&
           starpu_opencl_allocate_memory(starpu_worker_get_devid(opencl_worker()), &cell, sizeof(int),
                                         CL_MEM_READ_WRITE) == CL_SUCCESS;
}

static bool stop(void)
{
    bool well = clReleaseMemObject(cell) == CL_SUCCESS && refused == 0;
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    return well;
}

/* Tasks that are there before the worker looks. */
static bool run_many(struct starpu_codelet *cl, int n, struct work *w)
{
    static struct starpu_task *tasks[MANY];
    bool well = true;
    starpu_pause();
    for (int i = 0; i < n; i++) well &= (tasks[i] = submit(cl, w)) != NULL;
    starpu_resume();
    starpu_task_wait_for_all();
    for (int i = 0; i < n; i++)
        if (tasks[i]) starpu_task_destroy(tasks[i]);
    return well && ended == n;
}

static void brief(void)
{
    struct shim_counts before = shim->counts();
    setenv("STARPU_OPENCL_PIPELINE", "16", 1);
    bool well = start() && run_many(&turn_cl, MANY, &(struct work){ 1, 0 });
    well &= stop();
    struct shim_counts after = shim->counts();
    diag("%ld markers, at most %d kernels under way", after.markers - before.markers, (int)most);
    unsetenv("STARPU_OPENCL_PIPELINE");
    ok(all_of(well, most == 16, after.markers - before.markers < MANY),
       "where 16 kernels are under way, they share marks");
    ok(after.events == before.events, "and each event of them is given back once");
}

/* Each depth that may be asked for, for functions that wait and that do not. */
static void depths(void)
{
    long wrong = 0;
    for (int depth = 0; depth <= 8; depth++) {
        char text[8];
        snprintf(text, sizeof text, "%d", depth);
        setenv("STARPU_OPENCL_PIPELINE", text, 1);
        bool well = start() && run_many(depth % 2 ? &sync_cl : &turn_cl, 200, &(struct work){ 1, 0 });
        well &= stop();
        if (!well || most > (depth ? depth : 1)) wrong++;
    }
    unsetenv("STARPU_OPENCL_PIPELINE");
    ok(wrong == 0, "with STARPU_OPENCL_PIPELINE from 0 to 8 no more are under way, and all end");
}

/* While the worker is held up by the second function, the first kernel ends. */
static void times(void)
{
    double us[2] = { 0, 0 };
    struct work w[2] = { { 1000, 0 }, { 1000, NAP_US } };
    struct starpu_task *t[2];
    bool well = start();
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    starpu_pause();
    for (int i = 0; i < 2; i++) well &= (t[i] = submit(&turn_cl, &w[i])) != NULL;
    starpu_resume();
    starpu_task_wait_for_all();
    for (int i = 0; i < 2 && t[i]; i++) {
        struct starpu_profiling_task_info *p = t[i]->profiling_info;
        us[i] = p ? starpu_timing_timespec_delay_us(&p->start_time, &p->end_time) : -1;
        starpu_task_destroy(t[i]);
    }
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    well &= stop();
    ok(all_of(well, us[0] > 0, us[0] < NAP_US / 2),
       "a kernel's time, when profiling asks for it, is the device's, not that of a worker who looks late");
    diag("%.0f us, %.0f us", us[0], us[1]);
}

static void bell(int late)
{
    struct shim_counts before = shim->counts();
    shim->late(late);
    bool well = start() && run_many(&turn_cl, 3, &(struct work){ LONG_TURNS, 0 });
    well &= stop();
    struct shim_counts after = shim->counts();
    shim->late(0);
    ok(all_of(well, after.rings > before.rings, after.events == before.events),
       late ? "what rings late, when the device is closed, finds it still there"
            : "a worker that waits for a long kernel has itself rung");
}

int main(void)
{
    char file[4096];
    const char *build = getenv("ORR_BUILDDIR");
    snprintf(file, sizeof file, "%s/tests/opencl/shim.so", build ? build : ".");
    setenv("ORRERY_OPENCL_LIBRARY", file, 1);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    shim = library ? dlsym(library, "shim_control") : NULL;
    if (!shim) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    brief();
    depths();
    times();
    bell(0);
    bell(1);
    return done_testing();
}
