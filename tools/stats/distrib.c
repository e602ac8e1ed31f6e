/* SPDX-License-Identifier: BSD-3-Clause */
/* distrib.c: drawings of distrib.data: a line for each body, its codelet, architecture, bytes of data,
 * footprint, and ms, with tabs between. Threads: main. Owns: nothing. Not here: who writes it
 * (tools/report/tables.c). */
#include <limits.h>
#include <math.h>

#include "tools/plot.h"
#include "tools/stats/stats.h"

struct body {
    unsigned codelet, arch, hash;
    double bytes, ms;
};

struct distrib {
    struct stats_names codelets, archs, hashes;
    struct body *bodies;
    size_t count, room;
};

static const char *add_line(void *arg, char *line)
{
    struct distrib *d = arg;
    char *field[6];
    struct body b;
    if (stats_split(line, field, 6) != 5 || !stats_number(field[2], &b.bytes) ||
        !stats_number(field[4], &b.ms))
        return "it is none of codelet, architecture, bytes, hash and ms, with tabs between";
    if (b.bytes < 0 || b.ms < 0) return "nothing is less than nothing";
    if (strpbrk(field[1], "/\"\\'") || !*field[1]) return "that is no name of an architecture";
    if (strspn(field[3], "0123456789abcdefABCDEF") != strlen(field[3]) || !*field[3])
        return "that is no hash";
    b.codelet = stats_name(&d->codelets, field[0]);
    b.arch = stats_name(&d->archs, field[1]);
    b.hash = stats_name(&d->hashes, field[3]);
    *TOOL_PUSH(d->bodies, d->count, d->room) = b;
    return NULL;
}

static int path_in(char path[PATH_MAX], const struct tool *t, const char *file, const char *ending)
{
    if (snprintf(path, PATH_MAX, "%s.%s", file, ending) < PATH_MAX) return TOOL_OK;
    return tool_complain(t, "the name of %s is too long", file);
}

/* ---- starpu_codelet_profile ---- */

/* The bodies of one architecture in a file of their own, as they were. */
static int write_arch(const struct tool *t, const char *file, const struct distrib *d, unsigned codelet,
                      unsigned arch)
{
    char path[PATH_MAX];
    if (path_in(path, t, file, d->archs.at[arch])) return TOOL_FAILED;
    FILE *f = plot_open(t, path);
    if (!f) return TOOL_FAILED;
    for (size_t i = 0; i < d->count; i++) {
        const struct body *b = &d->bodies[i];
        if (b->codelet != codelet || b->arch != arch) continue;
        fprintf(f, "%s\t%s\t%.0f\t%s\t%.9f\n", d->codelets.at[codelet], d->archs.at[arch], b->bytes,
                d->hashes.at[b->hash], b->ms);
    }
    return plot_close(t, f, path);
}

static bool has_arch(const struct distrib *d, unsigned codelet, unsigned arch)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->bodies[i].codelet == codelet && d->bodies[i].arch == arch) return true;
    return false;
}

static int write_profile(const struct tool *t, const char *file, const struct distrib *d, unsigned codelet)
{
    char path[PATH_MAX];
    if (path_in(path, t, file, "gp")) return TOOL_FAILED;
    FILE *f = plot_open(t, path);
    if (!f) return TOOL_FAILED;
    fprintf(f, "#!/usr/bin/gnuplot -persist\nset term postscript eps noenhanced color\nset output \"");
    plot_text(f, file);
    fprintf(f, ".eps\"\nset logscale xy\nset key top left\nset xlabel \"Total data size\"\n"
               "set ylabel \"Execution time (ms)\"\nset datafile separator \"\\t\"\nplot");
    int status = TOOL_OK;
    const char *comma = "";
    for (size_t i = 0; i < d->archs.count && !status; i++) {
        unsigned arch = d->archs.sorted[i];
        if (!has_arch(d, codelet, arch)) continue;
        printf("Arch %s\n", d->archs.at[arch]);
        fprintf(f, "%s \"", comma);
        plot_text(f, file);
        fprintf(f, ".%s\" using 3:5 title \"", d->archs.at[arch]);
        plot_text(f, d->codelets.at[codelet]);
        fprintf(f, " arch %s\"", d->archs.at[arch]);
        comma = ",";
        status = write_arch(t, file, d, codelet, arch);
    }
    fputc('\n', f);
    return plot_close(t, f, path) || status ? TOOL_FAILED : TOOL_OK;
}

