/* SPDX-License-Identifier: BSD-3-Clause */
/* handle_payload.c: the layouts of the interfaces that need no packing: dense arrays of few dimensions, void,
 * and those for which the program gave an MPI type.
 * Threads: any. Owns: nothing. Not here: interfaces that pack themselves (message.c). */
#include "mpi/value/handle_payload.h"

#include <string.h>

#include "core/data/interfaces/dense.h"
#include "core/mem/node.h"

struct orr_program_types orr_program_types;

static uint32_t type_of(unsigned id, size_t elemsize)
{
    return (uint32_t)(id + 1) << 24 | ((uint32_t)elemsize & 0xffffff);
}

/* Dimension 0 is contiguous when ld[0] is 1. */
static bool describe_strided(struct orr_payload *p, const struct orr_dense_view *v)
{
    size_t run = v->elemsize, dim = 0;
    p->bytes = orr_dense_bytes(v);
    if (p->bytes == 0) return true;
    while (dim < v->ndim && (v->nn[dim] == 1 || v->ld[dim] * v->elemsize == run)) run *= v->nn[dim++];
    p->run_bytes = run;
    for (; dim < v->ndim; dim++) {
        if (v->nn[dim] == 1) continue;
        if (p->ndims == ORR_PAYLOAD_DIMS) return false;
        p->dims[p->ndims].count = v->nn[dim];
        p->dims[p->ndims++].stride_bytes = v->ld[dim] * v->elemsize;
    }
    if (p->ndims) p->kind = ORR_PAYLOAD_STRIDED;
    return true;
}

static bool describe(const struct orr_data *h, const void *interface, struct orr_payload *p,
                     size_t *elemsize_out)
{
    unsigned id = (unsigned)h->ops->interfaceid;
    const struct orr_dense_kind *k = id < STARPU_MAX_INTERFACE_ID ? orr_dense_kinds[id] : NULL;
    orr_payload_clear(p);
    if (!k) return h->ops == &starpu_interface_void_ops;
    p->base = (void *)((const struct orr_dense_head *)interface)->ptr;
    *elemsize_out = orr_dense_member(interface, k->elemsize);
    if (k->ndim <= 1 && !k->by_pointer) { /* one run of bytes */
        p->bytes = *elemsize_out * (k->ndim ? orr_dense_member(interface, k->nn[0]) : 1);
        return true;
    }
    struct orr_dense_view v;
    orr_dense_read(interface, &v);
    return describe_strided(p, &v);
}

bool orr_handle_payload_dense(const struct orr_data *h, const void *interface, struct orr_payload *out)
{
    size_t elemsize = 0;
    unsigned id = (unsigned)h->ops->interfaceid;
    return id < STARPU_MAX_INTERFACE_ID && orr_dense_kinds[id] && describe(h, interface, out, &elemsize);
}

bool orr_handle_payload(struct orr_data *h, void *interface, struct orr_payload *out)
{
    size_t elemsize = 0;
    if (orr_unlikely(orr_program_types.make != NULL)) {
        orr_payload_clear(out);
        if (h->ops->to_pointer)
            out->base = h->ops->to_pointer(interface, orr_node_home());
        else if (h->ops->handle_to_pointer)
            out->base = h->ops->handle_to_pointer(h, orr_node_home());
        if (orr_program_types.make(h, out)) return true;
    }
    if (!describe(h, interface, out, &elemsize)) return false;
    out->type = type_of((unsigned)h->ops->interfaceid, elemsize);
    return true;
}

void orr_handle_payload_end(struct orr_payload *p)
{
    if (orr_likely(p->kind != ORR_PAYLOAD_OPAQUE)) return;
    if (p->opaque) orr_program_types.end(p->opaque);
    p->opaque = NULL;
}
