/* SPDX-License-Identifier: BSD-3-Clause */
/* mandelbrot shows tasks of very unequal length on unequal devices: an image in bands of rows, each band a
 * task that writes its part. Usage: mandelbrot [FILE.png [WIDTH HEIGHT]].
 * Threads: main inserts; workers run the tasks.
 * Expected output:
 *   640 x 480, 24 bands: 0 of 307200 points differ; right */
#include <starpu.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>

#include "devices.h"
#include "mandelbrot.h"

enum { BANDS = 24, STEPS = 200 };

/* How long the point (re, im) stays near 0, of STEPS. */
static unsigned char steps_of(double re, double im)
{
    double x = 0, y = 0;
    int k = 0;
    for (; k < STEPS && x * x + y * y <= 4; k++) {
        double next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
    }
    return (unsigned char)k;
}

static void band_cpu(void *buffers[], void *args)
{
    unsigned char *pixels = (unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    struct view v;
    starpu_codelet_unpack_args(args, &v);
    for (int row = 0; row < v.rows; row++)
        for (int column = 0; column < v.width; column++)
            pixels[row * v.width + column] =
                steps_of(v.left + column * v.step, v.top - (v.first_row + row) * v.step);
}

#ifdef STARPU_USE_OPENCL
static void band_opencl(void *buffers[], void *args)
{
    cl_mem pixels = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]);
    cl_ulong offset = STARPU_VECTOR_GET_OFFSET(buffers[0]);
    struct view v;
    starpu_codelet_unpack_args(args, &v);
    size_t sizes[2] = { (size_t)v.width, (size_t)v.rows };
    START_OPENCL("band", 2, sizes, ARG(pixels), ARG(offset), ARG(v.left), ARG(v.top), ARG(v.step),
                 ARG(v.first_row), ARG(v.most));
}
#endif

#ifdef WITH_CUDA_KERNELS
void band_cuda(void *buffers[], void *args); /* mandelbrot.cu */
#endif

static struct starpu_perfmodel band_model = { .type = STARPU_HISTORY_BASED, .symbol = "example_mandelbrot" };

static struct starpu_codelet band_codelet = {
    .cpu_funcs = { band_cpu },
    OPENCL_FUNCTION(band_opencl) CUDA_FUNCTION(band_cuda).nbuffers = 1,
    .modes = { STARPU_W },
    .model = &band_model,
    .name = "band",
};

/* How many points are not what one thread makes of them. Where a device rounds in another way, points at the
 * border may be. */
static long differences(const unsigned char *image, const struct view *v, int height)
{
    long count = 0;
    for (long k = 0; k < (long)height * v->width; k++)
        count += image[k] !=
                 steps_of(v->left + (int)(k % v->width) * v->step, v->top - (int)(k / v->width) * v->step);
    return count;
}

static int write_png(const char *path, const unsigned char *image, int width, int height)
{
    png_image png = { .version = PNG_IMAGE_VERSION,
                      .width = (png_uint_32)width,
                      .height = (png_uint_32)height,
                      .format = PNG_FORMAT_GRAY };
    if (png_image_write_to_file(&png, path, 0, image, width, NULL)) return 0;
    fprintf(stderr, "mandelbrot: %s was not written: %s\n", path, png.message);
    return -1;
}

int main(int argc, char **argv)
{
    int width = argc > 3 ? atoi(argv[2]) : 640, height = argc > 3 ? atoi(argv[3]) : 480, error = 0;
    if (width < 1 || height < BANDS || width > 16384 || height > 16384) {
        fprintf(stderr, "mandelbrot: the image is 1 to 16384 points wide and %d to 16384 high\n", BANDS);
        return EXIT_FAILURE;
    }
    unsigned char *image = malloc((size_t)width * (size_t)height);
    if (!image || starpu_init(NULL)) {
        fprintf(stderr, "mandelbrot: the runtime did not start\n");
        return 77;
    }
    if (devices_open("examples/devices/mandelbrot.cl")) return EXIT_FAILURE;
    struct view v = {
        .step = 3.0 / width, .left = -2.25, .top = 1.5 * height / width, .width = width, .most = STEPS
    };
    starpu_data_handle_t bands[BANDS];
    for (int i = 0; i < BANDS; i++) {
        v.first_row = (int)((long)height * i / BANDS);
        v.rows = (int)((long)height * (i + 1) / BANDS) - v.first_row;
        starpu_vector_data_register(&bands[i], STARPU_MAIN_RAM,
                                    (uintptr_t)(image + (size_t)v.first_row * (size_t)width),
                                    (uint32_t)(v.rows * width), 1);
        error |= starpu_task_insert(&band_codelet, STARPU_W, bands[i], STARPU_VALUE, &v, sizeof v, 0);
    }
    for (int i = 0; i < BANDS; i++) starpu_data_unregister(bands[i]);
    long wrong = differences(image, &v, height);
    int is_right = !error && wrong <= (long)width * height / 1000;
    printf("%d x %d, %d bands: %ld of %ld points differ; %s\n", width, height, BANDS, wrong,
           (long)width * height, is_right ? "right" : "WRONG");
    if (argc > 1 && write_png(argv[1], image, width, height)) error = 1;
    devices_close();
    starpu_shutdown();
    free(image);
    return error || !is_right;
}
