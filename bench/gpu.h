/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for real GPUs of CUDA, without its compiler: in PTX, which CUDA's driver library translates. For
 * tests and benchmarks of the CUDA driver. All numbers are whole, so that a CPU computes the same. Threads:
 * main prepares; kernels are launched in cuda_funcs. Owns: the functions of CUDA's library, the kernels of
 * each worker. Not here: doubles of CUDA (tests/double).
 */
#ifndef ORR_BENCH_GPU_H
#define ORR_BENCH_GPU_H

#include <dlfcn.h>
#include <stdbool.h>
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>

#ifndef STARPU_USE_CUDA /* as starpu_cuda.h declares it where CUDA's headers are */
void starpu_cuda_report_error(const char *func, const char *file, int line, int status);
#endif

enum { GPU_OK = 0, GPU_STREAM_NON_BLOCKING = 1, GPU_POINTER_MEMORY = 2, GPU_HOST_MEMORY = 1 };
typedef unsigned long long gpu_address;

/* FUNCTION(name, symbol, parameters): of CUDA's driver library; what they return is GPU_OK, or an error. */
#define GPU_FUNCTIONS(FUNCTION)                                                                              \
    FUNCTION(init, cuInit, (unsigned flags))                                                                 \
    FUNCTION(device_count, cuDeviceGetCount, (int *out))                                                     \
    FUNCTION(context_retain, cuDevicePrimaryCtxRetain, (void **out, int device))                             \
    FUNCTION(context_get, cuCtxGetCurrent, (void **out))                                                     \
    FUNCTION(context_set, cuCtxSetCurrent, (void *c))                                                        \
    FUNCTION(memory_info, cuMemGetInfo_v2, (size_t * free_out, size_t * total_out))                          \
    FUNCTION(pointer_is, cuPointerGetAttribute, (void *out, int attribute, gpu_address p))                   \
    FUNCTION(alloc, cuMemAlloc_v2, (gpu_address * out, size_t bytes))                                        \
    FUNCTION(free, cuMemFree_v2, (gpu_address p))                                                            \
    FUNCTION(copy_to, cuMemcpyHtoDAsync_v2,                                                                  \
             (gpu_address dst, const void *src, size_t bytes, struct CUstream_st *s))                        \
    FUNCTION(copy_from, cuMemcpyDtoHAsync_v2,                                                                \
             (void *dst, gpu_address src, size_t bytes, struct CUstream_st *s))                              \
    FUNCTION(stream_create, cuStreamCreate, (struct CUstream_st * *out, unsigned flags))                     \
    FUNCTION(stream_wait, cuStreamSynchronize, (struct CUstream_st * s))                                     \
    FUNCTION(module_load, cuModuleLoadData, (void **out, const void *text))                                  \
    FUNCTION(module_function, cuModuleGetFunction, (void **out, void *module, const char *name))             \
    FUNCTION(launch, cuLaunchKernel,                                                                         \
             (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,         \
              unsigned shared_bytes, struct CUstream_st *s, void **args, void **extra))

static struct {
#define FIELD(name, symbol, parameters) int(*name) parameters;
    GPU_FUNCTIONS(FIELD)
#undef FIELD
} gpu;

