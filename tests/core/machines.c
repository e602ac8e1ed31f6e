/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is planned on machines that are not here, which were recorded in tests/machines: cores and their
 * order, who is bound where, ranks that share a node, combined workers, trees of components. Threads: main;
 * workers idle. Owns: nothing. Not here: binding itself, which takes the machine (but that its failure is
 * said).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <starpu_sched_component.h>

#include "core/topo/topo.h"
#include "tests/core/recorded_machine.h"
#include "tests/helper.h"

/* Takes the place of the C library's while the system refuses to bind. */
static atomic_int refusals;
static atomic_bool refuses;
int sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *set)
{
    (void)thread;
    (void)bytes;
    (void)set;
    if (!atomic_load(&refuses)) return 0;
    atomic_fetch_add(&refusals, 1);
    errno = EPERM;
    return -1;
}

static void is_text(const char *got, const char *want, const char *fact)
{
    if (!ok(strcmp(got, want) == 0, "%s", fact)) printf("#   got  %s\n#   want %s\n", got, want);
}

/* The processors of the cores in order, as text. */
static const char *processors(void)
{
    static char text[1024];
    size_t at = 0;
    for (unsigned i = 0; i < orr_topo_cores() && at < sizeof text - 8; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%u", i ? " " : "", orr_topo_os_index(i));
    return text;
}

/* Those of rank i of n on the node. */
static const char *part(unsigned i, unsigned n)
{
    orr_topo_share(i, n);
    if (orr_topo_init() != 0) return "no topology";
    const char *text = processors();
    orr_topo_fini();
    orr_topo_share(0, 1);
    return text;
}

/* The groups of a level, one letter a core. */
static const char *groups(enum orr_topo_level level)
{
    static char text[256];
    unsigned n = orr_topo_cores();
    for (unsigned i = 0; i < n; i++) text[i] = (char)('a' + orr_topo_level_above(i, level));
    text[n] = 0;
    return text;
}

/* ---- workers ---- */

static bool start(int cpus, const char *policy, const char *list)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.sched_policy_name = policy;
    if (list)
        setenv("STARPU_WORKERS_CPUID", list, 1);
    else
        unsetenv("STARPU_WORKERS_CPUID");
    return starpu_init(&conf) == 0;
}

/* The processors that the workers are bound to. */
static const char *bound(void)
{
    static char text[1024];
    size_t at = 0;
    for (unsigned i = 0; i < starpu_worker_get_count() && at < sizeof text - 8; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", i ? " " : "",
                               starpu_cpu_os_index(starpu_worker_get_bindid((int)i)));
    return text;
}

/* How many combined workers there are of each size, the largest first: "2x1" is two of one. */
static const char *combined(void)
{
    static char text[256];
    int first = (int)starpu_worker_get_count(), count = (int)starpu_combined_worker_get_count();
    size_t at = 0;
    text[0] = 0;
    for (int wanted = first; wanted > 0; wanted--) {
        int n = 0;
        for (int id = first; id < first + count; id++) {
            int size = 0, *members;
            starpu_combined_worker_get_description(id, &size, &members);
            n += size == wanted;
        }
        if (n) at += (size_t)snprintf(text + at, sizeof text - at, "%s%dx%d", at ? " " : "", n, wanted);
    }
    return text;
}

/* Whether no combined worker has members of both sets of workers, [0, at) and [at, ...), but that of all. */
static bool none_across(int at)
{
    int first = (int)starpu_worker_get_count(), count = (int)starpu_combined_worker_get_count();
    for (int id = first; id < first + count; id++) {
        int size, *members, below = 0;
        if (starpu_combined_worker_get_description(id, &size, &members) != 0) return false;
        for (int i = 0; i < size; i++) below += members[i] < at;
        if (below && below < size && size < first) return false;
    }
    return true;
}

/* ---- trees ---- */

static bool with_numa, with_sockets, with_caches;
static char shape[512];

static struct starpu_sched_component_composed_recipe *eager(bool wanted)
{
    return wanted ? starpu_sched_component_composed_recipe_create_singleton(
                        (struct starpu_sched_component * (*)(struct starpu_sched_tree *, void *))
                            starpu_sched_component_eager_create,
                        NULL)
                  : NULL;
}

