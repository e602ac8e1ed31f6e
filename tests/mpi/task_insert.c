/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Tasks inserted on all ranks: where they run, what is sent for them, the cache, and random streams over
 * handles of all ranks whose result must be that of a sequential execution.
 * Threads: main of each rank inserts; one worker per rank executes.
 * Owns: the values this rank owns, and the oracle's copy of all.
 * Not here: collective operations (collectives.c), migration (migrate.c).
 */
#include "tests/mpi/helper_mpi.h"

#define TAG_OWNER 1000
static starpu_data_handle_t owned[4];
static int owned_value[4];

static void register_one_per_rank(void)
{
    for (int i = 0; i < ranks; i++) {
        owned_value[i] = -1;
        register_owned(&owned[i], &owned_value[i], TAG_OWNER + i, i);
    }
}

static void unregister_one_per_rank(void)
{
    for (int i = 0; i < ranks; i++) starpu_data_unregister(owned[i]);
}

static void rank_func(void *buffers[], void *arg)
{
    int add;
    starpu_codelet_unpack_args(arg, &add);
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = my_rank + add;
}
static struct starpu_codelet rank_cl = {
    .cpu_funcs = { rank_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "rank"
};

static void copy_func(void *buffers[], void *arg)
{
    int add;
    starpu_codelet_unpack_args(arg, &add);
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]) + add;
}
static struct starpu_codelet copy_cl = {
    .cpu_funcs = { copy_func },
    .nbuffers = 2,
    .modes = { STARPU_W, STARPU_R },
    .name = "copy",
};

static void handles_know(void)
{
    int wrong = 0;
    register_one_per_rank();
    for (int i = 0; i < ranks; i++) {
        wrong += starpu_mpi_data_get_rank(owned[i]) != i;
        wrong += starpu_mpi_data_get_tag(owned[i]) != TAG_OWNER + i;
    }
    unregister_one_per_rank();
    fact(wrong == 0, "a handle knows its owner and tag on every rank");
}

static void places(void)
{
    int failed = 0, add = 500;
    register_one_per_rank();
    for (int i = 0; i < ranks; i++)
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rank_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                         owned[i], 0);
    starpu_task_wait_for_all();
    unregister_one_per_rank();
    fact(!failed && owned_value[my_rank] == 500 + my_rank,
         "a task runs on the rank that owns what it writes");

    register_one_per_rank();
    for (int i = 0; i < ranks; i++)
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rank_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                         owned[i], STARPU_EXECUTE_ON_NODE, (i + 1) % ranks, 0);
    starpu_task_wait_for_all();
    unregister_one_per_rank();
    fact(!failed && owned_value[my_rank] == 500 + (my_rank + 1) % ranks,
         "STARPU_EXECUTE_ON_NODE runs it on another, and the result comes back to the owner");

    register_one_per_rank();
    for (int i = 0; i < ranks; i++)
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rank_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                         owned[i], STARPU_EXECUTE_ON_DATA, owned[(i + ranks - 1) % ranks], 0);
    starpu_task_wait_for_all();
    unregister_one_per_rank();
    fact(!failed && owned_value[my_rank] == 500 + (my_rank + ranks - 1) % ranks,
         "STARPU_EXECUTE_ON_DATA runs it where another handle is owned");
}

static void inputs_travel(void)
{
    int failed = 0, zero = 0, one = 1;
    register_one_per_rank();
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rank_cl, STARPU_VALUE, &one, sizeof one, STARPU_W,
                                     owned[0], 0);
    for (int lap = 0; lap < 3; lap++)
        for (int i = 0; i < ranks; i++)
            failed |=
                starpu_mpi_task_insert(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, i == ranks - 1 ? &zero : &one,
                                       sizeof one, STARPU_W, owned[(i + 1) % ranks], STARPU_R, owned[i], 0);
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister_one_per_rank();
    fact(!failed &&
             owned_value[my_rank] == (my_rank == 0 ? 1 + 3 * (ranks - 1) : 1 + 2 * (ranks - 1) + my_rank),
         "what a task reads is sent to its rank, three laps around all ranks");
}

