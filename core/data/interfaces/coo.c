/* SPDX-License-Identifier: BSD-3-Clause */
/* coo.c: the interface of sparse matrices by coordinates: values, and the column and row of each.
 * Threads: any. Owns: its method table. Not here: the methods (arrays.c). */
#include "core/data/interfaces/arrays.h"

typedef struct starpu_coo_interface coo_itf;

static unsigned shape(const void *itf, size_t numbers[ORR_ARRAYS_MAX_SHAPE])
{
    const coo_itf *m = itf;
    numbers[0] = m->nx;
    numbers[1] = m->ny;
    numbers[2] = m->n_values;
    numbers[3] = m->elemsize;
    return 4;
}

static void bytes(const void *itf, unsigned node, size_t out[ORR_ARRAYS_MAX])
{
    (void)node;
    const coo_itf *m = itf;
    out[0] = orr_bytes_times(m->n_values, m->elemsize);
    out[1] = (size_t)m->n_values * sizeof m->columns[0];
    out[2] = (size_t)m->n_values * sizeof m->rows[0];
}

const struct orr_arrays_kind orr_coo_kind = {
    .name = "sparse matrix by coordinates",
    .letter = 'c',
    .addr = { offsetof(coo_itf, values), offsetof(coo_itf, columns), offsetof(coo_itf, rows) },
    .shape = shape,
    .bytes = bytes,
};

struct starpu_data_interface_ops starpu_interface_coo_ops = {
    ORR_ARRAYS_METHODS,
    .interfaceid = STARPU_COO_INTERFACE_ID,
    .interface_size = sizeof(coo_itf),
    .name = (char *)"STARPU_COO_INTERFACE",
};

void starpu_coo_data_register(starpu_data_handle_t *handleptr, int home_node, uint32_t nx, uint32_t ny,
                              uint32_t n_values, uint32_t *columns, uint32_t *rows, uintptr_t values,
                              size_t elemsize)
{
    coo_itf m = {
        .id = STARPU_COO_INTERFACE_ID,
        .columns = columns,
        .rows = rows,
        .values = values,
        .nx = nx,
        .ny = ny,
        .n_values = n_values,
        .elemsize = elemsize,
    };
    orr_arrays_data_register(handleptr, home_node, &m, &starpu_interface_coo_ops, __func__);
}
