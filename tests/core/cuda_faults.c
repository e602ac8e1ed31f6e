/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver when the library fails: each of the first calls in turn, a device that ends nothing any
 * more, no memory. Results are right, or it is said that there are none; nothing hangs, nothing is left
 * behind. Threads: main and the workers. Owns: the data of each case. Not here: what works (cuda.c).
 */
#include <orrery.h>
#include "tests/core/cuda_helper.h"

enum { N = 64, VECTORS = 4, ROUNDS = 2, CALLS = 300, STRIDE = SCALED(3, 15), RUNS = CALLS / STRIDE };

static atomic_int said;

static void note(const char *message UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&said, 1);
}

/* ---- y = 2 x, and then x = y + 1, on whatever there is ---- */

struct lines {
    const float *x;
    float *y, factor, plus;
};

static void line_kernel(void *arg)
{
    struct lines *l = arg;
    for (int i = 0; i < N; i++) l->y[i] = l->factor * l->x[i] + l->plus;
}

static struct lines lines_of(void *buffers[], void *arg)
{
    struct lines l = { .x = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]),
                       .y = (float *)STARPU_VECTOR_GET_PTR(buffers[1]) };
    starpu_codelet_unpack_args(arg, &l.factor, &l.plus);
    return l;
}

static void line_cpu(void *buffers[], void *arg)
{
    struct lines l = lines_of(buffers, arg);
    line_kernel(&l);
}

static void line_cuda(void *buffers[], void *arg)
{
    struct lines l = lines_of(buffers, arg);
    cuda_launch(line_kernel, &l, sizeof l);
}

static struct starpu_codelet line_cl = {
    .cpu_funcs = { line_cpu },
    .cuda_funcs = { line_cuda },
    .cuda_flags = { STARPU_CUDA_ASYNC },
    .nbuffers = 2,
    .modes = { STARPU_R, STARPU_W },
    .name = "line",
};

static int line(starpu_data_handle_t from, starpu_data_handle_t to, float factor, float plus)
{
    return starpu_task_insert(&line_cl, STARPU_R, from, STARPU_W, to, STARPU_VALUE, &factor, sizeof factor,
                              STARPU_VALUE, &plus, sizeof plus, 0);
}

/* How many numbers are wrong after some rounds. */
static int run_graph(void)
{
    static float x[VECTORS][N], y[VECTORS][N];
    starpu_data_handle_t hx[VECTORS], hy[VECTORS];
    int wrong = 0;
    for (int v = 0; v < VECTORS; v++) {
        for (int i = 0; i < N; i++) x[v][i] = (float)(v + i);
        starpu_vector_data_register(&hx[v], STARPU_MAIN_RAM, (uintptr_t)x[v], N, sizeof(float));
        starpu_vector_data_register(&hy[v], STARPU_MAIN_RAM, (uintptr_t)y[v], N, sizeof(float));
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int v = 0; v < VECTORS; v++) {
            line(hx[v], hy[v], 2, 0);
            line(hy[v], hx[v], 1, 1);
        }
    starpu_task_wait_for_all();
    for (int v = 0; v < VECTORS; v++) {
        bool there = starpu_data_acquire(hx[v], STARPU_R) == 0;
        if (there)
            starpu_data_release(hx[v]);
        else
            atomic_fetch_add(&said, 1); /* by the status */
        starpu_data_unregister(hx[v]);
        starpu_data_unregister(hy[v]);
        for (int i = 0; i < N; i++) wrong += x[v][i] != 4 * (float)(v + i) + 3;
    }
    return wrong;
}

/* ---- each call in turn ---- */

/* From one after the other of the first few on, so that runs of this program meet all of them. */
static void each_call(int first)
{
    int silent = 0, not_started = 0, runs_with_rest = 0, right = 0, rest = 0;
    char text[16];
    for (int n = 1 + first; n <= CALLS; n += STRIDE) {
        snprintf(text, sizeof text, "%d", n);
        cuda_setting("ORR_DOUBLE_CUDA_FAIL", text);
        cuda_setting("ORR_DOUBLE_CUDA_DEVICES", n / STRIDE % 2 ? "2" : "1");
        cuda_setting("ORR_DOUBLE_CUDA_PEERS", n / STRIDE % 4 < 2 ? "1" : "0");
        atomic_store(&said, 0);
        if (cuda_try_start(1, "eager") != 0) {
            not_started++;
            continue;
        }
        int wrong = run_graph();
        if (wrong && !atomic_load(&said))
            diag("call %d: %d numbers are wrong, and nothing was said", n, wrong);
        silent += wrong && !atomic_load(&said);
        right += !wrong;
        starpu_shutdown();
        runs_with_rest += cuda_double.left() > rest;
        rest = cuda_double.left();
    }
    cuda_setting("ORR_DOUBLE_CUDA_FAIL", NULL);
    is_int(not_started, 0, "with one of the first %d calls failing the runtime starts", CALLS);
    is_int(silent, 0, "no result is wrong that was not said to be");
    ok(right > RUNS * 9 / 10, "and most are right: %d of %d", right, RUNS);
    ok(runs_with_rest < RUNS / 5, "what was not given back is what that failed for: in %d runs",
       runs_with_rest);
}

/* ---- a device that goes wrong, or answers nothing, and a library that is closed ---- */

