/* SPDX-License-Identifier: BSD-3-Clause */
/* api/init.c: MPI, the runtime and the layer are started, and ended.
 * Threads: the main thread of every rank, collectively. Owns: nothing. Not here: what the layer consists of
 * (session.c), how ranks end together (shutdown.c). */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <orrery.h>
#include <starpu_mpi_lb.h>

#include "core/base/env.h"
#include "core/topo/topo.h"
#include "mpi/api/iteration.h"
#include "mpi/api/comm.h"
#include "mpi/api/cores.h"
#include "mpi/api/session.h"
#include "mpi/api/shutdown.h"
#include "mpi/api/statistics.h"
#include "mpi/api/wait.h"
#include "mpi/wire/transports/builtin.h"
#include "mpi/wire/version.h"

/* ---- MPI itself ---- */

static int init_mpi(int *argc, char ***argv, int initialize_mpi, bool *free_threads_out)
{
    int is = 0, has = 0, provided = MPI_THREAD_SINGLE;
    MPI_Finalized(&is);
    if (is) {
        orr_error("starpu_mpi_init: MPI was finalised already, and cannot be started again");
        return -EINVAL;
    }
    MPI_Initialized(&has);
    orr_the_session.owns_mpi = false;
    if (!has && !initialize_mpi) {
        orr_error(
            "starpu_mpi_init: MPI is not initialised; call MPI_Init_thread first, or give initialize_mpi 1");
        return -EINVAL;
    }
    if (!has) {
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
        orr_the_session.owns_mpi = true;
    } else {
        MPI_Query_thread(&provided);
    }
    *free_threads_out = provided >= MPI_THREAD_MULTIPLE;
    if (provided < MPI_THREAD_SERIALIZED)
        orr_warn("MPI was initialised with a thread level below MPI_THREAD_SERIALIZED: messages are made "
                 "from several threads; use "
                 "MPI_Init_thread with MPI_THREAD_MULTIPLE, or let starpu_mpi_init do it");
    else if (provided < MPI_THREAD_MULTIPLE)
        orr_info("MPI offers less than MPI_THREAD_MULTIPLE: the program must not call MPI itself while "
                 "messages of data are under way");
    return 0;
}

/* ---- who ends it too early ---- */

static int finalize_key = MPI_KEYVAL_INVALID;

static void close_engine(void *engine)
{
    orr_engine_cancel_unmatched(engine);
    orr_engine_fini(engine);
}

/* MPI_Finalize begins: nobody of ours may call MPI any more. */
static int on_finalize(MPI_Comm comm, int key, void *value, void *unused)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)unused;
    struct orr_session *s = &orr_the_session;
    if (!orr_session_runs()) return MPI_SUCCESS;
    orr_error("MPI_Finalize was called before starpu_mpi_shutdown: the MPI layer stops where it is");
    orr_standing_stop(&s->standing);
    orr_stuck_stop(&s->live.stuck);
    orr_guard_closing(&s->live.guard);
    orr_guard_stop(&s->live.guard);
    /* Threads that go on polling find it closed, messages end. */
    orr_progress_aside(&s->cluster.progress, close_engine, &s->cluster.engine);
    return MPI_SUCCESS;
}

static void on_exit_of_program(void)
{
    orr_guard_exit(&orr_the_session.live.guard);
}

static void heed_exit(void)
{
    static bool does;
    if (!does) does = atexit(on_exit_of_program) == 0;
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

static int agree(const struct orr_bootstrap *b, int value)
{
    int least = value;
    int r = MPI_Allreduce(&value, &least, 1, MPI_INT, MPI_MIN, (MPI_Comm)(intptr_t)b->comm);
    return r == MPI_SUCCESS ? least : -EIO;
}

static struct orr_bootstrap bootstrap_on(MPI_Comm comm)
{
    struct orr_bootstrap b = { .comm = orr_comm_key(comm), .all_gather = all_gather, .agree = agree };
    MPI_Comm_rank(comm, &b.rank);
    MPI_Comm_size(comm, &b.size);
    return b;
}

/* Before anything else is said: ranks of other versions may say that in another way. The same on all ranks.
 */
static int check_versions(MPI_Comm comm)
{
    const struct orr_bootstrap b = bootstrap_on(comm);
    char own[ORR_VERSION_BYTES];
    orr_version_own(own);
    int r = orr_version_meet(&b, own);
    if (r || orrery_version() == ORRERY_VERSION) return r;
    if (b.rank == 0)
        orr_error("starpu_mpi_init: liborrery-mpi %s finds liborrery of another version: install both "
                  "together, and "
                  "look for an older one in LD_LIBRARY_PATH (ldd shows which is loaded)",
                  own);
    return -EINVAL;
}

/* As rank 0's environment says. NULL: there is none such (said there). */
static const struct orr_transport_ops *choose_transport(const struct orr_bootstrap *b)
{
    int mine = b->rank ? INT_MAX : orr_transport_find(orr_env_string(ORR_SETTING(ORRERY_MPI_TRANSPORT)));
    return orr_transport_at(agree(b, mine));
}

/* Rank 0's environment says it; what follows a colon is told to all. -1: nothing; less: refused (said). */
static int choose_placement(const struct orr_bootstrap *b, struct orr_place *place)
{
    const char *name = orr_env_string(ORR_SETTING(ORRERY_MPI_SCHED)),
               *argument = name ? strchr(name, ':') : NULL;
    int mine = b->rank ? INT_MAX : name ? orr_policy_find(name) : -1;
    if (argument && strlen(++argument) >= sizeof place->argument) {
        orr_error("ORRERY_MPI_SCHED: its argument is longer than %zu bytes", sizeof place->argument - 1);
        if (!b->rank) mine = -EINVAL;
    }
    int chosen = agree(b, mine);
    double worth = orr_env_double(ORR_SETTING(STARPU_SCHED_GAMMA), 1000, 0, 1e9);
    place->us_per_joule = (uint64_t)agree(b, b->rank ? INT_MAX : (int)worth);
    memset(place->argument, 0, sizeof place->argument);
    if (!b->rank && argument && chosen >= 0) strcpy(place->argument, argument);
    if (chosen >= 0)
        MPI_Bcast(place->argument, sizeof place->argument, MPI_CHAR, 0, (MPI_Comm)(intptr_t)b->comm);
    return chosen;
}

/* Whether rank 0's environment asks for the schedule of this run: the file, there. */
static const char *choose_history(const struct orr_bootstrap *b)
{
    const char *path = orr_env_string(ORR_SETTING(ORRERY_PLAN_RECORD));
    int wanted = agree(b, b->rank ? INT_MAX : path != NULL);
    return wanted <= 0 ? NULL : path ? path : "";
}

/* The launcher of another MPI than the library's starts programs that do not find each other: each is alone.
 */
static void doubt_launcher(void)
{
    int size = 1, started = orr_topo_launched_count();
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1 || started <= 1 || orr_topo_launched_rank() > 0) return;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(library, &length);
    orr_warn("the launcher started %d processes, and each of them is a job of one rank: it belongs to "
             "another MPI than "
             "this program, which has %.*s; start it with the mpirun of that MPI (Debian: mpirun.openmpi, "
             "mpirun.mpich; under Slurm: srun --mpi=pmix, or mpirun)",
             started, (int)strcspn(library, ",\n"), library);
}

