/* SPDX-License-Identifier: BSD-3-Clause */
/* planfile.c: see planfile.h. Threads: see planfile.h. Owns: see planfile.h. Not here: see planfile.h.
 *
 * Whatever the file says is checked before it is used as a number or an index; memory grows with the lines
 * that are there, never with a number that a line says. */
#include "mpi/place/planfile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <starpu.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"

enum { RANKS_MAX = 1 << 20, WORKERS_MAX = 1 << 16, TOKENS_MAX = 4096, CODELETS_MAX = 4096 };
enum { CODELETS, DATA, TASKS, ACCESSES, WAITS, RENEWALS }; /* in room */

int orr_plan_refuse(char *why, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, ORR_PLAN_TEXT, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

int orr_plan_no_memory(char *why)
{
    orr_plan_refuse(why, "out of memory");
    return -ENOMEM;
}

/* ---- the plan ---- */

void orr_plan_fini(struct orr_plan *p)
{
    for (size_t i = 0; i < p->codelets; i++) {
        orr_free(p->codelet[i].name);
        orr_free(p->codelet[i].model);
    }
    orr_free(p->codelet);
    orr_free(p->datum);
    orr_free(p->task);
    orr_free(p->access);
    orr_free(p->wait);
    orr_free(p->renewal);
    orr_machines_fini(&p->machines);
    memset(p, 0, sizeof *p);
}

/* Room for one more; false: out of memory. */
static bool make_room(struct orr_plan *p, int which, void *array, size_t count, size_t bytes)
{
    void **a = array;
    if (count < p->room[which]) return true;
    size_t room = count ? 2 * count : 64;
    void *more = orr_realloc(*a, room * bytes);
    if (!more) return false;
    *a = more;
    p->room[which] = room;
    return true;
}

static char *copy_of(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = orr_malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

int orr_plan_add_codelet(struct orr_plan *p, const char *name, const char *model)
{
    for (size_t i = p->codelets; i-- > 0;)
        if (!strcmp(p->codelet[i].name, name)) return (int)i;
    if (!make_room(p, CODELETS, &p->codelet, p->codelets, sizeof *p->codelet)) return -1;
    struct orr_plan_codelet c = { copy_of(name), copy_of(model) };
    if (!c.name || !c.model) {
        orr_free(c.name);
        orr_free(c.model);
        return -1;
    }
    p->codelet[p->codelets] = c;
    return (int)p->codelets++;
}

int orr_plan_add_datum(struct orr_plan *p, const struct orr_plan_datum *d)
{
    if (!make_room(p, DATA, &p->datum, p->data, sizeof *d)) return -1;
    p->datum[p->data++] = *d;
    return 0;
}

int orr_plan_add_task(struct orr_plan *p, const struct orr_plan_task *t)
{
    if (!make_room(p, TASKS, &p->task, p->tasks, sizeof *t)) return -1;
    struct orr_plan_task *own = &p->task[p->tasks++];
    *own = *t;
    own->access = p->accesses;
    own->accesses = 0;
    return 0;
}

int orr_plan_add_access(struct orr_plan *p, int64_t tag, int mode)
{
    if (!make_room(p, ACCESSES, &p->access, p->accesses, sizeof *p->access)) return -1;
    p->access[p->accesses++] = (struct orr_plan_access){ tag, mode };
    p->task[p->tasks - 1].accesses++;
    return 0;
}

int orr_plan_add_wait(struct orr_plan *p)
{
    if (p->waits && p->wait[p->waits - 1] == p->tasks) return 0;
    if (!make_room(p, WAITS, &p->wait, p->waits, sizeof *p->wait)) return -1;
    p->wait[p->waits++] = p->tasks;
    return 0;
}

int orr_plan_add_renewal(struct orr_plan *p, const struct orr_plan_renewal *n)
{
    if (!make_room(p, RENEWALS, &p->renewal, p->renewals, sizeof *n)) return -1;
    p->renewal[p->renewals++] = *n;
    return 0;
}

int orr_plan_renewal_by_tag(const void *a, const void *b)
{
    const struct orr_plan_renewal *x = a, *y = b;
    if (x->tag != y->tag) return x->tag > y->tag ? 1 : -1;
    return (x->task > y->task) - (x->task < y->task);
}

/* ---- what an insertion is known by ---- */

int orr_plan_mode(int mode)
{
    return mode & (STARPU_RW | STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX | STARPU_COMMUTE);
}

uint64_t orr_plan_hash_begin(const char *codelet)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *codelet; codelet++) h = (h ^ (unsigned char)*codelet) * 0x100000001b3u;
    return h;
}

