/* SPDX-License-Identifier: BSD-3-Clause */
/* simulate.c: orrery_simulate: what a placement across ranks makes of a stream of tasks, on a cluster that
 * there is not. Threads: main. Owns: the handles that the placement looks at. Not here: placements
 * (mpi/place), time (engine.h). It places every task by the library's own code, as each rank does. */
#include <errno.h>
#include <time.h>

#include "core/base/alloc.h"
#include "mpi/place/machine.h"
#include "mpi/place/policies.h"
#include "mpi/value/moves.h"
#include "mpi/wire/cluster.h"
#include "tools/simulate/engine.h"
#include "tools/tool.h"

static const struct tool tool = {
    "orrery_simulate",
    "what a placement across ranks makes of a stream of tasks\n"
    "\n"
    "SYNOPSIS\n"
    "    orrery_simulate [OPTION]... [PLACEMENT]...\n"
    "\n"
    "DESCRIPTION\n"
    "    Places streams of tasks on a cluster by the placements that ORRERY_MPI_SCHED knows, and follows "
    "their\n"
    "    tasks and messages event by event. Prints, for each placement: the makespan, and over the lower\n"
    "    bound, which is the larger of (sum of lengths) / (sum of the workers' speeds) and (longest path) /\n"
    "    (largest speed); the messages, and the data that went home at the end; the share of time in which\n"
    "    workers were busy; and the nanoseconds that one choice took here. The same options give the same\n"
    "    table, but for those nanoseconds.\n"
    "\n"
    "OPTIONS\n"
    "    -g, --graph NAME        cholesky, lu, stencil or random; or several: cholesky,lu  [cholesky]\n"
    "    -n, --size N            rows of tiles; of the random graph: data  [14]\n"
    "    -t, --steps N           of the stencil; of the random graph: tasks for each datum  [10]\n"
    "    -r, --ranks N           up to 4096  [4]\n"
    "    -w, --workers N         of each rank  [2]\n"
    "    -s, --speeds A,B,...    of the ranks' workers, repeated for more ranks  [1]\n"
    "    -i, --iterations N      of the stream, each waited for; the last is printed  [4]\n"
    "    -a, --all               all iterations are printed\n"
    "    -u, --unit US           the longest task at speed 1 takes  [4000]\n"
    "    -x, --noise PERCENT     lengths differ by up to so much  [0]\n"
    "    -b, --bytes N           of a datum  [524288]\n"
    "    -l, --latency US        of a message  [2]\n"
    "    -B, --bandwidth GB/S    of each rank's port, in and out  [10]\n"
    "    -W, --walk NS           until a rank has gone past one insertion  [0]\n"
    "    -T, --trees             several that wait for one value pass it on\n"
    "    -S, --seed N            of what is random  [1]\n"
    "    -h, --help              this text\n"
    "    -v, --version           the version\n"
    "\n"
    "EXAMPLES\n"
    "    orrery_simulate --ranks 4 --speeds 1,2,3,4 owner dmda\n"
    "    orrery_simulate --graph lu --ranks 1024 --workers 32 --size 200 owner dmda\n"
};

enum { RANKS_MAX = 4096 };

struct options {
    struct sim_graph_setup graph;
    struct sim_machine machine;
    double speeds[RANKS_MAX];
    const char *graphs;
    uint64_t bytes;
    int iterations, all;
};

struct simulation {
    const struct options *options;
    struct sim_graph graph;
    starpu_data_handle_t *handles;
    int32_t *ranks; /* of the tasks */
    struct starpu_codelet codelets[SIM_KINDS_MAX];
    struct starpu_perfmodel models[SIM_KINDS_MAX];
    struct orr_machines machines;
    struct orr_value value;
    struct orr_place place;
    struct orr_cluster cluster;
    struct orr_comm comm;
    struct orr_actions actions;
    double choice_ns;
};

/* ---- data and codelets as the placement sees them ---- */

