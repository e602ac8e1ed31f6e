/* SPDX-License-Identifier: BSD-3-Clause */
/* async_copy.c: the settings that have copies made in the foreground, and questions about them.
 * Threads: any asks. Owns: nothing beyond the settings' declarations. Not here: copying
 * (core/data/transfer.c). */
#include "core/run/async_copy.h"

#include "core/base/env.h"
#include "core/mem/node.h"

enum { ALL, CUDA, HIP, OPENCL, FPGA, SYCL, MPI_SC, TCPIP_SC, SETTINGS };

static const enum orr_setting settings[SETTINGS] = {
    [ALL] = ORR_SETTING_STARPU_DISABLE_ASYNCHRONOUS_COPY,
    [CUDA] = ORR_SETTING_STARPU_DISABLE_ASYNCHRONOUS_CUDA_COPY,
    [HIP] = ORR_SETTING_STARPU_DISABLE_ASYNCHRONOUS_HIP_COPY,
    [OPENCL] = ORR_SETTING_STARPU_DISABLE_ASYNCHRONOUS_OPENCL_COPY,
    [FPGA] = ORR_SETTING_STARPU_DISABLE_ASYNCHRONOUS_MAX_FPGA_COPY,
    [SYCL] = ORR_SETTING_STARPU_DISABLE_ASYNCHRONOUS_SYCL_COPY,
    [MPI_SC] = ORR_SETTING_STARPU_DISABLE_ASYNCHRONOUS_MPI_SC_COPY,
    [TCPIP_SC] = ORR_SETTING_STARPU_DISABLE_ASYNCHRONOUS_TCPIP_SC_COPY,
};

static const enum starpu_node_kind kind_of[SETTINGS] = {
    [CUDA] = STARPU_CUDA_RAM,         [HIP] = STARPU_HIP_RAM,   [OPENCL] = STARPU_OPENCL_RAM,
    [FPGA] = STARPU_MAX_FPGA_RAM,     [SYCL] = STARPU_SYCL_RAM, [MPI_SC] = STARPU_MPI_SC_RAM,
    [TCPIP_SC] = STARPU_TCPIP_SC_RAM,
};

void orr_async_copy_init(const struct starpu_conf *conf)
{
    const int from_conf[SETTINGS] = {
        [ALL] = conf->disable_asynchronous_copy,
        [CUDA] = conf->disable_asynchronous_cuda_copy,
        [HIP] = conf->disable_asynchronous_hip_copy,
        [OPENCL] = conf->disable_asynchronous_opencl_copy,
        [FPGA] = conf->disable_asynchronous_max_fpga_copy,
        [SYCL] = conf->disable_asynchronous_sycl_copy,
        [MPI_SC] = conf->disable_asynchronous_mpi_sc_copy,
        [TCPIP_SC] = conf->disable_asynchronous_tcpip_sc_copy,
    };
    orr_foreground_kinds = 0;
    for (int i = 0; i < SETTINGS; i++) {
        int in_foreground = from_conf[i] > 0;
        if (!conf->precedence_over_environment_variables)
            in_foreground = (int)orr_env_long(&orr_settings[settings[i]], in_foreground, 0, 1);
        if (in_foreground) orr_foreground_kinds |= i == ALL ? ~0u : 1u << kind_of[i];
    }
}

int starpu_asynchronous_copy_disabled(void)
{
    return orr_foreground_kinds == ~0u;
}

int starpu_asynchronous_copy_disabled_for(enum starpu_node_kind kind)
{
    return (unsigned)kind < STARPU_NRAM && (orr_foreground_kinds >> kind & 1);
}

int starpu_asynchronous_cuda_copy_disabled(void)
{
    return starpu_asynchronous_copy_disabled_for(STARPU_CUDA_RAM);
}

int starpu_asynchronous_hip_copy_disabled(void)
{
    return starpu_asynchronous_copy_disabled_for(STARPU_HIP_RAM);
}

int starpu_asynchronous_opencl_copy_disabled(void)
{
    return starpu_asynchronous_copy_disabled_for(STARPU_OPENCL_RAM);
}

int starpu_asynchronous_max_fpga_copy_disabled(void)
{
    return starpu_asynchronous_copy_disabled_for(STARPU_MAX_FPGA_RAM);
}

int starpu_asynchronous_sycl_copy_disabled(void)
{
    return starpu_asynchronous_copy_disabled_for(STARPU_SYCL_RAM);
}

int starpu_asynchronous_mpi_sc_copy_disabled(void)
{
    return starpu_asynchronous_copy_disabled_for(STARPU_MPI_SC_RAM);
}

int starpu_asynchronous_tcpip_sc_copy_disabled(void)
{
    return starpu_asynchronous_copy_disabled_for(STARPU_TCPIP_SC_RAM);
}

int starpu_map_enabled(void)
{
    return 0; /* no device of this build sees main memory in place */
}
