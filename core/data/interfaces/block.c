/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c: the interface of a dense array of three dimensions.
 * Threads: any. Owns: its method table. Not here: the methods (dense.c). */
#include "core/data/interfaces/dense.h"

typedef struct starpu_block_interface block_itf;

ORR_DENSE_CHECK_HEAD(block_itf);

const struct orr_dense_kind orr_block_kind = {
    .name = "block",
    .letter = 'B',
    .ndim = 3,
    .nn = { offsetof(block_itf, nx), offsetof(block_itf, ny), offsetof(block_itf, nz) },
    .ld = { 0, offsetof(block_itf, ldy), offsetof(block_itf, ldz) },
    .elemsize = offsetof(block_itf, elemsize),
};

struct starpu_data_interface_ops starpu_interface_block_ops = {
    ORR_DENSE_METHODS,
    .interfaceid = STARPU_BLOCK_INTERFACE_ID,
    .interface_size = sizeof(block_itf),
    .name = (char *)"STARPU_BLOCK_INTERFACE",
};

void starpu_block_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t ldy,
                                size_t ldz, size_t nx, size_t ny, size_t nz, size_t elemsize)
{
    block_itf b = {
        .id = STARPU_BLOCK_INTERFACE_ID,
        .ptr = ptr,
        .dev_handle = ptr,
        .nx = nx,
        .ny = ny,
        .nz = nz,
        .ldy = ldy,
        .ldz = ldz,
        .elemsize = elemsize,
    };
    orr_dense_data_register(handle, home_node, &b, &starpu_interface_block_ops, __func__);
}

void starpu_block_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                               uintptr_t dev_handle, size_t offset, size_t ldy, size_t ldz)
{
    orr_dense_ptr_register(handle, node, ptr, dev_handle, offset, (size_t[]){ 1, ldy, ldz }, &orr_block_kind,
                           __func__);
}

static const block_itf *block(starpu_data_handle_t h, bool local, const char *fn)
{
    return orr_interface_get(h, STARPU_BLOCK_INTERFACE_ID, local, fn);
}

size_t starpu_block_get_nx(starpu_data_handle_t handle)
{
    return block(handle, false, __func__)->nx;
}

size_t starpu_block_get_ny(starpu_data_handle_t handle)
{
    return block(handle, false, __func__)->ny;
}

size_t starpu_block_get_nz(starpu_data_handle_t handle)
{
    return block(handle, false, __func__)->nz;
}

size_t starpu_block_get_local_ldy(starpu_data_handle_t handle)
{
    return block(handle, true, __func__)->ldy;
}

size_t starpu_block_get_local_ldz(starpu_data_handle_t handle)
{
    return block(handle, true, __func__)->ldz;
}

uintptr_t starpu_block_get_local_ptr(starpu_data_handle_t handle)
{
    return block(handle, true, __func__)->ptr;
}

size_t starpu_block_get_elemsize(starpu_data_handle_t handle)
{
    return block(handle, false, __func__)->elemsize;
}