static int register_data(struct simulation *s)
{
    s->handles = orr_calloc((size_t)s->graph.data_count, sizeof(starpu_data_handle_t));
    if (!s->handles) return -ENOMEM;
    for (int d = 0; d < s->graph.data_count; d++) {
        starpu_vector_data_register(&s->handles[d], -1, 0, (uint32_t)s->options->bytes, 1);
        if (orr_owned_set_tag(&s->value, s->handles[d], d)) return -ENOMEM;
        s->handles[d]->mpi_rank = s->graph.homes[d];
    }
    return 0;
}

static void unregister_data(struct simulation *s)
{
    for (int d = 0; s->handles && d < s->graph.data_count; d++)
        if (s->handles[d]) starpu_data_unregister(s->handles[d]);
    orr_free(s->handles);
}

static void no_kernel(void *buffers[], void *args)
{
    (void)buffers;
    (void)args;
}

static void make_codelets(struct simulation *s)
{
    for (int k = 0; k < s->graph.kinds_count; k++) {
        s->models[k] = (struct starpu_perfmodel){ .type = STARPU_HISTORY_BASED, .symbol = s->graph.kinds[k] };
        s->codelets[k] = (struct starpu_codelet){ .name = s->graph.kinds[k],
                                                  .model = &s->models[k],
                                                  .cpu_funcs = { no_kernel },
                                                  .nbuffers = STARPU_VARIABLE_NBUFFERS };
    }
}

/* ---- placing ---- */

static int place_task(struct simulation *s, const struct sim_task *t, bool moves)
{
    struct starpu_data_descr data[SIM_DATA_MAX];
    struct orr_place_view v = { .comm = &s->comm,
                                .cl = &s->codelets[t->kind],
                                .data = data,
                                .count = t->count,
                                .priority = (int)(10 * t->level),
                                .written_on = ORR_PLACE_OPEN,
                                .fixed = ORR_PLACE_OPEN };
    for (int i = 0; i < t->count; i++) {
        data[i].handle = s->handles[t->data[i]];
        data[i].mode = (enum starpu_data_access_mode)t->mode[i];
        if (t->mode[i] & SIM_W) v.written_on = s->graph.homes[t->data[i]];
    }
    int rank = s->place.for_all ? orr_placed_choose(&s->comm, &v) : orr_policy_choose(&s->place, -1, &v);
    if (!moves || rank < 0) return rank;
    for (int i = 0; i < t->count; i++)
        orr_moves_before(&s->actions, data[i].handle, (int)data[i].mode, rank, 0);
    for (int i = 0; i < t->count; i++)
        orr_moves_after(&s->actions, data[i].handle, (int)data[i].mode, rank, false);
    return rank;
}

static int place_all(struct simulation *s, bool moves)
{
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int k = 0; k < s->graph.tasks_count; k++)
        if ((s->ranks[k] = place_task(s, &s->graph.tasks[k], moves)) < 0) return s->ranks[k];
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    s->choice_ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
                   (double)s->graph.tasks_count;
    for (int d = 0; d < s->graph.data_count && moves; d++) orr_moves_return(&s->actions, s->handles[d], 0);
    return 0;
}

/* ---- what is measured ---- */

/* Kinds of tasks differ by what they do and by how many data they have, all of the same shape. */
struct lengths {
    double measured[SIM_KINDS_MAX][SIM_DATA_MAX + 1], expected[SIM_KINDS_MAX][SIM_DATA_MAX + 1]; /* sums */
    double ns[SIM_KINDS_MAX][SIM_DATA_MAX + 1]; /* where nothing is slow; 0: not measured */
};

/* One sweep: lengths from how slow the ranks are, then that from the lengths. */
static void fit(const struct simulation *s, const struct sim_engine *e, struct lengths *l, double *slow)
{
    static double measured[RANKS_MAX], expected[RANKS_MAX];
    memset(l, 0, sizeof *l);
    memset(measured, 0, sizeof measured);
    memset(expected, 0, sizeof expected);
    for (int k = 0; k < s->graph.tasks_count; k++) {
        const struct sim_task *t = &s->graph.tasks[k];
        l->measured[t->kind][t->count] += (double)sim_engine_length(e, k);
        l->expected[t->kind][t->count] += slow[s->ranks[k]];
    }
    for (int k = 0; k < SIM_KINDS_MAX; k++)
        for (int c = 0; c <= SIM_DATA_MAX; c++)
            if (l->expected[k][c] > 0) l->ns[k][c] = l->measured[k][c] / l->expected[k][c];
    for (int k = 0; k < s->graph.tasks_count; k++) {
        const struct sim_task *t = &s->graph.tasks[k];
        measured[s->ranks[k]] += (double)sim_engine_length(e, k);
        expected[s->ranks[k]] += l->ns[t->kind][t->count];
    }
    for (int r = 0; r < s->comm.size; r++)
        if (expected[r] > 0) slow[r] = measured[r] / expected[r];
}