/* Children of each inner component in words: "(3 2)" has two with 3 and 2 workers. */
static void draw(const struct starpu_sched_component *c)
{
    bool leaves = true;
    for (unsigned i = 0; i < c->nchildren; i++) leaves &= c->children[i]->nchildren == 0;
    if (leaves) {
        sprintf(shape + strlen(shape), "%u", c->nchildren);
        return;
    }
    strcat(shape, "(");
    for (unsigned i = 0; i < c->nchildren; i++) {
        if (i) strcat(shape, " ");
        draw(c->children[i]);
    }
    strcat(shape, ")");
}

static void init_tree(unsigned ctx)
{
    struct starpu_sched_component_specs specs;
    memset(&specs, 0, sizeof specs);
    specs.hwloc_machine_composed_sched_component = eager(true);
    specs.hwloc_component_composed_sched_component = eager(with_numa);
    specs.hwloc_socket_composed_sched_component = eager(with_sockets);
    specs.hwloc_cache_composed_sched_component = eager(with_caches);
    struct starpu_sched_tree *t = starpu_sched_component_make_scheduler(ctx, specs);
    starpu_sched_component_composed_recipe_destroy(specs.hwloc_machine_composed_sched_component);
    if (with_numa)
        starpu_sched_component_composed_recipe_destroy(specs.hwloc_component_composed_sched_component);
    if (with_sockets)
        starpu_sched_component_composed_recipe_destroy(specs.hwloc_socket_composed_sched_component);
    if (with_caches)
        starpu_sched_component_composed_recipe_destroy(specs.hwloc_cache_composed_sched_component);
    shape[0] = 0;
    if (t) draw(t->root);
    starpu_sched_ctx_set_policy_data(ctx, t);
}

static void deinit_tree(unsigned ctx)
{
    starpu_sched_tree_destroy(starpu_sched_ctx_get_policy_data(ctx));
}

static struct starpu_sched_policy trees = {
    .init_sched = init_tree,
    .deinit_sched = deinit_tree,
    .add_workers = starpu_sched_tree_add_workers,
    .remove_workers = starpu_sched_tree_remove_workers,
    .push_task = starpu_sched_tree_push_task,
    .pop_task = starpu_sched_tree_pop_task,
    .policy_name = "trees",
};

static const char *tree_of(int cpus, bool numa, bool sockets, bool caches)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.sched_policy = &trees;
    with_numa = numa;
    with_sockets = sockets;
    with_caches = caches;
    unsetenv("STARPU_WORKERS_CPUID");
    if (starpu_init(&conf) != 0) return "no runtime";
    starpu_shutdown();
    return shape;
}

/* ---- the machines ---- */

static void server_plan(void)
{
    use_machine("server");
    unsigned on_core[128] = { 0 }, most = 0;
    char *end;
    is_text(part(1, 4),
            "32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63",
            "server: the second of four ranks has the second NUMA node, one thread a core");
    ok(strncmp(part(2, 3), "85 86 ", 6) == 0, "of three ranks the last begins at core 85");
    for (unsigned i = 0; i < 200; i++) {
        unsigned long core = strtoul(part(i, 200), &end, 10);
        if (*end || core > 127)
            most = 1000;
        else if (++on_core[core] > most)
            most = on_core[core];
    }
    is_int((int)most, 2, "of 200 ranks none has more than one core, which no more than two have");
    orr_topo_init();
    is_int((int)orr_topo_cores(), 128, "it has 128 cores");
    ok(all_of(orr_topo_level_above(63, ORR_TOPO_NUMA) == 1, orr_topo_level_above(63, ORR_TOPO_SOCKET) == 0,
              orr_topo_level_above(63, ORR_TOPO_CACHE) == 7, orr_topo_level_above(64, ORR_TOPO_SOCKET) == 1),
       "core 63 is the last of the first socket, in its second node and eighth cache");
    orr_topo_fini();
}

static void server_workers(void)
{
    if (!ok(start(128, "peager", NULL), "128 workers are started")) return;
    is_int(starpu_cpu_os_index(starpu_worker_get_bindid(127)), 127, "the last worker has the last core");
    is_text(combined(), "1x128 2x64 4x32 8x16 16x8 32x4 64x2",
            "combined workers are sockets, nodes, caches, and halves");
    ok(none_across(64), "none but that of all is in two sockets");
    starpu_shutdown();
    start(4, "eager", "127 64 0 0");
    is_text(bound(), "127 64 0 0", "a list of cores is followed, two workers on one core too");
    starpu_shutdown();
    setenv("STARPU_RESERVE_NCPU", "120", 1);
    start(-1, "eager", NULL);
    is_text(bound(), "0 1 2 3 4 5 6 7", "120 of 128 cores are kept free");
    is_int((int)starpu_get_next_bindid(STARPU_THREAD_ACTIVE, NULL, 0), 8,
           "a thread of the program gets one of these");
    starpu_shutdown();
    unsetenv("STARPU_RESERVE_NCPU");
    is_text(tree_of(128, false, true, false), "(64 64)", "a tree by sockets");
    is_text(tree_of(128, true, true, false), "((32 32) (32 32))", "by sockets, and by nodes in these");
    is_text(tree_of(128, true, false, true), "((8 8 8 8) (8 8 8 8) (8 8 8 8) (8 8 8 8))",
            "a tree by nodes and caches");
}

