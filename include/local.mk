# SPDX-License-Identifier: BSD-3-Clause
# Public headers, installed to $(includedir)/orrery; starpu_config.h beside them is made by configure. One line each:
#   pkginclude_HEADERS += include/starpu.h
# and those that include mpi.h:
#   if HAVE_MPI
#   pkginclude_HEADERS += include/starpu_mpi.h
#   endif

# Data, models, measures, devices, modular schedulers, MPI.
pkginclude_HEADERS += include/starpu_bound.h
pkginclude_HEADERS += include/starpu_clusters.h
pkginclude_HEADERS += include/starpu_cublas.h
pkginclude_HEADERS += include/starpu_cublasLt.h
pkginclude_HEADERS += include/starpu_cublas_v2.h
pkginclude_HEADERS += include/starpu_cuda.h
pkginclude_HEADERS += include/starpu_cusolver.h
pkginclude_HEADERS += include/starpu_cusparse.h
pkginclude_HEADERS += include/starpu_data.h
pkginclude_HEADERS += include/starpu_data_filters.h
pkginclude_HEADERS += include/starpu_data_interfaces.h
pkginclude_HEADERS += include/starpu_deprecated_api.h
pkginclude_HEADERS += include/starpu_disk.h
pkginclude_HEADERS += include/starpu_driver.h
pkginclude_HEADERS += include/starpu_expert.h
pkginclude_HEADERS += include/starpu_fortran.h
pkginclude_HEADERS += include/starpu_fxt.h
pkginclude_HEADERS += include/starpu_hip.h
pkginclude_HEADERS += include/starpu_hipblas.h
pkginclude_HEADERS += include/starpu_hipsolver.h
pkginclude_HEADERS += include/starpu_max_fpga.h
pkginclude_HEADERS += include/starpu_mic.h
pkginclude_HEADERS += include/starpu_mpi_lb.h
pkginclude_HEADERS += include/starpu_opencl.h
pkginclude_HEADERS += include/starpu_openmp.h
pkginclude_HEADERS += include/starpu_parallel_worker.h
pkginclude_HEADERS += include/starpu_perf_monitoring.h
pkginclude_HEADERS += include/starpu_perfmodel.h
pkginclude_HEADERS += include/starpu_profiling.h
pkginclude_HEADERS += include/starpu_profiling_tool.h
if HAVE_MPI
pkginclude_HEADERS += include/starpu_mpi.h
pkginclude_HEADERS += include/orrery_mpi.h
pkginclude_HEADERS += include/starpu_mpi_ft.h
pkginclude_HEADERS += include/starpu_mpi_fortran.h
endif

# Tasks, workers, policies, helpers.
pkginclude_HEADERS += include/orrery.h
pkginclude_HEADERS += include/orrery_kinds.h
pkginclude_HEADERS += include/starpu.h
pkginclude_HEADERS += include/starpu_bitmap.h
pkginclude_HEADERS += include/starpu_graph.h
pkginclude_HEADERS += include/starpu_hash.h
pkginclude_HEADERS += include/starpu_helper.h
pkginclude_HEADERS += include/starpu_heteroprio.h
pkginclude_HEADERS += include/starpu_rand.h
pkginclude_HEADERS += include/sc_hypervisor.h
pkginclude_HEADERS += include/sc_hypervisor_config.h
pkginclude_HEADERS += include/sc_hypervisor_lp.h
pkginclude_HEADERS += include/sc_hypervisor_monitoring.h
pkginclude_HEADERS += include/sc_hypervisor_policy.h
pkginclude_HEADERS += include/sched_ctx_hypervisor.h
pkginclude_HEADERS += include/starpu_sched_component.h
pkginclude_HEADERS += include/starpu_sched_ctx.h
pkginclude_HEADERS += include/starpu_sched_ctx_hypervisor.h
pkginclude_HEADERS += include/starpu_scheduler.h
pkginclude_HEADERS += include/starpu_scheduler_toolbox.h
pkginclude_HEADERS += include/starpu_simgrid_wrap.h
pkginclude_HEADERS += include/starpu_stdlib.h
pkginclude_HEADERS += include/starpu_task.h
pkginclude_HEADERS += include/starpu_task_bundle.h
pkginclude_HEADERS += include/starpu_task_dep.h
pkginclude_HEADERS += include/starpu_task_list.h
pkginclude_HEADERS += include/starpu_task_util.h
pkginclude_HEADERS += include/starpu_thread.h
pkginclude_HEADERS += include/starpu_thread_util.h
pkginclude_HEADERS += include/starpu_tree.h
pkginclude_HEADERS += include/starpu_util.h
pkginclude_HEADERS += include/starpu_worker.h

# In a folder of its own, as in StarPU: #include <schedulers/starpu_scheduler_toolbox.h>.
schedulersinclude_HEADERS += include/schedulers/starpu_scheduler_toolbox.h
