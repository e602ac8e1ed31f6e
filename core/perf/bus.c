/* SPDX-License-Identifier: BSD-3-Clause */
/* bus.c: bandwidth and latency between memory nodes.
 * Threads: see bus.h. Owns: the table of links. Not here: transfers, the file's format (store.c).
 *
 * A link is measured by the driver's own copy: the least of several copies of one byte is its latency, the
 * least of several large copies less that latency its bandwidth; main memory is pinned for it, as that of
 * starpu_malloc is. Two devices that only reach each other
 * through main memory take both ways in turn. A measure is kept beside what the driver said of the link then:
 * when it says something else, the machine is another, and the measure is not believed. */
#include "core/perf/bus.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <starpu_perfmodel.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/mem/pin.h"
#include "core/perf/store.h"

enum { LATENCY_COPIES = 16, BANDWIDTH_COPIES = 3, PATH_BYTES = 4096 };
enum { SMALLEST_COPY = 256 << 10, LARGEST_COPY = 16 << 20 };
static const double enough_us = 2000; /* a copy that takes so long is long enough to be measured */

static const char magic[] = "orrery-bus 2";

/* Bandwidth in MB/s, which is bytes per us; 0: not known. */
struct figures {
    double latency_us, bandwidth;
};

static struct link {
    struct figures used; /* for predictions */
    struct figures said; /* by the driver */
    bool measured;
} links[STARPU_MAXNODES][STARPU_MAXNODES]; /* [const between init and fini, but those of a node that comes] */
static _Atomic unsigned
    known_nodes; /* links among these are known [const between init and fini, but grows] */

/* ---- what drivers say ---- */

/* Whose methods describe the link: the destination's when both ends are devices. NULL: main memory at both
 * ends. */
static const struct orr_node_ops *link_ops(unsigned src, unsigned dst)
{
    if (src >= orr_node_count || dst >= orr_node_count || src == dst) return NULL;
    return orr_nodes[dst].ops ? orr_nodes[dst].ops : orr_nodes[src].ops;
}

static struct figures said_of(unsigned src, unsigned dst)
{
    const struct orr_node_ops *ops = link_ops(src, dst);
    struct figures f = { 0, 0 };
    if (ops && ops->latency_us) f.latency_us = ops->latency_us(src, dst);
    if (ops && ops->bandwidth_MB_per_s) f.bandwidth = ops->bandwidth_MB_per_s(src, dst);
    return f;
}

/* ---- measuring ---- */

struct end {
    unsigned node;
    uintptr_t at;
    size_t bytes;
    int pinned_by; /* node; -1: none */
};

/* other: the node at the other end. *slow: main memory should have been pinned for it. */
static bool end_alloc(struct end *e, unsigned node, unsigned other, size_t bytes, bool *slow)
{
    const struct orr_node *n = &orr_nodes[node];
    *e = (struct end){ .node = node, .bytes = bytes, .pinned_by = -1 };
    if (n->ops && n->limit_bytes && bytes > n->limit_bytes / 2) return false;
    e->at = n->ops ? n->ops->alloc(node, bytes) : (uintptr_t)orr_pin_malloc(sizeof(max_align_t), bytes);
    if (!e->at || n->ops) return e->at != 0;
    memset((void *)e->at, 1, bytes); /* its pages exist */
    const struct orr_node_ops *ops = orr_nodes[other].ops;
    if (!ops || !ops->pin) return true;
    if (orr_load_relaxed(&orr_pinning) && ops->pin(other, (void *)e->at, bytes) == 0)
        e->pinned_by = (int)other;
    else
        *slow = true;
    return true;
}

static void end_free(struct end *e)
{
    const struct orr_node_ops *ops = orr_nodes[e->node].ops;
    if (!e->at) return;
    if (ops) {
        ops->free(e->node, e->at, e->bytes);
        return;
    }
    if (e->pinned_by >= 0) orr_nodes[e->pinned_by].ops->unpin((unsigned)e->pinned_by, (void *)e->at);
    orr_free((void *)e->at);
}

