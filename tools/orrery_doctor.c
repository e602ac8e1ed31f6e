/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_doctor.c: looks at a machine as the runtime will find it, and says what is wrong and how to mend it.
 * Threads: main; the runtime and MPI are each started in a child, so that one that hangs or crashes is told
 * too. Owns: nothing. Not here: what the runtime says by itself when it starts, which the child's lines show.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/tool.h"

static const struct tool tool = {
    "orrery_doctor",
    "check this machine, and say what is wrong and how to mend it\n"
    "\n"
    "SYNOPSIS\n"
    "    orrery_doctor [-q]\n"
    "\n"
    "DESCRIPTION\n"
    "    Looks at cores and their binding, at devices, MPI and its level of threads, locked and shared\n"
    "    memory, performance models, settings and versions, as a program that is started in the same way\n"
    "    will find them: run it under the same mpirun or batch system. A line begins with \"ok\", with "
    "\"--\"\n"
    "    where something is worth knowing, or with \"!!\" where something is wrong; then the next line says\n"
    "    how to mend it. Ends with 0; 1 if something is wrong.\n"
    "\n"
    "OPTIONS\n"
    "    -q, --quiet     only what is wrong\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
};

enum { CHILD_SECONDS = 30, TEXT_BYTES = 4096 };

static int is_quiet, wrong;

__attribute__((format(printf, 1, 2))) static void good(const char *fmt, ...)
{
    va_list ap;
    if (is_quiet) return;
    printf("ok  ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
    va_list ap;
    if (is_quiet) return;
    printf("--  ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

/* mend: what to do, a line. */
__attribute__((format(printf, 2, 3))) static void bad(const char *mend, const char *fmt, ...)
{
    va_list ap;
    wrong++;
    printf("!!  ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n      %s\n", mend);
}

/* The first line of a file; 0: there is none. */
static int first_line(const char *path, char *line, size_t bytes)
{
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    int got = fgets(line, (int)bytes, f) != NULL;
    fclose(f);
    if (got) line[strcspn(line, "\n")] = 0;
    return got;
}

/* ---- a child whose lines are kept ---- */

/* Runs part() in a child with a limit of time; what it prints, on both streams, goes to text. Returns its
 * exit status; -1: it hung, crashed (*signal_out), or could not be started. */
static int in_child(void (*part)(void), char text[TEXT_BYTES], int *signal_out)
{
    int ends[2], status = 0;
    *signal_out = 0;
    text[0] = 0;
    fflush(stdout);
    if (pipe(ends) != 0) return -1;
    pid_t child = fork();
    if (child < 0) return close(ends[0]), close(ends[1]), -1;
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(CHILD_SECONDS);
        part();
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    size_t got = 0;
    char rest[512];
    for (ssize_t n; (n = got < TEXT_BYTES - 1 ? read(ends[0], text + got, TEXT_BYTES - 1 - got)
                                              : read(ends[0], rest, sizeof rest)) > 0;)
        got += got < TEXT_BYTES - 1 ? (size_t)n : 0;
    text[got] = 0;
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    *signal_out = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return -1;
}

/* The value of a line "NAME VALUE" among what a child printed; -1: there is none. */
static long value_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, name, n) && line[n] == ' ') return strtol(line + n, NULL, 10);
    return -1;
}

/* What the runtime said on the way. Warnings count as wrong: each says how to mend it. */
static void show_messages(const char *text)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        int length = (int)strcspn(line, "\n");
        const char *warning = "orrery: warning: ", *error = "orrery: error: ";
        if (!strncmp(line, warning, strlen(warning)) || !strncmp(line, error, strlen(error)))
            bad("(said by the runtime when it started)", "%.*s", length - 8, line + 8);
    }
}

/* ---- cores ---- */

static int cores_allowed(void)
{
    cpu_set_t *set = CPU_ALLOC(8192);
    int count = -1;
    if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(8192), set) == 0)
        count = CPU_COUNT_S(CPU_ALLOC_SIZE(8192), set);
    CPU_FREE(set);
    return count;
}

