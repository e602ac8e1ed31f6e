/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs on devices whose memory just holds one task's data, on one main memory or two, which may
 * be as small, above a store: tasks on CPUs and devices, with scratch memory, commuting and reducing ones,
 * while the program prefetches, fetches, acquires on any node (also two at a time), evicts, gives up,
 * unregisters and writes anew, and uses pieces. The values are those of the sequential program. In some
 * programs data are so large that copies wait for their link; in some the store fails a copy now and then; in
 * some a device fails: what did not run left no value, and nobody gets another one. Threads: main submits;
 * callbacks run on any. Owns: data, their shadows, the list of what was done. Not here: single cases of
 * waiting for memory (tests/core/memory_hungry.c). Usage: memory_random.tap [seed]; ORR_TEST_SEED too.
 */
#include <orrery.h>

#include "tests/core/sim_helper.h"

#ifndef ROUNDS
#define ROUNDS 60
#endif
/* The values of a datum lie a stride apart; what is between them is copied, and nobody looks at it. Each
 * third datum has a plan of pieces. */
enum { DATA = 12, OWN = 3, VALUES = 512, LARGE_STRIDE = 256, OPERATIONS = 900, MAX_BUFFERS = 3 };
enum { PIECES = 4, PIECE_VALUES = VALUES / PIECES, PLANNED = 3, WHOLE = -1 };

static unsigned stride, elements, bytes; /* of this program's data */
static uint32_t memory[DATA][VALUES * LARGE_STRIDE], own_memory[OWN][VALUES * LARGE_STRIDE];
static starpu_data_handle_t handles[DATA], pieces[DATA][PIECES], own[OWN], scratch, sum;
static uint64_t total;
static atomic_int wrong, told;
static bool may_fail; /* a device does, in this program */
static struct starpu_data_filter quarters = { .filter_func = starpu_vector_filter_block,
                                              .nchildren = PIECES };

/* ---- the oracle ---- */

struct place {
    int h, piece; /* piece: or WHOLE */
};

/* What was done, in the order of submission: a task, which writes the first place from what was there (keep)
 * and the others; or a look, at one value, which it changes, or at all. */
struct done {
    uint32_t k;
    int buffers; /* 0: a look */
    struct place at[MAX_BUFFERS];
    bool keep, with_scratch, contributes;
    atomic_bool ran;             /* its body has, on one worker at least */
    starpu_data_handle_t handle; /* of a look, which may be another datum's name by now */
    int node, value;             /* value: or -1: all */
    uint32_t found, *all;        /* all: malloc'ed */
};
static struct done done[OPERATIONS * 4];
static unsigned count_done;

static struct done *do_next(void)
{
    struct done *d = &done[count_done++];
    memset(d, 0, sizeof *d);
    return d;
}

static uint32_t shadow[DATA][VALUES];
static bool lost[DATA][PIECES]; /* it has no value */
static uint64_t expected_total;
static bool total_lost;

static unsigned first_value(struct place p)
{
    return p.piece == WHOLE ? 0 : (unsigned)p.piece * PIECE_VALUES;
}

static unsigned count_values(struct place p)
{
    return p.piece == WHOLE ? VALUES : PIECE_VALUES;
}

static bool is_lost(struct place p)
{
    bool any = false;
    for (int i = 0; i < PIECES; i++) any |= (p.piece == WHOLE || p.piece == i) && lost[p.h][i];
    return any;
}

static void set_lost(struct place p, bool is)
{
    for (int i = 0; i < PIECES; i++)
        if (p.piece == WHOLE || p.piece == i) lost[p.h][i] = is;
}

/* apart: how far from each other their values lie. */
static void step(uint32_t *out, const uint32_t *a, const uint32_t *b, const struct done *d, unsigned apart)
{
    for (unsigned v = 0, i = 0; v < count_values(d->at[0]); v++, i += apart)
        out[i] = (d->keep ? out[i] * 31 : 0) + (a ? a[i] * 17 : 0) + (b ? b[i] * 13 : 0) + d->k + v;
}

