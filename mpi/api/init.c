/* SPDX-License-Identifier: BSD-3-Clause */
/* api/init.c: starting and ending the layer, waiting for everything, and counting.
 * Threads: the main thread of every rank, collectively. Owns: nothing. Not here: messages
 * (api/p2p.c). */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/thread.h"
#include "core/topo/topo.h"
#include "core/worker/worker.h"
#include "mpi/api/comm.h"
#include "mpi/api/session.h"
#include "mpi/value/cache.h"
#include "mpi/wire/coll.h"
#include "mpi/value/message.h"
#include "mpi/value/redux.h"
#include "mpi/value/tags.h"
#include "mpi/wire/transports/builtin.h"

static bool we_initialised_mpi, we_initialised_runtime, print_stats;

/* ---- MPI itself ---- */

static int init_mpi(int *argc, char ***argv, int initialize_mpi)
{
    int is = 0, has = 0, provided = MPI_THREAD_SINGLE;
    MPI_Finalized(&is);
    if (is) {
        orr_error("starpu_mpi_init: MPI was finalised already, and cannot be started again");
        return -EINVAL;
    }
    MPI_Initialized(&has);
    we_initialised_mpi = false;
    if (!has && !initialize_mpi) {
        orr_error(
            "starpu_mpi_init: MPI is not initialised; call MPI_Init_thread first, or give initialize_mpi 1");
        return -EINVAL;
    }
    if (!has) {
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
        we_initialised_mpi = true;
    } else {
        MPI_Query_thread(&provided);
    }
    orr_the_session.cluster.free_threads = provided >= MPI_THREAD_MULTIPLE;
    if (provided < MPI_THREAD_SERIALIZED)
        orr_warn("MPI was initialised with a thread level below MPI_THREAD_SERIALIZED: messages are made "
                 "from several threads; use "
                 "MPI_Init_thread with MPI_THREAD_MULTIPLE, or let starpu_mpi_init do it");
    else if (provided < MPI_THREAD_MULTIPLE)
        orr_info("MPI offers less than MPI_THREAD_MULTIPLE: the program must not call MPI itself while "
                 "messages of data are under way");
    return 0;
}

/* ---- cores shared by several ranks of one node ---- */

static bool overlap(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;
    CPU_AND(&both, a, b);
    return CPU_COUNT(&both) > 0;
}

/* Ranks whose allowed sets overlap, directly or through others, share what they have. */
static void share_cores(MPI_Comm comm)
{
    MPI_Comm node;
    int rank, size, changed = 1;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS) return;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    cpu_set_t mine, *sets = orr_malloc((size_t)size * sizeof *sets);
    bool *with_me = orr_calloc((size_t)size, sizeof *with_me);
    CPU_ZERO(&mine);
    if (sets && with_me && sched_getaffinity(0, sizeof mine, &mine) == 0) {
        unsigned index = 0, sharers = 0;
        MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, sets, (int)sizeof mine, MPI_BYTE, node);
        with_me[rank] = true;
        while (changed) {
            changed = 0;
            for (int i = 0; i < size; i++)
                if (!with_me[i] && overlap(&sets[i], &mine)) {
                    with_me[i] = true;
                    changed = 1;
                    CPU_OR(&mine, &mine, &sets[i]);
                }
        }
        for (int i = 0; i < size; i++) {
            if (i < rank) index += with_me[i];
            sharers += with_me[i];
        }
        orr_topo_share(index, sharers);
    }
    orr_free(with_me);
    orr_free(sets);
    MPI_Comm_free(&node);
}

/* ---- watching over each other ---- */

/* Where a process number means something: the machine, since it was started, and its set of processes. */
struct process {
    uint64_t boot, space;
    int64_t pid;
};