uint64_t orr_plan_hash_add(uint64_t hash, int64_t tag, int mode)
{
    hash = (hash ^ (uint64_t)tag) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32 ^ (uint64_t)orr_plan_mode(mode)) * 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 29;
}

uint64_t orr_plan_hash(const struct orr_plan *p, size_t task)
{
    const struct orr_plan_task *t = &p->task[task];
    uint64_t h = orr_plan_hash_begin(p->codelet[t->codelet].name);
    for (int i = 0; i < t->accesses; i++)
        h = orr_plan_hash_add(h, p->access[t->access + (size_t)i].tag, p->access[t->access + (size_t)i].mode);
    return h;
}

uint64_t orr_plan_fingerprint(const struct orr_plan *p)
{
    uint64_t all = 0;
    for (size_t i = 0; i < p->tasks; i++)
        all = ((all << 5 | all >> 59) ^ orr_plan_hash(p, i)) * 0xbf58476d1ce4e5b9u;
    return all;
}

/* ---- modes and names as text ---- */

static const struct {
    int mode;
    const char *text;
} modes[] = { { STARPU_RW, "RW" },
              { STARPU_R, "R" },
              { STARPU_W, "W" },
              { STARPU_SCRATCH, "SCRATCH" },
              { STARPU_REDUX, "REDUX" },
              { STARPU_MPI_REDUX, "MPI_REDUX" },
              { STARPU_COMMUTE, "COMMUTE" },
              { ORR_PLAN_UNORDERED, "UNORDERED" } };
enum { MODES = sizeof modes / sizeof modes[0] };

/* "RW+COMMUTE". */
static const char *mode_text(int mode, char text[64])
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < MODES; i++) {
        if (!mode || (mode & modes[i].mode) != modes[i].mode) continue;
        used += (size_t)snprintf(text + used, 64 - used, "%s%s", used ? "+" : "", modes[i].text);
        mode &= ~modes[i].mode;
    }
    return used ? text : "NONE";
}

/* -1: there is no such mode. */
static int mode_of(const char *text, size_t length)
{
    int mode = 0;
    if (length == 4 && !strncmp(text, "NONE", 4)) return 0;
    for (size_t at = 0; at <= length;) {
        size_t word = 0;
        int i = 0;
        while (at + word < length && text[at + word] != '+') word++;
        while (i < MODES && (strlen(modes[i].text) != word || strncmp(modes[i].text, text + at, word))) i++;
        if (i == MODES) return -1;
        mode |= modes[i].mode;
        at += word + 1;
    }
    return mode;
}

/* Names without blanks: other characters as % and two digits; an empty one is "-". */
static void print_name(FILE *f, const char *name)
{
    if (!*name || !strcmp(name, "-"))
        fputs(*name ? "%2D" : "-", f);
    else
        for (; *name; name++) {
            if (isgraph((unsigned char)*name) && *name != '%' && *name != '#')
                fputc(*name, f);
            else
                fprintf(f, "%%%02X", (unsigned char)*name);
        }
}

/* In place. False: digits are wrong. */
static bool read_name(char *name)
{
    char *to = name;
    if (!strcmp(name, "-")) *name = 0;
    for (const char *from = name; *from; from++) {
        if (*from == '%') {
            char digits[3] = { from[1], from[1] ? from[2] : 0, 0 };
            if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1])) return false;
            *to = (char)strtol(digits, NULL, 16);
            if (!*to++) return false;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
    return true;
}