static int replay_task(const struct done *d)
{
    uint32_t *p[MAX_BUFFERS] = { NULL };
    bool readable = !d->keep || !is_lost(d->at[0]), ran = atomic_load(&d->ran);
    for (int i = 1; i < d->buffers; i++) readable &= !is_lost(d->at[i]);
    for (int i = 0; i < d->buffers; i++) p[i] = shadow[d->at[i].h] + first_value(d->at[i]);
    if (ran) step(p[0], p[1], p[2], d, 1);
    set_lost(d->at[0], !ran);
    expected_total += d->contributes ? d->k : 0;
    total_lost |= d->contributes && !ran;
    return ran ? !readable : !may_fail;
}

static int replay_look(const struct done *d)
{
    uint32_t *value = shadow[d->at[0].h];
    int bad = 0;
    if (!atomic_load(&d->ran)) return !may_fail;
    if (is_lost(d->at[0])) return 1;
    for (int v = 0; d->value < 0 && v < VALUES; v++) bad |= d->all[v] != value[v];
    if (d->value < 0) return bad;
    bad = d->found != value[d->value];
    value[d->value] = d->k;
    return bad;
}

/* Returns how much was not as in the sequential program. */
static int replay(void)
{
    int bad = 0;
    total_lost = false;
    expected_total = 0;
    for (struct done *d = done; d < done + count_done; d++) {
        int now = d->buffers ? replay_task(d) : replay_look(d);
        if (now)
            diag("operation %d is wrong: datum %d, piece %d, %s", (int)(d - done), d->at[0].h, d->at[0].piece,
                 !atomic_load(&d->ran) ? "not run"
                 : d->buffers          ? "run"
                                       : "looked at");
        bad += now;
        free(d->all);
        d->all = NULL;
    }
    return bad;
}

/* ---- tasks ---- */

static void body(void *buffers[], void *cl_arg)
{
    struct done *d = cl_arg;
    uint32_t *p[MAX_BUFFERS] = { NULL };
    int n = d->buffers;
    for (int b = 0; b < n; b++) p[b] = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[b]);
    if (d->with_scratch) memset((void *)STARPU_VECTOR_GET_PTR(buffers[n++]), 0x5a, bytes);
    if (d->contributes) *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[n]) += d->k;
    step(p[0], p[1], p[2], d, stride);
    atomic_store(&d->ran, true);
}
static struct starpu_codelet step_cl = {
    .cpu_funcs = { body },
    .cuda_funcs = { body },
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "step",
};

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero_func }, .cuda_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }
};
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func },
    .cuda_funcs = { sum_func },
    .nbuffers = 2,
    .modes = { STARPU_RW, STARPU_R },
};

static int submit(uint64_t *seed, struct done *d)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &step_cl;
    task->cl_arg = d;
    int n = 0;
    for (; n < d->buffers; n++) {
        struct place p = d->at[n];
        task->handles[n] = p.piece == WHOLE ? handles[p.h] : pieces[p.h][p.piece];
        task->modes[n] = n > 0 ? STARPU_R : d->keep ? STARPU_RW : STARPU_W;
    }
    if (d->with_scratch) {
        task->handles[n] = scratch;
        task->modes[n++] = STARPU_SCRATCH;
    }
    if (d->contributes) {
        task->handles[n] = sum;
        task->modes[n++] = STARPU_REDUX;
    }
    task->nbuffers = n;
    if (random_below(seed, 5)) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = random_below(seed, starpu_worker_get_count());
    }
    int r = starpu_task_submit(task);
    if (r) atomic_fetch_add(&wrong, 1); /* whatever its data have become */
    return r;
}

/* A task that writes datum h, from itself (keep) or not. */
static int submit_step(uint64_t *seed, int h, bool keep)
{
    struct done *d = do_next();
    int second = (h + 1 + (int)random_below(seed, DATA - 1)) % DATA, third;
    do third = (int)random_below(seed, DATA);
    while (third == h || third == second);
    d->at[0] = (struct place){ h, WHOLE };
    d->at[1] = (struct place){ second, WHOLE };
    d->at[2] = (struct place){ third, WHOLE };
    d->k = (uint32_t)random_next(seed);
    d->buffers = 1 + (int)random_below(seed, MAX_BUFFERS);
    d->keep = keep;
    d->contributes = random_below(seed, 8) == 0;
    d->with_scratch = d->buffers < MAX_BUFFERS && random_below(seed, 4) == 0;
    return submit(seed, d);
}

