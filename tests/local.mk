# SPDX-License-Identifier: BSD-3-Clause
# Tests: one line each, the source's name without its ending.
#   TAP_TESTS    += tests/core/task_deps    .c to .tap: public interface, linked with liborrery
#   UNIT_TESTS   += tests/core/base_slab    .c to .tap: private functions, linked with the hidden objects of liborrery
#   INPROC_TESTS += tests/mpi/inproc_cache  .c to .tap: private functions of liborrery-mpi and liborrery, no mpirun
#   CXX_TESTS    += tests/api/cxx_insert    .cc to .tap: a C++11 program over the public interface
#   MPI_TESTS    += tests/mpi/task_insert   .c to .mpi: under mpirun, ranks from a line "ranks: 2 3 4" in the source
#   LONG_TESTS   += tests/mpi/inproc_seeds  .c to .tap: make check-long only, linked as INPROC_TESTS
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
TAP_TESTS += tests/core/data_filters
TAP_TESTS += tests/core/data_pieces
TAP_TESTS += tests/core/data_plans
TAP_TESTS += tests/core/workers
TAP_TESTS += tests/core/workerorder
TAP_TESTS += tests/core/wait_pause
TAP_TESTS += tests/core/init
TAP_TESTS += tests/core/limits
TAP_TESTS += tests/core/perfmodel
TAP_TESTS += tests/core/misc
TAP_TESTS += tests/core/contexts
TAP_TESTS += tests/core/profiling
TAP_TESTS += tests/sched/policies
TAP_TESTS += tests/sched/user_policy
INPROC_TESTS += tests/mpi/engine_inproc
MPI_TESTS += tests/mpi/p2p
MPI_TESTS += tests/mpi/task_insert
MPI_TESTS += tests/mpi/collectives
MPI_TESTS += tests/mpi/migrate
MPI_TESTS += tests/mpi/early
MPI_TESTS += tests/mpi/types

# Ours alone: the peer wants more cores, or says it in other words.
TAP_TESTS += tests/core/binding
TAP_TESTS += tests/core/bound
TAP_TESTS += tests/core/contexts_nested
TAP_TESTS += tests/sched/heteroprio

# What the peer has under other names or only with other libraries.
TAP_TESTS += tests/core/parallel_worker

# With simulated devices.
TAP_TESTS += tests/core/sim_device
TAP_TESTS += tests/core/coherency_random
TAP_TESTS += tests/core/soak_short
TAP_TESTS += tests/sched/dm_devices
UNIT_TESTS += tests/core/coherency_places
UNIT_TESTS += tests/core/interfaces

# When things go wrong: misuse of the interface, nonsense in the environment, no memory.
TAP_TESTS += tests/core/misuse
TAP_TESTS += tests/core/misuse_init
TAP_TESTS += tests/core/env
UNIT_TESTS += tests/core/alloc_failures

# Private parts.
UNIT_TESTS += tests/core/perfmodel_fit
UNIT_TESTS += tests/core/perfmodel_store

# make check-long only. The full soak: tests/long/soak.tap --tasks 100000000
LONG_TESTS += tests/long/soak
