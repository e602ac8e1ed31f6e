/* SPDX-License-Identifier: BSD-3-Clause */
/* composed.c: several components as one, from a recipe; and trees in the shape of the machine, from recipes.
 * Threads: who builds. Owns: recipes. Not here: common shapes (simple.c). */
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/topo/topo.h"
#include "sched/components/component.h"

typedef struct starpu_sched_component *(*create_fn)(struct starpu_sched_tree *tree, void *arg);

struct step {
    create_fn create;
    void *arg;
};

struct starpu_sched_component_composed_recipe {
    unsigned count;
    struct step *steps; /* from the uppermost down */
};

/* ---- recipes ---- */

struct starpu_sched_component_composed_recipe *starpu_sched_component_composed_recipe_create(void)
{
    struct starpu_sched_component_composed_recipe *r = orr_calloc(1, sizeof *r);
    if (!r) orr_error("starpu_sched_component_composed_recipe_create: out of memory");
    return r;
}

void starpu_sched_component_composed_recipe_add(struct starpu_sched_component_composed_recipe *recipe,
                                                create_fn create_component, void *arg)
{
    struct step *more = recipe ? orr_realloc(recipe->steps, (recipe->count + 1) * sizeof *more) : NULL;
    if (!more) {
        orr_error("starpu_sched_component_composed_recipe_add: %s", recipe ? "out of memory" : "no recipe");
        return;
    }
    recipe->steps = more;
    more[recipe->count++] = (struct step){ create_component, arg };
}

struct starpu_sched_component_composed_recipe *starpu_sched_component_composed_recipe_create_singleton(
    create_fn create_component, void *arg)
{
    struct starpu_sched_component_composed_recipe *r = starpu_sched_component_composed_recipe_create();
    if (r) starpu_sched_component_composed_recipe_add(r, create_component, arg);
    return r;
}

void starpu_sched_component_composed_recipe_destroy(struct starpu_sched_component_composed_recipe *recipe)
{
    if (!recipe) return;
    orr_free(recipe->steps);
    orr_free(recipe);
}

/* ---- the composed component: it stands above the first of a chain; its children hang below the last ---- */

struct chain {
    struct starpu_sched_component *last;
};

static int composed_push_task(struct starpu_sched_component *c, struct starpu_task *p)
{
    return starpu_sched_component_push_task(c, c->children[0], p);
}

static const struct orr_component_kind kind_composed = { .name = "composed",
                                                         .passes = true,
                                                         .one_child = true };

static void add_child(struct starpu_sched_component *c, struct starpu_sched_component *child)
{
    struct starpu_sched_component *last = ((struct chain *)c->data)->last;
    last->add_child(last, child);
}

static void remove_child(struct starpu_sched_component *c, struct starpu_sched_component *child)
{
    struct starpu_sched_component *last = ((struct chain *)c->data)->last;
    last->remove_child(last, child);
}

/* Who is the parent of what is connected below c. */
struct starpu_sched_component *orr_composed_last(struct starpu_sched_component *c)
{
    while (orr_component_is(c, &kind_composed) && ((struct chain *)c->data)->last)
        c = ((struct chain *)c->data)->last;
    return c;
}

/* Makes the components and links them; NULL: out of memory (the tree frees what was made). */
static struct starpu_sched_component *make_chain(struct starpu_sched_tree *tree,
                                                 const struct starpu_sched_component_composed_recipe *recipe,
                                                 struct starpu_sched_component **last_out)
{
    struct starpu_sched_component *first = NULL, *last = NULL;
    for (unsigned i = 0; i < recipe->count; i++) {
        struct starpu_sched_component *c = recipe->steps[i].create(tree, recipe->steps[i].arg);
        if (!c) return NULL;
        if (last) starpu_sched_component_connect(last, c);
        if (!first) first = c;
        last = c;
    }
    *last_out = last;
    return first;
}

struct starpu_sched_component *starpu_sched_component_composed_component_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_composed_recipe *recipe)
{
    struct starpu_sched_component *last = NULL;
    if (!recipe || recipe->count == 0) {
        orr_error("starpu_sched_component_composed_component_create: the recipe is empty");
        return NULL;
    }
    if (recipe->count == 1) return recipe->steps[0].create(tree, recipe->steps[0].arg);
    struct starpu_sched_component *first = make_chain(tree, recipe, &last);
    struct starpu_sched_component *c =
        first ? orr_component_create(tree, &kind_composed, sizeof(struct chain)) : NULL;
    if (!c) return NULL;
    starpu_sched_component_connect(c, first);
    ((struct chain *)c->data)->last = last;
    c->push_task = composed_push_task;
    c->add_child = add_child;
    c->remove_child = remove_child;
    return c;
}