void orr_plan_describe_accesses(const char *codelet, const struct orr_plan_access *a, int count, char *text,
                                size_t bytes)
{
    char mode[64];
    size_t used = (size_t)snprintf(text, bytes, "%s (", *codelet ? codelet : "without name");
    for (int i = 0; i < count && i < 6 && used < bytes; i++) {
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%s ", i ? ", " : "", mode_text(a[i].mode, mode));
        if (used < bytes && a[i].tag == ORR_PLAN_NO_TAG)
            used += (size_t)snprintf(text + used, bytes - used, "without tag");
        else if (used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "tag %" PRId64, a[i].tag);
    }
    if (used < bytes) snprintf(text + used, bytes - used, count > 6 ? ", ...)" : ")");
}

void orr_plan_describe(const struct orr_plan *p, size_t task, char *text, size_t bytes)
{
    const struct orr_plan_task *t = &p->task[task];
    char what[300];
    orr_plan_describe_accesses(p->codelet[t->codelet].name, p->access + t->access, t->accesses, what,
                               sizeof what);
    size_t used = (size_t)snprintf(text, bytes, "%zu %s", task, what);
    if (used >= bytes) return;
    if (t->rank == ORR_PLAN_EACH)
        snprintf(text + used, bytes - used, " on each rank");
    else if (t->worker == ORR_PLAN_NO_WORKER)
        snprintf(text + used, bytes - used, " on rank %d", t->rank);
    else
        snprintf(text + used, bytes - used, " on rank %d, worker %d, order %u", t->rank, t->worker, t->order);
}

/* ---- reading ---- */

