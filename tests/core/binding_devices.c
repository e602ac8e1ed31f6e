/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cores the workers of devices have on a recorded machine with a GPU beside each of its four NUMA nodes
 * (tests/machines/server.xml: P#0-31, 32-63, 64-95, 96-127, two nodes a socket), where CUDA's double says
 * that it has its devices. Threads: main; workers idle. Owns: nothing. Not here: CPU workers (machines.c).
 */
#include "core/mem/node.h"
#include "core/topo/topo.h"
#include "tests/core/cuda_helper.h"
#include "tests/core/recorded_machine.h"

/* The processors of the workers of that type in order, at most max. */
static const char *bound(enum starpu_worker_archtype type, unsigned max)
{
    static char text[1024];
    size_t at = 0;
    text[0] = 0;
    for (unsigned i = 0; i < starpu_worker_get_count() && max > 0 && at < sizeof text - 8; i++) {
        if (starpu_worker_get_type((int)i) != type) continue;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", at ? " " : "",
                               starpu_cpu_os_index(starpu_worker_get_bindid((int)i)));
        max--;
    }
    return text;
}
static void are_bound(enum starpu_worker_archtype type, const char *want, const char *fact)
{
    const char *got = bound(type, 6);
    if (!ok(strcmp(got, want) == 0, "%s", fact)) printf("#   got  %s\n#   want %s\n", got, want);
}

/* How many cores have more than one worker. */
static int crowded(void)
{
    static unsigned char on[256];
    int n = 0;
    memset(on, 0, sizeof on);
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) n += on[starpu_worker_get_bindid((int)i)]++ == 1;
    return n;
}

static void by_themselves(void)
{
    cuda_start(-1, "eager");
    are_bound(STARPU_CUDA_WORKER, "0 32 64 96", "each GPU's worker has the first core of the GPU's node");
    are_bound(STARPU_CPU_WORKER, "1 2 3 4 5 6", "CPU workers have what is left, in order");
    ok(all_of(starpu_cpu_worker_get_count() == 124, crowded() == 0), "124 of them, each a core of its own");
    starpu_shutdown();
    cuda_start(3, "eager");
    are_bound(STARPU_CPU_WORKER, "1 2 3", "so do few of them");
    starpu_shutdown();
    setenv("STARPU_NWORKER_PER_CUDA", "3", 1);
    cuda_start(1, "eager");
    are_bound(STARPU_CUDA_WORKER, "0 1 2 32 33 34", "workers that share a GPU have cores beside each other");
    starpu_shutdown();
    unsetenv("STARPU_NWORKER_PER_CUDA");
}

static void as_told(void)
{
    setenv("STARPU_WORKERS_CUDAID", "2 1", 1);
    cuda_start(1, "eager");
    are_bound(STARPU_CUDA_WORKER, "64 32", "a GPU that STARPU_WORKERS_CUDAID names has a core near it");
    starpu_shutdown();
    unsetenv("STARPU_WORKERS_CUDAID");
    setenv("STARPU_WORKERS_CPUID", "9 7 5 3 1", 1);
    cuda_start(1, "eager");
    are_bound(STARPU_CUDA_WORKER, "7 5 3 1", "STARPU_WORKERS_CPUID tells where all are");
    starpu_shutdown();
    unsetenv("STARPU_WORKERS_CPUID");
    setenv("STARPU_RESERVE_NCPU", "120", 1);
    cuda_start(-1, "eager");
    are_bound(STARPU_CPU_WORKER, "1 2 3 4", "reserved cores are taken from CPU workers");
    is_int((int)starpu_get_next_bindid(STARPU_THREAD_ACTIVE, NULL, 0), 5,
           "a thread of the program gets the first that nobody has");
    starpu_shutdown();
    unsetenv("STARPU_RESERVE_NCPU");
}

/* With only some processors of the machine. */
static void with_few(const int *processors, int n, const char *devices, const char *shared_by, int cpus)
{
    struct orr_processors mine = { { 0 } };
    for (int i = 0; i < n; i++) orr_share_add(&mine, (unsigned)processors[i]);
    orr_topo_take(&mine);
    setenv("STARPU_WORKERS_CUDAID", devices, 1);
    setenv("STARPU_NWORKER_PER_CUDA", shared_by, 1);
    cuda_start(cpus, "eager");
}
static void end_with_few(void)
{
    starpu_shutdown();
    orr_topo_take(NULL);
    unsetenv("STARPU_WORKERS_CUDAID");
    unsetenv("STARPU_NWORKER_PER_CUDA");
}

static void where_it_is_narrow(void)
{
    static const int some[] = { 5, 6, 33, 70, 71, 100 }, two[] = { 7, 100 };
    with_few(some, 6, "1", "4", 2);
    are_bound(STARPU_CUDA_WORKER, "33 5 6 70",
              "where a GPU's node has too few cores its socket's come next, then the others");
    are_bound(STARPU_CPU_WORKER, "71 100", "and CPU workers have the rest");
    end_with_few();
    with_few(two, 2, "3,0", "1", 2);
    are_bound(STARPU_CUDA_WORKER, "100 7", "two workers of GPUs have the two cores that there are");
    are_bound(STARPU_CPU_WORKER, "7 100", "which CPU workers then have, too: there is no other");
    end_with_few();
}

static void memories(void)
{
    setenv("STARPU_USE_NUMA", "1", 1);
    setenv("STARPU_WORKERS_CUDAID", "3 1", 1);
    cuda_start(1, "eager");
    is_int(orr_nodes[cuda_node(0)].main_memory, 3, "a GPU's memory belongs to the main memory near it");
    is_int(orr_nodes[cuda_node(1)].main_memory, 1, "as does another's");
    starpu_shutdown();
    unsetenv("STARPU_USE_NUMA");
    unsetenv("STARPU_WORKERS_CUDAID");
}

static void unknown_places(void)
{
    use_machine("laptop");
    cuda_start(-1, "eager");
    are_bound(STARPU_CUDA_WORKER, "18 19 20 21",
              "where nobody knows what the GPUs are near to their workers have the last cores");
    starpu_shutdown();
    use_machine("server");
    setenv("ORR_DOUBLE_CUDA_FAIL", "cuDeviceGetPCIBusId:1-99", 1);
    cuda_start(2, "eager");
    are_bound(STARPU_CUDA_WORKER, "2 3 4 5", "so too where CUDA does not say where its devices are");
    starpu_shutdown();
    unsetenv("ORR_DOUBLE_CUDA_FAIL");
}

int main(void)
{
    alarm(60);
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("STARPU_HWLOC_INPUT");
    unsetenv("STARPU_NCPU");
    setenv("ORR_DOUBLE_CUDA_DEVICES", "4", 1);
    use_machine("server");
    by_themselves();
    as_told();
    where_it_is_narrow();
    memories();
    unknown_places();
    is_int(cuda_double.left(), 0, "nothing is left of the devices");
    return done_testing();
}
