/* SPDX-License-Identifier: BSD-3-Clause */
/* variable.c: the interface of some bytes in a row: a dense array without dimensions, of one element.
 * Threads: any. Owns: its method table. Not here: the methods (dense.c). */
#include "core/data/interfaces/dense.h"

ORR_DENSE_CHECK_HEAD(struct starpu_variable_interface);

const struct orr_dense_kind orr_variable_kind = {
    .name = "variable",
    .letter = 'v',
    .ndim = 0,
    .elemsize = offsetof(struct starpu_variable_interface, elemsize),
};

struct starpu_data_interface_ops starpu_interface_variable_ops = {
    ORR_DENSE_METHODS,
    .interfaceid = STARPU_VARIABLE_INTERFACE_ID,
    .interface_size = sizeof(struct starpu_variable_interface),
    .name = (char *)"STARPU_VARIABLE_INTERFACE",
};

void starpu_variable_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t size)
{
    struct starpu_variable_interface v = {
        .id = STARPU_VARIABLE_INTERFACE_ID,
        .ptr = ptr,
        .dev_handle = ptr,
        .elemsize = size,
    };
    orr_dense_data_register(handle, home_node, &v, &starpu_interface_variable_ops, __func__);
}

void starpu_variable_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                  uintptr_t dev_handle, size_t offset)
{
    orr_dense_ptr_register(handle, node, ptr, dev_handle, offset, NULL, &orr_variable_kind, __func__);
}

static const struct starpu_variable_interface *variable(starpu_data_handle_t h, bool local, const char *fn)
{
    return orr_interface_get(h, STARPU_VARIABLE_INTERFACE_ID, local, fn);
}

size_t starpu_variable_get_elemsize(starpu_data_handle_t handle)
{
    return variable(handle, false, __func__)->elemsize;
}

uintptr_t starpu_variable_get_local_ptr(starpu_data_handle_t handle)
{
    return variable(handle, true, __func__)->ptr;
}
