/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with GPU code that runs where there is none: it includes every header of the interface by name,
 * calls what prepares the libraries of GPUs without asking first, and is told when it asks for a stream.
 * Threads: one. Owns: nothing. Not here: every header alone and in C++ (scripts/lint).
 */
#include <starpu.h>
#include <starpu_bitmap.h>
#include <starpu_clusters.h>
#include <starpu_cublas.h>
#include <starpu_cublasLt.h>
#include <starpu_cublas_v2.h>
#include <starpu_cuda.h>
#include <starpu_cusolver.h>
#include <starpu_cusparse.h>
#include <starpu_disk.h>
#include <starpu_heteroprio.h>
#include <starpu_hip.h>
#include <starpu_hipblas.h>
#include <starpu_hipsolver.h>
#include <starpu_max_fpga.h>
#include <starpu_openmp.h>
#include <starpu_sched_component.h>
#include <starpu_scheduler_toolbox.h>
#include <starpu_simgrid_wrap.h>
#include <schedulers/starpu_scheduler_toolbox.h>

#include "tests/heard.h"
#include "tests/tap.h"

static void prepare_libraries(void)
{
    starpu_cublas_init();
    starpu_cublas_set_stream();
    starpu_cublasLt_init();
    starpu_cusparse_init();
    starpu_cusolver_init();
    starpu_hipblas_init();
    starpu_hipsolver_init();
}

static void end_libraries(void)
{
    starpu_hipsolver_shutdown();
    starpu_hipblas_shutdown();
    starpu_cusolver_shutdown();
    starpu_cusparse_shutdown();
    starpu_cublasLt_shutdown();
    starpu_cublas_shutdown();
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf)) return 1;

    ok(starpu_cuda_worker_get_count() == 0, "there is no CUDA worker");
    listen_to_stderr();
    prepare_libraries();
    end_libraries();
    is_int(times_said("starpu_"), 0,
           "libraries of GPUs are prepared and ended without a word where there is none");

    listen_to_stderr();
    void *stream = starpu_cuda_get_local_stream();
    is_int(times_said("starpu_cuda_get_local_stream"), 1,
           "who asks for a CUDA stream is told that there is none");
    ok(!stream, "and gets NULL");

    listen_to_stderr();
    stream = starpu_hip_get_local_stream();
    is_int(times_said("starpu_hip_get_local_stream"), 1, "so is who asks for a HIP stream");
    ok(!stream, "and gets NULL");

    starpu_st_fifo_taskq_t queue = starpu_st_fifo_taskq_create();
    ok(all_of(queue, starpu_st_fifo_taskq_empty(queue)),
       "starpu_scheduler_toolbox.h is found under both names");
    starpu_st_fifo_taskq_destroy(queue);
    starpu_shutdown();
    return done_testing();
}
