/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c: see progress.h.
 * Threads: see there. Owns: see there. Not here: see there.
 *
 * Ranks of one node write their numbers into their pages, each for itself, since all have the same settings;
 * the first of them that is there still adds up what it finds there. A page stays mapped when its rank has
 * ended: its last numbers count.
 *
 * A rank that knows the pages of all others says so (follows), and goes on with the line when they have
 * left. Who stops says that he leaves, and then looks whether somebody who follows has not: of two that do so
 * at once one at least sees the other leave. It says the last line, unless that was said: a word in the page
 * of the first, which both know. */
#include "core/run/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/topo/topo.h"

enum { TERMINAL_EVERY_MS = 250, LINE_BYTES = 600, BEHIND_SHOWN = 4 };
/* Who is there is looked for so often; and in the first seconds, in which ranks come. */
enum { LOOK_MS = 2000, LOOK_FIRST_MS = 200, FIRST_MS = 10000 };

struct peer {
    pid_t pid;
    struct orr_live_page *page;
    struct orr_live_sums *numbers; /* as last read */
    bool read;
};

/* All ranks of the node together. */
struct total {
    uint64_t submitted, completed, expected, moved_bytes, sent_bytes;
    bool all_expect;
    uint64_t at_ns, most_completed;
    struct {
        uint64_t workers, idle_ns, wall_ns;
    } kind[STARPU_NARCH];
};

static struct {
    bool on_terminal;
    struct peer *peers;
    unsigned peer_count, peer_room;
    uint64_t looked_ns; /* when peers were last looked for */
    struct total before;
    double per_s;
} line;

/* ---- the other ranks ---- */

static bool is_known(pid_t pid)
{
    for (unsigned i = 0; i < line.peer_count; i++)
        if (line.peers[i].pid == pid) return true;
    return false;
}

/* Keeps the page if it is one of a rank of this run. */
static void add_peer(pid_t pid, uint64_t group)
{
    struct peer p = { .pid = pid };
    if (orr_livepage_open(pid, &p.page) != ORR_LIVE_FOUND) return;
    p.numbers = orr_calloc(p.page->words, sizeof(uint64_t));
    if (line.peer_count == line.peer_room && p.numbers) {
        unsigned room = line.peer_room ? 2 * line.peer_room : 16;
        struct peer *more = orr_realloc(line.peers, room * sizeof *more);
        if (more) line.peers = more;
        if (more) line.peer_room = room;
    }
    if (p.numbers && line.peer_count < line.peer_room && orr_livepage_read(p.page, p.numbers) &&
        p.numbers->group == group) {
        line.peers[line.peer_count++] = p;
        return;
    }
    orr_free(p.numbers);
    orr_livepage_close(p.page);
}

static void look_for_peers(const struct orr_live_sums *own, bool now)
{
    enum { MOST = 4096 };
    bool young = own->at_ns - own->since_ns < (uint64_t)FIRST_MS * 1000000;
    bool lately = own->at_ns - line.looked_ns < (uint64_t)(young ? LOOK_FIRST_MS : LOOK_MS) * 1000000;
    if (own->rank < 0 || (lately && !now)) return;
    line.looked_ns = own->at_ns;
    pid_t *pids = orr_malloc(MOST * sizeof *pids);
    size_t n = pids ? orr_livepage_list(pids, MOST) : 0;
    for (size_t i = 0; i < n; i++)
        if (!is_known(pids[i])) add_peer(pids[i], own->group);
    orr_free(pids);
}

/* ---- whose turn it is ---- */

static bool has_left(const struct peer *p)
{
    return orr_load_seq(&p->page->leaves) || !orr_livepage_lives(p->pid);
}

/* Whether all others are known, as far as it is known how many there are; and says so by following them. */
static bool follow(struct orr_live_page *own)
{
    unsigned known = 0;
    for (unsigned i = 0; i < line.peer_count; i++) known += line.peers[i].page->place < own->place;
    if (known < own->place || line.peer_count + 1 < orr_topo_sharers()) return own->place == 0;
    orr_store_seq(&own->follows, 1u); /* pairs with the load in is_followed */
    return true;
}

static bool is_first(const struct orr_live_page *own)
{
    for (unsigned i = 0; i < line.peer_count; i++)
        if (line.peers[i].page->place < own->place && !has_left(&line.peers[i])) return false;
    return true;
}

