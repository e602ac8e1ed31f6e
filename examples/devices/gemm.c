/* SPDX-License-Identifier: BSD-3-Clause */
/* gemm shows a matrix product in tiles: C = A * B, cut in two directions by starpu_data_map_filters, each
 * tile of C a task for each tile along the inner dimension. Usage: gemm [SIZE [TILES]]. Threads: main
 * inserts; workers run the tasks. Expected output: 384 x 384 in 4 x 4 tiles: the greatest error is 0.0e+00;
 * right */
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "devices.h"

/* A tile is what BLAS makes of a matrix in columns: nx contiguous elements, ny columns that are ld apart. */
static void gemm_cpu(void *buffers[], void *args)
{
    const float *a = (const float *)STARPU_MATRIX_GET_PTR(buffers[0]),
                *b = (const float *)STARPU_MATRIX_GET_PTR(buffers[1]);
    float *c = (float *)STARPU_MATRIX_GET_PTR(buffers[2]);
    size_t lda = STARPU_MATRIX_GET_LD(buffers[0]), ldb = STARPU_MATRIX_GET_LD(buffers[1]),
           ldc = STARPU_MATRIX_GET_LD(buffers[2]), rows = STARPU_MATRIX_GET_NX(buffers[2]),
           columns = STARPU_MATRIX_GET_NY(buffers[2]), inner = STARPU_MATRIX_GET_NY(buffers[0]);
    (void)args;
    for (size_t j = 0; j < columns; j++)
        for (size_t k = 0; k < inner; k++) {
            float factor = b[k + j * ldb];
            for (size_t i = 0; i < rows; i++) c[i + j * ldc] += a[i + k * lda] * factor;
        }
}

#ifdef STARPU_USE_OPENCL
static void gemm_opencl(void *buffers[], void *args)
{
    cl_mem tile[3];
    cl_ulong offset[3];
    cl_uint ld[3], inner = STARPU_MATRIX_GET_NY(buffers[0]);
    size_t sizes[2] = { STARPU_MATRIX_GET_NX(buffers[2]), STARPU_MATRIX_GET_NY(buffers[2]) };
    (void)args;
    for (int k = 0; k < 3; k++) {
        tile[k] = (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(buffers[k]);
        offset[k] = STARPU_MATRIX_GET_OFFSET(buffers[k]);
        ld[k] = (cl_uint)STARPU_MATRIX_GET_LD(buffers[k]);
    }
    START_OPENCL("gemm", 2, sizes, ARG(tile[0]), ARG(offset[0]), ARG(ld[0]), ARG(tile[1]), ARG(offset[1]),
                 ARG(ld[1]), ARG(tile[2]), ARG(offset[2]), ARG(ld[2]), ARG(inner));
}
#endif

#ifdef WITH_CUDA_KERNELS
void gemm_cuda(void *buffers[], void *args); /* gemm.cu */
#endif

static struct starpu_perfmodel gemm_model = { .type = STARPU_HISTORY_BASED, .symbol = "example_gemm" };

static struct starpu_codelet gemm_codelet = {
    .cpu_funcs = { gemm_cpu },
    OPENCL_FUNCTION(gemm_opencl) CUDA_FUNCTION(gemm_cuda).nbuffers = 3,
    .modes = { STARPU_R, STARPU_R, STARPU_RW },
    .model = &gemm_model,
    .name = "gemm",
};

/* Registers a matrix and cuts it into tiles * tiles. */
static starpu_data_handle_t in_tiles(float *matrix, unsigned size, unsigned tiles)
{
    starpu_data_handle_t h;
    struct starpu_data_filter rows = { .filter_func = starpu_matrix_filter_block, .nchildren = tiles },
                              columns = { .filter_func = starpu_matrix_filter_vertical_block,
                                          .nchildren = tiles };
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)matrix, size, size, size, sizeof *matrix);
    starpu_data_map_filters(h, 2, &rows, &columns);
    return h;
}

/* The greatest error of C, where A(i, k) = i + k and B(k, j) = k - j: sums of whole numbers, in closed form.
 */
static double greatest_error(const float *c, unsigned size)
{
    double n = size, worst = 0, sum = n * (n - 1) / 2, squares = (n - 1) * n * (2 * n - 1) / 6;
    for (unsigned j = 0; j < size; j++)
        for (unsigned i = 0; i < size; i++) {
            double right = squares + ((double)i - j) * sum - (double)i * j * n;
            worst = fmax(worst, fabs(c[i + (size_t)j * size] - right) / (fabs(squares) + 1));
        }
    return worst;
}

int main(int argc, char **argv)
{
    unsigned size = argc > 1 ? (unsigned)atoi(argv[1]) : 384, tiles = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    size_t count = (size_t)size * size;
    if (size < 1 || size > 32768 || tiles < 1 || tiles > size) {
        fprintf(stderr, "gemm: SIZE is 1 to 32768, and TILES 1 to SIZE\n");
        return EXIT_FAILURE;
    }
    float *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b), *c = calloc(count, sizeof *c);
    if (!a || !b || !c || starpu_init(NULL)) {
        fprintf(stderr, "gemm: the runtime did not start\n");
        return 77;
    }
    if (devices_open("examples/devices/gemm.cl")) return EXIT_FAILURE;
    for (unsigned j = 0; j < size; j++)
        for (unsigned i = 0; i < size; i++) {
            a[i + (size_t)j * size] = (float)(i + j);
            b[i + (size_t)j * size] = (float)i - (float)j;
        }
    starpu_data_handle_t matrix[3] = { in_tiles(a, size, tiles), in_tiles(b, size, tiles),
                                       in_tiles(c, size, tiles) };
    int error = 0;
    for (unsigned i = 0; i < tiles; i++)
        for (unsigned j = 0; j < tiles; j++)
            for (unsigned k = 0; k < tiles; k++)
                error |=
                    starpu_task_insert(&gemm_codelet, STARPU_R, starpu_data_get_sub_data(matrix[0], 2, i, k),
                                       STARPU_R, starpu_data_get_sub_data(matrix[1], 2, k, j), STARPU_RW,
                                       starpu_data_get_sub_data(matrix[2], 2, i, j), 0);
    for (int m = 0; m < 3; m++) {
        starpu_data_unpartition(matrix[m], STARPU_MAIN_RAM);
        starpu_data_unregister(matrix[m]);
    }
    double worst = greatest_error(c, size);
    int is_right = !error && worst < 1e-4;
    printf("%u x %u in %u x %u tiles: the greatest error is %.1e; %s\n", size, size, tiles, tiles, worst,
           is_right ? "right" : "WRONG");
    devices_close();
    starpu_shutdown();
    free(a);
    free(b);
    free(c);
    return !is_right;
}