static struct process own_process(void)
{
    struct process p = { .boot = 0xcbf29ce484222325u, .pid = getpid() };
    struct stat st;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    for (int c; f && (c = fgetc(f)) != EOF;) p.boot = (p.boot ^ (unsigned char)c) * 0x100000001b3u;
    if (f) fclose(f);
    if (!f || stat("/proc/self/ns/pid", &st)) p.pid = 0;
    if (p.pid) p.space = st.st_ino;
    return p;
}

static void on_exit_of_program(void)
{
    orr_guard_exit(&orr_the_session.live.guard);
}

/* Starts the guard with rank 0's setting, and with the processes that can be seen from here. Collective. */
static int start_guard(const struct orr_bootstrap *b)
{
    MPI_Comm comm = (MPI_Comm)(intptr_t)b->comm;
    struct process me = own_process(), *all = orr_malloc((size_t)orr_the_session.cluster.size * sizeof *all);
    pid_t *pids = orr_calloc((size_t)orr_the_session.cluster.size, sizeof *pids);
    int64_t limit_ms = orr_guard_limit_ms(), lacking = !all || !pids, lack = 0;
    MPI_Bcast(&limit_ms, 1, MPI_INT64_T, 0, comm);
    MPI_Allreduce(&lacking, &lack, 1, MPI_INT64_T, MPI_SUM, comm);
    if (!lack) {
        b->all_gather(b, &me, sizeof me, all);
        for (int i = 0; i < orr_the_session.cluster.size; i++)
            if (me.pid && all[i].boot == me.boot && all[i].space == me.space) pids[i] = (pid_t)all[i].pid;
    }
    const struct orr_guard_setup setup = { .limit_ms = (uint32_t)limit_ms,
                                           .pids = pids,
                                           .chore = orr_stream_chore,
                                           .chore_arg = &orr_the_session.live.streams };
    static bool knows_exit;
    if (!knows_exit) knows_exit = atexit(on_exit_of_program) == 0;
    int r = lack ? -ENOMEM : orr_guard_start(&orr_the_session.live.guard, &setup);
    orr_free(pids);
    orr_free(all);
    return r;
}

static int finalize_key = MPI_KEYVAL_INVALID;

static void close_engine(void *unused)
{
    (void)unused;
    orr_engine_cancel_unmatched(&orr_the_session.cluster.engine);
    orr_engine_fini(&orr_the_session.cluster.engine);
}

/* MPI_Finalize begins: nobody of ours may call MPI any more. */
static int on_finalize(MPI_Comm comm, int key, void *value, void *unused)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)unused;
    if (!orr_session_runs()) return MPI_SUCCESS;
    orr_error("MPI_Finalize was called before starpu_mpi_shutdown: the MPI layer stops where it is");
    orr_stuck_stop(&orr_the_session.live.stuck);
    orr_guard_closing(&orr_the_session.live.guard);
    orr_guard_stop(&orr_the_session.live.guard);
    orr_progress_aside(&orr_the_session.cluster.progress, close_engine,
                       NULL); /* threads that go on polling find it closed, messages end */
    return MPI_SUCCESS;
}

static void heed_finalize(void)
{
    if (finalize_key != MPI_KEYVAL_INVALID) return;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &finalize_key, NULL) == MPI_SUCCESS)
        MPI_Comm_set_attr(MPI_COMM_SELF, finalize_key, NULL);
}

/* ---- beginning ---- */

static int all_gather(const struct orr_bootstrap *b, const void *mine, size_t bytes, void *all)
{
    int r = MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, (MPI_Comm)(intptr_t)b->comm);
    return r == MPI_SUCCESS ? 0 : -EIO;
}

/* As rank 0's environment says. NULL: it cannot be (said why there). */
static struct orr_transport *open_transport(const struct orr_bootstrap *b, int *status_out)
{
    int number = orr_transport_find(orr_env_string(ORR_SETTING(ORRERY_MPI_TRANSPORT)));
    MPI_Bcast(&number, 1, MPI_INT, 0, (MPI_Comm)(intptr_t)b->comm);
    const struct orr_transport_ops *ops = orr_transport_at(number);
    *status_out = ops ? -ENOMEM : -EINVAL;
    return ops ? ops->open(b) : NULL;
}

