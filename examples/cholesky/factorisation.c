/* SPDX-License-Identifier: BSD-3-Clause */
/* The task streams of the program: assembling, factorising, solving.
 * Threads: the main thread of every rank, all in the same order.
 * Owns: nothing.
 * Not here: what a task does (kernels.c), who holds what (tile_matrix.c), counting (traffic.c).
 *
 * Every rank walks the whole right-looking tile Cholesky; the runtime keeps a rank's own tasks and infers
 * messages from the others. A task of the factorisation runs where the tile it writes lives. In the solve the
 * pieces of the vector travel to the tiles, which are larger (STARPU_EXECUTE_ON_DATA).
 *
 * Priorities are exact bottom levels. Tasks that write one tile form a chain, so one number per tile is
 * enough: a walk backwards finds the level of each chain's first task, and inserting a task takes its weight
 * off again. */
#include "factorisation.h"

#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* Weights in units of a third of a tile's cube of flops. */
enum { WEIGHT_POTRF = 1, WEIGHT_TRSM = 3, WEIGHT_SYRK = 3, WEIGHT_GEMM = 6 };

static long max_long(long a, long b)
{
    return a > b ? a : b;
}

static void find_levels(struct factorisation *f)
{
    const struct tile_matrix *m = f->tiles;
    memset(f->level, 0, (size_t)m->stored * sizeof *f->level);
    for (int k = m->tile_rows - 1; k >= 0; k--) {
        int first = m->column_first[k], end = m->column_first[k + 1];
        for (int a = first + 1; a < end; a++) {
            int i = m->tiles[a].row;
            for (int b = first + 1; b <= a; b++) {
                long *level = &f->level[tile_matrix_index(m, i, m->tiles[b].row)];
                *level += a == b ? WEIGHT_SYRK : WEIGHT_GEMM;
                f->level[a] = max_long(f->level[a], *level);
                f->level[b] = max_long(f->level[b], *level);
            }
        }
        for (int a = first + 1; a < end; a++) {
            f->level[a] += WEIGHT_TRSM;
            f->level[first] = max_long(f->level[first], f->level[a]);
        }
        f->level[first] += WEIGHT_POTRF;
    }
}

static void count_work(struct factorisation *f)
{
    const struct tile_matrix *m = f->tiles;
    for (int k = 0; k < m->tile_rows; k++) {
        int first = m->column_first[k], end = m->column_first[k + 1];
        double nk = tile_matrix_rows(m, k);
        f->flops += nk * nk * nk / 3 + nk * nk / 2 + nk / 6;
        for (int a = first + 1; a < end; a++) {
            double na = tile_matrix_rows(m, m->tiles[a].row);
            f->flops += na * nk * nk + na * (na + 1) * nk;
            for (int b = first + 1; b < a; b++)
                f->flops += 2 * na * tile_matrix_rows(m, m->tiles[b].row) * nk;
        }
        long below = end - first - 1;
        f->tasks += 1 + below + below * (below + 1) / 2;
    }
}

int factorisation_init(struct factorisation *f, struct tile_matrix *tiles, const struct sparse_matrix *matrix,
                       MPI_Comm comm, bool use_priorities)
{
    *f = (struct factorisation){
        .tiles = tiles, .matrix = matrix, .comm = comm, .use_priorities = use_priorities
    };
    f->level = calloc((size_t)tiles->stored, sizeof *f->level);
    if (!f->level) return -1;
    count_work(f);
    return 0;
}

void factorisation_fini(struct factorisation *f)
{
    free(f->level);
    f->level = NULL;
}

/* What a policy offers: a policy without priorities has an empty range, some have only a few steps. */
struct priority_scale {
    long low, high, top_level;
};

/* The priority of the next task that writes tile t; takes its weight off the tile's level. */
static int take_priority(struct factorisation *f, const struct priority_scale *scale, int t, int weight)
{
    long level = f->level[t], range = scale->high - scale->low;
    f->level[t] -= weight;
    if (!f->use_priorities || range <= 0 || scale->top_level == 0) return STARPU_DEFAULT_PRIO;
    if (range >= scale->top_level) return (int)(scale->low + level);
    return (int)(scale->low + level * range / scale->top_level);
}