struct reader {
    struct orr_plan *plan;
    char *why;
    long line;
    char *token[TOKENS_MAX];
    int tokens;
    int *worker_counts; /* by rank, as said */
    int *nodes;
    int ranks, ranks_read, workers_read;
    struct orr_machine_worker *workers;
    size_t workers_room;
    bool ended, has_stream;
    uint64_t stream, stream_tasks;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct reader *r, const char *fmt, ...)
{
    va_list ap;
    int used = snprintf(r->why, ORR_PLAN_TEXT, "line %ld: ", r->line);
    va_start(ap, fmt);
    vsnprintf(r->why + used, ORR_PLAN_TEXT - (size_t)used, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

/* A whole number in [least, most]. */
static bool number(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (errno || end == text || *end || x < least || x > most) return false;
    *out = x;
    return true;
}

static bool time_us(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && fabs(*out) < 1e15;
}

static bool hex(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 16);
    return !errno && end != text && !*end && isxdigit((unsigned char)*text);
}

/* machine RANKS */
static int read_machine(struct reader *r)
{
    int64_t ranks;
    if (r->ranks || r->tokens != 2 || !number(r->token[1], 1, RANKS_MAX, &ranks))
        return wrong(r, "\"machine\" and the number of ranks belong here, once");
    r->ranks = (int)ranks;
    r->worker_counts = orr_calloc((size_t)ranks, sizeof *r->worker_counts);
    r->nodes = orr_calloc((size_t)ranks, sizeof *r->nodes);
    return r->worker_counts && r->nodes ? 0 : orr_plan_no_memory(r->why);
}

/* rank R node N workers K */
static int read_rank(struct reader *r)
{
    int64_t rank, node, workers;
    if (r->tokens != 6 || strcmp(r->token[2], "node") || strcmp(r->token[4], "workers") ||
        !number(r->token[1], 0, INT_MAX, &rank) || !number(r->token[3], 0, INT_MAX, &node) ||
        !number(r->token[5], 0, WORKERS_MAX, &workers))
        return wrong(r, "a rank is: rank NUMBER node NUMBER workers COUNT");
    if (rank != r->ranks_read || rank >= r->ranks)
        return wrong(r, "rank %" PRId64 " is not the next of %d ranks", rank, r->ranks);
    r->nodes[rank] = (int)node;
    r->worker_counts[rank] = (int)workers;
    r->ranks_read++;
    return 0;
}

/* worker NUMBER TYPE NAME, in the order of their numbers */
static int read_worker(struct reader *r)
{
    int64_t n;
    if (r->tokens != 4 || !number(r->token[1], 0, INT_MAX, &n) || !read_name(r->token[3]))
        return wrong(r, "a worker is: worker NUMBER TYPE NAME");
    if (n != r->workers_read)
        return wrong(r, "worker %" PRId64 " is not the next: %d is", n, r->workers_read);
    int type = 0;
    while (type < STARPU_NARCH && (!starpu_worker_archtype_is_valid(type) ||
                                   strcmp(starpu_worker_get_type_as_env_var(type), r->token[2])))
        type++;
    if (type == STARPU_NARCH) return wrong(r, "\"%.40s\" is no type of worker", r->token[2]);
    if ((size_t)n >= r->workers_room) {
        size_t room = n ? 2 * (size_t)n : 64;
        void *more = orr_realloc(r->workers, room * sizeof *r->workers);
        if (!more) return orr_plan_no_memory(r->why);
        r->workers = more;
        r->workers_room = room;
    }
    struct orr_machine_worker *w = &r->workers[r->workers_read++];
    memset(w, 0, sizeof *w);
    w->type = (uint8_t)type;
    snprintf(w->name, sizeof w->name, "%s", r->token[3]);
    return 0;
}

/* Before the first task: the machine is complete. */
static int close_machine(struct reader *r)
{
    int64_t sum = 0;
    if (r->plan->machines.first) return 0;
    if (!r->ranks || r->ranks_read != r->ranks)
        return wrong(r, "%d ranks are described before this, of %d", r->ranks_read, r->ranks);
    for (int i = 0; i < r->ranks; i++) sum += r->worker_counts[i];
    if (sum != r->workers_read)
        return wrong(r, "the ranks have %" PRId64 " workers, and %d are described before this", sum,
                     r->workers_read);
    if (orr_machines_make(&r->plan->machines, r->ranks, r->worker_counts)) return orr_plan_no_memory(r->why);
    if (r->workers_read)
        memcpy(r->plan->machines.worker, r->workers, (size_t)r->workers_read * sizeof *r->workers);
    memcpy(r->plan->machines.node, r->nodes, (size_t)r->ranks * sizeof *r->nodes);
    return 0;
}

/* codelet NAME MODEL */
static int read_codelet(struct reader *r)
{
    if (r->tokens != 3 || !read_name(r->token[1]) || !read_name(r->token[2]))
        return wrong(r, "a codelet is: codelet NAME MODEL");
    if (r->plan->codelets >= CODELETS_MAX) return wrong(r, "more than %d codelets", CODELETS_MAX);
    return orr_plan_add_codelet(r->plan, r->token[1], r->token[2]) < 0 ? orr_plan_no_memory(r->why) : 0;
}

/* data TAG home RANK bytes BYTES, data TAG of WHOLE home RANK bytes BYTES */
static int read_datum(struct reader *r)
{
    int64_t tag, home, bytes, whole = ORR_PLAN_NO_TAG;
    bool piece = r->tokens == 8 && !strcmp(r->token[2], "of");
    char **t = r->token + (piece ? 2 : 0);
    if ((!piece && r->tokens != 6) || strcmp(t[2], "home") || strcmp(t[4], "bytes") ||
        !number(r->token[1], INT64_MIN, INT64_MAX, &tag) || !number(t[3], -3, INT_MAX, &home) ||
        !number(t[5], 0, INT64_MAX, &bytes) || (piece && !number(r->token[3], INT64_MIN, INT64_MAX, &whole)))
        return wrong(r, "a datum is: data TAG home RANK bytes BYTES, and a piece: data TAG of WHOLE ...");
    if (home >= r->ranks) return wrong(r, "there is no rank %" PRId64, home);
    const struct orr_plan_datum d = { tag, whole, (uint64_t)bytes, (int)home };
    return orr_plan_add_datum(r->plan, &d) ? orr_plan_no_memory(r->why) : 0;
}

/* One "KEY VALUE" of a task. */
static int read_field(struct reader *r, struct orr_plan_task *t, const char *key, const char *value)
{
    int64_t x = 0;
    uint64_t h = 0;
    bool none = !strcmp(value, "-");
    if (!strcmp(key, "rank") && !strcmp(value, "each")) {
        t->rank = ORR_PLAN_EACH;
    } else if (!strcmp(key, "rank") && number(value, 0, r->ranks - 1, &x)) {
        t->rank = (int)x;
    } else if (!strcmp(key, "worker") && (none || number(value, 0, WORKERS_MAX, &x))) {
        t->worker = none ? ORR_PLAN_NO_WORKER : (int)x;
    } else if (!strcmp(key, "order") && (none || number(value, 1, UINT_MAX, &x))) {
        t->order = (unsigned)x;
    } else if (!strcmp(key, "priority") && number(value, INT_MIN, INT_MAX, &x)) {
        t->priority = (int)x;
    } else if (!strcmp(key, "footprint") && hex(value, &h) && h <= UINT32_MAX) {
        t->footprint = (uint32_t)h;
    } else if (strcmp(key, "start") || !time_us(value, &t->start_us)) {
        if (strcmp(key, "length") || !time_us(value, &t->length_us) || t->length_us < 0)
            return wrong(r, "\"%.40s %.40s\" says nothing of a task, or is out of range", key, value);
    }
    return 0;
}

/* MODE:TAG */
static int read_access(struct reader *r, const char *token)
{
    const char *colon = strchr(token, ':');
    int mode = mode_of(token, (size_t)(colon - token));
    int64_t tag = ORR_PLAN_NO_TAG;
    if (mode < 0 || (strcmp(colon + 1, "-") && !number(colon + 1, INT64_MIN, INT64_MAX, &tag)))
        return wrong(r, "\"%.60s\" is no MODE:TAG", token);
    return orr_plan_add_access(r->plan, tag, mode) ? orr_plan_no_memory(r->why) : 0;
}

/* task POSITION CODELET [KEY VALUE]... [MODE:TAG]... */
static int read_task(struct reader *r)
{
    struct orr_plan *p = r->plan;
    int64_t position;
    struct orr_plan_task t = { .rank = INT_MIN, .worker = ORR_PLAN_NO_WORKER };
    int status = close_machine(r), at = 3;
    if (status) return status;
    if (r->tokens < 3 || !number(r->token[1], 0, INT64_MAX, &position) || !read_name(r->token[2]))
        return wrong(
            r, "a task is: task POSITION CODELET rank RANK [worker WORKER order ORDER] ... MODE:TAG...");
    if ((uint64_t)position != p->tasks)
        return wrong(r, "task %" PRId64 " is not the next: %zu is", position, p->tasks);
    for (; at + 1 < r->tokens && !strchr(r->token[at], ':') && !status; at += 2)
        status = read_field(r, &t, r->token[at], r->token[at + 1]);
    if (status) return status;
    if (t.rank == INT_MIN) return wrong(r, "it is not said which rank runs it");
    if (t.worker != ORR_PLAN_NO_WORKER &&
        (t.rank < 0 || orr_machines_number(&p->machines, t.rank, t.worker) < 0))
        return wrong(r, "rank %d has no worker %d", t.rank, t.worker);
    if (t.order && t.worker == ORR_PLAN_NO_WORKER) return wrong(r, "an order needs a worker");
    if (p->codelets >= CODELETS_MAX) return wrong(r, "more than %d codelets", CODELETS_MAX);
    t.codelet = orr_plan_add_codelet(p, r->token[2], "");
    if (t.codelet < 0 || orr_plan_add_task(p, &t)) return orr_plan_no_memory(r->why);
    for (; at < r->tokens && !status; at++)
        status = strchr(r->token[at], ':') ? read_access(r, r->token[at])
                                           : wrong(r, "\"%.60s\" is no MODE:TAG", r->token[at]);
    return status;
}

/* wait POSITION */
static int read_wait(struct reader *r)
{
    int64_t position;
    if (r->tokens != 2 || !number(r->token[1], 0, INT64_MAX, &position) ||
        (uint64_t)position != r->plan->tasks)
        return wrong(r, "a wait is: wait POSITION, before the task of that number: %zu", r->plan->tasks);
    return orr_plan_add_wait(r->plan) ? orr_plan_no_memory(r->why) : 0;
}

/* anew POSITION TAG */
static int read_anew(struct reader *r)
{
    int64_t position, tag;
    if (r->tokens != 3 || !number(r->token[1], 0, INT64_MAX, &position) ||
        !number(r->token[2], INT64_MIN, INT64_MAX, &tag) || (uint64_t)position != r->plan->tasks)
        return wrong(r, "data that are others are: anew POSITION TAG, before the task of that number: %zu",
                     r->plan->tasks);
    const struct orr_plan_renewal n = { (size_t)position, tag };
    return orr_plan_add_renewal(r->plan, &n) ? orr_plan_no_memory(r->why) : 0;
}

/* end TASKS */
static int read_end(struct reader *r)
{
    int64_t count;
    int status = close_machine(r);
    if (status) return status;
    if (r->tokens != 2 || !number(r->token[1], 0, INT64_MAX, &count) || (uint64_t)count != r->plan->tasks)
        return wrong(r, "the end counts other tasks than the %zu before it", r->plan->tasks);
    r->ended = true;
    return 0;
}

/* stream TASKS FINGERPRINT */
static int read_stream(struct reader *r)
{
    int64_t count;
    if (r->has_stream || r->tokens != 3 || !number(r->token[1], 0, INT64_MAX, &count) ||
        !hex(r->token[2], &r->stream))
        return wrong(r, "the fingerprint is: stream TASKS HEXADECIMAL, once");
    r->stream_tasks = (uint64_t)count;
    r->has_stream = true;
    return 0;
}

static int read_line(struct reader *r, char *line)
{
    static const struct {
        const char *key;
        int (*read)(struct reader *);
    } kinds[] = { { "task", read_task },       { "worker", read_worker }, { "data", read_datum },
                  { "codelet", read_codelet }, { "rank", read_rank },     { "machine", read_machine },
                  { "stream", read_stream },   { "wait", read_wait },     { "anew", read_anew },
                  { "end", read_end } };
    char *save = NULL;
    line[strcspn(line, "#\r")] = 0;
    r->tokens = 0;
    for (char *t = strtok_r(line, " \t", &save); t; t = strtok_r(NULL, " \t", &save)) {
        if (r->tokens == TOKENS_MAX) return wrong(r, "more than %d words", TOKENS_MAX);
        r->token[r->tokens++] = t;
    }
    if (!r->tokens) return 0;
    if (r->ended) return wrong(r, "there is more behind the end");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(kinds[i].key, r->token[0])) return kinds[i].read(r);
    return wrong(r, "\"%.40s\" is no word to begin a line with", r->token[0]);
}