static int start_layer(MPI_Comm comm)
{
    struct orr_bootstrap b = { .comm = orr_comm_key(comm), .all_gather = all_gather };
    MPI_Comm_rank(comm, &b.rank);
    MPI_Comm_size(comm, &b.size);
    int r;
    struct orr_transport *t = open_transport(&b, &r);
    if (!t) return r;
    r = orr_engine_init(&orr_the_session.cluster.engine, t);
    if (!r && !(orr_the_session.cluster.comm = orr_comms_start(comm, t->rank, t->size))) {
        orr_engine_fini(&orr_the_session.cluster.engine);
        r = -ENOMEM;
    }
    if (r) {
        t->ops->destroy(t);
        return r;
    }
    orr_the_session.cluster.rank = t->rank;
    orr_the_session.cluster.size = t->size;
    orr_value_attach(&orr_the_session.value, &orr_the_session.cluster);
    orr_progress_init(&orr_the_session.cluster.progress, &orr_the_session.cluster.engine);
    orr_log_set_rank(t->rank);
    orr_cache_init(&orr_the_session.value);
    print_stats = orr_env_long(ORR_SETTING(STARPU_MPI_STATS), 0, 0, 1) ||
                  orr_env_long(ORR_SETTING(STARPU_COMM_STATS), 0, 0, 1);
    orr_messages_begin(&orr_the_session.value, print_stats);
    struct orr_live *live = &orr_the_session.live;
    const struct orr_stream_data data = orr_owned_stream_data(&orr_the_session.value);
    orr_controls_init(&live->controls, &orr_the_session.cluster.engine);
    orr_guard_init(&live->guard, &orr_the_session.cluster, &live->controls);
    orr_streams_init(&live->streams, &orr_the_session.cluster, &live->controls, &live->guard, &data);
    orr_the_session.cluster.streams = &live->streams;
    orr_stuck_init(&live->stuck, &orr_the_session.cluster, &live->controls, &live->guard);
    if (orr_stuck_start(&live->stuck, &orr_message_story))
        orr_warn("deadlocks across ranks will not be noticed: out of memory");
    r = orr_progress_start(&orr_the_session.cluster.progress);
    if (r) {
        orr_stuck_stop(&orr_the_session.live.stuck);
        orr_comms_stop();
        orr_engine_fini(&orr_the_session.cluster.engine);
        t->ops->destroy(t);
        return r;
    }
    orr_the_session.cluster.started = true;
    orr_coll_barrier(orr_the_session.cluster.comm);
    heed_finalize();
    if (start_guard(&b)) orr_warn("ranks that die or stop will not be noticed: no memory or thread for that");
    return 0;
}

/* Undoes what was begun. */
static int give_up(int status)
{
    if (we_initialised_runtime) starpu_shutdown();
    if (we_initialised_mpi) MPI_Finalize();
    we_initialised_runtime = we_initialised_mpi = false;
    return status;
}

/* The worst status of all ranks: either all start, or none does. */
static int agree(MPI_Comm comm, int status)
{
    int worst = status;
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm);
    return worst;
}

static int init(int *argc, char ***argv, int initialize_mpi, MPI_Comm comm, struct starpu_conf *conf,
                bool with_runtime)
{
    if (orr_session_runs()) {
        orr_error("starpu_mpi_init: the MPI layer is running already");
        return -EALREADY;
    }
    if (!with_runtime && !starpu_is_initialized()) {
        orr_error("starpu_mpi_init: starpu_init was not called; call it first, or use starpu_mpi_init_conf");
        return -EINVAL;
    }
    int r = init_mpi(argc, argv, initialize_mpi);
    if (r) return r;
    if (comm == MPI_COMM_NULL) {
        orr_error("starpu_mpi_init: the communicator is MPI_COMM_NULL");
        return give_up(-EINVAL);
    }
    we_initialised_runtime = false;
    if (with_runtime && !starpu_is_initialized()) {
        share_cores(comm);
        r = starpu_initialize(conf, argc, argv);
        we_initialised_runtime = r == 0;
    }
    r = agree(comm, r);
    if (r) return give_up(r);
    r = start_layer(comm);
    return r ? give_up(r) : 0;
}

