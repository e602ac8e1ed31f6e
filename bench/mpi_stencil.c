/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_stencil: a ring of tiles, one a worker; in each step the task of a tile reads its neighbours' of the
 * step before. What a step costs beyond its kernels, or the shortest kernel that is worth it (steps.h).
 * Threads: main of each rank inserts.
 * Owns: the tiles and their handles.
 * Not here: bare MPI (mpi_raw.c -x).
 *
 * -n steps -w workers -k kernel's us -m -q (with one worker) -b bytes of a tile -r repeats -s policy */
#include <starpu_mpi.h>

#include "steps.h"
#include "stream.h"

struct ring {
    int ranks, rank, tiles;
    starpu_data_handle_t *handles[2]; /* of each tile: even steps, odd steps */
    long steps;                       /* so far */
};

static int ends_steps; /* kernels of this rank, which has one worker */

static void step_func(void *buffers[], void *args)
{
    long *next = (long *)STARPU_VECTOR_GET_PTR(buffers[0]), least;
    double kernel_us;
    starpu_codelet_unpack_args(args, &kernel_us);
    least = *(long *)STARPU_VECTOR_GET_PTR(buffers[1]);
    for (int i = 2; i < 4; i++) {
        long other = *(long *)STARPU_VECTOR_GET_PTR(buffers[i]);
        if (other < least) least = other;
    }
    *next = least + 1;
    spin_us(kernel_us);
    if (ends_steps) step_over();
}

static struct starpu_codelet codelet = { .cpu_funcs = { step_func },
                                         .nbuffers = 4,
                                         .modes = { STARPU_W, STARPU_R, STARPU_R, STARPU_R },
                                         .name = "step" };

/* us of a step, on the slowest rank. */
static double run(long steps, double kernel_us, void *data)
{
    struct ring *r = data;
    starpu_mpi_barrier(MPI_COMM_WORLD);
    double start = now(), us, all;
    for (long step = 0; step < steps; step++) {
        starpu_data_handle_t *from = r->handles[(r->steps + step) % 2],
                             *to = r->handles[(r->steps + step + 1) % 2];
        for (int i = 0; i < r->tiles; i++)
            if (starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, STARPU_W, to[i], STARPU_R, from[i], STARPU_R,
                                       from[(i + r->tiles - 1) % r->tiles], STARPU_R,
                                       from[(i + 1) % r->tiles], STARPU_VALUE, &kernel_us, sizeof kernel_us,
                                       0))
                exit(1);
    }
    starpu_task_wait_for_all();
    starpu_mpi_barrier(MPI_COMM_WORLD);
    us = (now() - start) * 1e6 / (double)steps;
    r->steps += steps;
    MPI_Allreduce(&us, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void register_tiles(struct ring *r, char *memory, long bytes, int workers)
{
    for (int half = 0; half < 2; half++) {
        r->handles[half] = malloc((size_t)r->tiles * sizeof *r->handles[half]);
        for (int i = 0; i < r->tiles; i++) {
            int owner = i / workers;
            starpu_vector_data_register(&r->handles[half][i], owner == r->rank ? STARPU_MAIN_RAM : -1,
                                        owner == r->rank ? (uintptr_t)memory : 0, (uint32_t)bytes, 1);
            starpu_mpi_data_register(r->handles[half][i], half * r->tiles + i, owner);
            memory += bytes;
        }
    }
}

/* Each of my tiles counted all steps. */
static int is_right(const struct ring *r, const char *memory, long bytes, int workers)
{
    int wrong = 0, all;
    for (int i = 0; i < r->tiles; i++)
        if (i / workers == r->rank)
            wrong += *(const long *)(memory + (r->steps % 2 * r->tiles + i) * bytes) != r->steps;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all == 0;
}

int main(int argc, char **argv)
{
    int workers = (int)option_number(argc, argv, "-w", 1);
    long bytes = option_number(argc, argv, "-b", 64), cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct ring r = { .steps = 0 };
    struct starpu_conf conf;
    fill_conf(&conf, workers, option_text(argc, argv, "-s", "eager"));
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf)) return EXIT_SKIP;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &r.rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &r.ranks);
    r.tiles = r.ranks * workers;
    ends_steps = workers == 1;
    char *memory = calloc(2 * (size_t)r.tiles, (size_t)bytes);
    register_tiles(&r, memory, bytes, workers);
    struct steps s = { .run = run,
                       .data = &r,
                       .steps = option_number(argc, argv, "-n", 5000),
                       .repeats = option_repeats(argc, argv),
                       .kernels = r.tiles > cores ? (double)r.tiles / (double)cores : 1 };
    double us = steps_measure(&s, argc, argv);
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < r.tiles; i++) starpu_data_unregister(r.handles[half][i]);
    int right = is_right(&r, memory, bytes, workers);
    if (r.rank == 0) steps_print(&s, "mpi_stencil", us, argc, argv, right);
    starpu_mpi_shutdown();
    free(r.handles[0]);
    free(r.handles[1]);
    free(memory);
    return 0;
}
