/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kind of device that the table has: its names agree, and on each that can be simulated a codelet with
 * functions for that kind alone runs, in that kind's memory. Threads: main; devices in children. Owns:
 * nothing. Not here: copies, eviction, pipelines (tests/core/sim_device.c and its like).
 */
#include <ctype.h>
#include <stddef.h>

#include "tests/core/misuse.h"

/* What programs see of a kind; the offsets of the fields are what a program would write. */
static const struct kind {
    const char *word;
    enum starpu_worker_archtype type;
    enum starpu_node_kind memory;
    size_t functions; /* in struct starpu_codelet; 0: nothing runs there */
    size_t number;    /* in struct starpu_conf */
} kinds[] = {
#define KIND(NAME, name)                                                                                     \
    {                                                                                                        \
#name, STARPU_##NAME##_WORKER, STARPU_##NAME##_RAM, offsetof(struct starpu_codelet, name##_funcs),   \
            offsetof(struct starpu_conf, n##name)                                                            \
    }
    KIND(CUDA, cuda),
    KIND(OPENCL, opencl),
    KIND(HIP, hip),
    KIND(MAX_FPGA, max_fpga),
    { "mic", STARPU_MIC_WORKER, STARPU_MIC_RAM, 0, offsetof(struct starpu_conf, nmic) },
    { "mpi_sc", STARPU_MPI_SC_WORKER, STARPU_MPI_SC_RAM, 0, offsetof(struct starpu_conf, nmpi_sc) },
    { "tcpip_sc", STARPU_TCPIP_SC_WORKER, STARPU_TCPIP_SC_RAM, 0, offsetof(struct starpu_conf, ntcpip_sc) },
    { "sycl", STARPU_SYCL_WORKER, STARPU_SYCL_RAM, 0, offsetof(struct starpu_conf, nsycl) },
};
static const struct kind *now;
static int value; /* of a datum in main memory */

/* ---- names ---- */

static bool names_agree(const struct kind *k)
{
    char name[32], symbol[64];
    for (size_t i = 0; i <= strlen(k->word); i++) name[i] = (char)toupper((unsigned char)k->word[i]);
    snprintf(symbol, sizeof symbol, "STARPU_%s_WORKER", name);
    return strcmp(starpu_perfmodel_get_archtype_name(k->type), k->word) == 0 &&
           strcmp(starpu_worker_get_type_as_env_var(k->type), name) == 0 &&
           strcmp(starpu_worker_get_type_as_string(k->type), symbol) == 0 &&
           starpu_worker_get_type_from_string(symbol) == k->type;
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

/* Two devices of the kind, of which one is asked for; -1: both. */
static bool start(int number)
{
    struct starpu_conf conf;
    setenv("ORRERY_SIM_TYPE", now->word, 1);
    setenv("ORRERY_SIM_DEVICES", "2", 1);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    *number_of(&conf, now) = number;
    return starpu_init(&conf) == 0;
}

static bool runs_there(void)
{
    if (!start(-1)) return false;
    static struct starpu_codelet cl = { .nbuffers = 1, .modes = { STARPU_RW } };
    starpu_data_handle_t h;
    set_functions(&cl, now);
    value = 41;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    bool well = returns(starpu_task_insert(&cl, STARPU_RW, h, 0), 0);
    starpu_data_unregister(h);
    well &= returns(cl.where, STARPU_WORKER_TO_MASK(now->type)) & returns(value, 42);
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
    struct misuse m = { now->word, run, 0 };
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

int main(void)
{
    tables();
    devices();
    return done_testing();
}
