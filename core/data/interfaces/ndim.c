/* SPDX-License-Identifier: BSD-3-Clause */
/* ndim.c: the interface of a dense array of any number of dimensions.
 * Threads: any. Owns: its method table. Not here: the methods (dense.c).
 *
 * The structure points to its sizes. In a handle they lie right behind it, in room that interface_size
 * includes, so that no structure owns memory and none needs to be freed. */
#include "core/base/log.h"
#include "core/data/interfaces/dense.h"

ORR_DENSE_CHECK_HEAD(struct starpu_ndim_interface);

const struct orr_dense_kind orr_ndim_kind = {
    .name = "multi-dimensional array",
    .letter = 'N',
    .by_pointer = true,
    .elemsize = offsetof(struct starpu_ndim_interface, elemsize),
    .allocsize = offsetof(struct starpu_ndim_interface, allocsize),
};

struct starpu_data_interface_ops starpu_interface_ndim_ops = {
    ORR_DENSE_METHODS,
    .interfaceid = STARPU_NDIM_INTERFACE_ID,
    .interface_size = sizeof(struct starpu_ndim_interface) + 2 * ORR_DENSE_MAX_DIMS * sizeof(size_t),
    .name = (char *)"STARPU_NDIM_INTERFACE",
};

void starpu_ndim_data_register(starpu_data_handle_t *handleptr, int home_node, uintptr_t ptr, size_t *ldn,
                               size_t *nn, size_t ndim, size_t elemsize)
{
    struct starpu_ndim_interface n = {
        .id = STARPU_NDIM_INTERFACE_ID,
        .ptr = ptr,
        .dev_handle = ptr,
        .nn = nn,
        .ldn = ldn,
        .ndim = ndim,
        .elemsize = elemsize,
    };
    if (ndim > ORR_DENSE_MAX_DIMS || (ndim > 0 && (!nn || !ldn))) {
        if (handleptr) *handleptr = NULL;
        if (ndim > ORR_DENSE_MAX_DIMS)
            orr_error("%s: %zu dimensions are more than %d; merge dimensions that are contiguous", __func__,
                      ndim, ORR_DENSE_MAX_DIMS);
        else
            orr_error("%s: the arrays of sizes or of leading dimensions are NULL", __func__);
        return;
    }
    struct orr_dense_view v;
    orr_dense_read(&n, &v);
    n.allocsize = orr_dense_bytes(&v);
    orr_dense_data_register(handleptr, home_node, &n, &starpu_interface_ndim_ops, __func__);
}

void starpu_ndim_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr, uintptr_t dev_handle,
                              size_t offset, size_t *ldn)
{
    orr_dense_ptr_register(handle, node, ptr, dev_handle, offset, ldn, &orr_ndim_kind, __func__);
}

static const struct starpu_ndim_interface *ndim(starpu_data_handle_t h, bool local, const char *fn)
{
    return orr_interface_get(h, STARPU_NDIM_INTERFACE_ID, local, fn);
}

size_t *starpu_ndim_get_nn(starpu_data_handle_t handle)
{
    return ndim(handle, false, __func__)->nn;
}

size_t *starpu_ndim_get_local_ldn(starpu_data_handle_t handle)
{
    return ndim(handle, true, __func__)->ldn;
}

/* sizes[i] of an array of n dimensions, 0 and a line when there is no such dimension. */
static size_t element_of(const size_t *sizes, size_t n, size_t i, const char *fn)
{
    if (i < n) return sizes[i];
    orr_error("%s: there is no dimension %zu in an array of %zu", fn, i, n);
    return 0;
}

size_t starpu_ndim_get_ni(starpu_data_handle_t handle, size_t i)
{
    const struct starpu_ndim_interface *n = ndim(handle, false, __func__);
    return element_of(n->nn, n->ndim, i, __func__);
}

size_t starpu_ndim_get_local_ldi(starpu_data_handle_t handle, size_t i)
{
    const struct starpu_ndim_interface *n = ndim(handle, true, __func__);
    return element_of(n->ldn, n->ndim, i, __func__);
}

uintptr_t starpu_ndim_get_local_ptr(starpu_data_handle_t handle)
{
    return ndim(handle, true, __func__)->ptr;
}

size_t starpu_ndim_get_ndim(starpu_data_handle_t handle)
{
    return ndim(handle, false, __func__)->ndim;
}

size_t starpu_ndim_get_elemsize(starpu_data_handle_t handle)
{
    return ndim(handle, false, __func__)->elemsize;
}
