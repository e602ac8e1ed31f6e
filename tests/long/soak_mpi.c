/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 3 */
/*
 * The soak across ranks: a random stream of tasks, which every rank inserts and every rank also runs through
 * a sequential oracle. Small and large data, all modes but those without an order, tasks on the owner or
 * elsewhere, priorities, contributions to a reduction, data that move to another owner, flushed caches,
 * values fetched to all ranks, messages of the program's own in between. Every task checks what it reads
 * against the oracle. Threads: main of each rank inserts; workers execute. Owns: the data. Not here: one rank
 * (soak.c). Usage: soak_mpi.mpi [--tasks N] [--seed S]
 */
#include "tests/mpi/helper_mpi.h"

#ifndef SOAK_TASKS
#define SOAK_TASKS 1000000
#endif
enum {
    VALUES = 24,
    LARGE = 4,
    LARGE_COUNT = 8192,
    MOST = 4,
    BATCH = 5000,
    TASKS_AHEAD = 2000,
    LIMIT_S = 3300
};

/* What a task is told: it checks and computes the rest. */
struct step {
    uint64_t number, salt, expected; /* hash of what it reads */
    int count;
    int mode[MOST];
};

struct datum {
    starpu_data_handle_t handle;
    uint64_t *memory; /* on its first owner */
    uint64_t expected;
    int count, owner;
};

static struct datum data[VALUES];
static starpu_data_handle_t sum_handle;
static uint64_t sum_value, sum_expected;
static atomic_ullong ran, ran_numbers, ran_squares, wrong;

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t state = a ^ (b * 0xd6e8feb86659fd93ULL);
    return random_next(&state);
}

static uint64_t *pointer(void *buffer)
{
    return (uint64_t *)STARPU_VECTOR_GET_PTR(buffer);
}

static void check_datum(void *buffer)
{
    uint64_t *p = pointer(buffer), n = STARPU_VECTOR_GET_NX(buffer);
    if (p[0] != p[n - 1] || p[0] != p[n / 2]) atomic_fetch_add(&wrong, 1);
}

static void count_run(const struct step *s)
{
    atomic_fetch_add(&ran, 1);
    atomic_fetch_add(&ran_numbers, s->number);
    atomic_fetch_add(&ran_squares, s->number * s->number);
}

static void step_func(void *buffers[], void *arg)
{
    struct step s;
    starpu_codelet_unpack_args(arg, &s);
    uint64_t hash = s.salt;
    for (int i = 0; i < s.count; i++) {
        if (!(s.mode[i] & STARPU_R)) continue;
        check_datum(buffers[i]);
        hash = mix(hash, pointer(buffers[i])[0]);
    }
    if (hash != s.expected) atomic_fetch_add(&wrong, 1);
    for (int i = 0; i < s.count; i++) {
        if (!(s.mode[i] & STARPU_W)) continue;
        uint64_t value = mix(hash, (uint64_t)i), n = STARPU_VECTOR_GET_NX(buffers[i]);
        for (uint64_t k = 0; k < n; k++) pointer(buffers[i])[k] = value;
    }
    count_run(&s);
}
static struct starpu_codelet step_cl = { .cpu_funcs = { step_func },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "step" };

static void add_func(void *buffers[], void *arg)
{
    struct step s;
    starpu_codelet_unpack_args(arg, &s);
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += s.salt;
    count_run(&s);
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "contribute"
};

static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func }, .nbuffers = 2, .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R }, .name = "sum"
};

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};

/* ---- steps ---- */

