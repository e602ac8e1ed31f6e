/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_tasks_rec_complete.c: adds to the records of tasks how long each would take on each worker, as
 * models say. Threads: main. Owns: the models that records name. Not here: reading records (records.c),
 * writing them (report/export.c). */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "tools/grow.h"
#include "tools/records.h"

static const struct tool tool = {
    "starpu_tasks_rec_complete",
    "add to records of tasks what models expect of them\n"
    "\n"
    "SYNOPSIS\n"
    "    starpu_tasks_rec_complete [INPUT [OUTPUT]]\n"
    "\n"
    "DESCRIPTION\n"
    "    Copies records of tasks, as orrery_report -o tasks.rec writes them: lines NAME: VALUE with an "
    "empty\n"
    "    line behind each record. A record with a Model gets one line more, EstimatedTime, instead of one "
    "that\n"
    "    it has: for each worker of this machine, in their order, how long the task takes there, in us, by "
    "that\n"
    "    model of this machine and the record's Footprint; inf where that was not measured, or there is no\n"
    "    Footprint. A model that is not there is said, and its tasks are left as they are.\n"
    "    Without INPUT or OUTPUT, or for -, the standard input and output.\n"
    "\n"
    "OPTIONS\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: a file or model cannot be read or written, or the runtime not be started; 2: wrong usage.\n"
    "\n"
    "SEE ALSO\n"
    "    orrery_report(1), starpu_perfmodel_recdump(1)\n"
};

/* ---- models ---- */

struct known {
    char *name;
    struct starpu_perfmodel *model; /* NULL: it cannot be loaded */
};
static struct {
    struct known *all;
    size_t count, room, latest;
    bool missing;
} models;

static struct starpu_perfmodel *load(const char *name)
{
    struct starpu_perfmodel *model = tool_alloc(1, sizeof *model);
    model->type = STARPU_PERFMODEL_INVALID;
    if (starpu_perfmodel_load_symbol(name, model) == 0) return model;
    tool_complain(&tool, "the model \"%s\" cannot be loaded: its tasks are left as they are", name);
    models.missing = true;
    free(model);
    return NULL;
}

static struct starpu_perfmodel *model_of(const char *name)
{
    if (models.count && strcmp(models.all[models.latest].name, name) == 0)
        return models.all[models.latest].model;
    for (models.latest = 0; models.latest < models.count; models.latest++)
        if (strcmp(models.all[models.latest].name, name) == 0) return models.all[models.latest].model;
    *TOOL_PUSH(models.all, models.count, models.room) =
        (struct known){ tool_copy(name, strlen(name)), load(name) };
    return models.all[models.latest].model;
}

static void forget_models(void)
{
    for (size_t i = 0; i < models.count; i++) {
        if (models.all[i].model) starpu_perfmodel_unload_model(models.all[i].model);
        free(models.all[i].model), free(models.all[i].name);
    }
    free(models.all);
}

/* ---- records ---- */

static void put_lines(FILE *out, const struct records *r)
{
    static const char field[] = "EstimatedTime:";
    const char *at = r->text, *end = r->text + r->bytes;
    for (const char *next; at < end; at = next) {
        next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        if (r->model && strncmp(at, field, sizeof field - 1) == 0 && model_of(r->model)) continue;
        fwrite(at, 1, (size_t)(next - at), out);
    }
}

/* In us; few measures are enough, unlike for a policy. Infinity: there is none. */
static double expected(struct starpu_perfmodel *model, struct starpu_perfmodel_arch *arch, uint32_t footprint)
{
    double us = starpu_perfmodel_history_based_expected_perf(model, arch, footprint);
    if (!isnan(us)) return us;
    for (unsigned nimpl = 0; nimpl < STARPU_MAXIMPLEMENTATIONS; nimpl++) {
        struct starpu_perfmodel_per_arch *pa = starpu_perfmodel_get_model_per_arch(model, arch, nimpl);
        for (const struct starpu_perfmodel_history_list *l = pa ? pa->list : NULL; l; l = l->next)
            if (l->entry->footprint == footprint && l->entry->nsample) return l->entry->mean;
    }
    return INFINITY;
}

static void put_estimates(FILE *out, const struct records *r)
{
    struct starpu_perfmodel *model = r->model ? model_of(r->model) : NULL;
    if (!model) return;
    fputs("EstimatedTime:", out);
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) {
        struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype((int)i, 0);
        fprintf(out, " %e", r->has_footprint ? expected(model, arch, r->footprint) : INFINITY);
    }
    putc('\n', out);
}

static int complete(struct records *r, FILE *out)
{
    enum records_status status;
    while ((status = records_next(r)) == RECORDS_ONE && !ferror(out)) {
        if (r->bytes) put_lines(out, r), put_estimates(out, r);
        if (r->closed) putc('\n', out);
    }
    if (fflush(out) != 0 || ferror(out)) return tool_complain(&tool, "the output could not be written");
    return status == RECORDS_END && !models.missing ? TOOL_OK : TOOL_FAILED;
}

/* Not what is read: it would be empty before. */
static FILE *open_output(const char *path, FILE *in)
{
    struct stat is, wanted;
    if (!path || strcmp(path, "-") == 0) return stdout;
    if (fstat(fileno(in), &is) == 0 && stat(path, &wanted) == 0 && S_ISREG(is.st_mode) &&
        is.st_dev == wanted.st_dev && is.st_ino == wanted.st_ino) {
        tool_complain(&tool, "%s is the input, too: give the output another name", path);
        return NULL;
    }
    FILE *out = fopen(path, "we");
    if (!out) tool_complain(&tool, "%s cannot be written: %s", path, strerror(errno));
    return out;
}

static int complete_file(const char *input, const char *output)
{
    struct records records;
    int status = TOOL_FAILED;
    if (!records_open(&records, &tool, input)) return status;
    FILE *out = open_output(output, records.in);
    if (out) status = complete(&records, out);
    if (out && out != stdout && fclose(out) != 0)
        status = tool_complain(&tool, "the output could not be written");
    records_close(&records);
    forget_models();
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    struct starpu_conf conf;
    for (int c; (c = getopt_long(argc, argv, "hv", options, NULL)) != -1;) switch (c) {
        case 'h': return tool_help(&tool);
        case 'v': return tool_version(&tool);
        default: return tool_usage(&tool);
        }
    if (argc - optind > 2) {
        tool_complain(&tool, "there is one input at most, and one output");
        return tool_usage(&tool);
    }
    starpu_conf_init(&conf);
    if (starpu_init(&conf) != 0) return tool_complain(&tool, "the runtime cannot be started");
    int status =
        complete_file(optind < argc ? argv[optind] : NULL, optind + 1 < argc ? argv[optind + 1] : NULL);
    starpu_shutdown();
    return status;
}
