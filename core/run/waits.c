/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.c: see waits.h. Threads: see waits.h. Owns: see waits.h. Not here: see waits.h. */
#include "core/run/waits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

/* ---- filling in ---- */

/* Room for one more; NULL: there is none. */
static void *grow(void *list, unsigned count, unsigned *room, unsigned most, size_t each)
{
    if (count < *room) return list;
    unsigned more = *room ? 2 * *room : 32;
    if (more > most) more = most;
    void *larger = count < more ? orr_realloc(list, more * each) : NULL;
    if (larger) *room = more;
    return larger;
}

/* Its number; -1: it is left out. */
static int number_of(struct orr_waits *w, const char *label)
{
    for (unsigned i = 0; i < w->nodes; i++)
        if (strncmp(w->node[i].label, label, ORR_WAITS_LABEL - 1) == 0) return (int)i;
    void *node = grow(w->node, w->nodes, &w->node_room, ORR_WAITS_NODES, sizeof *w->node);
    if (!node) return -1;
    w->node = node;
    w->node[w->nodes].is_there = false;
    snprintf(w->node[w->nodes].label, ORR_WAITS_LABEL, "%s", label);
    return (int)w->nodes++;
}

void orr_waits_add(struct orr_waits *w, const char *label)
{
    int n = number_of(w, label);
    if (n >= 0) w->node[n].is_there = true;
}

void orr_waits_lacks(struct orr_waits *w, const char *label, const char *other)
{
    int from = number_of(w, label), to = number_of(w, other);
    if (from < 0 || to < 0) return;
    for (unsigned i = 0; i < w->edges; i++)
        if (w->edge[i][0] == (unsigned)from && w->edge[i][1] == (unsigned)to) return;
    void *edge = grow(w->edge, w->edges, &w->edge_room, ORR_WAITS_EDGES, sizeof *w->edge);
    if (!edge) return;
    w->edge = edge;
    w->edge[w->edges][0] = (unsigned)from;
    w->edge[w->edges++][1] = (unsigned)to;
}

void orr_waits_for(struct orr_waits *w, const char *label, const char *other)
{
    orr_waits_add(w, label);
    orr_waits_lacks(w, label, other);
}

void orr_waits_fini(struct orr_waits *w)
{
    orr_free(w->node);
    orr_free(w->edge);
    *w = (struct orr_waits){ 0 };
}

/* ---- walking ---- */

enum mark { NEW, ON_THE_WAY, SEEN };

/* Depth first, without a stack of calls: at each depth a node, and which edge comes next. */
struct walk {
    const struct orr_waits *w;
    unsigned char *mark;  /* by node */
    unsigned *way, *next; /* by depth */
    unsigned depth;
    unsigned *length, *best; /* by node: of the longest way to an end, and its next */
};

/* The next edge from the last node of the way; -1: there is none left. */
static int next_edge(struct walk *k)
{
    unsigned at = k->way[k->depth - 1], *e = &k->next[k->depth - 1];
    while (*e < k->w->edges && k->w->edge[*e][0] != at) ++*e;
    return *e < k->w->edges ? (int)(*e)++ : -1;
}

static void enter(struct walk *k, unsigned node)
{
    k->mark[node] = ON_THE_WAY;
    k->way[k->depth] = node;
    k->next[k->depth++] = 0;
}

/* All that follows a node is known. */
static void measure(struct walk *k, unsigned node)
{
    k->length[node] = 1;
    k->best[node] = node;
    for (unsigned e = 0; e < k->w->edges; e++) {
        unsigned to = k->w->edge[e][1];
        if (k->w->edge[e][0] != node || k->length[to] < k->length[node]) continue;
        k->length[node] = 1 + k->length[to];
        k->best[node] = to;
    }
}

/* From a node on. The depth at which a circle begins, which the way then is; -1: none. */
static int look_from(struct walk *k, unsigned start)
{
    enter(k, start);
    while (k->depth > 0) {
        int e = next_edge(k);
        if (e < 0) {
            measure(k, k->way[--k->depth]);
            k->mark[k->way[k->depth]] = SEEN;
            continue;
        }
        unsigned to = k->w->edge[e][1], at = 0;
        if (k->mark[to] == NEW)
            enter(k, to);
        else if (k->mark[to] == ON_THE_WAY) {
            while (k->way[at] != to) at++;
            return (int)at;
        }
    }
    return -1;
}

