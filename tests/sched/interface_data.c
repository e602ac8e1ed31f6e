/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What policies ask and do about data, with simulated devices: the prefetch family brings what a task reads,
 * once, in the order of priorities, idle ones last; expected times follow from models, sizes and links; tasks
 * given to a device have their data brought before they run; hooks see data in place. Threads: main; the
 * workers' own. Owns: the data. Not here: copies and evictions (tests/core/coherency_*.c).
 */
#include <math.h>
#include "tests/core/sim_helper.h"

enum { BYTES = 400000 };

static const struct sim_config device = { .devices = "1", .bandwidth_MB_s = "1000", .latency_us = "100" };
static const struct sim_config two = { .devices = "2", .bandwidth_MB_s = "1000", .latency_us = "100" };
static const struct sim_config slow = { .devices = "1", .bandwidth_MB_s = "20", .latency_us = "100" };

static void read_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_func }, .nbuffers = 2, .modes = { STARPU_R, STARPU_W }, .name = "read"
};

static starpu_data_handle_t vector(void)
{
    starpu_data_handle_t h;
    void *bytes = calloc(1, BYTES);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)bytes, BYTES, 1);
    return h;
}

static void drop(starpu_data_handle_t h)
{
    void *bytes = (void *)starpu_vector_get_local_ptr(h);
    starpu_data_unregister(h);
    free(bytes);
}

static int valid_on(starpu_data_handle_t h, unsigned node)
{
    int allocated, valid, requested;
    starpu_data_query_status(h, (int)node, &allocated, &valid, &requested);
    return valid;
}

static int comes_to_node(starpu_data_handle_t h, unsigned node)
{
    for (int i = 0; i < 20000 && !valid_on(h, node); i++) usleep(1000);
    return valid_on(h, node);
}

/* Bytes that went to the node since the last question. */
static long long moved_to(unsigned node)
{
    struct starpu_profiling_bus_info info = { .transferred_bytes = -1 };
    starpu_bus_get_profiling_info(starpu_bus_get_id(STARPU_MAIN_RAM, (int)node), &info);
    return info.transferred_bytes;
}

static struct starpu_task *reader(starpu_data_handle_t in, starpu_data_handle_t out)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &read_cl;
    task->handles[0] = in;
    task->handles[1] = out;
    return task;
}

/* ---- the family ---- */

static int on_node(struct starpu_task *t, unsigned w)
{
    return starpu_prefetch_task_input_on_node(t, starpu_worker_get_memory_node(w));
}
static int on_node_prio(struct starpu_task *t, unsigned w)
{
    return starpu_prefetch_task_input_on_node_prio(t, starpu_worker_get_memory_node(w), 3);
}
static int idle_on_node(struct starpu_task *t, unsigned w)
{
    return starpu_idle_prefetch_task_input_on_node(t, starpu_worker_get_memory_node(w));
}
static int idle_on_node_prio(struct starpu_task *t, unsigned w)
{
    return starpu_idle_prefetch_task_input_on_node_prio(t, starpu_worker_get_memory_node(w), 3);
}
static int for_prio(struct starpu_task *t, unsigned w)
{
    return starpu_prefetch_task_input_for_prio(t, w, 3);
}
static int idle_for_prio(struct starpu_task *t, unsigned w)
{
    return starpu_idle_prefetch_task_input_for_prio(t, w, 3);
}
static int data_prefetch(struct starpu_task *t, unsigned w)
{
    return starpu_data_prefetch_on_node(t->handles[0], starpu_worker_get_memory_node(w), 1);
}
static int data_prefetch_prio(struct starpu_task *t, unsigned w)
{
    return starpu_data_prefetch_on_node_prio(t->handles[0], starpu_worker_get_memory_node(w), 1, 2);
}
static int data_idle(struct starpu_task *t, unsigned w)
{
    return starpu_data_idle_prefetch_on_node(t->handles[0], starpu_worker_get_memory_node(w), 1);
}
static int data_idle_prio(struct starpu_task *t, unsigned w)
{
    return starpu_data_idle_prefetch_on_node_prio(t->handles[0], starpu_worker_get_memory_node(w), 1, 2);
}
static int data_fetch(struct starpu_task *t, unsigned w)
{
    return starpu_data_fetch_on_node(t->handles[0], starpu_worker_get_memory_node(w), 1);
}
static int data_fetch_now(struct starpu_task *t, unsigned w)
{
    unsigned node = starpu_worker_get_memory_node(w);
    int r = starpu_data_fetch_on_node(t->handles[0], node, 0);
    return r ? r : !valid_on(t->handles[0], node); /* it waits */
}