static uint32_t footprint_of(const struct simulation *s, int count)
{
    struct starpu_data_descr data[SIM_DATA_MAX];
    const struct orr_place_view v = { .data = data, .count = count };
    for (int i = 0; i < count; i++) data[i] = (struct starpu_data_descr){ s->handles[0], STARPU_R };
    return orr_place_footprint(&v);
}

/* As the ranks do where all have waited for everything: what was measured is told to the placement. */
static void tell_measures(struct simulation *s, const struct sim_engine *e)
{
    static double slow[RANKS_MAX];
    struct lengths l;
    double least = 1e300;
    for (int r = 0; r < s->comm.size; r++) slow[r] = 1;
    for (int sweep = 0; sweep < 10; sweep++) fit(s, e, &l, slow);
    for (int r = 0; r < s->comm.size; r++)
        if (slow[r] < least) least = slow[r];
    struct orr_place_measure m = { .kind = STARPU_CPU_WORKER };
    for (int r = 0; r < s->comm.size; r++) {
        m.rank = r;
        m.slow = (uint32_t)(slow[r] / least * 1000 + 0.5);
        orr_placed_measured(&s->comm, &m);
    }
    for (int k = 0; k < s->graph.kinds_count; k++)
        for (int c = 1; c <= SIM_DATA_MAX; c++) {
            m.symbol = s->graph.kinds[k];
            m.footprint = footprint_of(s, c);
            m.ns = (uint64_t)(l.ns[k][c] * least);
            if (m.ns) orr_placed_measured(&s->comm, &m);
        }
}

/* ---- runs ---- */

static double bound_ns(const struct simulation *s)
{
    const struct sim_machine *m = &s->options->machine;
    double sum = 0, best = 0;
    for (int r = 0; r < m->ranks; r++) {
        sum += m->speeds[r] * m->workers;
        if (m->speeds[r] > best) best = m->speeds[r];
    }
    double work = s->graph.work / sum, path = s->graph.path / best;
    return (work > path ? work : path) * m->unit_ns;
}

static void print_head(void)
{
    printf("%-9s %-8s %5s %8s %4s %11s %11s %6s %9s %9s %7s %5s %7s\n", "graph", "place", "ranks", "tasks",
           "iter", "bound ms", "makespan ms", "over", "messages", "home", "MB", "busy", "ns each");
}

static void print_result(const struct simulation *s, const char *placement, int iteration,
                         const struct sim_result *r)
{
    double bound = bound_ns(s);
    printf("%-9s %-8.8s %5d %8d %4d %11.3f %11.3f %6.3f %9llu %9llu %7.0f %5.2f %7.0f\n", s->graph.name,
           placement, s->options->machine.ranks, s->graph.tasks_count, iteration, bound * 1e-6,
           (double)r->makespan_ns * 1e-6, (double)r->makespan_ns / bound, (unsigned long long)r->messages,
           (unsigned long long)r->moved, (double)r->messages * (double)s->options->bytes * 1e-6, r->busy,
           s->choice_ns);
}

