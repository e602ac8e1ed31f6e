# SPDX-License-Identifier: BSD-3-Clause
# Tests: one line each, the source's name without its ending.
#   TAP_TESTS    += tests/core/task_deps    .c to .tap: public interface, linked with liborrery
#   PLAIN_TESTS  += tests/core/dlopen       .c to .tap: linked with nothing of ours, which it loads itself
#   UNIT_TESTS   += tests/core/base_slab    .c to .tap: private functions, linked with the hidden objects of liborrery
#   INPROC_TESTS += tests/mpi/inproc_cache  .c to .tap: private functions of both libraries; INPROC_MPI_TESTS: .mpi
#   CXX_TESTS    += tests/api/cxx_insert    .cc to .tap: a C++11 program over the public interface
#   MPI_TESTS    += tests/mpi/task_insert   .c to .mpi: under mpirun, ranks from a line "ranks: 2 3 4" in the source
#   OWNER_TESTS  += tests/mpi/memory        one of MPI_TESTS that make check-dmda leaves out
#   FIXED_RANKS  += tests/mpi/asleep        one of those under mpirun that make check-ranks leaves out
#   ONE_THREAD   += tests/core/env         also one that check-tsan leaves out: it is about what one thread does, or mostly waits
#   SCRIPT_TESTS += tests/valgrind.sh      a shell script that prints TAP
#   INSTEAD_TESTS += tests/double.sh       one of these that does more in make check-long (ORR_DOUBLE=all)
#   LONG_TESTS   += tests/mpi/inproc_seeds  .c to .tap: make check-long only, linked as INPROC_TESTS
#   LONG_MPI_TESTS += tests/long/soak_mpi   .c to .mpi: make check-long only, under mpirun
#   LONG_SCRIPT_TESTS += tests/long/debian.sh  a shell script that prints TAP: make check-long only
# Libraries for one test:  tests/core/x.tap: PROGRAM_LIBS = -lz

