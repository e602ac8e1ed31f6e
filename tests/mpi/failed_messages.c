/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * A message that fails is known at both ends: the wait returns the error, waiting for everything does, the
 * line printed names the data, tag and rank, and the data received has no value then, so that no task goes on
 * as if it had come.
 * Threads: main of each rank; tasks on its worker.
 * Owns: the data of each case, and a pipe in place of standard error.
 * Not here: what tasks without their data do (tests/core), messages that tasks made and that do not fit
 * (failures_messages.c).
 */
#include <fcntl.h>
#include "tests/mpi/helper_mpi.h"

static int saved_stderr, text_fd;
static char text[8192];

/* Standard error goes to a file from here ... */
static void listen_begin(void)
{
    char name[] = "/tmp/orrery-said.XXXXXX";
    text_fd = mkstemp(name);
    unlink(name);
    fflush(stderr);
    saved_stderr = dup(2);
    dup2(text_fd, 2);
}

/* ... to here; text has what was said. */
static void listen_end(void)
{
    fflush(stderr);
    dup2(saved_stderr, 2);
    close(saved_stderr);
    ssize_t n = pread(text_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    close(text_fd);
}

static int has_no_value(starpu_data_handle_t handle)
{
    int is_allocated, is_valid, is_requested;
    starpu_data_query_status(handle, STARPU_MAIN_RAM, &is_allocated, &is_valid, &is_requested);
    return !is_valid;
}

/* Receives what the other rank cannot send. */
static void never_written(int with_request)
{
    starpu_data_handle_t handle;
    int value = -1, status = 0, all;
    if (my_rank == 0)
        starpu_variable_data_register(&handle, -1, 0, sizeof value);
    else
        register_int(&handle, &value);
    starpu_data_set_name(handle, "never");
    listen_begin();
    if (my_rank == 0) {
        status = starpu_mpi_send(handle, 1, 11, MPI_COMM_WORLD);
    } else if (with_request) {
        starpu_mpi_req request;
        starpu_mpi_irecv(handle, &request, 0, 11, MPI_COMM_WORLD);
        status = starpu_mpi_wait(&request, MPI_STATUS_IGNORE);
    } else {
        starpu_mpi_irecv_detached(handle, 0, 11, MPI_COMM_WORLD, NULL, NULL);
    }
    all = starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    listen_end();
    if (my_rank == 0 || with_request)
        fact(status == -ENODATA,
             "data that nobody wrote: the send, and the wait for its receive, return -ENODATA");
    else
        fact(1, "(a detached receive returns nothing)");
    fact(all == -ENODATA, "and so does waiting for everything");
    fact(strstr(text, "\"never\"") && strstr(text, "tag 11"), "a line names the data and the tag");
    fact(my_rank == 0 || strstr(text, "rank 0"), "and the rank that it did not come from");
    fact(has_no_value(handle), "what was to be received has no value");
    fact(starpu_mpi_wait_for_all(MPI_COMM_WORLD) == 0, "it is told once");
    starpu_data_unregister(handle);
}

/* Sizes that do not fit. */
static void too_long(int bytes, int room)
{
    char *memory = calloc(1, 1 << 20);
    starpu_data_handle_t handle;
    int status, all;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)memory,
                                (uint32_t)(my_rank ? room : bytes), 1);
    listen_begin();
    if (my_rank == 0)
        status = starpu_mpi_send(handle, 1, 12, MPI_COMM_WORLD);
    else
        status = starpu_mpi_recv(handle, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    all = starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    listen_end();
    int expected = my_rank == 0 ? 0 : -EMSGSIZE;
    fact(status == expected && all == expected, "%d bytes for %d are an error where they are received", bytes,
         room);
    fact(my_rank == 0 || has_no_value(handle), "and leave no value behind");
    /* the data goes on being of use */
    if (my_rank == 0)
        status = starpu_mpi_recv(handle, 1, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        status = starpu_data_acquire(handle, STARPU_W);
    if (my_rank == 1) starpu_data_release(handle);
    if (my_rank == 1) {
        starpu_data_handle_t right;
        starpu_vector_data_register(&right, STARPU_MAIN_RAM, (uintptr_t)memory, (uint32_t)bytes, 1);
        status |= starpu_mpi_send(right, 0, 13, MPI_COMM_WORLD);
        starpu_data_unregister(right);
    }
    fact(status == 0, "after which the data is received and written as usual");
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    free(memory);
}

static void get_on_node(void)
{
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, -1, 0, sizeof(int));
    starpu_mpi_data_register(handle, 14, 0);
    listen_begin();
    int status = starpu_mpi_get_data_on_node(MPI_COMM_WORLD, handle, 1);
    int all = starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    listen_end();
    fact(my_rank == 0 || status == -ENODATA,
         "bringing data that nobody wrote to a rank returns -ENODATA there");
    fact(all == -ENODATA, "and waiting for everything does on both");
    starpu_data_unregister(handle);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    never_written(1);
    never_written(0);
    too_long(64, 16);
    too_long(16, 64);
    too_long(300000, 100000);
    get_on_node();
    return mpi_finish();
}
