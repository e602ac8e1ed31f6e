/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs whose performance models cannot be saved: no home, a home that cannot be written, a full disk, a
 * file that is a trap. They run and end well, with a message that says why, and what was there before is as
 * it was. Threads: each program in a child of its own. Owns: a folder of its own. Not here: damaged files,
 * and processes that save at once (perfmodel_store.c).
 */
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "tests/core/misuse.h"

enum { TASKS = 40, CANNOT = 80, DAMAGED = 81 };

static char folder[64], home[128], models[200], file[300];
static const char old_text[] = "what was there before\n";

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "home" };

static void add_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .model = &model, .name = "add"
};

/* 0, or what went wrong. */
static int program(void)
{
    int value = 0, refused = 0;
    starpu_data_handle_t h;
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.sched_policy_name = "dmda";
    conf.calibrate = 1;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) return NO_RUNTIME;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < TASKS; i++) refused |= starpu_task_insert(&add_cl, STARPU_RW, h, 0);
    starpu_data_unregister(h);
    starpu_shutdown();
    return refused || value != TASKS ? WRONG_RESULT : 0;
}

static int write_old(const char *name)
{
    FILE *f = fopen(name, "w");
    return f && fputs(old_text, f) >= 0 && fclose(f) == 0;
}

static int is_old(const char *name)
{
    char text[100] = "";
    FILE *f = fopen(name, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    return n == strlen(old_text) && strcmp(text, old_text) == 0;
}

static int make_models_folder(void)
{
    char command[300];
    snprintf(command, sizeof command, "mkdir -p '%s'", models);
    return system(command) == 0;
}

/* ---- what is wrong with the home; false: it cannot be made so here ---- */

static bool all_is_well(void)
{
    return true;
}

static bool no_home(void)
{
    return unsetenv("HOME") == 0 && unsetenv("STARPU_HOME") == 0;
}

static bool impossible_home(void)
{
    return setenv("STARPU_HOME", "/proc/no/such/home", 1) == 0;
}

static bool home_is_a_file(void)
{
    return write_old(home);
}

/* Root may write everywhere: somebody else runs the program then. */
static bool home_is_read_only(void)
{
    if (mkdir(home, 0555) != 0) return false;
    return geteuid() != 0 || setresuid(65534, 65534, 65534) == 0;
}

/* A file system of so many bytes as the home, for this process alone. */
static bool mount_home(const char *size, unsigned long flags)
{
    char options[64];
    snprintf(options, sizeof options, "size=%s", size);
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mkdir(home, 0755) == 0 && mount("none", home, "tmpfs", flags, options) == 0;
}

static bool read_only_disk(void)
{
    return mount_home("64k", MS_RDONLY);
}

/* The last model is there, and not a block beside it. */
static bool full_disk(void)
{
    char filler[200], block[4096] = { 0 };
    if (!mount_home("64k", 0) || !make_models_folder() || !write_old(file)) return false;
    snprintf(filler, sizeof filler, "%s/filler", home);
    int fd = open(filler, O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return false;
    while (write(fd, block, sizeof block) > 0) continue;
    return close(fd) == 0 && errno == ENOSPC;
}

static bool no_larger_files(void)
{
    struct rlimit limit = { .rlim_cur = 100, .rlim_max = 100 };
    return make_models_folder() && write_old(file) && setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

static bool file_is_a_link(void)
{
    char target[200];
    snprintf(target, sizeof target, "%s/target", folder);
    return make_models_folder() && write_old(target) && symlink(target, file) == 0;
}

static bool file_is_foreign(void)
{
    return geteuid() == 0 && make_models_folder() && write_old(file) && chown(file, 12345, 12345) == 0;
}

static bool file_is_a_folder(void)
{
    return make_models_folder() && mkdir(file, 0700) == 0;
}

static const struct trouble {
    const char *what;
    bool (*arrange)(void);
    int lines;                      /* of messages */
    enum { ANY, KEPT, SAVED } file; /* what is in the model's place then: what was there before; a model */
} troubles[] = {
    { "a model is saved", all_is_well, 0, SAVED },
    { "no home", no_home, 1, ANY },
    { "a home that cannot be made", impossible_home, 1, ANY },
    { "a home that is a file", home_is_a_file, 1, ANY },
    { "a home that cannot be written", home_is_read_only, 1, ANY },
    { "a disk that cannot be written", read_only_disk, 1, ANY },
    { "a full disk", full_disk, 2, KEPT },
    { "a limit to the length of files", no_larger_files, 2, KEPT },
    { "a link in the model's place", file_is_a_link, 2, KEPT },
    { "somebody else's file in the model's place", file_is_foreign, 2, KEPT },
    { "a folder in the model's place", file_is_a_folder, 2, ANY },
};

/* A hidden file is one that was begun and not finished. */
static int leftovers(void)
{
    char command[400];
    snprintf(command, sizeof command, "find '%s' -name '.*' ! -name .starpu 2>/dev/null | grep -q .", folder);
    return system(command) == 0;
}

static int run_child(const struct trouble *t, int messages)
{
    int own = dup(STDERR_FILENO);
    alarm(SECONDS);
    if (!t->arrange()) return CANNOT;
    dup2(messages, STDERR_FILENO);
    int status = program();
    fflush(stderr);
    dup2(own, STDERR_FILENO);
    struct stat st;
    bool good = !leftovers();
    if (t->file == KEPT) good &= is_old(file);
    if (t->file == SAVED) good &= stat(file, &st) == 0 && st.st_size > 0;
    return status == 0 && !good ? DAMAGED : status;
}

static void check(const struct trouble *t)
{
    struct outcome o = { .status = -1 };
    int ends[2];
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -m 0777 '%s'", folder, folder);
    if (system(command) != 0 || pipe(ends) != 0) return;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exit(run_child(t, ends[1]));
    close(ends[1]);
    outcome_read(&o, ends[0]);
    close(ends[0]);
    waitpid(child, &o.status, 0);
    int status = WIFEXITED(o.status) ? WEXITSTATUS(o.status) : -WTERMSIG(o.status);
    if (status == CANNOT) {
        skip("%s: it cannot be arranged here", t->what);
        return;
    }
    if (!ok(all_of(status == 0, o.lines == t->lines), "%s: the program ends well, %d messages", t->what,
            t->lines)) {
        diag("%s, with %d lines said",
             status == DAMAGED ? "a file is damaged, missing, or left behind" : outcome_text(o.status),
             o.lines);
        outcome_show(&o);
    }
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/orrery-home-XXXXXX");
    if (!mkdtemp(folder)) skip_all("no folder can be made");
    snprintf(home, sizeof home, "%s/home", folder);
    snprintf(models, sizeof models, "%s/.starpu/sampling/codelets/orrery", home);
    snprintf(file, sizeof file, "%s/home.host", models);
    setenv("STARPU_HOME", home, 1);
    setenv("STARPU_HOSTNAME", "host", 1);
    unsetenv("STARPU_PERF_MODEL_DIR");
    unsetenv("STARPU_PERF_MODEL_PATH");
    unsetenv("STARPU_SILENT");
    unsetenv("STARPU_CALIBRATE");
    for (size_t i = 0; i < LENGTH(troubles); i++) check(&troubles[i]);
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) diag("%s is left", folder);
    return done_testing();
}
