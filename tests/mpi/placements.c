/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement alone, for thousands of ranks in one process: it is a function of the stream and of its own
 * state, so that every rank finds the same answers, and nothing is kept that grows with the number of ranks.
 * Threads: main; another one where that is the point.
 * Owns: a stream of insertions, and two placements of its own.
 * Not here: what follows from a rank (task_insert.c), whole ranks under a placement (clusters.c).
 */
#include <pthread.h>
#include <starpu.h>
#include <starpu_mpi.h>

#include "core/base/alloc.h"
#include "mpi/place/decide.h"
#include "mpi/place/machine.h"
#include "mpi/place/policies.h"
#include "mpi/wire/cluster.h"
#include "tests/tap.h"

extern const struct orr_place_ops orr_place_owner;

enum { RANKS = 4096, DATA = 256, TASKS = 300, BUFFERS = 3 };

static starpu_data_handle_t handles[DATA];
static uint64_t memory[DATA];
static struct orr_place place; /* the same numbers on every rank */
static struct starpu_codelet codelet = { .nbuffers = BUFFERS,
                                         .modes = { STARPU_RW, STARPU_RW, STARPU_R },
                                         .name = "placed" };

/* ---- a rank: a cluster and a communicator, as far as a placement sees them ---- */

struct rank {
    struct orr_cluster cluster;
    struct orr_comm comm;
};

static void make_rank(struct rank *r, int rank, int size)
{
    memset(&r->comm, 0, sizeof r->comm);
    r->cluster.place = &place;
    r->comm.context = ORR_CONTEXT_BASE;
    r->comm.rank = rank;
    r->comm.size = size;
    r->comm.cluster = &r->cluster;
}

/* ---- a stream ---- */

static uint64_t random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Insertion k: two data are written, often of two owners; the program names a rank now and then. */
static void fill(struct orr_arguments *a, uint64_t *seed)
{
    orr_arguments_init(a);
    for (int i = 0; i < BUFFERS; i++) {
        a->data[i].handle = handles[random_of(seed) % DATA];
        a->data[i].mode = codelet.modes[i];
    }
    a->count = BUFFERS;
    uint64_t draw = random_of(seed) % 16;
    if (draw == 0) a->xrank = (int)(random_of(seed) % 7);
    if (draw == 1) a->xrank = ORR_PLACE_OF_DATA;
    if (draw == 1) a->on_data = handles[random_of(seed) % DATA];
    a->priority = (int)draw;
}

/* Places the stream as that rank; what it found, mixed. */
static uint64_t place_stream(struct rank *r)
{
    uint64_t seed = 3, found = 0;
    for (int k = 0; k < TASKS; k++) {
        struct orr_arguments a;
        int xrank;
        fill(&a, &seed);
        int status = orr_decide(&r->comm, &codelet, &a, &xrank);
        if (status < 0 || xrank < 0 || xrank >= r->comm.size) return 0;
        found = (found ^ (uint64_t)(unsigned)xrank) * 0x9e3779b97f4a7c15u;
        found ^= found >> 29;
    }
    return found;
}

static int ranks_that_differ(uint64_t *first_out)
{
    static struct rank r;
    int differ = 0;
    for (int i = 0; i < RANKS; i++) {
        make_rank(&r, i, RANKS);
        uint64_t found = place_stream(&r);
        if (i == 0) *first_out = found;
        differ += found != *first_out || !found;
        orr_placed_drop(&r.comm);
    }
    return differ;
}

/* ---- placements ---- */

/* The program's: the owner of what is read last. */
static int as_last(int me, int nb_nodes, struct starpu_data_descr *descr, int nb_data)
{
    (void)me;
    return descr[nb_data - 1].handle->mpi_rank % nb_nodes;
}

/* What a placement must not do. */
static int as_here(int me, int nb_nodes, struct starpu_data_descr *descr, int nb_data)
{
    (void)nb_nodes;
    (void)descr;
    (void)nb_data;
    return me;
}

/* Asked for all: the rank with the least work of a few candidates, by virtual clocks that only the stream and
 * agreed times move. */
enum { CANDIDATES = 4 };

struct clocks {
    uint64_t ns[CANDIDATES], cost_ns, positions, fixed;
};

static int begun, ended;
static size_t state_bytes;

static int clocks_begin(const struct orr_place_setup *setup, void **state_out)
{
    struct clocks *c = orr_calloc(1, sizeof *c);
    if (!c) return -ENOMEM;
    c->cost_ns = 1000;
    begun++;
    (void)setup;
    state_bytes = sizeof *c;
    *state_out = c;
    return 0;
}

