/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_perfmodel_plot.c: draws what a performance model has learnt, with gnuplot: time (or energy, or
 * speed) over the size of the data, a colour for each architecture, with the laws fitted to the measures.
 * Threads: main. Owns: the files it writes. Not here: numbers as text (starpu_perfmodel_display.c). */
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tools/plot.h"

static const struct tool tool = {
    "starpu_perfmodel_plot",
    "draw performance models with gnuplot\n"
    "\n"
    "SYNOPSIS\n"
    "    starpu_perfmodel_plot -l | -d\n"
    "    starpu_perfmodel_plot -s SYMBOL [-lc] [-c COMBINATION]... [-e | -f] [-o FILE] [-n]\n"
    "\n"
    "DESCRIPTION\n"
    "    Writes the measures of a performance model to starpu_SYMBOL.data, the drawing to starpu_SYMBOL.gp, "
    "and has\n"
    "    gnuplot make a picture of it: measures with their standard deviation over the size of the data, and "
    "the laws\n"
    "    fitted to them.\n"
    "\n"
    "OPTIONS\n"
    "    -l               list the models kept for this machine\n"
    "    -d               where they are kept\n"
    "    -s SYMBOL        the model to draw, by its symbol\n"
    "    -lc              list the combinations of devices that the model has measures for\n"
    "    -c COMBINATION   only this combination, by its number; may be repeated\n"
    "    -e               it is a model of energy: joules instead of microseconds\n"
    "    -f               speed in Gflop/s instead of time, of tasks whose flops are known\n"
    "    -o FILE          the picture; .png or .svg (default: starpu_SYMBOL.png)\n"
    "    -n               write the two files and do not run gnuplot\n"
    "    -h, --help       this text\n"
    "    -v, --version    the version\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: there is no such model, nothing in it to draw, or a file cannot be written; 2: wrong usage\n"
};

enum { COMBS_MAX = 64, NAME_BYTES = 256, CURVES_MAX = 64 };

static struct {
    const char *symbol, *picture;
    int list, directory, list_combs, energy, speed, no_run;
    int combs[COMBS_MAX], ncombs;
} asked;

/* A block of the data file and what is fitted to it. */
struct curve {
    char name[NAME_BYTES];
    unsigned points;
    struct starpu_perfmodel_regression_model law;
};

static struct curve curves[CURVES_MAX];
static int curve_count;

/* ---- the data file ---- */

static int comb_wanted(int comb)
{
    for (int i = 0; i < asked.ncombs; i++)
        if (asked.combs[i] == comb) return 1;
    return asked.ncombs == 0;
}

struct point {
    double size, value, deviation;
};

static int by_size(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    return (p->size > q->size) - (p->size < q->size);
}

/* False: this measure is not drawn. */
static int point_of(const struct starpu_perfmodel_history_entry *e, struct point *out)
{
    if (e->nsample == 0 || !(e->mean > 0)) return 0;
    *out = (struct point){ (double)e->size, e->mean, e->deviation };
    if (!asked.speed) return 1;
    if (!(e->flops > 0)) return 0;
    out->value = e->flops / e->mean * 1e-3; /* per us: a thousandth of a Gflop/s */
    out->deviation = out->value * e->deviation / e->mean;
    return 1;
}

/* Writes the points of one architecture and implementation as a block;
 * returns how many. -1: out of memory. */
static int write_block(FILE *data, const struct starpu_perfmodel_per_arch *pa, const char *name)
{
    unsigned n = 0, room = 0;
    for (const struct starpu_perfmodel_history_list *l = pa->list; l; l = l->next) room++;
    struct point *points = malloc((room ? room : 1) * sizeof *points);
    if (!points) return -1;
    for (const struct starpu_perfmodel_history_list *l = pa->list; l; l = l->next)
        if (point_of(l->entry, &points[n])) n++;
    qsort(points, n, sizeof *points, by_size);
    if (n)
        fprintf(data, "%s# %s: size in bytes, value, standard deviation\n", curve_count ? "\n\n" : "", name);
    for (unsigned i = 0; i < n; i++)
        fprintf(data, "%.0f %.6e %.6e\n", points[i].size, points[i].value, points[i].deviation);
    free(points);
    return (int)n;
}

