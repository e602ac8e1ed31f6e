/* SPDX-License-Identifier: BSD-3-Clause */
/* schedules: how good the policies' schedules are: task graphs on emulated machines, time over the lower
 * bound. Threads: main inserts; kernels sleep on workers. Owns: the graphs, models in a folder of its own.
 * Not here: the graphs (task_graph.h), what a decision costs (tasks.c).
 *
 * Kernels only wait, on CPU workers and on simulated devices, so that two cores stand for a larger machine.
 * Models are calibrated first, from the same kernels. The bound is the larger of the longest path, each task
 * on its fastest kind of worker, and of the least time in which the workers can share the tasks (a linear
 * program: starpu_bound_compute), both with the times that the models measured.
 *
 * -m machine  -g graph  -s policy  (names, or "all")  -r repeats (median)  -u us of a gemm on a CPU
 * A line per machine, graph and policy: ms, ratio to the bound, MB moved, and what is required where
 * something is. */
#include <math.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <starpu.h>
#include <starpu_bound.h>

#include "measure.h"
#include "task_graph.h"

enum { TILE_DOUBLES = 8192, POLICIES_MAX = 96 };

static const struct machine {
    const char *name;
    int cpus, devices;
    double speedup;       /* of a device over a CPU */
    double tile_per_gemm; /* time of moving a tile over a device's time for a gemm */
    double unit_us;       /* a gemm on a CPU */
} machines[] = {
    { "hetero", 6, 2, 10, 0.35, 20000 }, /* six CPUs and two devices ten times faster */
    { "equal", 4, 0, 1, 0, 4000 },       /* four equal CPUs */
    { "slowbus", 6, 2, 10, 4, 20000 },   /* hetero, but moving a tile takes longer than computing on it */
};
enum { MACHINES = sizeof machines / sizeof machines[0] };

static double unit_us, speedup;

/* ---- kernels ---- */

static void wait_us(double us)
{
    static __thread int precise;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (!precise) precise = prctl(PR_SET_TIMERSLACK, 1000ul) == 0;
    long ns = t.tv_nsec + (long)(us * 1e3);
    t.tv_sec += ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) continue;
}

static void on_cpu(void *buffers[], void *arg)
{
    (void)buffers;
    wait_us(*(const double *)arg * unit_us);
}

static void on_device(void *buffers[], void *arg)
{
    (void)buffers;
    wait_us(*(const double *)arg * unit_us / speedup);
}

/* One footprint for each kind, whatever data a task has. */
static size_t same_size(struct starpu_task *task, unsigned nimpl)
{
    (void)task;
    (void)nimpl;
    return TILE_DOUBLES;
}

static struct starpu_perfmodel models[KINDS];
static struct starpu_codelet codelets[KINDS];
static char symbols[KINDS][32];

static void codelets_init(void)
{
    for (int k = 0; k < KINDS; k++) {
        snprintf(symbols[k], sizeof symbols[k], "schedules_%s", kinds[k].name);
        models[k] = (struct starpu_perfmodel){ .type = STARPU_HISTORY_BASED,
                                               .symbol = symbols[k],
                                               .size_base = same_size };
        starpu_codelet_init(&codelets[k]);
        codelets[k].cpu_funcs[0] = on_cpu;
        codelets[k].cuda_funcs[0] = on_device;
        codelets[k].nbuffers = STARPU_VARIABLE_NBUFFERS;
        codelets[k].model = &models[k];
        codelets[k].name = kinds[k].name;
    }
}

/* ---- one run ---- */

struct result {
    double ms, bound_ms, moved_mb;
};

static int start(const struct machine *m, const char *policy, int calibrate)
{
    struct starpu_conf conf;
    char number[32];
    starpu_conf_init(&conf);
    unit_us = m->unit_us;
    speedup = m->speedup;
    snprintf(number, sizeof number, "%d", m->devices);
    setenv("ORRERY_SIM_DEVICES", number, 1);
    if (m->devices) {
        double us = m->tile_per_gemm * unit_us / speedup;
        snprintf(number, sizeof number, "%.3f", TILE_DOUBLES * sizeof(double) / us);
        setenv("ORRERY_SIM_BANDWIDTH_MB_S", number, 1);
    }
    conf.ncpus = m->cpus;
    conf.ncuda = m->devices;
    conf.nopencl = 0;
    conf.sched_policy_name = policy;
    conf.calibrate = calibrate;
    return starpu_init(&conf);
}

