/* SPDX-License-Identifier: BSD-3-Clause */
/* csr.c: the interface of sparse matrices in compressed rows: values, their columns, and where each row
 * begins.
 * Threads: any. Owns: its method table. Not here: the methods (arrays.c), rows of blocks (bcsr.c). */
#include "core/data/interfaces/arrays.h"
#include "core/data/interfaces/dense.h"

typedef struct starpu_csr_interface csr_itf;

static unsigned shape(const void *itf, size_t numbers[ORR_ARRAYS_MAX_SHAPE])
{
    const csr_itf *m = itf;
    numbers[0] = m->nnz;
    numbers[1] = m->nrow;
    numbers[2] = m->elemsize;
    return 3;
}

static void bytes(const void *itf, unsigned node, size_t out[ORR_ARRAYS_MAX])
{
    (void)node;
    const csr_itf *m = itf;
    out[0] = orr_bytes_times(m->nnz, m->elemsize);
    out[1] = (size_t)m->nnz * sizeof m->colind[0];
    out[2] = ((size_t)m->nrow + 1) * sizeof m->rowptr[0];
}

const struct orr_arrays_kind orr_csr_kind = {
    .name = "sparse matrix",
    .letter = 'C',
    .addr = { offsetof(csr_itf, nzval), offsetof(csr_itf, colind), offsetof(csr_itf, rowptr) },
    .ram = { 0, offsetof(csr_itf, ram_colind), offsetof(csr_itf, ram_rowptr) },
    .shared = offsetof(csr_itf, shares_rows),
    .shape = shape,
    .bytes = bytes,
};

struct starpu_data_interface_ops starpu_interface_csr_ops = {
    ORR_ARRAYS_METHODS,
    .interfaceid = STARPU_CSR_INTERFACE_ID,
    .interface_size = sizeof(csr_itf),
    .name = (char *)"STARPU_CSR_INTERFACE",
};

void starpu_csr_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nnz, uint32_t nrow,
                              uintptr_t nzval, uint32_t *colind, uint32_t *rowptr, uint32_t firstentry,
                              size_t elemsize)
{
    csr_itf m = {
        .id = STARPU_CSR_INTERFACE_ID,
        .nnz = nnz,
        .nrow = nrow,
        .nzval = nzval,
        .colind = colind,
        .rowptr = rowptr,
        .firstentry = firstentry,
        .elemsize = elemsize,
    };
    orr_arrays_data_register(handle, home_node, &m, &starpu_interface_csr_ops, __func__);
}

static const csr_itf *csr(starpu_data_handle_t h, bool local, const char *fn)
{
    return orr_interface_get(h, STARPU_CSR_INTERFACE_ID, local, fn);
}

uint32_t starpu_csr_get_nnz(starpu_data_handle_t handle)
{
    return csr(handle, false, __func__)->nnz;
}

uint32_t starpu_csr_get_nrow(starpu_data_handle_t handle)
{
    return csr(handle, false, __func__)->nrow;
}

uint32_t starpu_csr_get_firstentry(starpu_data_handle_t handle)
{
    return csr(handle, false, __func__)->firstentry;
}

uintptr_t starpu_csr_get_local_nzval(starpu_data_handle_t handle)
{
    return csr(handle, true, __func__)->nzval;
}

uint32_t *starpu_csr_get_local_colind(starpu_data_handle_t handle)
{
    return csr(handle, true, __func__)->colind;
}

uint32_t *starpu_csr_get_local_rowptr(starpu_data_handle_t handle)
{
    return csr(handle, true, __func__)->rowptr;
}

size_t starpu_csr_get_elemsize(starpu_data_handle_t handle)
{
    return csr(handle, false, __func__)->elemsize;
}