static int by_tag(const void *a, const void *b)
{
    int64_t x = ((const struct orr_plan_datum *)a)->tag, y = ((const struct orr_plan_datum *)b)->tag;
    return (x > y) - (x < y);
}

const struct orr_plan_datum *orr_plan_datum_of(const struct orr_plan *p, int64_t tag)
{
    const struct orr_plan_datum key = { .tag = tag };
    return p->data ? bsearch(&key, p->datum, p->data, sizeof *p->datum, by_tag) : NULL;
}

/* Sorts them; no piece is a piece of its own pieces. */
static int sort_data(struct reader *r)
{
    const struct orr_plan *p = r->plan;
    if (p->data) qsort(p->datum, p->data, sizeof *p->datum, by_tag);
    for (size_t i = 0; i < p->data; i++) {
        size_t steps = 0;
        for (const struct orr_plan_datum *d = &p->datum[i]; d && d->whole != ORR_PLAN_NO_TAG; steps++) {
            if (steps == p->data)
                return orr_plan_refuse(r->why, "data %" PRId64 " is a piece of itself", p->datum[i].tag);
            d = orr_plan_datum_of(p, d->whole);
        }
    }
    return 0;
}

static int read_lines(struct reader *r, FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int status = 0;
    while (!status && (length = getline(&line, &room, f)) >= 0) {
        r->line++;
        if (length && line[length - 1] == '\n') line[--length] = 0;
        if (strlen(line) != (size_t)length)
            status = wrong(r, "a byte 0: this is no text");
        else if (r->line == 1)
            status = strcmp(line, "orrery-plan 1") ? wrong(r, "a plan begins with \"orrery-plan 1\"") : 0;
        else
            status = read_line(r, line);
    }
    int error = errno; /* getline's, if that failed */
    free(line);        /* its own */
    if (status) return status;
    if (ferror(f) && r->line) return wrong(r, "it cannot be read on from here: %s", strerror(error));
    if (ferror(f)) return orr_plan_refuse(r->why, "%s", strerror(error));
    if (!r->ended) return wrong(r, "it ends without \"end\": it was cut");
    if (r->has_stream && (r->stream_tasks != r->plan->tasks || r->stream != orr_plan_fingerprint(r->plan)))
        return orr_plan_refuse(r->why, "its tasks are not those of its fingerprint (stream): it was changed");
    return sort_data(r);
}

