/* SPDX-License-Identifier: BSD-3-Clause */
/* live.c: see live.h.
 * Threads: see there. Owns: see there. Not here: see there.
 *
 * The thread sleeps on a word of the page, which who asks adds to, in whatever process he is. Then it writes
 * its numbers ten times a second until nobody has said for three seconds that he looks: so a reader that dies
 * leaves nothing behind. Without a file (no room, no right, no folder) the page is memory of this process
 * alone. */
#include "core/run/live.h"

#include <signal.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/livepage.h"
#include "core/base/log.h"
#include "core/run/gather.h"
#include "core/run/progress.h"
#include "core/topo/topo.h"
#include "core/worker/own.h"
#include "core/worker/worker.h"

static struct {
    pthread_t thread;
    bool running; /* [own: the initialising thread] */
    _Atomic bool stop;
    struct orr_live_page *page;    /* [const while running] */
    int fd;                        /* of its file; -1: it has none */
    struct orr_live_sums *numbers; /* [own: live thread] NULL until somebody looked */
    bool progress, draws;          /* [const while running] lines are wanted; of this process */
    uint64_t every_ns, drawn_ns;   /* between lines; the last one [own: live thread] */
} live;

/* ---- the thread ---- */

static bool is_looked_at(uint64_t now)
{
    uint64_t looked = orr_load_acquire(&live.page->looked_ns);
    return looked && now < looked + (uint64_t)ORR_LIVE_PATIENCE_MS * 1000000;
}

static void show_numbers(enum orr_gathering wanted)
{
    if (wanted != ORR_GATHER_NOTHING && !live.numbers) live.numbers = orr_gather_init(STARPU_MAXNODES);
    if (!live.numbers) return; /* out of memory: the next time perhaps */
    orr_gather_want(wanted);
    if (wanted == ORR_GATHER_NOTHING) return;
    orr_gather(live.numbers);
    orr_livepage_write(live.page, live.numbers);
}

static void show_progress(uint64_t now, bool last)
{
    if (!live.draws || !live.numbers || (!last && now - live.drawn_ns < live.every_ns)) return;
    live.drawn_ns = now;
    orr_progress_line(live.numbers, orr_worker_count, last);
}

static void *run(void *unused)
{
    (void)unused;
    orr_thread_is_internal();
    live.drawn_ns = orr_clock_ns();
    for (;;) {
        uint32_t seen = orr_load_seq(&live.page->bell); /* pairs with orr_livepage_ring */
        bool stop = orr_load_seq(&live.stop), looked = is_looked_at(orr_clock_ns());
        show_numbers(looked ? ORR_GATHER_CODELETS : live.progress ? ORR_GATHER_SUMS : ORR_GATHER_NOTHING);
        show_progress(orr_clock_ns(), stop);
        if (stop) break;
        int64_t ns = looked          ? (int64_t)ORR_LIVE_EVERY_MS * 1000000
                     : live.progress ? (int64_t)live.every_ns
                                     : -1;
        orr_futex_wait_shared(&live.page->bell, seen, ns, FUTEX_BITSET_MATCH_ANY);
    }
    return NULL;
}

/* With all signals blocked: they are the program's threads'. */
static bool start_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&live.thread, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void orr_live_start(const struct starpu_conf *conf)
{
    int64_t every_ms;
    (void)conf;
    live.running = false;
    orr_livepage_set_folder(orr_env_string(ORR_SETTING(ORRERY_LIVE)));
    live.progress = orr_progress_line_start(&every_ms);
    live.draws = live.progress && orr_topo_is_first();
    live.every_ns = (uint64_t)every_ms * 1000000;
    if (!live.progress && !orr_livepage_folder()) return;
    live.page = orr_livepage_create(orr_worker_count, STARPU_MAXNODES, &live.fd);
    orr_store_relaxed(&live.stop, false);
    if (live.page && live.fd < 0 && orr_livepage_folder())
        orr_info("this process has no page for orrery_top: no file can be made in %s (ORRERY_LIVE)",
                 orr_livepage_folder());
    live.running = live.page && start_thread();
    if (live.page && !live.running) orr_livepage_destroy(live.page, live.fd);
    if (!live.running && live.progress)
        orr_warn("ORRERY_PROGRESS=1: there is no memory, or no thread, for it");
}

void orr_live_stop(void)
{
    if (!live.running) return;
    orr_store_seq(&live.stop, true);
    orr_livepage_ring(live.page);
    pthread_join(live.thread, NULL);
    orr_gather_fini(live.numbers);
    live.numbers = NULL;
    orr_progress_line_stop();
    orr_livepage_destroy(live.page, live.fd);
    live.running = false;
}
