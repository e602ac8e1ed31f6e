/* SPDX-License-Identifier: BSD-3-Clause */
/* init.c: bringing the runtime up and down, in the order of the layers.
 * Threads: init and shutdown from any thread, one at a time. Owns: how often init was called. Not here: the
 * parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/data/alloc_cache.h"
#include "core/data/coherency.h"
#include "core/data/layouts.h"
#include "core/data/transfer.h"
#include "core/mem/node.h"
#include "core/mem/pin.h"
#include "core/perf/bus.h"
#include "core/perf/perfmodel.h"
#include "core/run/async_copy.h"
#include "core/run/context.h"
#include "core/run/deadlock.h"
#include "core/run/given.h"
#include "core/run/live.h"
#include "core/run/sched_ctx.h"
#include "core/run/monitor.h"
#include "core/run/observers.h"
#include "core/run/prof_tool.h"
#include "core/run/sched_lib.h"
#include "core/run/watchdog.h"
#include "core/task/redux.h"
#include "core/task/task.h"
#include "core/task/tag.h"
#include "core/topo/topo.h"
#include "core/worker/bus_profile.h"
#include "core/worker/convert.h"
#include "core/worker/combined.h"
#include "core/worker/crash.h"
#include "core/worker/device.h"
#include "core/worker/driver.h"
#include "core/worker/inputs.h"
#include "core/worker/park.h"
#include "core/worker/wait.h"
#include "core/worker/worker.h"

static ORR_MUTEX(init) init_lock = PTHREAD_MUTEX_INITIALIZER; /* protects all here; outermost */
static pthread_cond_t initialized_cond = PTHREAD_COND_INITIALIZER;
static unsigned init_count;
static _Atomic bool up, closing; /* closing: the thread that has init_lock waits for all tasks */

/* How many workers of each kind. */
static void set_numbers(struct starpu_conf *conf, int n)
{
    for (unsigned i = 0; i < STARPU_NARCH; i++) *(int *)((char *)conf + orr_kinds[i].number) = n;
}

int starpu_conf_init(struct starpu_conf *conf)
{
    if (!conf) {
        orr_error("starpu_conf_init: the configuration is NULL");
        return -EINVAL;
    }
    memset(conf, 0, sizeof *conf);
    conf->magic = 42;
    set_numbers(conf, -1);
    conf->reserve_ncpus = -1;
    conf->bus_calibrate = conf->calibrate = -1;
    conf->single_combined_worker = -1;
    conf->will_use_mpi = -1;
    conf->catch_signals = 1;
    conf->global_sched_ctx_min_priority = conf->global_sched_ctx_max_priority = -1;
    return 0;
}

int starpu_conf_noworker(struct starpu_conf *conf)
{
    if (!conf) return -EINVAL;
    set_numbers(conf, 0);
    return 0;
}

/* ---- what lower layers ask of upper ones ---- */

static const char *where(void)
{
    const struct orr_task *current = orr_task_current();
    char *text = orr_thread_scratch();
    if (!current || !text) return orr_self()->callback_depth ? " in a callback" : current ? " in a task" : "";
    snprintf(text, ORR_SCRATCH_BYTES, " in task %s", orr_task_name(current));
    return text;
}

static bool uses(struct starpu_task *p, struct orr_data *h)
{
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(p); i++)
        if (STARPU_TASK_GET_HANDLE(p, i) == h && !(STARPU_TASK_GET_MODE(p, i) & STARPU_SCRATCH)) return true;
    return false;
}

static const char *no_wait(struct orr_data *h)
{
    const struct orr_task *current = orr_task_current();
    if (orr_self()->callback_depth > 0) return "a callback must not block";
    return current && uses(current->pub, h)
               ? "it would wait for the task itself, which uses that data, or some that overlaps it"
               : NULL;
}

static bool poll_transfers(void *arg)
{
    (void)arg;
    return orr_transfers_poll();
}

static int open_main_context(const struct starpu_conf *conf)
{
    const char *env = orr_env_string(ORR_SETTING(STARPU_SCHED));
    const char *name = conf->sched_policy_name;
    struct starpu_sched_policy *user = conf->sched_policy;
    if (env && !conf->precedence_over_environment_variables) {
        name = env;
        user = NULL;
    }
    if (name && strcmp(name, "help") == 0) {
        orr_policies_print();
        return -EINVAL;
    }
    int ids[STARPU_NMAXWORKERS];
    for (unsigned i = 0; i < orr_worker_count; i++) ids[i] = (int)i;
    int r = orr_ctx_open(0, name, user, ids, orr_worker_count);
    if (r == 0 && conf->global_sched_ctx_min_priority != -1)
        orr_contexts[0].min_priority = conf->global_sched_ctx_min_priority;
    if (r == 0 && conf->global_sched_ctx_max_priority != -1)
        orr_contexts[0].max_priority = conf->global_sched_ctx_max_priority;
    return r;
}

