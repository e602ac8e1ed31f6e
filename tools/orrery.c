/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery.c: one program for all that are installed beside it: "orrery report" runs orrery_report.
 * Threads: main. Owns: nothing. It is not linked with the library, so it starts where that does not.
 * Not here: what the programs do. They are found by looking in the folder, so no list of them is kept. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/near.h"
#include "tools/tool.h"

static const struct tool tool = {
    "orrery",
    "run one of Orrery's programs\n"
    "\n"
    "SYNOPSIS\n"
    "    orrery NAME [ARGUMENT]...\n"
    "    orrery help [NAME]\n"
    "\n"
    "DESCRIPTION\n"
    "    Runs the program orrery_NAME that is installed beside this one, or if there is none starpu_NAME,\n"
    "    with the arguments: orrery doctor checks this machine, orrery report shows a recording. In NAME\n"
    "    a hyphen stands for _.\n"
    "    orrery help lists the programs that there are, and orrery help NAME shows the help of one.\n"
    "    Ends as the program does; with 2 if there is none of that name.\n"
    "\n"
    "OPTIONS\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
};

static const char *const prefixes[] = { "orrery_", "starpu_" };
enum { PREFIXES = 2, PROGRAMS_MAX = 128, NAME_BYTES = 64, BRIEF_BYTES = 512 };

struct program {
    char name[NAME_BYTES]; /* without the prefix */
    int prefix;
};

/* ---- the programs ---- */

/* The folder that this program is in, links followed. 0: it cannot be told. */
static int own_folder(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (n <= 0) return 0;
    folder[n] = 0;
    char *end = strrchr(folder, '/');
    if (!end) return 0;
    end[end == folder] = 0;
    return 1;
}

static int path_of(const char *folder, const struct program *p, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s%s", folder, prefixes[p->prefix], p->name) < PATH_MAX;
}

static int is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Whether an entry of the folder is called as a program is; then p has its name. */
static int read_name(const char *entry, struct program *p)
{
    for (p->prefix = 0; p->prefix < PREFIXES; p->prefix++) {
        size_t n = strlen(prefixes[p->prefix]);
        if (strncmp(entry, prefixes[p->prefix], n) != 0) continue;
        for (const char *c = entry + n; *c; c++)
            if (!isalnum((unsigned char)*c) && *c != '_') return 0; /* orrery_top.c */
        return entry[n] && (size_t)snprintf(p->name, NAME_BYTES, "%s", entry + n) < NAME_BYTES;
    }
    return 0;
}

static int by_prefix_and_name(const void *a, const void *b)
{
    const struct program *p = a, *q = b;
    return p->prefix != q->prefix ? p->prefix - q->prefix : strcmp(p->name, q->name);
}

/* All programs of the folder, sorted. */
static int list_programs(const char *folder, struct program found[PROGRAMS_MAX])
{
    char path[PATH_MAX];
    int n = 0;
    DIR *d = opendir(folder);
    if (!d) return 0;
    for (struct dirent *e; n < PROGRAMS_MAX && (e = readdir(d));)
        n += read_name(e->d_name, &found[n]) && path_of(folder, &found[n], path) && is_program(path);
    closedir(d);
    qsort(found, (size_t)n, sizeof found[0], by_prefix_and_name);
    return n;
}

/* ---- help ---- */

/* What a program does, from the second line of its --help: "    NAME - TEXT". */
static void brief_of(const char *path, char brief[BRIEF_BYTES])
{
    int ends[2];
    brief[0] = 0;
    if (pipe(ends) != 0) return;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(5);
        execl(path, path, "--help", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t n;
         child > 0 && got < BRIEF_BYTES - 1 &&
         ((n = read(ends[0], brief + got, BRIEF_BYTES - 1 - got)) > 0 || (n < 0 && errno == EINTR));)
        got += n > 0 ? (size_t)n : 0;
    brief[got] = 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    char *text = strstr(brief, " - ");
    text = text ? text + 3 : brief + strlen(brief);
    text[strcspn(text, "\n")] = 0;
    memmove(brief, text, strlen(text) + 1);
}

static void print_list(FILE *out, const char *folder, const struct program *found, int n)
{
    char path[PATH_MAX], brief[BRIEF_BYTES];
    for (int i = 0; i < n; i++) {
        if (i == 0 || found[i].prefix != found[i - 1].prefix)
            fprintf(out, "%s%s:\n", i ? "\n" : "",
                    found[i].prefix ? "Programs with StarPU's names (starpu_NAME)"
                                    : "Programs (orrery NAME)");
        if (!path_of(folder, &found[i], path)) continue;
        brief_of(path, brief);
        fprintf(out, "  %-20s %s\n", found[i].name, brief);
    }
    if (n == 0) fprintf(out, "There are no programs in %s: is this an installed Orrery?\n", folder);
}

/* ---- one of them ---- */

/* There is none of this name: says which it may have been, and which there are. */
static int unknown(const char *name, const char *folder)
{
    static struct program found[PROGRAMS_MAX];
    struct orr_near near = { NULL, 0 };
    int n = list_programs(folder, found);
    for (int i = 0; i < n; i++) orr_near_offer(&near, name, found[i].name);
    tool_complain(&tool, "there is no program \"%s\" in %s%s%s%s", name, folder,
                  near.name ? "; do you mean orrery " : "", near.name ? near.name : "", near.name ? "?" : "");
    fputc('\n', stderr);
    print_list(stderr, folder, found, n);
    return TOOL_USAGE;
}

/* Replaces this program by the one of that name; returns if that is not possible, with the exit status. */
static int become(const char *folder, const char *name, char **argv)
{
    char path[PATH_MAX], entry[NAME_BYTES + 16];
    for (int i = 0; i < PREFIXES; i++) {
        struct program p;
        if (snprintf(entry, sizeof entry, "%s%s", prefixes[i], name) >= (int)sizeof entry) break;
        for (char *c = entry; *c; c++)
            if (*c == '-') *c = '_';
        if (!read_name(entry, &p) || !path_of(folder, &p, path) || !is_program(path)) continue;
        argv[0] = path;
        execv(path, argv);
        return tool_complain(&tool, "%s cannot be run: %s", path, strerror(errno));
    }
    return unknown(name, folder);
}

int main(int argc, char **argv)
{
    static struct program found[PROGRAMS_MAX];
    static char help[] = "--help";
    char folder[PATH_MAX];
    const char *name = argc > 1 ? argv[1] : "help";
    if (!strcmp(name, "-h") || !strcmp(name, "--help")) return tool_help(&tool);
    if (!strcmp(name, "-v") || !strcmp(name, "--version")) return tool_version(&tool);
    if (name[0] == '-') {
        tool_complain(&tool, "\"%s\" is no option", name);
        return tool_usage(&tool);
    }
    if (!own_folder(folder))
        return tool_complain(&tool, "/proc/self/exe cannot be read, which says where the programs are: call "
                                    "orrery_NAME by itself");
    if (strcmp(name, "help") != 0) return become(folder, name, argv + 1);
    if (argc > 2) return become(folder, argv[2], (char *[]){ argv[2], help, NULL });
    print_list(argc > 1 ? stdout : stderr, folder, found, list_programs(folder, found));
    if (argc > 1) printf("\norrery NAME runs one, orrery help NAME says more of it.\n");
    return argc > 1 ? tool_end(&tool) : tool_usage(&tool);
}
