/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kind of device that the table has: its names agree, and on each that can be simulated a codelet with
 * functions for that kind alone runs, in that kind's memory. Threads: main; devices in children. Owns:
 * nothing. Not here: copies, eviction, pipelines (tests/core/sim_device.c and its like).
 */
#include <ctype.h>
#include <stddef.h>

#include <starpu_profiling.h>

#include "tests/core/misuse.h"

/* What programs see of a kind; the offsets of the fields are what a program would write. */
static const struct kind {
    const char *word, *symbol;
    enum starpu_worker_archtype type;
    enum starpu_node_kind memory;
    size_t functions;  /* in struct starpu_codelet; 0: nothing runs there */
    size_t number;     /* in struct starpu_conf */
    bool is_simulated; /* by drivers/sim */
} kinds[] = {
#define NAMES(PREFIX, NAME, name)                                                                            \
#name, #PREFIX "_" #NAME "_WORKER", PREFIX##_##NAME##_WORKER, PREFIX##_##NAME##_RAM
#define KIND(PREFIX, NAME, name, is_simulated)                                                               \
    {                                                                                                        \
        NAMES(PREFIX, NAME, name), offsetof(struct starpu_codelet, name##_funcs),                            \
            offsetof(struct starpu_conf, n##name), is_simulated                                              \
    }
#define NAME_ONLY(NAME, name)                                                                                \
    {                                                                                                        \
        NAMES(STARPU, NAME, name), 0, offsetof(struct starpu_conf, n##name), false                           \
    }
    KIND(STARPU, CUDA, cuda, true),  KIND(STARPU, OPENCL, opencl, true),
    KIND(STARPU, HIP, hip, true),    KIND(STARPU, MAX_FPGA, max_fpga, true),
    KIND(ORRERY, MINI, mini, false), NAME_ONLY(MIC, mic),
    NAME_ONLY(MPI_SC, mpi_sc),       NAME_ONLY(TCPIP_SC, tcpip_sc),
    NAME_ONLY(SYCL, sycl),
};
static const struct kind *now;
static int value; /* of a datum in main memory */

/* ---- names ---- */

static bool names_agree(const struct kind *k)
{
    char name[32];
    for (size_t i = 0; i <= strlen(k->word); i++) name[i] = (char)toupper((unsigned char)k->word[i]);
    return strcmp(starpu_perfmodel_get_archtype_name(k->type), k->word) == 0 &&
           strcmp(starpu_worker_get_type_as_env_var(k->type), name) == 0 &&
           strcmp(starpu_worker_get_type_as_string(k->type), k->symbol) == 0 &&
           starpu_worker_get_type_from_string(k->symbol) == k->type;
}

static int *number_of(struct starpu_conf *conf, const struct kind *k)
{
    return (int *)((char *)conf + k->number);
}

static bool numbers_are(struct starpu_conf *conf, int n)
{
    for (unsigned i = 0; i < LENGTH(kinds); i++)
        if (*number_of(conf, &kinds[i]) != n) return false;
    return true;
}

static void tables(void)
{
    struct starpu_conf conf;
    bool seen[STARPU_NARCH] = { [STARPU_CPU_WORKER] = true };
    unsigned unseen = 0;
    for (unsigned i = 0; i < LENGTH(kinds); i++) {
        const struct kind *k = &kinds[i];
        seen[k->type] = true;
        ok(names_agree(k), "%s: the names of the type of worker agree", k->word);
        is_int(starpu_worker_get_memory_node_kind(k->type), k->memory, "%s: the kind of its memory", k->word);
        is_int(starpu_memory_node_get_worker_archtype(k->memory), k->type, "%s: whose memory that is",
               k->word);
    }
    for (unsigned i = 0; i < STARPU_NARCH; i++) unseen += !seen[i];
    is_int(unseen, 0, "there is no other kind than these and CPUs");
    starpu_conf_init(&conf);
    ok(numbers_are(&conf, -1), "starpu_conf_init leaves the number of each to the machine");
    starpu_conf_noworker(&conf);
    ok(numbers_are(&conf, 0), "starpu_conf_noworker asks for none of each");
}

/* ---- devices ---- */

static void body(void *buffers[], void *arg UNUSED)
{
    enum starpu_worker_archtype type = starpu_worker_get_type(starpu_worker_get_id());
    unsigned node = starpu_worker_get_memory_node((unsigned)starpu_worker_get_id());
    int *here = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    *here += type == now->type && starpu_node_get_kind(node) == now->memory && here != &value;
}

static void set_functions(struct starpu_codelet *cl, const struct kind *k)
{
    *(starpu_cpu_func_t *)((char *)cl + k->functions) = body;
}

/* That many devices of the kind, of two where they are simulated. */
static bool start(int number)
{
    struct starpu_conf conf;
    if (now->is_simulated) {
        setenv("ORRERY_SIM_TYPE", now->word, 1);
        setenv("ORRERY_SIM_DEVICES", "2", 1);
    }
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    *number_of(&conf, now) = number;
    return starpu_init(&conf) == 0;
}

static bool runs_there(void)
{
    if (!start(2)) return false;
    static struct starpu_codelet cl = { .nbuffers = 1, .modes = { STARPU_RW } };
    starpu_data_handle_t h;
    set_functions(&cl, now);
    value = 41;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    bool well = returns(starpu_task_insert(&cl, STARPU_RW, h, 0), 0);
    starpu_data_unregister(h);
    well &= returns(cl.where, STARPU_WORKER_TO_MASK(now->type));
    well &= returns(value, 42);
    well &= returns(starpu_worker_get_count_by_type(now->type), 2);
    well &= returns(starpu_memory_nodes_get_count_by_kind(now->memory), 2);
    starpu_shutdown();
    return well;
}

static bool is_limited(void)
{
    bool well = start(1) && returns(starpu_worker_get_count_by_type(now->type), 1);
    starpu_shutdown();
    return well;
}

static bool says_nothing(bool (*run)(void))
{
    struct misuse m = { "a kind", run, 0 };
    struct outcome o = misuse_try(&m);
    if (o.status != 0 || o.lines) outcome_show(&o);
    return o.status == 0 && o.lines == 0;
}

static void devices(void)
{
    for (unsigned i = 0; i < LENGTH(kinds); i++) {
        now = &kinds[i];
        if (!now->functions) continue;
        ok(says_nothing(runs_there), "%s: a codelet for that kind alone runs in its memory", now->word);
        ok(says_nothing(is_limited), "%s: the program says how many", now->word);
    }
}

/* ---- several kinds at once ---- */

enum { ROUNDS = 100, WORKERS = 3 };
static int ran[STARPU_NARCH]; /* how often the function for that kind did, on a worker of it */

static void add_on(void *buffers[], enum starpu_worker_archtype type)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    ran[type] += starpu_worker_get_type(starpu_worker_get_id()) == type;
}

static void add_on_cpu(void *buffers[], void *arg UNUSED)
{
    add_on(buffers, STARPU_CPU_WORKER);
}

static void add_on_cuda(void *buffers[], void *arg UNUSED)
{
    add_on(buffers, STARPU_CUDA_WORKER);
}

static void add_on_mini(void *buffers[], void *arg UNUSED)
{
    add_on(buffers, ORRERY_MINI_WORKER);
}

static struct starpu_codelet add_cl = { .cpu_funcs = { add_on_cpu },
                                        .cuda_funcs = { add_on_cuda },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .mini_funcs = { add_on_mini } };

/* A datum goes round a CPU, a simulated device that others of its kind reach, and one of another kind. */
static bool goes_round(void)
{
    struct starpu_conf conf;
    starpu_data_handle_t h;
    setenv("ORRERY_SIM_DEVICES", "1", 1);
    setenv("ORRERY_SIM_PEERS", "1", 1);
    setenv("ORRERY_NMINI", "1", 1);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf) != 0 || !returns(starpu_worker_get_count(), WORKERS)) return false;
    value = 0;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    bool well = true;
    for (int i = 0; i < ROUNDS * WORKERS; i++)
        well &= starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_EXECUTE_ON_WORKER, i % WORKERS, 0) == 0;
    starpu_data_unregister(h);
    well &= returns(value, ROUNDS * WORKERS);
    well &= returns(ran[STARPU_CPU_WORKER], ROUNDS);
    well &= returns(ran[STARPU_CUDA_WORKER], ROUNDS);
    well &= returns(ran[ORRERY_MINI_WORKER], ROUNDS);
    starpu_shutdown();
    return well;
}

static bool is_direct(void)
{
    setenv("ORRERY_SIM_DEVICES", "2", 1);
    setenv("ORRERY_SIM_PEERS", "1", 1);
    setenv("ORRERY_NMINI", "1", 1);
    if (starpu_init(NULL) != 0) return false;
    int cuda = (int)starpu_memory_devid_find_node(0, STARPU_CUDA_RAM), next = cuda + 1;
    int mini = (int)starpu_memory_devid_find_node(0, ORRERY_MINI_RAM);
    bool well = returns(starpu_bus_get_direct(starpu_bus_get_id(cuda, next)), 1);
    well &= returns(starpu_bus_get_direct(starpu_bus_get_id(cuda, mini)), 0);
    well &= returns(starpu_bus_get_direct(starpu_bus_get_id(mini, cuda)), 0);
    starpu_shutdown();
    return well;
}

int main(void)
{
    tables();
    devices();
    ok(says_nothing(goes_round),
       "a datum goes round devices of two kinds and a CPU, whose functions run there");
    ok(says_nothing(is_direct), "devices of one kind may reach each other, those of two go by main memory");
    return done_testing();
}