static const struct {
    const char *name;
    int (*prefetch)(struct starpu_task *t, unsigned worker);
} family[] = {
    { "starpu_prefetch_task_input_on_node", on_node },
    { "starpu_prefetch_task_input_on_node_prio", on_node_prio },
    { "starpu_idle_prefetch_task_input_on_node", idle_on_node },
    { "starpu_idle_prefetch_task_input_on_node_prio", idle_on_node_prio },
    { "starpu_prefetch_task_input_for", starpu_prefetch_task_input_for },
    { "starpu_prefetch_task_input_for_prio", for_prio },
    { "starpu_idle_prefetch_task_input_for", starpu_idle_prefetch_task_input_for },
    { "starpu_idle_prefetch_task_input_for_prio", idle_for_prio },
    { "starpu_data_prefetch_on_node", data_prefetch },
    { "starpu_data_prefetch_on_node_prio", data_prefetch_prio },
    { "starpu_data_idle_prefetch_on_node", data_idle },
    { "starpu_data_idle_prefetch_on_node_prio", data_idle_prio },
    { "starpu_data_fetch_on_node", data_fetch },
    { "starpu_data_fetch_on_node, waiting", data_fetch_now },
};

static void brings(unsigned i)
{
    unsigned worker = (unsigned)sim_worker(0), node = sim_node(0);
    starpu_data_handle_t in = vector(), out = vector();
    struct starpu_task *task = reader(in, out);
    moved_to(node);
    int r = family[i].prefetch(task, worker), came = comes_to_node(in, node);
    long long moved = moved_to(node);
    ok(all_of(r == 0, came, moved == BYTES, !valid_on(out, node), valid_on(in, 0)),
       "%s brings what the task reads, and nothing else (%lld bytes)", family[i].name, moved);
    r = family[i].prefetch(task, worker);
    task->execute_on_a_specific_worker = 1;
    task->workerid = worker;
    int failed = starpu_task_submit(task);
    starpu_task_wait_for_all();
    ok(all_of(r == 0, !failed, moved_to(node) == 0), "and neither again nor the task moves anything more");
    drop(in);
    drop(out);
}

static void in_order(void)
{
    enum { TURNS = 4, LATER = 4 };
    static const struct {
        int prio, idle, place; /* place: the one it should come at */
    } later[LATER] = { { 1, 0, 2 }, { 5, 0, 0 }, { 9, 1, 3 }, { 3, 0, 1 } };
    unsigned node = sim_node(0);
    starpu_data_handle_t first[TURNS], h[LATER];
    int seen[LATER] = { 0 }, at[LATER] = { 0 }, wrong = 0;
    for (int i = 0; i < TURNS; i++) first[i] = vector();
    for (int i = 0; i < LATER; i++) h[i] = vector();
    for (int i = 0; i < TURNS; i++) starpu_data_prefetch_on_node(first[i], node, 1);
    for (int i = 0; i < LATER; i++) {
        struct starpu_task *task = starpu_task_create();
        static struct starpu_codelet one_cl = { .cpu_funcs = { read_func },
                                                .nbuffers = 1,
                                                .modes = { STARPU_R } };
        task->cl = &one_cl;
        task->handles[0] = h[i];
        if (later[i].idle)
            starpu_idle_prefetch_task_input_on_node_prio(task, node, later[i].prio);
        else
            starpu_prefetch_task_input_on_node_prio(task, node, later[i].prio);
        starpu_task_destroy(task);
    }
    for (int poll = 0, all = 0; poll < 20000 && all < LATER; poll++) {
        all = 0;
        for (int i = 0; i < LATER; i++) {
            if (!seen[i] && valid_on(h[i], node)) {
                seen[i] = 1;
                at[later[i].place] = poll;
            }
            all += seen[i];
        }
        usleep(1000);
    }
    for (int p = 1; p < LATER; p++) wrong += at[p] < at[p - 1];
    diag("seen at %d, %d, %d, %d ms", at[0], at[1], at[2], at[3]);
    ok(all_of(wrong == 0, at[3] > at[0]),
       "prefetches that wait start by falling priority, and idle ones last");
    for (int i = 0; i < TURNS; i++) drop(first[i]);
    for (int i = 0; i < LATER; i++) drop(h[i]);
}

