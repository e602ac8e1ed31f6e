/* SPDX-License-Identifier: BSD-3-Clause */
/* session.c: see session.h. Either all ranks start, or none does: each does what it can alone, they agree,
 * and then only they talk to each other. Threads: see session.h. Owns: see session.h. Not here: see
 * session.h. */
#include "mpi/api/session.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "mpi/place/insert.h"
#include "mpi/place/replay.h"
#include "mpi/value/away.h"
#include "mpi/value/borrow.h"
#include "mpi/value/cache.h"
#include "mpi/value/hungry.h"
#include "mpi/value/message.h"
#include "mpi/value/ownership.h"
#include "mpi/value/seen.h"
#include "mpi/value/tags.h"
#include "mpi/wire/coll.h"
#include "mpi/wire/host.h"

struct orr_session orr_the_session = ORR_SESSION_INITIALIZER;

/* ---- watching over each other ---- */

/* Where a process number means something: the machine, since it was started, and its set of processes. */
struct process {
    uint64_t boot, space;
    int64_t pid;
};

static struct process own_process(void)
{
    struct process p = { .boot = orr_host_number(), .pid = getpid() };
    struct stat st;
    if (!p.boot || stat("/proc/self/ns/pid", &st)) p.pid = 0;
    if (p.pid) p.space = st.st_ino;
    return p;
}

/* Starts the guard with rank 0's setting, and with the processes that can be seen from here. Without it the
 * layer works: what is lacking is said. Collective. */
static void start_guard(struct orr_session *s, const struct orr_bootstrap *b)
{
    size_t size = (size_t)b->size;
    struct process me = own_process(), *all = orr_malloc(size * sizeof *all);
    pid_t *pids = orr_calloc(size, sizeof *pids);
    int limit_ms = b->agree(b, b->rank ? INT_MAX : (int)orr_guard_limit_ms());
    int r = b->agree(b, all && pids ? 0 : -ENOMEM);
    if (!r) r = b->all_gather(b, &me, sizeof me, all);
    for (size_t i = 0; i < size && !r; i++)
        if (me.pid && all[i].boot == me.boot && all[i].space == me.space) pids[i] = (pid_t)all[i].pid;
    const struct orr_guard_setup setup = {
        .limit_ms = (uint32_t)limit_ms, .pids = pids, .chore = orr_stream_chore, .chore_arg = &s->live.streams
    };
    if (!r) r = orr_guard_start(&s->live.guard, &setup);
    if (r) orr_warn("ranks that die or stop will not be noticed: %s", strerror(-r));
    orr_free(pids);
    orr_free(all);
}

/* ---- up ---- */

/* The rooms get to know each other; nothing moves yet. */
static void wire_up(struct orr_session *s, const struct orr_session_setup *setup)
{
    struct orr_cluster *cl = &s->cluster;
    struct orr_live *live = &s->live;
    cl->rank = cl->engine.transport->rank;
    cl->size = cl->engine.transport->size;
    cl->free_threads = setup->free_threads;
    cl->streams = &live->streams;
    cl->place = &s->place;
    orr_value_attach(&s->value, cl);
    const struct orr_stream_data data = orr_owned_stream_data(&s->value);
    orr_progress_init(&cl->progress, &cl->engine);
    orr_controls_init(&live->controls, &cl->engine);
    orr_guard_init(&live->guard, cl, &live->controls);
    orr_streams_init(&live->streams, cl, &live->controls, &live->guard, &data);
    orr_stuck_init(&live->stuck, cl, &live->controls, &live->guard);
    orr_checkpoints_init(&s->checkpoints, cl, &live->controls);
    orr_cache_init(&s->value);
    orr_messages_begin(&s->value, setup->counts);
}

/* What this rank does alone. 0, -ENOMEM, -EAGAIN or -ENOSPC (said why), and then all is as before. */
static int begin(struct orr_session *s, const struct orr_session_setup *setup, struct orr_transport *t)
{
    struct orr_cluster *cl = &s->cluster;
    int r = orr_engine_init(&cl->engine, t, &cl->bells);
    if (r) goto say;
    long early_mib = orr_env_long(ORR_SETTING(ORRERY_MPI_EARLY_MIB), 16, 0, 1 << 20);
    orr_engine_limit_early(&cl->engine, (uint64_t)early_mib << 20);
    cl->comm =
        orr_comms_init(&cl->comms, cl, &cl->engine, setup->source, setup->program_comm, t->rank, t->size);
    r = -ENOMEM;
    if (!cl->comm) goto end_engine;
    wire_up(s, setup);
    r = orr_away_start(&s->value, &s->live.controls);
    if (r) goto end_comms;
    r = orr_views_begin(&s->value, &s->live.controls);
    if (r) goto end_away;
    r = orr_progress_start(&cl->progress, &cl->bells);
    if (r) goto end_views;
    if (orr_stuck_start(&s->live.stuck, &orr_message_story))
        orr_warn("deadlocks across ranks will not be noticed: out of memory");
    orr_standing_start(&s->standing, cl);
    return 0;
end_views:
    orr_views_end(&s->value);
end_away:
    orr_away_end(&s->value);
end_comms:
    orr_comms_fini(&cl->comms);
end_engine:
    orr_engine_fini(&cl->engine);
say:
    if (r == -ENOSPC) orr_error("starpu_mpi_init: too many others poll in this process already");
    if (r == -ENOMEM)
        orr_error("starpu_mpi_init: out of memory for what rank %d keeps of the others", t->rank);
    return r;
}

