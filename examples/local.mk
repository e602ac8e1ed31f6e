# SPDX-License-Identifier: BSD-3-Clause
# Examples. A program of one file is one line (MPI_EXAMPLES where it needs liborrery-mpi):
#   EXAMPLES += examples/basics/hello
EXAMPLES += examples/basic/hello_task
EXAMPLES += examples/basic/vector_scale
EXAMPLES += examples/basic/dependencies
EXAMPLES += examples/basic/reduction
EXAMPLES += examples/hypervisor/two_contexts
EXAMPLES += examples/basic/joblist
EXAMPLES += examples/scheduler/own_policy
EXAMPLES += examples/scheduler/modular
examples/devices/scale examples/devices/gemm examples/devices/lu examples/devices/heat examples/devices/spmv \
	examples/devices/cg: PROGRAM_LIBS = $(OPENCL_LIBS)
EXAMPLES += examples/devices/scale
EXAMPLES += examples/devices/gemm
EXAMPLES += examples/devices/lu
EXAMPLES += examples/devices/heat
EXAMPLES += examples/devices/spmv
EXAMPLES += examples/devices/cg
if HAVE_PNG
EXAMPLES += examples/devices/mandelbrot
examples/devices/mandelbrot: PROGRAM_LIBS = $(PNG_LIBS) $(OPENCL_LIBS)
endif
if CUDA_EXAMPLES
CUDA_KERNELS = examples/devices/scale.cu.o examples/devices/gemm.cu.o examples/devices/lu.cu.o \
	examples/devices/heat.cu.o examples/devices/sparse.cu.o examples/devices/mandelbrot.cu.o
examples/devices/scale examples/devices/gemm examples/devices/lu examples/devices/heat examples/devices/spmv \
examples/devices/cg examples/devices/mandelbrot: PROGRAM_FLAGS = $(CUDA_CFLAGS)
examples/devices/scale: PROGRAM_LIBS = examples/devices/scale.cu.o $(CUDA_LIBS) $(OPENCL_LIBS)
examples/devices/gemm: PROGRAM_LIBS = examples/devices/gemm.cu.o $(CUDA_LIBS) $(OPENCL_LIBS)
examples/devices/lu: PROGRAM_LIBS = examples/devices/lu.cu.o $(CUDA_LIBS) $(OPENCL_LIBS)
examples/devices/heat: PROGRAM_LIBS = examples/devices/heat.cu.o $(CUDA_LIBS) $(OPENCL_LIBS)
examples/devices/spmv examples/devices/cg: PROGRAM_LIBS = examples/devices/sparse.cu.o $(CUDA_LIBS) $(OPENCL_LIBS)
examples/devices/mandelbrot: PROGRAM_LIBS = examples/devices/mandelbrot.cu.o $(CUDA_LIBS) $(PNG_LIBS) $(OPENCL_LIBS)
examples/devices/scale: examples/devices/scale.cu.o
examples/devices/gemm: examples/devices/gemm.cu.o
examples/devices/lu: examples/devices/lu.cu.o
examples/devices/heat: examples/devices/heat.cu.o
examples/devices/mandelbrot: examples/devices/mandelbrot.cu.o
examples/devices/spmv examples/devices/cg: examples/devices/sparse.cu.o
$(CUDA_KERNELS): %.cu.o: %.cu
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(NVCC) -O2 -DSTARPU_USE_CUDA=1 -Iinclude -I$(srcdir)/include -c -o $@ $<
CLEANFILES += $(CUDA_KERNELS)
endif
MPI_EXAMPLES += examples/stencil/stencil_mpi
MPI_EXAMPLES += examples/cluster/three_ways
MPI_EXAMPLES += examples/checkpoint/long_run

# The main one has several files, and needs OpenBLAS and zlib.
if HAVE_MPI
if HAVE_ZLIB
if HAVE_OPENBLAS
noinst_PROGRAMS += examples/cholesky/mpi_cholesky
examples_cholesky_mpi_cholesky_SOURCES = \
	examples/cholesky/mpi_cholesky.c \
	examples/cholesky/factorisation.c examples/cholesky/factorisation.h \
	examples/cholesky/kernels.c examples/cholesky/kernels.h \
	examples/cholesky/kernels_opencl.c examples/cholesky/kernels_cuda.c examples/cholesky/kernels_devices.h \
	examples/cholesky/matrix_market.c examples/cholesky/matrix_market.h \
	examples/cholesky/options.c examples/cholesky/options.h \
	examples/cholesky/reference.c examples/cholesky/reference.h \
	examples/cholesky/report.c examples/cholesky/report.h \
	examples/cholesky/sparse_matrix.c examples/cholesky/sparse_matrix.h \
	examples/cholesky/tile_matrix.c examples/cholesky/tile_matrix.h \
	examples/cholesky/traffic.c examples/cholesky/traffic.h
examples_cholesky_mpi_cholesky_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS) $(OPENBLAS_CFLAGS) $(ZLIB_CFLAGS)
examples_cholesky_mpi_cholesky_CFLAGS = $(PROG_CFLAGS)
examples_cholesky_mpi_cholesky_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_cholesky_mpi_cholesky_LDADD = liborrery-mpi.la liborrery.la $(MPI_LIBS) $(OPENBLAS_LIBS) $(ZLIB_LIBS) $(OPENCL_LIBS) \
	$(CUBLAS_LIBS) $(CUDA_LIBS) -lpthread -lm
endif
endif
endif
