/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 3 */
/*
 * What remains when something ends before its time: callbacks of messages that a shutdown gave up, requests
 * that nobody waited for, contributions on a communicator that is freed, values kept where old ones were.
 * Threads: main of each rank; workers execute.
 * Owns: the data of each case; the runtime, which goes on from case to case.
 * Not here: what a shutdown waits for (shutdown.c).
 */
#include "tests/mpi/helper_mpi.h"

enum { OLD_BYTES = 64 << 10, OLD_HANDLES = 70 };

static atomic_int called;

static void layer_start(void)
{
    if (starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, NULL)) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void count_call(void *unused UNUSED)
{
    atomic_fetch_add(&called, 1);
}

/* ---- messages that were given up ---- */

static int value, other, own;
static starpu_data_handle_t handle, held, sent, packed;
static starpu_mpi_req late, done;
static MPI_Comm first, second;

static void register_all(void)
{
    static uint32_t columns[1] = { 0 }, rows[2] = { 0, 1 };
    value = my_rank == 0 ? 42 : 0;
    register_int(&handle, &value);
    register_int(&held, &other);
    register_int(&sent, &own);
    starpu_csr_data_register(&packed, STARPU_MAIN_RAM, 1, 1, (uintptr_t)&value, columns, rows, 0,
                             sizeof value);
}

/* What never ends, or is never waited for; rank 0 names its communicators in another order than next time. */
static void leave_messages(void)
{
    starpu_mpi_comm_register(first);
    if (my_rank == 0) {
        starpu_mpi_recv(handle, 1, 2, first, MPI_STATUS_IGNORE);
        starpu_mpi_isend_detached(handle, 1, 1, second, NULL, NULL);
    } else if (my_rank == 1) {
        starpu_data_acquire(held, STARPU_W);
        starpu_data_acquire(packed, STARPU_R);
        starpu_mpi_irecv_detached(held, 0, 1, MPI_COMM_WORLD, count_call, NULL);
        starpu_mpi_irecv_detached(packed, 0, 2, MPI_COMM_WORLD, count_call, NULL);
        starpu_mpi_isend(sent, &done, 0, 2, first);
        starpu_data_acquire(sent, STARPU_W);
        starpu_mpi_isend(sent, &late, 0, 3, first);
    }
}

static void given_up(void)
{
    MPI_Status status;
    layer_start();
    register_all();
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    leave_messages();
    int result = starpu_mpi_shutdown(), came = 1, ended = 1;
    if (my_rank == 1) {
        starpu_data_release(held);
        starpu_data_release(packed);
        starpu_data_release(sent);
        came = comes_to(&called, 2, 5000);
    }
    fact(result == -EIO && came, "callbacks of messages that were given up come with the layer gone");
    if (came) starpu_data_unregister(packed);
    layer_start();
    if (my_rank == 1) {
        ended = starpu_mpi_wait(&late, &status) == -ECANCELED && status.MPI_SOURCE == 1;
        ended &= starpu_mpi_wait(&done, &status) == 0 && status.MPI_SOURCE == 1;
    }
    fact(ended, "requests of before can be waited for after the layer was started again");
    value = my_rank == 0 ? 43 : 0;
    if (my_rank == 0) starpu_mpi_isend_detached(handle, 1, 1, second, NULL, NULL);
    if (my_rank == 1) starpu_mpi_irecv_detached(handle, 0, 1, second, NULL, NULL);
    result = starpu_mpi_shutdown();
    starpu_data_unregister(handle);
    starpu_data_unregister(held);
    starpu_data_unregister(sent);
    fact(result == 0 && (my_rank > 1 || value == 43),
         "a name for a communicator that nobody heard is not heard by the next start");
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
}

/* ---- contributions ---- */

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static struct starpu_codelet zero_cl = { .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W } };

static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet sum_cl = { .cpu_funcs = { sum_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R } };

static void one_more_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet one_more_cl = { .cpu_funcs = { one_more_func },
                                             .nbuffers = 1,
                                             .modes = { STARPU_REDUX } };

static void contribute(MPI_Comm comm, starpu_data_handle_t sum)
{
    for (int i = 0; i < ranks; i++)
        starpu_mpi_task_insert(comm, &one_more_cl, STARPU_REDUX, sum, STARPU_EXECUTE_ON_NODE, i, 0);
}

static void freed_communicator(void)
{
    MPI_Comm comm;
    value = 100;
    layer_start();
    MPI_Comm_split(MPI_COMM_WORLD, 0, -my_rank, &comm);
    register_owned(&handle, &value, 5, 0);
    starpu_data_set_reduction_methods(handle, &sum_cl, &zero_cl);
    contribute(comm, handle);
    MPI_Comm_free(&comm);
    int status = starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    fact(status == 0 && (my_rank != 0 || value == 100 + ranks),
         "contributions on a communicator that was freed are added up");
    starpu_mpi_shutdown();
}

