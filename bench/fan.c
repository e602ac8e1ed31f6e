/* SPDX-License-Identifier: BSD-3-Clause */
/* fan: tasks with one RW and two R handles: what inferring dependencies costs.
 * Threads: main submits.
 * Owns: the handles and their values.
 * Not here: the other options (stream.h).
 *
 * -k K: K written handles in turn and K that are only read, so the tasks are independent for K steps.
 * -x: a stencil instead, each task writes h[i] and reads h[i-1] and h[i+1] of one set: real dependencies. */
#include "stream.h"

static void increment(void *buffers[], void *args)
{
    (void)args;
    ++*(long *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = { increment }, .nbuffers = 3, .modes = { STARPU_RW, STARPU_R, STARPU_R }, .name = "increment"
};

struct fan {
    starpu_data_handle_t *handles; /* 2 K */
    long k;
    int is_stencil;
};

static void submit(long count, void *data)
{
    const struct fan *f = data;
    for (long n = 0; n < count; n++) {
        struct starpu_task *task = starpu_task_create();
        long i = n % f->k, other = (i * 7 + 1) % f->k;
        task->cl = &codelet;
        task->handles[0] = f->handles[i];
        if (f->is_stencil) {
            task->handles[1] = f->handles[(i + f->k - 1) % f->k];
            task->handles[2] = f->handles[(i + 1) % f->k];
        } else {
            task->handles[1] = f->handles[f->k + i];
            task->handles[2] = f->handles[f->k + (other == i ? (i + 1) % f->k : other)];
        }
        submit_or_die(task);
    }
}

int main(int argc, char **argv)
{
    struct stream s;
    struct fan f = { .k = option_number(argc, argv, "-k", 1000),
                     .is_stencil = option_given(argc, argv, "-x") };
    stream_init(&s, argc, argv, 100000);
    long *values = calloc(2 * (size_t)f.k, sizeof *values), sum = 0;
    f.handles = malloc(2 * (size_t)f.k * sizeof *f.handles);
    for (long i = 0; i < 2 * f.k; i++)
        starpu_variable_data_register(&f.handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof *values);
    stream_run(&s, submit, &f);
    for (long i = 0; i < 2 * f.k; i++) starpu_data_unregister(f.handles[i]);
    for (long i = 0; i < f.k; i++) sum += values[i];
    stream_print(&s, f.is_stencil ? "stencil" : "fan", sum == s.done);
    starpu_shutdown();
    free(f.handles);
    free(values);
    return sum != s.done;
}