/* The layer on all ranks of comm, or on none; status: whether the runtime runs here. */
static int start(MPI_Comm comm, int status, bool free_threads)
{
    struct orr_bootstrap b = bootstrap_on(comm);
    int r = agree(&b, status);
    if (r) return r;
    bool counts = orr_statistics_begin(&b);
    const struct orr_transport_ops *transport = choose_transport(&b); /* in this order on all ranks */
    int placement = choose_placement(&b, &orr_the_session.place);
    const char *history = choose_history(&b);
    /* a schedule that is recorded says who ran each task */
    bool lends = !history && orr_env_long(ORR_SETTING(ORRERY_MPI_LEND), 0, 0, 1);
    b.in_place = lends;
    const struct orr_session_setup setup = { .bootstrap = &b,
                                             .transport = transport,
                                             .placement = placement,
                                             .history = history,
                                             .source = &orr_comm_mpi_source,
                                             .program_comm = b.comm,
                                             .counts = counts,
                                             .wants_trees = starpu_mpi_coop_sends_get_use(),
                                             .lends = lends ? ORR_LENDS_AND_ASKS : ORR_LENDS_NOT,
                                             .free_threads = free_threads };
    orr_log_set_rank(b.rank);
    orr_cores_tell(comm);
    r = orr_session_start(&orr_the_session, &setup);
    if (r) {
        orr_statistics_end();
        orr_log_set_rank(-1);
        return r;
    }
    orr_comms_attach(comm);
    orr_iterations_attach();
    heed_finalize();
    heed_exit();
    return 0;
}

/* Ends what was begun for the program. */
static void end_ours(void)
{
    struct orr_session *s = &orr_the_session;
    if (s->owns_runtime) starpu_shutdown(); /* whose last messages are this rank's */
    orr_log_set_rank(-1);
    if (s->owns_mpi) MPI_Finalize();
    s->owns_runtime = s->owns_mpi = false;
}

static int give_up(int status)
{
    end_ours();
    return status;
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
    bool free_threads;
    int r = init_mpi(argc, argv, initialize_mpi, &free_threads);
    if (r) return r;
    if (comm == MPI_COMM_NULL) {
        orr_error("starpu_mpi_init: the communicator is MPI_COMM_NULL");
        return give_up(-EINVAL);
    }
    orr_the_session.owns_runtime = false;
    r = check_versions(comm);
    if (r) return give_up(r);
    doubt_launcher();
    orr_cores_share(comm, conf, starpu_is_initialized());
    /* counted where it runs: programs may call starpu_shutdown first, and it stays until the layer ends */
    r = starpu_initialize(conf, argc, argv);
    orr_the_session.owns_runtime = r == 0;
    r = start(comm, r, free_threads);
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

/* ---- the end ---- */

/* MPI is gone already: what is left is this rank's own. */
static int shutdown_after_finalize(struct orr_session *s)
{
    orr_progress_stop(&s->cluster.progress);
    s->cluster.started = s->owns_mpi = false;
    orr_statistics_end();
    end_ours();
    return -EIO;
}

int starpu_mpi_shutdown(void)
{
    struct orr_session *s = &orr_the_session;
    if (!orr_session_check("starpu_mpi_shutdown")) return -ESHUTDOWN;
    if (!orr_wait_may_block("starpu_mpi_shutdown", "")) return -EDEADLK;
    if (!s->cluster.engine.transport) return shutdown_after_finalize(s);
    starpu_mpi_lb_shutdown();
    orr_checkpoints_stop(&s->checkpoints); /* what could not be written was said */
    int r = orr_shutdown(s);
    orr_statistics_show(&s->cluster);
    orr_iterations_detach();
    orr_session_stop(s);
    orr_statistics_end();
    orr_comms_detach();
    end_ours();
    return r;
}

int starpu_mpi_shutdown_comm(MPI_Comm comm)
{
    (void)comm;
    return starpu_mpi_shutdown();
}

/* ---- the rest ---- */

int starpu_mpi_get_thread_cpuid(void)
{
    return -1;
}