static int write_data(FILE *data, struct starpu_perfmodel *model)
{
    for (int comb = 0; comb < starpu_perfmodel_get_narch_combs(); comb++)
        for (unsigned nimpl = 0; comb_wanted(comb) && nimpl < STARPU_MAXIMPLEMENTATIONS; nimpl++) {
            struct starpu_perfmodel_arch *arch = starpu_perfmodel_arch_comb_fetch(comb);
            struct starpu_perfmodel_per_arch *pa = starpu_perfmodel_get_model_per_arch(model, arch, nimpl);
            if (!pa || !pa->list || curve_count == CURVES_MAX) continue;
            struct curve *c = &curves[curve_count];
            starpu_perfmodel_get_arch_name(arch, c->name, sizeof c->name, nimpl);
            int n = write_block(data, pa, c->name);
            if (n < 0) return tool_complain(&tool, "out of memory");
            if (n == 0) continue;
            c->points = (unsigned)n;
            c->law = pa->regression;
            curve_count++;
        }
    if (curve_count) return TOOL_OK;
    return tool_complain(&tool, "the model \"%s\" has no measures to draw%s", asked.symbol,
                         asked.speed    ? " (of tasks whose flops are known)"
                         : asked.ncombs ? " for these combinations"
                                        : "");
}

/* ---- the drawing ---- */

static const char *terminal_for(const char *picture)
{
    const char *ending = strrchr(picture, '.');
    if (ending && strcmp(ending, ".svg") == 0) return "svg size 960,640 dynamic";
    if (ending && strcmp(ending, ".png") == 0) return "pngcairo size 960,640";
    return NULL;
}

static void write_law(FILE *gp, const struct curve *c, int i)
{
    const struct starpu_perfmodel_regression_model *r = &c->law;
    if (asked.speed) return; /* the laws are of time over size */
    if (r->nl_valid)
        fprintf(gp, ", \\\n    %e * x ** %e + %e with lines lc %d dt 2 title \"a x^b + c\"", r->a, r->b, r->c,
                i + 1);
    else if (r->valid)
        fprintf(gp, ", \\\n    %e * x ** %e with lines lc %d dt 2 title \"alpha x^beta\"", r->alpha, r->beta,
                i + 1);
}

static void write_drawing(FILE *gp, const char *data, const char *picture, const char *terminal)
{
    fprintf(gp,
            "#!/usr/bin/gnuplot\n# the performance model of the symbol below\nset terminal %s\nset output \"",
            terminal);
    plot_text(gp, picture);
    fprintf(gp, "\"\nset title \"");
    plot_text(gp, asked.symbol);
    fprintf(gp, "\" noenhanced\nset xlabel \"size of the data (bytes)\"\nset ylabel \"%s\"\n",
            asked.speed    ? "speed (Gflop/s)"
            : asked.energy ? "energy (J)"
                           : "time (us)");
    fprintf(
        gp,
        "set key top left noenhanced\nset grid\nset logscale x\nset logscale y\nset bars small\nplot \\\n");
    for (int i = 0; i < curve_count; i++) {
        fprintf(gp, "%s    \"", i ? ", \\\n" : "");
        plot_text(gp, data);
        fprintf(gp, "\" index %d using 1:2:3 with yerrorbars lc %d pt 7 ps 0.6 title \"%s\"", i, i + 1,
                curves[i].name);
        write_law(gp, &curves[i], i);
    }
    fputc('\n', gp);
}

/* ---- files ---- */