static int run_placement(struct simulation *s, const char *name)
{
    const struct options *o = s->options;
    struct sim_machine m = o->machine;
    int policy = orr_policy_find(name), status = 0;
    if (policy < 0) return policy;
    snprintf(s->place.argument, sizeof s->place.argument, "%s",
             strchr(name, ':') ? strchr(name, ':') + 1 : "");
    orr_policy_set_current(&s->place, policy);
    m.moves = s->place.moves;
    orr_store_relaxed(&s->value.moves.on, s->place.moves);
    struct sim_engine *e = sim_engine_create(&s->graph, &m, o->bytes);
    if (!e) return -ENOMEM;
    for (int k = 1; k <= o->iterations; k++) {
        struct sim_result r;
        status = place_all(s, m.moves);
        if (!status) status = sim_engine_run(e, s->ranks, &r);
        if (status) break;
        orr_placed_met(&s->comm);
        tell_measures(s, e);
        if (o->all || k == o->iterations) print_result(s, name, k, &r);
    }
    sim_engine_destroy(e);
    orr_placed_drop(&s->comm);
    return status;
}

/* The rank whose view is taken has no part in anything: what all ranks know is the same. */
static int set_up(struct simulation *s)
{
    const struct sim_machine *m = &s->options->machine;
    int workers[RANKS_MAX];
    s->comm = (struct orr_comm){
        .context = ORR_CONTEXT_BASE, .rank = m->ranks, .size = m->ranks, .cluster = &s->cluster
    };
    s->cluster.place = &s->place;
    orr_value_attach(&s->value, &s->cluster);
    orr_actions_init(&s->actions, &s->comm, 0);
    for (int r = 0; r < m->ranks; r++) workers[r] = m->workers;
    if (orr_machines_make(&s->machines, m->ranks, workers)) return -ENOMEM;
    s->place.machines = &s->machines;
    s->ranks = orr_calloc((size_t)s->graph.tasks_count, sizeof *s->ranks);
    if (!s->ranks) return -ENOMEM;
    make_codelets(s);
    return register_data(s);
}

static void take_down(struct simulation *s)
{
    unregister_data(s);
    orr_machines_fini(&s->machines);
    orr_actions_fini(&s->actions);
    orr_free(s->ranks);
    sim_graph_fini(&s->graph);
}

static int run_graph(const struct options *o, const char *name, char **placements, int count)
{
    static struct simulation s;
    struct sim_graph_setup setup = o->graph;
    s = (struct simulation){ .options = o, .value = ORR_VALUE_INITIALIZER };
    setup.name = name;
    int status = sim_graph_init(&s.graph, &setup);
    if (status == -EINVAL) {
        tool_complain(&tool, "there is no graph \"%s\", or none of that size: see --help", name);
        return status;
    }
    if (!status) status = set_up(&s);
    for (int i = 0; i < count && !status; i++) status = run_placement(&s, placements[i]);
    if (status == -ENOMEM) tool_complain(&tool, "out of memory");
    take_down(&s);
    return status;
}

static int run_graphs(const struct options *o, char **placements, int count)
{
    char names[128], *rest = names, *name;
    int status = 0;
    snprintf(names, sizeof names, "%s", o->graphs);
    print_head();
    while (!status && (name = strsep(&rest, ","))) status = run_graph(o, name, placements, count);
    return status;
}

/* ---- options ---- */

static int read_speeds(struct options *o, const char *text)
{
    int count = 0;
    for (char *end; count < RANKS_MAX && *text; text = *end ? end + 1 : end, count++) {
        o->speeds[count] = strtod(text, &end);
        if (end == text || !(o->speeds[count] > 0) || (*end && *end != ',')) return -EINVAL;
    }
    for (int r = count; r < RANKS_MAX && count; r++) o->speeds[r] = o->speeds[r - count];
    return count ? 0 : -EINVAL;
}

/* A number of an option, between two others. */
static int number(const char *text, double least, double most, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end == text || *end || !(*out >= least && *out <= most) ? -EINVAL : 0;
}

static int whole(const char *text, int least, int most, int *out)
{
    double value;
    int r = number(text, least, most, &value);
    if (!r) *out = (int)value;
    return r;
}

