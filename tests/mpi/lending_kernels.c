/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 *
 * What a lent kernel sees of its task and its data, and what it leaves beside values: as at home. Each case
 * is tried until tasks were lent, if they are to be. Threads: main of each rank, workers. Owns: the data. Not
 * here: what the program does meanwhile (lending_hostile.c).
 */
#include <stdatomic.h>
#include <unistd.h>

#include "tests/mpi/helper_mpi.h"

enum { TASKS = 60, VALUES = 16, ROOM = 4096, NAP_US = 1500, TRIES = 40 };

/* [0]: what is computed; [1]: the rank that did it last */
static long value[TASKS][ROOM], common[VALUES];
static starpu_data_handle_t handle[TASKS], common_handle;
static struct starpu_task *task[TASKS];
static atomic_int strange;

static void note_rank(void *buffer)
{
    usleep(NAP_US);
    ((long *)STARPU_VECTOR_GET_PTR(buffer))[1] = my_rank;
}

static void own(starpu_data_handle_t *h, long *at, uint32_t nx, size_t room, int tag)
{
    starpu_vector_data_register_allocsize(h, my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                          my_rank == 0 ? (uintptr_t)at : 0, nx, sizeof *at, room);
    starpu_mpi_data_register(*h, tag, 0);
}

static void begin_values(uint32_t nx, size_t room)
{
    memset(value, 0, sizeof value);
    for (int i = 0; i < TASKS; i++) own(&handle[i], value[i], nx, room * sizeof value[i][0], i);
    own(&common_handle, common, VALUES, sizeof common, TASKS);
}

