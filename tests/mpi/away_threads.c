/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each rank use its data at home, in every way and at random moments, while one inserts
 * tasks that move these data about: nobody's change is lost. The threads are held up before and after they
 * tell of a use, and before they may be forgotten. Threads: main inserts, three use, a worker. Owns: the
 * data. Not here: one such thread, held up at a certain moment (away_late.c). ranks: 2 3
 */
#include <orrery_mpi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/data/data.h"
#include "tests/mpi/helper_mpi.h"

enum { DATA = 12, USERS = 3, ROUNDS = SCALED(20, 4), STEPS = 700, NAP_US = 300 };

/* The first half of each datum counts insertions, the second uses at home. */
static starpu_data_handle_t data[DATA];
static long value[DATA][2], inserted[DATA];
static atomic_long used[DATA];
static atomic_int failed, over;
static _Thread_local bool naps;
static _Thread_local uint64_t seed;
static int (*real_use)(struct orr_data *h, uint32_t how);
static void (*real_joined)(void);

static void nap(void)
{
    if (naps && random_below(&seed, 4) == 0) usleep((useconds_t)random_below(&seed, NAP_US));
}

static int late_use(struct orr_data *h, uint32_t how)
{
    nap();
    int r = real_use(h, how);
    nap();
    return r;
}

static void late_joined(void)
{
    nap();
    real_joined();
}

static void check(int r)
{
    if (r) atomic_fetch_add(&failed, 1);
}

static long *counts(void *buffer)
{
    return (long *)STARPU_VECTOR_GET_PTR(buffer);
}

static void count(void *buffers[], int which)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(starpu_task_get_current());
    for (unsigned i = 0; i < n; i++) counts(buffers[i])[which]++;
}

static void insert_body(void *buffers[], void *arg UNUSED)
{
    count(buffers, 0);
}
static void use_body(void *buffers[], void *arg UNUSED)
{
    count(buffers, 1);
}
static struct starpu_codelet insert_cl = { .cpu_funcs = { insert_body },
                                           .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                           .name = "insert" },
                             use_cl = { .cpu_funcs = { use_body },
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "use" };

/* ---- uses ---- */

static int own_datum(void)
{
    int d = (int)random_below(&seed, DATA);
    return d - d % ranks + my_rank < DATA ? d - d % ranks + my_rank : my_rank;
}

static void count_and_release(void *datum)
{
    intptr_t d = (intptr_t)datum;
    value[d][1]++;
    starpu_data_release(data[d]);
}

static void acquire(int d)
{
    check(starpu_data_acquire(data[d], STARPU_RW));
    value[d][1]++;
    if (random_below(&seed, 3) == 0) usleep(NAP_US / 2);
    if (random_below(&seed, 3) == 0) starpu_data_release_to(data[d], STARPU_R);
    starpu_data_release(data[d]);
}

static void try(int d)
{
    int r;
    while ((r = starpu_data_acquire_try(data[d], STARPU_RW)) == -EAGAIN) usleep(100);
    check(r);
    count_and_release((void *)(intptr_t)d);
}

static void use_in_task(int d, int mode)
{
    check(starpu_task_insert(&use_cl, mode, data[d], 0));
}

static void use_all_in_task(void)
{
    struct starpu_data_descr all[DATA];
    int n = 0;
    for (int d = my_rank; d < DATA; d += ranks) {
        all[n].handle = data[d];
        all[n++].mode = STARPU_RW;
        used[d]++;
    }
    check(starpu_task_insert(&use_cl, STARPU_DATA_MODE_ARRAY, all, n, 0));
}

static void use_one(int d)
{
    switch (random_below(&seed, 8)) {
    case 0: try(d); break;
    case 1: check(starpu_data_acquire_cb(data[d], STARPU_RW, count_and_release, (void *)(intptr_t)d)); break;
    case 2: use_in_task(d, STARPU_RW); break;
    case 3: use_in_task(d, STARPU_RW | STARPU_COMMUTE); break;
    default: acquire(d);
    }
    used[d]++;
}

