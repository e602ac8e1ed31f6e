/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Random programs of reductions across ranks against a sequential oracle: contributions by STARPU_REDUX and
 * STARPU_MPI_REDUX from any rank, on several communicators of all ranks or of parts of them in several
 * orders, on data that move to another owner, that are read, written, fetched and flushed in between, and on
 * pieces of a partition. Tasks check what they read.
 * Threads: main of each rank inserts; workers execute.
 * Owns: the data.
 * Not here: single cases (tests/mpi/reductions.c).
 * Usage: reductions_random.mpi [--programs N] [--seed S]
 */
#include <stdlib.h>

#include "tests/mpi/helper_mpi.h"

#ifndef PROGRAMS
#define PROGRAMS 3000
#endif
enum { GROUPS = 5, ORDERS = 3, DATA = 12, PIECES = 4, STEPS = 120, LARGE = 3000 };

/* The same ranks in several communicators, in several orders. */
struct group {
    int count, members[64]; /* of the world */
    MPI_Comm comms[ORDERS]; /* MPI_COMM_NULL where this rank is none of them */
    int in;
};

struct datum {
    starpu_data_handle_t handle; /* NULL where this rank is not in the group */
    int group, owner;            /* of the world */
    uint64_t value;
    uint64_t *memory;
};

static struct group groups[GROUPS];
static struct datum data[DATA];
static atomic_int wrong;
static int failed;

static int members_of(int g, int world_rank)
{
    switch (g) {
    case 0: return 1;
    case 1: return world_rank < ranks - 1;
    case 2: return world_rank > 0;
    case 3: return world_rank % 2 == 0;
    default: return world_rank % 2 == 1;
    }
}

static void make_groups(void)
{
    for (int g = 0; g < GROUPS; g++) {
        struct group *p = &groups[g];
        p->in = members_of(g, my_rank);
        for (int r = 0; r < ranks; r++)
            if (members_of(g, r)) p->members[p->count++] = r;
        for (int k = 0; k < ORDERS; k++) {
            int key = k == 0 ? my_rank : k == 1 ? -my_rank : (my_rank * 7 + 3) % 5;
            MPI_Comm_split(MPI_COMM_WORLD, p->in ? 0 : MPI_UNDEFINED, key, &p->comms[k]);
        }
    }
}

static void free_groups(void)
{
    for (int g = 0; g < GROUPS; g++)
        for (int k = 0; groups[g].in && k < ORDERS; k++) MPI_Comm_free(&groups[g].comms[k]);
}

/* Rank r of the world in comm. */
static int rank_in(MPI_Comm comm, int r)
{
    MPI_Group world, group;
    int rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(world, 1, &r, group, &rank);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    return rank;
}

/* ---- codelets ---- */

static uint64_t *values_of(void *buffer, unsigned *count)
{
    *count = (unsigned)STARPU_VECTOR_GET_NX(buffer);
    return (uint64_t *)STARPU_VECTOR_GET_PTR(buffer);
}

static void zero_func(void *buffers[], void *arg UNUSED)
{
    unsigned n;
    uint64_t *p = values_of(buffers[0], &n);
    for (unsigned i = 0; i < n; i++) p[i] = 0;
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};

static void sum_func(void *buffers[], void *arg UNUSED)
{
    unsigned n, m;
    uint64_t *p = values_of(buffers[0], &n), *q = values_of(buffers[1], &m);
    for (unsigned i = 0; i < n; i++) p[i] += q[i];
}
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func }, .nbuffers = 2, .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R }, .name = "sum"
};
static struct starpu_codelet mpi_sum_cl = {
    .cpu_funcs = { sum_func }, .nbuffers = 2, .modes = { STARPU_MPI_REDUX, STARPU_R }, .name = "mpi_sum"
};

static void add_func(void *buffers[], void *arg)
{
    unsigned n;
    uint64_t add, *p = values_of(buffers[0], &n);
    starpu_codelet_unpack_args(arg, &add);
    for (unsigned i = 0; i < n; i++) p[i] += add;
}
static struct starpu_codelet contribute_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "contribute"
};
static struct starpu_codelet contribute_mpi_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_MPI_REDUX }, .name = "contribute_mpi"
};
static struct starpu_codelet accumulate_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW | STARPU_COMMUTE }, .name = "accumulate"
};

