/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Messages that arrive before their receive is posted, and receives that wait long for their message.
 * Threads: main of each rank; the progress engine.
 * Owns: the data of each case.
 * Not here: the forms of sending (p2p.c).
 */
#include "tests/mpi/helper_mpi.h"

static int next_rank, previous_rank;

/* Every rank is here before any goes on, and what was sent has had time to arrive. */
static void let_arrive(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(30000);
}

static void early_small(void)
{
    enum { N = 10 };
    int out[N], in[N], failed = 0, wrong = 0;
    starpu_data_handle_t out_handles[N], in_handles[N];
    for (int i = 0; i < N; i++) {
        out[i] = 100 * my_rank + i;
        in[i] = -1;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
        failed |= starpu_mpi_isend_detached(out_handles[i], next_rank, 100 + i, MPI_COMM_WORLD, NULL, NULL);
    }
    let_arrive();
    for (int i = N - 1; i >= 0; i--)
        failed |=
            starpu_mpi_irecv_detached(in_handles[i], previous_rank, 100 + i, MPI_COMM_WORLD, NULL, NULL);
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
        wrong += in[i] != 100 * previous_rank + i;
    }
    fact(!failed && wrong == 0,
         "ten messages that arrive before their receives are matched by tag, in reverse");
}

static void late_small(void)
{
    enum { N = 10 };
    int out[N], in[N], failed = 0, wrong = 0;
    starpu_data_handle_t out_handles[N], in_handles[N];
    for (int i = 0; i < N; i++) {
        out[i] = 100 * my_rank + i;
        in[i] = -1;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
        failed |=
            starpu_mpi_irecv_detached(in_handles[i], previous_rank, 200 + i, MPI_COMM_WORLD, NULL, NULL);
    }
    let_arrive();
    for (int i = N - 1; i >= 0; i--)
        failed |= starpu_mpi_isend_detached(out_handles[i], next_rank, 200 + i, MPI_COMM_WORLD, NULL, NULL);
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
        wrong += in[i] != 100 * previous_rank + i;
    }
    fact(!failed && wrong == 0, "ten receives that wait for their messages are matched by tag, in reverse");
}

static void early_one_tag(void)
{
    enum { N = 10 };
    int out[N], in[N], failed = 0, wrong = 0;
    starpu_data_handle_t out_handles[N], in_handles[N];
    for (int i = 0; i < N; i++) {
        out[i] = 100 * my_rank + i;
        in[i] = -1;
        register_int(&out_handles[i], &out[i]);
        register_int(&in_handles[i], &in[i]);
    }
    for (int i = 0; i < N; i++) {
        MPI_Status status;
        starpu_mpi_req request;
        failed |= starpu_mpi_isend(out_handles[i], &request, next_rank, 300, MPI_COMM_WORLD);
        failed |= starpu_mpi_wait(&request, &status);
    }
    let_arrive();
    for (int i = 0; i < N; i++) {
        MPI_Status status;
        failed |= starpu_mpi_recv(in_handles[i], previous_rank, 300, MPI_COMM_WORLD, &status);
    }
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        starpu_data_unregister(in_handles[i]);
        wrong += in[i] != 100 * previous_rank + i;
    }
    fact(!failed && wrong == 0, "early messages of one tag keep their order");
}

