/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * The cases of the engine over the MPI transport, one rank in each process: through memory, through MPI's
 * messages, and where some are near and some are not.
 * Threads: main of each rank.
 * Owns: this rank's transport.
 * Not here: the cases (engine_cases.h), the same in one process (engine_inproc.c).
 */
#include <mpi.h>
#include <sched.h>

#include "mpi/wire/transports/builtin.h"
#include "tests/mpi/engine_cases.h"

enum { STILL_ROUNDS = 300, SEEDS = 21, MESSAGES = 300, NEAR = 3 };

static struct orr_transport *transport;

static int all_gather(const struct orr_bootstrap *b, const void *mine, size_t bytes, void *all)
{
    (void)b;
    MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    return 0;
}

static int agree(const struct orr_bootstrap *b, int value)
{
    (void)b;
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return value;
}

static void open_rank(int count)
{
    const struct orr_bootstrap b = { .comm = (const void *)(intptr_t)MPI_COMM_WORLD,
                                     .rank = world.own,
                                     .size = world.ranks,
                                     .all_gather = all_gather,
                                     .agree = agree };
    (void)count;
    transport = orr_transport_at(orr_transport_find("mpi"))->open(&b);
    orr_engine_init(&ranks[world.own].engine, transport, NULL);
}

static void close_rank(void)
{
    orr_engine_fini(&ranks[world.own].engine);
    transport->ops->destroy(transport);
}

static void poll_a_while(void)
{
    for (int i = 0; i < 20; i++)
        if (!orr_engine_poll(&ranks[world.own].engine)) sched_yield();
}

/* At once when all that was sent has come, twice in a row; what cannot end is given so many rounds to move.
 */
static void settle(void)
{
    long long before[4] = { -1, -1, -1, -1 };
    for (int still = 0, quiet = 0; still < STILL_ROUNDS && quiet < 2; still++) {
        poll_a_while();
        struct orr_engine_counts c = orr_engine_get_counts(&ranks[world.own].engine);
        long long now[4] = { (long long)c.sent_messages, (long long)c.received_messages, (long long)c.ended,
                             c.bulk_sends + c.bulk_receives + atomic_load(&ranks[world.own].engine.unsent) };
        MPI_Allreduce(MPI_IN_PLACE, now, 4, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        bool same = !memcmp(now, before, sizeof now);
        if (!same) still = 0;
        quiet = same && now[0] == now[1] && now[3] == 0 ? quiet + 1 : 0;
        memcpy(before, now, sizeof now);
    }
}

static long long tell(int rank, long long value)
{
    MPI_Bcast(&value, 1, MPI_LONG_LONG, rank, MPI_COMM_WORLD);
    return value;
}

/* Every rank knows the plan, and plays its own part. Returns ends that are not right, on all ranks. */
static int run(uint64_t seed)
{
    uint64_t state = seed;
    struct planned *plan = make_plan(&state, MESSAGES);
    struct rank *own = &ranks[world.own];
    int posted = 0, oldest = 0, left = 1;
    open_rank(world.ranks);
    while (step(own, &posted, &oldest)) continue;
    for (long i = 0; i < 100000 && left; i++) {
        poll_a_while();
        left = own->count - atomic_load(&own->done);
        MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    int wrong = wrong_ends() + (int)orr_engine_visit_early(&own->engine, NULL, NULL);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    close_rank();
    for (int i = 0; i < world.ranks; i++) {
        for (int k = 0; k < ranks[i].count; k++) free(ranks[i].ends[k].memory);
        free(ranks[i].ends);
    }
    free(plan);
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.own);
    MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    setenv("STARPU_SILENT", "1", 1);
    world.large = LARGE_MAX;
    world.open = open_rank;
    world.close = close_rank;
    world.settle = settle;
    world.tell = tell;
    static const char *const near[NEAR] = { "2147483647", "2", "0" };
    int seeds = world.ranks > 3 ? SEEDS / 10 + 1 : SEEDS;
    for (int k = 0; k < NEAR; k++) {
        setenv("ORRERY_MPI_NEAR", near[k], 1);
        diag("through memory: %s ranks", near[k]);
        single_facts();
        for (int i = k; i < seeds; i += NEAR) wrong += run(1 + (uint64_t)i);
    }
    is_int(wrong, 0, "%d seeds: every message of %d ranks arrives once, whole, in order", seeds, world.ranks);
    MPI_Finalize();
    return done_testing();
}