static atomic_int callbacks;
static void called_back(void *arg)
{
    atomic_fetch_add(&callbacks, *(int *)arg);
}

static void attributes(void)
{
    int failed = 0, add = 0, one = 1;
    atomic_store(&callbacks, 0);
    register_one_per_rank();
    for (int i = 0; i < ranks; i++)
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rank_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                         owned[i], STARPU_PRIORITY, 1, STARPU_NAME, "with a callback",
                                         STARPU_CALLBACK_WITH_ARG_NFREE, called_back, &one, 0);
    starpu_task_wait_for_all();
    unregister_one_per_rank();
    fact(!failed && callbacks == 1 && owned_value[my_rank] == my_rank,
         "callback, priority and name go with the task to its rank");
}

static void built_by_hand(void)
{
    int failed = 0, add = 40, wrong = 0;
    register_one_per_rank();
    for (int i = 0; i < ranks; i++) {
        int node = (i + 1) % ranks;
        struct starpu_task *task =
            starpu_mpi_task_build(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                  owned[i], STARPU_R, owned[i == 0 ? 1 : 0], STARPU_EXECUTE_ON_NODE, node, 0);
        wrong += (task != NULL) != (node == my_rank);
        if (task) {
            starpu_task_declare_deps_array(task, 0, NULL);
            failed |= starpu_task_submit(task);
        }
        failed |= starpu_mpi_task_post_build(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, &add, sizeof add,
                                             STARPU_W, owned[i], STARPU_R, owned[i == 0 ? 1 : 0],
                                             STARPU_EXECUTE_ON_NODE, node, 0);
    }
    starpu_task_wait_for_all();
    unregister_one_per_rank();
    fact(wrong == 0, "a task is built on the rank that executes it, and on no other");
    fact(!failed && owned_value[my_rank] == (my_rank == 0 ? 39 : 79),
         "built, submitted and post-built it moves its data alike");
}

static int order[30], order_count, order_wrong;
static void order_func(void *buffers[] UNUSED, void *arg)
{
    int number;
    starpu_codelet_unpack_args(arg, &number);
    order_wrong += starpu_worker_get_id() != 0;
    order[order_count++ % 30] = number;
}
static struct starpu_codelet order_cl = { .cpu_funcs = { order_func }, .name = "order" };

static void static_order(void)
{
    enum { N = 30 };
    int failed = 0, wrong = 0, worker = 0;
    for (int i = N; i >= 1; i--)
        for (int node = 0; node < ranks; node++) {
            unsigned number = (unsigned)i;
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &order_cl, STARPU_VALUE, &i, sizeof i,
                                             STARPU_EXECUTE_ON_NODE, node, STARPU_EXECUTE_ON_WORKER, worker,
                                             STARPU_WORKER_ORDER, number, 0);
        }
    starpu_task_wait_for_all();
    for (int i = 0; i < N; i++) wrong += order[i] != i + 1;
    fact(!failed && order_count == N && order_wrong == 0 && wrong == 0,
         "rank, worker and order on the worker can all be given: 30 tasks per rank inserted in reverse");
}

#define HANDLES 10
#define STREAM                                                                                               \
    (STARPU_AT_LEAST(1, 4) ? 300 : 60) /* a message takes 1.3 milliseconds when ranks share cores */
#define MOST 4
struct hash_op {
    int count, node;
    int which[MOST];
    enum starpu_data_access_mode mode[MOST];
    uint64_t salt;
};

static uint64_t mix64(uint64_t a, uint64_t b)
{
    uint64_t state = a ^ (b * 0xd6e8feb86659fd93ULL);
    return random_next(&state);
}

static void hash_values(const struct hash_op *op, uint64_t *values[])
{
    uint64_t hash = op->salt;
    for (int i = 0; i < op->count; i++)
        if (op->mode[i] & STARPU_R) hash = mix64(hash, *values[i]);
    for (int i = 0; i < op->count; i++)
        if (op->mode[i] & STARPU_W) *values[i] = mix64(hash, (uint64_t)i);
}