/* How many tasks ran on rank 1; on both ranks. */
static int end_values(void)
{
    int elsewhere = 0;
    for (int i = 0; i < TASKS; i++) starpu_data_unregister(handle[i]);
    starpu_data_unregister(common_handle);
    for (int i = 0; i < TASKS && my_rank == 0; i++) elsewhere += value[i][1] == 1;
    MPI_Bcast(&elsewhere, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return elsewhere;
}

static int until_lent(int (*once)(void))
{
    int elsewhere = 0;
    for (int i = 0; i < TRIES && elsewhere == 0; i++) elsewhere = once();
    return elsewhere;
}

/* ---- modes and priority ---- */

static void look(void *buffers[], void *arg)
{
    struct starpu_task *t = starpu_task_get_current();
    int priority;
    starpu_codelet_unpack_args(arg, &priority);
    note_rank(buffers[0]);
    if (STARPU_TASK_GET_NBUFFERS(t) != 2 || STARPU_TASK_GET_MODE(t, 0) != STARPU_RW ||
        STARPU_TASK_GET_MODE(t, 1) != STARPU_R || t->priority != priority)
        atomic_fetch_add(&strange, 1);
}
static struct starpu_codelet look_cl = { .cpu_funcs = { look },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "look" };

static int look_once(void)
{
    begin_values(VALUES, VALUES);
    for (int i = 0; i < TASKS; i++) {
        int priority = i % 4;
        starpu_mpi_task_insert(MPI_COMM_WORLD, &look_cl, STARPU_RW, handle[i], STARPU_R, common_handle,
                               STARPU_VALUE, &priority, sizeof priority, STARPU_PRIORITY, priority,
                               STARPU_EXECUTE_ON_NODE, 0, 0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    return end_values();
}

static void see_their_task(void)
{
    int elsewhere = until_lent(look_once);
    fact(elsewhere > 0 && strange == 0, "a lent kernel sees the modes and the priority of its task");
    if (strange) diag("%d of them do not", strange);
}

/* ---- where a piece begins ---- */

static void add_place(void *buffers[], void *arg UNUSED)
{
    long *v = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    long base = (long)STARPU_VECTOR_GET_SLICE_BASE(buffers[0]);
    note_rank(buffers[0]);
    v[0] += 1 + base;
}
static struct starpu_codelet add_place_cl = {
    .cpu_funcs = { add_place }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add_place"
};

static int pieces_once(void)
{
    static long whole[TASKS * VALUES];
    struct starpu_data_filter blocks = { .filter_func = starpu_vector_filter_block, .nchildren = TASKS };
    starpu_data_handle_t all;
    int elsewhere = 0;
    memset(whole, 0, sizeof whole);
    own(&all, whole, TASKS * VALUES, sizeof whole, 1000);
    starpu_data_partition_plan(all, &blocks, handle);
    for (int i = 0; i < TASKS; i++) starpu_mpi_data_register(handle[i], i, 0);
    for (int i = 0; i < TASKS; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &add_place_cl, STARPU_RW, handle[i], STARPU_EXECUTE_ON_NODE, 0,
                               0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_partition_clean(all, TASKS, handle);
    starpu_data_unregister(all);
    for (int i = 0; i < TASKS && my_rank == 0; i++) {
        atomic_fetch_add(&strange, whole[i * VALUES] != 1 + i * VALUES);
        elsewhere += whole[i * VALUES + 1] == 1;
    }
    MPI_Bcast(&elsewhere, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return elsewhere;
}

static void see_where_pieces_begin(void)
{
    strange = 0;
    int elsewhere = until_lent(pieces_once);
    fact(elsewhere > 0 && strange == 0, "and where in the whole its piece of a vector begins");
    if (strange) diag("%d values are wrong", strange);
}

/* ---- lengths, and failure ---- */

static void shorten(void *buffers[], void *arg UNUSED)
{
    struct starpu_vector_interface *v = buffers[0];
    note_rank(v);
    ((long *)v->ptr)[0] += (long)v->nx;
    v->nx--;
    starpu_task_ft_failed(starpu_task_get_current());
}
static struct starpu_codelet shorten_cl = {
    .cpu_funcs = { shorten }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "shorten"
};

static int shorten_once(void)
{
    begin_values(VALUES, VALUES);
    for (int i = 0; i < TASKS; i++) {
        task[i] = starpu_mpi_task_build(MPI_COMM_WORLD, &shorten_cl, STARPU_RW, handle[i],
                                        STARPU_EXECUTE_ON_NODE, 0, 0);
        if (task[i]) {
            task[i]->destroy = 0;
            task[i]->detach = 0;
            atomic_fetch_add(&strange, starpu_task_submit(task[i]) != 0);
        }
        starpu_mpi_task_post_build(MPI_COMM_WORLD, &shorten_cl, STARPU_RW, handle[i], STARPU_EXECUTE_ON_NODE,
                                   0, 0);
    }
    for (int i = 0; i < TASKS; i++) {
        if (!task[i]) continue;
        atomic_fetch_add(&strange, starpu_task_wait(task[i]) != 0);
        atomic_fetch_add(&strange, !task[i]->failed);
        starpu_task_destroy(task[i]);
        starpu_data_acquire(handle[i], STARPU_R);
        atomic_fetch_add(&strange, starpu_vector_get_nx(handle[i]) != VALUES - 1 || value[i][0] != VALUES);
        starpu_data_release(handle[i]);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    return end_values();
}

static void leave_lengths(void)
{
    strange = 0;
    int elsewhere = until_lent(shorten_once);
    fact(elsewhere > 0 && strange == 0,
         "what it shortens is shorter at home, and a failure it tells is told");
    if (strange) diag("%d are not", strange);
}

/* ---- room for more ---- */

static void append(void *buffers[], void *arg UNUSED)
{
    struct starpu_vector_interface *v = buffers[0];
    size_t n = v->nx, more = v->allocsize / v->elemsize >= n + 1000 ? 1000 : 0;
    note_rank(v);
    for (size_t i = 0; i < more; i++) ((long *)v->ptr)[n + i] = (long)(n + i);
    v->nx = n + more;
}
static struct starpu_codelet append_cl = {
    .cpu_funcs = { append }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "append"
};

static void lengthen(void)
{
    enum { TIMES = 3 };
    strange = 0;
    begin_values(VALUES, ROOM);
    for (int i = 0; i < TASKS * TIMES; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &append_cl, STARPU_RW, handle[i % TASKS],
                               STARPU_EXECUTE_ON_NODE, 0, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < TASKS && my_rank == 0; i++) {
        long last = VALUES + TIMES * 1000 - 1;
        starpu_data_acquire(handle[i], STARPU_R);
        strange += (long)starpu_vector_get_nx(handle[i]) != last + 1 || value[i][last] != last;
        starpu_data_release(handle[i]);
    }
    end_values();
    fact(strange == 0, "data with room for more can be lengthened");
    if (strange) diag("%d are not", strange);
}

int main(int argc, char **argv)
{
    setenv("ORRERY_MPI_LEND", "1", 1);
    mpi_start(&argc, &argv, 2);
    see_their_task();
    see_where_pieces_begin();
    leave_lengths();
    lengthen();
    return mpi_finish();
}
