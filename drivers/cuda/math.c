/* SPDX-License-Identifier: BSD-3-Clause */
/* math.c: handles of the libraries above CUDA (cuBLAS, cuBLASLt, cuSPARSE, cuSOLVER), one for each worker.
 * Threads: init and shutdown of a library by any thread outside tasks; handles by the workers. Owns: the
 * handles. Not here: CUDA itself.
 *
 * A library is the one that the program has, or else is loaded when its init is called. Without CUDA workers
 * there is nothing to prepare, and init and shutdown do nothing: programs call them on any machine. */
#include <starpu.h>
#include <starpu_cublas.h>
#include <starpu_cublasLt.h>
#include <starpu_cusolver.h>
#include <starpu_cusparse.h>

#include "core/base/export.h"
#include "core/base/log.h"
#include "core/worker/worker.h"
#include "drivers/cuda/device.h"

struct math {
    const char *title, *create, *destroy, *set_stream; /* set_stream NULL: it has no stream */
    const char *files[5];
    int (*create_fn)(void **handle_out); /* [own: init] */
    int (*destroy_fn)(void *handle);
    int (*set_stream_fn)(void *handle, struct CUstream_st *stream);
    void *handles[STARPU_NMAXWORKERS]; /* [own: the worker] */
};

#define FILES(name, a, b, c)                                                                                 \
    {                                                                                                        \
        "lib" name ".so." a, "lib" name ".so." b, "lib" name ".so." c, "lib" name ".so", NULL                \
    }
static struct math cublas = { "cuBLAS", "cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2",
                              .files = FILES("cublas", "13", "12", "11") };
static struct math cublas_lt = { "cuBLASLt", "cublasLtCreate", "cublasLtDestroy", NULL,
                                 .files = FILES("cublasLt", "13", "12", "11") };
static struct math cusparse = { "cuSPARSE", "cusparseCreate", "cusparseDestroy", "cusparseSetStream",
                                .files = FILES("cusparse", "12", "11", "10") };
static struct math solver_dn = { "cuSOLVER", "cusolverDnCreate", "cusolverDnDestroy", "cusolverDnSetStream",
                                 .files = FILES("cusolver", "12", "11", "10") };
static struct math solver_sp = { "cuSOLVER", "cusolverSpCreate", "cusolverSpDestroy", "cusolverSpSetStream",
                                 .files = FILES("cusolver", "12", "11", "10") };
static struct math solver_rf = { "cuSOLVER", "cusolverRfCreate", "cusolverRfDestroy", NULL,
                                 .files = FILES("cusolver", "12", "11", "10") };

/* ---- making and ending ---- */

static void create_here(void *arg)
{
    struct math *m = arg;
    struct cuda_queue *q;
    struct cuda_device *d = orr_cuda_mine(&q);
    struct cuda_visit v;
    if (!d || orr_cuda_enter(d, &v)) return;
    void **handle = &m->handles[orr_worker_self()->id];
    int r = *handle ? 0 : m->create_fn(handle);
    if (r == 0 && m->set_stream_fn) r = m->set_stream_fn(*handle, q->stream);
    if (r) orr_error("%s cannot be prepared on CUDA %d: status %d of its own", m->title, d->number, r);
    orr_cuda_leave(&v);
}

static void destroy_here(void *arg)
{
    struct math *m = arg;
    struct cuda_queue *q;
    struct cuda_device *d = orr_cuda_mine(&q);
    struct cuda_visit v;
    void **handle = d ? &m->handles[orr_worker_self()->id] : NULL;
    if (!handle || !*handle) return;
    if (!orr_load_relaxed(&d->lost) && orr_cuda_enter(d, &v) == 0) {
        m->destroy_fn(*handle);
        orr_cuda_leave(&v);
    }
    *handle = NULL;
}

static bool find(struct math *m)
{
    m->create_fn = (int (*)(void **))orr_cuda_find(m->create, m->files);
    m->destroy_fn = (int (*)(void *))orr_cuda_find(m->destroy, m->files);
    if (m->set_stream)
        m->set_stream_fn = (int (*)(void *, struct CUstream_st *))orr_cuda_find(m->set_stream, m->files);
    if (m->create_fn && m->destroy_fn && (m->set_stream_fn || !m->set_stream)) return true;
    orr_error("%s is not there: neither the program nor %s has %s; is its folder in LD_LIBRARY_PATH?",
              m->title, m->files[3], m->create);
    return false;
}

static bool has_workers(void)
{
    for (unsigned n = 0; n < STARPU_MAXNODES; n++)
        if (orr_cuda_of_node(n)) return true;
    return false;
}

static void init(struct math *m)
{
    if (has_workers() && find(m)) starpu_execute_on_each_worker(create_here, m, STARPU_CUDA);
}

static void end(struct math *m)
{
    if (has_workers() && m->destroy_fn) starpu_execute_on_each_worker(destroy_here, m, STARPU_CUDA);
}

/* ---- handles ---- */

static void *mine(struct math *m, const char *function)
{
    struct cuda_queue *q;
    void *handle = orr_cuda_mine(&q) ? m->handles[orr_worker_self()->id] : NULL;
    if (!handle)
        orr_error(
            "%s: there is no handle of %s on this thread; call its init after starpu_init(), and this in "
            "cuda_funcs only",
            function, m->title);
    return handle;
}

/* As the public headers declare them where CUDA's are. */
#define HANDLE(function, library)                                                                            \
    ORR_EXPORT void *function(void);                                                                         \
    void *function(void)                                                                                     \
    {                                                                                                        \
        return mine(&library, #function);                                                                    \
    }
HANDLE(starpu_cublas_get_local_handle, cublas)
HANDLE(starpu_cublasLt_get_local_handle, cublas_lt)
HANDLE(starpu_cusparse_get_local_handle, cusparse)
HANDLE(starpu_cusolverDn_get_local_handle, solver_dn)
HANDLE(starpu_cusolverSp_get_local_handle, solver_sp)
HANDLE(starpu_cusolverRf_get_local_handle, solver_rf)

#define LIBRARY(name, library)                                                                               \
    void starpu_##name##_init(void)                                                                          \
    {                                                                                                        \
        init(&library);                                                                                      \
    }                                                                                                        \
    void starpu_##name##_shutdown(void)                                                                      \
    {                                                                                                        \
        end(&library);                                                                                       \
    }
LIBRARY(cublas, cublas)
LIBRARY(cublasLt, cublas_lt)
LIBRARY(cusparse, cusparse)

void starpu_cusolver_init(void)
{
    init(&solver_dn);
    init(&solver_sp);
    init(&solver_rf);
}

void starpu_cusolver_shutdown(void)
{
    end(&solver_dn);
    end(&solver_sp);
    end(&solver_rf);
}

/* The older interface has one stream for the thread's whole library; programs without it use handles. */
void starpu_cublas_set_stream(void)
{
    static const char *const nowhere[] = { NULL };
    struct cuda_queue *q;
    int (*set)(struct CUstream_st *) =
        (int (*)(struct CUstream_st *))orr_cuda_find("cublasSetKernelStream", nowhere);
    if (!orr_cuda_mine(&q)) return;
    if (set) set(q->stream);
    void *handle = cublas.handles[orr_worker_self()->id];
    if (handle) cublas.set_stream_fn(handle, q->stream);
}