static void hash_func(void *buffers[], void *arg)
{
    struct hash_op op;
    uint64_t *values[MOST];
    starpu_codelet_unpack_args(arg, &op);
    for (int i = 0; i < op.count; i++) values[i] = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[i]);
    hash_values(&op, values);
}
static struct starpu_codelet hash_cl = { .cpu_funcs = { hash_func },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "hash" };

static void draw(struct hash_op *op, uint64_t *seed, int anywhere)
{
    static const enum starpu_data_access_mode modes[] = { STARPU_R, STARPU_R, STARPU_W, STARPU_RW };
    memset(op, 0, sizeof *op);
    op->salt = random_next(seed);
    int want = 1 + (int)random_below(seed, MOST), writes = 0;
    for (int i = 0; i < want; i++) {
        int which = (int)random_below(seed, HANDLES), again = 0;
        for (int j = 0; j < op->count; j++) again |= op->which[j] == which;
        if (again) continue;
        op->which[op->count] = which;
        op->mode[op->count] = modes[random_below(seed, LENGTH(modes))];
        if (!anywhere && writes && (op->mode[op->count] & STARPU_W))
            op->mode[op->count] = STARPU_R; /* one owner of what is written decides the rank */
        writes += (op->mode[op->count++] & STARPU_W) != 0;
    }
    if (writes == 0) op->mode[0] = STARPU_RW;
    op->node = anywhere && random_below(seed, 2) ? (int)random_below(seed, (unsigned)ranks) : -1;
    if (anywhere && writes > 1 && op->node < 0) op->node = (int)random_below(seed, (unsigned)ranks);
}

static void random_stream(uint64_t seed, int length, int anywhere, int flush_every, const char *what)
{
    uint64_t values[HANDLES], expected[HANDLES];
    starpu_data_handle_t handles[HANDLES];
    int failed = 0, wrong = 0;
    for (int i = 0; i < HANDLES; i++) {
        values[i] = expected[i] = (uint64_t)i;
        if (i % ranks == my_rank)
            starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i],
                                          sizeof values[i]);
        else
            starpu_variable_data_register(&handles[i], -1, 0, sizeof values[i]);
        starpu_mpi_data_register(handles[i], 2000 + i, i % ranks);
    }
    uint64_t state = seed;
    for (int i = 0; i < length; i++) {
        struct hash_op op;
        struct starpu_data_descr descrs[MOST];
        uint64_t *targets[MOST];
        draw(&op, &state, anywhere);
        for (int j = 0; j < op.count; j++) {
            descrs[j].handle = handles[op.which[j]];
            descrs[j].mode = op.mode[j];
            targets[j] = &expected[op.which[j]];
        }
        if (op.node >= 0)
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &hash_cl, STARPU_VALUE, &op, sizeof op,
                                             STARPU_DATA_MODE_ARRAY, descrs, op.count, STARPU_EXECUTE_ON_NODE,
                                             op.node, 0);
        else
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &hash_cl, STARPU_VALUE, &op, sizeof op,
                                             STARPU_DATA_MODE_ARRAY, descrs, op.count, 0);
        hash_values(&op, targets);
        if (flush_every && i % flush_every == flush_every - 1)
            starpu_mpi_cache_flush(MPI_COMM_WORLD, handles[i % HANDLES]);
    }
    starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < HANDLES; i++) {
        starpu_data_unregister(handles[i]);
        wrong += i % ranks == my_rank && values[i] != expected[i];
    }
    fact(!failed && wrong == 0, "%d random tasks, %s, give the sequential result (seed %llu)", length, what,
         (unsigned long long)seed);
}

static void cache(void)
{
    int failed = 0, add = 3, was = starpu_mpi_cache_is_enabled();
    fact(was == 1, "the cache is on by default");
    register_one_per_rank();
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rank_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                     owned[0], 0);
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                     owned[1], STARPU_R, owned[0], 0);
    int received = starpu_mpi_cached_receive(owned[0]), sent = starpu_mpi_cached_send(owned[0], 1);
    fact(!failed && (my_rank != 1 || received == 1) && (my_rank != 0 || sent == 1),
         "after a read elsewhere the reader knows that it has the data, and the owner that it sent it");
    starpu_mpi_cache_flush(MPI_COMM_WORLD, owned[0]);
    received = starpu_mpi_cached_receive(owned[0]);
    sent = starpu_mpi_cached_send(owned[0], 1);
    fact((my_rank != 1 || received == 0) && (my_rank != 0 || sent == 0),
         "a flush forgets that on both sides");
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                     owned[1], STARPU_R, owned[0], 0);
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rank_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                     owned[0], 0);
    received = starpu_mpi_cached_receive(owned[0]);
    fact(!failed && (my_rank != 1 || received == 0), "so does a new write");
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister_one_per_rank();
    fact(my_rank > 1 || owned_value[my_rank] == (my_rank == 0 ? 3 : 6), "the values are right all along");
}