static int clocks_choose(void *state, const struct orr_place_view *v)
{
    struct clocks *c = state;
    int best = 0;
    if (v->position != c->positions++) return -1;
    for (int i = 1; i < CANDIDATES; i++)
        if (c->ns[i] < c->ns[best]) best = i;
    if (v->fixed != ORR_PLACE_OPEN) {
        c->fixed++;
        best = v->fixed % CANDIDATES;
    }
    c->ns[best] += c->cost_ns + orr_place_footprint(v) % 1000;
    return best;
}

static void clocks_measured(void *state, const struct orr_place_measure *m)
{
    ((struct clocks *)state)->cost_ns = m->ns;
}

static void clocks_end(void *state)
{
    ended++;
    orr_free(state);
}

static const struct orr_place_ops clocks_ops = { .name = "clocks",
                                                 .for_all = true,
                                                 .begin = clocks_begin,
                                                 .choose = clocks_choose,
                                                 .measured = clocks_measured,
                                                 .end = clocks_end };

/* ---- facts ---- */

static uint64_t hash_of_data(void)
{
    uint64_t h = 0;
    for (int i = 0; i < DATA; i++)
        h = (h ^ (uint64_t)(unsigned)handles[i]->mpi_rank ^ (uint64_t)handles[i]->mpi_flags << 32) * 31;
    return h;
}

static void without_state(int policy, const char *name, uint64_t *found_out)
{
    uint64_t before = hash_of_data();
    is_int(orr_policy_set_current(&place, policy), 0, "the placement %s is in use", name);
    orr_alloc_fail_after(0, true);
    is_int(ranks_that_differ(found_out), 0, "%s: %d ranks place %d tasks alike", name, RANKS, TASKS);
    ok(!orr_alloc_fail_after(-1, false), "%s: without any memory for it", name);
    ok(hash_of_data() == before, "%s: what is known of the data does not change", name);
}

static void with_state(int policy, uint64_t *found_out)
{
    is_int(orr_policy_set_current(&place, policy), 0, "a placement that is asked for all tasks is in use");
    is_int(ranks_that_differ(found_out), 0, "%d ranks place %d tasks alike by virtual clocks", RANKS, TASKS);
    is_int(begun, RANKS, "each begins once");
    is_int(ended, RANKS, "and ends once");
    ok(state_bytes < 100, "the state of one rank among %d is %zu bytes", RANKS, state_bytes);
}

static int place_one(struct rank *r, struct orr_arguments *a)
{
    int xrank, status = orr_decide(&r->comm, &codelet, a, &xrank);
    return status < 0 ? status : xrank;
}

/* Measured times move the clocks alike wherever they are told at the same place of the stream. */
static void measures(void)
{
    static struct rank r[3];
    int answers[3][40], same = 0, other = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t seed = 11;
        make_rank(&r[i], i, 8);
        for (int k = 0; k < 40; k++) {
            struct orr_arguments a;
            const struct orr_place_measure m = { .position = 20, .symbol = "placed", .ns = 1 };
            fill(&a, &seed);
            if (k == 20 && i < 2) orr_placed_measured(&r[i].comm, &m);
            answers[i][k] = place_one(&r[i], &a);
        }
        orr_placed_drop(&r[i].comm);
    }
    for (int k = 0; k < 40; k++) {
        same += answers[0][k] == answers[1][k];
        other += answers[0][k] != answers[2][k];
    }
    is_int(same, 40, "what is measured, and told at the same place of the stream, changes all ranks alike");
    ok(other > 0, "and changes them");
}

static struct rank shared;
static int from_other_thread;

static void *insert_elsewhere(void *arg)
{
    from_other_thread = place_one(&shared, arg);
    return NULL;
}

/* Whose worker it is, where the program says a number alone. */
static int handles_owner(const struct orr_arguments *a)
{
    const struct orr_place_view v = {
        .comm = &shared.comm, .data = a->data, .count = a->count, .written_on = ORR_PLACE_OPEN
    };
    int first = a->data[0].handle->mpi_rank;
    return first == a->data[1].handle->mpi_rank ? first : orr_place_owner.choose(NULL, &v);
}

