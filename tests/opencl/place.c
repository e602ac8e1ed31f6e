/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cores the workers of OpenCL devices have, and which main memory their memory belongs to, on a
 * recorded machine with a GPU beside each of its four NUMA nodes (tests/machines/server.xml), where two of
 * PoCL's devices say that they are those (cl_khr_pci_bus_info). Threads: main; workers idle. Owns: nothing.
 * Not here: what a place is good for (tests/core/binding_devices.c).
 */
#include <dlfcn.h>
#include <sys/wait.h>

#include "core/mem/node.h"
#include "tests/core/recorded_machine.h"
#include "tests/opencl/opencl_helper.h"
#include "tests/opencl/shim.h"

static const struct shim *shim;

static int processor_of(int device)
{
    int worker = starpu_worker_get_by_type(STARPU_OPENCL_WORKER, device);
    return worker < 0 ? -1 : starpu_cpu_os_index(starpu_worker_get_bindid(worker));
}
static int memory_of(int device)
{
    int worker = starpu_worker_get_by_type(STARPU_OPENCL_WORKER, device);
    return worker < 0 ? -1 : orr_nodes[starpu_worker_get_memory_node((unsigned)worker)].main_memory;
}

static void both_known(void)
{
    static const unsigned at[][4] = { { 0, 0x60, 0, 0 }, { 0, 0x40, 0, 0 } };
    setenv("STARPU_USE_NUMA", "1", 1);
    shim->plug_in(at, 2);
    opencl_start(1, NULL);
    is_int(starpu_opencl_worker_get_count(), 2, "there are two devices");
    ok(all_of(processor_of(0) == 64, processor_of(1) == 32), "their workers have cores near where they are");
    ok(all_of(memory_of(0) == 2, memory_of(1) == 1), "and their memories belong to the main memories there");
    starpu_shutdown();
    unsetenv("STARPU_USE_NUMA");
}

/* In a process of its own, since hwloc reads no file a second time after PoCL has used it. */
static pid_t start_one_known(void)
{
    static const unsigned at[][4] = { { 0, 0x80, 0, 0 } };
    pid_t child = fork();
    if (child != 0) return child;
    if (!freopen("/dev/null", "w", stdout)) _exit(1);
    shim->plug_in(at, 1);
    opencl_start(1, NULL);
    int first = processor_of(0), second = processor_of(1);
    fprintf(stderr, "# one known: workers on processors %d and %d\n", first, second);
    starpu_shutdown();
    _exit(first == 96 && second >= 0 && second != 96 ? 0 : 2);
}

int main(void)
{
    char file[4096];
    const char *build = getenv("ORR_BUILDDIR");
    snprintf(file, sizeof file, "%s/tests/opencl/shim.so", build ? build : ".");
    setenv("ORRERY_OPENCL_LIBRARY", file, 1);
    setenv("POCL_DEVICES", "pthread pthread", 1);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    shim = library ? dlsym(library, "shim_control") : NULL;
    if (!shim) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("STARPU_HWLOC_INPUT");
    unsetenv("STARPU_NCPU");
    use_machine("server");
    pid_t child = start_one_known();
    int status = -1;
    waitpid(child, &status, 0);
    both_known();
    is_int(status, 0, "where one of them does not know, the other has its place all the same");
    return done_testing();
}
