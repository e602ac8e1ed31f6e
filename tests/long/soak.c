/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soak: random task graphs against a sequential oracle, over every policy, 1 to 8 workers, 1 to 3
 * submitting threads, with and without a simulated device. Each thread has data of its own, so its order of
 * submission is the oracle's. All access modes, pieces of a partitioned vector, explicit dependencies, tags,
 * priorities, acquisitions between tasks.
 * Threads: the submitting ones; workers execute. Owns: struct party. Not here: ranks (tests/mpi).
 * Usage: soak.tap [--tasks N] [--seed S] [--policy NAME: that one alone] [--chunk K: that one alone]
 */
#include <pthread.h>
#include <time.h>
#include "tests/stream.h"

#ifndef SOAK_TASKS
#define SOAK_TASKS 100000000
#endif
enum { VALUES = 8, PIECES = 4, BATCH = 512, CHUNK_MAX = 200000, PARTIES_MAX = 3, POLICIES_MAX = 96 };

/* One task as the oracle saw it. */
struct step {
    struct operation operation; /* of STREAM; salt and result of all */
    atomic_int times;
    uint64_t expected;
    struct step *source; /* runs before, by an explicit dependency or a tag */
    const char *name;    /* of its codelet */
};

/* One submitting thread, its data, and what the data should be. */
struct party {
    uint64_t values[VALUES], expected[VALUES];
    starpu_data_handle_t handles[VALUES];
    uint64_t commuting, reduced, unordered, expected_commuting, expected_reduced, expected_unordered;
    starpu_data_handle_t commute, redux, free_order, scratch, vector;
    uint64_t elements[PIECES], expected_elements[PIECES];
    int partitioned, wrong;
    struct step steps[BATCH];
    int nsteps;
    starpu_tag_t tags[BATCH];
    int ntags;
    starpu_tag_t next_tag;
    uint64_t seed;
    long tasks, done;
};

/* Counts it; the first few are named. */
static void complain(struct party *p, const char *what, int which)
{
    enum { NAMED = 6 };
    if (p->wrong++ < NAMED)
        diag("%s %d of a batch of %d steps, after %ld tasks", what, which, p->nsteps, p->done);
}

#define VALUE(buffers, i) ((uint64_t *)STARPU_VARIABLE_GET_PTR((buffers)[i]))

static void once(struct step *s, uint64_t result)
{
    s->operation.result = result;
    atomic_fetch_add(&s->times, 1);
}

static void soak_stream(void *buffers[], void *arg)
{
    struct step *s = arg;
    stream_func(buffers, &s->operation);
    atomic_fetch_add(&s->times, 1);
}

/* Adds a hash of the second datum to the first: commuting, reduced or unordered. */
static void soak_add(void *buffers[], void *arg)
{
    struct step *s = arg;
    uint64_t hash = stream_mix(s->operation.salt, *VALUE(buffers, 1));
    *VALUE(buffers, 0) += hash;
    once(s, hash);
}

static void soak_scratch(void *buffers[], void *arg)
{
    struct step *s = arg;
    volatile uint64_t *room = (volatile uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (uint64_t i = 0; i < PIECES; i++) room[i] = s->operation.salt + i;
    uint64_t hash = *VALUE(buffers, 1);
    for (uint64_t i = 0; i < PIECES; i++) hash = stream_mix(hash, room[i]);
    *VALUE(buffers, 1) = hash;
    once(s, hash);
}

static uint64_t mix_elements(uint64_t *elements, unsigned n, uint64_t salt)
{
    uint64_t hash = salt;
    for (unsigned i = 0; i < n; i++) elements[i] = hash = stream_mix(hash, elements[i]);
    return hash;
}

static void soak_vector(void *buffers[], void *arg)
{
    struct step *s = arg;
    once(s, mix_elements((uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]),
                         (unsigned)STARPU_VECTOR_GET_NX(buffers[0]), s->operation.salt));
}

static void soak_source(void *buffers[] UNUSED, void *arg)
{
    struct step *s = arg;
    once(s, s->operation.salt);
}