/* Whether somebody goes on with the line. Called when this rank has said that it leaves. */
static bool is_followed(void)
{
    for (unsigned i = 0; i < line.peer_count; i++)
        if (orr_load_seq(&line.peers[i].page->follows) && !has_left(&line.peers[i])) return true;
    return false;
}

static struct orr_live_page *page_of_first(struct orr_live_page *own)
{
    for (unsigned i = 0; i < line.peer_count; i++)
        if (line.peers[i].page->place < own->place && line.peers[i].page->place == 0)
            return line.peers[i].page;
    return own;
}

enum turn { NOT_OURS, OURS, THE_LAST };

static enum turn turn_of(struct orr_live_page *own, bool stop)
{
    bool follows = follow(own);
    _Atomic uint32_t *ended = &page_of_first(own)->line_ended;
    if (stop) orr_store_seq(&own->leaves, 1u); /* pairs with the load in has_left */
    if (!follows || orr_load_acquire(ended) || !is_first(own)) return NOT_OURS;
    if (!stop || is_followed()) return OURS;
    return orr_exchange_acq_rel(ended, 1u) ? NOT_OURS : THE_LAST;
}

/* ---- adding up ---- */

static void add(struct total *t, const struct orr_live_sums *s, unsigned workers)
{
    const struct orr_live_worker *w = orr_live_workers(s);
    t->submitted += s->submitted;
    t->completed += s->completed;
    t->expected += s->expected;
    t->all_expect &= s->expected != 0;
    t->moved_bytes += s->moved_bytes;
    t->sent_bytes += s->sent_bytes;
    if (s->completed > t->most_completed) t->most_completed = s->completed;
    for (unsigned i = 0; i < workers; i++) {
        if (w[i].kind >= STARPU_NARCH) continue;
        t->kind[w[i].kind].workers++;
        t->kind[w[i].kind].idle_ns += w[i].idle_ns;
        t->kind[w[i].kind].wall_ns += s->at_ns - s->since_ns;
    }
}

static struct total add_up(const struct orr_live_sums *own, unsigned workers)
{
    struct total t = { .at_ns = own->at_ns, .all_expect = true };
    add(&t, own, workers);
    for (unsigned i = 0; i < line.peer_count; i++) {
        struct peer *p = &line.peers[i];
        p->read |= orr_livepage_read(p->page, p->numbers);
        if (p->read) add(&t, p->numbers, p->page->workers);
    }
    return t;
}

/* ---- the text ---- */

struct text {
    char byte[LINE_BYTES];
    size_t count;
};

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(t->byte + t->count, sizeof t->byte - t->count, fmt, ap);
    va_end(ap);
    if (n > 0) t->count += (size_t)n;
    if (t->count >= sizeof t->byte) t->count = sizeof t->byte - 1;
}

static void put_bytes(struct text *t, uint64_t bytes, const char *what)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    double n = (double)bytes;
    unsigned u = 0;
    if (bytes == 0) return;
    for (; n >= 1000 && u + 1 < sizeof units / sizeof units[0]; u++) n /= 1000;
    put(t, u ? ", %.1f %s %s" : ", %.0f %s %s", n, units[u], what);
}

/* Since the line before. */
static void put_busy(struct text *t, const struct total *now, const struct total *then)
{
    for (unsigned k = 0; k < STARPU_NARCH; k++) {
        double wall = (double)(now->kind[k].wall_ns - then->kind[k].wall_ns);
        double idle = (double)now->kind[k].idle_ns - (double)then->kind[k].idle_ns;
        if (now->kind[k].workers == 0 || wall <= 0) continue;
        double busy = 100 * (1 - idle / wall);
        put(t, ", %s %.0f %% busy", orr_kinds[k].name, busy < 0 ? 0 : busy > 100 ? 100 : busy);
    }
}