static struct place random_piece(uint64_t *seed)
{
    int h = (int)random_below(seed, DATA / PLANNED) * PLANNED;
    return (struct place){ h, (int)random_below(seed, PIECES) };
}

/* A task that writes a piece, perhaps from another, which may be of the same datum. */
static int submit_piece(uint64_t *seed)
{
    struct done *d = do_next();
    d->at[0] = random_piece(seed);
    do d->at[1] = random_piece(seed);
    while (d->at[0].h == d->at[1].h && d->at[0].piece == d->at[1].piece);
    d->k = (uint32_t)random_next(seed);
    d->buffers = 1 + (int)random_below(seed, 2);
    d->keep = random_below(seed, 3) != 0;
    return submit(seed, d);
}

/* ---- looks ---- */

static void visited(void *arg)
{
    struct done *d = arg;
    uint32_t *p =
        (uint32_t *)STARPU_VECTOR_GET_PTR(starpu_data_get_interface_on_node(d->handle, (unsigned)d->node));
    d->found = p[(unsigned)d->value * stride];
    p[(unsigned)d->value * stride] = d->k;
    atomic_store(&d->ran, true);
    starpu_data_release_on_node(d->handle, d->node);
}

static int visit_later(uint64_t *seed, int h, int node)
{
    struct done *d = do_next();
    d->at[0] = (struct place){ h, WHOLE };
    d->handle = handles[h];
    d->node = node;
    d->value = (int)random_below(seed, VALUES);
    d->k = (uint32_t)random_next(seed);
    return starpu_data_acquire_on_node_cb(handles[h], node, STARPU_RW, visited, d);
}

static int visit_now(int h, int node)
{
    struct done *d = do_next();
    d->at[0] = (struct place){ h, WHOLE };
    d->value = -1;
    if (starpu_data_acquire_on_node(handles[h], node, STARPU_R)) return 1;
    void *itf = starpu_data_get_interface_on_node(handles[h], (unsigned)node);
    const uint32_t *p = (const uint32_t *)STARPU_VECTOR_GET_PTR(itf);
    d->all = malloc(VALUES * sizeof *d->all);
    for (unsigned v = 0; v < VALUES; v++) d->all[v] = p[v * stride];
    atomic_store(&d->ran, true);
    starpu_data_release_on_node(handles[h], node);
    return 0;
}

/* Two of the program's own data on a node at once, which no task uses, while tasks go on. */
static int hold_two(uint64_t *seed, int node)
{
    int a = (int)random_below(seed, OWN), b = (a + 1) % OWN;
    int first = starpu_data_acquire_on_node(own[a], node, STARPU_RW), failed = 0;
    for (int i = 0; i < 3; i++) failed |= submit_step(seed, (int)random_below(seed, DATA), true);
    int second = starpu_data_acquire_on_node(own[b], node, STARPU_R);
    if (!second) starpu_data_release_on_node(own[b], node);
    if (!first) starpu_data_release_on_node(own[a], node);
    return failed || ((first || second) && !may_fail);
}

/* ---- programs ---- */

static void register_data(int h)
{
    bool at_home = h % 2 == 0;
    starpu_vector_data_register(&handles[h], at_home ? STARPU_MAIN_RAM : -1,
                                at_home ? (uintptr_t)memory[h] : 0, elements, 4);
}

static bool is_planned(int h)
{
    return h % PLANNED == 0;
}

/* Copies of all data to a node, some of which tasks come to need while they wait for their link. */
static int burst(uint64_t *seed, unsigned node)
{
    int failed = 0;
    for (int h = 0; h < DATA; h++)
        failed |= starpu_data_prefetch_on_node_prio(handles[h], node, 1, (int)random_below(seed, 5));
    for (int i = 0; i < 3; i++) failed |= submit_step(seed, (int)random_below(seed, DATA), true);
    return failed;
}