/* ---- tasks given to a device ---- */

static atomic_int prefetching_policy_sees;
static int push_to_device(struct starpu_task *task)
{
    return starpu_push_local_task(sim_worker(0), task, 0);
}
static struct starpu_sched_policy plain_policy = { .push_task = push_to_device, .policy_name = "plain" };
static struct starpu_sched_policy prefetching_policy = { .push_task = push_to_device,
                                                         .prefetches = 1,
                                                         .policy_name = "prefetching" };

/* Whether the data of a task far behind in the device's queue comes while the device is busy. Where it is not
 * to come, a prefetch of the program's that was asked for later says when it would have. */
static int comes_ahead(struct starpu_sched_policy *policy, int bound, int expected)
{
    enum { AHEAD = 8 };
    struct gate gate = { 0 };
    struct starpu_conf conf;
    starpu_data_handle_t h[AHEAD];
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.sched_policy = policy;
    if (starpu_init(&conf) != 0) return -1;
    unsigned node = sim_node(0);
    for (int i = 0; i < AHEAD; i++) h[i] = vector();
    gate_submit(&gate, sim_worker(0));
    gate_wait_entered(&gate, 1);
    for (int i = 0; i < AHEAD; i++) {
        static struct starpu_codelet one_cl = { .cpu_funcs = { read_func },
                                                .nbuffers = 1,
                                                .modes = { STARPU_R } };
        struct starpu_task *task = starpu_task_create();
        task->cl = &one_cl;
        task->handles[0] = h[i];
        task->execute_on_a_specific_worker = bound != 0;
        task->workerid = (unsigned)sim_worker(0);
        if (starpu_task_submit(task) != 0) return -1;
    }
    starpu_data_handle_t witness = vector();
    starpu_data_prefetch_on_node(witness, node, 1);
    int came = comes_to_node(expected ? h[AHEAD - 1] : witness, node) && valid_on(h[AHEAD - 1], node);
    gate_open(&gate);
    starpu_task_wait_for_all();
    for (int i = 0; i < AHEAD; i++) drop(h[i]);
    drop(witness);
    starpu_shutdown();
    return came;
}

static void ahead(void)
{
    is_int(comes_ahead(NULL, 1, 1), 1, "the data of a task bound to a device comes while the device is busy");
    is_int(comes_ahead(&plain_policy, 0, 1), 1, "so does that of one that a policy puts in its queue");
    is_int(comes_ahead(&prefetching_policy, 0, 0), 0, "unless the policy says that it prefetches itself");
    setenv("STARPU_PREFETCH", "0", 1);
    is_int(starpu_get_prefetch_flag(), 0, "STARPU_PREFETCH=0 shows in starpu_get_prefetch_flag");
    is_int(comes_ahead(NULL, 1, 0), 0, "and then nothing comes ahead");
    unsetenv("STARPU_PREFETCH");
    is_int(starpu_get_prefetch_flag(), 1, "by default data is prefetched");
}

/* ---- hooks see data in place ---- */

