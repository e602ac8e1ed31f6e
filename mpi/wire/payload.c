/* SPDX-License-Identifier: BSD-3-Clause */
/* payload.c: copies between a payload and bytes in a row.
 * Threads: any. Owns: nothing. Not here: the transports' own types. */
#include "mpi/wire/payload.h"

#include <string.h>

/* Calls itself once per dimension; copies towards the payload when into is set. */
static char *walk(const struct orr_payload *p, int dim, char *at, char *flat, bool into)
{
    if (dim == 0) {
        if (into)
            memcpy(at, flat, p->run_bytes);
        else
            memcpy(flat, at, p->run_bytes);
        return flat + p->run_bytes;
    }
    for (size_t i = 0; i < p->dims[dim - 1].count; i++)
        flat = walk(p, dim - 1, at + i * p->dims[dim - 1].stride_bytes, flat, into);
    return flat;
}

void orr_payload_gather(const struct orr_payload *p, void *to)
{
    if (p->kind == ORR_PAYLOAD_STRIDED)
        walk(p, p->ndims, p->base, to, false);
    else if (p->bytes)
        memcpy(to, p->base, p->bytes);
}

void orr_payload_scatter(const struct orr_payload *p, const void *from)
{
    if (p->kind == ORR_PAYLOAD_STRIDED)
        walk(p, p->ndims, p->base, (char *)from, true);
    else if (p->bytes)
        memcpy(p->base, from, p->bytes);
}
