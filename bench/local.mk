# SPDX-License-Identifier: BSD-3-Clause
# Benchmarks: "make bench" runs scripts/bench, which compiles them for each library it compares. Listed here they are
# also compiled with the tree's own flags ("make build-benches"; scripts/check does), so that they cannot rot.
BENCHES += bench/tasks bench/chain bench/fan bench/memory bench/insert bench/joblist bench/schedules bench/coherence bench/decision bench/overlap bench/trace
MPI_BENCHES += bench/mpi_pingpong bench/mpi_insert bench/mpi_fanout bench/mpi_replay bench/mpi_stencil bench/cluster
if HAVE_CUDA
BENCHES += bench/cuda
bench/cuda: PROGRAM_LIBS = -ldl
endif
if HAVE_OPENCL
BENCHES += bench/opencl
bench/opencl: PROGRAM_LIBS = $(OPENCL_LIBS)
endif
if HAVE_OPENBLAS
BENCHES += bench/cholesky
MPI_BENCHES += bench/mpi_cholesky
bench/cholesky bench/mpi_cholesky: AM_CPPFLAGS += $(OPENBLAS_CFLAGS)
bench/cholesky bench/mpi_cholesky: PROGRAM_LIBS = $(OPENBLAS_LIBS)
endif