static void early_large(void)
{
    enum { N = 1 << 18, M = 3 };
    int failed = 0, wrong = 0, *out[M], *in[M];
    starpu_data_handle_t out_handles[M], in_handles[M];
    for (int m = 0; m < M; m++) {
        out[m] = malloc(N * sizeof(int));
        in[m] = calloc(N, sizeof(int));
        for (int i = 0; i < N; i++) out[m][i] = i * (m + 1) + my_rank;
        starpu_vector_data_register(&out_handles[m], STARPU_MAIN_RAM, (uintptr_t)out[m], N, sizeof(int));
        starpu_vector_data_register(&in_handles[m], STARPU_MAIN_RAM, (uintptr_t)in[m], N, sizeof(int));
        failed |= starpu_mpi_isend_detached(out_handles[m], next_rank, 400 + m, MPI_COMM_WORLD, NULL, NULL);
    }
    let_arrive();
    for (int m = M - 1; m >= 0; m--)
        failed |=
            starpu_mpi_irecv_detached(in_handles[m], previous_rank, 400 + m, MPI_COMM_WORLD, NULL, NULL);
    for (int m = 0; m < M; m++) {
        starpu_data_unregister(out_handles[m]);
        starpu_data_unregister(in_handles[m]);
        for (int i = 0; i < N; i++) wrong += in[m][i] != i * (m + 1) + previous_rank;
        free(out[m]);
        free(in[m]);
    }
    fact(!failed && wrong == 0, "three early messages of 1 MiB arrive whole, received in reverse");
}

static void slow_func(void *buffers[], void *arg UNUSED)
{
    usleep(20000);
    (*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]))++;
}
static struct starpu_codelet slow_cl = {
    .cpu_funcs = { slow_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "slow"
};

static void receiver_busy(void)
{
    int out = my_rank, in = 50, failed = 0;
    starpu_data_handle_t out_handle, in_handle;
    register_int(&out_handle, &out);
    register_int(&in_handle, &in);
    failed |= starpu_task_insert(&slow_cl, STARPU_RW, in_handle, 0);
    failed |= starpu_mpi_irecv_detached(in_handle, previous_rank, 500, MPI_COMM_WORLD, NULL, NULL);
    failed |= starpu_mpi_isend_detached(out_handle, next_rank, 500, MPI_COMM_WORLD, NULL, NULL);
    failed |= starpu_task_insert(&slow_cl, STARPU_RW, in_handle, 0);
    starpu_data_unregister(in_handle);
    starpu_data_unregister(out_handle);
    fact(!failed && in == previous_rank + 1, "a message waits for the task that still writes its target");
}

static void many_both_ways(void)
{
    enum { N = 30 };
    int out[N], in[RANKS_MOST][N], failed = 0, wrong = 0;
    starpu_data_handle_t out_handles[N], in_handles[RANKS_MOST][N];
    uint64_t seed = (uint64_t)my_rank + 1;
    int place[N];
    for (int i = 0; i < N; i++) {
        out[i] = 1000 * my_rank + i;
        register_int(&out_handles[i], &out[i]);
        place[i] = i;
        for (int other = 0; other < ranks; other++) {
            in[other][i] = -1;
            register_int(&in_handles[other][i], &in[other][i]);
        }
    }
    for (int i = N - 1; i > 0; i--) {
        int j = (int)random_below(&seed, (unsigned)i + 1), swap = place[i];
        place[i] = place[j];
        place[j] = swap;
    }
    for (int i = 0; i < N; i++)
        for (int other = 0; other < ranks; other++) {
            if (other == my_rank) continue;
            failed |= starpu_mpi_isend_detached(out_handles[place[i]], other, 600 + place[i], MPI_COMM_WORLD,
                                                NULL, NULL);
            failed |=
                starpu_mpi_irecv_detached(in_handles[other][i], other, 600 + i, MPI_COMM_WORLD, NULL, NULL);
        }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(out_handles[i]);
        for (int other = 0; other < ranks; other++) {
            starpu_data_unregister(in_handles[other][i]);
            wrong += other != my_rank && in[other][i] != 1000 * other + i;
        }
    }
    fact(!failed && wrong == 0, "30 messages between all pairs, sent in random order, find their receives");
}