static void set_func(void *buffers[], void *arg)
{
    unsigned n;
    uint64_t value, *p = values_of(buffers[0], &n);
    starpu_codelet_unpack_args(arg, &value);
    for (unsigned i = 0; i < n; i++) p[i] = value;
}
static struct starpu_codelet set_cl = {
    .cpu_funcs = { set_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "set"
};

static void check_func(void *buffers[], void *arg)
{
    unsigned n;
    uint64_t expected, *p = values_of(buffers[0], &n);
    starpu_codelet_unpack_args(arg, &expected);
    if (p[0] != expected || p[n - 1] != expected) atomic_fetch_add(&wrong, 1);
}
static struct starpu_codelet check_cl = {
    .cpu_funcs = { check_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "check"
};

static void mix_func(void *buffers[], void *arg)
{
    unsigned n, m;
    uint64_t expected, *p = values_of(buffers[0], &n), *q = values_of(buffers[1], &m);
    starpu_codelet_unpack_args(arg, &expected);
    if (q[0] != expected) atomic_fetch_add(&wrong, 1);
    for (unsigned i = 0; i < n; i++) p[i] = p[i] * 3 + q[0];
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "mix"
};

/* ---- data ---- */

static starpu_data_handle_t parent;
static uint64_t parent_memory[PIECES];

static void own(struct datum *d, int tag, uint64_t *seed)
{
    MPI_Comm comm = groups[d->group].comms[random_below(seed, ORDERS)];
    if (!groups[d->group].in) return;
    starpu_mpi_data_register_comm(d->handle, tag, rank_in(comm, d->owner), comm);
}

static void open_data(uint64_t *seed)
{
    struct starpu_data_filter filter = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    starpu_vector_data_register(&parent, STARPU_MAIN_RAM, (uintptr_t)parent_memory, PIECES, sizeof(uint64_t));
    starpu_data_partition(parent, &filter);
    for (int i = 0; i < DATA; i++) {
        struct datum *d = &data[i];
        int piece = i < PIECES;
        unsigned count = random_below(seed, 4) ? 1 : LARGE;
        d->group = piece ? 0 : (int)random_below(seed, GROUPS);
        d->owner = groups[d->group].members[random_below(seed, (unsigned)groups[d->group].count)];
        d->value = random_next(seed) % 1000;
        d->handle = NULL;
        d->memory = NULL;
        if (piece) {
            d->handle = starpu_data_get_sub_data(parent, 1, i);
            parent_memory[i] = d->value;
        } else if (groups[d->group].in) {
            int home = my_rank == d->owner;
            d->memory = calloc(count, sizeof *d->memory);
            for (unsigned k = 0; k < count; k++) d->memory[k] = d->value;
            starpu_vector_data_register(&d->handle, home ? STARPU_MAIN_RAM : -1,
                                        home ? (uintptr_t)d->memory : 0, count, sizeof(uint64_t));
        }
        struct starpu_codelet *sum = random_below(seed, 2) ? &sum_cl : &mpi_sum_cl;
        if (d->handle) starpu_data_set_reduction_methods(d->handle, sum, &zero_cl);
        own(d, 100 + i, seed);
    }
}

static void close_data(void)
{
    for (int i = 0; i < PIECES; i++) {
        starpu_mpi_redux_data(MPI_COMM_WORLD, data[i].handle);
        starpu_mpi_get_data_on_all_nodes_detached(MPI_COMM_WORLD, data[i].handle);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < DATA; i++) {
        struct datum *d = &data[i];
        if (i < PIECES || !d->handle) continue;
        if (my_rank == d->owner && starpu_data_acquire(d->handle, STARPU_R) == 0) {
            uint64_t *p = (uint64_t *)starpu_vector_get_local_ptr(d->handle);
            if (p[0] != d->value || p[starpu_vector_get_nx(d->handle) - 1] != d->value)
                atomic_fetch_add(&wrong, 1);
            starpu_data_release(d->handle);
        }
        starpu_data_unregister(d->handle);
        free(d->memory);
    }
    starpu_data_unpartition(parent, STARPU_MAIN_RAM);
    starpu_data_unregister(parent);
    for (int i = 0; i < PIECES; i++)
        if (parent_memory[i] != data[i].value) atomic_fetch_add(&wrong, 1);
}

/* ---- steps: each is drawn by all ranks, and done by those of the datum's group ---- */

static void contribute(struct datum *d, MPI_Comm comm, uint64_t *seed)
{
    uint64_t add = random_next(seed) % 100;
    int node = groups[d->group].members[random_below(seed, (unsigned)groups[d->group].count)];
    int how = (int)random_below(seed, 3);
    d->value += add;
    if (!d->handle) return;
    struct starpu_codelet *cl = how == 0 ? &contribute_cl : how == 1 ? &contribute_mpi_cl : &accumulate_cl;
    failed |= starpu_mpi_task_insert(comm, cl, STARPU_VALUE, &add, sizeof add,
                                     how == 0 ? STARPU_REDUX : STARPU_MPI_REDUX, d->handle,
                                     STARPU_EXECUTE_ON_NODE, rank_in(comm, node), 0) != 0;
}

static void use(struct datum *d, MPI_Comm comm, uint64_t *seed)
{
    int node = groups[d->group].members[random_below(seed, (unsigned)groups[d->group].count)];
    uint64_t kind = random_below(seed, 4), value = random_next(seed) % 1000;
    if (kind == 0) d->value = value;
    value = d->value;
    if (d->handle)
        failed |= starpu_mpi_task_insert(comm, kind ? &check_cl : &set_cl, STARPU_VALUE, &value, sizeof value,
                                         kind ? STARPU_R : STARPU_W, d->handle, STARPU_EXECUTE_ON_NODE,
                                         rank_in(comm, node), 0) != 0;
}

static void mix(struct datum *d, MPI_Comm comm, uint64_t *seed)
{
    struct datum *e = &data[random_below(seed, DATA)];
    int node = groups[d->group].members[random_below(seed, (unsigned)groups[d->group].count)];
    int said = random_below(seed, 2) == 0;
    if (e == d || e->group != d->group) return;
    uint64_t value = e->value;
    d->value = d->value * 3 + value;
    if (d->handle && said)
        failed |=
            starpu_mpi_task_insert(comm, &mix_cl, STARPU_VALUE, &value, sizeof value, STARPU_RW, d->handle,
                                   STARPU_R, e->handle, STARPU_EXECUTE_ON_NODE, rank_in(comm, node), 0) != 0;
    else if (d->handle)
        failed |= starpu_mpi_task_insert(comm, &mix_cl, STARPU_VALUE, &value, sizeof value, STARPU_RW,
                                         d->handle, STARPU_R, e->handle, 0) != 0;
}

static void move(struct datum *d, MPI_Comm comm, uint64_t *seed)
{
    int node = groups[d->group].members[random_below(seed, (unsigned)groups[d->group].count)];
    d->owner = node;
    if (d->handle) starpu_mpi_data_migrate(comm, d->handle, rank_in(comm, node));
}

static void others(struct datum *d, MPI_Comm comm, uint64_t *seed)
{
    int node = groups[d->group].members[random_below(seed, (unsigned)groups[d->group].count)];
    int kind = (int)random_below(seed, 6), arity = (int)random_below(seed, 4);
    if (!d->handle) return;
    switch (kind) {
    case 0:
        failed |= starpu_mpi_get_data_on_node_detached(comm, d->handle, rank_in(comm, node), NULL, NULL) != 0;
        break;
    case 1: starpu_mpi_get_data_on_all_nodes_detached(comm, d->handle); break;
    case 2: starpu_mpi_cache_flush(comm, d->handle); break;
    case 3:
        failed |= starpu_mpi_redux_data_prio_tree(comm, d->handle, node, arity == 1 ? 0 : arity) != 0;
        break;
    case 4: starpu_mpi_cache_flush_all_data(comm); break;
    default: failed |= starpu_mpi_wait_for_all(comm) != 0; break;
    }
}

static void program(uint64_t seed)
{
    open_data(&seed);
    for (int s = 0; s < STEPS; s++) {
        struct datum *d = &data[random_below(&seed, DATA)];
        MPI_Comm comm = groups[d->group].comms[random_below(&seed, ORDERS)];
        uint64_t kind = random_below(&seed, 16);
        if (kind < 8)
            contribute(d, comm, &seed);
        else if (kind < 10)
            use(d, comm, &seed);
        else if (kind < 13)
            mix(d, comm, &seed);
        else if (kind < 14)
            move(d, comm, &seed);
        else
            others(d, comm, &seed);
    }
    close_data();
}

int main(int argc, char **argv)
{
    long programs = PROGRAMS;
    uint64_t seed = 1;
    setenv("ORRERY_MPI_PRUNED", "1", 1); /* ranks of different groups insert different tasks */
    mpi_start(&argc, &argv, 2);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--programs")) programs = atol(argv[i + 1]);
        if (!strcmp(argv[i], "--seed")) seed = strtoull(argv[i + 1], NULL, 0);
    }
    alarm(1000);
    make_groups();
    long p = 0;
    for (; p < programs && !failed && !atomic_load(&wrong); p++) {
        uint64_t state = seed + (uint64_t)p;
        int bad;
        program(random_next(&state));
        bad = failed || atomic_load(&wrong);
        MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (bad) break;
    }
    if (p < programs && my_rank == 0)
        diag("program %ld: --seed %llu --programs 1", p, (unsigned long long)seed + (unsigned long long)p);
    fact(!failed && !atomic_load(&wrong) && p == programs,
         "%ld random programs of reductions give what the sequential ones give", programs);
    free_groups();
    return mpi_finish();
}