static void soak_sink(void *buffers[], void *arg)
{
    struct step *s = arg;
    uint64_t hash = stream_mix(*VALUE(buffers, 0), s->source->operation.result);
    *VALUE(buffers, 0) = hash;
    once(s, hash);
}

static void redux_zero(void *buffers[], void *arg UNUSED)
{
    *VALUE(buffers, 0) = 0;
}
static void redux_sum(void *buffers[], void *arg UNUSED)
{
    *VALUE(buffers, 0) += *VALUE(buffers, 1);
}

/* Some have a performance model, by which the dm policies choose. */
static struct starpu_perfmodel add_model = { .type = STARPU_HISTORY_BASED, .symbol = "soak_add" },
                               vector_model = { .type = STARPU_HISTORY_BASED, .symbol = "soak_vector" },
                               sink_model = { .type = STARPU_REGRESSION_BASED, .symbol = "soak_sink" };

#define CODELET(function, its_model)                                                                         \
    {                                                                                                        \
        .cpu_funcs = { function }, .cuda_funcs = { function }, .nbuffers = STARPU_VARIABLE_NBUFFERS,         \
        .name = #function, .model = its_model                                                                \
    }
static struct starpu_codelet stream_cl = CODELET(soak_stream, NULL), add_cl = CODELET(soak_add, &add_model),
                             scratch_cl = CODELET(soak_scratch, NULL),
                             vector_cl = CODELET(soak_vector, &vector_model),
                             source_cl = CODELET(soak_source, NULL),
                             sink_cl = CODELET(soak_sink, &sink_model);
static struct starpu_codelet zero_cl = { .cpu_funcs = { redux_zero },
                                         .cuda_funcs = { redux_zero },
                                         .nbuffers = 1,
                                         .modes = { STARPU_W },
                                         .name = "redux_zero" };
static struct starpu_codelet sum_cl = { .cpu_funcs = { redux_sum },
                                        .cuda_funcs = { redux_sum },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R },
                                        .name = "redux_sum" };

static struct step *new_step(struct party *p)
{
    struct step *s = &p->steps[p->nsteps++];
    memset(s, 0, sizeof *s);
    s->operation.salt = random_next(&p->seed);
    return s;
}

static struct starpu_task *new_task(struct party *p, struct starpu_codelet *cl, struct step *s)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = s;
    s->name = cl->name;
    if (random_below(&p->seed, 4) == 0) task->priority = (int)random_below(&p->seed, 5) - 2;
    return task;
}

static void add_datum(struct starpu_task *task, starpu_data_handle_t h, enum starpu_data_access_mode mode)
{
    task->handles[task->nbuffers] = h;
    task->modes[task->nbuffers++] = mode;
}

static void submit(struct party *p, struct starpu_task *task)
{
    if (starpu_task_submit(task) != 0) complain(p, "submission refused: step", p->nsteps - 1);
    p->done++;
}

/* ---- kinds of steps: each submits, and does the same to what is expected ---- */

static void step_stream(struct party *p)
{
    struct step *s = new_step(p);
    stream_draw(&s->operation, &p->seed, VALUES);
    struct starpu_task *task = new_task(p, &stream_cl, s);
    struct operation oracle = s->operation;
    stream_oracle(&oracle, p->expected);
    s->expected = oracle.result;
    for (int i = 0; i < s->operation.count; i++)
        add_datum(task, p->handles[s->operation.which[i]], s->operation.mode[i]);
    submit(p, task);
}

static void step_add(struct party *p, starpu_data_handle_t target, uint64_t *sum,
                     enum starpu_data_access_mode mode)
{
    struct step *s = new_step(p);
    unsigned x = random_below(&p->seed, VALUES);
    s->expected = stream_mix(s->operation.salt, p->expected[x]);
    *sum += s->expected;
    struct starpu_task *task = new_task(p, &add_cl, s);
    add_datum(task, target, mode);
    add_datum(task, p->handles[x], STARPU_R);
    submit(p, task);
}