int starpu_mpi_init_conf(int *argc, char ***argv, int initialize_mpi, MPI_Comm comm, struct starpu_conf *conf)
{
    return init(argc, argv, initialize_mpi, comm, conf, true);
}

int starpu_mpi_init_comm(int *argc, char ***argv, int initialize_mpi, MPI_Comm comm)
{
    return init(argc, argv, initialize_mpi, comm, NULL, false);
}

int starpu_mpi_init(int *argc, char ***argv, int initialize_mpi)
{
    return starpu_mpi_init_comm(argc, argv, initialize_mpi, MPI_COMM_WORLD);
}

int starpu_mpi_initialize(void)
{
    return starpu_mpi_init(NULL, NULL, 0);
}

int starpu_mpi_initialize_extended(int *rank, int *world_size)
{
    int r = starpu_mpi_init(NULL, NULL, 1);
    if (r) return r;
    *rank = orr_the_session.cluster.rank;
    *world_size = orr_the_session.cluster.size;
    return 0;
}

/* ---- waiting for everything ---- */

static bool nothing_outstanding(void *unused)
{
    (void)unused;
    return orr_progress_outstanding(&orr_the_session.cluster.progress) == 0;
}

static bool may_block(const char *fn)
{
    if (!orr_task_inside() && !orr_engine_in_callback()) return true;
    orr_error("%s: it blocks, and must not be called from a task or a callback", fn);
    return false;
}

/* Tasks make messages and messages let tasks run: until there are neither. 0, or -EIO: tasks failed. */
static int drain(void)
{
    int status = 0;
    uint64_t posted;
    do {
        posted = orr_progress_posted(&orr_the_session.cluster.progress);
        orr_progress_wait(&orr_the_session.cluster.progress, nothing_outstanding, NULL);
        if (starpu_task_wait_for_all() == -EIO) status = -EIO;
    } while (orr_progress_outstanding(&orr_the_session.cluster.progress) > 0 ||
             orr_progress_posted(&orr_the_session.cluster.progress) != posted);
    return status;
}

/* Ours for comm when the calling thread may wait for its ranks; otherwise NULL, and why (said). */
static struct orr_comm *comm_to_wait(MPI_Comm comm, const char *fn, int *status_out)
{
    *status_out = -ESHUTDOWN;
    if (!orr_session_check(fn)) return NULL;
    struct orr_comm *c = orr_comm_of(comm);
    if (!c) orr_error("%s: the communicator is not a valid one", fn);
    *status_out = -EINVAL;
    if (!c || may_block(fn)) return c;
    *status_out = -EDEADLK;
    return NULL;
}

/* The ranks meet, and that is all: tasks and messages go on meanwhile. */
int starpu_mpi_barrier(MPI_Comm comm)
{
    int status;
    struct orr_comm *c = comm_to_wait(comm, "starpu_mpi_barrier", &status);
    return c ? orr_coll_barrier(c) : status;
}

int starpu_mpi_wait_for_all(MPI_Comm comm)
{
    if (!orr_session_check("starpu_mpi_wait_for_all")) return -ESHUTDOWN;
    int r = 0, s;
    struct orr_comm *c = comm_to_wait(comm, "starpu_mpi_wait_for_all", &s);
    if (c) {
        r = orr_redux_gather_all(c);
        int failed = drain();
        s = orr_stream_meet(c, false);
        if (!s) s = orr_messages_take_failure(&orr_the_session.value);
        if (!r) r = failed;
    }
    return s ? s : r;
}