/* The shortest of n copies, in us; infinite when they fail. */
static double shortest_us(const struct end *src, const struct end *dst, size_t bytes, int n)
{
    const struct orr_node_ops *ops = link_ops(src->node, dst->node);
    const struct orr_location from = { src->at, 0, src->node }, to = { dst->at, 0, dst->node };
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
        uint64_t start = orr_clock_ns();
        int r = ops ? ops->copy(&from, &to, bytes, NULL) : 0;
        if (!ops) memcpy((void *)dst->at, (const void *)src->at, bytes);
        double us = (double)(orr_clock_ns() - start) * 1e-3;
        if (r == 0 && us < least) least = us;
    }
    return least;
}

/* Copies of growing size until one takes long enough. False: the link cannot be measured. */
static bool measure_direct(unsigned src, unsigned dst, struct figures *out, bool *slow)
{
    struct end from = { 0 }, to = { 0 };
    *out = (struct figures){ 0, 0 };
    for (size_t bytes = SMALLEST_COPY; bytes <= LARGEST_COPY; bytes *= 4) {
        bool room = end_alloc(&from, src, dst, bytes, slow);
        room = end_alloc(&to, dst, src, bytes, slow) && room;
        double latency = room ? shortest_us(&from, &to, 1, LATENCY_COPIES) : INFINITY;
        double us = isfinite(latency) ? shortest_us(&from, &to, bytes, BANDWIDTH_COPIES) : INFINITY;
        end_free(&from);
        end_free(&to);
        if (!isfinite(us)) break;
        *out = (struct figures){ latency, (double)bytes / (us > latency ? us - latency : 1e-3) };
        if (us >= enough_us) break;
    }
    return out->bandwidth > 0;
}

/* *slow: with main memory that was not pinned, as it is for others. */
static bool measure(unsigned src, unsigned dst, struct figures *out, bool *slow)
{
    struct figures first, second;
    unsigned stop = orr_nodes_meet(src, dst);
    if (orr_nodes_reach(src, dst)) return measure_direct(src, dst, out, slow);
    if (!measure_direct(src, stop, &first, slow) || !measure_direct(stop, dst, &second, slow)) return false;
    out->latency_us = first.latency_us + second.latency_us;
    out->bandwidth = 1 / (1 / first.bandwidth + 1 / second.bandwidth);
    return true;
}

static void measure_link(unsigned src, unsigned dst)
{
    struct link *l = &links[src][dst];
    struct figures f;
    bool slow = false;
    if (!measure(src, dst, &f, &slow)) {
        orr_warn("the link from %s to %s could not be measured; what its driver says of it is believed",
                 orr_nodes[src].name, orr_nodes[dst].name);
        return;
    }
    l->used = f;
    l->measured = !slow; /* else it is measured again in the next run */
    orr_info("the link from %s to %s: %.2f us, %.0f MB/s", orr_nodes[src].name, orr_nodes[dst].name,
             f.latency_us, f.bandwidth);
}

/* ---- the file ---- */

/* A node's name as one word. */
static void word_of(unsigned node, char *word, size_t bytes)
{
    snprintf(word, bytes, "%s", orr_nodes[node].name);
    for (char *p = word; *p; p++)
        if (*p == ' ') *p = '_';
}

static int node_named(const char *word)
{
    char own[sizeof orr_nodes[0].name];
    for (unsigned n = 0; n < orr_node_count; n++) {
        word_of(n, own, sizeof own);
        if (strcmp(own, word) == 0) return (int)n;
    }
    return -1;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b));
}

/* Figures as whole numbers, which look the same everywhere: picoseconds, and bytes per second. */
static struct figures figures_read(const long long *numbers)
{
    return (struct figures){ (double)numbers[0] * 1e-6, (double)numbers[1] * 1e-6 };
}