static void laptop(void)
{
    use_machine("laptop");
    is_text(part(0, 1), "0 2 4 6 8 10 12 13 14 15 16 17 18 19 20 21",
            "laptop: one thread a core, the fast ones first");
    orr_topo_init();
    ok(all_of(strspn(groups(ORR_TOPO_CACHE), "a") == 14,
              groups(ORR_TOPO_CACHE)[14] == groups(ORR_TOPO_CACHE)[15]),
       "the two slowest share no cache with the others");
    orr_topo_fini();
    start(16, "peager", NULL);
    is_text(combined(), "1x16 1x14 1x10 1x8 3x4 8x2", "combined workers follow its clusters");
    ok(none_across(14), "none but that of all goes beyond the big cache");
    starpu_shutdown();
    is_text(tree_of(16, false, false, true), "(14 2)", "a tree by caches");
}

static void odd(void)
{
    use_machine("odd");
    is_text(part(0, 1), "0 1 2 4 7 8 11 12",
            "odd: no core that is disallowed, and the allowed thread of one that is half so");
    is_text(part(1, 2), "7 8 11 12", "the second of two ranks has half of these");
    orr_topo_init();
    is_text(groups(ORR_TOPO_SOCKET), "aaaaabbb", "two sockets can be used");
    ok(strncmp(groups(ORR_TOPO_NUMA), "aaaaa", 5) == 0 && strspn(groups(ORR_TOPO_NUMA) + 5, "a") == 0,
       "cores without memory of their own are not counted to that of others");
    const char *caches = groups(ORR_TOPO_CACHE);
    ok(all_of(caches[0] == caches[1], caches[1] != caches[2], caches[2] == caches[3], caches[3] == caches[4]),
       "little cores with a small cache are not counted to the big one of the same number");
    ok(all_of(caches[5] != caches[0], caches[5] != caches[2], caches[5] == caches[7]),
       "nor are cores without any");
    orr_topo_fini();
    start(8, "peager", NULL);
    is_text(combined(), "1x8 1x5 2x3 3x2", "combined workers: each socket, the big cache, and pairs");
    starpu_shutdown();
    is_text(tree_of(8, true, true, true), "(((2 3)) ((3)))", "a tree by nodes, sockets and caches");
    start(4, "eager", "6-");
    is_text(bound(), "11 12 11 12", "an open range of cores ends with the last that may be used");
    starpu_shutdown();
}

/* ---- refusals ---- */

/* What init and shutdown with a worker write to stderr. */
static const char *said(void)
{
    static char text[4096];
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    if (!file || before < 0) return "no file";
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    if (start(2, "eager", NULL)) starpu_shutdown();
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static void refused(void)
{
    setenv("STARPU_HWLOC_INPUT", getenv("HWLOC_XMLFILE"), 1);
    unsetenv("HWLOC_XMLFILE");
    is_text(part(0, 1), "0 1 2 4 7 8 11 12", "STARPU_HWLOC_INPUT names a machine as HWLOC_XMLFILE does");
    unsetenv("STARPU_HWLOC_INPUT");
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    atomic_store(&refuses, true);
    ok(!strstr(said(), "bound"), "with STARPU_WORKERS_NOBIND no thread is bound");
    setenv("STARPU_WORKERS_NOBIND", "0", 1);
    const char *text = said(), *at = strstr(text, "could not be bound to processor");
    ok(all_of(atomic_load(&refusals) > 0, at != NULL, at && !strstr(at + 1, "could not be bound")),
       "a system that refuses to bind is told of once");
    atomic_store(&refuses, false);
    setenv("STARPU_HWLOC_INPUT", "/nonexistent", 1);
    ok(strstr(said(), "STARPU_HWLOC_INPUT=/nonexistent is ignored") != NULL,
       "so is a machine that cannot be read");
}

int main(void)
{
    alarm(60);
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("STARPU_NCPU");
    server_plan();
    server_workers();
    laptop();
    odd();
    refused();
    return done_testing();
}
