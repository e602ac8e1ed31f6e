/* SPDX-License-Identifier: BSD-3-Clause */
/* spmv shows a sparse matrix in compressed rows: y = A * x, A cut into blocks of rows by a filter, each of
 * which a device multiplies. Usage: spmv [SIDE [BLOCKS]] (A has SIDE * SIDE rows). Threads: main inserts;
 * workers run the tasks. Expected output: 10000 rows, 49600 entries, 8 blocks: the greatest difference is
 * 0.0e+00; right */
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "poisson.h"
#include "spmv_kernel.h"

int main(int argc, char **argv)
{
    unsigned side = argc > 1 ? (unsigned)atoi(argv[1]) : 100, blocks = argc > 2 ? (unsigned)atoi(argv[2]) : 8;
    struct poisson a;
    if (side < 1 || side > 10000 || blocks < 1 || blocks > side * side) {
        fprintf(stderr, "spmv: SIDE is 1 to 10000, and BLOCKS at most SIDE * SIDE\n");
        return EXIT_FAILURE;
    }
    uint32_t rows = side * side;
    double *x = malloc(rows * sizeof *x), *y = malloc(rows * sizeof *y),
           *right = malloc(rows * sizeof *right);
    if (!x || !y || !right || poisson_create(&a, side) || starpu_init(NULL)) {
        fprintf(stderr, "spmv: the runtime did not start\n");
        return 77;
    }
    if (devices_open("examples/devices/sparse.cl")) return EXIT_FAILURE;
    for (uint32_t k = 0; k < rows; k++) x[k] = k % 17;
    starpu_data_handle_t matrix, from, to;
    starpu_csr_data_register(&matrix, STARPU_MAIN_RAM, a.entries, rows, (uintptr_t)a.value, a.column,
                             a.row_begin, 0, sizeof *a.value);
    starpu_vector_data_register(&from, STARPU_MAIN_RAM, (uintptr_t)x, rows, sizeof *x);
    starpu_vector_data_register(&to, STARPU_MAIN_RAM, (uintptr_t)y, rows, sizeof *y);
    struct starpu_data_filter by_rows = { .filter_func = starpu_csr_filter_vertical_block,
                                          .nchildren = blocks },
                              parts = { .filter_func = starpu_vector_filter_block, .nchildren = blocks };
    starpu_data_partition(matrix, &by_rows);
    starpu_data_partition(to, &parts);
    int error = 0;
    for (unsigned b = 0; b < blocks; b++)
        error |= starpu_task_insert(&spmv, STARPU_R, starpu_data_get_sub_data(matrix, 1, b), STARPU_R, from,
                                    STARPU_W, starpu_data_get_sub_data(to, 1, b), 0);
    starpu_data_unpartition(matrix, STARPU_MAIN_RAM);
    starpu_data_unpartition(to, STARPU_MAIN_RAM);
    starpu_data_unregister(matrix);
    starpu_data_unregister(from);
    starpu_data_unregister(to);
    double worst = 0;
    poisson_multiply(&a, x, right);
    for (uint32_t k = 0; k < rows; k++) worst = fmax(worst, fabs(y[k] - right[k]));
    int is_right = !error && worst < 1e-12;
    printf("%u rows, %u entries, %u blocks: the greatest difference is %.1e; %s\n", rows, a.entries, blocks,
           worst, is_right ? "right" : "WRONG");
    devices_close();
    starpu_shutdown();
    poisson_destroy(&a);
    free(x);
    free(y);
    free(right);
    return !is_right;
}
