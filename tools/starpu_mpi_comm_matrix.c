/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_mpi_comm_matrix.c: draws who sent how much to whom, and how fast, from what ranks print at their end
 * under STARPU_MPI_STATS=1: Orrery's lines and StarPU's.
 * Threads: main. Owns: the matrix. Not here: who prints the lines (mpi/api/statistics.c). */
#include <limits.h>
#include <stdbool.h>

#include "tools/plot.h"

static const struct tool tool = {
    "starpu_mpi_comm_matrix",
    "draw a matrix of communication\n"
    "\n"
    "SYNOPSIS\n"
    "    starpu_mpi_comm_matrix [-png] [-n] FILE\n"
    "\n"
    "DESCRIPTION\n"
    "    FILE is what a run printed under STARPU_MPI_STATS=1 (or STARPU_COMM_STATS=1), among whatever else.\n"
    "    Writes the bytes that each rank sent to each other to FILE_volume.data, a line for each receiver,\n"
    "    with FILE_volume.gp, of which gnuplot makes the picture FILE_volume_heatmap.pdf; and the bytes per\n"
    "    second over the whole run to FILE_bw.data, FILE_bw.gp and FILE_bw_heatmap.pdf.\n"
    "    Lines of Orrery and of StarPU are understood, whatever stands before them in a line.\n"
    "    Of a pair that is there twice the last line counts.\n"
    "    It is also called starpu_mpi_comm_matrix.py, as in StarPU.\n"
    "\n"
    "OPTIONS\n"
    "    -png, --png     pictures in PNG, not PDF\n"
    "    -n              write the data and drawings, and do not run gnuplot\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: FILE cannot be read or has no such lines, or gnuplot failed; 2: wrong usage.\n"
};

enum { RANKS_MOST = 4096, LINE_BYTES = 4096 };

static struct {
    const char *file;
    bool png, no_run;
} asked;

/* ---- reading ---- */

struct cell {
    int from, to;
    double bytes, bytes_per_s;
};
static struct {
    struct cell *cells;
    size_t count, room;
    double seconds[RANKS_MOST]; /* of the run, by Orrery's ranks; 0: not said */
    int ranks;
} seen;

static bool is_rank(int rank)
{
    if (rank < 0 || rank >= RANKS_MOST) return false;
    if (rank >= seen.ranks) seen.ranks = rank + 1;
    return true;
}

static bool add(const struct cell *c)
{
    if (!is_rank(c->from) || !is_rank(c->to)) return true;
    if (seen.count == seen.room) {
        size_t room = seen.room ? 2 * seen.room : 1024;
        struct cell *more = realloc(seen.cells, room * sizeof *more);
        if (!more) return false;
        seen.cells = more;
        seen.room = room;
    }
    seen.cells[seen.count++] = *c;
    return true;
}

/* False: out of memory. A line that says something else is left out. */
static bool read_line(const char *line)
{
    struct cell c = { 0 };
    double seconds;
    const char *ours = strstr(line, "[mpi stats] rank "), *theirs = strstr(line, "[starpu_comm_stats][");
    if (ours && sscanf(ours, "[mpi stats] rank %d -> %d: %lf bytes", &c.from, &c.to, &c.bytes) == 3)
        return add(&c);
    if (ours &&
        sscanf(ours, "[mpi stats] rank %d: %*f bytes sent in %*u messages, in %lf s", &c.from, &seconds) ==
            2 &&
        is_rank(c.from))
        seen.seconds[c.from] = seconds;
    if (theirs && sscanf(theirs, "[starpu_comm_stats][%d:%d] %lf B %*f MB %lf B/s", &c.from, &c.to, &c.bytes,
                         &c.bytes_per_s) == 4)
        return add(&c);
    if (theirs && sscanf(theirs, "[starpu_comm_stats][%d] TOTAL", &c.from) == 1) is_rank(c.from);
    return true;
}

static int read_file(void)
{
    char line[LINE_BYTES];
    FILE *f = fopen(asked.file, "re");
    if (!f) return tool_complain(&tool, "%s cannot be read: %s", asked.file, strerror(errno));
    bool good = true;
    while (good && fgets(line, sizeof line, f)) good = read_line(line);
    bool failed = ferror(f);
    int error = errno;
    fclose(f);
    if (!good) return tool_complain(&tool, "out of memory");
    if (failed) return tool_complain(&tool, "%s cannot be read: %s", asked.file, strerror(error));
    if (seen.count) return TOOL_OK;
    return tool_complain(
        &tool,
        "%s has no lines of what ranks sent: run the program with STARPU_MPI_STATS=1, and keep "
        "its standard error",
        asked.file);
}