static void check_place(struct starpu_task *task, unsigned context UNUSED)
{
    if (task->cl != &read_cl) return;
    unsigned node = starpu_worker_get_memory_node((unsigned)starpu_worker_get_id());
    atomic_fetch_add(&prefetching_policy_sees, valid_on(task->handles[0], node));
}
static struct starpu_sched_policy seeing_policy = {
    .push_task = push_to_device, .pre_exec_hook = check_place, .prefetches = 1, .policy_name = "seeing"
};

static void in_place(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.sched_policy = &seeing_policy;
    if (starpu_init(&conf) != 0) return;
    int failed = 0;
    for (int i = 0; i < 10; i++) {
        starpu_data_handle_t in = vector(), out = vector();
        struct starpu_task *task = reader(in, out), *back = reader(out, in);
        failed |= starpu_task_submit(task);     /* on the device: in is brought there */
        back->execute_on_a_specific_worker = 1; /* on the CPU: out comes back */
        back->workerid = 0;
        failed |= starpu_task_submit(back);
        starpu_task_wait_for_all();
        drop(in);
        drop(out);
    }
    ok(all_of(!failed, prefetching_policy_sees == 20),
       "pre_exec_hook is called when the task's data is there (%d of 20)", prefetching_policy_sees);
    starpu_shutdown();
}

/* ---- what is expected ---- */

static double arch_cost(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
    return (arch->devices[0].type == STARPU_CPU_WORKER ? 1000 : 100) + nimpl;
}
static struct starpu_perfmodel time_model = { .type = STARPU_PER_ARCH, .arch_cost_function = arch_cost };
static double joules(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 7;
}
static struct starpu_perfmodel energy_model = { .type = STARPU_COMMON, .cost_function = joules };
static size_t own_size(struct starpu_task *task, unsigned nimpl UNUSED)
{
    return (size_t)(intptr_t)task->cl_arg;
}
static struct starpu_perfmodel sized_model = { .type = STARPU_HISTORY_BASED, .size_base = own_size };
static uint32_t own_footprint(struct starpu_task *task)
{
    return (uint32_t)(intptr_t)task->cl_arg + 1;
}
static struct starpu_perfmodel printed_model = { .type = STARPU_HISTORY_BASED, .footprint = own_footprint };
static struct starpu_codelet known_cl = { .cpu_funcs = { read_func },
                                          .nbuffers = 2,
                                          .modes = { STARPU_R, STARPU_W },
                                          .model = &time_model,
                                          .energy_model = &energy_model };

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b) + 1e-9;
}

static void expected_lengths(struct starpu_task *task, unsigned dev)
{
    struct starpu_perfmodel_arch *cpu = starpu_worker_get_perf_archtype(0, 0),
                                 *gpu = starpu_worker_get_perf_archtype((int)dev, 0);
    ok(all_of(near(starpu_task_expected_length(task, cpu, 0), 1000),
              near(starpu_task_expected_length(task, gpu, 1), 101),
              near(starpu_task_worker_expected_length(task, dev, 0, 0), 100)),
       "the expected length is the model's, by architecture and implementation, or by worker");
    ok(all_of(near(starpu_task_expected_energy(task, cpu, 0), 7),
              near(starpu_task_worker_expected_energy(task, 0, 0, 0), 7)),
       "the expected energy is the energy model's");
    double average = starpu_task_expected_length_average(task, 0);
    ok(all_of(average > 100, average < 1000), "the average lies between the architectures' (%g)", average);
    ok(all_of(starpu_worker_get_relative_speedup(cpu) == 1, starpu_worker_get_relative_speedup(gpu) > 1),
       "a device is assumed to be faster than a core, a core is 1");
    is_int((long long)starpu_task_expected_conversion_time(task, gpu, 0), 0,
           "data in one format needs no conversion");
    struct starpu_task *blank = starpu_task_create();
    blank->cl = &read_cl;
    ok(all_of(starpu_task_expected_length(blank, cpu, 0) == 0,
              starpu_task_expected_energy(blank, cpu, 0) == 0,
              starpu_task_worker_expected_length(blank, 0, 0, 0) == 0,
              isnan(starpu_task_expected_length_average(blank, 0))),
       "without a model there is nothing to add to other costs: 0");
    starpu_task_destroy(blank);
}