static int operate(uint64_t *seed)
{
    int h = (int)random_below(seed, DATA), node = (int)random_below(seed, starpu_memory_nodes_get_count());
    unsigned on = (unsigned)node;
    switch (random_below(seed, 30)) {
    case 0: return starpu_data_prefetch_on_node(handles[h], on, 1);
    case 1: return starpu_data_prefetch_on_node(handles[h], on, 0);
    case 2: return starpu_data_idle_prefetch_on_node(handles[h], on, 1);
    case 3: return starpu_data_fetch_on_node(handles[h], on, 1);
    case 4: return starpu_data_fetch_on_node(handles[h], on, 0);
    case 5: starpu_data_wont_use(handles[h]); return 0;
    case 6: starpu_data_evict_from_node(handles[h], on); return 0; /* may be refused */
    case 7: starpu_data_request_allocation(handles[h], on); return 0;
    case 8: starpu_data_set_wt_mask(handles[h], random_below(seed, 2)); return 0;
    case 9: return visit_now(h, node);
    case 10: return visit_later(seed, h, node);
    case 11: return hold_two(seed, node);
    case 12: starpu_data_invalidate_submit(handles[h]); return submit_step(seed, h, false);
    case 13:
        if (h % 2 == 0 || is_planned(h)) return 0; /* what was submitted reads its memory, or its pieces */
        starpu_data_unregister_submit(handles[h]);
        register_data(h);
        return submit_step(seed, h, false);
    case 14: starpu_memchunk_tidy(on); return 0;
    case 15: return burst(seed, on);
    case 16:
    case 17:
    case 18:
    case 19:
    case 20: return submit_piece(seed);
    default: return submit_step(seed, h, random_below(seed, 3) != 0);
    }
}

static void set_mb(char mb[32], const char *name, unsigned data, unsigned more)
{
    snprintf(mb, 32, "%.7f", ((double)data * bytes + more) / 1048576.);
    if (name) sim_setting(name, mb);
}

static void note_error(const char *message, void *arg UNUSED)
{
    if (!may_fail) diag("%s", message);
    atomic_fetch_add(&told, 1);
}

/* What fails, as ORRERY_SIM_FAIL has it; "": nothing. */
static void choose_faults(uint64_t *seed, char *fails, size_t length, bool stored, unsigned devices)
{
    static const char *const what[] = { "copy", "copy", "submit", "dies" };
    int n = 0;
    fails[0] = 0;
    if (stored && random_below(seed, 3) == 0) { /* no copy fails more than twice, of three tries */
        unsigned nth = 1 + random_below(seed, 200);
        n = snprintf(fails, length, "copy:store:%u-%u", nth, nth + 1);
    }
    may_fail = random_below(seed, 3) == 0 && devices > 0;
    for (unsigned i = 0; may_fail && i < devices; i++) {
        unsigned nth = 1 + random_below(seed, 300);
        n += snprintf(fails + n, length - (size_t)n, "%s%s:%u:%u-%u", n ? "," : "",
                      what[random_below(seed, 4)], i, nth, nth + random_below(seed, 4));
    }
}

static void register_all(void)
{
    starpu_vector_data_register(&scratch, -1, 0, elements, 4);
    starpu_variable_data_register(&sum, STARPU_MAIN_RAM, (uintptr_t)&total, sizeof total);
    starpu_data_set_reduction_methods(sum, &sum_cl, &zero_cl);
    total = 0;
    for (int i = 0; i < OWN; i++)
        starpu_vector_data_register(&own[i], STARPU_MAIN_RAM, (uintptr_t)own_memory[i], elements, 4);
    for (int h = 0; h < DATA; h++) {
        register_data(h);
        if (is_planned(h)) starpu_data_partition_plan(handles[h], &quarters, pieces[h]);
    }
}

