/* SPDX-License-Identifier: BSD-3-Clause */
/* vector.c: the interface of elements in a row: a dense array of one dimension.
 * Threads: any. Owns: its method table. Not here: the methods (dense.c). */
#include "core/data/interfaces/dense.h"

ORR_DENSE_CHECK_HEAD(struct starpu_vector_interface);

const struct orr_dense_kind orr_vector_kind = {
    .name = "vector",
    .letter = 'V',
    .ndim = 1,
    .nn = { offsetof(struct starpu_vector_interface, nx) },
    .elemsize = offsetof(struct starpu_vector_interface, elemsize),
    .allocsize = offsetof(struct starpu_vector_interface, allocsize),
    .base = offsetof(struct starpu_vector_interface, slice_base),
};

struct starpu_data_interface_ops starpu_interface_vector_ops = {
    ORR_DENSE_METHODS,
    .interfaceid = STARPU_VECTOR_INTERFACE_ID,
    .interface_size = sizeof(struct starpu_vector_interface),
    .name = (char *)"STARPU_VECTOR_INTERFACE",
};

static void data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t nx,
                          size_t elemsize, size_t allocsize, const char *fn)
{
    struct starpu_vector_interface v = {
        .id = STARPU_VECTOR_INTERFACE_ID,
        .ptr = ptr,
        .dev_handle = ptr,
        .nx = nx,
        .elemsize = elemsize,
        .allocsize = allocsize,
    };
    orr_dense_data_register(handle, home_node, &v, &starpu_interface_vector_ops, fn);
}

void starpu_vector_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t nx,
                                 size_t elemsize)
{
    data_register(handle, home_node, ptr, nx, elemsize, nx * elemsize, __func__);
}

void starpu_vector_data_register_allocsize(starpu_data_handle_t *handle, int home_node, uintptr_t ptr,
                                           size_t nx, size_t elemsize, size_t allocsize)
{
    data_register(handle, home_node, ptr, nx, elemsize, allocsize, __func__);
}

void starpu_vector_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                uintptr_t dev_handle, size_t offset)
{
    orr_dense_ptr_register(handle, node, ptr, dev_handle, offset, NULL, &orr_vector_kind, __func__);
}

static const struct starpu_vector_interface *vector(starpu_data_handle_t h, bool local, const char *fn)
{
    return orr_interface_get(h, STARPU_VECTOR_INTERFACE_ID, local, fn);
}

size_t starpu_vector_get_nx(starpu_data_handle_t handle)
{
    return vector(handle, false, __func__)->nx;
}

size_t starpu_vector_get_elemsize(starpu_data_handle_t handle)
{
    return vector(handle, false, __func__)->elemsize;
}

size_t starpu_vector_get_allocsize(starpu_data_handle_t handle)
{
    return vector(handle, false, __func__)->allocsize;
}

uintptr_t starpu_vector_get_local_ptr(starpu_data_handle_t handle)
{
    return vector(handle, true, __func__)->ptr;
}