/* Draws different data and modes, and does on the oracle what the task will do. */
static void draw(struct step *s, struct starpu_data_descr *descrs, uint64_t *seed, uint64_t number)
{
    static const int modes[] = { STARPU_R, STARPU_R, STARPU_R, STARPU_W, STARPU_RW };
    struct datum *which[MOST];
    int want = 1 + (int)random_below(seed, MOST);
    memset(s, 0, sizeof *s);
    s->number = number;
    s->salt = random_next(seed);
    for (int i = 0; i < want; i++) {
        struct datum *d = &data[random_below(seed, VALUES)];
        int again = 0, mode = modes[random_below(seed, LENGTH(modes))];
        for (int k = 0; k < s->count; k++) again |= which[k] == d;
        if (again) continue;
        which[s->count] = d;
        s->mode[s->count] = mode;
        descrs[s->count].handle = d->handle;
        descrs[s->count++].mode = (enum starpu_data_access_mode)mode;
    }
    s->expected = s->salt;
    for (int i = 0; i < s->count; i++)
        if (s->mode[i] & STARPU_R) s->expected = mix(s->expected, which[i]->expected);
    for (int i = 0; i < s->count; i++)
        if (s->mode[i] & STARPU_W) which[i]->expected = mix(s->expected, (uint64_t)i);
}

static int insert_step(uint64_t *seed, uint64_t number)
{
    struct step s;
    struct starpu_data_descr descrs[MOST];
    draw(&s, descrs, seed, number);
    int place = random_below(seed, 4) == 0 ? (int)random_below(seed, (unsigned)ranks) : -1;
    return starpu_mpi_task_insert(MPI_COMM_WORLD, &step_cl, STARPU_DATA_MODE_ARRAY, descrs, s.count,
                                  STARPU_VALUE, &s, sizeof s, STARPU_PRIORITY, (int)random_below(seed, 3),
                                  STARPU_EXECUTE_ON_NODE, place, 0);
}

static int insert_contribution(uint64_t *seed, uint64_t number)
{
    struct step s = { .number = number, .salt = random_next(seed) };
    sum_expected += s.salt;
    return starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_REDUX, sum_handle, STARPU_VALUE, &s,
                                  sizeof s, STARPU_EXECUTE_ON_NODE, (int)random_below(seed, (unsigned)ranks),
                                  0);
}

/* The owner sends its value to another rank, which reads it. */
static int own_message(uint64_t *seed, int64_t tag)
{
    struct datum *d = &data[random_below(seed, VALUES)];
    int to = (int)random_below(seed, (unsigned)ranks), failed = 0;
    static uint64_t buffer[LARGE_COUNT];
    starpu_data_handle_t copy;
    if (to == d->owner) return 0;
    if (my_rank == d->owner)
        failed = starpu_mpi_isend_detached(d->handle, to, tag, MPI_COMM_WORLD, NULL, NULL);
    if (my_rank != to) return failed;
    starpu_vector_data_register(&copy, STARPU_MAIN_RAM, (uintptr_t)buffer, (unsigned)d->count,
                                sizeof buffer[0]);
    failed = starpu_mpi_irecv_detached(copy, d->owner, tag, MPI_COMM_WORLD, NULL, NULL);
    starpu_data_unregister(copy);
    if (buffer[0] != d->expected || buffer[d->count - 1] != d->expected) atomic_fetch_add(&wrong, 1);
    return failed;
}

static int take_step(uint64_t *seed, uint64_t number)
{
    unsigned kind = random_below(seed, 2000);
    struct datum *d = &data[random_below(seed, VALUES)];
    int failed = 0;
    if (kind < 4) {
        d->owner = (int)random_below(seed, (unsigned)ranks);
        starpu_mpi_data_migrate(MPI_COMM_WORLD, d->handle, d->owner);
    } else if (kind < 8)
        starpu_mpi_cache_flush(MPI_COMM_WORLD, d->handle);
    else if (kind < 10)
        starpu_mpi_get_data_on_all_nodes_detached(MPI_COMM_WORLD, d->handle);
    else if (kind < 13)
        failed = own_message(seed, 1000000 + (int64_t)number);
    return failed | (kind % 20 == 19 ? insert_contribution(seed, number) : insert_step(seed, number));
}

/* ---- the whole ---- */