static void check_cores(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int allowed = cores_allowed();
    char line[128];
    if (allowed > 0 && allowed < online)
        note("cores: %d of %ld processors may be used; what starts the program (taskset, mpirun, a batch "
             "system) "
             "leaves out the rest; mpirun --bind-to none gives a rank all of them",
             allowed, online);
    else
        good("cores: %ld processors, all of them may be used", online);
    long long quota, period;
    if (first_line("/sys/fs/cgroup/cpu.max", line, sizeof line) &&
        sscanf(line, "%lld %lld", &quota, &period) == 2 && period > 0 && quota < (long long)allowed * period)
        bad("set STARPU_NCPU to that number, or raise the limit of the container",
            "cores: a control group allows the time of %.1f processors, and workers will be started for %d",
            (double)quota / (double)period, allowed);
    double load;
    if (getloadavg(&load, 1) == 1 && load > (double)allowed * 0.5 && load > 1)
        note("cores: the load is %.1f: others compute here, and times will vary", load);
}

/* ---- the runtime ---- */

static void start_runtime(void)
{
    if (starpu_init(NULL) != 0) _exit(3);
    printf("workers %u\n", starpu_worker_get_count());
    printf("cpu %u\n", starpu_cpu_worker_get_count());
    printf("nodes %u\n", starpu_memory_nodes_get_count());
    char name[64];
    for (unsigned w = starpu_cpu_worker_get_count(); w < starpu_worker_get_count() && w < 32; w++) {
        starpu_worker_get_name((int)w, name, sizeof name);
        printf("device: %s\n", name);
    }
    int same = 0;
    for (unsigned w = 1; w < starpu_cpu_worker_get_count(); w++) {
        unsigned other = 0;
        while (other < w && starpu_worker_get_bindid((int)other) != starpu_worker_get_bindid((int)w)) other++;
        same += other < w;
    }
    printf("shared %d\n", same);
    starpu_shutdown();
    printf("ended 1\n");
}

static void check_devices(const char *text)
{
    glob_t found;
    if (value_of(text, "workers") > value_of(text, "cpu")) {
        for (const char *line = strstr(text, "device: "); line; line = strstr(line + 1, "device: "))
            good("device: %.*s", (int)strcspn(line + 8, "\n"), line + 8);
        return;
    }
    const char *limit = getenv("STARPU_NCUDA");
    if (access("/dev/nvidiactl", F_OK) == 0 && !(limit && atoi(limit) == 0))
        bad("make libcuda.so.1 of the driver visible here, or name it in ORRERY_CUDA_LIBRARY; STARPU_NCUDA=0 "
            "is "
            "for none",
            "devices: there is an NVIDIA GPU, and no worker for it");
    else
        good("devices: none; ORRERY_SIM_DEVICES=1 simulates one");
    if (glob("/etc/OpenCL/vendors/*.icd", 0, NULL, &found) == 0) {
        note("devices: OpenCL is installed and has no device but CPUs; STARPU_OPENCL_ON_CPUS=1 takes them "
             "too");
        globfree(&found);
    }
}

static void check_runtime(void)
{
    char text[TEXT_BYTES];
    int by_signal, status = in_child(start_runtime, text, &by_signal);
    show_messages(text);
    if (status == 3) return bad("the lines above say what to change", "runtime: starpu_init fails");
    if (status < 0 && by_signal == SIGALRM)
        return bad("look at it with a debugger: gdb --args orrery_doctor",
                   "runtime: it does not start and end in %d s", CHILD_SECONDS);
    if (status != 0 || value_of(text, "ended") != 1)
        return bad("look at it with a debugger: gdb --args orrery_doctor", "runtime: it ends by signal %d",
                   by_signal);
    good("runtime: %ld workers, %ld of them on CPUs, %ld memory nodes", value_of(text, "workers"),
         value_of(text, "cpu"), value_of(text, "nodes"));
    const char *nobind = getenv("STARPU_WORKERS_NOBIND");
    if (nobind && atoi(nobind))
        note("binding: workers are not bound to cores (STARPU_WORKERS_NOBIND)");
    else if (value_of(text, "shared") > 0)
        bad("set STARPU_NCPU to the number of cores", "binding: %ld workers share a core with another",
            value_of(text, "shared"));
    else
        good("binding: each CPU worker has a core of its own");
    check_devices(text);
}

/* ---- MPI ---- */