/* ---- writing ---- */

static double volume_of(const struct cell *c)
{
    return c->bytes;
}

static double rate_of(const struct cell *c)
{
    double seconds = seen.seconds[c->from];
    return c->bytes_per_s > 0 || seconds <= 0 ? c->bytes_per_s : c->bytes / seconds;
}

static int write_data(const char *path, double (*value)(const struct cell *))
{
    size_t n = (size_t)seen.ranks;
    double *matrix = calloc(n * n, sizeof *matrix);
    if (!matrix) return tool_complain(&tool, "out of memory");
    for (size_t i = 0; i < seen.count; i++)
        matrix[(size_t)seen.cells[i].to * n + (size_t)seen.cells[i].from] = value(&seen.cells[i]);
    FILE *f = plot_open(&tool, path);
    for (size_t i = 0; f && i < n * n; i++) fprintf(f, "%f%c", matrix[i], i % n == n - 1 ? '\n' : ' ');
    free(matrix);
    return f ? plot_close(&tool, f, path) : TOOL_FAILED;
}

/* Names of ranks along one axis; of many ranks gnuplot's own numbers. */
static void write_tics(FILE *f, char axis, const char *name)
{
    enum { NAMED_MOST = 32 };
    if (seen.ranks > NAMED_MOST) return;
    fprintf(f, "set %ctics (", axis);
    for (int i = 0; i < seen.ranks; i++) fprintf(f, "%s\"%s%d\" %d", i ? ", " : "", name, i, i);
    fprintf(f, ")\n");
}

static int write_drawing(const char *path, const char *data, const char *picture, const char *unit)
{
    FILE *f = plot_open(&tool, path);
    if (!f) return TOOL_FAILED;
    fprintf(f, "#!/usr/bin/gnuplot\nset terminal %s\nset output \"",
            asked.png ? "pngcairo size 960,800" : "pdfcairo color");
    plot_text(f, picture);
    fprintf(
        f,
        "\"\nset view map\nset size square\nset palette defined (0 'white', 1 'black')\nset cblabel \"%s\"\n",
        unit);
    fprintf(f, "set xrange [-0.5:%d.5]\nset yrange [-0.5:%d.5]\n", seen.ranks - 1, seen.ranks - 1);
    fprintf(f, "set cbrange [0:*]\n");
    write_tics(f, 'x', "src");
    write_tics(f, 'y', "dst");
    fprintf(f, "plot \"");
    plot_text(f, data);
    fprintf(f, "\" matrix with image notitle\n");
    return plot_close(&tool, f, path);
}

static int draw(const char *name, const char *unit, double (*value)(const struct cell *))
{
    char data[PATH_MAX], drawing[PATH_MAX], picture[PATH_MAX];
    snprintf(data, sizeof data, "%s_%s.data", asked.file, name);
    snprintf(drawing, sizeof drawing, "%s_%s.gp", asked.file, name);
    snprintf(picture, sizeof picture, "%s_%s_heatmap.%s", asked.file, name, asked.png ? "png" : "pdf");
    if (write_data(data, value) != TOOL_OK || write_drawing(drawing, data, picture, unit) != TOOL_OK)
        return TOOL_FAILED;
    printf("%s\n%s\n", data, drawing);
    fflush(stdout);
    if (asked.no_run) return TOOL_OK;
    int r = plot_run(&tool, drawing);
    if (r == TOOL_OK) printf("%s\n", picture);
    return r;
}

/* -png is one option of four letters. */
static int parse(int argc, char **argv)
{
    static const struct option options[] = { { "png", no_argument, NULL, 'P' },
                                             { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    static char png_word[] = "--png";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-png") == 0) argv[i] = png_word;
    for (int c; (c = getopt_long(argc, argv, "nhv", options, NULL)) != -1;) switch (c) {
        case 'P': asked.png = true; break;
        case 'n': asked.no_run = true; break;
        case 'h': exit(tool_help(&tool));
        case 'v': exit(tool_version(&tool));
        default: return tool_usage(&tool);
        }
    if (argc - optind == 1 && strlen(argv[optind]) < PATH_MAX - 32) {
        asked.file = argv[optind];
        return TOOL_OK;
    }
    tool_complain(&tool, "one file is to be given");
    return tool_usage(&tool);
}

int main(int argc, char **argv)
{
    int r = parse(argc, argv);
    if (r == TOOL_OK) r = read_file();
    if (r == TOOL_OK) r = draw("volume", "bytes", volume_of);
    if (r == TOOL_OK) r = draw("bw", "bytes per second", rate_of);
    free(seen.cells);
    return r ? r : tool_end(&tool);
}