static void count_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet count_cl = {
    .cpu_funcs = { count_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "count"
};

static int out_of_order;
static int last_seen;

static void look_func(void *buffers[], void *arg UNUSED)
{
    int value = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    out_of_order += value != ++last_seen;
}
static struct starpu_codelet look_cl = {
    .cpu_funcs = { look_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "look"
};

/* The most memory this process has had, in KiB. */
static long peak_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
    if (f) fclose(f);
    return kib;
}

/* Every second one has the same tag, the others one each. */
static void very_many(void)
{
    enum { N = SCALED(50000, 8000) };
    int out = 0, in = -1, failed = 0;
    long before = peak_kib();
    starpu_data_handle_t out_handle, in_handle;
    register_int(&out_handle, &out);
    register_int(&in_handle, &in);
    for (int i = 0; i < N && my_rank == 0; i++) {
        failed |= starpu_task_insert(&count_cl, STARPU_RW, out_handle, 0);
        failed |=
            starpu_mpi_isend_detached(out_handle, 1, 10000 + (i % 2 ? i : 0), MPI_COMM_WORLD, NULL, NULL);
    }
    let_arrive();
    for (int i = 0; i < N && my_rank == 1; i++) {
        failed |=
            starpu_mpi_irecv_detached(in_handle, 0, 10000 + (i % 2 ? i : 0), MPI_COMM_WORLD, NULL, NULL);
        failed |= starpu_task_insert(&look_cl, STARPU_R, in_handle, 0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(out_handle);
    starpu_data_unregister(in_handle);
    fact(!failed && out_of_order == 0 && (my_rank != 1 || last_seen == N),
         "%d early messages arrive in order", N);
    long grown = peak_kib() - before;
    const char *sanitizer = getenv("ORR_SANITIZER"); /* memory is then not what the program uses */
    if (!sanitizer || !*sanitizer || strcmp(sanitizer, "none") == 0)
        fact(grown < 5L * N, "they take less than 5 KiB each while they wait");
    if (my_rank < 2) fprintf(stderr, "# rank %d: %ld KiB at most for %d messages\n", my_rank, grown, N);
}

/* Bytes in a row; the last message is received first, so all others are early. */
static void large_in_all(void)
{
    enum { N = SCALED(20000, 2000), BYTES = 16000 };
    static char out[BYTES], in[BYTES];
    int failed = 0, last = N - 1;
    starpu_data_handle_t out_handle, in_handle;
    starpu_vector_data_register(&out_handle, STARPU_MAIN_RAM, (uintptr_t)out, BYTES, 1);
    starpu_vector_data_register(&in_handle, STARPU_MAIN_RAM, (uintptr_t)in, BYTES, 1);
    out[BYTES - 1] = 5;
    long before = peak_kib();
    for (int i = 0; i < N && my_rank == 0; i++)
        failed |= starpu_mpi_isend_detached(out_handle, 1, 100000 + i, MPI_COMM_WORLD, NULL, NULL);
    if (my_rank == 1)
        failed |= starpu_mpi_recv(in_handle, 0, 100000 + last, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long grown = peak_kib() - before;
    for (int i = 0; i < last && my_rank == 1; i++)
        failed |= starpu_mpi_irecv_detached(in_handle, 0, 100000 + i, MPI_COMM_WORLD, NULL, NULL);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(out_handle);
    starpu_data_unregister(in_handle);
    fact(!failed && (my_rank != 1 || in[BYTES - 1] == 5), "%d early messages of %d bytes arrive", (int)N,
         (int)BYTES);
    const char *sanitizer = getenv("ORR_SANITIZER");
    if (!sanitizer || !*sanitizer || strcmp(sanitizer, "none") == 0)
        fact(my_rank != 1 || grown < 64 * 1024, "their receiver keeps 16 MiB of them (it grew by %ld KiB)",
             grown);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    next_rank = (my_rank + 1) % ranks;
    previous_rank = (my_rank + ranks - 1) % ranks;
    early_small();
    late_small();
    early_one_tag();
    early_large();
    receiver_busy();
    many_both_ways();
    very_many();
    large_in_all();
    return mpi_finish();
}