static struct orr_progress transfers_progress = { .poll = poll_transfers };
static bool transfers_polled; /* [init_lock, then own: who adds stores] */

static void poll_for_transfers(void)
{
    if (transfers_polled || orr_node_count == 1) return;
    transfers_polled = orr_progress_register(transfers_progress) == 0;
}

/* With a second node copies begin. */
static void store_added(unsigned node)
{
    orr_workers_drive_transfers();
    poll_for_transfers();
    orr_bus_profile_watch();
    orr_bus_add(node);
}

static void stop_polling(void)
{
    orr_store_release(&orr_store_added, NULL);
    orr_progress_unregister(transfers_progress);
    transfers_polled = false;
}

/* Says what of conf cannot be had as it is; init goes on. */
static void doubt(const struct starpu_conf *conf)
{
    int cores = (int)orr_topo_cores();
    if (conf->ncpus > STARPU_MAXCPUS)
        orr_warn("starpu_conf.ncpus is %d; there are %d CPU workers at most (STARPU_MAXCPUS)", conf->ncpus,
                 STARPU_MAXCPUS);
    long reserved, wanted = orr_cpus_wanted(conf, &reserved);
    bool said = orr_env_string(ORR_SETTING(STARPU_NCPU)) || orr_env_string(ORR_SETTING(STARPU_NCPUS));
    if (said && wanted > cores &&
        orr_topo_launched_rank() < 0) /* ranks compare all of a node (mpi/api/cores.c) */
        orr_warn(
            "%ld CPU workers share %d core%s that this process may use: tasks take longer, and no time is "
            "reliable; set STARPU_NCPU=%d, or nothing",
            wanted, cores, cores == 1 ? "" : "s", cores);
    if (conf->ncpus < 0 && conf->reserve_ncpus >= cores)
        orr_warn("starpu_conf.reserve_ncpus is %d, but there are %d cores; one gets a worker nevertheless",
                 conf->reserve_ncpus, cores);
    if (conf->calibrate < -1 || conf->calibrate > 2)
        orr_warn("starpu_conf.calibrate is %d, none of 0, 1, 2; performance models are not calibrated",
                 conf->calibrate);
    if (orr_topo_place() == 0) orr_settings_check(); /* the ranks of a node have the same environment */
}

/* What core/task and this folder do for core/data. The rest of the table is the MPI layer's, and stays. */
static void lend_to_data(void)
{
    orr_data_hooks.initialise = orr_redux_initialise;
    orr_data_hooks.reduction_start = orr_redux_start;
    orr_data_hooks.reclaim = orr_task_reclaim;
    orr_data_hooks.in_task = orr_task_inside;
    orr_data_hooks.where = where;
    orr_data_hooks.holds_view = orr_task_holds_view;
    orr_data_hooks.no_wait = no_wait;
    orr_data_hooks.convert = orr_convert_here;
    orr_data_hooks.give_back = orr_device_give_back;
    orr_layout_on_device = orr_convert_there;
    orr_store_release(&orr_make_room, orr_memory_make_room);
    orr_store_release(&orr_room_over, orr_memory_room_over);
    orr_store_release(&orr_drop_kept, orr_alloc_cache_make_room);
}

/* Called with init_lock held. */
static int bring_up(struct starpu_conf *conf)
{
    int r;
    orr_log_init();
    orr_clock_init();
    lend_to_data();
    if ((r = orr_topo_init()) != 0) return r;
    doubt(conf);
    orr_nodes_init();
    orr_memory_init();
    orr_async_copy_init(conf);
    if ((r = orr_workers_setup(conf)) != 0) goto undo_workers;
    orr_pins_start();
    if ((r = orr_stores_open()) != 0) goto undo_workers;
    if ((r = orr_driven_choose(conf)) != 0) goto undo_workers;
    orr_combined_init(conf);
    if ((r = orr_perf_init(conf->calibrate, conf->precedence_over_environment_variables)) != 0)
        goto undo_workers;
    orr_bus_init(conf->bus_calibrate, conf->precedence_over_environment_variables);
    if ((r = orr_sched_lib_open()) != 0) goto undo_perf;
    if ((r = open_main_context(conf)) != 0) goto undo_lib;
    orr_wait_init_limits();
    orr_codelets_init();
    starpu_worker_set_going_to_sleep_callback(conf->callback_worker_going_to_sleep);
    starpu_worker_set_waking_up_callback(conf->callback_worker_waking_up);
    orr_observers_start();
    orr_monitor_start(conf);
    orr_prof_tools_open(conf);
    poll_for_transfers();
    void (*policy_ready)(unsigned) =
        conf->sched_policy_callback ? conf->sched_policy_callback : conf->sched_policy_init;
    if (policy_ready) policy_ready(0);
    orr_crash_start(conf);
    if ((r = orr_workers_start()) != 0) goto undo_context;
    orr_deadlock_start();
    orr_watchdog_start();
    orr_live_start(conf);
    orr_store_release(&orr_store_added, store_added);
    orr_given_start(conf);
    orr_prof_tools_started(conf);
    orr_binding_main_start(); /* last: threads made before do not inherit it */
    return 0;
undo_context:
    orr_crash_stop();
    stop_polling();
    orr_ctx_close(0);
    orr_prof_tools_close();
    orr_monitor_stop();
    orr_observers_stop();
undo_lib:
    orr_sched_lib_close();
undo_perf:
    orr_perf_fini();
undo_workers:
    orr_pins_stop();
    orr_workers_teardown();
    orr_bus_fini();
    orr_nodes_fini();
    orr_topo_fini();
    return r;
}