static void step_scratch(struct party *p)
{
    struct step *s = new_step(p);
    unsigned x = random_below(&p->seed, VALUES);
    uint64_t hash = p->expected[x];
    for (uint64_t i = 0; i < PIECES; i++) hash = stream_mix(hash, s->operation.salt + i);
    p->expected[x] = s->expected = hash;
    struct starpu_task *task = new_task(p, &scratch_cl, s);
    add_datum(task, p->scratch, STARPU_SCRATCH);
    add_datum(task, p->handles[x], STARPU_RW);
    submit(p, task);
}

static void step_vector(struct party *p)
{
    struct step *s = new_step(p);
    struct starpu_task *task = new_task(p, &vector_cl, s);
    unsigned piece = random_below(&p->seed, PIECES);
    starpu_data_handle_t h = p->partitioned ? starpu_data_get_sub_data(p->vector, 1, piece) : p->vector;
    add_datum(task, h, STARPU_RW);
    s->expected = mix_elements(p->partitioned ? &p->expected_elements[piece] : p->expected_elements,
                               p->partitioned ? 1 : PIECES, s->operation.salt);
    submit(p, task);
}

/* Two tasks ordered by an explicit dependency or a tag; the later one is submitted first. */
static void step_pair(struct party *p, int by_tag)
{
    struct step *first = new_step(p), *second = new_step(p);
    unsigned x = random_below(&p->seed, VALUES);
    first->expected = first->operation.salt;
    second->source = first;
    p->expected[x] = second->expected = stream_mix(p->expected[x], first->expected);
    struct starpu_task *a = new_task(p, &source_cl, first), *b = new_task(p, &sink_cl, second);
    add_datum(b, p->handles[x], STARPU_RW);
    if (by_tag) {
        starpu_tag_t tag = p->next_tag;
        p->next_tag += 2;
        a->use_tag = b->use_tag = 1;
        a->tag_id = tag;
        b->tag_id = tag + 1;
        starpu_tag_declare_deps(tag + 1, 1, tag);
        p->tags[p->ntags++] = tag;
    } else {
        starpu_task_declare_deps_array(b, 1, &a);
    }
    submit(p, b);
    submit(p, a);
}

/* The program itself reads and writes a value between tasks. */
static void step_acquire(struct party *p)
{
    unsigned x = random_below(&p->seed, VALUES);
    if (starpu_data_acquire(p->handles[x], STARPU_RW) != 0) complain(p, "acquisition refused: value", (int)x);
    if (p->values[x] != p->expected[x]) complain(p, "between tasks, value", (int)x);
    p->values[x] = p->expected[x] = random_next(&p->seed);
    starpu_data_release(p->handles[x]);
}

static void step_partition(struct party *p)
{
    struct starpu_data_filter filter = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    if (p->partitioned)
        starpu_data_unpartition(p->vector, STARPU_MAIN_RAM);
    else
        starpu_data_partition(p->vector, &filter);
    p->partitioned = !p->partitioned;
}

static void take_step(struct party *p)
{
    unsigned kind = random_below(&p->seed, 400);
    if (kind < 220)
        step_stream(p);
    else if (kind < 250)
        step_add(p, p->commute, &p->expected_commuting, STARPU_RW | STARPU_COMMUTE);
    else if (kind < 280)
        step_add(p, p->redux, &p->expected_reduced, STARPU_REDUX);
    else if (kind < 305)
        step_add(p, p->free_order, &p->expected_unordered, STARPU_RW);
    else if (kind < 325)
        step_scratch(p);
    else if (kind < 360)
        step_vector(p);
    else if (kind < 378)
        step_pair(p, 0);
    else if (kind < 394)
        step_pair(p, 1);
    else if (kind < 397)
        step_partition(p);
    else
        step_acquire(p);
}

/* ---- a party's life ---- */