static void *use_all_the_time(void *first_seed)
{
    naps = true;
    seed = (uint64_t)(uintptr_t)first_seed;
    while (!over) {
        if (random_below(&seed, 8) == 0)
            use_all_in_task();
        else
            use_one(own_datum());
        usleep((useconds_t)(200 + random_below(&seed, 600)));
    }
    return NULL;
}

/* ---- insertions ---- */

static void insert_on(int node, int first, int second)
{
    check(second < 0 ? starpu_mpi_task_insert(MPI_COMM_WORLD, &insert_cl, STARPU_RW, data[first],
                                              STARPU_EXECUTE_ON_NODE, node, 0)
                     : starpu_mpi_task_insert(MPI_COMM_WORLD, &insert_cl, STARPU_RW, data[first], STARPU_RW,
                                              data[second], STARPU_EXECUTE_ON_NODE, node, 0));
    inserted[first]++;
    if (second >= 0) inserted[second]++;
}

/* The same on all ranks. */
static void insert_all(uint64_t state)
{
    for (int step = 0; step < STEPS; step++) {
        int node = (int)random_below(&state, (uint64_t)ranks), first = (int)random_below(&state, DATA),
            second = (int)random_below(&state, DATA), pause = (int)random_below(&state, 40);
        insert_on(node, first, second % 3 && second != first ? second : -1);
        if (pause == 0)
            check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
        else if (pause < 10)
            usleep(NAP_US);
    }
}

static void one_round(uint64_t number)
{
    pthread_t user[USERS];
    for (int d = 0; d < DATA; d++) {
        bool mine = d % ranks == my_rank;
        value[d][0] = value[d][1] = inserted[d] = 0;
        used[d] = 0;
        starpu_vector_data_register(&data[d], mine ? STARPU_MAIN_RAM : -1, mine ? (uintptr_t)value[d] : 0, 2,
                                    sizeof value[d][0]);
        starpu_mpi_data_register(data[d], 40 + d, d % ranks);
    }
    for (int d = 0; d < DATA; d++) insert_on((d + 1) % ranks, d, -1);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    over = 0;
    for (uintptr_t i = 0; i < USERS; i++)
        if (pthread_create(&user[i], NULL, use_all_the_time,
                           (void *)(number * 100 + i * 10 + (uintptr_t)my_rank + 1)))
            exit(1);
    insert_all(number);
    over = 1;
    for (int i = 0; i < USERS; i++) pthread_join(user[i], NULL);
    starpu_task_wait_for_all();
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    for (int d = 0; d < DATA; d++) starpu_data_unregister(data[d]);
    for (int d = my_rank; d < DATA; d += ranks) {
        if (value[d][0] == inserted[d] && value[d][1] == used[d]) continue;
        diag("rank %d, datum %d: %ld of %ld insertions, %ld of %ld uses", my_rank, d, value[d][0],
             inserted[d], value[d][1], (long)used[d]);
        failed++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Places the first task; the others say where they run. */
static int to_the_first(const struct orrery_mpi_view *view UNUSED, void *arg UNUSED)
{
    return 0;
}

int main(int argc, char **argv)
{
    starpu_data_handle_t first;
    long one[2] = { 0 };
    mpi_start(&argc, &argv, 1);
    int moves = orrery_mpi_node_selection_register(to_the_first, NULL);
    check(moves < 0 || starpu_mpi_node_selection_set_current_policy(moves));
    starpu_vector_data_register(&first, my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                my_rank == 0 ? (uintptr_t)one : 0, 2, sizeof one[0]);
    starpu_mpi_data_register(first, 39, 0);
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &insert_cl, STARPU_RW, first, 0));
    real_use = orr_data_hooks.use;
    real_joined = orr_data_hooks.joined;
    fact(!failed && real_use && real_joined, "a placement of the program's own moves data");
    orr_data_hooks.use = late_use;
    orr_data_hooks.joined = late_joined;
    for (uint64_t number = 1; number <= ROUNDS; number++) one_round(number);
    fact(!failed, "nothing that threads do at home, or tasks elsewhere, is lost");
    starpu_data_unregister(first);
    return mpi_finish();
}
