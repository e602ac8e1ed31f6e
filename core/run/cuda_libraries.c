/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_libraries.c: CUBLAS and CUSPARSE on CUDA workers, of which this build has none: there is nothing to
 * prepare. Threads: any. Owns: nothing. Not here: kinds of workers (drivers/). */
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