int orr_plan_read(struct orr_plan *p, const char *path, char why[ORR_PLAN_TEXT])
{
    memset(p, 0, sizeof *p);
    FILE *f = fopen(path, "re");
    if (!f) {
        int r = -errno;
        orr_plan_refuse(why, "%s", strerror(-r));
        return r;
    }
    struct reader *r = orr_calloc(1, sizeof *r);
    int status = r ? 0 : orr_plan_no_memory(why);
    if (r) {
        r->plan = p;
        r->why = why;
        status = read_lines(r, f);
        orr_free(r->worker_counts);
        orr_free(r->nodes);
        orr_free(r->workers);
        orr_free(r);
    }
    fclose(f);
    if (status) orr_plan_fini(p);
    return status;
}

/* ---- writing ---- */

static void print_machine(FILE *f, const struct orr_machines *m)
{
    fprintf(f, "machine %d\n", m->ranks);
    for (int r = 0; r < m->ranks; r++)
        fprintf(f, "rank %d node %d workers %d\n", r, m->node[r], m->first[r + 1] - m->first[r]);
    for (int w = 0; w < m->workers; w++) {
        fprintf(f, "worker %d %s ", w,
                starpu_worker_get_type_as_env_var((enum starpu_worker_archtype)m->worker[w].type));
        print_name(f, m->worker[w].name);
        fputc('\n', f);
    }
}