/* The circle, or the longest way, as numbers in way_out; returns how many. *circle_out: which. */
static unsigned find(const struct orr_waits *w, unsigned *way_out, bool *circle_out)
{
    unsigned count = 0;
    struct walk k = { .w = w, .mark = orr_calloc(w->nodes + 1, 1) };
    k.way = orr_malloc((w->nodes + 1) * sizeof *k.way);
    k.next = orr_malloc((w->nodes + 1) * sizeof *k.next);
    k.best = orr_malloc((w->nodes + 1) * sizeof *k.best);
    k.length = orr_calloc(w->nodes + 1, sizeof *k.length);
    bool ready = k.mark && k.way && k.next && k.best && k.length;
    *circle_out = false;
    for (unsigned i = 0; i < w->nodes && ready && !*circle_out; i++) {
        if (k.mark[i] != NEW) continue;
        int at = look_from(&k, i);
        if (at < 0) continue;
        *circle_out = true;
        count = k.depth - (unsigned)at;
        memcpy(way_out, k.way + at, count * sizeof *way_out);
    }
    unsigned start = 0;
    for (unsigned i = 1; i < w->nodes && ready; i++)
        if (k.length[i] > k.length[start]) start = i;
    for (unsigned at = start; ready && w->nodes && !*circle_out; at = k.best[at]) {
        way_out[count++] = at;
        if (k.best[at] == at) break;
    }
    orr_free(k.mark);
    orr_free(k.way);
    orr_free(k.next);
    orr_free(k.best);
    orr_free(k.length);
    return count;
}

bool orr_waits_circle(const struct orr_waits *w, char *text, size_t bytes)
{
    bool circle = false;
    unsigned *way = orr_malloc((w->nodes + 1) * sizeof *way), count = way ? find(w, way, &circle) : 0;
    unsigned begin = 0; /* of a circle: the first by name, whoever came first */
    size_t at = 0;
    text[0] = 0;
    for (unsigned i = 1; i < count && circle; i++)
        if (strcmp(w->node[way[i]].label, w->node[way[begin]].label) < 0) begin = i;
    for (unsigned i = 0; i < count + circle && (circle || count > 1) && at < bytes; i++) {
        const struct orr_waits_node *n = &w->node[way[(begin + i) % count]];
        at += (size_t)snprintf(text + at, bytes - at, "%s%s%s", i ? " -> " : "", n->label,
                               n->is_there ? "" : " (not begun)");
    }
    orr_free(way);
    return circle;
}

/* ---- DOT ---- */

static void write_label(FILE *f, const char *label)
{
    for (; *label; label++) {
        if (*label == '"' || *label == '\\') putc('\\', f);
        putc(*label, f);
    }
}

/* Nodes whose text begins with "rank N: " are drawn together. */
static int rank_of(const char *label)
{
    int rank, length = 0;
    return sscanf(label, "rank %d: %n", &rank, &length) == 1 && length ? rank : -1;
}

static void write_node(FILE *f, const struct orr_waits *w, unsigned i)
{
    int rank = rank_of(w->node[i].label);
    if (rank >= 0) fprintf(f, "  subgraph cluster_rank%d { label=\"rank %d\"; ", rank, rank);
    fprintf(f, "  n%u [label=\"", i);
    write_label(f, rank >= 0 ? strstr(w->node[i].label, ": ") + 2 : w->node[i].label);
    fprintf(f, "\"%s];%s\n", w->node[i].is_there ? "" : ", style=dashed", rank >= 0 ? " }" : "");
}

static bool is_on(const unsigned *way, unsigned count, const unsigned edge[2])
{
    for (unsigned i = 0; i < count; i++)
        if (way[i] == edge[0] && way[(i + 1) % count] == edge[1]) return true;
    return false;
}

int orr_waits_write(const struct orr_waits *w, const char *file)
{
    bool circle = false;
    FILE *f = fopen(file, "we");
    if (!f) return -errno;
    unsigned *way = orr_malloc((w->nodes + 1) * sizeof *way), count = way ? find(w, way, &circle) : 0;
    fprintf(f, "digraph waits {\n  rankdir=LR;\n  node [shape=box];\n");
    for (unsigned i = 0; i < w->nodes; i++) write_node(f, w, i);
    for (unsigned i = 0; i < w->edges; i++)
        fprintf(f, "  n%u -> n%u%s;\n", w->edge[i][0], w->edge[i][1],
                circle && is_on(way, count, w->edge[i]) ? " [color=red]" : "");
    fprintf(f, "}\n");
    orr_free(way);
    int r = ferror(f) ? -EIO : 0;
    if (fclose(f) != 0 && !r) r = -errno;
    return r;
}

void orr_waits_save(const struct orr_waits *w, const char *file)
{
    int r = orr_waits_write(w, file);
    if (r)
        orr_warn("ORRERY_DEADLOCK_DOT: %s cannot be written: %s", file, strerror(-r));
    else
        orr_error("  who waits for whom is in %s (dot -Tsvg)", file);
}
