/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.h: how pack_data of every interface ends.
 * Threads: any. Owns: nothing. Not here: what is packed (dense.c, arrays.c, multiformat.c). */
#ifndef ORR_DATA_INTERFACES_PACK_H
#define ORR_DATA_INTERFACES_PACK_H

#include <starpu.h>

/* The copy into the buffer ended with r: the caller of pack_data gets the buffer, or, after a failure, nobody
 * does. r. */
static inline int orr_pack_end(int r, unsigned node, uintptr_t buffer, size_t bytes, void **ptr_out)
{
    if (r == 0)
        *ptr_out = (void *)buffer;
    else
        starpu_free_on_node_flags(node, buffer, bytes, 0);
    return r;
}

#endif