static void pruned(void)
{
    /* ranks other than 0 and 1 never hear of the handles nor of the tasks */
    enum { N = 20 };
    int a = 0, b = 0, failed = 0, one = 1;
    if (my_rank < 2) {
        starpu_data_handle_t first, second;
        register_owned(&first, &a, 3000, 0);
        register_owned(&second, &b, 3001, 1);
        for (int i = 0; i < N; i++) {
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, &one, sizeof one,
                                             STARPU_W, first, STARPU_R, second, 0);
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, &one, sizeof one,
                                             STARPU_W, second, STARPU_R, first, 0);
        }
        starpu_data_unregister(first);
        starpu_data_unregister(second);
    }
    fact(!failed && (my_rank != 0 || a == 2 * N - 1) && (my_rank != 1 || b == 2 * N),
         "ranks without part in a task may leave out its insertion and its handles");
}

static void changed_tag_and_rank(void)
{
    int value = my_rank == 0 ? 5 : 0, failed = 0, add = 1;
    starpu_data_handle_t handle;
    register_owned(&handle, &value, 4000, 0);
    starpu_mpi_data_set_tag(handle, 4001);
    fact(starpu_mpi_data_get_tag(handle) == 4001, "the tag of a handle can be changed");
    register_one_per_rank();
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, &add, sizeof add, STARPU_W,
                                     owned[1], STARPU_R, handle, 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    unregister_one_per_rank();
    fact(!failed && (my_rank != 1 || owned_value[1] == 6), "and it travels under the new one");
}

#ifdef STARPU_NODE_ARRAY /* of the peer's development version */
static void memory_nodes(void)
{
    int value = my_rank == 0 ? 5 : 0, add = 1, node[2] = { STARPU_MAIN_RAM, STARPU_SPECIFIC_NODE_LOCAL };
    starpu_data_handle_t handle;
    register_owned(&handle, &value, 4100, 0);
    register_one_per_rank();
    int failed = starpu_mpi_task_insert(MPI_COMM_WORLD, &copy_cl, STARPU_VALUE, &add, sizeof add,
                                        STARPU_NODE_ARRAY, node, 2, STARPU_W, owned[1], STARPU_R, handle, 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    unregister_one_per_rank();
    fact(!failed && (my_rank != 1 || owned_value[1] == 6), "STARPU_NODE_ARRAY is for the rank that runs it");
}
#endif

int main(int argc, char **argv)
{
    setenv("ORRERY_MPI_PRUNED", "1", 1); /* some cases leave out what a rank has no part in */
    mpi_start(&argc, &argv, 1);
    handles_know();
    places();
    inputs_travel();
    attributes();
    built_by_hand();
    static_order();
    cache();
    random_stream(1, STREAM, 0, 0, "run where what they write is owned");
    random_stream(2, STREAM, 1, 0, "half of them run on random ranks");
    random_stream(3, STREAM, 1, 7, "with flushes of the cache between them");
    pruned();
    changed_tag_and_rank();
#ifdef STARPU_NODE_ARRAY
    memory_nodes();
#endif
    starpu_mpi_cache_set(0);
    fact(starpu_mpi_cache_is_enabled() == 0, "the cache can be turned off");
    random_stream(4, STREAM / 2, 1, 0, "without cache");
#if STARPU_AT_LEAST(1, 4) /* 1.3 stops the program at the next registration */
    starpu_mpi_cache_set(1);
    random_stream(5, STREAM, 1, 0, "with the cache turned on again");
#endif
    return mpi_finish();
}