int starpu_mpi_wait_for_all_in_ctx(MPI_Comm comm, unsigned sched_ctx)
{
    (void)sched_ctx; /* messages belong to no context: waits for more than it must */
    return starpu_mpi_wait_for_all(comm);
}

/* ---- the end ---- */

/* Of rounds of QUIET_NS: until what is waited for is said, and said again; how long data may be in use by a
 * thread of the program that the runtime does not know. */
enum { QUIET_NS = 900000000, FIRST_SAID = 2, SAID_AGAIN = 15, PATIENCE = 5, SAID_MOST = 8 };

/* True when nothing is outstanding, or nothing has happened for a while. */
struct settling {
    uint64_t completed, since_ns;
    bool may_let_go; /* of data: threads of the program that are known to be at work, or perhaps others */
};

static bool settled(void *arg)
{
    struct settling *s = arg;
    uint64_t completed = orr_progress_completed(&orr_the_session.cluster.progress), now = orr_clock_ns();
    if (orr_progress_outstanding(&orr_the_session.cluster.progress) == 0) return true;
    if (completed != s->completed || orr_workers_busy() > 0) {
        s->completed = completed;
        s->since_ns = now;
    }
    if (now - s->since_ns <= QUIET_NS) return false;
    if (!orr_threads_census().all_blocked) s->may_let_go = true;
    return true;
}

static void count_early(const struct orr_match_node *n, const struct orr_wire_header *h, void *inferred)
{
    if (h->flags & ORR_WIRE_INFERRED) ++*(int64_t *)inferred;
    orr_message_describe_early(n, h, NULL);
}

static void count_unmatched(const struct orr_request *r, void *inferred)
{
    *(int64_t *)inferred += r->inferred;
    orr_message_describe(r, NULL);
}

/* Messages that tasks made and that do not fit the tasks of another rank: what was computed is wrong.
 * Collective; inferred: how many there are on all ranks. */
static void end_with_difference(int64_t inferred)
{
    if (inferred == 0) return;
    orr_stream_explain_all(orr_the_session.cluster.comm);
    orr_guard_hush(&orr_the_session.live.guard);
    if (orr_the_session.cluster.rank == 0)
        orr_fatal("%lld messages that tasks made have no other end: for each, one of two ranks inserted a "
                  "task, or took a rank for the owner of data, that the other did not; the program ends",
                  (long long)inferred);
    usleep(200000); /* rank 0 says it */
    orr_fatal("the program ends: messages that tasks made have no other end");
}

enum shutdown_value { LEFT, MOVED, MAY_MOVE, IN_FLIGHT };

/* What this rank knows, for the sums over all. */
static void look_at_messages(int64_t v[ORR_COLL_VALUES], const struct settling *s)
{
    struct orr_engine_counts c = orr_engine_get_counts(&orr_the_session.cluster.engine);
    v[LEFT] = orr_progress_outstanding(&orr_the_session.cluster.progress);
    v[MOVED] = (int64_t)(orr_progress_completed(&orr_the_session.cluster.progress) + c.program_received);
    v[MAY_MOVE] = orr_workers_busy() + c.bulk_receives + c.queued +
                  orr_progress_may_call(&orr_the_session.cluster.progress) +
                  (c.waiting_data > 0 && s->may_let_go);
    v[IN_FLIGHT] = (int64_t)(c.program_sent - c.program_received);
}

static void say_one(const struct orr_request *r, void *count)
{
    if ((*(int *)count)++ < SAID_MOST) orr_message_describe_under_way(r);
}

static void say_waiting(void)
{
    int count = 0;
    if (orr_progress_outstanding(&orr_the_session.cluster.progress) == 0) return;
    orr_warn("starpu_mpi_shutdown waits for %lld messages that are under way, or whose data is in use:",
             (long long)orr_progress_outstanding(&orr_the_session.cluster.progress));
    orr_engine_visit_under_way(&orr_the_session.cluster.engine, say_one, &count);
}

