/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * Messages switch planned partitions as tasks do: pieces sent and received after their parent was used last,
 * and parents after their pieces, in every form, and by transfers that task_insert infers.
 * Threads: main of each rank. Owns: the partitioned data. Not here: switches within a rank
 * (tests/core/data_plans.c, plans_uses.c).
 */
#include <orrery_mpi.h>
#include <stdbool.h>

#include "tests/mpi/helper_mpi.h"

enum { N = 12, PIECES = 3, TAG = 1000 };

static int next_rank, previous_rank;
static struct starpu_data_filter thirds = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };

static void add_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), by;
    starpu_codelet_unpack_args(arg, &by);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] += by;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static void add_to_func(void *buffers[], void *arg UNUSED)
{
    int *to = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), *by = (int *)STARPU_VECTOR_GET_PTR(buffers[1]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) to[i] += by[i];
}
static struct starpu_codelet add_to_cl = {
    .cpu_funcs = { add_to_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "add to"
};

struct planned {
    int v[N];
    starpu_data_handle_t h, piece[PIECES];
};

static void begin(struct planned *p, int value)
{
    for (int i = 0; i < N; i++) p->v[i] = value;
    starpu_vector_data_register(&p->h, STARPU_MAIN_RAM, (uintptr_t)p->v, N, sizeof p->v[0]);
    starpu_data_partition_plan(p->h, &thirds, p->piece);
}

static void end(struct planned *p)
{
    starpu_data_partition_clean(p->h, PIECES, p->piece);
    starpu_data_unregister(p->h);
}

static int add(starpu_data_handle_t h, int by)
{
    return starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_VALUE, &by, sizeof by, 0);
}

static int other_than(const int *v, int want)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += v[i] != want;
    return wrong;
}

static void blocking(void)
{
    struct planned p;
    MPI_Status status;
    int failed = 0;
    begin(&p, 0);
    for (int round = 0; round < 5; round++) { /* around the ranks: rank 0 starts, and ends */
        int tag = TAG + 10 * round;
        failed |= add(p.h, 1);
        if (my_rank == 0)
            for (int i = 0; i < PIECES; i++)
                failed |= starpu_mpi_send(p.piece[i], next_rank, tag + i, MPI_COMM_WORLD);
        for (int i = 0; i < PIECES; i++)
            failed |= starpu_mpi_recv(p.piece[i], previous_rank, tag + i, MPI_COMM_WORLD, &status);
        failed |= add(p.h, 1);
        if (my_rank > 0)
            for (int i = 0; i < PIECES; i++)
                failed |= starpu_mpi_send(p.piece[i], next_rank, tag + i, MPI_COMM_WORLD);
    }
    end(&p);
    int want = my_rank == 0 ? 5 * (ranks + 1) : 4 * (ranks + 1) + 1 + my_rank;
    fact(!failed && other_than(p.v, want) == 0,
         "pieces are sent and received, blocking, after their parent was used last");
}

