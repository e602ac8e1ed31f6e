/* SPDX-License-Identifier: BSD-3-Clause */
/* read.c: reads recordings, damaged ones too: what is whole in them, in the order of time.
 * Threads: main. Owns: nothing. Not here: what events mean (model.c).
 *
 * A block counts if its magic, its length and its sum are right; else the next place with the magic is looked
 * for. So a file that was cut short, or has a hole, gives what is left of it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/report/report.h"
#include "tools/report/utf8.h"

/* ---- names ---- */

static void add_name(struct report_run *run, uint32_t hash, const char *text, size_t bytes)
{
    char *name = tool_copy(text, strnlen(text, bytes));
    utf8_clean(name);
    *TOOL_PUSH(run->names, run->nnames, run->names_room) = (struct report_name){ hash, name };
}

static int by_hash(const void *a, const void *b)
{
    uint32_t x = ((const struct report_name *)a)->hash, y = ((const struct report_name *)b)->hash;
    return x < y ? -1 : x > y;
}

static void sort_names(struct report_run *run)
{
    size_t kept = 0;
    if (run->nnames) qsort(run->names, run->nnames, sizeof *run->names, by_hash);
    for (size_t i = 0; i < run->nnames; i++) {
        if (kept && run->names[kept - 1].hash == run->names[i].hash)
            free(run->names[i].text); /* each ring says it once */
        else
            run->names[kept++] = run->names[i];
    }
    run->nnames = kept;
}

const char *report_name_of(const struct report_run *run, uint32_t hash)
{
    struct report_name wanted = { hash, NULL };
    const struct report_name *n =
        run->nnames ? bsearch(&wanted, run->names, run->nnames, sizeof wanted, by_hash) : NULL;
    return n ? n->text : hash ? "?" : "unnamed";
}

/* ---- what is known of the run ---- */

enum { MOST_NODES = 1024 };

static void meta_line(struct report_file *f, const char *line, size_t bytes)
{
    char *text = tool_copy(line, bytes);
    utf8_clean(text);
    unsigned id, node;
    int type, at = 0;
    if (sscanf(text, "worker %u %d %u %n", &id, &type, &node, &at) == 3 && at) {
        *TOOL_PUSH(f->workers, f->nworkers, f->workers_room) =
            (struct report_worker){ id, node, type, tool_copy(text + at, strlen(text + at)) };
    } else if (sscanf(text, "node %u %n", &id, &at) == 1 && at && id < MOST_NODES) {
        while (f->nnodes <= id) *TOOL_PUSH(f->nodes, f->nnodes, f->nodes_room) = NULL;
        f->nodes[id] = tool_copy(text + at, strlen(text + at));
    } else if (sscanf(text, "rank %d", &type) == 1) {
        f->rank = type;
    } else if (strncmp(text, "host ", 5) == 0) {
        f->host = tool_copy(text + 5, strlen(text + 5));
    } else if (strncmp(text, "program ", 8) == 0) {
        f->program = tool_copy(text + 8, strlen(text + 8));
    } else if (strncmp(text, "policy ", 7) == 0) {
        f->policy = tool_copy(text + 7, strlen(text + 7));
    }
    free(text);
}

static void read_meta(struct report_file *f, const char *text, size_t bytes)
{
    for (const char *end = text + bytes; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        if (stop > text) meta_line(f, text, (size_t)(stop - text));
        text = stop + 1;
    }
}

/* ---- blocks ---- */

static double ns_of(const struct report_file *f, uint64_t ticks)
{
    return (double)(int64_t)(ticks - f->head.start_ticks) * f->ns_per_tick;
}

/* The words of a record, w, of so many that are left: 0: there is none, or it is none. */
static size_t record_words(const uint64_t *w, size_t left)
{
    unsigned n = otrace_words(*w);
    return otrace_kind(*w) == OTRACE_SKIP || n == 0 || n > left ? 0 : n;
}

/* Whether the record has the words that its kind has; of kinds that are not known nobody asks. */
static bool is_whole(const uint64_t *w, size_t words)
{
    static const uint8_t least[OTRACE_KINDS] = {
        [OTRACE_NAME] = 3,       [OTRACE_THREAD] = 2,        [OTRACE_SUBMITTED] = 3,
        [OTRACE_ACCESSES] = 2,   [OTRACE_READY] = 2,         [OTRACE_TAKEN] = 2,
        [OTRACE_STARTED] = 2,    [OTRACE_ENDED] = 3,         [OTRACE_GIVEN_UP] = 3,
        [OTRACE_FAILED] = 3,     [OTRACE_PART] = 2,          [OTRACE_DECLARED] = 3,
        [OTRACE_TAG_BOUND] = 3,  [OTRACE_TAG_DECLARED] = 3,  [OTRACE_TAG_FREED] = 2,
        [OTRACE_IDLE] = 3,       [OTRACE_BUSY] = 2,          [OTRACE_SLEEPS] = 2,
        [OTRACE_WAKES] = 2,      [OTRACE_REGISTERED] = 3,    [OTRACE_UNREGISTERED] = 3,
        [OTRACE_ALLOCATED] = 3,  [OTRACE_EVICTED] = 3,       [OTRACE_COPY_STARTED] = 4,
        [OTRACE_COPY_ENDED] = 4, [OTRACE_MESSAGE] = 4,       [OTRACE_SENT] = 5,
        [OTRACE_RECEIVED] = 5,   [OTRACE_USER_NUMBER] = 2,   [OTRACE_USER_TEXT] = 2,
        [OTRACE_ITERATION] = 3,  [OTRACE_ITERATION_END] = 3, [OTRACE_JOINED] = 3,
        [OTRACE_MEMORY] = 3,     [OTRACE_WEIGHED] = 2,       [OTRACE_BOUND] = 2,
        [OTRACE_RAN] = 3,        [OTRACE_RUNNING] = 2,       [OTRACE_PASSED] = 4
    };
    unsigned kind = otrace_kind(*w);
    return kind < OTRACE_KINDS && words >= least[kind];
}

