/* SPDX-License-Identifier: BSD-3-Clause */
/* print.c: what a model knows, as text and XML.
 * Threads: any; measures made meanwhile may be missing. Owns: nothing.
 * Not here: the models' files (store.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/perf/perfmodel.h"
#include "core/perf/store.h"

void starpu_perfmodel_directory(FILE *output)
{
    char path[4096];
    if (orr_store_directory(path, sizeof path, false) == 0)
        fprintf(output, "directory: <%s>\n", path);
    else
        fprintf(output, "directory: none; set STARPU_PERF_MODEL_DIR or HOME\n");
}

static void print_symbol(const char *symbol, void *arg)
{
    fprintf(arg, "file: <%s>\n", symbol);
}

int starpu_perfmodel_list(FILE *output)
{
    return orr_store_each(print_symbol, output);
}

void starpu_perfmodel_get_model_path(const char *symbol, char *path, size_t maxlen)
{
    if (maxlen > 0 && orr_store_find(symbol, path, maxlen) != 0) path[0] = 0;
}

void starpu_perfmodel_debugfilepath(struct starpu_perfmodel *model, struct starpu_perfmodel_arch *arch,
                                    char *path, size_t maxlen, unsigned nimpl)
{
    char folder[4096], name[256];
    if (maxlen == 0) return;
    path[0] = 0;
    if (!model->symbol || orr_store_directory(folder, sizeof folder, false) != 0) return;
    starpu_perfmodel_get_arch_name(arch, name, sizeof name, nimpl);
    snprintf(path, maxlen, "%s/%s.%s.debug", folder, model->symbol, name);
}

/* ---- loading by symbol, with advice when there is no such file ---- */

struct near {
    const char *wanted;
    unsigned printed;
};

/* Names that contain one another, or begin with the same three letters. */
static void print_near(const char *symbol, void *arg)
{
    struct near *n = arg;
    if (!strstr(symbol, n->wanted) && !strstr(n->wanted, symbol) && strncmp(symbol, n->wanted, 3) != 0)
        return;
    fprintf(stderr, "%s\t%s\n", n->printed++ ? "" : "There are models of similar names:\n", symbol);
}

int starpu_perfmodel_load_symbol(const char *symbol, struct starpu_perfmodel *model)
{
    char path[4096];
    if (!symbol || !model) {
        orr_error("starpu_perfmodel_load_symbol: the %s is NULL", symbol ? "model" : "symbol");
        return 1;
    }
    if (orr_store_find(symbol, path, sizeof path) == 0)
        return starpu_perfmodel_load_file(path, model) == 0 ? 0 : 1;
    orr_error("starpu_perfmodel_load_symbol: there is no performance model of the name %s", symbol);
    struct near n = { .wanted = symbol };
    orr_store_each(print_near, &n);
    return 1;
}

/* ---- text ---- */

static void print_history(struct orr_perf_arch *pa, const uint32_t *footprint, FILE *output)
{
    fprintf(output, "# hash\t\tsize\t\tflops\t\tmean (us)\tstddev (us)\tn\n");
    for (struct starpu_perfmodel_history_list *l = pa->pub.list; l; l = l->next) {
        const struct starpu_perfmodel_history_entry *e = l->entry;
        if (e->nsample == 0 || (footprint && e->footprint != *footprint)) continue;
        fprintf(output, "%08x\t%-15zu\t%-15.6e\t%-15.6e\t%-15.6e\t%u\n", e->footprint, e->size, e->flops,
                e->mean, e->deviation, e->nsample);
    }
}

static void print_regression(struct orr_perf_arch *pa, FILE *output)
{
    const struct starpu_perfmodel_regression_model *r = &pa->pub.regression;
    if (r->valid)
        fprintf(output, "#\tlinear: y = alpha size ^ beta\n#\t\talpha = %e\n#\t\tbeta = %e\n", r->alpha,
                r->beta);
    else if (pa->model->type == STARPU_REGRESSION_BASED)
        fprintf(output, "#\tlinear model is INVALID\n");
    if (r->nl_valid)
        fprintf(output, "#\tnon-linear: y = a size ^ b + c\n#\t\ta = %e\n#\t\tb = %e\n#\t\tc = %e\n", r->a,
                r->b, r->c);
    else if (pa->model->type == STARPU_NL_REGRESSION_BASED)
        fprintf(output, "#\tnon-linear model is INVALID\n");
    if (r->multi_valid) {
        fprintf(output, "#\tmultiple: y = %e", r->coeff[0]);
        for (unsigned i = 1; i < r->ncoeff; i++) fprintf(output, " + %e * monomial %u", r->coeff[i], i);
        fprintf(output, "\n");
    } else if (pa->model->type == STARPU_MULTIPLE_REGRESSION_BASED) {
        fprintf(output, "#\tmultiple regression model is INVALID\n");
    }
}