static int begin(uint64_t *seed)
{
    char mb[32], fails[200], devices[2] = { 0 };
    bool stored = random_below(seed, 2), numa = random_below(seed, 2), large = random_below(seed, 3) == 0,
         roomy = random_below(seed, 3) == 0;
    devices[0] = (char)((stored || numa ? '0' : '2') + random_below(seed, 2 + numa));
    stride = large ? LARGE_STRIDE : 1;
    elements = VALUES * stride;
    bytes = elements * 4;
    sim_setting("STARPU_LIMIT_CPU_NUMA_MEM", NULL);
    /* of each main memory with a store below it: the two own data that are held, and what two tasks hold */
    if (stored) set_mb(mb, "STARPU_LIMIT_CPU_NUMA_MEM", 8, 256);
    sim_setting("ORRERY_SIM_STORE_MB", stored ? (large ? "128" : "1") : NULL);
    sim_setting("HWLOC_SYNTHETIC", numa ? "package:2 numa:1 core:1 pu:1" : NULL);
    sim_setting("STARPU_USE_NUMA", numa ? "1" : NULL);
    choose_faults(seed, fails, sizeof fails, stored, (unsigned)(devices[0] - '0'));
    sim_setting("ORRERY_SIM_FAIL", fails[0] ? fails : NULL);
    /* a task of three data; with scratch and a contribution beside two */
    set_mb(mb, NULL, roomy ? DATA : MAX_BUFFERS + random_below(seed, 2), 64);
    sim_start(2,
              &(struct sim_config){ devices, mb, large ? "5000" : "20000", random_below(seed, 2) ? "0" : "5",
                                    NULL, random_below(seed, 2) ? "1" : NULL });
    if (getenv("ORR_TEST_VERBOSE"))
        diag("%s devices%s%s%s%s%s%s", devices, roomy ? " with room" : "", stored ? ", a store" : "",
             numa ? ", two main memories" : "", large ? ", large data" : "", fails[0] ? ", failing: " : "",
             fails);
    int failed = 0;
    count_done = 0;
    atomic_store(&told, 0);
    register_all();
    for (int h = 0; h < DATA; h++) {
        struct done *d = do_next();
        d->k = (uint32_t)h;
        d->buffers = 1;
        d->at[0] = (struct place){ h, WHOLE };
        failed |= submit(seed, d);
    }
    return failed;
}

/* Whether the sum is as it should be. */
static bool sum_is_right(void)
{
    int status = starpu_data_acquire(sum, STARPU_R);
    if (status) return may_fail;
    bool right = !total_lost && total == expected_total;
    starpu_data_release(sum);
    return right;
}

static int end(void)
{
    int failed = starpu_task_wait_for_all();
    for (int h = 0; h < DATA; h++) failed |= visit_now(h, STARPU_MAIN_RAM);
    if (may_fail) failed = 0;
    failed |= atomic_load(&told) && !may_fail;
    atomic_fetch_add(&wrong, replay());
    failed |= !sum_is_right();
    for (int h = 0; h < DATA; h++) {
        if (is_planned(h)) starpu_data_partition_clean(handles[h], PIECES, pieces[h]);
        starpu_data_unregister(handles[h]);
    }
    for (int i = 0; i < OWN; i++) starpu_data_unregister(own[i]);
    starpu_data_unregister(scratch);
    starpu_data_unregister(sum);
    for (unsigned n = 1; n < starpu_memory_nodes_get_count(); n++) failed |= starpu_memory_get_used(n) != 0;
    starpu_shutdown();
    return failed;
}

int main(int argc, char **argv)
{
    const char *given = argc > 1 ? argv[1] : getenv("ORR_TEST_SEED");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1003;
    int failed = 0, rounds = given && argc > 1 ? 1 : ROUNDS;
    orrery_set_error_hook(note_error, NULL);
    for (int r = 0; r < rounds; r++) {
        uint64_t seed = first + (uint64_t)r;
        int wrong_before = atomic_load(&wrong);
        alarm(50);
        if (getenv("ORR_TEST_VERBOSE")) diag("seed %llu", (unsigned long long)seed);
        int bad = begin(&seed);
        int operations = stride == 1 ? OPERATIONS : OPERATIONS / 4;
        for (int i = 0; i < operations; i++) bad |= operate(&seed) && !may_fail;
        bad |= end();
        if (bad || atomic_load(&wrong) > wrong_before)
            diag("wrong with seed %llu", (unsigned long long)first + (unsigned)r);
        failed += bad != 0;
    }
    is_int(failed, 0, "%d random programs end, and leave nothing on the devices", rounds);
    is_int(atomic_load(&wrong), 0, "and every value is that of the sequential program");
    return done_testing();
}