/* Waits until no rank has messages left. False: those that are left can never end, because all ranks are
 * here, nothing is under way, and nothing moved for a while. A rank that dies meanwhile is the guard's. */
static bool wait_for_messages(int *status_out)
{
    int64_t before = -1;
    for (int round = 0;; round++) {
        struct settling s = { orr_progress_completed(&orr_the_session.cluster.progress), orr_clock_ns(),
                              round < PATIENCE };
        orr_progress_wait(&orr_the_session.cluster.progress, settled, &s);
        if (orr_progress_outstanding(&orr_the_session.cluster.progress) == 0) starpu_task_wait_for_all();
        int64_t v[ORR_COLL_VALUES];
        look_at_messages(v, &s);
        *status_out = orr_coll_sum(orr_the_session.cluster.comm, v) ? -EIO : 0;
        if (*status_out || v[LEFT] == 0) return true;
        if (v[MOVED] == before && v[MAY_MOVE] == 0 && v[IN_FLIGHT] == 0) return false;
        before = v[MOVED];
        if (round % SAID_AGAIN == FIRST_SAID) say_waiting();
    }
}

static bool nothing_under_way(void *unused)
{
    (void)unused;
    struct orr_engine_counts c = orr_engine_get_counts(&orr_the_session.cluster.engine);
    return c.bulk_sends + c.bulk_receives == 0;
}

static void cancel_unmatched(void *unused)
{
    (void)unused;
    orr_engine_cancel_unmatched(&orr_the_session.cluster.engine);
}

static void count_left(const struct orr_request *r, void *unused)
{
    (void)unused;
    orr_message_describe_left(r);
}

/* Waits for the messages of all ranks. Those that can never end are named and given up. Returns 0 or -EIO. */
static int drain_all_ranks(void)
{
    int status;
    if (wait_for_messages(&status)) return status;
    int64_t inferred[ORR_COLL_VALUES] = { 0 };
    orr_engine_visit_unmatched(&orr_the_session.cluster.engine, count_unmatched, inferred);
    orr_engine_visit_early(&orr_the_session.cluster.engine, count_early, inferred);
    orr_engine_visit_under_way(&orr_the_session.cluster.engine, count_left, NULL);
    if (orr_coll_sum(orr_the_session.cluster.comm, inferred) == 0) end_with_difference(inferred[0]);
    orr_progress_aside(&orr_the_session.cluster.progress, cancel_unmatched, NULL);
    orr_progress_wait(&orr_the_session.cluster.progress, nothing_under_way,
                      NULL); /* MPI uses the memory: every rank takes what was sent to it */
    struct settling s = { orr_progress_completed(&orr_the_session.cluster.progress), orr_clock_ns(), false };
    orr_progress_wait(&orr_the_session.cluster.progress, settled, &s);
    if (orr_progress_outstanding(&orr_the_session.cluster.progress) == 0) starpu_task_wait_for_all();
    return -EIO;
}

static void show_stats(void)
{
    const uint64_t *bytes = orr_the_session.cluster.engine.sent_bytes;
    uint64_t total = 0;
    for (int i = 0; i < orr_the_session.cluster.size; i++) total += bytes[i];
    fprintf(stderr, "[mpi stats] rank %d: %llu bytes sent in %llu messages\n", orr_the_session.cluster.rank,
            (unsigned long long)total,
            (unsigned long long)orr_engine_get_counts(&orr_the_session.cluster.engine).sent_messages);
    for (int i = 0; i < orr_the_session.cluster.size; i++)
        if (bytes[i])
            fprintf(stderr, "[mpi stats] rank %d -> %d: %llu bytes\n", orr_the_session.cluster.rank, i,
                    (unsigned long long)bytes[i]);
}

