/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse.c: the filters of sparse matrices: rows of csr and bcsr, single blocks of bcsr.
 * Threads: any. Owns: nothing. Not here: dense arrays (cut.c).
 *
 * A child of some rows uses its parent's arrays: its values and columns begin at its first row's, and its
 * firstentry is what its first row pointer says, so that row pointers need no change. The last of one piece
 * is the first of the next: where pieces lie in their parent these two, which the cut has fixed, are never
 * brought back (shares_rows; core/data/interfaces/arrays.c). */
#include "core/data/filters/cut.h"

/* Which rows a child has, and which entries. */
struct rows {
    uint32_t first, count; /* rows */
    uint32_t skipped, nnz; /* entries before, and in it */
    uint32_t firstentry;
};

/* False when the row pointers are not in main memory, or are none. */
static bool share_rows(const struct orr_cut *c, uint32_t nrow, uint32_t nnz, uint32_t firstentry,
                       const uint32_t *rowptr, struct rows *out)
{
    size_t start, count;
    if (!rowptr) {
        orr_filter_fail(
            "%s: where the rows begin is not known in main memory; write the matrix before it is cut", c->fn);
        return false;
    }
    starpu_filter_nparts_compute_chunk_size_and_offset(nrow, c->nparts, 1, c->part, 1, &count, &start);
    uint32_t begin = rowptr[start], end = rowptr[start + count];
    if (begin < firstentry || end < begin || end - firstentry > nnz) {
        orr_filter_fail(
            "%s: rows %zu to %zu begin at entry %u and end before %u, and there are %u from %u on; "
            "rows come in order in rowptr, whose first number is firstentry; write the matrix before "
            "it is cut",
            c->fn, start, start + count, begin, end, nnz, firstentry);
        return false;
    }
    out->first = (uint32_t)start;
    out->count = (uint32_t)count;
    out->firstentry = begin;
    out->skipped = begin - firstentry;
    out->nnz = end - begin;
    return true;
}

/* The members that csr and bcsr share, for a child that was copied from its parent. */
#define TAKE_ROWS(child, rows, bytes_per_entry)                                                              \
    do {                                                                                                     \
        (child)->nnz = (rows).nnz;                                                                           \
        (child)->nrow = (rows).count;                                                                        \
        (child)->firstentry = (rows).firstentry;                                                             \
        if ((child)->nzval) (child)->nzval += (size_t)(rows).skipped * (bytes_per_entry);                    \
        if ((child)->colind) (child)->colind += (rows).skipped;                                              \
        if ((child)->rowptr) (child)->rowptr += (rows).first;                                                \
        if ((child)->ram_colind) (child)->ram_colind += (rows).skipped;                                      \
        if ((child)->ram_rowptr) (child)->ram_rowptr += (rows).first;                                        \
        (child)->shares_rows = (child)->rowptr != NULL;                                                      \
    } while (0)

static void csr_rows(const struct orr_cut *c)
{
    const struct starpu_csr_interface *parent = c->parent;
    struct starpu_csr_interface *child = c->child;
    struct rows rows;
    if (!share_rows(c, parent->nrow, parent->nnz, parent->firstentry, parent->ram_rowptr, &rows)) return;
    *child = *parent;
    TAKE_ROWS(child, rows, child->elemsize);
}

static void bcsr_rows(const struct orr_cut *c)
{
    const struct starpu_bcsr_interface *parent = c->parent;
    struct starpu_bcsr_interface *child = c->child;
    struct rows rows;
    if (!share_rows(c, parent->nrow, parent->nnz, parent->firstentry, parent->ram_rowptr, &rows)) return;
    *child = *parent;
    TAKE_ROWS(child, rows, (size_t)child->r * child->c * child->elemsize);
}

/* One block of r rows of c contiguous values. */
static void one_block(const struct orr_cut *c)
{
    const struct starpu_bcsr_interface *parent = c->parent;
    struct starpu_matrix_interface *child = c->child;
    size_t bytes = (size_t)parent->r * parent->c * parent->elemsize, offset = c->part * bytes;
    if (c->part >= parent->nnz) {
        orr_filter_fail("%s: block %u is wanted, and there are %u", c->fn, c->part, parent->nnz);
        return;
    }
    *child = (struct starpu_matrix_interface){
        .id = STARPU_MATRIX_INTERFACE_ID,
        .nx = parent->c,
        .ny = parent->r,
        .ld = parent->c,
        .elemsize = parent->elemsize,
        .allocsize = bytes,
    };
    if (!parent->nzval) return;
    child->ptr = parent->nzval + offset;
    child->dev_handle = parent->nzval;
    child->offset = offset;
}

unsigned starpu_bcsr_filter_canonical_block_get_nchildren(struct starpu_data_filter *f,
                                                          starpu_data_handle_t handle)
{
    (void)f;
    return starpu_bcsr_get_nnz(handle);
}

ORR_FILTER(starpu_csr_filter_vertical_block, CSR, csr_rows(&c))
ORR_FILTER(starpu_bcsr_filter_vertical_block, BCSR, bcsr_rows(&c))
ORR_FILTER(starpu_bcsr_filter_canonical_block, MATRIX, one_block(&c))
ORR_CHILD_OPS(starpu_bcsr_filter_canonical_block_child_ops, starpu_interface_matrix_ops)
