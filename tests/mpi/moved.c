/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a placement moves data, on three ranks of one process: the marks that the program can ask for, memory
 * of copies (given back when they are old, flushed or the layer ends), and calls at home in tasks and
 * callbacks that would have to wait for another rank: they are refused; what some ranks do on another
 * communicator. Threads: one for each rank inserts; workers execute. Owns: the data of each rank. Not here:
 * values (away.c, tests/long/cluster_random.c).
 */
#include <semaphore.h>
#include <starpu.h>
#include <unistd.h>

#include "mpi/value/calls.h"
#include "tests/mpi/in_process.h"

enum { RANKS = 3, N = 12, LARGE = 256 << 10, SMALL = 1 << 10 };

static atomic_int failed;

static void call(int status)
{
    if (status) atomic_fetch_add(&failed, 1);
}

static void nothing(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}
static struct starpu_codelet one_cl = { .cpu_funcs = { nothing },
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "one" };

/* Tag i, owned by rank 0, without memory of the program's. */
static void begin_data(struct orr_comm *c, starpu_data_handle_t *h, int count, uint32_t bytes)
{
    for (int i = 0; i < count; i++) {
        starpu_vector_data_register(&h[i], -1, 0, bytes, 1);
        call(orr_owned_set_tag(c->cluster->value, h[i], i));
        call(orr_cache_set_owner(c, h[i], 0));
    }
}

static void end_data(starpu_data_handle_t *h, int count)
{
    for (int i = 0; i < count; i++) starpu_data_unregister(h[i]);
}

static void task(struct orr_comm *c, int mode, starpu_data_handle_t h, int on)
{
    call(insert(c, &one_cl, mode, h, STARPU_EXECUTE_ON_NODE, on, 0));
}

static int allocated(const starpu_data_handle_t *h, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        int is_allocated, is_valid, is_requested;
        starpu_data_query_status(h[i], STARPU_MAIN_RAM, &is_allocated, &is_valid, &is_requested);
        sum += is_allocated;
    }
    return sum;
}

/* ---- marks ---- */

static bool marks[5];