static void open_data(uint64_t *seed)
{
    for (int i = 0; i < VALUES; i++) {
        struct datum *d = &data[i];
        d->count = i < LARGE ? LARGE_COUNT : 1;
        d->owner = i % ranks;
        d->expected = random_next(seed);
        d->memory = calloc((size_t)d->count, sizeof *d->memory);
        for (int k = 0; k < d->count; k++) d->memory[k] = d->expected;
        int mine = d->owner == my_rank;
        starpu_vector_data_register(&d->handle, mine ? STARPU_MAIN_RAM : -1, mine ? (uintptr_t)d->memory : 0,
                                    (unsigned)d->count, sizeof *d->memory);
        starpu_mpi_data_register(d->handle, i + 1, d->owner);
    }
    starpu_variable_data_register(&sum_handle, my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                  my_rank == 0 ? (uintptr_t)&sum_value : 0, sizeof sum_value);
    starpu_data_set_reduction_methods(sum_handle, &sum_cl, &zero_cl);
    starpu_mpi_data_register(sum_handle, VALUES + 1, 0);
}

/* What every rank has now, against the oracle. */
static void check_values(void)
{
    starpu_mpi_redux_data(MPI_COMM_WORLD, sum_handle);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < VALUES; i++) {
        if (data[i].owner != my_rank) continue;
        starpu_data_acquire(data[i].handle, STARPU_R);
        const uint64_t *p = starpu_data_get_local_ptr(data[i].handle);
        if (!p || p[0] != data[i].expected || p[data[i].count - 1] != data[i].expected)
            atomic_fetch_add(&wrong, 1);
        starpu_data_release(data[i].handle);
    }
    if (my_rank != 0) return;
    starpu_data_acquire(sum_handle, STARPU_R);
    if (sum_value != sum_expected) atomic_fetch_add(&wrong, 1);
    starpu_data_release(sum_handle);
}

static void close_data(void)
{
    for (int i = 0; i < VALUES; i++) {
        starpu_data_unregister(data[i].handle);
        free(data[i].memory);
    }
    starpu_data_unregister(sum_handle);
}

static double resident_mib(void)
{
    long pages = 0, total = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &total, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576.0;
}

static long long option(int argc, char **argv, const char *name, long long fallback)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return atoll(argv[i + 1]);
    return fallback;
}

int main(int argc, char **argv)
{
    uint64_t total = (uint64_t)option(argc, argv, "--tasks", SOAK_TASKS), squares = 0;
    uint64_t seed = (uint64_t)option(argc, argv, "--seed", 42);
    unsigned long long sums[3], all[3];
    double early_mib = 0;
    int failed = 0;
    mpi_start(&argc, &argv, 2);
    alarm(total > 100000 ? LIMIT_S : 60);
    if (my_rank == 0)
        fprintf(stderr, "# %llu tasks, seed %llu\n", (unsigned long long)total, (unsigned long long)seed);
    open_data(&seed);
    for (uint64_t i = 0; i < total; i++) {
        failed |= take_step(&seed, i);
        squares += i * i;
        if (i % 1000 == 999) starpu_task_wait_for_n_submitted(TASKS_AHEAD);
        if (i % BATCH == BATCH - 1) check_values();
        if (early_mib == 0 && i > total / 5) early_mib = resident_mib();
    }
    check_values();
    double late_mib = resident_mib();
    close_data();
    sums[0] = ran;
    sums[1] = ran_numbers;
    sums[2] = ran_squares;
    MPI_Allreduce(sums, all, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    fact(failed == 0, "every insertion is accepted");
    fact(all[0] == total && all[1] == total * (total - 1) / 2 && all[2] == squares,
         "of %llu tasks none is lost and none runs twice", (unsigned long long)total);
    fact(wrong == 0, "every task, message and value is what the sequential oracle says");
    const char *sanitizer = getenv("ORR_SANITIZER"); /* memory is then not what the program uses */
    if (!sanitizer || !*sanitizer || strcmp(sanitizer, "none") == 0)
        fact(late_mib < early_mib + 16, "memory does not grow");
    if (late_mib >= early_mib + 16)
        fprintf(stderr, "# rank %d: %.1f MiB, then %.1f MiB\n", my_rank, early_mib, late_mib);
    return mpi_finish();
}
