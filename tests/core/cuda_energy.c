/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The energy of CUDA devices, measured by starpu_energy_start and _stop on doubles of CUDA's library and of
 * NVIDIA's management library. Threads: main; workers. Owns: data and models. Not here: models (perfmodel.c).
 */
#include "tests/core/cuda_helper.h"
#include "tests/double/nvml.h"

#include <math.h>
#include <sys/wait.h>

static void (*use_energy)(int device, long long mj);

static void nothing_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "cuda_energy" };
static struct starpu_codelet cl = {
    .cpu_funcs = { nothing_func },
    .cuda_funcs = { nothing_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .energy_model = &model,
    .name = "energy",
};
static float value[16];
static starpu_data_handle_t handle;

static struct starpu_task *make_task(void)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = &cl;
    t->handles[0] = handle;
    return t;
}

/* Joules of a task on that device, as the model has them; -1: it has not. */
static double known(int device)
{
    struct starpu_task *t = make_task();
    struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(cuda_worker(device), 0);
    double joules =
        starpu_perfmodel_history_based_expected_perf(&model, arch, starpu_task_footprint(&model, t, arch, 0));
    t->destroy = 0;
    starpu_task_destroy(t);
    return isnan(joules) ? -1 : joules;
}

static int stop(int device, unsigned tasks)
{
    struct starpu_task *t = make_task();
    int r = starpu_energy_stop(&model, t, 0, tasks, cuda_worker(device), STARPU_CUDA_WORKER);
    starpu_task_destroy(t);
    return r;
}
static int start(int device)
{
    return starpu_energy_start(cuda_worker(device), STARPU_CUDA_WORKER);
}

static void run_tasks(int device, int count)
{
    for (int i = 0; i < count; i++)
        if (starpu_task_insert(&cl, STARPU_RW, handle, STARPU_EXECUTE_ON_WORKER, cuda_worker(device), 0))
            ok(false, "a task can be submitted");
    starpu_task_wait_for_all();
}

static void measured(void)
{
    use_energy(0, 777);
    is_int(start(0), 0, "the energy of a device is measured");
    is_int(start(1), 0, "and that of another meanwhile");
    run_tasks(0, 4);
    use_energy(0, 2000);
    use_energy(1, 30000);
    is_int(stop(0, 4), 0, "until it is stopped");
    ok(fabs(known(0) - 0.5) < 1e-9, "2 J of four tasks are 0.5 J each: %g", known(0));
    run_tasks(1, 3);
    use_energy(1, 30000);
    ok(all_of(stop(1, 3) == 0, fabs(known(1) - 20) < 1e-9), "60 J of three tasks on the other are 20 J each");
    start(0);
    use_energy(0, 2400);
    stop(0, 4);
    ok(fabs(known(0) - 0.55) < 1e-9, "what is measured again is averaged: %g", known(0));
    struct starpu_task *t = make_task();
    ok(fabs(starpu_task_worker_expected_energy(t, (unsigned)cuda_worker(1), 0, 0) - 20) < 1e-9,
       "policies are told of it");
    starpu_task_destroy(t);
}

static void refused(void)
{
    int cpu = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
    ok(all_of(starpu_energy_start(-1, STARPU_CUDA_WORKER) == -1,
              starpu_energy_start(cpu, STARPU_CUDA_WORKER) == -1,
              starpu_energy_start(cuda_worker(0), STARPU_CPU_WORKER) == -1,
              starpu_energy_start(cpu, STARPU_CPU_WORKER) == -1,
              starpu_energy_start(STARPU_NMAXWORKERS, STARPU_CUDA_WORKER) == -1),
       "what is no device, and one core, cannot be measured");
    is_int(stop(0, 1), -1, "what was not started is not stopped");
    double before = known(0);
    start(0);
    use_energy(0, 5000);
    is_int(stop(0, 0), -1, "nor is it the energy of no task");
    setenv("ORR_DOUBLE_NVML_FAIL", "nvmlDeviceGetTotalEnergyConsumption", 1);
    is_int(stop(0, 1), -1, "a device that does not answer is no measure");
    is_int(start(0), -1, "and cannot be started");
    setenv("ORR_DOUBLE_NVML_FAIL", "nvmlDeviceGetHandleByPciBusId_v2", 1);
    is_int(start(0), -1, "nor can one that is not found");
    unsetenv("ORR_DOUBLE_NVML_FAIL");
    is_int(stop(0, 1), -1, "what could not be started is not stopped");
    is_int(start(0), 0, "later it is measured again");
    use_energy(0, -1000);
    is_int(stop(0, 1), -1, "a counter that began anew is no measure");
    ok(fabs(known(0) - before) < 1e-9, "the model knows nothing of all this");
}

/* In a process of its own, as the library is loaded once: whether nothing can be measured there. */
static bool without(const char *library, const char *fails)
{
    pid_t child = fork();
    if (child == 0) {
        setenv("ORRERY_NVML_LIBRARY", library, 1);
        cuda_setting("ORR_DOUBLE_NVML_FAIL", fails);
        cuda_start(1, "eager");
        int r = start(0) == -1 && start(0) == -1;
        starpu_shutdown();
        _exit(r ? 0 : 1);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    char path[PATH_MAX];
    alarm(60);
    setenv("STARPU_CALIBRATE_MINIMUM", "1", 1);
    cuda_use_double();
    snprintf(path, sizeof path, "%s", getenv("ORRERY_CUDA_LIBRARY"));
    ok(all_of(without("none", NULL), without("/nonexistent", NULL), without(path, NULL)),
       "without NVIDIA's management library, or with another, a device's energy is not known");
    strcpy(strrchr(path, '/'), "/nvml.so");
    ok(without(path, "nvmlInit_v2"), "nor is it with one that does not begin");
    setenv("ORRERY_NVML_LIBRARY", path, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    *(void **)&use_energy = cuda_symbol(library, "double_nvml_use");
    cuda_start(1, "eager");
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)value, 16, sizeof *value);
    measured();
    refused();
    starpu_data_unregister(handle);
    starpu_shutdown();
    return done_testing();
}