static void figures_write(const struct figures *f, char *text, size_t bytes)
{
    snprintf(text, bytes, "%lld %lld", llround(f->latency_us * 1e6), llround(f->bandwidth * 1e6));
}

/* "link SRC DST latency bandwidth", then what the driver said. */
static bool read_line(const char *line, void *arg)
{
    char src_word[64], dst_word[64];
    long long n[4];
    (void)arg;
    if (sscanf(line, "link %63s %63s %lld %lld %lld %lld", src_word, dst_word, &n[0], &n[1], &n[2], &n[3]) !=
            6 ||
        n[0] < 0 || n[1] <= 0)
        return false;
    struct figures f = figures_read(&n[0]), said = figures_read(&n[2]);
    int src = node_named(src_word), dst = node_named(dst_word);
    if (src < 0 || dst < 0) return true; /* not plugged in today */
    struct link *l = &links[src][dst];
    if (!close_to(said.latency_us, l->said.latency_us) || !close_to(said.bandwidth, l->said.bandwidth))
        return true;
    l->used = f;
    l->measured = true;
    return true;
}

static void save(void)
{
    enum { LINE_BYTES = 256 };
    char path[PATH_BYTES];
    size_t room = (size_t)(orr_node_count * orr_node_count + 1) * LINE_BYTES, used = 0;
    char *text = orr_malloc(room);
    if (!text) return;
    used += (size_t)snprintf(text, room, "%s\n", magic);
    for (unsigned s = 0; s < orr_node_count; s++)
        for (unsigned d = 0; d < orr_node_count; d++) {
            char src[64], dst[64], used_text[64], said_text[64];
            const struct link *l = &links[s][d];
            if (!l->measured) continue;
            word_of(s, src, sizeof src);
            word_of(d, dst, sizeof dst);
            figures_write(&l->used, used_text, sizeof used_text);
            figures_write(&l->said, said_text, sizeof said_text);
            used += (size_t)snprintf(text + used, room - used, "link %s %s %s %s\n", src, dst, used_text,
                                     said_text);
        }
    int r = orr_store_bus_path(path, sizeof path, true);
    if (r == 0) r = orr_store_write_numbers(path, text);
    if (r) orr_warn("the measures of the links between memory nodes are not saved: %s", strerror(-r));
    orr_free(text);
}

/* ---- life ---- */

static void limit_bandwidth(void)
{
    double limit = orr_env_double(ORR_SETTING(STARPU_LIMIT_BANDWIDTH), 0, 0, 1e12);
    for (unsigned s = 0; limit > 0 && s < orr_node_count; s++)
        for (unsigned d = 0; d < orr_node_count; d++)
            if (links[s][d].used.bandwidth > limit) links[s][d].used.bandwidth = limit;
}

void orr_bus_init(int conf_calibrate, bool conf_wins)
{
    char path[PATH_BYTES];
    bool wanted = conf_calibrate > 0, changed = false;
    if (!conf_wins || conf_calibrate < 0)
        wanted = orr_env_long(ORR_SETTING(STARPU_BUS_CALIBRATE), wanted, 0, 1) != 0;
    memset(links, 0, sizeof links);
    for (unsigned s = 0; s < orr_node_count; s++)
        for (unsigned d = 0; d < orr_node_count; d++) links[s][d].used = links[s][d].said = said_of(s, d);
    if ((wanted || orr_node_count > 1) && orr_store_bus_path(path, sizeof path, false) == 0)
        orr_store_read_numbers(path, magic, read_line, NULL);
    for (unsigned s = 0; s < orr_node_count; s++)
        for (unsigned d = 0; d < orr_node_count; d++) {
            bool unknown = link_ops(s, d) && !links[s][d].measured && links[s][d].said.bandwidth <= 0;
            if (!(wanted && (s != d || !orr_nodes[s].ops)) && !unknown) continue;
            measure_link(s, d);
            changed = true;
        }
    if (changed) save();
    limit_bandwidth();
    orr_store_release(&known_nodes, orr_node_count);
}