static int codelet_profile(const struct tool *t, int argc, char **argv)
{
    static struct distrib d; /* until the program ends, as all that it reads */
    if (argc != 3) {
        tool_complain(t, "what is wanted is a file and the name of a codelet");
        return tool_usage(t);
    }
    if (stats_each_line(t, argv[1], add_line, &d)) return TOOL_FAILED;
    for (unsigned i = 0; i < d.codelets.count; i++)
        if (strcmp(d.codelets.at[i], argv[2]) == 0)
            return write_profile(t, argv[1], &d, i) ? TOOL_FAILED : tool_end(t);
    tool_complain(t, "%s has no codelet %s; it has%s", argv[1], argv[2], d.count ? "" : " none");
    for (unsigned i = 0; i < d.codelets.count; i++) fprintf(stderr, "    %s\n", d.codelets.at[i]);
    return TOOL_FAILED;
}

const struct stats_program stats_codelet_profile = {
    { "starpu_codelet_profile",
      "draw times of a codelet by the size of its data\n"
      "\n"
      "SYNOPSIS\n"
      "    starpu_codelet_profile FILE CODELET\n"
      "\n"
      "DESCRIPTION\n"
      "    FILE is distrib.data of starpu_fxt_tool. Prints the architectures on which the codelet ran, "
      "writes the\n"
      "    lines of each to FILE.ARCHITECTURE, and to FILE.gp what has gnuplot draw them all into FILE.eps.\n"
      "\n"
      "OPTIONS\n"
      "    -h, --help      this text\n"
      "    -v, --version   the version\n"
      "\n"
      "EXIT STATUS\n"
      "    0; 1: FILE is none of that form, or has no such codelet; 2: wrong usage.\n" },
    codelet_profile
};

/* ---- starpu_codelet_histo_profile ---- */

enum { BARS = 50 };

static int by_group(const void *a, const void *b)
{
    const struct body *x = a, *y = b;
    if (x->codelet != y->codelet) return x->codelet < y->codelet ? -1 : 1;
    if (x->arch != y->arch) return x->arch < y->arch ? -1 : 1;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->ms < y->ms ? -1 : x->ms > y->ms;
}

static bool same_group(const struct body *a, const struct body *b)
{
    return a->codelet == b->codelet && a->arch == b->arch && a->hash == b->hash;
}

/* The name of a codelet within that of a file. */
static void put_part(FILE *f, const char *s)
{
    for (; *s; s++) putc(strchr("/\"\\'\n", *s) ? '_' : *s, f);
}

static void put_picture(FILE *f, const char *file, const struct distrib *d, const struct body *b)
{
    plot_text(f, file);
    putc('.', f);
    put_part(f, d->codelets.at[b->codelet]);
    fprintf(f, ".%s.%s.%.0f.pdf", d->archs.at[b->arch], d->hashes.at[b->hash], b->bytes);
}