static double moved_bytes(void)
{
    double sum = 0;
    for (int bus = 0; bus < starpu_bus_get_count(); bus++) {
        struct starpu_profiling_bus_info info;
        if (starpu_bus_get_profiling_info(bus, &info) == 0) sum += (double)info.transferred_bytes;
    }
    return sum;
}

/* What the models say of a kind on its fastest worker, in us. */
static double fastest_us(enum kind k)
{
    double best = INFINITY;
    struct starpu_task *task = starpu_task_create();
    task->cl = &codelets[k];
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
        double us = starpu_task_worker_expected_length(task, w, 0, 0);
        if (us < best) best = us;
    }
    task->destroy = 0;
    starpu_task_destroy(task);
    return best;
}

static void submit(const struct job *j, starpu_data_handle_t *handles, int priority)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &codelets[j->kind];
    task->cl_arg = (void *)&kinds[j->kind].cost;
    task->cl_arg_size = sizeof(double);
    task->nbuffers = j->count;
    for (int i = 0; i < j->count; i++) {
        task->handles[i] = handles[j->data[i]];
        task->modes[i] = i < j->count - j->writes ? STARPU_R : STARPU_RW;
    }
    task->priority = priority;
    int error = starpu_task_submit(task);
    if (error) {
        fprintf(stderr, "starpu_task_submit: %d\n", error);
        exit(1);
    }
}

/* Runs the graph once; priorities are the lengths of the paths to the end. */
static struct result run(struct graph *g, double *memory)
{
    struct result r;
    double us[KINDS];
    starpu_data_handle_t *handles = malloc((size_t)g->ndata * sizeof *handles);
    for (int k = 0; k < KINDS; k++) us[k] = fastest_us(k);
    double path_us = graph_paths(g, us);
    for (int d = 0; d < g->ndata; d++)
        starpu_vector_data_register(&handles[d], STARPU_MAIN_RAM,
                                    (uintptr_t)(memory + (size_t)d * TILE_DOUBLES), TILE_DOUBLES,
                                    sizeof *memory);
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    moved_bytes(); /* from here on */
    starpu_bound_start(0, 0);
    double begin = now();
    for (int t = 0; t < g->njobs; t++)
        submit(&g->jobs[t], handles, (int)(g->jobs[t].to_end / path_us * 10000));
    starpu_task_wait_for_all();
    r.ms = (now() - begin) * 1e3;
    starpu_bound_stop();
    r.moved_mb = moved_bytes() * 1e-6;
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    starpu_bound_compute(&r.bound_ms, NULL, 0);
    if (r.bound_ms < path_us * 1e-3) r.bound_ms = path_us * 1e-3;
    for (int d = 0; d < g->ndata; d++) starpu_data_unregister(handles[d]);
    free(handles);
    return r;
}

/* ---- what is required ---- */

/* The largest ratio that is good enough; 0: any. */
static double required(const struct machine *m, const struct graph *g, const char *policy)
{
    if (strcmp(g->name, "cholesky") != 0) return 0;
    if (!strcmp(m->name, "hetero")) {
        if (!strcmp(policy, "dmdas")) return 1.10;
        if (strstr(policy, "-heft")) return 1.15;
        if (!strcmp(policy, "dmda")) return 1.25;
    }
    return !strcmp(m->name, "equal") && !strstr(policy, "random") ? 1.10 : 0;
}

static int compare_results(const void *a, const void *b)
{
    double x = ((const struct result *)a)->ms, y = ((const struct result *)b)->ms;
    return (x > y) - (x < y);
}

/* Runs and prints; adds the bytes moved to *moved_out. */
static void measure(const struct machine *m, struct graph *g, const char *policy, int repeats, double *memory,
                    double *moved_out)
{
    struct result r[SAMPLES_MAX];
    if (start(m, policy, 0) != 0) {
        printf("%-8s %-9s %-28s not started\n", m->name, g->name, policy);
        return;
    }
    for (int k = 0; k < repeats; k++) r[k] = run(g, memory);
    starpu_shutdown();
    qsort(r, (size_t)repeats, sizeof *r, compare_results);
    struct result *mid = &r[repeats / 2];
    double ratio = mid->ms / mid->bound_ms, limit = required(m, g, policy);
    *moved_out = mid->moved_mb;
    printf("%-8s %-9s %-28s %9.1f ms ", m->name, g->name, policy, mid->ms);
    if (!isfinite(mid->bound_ms)) {
        printf("no bound: a model lacks measures\n");
        return;
    }
    printf("%7.3f of bound %8.1f MB", ratio, mid->moved_mb);
    if (limit > 0) printf("  <=%.2f %s", limit, ratio <= limit ? "met" : "MISSED");
    printf("\n");
    fflush(stdout);
}