/* Acquires to write: so that readers have ended as well. */
static void check_value(struct party *p, const char *what, starpu_data_handle_t h, const uint64_t *value,
                        const uint64_t *expected, int n)
{
    if (starpu_data_acquire(h, STARPU_RW) != 0) complain(p, what, -1);
    for (int i = 0; i < n; i++)
        if (value[i] != expected[i]) complain(p, what, i);
    starpu_data_release(h);
}

/* Waits for the party's tasks through its data; each must have run once and seen what the oracle saw. */
static void end_batch(struct party *p)
{
    if (p->partitioned) step_partition(p);
    for (int i = 0; i < VALUES; i++)
        check_value(p, "a value", p->handles[i], &p->values[i], &p->expected[i], 1);
    check_value(p, "the commuting sum", p->commute, &p->commuting, &p->expected_commuting, 1);
    check_value(p, "the reduced sum", p->redux, &p->reduced, &p->expected_reduced, 1);
    check_value(p, "the unordered sum", p->free_order, &p->unordered, &p->expected_unordered, 1);
    check_value(p, "a piece", p->vector, p->elements, p->expected_elements, PIECES);
    for (int i = 0; i < p->nsteps; i++) {
        if (atomic_load(&p->steps[i].times) != 1) complain(p, "did not run once: step", i);
        if (p->steps[i].operation.result != p->steps[i].expected) complain(p, p->steps[i].name, i);
    }
    for (int i = 0; i < p->ntags; i++) {
        starpu_tag_remove(p->tags[i]);
        starpu_tag_remove(p->tags[i] + 1);
    }
    p->nsteps = p->ntags = 0;
}

static void open_party(struct party *p)
{
    for (int i = 0; i < VALUES; i++)
        starpu_variable_data_register(&p->handles[i], STARPU_MAIN_RAM, (uintptr_t)&p->values[i],
                                      sizeof p->values[i]);
    starpu_variable_data_register(&p->commute, STARPU_MAIN_RAM, (uintptr_t)&p->commuting,
                                  sizeof p->commuting);
    starpu_variable_data_register(&p->redux, STARPU_MAIN_RAM, (uintptr_t)&p->reduced, sizeof p->reduced);
    starpu_data_set_reduction_methods(p->redux, &sum_cl, &zero_cl);
    starpu_variable_data_register(&p->free_order, STARPU_MAIN_RAM, (uintptr_t)&p->unordered,
                                  sizeof p->unordered);
    starpu_data_set_sequential_consistency_flag(p->free_order, 0);
    starpu_vector_data_register(&p->scratch, -1, 0, PIECES, sizeof p->elements[0]);
    starpu_vector_data_register(&p->vector, STARPU_MAIN_RAM, (uintptr_t)p->elements, PIECES,
                                sizeof p->elements[0]);
}

static void *run_party(void *arg)
{
    struct party *p = arg;
    open_party(p);
    while (p->done < p->tasks) {
        take_step(p);
        if (p->nsteps > BATCH - 4) end_batch(p);
    }
    end_batch(p);
    for (int i = 0; i < VALUES; i++) starpu_data_unregister(p->handles[i]);
    starpu_data_handle_t rest[] = { p->commute, p->redux, p->free_order, p->scratch, p->vector };
    for (unsigned i = 0; i < LENGTH(rest); i++) starpu_data_unregister(rest[i]);
    return NULL;
}

/* ---- chunks: one start of the runtime each ---- */

static void start(int workers, const char *policy, int device)
{
    setenv("ORRERY_SIM_DEVICES", "1", 1);
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    conf.ncuda = device ? -1 : 0;
    conf.nopencl = 0;
    conf.sched_policy_name = policy;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) == 0) return;
    printf("Bail out! the runtime does not start\n");
    exit(1);
}