static void print_task(FILE *f, const struct orr_plan *p, size_t i)
{
    const struct orr_plan_task *t = &p->task[i];
    char mode[64];
    fprintf(f, "task %zu ", i);
    print_name(f, p->codelet[t->codelet].name);
    if (t->rank == ORR_PLAN_EACH)
        fprintf(f, " rank each");
    else
        fprintf(f, " rank %d", t->rank);
    if (t->worker != ORR_PLAN_NO_WORKER) fprintf(f, " worker %d", t->worker);
    if (t->order) fprintf(f, " order %u", t->order);
    if (t->start_us != 0 || t->length_us != 0)
        fprintf(f, " start %.3f length %.3f", t->start_us, t->length_us);
    if (t->priority) fprintf(f, " priority %d", t->priority);
    fprintf(f, " footprint %08" PRIx32, t->footprint);
    for (int k = 0; k < t->accesses; k++) {
        const struct orr_plan_access *a = &p->access[t->access + (size_t)k];
        fprintf(f, " %s:", mode_text(a->mode, mode));
        if (a->tag == ORR_PLAN_NO_TAG)
            fputc('-', f);
        else
            fprintf(f, "%" PRId64, a->tag);
    }
    fputc('\n', f);
}

static void print_plan(FILE *f, const struct orr_plan *p)
{
    fprintf(f, "orrery-plan 1\nstream %zu %016" PRIx64 "\n", p->tasks, orr_plan_fingerprint(p));
    print_machine(f, &p->machines);
    for (size_t i = 0; i < p->codelets; i++) {
        fprintf(f, "codelet ");
        print_name(f, p->codelet[i].name);
        fputc(' ', f);
        print_name(f, p->codelet[i].model);
        fputc('\n', f);
    }
    for (size_t i = 0; i < p->data; i++) {
        const struct orr_plan_datum *d = &p->datum[i];
        fprintf(f, "data %" PRId64, d->tag);
        if (d->whole != ORR_PLAN_NO_TAG) fprintf(f, " of %" PRId64, d->whole);
        fprintf(f, " home %d bytes %" PRIu64 "\n", d->home, d->bytes);
    }
    for (size_t i = 0, w = 0, n = 0; i < p->tasks; i++) {
        if (w < p->waits && p->wait[w] == i) fprintf(f, "wait %zu\n", p->wait[w++]);
        for (; n < p->renewals && p->renewal[n].task <= i; n++)
            fprintf(f, "anew %zu %" PRId64 "\n", i, p->renewal[n].tag);
        print_task(f, p, i);
    }
    fprintf(f, "end %zu\n", p->tasks);
}

