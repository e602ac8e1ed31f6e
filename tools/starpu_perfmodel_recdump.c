/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_perfmodel_recdump.c: performance models in records, with how many workers and memories there are.
 * Threads: main. Owns: the models that are asked for. Not here: models (core/perf), drawing them
 * (starpu_perfmodel_plot.c), reading records (records.c). */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "tools/grow.h"
#include "tools/records.h"

static const struct tool tool = {
    "starpu_perfmodel_recdump",
    "write performance models as records\n"
    "\n"
    "SYNOPSIS\n"
    "    starpu_perfmodel_recdump [-o OUTPUT] [INPUT]\n"
    "\n"
    "DESCRIPTION\n"
    "    Writes how many workers there are of each architecture, which memories, and what models measured:\n"
    "    for each model, architecture and footprint the mean and deviation in us, and of how many measures,\n"
    "    as lines NAME: VALUE with an empty line behind each record.\n"
    "    INPUT has records with Model and Footprint, of tasks, say: then only those are written. It may be "
    "-,\n"
    "    the standard input. Without it all models of this machine are.\n"
    "\n"
    "OPTIONS\n"
    "    -o OUTPUT       write there, not to the standard output\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: a file or model cannot be read or written, or the runtime not be started; 2: wrong usage.\n"
};

/* ---- what is asked for ---- */

struct wanted {
    char *model;
    uint32_t footprint;
};
static struct {
    struct wanted *all; /* sorted, none twice */
    size_t count, room;
    bool everything;
} asked;

static int by_model(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    int order = strcmp(x->model, y->model);
    return order ? order : (x->footprint > y->footprint) - (x->footprint < y->footprint);
}

static bool is_wanted(const char *model, uint32_t footprint)
{
    struct wanted one = { (char *)model, footprint };
    return asked.everything || bsearch(&one, asked.all, asked.count, sizeof one, by_model);
}

static void sort_asked(void)
{
    size_t n = 0;
    if (asked.count) qsort(asked.all, asked.count, sizeof *asked.all, by_model);
    for (size_t i = 0; i < asked.count; i++) {
        if (n && by_model(&asked.all[n - 1], &asked.all[i]) == 0)
            free(asked.all[i].model);
        else
            asked.all[n++] = asked.all[i];
    }
    asked.count = n;
}

static int read_input(const char *path)
{
    struct records r;
    enum records_status status;
    if (!records_open(&r, &tool, path)) return TOOL_FAILED;
    while ((status = records_next(&r)) == RECORDS_ONE) {
        if (!r.model || !r.has_footprint) continue;
        *TOOL_PUSH(asked.all, asked.count, asked.room) =
            (struct wanted){ tool_copy(r.model, strlen(r.model)), r.footprint };
    }
    records_close(&r);
    sort_asked();
    return status == RECORDS_END ? TOOL_OK : TOOL_FAILED;
}

/* ---- what there is ---- */

/* The architecture alone, without the implementation, and without the number of cores if that is one. */
static void name_of(struct starpu_perfmodel_arch *arch, char name[128])
{
    starpu_perfmodel_get_arch_name(arch, name, 128, 0);
    char *end = strstr(name, "_impl"), *one = strstr(name, "_ncores1");
    if (end) *end = 0;
    if (one && strcmp(one, "_ncores1") == 0) *one = 0;
}

static void put_workers(FILE *out)
{
    char name[128], before[128];
    unsigned n = starpu_worker_get_count();
    fprintf(out, "%%rec: worker_count\n\n");
    for (unsigned i = 0; i < n; i++) {
        unsigned alike = 0, first = i;
        name_of(starpu_worker_get_perf_archtype((int)i, 0), name);
        for (unsigned j = n; j-- > 0;) {
            name_of(starpu_worker_get_perf_archtype((int)j, 0), before);
            if (strcmp(name, before) != 0) continue;
            alike++;
            first = j;
        }
        if (first == i) fprintf(out, "Architecture: %s\nNbWorkers: %u\n\n", name, alike);
    }
}

/* What may be used of it; of main memory without a limit all that there is. */
static long long bytes_of(unsigned node)
{
    long long bytes = (long long)starpu_memory_get_total(node);
    if (bytes < 0 && starpu_node_get_kind(node) == STARPU_CPU_RAM)
        bytes = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return bytes;
}

static void put_memories(FILE *out)
{
    char name[128];
    fprintf(out, "%%rec: memory_workers\n\n");
    for (unsigned node = 0; node < starpu_memory_nodes_get_count(); node++) {
        starpu_memory_node_get_name(node, name, sizeof name);
        fprintf(out, "MemoryNode: %u\nName: %s\nSize: %lld\nWorkers:", node, name, bytes_of(node));
        for (unsigned i = 0; i < starpu_worker_get_count(); i++)
            if (starpu_worker_get_memory_node(i) == node) fprintf(out, " %u", i);
        fprintf(out, "\n\n");
    }
}