static void add_event(const struct report_run *run, struct report_file *f, uint32_t ring, unsigned kind,
                      uint64_t ticks, const uint64_t *w)
{
    *TOOL_PUSH(f->events, f->nevents, f->events_room) =
        (struct report_event){ .ns = ns_of(f, ticks),
                               .words = w,
                               .rank = (uint32_t)(f - run->files),
                               .ring = (uint16_t)ring,
                               .kind = (uint8_t)kind };
}

/* The time of which a record has the lowest bits: the nearest to when its block was written. */
static uint64_t whole_ticks(uint64_t low, uint64_t block)
{
    enum { MISSING = 64 - OTRACE_TICKS_BITS };
    return block + (uint64_t)((int64_t)((low - block) << MISSING) >> MISSING);
}

static void read_records(struct report_run *run, struct report_file *f, const struct otrace_block *b,
                         const uint64_t *w, size_t n)
{
    for (size_t words; n > 0 && (words = record_words(w, n)) > 0; w += words, n -= words) {
        if (otrace_kind(*w) == OTRACE_NAME && words > 3 && w[2] <= (words - 3) * sizeof *w) {
            add_name(run, (uint32_t)w[1], (const char *)(w + 3), (size_t)w[2]);
            continue;
        }
        if (!is_whole(w, words)) continue;
        uint64_t ticks = whole_ticks(otrace_ticks(*w), b->ticks);
        bool ran = otrace_kind(*w) == OTRACE_RAN;
        if (ran) add_event(run, f, b->ring, OTRACE_STARTED, ticks - w[2], w);
        add_event(run, f, b->ring, ran ? OTRACE_ENDED : otrace_kind(*w), ticks, w);
    }
}

enum { BLOCK_WORDS = sizeof(struct otrace_block) / sizeof(uint64_t) };

/* The block at word i, if it is whole. */
static const struct otrace_block *block_at(const struct report_file *f, size_t i)
{
    const struct otrace_block *b = (const void *)&f->words[i];
    size_t left = f->count - i;
    if (left < BLOCK_WORDS || b->magic != OTRACE_BLOCK_MAGIC || b->bytes % sizeof(uint64_t)) return NULL;
    if (b->bytes / sizeof(uint64_t) > left - BLOCK_WORDS) return NULL;
    uint64_t sum = otrace_sum(otrace_sum(0, &f->words[i], BLOCK_WORDS - 1), &f->words[i + BLOCK_WORDS],
                              b->bytes / sizeof(uint64_t));
    return sum == b->checksum ? b : NULL;
}

/* Calls fn with every block that is whole. */
static void each_block(struct report_run *run, struct report_file *f,
                       void (*fn)(struct report_run *run, struct report_file *f, const struct otrace_block *b,
                                  const uint64_t *words))
{
    bool astray = false;
    f->damaged = 0;
    for (size_t i = f->head.header_bytes / sizeof(uint64_t); i < f->count;) {
        const struct otrace_block *b = block_at(f, i);
        if (!b) {
            f->damaged += !astray;
            astray = true;
            i++;
            continue;
        }
        astray = false;
        fn(run, f, b, &f->words[i + BLOCK_WORDS]);
        i += BLOCK_WORDS + b->bytes / sizeof(uint64_t);
    }
}

static void measure_clock(struct report_run *run, struct report_file *f, const struct otrace_block *b,
                          const uint64_t *words)
{
    (void)run, (void)words;
    f->blocks++;
    if (b->ticks < f->last_ticks) return;
    f->last_ticks = b->ticks;
    f->last_mono_ns = b->mono_ns;
}

enum { RINGS = 1 << 16 };
static uint64_t lost[RINGS]; /* of the file that is read, until the block that is read */

static void read_block(struct report_run *run, struct report_file *f, const struct otrace_block *b,
                       const uint64_t *words)
{
    if (b->type == OTRACE_META) read_meta(f, (const char *)words, b->bytes);
    if (b->type == OTRACE_RECORDS) read_records(run, f, b, words, b->bytes / sizeof(uint64_t));
    if (b->type == OTRACE_RECORDS && b->ring < RINGS && b->lost > lost[b->ring]) {
        f->lost += b->lost - lost[b->ring];
        lost[b->ring] = b->lost;
    }
    if (b->type != OTRACE_END) return;
    f->ended = true;
    f->lost = b->lost;
}

