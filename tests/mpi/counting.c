/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * Counting what is sent to whom: while it is on, messages that are started count, whenever they leave; and
 * what observers are told of messages; and what STARPU_MPI_STATS prints.
 * Threads: main of each rank.
 * Owns: the data of the case.
 * Not here: -.
 */
#include "mpi/wire/event.h"
#include "tests/mpi/helper_mpi.h"
#include "tests/tools/runs.h"

enum { SMALL = 100, LARGE = 50000, TAG = 4711 };

/* ---- what observers are told ---- */

static atomic_int started, sent, received;
static atomic_size_t bytes_told;

static void see(struct orr_observer *o UNUSED, const struct orr_seen *e)
{
    int tag = (int)e->c;
    if (tag != TAG && tag != TAG + 1) return; /* the runtime's own */
    if (e->kind == ORR_EVENT_MESSAGE_STARTED) {
        atomic_fetch_add(&started, e->b == (uint64_t)!my_rank && e->a == (uint64_t)!my_rank);
        return;
    }
    atomic_fetch_add(e->kind == ORR_EVENT_MESSAGE_SENT ? &sent : &received, 1);
    atomic_fetch_add(&bytes_told, e->a);
}

/* Two messages from rank 0 to rank 1; nothing on others. */
static bool told_right(void)
{
    int here = my_rank < 2 ? 2 : 0, sends = my_rank == 0 ? 2 : 0;
    return atomic_load(&started) == here && atomic_load(&sent) == sends &&
           atomic_load(&received) == here - sends && atomic_load(&bytes_told) == (here ? SMALL + LARGE : 0);
}

static char memory[LARGE];
static struct gate gate;

static void wait_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    gate_pass(&gate);
}
static struct starpu_codelet wait_cl = {
    .cpu_funcs = { wait_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "wait"
};

/* From rank 0 to rank 1. */
static int send_one(starpu_data_handle_t handle, int tag)
{
    if (my_rank == 0) return starpu_mpi_isend_detached(handle, 1, tag, MPI_COMM_WORLD, NULL, NULL);
    if (my_rank == 1) return starpu_mpi_irecv_detached(handle, 0, tag, MPI_COMM_WORLD, NULL, NULL);
    return 0;
}

static size_t counted(void)
{
    size_t bytes[16] = { 0 }, sum = 0;
    starpu_mpi_comm_stats_retrieve(bytes);
    for (int i = 0; i < ranks; i++) sum += bytes[i];
    return my_rank == 0 && bytes[1] != sum ? SIZE_MAX : sum;
}

static size_t if_sender(size_t bytes)
{
    return my_rank == 0 ? bytes : 0;
}

/* ---- what STARPU_MPI_STATS prints ---- */

static void start_again(const char *shows)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    setenv("STARPU_MPI_STATS", shows, 1);
    if (starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf)) exit(1);
}

/* Whether starpu_mpi_comm_matrix finds in the text what rank 0 sent to rank 1: the second line, first column.
 */
static int drawn(const char *text)
{
    double bytes = 0, bytes_per_s = 0;
    char name[4096];
    snprintf(name, sizeof name, "%s/said", getenv("STARPU_HOME") ? getenv("STARPU_HOME") : "/tmp");
    FILE *f = fopen(name, "w");
    if (!f) return 0;
    fputs(text, f);
    fclose(f);
    if (run("tools/starpu_mpi_comm_matrix -n %s", name) != 0) return diag("%s", output), 0;
    if (run("sed -n '2s/ .*//p' %s_volume.data", name) == 0) sscanf(output, "%lf", &bytes);
    if (run("sed -n '2s/ .*//p' %s_bw.data", name) == 0) sscanf(output, "%lf", &bytes_per_s);
    run("rm -f %s %s_*", name, name);
    return bytes == 150000 && bytes_per_s > 150000 / 60.0;
}

/* Shuts the layer down; returns what was said meanwhile. */
static const char *said_at_the_end(void)
{
    static char text[4096];
    FILE *f = tmpfile();
    int old = dup(2);
    if (!f || old < 0 || dup2(fileno(f), 2) < 0) return "";
    starpu_mpi_shutdown();
    fflush(stderr);
    dup2(old, 2);
    close(old);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

static void matrix(void)
{
    enum { MESSAGES = 3 };
    starpu_data_handle_t handle;
    starpu_mpi_shutdown();
    start_again("1");
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)memory, LARGE, 1);
    for (int i = 0; i < MESSAGES; i++) send_one(handle, 6);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    const char *text = said_at_the_end(),
               *head = strstr(text, "from the rank of the line to that of the column");
    fact(my_rank || strstr(text, "rank 0 -> 1: 150000 bytes in 3 messages"),
         "each rank says what it sent to whom");
    fact(my_rank || drawn(text), "starpu_mpi_comm_matrix makes a matrix of that, and one of the speed");
    fact(my_rank ? !head : head && strstr(head, "0.143      (3)"),
         "rank 0 alone prints the matrix of all, in MiB and messages");
    start_again("0");
    text = said_at_the_end();
    fact(!strstr(text, "mpi stats"), "without it nothing is printed");
    start_again("0");
}

int main(int argc, char **argv)
{
    starpu_data_handle_t small, large;
    unsetenv("STARPU_MPI_STATS");
    unsetenv("STARPU_COMM_STATS");
    mpi_start(&argc, &argv, 1);
    starpu_vector_data_register(&small, STARPU_MAIN_RAM, (uintptr_t)memory, SMALL, 1);
    starpu_vector_data_register(&large, STARPU_MAIN_RAM, (uintptr_t)memory, LARGE, 1);
    send_one(small, 1);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(counted() == 0, "nothing counts before counting is switched on");

    struct orr_observer o = { .name = "messages", .see = see, .kinds = orr_events_of(ORR_EVENTS_MESSAGES) };
    orr_observer_add(&o);
    starpu_mpi_comm_stats_enable();
    send_one(small, TAG);
    send_one(large, TAG + 1);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(counted() == if_sender(SMALL + LARGE),
         "small and large messages count by their bytes, where they are sent");
    orr_observer_remove(&o);
    fact(told_right(), "observers are told of each once, where it starts, is sent, and is received");

    int failed = starpu_task_insert(&wait_cl, STARPU_RW, large, 0);
    send_one(large, 4);
    starpu_mpi_comm_stats_disable();
    send_one(small, 5);
    fact(counted() == if_sender(SMALL + LARGE), "what has not left yet is not there yet");
    atomic_store(&gate.open, 1);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && counted() == if_sender(SMALL + 2 * LARGE),
         "what was started between on and off counts, also when it leaves later; the rest does not");
    starpu_data_unregister(small);
    starpu_data_unregister(large);
    matrix();
    return mpi_finish();
}