/* A singleton of MPI, by names, so that no constant of one MPI is compiled in. */
static void start_mpi(void)
{
    void *library = dlopen("liborrery-mpi.so.0", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        printf("%s\n", dlerror());
        _exit(4);
    }
    int (*init)(int *, char ***, int) = NULL, (*query)(int *) = NULL, (*version)(char *, int *) = NULL;
    int (*end)(void) = NULL;
    *(void **)&init = dlsym(library, "starpu_mpi_init");
    *(void **)&end = dlsym(library, "starpu_mpi_shutdown");
    *(void **)&query = dlsym(RTLD_DEFAULT, "MPI_Query_thread");
    *(void **)&version = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    if (!init || !end || !query || !version) _exit(4);
    char name[8192] = "";
    int level = -1, length = 0;
    if (starpu_init(NULL) != 0 || init(NULL, NULL, 1) != 0) _exit(3);
    query(&level);
    version(name, &length);
    printf("level %d\nlibrary: %.*s\n", level, (int)strcspn(name, ",\n"), name);
    end();
    starpu_shutdown();
    printf("ended 1\n");
}

static int in_path(const char *program)
{
    char path[PATH_MAX];
    for (const char *p = getenv("PATH"); p && *p; p += strcspn(p, ":"), p += *p == ':') {
        int n = snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(p, ":"), p, program);
        if (n < (int)sizeof path && access(path, X_OK) == 0) return 1;
    }
    return 0;
}

static void ask_launcher(void)
{
    execlp("mpirun", "mpirun", "--version", (char *)NULL);
    _exit(127);
}

/* Whether mpirun is there, and that of the library. */
static void check_launcher(const char *library)
{
    char text[TEXT_BYTES];
    int by_signal, is_open = strncmp(library, "Open MPI", 8) == 0,
                   is_mpich = strncmp(library, "MPICH", 5) == 0;
    if (!in_path("mpirun"))
        return bad("install it (Debian: openmpi-bin), or add the folder of your MPI's programs to PATH",
                   "MPI: there is no mpirun in PATH, so programs cannot be started on several ranks");
    if (in_child(ask_launcher, text, &by_signal) != 0) return;
    int runs_open = strstr(text, "Open MPI") || strstr(text, "OpenRTE"),
        runs_mpich = strstr(text, "HYDRA") != NULL;
    if ((is_open && runs_mpich) || (is_mpich && runs_open))
        bad(is_open ? "start programs with the mpirun of Open MPI (Debian: mpirun.openmpi)"
                    : "start programs with the mpirun of MPICH (Debian: mpirun.mpich)",
            "MPI: mpirun is %s's and the library is %s: each rank would be alone",
            runs_open ? "Open MPI" : "MPICH", is_open ? "Open MPI" : "MPICH");
}

/* Four levels of threads, in the order of their numbers; MPI says that they go up. */
static void check_mpi(void)
{
    char text[TEXT_BYTES], line[64];
    int by_signal, status = in_child(start_mpi, text, &by_signal);
    if (status == 4)
        return note(
            "MPI: there is no liborrery-mpi beside this library; configure it where an MPI is (Debian: "
            "libopenmpi-dev openmpi-bin)");
    if (status != 0 || value_of(text, "ended") != 1)
        return bad(
            "try mpirun -n 1 orrery_doctor; is the mpirun in PATH of the MPI that Orrery was built with?",
            "MPI: a program of one rank does not start and end%s", by_signal == SIGALRM ? " in 30 s" : "");
    const char *library = strstr(text, "library: ");
    check_launcher(library ? library + 9 : "");
    long level = value_of(text, "level");
    if (level < 2)
        bad("use an MPI that was built with threads; programs ask for MPI_THREAD_MULTIPLE",
            "MPI: its level of threads is %ld, and workers could not send", level);
    else
        good("MPI: %.*s, level of threads %s", library ? (int)strcspn(library + 9, "\n") : 0,
             library ? library + 9 : "", level == 2 ? "serialized" : "multiple");
    if (first_line("/proc/sys/kernel/yama/ptrace_scope", line, sizeof line) && atoi(line) > 0)
        note("MPI: ptrace_scope is %d, so ranks of a node may not copy from each other's memory: large "
             "messages "
             "are copied twice (sysctl kernel.yama.ptrace_scope=0)",
             atoi(line));
}

/* ---- memory ---- */