/* Takes init_lock. A task must not wait for the thread that waits for all tasks: false, with a message, while
 * the runtime shuts down. */
static bool lock_init(const char *function)
{
    if (!orr_task_inside()) {
        pthread_mutex_lock(&init_lock);
        return true;
    }
    while (pthread_mutex_trylock(&init_lock) != 0) {
        if (orr_load_acquire(&closing)) {
            orr_error("%s%s: the runtime is shutting down, and waits for this task", function, where());
            return false;
        }
        sched_yield();
    }
    return true;
}

int starpu_initialize(struct starpu_conf *user_conf, int *argc, char ***argv)
{
    struct starpu_conf defaults;
    (void)argc;
    (void)argv;
    starpu_conf_init(&defaults);
    struct starpu_conf *conf = user_conf ? user_conf : &defaults;
    if (conf->magic != 42) {
        orr_error("starpu_init: the configuration was not prepared by starpu_conf_init");
        return -EINVAL;
    }
    if (!lock_init("starpu_init")) return -EBUSY;
    int r = init_count > 0 ? 0 : bring_up(conf);
    if (r == 0) init_count++;
    if (r == 0) orr_store_release(&up, true);
    pthread_cond_broadcast(&initialized_cond);
    pthread_mutex_unlock(&init_lock);
    return r;
}

int starpu_init(struct starpu_conf *conf)
{
    return starpu_initialize(conf, NULL, NULL);
}

/* Called with init_lock held. */
static void bring_down(void)
{
    orr_wait_until(0);
    orr_store_release(&up, false);
    orr_topo_unbind_main();
    orr_given_stop();
    orr_deadlock_stop();
    orr_watchdog_stop();
    orr_live_stop();
    orr_workers_stop();
    orr_crash_stop();
    stop_polling();
    for (unsigned id = STARPU_NMAX_SCHED_CTXS; id-- > 0;) orr_ctx_close(id);
    orr_sched_ctx_fini();
    orr_sched_lib_close();
    orr_perf_fini();
    orr_tags_fini();
    orr_prof_tools_close();
    orr_monitor_stop();
    orr_observers_stop();
    orr_transfers_fini();
    orr_data_retired_free();
    orr_pins_stop();
    orr_workers_teardown();
    orr_bus_fini();
    orr_nodes_fini();
    orr_topo_fini();
    orr_slab_trim_all();
}

void starpu_shutdown(void)
{
    if (orr_task_inside()) {
        orr_error(
            "starpu_shutdown%s: it waits for all tasks, and must not be called from a task or a callback",
            where());
        return;
    }
    pthread_mutex_lock(&init_lock);
    if (init_count == 0)
        orr_error("starpu_shutdown: the runtime is not initialised");
    else if (init_count > 1)
        init_count--;
    else {
        orr_store_release(&closing, true);
        bring_down();
        orr_store_release(&closing, false);
        init_count = 0;
    }
    pthread_mutex_unlock(&init_lock);
}

int starpu_is_initialized(void)
{
    return orr_load_acquire(&up);
}

void starpu_wait_initialized(void)
{
    if (orr_load_acquire(&up)) return;
    pthread_mutex_lock(&init_lock);
    while (init_count == 0) pthread_cond_wait(&initialized_cond, &init_lock);
    pthread_mutex_unlock(&init_lock);
}

void starpu_pause(void)
{
    if (starpu_is_initialized()) orr_workers_pause();
}

void starpu_resume(void)
{
    if (starpu_is_initialized()) orr_workers_resume();
}

int starpu_is_paused(void)
{
    return orr_load_seq(&orr_parking.paused) != 0;
}

void starpu_get_version(int *major, int *minor, int *release)
{
    *major = STARPU_MAJOR_VERSION;
    *minor = STARPU_MINOR_VERSION;
    *release = STARPU_RELEASE_VERSION;
}