/* Whether large values go along trees: where all ranks want it. Collective. */
static void agree_on_trees(struct orr_session *s, const struct orr_session_setup *setup)
{
    enum { TREE_BYTES = 64 << 10 };
    int all = setup->bootstrap->agree(setup->bootstrap, setup->wants_trees);
    s->value.moves.tree_bytes = all > 0 ? TREE_BYTES : SIZE_MAX;
}

/* Ready tasks are lent where all ranks want it, and can. *asks_out: and asked for by themselves. Collective.
 */
static int begin_lending(struct orr_session *s, const struct orr_session_setup *setup, bool *asks_out)
{
    const struct orr_bootstrap *b = setup->bootstrap;
    int wish = b->agree(b, setup->free_threads ? (int)setup->lends : 0);
    s->lend.on = false;
    *asks_out = b->size > 1 && wish == ORR_LENDS_AND_ASKS;
    if (b->size == 1 || wish == ORR_LENDS_NOT) return 0;
    int r = orr_lend_begin(&s->lend, &s->cluster, &s->live.controls);
    if (!r) orr_borrow_begin(&s->lend);
    return b->agree(b, r);
}

/* All ranks answer. */
static void begin_asking(struct orr_session *s)
{
    int r = orr_hungry_start(&s->lend);
    if (r) orr_warn("ORRERY_MPI_LEND: this rank asks for no tasks: %s", strerror(-r));
}

/* What all ranks compute with. Collective; 0 on all ranks or on none. */
static int meet_machines(struct orr_session *s, const struct orr_bootstrap *b)
{
    int r = orr_machines_gather(&s->machines, b);
    s->place.machines = r ? NULL : &s->machines;
    return r;
}

/* What the ranks agreed on before the transport. A placement that the environment chose does not outlast it.
 */
static void forget_machines(struct orr_session *s)
{
    if (s->imposed > 0 && s->place.current == s->imposed) orr_policy_set_current(&s->place, 0);
    s->imposed = 0;
    struct orr_history *history = s->place.history;
    orr_place_set_history(&s->place, NULL);
    orr_history_end(history);
    s->writes_history = false;
    s->place.machines = NULL;
    orr_machines_fini(&s->machines);
}

/* What ends with the layer, the guard and what the ranks say to each other apart. */
static void take_down(struct orr_session *s)
{
    struct orr_transport *t = s->cluster.engine.transport;
    orr_standing_stop(&s->standing);
    orr_stuck_stop(&s->live.stuck);
    orr_hungry_stop(&s->lend);
    orr_lend_end(&s->lend);
    orr_progress_stop(&s->cluster.progress);
    s->cluster.started = false;
    orr_engine_fini(&s->cluster.engine); /* a worker that comes late finds it closed */
    orr_messages_end(&s->value);
    orr_views_end(&s->value);
    orr_away_end(&s->value);
    t->ops->destroy(t);
    orr_bells_close(&s->cluster.bells);
    orr_owned_let_go(&s->value);
    if (s->cluster.comm) orr_replay_drop(s->cluster.comm);
    orr_mpi_forget_built(&s->place);
    orr_comms_fini(&s->cluster.comms);
    orr_streams_fini(&s->live.streams);
    orr_tag_ranges_fini(&s->value);
    forget_machines(s);
}

/* Another rank could not do what this one could. */
static int say_other(int status)
{
    orr_error("starpu_mpi_init: another rank could not start (%s): see what it says", strerror(-status));
    return status;
}

/* Who cannot takes part at the end all the same. */
static void begin_history(struct orr_session *s, const char *path)
{
    s->writes_history = true;
    orr_place_set_history(&s->place, orr_history_start(path));
}

int orr_session_start(struct orr_session *s, const struct orr_session_setup *setup)
{
    const struct orr_bootstrap *b = setup->bootstrap;
    int r = setup->transport && setup->placement >= -1 ? 0 : -EINVAL;
    if (!r) r = orr_policy_set_current(&s->place, setup->placement);
    if (!r) s->imposed = setup->placement;
    r = b->agree(b, r);
    if (!r) r = meet_machines(s, b);
    if (r) return r;
    agree_on_trees(s, setup);
    if (setup->placement >= 0) orr_policy_agree(&s->place, b);
    struct orr_transport *t = setup->transport->open(b);
    r = b->agree(b, t ? 0 : -ENOMEM);
    if (r && t) t->ops->destroy(t);
    if (r) forget_machines(s);
    if (r) return t ? say_other(r) : r;
    orr_bells_open(&s->cluster.bells, b);
    int mine = begin(s, setup, t);
    r = b->agree(b, mine);
    if (r && !mine) take_down(s);
    if (r && mine) {
        forget_machines(s);
        t->ops->destroy(t);
        orr_bells_close(&s->cluster.bells);
    }
    if (r) return mine ? mine : say_other(r);
    s->cluster.started = true;
    start_guard(s, b);
    bool asks;
    r = begin_lending(s, setup, &asks);
    if (!r) r = orr_coll_barrier(s->cluster.comm);
    if (!r) orr_policy_start(&s->place, s->cluster.comm);
    if (!r && asks) begin_asking(s);
    if (!r && setup->history) begin_history(s, setup->history);
    if (!r) return 0;
    orr_error("starpu_mpi_init: the ranks do not hear each other: %s", strerror(-r));
    orr_guard_stop(&s->live.guard);
    take_down(s);
    return r;
}

void orr_session_stop(struct orr_session *s)
{
    take_down(s);
}