static void check_memory(void)
{
    struct rlimit locked;
    struct statvfs shm;
    glob_t adapters;
    int is_little = getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY &&
                    locked.rlim_cur < 64UL << 20;
    int has_verbs = glob("/sys/class/infiniband/*", 0, NULL, &adapters) == 0;
    if (has_verbs) globfree(&adapters);
    if (is_little && has_verbs)
        bad("raise it: ulimit -l unlimited, or memlock in /etc/security/limits.conf",
            "memory: only %llu KiB may be locked, so the network cannot register buffers",
            (unsigned long long)locked.rlim_cur >> 10);
    else if (is_little)
        note("memory: %llu KiB may be locked; fast networks and GPUs want more (ulimit -l), and there is "
             "none here",
             (unsigned long long)locked.rlim_cur >> 10);
    else
        good("memory: enough may be locked");
    if (statvfs("/dev/shm", &shm) == 0 && (unsigned long long)shm.f_bavail * shm.f_frsize < 64ULL << 20)
        bad("give the container more: docker run --shm-size=1g, or --ipc=host",
            "memory: /dev/shm has %llu MiB left, and ranks of a node pass messages through it",
            ((unsigned long long)shm.f_bavail * shm.f_frsize) >> 20);
    else
        good("memory: room in /dev/shm for messages between ranks of a node");
}

/* ---- models ---- */

/* The folder of performance models, as the library names it. */
static int model_folder(char *folder, size_t bytes)
{
    FILE *f = tmpfile();
    if (!f) return 0;
    starpu_perfmodel_directory(f);
    rewind(f);
    char line[PATH_MAX + 64] = "";
    int got = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    char *path = strchr(line, '/');
    if (!got || !path) return 0;
    path[strcspn(path, ">\n")] = 0;
    return snprintf(folder, bytes, "%s", path) < (int)bytes;
}

/* Whether a file could be made in the folder, or in the nearest one above it that there is. */
static int can_be_written(const char *folder)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s", folder);
    for (char *end = path + strlen(path); stat(path, &st) != 0; *end = 0) {
        if (errno != ENOENT) return 0;
        while (end > path && *end != '/') end--;
        if (end == path) return 0;
    }
    return S_ISDIR(st.st_mode) && access(path, W_OK | X_OK) == 0;
}

static void check_models(void)
{
    char folder[PATH_MAX];
    if (!model_folder(folder, sizeof folder))
        return bad("set STARPU_HOME to a folder that can be written",
                   "models: there is no folder for them (neither STARPU_HOME nor HOME is set)");
    if (!can_be_written(folder))
        return bad("set STARPU_HOME to a folder that can be written; until then each run measures anew",
                   "models: %s cannot be made or written", folder);
    FILE *f = tmpfile();
    int count = 0;
    if (f && starpu_perfmodel_list(f) == 0) {
        rewind(f);
        for (char line[1024]; fgets(line, sizeof line, f);) count += strncmp(line, "file: ", 6) == 0;
    }
    if (f) fclose(f);
    good("models: %d in %s", count, folder);
}

/* ---- settings and versions ---- */

static void check_settings(void)
{
    struct orrery_setting s;
    int set = 0;
    for (unsigned n = 0; orrery_setting_get(n, &s) == 0; n++)
        if (s.value && strncmp(s.name, "HOME", 4) != 0) {
            note("settings: %s=%s", s.name, s.value);
            set++;
        }
    if (!set) good("settings: none is set");
}

static void check_versions(void)
{
    if (orrery_version() != ORRERY_VERSION)
        bad("set LD_LIBRARY_PATH to the lib folder beside this program's bin, and the same on all nodes",
            "versions: this program is of %d.%d.%d, and the library that it finds of %s",
            ORRERY_VERSION_MAJOR, ORRERY_VERSION_MINOR, ORRERY_VERSION_PATCH, orrery_version_string());
    else
        good("versions: Orrery %s, interface of StarPU %d.%d", orrery_version_string(), STARPU_MAJOR_VERSION,
             STARPU_MINOR_VERSION);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "quiet", no_argument, NULL, 'q' },
                                             { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    for (int c; (c = getopt_long(argc, argv, "qhv", options, NULL)) != -1;) {
        if (c == 'h') return tool_help(&tool);
        if (c == 'v') return tool_version(&tool);
        if (c != 'q') return tool_usage(&tool);
        is_quiet = 1;
    }
    if (optind < argc) {
        tool_complain(&tool, "\"%s\" is no option", argv[optind]);
        return tool_usage(&tool);
    }
    check_versions();
    check_cores();
    check_runtime();
    check_mpi();
    check_memory();
    check_models();
    check_settings();
    int ended = tool_end(&tool);
    return ended != TOOL_OK || wrong ? TOOL_FAILED : TOOL_OK;
}