static void ask_marks(struct job *j, int rank)
{
    static const int modes[] = { STARPU_R, STARPU_RW, STARPU_R, STARPU_R, STARPU_W };
    starpu_data_handle_t h;
    call(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    begin_data(c, &h, 1, 8);
    task(c, STARPU_W, h, 0);
    for (int i = 0; i < 5; i++) {
        task(c, modes[i], h, 1);
        if (rank == 1) marks[i] = h->mpi_flags & ORR_MPI_RECEIVED;
    }
    call(orr_wait_for_all(c));
    end_data(&h, 1);
    call(rank_end(j, rank));
}

/* ---- memory ---- */

/* By rank, of so many: after the writer's rank changed, and all read it; after a flush of one, of all. */
static int with_old[RANKS], with_copies[RANKS], after_one[RANKS], after_all[RANKS], small_left[RANKS];
static size_t old_left[RANKS], records_left[RANKS];

static void use_memory(struct job *j, int rank)
{
    starpu_data_handle_t h[N], small[N];
    call(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    begin_data(c, h, N, LARGE);
    for (int i = 0; i < N; i++) {
        task(c, STARPU_W, h[i], 0);
        task(c, STARPU_R, h[i], 1);
        task(c, STARPU_R, h[i], 2);
        task(c, STARPU_RW, h[i], 2); /* rank 1 has what is old; the owner's, too, is the owner's */
    }
    starpu_task_wait_for_all(); /* nothing returns home */
    pthread_barrier_wait(&j->barrier);
    with_old[rank] = allocated(h, N);
    pthread_barrier_wait(&j->barrier);
    for (int i = 0; i < N; i++) task(c, STARPU_R, h[i], 1);
    call(orr_wait_for_all(c));
    with_copies[rank] = allocated(h, N);
    orr_call_flush(c, h[0]);
    call(orr_wait_for_all(c));
    after_one[rank] = allocated(h, N);
    orr_call_flush_all(c);
    call(orr_wait_for_all(c));
    after_all[rank] = allocated(h, N);
    end_data(h, N);
    begin_data(c, small, N, SMALL);
    for (int i = 0; i < N; i++) {
        task(c, STARPU_W, small[i], 1);
        task(c, STARPU_R, small[i], 2);
        task(c, STARPU_W, small[i], 0);
    }
    orr_call_flush_all(c);
    call(orr_wait_for_all(c));
    small_left[rank] = allocated(small, N);
    old_left[rank] = orr_load_relaxed(&c->cluster->value->old_bytes);
    end_data(small, N);
    call(rank_end(j, rank));
    records_left[rank] = sessions[rank].value.records != NULL;
}

/* ---- refusals ---- */

/* Rank 1 has a copy of rank 0's datum, and a task with it that may not begin before rank 0 has inserted as
 * much. What it calls meanwhile, in a task and in its callback. */
static sem_t home_goes_on;
static int in_task, tried_in_task, in_callback, in_message, after;
static starpu_data_handle_t stuck;
static atomic_int messages;

static void call_in_task(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    in_task = starpu_data_acquire_cb(stuck, STARPU_R, free, NULL);
    tried_in_task = starpu_data_acquire_try(stuck, STARPU_R);
}
static struct starpu_codelet caller_cl = { .cpu_funcs = { call_in_task }, .name = "caller" };

static void call_back(void *unused)
{
    (void)unused;
    in_callback = starpu_data_acquire_cb(stuck, STARPU_R, free, NULL);
}

static void call_back_of_message(void *unused)
{
    (void)unused;
    in_message = starpu_data_acquire_cb(stuck, STARPU_R, free, NULL);
    atomic_store(&messages, 1);
}

static void use_in_tasks(struct orr_comm *c)
{
    starpu_data_handle_t own;
    starpu_vector_data_register(&own, -1, 0, 8, 1);
    const struct orr_message_spec m = { .kind = ORR_RECV,
                                        .handle = own,
                                        .comm = c,
                                        .peer = 2,
                                        .tag = 77,
                                        .detached = true,
                                        .callback = call_back_of_message };
    struct starpu_task *t = starpu_task_create();
    t->cl = &caller_cl;
    t->callback_func = call_back;
    t->detach = 0;
    t->destroy = 0;
    call(starpu_task_submit(t));
    call(starpu_task_wait(t));
    starpu_task_destroy(t);
    call(orr_message_start(&m, "message", NULL));
    while (!atomic_load(&messages)) usleep(100);
    sem_post(&home_goes_on);
    after = starpu_data_acquire(stuck, STARPU_R);
    if (!after) starpu_data_release(stuck);
    starpu_data_unregister(own);
}

static void send_to_it(struct orr_comm *c)
{
    starpu_data_handle_t own;
    starpu_vector_data_register(&own, -1, 0, 8, 1);
    const struct orr_message_spec m = {
        .kind = ORR_SEND, .handle = own, .comm = c, .peer = 1, .tag = 77, .detached = true
    };
    call(starpu_task_insert(&one_cl, STARPU_W, own, 0));
    call(orr_message_start(&m, "message", NULL));
    starpu_data_unregister(own);
}

static void use_before_home(struct job *j, int rank)
{
    starpu_data_handle_t h;
    call(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    begin_data(c, &h, 1, 8);
    task(c, STARPU_W, h, 0);
    task(c, STARPU_R, h, 1);
    if (rank == 0) sem_wait(&home_goes_on);
    task(c, STARPU_R, h, 1);
    if (rank == 1) stuck = h;
    if (rank == 1) use_in_tasks(c);
    if (rank == 2) send_to_it(c);
    call(orr_wait_for_all(c));
    end_data(&h, 1);
    call(rank_end(j, rank));
}

/* ---- on another communicator ---- */

/* What ranks 0 and 1 do there rank 2 does not see. */
static int migrated[2], came_right, copied_right;

static void set(void *buffers[], void *arg)
{
    char value;
    starpu_codelet_unpack_args(arg, &value);
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), value, STARPU_VECTOR_GET_NX(buffers[0]));
}
static struct starpu_codelet set_cl = {
    .cpu_funcs = { set }, .nbuffers = 1, .modes = { STARPU_W }, .name = "set"
};

static bool holds(starpu_data_handle_t h, char value)
{
    call(starpu_data_acquire(h, STARPU_R));
    bool is = *(char *)starpu_vector_get_local_ptr(h) == value;
    starpu_data_release(h);
    return is;
}

static void meet_aside(struct job *j, int rank)
{
    static const int ranks[] = { 1, 0 };
    static const struct orr_inproc_comm pair = { .size = 2, .ranks = ranks };
    starpu_data_handle_t h[2];
    char value = 7;
    call(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank),
                    *aside = rank < 2 ? orr_comm_meet(&sessions[rank].cluster.comms, &pair) : NULL;
    begin_data(c, h, 2, 8);
    call(
        insert(c, &set_cl, STARPU_W, h[0], STARPU_EXECUTE_ON_NODE, 2, STARPU_VALUE, &value, sizeof value, 0));
    task(c, STARPU_W, h[1], 0);
    task(c, STARPU_R, h[1], 2);
    if (aside) {
        call(orr_call_get(aside, h[0], 0, NULL, NULL)); /* rank 1 here */
        if (rank == 1) came_right = holds(h[0], 7);
        call(orr_call_copy(aside, h[1], h[0], false, NULL, NULL, 0));
        migrated[rank] = orr_call_migrate(aside, h[0], 0); /* rank 2 has it */
    }
    task(c, STARPU_R, h[0], 1);
    task(c, STARPU_R, h[1], 2);
    call(orr_wait_for_all(c));
    if (rank == 2) copied_right = holds(h[1], 7);
    end_data(h, 2);
    call(rank_end(j, rank));
}

/* ---- tasks that the program submits itself ---- */

static void built(struct orr_comm *c, int mode, starpu_data_handle_t h, int on)
{
    struct starpu_task *t;
    call(build(c, &t, &one_cl, mode, h, STARPU_EXECUTE_ON_NODE, on, 0));
    if (t) call(starpu_task_submit(t));
    call(post_build(c, &one_cl, mode, h, STARPU_EXECUTE_ON_NODE, on, 0));
}

/* Of what was inserted until here, on any rank. */
static uint64_t sent(struct orr_comm *c)
{
    orr_progress_wait_for_all(&c->cluster->progress);
    call(orr_coll_barrier(c));
    return orr_engine_get_counts(&c->cluster->engine).program_sent;
}

static atomic_ullong sent_for_built;
static atomic_int stayed;

static void build_where_it_is(struct job *j, int rank)
{
    starpu_data_handle_t h;
    call(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    begin_data(c, &h, 1, SMALL);
    task(c, STARPU_W, h, 1);
    task(c, STARPU_R, h, 2);
    uint64_t before = sent(c);
    built(c, STARPU_R, h, 1);
    built(c, STARPU_R, h, 2);
    built(c, STARPU_RW, h, 1);
    atomic_fetch_add(&sent_for_built, sent(c) - before);
    atomic_fetch_add(&stayed, orr_owned_holder(c, h) == 1);
    built(c, STARPU_RW, h, 0);
    atomic_fetch_add(&stayed, orr_owned_holder(c, h) <= 0);
    end_data(&h, 1);
    call(rank_end(j, rank));
}

/* ---- contributions on another communicator ---- */

static void zero(void *buffers[], void *arg)
{
    (void)arg;
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static struct starpu_codelet zero_cl = { .cpu_funcs = { zero }, .nbuffers = 1, .modes = { STARPU_W } };

static void sum_up(void *buffers[], void *arg)
{
    (void)arg;
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet sum_cl = { .cpu_funcs = { sum_up },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R } };

static void plus(void *buffers[], void *arg)
{
    int by;
    starpu_codelet_unpack_args(arg, &by);
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += by;
}
static struct starpu_codelet plus_cl = { .cpu_funcs = { plus },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "plus" };

static atomic_int sums_wrong;

static void compare(void *buffers[], void *arg)
{
    int expected;
    starpu_codelet_unpack_args(arg, &expected);
    int found = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    if (found != expected) diag("a task finds %d, not %d", found, expected);
    if (found != expected) atomic_fetch_add(&sums_wrong, 1);
}
static struct starpu_codelet compare_cl = { .cpu_funcs = { compare }, .nbuffers = 1, .modes = { STARPU_R } };

static void add_to(struct orr_comm *c, starpu_data_handle_t h, int mode, int by, int on)
{
    if (c) call(insert(c, &plus_cl, mode, h, STARPU_EXECUTE_ON_NODE, on, STARPU_VALUE, &by, sizeof by, 0));
}

static void finds(struct orr_comm *c, starpu_data_handle_t h, int expected, int on)
{
    call(insert(c, &compare_cl, STARPU_R, h, STARPU_EXECUTE_ON_NODE, on, STARPU_VALUE, &expected,
                sizeof expected, 0));
}

/* What ends the contributions: something that all ranks see. */
enum end_of_sum { BY_TASK, BY_WAIT, BY_FLUSH, BY_CALL, BY_GET, BY_MIGRATION, BY_CALL_ASIDE, ENDS };
static int last_in_task[ENDS];

static void end_sum(struct orr_comm *c, struct orr_comm *aside, starpu_data_handle_t h, enum end_of_sum how)
{
    switch (how) {
    case BY_TASK: break;
    case BY_WAIT: call(orr_wait_for_all(c)); break;
    case BY_FLUSH: orr_call_flush(c, h), orr_call_flush_all(c); break;
    case BY_CALL: call(orr_call_gather_sums(c, h, 0, 2)); break;
    case BY_GET: call(orr_call_get(c, h, 2, NULL, NULL)); break;
    case BY_MIGRATION: call(orr_call_migrate(c, h, 2)); break;
    default:
        if (aside) call(orr_call_gather_sums(aside, h, 0, 0));
    }
}

/* Ranks 0 (home) and 1 contribute; the value is on rank writer, and so has rank reader one. */
static void sum_with(struct orr_comm *c, struct orr_comm *aside, int writer, int reader, enum end_of_sum how)
{
    static int number; /* at home */
    starpu_data_handle_t h;
    bool home = c->rank == 0;
    if (home) number = 1000;
    starpu_variable_data_register(&h, home ? STARPU_MAIN_RAM : -1, home ? (uintptr_t)&number : 0,
                                  sizeof number);
    starpu_data_set_reduction_methods(h, &sum_cl, &zero_cl);
    call(orr_owned_set_tag(c->cluster->value, h, 50));
    call(orr_cache_set_owner(c, h, 0));
    add_to(c, h, STARPU_RW, 1, writer);
    finds(c, h, 1001, reader);
    if (home) { /* what it changes itself is not known to the others yet */
        call(starpu_data_acquire(h, STARPU_RW));
        *(int *)starpu_variable_get_local_ptr(h) += 5;
        starpu_data_release(h);
    }
    add_to(aside, h, STARPU_REDUX, 10, 0); /* rank 1 here */
    add_to(aside, h, STARPU_REDUX, 20, 1);
    add_to(aside, h, STARPU_REDUX, 40, 0);
    starpu_data_handle_t other;
    starpu_variable_data_register(&other, -1, 0, sizeof(int)); /* the stream goes on without it */
    call(orr_owned_set_tag(c->cluster->value, other, 51));
    call(orr_cache_set_owner(c, other, 1));
    for (int i = 0; i < 3; i++) call(insert(c, &zero_cl, STARPU_W, other, STARPU_EXECUTE_ON_NODE, i, 0));
    end_sum(c, aside, h, how);
    finds(c, h, 1076, 2);
    finds(c, h, 1076, 1);
    add_to(c, h, STARPU_RW, 100, 1);
    finds(c, h, 1176, 0);
    call(orr_wait_for_all(c));
    starpu_data_unregister(other);
    starpu_data_unregister(h);
    if (home && how != BY_MIGRATION) last_in_task[how] += number == 1176;
}

static enum end_of_sum ends_by;

static void sum_aside(struct job *j, int rank)
{
    static const int ranks[] = { 1, 0 };
    static const struct orr_inproc_comm pair = { .size = 2, .ranks = ranks };
    call(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank),
                    *aside = rank < 2 ? orr_comm_meet(&sessions[rank].cluster.comms, &pair) : NULL;
    for (int writer = 0; writer < RANKS; writer++)
        for (int reader = 0; reader < RANKS; reader++) {
            sum_with(c, aside, writer, reader, ends_by);
            call(orr_wait_for_all(c));
        }
    call(rank_end(j, rank));
}

/* Some contribute before all insert for the first time; then rank 2, which they do not know of. */
static void sum_before_all(struct job *j, int rank)
{
    static const int ranks[] = { 1, 0 };
    static const struct orr_inproc_comm pair = { .size = 2, .ranks = ranks };
    static int number = 1000; /* at home */
    starpu_data_handle_t h;
    call(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank),
                    *aside = rank < 2 ? orr_comm_meet(&sessions[rank].cluster.comms, &pair) : NULL;
    starpu_variable_data_register(&h, rank ? -1 : STARPU_MAIN_RAM, rank ? 0 : (uintptr_t)&number,
                                  sizeof number);
    starpu_data_set_reduction_methods(h, &sum_cl, &zero_cl);
    call(orr_owned_set_tag(c->cluster->value, h, 50));
    call(orr_cache_set_owner(c, h, 0));
    add_to(aside, h, STARPU_REDUX, 10, 0);
    add_to(aside, h, STARPU_REDUX, 20, 1);
    add_to(c, h, STARPU_REDUX, 300, 2);
    finds(c, h, 1330, 1);
    call(orr_wait_for_all(c));
    starpu_data_unregister(h);
    if (!rank) is_int(number, 1330, "and those that come before anything that all ranks insert");
    call(rank_end(j, rank));
}

/* ---- a second thread at home, while the first inserts ---- */

enum { INSERTIONS = SCALED(400, 100) };
static int seen_wrong, last_seen;
static atomic_bool inserted_all;

static void count(void *buffers[], void *arg)
{
    (void)arg;
    ++*(uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
}
static struct starpu_codelet count_cl = {
    .cpu_funcs = { count }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "count"
};

static void *look_on(void *arg)
{
    starpu_data_handle_t h = arg;
    for (bool last = false; !last;) {
        last = atomic_load(&inserted_all);
        call(starpu_data_acquire(h, STARPU_R));
        int now = (int)*(uint32_t *)starpu_vector_get_local_ptr(h);
        starpu_data_release(h);
        if (now < last_seen) seen_wrong++;
        last_seen = now;
    }
    return NULL;
}

static void with_second(struct job *j, int rank)
{
    static uint32_t number;
    pthread_t second;
    starpu_data_handle_t h;
    call(rank_start(j, rank));
    struct orr_comm *c = comm_of(j, rank);
    starpu_vector_data_register(&h, rank ? -1 : STARPU_MAIN_RAM, rank ? 0 : (uintptr_t)&number, 4, 1);
    call(orr_owned_set_tag(c->cluster->value, h, 5));
    call(orr_cache_set_owner(c, h, 0));
    task(c, STARPU_RW, h, 1);
    if (rank == 0) pthread_create(&second, NULL, look_on, h);
    for (int i = 0; i < INSERTIONS; i++)
        call(insert(c, &count_cl, STARPU_RW, h, STARPU_EXECUTE_ON_NODE, i % RANKS, 0));
    atomic_store(&inserted_all, rank == 0 || atomic_load(&inserted_all));
    if (rank == 0) pthread_join(second, NULL);
    call(orr_wait_for_all(c));
    starpu_data_unregister(h);
    call(rank_end(j, rank));
}

/* ---- the whole ---- */

static int begin(const struct orr_place_setup *setup, void **state_out)
{
    (void)setup;
    *state_out = NULL;
    return 0;
}

static int choose(void *state, const struct orr_place_view *v)
{
    (void)state;
    return v->written_on >= 0 ? v->written_on : 0;
}

static void end(void *state)
{
    (void)state;
}

/* Where the program says. */
static const struct orr_place_ops as_said = {
    .name = "as said", .for_all = true, .moves_data = true, .begin = begin, .choose = choose, .end = end
};

static void on_ranks(void (*body)(struct job *, int))
{
    struct job j;
    job_create(&j, RANKS, 0, 3, body);
    for (int i = 0; i < RANKS; i++) j.placement = orr_policy_add(&sessions[i].place, &as_said, NULL);
    job_run(&j);
    job_join(&j);
    for (int i = 0; i < RANKS; i++) orr_policy_remove(&sessions[i].place, j.placement);
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    sem_init(&home_goes_on, 0, 0);
    if (starpu_init(&conf)) skip_all("no worker");

    on_ranks(ask_marks);
    ok(all_of(marks[0], !marks[1], marks[2], marks[3], !marks[4]),
       "a value counts as received when it is read, not when it is written, wherever it stays");

    on_ranks(use_memory);
    is_int(with_old[1], 0, "copies are given back once somebody else has written the value anew");
    ok(all_of(with_old[2] == N, with_copies[1] == N, with_copies[0] == N),
       "the writer's is kept, and so is what a reader and the owner got of it");
    ok(all_of(after_one[1] == N - 1, after_one[2] == N - 1, after_one[0] == N),
       "a flush of one gives its copies back, and leaves the owner's");
    ok(all_of(after_all[1] == 0, after_all[2] == 0, after_all[0] == N), "a flush of all those of all");
    ok(all_of(small_left[1] == 0, small_left[2] == 0, old_left[1] == 0, old_left[2] == 0),
       "and small ones that were kept for the next value");
    ok(all_of(!records_left[0], !records_left[1], !records_left[2]), "nothing is kept of data that ended");

    on_ranks(use_before_home);
    is_int(in_task, -EDEADLK, "in a task, what would wait for another rank is refused");
    is_int(in_callback, -EDEADLK, "so it is in a task's callback");
    is_int(in_message, -EDEADLK, "and in a message's");
    is_int(tried_in_task, -EAGAIN, "who only tries is told to try again");
    is_int(after, 0, "who inserts may wait");

    on_ranks(meet_aside);
    ok(came_right, "a value that is away comes on another communicator");
    ok(copied_right, "what is copied there reaches those who have the old value and are not part of it");
    ok(all_of(migrated[0] == -ENOTSUP, migrated[1] == -ENOTSUP),
       "another owner is refused there, while others have the value");
    on_ranks(build_where_it_is);
    is_int((long long)sent_for_built, 0, "tasks that the program submits itself use data where they are");
    is_int(stayed, 2 * RANKS, "and leave them where they wrote them");
    for (ends_by = 0; ends_by < ENDS; ends_by++) on_ranks(sum_aside);
    is_int(sums_wrong, 0, "contributions there count in what all ranks read next, whoever had the value");
    int sums_home = 0;
    for (int i = 0; i < ENDS; i++) sums_home += last_in_task[i];
    is_int(sums_home, (ENDS - 1) * RANKS * RANKS, "and they come home");
    on_ranks(sum_before_all);
    is_int(sums_wrong, 0, "wherever they are wanted next");
    on_ranks(with_second);
    ok(all_of(!seen_wrong, last_seen == INSERTIONS),
       "a second thread at home sees the values in order while the first inserts");
    is_int(failed, 0, "nothing else fails");
    starpu_shutdown();
    return done_testing();
}