/* ---- trees in the shape of the machine ---- */

enum { LEVELS = 3 };

/* What is at one place of the machine, from the outer level to the inner one. */
struct place {
    int group[LEVELS];
    struct starpu_sched_component *at[LEVELS];
};

/* A tree that is being made: its levels in the machine's order. */
struct making {
    struct starpu_sched_tree *tree;
    const struct starpu_sched_component_specs *specs;
    enum orr_topo_level level[LEVELS];
    struct starpu_sched_component_composed_recipe *recipe[LEVELS]; /* NULL: nothing is made for the level */
    struct place *places;                                          /* of workers */
};

static struct starpu_sched_component_composed_recipe *recipe_at(const struct starpu_sched_component_specs *s,
                                                                enum orr_topo_level level)
{
    switch (level) {
    case ORR_TOPO_NUMA: return s->hwloc_component_composed_sched_component;
    case ORR_TOPO_SOCKET: return s->hwloc_socket_composed_sched_component;
    default: return s->hwloc_cache_composed_sched_component;
    }
}

static void order_levels(struct making *m)
{
    bool sockets_first = orr_topo_sockets_hold_nodes();
    m->level[0] = sockets_first ? ORR_TOPO_SOCKET : ORR_TOPO_NUMA;
    m->level[1] = sockets_first ? ORR_TOPO_NUMA : ORR_TOPO_SOCKET;
    m->level[2] = ORR_TOPO_CACHE;
    for (int i = 0; i < LEVELS; i++) m->recipe[i] = recipe_at(m->specs, m->level[i]);
}

/* The component for a level above a worker's core: an earlier worker's if it has the same place, else a new
 * one below `above`. */
static struct starpu_sched_component *component_at(struct making *m, unsigned worker, int i,
                                                   struct starpu_sched_component *above)
{
    struct place *p = m->places, *own = &p[worker];
    if (!m->recipe[i]) return above;
    for (unsigned other = 0; other < worker; other++) {
        bool same = p[other].at[i] != NULL;
        for (int k = 0; k <= i; k++) same &= !m->recipe[k] || p[other].group[k] == own->group[k];
        if (same) return own->at[i] = p[other].at[i];
    }
    struct starpu_sched_component *c =
        starpu_sched_component_composed_component_create(m->tree, m->recipe[i]);
    if (c) starpu_sched_component_connect(above, c);
    return own->at[i] = c;
}

static bool hang_worker(struct making *m, unsigned worker)
{
    const struct orr_worker *w = &orr_workers[worker];
    const struct starpu_sched_component_specs *s = m->specs;
    struct starpu_sched_component *above = m->tree->root;
    bool near_cores = w->bindid >= 0 && (w->type == STARPU_CPU_WORKER || s->mix_heterogeneous_workers);
    for (int i = 0; near_cores && above && i < LEVELS; i++) {
        m->places[worker].group[i] = orr_topo_level_above((unsigned)w->bindid, m->level[i]);
        above = component_at(m, worker, i, above);
    }
    struct starpu_sched_component_composed_recipe *recipe =
        s->worker_composed_sched_component ? s->worker_composed_sched_component(w->type) : NULL;
    if (above && recipe) {
        struct starpu_sched_component *c = starpu_sched_component_composed_component_create(m->tree, recipe);
        if (c) starpu_sched_component_connect(above, c);
        above = c;
    }
    struct starpu_sched_component *leaf =
        starpu_sched_component_worker_new(m->tree->sched_ctx_id, (int)worker);
    if (!above || !leaf) return false;
    starpu_sched_component_connect(above, leaf);
    return true;
}

struct starpu_sched_tree *starpu_sched_component_make_scheduler(unsigned sched_ctx_id,
                                                                struct starpu_sched_component_specs s)
{
    struct starpu_sched_tree *tree = starpu_sched_tree_create(sched_ctx_id);
    struct making m = { .tree = tree, .specs = &s };
    bool made = false;
    m.places = orr_calloc(orr_worker_count ? orr_worker_count : 1, sizeof *m.places);
    order_levels(&m);
    if (tree && m.places) {
        tree->root =
            starpu_sched_component_composed_component_create(tree, s.hwloc_machine_composed_sched_component);
        made = tree->root != NULL;
        for (unsigned i = 0; made && i < orr_worker_count; i++) made = hang_worker(&m, i);
    }
    orr_free(m.places);
    if (made) {
        starpu_sched_tree_update_workers(tree);
        return tree;
    }
    orr_error("starpu_sched_component_make_scheduler: the tree cannot be made");
    starpu_sched_tree_destroy(tree);
    return NULL;
}