/* The n bodies, which are sorted, as bars; without the hundredth at either end, if any are left then. */
static void put_histogram(FILE *f, const char *file, const struct distrib *d, const struct body *b, size_t n)
{
    double *ms = tool_alloc(n, sizeof *ms);
    size_t bar[BARS] = { 0 }, kept = 0;
    for (size_t i = 0; i < n; i++) ms[i] = b[i].ms;
    double low = stats_quantile(ms, n, 0.01), high = stats_quantile(ms, n, 0.99);
    for (size_t i = 0; i < n; i++) kept += ms[i] > low && ms[i] < high;
    bool all = kept == 0;
    double width = high > low ? (high - low) / BARS : 1;
    for (size_t i = 0; i < n; i++) {
        if (!all && !(ms[i] > low && ms[i] < high)) continue;
        double at = (ms[i] - low) / width;
        bar[at <= 0 ? 0 : at < BARS ? (size_t)at : BARS - 1]++;
    }
    fprintf(f, "set output \"");
    put_picture(f, file, d, b);
    fprintf(f, "\"\nset title \"");
    plot_text(f, d->codelets.at[b->codelet]);
    fprintf(f, " on %s, %.0f bytes, %zu of %zu\"\nset boxwidth %.17g\n$bars << END\n", d->archs.at[b->arch],
            b->bytes, all ? n : kept, n, width);
    for (size_t i = 0; i < BARS; i++) fprintf(f, "%.17g %zu\n", low + ((double)i + 0.5) * width, bar[i]);
    fprintf(f, "END\nplot $bars using 1:2 with boxes notitle\n");
    free(ms);
}

static int draw_histograms(const struct tool *t, const char *file, struct distrib *d)
{
    char path[PATH_MAX];
    if (path_in(path, t, file, "histo.gp")) return TOOL_FAILED;
    FILE *f = plot_open(t, path);
    if (!f) return TOOL_FAILED;
    fprintf(f, "#!/usr/bin/gnuplot\nset terminal pdfcairo noenhanced color\nset style fill solid 0.6\n"
               "set xlabel \"Execution time (ms)\"\nset ylabel \"Count\"\nset yrange [0:*]\n");
    qsort(d->bodies, d->count, sizeof *d->bodies, by_group);
    for (size_t i = 0, n; i < d->count; i += n) {
        for (n = 1; i + n < d->count && same_group(&d->bodies[i], &d->bodies[i + n]);) n++;
        put_histogram(f, file, d, &d->bodies[i], n);
        put_picture(stdout, file, d, &d->bodies[i]);
        putchar('\n');
    }
    fflush(stdout);
    return plot_close(t, f, path) ? TOOL_FAILED : plot_run(t, path);
}

static int codelet_histo_profile(const struct tool *t, int argc, char **argv)
{
    if (argc < 2) {
        tool_complain(t, "no file is named");
        return tool_usage(t);
    }
    for (int i = 1; i < argc; i++) {
        struct distrib d = { .count = 0 };
        if (stats_each_line(t, argv[i], add_line, &d)) return TOOL_FAILED;
        if (d.count == 0) return tool_complain(t, "%s is empty: no task ran", argv[i]);
        if (draw_histograms(t, argv[i], &d)) return TOOL_FAILED;
        free(d.bodies);
    }
    return tool_end(t);
}

const struct stats_program stats_codelet_histo_profile = {
    { "starpu_codelet_histo_profile",
      "draw histograms of the times of each codelet\n"
      "\n"
      "SYNOPSIS\n"
      "    starpu_codelet_histo_profile FILE...\n"
      "\n"
      "DESCRIPTION\n"
      "    FILE is distrib.data of starpu_fxt_tool. For each codelet, architecture and footprint writes and\n"
      "    prints a picture FILE.CODELET.ARCHITECTURE.FOOTPRINT.BYTES.pdf: how many bodies took how long, "
      "without\n"
      "    the slowest and the fastest hundredth. gnuplot draws them, by FILE.histo.gp; R is not needed.\n"
      "\n"
      "OPTIONS\n"
      "    -h, --help      this text\n"
      "    -v, --version   the version\n"
      "\n"
      "EXIT STATUS\n"
      "    0; 1: FILE is none of that form, or gnuplot failed; 2: wrong usage.\n" },
    codelet_histo_profile
};
