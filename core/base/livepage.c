/* SPDX-License-Identifier: BSD-3-Clause */
/* livepage.c: see livepage.h.
 * Threads: see there. Owns: see there. Not here: see there. */
#include "core/base/livepage.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NAME_BYTES = 300, WORKERS_MOST = 1 << 16, NODES_MOST = 1 << 12 };

static char folder[200]; /* [const once set] "": there are no pages */

void orr_livepage_set_folder(const char *setting)
{
    bool is_default = !setting || !*setting || strcmp(setting, "1") == 0;
    const char *set = is_default ? "/dev/shm" : strcmp(setting, "0") == 0 ? "" : setting;
    snprintf(folder, sizeof folder, "%s", strlen(set) < sizeof folder ? set : "");
}

const char *orr_livepage_folder(void)
{
    return *folder ? folder : NULL;
}

void orr_livepage_name(char *dst, size_t bytes, pid_t pid, bool answer)
{
    snprintf(dst, bytes, "%s/orrery.%u.%d%s", folder, (unsigned)geteuid(), (int)pid, answer ? ".why" : "");
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t words_of(unsigned workers, unsigned nodes)
{
    size_t bytes = sizeof(struct orr_live_sums) + workers * sizeof(struct orr_live_worker) +
                   ORR_LIVE_CODELETS * sizeof(struct orr_live_codelet) + nodes * sizeof(struct orr_live_node);
    return (uint32_t)(bytes / sizeof(uint64_t));
}

static size_t bytes_of(uint32_t words)
{
    return sizeof(struct orr_live_page) + (size_t)words * sizeof(uint64_t);
}

/* ---- whose a file is ---- */

static bool lock(int fd)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_SETLK, &l) == 0;
}

/* Whether another process has the lock of the file. */
static bool is_locked(int fd)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

/* The file of a process, if it is ours to look at; -1: it is not there, or strange. */
static int open_file(const char *name, struct stat *st_out)
{
    int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return -1;
    if (fstat(fd, st_out) == 0 && S_ISREG(st_out->st_mode) && st_out->st_uid == geteuid()) return fd;
    close(fd);
    errno = EACCES;
    return -1;
}

/* Whether nobody has that file any more: not locked, and not just being made. */
static bool is_stale(int fd, pid_t pid)
{
    uint64_t magic = 0;
    if (is_locked(fd)) return false;
    return (pread(fd, &magic, sizeof magic, 0) == sizeof magic && magic == ORR_LIVE_MAGIC) ||
           (kill(pid, 0) != 0 && errno == ESRCH);
}

static void remove_files(pid_t pid)
{
    char name[NAME_BYTES];
    orr_livepage_name(name, sizeof name, pid, true);
    unlink(name);
    strcat(name, ".new"); /* NAME_BYTES is ample: see folder */
    unlink(name);
    orr_livepage_name(name, sizeof name, pid, false);
    unlink(name);
}

/* ---- the process itself ---- */

/* Whether a file may become so large: beyond the limit a process is sent a signal that ends it. */
static bool may_be(size_t bytes)
{
    struct rlimit l;
    return getrlimit(RLIMIT_FSIZE, &l) == 0 && (l.rlim_cur == RLIM_INFINITY || l.rlim_cur >= bytes);
}

/* A file of that size of this process alone; -1: there is none. An older one of the same number is of a
 * process that is gone: or of this one, before exec. */
static int make_file(size_t bytes)
{
    char name[NAME_BYTES];
    if (!*folder || !may_be(bytes)) return -1;
    remove_files(getpid());
    orr_livepage_name(name, sizeof name, getpid(), false);
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd < 0) return -1;
    if (lock(fd) && posix_fallocate(fd, 0, (off_t)bytes) == 0) /* no room would be a SIGBUS later */
        return fd;
    unlink(name);
    close(fd);
    return -1;
}

static void name_program(char *dst, size_t bytes)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/');
    snprintf(dst, bytes, "%.*s", (int)bytes - 1, slash ? slash + 1 : path);
}