/* Ranks that are a tenth of what the furthest has done behind it. */
static void put_behind(struct text *t, const struct orr_live_sums *own, uint64_t most)
{
    unsigned shown = 0, more = 0;
    for (unsigned i = 0; i <= line.peer_count; i++) {
        const struct orr_live_sums *s = i < line.peer_count ? line.peers[i].numbers : own;
        bool unknown = i < line.peer_count && !line.peers[i].read;
        bool over = s->expected ? s->completed >= s->expected : s->completed == s->submitted;
        if (unknown || over || s->completed >= most - most / 10) continue;
        if (shown == BEHIND_SHOWN)
            more++;
        else
            put(t, "%s %lld (%llu)", shown++ ? "," : ", behind: rank", (long long)s->rank,
                (unsigned long long)s->completed);
    }
    if (more) put(t, " and %u more", more);
}

static void put_left(struct text *t, const struct total *now)
{
    if (!now->all_expect || now->completed >= now->expected || line.per_s <= 0) return;
    double s = (double)(now->expected - now->completed) / line.per_s;
    if (s < 120)
        put(t, ", %.0f s left", s);
    else if (s < 7200)
        put(t, ", %.0f min left", s / 60);
    else
        put(t, ", %.1f h left", s / 3600);
}

static void write_line(struct text *t, const struct total *now, const struct orr_live_sums *own)
{
    uint64_t of = now->all_expect && now->expected ? now->expected : now->submitted;
    put(t, "%llu of %llu tasks", (unsigned long long)now->completed, (unsigned long long)of);
    if (of) put(t, " (%.0f %%)", 100 * (double)now->completed / (double)of);
    if (line.per_s > 0) put(t, ", %.*f a second", line.per_s < 10 ? 1 : 0, line.per_s);
    put_busy(t, now, &line.before);
    put_bytes(t, now->moved_bytes, "moved");
    put_bytes(t, now->sent_bytes, "sent");
    put_left(t, now);
    if (line.peer_count) put_behind(t, own, now->most_completed);
}

/* One line, no wider than the terminal; the cursor stays at its start, so that other messages write over it.
 */
static void draw(const struct text *t, bool last)
{
    struct winsize size = { .ws_col = 0 };
    char out[LINE_BYTES + 32];
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
    int n =
        snprintf(out, sizeof out, "\r%.*s\033[K%s", last ? LINE_BYTES : width, t->byte, last ? "\n" : "\r");
    if (n > 0 && write(STDERR_FILENO, out, (size_t)n) < 0) return; /* nobody to tell */
}

/* Of the latest times more than of those before. */
static void note_rate(const struct total *now)
{
    double s = (double)(now->at_ns - line.before.at_ns) * 1e-9;
    if (line.before.at_ns == 0 || s <= 0 || now->completed < line.before.completed) return;
    double rate = (double)(now->completed - line.before.completed) / s;
    line.per_s = line.per_s > 0 ? 0.6 * line.per_s + 0.4 * rate : rate;
}

void orr_progress_line(struct orr_live_page *page, const struct orr_live_sums *own, bool stop)
{
    struct text t = { .count = 0 };
    look_for_peers(own, stop);
    enum turn turn = turn_of(page, stop);
    if (turn == NOT_OURS) return;
    struct total now = add_up(own, page->workers); /* after those that have left were seen to */
    if (turn == THE_LAST) {                        /* of the whole run */
        line.before = (struct total){ .at_ns = own->since_ns };
        line.per_s = 0;
    }
    note_rate(&now);
    write_line(&t, &now, own);
    line.before = now;
    if (line.on_terminal)
        draw(&t, turn == THE_LAST);
    else
        orr_note("progress: %s", t.byte);
}

bool orr_progress_line_start(int64_t *every_ms_out)
{
    bool wanted = orr_env_long(ORR_SETTING(ORRERY_PROGRESS), 0, 0, 1) ||
                  orr_env_long(ORR_SETTING(STARPU_TASK_PROGRESS), 0, 0, 1);
    memset(&line, 0, sizeof line);
    line.on_terminal = isatty(STDERR_FILENO) == 1;
    *every_ms_out = TERMINAL_EVERY_MS;
    if (!line.on_terminal)
        *every_ms_out = orr_env_long(ORR_SETTING(ORRERY_PROGRESS_INTERVAL), 5000, 10, 86400000);
    return wanted;
}

void orr_progress_line_stop(void)
{
    for (unsigned i = 0; i < line.peer_count; i++) {
        orr_livepage_close(line.peers[i].page);
        orr_free(line.peers[i].numbers);
    }
    orr_free(line.peers);
    line.peers = NULL;
    line.peer_count = line.peer_room = 0;
}