static void with_requests(void)
{
    struct planned out, in;
    starpu_mpi_req sent[PIECES], received[PIECES], whole[2];
    MPI_Status status;
    int failed = 0;
    begin(&out, my_rank);
    begin(&in, -1);
    failed |= add(out.h, 1) | add(in.h, 1);
    for (int i = 0; i < PIECES; i++) {
        failed |= starpu_mpi_irecv(in.piece[i], &received[i], previous_rank, TAG + i, MPI_COMM_WORLD);
        failed |= starpu_mpi_isend(out.piece[i], &sent[i], next_rank, TAG + i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < PIECES; i++)
        failed |= starpu_mpi_wait(&received[i], &status) | starpu_mpi_wait(&sent[i], &status);
    failed |= add(in.piece[0], 1) | add(in.piece[1], 1) | add(in.piece[2], 1);
    failed |= starpu_mpi_irecv(out.h, &whole[0], previous_rank, TAG + 9, MPI_COMM_WORLD);
    failed |= starpu_mpi_issend(in.h, &whole[1], next_rank, TAG + 9, MPI_COMM_WORLD);
    failed |= starpu_mpi_wait(&whole[0], &status) | starpu_mpi_wait(&whole[1], &status);
    end(&out);
    end(&in);
    int before = (my_rank + 2 * ranks - 2) % ranks;
    fact(!failed && other_than(in.v, previous_rank + 2) == 0 && other_than(out.v, before + 2) == 0,
         "with requests: pieces after their parent, then a parent after its pieces");
}

static void detached(void)
{
    struct planned out, in;
    int failed = 0;
    begin(&out, my_rank);
    begin(&in, -1);
    for (int round = 0; round < 20; round++) {
        failed |= add(out.h, 1);
        for (int i = 0; i < PIECES; i++) {
            failed |= starpu_mpi_isend_detached(out.piece[i], next_rank, TAG + i, MPI_COMM_WORLD, NULL, NULL);
            failed |=
                starpu_mpi_irecv_detached(in.piece[i], previous_rank, TAG + i, MPI_COMM_WORLD, NULL, NULL);
        }
        failed |= starpu_task_insert(&add_to_cl, STARPU_RW, out.h, STARPU_R, in.h, 0);
        failed |= starpu_mpi_isend_detached(out.h, next_rank, TAG + 9, MPI_COMM_WORLD, NULL, NULL);
        failed |= starpu_mpi_irecv_detached(in.h, previous_rank, TAG + 9, MPI_COMM_WORLD, NULL, NULL);
    }
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int same = 1; /* what was received last is what the other has */
    for (int i = 1; i < N; i++) same &= in.v[i] == in.v[0] && out.v[i] == out.v[0];
    end(&out);
    end(&in);
    int theirs = -1;
    MPI_Sendrecv(&out.v[0], 1, MPI_INT, next_rank, 0, &theirs, 1, MPI_INT, previous_rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    fact(!failed && same && theirs == in.v[0] && other_than(in.v, theirs) == 0,
         "detached, parent and pieces in turn, without waiting in between");
}

/* Parts that are read only: parent and pieces at the same time. */
static void read_only(void)
{
    struct planned p, in;
    int failed = 0;
    begin(&p, 7);
    begin(&in, 0);
    starpu_data_partition_readonly_submit(p.h, PIECES, p.piece);
    failed |= starpu_data_acquire(p.h, STARPU_R);
    for (int i = 0; i < PIECES; i++) {
        failed |= starpu_mpi_isend_detached(p.piece[i], next_rank, TAG + i, MPI_COMM_WORLD, NULL, NULL);
        failed |= starpu_mpi_irecv_detached(in.piece[i], previous_rank, TAG + i, MPI_COMM_WORLD, NULL, NULL);
    }
    failed |= starpu_data_acquire(in.h, STARPU_R);
    fact(!failed && other_than(in.v, 7) == 0,
         "pieces that are cut for reading are sent while their parent is read");
    starpu_data_release(in.h);
    starpu_data_release(p.h);
    end(&p);
    end(&in);
}

static void register_vector(starpu_data_handle_t *h, int *v, size_t n, int tag, int owner)
{
    bool mine = my_rank == owner;
    starpu_vector_data_register(h, mine ? STARPU_MAIN_RAM : -1, mine ? (uintptr_t)v : 0, n, sizeof v[0]);
    starpu_mpi_data_register(*h, tag, owner);
}

/* Every rank has a vector of its own, known to all by pieces; tasks on pieces of others, and on whole ones.
 */
static void inferred(void)
{
    int v[RANKS_MOST][N], failed = 0, wrong = 0, one = 1;
    starpu_data_handle_t h[RANKS_MOST], piece[RANKS_MOST][PIECES];
    for (int r = 0; r < ranks; r++) {
        for (int i = 0; i < N; i++) v[r][i] = r;
        starpu_vector_data_register(&h[r], STARPU_MAIN_RAM, (uintptr_t)v[r], N, sizeof v[r][0]);
        starpu_mpi_data_register(h[r], TAG + 100 * r, r);
        starpu_data_partition_plan(h[r], &thirds, piece[r]);
        for (int i = 0; i < PIECES; i++) starpu_mpi_data_register(piece[r][i], TAG + 100 * r + 1 + i, r);
    }
    for (int round = 0; round < 5; round++) {
        for (int r = 0; r < ranks; r++)
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, h[r], STARPU_VALUE, &one,
                                             sizeof one, 0);
        for (int r = 0; r < ranks; r++)
            for (int i = 0; i < PIECES; i++)
                failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &add_to_cl, STARPU_RW, piece[r][i], STARPU_R,
                                                 piece[(r + 1) % ranks][i], 0);
    }
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int want[8];
    for (int r = 0; r < ranks; r++) want[r] = r;
    for (int round = 0; round < 5; round++) {
        for (int r = 0; r < ranks; r++) want[r]++;
        for (int r = 0; r < ranks; r++) want[r] += want[(r + 1) % ranks];
    }
    for (int r = 0; r < ranks; r++) {
        starpu_data_partition_clean(h[r], PIECES, piece[r]);
        starpu_data_unregister(h[r]);
    }
    wrong = other_than(v[my_rank], want[my_rank]);
    fact(!failed && wrong == 0, "tasks on pieces of other ranks' data, which are used as a whole in between");
}

