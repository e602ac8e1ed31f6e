/* SPDX-License-Identifier: BSD-3-Clause */
/* cg shows an iterative solver: A * x = b by conjugate gradients, vectors in blocks, dot products by
 * STARPU_REDUX, and a vector that is used in blocks and as a whole in turn (a partition plan: the runtime
 * switches by itself). Usage: cg [SIDE [BLOCKS]] (A has SIDE * SIDE rows). Threads: main inserts; workers run
 * the tasks. Expected output (the digits of the error vary): 2500 rows, 4 blocks: 87 iterations, the greatest
 * error is 4.1e-11; right */
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "poisson.h"
#include "spmv_kernel.h"

enum { MOST_BLOCKS = 256 };

/* s += a * b */
static void dot_cpu(void *buffers[], void *args)
{
    double *s = (double *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    const double *a = (const double *)STARPU_VECTOR_GET_PTR(buffers[1]),
                 *b = (const double *)STARPU_VECTOR_GET_PTR(buffers[2]);
    size_t length = STARPU_VECTOR_GET_NX(buffers[1]);
    (void)args;
    for (size_t k = 0; k < length; k++) *s += a[k] * b[k];
}

static void zero_cpu(void *buffers[], void *args)
{
    (void)args;
    *(double *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

static void join_cpu(void *buffers[], void *args)
{
    (void)args;
    *(double *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(double *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

/* y = a * x + b * y */
static void axpby_cpu(void *buffers[], void *args)
{
    const double *x = (const double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    double *y = (double *)STARPU_VECTOR_GET_PTR(buffers[1]), a, b;
    size_t length = STARPU_VECTOR_GET_NX(buffers[0]);
    starpu_codelet_unpack_args(args, &a, &b);
    for (size_t k = 0; k < length; k++) y[k] = a * x[k] + b * y[k];
}

#ifdef STARPU_USE_OPENCL
static void axpby_opencl(void *buffers[], void *args)
{
    cl_mem x = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]),
           y = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]);
    cl_ulong x_offset = STARPU_VECTOR_GET_OFFSET(buffers[0]), y_offset = STARPU_VECTOR_GET_OFFSET(buffers[1]);
    size_t length = STARPU_VECTOR_GET_NX(buffers[0]);
    double a, b;
    starpu_codelet_unpack_args(args, &a, &b);
    START_OPENCL("axpby", 1, &length, ARG(x), ARG(x_offset), ARG(y), ARG(y_offset), ARG(a), ARG(b));
}
#endif

#ifdef WITH_CUDA_KERNELS
void axpby_cuda(void *buffers[], void *args); /* sparse.cu */
#endif

static struct starpu_codelet dot = {
    .cpu_funcs = { dot_cpu }, .nbuffers = 3, .modes = { STARPU_REDUX, STARPU_R, STARPU_R }, .name = "dot"
};
static struct starpu_codelet zero = {
    .cpu_funcs = { zero_cpu }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};
static struct starpu_codelet join = {
    .cpu_funcs = { join_cpu }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "join"
};
static struct starpu_codelet axpby = {
    .cpu_funcs = { axpby_cpu },
    OPENCL_FUNCTION(axpby_opencl) CUDA_FUNCTION(axpby_cuda).nbuffers = 2,
    .modes = { STARPU_R, STARPU_RW },
    .model = &(struct starpu_perfmodel){ .type = STARPU_HISTORY_BASED, .symbol = "example_axpby" },
    .name = "axpby",
};

/* A vector that is used whole and in blocks. */
struct vector {
    starpu_data_handle_t whole, block[MOST_BLOCKS];
};

/* What is solved. */
struct system {
    unsigned blocks;
    starpu_data_handle_t matrix, sum;
    struct vector x, r, p, q;
    int error;
};

static void vector_register(struct vector *v, double *values, uint32_t rows, unsigned blocks)
{
    struct starpu_data_filter parts = { .filter_func = starpu_vector_filter_block, .nchildren = blocks };
    starpu_vector_data_register(&v->whole, STARPU_MAIN_RAM, (uintptr_t)values, rows, sizeof *values);
    starpu_data_partition_plan(v->whole, &parts, v->block);
}

static void vector_unregister(struct vector *v, unsigned blocks)
{
    starpu_data_partition_clean(v->whole, blocks, v->block);
    starpu_data_unregister(v->whole);
}

/* Returns the product of two vectors; waits for it. */
static double product(struct system *s, struct vector *a, struct vector *b)
{
    double value = 0;
    s->error |= starpu_task_insert(&zero, STARPU_W, s->sum, 0);
    for (unsigned i = 0; i < s->blocks; i++)
        s->error |=
            starpu_task_insert(&dot, STARPU_REDUX, s->sum, STARPU_R, a->block[i], STARPU_R, b->block[i], 0);
    int held = starpu_data_acquire(s->sum, STARPU_R);
    s->error |= held;
    if (!held) {
        value = *(double *)starpu_data_get_local_ptr(s->sum);
        starpu_data_release(s->sum);
    }
    return value;
}

/* y = a * x + b * y */
static void combine(struct system *s, struct vector *x, struct vector *y, double a, double b)
{
    for (unsigned i = 0; i < s->blocks; i++)
        s->error |= starpu_task_insert(&axpby, STARPU_R, x->block[i], STARPU_RW, y->block[i], STARPU_VALUE,
                                       &a, sizeof a, STARPU_VALUE, &b, sizeof b, 0);
}

/* r begins as b - A * x and p as r; ends when r is 1e-12 of what it was. Returns the iterations. */
static int solve(struct system *s, int most)
{
    double square = product(s, &s->r, &s->r), goal = 1e-24 * square;
    int k = 0;
    for (; k < most && square > goal && !s->error; k++) {
        for (unsigned i = 0; i < s->blocks; i++)
            s->error |= starpu_task_insert(&spmv, STARPU_R, starpu_data_get_sub_data(s->matrix, 1, i),
                                           STARPU_R, s->p.whole, STARPU_W, s->q.block[i], 0);
        double step = square / product(s, &s->p, &s->q), before = square;
        combine(s, &s->p, &s->x, step, 1);
        combine(s, &s->q, &s->r, -step, 1);
        square = product(s, &s->r, &s->r);
        combine(s, &s->r, &s->p, 1, square / before);
    }
    return k;
}

int main(int argc, char **argv)
{
    static struct system s;
    unsigned side = argc > 1 ? (unsigned)atoi(argv[1]) : 50;
    s.blocks = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    struct poisson a;
    if (side < 2 || side > 10000 || s.blocks < 1 || s.blocks > MOST_BLOCKS || s.blocks > side) {
        fprintf(stderr, "cg: SIDE is 2 to 10000, and BLOCKS at most SIDE and %d\n", MOST_BLOCKS);
        return EXIT_FAILURE;
    }
    uint32_t rows = side * side;
    double *x = calloc(rows, sizeof *x), *r = malloc(rows * sizeof *r), *p = malloc(rows * sizeof *p),
           *q = malloc(rows * sizeof *q), *right = malloc(rows * sizeof *right), sum = 0, worst = 0;
    if (!x || !r || !p || !q || !right || poisson_create(&a, side) || starpu_init(NULL)) {
        fprintf(stderr, "cg: the runtime did not start\n");
        return 77;
    }
    if (devices_open("examples/devices/sparse.cl")) return EXIT_FAILURE;
    for (uint32_t k = 0; k < rows; k++) right[k] = 1 + k % 7;
    poisson_multiply(&a, right, r); /* b, so that the solution is known; x begins as 0 */
    for (uint32_t k = 0; k < rows; k++) p[k] = r[k];
    struct starpu_data_filter by_rows = { .filter_func = starpu_csr_filter_vertical_block,
                                          .nchildren = s.blocks };
    starpu_csr_data_register(&s.matrix, STARPU_MAIN_RAM, a.entries, rows, (uintptr_t)a.value, a.column,
                             a.row_begin, 0, sizeof *a.value);
    starpu_data_partition(s.matrix, &by_rows);
    starpu_variable_data_register(&s.sum, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof sum);
    starpu_data_set_reduction_methods(s.sum, &join, &zero);
    vector_register(&s.x, x, rows, s.blocks);
    vector_register(&s.r, r, rows, s.blocks);
    vector_register(&s.p, p, rows, s.blocks);
    vector_register(&s.q, q, rows, s.blocks);
    int iterations = solve(&s, (int)rows);
    starpu_data_unpartition(s.matrix, STARPU_MAIN_RAM);
    starpu_data_unregister(s.matrix);
    starpu_data_unregister(s.sum);
    vector_unregister(&s.x, s.blocks);
    vector_unregister(&s.r, s.blocks);
    vector_unregister(&s.p, s.blocks);
    vector_unregister(&s.q, s.blocks);
    for (uint32_t k = 0; k < rows; k++) worst = fmax(worst, fabs(x[k] - right[k]));
    int is_right = !s.error && worst < 1e-8;
    printf("%u rows, %u blocks: %d iterations, the greatest error is %.1e; %s\n", rows, s.blocks, iterations,
           worst, is_right ? "right" : "WRONG");
    devices_close();
    starpu_shutdown();
    poisson_destroy(&a);
    free(x);
    free(r);
    free(p);
    free(q);
    free(right);
    return !is_right;
}
