/* SPDX-License-Identifier: BSD-3-Clause */
/* paje.c: reads traces of Paje: which events there are and their fields says the trace itself.
 * Threads: main. Owns: nothing. Not here: what is made of the states (paje_states.c), who writes such traces
 * (tools/report/paje.c).
 *
 * Events may be out of order, as StarPU's are: they are sorted by time, of equal times the first in the file
 * first. A state that is set ends what its container was in before; one that is pushed lasts until it is
 * popped, and what it was pushed on goes on. */
#include "tools/stats/paje.h"

enum event { OTHER, SET, PUSH, POP, VALUE, CREATE, DESTROY, EVENTS };
static const char *const event_names[EVENTS] = { "",
                                                 "PajeSetState",
                                                 "PajePushState",
                                                 "PajePopState",
                                                 "PajeDefineEntityValue",
                                                 "PajeCreateContainer",
                                                 "PajeDestroyContainer" };
enum field { TIME, ALIAS, NAME, TYPE, CONTAINER, VALUE_OF, FIELDS };
static const char *const field_names[FIELDS] = { "Time", "Alias", "Name", "Type", "Container", "Value" };
enum { MOST_DEFINITIONS = 256, MOST_FIELDS = 32 };

struct definition {
    enum event event;
    bool known;
    unsigned fields;
    int place[FIELDS]; /* behind the event's number; -1: it has none */
};

struct change {
    double at;
    size_t order;
    enum event event;
    unsigned container, type, value; /* aliases */
};

struct lane { /* of a container, the states of a type */
    unsigned container, type;
    struct paje_state *stack;
    size_t depth, room;
};

struct reader {
    struct definition definitions[MOST_DEFINITIONS];
    int defining; /* -1: none */
    struct stats_names aliases;
    char **called; /* by alias; NULL: as itself */
    size_t ncalled, called_room;
    struct change *changes;
    size_t count, room;
    struct lane *lanes;
    size_t nlanes, lanes_room;
};

/* ---- lines ---- */

/* Words between blanks, or in quotes; in place. Returns how many, or -1: a quote is not closed. */
static int words_of(char *line, char *word[MOST_FIELDS])
{
    int n = 0;
    for (char *c = line; n < MOST_FIELDS;) {
        c += strspn(c, " \t\r");
        if (!*c) return n;
        bool quoted = *c == '"';
        word[n++] = c += quoted;
        c += strcspn(c, quoted ? "\"" : " \t\r");
        if (!*c) return quoted ? -1 : n;
        *c++ = 0;
    }
    return n;
}

static const char *define(struct reader *r, char *word[], int n)
{
    double id;
    if (n > 0 && strcmp(word[0], "EndEventDef") == 0) {
        r->defining = -1;
        return NULL;
    }
    if (n >= 3 && strcmp(word[0], "EventDef") == 0) {
        if (!stats_number(word[2], &id) || id < 0 || id >= MOST_DEFINITIONS || id != (int)id)
            return "an event's number is one below 256";
        struct definition *d = &r->definitions[r->defining = (int)id];
        *d = (struct definition){ .known = true };
        for (int i = 0; i < FIELDS; i++) d->place[i] = -1;
        for (int i = 1; i < EVENTS; i++)
            if (strcmp(word[1], event_names[i]) == 0) d->event = (enum event)i;
        return NULL;
    }
    if (r->defining < 0 || n < 1) return NULL; /* a comment */
    struct definition *d = &r->definitions[r->defining];
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(word[0], field_names[i]) == 0) d->place[i] = (int)d->fields + 1;
    d->fields++;
    return NULL;
}

static void call(struct reader *r, const char *alias, const char *name)
{
    unsigned at = stats_name(&r->aliases, alias);
    while (r->ncalled <= at) *TOOL_PUSH(r->called, r->ncalled, r->called_room) = NULL;
    free(r->called[at]);
    r->called[at] = tool_copy(name, strlen(name));
}

static const char *name_of(const struct reader *r, unsigned alias)
{
    return alias < r->ncalled && r->called[alias] ? r->called[alias] : r->aliases.at[alias];
}

