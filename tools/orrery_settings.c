/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_settings.c: lists the environment variables that the library reads, with their values, and those of
 * StarPU that have no effect; as a page for doc/ too.
 * Threads: main. Owns: nothing. Not here: the list (core/base/settings.def). */
#include <errno.h>

#include "tools/tool.h"

static const struct tool tool = {
    "orrery_settings",
    "list settings\n"
    "\n"
    "SYNOPSIS\n"
    "    orrery_settings [-s | -f | -m] [-p PID]\n"
    "\n"
    "DESCRIPTION\n"
    "    Prints the environment variables that Orrery reads, by theme: name, value (in brackets the\n"
    "    default, where it is not set), where that comes from, what it takes, and what it does.\n"
    "    What a program gives in its starpu_conf it alone knows: with ORRERY_VERBOSE=1 it says when it\n"
    "    starts which settings are in force, and whether they come from starpu_conf or the environment.\n"
    "\n"
    "OPTIONS\n"
    "    -s, --set       only those that are set\n"
    "    -f, --foreign   those of StarPU that have no effect here, and why\n"
    "    -m, --markdown  all of them, as doc/SETTINGS.md\n"
    "    -p, --process=PID\n"
    "                    with the environment that the process PID was started with\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
};

enum { HONOURED, SET, FOREIGN, MARKDOWN };

/* Whether a theme begins here: then *theme is that of s. */
static int is_new_theme(const char **theme, const struct orrery_setting *s)
{
    int is_new = !*theme || strcmp(*theme, s->theme) != 0;
    *theme = s->theme;
    return is_new;
}

static void print_values(int only_set)
{
    struct orrery_setting s;
    const char *theme = NULL;
    for (unsigned n = 0; orrery_setting_get(n, &s) == 0; n++) {
        if (!s.is_honoured || (only_set && !s.value)) continue;
        if (is_new_theme(&theme, &s)) printf("%s%s\n", n ? "\n" : "", theme);
        if (s.value)
            printf("  %s=%s (%s)", s.name, s.value, s.source);
        else
            printf("  %s [%s] (%s)", s.name, s.default_value, s.source);
        printf("%s%s\n      %s\n", *s.unit ? "  " : "", s.unit, s.help);
    }
}

static void print_foreign(void)
{
    struct orrery_setting s;
    const char *theme = NULL;
    for (unsigned n = 0; orrery_setting_get(n, &s) == 0; n++) {
        if (s.is_honoured) continue;
        if (is_new_theme(&theme, &s)) printf("%s\n", theme);
        printf("  %s\n      %s\n", s.name, s.help);
    }
}

/* In a table, | separates columns. */
static void print_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|') putchar('\\');
        putchar(*text);
    }
}

static void print_page(void)
{
    struct orrery_setting s;
    const char *theme = NULL;
    printf("# Settings\n\n"
           "Made by `orrery_settings --markdown` from `core/base/settings.def`; `orrery_settings` prints the "
           "same with "
           "the values of\nthe moment. A variable that is set and has no effect is said at start-up, with "
           "the nearest "
           "name or the reason\n(`STARPU_SILENT=1`: nothing is said).\n");
    for (unsigned n = 0; orrery_setting_get(n, &s) == 0; n++) {
        if (!s.is_honoured) continue;
        if (is_new_theme(&theme, &s))
            printf("\n## %c%s\n\n| variable | default | takes | |\n|---|---|---|---|\n", theme[0] - 'a' + 'A',
                   theme + 1);
        printf("| `%s` | %s | ", s.name, s.default_value);
        print_cell(s.unit);
        printf(" | ");
        print_cell(s.help);
        printf(" |\n");
    }
    printf("\n# Variables of StarPU that have no effect\n\n| variable | why |\n|---|---|\n");
    for (unsigned n = 0; orrery_setting_get(n, &s) == 0; n++)
        if (!s.is_honoured) printf("| `%s` | %s |\n", s.name, s.help);
}

/* Takes the environment of a process for that of this program. The strings stay in it. */
static int take_environment(const char *pid)
{
    char path[64], *end, *text = NULL;
    size_t bytes = 0, got = 0;
    long number = strtol(pid, &end, 10);
    if (*end || end == pid || number <= 0)
        return tool_complain(&tool, "\"%s\" is no number of a process", pid), TOOL_USAGE;
    snprintf(path, sizeof path, "/proc/%ld/environ", number);
    FILE *f = fopen(path, "r");
    if (!f) return tool_complain(&tool, "%s cannot be read: %s", path, strerror(errno));
    do {
        char *more = realloc(text, bytes += 65536);
        if (!more) return free(text), fclose(f), tool_complain(&tool, "there is no memory");
        text = more;
        got += fread(text + got, 1, bytes - 1 - got, f);
    } while (got == bytes - 1);
    text[got] = 0;
    fclose(f);
    clearenv();
    for (char *entry = text; entry < text + got; entry += strlen(entry) + 1)
        if (strchr(entry, '=')) putenv(entry);
    return TOOL_OK;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "set", no_argument, NULL, 's' },
                                             { "foreign", no_argument, NULL, 'f' },
                                             { "markdown", no_argument, NULL, 'm' },
                                             { "process", required_argument, NULL, 'p' },
                                             { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    int what = HONOURED, taken = TOOL_OK;
    const char *pid = NULL;
    for (int c; (c = getopt_long(argc, argv, "sfmp:hv", options, NULL)) != -1;) {
        if (c == 'h') return tool_help(&tool);
        if (c == 'v') return tool_version(&tool);
        if (c == 'p' && (pid = optarg)) continue;
        if (c != 's' && c != 'f' && c != 'm') return tool_usage(&tool);
        what = c == 's' ? SET : c == 'f' ? FOREIGN : MARKDOWN;
    }
    if (optind < argc) {
        tool_complain(&tool, "\"%s\" is no option", argv[optind]);
        return tool_usage(&tool);
    }
    if (pid && (taken = take_environment(pid)) != TOOL_OK) return taken;
    if (what == MARKDOWN)
        print_page();
    else if (what == FOREIGN)
        print_foreign();
    else
        print_values(what == SET);
    return tool_end(&tool);
}