/* One value of the regression, by name; false when there is no such name. */
static bool print_parameter(struct orr_perf_arch *pa, const char *name, const uint32_t *footprint,
                            FILE *output)
{
    const struct starpu_perfmodel_regression_model *r = &pa->pub.regression;
    const struct {
        const char *name;
        double value;
    } values[] = {
        { "alpha", r->alpha }, { "beta", r->beta }, { "a", r->a }, { "b", r->b }, { "c", r->c },
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strcmp(values[i].name, name) == 0) return fprintf(output, "%e\n", values[i].value) > 0;
    if (strcmp(name, "path-file-debug") == 0) return fprintf(output, "%s\n", pa->pub.debug_path) > 0;
    bool mean = strcmp(name, "mean") == 0;
    if (!mean && strcmp(name, "stddev") != 0) return false;
    for (struct starpu_perfmodel_history_list *l = pa->pub.list; l; l = l->next)
        if (l->entry->nsample && (!footprint || l->entry->footprint == *footprint))
            fprintf(output, "%e\n", mean ? l->entry->mean : l->entry->deviation);
    return true;
}

void starpu_perfmodel_print(struct starpu_perfmodel *model, struct starpu_perfmodel_arch *arch,
                            unsigned nimpl, char *parameter, uint32_t *footprint, FILE *output)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    int comb = orr_arch_find(arch);
    struct orr_perf_arch *pa =
        s && comb >= 0 && nimpl < STARPU_MAXIMPLEMENTATIONS ? orr_perfmodel_arch(s, comb, nimpl) : NULL;
    if (!pa) return;
    orr_history_flush();
    if (parameter) {
        if (!print_parameter(pa, parameter, footprint, output))
            orr_error(
                "starpu_perfmodel_print: there is no parameter \"%s\": alpha, beta, a, b, c, mean, stddev",
                parameter);
        return;
    }
    char name[256];
    starpu_perfmodel_get_arch_name(arch, name, sizeof name, nimpl);
    fprintf(output, "# performance model for %s\n", name);
    print_regression(pa, output);
    print_history(pa, footprint, output);
}

/* Whether an architecture is one that name means: "cpu" (one core), "cpu:4" (that many), the word of
 * another kind, or that and a device: "<kind>1", "<kind>_1". */
static bool arch_matches(const struct starpu_perfmodel_arch *arch, const char *name)
{
    if (!name) return true;
    size_t letters = strcspn(name, ":0123456789");
    const char *rest = name + letters;
    if (letters > 0 && name[letters - 1] == '_') letters--;
    int type = orr_archtype_by_name(name, letters);
    if (type < 0 || arch->ndevices != 1 || (int)arch->devices[0].type != type) return false;
    if (*rest == ':') return arch->devices[0].ncores == atoi(rest + 1);
    if (*rest) return arch->devices[0].devid == atoi(rest);
    return type != STARPU_CPU_WORKER || arch->devices[0].ncores == 1;
}

static bool arch_name_known(const char *name)
{
    size_t letters = strcspn(name, ":0123456789");
    if (letters > 0 && name[letters - 1] == '_') letters--;
    return orr_archtype_by_name(name, letters) >= 0;
}

int starpu_perfmodel_print_all(struct starpu_perfmodel *model, char *arch, char *parameter,
                               uint32_t *footprint, FILE *output)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    if (arch && !arch_name_known(arch)) {
        orr_error("starpu_perfmodel_print_all: there is no architecture \"%s\": cpu, cpu:N, %s, %sN, "
                  "...",
                  arch, orr_kinds[orr_any_accelerator].word, orr_kinds[orr_any_accelerator].word);
        return 1;
    }
    for (int comb = 0; s && comb < orr_arch_count(); comb++) {
        if (!arch_matches(orr_arch_get(comb), arch)) continue;
        for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
            starpu_perfmodel_print(model, starpu_perfmodel_arch_comb_fetch(comb), i, parameter, footprint,
                                   output);
    }
    return 0;
}