/* Runs with a setting of the double's: whether results are right or it was said that they are not. */
static bool comes_through(const char *name, const char *value)
{
    cuda_setting(name, value);
    atomic_store(&said, 0);
    if (cuda_try_start(1, "eager") != 0) return false;
    int wrong = run_graph();
    bool through = !wrong || atomic_load(&said);
    if (!through) diag("%s=%s: %d numbers are wrong, and nothing was said", name, value, wrong);
    starpu_shutdown();
    cuda_setting(name, NULL);
    return through;
}

static void goes_wrong(void)
{
    int through = 0, runs = 0, rest = cuda_double.left();
    char text[16];
    for (int n = 1; n <= 8; n++, runs++) {
        snprintf(text, sizeof text, "%d", n);
        through += comes_through("ORR_DOUBLE_CUDA_SPOIL", text);
    }
    is_int(through, runs, "a kernel that ruins the context makes no wrong result that is not said");
    through = runs = 0;
    for (int n = 20; n <= 200; n += 20, runs++) {
        snprintf(text, sizeof text, "%d", n);
        through += comes_through("ORR_DOUBLE_CUDA_GONE", text);
    }
    is_int(through, runs, "nor does a library that is closed under way, as when the process ends");
    diag("%d things were not given back, of contexts that answer errors", cuda_double.left() - rest);
}

/* More data than the device has memory, all used in turn. */
static void no_room(void)
{
    enum { MANY = 64, LENGTH_EACH = 4096 };
    static float x[MANY][LENGTH_EACH];
    starpu_data_handle_t h[MANY], other[MANY];
    int wrong = 0;
    cuda_setting("ORR_DOUBLE_CUDA_MEM_KB", "128");
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", "1");
    cuda_start(0, "eager");
    for (int v = 0; v < MANY; v++) {
        for (int i = 0; i < LENGTH_EACH; i++) x[v][i] = (float)v;
        starpu_vector_data_register(&h[v], STARPU_MAIN_RAM, (uintptr_t)x[v], LENGTH_EACH, sizeof(float));
        starpu_vector_data_register(&other[v], -1, 0, LENGTH_EACH, sizeof(float));
    }
    for (int v = 0; v < MANY; v++) line(h[v], other[v], 2, 0);
    for (int v = 0; v < MANY; v++) line(other[v], h[v], 1, 1);
    int status = starpu_task_wait_for_all();
    for (int v = 0; v < MANY; v++) {
        starpu_data_unregister(h[v]);
        starpu_data_unregister(other[v]);
        for (int i = 0; i < N; i++) wrong += x[v][i] != (float)(2 * v + 1);
    }
    starpu_shutdown();
    ok(all_of(status == 0, wrong == 0), "two MiB of data go through 128 KiB of a device");
    cuda_setting("ORR_DOUBLE_CUDA_MEM_KB", NULL);
}

/* Data that were asked for and that nobody waits for. */
static void leaves_early(void)
{
    static float x[VECTORS * 8][N * 64];
    starpu_data_handle_t h[VECTORS * 8];
    int rest = cuda_double.left();
    cuda_setting("ORR_DOUBLE_CUDA_DELAY_US", "2000");
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", "2");
    cuda_start(1, "eager");
    for (size_t v = 0; v < LENGTH(h); v++) {
        starpu_vector_data_register(&h[v], STARPU_MAIN_RAM, (uintptr_t)x[v], N * 64, sizeof(float));
        starpu_data_prefetch_on_node(h[v], cuda_node((int)v % 2), 1);
        starpu_data_idle_prefetch_on_node(h[v], cuda_node(!(v % 2)), 1);
        starpu_data_unregister_submit(h[v]);
    }
    starpu_shutdown();
    is_int(cuda_double.left() - rest, 0, "a runtime that stops while copies are under way leaves nothing");
    cuda_setting("ORR_DOUBLE_CUDA_DELAY_US", NULL);
}

/* ---- errors that functions report ---- */

static void solver_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    starpu_cusolver_report_error(__func__, __FILE__, __LINE__, 7);
}
static struct starpu_codelet solver_cl = { .cuda_funcs = { solver_func }, .name = "solver" };

static atomic_int names_it;

static void look(const char *message, void *arg UNUSED)
{
    atomic_fetch_add(&said, 1);
    if (strstr(message, "its kernel failed") && strstr(message, "task solver")) atomic_store(&names_it, 1);
}

static void reported(void)
{
    orrery_set_error_hook(look, NULL);
    cuda_start(1, "eager");
    int r = starpu_task_insert(&solver_cl, 0);
    starpu_task_wait_for_all();
    ok(all_of(r == 0, atomic_load(&names_it)),
       "a task whose function reports an error of a library has failed, and is named");
    starpu_shutdown();
    orrery_set_error_hook(note, NULL);
}

static void answers_nothing(void)
{
    cuda_setting("ORRERY_DEVICE_PATIENCE", "0.2");
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", "1");
    ok(comes_through("ORR_DOUBLE_CUDA_HANG", "3"),
       "a kernel that never ends is given up, and the others go on");
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", "2");
    ok(comes_through("ORR_DOUBLE_CUDA_HANG_COPY", "3"), "so is a copy");
    cuda_setting("ORRERY_DEVICE_PATIENCE", NULL);
}

int main(void)
{
    orrery_set_error_hook(note, NULL);
    each_call((int)(getpid() % STRIDE));
    no_room();
    leaves_early();
    reported();
    goes_wrong();      /* a context may answer errors from then on */
    answers_nothing(); /* last: something of the double's hangs from then on */
    return done_testing();
}
