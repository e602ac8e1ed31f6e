/* SPDX-License-Identifier: BSD-3-Clause */
/* bcsr.c: the interface of sparse matrices of dense blocks, in compressed rows of blocks.
 * Threads: any. Owns: its method table. Not here: the methods (arrays.c), rows of values (csr.c). */
#include "core/data/interfaces/arrays.h"
#include "core/data/interfaces/dense.h"

typedef struct starpu_bcsr_interface bcsr_itf;

static unsigned shape(const void *itf, size_t numbers[ORR_ARRAYS_MAX_SHAPE])
{
    const bcsr_itf *m = itf;
    numbers[0] = m->nnz;
    numbers[1] = m->nrow;
    numbers[2] = m->r;
    numbers[3] = m->c;
    numbers[4] = m->elemsize;
    return 5;
}

static void bytes(const void *itf, unsigned node, size_t out[ORR_ARRAYS_MAX])
{
    (void)node;
    const bcsr_itf *m = itf;
    out[0] = orr_bytes_times(orr_bytes_times((size_t)m->r * m->c, m->elemsize), m->nnz);
    out[1] = (size_t)m->nnz * sizeof m->colind[0];
    out[2] = ((size_t)m->nrow + 1) * sizeof m->rowptr[0];
}

const struct orr_arrays_kind orr_bcsr_kind = {
    .name = "sparse matrix of blocks",
    .letter = 'b',
    .addr = { offsetof(bcsr_itf, nzval), offsetof(bcsr_itf, colind), offsetof(bcsr_itf, rowptr) },
    .ram = { 0, offsetof(bcsr_itf, ram_colind), offsetof(bcsr_itf, ram_rowptr) },
    .shared = offsetof(bcsr_itf, shares_rows),
    .shape = shape,
    .bytes = bytes,
};

struct starpu_data_interface_ops starpu_interface_bcsr_ops = {
    ORR_ARRAYS_METHODS,
    .interfaceid = STARPU_BCSR_INTERFACE_ID,
    .interface_size = sizeof(bcsr_itf),
    .name = (char *)"STARPU_BCSR_INTERFACE",
};

void starpu_bcsr_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nnz, uint32_t nrow,
                               uintptr_t nzval, uint32_t *colind, uint32_t *rowptr, uint32_t firstentry,
                               uint32_t r, uint32_t c, size_t elemsize)
{
    bcsr_itf m = {
        .id = STARPU_BCSR_INTERFACE_ID,
        .nnz = nnz,
        .nrow = nrow,
        .nzval = nzval,
        .colind = colind,
        .rowptr = rowptr,
        .firstentry = firstentry,
        .r = r,
        .c = c,
        .elemsize = elemsize,
    };
    orr_arrays_data_register(handle, home_node, &m, &starpu_interface_bcsr_ops, __func__);
}

static const bcsr_itf *bcsr(starpu_data_handle_t h, bool local, const char *fn)
{
    return orr_interface_get(h, STARPU_BCSR_INTERFACE_ID, local, fn);
}

uint32_t starpu_bcsr_get_nnz(starpu_data_handle_t handle)
{
    return bcsr(handle, false, __func__)->nnz;
}

uint32_t starpu_bcsr_get_nrow(starpu_data_handle_t handle)
{
    return bcsr(handle, false, __func__)->nrow;
}

uint32_t starpu_bcsr_get_firstentry(starpu_data_handle_t handle)
{
    return bcsr(handle, false, __func__)->firstentry;
}

uintptr_t starpu_bcsr_get_local_nzval(starpu_data_handle_t handle)
{
    return bcsr(handle, true, __func__)->nzval;
}

uint32_t *starpu_bcsr_get_local_colind(starpu_data_handle_t handle)
{
    return bcsr(handle, true, __func__)->colind;
}

uint32_t *starpu_bcsr_get_local_rowptr(starpu_data_handle_t handle)
{
    return bcsr(handle, true, __func__)->rowptr;
}

uint32_t starpu_bcsr_get_r(starpu_data_handle_t handle)
{
    return bcsr(handle, false, __func__)->r;
}

uint32_t starpu_bcsr_get_c(starpu_data_handle_t handle)
{
    return bcsr(handle, false, __func__)->c;
}

size_t starpu_bcsr_get_elemsize(starpu_data_handle_t handle)
{
    return bcsr(handle, false, __func__)->elemsize;
}