static struct priority_scale find_priority_scale(const struct factorisation *f)
{
    struct priority_scale scale = { .low = STARPU_DEFAULT_PRIO, .high = STARPU_MAX_PRIO };
    for (int t = 0; t < f->tiles->stored; t++) scale.top_level = max_long(scale.top_level, f->level[t]);
    if (scale.high - scale.low < scale.top_level) scale.low = STARPU_MIN_PRIO;
    return scale;
}

static size_t tile_bytes(const struct tile_matrix *m, int t)
{
    return (size_t)tile_matrix_rows(m, m->tiles[t].row) * (size_t)tile_matrix_rows(m, m->tiles[t].column) *
           sizeof(double);
}

static struct traffic_use tile_use(const struct tile_matrix *m, int t)
{
    return (struct traffic_use){ .datum = t, .owner = m->tiles[t].owner, .bytes = tile_bytes(m, t) };
}

static struct traffic_use piece_use(const struct tile_matrix *m, int vector, int k)
{
    return (struct traffic_use){ .datum = m->stored + vector * m->tile_rows + k,
                                 .owner = tile_matrix_owner(m, k, k),
                                 .bytes = (size_t)tile_matrix_rows(m, k) * sizeof(double) };
}

static int insert_potrf(struct factorisation *f, int k, const struct priority_scale *scale)
{
    struct tile_matrix *m = f->tiles;
    int d = m->column_first[k], first_row = k * m->tile_size;
    struct traffic_use write = tile_use(m, d);
    traffic_note(f->traffic, write.owner, NULL, NULL, &write);
    return starpu_mpi_task_insert(f->comm, &kernel_potrf, STARPU_RW, m->tiles[d].handle, STARPU_VALUE,
                                  &first_row, sizeof first_row, STARPU_PRIORITY,
                                  take_priority(f, scale, d, WEIGHT_POTRF), 0);
}

/* A task that reads tile `in` and updates tile `out`. */
static int insert_pair(struct factorisation *f, struct starpu_codelet *codelet, int in, int out, int priority)
{
    struct tile_matrix *m = f->tiles;
    struct traffic_use read = tile_use(m, in), write = tile_use(m, out);
    traffic_note(f->traffic, write.owner, &read, NULL, &write);
    return starpu_mpi_task_insert(f->comm, codelet, STARPU_R, m->tiles[in].handle, STARPU_RW,
                                  m->tiles[out].handle, STARPU_PRIORITY, priority, 0);
}

static int insert_gemm(struct factorisation *f, int a, int b, int out, int priority)
{
    struct tile_matrix *m = f->tiles;
    struct traffic_use first = tile_use(m, a), second = tile_use(m, b), write = tile_use(m, out);
    traffic_note(f->traffic, write.owner, &first, &second, &write);
    return starpu_mpi_task_insert(f->comm, &kernel_gemm, STARPU_R, m->tiles[a].handle, STARPU_R,
                                  m->tiles[b].handle, STARPU_RW, m->tiles[out].handle, STARPU_PRIORITY,
                                  priority, 0);
}

static int insert_step(struct factorisation *f, int k, const struct priority_scale *scale)
{
    struct tile_matrix *m = f->tiles;
    int first = m->column_first[k], end = m->column_first[k + 1];
    int error = insert_potrf(f, k, scale);
    for (int a = first + 1; a < end && !error; a++)
        error = insert_pair(f, &kernel_trsm, first, a, take_priority(f, scale, a, WEIGHT_TRSM));
    for (int a = first + 1; a < end && !error; a++) {
        int i = m->tiles[a].row, out = tile_matrix_index(m, i, i);
        error = insert_pair(f, &kernel_syrk, a, out, take_priority(f, scale, out, WEIGHT_SYRK));
        for (int b = first + 1; b < a && !error; b++) {
            out = tile_matrix_index(m, i, m->tiles[b].row);
            error = insert_gemm(f, a, b, out, take_priority(f, scale, out, WEIGHT_GEMM));
        }
    }
    return error;
}

int factorisation_insert_factor(struct factorisation *f)
{
    int error = 0;
    find_levels(f);
    struct priority_scale scale = find_priority_scale(f);
    for (int k = 0; k < f->tiles->tile_rows && !error; k++) error = insert_step(f, k, &scale);
    return error;
}