/* combine: v[i] = v[i] * a + w[i]; spin: takes so many ns; stray: writes where nothing is; empty. */
static const char *const gpu_text =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry combine(.param .u64 pv, .param .u64 pw, .param .u32 pa, .param .u32 pn)\n{\n"
    ".reg .pred %p; .reg .u32 %i, %n, %a, %x, %y, %t, %step; .reg .u64 %v, %w, %at, %off;\n"
    "ld.param.u64 %v, [pv]; ld.param.u64 %w, [pw]; ld.param.u32 %a, [pa]; ld.param.u32 %n, [pn];\n"
    "mov.u32 %i, %ctaid.x; mov.u32 %t, %ntid.x; mov.u32 %x, %tid.x; mad.lo.u32 %i, %i, %t, %x;\n"
    "mov.u32 %step, %nctaid.x; mul.lo.u32 %step, %step, %t;\n"
    "next: setp.ge.u32 %p, %i, %n; @%p bra end; mul.wide.u32 %off, %i, 4;\n"
    "add.u64 %at, %w, %off; ld.global.u32 %y, [%at]; add.u64 %at, %v, %off; ld.global.u32 %x, [%at];\n"
    "mad.lo.u32 %x, %x, %a, %y; st.global.u32 [%at], %x; add.u32 %i, %i, %step; bra next;\n"
    "end: ret;\n}\n"
    ".visible .entry spin(.param .u64 pns)\n{\n"
    ".reg .pred %p; .reg .u64 %ns, %from, %now;\n"
    "ld.param.u64 %ns, [pns]; mov.u64 %from, %globaltimer;\n"
    "next: mov.u64 %now, %globaltimer; sub.u64 %now, %now, %from; setp.lt.u64 %p, %now, %ns; @%p bra next;\n"
    "ret;\n}\n"
    ".visible .entry stray()\n{\n.reg .u64 %at;\nmov.u64 %at, 16; st.global.u32 [%at], 1; ret;\n}\n"
    ".visible .entry empty()\n{\nret;\n}\n";

enum gpu_kernel { GPU_COMBINE, GPU_SPIN, GPU_STRAY, GPU_EMPTY, GPU_KERNELS };
static void *gpu_kernels[STARPU_NMAXWORKERS][GPU_KERNELS]; /* [own: the worker] */

/* Whether there is CUDA's library and a device. */
__attribute__((unused)) static bool gpu_is_there(void)
{
    int devices = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
#define LOOK(name, symbol, parameters)                                                                       \
    if (!(*(void **)&gpu.name = dlsym(library, #symbol))) return false;
    GPU_FUNCTIONS(LOOK)
#undef LOOK
    return gpu.init(0) == GPU_OK && gpu.device_count(&devices) == GPU_OK && devices > 0;
}

static void gpu_prepare_worker(void *failed_out)
{
    static const char *const names[GPU_KERNELS] = { "combine", "spin", "stray", "empty" };
    void *module = NULL, **kernels = gpu_kernels[starpu_worker_get_id_check()];
    int r = gpu.module_load(&module, gpu_text);
    for (int i = 0; i < GPU_KERNELS && r == GPU_OK; i++)
        r = gpu.module_function(&kernels[i], module, names[i]);
    if (r == GPU_OK) return;
    fprintf(stderr, "the kernels cannot be loaded: CUDA's error %d\n", r);
    *(int *)failed_out = r;
}

/* After starpu_init: has each worker of a GPU know the kernels. */
__attribute__((unused)) static bool gpu_prepare(void)
{
    int failed = 0;
    starpu_execute_on_each_worker(gpu_prepare_worker, &failed, STARPU_CUDA);
    return failed == 0;
}

/* In cuda_funcs: a kernel in the worker's stream. */
__attribute__((unused)) static void gpu_launch(enum gpu_kernel k, unsigned blocks, unsigned threads,
                                               void **args)
{
    int r = gpu.launch(gpu_kernels[starpu_worker_get_id_check()][k], blocks, 1, 1, threads, 1, 1, 0,
                       starpu_cuda_get_local_stream(), args, NULL);
    if (r != GPU_OK) starpu_cuda_report_error(__func__, __FILE__, __LINE__, r);
}

/* v[i] = v[i] * a + w[i] for n numbers of a device. */
__attribute__((unused)) static void gpu_combine(uintptr_t v, uintptr_t w, uint32_t a, uint32_t n)
{
    gpu_address pv = v, pw = w;
    void *args[] = { &pv, &pw, &a, &n };
    gpu_launch(GPU_COMBINE, n < 65536 ? n / 256 + 1 : 256, 256, args);
}

__attribute__((unused)) static void gpu_spin(uint64_t ns)
{
    void *args[] = { &ns };
    gpu_launch(GPU_SPIN, 1, 1, args);
}

#endif
