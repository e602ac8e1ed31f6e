/* SPDX-License-Identifier: BSD-3-Clause */
/* handle_payload.c: the layouts of the interfaces that need no packing: variable, vector, matrix, block,
 * tensor, small ndim, void; and those for which the program gave an MPI type.
 * Threads: any. Owns: nothing. Not here: interfaces that pack themselves (message.c). */
#include "mpi/value/handle_payload.h"

#include <string.h>

#include "core/mem/node.h"

struct orr_program_types orr_program_types;

static uint32_t type_of(unsigned id, size_t elemsize)
{
    return (uint32_t)(id + 1) << 24 | ((uint32_t)elemsize & 0xffffff);
}

/* An array with ld in elements; dimension 0 is contiguous when ld[0] is 1. */
static bool array(struct orr_payload *p, uintptr_t ptr, size_t elemsize, size_t ndim, const size_t *nn,
                  const size_t *ldn)
{
    size_t run = elemsize, dim = 0;
    *p = (struct orr_payload){ .base = (void *)ptr };
    p->bytes = elemsize;
    for (size_t i = 0; i < ndim; i++) p->bytes *= nn[i];
    if (p->bytes == 0) return true;
    while (dim < ndim && (nn[dim] == 1 || ldn[dim] * elemsize == run)) run *= nn[dim++];
    p->run_bytes = run;
    for (; dim < ndim; dim++) {
        if (nn[dim] == 1) continue;
        if (p->ndims == ORR_PAYLOAD_DIMS) return false;
        p->dims[p->ndims].count = nn[dim];
        p->dims[p->ndims++].stride_bytes = ldn[dim] * elemsize;
    }
    if (p->ndims) p->kind = ORR_PAYLOAD_STRIDED;
    return true;
}

static bool describe(void *interface, enum starpu_data_interface_id id, struct orr_payload *p,
                     size_t *elemsize_out)
{
    switch (id) {
    case STARPU_VARIABLE_INTERFACE_ID: {
        struct starpu_variable_interface *v = interface;
        *elemsize_out = v->elemsize;
        *p = (struct orr_payload){ .base = (void *)v->ptr, .bytes = v->elemsize };
        return true;
    }
    case STARPU_VECTOR_INTERFACE_ID: {
        struct starpu_vector_interface *v = interface;
        *elemsize_out = v->elemsize;
        *p = (struct orr_payload){ .base = (void *)v->ptr, .bytes = v->nx * v->elemsize };
        return true;
    }
    case STARPU_MATRIX_INTERFACE_ID: {
        struct starpu_matrix_interface *m = interface;
        *elemsize_out = m->elemsize;
        return array(p, m->ptr, m->elemsize, 2, (size_t[]){ m->nx, m->ny }, (size_t[]){ 1, m->ld });
    }
    case STARPU_BLOCK_INTERFACE_ID: {
        struct starpu_block_interface *b = interface;
        *elemsize_out = b->elemsize;
        return array(p, b->ptr, b->elemsize, 3, (size_t[]){ b->nx, b->ny, b->nz },
                     (size_t[]){ 1, b->ldy, b->ldz });
    }
    case STARPU_TENSOR_INTERFACE_ID: {
        struct starpu_tensor_interface *t = interface;
        *elemsize_out = t->elemsize;
        return array(p, t->ptr, t->elemsize, 4, (size_t[]){ t->nx, t->ny, t->nz, t->nt },
                     (size_t[]){ 1, t->ldy, t->ldz, t->ldt });
    }
    case STARPU_NDIM_INTERFACE_ID: {
        struct starpu_ndim_interface *n = interface;
        *elemsize_out = n->elemsize;
        return array(p, n->ptr, n->elemsize, n->ndim, n->nn, n->ldn);
    }
    case STARPU_VOID_INTERFACE_ID:
        *elemsize_out = 0;
        *p = (struct orr_payload){ 0 };
        return true;
    default: return false;
    }
}

bool orr_handle_payload(struct orr_data *h, void *interface, struct orr_payload *out)
{
    size_t elemsize = 0;
    if (orr_unlikely(orr_program_types.make != NULL)) {
        *out = (struct orr_payload){ 0 };
        if (h->ops->to_pointer)
            out->base = h->ops->to_pointer(interface, orr_node_home());
        else if (h->ops->handle_to_pointer)
            out->base = h->ops->handle_to_pointer(h, orr_node_home());
        if (orr_program_types.make(h, out)) return true;
    }
    if (!describe(interface, h->ops->interfaceid, out, &elemsize)) return false;
    out->type = type_of((unsigned)h->ops->interfaceid, elemsize);
    return true;
}

void orr_handle_payload_end(struct orr_payload *p)
{
    if (p->kind == ORR_PAYLOAD_OPAQUE && p->opaque) orr_program_types.end(p->opaque);
    p->opaque = NULL;
}