int orr_plan_write(const struct orr_plan *p, const char *path, char why[ORR_PLAN_TEXT])
{
    char own[4096];
    int r = 0;
    if (snprintf(own, sizeof own, "%s.%d.new", path, (int)getpid()) >= (int)sizeof own) {
        orr_plan_refuse(why, "its name is too long");
        return -ENAMETOOLONG;
    }
    FILE *f = fopen(own, "wxe");
    if (!f) {
        r = -errno;
        orr_plan_refuse(why, "%s: %s", own, strerror(errno));
        return r;
    }
    print_plan(f, p);
    if (fflush(f) || ferror(f) || fsync(fileno(f))) r = errno ? -errno : -EIO;
    if (fclose(f) && !r) r = errno ? -errno : -EIO;
    if (!r && rename(own, path)) r = -errno;
    if (r) {
        orr_plan_refuse(why, "%s", strerror(-r));
        unlink(own);
    }
    return r;
}

/* ---- whether it fits a cluster ---- */

int orr_plan_fits(const struct orr_plan *p, const struct orr_machines *m, char why[ORR_PLAN_TEXT])
{
    const struct orr_machines *own = &p->machines;
    if (own->ranks != m->ranks)
        return orr_plan_refuse(why, "it is for %d ranks, and there are %d", own->ranks, m->ranks);
    for (int r = 0; r < m->ranks; r++) {
        int here = m->first[r + 1] - m->first[r], there = own->first[r + 1] - own->first[r];
        if (here != there)
            return orr_plan_refuse(why, "it is for %d workers on rank %d, and there are %d", there, r, here);
        for (int i = m->first[r]; i < m->first[r + 1]; i++)
            if (m->worker[i].type != own->worker[i].type)
                return orr_plan_refuse(why, "worker %d of rank %d is %s in it, and %s here", i - m->first[r],
                                       r, own->worker[i].name, m->worker[i].name);
    }
    return 0;
}
