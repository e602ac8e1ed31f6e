/* SPDX-License-Identifier: BSD-3-Clause */
/* snapshot.c: see snapshot.h. Threads: see snapshot.h. Owns: see snapshot.h. Not here: see snapshot.h. */
#include "mpi/value/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "mpi/value/crc32c.h"

static const char magic[8] = "ORRcp\r\n\n";
enum { VERSION = 1 };

struct tail {
    char end[8];
    uint32_t blocks, chain; /* how many there were, and a sum over their headers */
    uint32_t zero, crc;
};

static const char end_mark[8] = "ORRend\r\n";

/* ---- names ---- */

void orr_snapshot_path(const char *folder, const struct orr_snapshot_head *head, char *dst, size_t bytes)
{
    snprintf(dst, bytes, "%s/cp%" PRId32 ".%" PRId32 ".%016" PRIx64 ".%" PRIu64 ".rank%" PRId32, folder,
             head->id, head->domain, head->when.run, head->when.instance, head->rank);
}

/* Whether it is a file of the head's id, domain and rank; of when, and whether it was being written. */
static bool is_of(const char *name, const struct orr_snapshot_head *head, struct orr_snapshot_when *when_out,
                  bool *half_out)
{
    int id, domain, rank, length = 0;
    if (sscanf(name, "cp%d.%d.%16" SCNx64 ".%" SCNu64 ".rank%d%n", &id, &domain, &when_out->run,
               &when_out->instance, &rank, &length) != 5 ||
        id != head->id || domain != head->domain || rank != head->rank)
        return false;
    *half_out = strcmp(name + length, ".tmp") == 0;
    return *half_out || name[length] == 0;
}

int orr_snapshot_compare(const struct orr_snapshot_when *a, const struct orr_snapshot_when *b)
{
    if (a->run != b->run) return a->run > b->run ? -1 : 1;
    return a->instance > b->instance ? -1 : a->instance < b->instance;
}

unsigned orr_snapshot_list(const char *folder, const struct orr_snapshot_head *head,
                           struct orr_snapshot_when *list_out, unsigned max)
{
    unsigned count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        struct orr_snapshot_when when;
        bool half;
        if (!is_of(e->d_name, head, &when, &half) || half) continue;
        unsigned at = count < max ? count++ : max;
        for (; at > 0 && orr_snapshot_compare(&when, &list_out[at - 1]) < 0; at--)
            if (at < max) list_out[at] = list_out[at - 1];
        if (at < max) list_out[at] = when;
    }
    if (d) closedir(d);
    return count;
}

void orr_snapshot_remove_before(const char *folder, const struct orr_snapshot_head *head,
                                const struct orr_snapshot_when *when)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        struct orr_snapshot_when its;
        bool half;
        if (is_of(e->d_name, head, &its, &half) && orr_snapshot_compare(when, &its) < 0)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d) closedir(d);
}

/* ---- writing ---- */

static int write_all(int fd, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? -errno : -EIO;
        p += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* As mkdir -p does. */
static int make_folder(const char *folder)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s", folder) >= sizeof path) return -ENAMETOOLONG;
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        mkdir(path, 0777);
        *p = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -errno;
}

int orr_snapshot_create(struct orr_snapshot_out *out, const char *folder,
                        const struct orr_snapshot_head *head)
{
    struct orr_snapshot_head h = *head;
    int r = make_folder(folder);
    if (r) return r;
    orr_snapshot_path(folder, head, out->path, sizeof out->path);
    if ((size_t)snprintf(out->temporary, sizeof out->temporary, "%s.tmp", out->path) >= sizeof out->temporary)
        return -ENAMETOOLONG;
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out->fd < 0) return -errno;
    out->written = out->chain = 0;
    out->blocks = h.blocks;
    memcpy(h.magic, magic, sizeof magic);
    h.version = VERSION;
    h.crc = orr_crc32c(0, &h, offsetof(struct orr_snapshot_head, crc));
    r = write_all(out->fd, &h, sizeof h);
    if (r) orr_snapshot_abandon(out);
    return r;
}

int orr_snapshot_add(struct orr_snapshot_out *out, uint32_t entry, uint32_t kind, int64_t tag,
                     const void *data, size_t bytes)
{
    struct orr_snapshot_block b = {
        .tag = tag, .bytes = bytes, .entry = entry, .kind = kind, .payload_crc = orr_crc32c(0, data, bytes)
    };
    b.crc = orr_crc32c(0, &b, offsetof(struct orr_snapshot_block, crc));
    out->chain = orr_crc32c(out->chain, &b, sizeof b);
    out->written++;
    int r = write_all(out->fd, &b, sizeof b);
    return r ? r : write_all(out->fd, data, bytes);
}

/* The name is on the disk as well. */
static int sync_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -errno;
    int r = fsync(fd) == 0 || errno == EINVAL ? 0 : -errno; /* some file systems have no such thing */
    close(fd);
    return r;
}

int orr_snapshot_close(struct orr_snapshot_out *out)
{
    struct tail t = { .blocks = out->written, .chain = out->chain };
    memcpy(t.end, end_mark, sizeof end_mark);
    t.crc = orr_crc32c(0, &t, offsetof(struct tail, crc));
    int r = out->written == out->blocks ? write_all(out->fd, &t, sizeof t) : -EINVAL;
    if (!r && fsync(out->fd) != 0) r = -errno;
    if (r) {
        orr_snapshot_abandon(out);
        return r;
    }
    if (close(out->fd) != 0) r = -errno; /* it may be only now that the disk is full */
    out->fd = -1;
    if (!r && rename(out->temporary, out->path) != 0) r = -errno;
    if (!r) r = sync_folder(out->path);
    if (r) unlink(out->temporary);
    return r;
}