static void stop_layer(void)
{
    struct orr_transport *t = orr_the_session.cluster.engine.transport;
    orr_progress_stop(&orr_the_session.cluster.progress);
    orr_the_session.cluster.started = false;
    orr_engine_fini(&orr_the_session.cluster.engine); /* a worker that comes late finds it closed */
    orr_messages_end(&orr_the_session.value);
    t->ops->destroy(t);
    orr_comms_stop();
    orr_streams_fini(&orr_the_session.live.streams);
    orr_tag_ranges_fini(&orr_the_session.value);
    orr_log_set_rank(-1);
}

/* All ranks are here, and nothing is outstanding: whether every message was received, and all inserted the
 * same tasks. 0 or -EIO. */
static int end_of_stream(void)
{
    int64_t early[ORR_COLL_VALUES] = { 0 };
    size_t here = orr_engine_visit_early(&orr_the_session.cluster.engine, count_early, early);
    int r = orr_coll_sum(orr_the_session.cluster.comm, early);
    if (!r) end_with_difference(early[0]);
    if (!r) r = orr_stream_meet(orr_the_session.cluster.comm, true);
    return here ? -EIO : r;
}

/* MPI is gone already: what is left is this rank's own. */
static int shutdown_after_finalize(void)
{
    orr_progress_stop(&orr_the_session.cluster.progress);
    orr_the_session.cluster.started = false;
    orr_log_set_rank(-1);
    if (we_initialised_runtime) starpu_shutdown();
    we_initialised_runtime = we_initialised_mpi = false;
    return -EIO;
}

int starpu_mpi_shutdown(void)
{
    if (!orr_session_check("starpu_mpi_shutdown")) return -ESHUTDOWN;
    if (!may_block("starpu_mpi_shutdown")) return -EDEADLK;
    if (!orr_the_session.cluster.engine.transport) return shutdown_after_finalize();
    int r = orr_redux_gather_all(orr_the_session.cluster.comm);
    int s = drain_all_ranks();
    if (!s) s = end_of_stream();
    if (!s) s = orr_messages_take_failure(&orr_the_session.value);
    orr_stuck_stop(&orr_the_session.live.stuck); /* its last messages are ahead of this barrier */
    orr_guard_closing(&orr_the_session.live.guard);
    orr_coll_barrier(orr_the_session.cluster.comm);
    orr_guard_stop(&orr_the_session.live.guard);
    if (print_stats) show_stats();
    stop_layer();
    if (we_initialised_runtime) starpu_shutdown();
    if (we_initialised_mpi) MPI_Finalize();
    we_initialised_runtime = we_initialised_mpi = false;
    return s ? s : r;
}

int starpu_mpi_shutdown_comm(MPI_Comm comm)
{
    (void)comm;
    return starpu_mpi_shutdown();
}

/* ---- counting ---- */

/* A message counts when it was started while counting was on, whenever it leaves. */
void starpu_mpi_comm_stats_enable(void)
{
    if (orr_session_check("starpu_mpi_comm_stats_enable")) orr_messages_count(&orr_the_session.value, true);
}

void starpu_mpi_comm_stats_disable(void)
{
    if (orr_session_check("starpu_mpi_comm_stats_disable")) orr_messages_count(&orr_the_session.value, false);
}

void starpu_mpi_comm_stats_retrieve(size_t *comm_stats)
{
    if (!comm_stats || !orr_session_check("starpu_mpi_comm_stats_retrieve")) return;
    const uint64_t *bytes = orr_the_session.cluster.engine.sent_bytes; /* NULL once MPI is over */
    for (int i = 0; i < orr_the_session.cluster.size; i++) comm_stats[i] = bytes ? (size_t)bytes[i] : 0;
}

/* ---- the rest ---- */

int starpu_mpi_get_thread_cpuid(void)
{
    return -1;
}
