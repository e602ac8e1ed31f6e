/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c: a folder as a storage: by read and write, past the system's cache, or by FILE.
 * Threads: any. Owns: the folders that are plugged in. Not here: who reads and writes (disk.c).
 *
 * What the runtime puts there shares one file, which has no name any more once it is open, so that it goes
 * with the process whatever ends that, and however many data there are. Room in it is given in pages: first
 * fit among what was given back, which is joined with its neighbours. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/sync.h"

enum { PAGE = 4096, MOST_AT_ONCE = 1 << 30 };

/* An open file. */
struct file {
    int fd, direct;            /* direct: past the cache; -1: not */
    FILE *stream;              /* NULL: not by FILE */
    ORR_MUTEX(disk_file) lock; /* protects the place of the stream */
};

struct object {
    struct file *file; /* the folder's, or its own */
    off_t begin;
    size_t bytes;
};

/* Free room. */
struct gap {
    struct gap *next;
    off_t begin, end;
};

enum way { BY_FD, DIRECT, BY_FILE };

struct folder {
    char *path;
    enum way way;
    bool made; /* here, not found: it goes with the storage if nobody put anything into it */
    struct file spill;
    ORR_MUTEX(disk_room) lock; /* protects the rest; leaf */
    struct gap *gaps;          /* in order */
    off_t end;
};

/* ---- reading and writing ---- */

static int stream_at(struct file *f, char *buf, off_t at, size_t bytes, bool writes)
{
    pthread_mutex_lock(&f->lock);
    int r = fseeko(f->stream, at, SEEK_SET) ? -errno : 0;
    size_t n = r ? 0 : writes ? fwrite(buf, 1, bytes, f->stream) : fread(buf, 1, bytes, f->stream);
    if (!r && n < bytes) r = ferror(f->stream) ? -(errno ? errno : EIO) : -ENODATA;
    if (!r && writes && fflush(f->stream)) r = -errno;
    clearerr(f->stream);
    pthread_mutex_unlock(&f->lock);
    return r;
}

/* As much as one call moves. */
static ssize_t some(const struct file *f, char *buf, off_t at, size_t bytes, bool writes)
{
    size_t n = bytes < MOST_AT_ONCE ? bytes : MOST_AT_ONCE;
    int fd = f->fd;
    if (f->direct >= 0 && ((uintptr_t)buf | (uintptr_t)at) % PAGE == 0 && n >= PAGE) {
        fd = f->direct;
        n -= n % PAGE;
    }
    return writes ? pwrite(fd, buf, n, at) : pread(fd, buf, n, at);
}

