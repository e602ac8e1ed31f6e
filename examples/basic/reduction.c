/* SPDX-License-Identifier: BSD-3-Clause */
/* reduction shows STARPU_REDUX: many tasks add to one variable at the same time, each worker into a copy of
 * its own, which the runtime starts with the init codelet and joins with the reduction codelet.
 * Threads: main
 * inserts; workers run the tasks. Expected output: the sum of 1 to 1000 is 500500; right */
#include <starpu.h>
#include <stdio.h>

enum { COUNT = 1000 };

static long *value(void *buffer)
{
    return (long *)STARPU_VARIABLE_GET_PTR(buffer);
}

static void set_zero(void *buffers[], void *args)
{
    (void)args;
    *value(buffers[0]) = 0;
}

static void join(void *buffers[], void *args)
{
    (void)args;
    *value(buffers[0]) += *value(buffers[1]);
}

static void add(void *buffers[], void *args)
{
    long term;
    starpu_codelet_unpack_args(args, &term);
    *value(buffers[0]) += term;
}

static struct starpu_codelet zero_codelet = {
    .cpu_funcs = { set_zero }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};
static struct starpu_codelet join_codelet = {
    .cpu_funcs = { join }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "join"
};
static struct starpu_codelet add_codelet = {
    .cpu_funcs = { add }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "add"
};

int main(void)
{
    long sum = 0;
    int error = 0;
    starpu_data_handle_t handle;
    if (starpu_init(NULL)) {
        fprintf(stderr, "reduction: the runtime did not start\n");
        return 77;
    }
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof sum);
    starpu_data_set_reduction_methods(handle, &join_codelet, &zero_codelet);
    for (long term = 1; term <= COUNT && !error; term++)
        error = starpu_task_insert(&add_codelet, STARPU_REDUX, handle, STARPU_VALUE, &term, sizeof term, 0);
    starpu_data_unregister(handle); /* the copies are joined by now */
    int is_right = !error && sum == COUNT * (COUNT + 1L) / 2;
    printf("the sum of 1 to %d is %ld; %s\n", COUNT, sum, is_right ? "right" : "WRONG");
    starpu_shutdown();
    return !is_right;
}
