/* SPDX-License-Identifier: BSD-3-Clause */
/* matrix.c: the interface of columns of contiguous elements, ld apart: a dense array of two dimensions.
 * Threads: any. Owns: its method table. Not here: the methods (dense.c). */
#include "core/data/interfaces/dense.h"

ORR_DENSE_CHECK_HEAD(struct starpu_matrix_interface);

const struct orr_dense_kind orr_matrix_kind = {
    .name = "matrix",
    .letter = 'M',
    .ndim = 2,
    .nn = { offsetof(struct starpu_matrix_interface, nx), offsetof(struct starpu_matrix_interface, ny) },
    .ld = { 0, offsetof(struct starpu_matrix_interface, ld) },
    .elemsize = offsetof(struct starpu_matrix_interface, elemsize),
    .allocsize = offsetof(struct starpu_matrix_interface, allocsize),
};

struct starpu_data_interface_ops starpu_interface_matrix_ops = {
    ORR_DENSE_METHODS,
    .interfaceid = STARPU_MATRIX_INTERFACE_ID,
    .interface_size = sizeof(struct starpu_matrix_interface),
    .name = (char *)"STARPU_MATRIX_INTERFACE",
};

void starpu_matrix_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t ld,
                                 size_t nx, size_t ny, size_t elemsize)
{
    starpu_matrix_data_register_allocsize(handle, home_node, ptr, ld, nx, ny, elemsize, nx * ny * elemsize);
}

void starpu_matrix_data_register_allocsize(starpu_data_handle_t *handle, int home_node, uintptr_t ptr,
                                           size_t ld, size_t nx, size_t ny, size_t elemsize, size_t allocsize)
{
    struct starpu_matrix_interface m = {
        .id = STARPU_MATRIX_INTERFACE_ID,
        .ptr = ptr,
        .dev_handle = ptr,
        .nx = nx,
        .ny = ny,
        .ld = ld,
        .elemsize = elemsize,
        .allocsize = allocsize,
    };
    orr_dense_data_register(handle, home_node, &m, &starpu_interface_matrix_ops,
                            "starpu_matrix_data_register");
}

void starpu_matrix_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                uintptr_t dev_handle, size_t offset, size_t ld)
{
    orr_dense_ptr_register(handle, node, ptr, dev_handle, offset, (size_t[]){ 1, ld }, &orr_matrix_kind,
                           __func__);
}

void starpu_submatrix_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                   uintptr_t dev_handle, size_t offset, size_t ld)
{
    starpu_matrix_ptr_register(handle, node, ptr, dev_handle, offset, ld);
}

static const struct starpu_matrix_interface *matrix(starpu_data_handle_t h, bool local, const char *fn)
{
    return orr_interface_get(h, STARPU_MATRIX_INTERFACE_ID, local, fn);
}

size_t starpu_matrix_get_nx(starpu_data_handle_t handle)
{
    return matrix(handle, false, __func__)->nx;
}

size_t starpu_matrix_get_ny(starpu_data_handle_t handle)
{
    return matrix(handle, false, __func__)->ny;
}

size_t starpu_matrix_get_local_ld(starpu_data_handle_t handle)
{
    return matrix(handle, true, __func__)->ld;
}

uintptr_t starpu_matrix_get_local_ptr(starpu_data_handle_t handle)
{
    return matrix(handle, true, __func__)->ptr;
}

size_t starpu_matrix_get_elemsize(starpu_data_handle_t handle)
{
    return matrix(handle, false, __func__)->elemsize;
}

size_t starpu_matrix_get_allocsize(starpu_data_handle_t handle)
{
    return matrix(handle, false, __func__)->allocsize;
}