static const char *add_event(struct reader *r, const struct definition *d, char *word[], int n)
{
    const char *field[FIELDS];
    for (int i = 0; i < FIELDS; i++) field[i] = d->place[i] > 0 && d->place[i] < n ? word[d->place[i]] : NULL;
    if (d->event == OTHER) return NULL;
    if (d->event == VALUE || d->event == CREATE) {
        if (!field[NAME]) return "it has no name";
        call(r, field[ALIAS] ? field[ALIAS] : field[NAME], field[NAME]);
        return NULL;
    }
    struct change c = { .order = r->count, .event = d->event };
    const char *container = d->event == DESTROY ? field[NAME] : field[CONTAINER];
    if (!field[TIME] || !stats_number(field[TIME], &c.at)) return "its time is no number";
    if (!container || !field[TYPE]) return "it says no container or type";
    if ((d->event == SET || d->event == PUSH) && !field[VALUE_OF]) return "it says no state";
    c.container = stats_name(&r->aliases, container);
    c.type = stats_name(&r->aliases, field[TYPE]);
    c.value = field[VALUE_OF] ? stats_name(&r->aliases, field[VALUE_OF]) : 0;
    *TOOL_PUSH(r->changes, r->count, r->room) = c;
    return NULL;
}

static const char *add_line(void *arg, char *line)
{
    struct reader *r = arg;
    char *word[MOST_FIELDS];
    bool defines = *line == '%';
    double id;
    int n = words_of(line + defines, word);
    if (n < 0) return "a quote is not closed";
    if (defines) return define(r, word, n);
    if (n == 0 || *word[0] == '#') return NULL;
    if (!stats_number(word[0], &id) || id < 0 || id >= MOST_DEFINITIONS || !r->definitions[(int)id].known)
        return "no such event is defined: this is no trace of Paje";
    return add_event(r, &r->definitions[(int)id], word, n);
}

/* ---- states ---- */

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct lane *lane_of(struct reader *r, unsigned container, unsigned type)
{
    for (size_t i = 0; i < r->nlanes; i++)
        if (r->lanes[i].container == container && r->lanes[i].type == type) return &r->lanes[i];
    struct lane *l = TOOL_PUSH(r->lanes, r->nlanes, r->lanes_room);
    *l = (struct lane){ .container = container, .type = type };
    return l;
}

static void end_state(struct paje *out, struct lane *l, double at)
{
    struct paje_state *s = &l->stack[--l->depth];
    s->to = at;
    *TOOL_PUSH(out->states, out->count, out->room) = *s;
}

static void begin_state(const struct reader *r, struct paje *out, struct lane *l, const struct change *c)
{
    *TOOL_PUSH(l->stack, l->depth, l->room) =
        (struct paje_state){ .container = stats_name(&out->containers, name_of(r, c->container)),
                             .value = stats_name(&out->values, name_of(r, c->value)),
                             .from = c->at };
}

static void apply(struct reader *r, struct paje *out, const struct change *c)
{
    if (c->event == DESTROY) {
        for (size_t i = 0; i < r->nlanes; i++)
            while (r->lanes[i].container == c->container && r->lanes[i].depth > 0)
                end_state(out, &r->lanes[i], c->at);
        return;
    }
    struct lane *l = lane_of(r, c->container, c->type);
    if (c->event == SET)
        while (l->depth > 0) end_state(out, l, c->at);
    if (c->event == POP && l->depth > 0) end_state(out, l, c->at);
    if (c->event != POP) begin_state(r, out, l, c);
}

static void forget(struct reader *r)
{
    for (size_t i = 0; i < r->nlanes; i++) free(r->lanes[i].stack);
    for (size_t i = 0; i < r->ncalled; i++) free(r->called[i]);
    for (size_t i = 0; i < r->aliases.count; i++) free(r->aliases.at[i]);
    free(r->lanes), free(r->called), free(r->changes), free(r->aliases.at), free(r->aliases.sorted);
}

int paje_read(const struct tool *tool, const char *path, struct paje *out)
{
    static struct reader r;
    memset(&r, 0, sizeof r);
    r.defining = -1;
    *out = (struct paje){ .count = 0 };
    if (stats_each_line(tool, path, add_line, &r)) return TOOL_FAILED;
    if (r.count) qsort(r.changes, r.count, sizeof *r.changes, by_time);
    for (size_t i = 0; i < r.count; i++) apply(&r, out, &r.changes[i]);
    for (size_t i = 0; i < r.nlanes; i++) /* whose containers nobody destroyed */
        while (r.lanes[i].depth > 0) end_state(out, &r.lanes[i], r.changes[r.count - 1].at);
    forget(&r);
    if (out->count) return TOOL_OK;
    return tool_complain(tool, "%s has no states", path);
}