/* ---- files ---- */

static int by_time(const void *a, const void *b)
{
    const struct report_event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->words != y->words) return x->words < y->words ? -1 : 1;    /* rings: the order in the file */
    return (y->kind == OTRACE_STARTED) - (x->kind == OTRACE_STARTED); /* before its end */
}

static const char *load(struct report_file *f)
{
    FILE *in = fopen(f->path, "rb");
    struct stat is;
    if (!in) return strerror(errno);
    const char *trouble = NULL;
    if (fstat(fileno(in), &is) == 0 && S_ISDIR(is.st_mode)) {
        fclose(in);
        return strerror(EISDIR);
    }
    long bytes = fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
    if (bytes < 0) trouble = strerror(errno);
    f->count = bytes > 0 ? (size_t)bytes / sizeof(uint64_t) : 0;
    f->words = tool_alloc(f->count, sizeof(uint64_t));
    rewind(in);
    if (!trouble && fread(f->words, sizeof(uint64_t), f->count, in) != f->count)
        trouble = "it cannot be read";
    fclose(in);
    if (trouble) return trouble;
    if (f->count < sizeof f->head / sizeof(uint64_t)) return "it is no recording: it is too short";
    memcpy(&f->head, f->words, sizeof f->head);
    if (f->head.magic == __builtin_bswap64(OTRACE_FILE_MAGIC))
        return "it was recorded on a machine with the other order of bytes";
    if (f->head.magic != OTRACE_FILE_MAGIC) return "it is no recording";
    if (f->head.version < 1 || f->head.version > OTRACE_VERSION)
        return "it has a later version of the form; use the orrery_report of the library that made it";
    if (!(f->head.ns_per_tick > 1e-6 && f->head.ns_per_tick < 1e6)) return "it is damaged";
    if (f->head.header_bytes < sizeof f->head || f->head.header_bytes % sizeof(uint64_t))
        return "it is damaged";
    return NULL;
}

static void digest(struct report_run *run, struct report_file *f)
{
    f->rank = f->head.rank;
    f->pid = f->head.pid;
    f->ns_per_tick = f->head.ns_per_tick;
    each_block(run, f, measure_clock);
    double ticks = (double)(f->last_ticks - f->head.start_ticks);
    double ns = (double)(int64_t)(f->last_mono_ns - f->head.start_mono_ns);
    double rate = f->last_ticks > f->head.start_ticks && ns > 1e7 ? ns / ticks : f->head.ns_per_tick;
    if (fabs(rate - f->head.ns_per_tick) < 0.01 * f->head.ns_per_tick)
        f->ns_per_tick = rate; /* else it jumped */
    memset(lost, 0, sizeof lost);
    each_block(run, f, read_block);
    if (f->nevents) qsort(f->events, f->nevents, sizeof *f->events, by_time);
}

/* All events in order. */
static void merge(struct report_run *run)
{
    size_t n = 0;
    report_align(run);
    for (size_t i = 0; i < run->nfiles; i++) n += run->files[i].nevents;
    run->events = tool_alloc(n, sizeof *run->events);
    for (size_t i = 0; i < run->nfiles; i++) {
        struct report_file *f = &run->files[i];
        if (f->nevents) memcpy(run->events + run->nevents, f->events, f->nevents * sizeof *f->events);
        run->nevents += f->nevents;
        free(f->events);
        f->events = NULL;
    }
    if (run->nfiles > 1 && n) qsort(run->events, n, sizeof *run->events, by_time);
}

/* Whether the path is that of one of the first n files, by whatever name. */
static bool is_recording(const struct report_run *run, size_t n, const char *path)
{
    struct stat wanted, is;
    if (stat(path, &wanted) != 0) return false;
    for (size_t i = 0; i < n; i++)
        if (stat(run->files[i].path, &is) == 0 && is.st_dev == wanted.st_dev && is.st_ino == wanted.st_ino)
            return true;
    return false;
}

int report_read(struct report_run *run, char *const *paths, size_t n,
                void (*complain)(const char *path, const char *what))
{
    *run = (struct report_run){ .files = tool_alloc(n, sizeof *run->files), .nfiles = n };
    for (size_t i = 0; i < n; i++) {
        run->files[i].path = paths[i];
        const char *trouble = is_recording(run, i, paths[i]) ? "it is named twice" : load(&run->files[i]);
        if (trouble) {
            complain(paths[i], trouble);
            return -1;
        }
        digest(run, &run->files[i]);
    }
    sort_names(run);
    merge(run);
    return 0;
}

FILE *report_open_output(const struct report_run *run, const char *path,
                         void (*complain)(const char *path, const char *what))
{
    if (is_recording(run, run->nfiles, path)) {
        complain(path, "it is the recording: give the output another name");
        return NULL;
    }
    FILE *out = fopen(path, "we");
    if (!out) complain(path, strerror(errno));
    return out;
}