/* ---- models ---- */

/* Of several implementations the first that was measured. */
static void put_arch(FILE *out, struct starpu_perfmodel *model, const char *symbol, int comb)
{
    struct starpu_perfmodel_arch *arch = starpu_perfmodel_arch_comb_fetch(comb);
    char name[128];
    name_of(arch, name);
    for (unsigned nimpl = 0; nimpl < STARPU_MAXIMPLEMENTATIONS; nimpl++) {
        struct starpu_perfmodel_per_arch *pa = starpu_perfmodel_get_model_per_arch(model, arch, nimpl);
        if (!pa || !pa->list) continue;
        for (const struct starpu_perfmodel_history_list *l = pa->list; l; l = l->next) {
            const struct starpu_perfmodel_history_entry *e = l->entry;
            if (!e->nsample || !is_wanted(symbol, e->footprint)) continue;
            fprintf(out,
                    "Model: %s\nArchitecture: %s\nFootprint: %08x\nSize: %zu\nFlops: %-15e\nMean: %-15e\n"
                    "Stddev: %-15e\nSamples: %u\n\n",
                    symbol, name, e->footprint, e->size, e->flops, e->mean, e->deviation, e->nsample);
        }
        return;
    }
}

static int put_model(FILE *out, const char *symbol)
{
    struct starpu_perfmodel model = { .type = STARPU_PERFMODEL_INVALID };
    if (starpu_perfmodel_load_symbol(symbol, &model) != 0)
        return tool_complain(&tool, "the model \"%s\" cannot be loaded", symbol);
    for (int comb = 0; comb < starpu_perfmodel_get_narch_combs(); comb++) put_arch(out, &model, symbol, comb);
    starpu_perfmodel_unload_model(&model);
    return TOOL_OK;
}

/* The names of all models of this machine, from their list: each stands last in its line. */
static int put_all(FILE *out)
{
    char *text = NULL;
    size_t bytes;
    FILE *list = open_memstream(&text, &bytes);
    if (!list) return tool_complain(&tool, "out of memory");
    int r = starpu_perfmodel_list(list);
    if (fclose(list) != 0 || r) {
        free(text);
        return tool_complain(&tool, "the folder of the models cannot be read");
    }
    int status = TOOL_OK;
    for (char *rest = text, *line; !status && (line = strsep(&rest, "\n"));) {
        char *begin = strchr(line, '<'), *end = begin ? strrchr(begin, '>') : NULL;
        if (!end) continue;
        *end = 0;
        status = put_model(out, begin + 1);
    }
    free(text);
    return status;
}

static int put_wanted(FILE *out)
{
    int status = TOOL_OK;
    for (size_t i = 0; i < asked.count && !status; i++)
        if (!i || strcmp(asked.all[i - 1].model, asked.all[i].model) != 0)
            status = put_model(out, asked.all[i].model);
    return status;
}

static int put(FILE *out)
{
    put_workers(out);
    put_memories(out);
    fprintf(out, "%%rec: timing\n\n");
    return asked.everything ? put_all(out) : put_wanted(out);
}

static int write_output(const char *path)
{
    FILE *out = path ? fopen(path, "we") : stdout;
    if (!out) return tool_complain(&tool, "%s cannot be written: %s", path, strerror(errno));
    int status = put(out);
    bool failed = fflush(out) != 0 || ferror(out);
    if (path && fclose(out) != 0) failed = true;
    return failed ? tool_complain(&tool, "the output could not be written") : status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    const char *output = NULL;
    struct starpu_conf conf;
    for (int c; (c = getopt_long(argc, argv, "o:hv", options, NULL)) != -1;) switch (c) {
        case 'o': output = optarg; break;
        case 'h': return tool_help(&tool);
        case 'v': return tool_version(&tool);
        default: return tool_usage(&tool);
        }
    if (argc - optind > 1) {
        tool_complain(&tool, "there is one input at most");
        return tool_usage(&tool);
    }
    asked.everything = optind == argc;
    if (optind < argc && read_input(argv[optind]) != TOOL_OK) return TOOL_FAILED;
    starpu_conf_init(&conf);
    if (starpu_init(&conf) != 0) return tool_complain(&tool, "the runtime cannot be started");
    int status = write_output(output);
    starpu_shutdown();
    for (size_t i = 0; i < asked.count; i++) free(asked.all[i].model);
    free(asked.all);
    return status;
}
