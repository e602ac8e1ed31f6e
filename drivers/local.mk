# SPDX-License-Identifier: BSD-3-Clause
# Drivers: one folder for each kind of device.
liborrery_la_SOURCES += drivers/builtin.c drivers/libraries.c
liborrery_la_SOURCES += drivers/cpu/cpu.c drivers/cpu/cpu.h
if HAVE_CUDA
liborrery_la_SOURCES += drivers/cuda/device.c drivers/cuda/device.h drivers/cuda/mark.c drivers/cuda/memory.c \
	drivers/cuda/staging.c drivers/cuda/staging.h
liborrery_la_SOURCES += drivers/cuda/kernel.c drivers/cuda/kernel.h drivers/cuda/interface.c drivers/cuda/interface.h
liborrery_la_SOURCES += drivers/cuda/energy.c drivers/cuda/energy.h
liborrery_la_SOURCES += drivers/cuda/library.c drivers/cuda/library.h drivers/cuda/api.h drivers/cuda/math.c
endif
liborrery_la_SOURCES += drivers/mini/mini.c
liborrery_la_SOURCES += drivers/sim/sim.c drivers/sim/memory.c drivers/sim/memory.h drivers/sim/faults.c drivers/sim/faults.h
liborrery_la_SOURCES += drivers/sim/store.c drivers/sim/engine.c drivers/sim/engine.h
liborrery_la_SOURCES += drivers/disk/disk.c drivers/disk/disk.h drivers/disk/jobs.c drivers/disk/files.c drivers/disk/hdf5.c
if HAVE_OPENCL
liborrery_la_SOURCES += drivers/opencl/opencl.h drivers/opencl/kernel.h drivers/opencl/library.c drivers/opencl/device.c \
	drivers/opencl/memory.c drivers/opencl/kernel.c drivers/opencl/marks.c drivers/opencl/program.c drivers/opencl/calls.c
endif