static void print_comb(struct orr_perf_arch *pa, int comb, unsigned nimpl, void *arg)
{
    if (nimpl > 0 || !pa->pub.list) return;
    const struct starpu_perfmodel_arch *a = orr_arch_get(comb);
    fprintf(arg, "\tComb %d: %d device%s\n", comb, a->ndevices, a->ndevices > 1 ? "s" : "");
    for (int i = 0; i < a->ndevices; i++)
        fprintf(arg, "\t\ttype: %s\tdevid: %d\tncores: %d\n",
                starpu_perfmodel_get_archtype_name(a->devices[i].type), a->devices[i].devid,
                a->devices[i].ncores);
}

int starpu_perfmodel_list_combs(FILE *output, struct starpu_perfmodel *model)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    fprintf(output, "Model <%s>\n", model->symbol ? model->symbol : "");
    if (s) orr_perfmodel_each(s, print_comb, output);
    return 0;
}

int starpu_perfmodel_print_estimations(struct starpu_perfmodel *model, uint32_t footprint, FILE *output)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    orr_history_flush();
    for (unsigned w = 0; w < orr_perf_worker_count; w++) {
        double best = NAN;
        struct orr_perf_key key = { .footprint = footprint };
        for (unsigned i = 0; s && orr_perf_workers[w].comb >= 0 && i < STARPU_MAXIMPLEMENTATIONS; i++) {
            struct orr_perf_arch *pa = orr_perfmodel_arch(s, orr_perf_workers[w].comb, i);
            double v = pa && s->type == STARPU_HISTORY_BASED ? orr_history_predict(pa, s->type, &key)
                       : pa                                  ? orr_history_mean(pa, footprint)
                                                             : NAN;
            if (!(best <= v)) best = isnan(v) ? best : v;
        }
        fprintf(output, "%f ", best);
    }
    fprintf(output, "\n");
    return 0;
}

/* ---- XML ---- */

static void xml_text(FILE *output, const char *s)
{
    for (; *s; s++) {
        if (*s == '<')
            fputs("&lt;", output);
        else if (*s == '>')
            fputs("&gt;", output);
        else if (*s == '&')
            fputs("&amp;", output);
        else if (*s == '"')
            fputs("&quot;", output);
        else
            fputc(*s, output);
    }
}

static void xml_arch(struct orr_perf_arch *pa, int comb, unsigned nimpl, void *arg)
{
    FILE *f = arg;
    const struct starpu_perfmodel_arch *a = orr_arch_get(comb);
    const struct starpu_perfmodel_regression_model *r = &pa->pub.regression;
    fprintf(f, "  <combination>\n");
    for (int i = 0; i < a->ndevices; i++)
        fprintf(f, "    <device type=\"%s\" id=\"%d\" ncores=\"%d\"/>\n",
                starpu_perfmodel_get_archtype_name(a->devices[i].type), a->devices[i].devid,
                a->devices[i].ncores);
    fprintf(f, "    <implementation id=\"%u\">\n", nimpl);
    if (r->valid) fprintf(f, "      <l_regression alpha=\"%g\" beta=\"%g\"/>\n", r->alpha, r->beta);
    if (r->nl_valid) fprintf(f, "      <nl_regression a=\"%g\" b=\"%g\" c=\"%g\"/>\n", r->a, r->b, r->c);
    if (r->multi_valid) {
        fprintf(f, "      <ml_regression constant=\"%g\">\n", r->coeff[0]);
        for (unsigned i = 1; i < r->ncoeff; i++)
            fprintf(f, "        <monomial coefficient=\"%g\"/>\n", r->coeff[i]);
        fprintf(f, "      </ml_regression>\n");
    }
    for (struct starpu_perfmodel_history_list *l = pa->pub.list; l; l = l->next) {
        const struct starpu_perfmodel_history_entry *e = l->entry;
        if (e->nsample == 0) continue;
        fprintf(f,
                "      <entry footprint=\"%08x\" size=\"%zu\" flops=\"%g\" mean=\"%g\" deviation=\"%g\" "
                "nsample=\"%u\"/>\n",
                e->footprint, e->size, e->flops, e->mean, e->deviation, e->nsample);
    }
    fprintf(f, "    </implementation>\n  </combination>\n");
}

void starpu_perfmodel_dump_xml(FILE *output, struct starpu_perfmodel *model)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    orr_history_flush();
    fprintf(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<perfmodel name=\"");
    xml_text(output, model->symbol ? model->symbol : "");
    fprintf(output, "\" type=\"%d\">\n", (int)model->type);
    if (s) orr_perfmodel_each(s, xml_arch, output);
    fprintf(output, "</perfmodel>\n");
}