struct orr_live_page *orr_livepage_create(unsigned workers, unsigned nodes, unsigned place, int *fd_out)
{
    uint32_t words = words_of(workers, nodes);
    int fd = make_file(bytes_of(words));
    struct orr_live_page *page =
        mmap(NULL, bytes_of(words), PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
    *fd_out = fd;
    if (page == MAP_FAILED) {
        if (fd >= 0) remove_files(getpid());
        if (fd >= 0) close(fd);
        return NULL;
    }
    page->version = ORR_LIVE_VERSION;
    page->words = words;
    page->workers = workers;
    page->codelets = ORR_LIVE_CODELETS;
    page->nodes = nodes;
    page->place = place;
    page->pid = getpid();
    page->started_s = (uint64_t)time(NULL);
    name_program(page->program, sizeof page->program);
    orr_store_release(&page->magic, ORR_LIVE_MAGIC); /* pairs with the load in map */
    return page;
}

/* Whether the name is this file's still. */
static bool is_mine(int fd)
{
    char name[NAME_BYTES];
    struct stat mine, named;
    orr_livepage_name(name, sizeof name, getpid(), false);
    return fstat(fd, &mine) == 0 && lstat(name, &named) == 0 && mine.st_ino == named.st_ino &&
           mine.st_dev == named.st_dev;
}

void orr_livepage_destroy(struct orr_live_page *page, int fd)
{
    if (fd >= 0 && page->pid == getpid() && is_mine(fd)) remove_files(page->pid);
    orr_store_release(&page->over, 1u);
    munmap(page, bytes_of(page->words));
    if (fd >= 0) close(fd);
}

/* A reader who sees any word of the new numbers sees the odd sequence, too. */
void orr_livepage_write(struct orr_live_page *page, const struct orr_live_sums *numbers)
{
    const uint64_t *from = (const uint64_t *)numbers;
    uint64_t sequence = orr_load_relaxed(&page->sequence);
    orr_store_relaxed(&page->sequence, sequence + 1);
    for (uint32_t i = 0; i < page->words; i++) orr_store_release(&page->numbers[i], from[i]);
    orr_store_release(&page->sequence, sequence + 2);
}

/* ---- others ---- */

static enum orr_livepage_found map(int fd, const struct stat *st, struct orr_live_page **page_out)
{
    size_t bytes = (size_t)st->st_size;
    if (bytes < sizeof **page_out) return ORR_LIVE_REFUSED;
    struct orr_live_page *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return ORR_LIVE_REFUSED;
    enum orr_livepage_found found = ORR_LIVE_REFUSED;
    if (orr_load_acquire(&p->magic) == ORR_LIVE_MAGIC) {
        found = p->version == ORR_LIVE_VERSION ? ORR_LIVE_REFUSED : ORR_LIVE_OTHER;
        if (found == ORR_LIVE_REFUSED && p->workers <= WORKERS_MOST && p->nodes <= NODES_MOST &&
            p->codelets == ORR_LIVE_CODELETS && p->words == words_of(p->workers, p->nodes) &&
            bytes_of(p->words) == bytes)
            found = ORR_LIVE_FOUND;
    }
    if (found == ORR_LIVE_FOUND)
        *page_out = p;
    else
        munmap(p, bytes);
    return found;
}

enum orr_livepage_found orr_livepage_open(pid_t pid, struct orr_live_page **page_out)
{
    char name[NAME_BYTES];
    struct stat st;
    enum orr_livepage_found found = ORR_LIVE_NONE;
    *page_out = NULL;
    orr_livepage_name(name, sizeof name, pid, false);
    int fd = open_file(name, &st);
    if (fd < 0) return errno == ENOENT ? ORR_LIVE_NONE : ORR_LIVE_REFUSED;
    if (pid != getpid() && is_stale(fd, pid))
        remove_files(pid);
    else
        found = map(fd, &st, page_out);
    close(fd);
    return found;
}

void orr_livepage_close(struct orr_live_page *page)
{
    if (page) munmap(page, bytes_of(page->words));
}

bool orr_livepage_lives(pid_t pid)
{
    char name[NAME_BYTES];
    struct stat st;
    if (pid == getpid()) return true; /* to close the file would let go of the lock */
    orr_livepage_name(name, sizeof name, pid, false);
    int fd = open_file(name, &st);
    if (fd < 0) return false;
    bool lives = is_locked(fd);
    close(fd);
    return lives;
}

/* The number of the process whose page is called that; 0: it is no page of this user's. */
static pid_t pid_of(const char *name)
{
    unsigned uid;
    int pid, length = 0;
    if (sscanf(name, "orrery.%u.%d%n", &uid, &pid, &length) != 2 || pid <= 0) return 0;
    return uid == (unsigned)geteuid() && name[length] == '\0' ? pid : 0;
}

size_t orr_livepage_list(pid_t *pids_out, size_t most)
{
    DIR *d = *folder ? opendir(folder) : NULL;
    size_t n = 0;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char name[NAME_BYTES];
        struct stat st;
        pid_t pid = pid_of(e->d_name);
        if (!pid || pid == getpid()) continue; /* to close one's own file would let go of the lock */
        orr_livepage_name(name, sizeof name, pid, false);
        int fd = open_file(name, &st);
        if (fd < 0) continue;
        bool stale = is_stale(fd, pid);
        close(fd);
        if (stale)
            remove_files(pid);
        else if (n < most)
            pids_out[n++] = pid;
    }
    if (d) closedir(d);
    return n;
}

bool orr_livepage_read(struct orr_live_page *page, struct orr_live_sums *numbers_out)
{
    enum { TRIES = 1000 };
    uint64_t *to = (uint64_t *)numbers_out;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = orr_load_acquire(&page->sequence);
        if (before % 2 == 0) {
            for (uint32_t k = 0; k < page->words; k++) to[k] = orr_load_acquire(&page->numbers[k]);
            if (orr_load_relaxed(&page->sequence) == before) return numbers_out->at_ns != 0;
        }
        sched_yield();
    }
    return false;
}

void orr_livepage_ring(struct orr_live_page *page)
{
    orr_add_seq(&page->bell, 1u);
    syscall(SYS_futex, &page->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void orr_livepage_look(struct orr_live_page *page)
{
    uint64_t now = now_ns(), before = orr_load_relaxed(&page->looked_ns);
    orr_store_release(&page->looked_ns, now);
    /* one that has been looked at does so by itself */
    if (before + (uint64_t)ORR_LIVE_PATIENCE_MS * 500000 < now || before > now) orr_livepage_ring(page);
}
