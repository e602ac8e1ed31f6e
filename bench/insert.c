/* SPDX-License-Identifier: BSD-3-Clause */
/* insert: what starpu_task_insert costs more than filling a task by hand: packing its arguments.
 * Threads: main submits behind the gate.
 * Owns: the handles.
 * Not here: the other options (stream.h).
 *
 * Same codelet shape, 1 RW + 2 R handles, an int and a double as values; CPU time of the submitting thread.
 * The two ways alternate, so that a drift of the machine hits both. */
#include "stream.h"

enum { SPREAD = 1000 };

static void run_unpack(void *buffers[], void *args)
{
    int number;
    double real;
    (void)buffers;
    starpu_codelet_unpack_args(args, &number, &real);
}

static void run_plain(void *buffers[], void *args)
{
    (void)buffers;
    (void)args;
}

static struct starpu_codelet inserted = {
    .cpu_funcs = { run_unpack }, .nbuffers = 3, .modes = { STARPU_RW, STARPU_R, STARPU_R }, .name = "inserted"
};
static struct starpu_codelet by_hand = {
    .cpu_funcs = { run_plain }, .nbuffers = 3, .modes = { STARPU_RW, STARPU_R, STARPU_R }, .name = "by_hand"
};

struct arguments {
    int number;
    double real;
};

static void insert(long count, starpu_data_handle_t *h)
{
    for (long k = 0; k < count; k++) {
        int number = (int)k;
        double real = (double)k;
        starpu_task_insert(&inserted, STARPU_RW, h[k % SPREAD], STARPU_R, h[SPREAD + k % SPREAD], STARPU_R,
                           h[2 * SPREAD + k % SPREAD], STARPU_VALUE, &number, sizeof number, STARPU_VALUE,
                           &real, sizeof real, 0);
    }
}

static void submit(long count, starpu_data_handle_t *h)
{
    for (long k = 0; k < count; k++) {
        struct starpu_task *task = starpu_task_create();
        struct arguments *arguments = malloc(sizeof *arguments);
        *arguments = (struct arguments){ .number = (int)k, .real = (double)k };
        task->cl = &by_hand;
        for (int d = 0; d < 3; d++) task->handles[d] = h[d * SPREAD + k % SPREAD];
        task->cl_arg = arguments;
        task->cl_arg_size = sizeof *arguments;
        task->cl_arg_free = 1;
        submit_or_die(task);
    }
}

/* CPU time per task of submitting behind the gate, in us. */
static double measure(const struct stream *s, long count, void (*way)(long, starpu_data_handle_t *),
                      starpu_data_handle_t *handles)
{
    gate_close(s->workers);
    double start = thread_seconds();
    way(count, handles);
    double spent = thread_seconds() - start;
    gate_open();
    starpu_task_wait_for_all();
    return spent / (double)count * 1e6;
}

int main(int argc, char **argv)
{
    struct stream s;
    static long values[3 * SPREAD];
    static starpu_data_handle_t handles[3 * SPREAD];
    double insert_us[SAMPLES_MAX], hand_us[SAMPLES_MAX];
    stream_init(&s, argc, argv, 50000);
    for (long k = 0; k < 3 * SPREAD; k++)
        starpu_variable_data_register(&handles[k], STARPU_MAIN_RAM, (uintptr_t)&values[k], sizeof *values);
    for (int k = -1; k < s.repeats; k++) {
        long count = k < 0 ? WARM_UP_TASKS : s.count;
        double first = measure(&s, count, insert, handles), second = measure(&s, count, submit, handles);
        if (k >= 0) {
            insert_us[k] = first;
            hand_us[k] = second;
        }
    }
    for (long k = 0; k < 3 * SPREAD; k++) starpu_data_unregister(handles[k]);
    double by_insert = median(insert_us, s.repeats), by_submit = median(hand_us, s.repeats);
    printf("insert policy=%s workers=%d n=%ld insert_us=%.4f by_hand_us=%.4f packing_us=%.4f ok\n", s.policy,
           s.workers, s.count, by_insert, by_submit, by_insert - by_submit);
    starpu_shutdown();
    return 0;
}
