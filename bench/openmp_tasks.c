/* SPDX-License-Identifier: BSD-3-Clause */
/* openmp_tasks: the twins of tasks, chain, fan (-x: stencil) and cholesky in OpenMP, for comparison.
 * Threads: one inserts, the others execute; their number is -w, or that of OMP_NUM_THREADS.
 * Owns: the values that tasks increment.
 * Not here: any runtime of ours.
 *
 * -m tasks | chain | fan | stencil | cholesky, -n tasks -k handles -r repeats; -N size -b tile for cholesky.
 * Time runs until the barrier that ends the parallel region. With one thread OpenMP runs each task at once.
 */
#include <omp.h>

#include "cholesky_tile.h"

static volatile long sink;
static long *x, spread;

static void insert_tasks(long count)
{
    for (long k = 0; k < count; k++) {
#pragma omp task
        (void)sink;
    }
}

static void insert_chain(long count)
{
    for (long k = 0; k < count; k++) {
#pragma omp task depend(inout : x[0])
        x[0]++;
    }
}

static void insert_fan(long count)
{
    for (long k = 0; k < count; k++) {
        long i = k % spread, a = spread + i, other = (i * 7 + 1) % spread;
        long b = spread + (other == i ? (i + 1) % spread : other);
#pragma omp task depend(inout : x[i]) depend(in : x[a], x[b]) firstprivate(i)
        x[i]++;
        (void)a;
        (void)b;
    }
}

static void insert_stencil(long count)
{
    for (long k = 0; k < count; k++) {
        long i = k % spread, a = (i + spread - 1) % spread, b = (i + 1) % spread;
#pragma omp task depend(inout : x[i]) depend(in : x[a], x[b]) firstprivate(i)
        x[i]++;
        (void)a;
        (void)b;
    }
}

static void insert_cholesky(struct dense *m)
{
    int t = m->tile_rows, n = m->tile;
    double **tiles = m->tiles;
    for (int k = 0; k < t; k++) {
        double *d = tiles[k * t + k];
#pragma omp task depend(inout : d[0]) priority(2) firstprivate(d)
        tile_potrf(n, d);
        for (int i = k + 1; i < t; i++) {
            double *a = tiles[i * t + k];
#pragma omp task depend(in : d[0]) depend(inout : a[0]) priority(1) firstprivate(d, a)
            tile_trsm(n, d, a);
        }
        for (int i = k + 1; i < t; i++) {
            double *a = tiles[i * t + k], *e = tiles[i * t + i];
#pragma omp task depend(in : a[0]) depend(inout : e[0]) firstprivate(a, e)
            tile_syrk(n, a, e);
            for (int j = k + 1; j < i; j++) {
                double *b = tiles[j * t + k], *c = tiles[i * t + j];
#pragma omp task depend(in : a[0], b[0]) depend(inout : c[0]) firstprivate(a, b, c)
                tile_gemm(n, a, b, c);
            }
        }
    }
}

static int run_cholesky(int argc, char **argv, int repeats)
{
    struct dense m = dense_create((int)option_number(argc, argv, "-N", 2048),
                                  (int)option_number(argc, argv, "-b", 128), NULL);
    struct dense check = dense_create(m.size, m.tile, NULL);
    double rate[SAMPLES_MAX], yardstick[SAMPLES_MAX], size = m.size;
    openblas_set_num_threads(1);
    for (int k = -1; k < repeats; k++) {
        double sequential = dense_measure(&check);
        dense_fill(&m);
        double start = now();
#pragma omp parallel
#pragma omp single
        insert_cholesky(&m);
        if (k >= 0) {
            rate[k] = size * size * size / 3 / (now() - start) * 1e-9;
            yardstick[k] = sequential;
        }
    }
    int is_right = dense_difference(&m, &check) < 1e-8;
    double gflops = median(rate, repeats), sequential = median(yardstick, repeats);
    printf("openmp_cholesky N=%d tile=%d workers=%d gflops=%.2f sequential_gflops=%.2f share=%.3f %s\n",
           m.size, m.tile, omp_get_max_threads(), gflops, sequential,
           gflops / (sequential * omp_get_max_threads()), is_right ? "ok" : "WRONG");
    dense_destroy(&check);
    dense_destroy(&m);
    return !is_right;
}

static int run_stream(int argc, char **argv, const char *mode, int repeats)
{
    long count = option_number(argc, argv, "-n", 100000), sum = 0, done = 0;
    void (*insert)(long) = !strcmp(mode, "chain")     ? insert_chain
                           : !strcmp(mode, "fan")     ? insert_fan
                           : !strcmp(mode, "stencil") ? insert_stencil
                                                      : insert_tasks;
    double submit[SAMPLES_MAX], total[SAMPLES_MAX], submitted = 0;
    spread = option_number(argc, argv, "-k", 1000);
    x = calloc(2 * (size_t)spread + 1, sizeof *x);
    for (int k = -1; k < repeats; k++) {
        long now_count = k < 0 ? 2000 : count;
        double start = now();
#pragma omp parallel
#pragma omp single
        {
            insert(now_count);
            submitted = now();
        }
        double end = now();
        done += now_count;
        if (k >= 0) {
            submit[k] = (submitted - start) / (double)count * 1e6;
            total[k] = (end - start) / (double)count * 1e6;
        }
    }
    for (long k = 0; k < spread; k++) sum += x[k];
    int is_right = insert == insert_tasks || sum == done;
    double total_us = median(total, repeats);
    printf("openmp_%s workers=%d n=%ld submit_us=%.4f total_us=%.4f [%.4f-%.4f] %s\n", mode,
           omp_get_max_threads(), count, median(submit, repeats), total_us, total[0], total[repeats - 1],
           is_right ? "ok" : "WRONG");
    free(x);
    return !is_right;
}

int main(int argc, char **argv)
{
    const char *mode = option_text(argc, argv, "-m", "tasks");
    int repeats = option_repeats(argc, argv);
    omp_set_num_threads((int)option_number(argc, argv, "-w", omp_get_max_threads()));
    if (!strcmp(mode, "cholesky")) return run_cholesky(argc, argv, repeats);
    return run_stream(argc, argv, mode, repeats);
}
