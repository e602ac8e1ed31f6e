/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_libraries.c: preparing CUBLAS and CUSPARSE on every CUDA worker. This build has no CUDA workers (a
 * simulated device has no such libraries), so that there is nothing to do, and nothing is what these do: as
 * on any machine without a GPU, a program that calls them goes on. Threads: any. Owns: nothing. Not here:
 * kinds of workers (drivers/).
 */
#include <starpu_cublas.h>
#include <starpu_cusparse.h>

void starpu_cublas_init(void)
{
}

void starpu_cublas_set_stream(void)
{
}

void starpu_cublas_shutdown(void)
{
}

void starpu_cusparse_init(void)
{
}

void starpu_cusparse_shutdown(void)
{
}