# The public interface, without private headers: these also compile against StarPU 1.3 and pass on it.
TAP_TESTS += tests/core/task_submit
TAP_TESTS += tests/core/task_deps
TAP_TESTS += tests/core/task_tags
TAP_TESTS += tests/core/task_regenerate
TAP_TESTS += tests/core/task_insert
TAP_TESTS += tests/core/task_bundle
TAP_TESTS += tests/core/task_list
TAP_TESTS += tests/core/codelet
TAP_TESTS += tests/core/deadlock
TAP_TESTS += tests/core/data_modes
TAP_TESTS += tests/core/data_acquire
TAP_TESTS += tests/core/data_lifecycle
TAP_TESTS += tests/core/data_end
TAP_TESTS += tests/core/data_first_value
TAP_TESTS += tests/core/data_filters
TAP_TESTS += tests/core/data_shapes
TAP_TESTS += tests/core/long_chains
TAP_TESTS += tests/core/data_pieces
TAP_TESTS += tests/core/data_plans
TAP_TESTS += tests/core/workers
TAP_TESTS += tests/core/workerorder
TAP_TESTS += tests/core/wait_pause
TAP_TESTS += tests/core/waiters
TAP_TESTS += tests/core/stranded
TAP_TESTS += tests/core/worker_functions
TAP_TESTS += tests/core/kernel_crash
TAP_TESTS += tests/core/init
TAP_TESTS += tests/core/limits
TAP_TESTS += tests/core/perfmodel
TAP_TESTS += tests/core/misc
TAP_TESTS += tests/core/profiling
TAP_TESTS += tests/sched/policies
TAP_TESTS += tests/sched/user_policy
INPROC_TESTS += tests/mpi/engine_inproc
INPROC_TESTS += tests/mpi/spread
INPROC_TESTS += tests/mpi/bringup
INPROC_TESTS += tests/mpi/clusters
INPROC_TESTS += tests/mpi/lending
INPROC_TESTS += tests/mpi/seen
INPROC_TESTS += tests/mpi/cluster_random_short
INPROC_TESTS += tests/mpi/away
INPROC_TESTS += tests/mpi/moved
INPROC_TESTS += tests/mpi/placements
INPROC_TESTS += tests/mpi/dmda
ONE_THREAD += tests/mpi/dmda
INPROC_TESTS += tests/mpi/feedback
INPROC_TESTS += tests/mpi/replays
INPROC_TESTS += tests/mpi/plan_iterations
INPROC_TESTS += tests/mpi/frozen
INPROC_TESTS += tests/mpi/bells
INPROC_TESTS += tests/mpi/near
INPROC_TESTS += tests/mpi/pulse
INPROC_TESTS += tests/mpi/snapshots
INPROC_TESTS += tests/mpi/heat
INPROC_TESTS += tests/mpi/checkpoints
INPROC_TESTS += tests/mpi/shared_node
INPROC_TESTS += tests/mpi/failures_dying
INPROC_TESTS += tests/mpi/failures_living
INPROC_TESTS += tests/mpi/failures_streams
INPROC_TESTS += tests/mpi/failures_messages
MPI_TESTS += tests/mpi/p2p
MPI_TESTS += tests/mpi/coop
MPI_TESTS += tests/mpi/direct
MPI_TESTS += tests/mpi/numa
tests/mpi/direct.mpi: tests/double/cuda.so
tests/mpi/direct.mpi: PROGRAM_LIBS = -rdynamic
MPI_TESTS += tests/mpi/away_calls tests/mpi/pieces
MPI_TESTS += tests/mpi/balance tests/mpi/delayed
MPI_TESTS += tests/mpi/asleep
MPI_TESTS += tests/mpi/callbacks
MPI_TESTS += tests/mpi/barrier
MPI_TESTS += tests/mpi/memory
MPI_TESTS += tests/mpi/failed_messages
MPI_TESTS += tests/mpi/shutdown
MPI_TESTS += tests/mpi/remains
MPI_TESTS += tests/mpi/counting
MPI_TESTS += tests/mpi/hostile
MPI_TESTS += tests/mpi/task_insert
MPI_TESTS += tests/mpi/collectives
MPI_TESTS += tests/mpi/communicators
MPI_TESTS += tests/mpi/reductions
MPI_TESTS += tests/mpi/reductions_short
MPI_TESTS += tests/mpi/serialized
MPI_TESTS += tests/mpi/iterations
MPI_TESTS += tests/mpi/iterations_hostile
MPI_TESTS += tests/mpi/migrate
MPI_TESTS += tests/mpi/early
MPI_TESTS += tests/mpi/plans
MPI_TESTS += tests/mpi/first_value
MPI_TESTS += tests/mpi/types
MPI_TESTS += tests/mpi/transports
MPI_TESTS += tests/mpi/shared_blocks
MPI_TESTS += tests/mpi/malloced
if MALLOC
tests/mpi/malloced.mpi: liborrery-malloc.la tools/orrery_malloc
endif
INPROC_MPI_TESTS += tests/mpi/engine_mpi
INPROC_MPI_TESTS += tests/mpi/lending_mpi
INPROC_MPI_TESTS += tests/mpi/seen_mpi
INPROC_MPI_TESTS += tests/mpi/seen_kept
INPROC_MPI_TESTS += tests/mpi/seen_lent
INPROC_MPI_TESTS += tests/mpi/away_late tests/mpi/away_threads
INPROC_MPI_TESTS += tests/mpi/lending_hostile
INPROC_MPI_TESTS += tests/mpi/lending_busy
MPI_TESTS += tests/mpi/lending_kernels
INPROC_MPI_TESTS += tests/mpi/versions
MPI_TESTS += tests/mpi/launcher
MPI_TESTS += tests/mpi/live_view
MPI_TESTS += tests/mpi/progress_line
MPI_TESTS += tests/mpi/standing
MPI_TESTS += tests/mpi/soak_short
MPI_TESTS += tests/mpi/exact
MPI_TESTS += tests/mpi/recorded
tests/mpi/recorded.mpi: tools/orrery_report
MPI_TESTS += tests/mpi/plan_replay
MPI_TESTS += tests/mpi/dmda_replay