/* Runs so many tasks; adds what was wrong; returns how many there were. */
static long run_chunk(unsigned chunk, const char *policy, int workers, int device, int parties, uint64_t seed,
                      long tasks, int *wrong)
{
    static struct party all[PARTIES_MAX];
    pthread_t threads[PARTIES_MAX];
    long done = 0;
    start(workers, policy, device);
    memset(all, 0, sizeof all);
    for (int i = 0; i < parties; i++) {
        all[i].seed = seed + (uint64_t)i * 7919;
        all[i].tasks = tasks / parties;
        all[i].next_tag = (starpu_tag_t)i << 32;
        if (i > 0) pthread_create(&threads[i], NULL, run_party, &all[i]);
    }
    run_party(&all[0]);
    for (int i = 1; i < parties; i++) pthread_join(threads[i], NULL);
    starpu_task_wait_for_all();
    starpu_shutdown();
    for (int i = 0; i < parties; i++) {
        if (all[i].wrong)
            diag("chunk %u: %s, %d workers, device %d, party %d of %d, seed %llu, %ld tasks: %d things are "
                 "wrong",
                 chunk, policy, workers, device, i, parties, (unsigned long long)seed, tasks, all[i].wrong);
        *wrong += all[i].wrong;
        done += all[i].done;
    }
    return done;
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

static const int worker_counts[] = { 1, 2, 4, 8 };

/* A way to run: policies take turns, then numbers of workers. */
struct combination {
    unsigned policy;
    int workers, parties, device;
};

static struct combination combination_of(unsigned k, unsigned npolicies)
{
    return (struct combination){ .policy = k % npolicies,
                                 .workers = worker_counts[k / npolicies % LENGTH(worker_counts)],
                                 .parties = 1 + (int)(k % PARTIES_MAX),
                                 .device = k % 5 == 3 };
}

static unsigned count_policies(struct starpu_sched_policy **policies)
{
    unsigned n = 0;
    while (policies[n] && n < POLICIES_MAX) n++;
    return n;
}

static const char *text_option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return NULL;
}

/* Under a sanitizer memory is not what the program uses. */
static void check_growth(double early_mib, double late_mib, long done)
{
    const char *sanitizer = getenv("ORR_SANITIZER");
    if (sanitizer && *sanitizer && strcmp(sanitizer, "none") != 0)
        skip("memory does not grow: not measured under a sanitizer");
    else
        ok(late_mib < early_mib + 8, "memory does not grow: %.1f MiB early, %.1f MiB after %ld tasks",
           early_mib, late_mib, done);
}

int main(int argc, char **argv)
{
    struct starpu_sched_policy **policies = starpu_sched_get_predefined_policies();
    unsigned npolicies = count_policies(policies);
    long ncombinations = (long)(npolicies * LENGTH(worker_counts)), done = 0;
    long total = (long)option(argc, argv, "--tasks", SOAK_TASKS),
         only = (long)option(argc, argv, "--chunk", -1);
    uint64_t seed = (uint64_t)option(argc, argv, "--seed", 42);
    const char *policy = text_option(argc, argv, "--policy");
    long chunk = total / ncombinations < CHUNK_MAX ? total / ncombinations + 1 : CHUNK_MAX;
    int wrong[POLICIES_MAX] = { 0 };
    double early_mib = 0;
    diag("%ld tasks, seed %llu", total, (unsigned long long)seed);
    for (long k = only < 0 ? 0 : only; only < 0 ? done < total || k < ncombinations : k == only; k++) {
        struct combination c = combination_of((unsigned)k, npolicies);
        if (policy && strcmp(policies[c.policy]->policy_name, policy) != 0) continue;
        done += run_chunk((unsigned)k, policies[c.policy]->policy_name, c.workers, c.device, c.parties,
                          seed + (uint64_t)k, chunk, &wrong[c.policy]);
        if (k % 16 == 15) diag("%ld tasks, %.1f MiB", done, resident_mib());
        if (early_mib == 0 && (double)done >= 0.1 * (double)total && k + 1 >= ncombinations / 2)
            early_mib = resident_mib();
    }
    double late_mib = resident_mib();
    for (unsigned p = 0; p < npolicies; p++)
        if (!policy || strcmp(policies[p]->policy_name, policy) == 0)
            is_int(wrong[p], 0, "%s: each task ran once and saw what the sequential oracle saw",
                   policies[p]->policy_name);
    check_growth(early_mib, late_mib, done);
    return done_testing();
}