/* Measured each time: what is behind the name of a store is another folder in the next run. */
static void learn_link(unsigned src, unsigned dst)
{
    links[src][dst].used = links[src][dst].said = said_of(src, dst);
    if (link_ops(src, dst) && links[src][dst].said.bandwidth <= 0) measure_link(src, dst);
    links[src][dst].measured = false; /* not to be saved */
}

void orr_bus_add(unsigned node)
{
    for (unsigned n = 0; n <= node; n++) {
        learn_link(n, node);
        if (n < node) learn_link(node, n);
    }
    limit_bandwidth();
    orr_store_release(&known_nodes, node + 1); /* pairs with figures_of */
}

void orr_bus_fini(void)
{
    orr_store_relaxed(&known_nodes, 0u);
}

/* ---- asking ---- */

static struct figures figures_of(unsigned src, unsigned dst)
{
    unsigned known = orr_load_acquire(&known_nodes);
    if (orr_likely(src < known && dst < known)) return links[src][dst].used;
    return said_of(src, dst);
}

double starpu_transfer_bandwidth(unsigned src_node, unsigned dst_node)
{
    if (src_node >= orr_node_count || dst_node >= orr_node_count) return NAN;
    if (!link_ops(src_node, dst_node)) return INFINITY; /* nothing is moved */
    double bandwidth = figures_of(src_node, dst_node).bandwidth;
    return bandwidth > 0 ? bandwidth : INFINITY;
}

double starpu_transfer_latency(unsigned src_node, unsigned dst_node)
{
    if (src_node >= orr_node_count || dst_node >= orr_node_count) return NAN;
    return src_node == dst_node ? 0 : figures_of(src_node, dst_node).latency_us;
}

double starpu_transfer_predict(unsigned src_node, unsigned dst_node, size_t size)
{
    return orr_bus_predict_us(src_node, dst_node, size);
}

double orr_bus_predict_us(unsigned src_node, unsigned dst_node, size_t bytes)
{
    if (src_node == dst_node) return 0;
    struct figures f = figures_of(src_node, dst_node);
    return f.latency_us + (f.bandwidth > 0 ? (double)bytes / f.bandwidth : 0);
}

/* ---- for people ---- */

/* Within a node: how fast it copies, if that was measured. */
static void print_cell(FILE *f, unsigned src, unsigned dst, bool latency)
{
    struct figures v = figures_of(src, dst);
    if (src == dst && !(src < known_nodes && links[src][dst].measured))
        fprintf(f, " %12s", "-");
    else
        fprintf(f, " %12.*f", latency ? 2 : 0, latency ? v.latency_us : v.bandwidth);
}

static void print_table(FILE *f, const char *title, bool latency)
{
    fprintf(f, "%-24s", title);
    for (unsigned d = 0; d < orr_node_count; d++) fprintf(f, " %12s", orr_nodes[d].name);
    fprintf(f, "\n");
    for (unsigned s = 0; s < orr_node_count; s++) {
        fprintf(f, "%-24s", orr_nodes[s].name);
        for (unsigned d = 0; d < orr_node_count; d++) print_cell(f, s, d, latency);
        fprintf(f, "\n");
    }
}

void starpu_bus_print_bandwidth(FILE *f)
{
    print_table(f, "bandwidth in MB/s, to", false);
    print_table(f, "latency in us, to", true);
}

void starpu_bus_print_affinity(FILE *f)
{
    fprintf(f, "# memory node\tdevice\n");
    for (unsigned n = 0; n < orr_node_count; n++) fprintf(f, "%u\t%s\n", n, orr_nodes[n].name);
}

void starpu_bus_print_filenames(FILE *f)
{
    char path[PATH_BYTES];
    if (orr_store_bus_path(path, sizeof path, false) == 0)
        fprintf(f, "%s\n", path);
    else
        fprintf(f, "no file keeps the measures: set STARPU_PERF_MODEL_DIR or HOME\n");
}
