/* SPDX-License-Identifier: BSD-3-Clause */
/* vector_scale shows data: a vector is registered, two tasks write it in the order of their insertion, and
 * starpu_task_insert carries a value to the kernel.
 * Threads: main inserts; workers run the tasks.
 * Expected output:
 *   x[0] = 7, x[999] = 6001; right */
#include <starpu.h>
#include <stdio.h>

enum { LENGTH = 1000 };

static void scale(void *buffers[], void *args)
{
    double *x = (double *)STARPU_VECTOR_GET_PTR(buffers[0]), factor, shift;
    size_t length = STARPU_VECTOR_GET_NX(buffers[0]);
    starpu_codelet_unpack_args(args, &factor, &shift);
    for (size_t k = 0; k < length; k++) x[k] = factor * x[k] + shift;
}

static struct starpu_codelet scale_codelet = {
    .cpu_funcs = { scale }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "scale"
};

static int insert_scale(starpu_data_handle_t handle, double factor, double shift)
{
    /* Values are copied, so the variables may go. */
    return starpu_task_insert(&scale_codelet, STARPU_RW, handle, STARPU_VALUE, &factor, sizeof factor,
                              STARPU_VALUE, &shift, sizeof shift, 0);
}

int main(void)
{
    static double x[LENGTH];
    starpu_data_handle_t handle;
    int is_right = 1;
    if (starpu_init(NULL)) {
        fprintf(stderr, "vector_scale: the runtime did not start\n");
        return 77;
    }
    for (int k = 0; k < LENGTH; k++) x[k] = k;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, LENGTH, sizeof *x);
    /* Both write the vector, so the second waits for the first. */
    int error = insert_scale(handle, 2.0, 3.0);
    if (!error) error = insert_scale(handle, 3.0, -2.0);
    starpu_data_unregister(handle); /* waits for the tasks; x is ours again */
    for (int k = 0; k < LENGTH; k++) is_right &= x[k] == 3.0 * (2.0 * k + 3.0) - 2.0;
    printf("x[0] = %g, x[%d] = %g; %s\n", x[0], LENGTH - 1, x[LENGTH - 1], is_right ? "right" : "WRONG");
    starpu_shutdown();
    return error || !is_right;
}