/* 0, or -errno; -ENODATA: the file ends before. */
static int move_at(struct file *f, char *buf, off_t at, size_t bytes, bool writes)
{
    if (f->stream) return stream_at(f, buf, at, bytes, writes);
    while (bytes > 0) {
        ssize_t n = some(f, buf, at, bytes, writes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? -errno : writes ? -ENOSPC : -ENODATA;
        buf += n;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int move_in(const struct object *o, char *buf, off_t offset, size_t bytes, bool writes)
{
    if (offset < 0 || (size_t)offset > o->bytes || bytes > o->bytes - (size_t)offset) return -EINVAL;
    return move_at(o->file, buf, o->begin + offset, bytes, writes);
}

static int files_read(void *base, void *obj, void *buf, off_t offset, size_t size)
{
    (void)base;
    int r = move_in(obj, buf, offset, size, false);
    return r ? r : (int)size;
}

static int files_write(void *base, void *obj, const void *buf, off_t offset, size_t size)
{
    (void)base;
    return move_in(obj, (char *)buf, offset, size, true);
}

/* ---- opening and closing files ---- */

static void file_close(struct file *f)
{
    if (f->direct >= 0) close(f->direct);
    if (f->stream)
        fclose(f->stream); /* with fd */
    else if (f->fd >= 0)
        close(f->fd);
    pthread_mutex_destroy(&f->lock);
}

/* fd is f's now, whatever becomes of it. */
static int file_init(struct file *f, int fd, enum way way)
{
    char self[64];
    *f = (struct file){ .fd = fd, .direct = -1 };
    pthread_mutex_init(&f->lock, NULL);
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    if (way == DIRECT && (f->direct = open(self, O_RDWR | O_DIRECT | O_CLOEXEC)) < 0)
        orr_warn("this file system has no O_DIRECT (%s); its cache is used", strerror(errno));
    if (way != BY_FILE || (f->stream = fdopen(fd, "r+"))) return 0;
    int r = -errno;
    file_close(f);
    return r;
}

/* A file without a name in the folder. */
static int open_spill(const char *path)
{
    int fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
    char *name = orr_printf_alloc("%s/orrery-XXXXXX", path);
    if (!name) return -1;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) unlink(name);
    orr_free(name);
    return fd;
}

static void *folder_plug(const char *path, enum way way)
{
    struct folder *d = path ? orr_calloc(1, sizeof *d) : NULL;
    if (!d || !(d->path = orr_strdup(path))) {
        orr_free(d);
        return NULL;
    }
    d->way = way;
    pthread_mutex_init(&d->lock, NULL);
    d->made = mkdir(path, 0777) == 0; /* if it cannot be made, opening says so */
    int fd = open_spill(path), r = fd < 0 ? -errno : file_init(&d->spill, fd, way);
    if (r == 0) return d;
    orr_error("folder %s cannot hold data: %s; name one that is there and may be written", path,
              strerror(-r));
    pthread_mutex_destroy(&d->lock);
    orr_free(d->path);
    orr_free(d);
    return NULL;
}

static void folder_unplug(void *base)
{
    struct folder *d = base;
    file_close(&d->spill);
    for (struct gap *g; (g = d->gaps);) {
        d->gaps = g->next;
        orr_free(g);
    }
    if (d->made) rmdir(d->path);
    pthread_mutex_destroy(&d->lock);
    orr_free(d->path);
    orr_free(d);
}

/* ---- room in the folder's own file ---- */

static size_t in_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* The system is asked for it, where it can tell that there is none. */
static bool grow_locked(struct folder *d, size_t bytes)
{
    int r;
    while ((r = fallocate(d->spill.fd, 0, d->end, (off_t)bytes)) != 0 && errno == EINTR) continue;
    if (r != 0 && (errno != EOPNOTSUPP || ftruncate(d->spill.fd, d->end + (off_t)bytes) != 0)) return false;
    d->end += (off_t)bytes;
    return true;
}

/* Where there is room for so many pages; -1: nowhere. */
static off_t take_locked(struct folder *d, size_t bytes)
{
    struct gap **at = &d->gaps;
    while (*at && (*at)->end - (*at)->begin < (off_t)bytes) at = &(*at)->next;
    struct gap *g = *at;
    if (!g) {
        off_t begin = d->end;
        return grow_locked(d, bytes) ? begin : -1;
    }
    off_t begin = g->begin;
    g->begin += (off_t)bytes;
    if (g->begin == g->end) {
        *at = g->next;
        orr_free(g);
    }
    return begin;
}

/* Without memory for a gap the room is lost until the end. */
static void give_back_locked(struct folder *d, off_t begin, off_t end)
{
    struct gap **at = &d->gaps, *before = NULL;
    while (*at && (*at)->begin < begin) {
        before = *at;
        at = &before->next;
    }
    struct gap *after = *at;
    bool joins = before && before->end == begin, joined = after && after->begin == end;
    if (joins && joined) {
        before->end = after->end;
        before->next = after->next;
        orr_free(after);
    } else if (joins) {
        before->end = end;
    } else if (joined) {
        after->begin = begin;
    } else {
        struct gap *g = orr_malloc(sizeof *g);
        if (!g) return;
        *g = (struct gap){ after, begin, end };
        *at = g;
    }
}

static void *files_alloc(void *base, size_t size)
{
    struct folder *d = base;
    struct object *o = orr_malloc(sizeof *o);
    if (!o) return NULL;
    pthread_mutex_lock(&d->lock);
    off_t begin = take_locked(d, in_pages(size));
    pthread_mutex_unlock(&d->lock);
    if (begin < 0) {
        orr_free(o);
        return NULL;
    }
    *o = (struct object){ &d->spill, begin, size };
    return o;
}

static void files_free(void *base, void *obj, size_t size)
{
    struct folder *d = base;
    struct object *o = obj;
    pthread_mutex_lock(&d->lock);
    give_back_locked(d, o->begin, o->begin + (off_t)in_pages(size));
    pthread_mutex_unlock(&d->lock);
    orr_free(o);
}

/* ---- files of the program's ---- */

static int open_in(const struct folder *d, const char *name, struct file *f)
{
    char *path = orr_printf_alloc("%s/%s", d->path, name);
    if (!path) return -ENOMEM;
    int fd = open(path, O_RDWR | O_CLOEXEC), r = fd < 0 ? -errno : file_init(f, fd, d->way);
    if (r) orr_error("starpu_disk_open: file %s cannot be opened: %s", path, strerror(-r));
    orr_free(path);
    return r;
}

static void *files_open(void *base, void *pos, size_t size)
{
    struct file *f = orr_malloc(sizeof *f);
    struct object *o = orr_malloc(sizeof *o);
    if (f && o && pos && open_in(base, pos, f) == 0) {
        *o = (struct object){ f, 0, size };
        return o;
    }
    orr_free(f);
    orr_free(o);
    return NULL;
}

static void files_close(void *base, void *obj, size_t size)
{
    struct object *o = obj;
    (void)base;
    (void)size;
    file_close(o->file);
    orr_free(o->file);
    orr_free(o);
}

/* ---- the tables ---- */

static void *plug_fd(void *parameter, starpu_ssize_t size)
{
    (void)size; /* core/mem keeps it */
    return folder_plug(parameter, BY_FD);
}

static void *plug_direct(void *parameter, starpu_ssize_t size)
{
    (void)size;
    starpu_malloc_set_align(PAGE);
    return folder_plug(parameter, DIRECT);
}

static void *plug_stream(void *parameter, starpu_ssize_t size)
{
    (void)size;
    return folder_plug(parameter, BY_FILE);
}

#define FILES(plug_)                                                                                         \
    {                                                                                                        \
        .plug = plug_, .unplug = folder_unplug, .alloc = files_alloc, .free = files_free,                    \
        .open = files_open, .close = files_close, .read = files_read, .write = files_write                   \
    }

struct starpu_disk_ops starpu_disk_unistd_ops = FILES(plug_fd);
struct starpu_disk_ops starpu_disk_unistd_o_direct_ops = FILES(plug_direct);
struct starpu_disk_ops starpu_disk_stdio_ops = FILES(plug_stream);