void orr_snapshot_abandon(struct orr_snapshot_out *out)
{
    if (out->fd >= 0) close(out->fd);
    out->fd = -1;
    unlink(out->temporary);
}

/* ---- reading ---- */

struct reading {
    FILE *file;
    char *why;
    size_t why_bytes;
};

#define WRONG(r, status, ...) (snprintf((r)->why, (r)->why_bytes, __VA_ARGS__), (status))

static int read_all(struct reading *r, void *data, size_t bytes, const char *what)
{
    if (fread(data, 1, bytes, r->file) == bytes) return 0;
    if (ferror(r->file)) return WRONG(r, -EIO, "%s cannot be read: %s", what, strerror(errno));
    return WRONG(r, -EBADMSG, "it is cut: %s is missing", what);
}

static int read_head(struct reading *r, const struct orr_snapshot_head *wanted, struct orr_snapshot_head *h)
{
    int status = read_all(r, h, sizeof *h, "its head");
    if (status) return status;
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return WRONG(r, -EBADMSG,
                     "it is not a checkpoint of this library, or of a machine of another byte order");
    if (h->version != VERSION)
        return WRONG(r, -EBADMSG, "it has version %u, this library reads %d", h->version, VERSION);
    if (h->crc != orr_crc32c(0, h, offsetof(struct orr_snapshot_head, crc)))
        return WRONG(r, -EBADMSG, "its head is damaged");
    if (h->id != wanted->id || h->domain != wanted->domain || h->rank != wanted->rank ||
        orr_snapshot_compare(&h->when, &wanted->when) != 0)
        return WRONG(r, -EBADMSG,
                     "its name is not that of the file that was written (checkpoint %d.%d, instance %" PRIu64
                     ", rank %d): it was renamed",
                     h->id, h->domain, h->when.instance, h->rank);
    if (h->ranks != wanted->ranks)
        return WRONG(r, -EINVAL, "it is of a run with %d ranks, this one has %d", h->ranks, wanted->ranks);
    if (strncmp(h->program, wanted->program, sizeof h->program) != 0)
        return WRONG(r, -EINVAL, "program %.*s wrote it, this is %s", (int)sizeof h->program, h->program,
                     wanted->program);
    return 0;
}

/* left: bytes of the file from here on. */
static int read_block(struct reading *r, uint64_t left, uint32_t *chain, orr_snapshot_fn fn, void *arg,
                      uint64_t *used_out)
{
    struct orr_snapshot_block b;
    int status = read_all(r, &b, sizeof b, "a value");
    if (status) return status;
    if (b.crc != orr_crc32c(0, &b, offsetof(struct orr_snapshot_block, crc)))
        return WRONG(r, -EBADMSG, "the head of a value is damaged");
    if (b.bytes > left - sizeof b)
        return WRONG(r, -EBADMSG, "it is cut: entry %u (tag %" PRId64 ") is not there in full", b.entry,
                     b.tag);
    *chain = orr_crc32c(*chain, &b, sizeof b);
    *used_out = sizeof b + b.bytes;
    void *data = orr_malloc(b.bytes ? b.bytes : 1);
    if (!data)
        return WRONG(r, -ENOMEM, "there is no memory for entry %u of %" PRIu64 " bytes", b.entry, b.bytes);
    status = read_all(r, data, b.bytes, "a value");
    if (!status && b.payload_crc != orr_crc32c(0, data, b.bytes))
        status = WRONG(r, -EBADMSG, "entry %u (tag %" PRId64 ", %" PRIu64 " bytes) is damaged", b.entry,
                       b.tag, b.bytes);
    if (!status && fn) status = fn(arg, &b, data, r->why, r->why_bytes);
    orr_free(data);
    return status;
}

static int read_tail(struct reading *r, const struct orr_snapshot_head *h, uint32_t chain)
{
    struct tail t;
    int status = read_all(r, &t, sizeof t, "its end");
    if (status) return status;
    if (memcmp(t.end, end_mark, sizeof end_mark) != 0 ||
        t.crc != orr_crc32c(0, &t, offsetof(struct tail, crc)) || t.blocks != h->blocks || t.chain != chain)
        return WRONG(r, -EBADMSG, "its end is damaged");
    return 0;
}

int orr_snapshot_read(const char *folder, const struct orr_snapshot_head *head, orr_snapshot_fn fn, void *arg,
                      char *why, size_t why_bytes)
{
    char path[PATH_MAX];
    struct stat st;
    struct orr_snapshot_head h;
    orr_snapshot_path(folder, head, path, sizeof path);
    struct reading r = { .file = fopen(path, "re"), .why = why, .why_bytes = why_bytes };
    if (!r.file || fstat(fileno(r.file), &st) != 0) {
        int status = WRONG(&r, -errno, "it cannot be opened: %s", strerror(errno));
        if (r.file) fclose(r.file);
        return status;
    }
    uint32_t chain = 0;
    uint64_t at = sizeof h, used = 0, size = (uint64_t)st.st_size;
    int status = read_head(&r, head, &h);
    for (uint32_t i = 0; i < h.blocks && !status; i++, at += used)
        status = size < at + sizeof(struct orr_snapshot_block)
                     ? WRONG(&r, -EBADMSG, "it is cut: it has %u of %u values", i, h.blocks)
                     : read_block(&r, size - at, &chain, fn, arg, &used);
    if (!status) status = read_tail(&r, &h, chain);
    if (!status && (h.shape != head->shape || h.blocks != head->blocks))
        status =
            WRONG(&r, -EINVAL,
                  "it is of a program with other data: those of this rank agree as far as it has them (%u, "
                  "here %u), those of others, or their owners, do not",
                  h.blocks, head->blocks);
    fclose(r.file);
    return status;
}