# Ours alone: the peer wants more cores, or says it in other words.
TAP_TESTS += tests/core/binding
UNIT_TESTS += tests/core/machines
ONE_THREAD += tests/core/machines
UNIT_TESTS += tests/core/home_core
ONE_THREAD += tests/core/home_core
UNIT_TESTS += tests/core/shares
ONE_THREAD += tests/core/shares
UNIT_TESTS += tests/core/waits
UNIT_TESTS += tests/core/lock_order
TAP_TESTS += tests/core/cpu_only
TAP_TESTS += tests/core/recycle
UNIT_TESTS += tests/core/arena
TAP_TESTS += tests/core/plans_uses
TAP_TESTS += tests/core/plans_memory
TAP_TESTS += tests/core/memory_limit
TAP_TESTS += tests/core/set_beside
TAP_TESTS += tests/core/memory_store
TAP_TESTS += tests/core/data_packed
TAP_TESTS += tests/core/disk
TAP_TESTS += tests/core/disk_own
TAP_TESTS += tests/core/disk_faults
TAP_TESTS += tests/core/memory_numa
TAP_TESTS += tests/core/task_dup
TAP_TESTS += tests/core/task_lifetime
TAP_TESTS += tests/core/task_nodeps
TAP_TESTS += tests/core/task_rounds
TAP_TESTS += tests/core/task_retry
TAP_TESTS += tests/core/transactions
TAP_TESTS += tests/core/perf_monitoring
TAP_TESTS += tests/core/prof_tool
tests/core/prof_tool.tap: tests/core/prof_tool_lib.so
tests/core/prof_tool_lib.so: tests/core/prof_tool_lib.c tests/core/prof_tool_lib.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(PROG_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ $(srcdir)/tests/core/prof_tool_lib.c
CLEANFILES += tests/core/prof_tool_lib.so
TAP_TESTS += tests/core/codelet_constant
PLAIN_TESTS += tests/core/dlopen
TAP_TESTS += tests/core/tag_removal
TAP_TESTS += tests/core/deadlock_unsure
ONE_THREAD += tests/core/deadlock_unsure
TAP_TESTS += tests/core/bound tests/core/bound_order
TAP_TESTS += tests/core/contexts
TAP_TESTS += tests/core/contexts_nested
TAP_TESTS += tests/core/contexts_moves
TAP_TESTS += tests/core/driven
TAP_TESTS += tests/core/contexts_renumbered
TAP_TESTS += tests/core/contexts_devices
TAP_TESTS += tests/core/contexts_rules
TAP_TESTS += tests/core/contexts_user
TAP_TESTS += tests/core/contexts_counters
TAP_TESTS += tests/sched/heteroprio
TAP_TESTS += tests/sched/lws
TAP_TESTS += tests/sched/predefined
TAP_TESTS += tests/sched/particular

# The hypervisor, which the peer ships no header of.
TAP_TESTS += tests/sched/hypervisor
TAP_TESTS += tests/sched/hypervisor_first_names
TAP_TESTS += tests/sched/hypervisor_lp
TAP_TESTS += tests/sched/hypervisor_misuse
TAP_TESTS += tests/sched/hypervisor_leaving
TAP_TESTS += tests/sched/hypervisor_devices
TAP_TESTS += tests/sched/hypervisor_strategies
TAP_TESTS += tests/sched/components
TAP_TESTS += tests/sched/components_own
TAP_TESTS += tests/sched/toolbox
TAP_TESTS += tests/sched/joblist
TAP_TESTS += tests/sched/joblist_even
TAP_TESTS += tests/sched/joblist_odd
TAP_TESTS += tests/sched/joblist_stuck
TAP_TESTS += tests/sched/interface_mistakes
ONE_THREAD += tests/sched/interface_mistakes
TAP_TESTS += tests/sched/interface
TAP_TESTS += tests/sched/interface_settings
tests/sched/interface_settings.tap: tests/sched/policy_lib.so tests/sched/policy_list_lib.so
tests/sched/policy_lib.so: tests/sched/policy_lib.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(PROG_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ $(srcdir)/tests/sched/policy_lib.c
tests/sched/policy_list_lib.so: tests/sched/policy_lib.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(PROG_CFLAGS) $(CFLAGS) -DONLY_LIST -shared -fPIC -o $@ $(srcdir)/tests/sched/policy_lib.c
CLEANFILES += tests/sched/policy_lib.so tests/sched/policy_list_lib.so

# What the peer has under other names or only with other libraries.
TAP_TESTS += tests/core/parallel_worker
TAP_TESTS += tests/core/parallel_tasks
TAP_TESTS += tests/sched/pheft
TAP_TESTS += tests/sched/peager
TAP_TESTS += tests/sched/graph_test

# With simulated devices.
TAP_TESTS += tests/core/kinds
TAP_TESTS += tests/core/sim_device
TAP_TESTS += tests/core/driven_devices
TAP_TESTS += tests/core/devices
TAP_TESTS += tests/core/device_faults
TAP_TESTS += tests/core/multiformat
TAP_TESTS += tests/core/data_own_interface
TAP_TESTS += tests/core/own_cache
TAP_TESTS += tests/core/data_requests
TAP_TESTS += tests/core/task_failed
TAP_TESTS += tests/core/coherency_random
TAP_TESTS += tests/core/memory_hungry
TAP_TESTS += tests/core/memory_random
TAP_TESTS += tests/core/memory_policies
TAP_TESTS += tests/core/links
TAP_TESTS += tests/core/memory_kept
TAP_TESTS += tests/core/soak_short
TAP_TESTS += tests/sched/dm_devices
TAP_TESTS += tests/sched/room
TAP_TESTS += tests/sched/components_devices
TAP_TESTS += tests/sched/interface_data
TAP_TESTS += tests/sched/every_policy
UNIT_TESTS += tests/core/coherency_places
UNIT_TESTS += tests/core/copies_polled
TAP_TESTS += tests/core/copies_random
TAP_TESTS += tests/core/data_together
UNIT_TESTS += tests/core/data_map
UNIT_TESTS += tests/core/plans_devices
UNIT_TESTS += tests/core/interfaces
UNIT_TESTS += tests/core/many_data
UNIT_TESTS += tests/core/events
UNIT_TESTS += tests/core/events_runtime
UNIT_TESTS += tests/core/tape
UNIT_TESTS += tests/core/recording

# OpenCL devices, on PoCL.
if HAVE_OPENCL
TAP_TESTS += tests/opencl/vector
TAP_TESTS += tests/opencl/shapes
TAP_TESTS += tests/opencl/failures
TAP_TESTS += tests/opencl/links
TAP_TESTS += tests/opencl/hostile
TAP_TESTS += tests/opencl/stream
TAP_TESTS += tests/opencl/driven
TAP_TESTS += tests/opencl/peers
UNIT_TESTS += tests/opencl/place
SCRIPT_TESTS += tests/opencl/several.sh
INSTEAD_TESTS += tests/opencl/instead.sh
LONG_TESTS += tests/long/opencl_failures
tests/opencl/vector.tap tests/opencl/shapes.tap tests/opencl/hostile.tap tests/opencl/driven.tap tests/opencl/peers.tap: PROGRAM_LIBS = $(OPENCL_LIBS)
tests/opencl/failures.tap tests/opencl/stream.tap tests/opencl/links.tap tests/opencl/place.tap tests/long/opencl_failures.tap: PROGRAM_LIBS = $(OPENCL_LIBS) -ldl
tests/opencl/failures.tap tests/opencl/stream.tap tests/opencl/links.tap tests/opencl/place.tap tests/long/opencl_failures.tap: tests/opencl/shim.so
tests/opencl/shim.so: tests/opencl/shim.c tests/opencl/shim.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(PROG_CFLAGS) $(CFLAGS) \
	  -shared -fPIC -o $@ $(srcdir)/tests/opencl/shim.c -ldl
CLEANFILES += tests/opencl/shim.so
endif

# CUDA on a double of its driver library, which runs on the host.
if HAVE_CUDA
if HAVE_OPENCL
TAP_TESTS += tests/core/mixed_devices tests/core/same_gpu
tests/core/mixed_devices.tap tests/core/same_gpu.tap: tests/double/cuda.so tests/opencl/shim.so
endif
TAP_TESTS += tests/core/cuda tests/core/cuda_faults tests/core/cuda_methods
TAP_TESTS += tests/core/cuda_energy
UNIT_TESTS += tests/core/binding_devices
tests/core/cuda.tap tests/core/cuda_faults.tap tests/core/cuda_methods.tap tests/core/binding_devices.tap \
	tests/core/cuda_energy.tap: tests/double/cuda.so
tests/core/cuda_energy.tap: tests/double/nvml.so
tests/double/nvml.so: tests/double/nvml.c tests/double/nvml.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(PROG_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ $(srcdir)/tests/double/nvml.c
tests/double/cuda.so: tests/double/cuda.c tests/double/cuda.h drivers/cuda/api.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(PROG_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ $(srcdir)/tests/double/cuda.c -lpthread
CLEANFILES += tests/double/cuda.so tests/double/nvml.so
INSTEAD_TESTS += tests/double.sh

# CUDA on a GPU, where there is one. gpu.so, for gpu.sh, is linked with CUDA's library by name: that need not be here.
TAP_TESTS += tests/gpu/driven
INSTEAD_TESTS += tests/gpu.sh
tests/gpu/driven.tap: PROGRAM_LIBS = -ldl
tests/gpu/driven.tap: tests/double/gpu.so
tests/double/gpu.so: tests/double/gpu.c tests/double/cuda.h drivers/cuda/api.h
	$(AM_V_CC)$(MKDIR_P) $(@D)/named && $(CC) -shared -fPIC -x c /dev/null -Wl,-soname,libcuda.so.1 -o $(@D)/named/libcuda.so && \
	  $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(PROG_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ \
	  $(srcdir)/tests/double/gpu.c -Wl,--no-as-needed -L$(@D)/named -lcuda -ldl
CLEANFILES += tests/double/gpu.so tests/double/named/libcuda.so
endif

# When things go wrong: misuse of the interface, nonsense in the environment, no memory.
TAP_TESTS += tests/core/misuse
TAP_TESTS += tests/core/misuse_init
TAP_TESTS += tests/core/env
ONE_THREAD += tests/core/misuse_init tests/core/env
TAP_TESTS += tests/core/settings
TAP_TESTS += tests/core/perfmodel_home
UNIT_TESTS += tests/core/alloc_failures
UNIT_TESTS += tests/core/alloc_failures_policies
ONE_THREAD += tests/core/alloc_failures tests/core/alloc_failures_policies

# That sanitizers see what they should; skipped in other builds.
UNIT_TESTS += tests/core/sanitizers
MPI_TESTS += tests/mpi/leaks

# The programs of tools/.
TAP_TESTS += tests/tools/tools
ONE_THREAD += tests/tools/tools
tests/tools/tools.tap: $(TOOLS) $(bin_SCRIPTS)
TAP_TESTS += tests/tools/report
TAP_TESTS += tests/tools/readers
TAP_TESTS += tests/tools/page
ONE_THREAD += tests/tools/page
TAP_TESTS += tests/tools/orders
tests/tools/report.tap tests/tools/readers.tap tests/tools/orders.tap tests/tools/page.tap: tools/orrery_report tools/starpu_fxt_tool
tests/tools/readers.tap: tools/starpu_perfmodel_recdump tools/starpu_tasks_rec_complete
TAP_TESTS += tests/tools/stats
tests/tools/stats.tap: tools/starpu_fxt_tool $(STATS_LINKS)
TAP_TESTS += tests/tools/damaged
ONE_THREAD += tests/tools/damaged
tests/tools/damaged.tap: $(REPORT_OBJECTS)
tests/tools/damaged.tap: PROGRAM_LIBS = $(REPORT_OBJECTS)
TAP_TESTS += tests/tools/live tests/tools/why
PLAIN_TESTS += tests/tools/live_loaded
tests/tools/live.tap tests/tools/why.tap tests/tools/live_loaded.tap tests/mpi/live_view.mpi tests/mpi/standing.mpi: tools/orrery_top tools/orrery_why
tests/mpi/counting.mpi: tools/starpu_mpi_comm_matrix
TAP_TESTS += tests/tools/plan_files
tests/tools/plan_files.tap: tools/orrery_plan

# Private parts.
UNIT_TESTS += tests/core/perfmodel_fit
UNIT_TESTS += tests/core/perfmodel_store
UNIT_TESTS += tests/core/task_parts tests/core/worker_parts
UNIT_TESTS += tests/core/guests tests/core/doze tests/core/wanted

# make check-valgrind. Each makes the runtime start, work and stop; none depends on time. make check runs one of them.
VALGRIND_TESTS += tests/core/init tests/core/limits tests/core/misc tests/core/codelet tests/core/task_submit
VALGRIND_TESTS += tests/core/task_deps tests/core/task_tags tests/core/tag_removal tests/core/task_regenerate
VALGRIND_TESTS += tests/core/task_insert tests/core/task_bundle tests/core/task_list tests/core/task_dup
VALGRIND_TESTS += tests/core/data_modes tests/core/data_acquire tests/core/data_lifecycle tests/core/data_filters
VALGRIND_TESTS += tests/core/data_pieces tests/core/data_plans tests/core/interfaces tests/core/coherency_places
VALGRIND_TESTS += tests/core/workers tests/core/workerorder tests/core/wait_pause tests/core/contexts
VALGRIND_TESTS += tests/core/contexts_nested tests/core/perfmodel tests/core/perfmodel_fit tests/core/perfmodel_home
VALGRIND_TESTS += tests/core/parallel_worker tests/sched/policies tests/sched/user_policy tests/sched/heteroprio
VALGRIND_TESTS += tests/sched/dm_devices
SCRIPT_TESTS += tests/valgrind.sh
SCRIPT_TESTS += tests/simulate.sh
INSTEAD_TESTS += tests/simulated.sh
SCRIPT_TESTS += tests/far.sh
SCRIPT_TESTS += tests/malloc.sh
SCRIPT_TESTS += tests/cuda.sh
SCRIPT_TESTS += tests/tools/doctor.sh
SCRIPT_TESTS += tests/tools/gdb.sh
SCRIPT_TESTS += tests/languages/fortran.sh
SCRIPT_TESTS += tests/languages/python.sh
SCRIPT_TESTS += tests/reference.sh
SCRIPT_TESTS += tests/handbook.sh
SCRIPT_TESTS += tests/examples/devices.sh

# make check-dmda leaves out: where a copy is under owner-computes, loops that are pruned, task_build, iterations that are replayed.
OWNER_TESTS += tests/mpi/recorded tests/mpi/memory tests/mpi/remains tests/mpi/task_insert tests/mpi/reductions_short tests/mpi/iterations tests/mpi/coop

# make check-ranks leaves out: what is about as many ranks as its source says, or asks for answers in time.
FIXED_RANKS += tests/mpi/asleep tests/mpi/callbacks tests/mpi/direct tests/mpi/failed_messages tests/mpi/first_value tests/mpi/lending_hostile \
	tests/mpi/lending_busy tests/mpi/lending_kernels tests/mpi/memory tests/mpi/numa tests/mpi/recorded tests/mpi/shutdown tests/mpi/standing

# make check-long only. The full soak: tests/long/soak.tap --tasks 100000000; across ranks:
# mpirun -n 3 tests/long/soak_mpi.mpi --tasks 1000000
LONG_TESTS += tests/long/soak
LONG_TESTS += tests/long/joblist_soak
LONG_TESTS += tests/long/memory_rate
LONG_TESTS += tests/long/memory_random
LONG_TESTS += tests/long/many_dependencies
LONG_TESTS += tests/long/cluster_random
LONG_MPI_TESTS += tests/long/soak_mpi
LONG_MPI_TESTS += tests/long/reductions_random
LONG_SCRIPT_TESTS += tests/long/debian.sh