static void refusals(int counted)
{
    struct orr_arguments a;
    uint64_t seed = 5;
    pthread_t thread;
    struct rank second;
    make_rank(&shared, 0, 8);
    make_rank(&second, 0, 8);
    fill(&a, &seed);
    a.xrank = ORR_PLACE_OPEN;
    ok(place_one(&shared, &a) >= 0, "a task of one thread is placed");
    pthread_create(&thread, NULL, insert_elsewhere, &a);
    pthread_join(thread, NULL);
    is_int(from_other_thread, -EINVAL, "one of another thread, which has no place in the order, is refused");
    begun = ended = 0;
    ok(place_one(&second, &a) >= 0, "another communicator has an order of its own");
    is_int(begun, 1, "and a state of its own");
    a.data[1].handle = NULL;
    is_int(place_one(&second, &a), -EINVAL, "data that is left out is refused: all ranks need the stream");
    fill(&a, &seed);
    a.xrank = ORR_PLACE_OPEN;
    a.policy = counted;
    ok(place_one(&second, &a) >= 0, "who names it for one task says what is so already");
    a.policy = orr_policy_add(&place, &clocks_ops, NULL);
    ok(place_one(&second, &a) == -EINVAL, "another such cannot be asked for one task alone");
    a.policy = -1;
    a.is_bound = true;
    is_int(place_one(&second, &a), handles_owner(&a), "a worker's number alone means one of the owner's");
    a.is_bound = false;
    is_int(orr_policy_remove(&place, counted), 0, "it is taken away while it is in use");
    ok(place_one(&second, &a) >= 0, "and owners count again");
    is_int(ended, 0, "its state goes with the communicator");
    orr_placed_drop(&second.comm);
    orr_placed_drop(&shared.comm);
    is_int(ended, 2, "that of both");
}

static void footprints(void)
{
    struct starpu_data_descr d[BUFFERS];
    struct starpu_task *task = starpu_task_create();
    task->cl = &codelet;
    for (int i = 0; i < BUFFERS; i++) {
        d[i].handle = task->handles[i] = handles[i * 40];
        d[i].mode = codelet.modes[i];
    }
    const struct orr_place_view v = { .cl = &codelet, .data = d, .count = BUFFERS };
    is_int(orr_place_footprint(&v), starpu_task_data_footprint(task),
           "a footprint without a task is that of the task");
    task->destroy = 0;
    starpu_task_destroy(task);
}

static void names(void)
{
    is_int(orr_policy_find("owner"), STARPU_MPI_NODE_SELECTION_MOST_R_DATA, "owner is built in");
    is_int(orr_policy_find(NULL), 0, "and the default");
    is_int(orr_policy_find("nobody's"), -EINVAL, "a name that is none is refused");
    is_int(orr_policy_remove(&place, 0), -EINVAL, "what is built in stays");
    is_int(orr_policy_add(&place, &orr_place_program, NULL), -EINVAL, "no function is no placement");
}

/* A cluster that there is not: rank r has r % 5 workers. */
static void machines(void)
{
    static int workers[RANKS];
    struct orr_machines m;
    int wrong = 0, number = 0;
    for (int r = 0; r < RANKS; r++) workers[r] = r % 5;
    is_int(orr_machines_make(&m, RANKS, workers), 0, "a table of %d ranks is made by hand", RANKS);
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < workers[r]; i++, number++)
            wrong += orr_machines_rank_of(&m, number) != r || orr_machines_number(&m, r, i) != number;
        wrong += orr_machines_number(&m, r, workers[r]) != -1 ||
                 orr_machines_count(&m, r, STARPU_CPU_WORKER) != workers[r] || m.node[r] != r;
    }
    wrong += orr_machines_rank_of(&m, number) != -1 || m.workers != number;
    is_int(wrong, 0, "each number leads to its rank, over ranks without workers, and back");
    orr_machines_fini(&m);
    workers[3] = -1;
    is_int(orr_machines_make(&m, RANKS, workers), -EINVAL, "a negative number of workers is refused");
    orr_machines_fini(&m);
}

int main(void)
{
    struct starpu_conf conf;
    struct orr_value value = ORR_VALUE_INITIALIZER;
    uint64_t owners, programs, clocks;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    setenv("STARPU_SILENT", "1", 1);
    if (starpu_init(&conf)) skip_all("no worker");
    for (int i = 0; i < DATA; i++) {
        starpu_vector_data_register(&handles[i], i % 2 ? STARPU_MAIN_RAM : -1,
                                    i % 2 ? (uintptr_t)&memory[i] : 0, 1, 1 + (size_t)i % 8);
        orr_owned_set_tag(&value, handles[i], i);
        handles[i]->mpi_rank = i * (RANKS / DATA) % RANKS;
    }
    names();
    machines();
    footprints();
    int mine = orr_policy_add(&place, &orr_place_program, as_last);
    int counted = orr_policy_add(&place, &clocks_ops, NULL);
    without_state(0, "owner", &owners);
    without_state(mine, "the program's", &programs);
    ok(owners != programs, "they choose differently");
    orr_policy_set_current(&place, orr_policy_add(&place, &orr_place_program, as_here));
    is_int(ranks_that_differ(&programs), RANKS - 1, "one that looks at its own rank is found out");
    with_state(counted, &clocks);
    for (int i = 0; i < DATA; i++) handles[i]->mpi_rank %= 8;
    measures();
    refusals(counted);
    for (int i = 0; i < DATA; i++) starpu_data_unregister(handles[i]);
    starpu_shutdown();
    return done_testing();
}
