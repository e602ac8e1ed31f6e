/* SPDX-License-Identifier: BSD-3-Clause */
/* poisson.h: the matrix of a discrete Poisson equation on a square, for the examples of sparse matrices: 4 on
 * the diagonal, -1 for each neighbour of a point, in compressed rows. Threads: main. Owns: struct poisson.
 * Not here: how it is multiplied (spmv_kernel.h). */
#ifndef EXAMPLES_POISSON_H
#define EXAMPLES_POISSON_H

#include <stdint.h>
#include <stdlib.h>

struct poisson {
    uint32_t rows, entries;
    uint32_t *row_begin, *column; /* [own] rows + 1; entries */
    double *value;                /* [own] */
};

static inline void poisson_destroy(struct poisson *p)
{
    free(p->row_begin);
    free(p->column);
    free(p->value);
}

/* side * side points. 0, or -1 without memory. */
static inline int poisson_create(struct poisson *p, uint32_t side)
{
    uint32_t rows = side * side;
    *p = (struct poisson){ .rows = rows,
                           .row_begin = malloc((rows + 1) * sizeof *p->row_begin),
                           .column = malloc(5 * (size_t)rows * sizeof *p->column),
                           .value = malloc(5 * (size_t)rows * sizeof *p->value) };
    if (!p->row_begin || !p->column || !p->value) {
        poisson_destroy(p);
        return -1;
    }
    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t x = row % side, y = row / side;
        const struct {
            int is_there;
            uint32_t column;
            double value;
        } entry[5] = { { y > 0, row - side, -1 },
                       { x > 0, row - 1, -1 },
                       { 1, row, 4 },
                       { x + 1 < side, row + 1, -1 },
                       { y + 1 < side, row + side, -1 } };
        p->row_begin[row] = p->entries;
        for (int k = 0; k < 5; k++)
            if (entry[k].is_there) {
                p->column[p->entries] = entry[k].column;
                p->value[p->entries++] = entry[k].value;
            }
    }
    p->row_begin[rows] = p->entries;
    return 0;
}

/* y = A * x, by one thread. */
static inline void poisson_multiply(const struct poisson *p, const double *x, double *y)
{
    for (uint32_t row = 0; row < p->rows; row++) {
        y[row] = 0;
        for (uint32_t k = p->row_begin[row]; k < p->row_begin[row + 1]; k++)
            y[row] += p->value[k] * x[p->column[k]];
    }
}

#endif
