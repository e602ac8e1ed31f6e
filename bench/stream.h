/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a stream of tasks submitted to a runtime with the StarPU interface.
 * Threads: main; the gate's function runs on workers.
 * Owns: the gate.
 * Not here: clocks (measure.h).
 *
 * Options of every benchmark on it: -n tasks, -w workers, -s policy, -r repeats, -g gate. With the gate all
 * workers are held while the tasks are submitted: submission (with inferring dependencies) and drain
 * (scheduling, execution, termination) are then measured apart. A warm-up comes first and is not counted. */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include <starpu.h>

#include "measure.h"

enum { WARM_UP_TASKS = 2000, EXIT_SKIP = 77 };

struct stream {
    long count;
    int workers, repeats, gate;
    const char *policy;
    double submit_us[SAMPLES_MAX], total_us[SAMPLES_MAX], drain_us[SAMPLES_MAX]; /* per task */
    long done; /* tasks of all repetitions, warm-up included */
};

static inline void fill_conf(struct starpu_conf *conf, int workers, const char *policy)
{
    starpu_conf_init(conf);
    conf->ncpus = workers;
    conf->ncuda = 0;
    conf->nopencl = 0;
    conf->sched_policy_name = policy;
}

static inline void stream_init(struct stream *s, int argc, char **argv, long count)
{
    struct starpu_conf conf;
    *s = (struct stream){ .count = option_number(argc, argv, "-n", count),
                          .workers = (int)option_number(argc, argv, "-w", 1),
                          .repeats = option_repeats(argc, argv),
                          .gate = option_given(argc, argv, "-g"),
                          .policy = option_text(argc, argv, "-s", "eager") };
    fill_conf(&conf, s->workers, s->policy);
    int error = starpu_init(&conf);
    if (error) {
        fprintf(stderr, "starpu_init: %d\n", error);
        exit(EXIT_SKIP);
    }
}

static volatile int gate_is_open;
static int gate_held; /* workers in the gate; by atomic operations only */

static void wait_for_gate(void *buffers[], void *args)
{
    (void)buffers;
    (void)args;
    __atomic_add_fetch(&gate_held, 1, __ATOMIC_SEQ_CST);
    while (!gate_is_open) usleep(200);
}

static struct starpu_codelet gate_codelet = { .cpu_funcs = { wait_for_gate }, .nbuffers = 0, .name = "gate" };

static inline void submit_or_die(struct starpu_task *task)
{
    int error = starpu_task_submit(task);
    if (error) {
        fprintf(stderr, "starpu_task_submit: %d\n", error);
        exit(1);
    }
}

/* Holds every worker in one task. */
static inline void gate_close(int workers)
{
    gate_is_open = 0;
    __atomic_store_n(&gate_held, 0, __ATOMIC_SEQ_CST);
    for (int k = 0; k < workers; k++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &gate_codelet;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)k;
        submit_or_die(task);
    }
    while (__atomic_load_n(&gate_held, __ATOMIC_SEQ_CST) < workers) usleep(100);
}

static inline void gate_open(void)
{
    gate_is_open = 1;
}

/* submit(count, data) submits `count` tasks. */
static inline void stream_run(struct stream *s, void (*submit)(long count, void *data), void *data)
{
    for (int k = -1; k < s->repeats; k++) {
        long count = k < 0 ? WARM_UP_TASKS : s->count;
        if (s->gate) gate_close(s->workers);
        double start = now();
        submit(count, data);
        double submitted = now();
        if (s->gate) gate_open();
        starpu_task_wait_for_all();
        double end = now(), scale = 1e6 / (double)count;
        s->done += count;
        if (k < 0) continue;
        s->submit_us[k] = (submitted - start) * scale;
        s->total_us[k] = (end - start) * scale;
        s->drain_us[k] = (end - submitted) * scale;
    }
}

static inline void stream_print(struct stream *s, const char *name, int is_right)
{
    double submit = median(s->submit_us, s->repeats), total = median(s->total_us, s->repeats);
    double drain = median(s->drain_us, s->repeats);
    printf(
        "%s policy=%s workers=%d n=%ld gate=%d submit_us=%.4f total_us=%.4f [%.4f-%.4f] drain_us=%.4f %s\n",
        name, s->policy, s->workers, s->count, s->gate, submit, total, s->total_us[0],
        s->total_us[s->repeats - 1], drain, is_right ? "ok" : "WRONG");
}

#endif