/* What ranks keep of a piece is old once the whole was written, and the other way around. */
static void kept_copies(void)
{
    enum { ROUNDS = 4 };
    int v[N], sum[2 * RANKS_MOST][N], failed = 0, one = 1, wrong;
    starpu_data_handle_t h, piece[PIECES], part_sum[RANKS_MOST], whole_sum[RANKS_MOST];
    for (int i = 0; i < N; i++) v[i] = 0;
    memset(sum, 0, sizeof sum);
    register_vector(&h, v, N, TAG + 500, 0);
    starpu_data_partition_plan(h, &thirds, piece);
    for (int i = 0; i < PIECES; i++) starpu_mpi_data_register(piece[i], TAG + 501 + i, 0);
    for (int r = 0; r < ranks; r++) {
        register_vector(&part_sum[r], sum[2 * r], N / PIECES, TAG + 510 + r, r);
        register_vector(&whole_sum[r], sum[2 * r + 1], N, TAG + 520 + r, r);
    }
    for (int round = 0; round < ROUNDS; round++) {
        failed |=
            starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, h, STARPU_VALUE, &one, sizeof one, 0);
        for (int r = 0; r < ranks; r++)
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &add_to_cl, STARPU_RW, part_sum[r], STARPU_R,
                                             piece[1], 0);
        for (int r = 0; r < ranks; r++)
            failed |=
                starpu_mpi_task_insert(MPI_COMM_WORLD, &add_to_cl, STARPU_RW, whole_sum[r], STARPU_R, h, 0);
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, piece[1], STARPU_VALUE, &one,
                                         sizeof one, 0);
        for (int r = 0; r < ranks; r++)
            failed |=
                starpu_mpi_task_insert(MPI_COMM_WORLD, &add_to_cl, STARPU_RW, whole_sum[r], STARPU_R, h, 0);
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, piece[2], STARPU_VALUE, &one,
                                         sizeof one, 0); /* which no other rank ever has */
        for (int r = 0; r < ranks; r++)
            failed |=
                starpu_mpi_task_insert(MPI_COMM_WORLD, &add_to_cl, STARPU_RW, whole_sum[r], STARPU_R, h, 0);
    }
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        starpu_data_unregister(part_sum[r]);
        starpu_data_unregister(whole_sum[r]);
    }
    starpu_data_partition_clean(h, PIECES, piece);
    starpu_data_unregister(h);
    /* piece 1 was 1, 3, 5, 7 when its part was read; with the whole it was read at 1, 2, 2, 3, 4, 4, ..., and
     * piece 2 at 1, 1, 2, 3, 3, 4, ... */
    const int *whole = sum[2 * my_rank + 1];
    wrong = sum[2 * my_rank][0] != 16;
    wrong += whole[0] != 30 || whole[N / PIECES] != 56 || whole[2 * N / PIECES] != 52;
    fact(!failed && wrong == 0,
         "copies of pieces are old once the whole was written, and the other way around");
}

/* Each rank's whole is written by the next one, then a piece of it at home. */
static void written_elsewhere(const char *how)
{
    int v[N], failed = 0, one = 1;
    starpu_data_handle_t h[RANKS_MOST], piece[RANKS_MOST][PIECES];
    for (int i = 0; i < N; i++) v[i] = 0;
    for (int r = 0; r < ranks; r++) {
        register_vector(&h[r], v, N, TAG + 600 + 10 * r, r);
        starpu_data_partition_plan(h[r], &thirds, piece[r]);
        for (int i = 0; i < PIECES; i++) starpu_mpi_data_register(piece[r][i], TAG + 601 + 10 * r + i, r);
    }
    for (int round = 0; round < 3; round++)
        for (int r = 0; r < ranks; r++) {
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, h[r], STARPU_VALUE, &one,
                                             sizeof one, STARPU_EXECUTE_ON_NODE, (r + 1) % ranks, 0);
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, piece[r][1], STARPU_VALUE,
                                             &one, sizeof one, 0);
        }
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        starpu_data_partition_clean(h[r], PIECES, piece[r]);
        starpu_data_unregister(h[r]);
    }
    fact(!failed && v[0] == 3 && v[N / PIECES] == 6 && v[N - 1] == 3,
         "pieces have what another rank wrote to the whole (%s)", how);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    next_rank = (my_rank + 1) % ranks;
    previous_rank = (my_rank + ranks - 1) % ranks;
    blocking();
    with_requests();
    detached();
    read_only();
    inferred();
    kept_copies();
    written_elsewhere("as it is placed");
    if (starpu_mpi_node_selection_set_current_policy(ORRERY_MPI_NODE_SELECTION_DMDA)) return 1;
    written_elsewhere("under dmda");
    return mpi_finish();
}