static void expected_transfers(struct starpu_task *task, unsigned dev)
{
    unsigned node = sim_node(0);
    double one = 100 + BYTES / 1000.;
    starpu_data_handle_t in = task->handles[0], out = task->handles[1];
    ok(all_of(near(starpu_data_expected_transfer_time(in, node, STARPU_R), one),
              near(starpu_transfer_predict(0, node, BYTES), one)),
       "a transfer takes latency and size over bandwidth");
    ok(all_of(starpu_data_expected_transfer_time(in, 0, STARPU_R) == 0,
              starpu_data_expected_transfer_time(in, node, STARPU_W) == 0),
       "none is needed where the data is, or to write only");
    ok(all_of(near(starpu_task_expected_data_transfer_time(node, task), one),
              near(starpu_task_expected_data_transfer_time_for(task, dev), one),
              starpu_task_expected_data_transfer_time_for(task, 0) == 0),
       "a task's is that of what it reads, by node or by worker");
    starpu_data_fetch_on_node(in, node, 0);
    ok(all_of(starpu_task_expected_data_transfer_time_for(task, dev) == 0,
              starpu_data_expected_transfer_time(in, node, STARPU_R) == 0),
       "and 0 once it is there");
    ok(near(starpu_data_expected_transfer_time(out, node, STARPU_RW), one),
       "reading and writing needs it as well");
}

static void footprints(struct starpu_task *task)
{
    struct starpu_perfmodel_arch *cpu = starpu_worker_get_perf_archtype(0, 0);
    starpu_data_handle_t same = vector(), smaller;
    static char byte;
    starpu_vector_data_register(&smaller, STARPU_MAIN_RAM, (uintptr_t)&byte, 1, 1);
    uint32_t raw = starpu_task_data_footprint(task);
    struct starpu_task *like = reader(same, task->handles[1]), *unlike = reader(smaller, task->handles[1]);
    ok(all_of(starpu_task_data_footprint(like) == raw, starpu_task_data_footprint(unlike) != raw),
       "data of the same shapes have the same footprint, others another");
    task->cl_arg = like->cl_arg = unlike->cl_arg = (void *)42L;
    ok(starpu_task_footprint(&sized_model, task, cpu, 0) ==
           starpu_task_footprint(&sized_model, unlike, cpu, 0),
       "with size_base the footprint is that of the size it says");
    unlike->cl_arg = (void *)43L;
    ok(starpu_task_footprint(&sized_model, task, cpu, 0) !=
           starpu_task_footprint(&sized_model, unlike, cpu, 0),
       "and another for another size");
    is_int(starpu_task_footprint(&printed_model, task, cpu, 0), 43,
           "a footprint function of the model's is asked");
    is_int(starpu_task_footprint(&time_model, task, cpu, 0), raw, "without either it is that of the data");
    starpu_task_destroy(like);
    starpu_task_destroy(unlike);
    drop(same);
    starpu_data_unregister(smaller);
}

static void expectations(void)
{
    unsigned dev = (unsigned)sim_worker(0);
    starpu_data_handle_t in = vector(), out = vector();
    struct starpu_task *task = reader(in, out);
    task->cl = &known_cl;
    expected_lengths(task, dev);
    expected_transfers(task, dev);
    footprints(task);
    starpu_task_destroy(task);
    drop(in);
    drop(out);
}

int main(void)
{
    alarm(300);
    unsetenv("STARPU_PREFETCH");
    sim_start(1, &device);
    for (unsigned i = 0; i < LENGTH(family); i++) brings(i);
    expectations();
    starpu_shutdown();
    sim_start(1, &slow);
    in_order();
    starpu_shutdown();
    /* Sets the environment for those who start the runtime themselves: the second device carries copies on
     * while the first is held in a gate. */
    sim_start(1, &two);
    starpu_shutdown();
    ahead();
    in_place();
    return done_testing();
}
