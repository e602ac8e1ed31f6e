/* SPDX-License-Identifier: BSD-3-Clause */
/* heat shows a stencil with halos on any device: a plate in bands of rows, of which only the outermost rows
 * (the halos) go between devices; the bands stay where they are. Usage: heat [WIDTH [HEIGHT [STEPS]]].
 * Threads: main inserts; workers run the tasks.
 * Expected output:
 *   128 x 128, 40 steps: the greatest difference is 0.0e+00; right */
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"

enum { BANDS = 8 };

/* What becomes of a point: the mean of its neighbours, weighed with itself. Left and right of the plate is 0.
 */
static float next_value(const float *row, const float *above, const float *below, size_t column, size_t width)
{
    float left = column > 0 ? row[column - 1] : 0, right = column + 1 < width ? row[column + 1] : 0;
    return 0.5f * row[column] + 0.125f * (left + right + above[column] + below[column]);
}

/* buffers: the band afterwards, the band before, the row above it, the row below it. */
static void step_cpu(void *buffers[], void *args)
{
    float *after = (float *)STARPU_MATRIX_GET_PTR(buffers[0]);
    const float *before = (const float *)STARPU_MATRIX_GET_PTR(buffers[1]),
                *above = (const float *)STARPU_VECTOR_GET_PTR(buffers[2]),
                *below = (const float *)STARPU_VECTOR_GET_PTR(buffers[3]);
    size_t width = STARPU_MATRIX_GET_NX(buffers[0]), rows = STARPU_MATRIX_GET_NY(buffers[0]);
    (void)args;
    for (size_t j = 0; j < rows; j++)
        for (size_t i = 0; i < width; i++)
            after[i + j * width] = next_value(before + j * width, j > 0 ? before + (j - 1) * width : above,
                                              j + 1 < rows ? before + (j + 1) * width : below, i, width);
}

/* buffers: a band, its first row, its last row. */
static void halos_cpu(void *buffers[], void *args)
{
    const float *band = (const float *)STARPU_MATRIX_GET_PTR(buffers[0]);
    size_t width = STARPU_MATRIX_GET_NX(buffers[0]), rows = STARPU_MATRIX_GET_NY(buffers[0]);
    (void)args;
    memcpy((float *)STARPU_VECTOR_GET_PTR(buffers[1]), band, width * sizeof *band);
    memcpy((float *)STARPU_VECTOR_GET_PTR(buffers[2]), band + (rows - 1) * width, width * sizeof *band);
}

#ifdef STARPU_USE_OPENCL
static void step_opencl(void *buffers[], void *args)
{
    cl_mem after = (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(buffers[0]),
           before = (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(buffers[1]),
           above = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[2]),
           below = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[3]);
    size_t sizes[2] = { STARPU_MATRIX_GET_NX(buffers[0]), STARPU_MATRIX_GET_NY(buffers[0]) };
    (void)args;
    START_OPENCL("heat_step", 2, sizes, ARG(after), ARG(before), ARG(above), ARG(below));
}

static void halos_opencl(void *buffers[], void *args)
{
    cl_mem band = (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(buffers[0]),
           first = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]),
           last = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[2]);
    size_t width = STARPU_MATRIX_GET_NX(buffers[0]);
    cl_uint rows = STARPU_MATRIX_GET_NY(buffers[0]);
    (void)args;
    START_OPENCL("halos", 1, &width, ARG(band), ARG(first), ARG(last), ARG(rows));
}
#endif

#ifdef WITH_CUDA_KERNELS
void step_cuda(void *buffers[], void *args); /* heat.cu */
void halos_cuda(void *buffers[], void *args);
#endif

static struct starpu_codelet step = {
    .cpu_funcs = { step_cpu },
    OPENCL_FUNCTION(step_opencl) CUDA_FUNCTION(step_cuda).nbuffers = 4,
    .modes = { STARPU_W, STARPU_R, STARPU_R, STARPU_R },
    .model = &(struct starpu_perfmodel){ .type = STARPU_HISTORY_BASED, .symbol = "example_heat_step" },
    .name = "step",
};
static struct starpu_codelet halos = {
    .cpu_funcs = { halos_cpu },
    OPENCL_FUNCTION(halos_opencl) CUDA_FUNCTION(halos_cuda).nbuffers = 3,
    .modes = { STARPU_R, STARPU_W, STARPU_W },
    .model = &(struct starpu_perfmodel){ .type = STARPU_HISTORY_BASED, .symbol = "example_heat_halos" },
    .name = "halos",
};