static int draw(struct starpu_perfmodel *model)
{
    char stem[NAME_BYTES], data[NAME_BYTES + 16], drawing[NAME_BYTES + 16], picture[NAME_BYTES + 16];
    snprintf(stem, sizeof stem, "starpu_%s", asked.symbol);
    for (char *p = stem; *p; p++)
        if (*p == '/') *p = '_';
    snprintf(data, sizeof data, "%s.data", stem);
    snprintf(drawing, sizeof drawing, "%s.gp", stem);
    snprintf(picture, sizeof picture, "%s.png", stem);
    const char *to = asked.picture ? asked.picture : picture, *terminal = terminal_for(to);
    FILE *f = plot_open(&tool, data);
    if (!f) return TOOL_FAILED;
    int r = write_data(f, model), closed = plot_close(&tool, f, data);
    if (r || closed) {
        remove(data);
        return TOOL_FAILED;
    }
    if (!(f = plot_open(&tool, drawing))) return TOOL_FAILED;
    write_drawing(f, data, to, terminal);
    if (plot_close(&tool, f, drawing) != TOOL_OK) return TOOL_FAILED;
    printf("%s\n%s\n", data, drawing);
    fflush(stdout);
    if (asked.no_run) return TOOL_OK;
    r = plot_run(&tool, drawing);
    if (r == TOOL_OK) printf("%s\n", to);
    return r;
}

static int with_model(void)
{
    struct starpu_perfmodel model = { .type = STARPU_PERFMODEL_INVALID };
    if (starpu_perfmodel_load_symbol(asked.symbol, &model) != 0)
        return tool_complain(&tool, "the model \"%s\" cannot be loaded; -l lists those there are",
                             asked.symbol);
    int r = TOOL_OK;
    if (asked.list_combs)
        starpu_perfmodel_list_combs(stdout, &model);
    else
        r = draw(&model);
    starpu_perfmodel_unload_model(&model);
    return r;
}

/* ---- the command line ---- */

static int add_comb(const char *text)
{
    char *end;
    long v = strtol(text, &end, 10);
    if (end == text || *end || v < 0 || v > 1000000 || asked.ncombs == COMBS_MAX)
        return tool_complain(&tool, "\"%s\" is no number of a combination; -lc lists them", text);
    asked.combs[asked.ncombs++] = (int)v;
    return TOOL_OK;
}

/* -lc is one option of two letters. */
static int parse(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    static char combs_word[] = "-L";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-lc") == 0) argv[i] = combs_word;
    for (int c; (c = getopt_long(argc, argv, "ldLs:c:efo:nhv", options, NULL)) != -1;) switch (c) {
        case 'l': asked.list = 1; break;
        case 'd': asked.directory = 1; break;
        case 'L': asked.list_combs = 1; break;
        case 's': asked.symbol = optarg; break;
        case 'c':
            if (add_comb(optarg)) return tool_usage(&tool);
            break;
        case 'e': asked.energy = 1; break;
        case 'f': asked.speed = 1; break;
        case 'o': asked.picture = optarg; break;
        case 'n': asked.no_run = 1; break;
        case 'h': exit(tool_help(&tool));
        case 'v': exit(tool_version(&tool));
        default: return tool_usage(&tool);
        }
    const char *wrong = NULL;
    if (optind < argc || asked.list + asked.directory + (asked.symbol != NULL) != 1)
        wrong = "one of -l, -d and -s SYMBOL is to be given, and nothing else but options";
    else if (asked.picture && !terminal_for(asked.picture))
        wrong = "the name of a picture ends in .png or .svg";
    else if (asked.energy && asked.speed)
        wrong = "either energy (-e) or speed (-f) is drawn";
    if (!wrong) return TOOL_OK;
    tool_complain(&tool, "%s", wrong);
    return tool_usage(&tool);
}

int main(int argc, char **argv)
{
    int r = parse(argc, argv);
    if (r) return r;
    starpu_perfmodel_initialize();
    if (asked.directory)
        starpu_perfmodel_directory(stdout);
    else if (asked.list && starpu_perfmodel_list(stdout) != 0)
        r = tool_complain(&tool, "the folder of the models cannot be read; -d says which it is");
    else if (asked.symbol)
        r = with_model();
    starpu_perfmodel_free_sampling();
    return r ? r : tool_end(&tool);
}