static void copy_of_pending(void)
{
    int copy = 0;
    starpu_data_handle_t to;
    value = 100;
    layer_start();
    register_owned(&handle, &value, 5, 0);
    register_owned(&to, &copy, 6, 1);
    starpu_data_set_reduction_methods(handle, &sum_cl, &zero_cl);
    starpu_data_set_reduction_methods(to, &sum_cl, &zero_cl);
    for (int i = 0; i < 5; i++) contribute(MPI_COMM_WORLD, to);
    contribute(MPI_COMM_WORLD, handle);
    starpu_mpi_data_cpy(to, handle, MPI_COMM_WORLD, 1, NULL, NULL);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    starpu_data_unregister(to);
    fact((my_rank != 0 || value == 100 + ranks) && (my_rank != 1 || copy == 100 + ranks),
         "a copy is of the sum, and the sum of the place it goes to is over");
    starpu_mpi_shutdown();
}

/* Its owner is a rank of a communicator whose order is the opposite. */
static void outlives_the_layer(void)
{
    int rank, failed = 0;
    starpu_data_handle_t sum;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -my_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    value = 100;
    starpu_variable_data_register(&sum, rank ? -1 : STARPU_MAIN_RAM, rank ? 0 : (uintptr_t)&value,
                                  sizeof value);
    starpu_data_set_reduction_methods(sum, &sum_cl, &zero_cl);
    for (int i = 0; i < 3; i++) {
        layer_start();
        if (i == 0) starpu_mpi_data_register_comm(sum, 5, 0, comm);
        contribute(MPI_COMM_WORLD, sum);
        failed |= starpu_mpi_shutdown();
    }
    starpu_data_unregister(sum);
    fact(!failed && (rank != 0 || value == 100 + 3 * ranks),
         "data whose owner is counted elsewhere keeps it when the layer starts again");
    MPI_Comm_free(&comm);
}

/* ---- where old values are kept ---- */

static void touch_func(void *buffers[], void *arg UNUSED)
{
    ++*(char *)STARPU_VECTOR_GET_PTR(buffers[0]);
}
static struct starpu_codelet touch_cl = { .cpu_funcs = { touch_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW } };
static void look_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet look_cl = { .cpu_funcs = { look_func }, .nbuffers = 1, .modes = { STARPU_R } };

/* Values that rank 1 has by other means than a task are not taken for the old ones. */
static void kept_values(void)
{
    static char bytes[OLD_HANDLES][OLD_BYTES];
    starpu_data_handle_t handles[OLD_HANDLES];
    layer_start();
    for (int i = 0; i < OLD_HANDLES; i++) {
        starpu_vector_data_register(&handles[i], my_rank ? -1 : STARPU_MAIN_RAM,
                                    my_rank ? 0 : (uintptr_t)bytes[i], OLD_BYTES, 1);
        starpu_mpi_data_register(handles[i], i, 0);
    }
    for (int i = 0; i < OLD_HANDLES; i++) {
        starpu_mpi_task_insert(MPI_COMM_WORLD, &touch_cl, STARPU_RW, handles[i], 0);
        starpu_mpi_task_insert(MPI_COMM_WORLD, &look_cl, STARPU_R, handles[i], STARPU_EXECUTE_ON_NODE, 1, 0);
        starpu_mpi_task_insert(MPI_COMM_WORLD, &touch_cl, STARPU_RW, handles[i], 0);
        if (my_rank == 0 && i == 0) starpu_mpi_isend_detached(handles[0], 1, 900, MPI_COMM_WORLD, NULL, NULL);
        if (my_rank == 1 && i == 0) starpu_mpi_irecv_detached(handles[0], 0, 900, MPI_COMM_WORLD, NULL, NULL);
        if (my_rank == 1 && i == 1) {
            starpu_data_acquire(handles[1], STARPU_W);
            *(char *)starpu_data_get_local_ptr(handles[1]) = 9;
            starpu_data_release(handles[1]);
        }
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int received = my_rank != 1, written = my_rank != 1;
    for (int i = 0; my_rank == 1 && i < 2; i++) {
        if (starpu_data_acquire(handles[i], STARPU_R)) continue;
        char *p = starpu_data_get_local_ptr(handles[i]);
        if (i == 0) received = p && *p == 2;
        if (i == 1) written = p && *p == 9;
        starpu_data_release(handles[i]);
    }
    fact(received, "a value received by the program itself stays, where an old one was kept");
    fact(written, "so does one that the program wrote");
    for (int i = 0; i < OLD_HANDLES; i++) starpu_data_unregister(handles[i]);
    starpu_mpi_shutdown();
}

int main(int argc, char **argv)
{
    setenv("STARPU_SILENT", "1", 0);
    mpi_start(&argc, &argv, 1);
    starpu_mpi_shutdown();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf)) MPI_Abort(MPI_COMM_WORLD, 1);
    given_up();
    freed_communicator();
    copy_of_pending();
    outlives_the_layer();
    kept_values();
    starpu_shutdown();
    layer_start();
    return mpi_finish();
}