static int read_machine(struct options *o, int option, const char *text)
{
    struct sim_machine *m = &o->machine;
    double value = 0;
    int r = -EINVAL;
    switch (option) {
    case 'r': return whole(text, 1, RANKS_MAX, &m->ranks);
    case 'w': return whole(text, 1, 4096, &m->workers);
    case 's': return read_speeds(o, text);
    case 'u':
        r = number(text, 0.001, 1e9, &value);
        m->unit_ns = value * 1000;
        return r;
    case 'x':
        r = number(text, 0, 90, &value);
        m->noise = value / 100;
        return r;
    case 'l':
        r = number(text, 0, 1e9, &value);
        m->latency_ns = value * 1000;
        return r;
    case 'B': return number(text, 1e-6, 1e6, &m->bytes_per_ns);
    case 'W': return number(text, 0, 1e9, &m->walk_ns);
    case 'T': m->trees = 1; return 0;
    default: return r;
    }
}

static int read_option(struct options *o, int option, const char *text)
{
    double value = 0;
    int r;
    switch (option) {
    case 'g': o->graphs = text; return 0;
    case 'n': return whole(text, 1, 10000, &o->graph.size);
    case 't': return whole(text, 1, 100000, &o->graph.steps);
    case 'i': return whole(text, 1, 1000, &o->iterations);
    case 'a': o->all = 1; return 0;
    case 'b':
        r = number(text, 1, 4e9, &value);
        o->bytes = (uint64_t)value;
        return r;
    case 'S':
        r = number(text, 0, 1e15, &value);
        o->graph.seed = o->machine.seed = (uint64_t)value;
        return r;
    default: return read_machine(o, option, text);
    }
}

static int read_options(struct options *o, int argc, char **argv)
{
    static const struct option names[] = { { "graph", 1, NULL, 'g' },
                                           { "size", 1, NULL, 'n' },
                                           { "steps", 1, NULL, 't' },
                                           { "ranks", 1, NULL, 'r' },
                                           { "workers", 1, NULL, 'w' },
                                           { "speeds", 1, NULL, 's' },
                                           { "iterations", 1, NULL, 'i' },
                                           { "all", 0, NULL, 'a' },
                                           { "unit", 1, NULL, 'u' },
                                           { "noise", 1, NULL, 'x' },
                                           { "bytes", 1, NULL, 'b' },
                                           { "latency", 1, NULL, 'l' },
                                           { "bandwidth", 1, NULL, 'B' },
                                           { "walk", 1, NULL, 'W' },
                                           { "trees", 0, NULL, 'T' },
                                           { "seed", 1, NULL, 'S' },
                                           { "help", 0, NULL, 'h' },
                                           { "version", 0, NULL, 'v' },
                                           { NULL, 0, NULL, 0 } };
    for (int option;
         (option = getopt_long(argc, argv, "g:n:t:r:w:s:i:au:x:b:l:B:W:TS:hv", names, NULL)) != -1;) {
        if (option == 'h') exit(tool_help(&tool));
        if (option == 'v') exit(tool_version(&tool));
        if (option != '?' && read_option(o, option, optarg)) {
            tool_complain(&tool, "-%c does not take \"%s\"", option, optarg ? optarg : "");
            option = '?';
        }
        if (option == '?') return tool_usage(&tool);
    }
    return TOOL_OK;
}

/* The runtime is needed for handles alone. */
static int start_runtime(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    setenv("STARPU_SILENT", "1", 1);
    return starpu_init(&conf);
}

int main(int argc, char **argv)
{
    static char owner[] = "owner";
    static char *otherwise[] = { owner };
    static struct options o;
    o = (struct options){ .graph = { .size = 14, .steps = 10, .seed = 1 },
                          .machine = { .ranks = 4,
                                       .workers = 2,
                                       .unit_ns = 4e6,
                                       .latency_ns = 2000,
                                       .bytes_per_ns = 10,
                                       .seed = 1,
                                       .speeds = o.speeds },
                          .graphs = "cholesky",
                          .bytes = 524288,
                          .iterations = 4 };
    read_speeds(&o, "1");
    int status = read_options(&o, argc, argv);
    if (status) return status;
    o.graph.ranks = o.machine.ranks;
    if (start_runtime()) return tool_complain(&tool, "the runtime does not start");
    int count = argc - optind;
    status = run_graphs(&o, count ? argv + optind : otherwise, count ? count : 1);
    starpu_shutdown();
    return status ? TOOL_FAILED : tool_end(&tool);
}
