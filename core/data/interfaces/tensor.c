/* SPDX-License-Identifier: BSD-3-Clause */
/* tensor.c: the interface of a dense array of four dimensions.
 * Threads: any. Owns: its method table. Not here: the methods (dense.c). */
#include "core/data/interfaces/dense.h"

typedef struct starpu_tensor_interface tensor_itf;

ORR_DENSE_CHECK_HEAD(tensor_itf);

const struct orr_dense_kind orr_tensor_kind = {
    .name = "tensor",
    .letter = 'T',
    .ndim = 4,
    .nn = { offsetof(tensor_itf, nx), offsetof(tensor_itf, ny), offsetof(tensor_itf, nz),
            offsetof(tensor_itf, nt) },
    .ld = { 0, offsetof(tensor_itf, ldy), offsetof(tensor_itf, ldz), offsetof(tensor_itf, ldt) },
    .elemsize = offsetof(tensor_itf, elemsize),
};

struct starpu_data_interface_ops starpu_interface_tensor_ops = {
    ORR_DENSE_METHODS,
    .interfaceid = STARPU_TENSOR_INTERFACE_ID,
    .interface_size = sizeof(tensor_itf),
    .name = (char *)"STARPU_TENSOR_INTERFACE",
};

void starpu_tensor_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t ldy,
                                 size_t ldz, size_t ldt, size_t nx, size_t ny, size_t nz, size_t nt,
                                 size_t elemsize)
{
    tensor_itf t = {
        .id = STARPU_TENSOR_INTERFACE_ID,
        .ptr = ptr,
        .dev_handle = ptr,
        .nx = nx,
        .ny = ny,
        .nz = nz,
        .nt = nt,
        .ldy = ldy,
        .ldz = ldz,
        .ldt = ldt,
        .elemsize = elemsize,
    };
    orr_dense_data_register(handle, home_node, &t, &starpu_interface_tensor_ops, __func__);
}

void starpu_tensor_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                uintptr_t dev_handle, size_t offset, size_t ldy, size_t ldz, size_t ldt)
{
    orr_dense_ptr_register(handle, node, ptr, dev_handle, offset, (size_t[]){ 1, ldy, ldz, ldt },
                           &orr_tensor_kind, __func__);
}

static const tensor_itf *tensor(starpu_data_handle_t h, bool local, const char *fn)
{
    return orr_interface_get(h, STARPU_TENSOR_INTERFACE_ID, local, fn);
}

size_t starpu_tensor_get_nx(starpu_data_handle_t handle)
{
    return tensor(handle, false, __func__)->nx;
}

size_t starpu_tensor_get_ny(starpu_data_handle_t handle)
{
    return tensor(handle, false, __func__)->ny;
}

size_t starpu_tensor_get_nz(starpu_data_handle_t handle)
{
    return tensor(handle, false, __func__)->nz;
}

size_t starpu_tensor_get_nt(starpu_data_handle_t handle)
{
    return tensor(handle, false, __func__)->nt;
}

size_t starpu_tensor_get_local_ldy(starpu_data_handle_t handle)
{
    return tensor(handle, true, __func__)->ldy;
}

size_t starpu_tensor_get_local_ldz(starpu_data_handle_t handle)
{
    return tensor(handle, true, __func__)->ldz;
}

size_t starpu_tensor_get_local_ldt(starpu_data_handle_t handle)
{
    return tensor(handle, true, __func__)->ldt;
}

uintptr_t starpu_tensor_get_local_ptr(starpu_data_handle_t handle)
{
    return tensor(handle, true, __func__)->ptr;
}

size_t starpu_tensor_get_elemsize(starpu_data_handle_t handle)
{
    return tensor(handle, false, __func__)->elemsize;
}
