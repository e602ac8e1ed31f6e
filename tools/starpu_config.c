/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_config.c: prints what this build was configured with: the constants of starpu_config.h, as they are.
 * Threads: main. Owns: nothing. Not here: settings of a run (orrery_settings), the machine (orrery_doctor).
 */
#include <stdbool.h>

#include "tools/tool.h"

static const struct tool tool = {
    "starpu_config",
    "print what the library was configured with\n"
    "\n"
    "SYNOPSIS\n"
    "    starpu_config [NAME]...\n"
    "\n"
    "DESCRIPTION\n"
    "    Prints the lines of starpu_config.h that define constants, in the form of C: the limits of this\n"
    "    build (STARPU_NMAXBUFS, STARPU_MAXIMPLEMENTATIONS, ...), and what it was made with "
    "(STARPU_USE_MPI,\n"
    "    ...). With NAMEs only their values, one on a line; 1 where there is none.\n"
    "\n"
    "OPTIONS\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: one of the NAMEs is not defined, which is how a constant is off; 2: wrong usage.\n"
};

/* What starpu_config.h defines, as the preprocessor lists it, between these two. */
__asm__(".section .rodata\n"
        ".global orr_config_list\n.global orr_config_list_end\n"
        "orr_config_list:\n.incbin \"" CONFIG_LIST "\"\n"
        "orr_config_list_end:\n.byte 0\n.previous\n");
extern const char orr_config_list[], orr_config_list_end[];

static bool print_value(const char *name)
{
    size_t n = strlen(name);
    for (const char *at = orr_config_list; at < orr_config_list_end; at += strcspn(at, "\n") + 1) {
        const char *word = at + strlen("#define ");
        if (strncmp(word, name, n) != 0 || word[n] != ' ') continue;
        word += n + 1;
        printf("%.*s\n", (int)strcspn(word, "\n"), word);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    for (int c; (c = getopt_long(argc, argv, "hv", options, NULL)) != -1;) switch (c) {
        case 'h': return tool_help(&tool);
        case 'v': return tool_version(&tool);
        default: return tool_usage(&tool);
        }
    if (optind == argc) fputs(orr_config_list, stdout);
    int r = TOOL_OK;
    for (int i = optind; i < argc; i++)
        if (!print_value(argv[i])) r = tool_complain(&tool, "%s is not defined", argv[i]);
    return tool_end(&tool) == TOOL_OK ? r : TOOL_FAILED;
}
