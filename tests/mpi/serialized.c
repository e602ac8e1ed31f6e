/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * Under MPI_THREAD_SERIALIZED no two threads are inside of MPI at the same time. The functions of MPI that
 * the library may call are replaced here by ones that count who is inside, wait a moment there, and go on.
 * Threads: main of each rank, its workers, the library's own.
 * Owns: the counters.
 * Not here: what the messages carry (types.c, communicators.c).
 */
#include <sched.h>

#include "tests/mpi/helper_mpi.h"

static atomic_int inside, overlaps, calls;

static void enter(void)
{
    if (atomic_fetch_add(&inside, 1) > 0) atomic_fetch_add(&overlaps, 1);
    if (atomic_fetch_add(&calls, 1) % 16 == 0) sched_yield();
}

static int leave(int r)
{
    atomic_fetch_sub(&inside, 1);
    return r;
}

#define COUNTED(name, parameters, ...)                                                                       \
    int name parameters                                                                                      \
    {                                                                                                        \
        enter();                                                                                             \
        return leave(P##name(__VA_ARGS__));                                                                  \
    }

COUNTED(MPI_Test, (MPI_Request * r, int *flag, MPI_Status *s), r, flag, s)
COUNTED(MPI_Testsome, (int n, MPI_Request r[], int *done, int which[], MPI_Status s[]), n, r, done, which, s)
COUNTED(MPI_Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), b, n,
        t, to, tag, c, r)
COUNTED(MPI_Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r), b, n, t,
        from, tag, c, r)
COUNTED(MPI_Type_contiguous, (int n, MPI_Datatype t, MPI_Datatype *r), n, t, r)
COUNTED(MPI_Type_commit, (MPI_Datatype * t), t)
COUNTED(MPI_Type_free, (MPI_Datatype * t), t)
COUNTED(MPI_Type_size_x, (MPI_Datatype t, MPI_Count *n), t, n)
COUNTED(MPI_Comm_group, (MPI_Comm c, MPI_Group *g), c, g)
COUNTED(MPI_Group_translate_ranks, (MPI_Group a, int n, const int x[], MPI_Group b, int y[]), a, n, x, b, y)
COUNTED(MPI_Comm_set_attr, (MPI_Comm c, int key, void *v), c, key, v)
COUNTED(MPI_Status_set_elements, (MPI_Status * s, MPI_Datatype t, int n), s, t, n)

/* ---- data with a type of the program's ---- */

static int make_type(starpu_data_handle_t handle, unsigned node UNUSED, MPI_Datatype *type)
{
    MPI_Type_contiguous((int)starpu_vector_get_nx(handle), MPI_INT, type);
    MPI_Type_commit(type);
    return 0;
}

static void free_type(MPI_Datatype *type)
{
    MPI_Type_free(type);
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    unsigned *p = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]),
             *q = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[1]);
    for (int i = 0; i < (int)STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i] += q[i];
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "add"
};

enum { DATA = 8, COUNT = 50, COMMS = 12 };

int main(int argc, char **argv)
{
    static unsigned values[DATA][COUNT];
    unsigned expected[DATA];
    int failed = 0;
    starpu_data_handle_t handles[DATA];
    MPI_Comm comms[COMMS];
    struct starpu_conf conf;
    int provided;
    signal(SIGALRM, out_of_time);
    alarm(50);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2 || provided < MPI_THREAD_SERIALIZED) {
        MPI_Finalize();
        if (my_rank == 0) skip_all("at least two ranks and MPI_THREAD_SERIALIZED are needed");
        exit(0);
    }
    for (int i = 0; i < COMMS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    starpu_conf_init(&conf);
    conf.ncpus = 3;
    conf.ncuda = conf.nopencl = 0;
    conf.precedence_over_environment_variables = 1;
    if (starpu_mpi_init_conf(&argc, &argv, 0, MPI_COMM_WORLD, &conf)) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < DATA; i++) {
        expected[i] = (unsigned)i;
        for (int k = 0; k < COUNT; k++) values[i][k] = (unsigned)i;
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)values[i], COUNT, sizeof(int));
        starpu_mpi_data_register(handles[i], i, i % ranks);
    }
    starpu_mpi_datatype_node_register(handles[0], make_type, free_type);
    atomic_store(&overlaps, 0);
    for (int round = 0; round < 60; round++) {
        MPI_Comm comm = comms[round % COMMS]; /* a new one now and then, while messages are under way */
        for (int i = 0; i < DATA; i++) {
            int from = (i + 1 + round % (DATA - 1)) % DATA;
            expected[i] += expected[from];
            failed |=
                starpu_mpi_task_insert(comm, &add_cl, STARPU_RW, handles[i], STARPU_R, handles[from], 0);
        }
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int seen = atomic_load(&overlaps);
    for (int i = 0; i < DATA; i++) {
        starpu_data_unregister(handles[i]);
        failed |= i % ranks == my_rank && values[i][COUNT - 1] != expected[i];
    }
    fact(!failed && seen == 0 && atomic_load(&calls) > 100,
         "no two threads are in MPI at once, with types of the program and new communicators (%s)",
         seen ? "they are" : "none");
    return mpi_finish();
}