/* Lets one CPU and each device measure each kind of task: models of devices are apart. */
static void calibrate(const struct machine *m)
{
    enum { MEASURES = 20 };
    if (start(m, "eager", 1) != 0) exit(EXIT_FAILURE);
    for (int w = 0; w < 1 + m->devices; w++) {
        int worker = w == 0 ? starpu_worker_get_by_type(STARPU_CPU_WORKER, 0)
                            : starpu_worker_get_by_type(STARPU_CUDA_WORKER, w - 1);
        for (int n = 0; n < MEASURES * KINDS; n++) {
            struct starpu_task *task = starpu_task_create();
            task->cl = &codelets[n % KINDS];
            task->cl_arg = (void *)&kinds[n % KINDS].cost;
            task->cl_arg_size = sizeof(double);
            task->execute_on_a_specific_worker = 1;
            task->workerid = (unsigned)worker;
            if (starpu_task_submit(task) != 0) exit(EXIT_FAILURE);
        }
    }
    starpu_task_wait_for_all();
    starpu_shutdown();
}

static int chosen(const char *option, const char *name)
{
    size_t length = strlen(name);
    if (!strcmp(option, "all")) return 1;
    for (const char *at = option; (at = strstr(at, name)); at += length) /* one of a list */
        if ((at == option || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return 1;
    return 0;
}

int main(int argc, char **argv)
{
    const char *on = option_text(argc, argv, "-m", "all"),
               *graphs = option_text(argc, argv, "-g", "cholesky");
    const char *which = option_text(argc, argv, "-s", "all");
    int repeats = option_given(argc, argv, "-r") ? option_repeats(argc, argv) : 1;
    const char *names[POLICIES_MAX];
    int policies = 0;
    char home[] = "/tmp/orrery-schedules-XXXXXX";
    if (!mkdtemp(home)) return EXIT_FAILURE;
    setenv("STARPU_HOME", home, 1);
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    codelets_init();
    struct starpu_sched_policy **all = starpu_sched_get_predefined_policies();
    for (; all[policies] && policies < POLICIES_MAX; policies++) names[policies] = all[policies]->policy_name;

    for (int g = 0; g < GRAPHS; g++) {
        if (!chosen(graphs, graph_makers[g].name)) continue;
        struct graph graph = graph_make(g);
        double *memory = calloc((size_t)graph.ndata * TILE_DOUBLES, sizeof *memory);
        for (int m = 0; m < MACHINES && memory; m++) {
            double dm = 0, dmda = 0, dmdas = 0, least = INFINITY, moved = 0;
            if (!chosen(on, machines[m].name)) continue;
            char symbol_home[64]; /* models of each machine apart */
            snprintf(symbol_home, sizeof symbol_home, "%s/%s", home, machines[m].name);
            setenv("STARPU_HOME", symbol_home, 1);
            calibrate(&machines[m]);
            for (int p = 0; p < policies; p++) {
                if (!chosen(which, names[p])) continue;
                measure(&machines[m], &graph, names[p], repeats, memory, &moved);
                if (!strcmp(names[p], "dm")) dm = moved;
                if (!strcmp(names[p], "dmda")) dmda = moved;
                if (!strcmp(names[p], "dmdas")) dmdas = moved;
                bool counts = strstr(names[p], "dmda") || strstr(names[p], "heft"); /* with transfers */
                if (counts && moved < least) least = moved;
            }
            if (machines[m].devices && dmdas > 0)
                printf("%-8s %-9s dmdas moves %.2f of the least that one like it moves  <=1.20 %s\n",
                       machines[m].name, graph.name, dmdas / least, dmdas <= 1.2 * least ? "met" : "MISSED");
            if (!strcmp(machines[m].name, "slowbus") && dm > 0 && dmda > 0)
                printf("%-8s %-9s dmda moves %.2f of dm's bytes  <=0.50 %s\n", machines[m].name, graph.name,
                       dmda / dm, dmda <= 0.5 * dm ? "met" : "MISSED");
        }
        free(memory);
        graph_free(&graph);
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