/* The same by one thread; the result is in plate. */
static void by_hand(float *plate, float *other, const float *hot, const float *cold, size_t width,
                    size_t height, int steps)
{
    for (int s = 0; s < steps; s++) {
        for (size_t j = 0; j < height; j++)
            for (size_t i = 0; i < width; i++)
                other[i + j * width] = next_value(plate + j * width, j > 0 ? plate + (j - 1) * width : hot,
                                                  j + 1 < height ? plate + (j + 1) * width : cold, i, width);
        memcpy(plate, other, width * height * sizeof *plate);
    }
}

struct bands {
    starpu_data_handle_t now[BANDS], next[BANDS], first[BANDS], last[BANDS], hot, cold;
};

static void register_all(struct bands *b, float *plate, float *hot, float *cold, unsigned width,
                         unsigned height)
{
    for (unsigned i = 0; i < BANDS; i++) {
        unsigned begin = height * i / BANDS, rows = height * (i + 1) / BANDS - begin;
        starpu_matrix_data_register(&b->now[i], STARPU_MAIN_RAM, (uintptr_t)(plate + (size_t)begin * width),
                                    width, width, rows, sizeof *plate);
        starpu_matrix_data_register(&b->next[i], -1, 0, width, width, rows, sizeof *plate);
        starpu_vector_data_register(&b->first[i], -1, 0, width, sizeof *plate);
        starpu_vector_data_register(&b->last[i], -1, 0, width, sizeof *plate);
    }
    starpu_vector_data_register(&b->hot, STARPU_MAIN_RAM, (uintptr_t)hot, width, sizeof *plate);
    starpu_vector_data_register(&b->cold, STARPU_MAIN_RAM, (uintptr_t)cold, width, sizeof *plate);
}

static void unregister_all(struct bands *b)
{
    for (unsigned i = 0; i < BANDS; i++) {
        starpu_data_unregister(b->now[i]);
        starpu_data_unregister_no_coherency(b->next[i]);
        starpu_data_unregister_no_coherency(b->first[i]);
        starpu_data_unregister_no_coherency(b->last[i]);
    }
    starpu_data_unregister(b->hot);
    starpu_data_unregister(b->cold);
}

static int insert_step(struct bands *b)
{
    int error = 0;
    for (unsigned i = 0; i < BANDS; i++)
        error |= starpu_task_insert(&halos, STARPU_R, b->now[i], STARPU_W, b->first[i], STARPU_W, b->last[i],
                                    STARPU_PRIORITY, 1, 0);
    for (unsigned i = 0; i < BANDS; i++)
        error |= starpu_task_insert(&step, STARPU_W, b->next[i], STARPU_R, b->now[i], STARPU_R,
                                    i > 0 ? b->last[i - 1] : b->hot, STARPU_R,
                                    i + 1 < BANDS ? b->first[i + 1] : b->cold, 0);
    for (unsigned i = 0; i < BANDS; i++) {
        starpu_data_handle_t now = b->now[i];
        b->now[i] = b->next[i];
        b->next[i] = now;
    }
    return error;
}

int main(int argc, char **argv)
{
    int wide = argc > 1 ? atoi(argv[1]) : 128, high = argc > 2 ? atoi(argv[2]) : wide,
        steps = argc > 3 ? atoi(argv[3]) : 40;
    if (wide < 1 || wide > 32768 || high < BANDS || high > 32768 || steps < 0) {
        fprintf(stderr, "heat: WIDTH is 1 to 32768, HEIGHT %d to 32768\n", BANDS);
        return EXIT_FAILURE;
    }
    unsigned width = (unsigned)wide, height = (unsigned)high;
    steps += steps % 2; /* so that the bands end where they began */
    size_t count = (size_t)width * height;
    float *plate = calloc(count, sizeof *plate), *mine = calloc(count, sizeof *mine),
          *other = calloc(count, sizeof *other), *hot = malloc(width * sizeof *hot),
          *cold = calloc(width, sizeof *cold);
    if (!plate || !mine || !other || !hot || !cold || starpu_init(NULL)) {
        fprintf(stderr, "heat: the runtime did not start\n");
        return 77;
    }
    if (devices_open("examples/devices/heat.cl")) return EXIT_FAILURE;
    for (unsigned i = 0; i < width; i++) hot[i] = 100;
    struct bands b;
    register_all(&b, plate, hot, cold, width, height);
    int error = 0;
    for (int s = 0; s < steps; s++) error |= insert_step(&b);
    unregister_all(&b);
    by_hand(mine, other, hot, cold, width, height, steps);
    double worst = 0;
    for (size_t k = 0; k < count; k++) worst = fmax(worst, fabs((double)plate[k] - mine[k]));
    int is_right = !error && worst < 1e-3;
    printf("%u x %u, %d steps: the greatest difference is %.1e; %s\n", width, height, steps, worst,
           is_right ? "right" : "WRONG");
    devices_close();
    starpu_shutdown();
    free(plate);
    free(mine);
    free(other);
    free(hot);
    free(cold);
    return !is_right;
}