int factorisation_insert_assembly(struct factorisation *f, const double *rhs)
{
    struct tile_matrix *m = f->tiles;
    int error = 0;
    for (int t = 0; t < m->stored && !error; t++) {
        int first_row = m->tiles[t].row * m->tile_size, first_column = m->tiles[t].column * m->tile_size;
        struct traffic_use write = tile_use(m, t);
        traffic_note(f->traffic, write.owner, NULL, NULL, &write);
        error = starpu_mpi_task_insert(f->comm, &kernel_assemble, STARPU_W, m->tiles[t].handle, STARPU_VALUE,
                                       &f->matrix, sizeof f->matrix, STARPU_VALUE, &first_row,
                                       sizeof first_row, STARPU_VALUE, &first_column, sizeof first_column, 0);
    }
    for (int k = 0; k < m->tile_rows && !error; k++) {
        int first_row = k * m->tile_size;
        struct traffic_use write = piece_use(m, 0, k);
        traffic_note(f->traffic, write.owner, NULL, NULL, &write);
        error =
            starpu_mpi_task_insert(f->comm, &kernel_set_rhs, STARPU_W, m->solution.handles[k], STARPU_VALUE,
                                   &rhs, sizeof rhs, STARPU_VALUE, &first_row, sizeof first_row, 0);
    }
    return error;
}

/* piece k = L(k, k)^-1 piece k, or with the transpose. */
static int insert_solve(struct factorisation *f, struct starpu_codelet *codelet, int k)
{
    struct tile_matrix *m = f->tiles;
    struct traffic_use read = tile_use(m, m->column_first[k]), write = piece_use(m, 0, k);
    traffic_note(f->traffic, write.owner, &read, NULL, &write);
    return starpu_mpi_task_insert(f->comm, codelet, STARPU_R, m->tiles[m->column_first[k]].handle, STARPU_RW,
                                  m->solution.handles[k], 0);
}

/* piece `to` -= tile t times piece `from`, where tile t lives. */
static int insert_update(struct factorisation *f, struct starpu_codelet *codelet, int t, int from, int to)
{
    struct tile_matrix *m = f->tiles;
    struct traffic_use tile = tile_use(m, t), read = piece_use(m, 0, from), write = piece_use(m, 0, to);
    traffic_note(f->traffic, tile.owner, &tile, &read, &write);
    return starpu_mpi_task_insert(f->comm, codelet, STARPU_R, m->tiles[t].handle, STARPU_R,
                                  m->solution.handles[from], STARPU_RW, m->solution.handles[to],
                                  STARPU_EXECUTE_ON_DATA, m->tiles[t].handle, 0);
}

int factorisation_insert_solve(struct factorisation *f)
{
    struct tile_matrix *m = f->tiles;
    int error = 0;
    for (int k = 0; k < m->tile_rows && !error; k++) {
        error = insert_solve(f, &kernel_solve_forward, k);
        for (int t = m->column_first[k] + 1; t < m->column_first[k + 1] && !error; t++)
            error = insert_update(f, &kernel_update_forward, t, k, m->tiles[t].row);
    }
    for (int k = m->tile_rows - 1; k >= 0 && !error; k--) {
        for (int t = m->column_first[k] + 1; t < m->column_first[k + 1] && !error; t++)
            error = insert_update(f, &kernel_update_backward, t, m->tiles[t].row, k);
        if (!error) error = insert_solve(f, &kernel_solve_backward, k);
    }
    return error;
}

int factorisation_insert_diagonal(struct factorisation *f)
{
    struct tile_matrix *m = f->tiles;
    int error = 0;
    for (int k = 0; k < m->tile_rows && !error; k++) {
        struct traffic_use read = tile_use(m, m->column_first[k]), write = piece_use(m, 1, k);
        traffic_note(f->traffic, write.owner, &read, NULL, &write);
        error =
            starpu_mpi_task_insert(f->comm, &kernel_diagonal, STARPU_R, m->tiles[m->column_first[k]].handle,
                                   STARPU_W, m->diagonal.handles[k], 0);
    }
    return error;
}
