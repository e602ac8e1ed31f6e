/* SPDX-License-Identifier: BSD-3-Clause */
/* live.c: see live.h.
 * Threads: see there. Owns: see there. Not here: see there.
 *
 * The thread sleeps on a word of the page, which who asks adds to, in whatever process he is. Then it writes
 * its numbers ten times a second until nobody has said for three seconds that he looks: so a reader that dies
 * leaves nothing behind. Without a file (no room, no right, no folder) the page is memory of this process
 * alone. */
#include "core/run/live.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/livepage.h"
#include "core/base/log.h"
#include "core/run/gather.h"
#include "core/run/progress.h"
#include "core/run/why.h"
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
    bool progress;                 /* [const while running] lines are wanted */
    uint64_t every_ns, drawn_ns;   /* between lines; the last one [own: live thread] */
    uint32_t told;                 /* how often SIGUSR1 was answered [own: live thread] */
} live;

/* What the signal's handler uses. */
static struct {
    _Atomic(struct orr_live_page *) page; /* NULL: nobody listens */
    _Atomic pid_t pid;
    _Atomic uint32_t asked, inside; /* inside: handlers that use the page now */
} signalled;

/* ---- SIGUSR1 ---- */

/* Wakes the thread, and nothing else. In a child that was forked off nobody listens: there the signal does
 * what it would have done. */
static void on_signal(int signal)
{
    int error = errno;
    orr_add_seq(&signalled.inside, 1u); /* pairs with ignore_signal */
    struct orr_live_page *page = orr_load_seq(&signalled.page);
    if (page && orr_load_relaxed(&signalled.pid) == getpid()) {
        orr_add_seq(&signalled.asked, 1u);
        orr_livepage_ring(page);
    } else if (page) {
        struct sigaction normal = { .sa_handler = SIG_DFL };
        sigaction(signal, &normal, NULL);
        raise(signal);
    }
    orr_sub_seq(&signalled.inside, 1u);
    errno = error;
}

/* Where the program has no handler of its own, and signals may be caught. */
static void listen_to_signal(const struct starpu_conf *conf)
{
    struct sigaction before, own = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    bool wanted = conf->precedence_over_environment_variables
                      ? conf->catch_signals != 0
                      : orr_env_long(ORR_SETTING(STARPU_CATCH_SIGNALS), conf->catch_signals != 0, 0, 1) != 0;
    if (!wanted || !orr_livepage_folder() || sigaction(SIGUSR1, NULL, &before) != 0) return;
    if (before.sa_flags & SA_SIGINFO || before.sa_handler != SIG_DFL) return;
    orr_store_relaxed(&signalled.pid, getpid());
    orr_store_seq(&signalled.page, live.page);
    sigaction(SIGUSR1, &own, NULL);
}

/* The page may go away when this returns. */
static void ignore_signal(void)
{
    struct sigaction now, normal = { .sa_handler = SIG_DFL };
    if (sigaction(SIGUSR1, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == on_signal)
        sigaction(SIGUSR1, &normal, NULL);
    orr_store_seq(&signalled.page, NULL);
    while (orr_load_seq(&signalled.inside)) sched_yield();
}

/* ---- why ---- */

/* Into a file that takes its name when it is complete. */
static void write_answer(void)
{
    char name[320], new_name[330];
    orr_livepage_name(name, sizeof name, live.page->pid, true);
    snprintf(new_name, sizeof new_name, "%s.new", name);
    unlink(new_name);
    int fd = open(new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f) orr_why(f, "");
    bool good = f && !ferror(f);
    if (f) good &= fclose(f) == 0;
    if (!f && fd >= 0) close(fd);
    if (!good || rename(new_name, name) != 0) unlink(new_name);
}

static void answer(void)
{
    uint32_t asked = orr_load_acquire(&live.page->why_asked), told = orr_load_acquire(&signalled.asked);
    if (live.fd >= 0 && asked != orr_load_relaxed(&live.page->why_given)) {
        write_answer();
        orr_store_release(&live.page->why_given, asked);
    }
    if (told == live.told) return;
    live.told = told;
    char prefix[32] = "orrery: ";
    if (orr_log_rank() >= 0) snprintf(prefix, sizeof prefix, "orrery[rank %d]: ", orr_log_rank());
    orr_why(stderr, prefix);
}

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
    if (!live.progress || !live.numbers || (!last && now - live.drawn_ns < live.every_ns)) return;
    live.drawn_ns = now;
    orr_progress_line(live.page, live.numbers, last);
}

static void *run(void *unused)
{
    (void)unused;
    orr_thread_is_internal();
    if (live.fd >= 0) orr_livepage_list(NULL, 0); /* removes pages of processes that were killed */
    live.drawn_ns = orr_clock_ns();
    for (;;) {
        uint32_t seen = orr_load_seq(&live.page->bell); /* pairs with orr_livepage_ring */
        bool stop = orr_load_seq(&live.stop), looked = is_looked_at(orr_clock_ns());
        answer();
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

void orr_live_start(const struct starpu_conf *conf)
{
    int64_t every_ms;
    live.running = false;
    orr_livepage_set_folder(orr_env_string(ORR_SETTING(ORRERY_LIVE)));
    live.progress = orr_progress_line_start(&every_ms);
    live.every_ns = (uint64_t)every_ms * 1000000;
    if (!live.progress && !orr_livepage_folder()) return;
    live.page = orr_livepage_create(orr_worker_count, STARPU_MAXNODES, orr_topo_place(), &live.fd);
    orr_store_relaxed(&live.stop, false);
    if (live.page && live.fd < 0 && orr_livepage_folder())
        orr_info("this process has no page for orrery_top: no file can be made in %s (ORRERY_LIVE)",
                 orr_livepage_folder());
    live.told = orr_load_relaxed(&signalled.asked);
    live.running = live.page && orr_thread_start(&live.thread, run, NULL, "orr-live") == 0;
    if (live.running) listen_to_signal(conf);
    if (live.page && !live.running) orr_livepage_destroy(live.page, live.fd);
    if (!live.running && live.progress)
        orr_warn("ORRERY_PROGRESS=1: there is no memory, or no thread, for it");
}

void orr_live_stop(void)
{
    if (!live.running) return;
    ignore_signal();
    orr_store_seq(&live.stop, true);
    orr_livepage_ring(live.page);
    pthread_join(live.thread, NULL);
    orr_gather_fini(live.numbers);
    live.numbers = NULL;
    orr_progress_line_stop();
    orr_livepage_destroy(live.page, live.fd);
    live.running = false;
}
