/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.c: an HDF5 file as a storage, by libhdf5, which is loaded when a program asks for it.
 * Threads: any. Owns: the library's functions, and the files that are open. Not here: see disk.c.
 *
 * Each object is a data set of bytes. Builds of the library that are not thread-safe are the usual ones, so
 * one lock is held around every call. Its types are those of 1.10 and later, checked by H5get_libversion. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/sync.h"

typedef int64_t id; /* hid_t */
typedef int status; /* herr_t; negative: an error */
typedef unsigned long long extent;

enum {
    FILE_NEW = 2 /* empties one */,
    FILE_WRITE = 1,
    SELECT_SET = 0,
    DEFAULT = 0,
    ALL = 0,
    DEFAULT_ERRORS = 0
};

/* name, what it returns, parameters */
#define FUNCTIONS(F)                                                                                         \
    F(H5open, status, (void))                                                                                \
    F(H5get_libversion, status, (unsigned *, unsigned *, unsigned *))                                        \
    F(H5Eset_auto2, status, (id, void *, void *))                                                            \
    F(H5Fcreate, id, (const char *, unsigned, id, id))                                                       \
    F(H5Fopen, id, (const char *, unsigned, id))                                                             \
    F(H5Fclose, status, (id))                                                                                \
    F(H5Screate_simple, id, (int, const extent *, const extent *))                                           \
    F(H5Sselect_hyperslab, status,                                                                           \
      (id, int, const extent *, const extent *, const extent *, const extent *))                             \
    F(H5Sclose, status, (id))                                                                                \
    F(H5Dcreate2, id, (id, const char *, id, id, id, id, id))                                                \
    F(H5Dopen2, id, (id, const char *, id))                                                                  \
    F(H5Dget_space, id, (id))                                                                                \
    F(H5Dread, status, (id, id, id, id, id, void *))                                                         \
    F(H5Dwrite, status, (id, id, id, id, id, const void *))                                                  \
    F(H5Dclose, status, (id))                                                                                \
    F(H5Ldelete, status, (id, const char *, id))

static struct {
#define F(name, type, parameters) type(*name) parameters;
    FUNCTIONS(F)
#undef F
    id *byte; /* the type of one */
    void *library;
} h5;
static ORR_MUTEX(hdf5) lock = PTHREAD_MUTEX_INITIALIZER; /* protects the library, and all below; leaf */

struct file {
    id file;
    char *folder; /* made for it, and removed with it; or NULL */
    unsigned long made;
};

struct object {
    id set;
    unsigned long number;
};

/* ---- the library ---- */

/* It writes whenever it sees fit, on the thread that called it. A file that grows past the process's limit is
 * an error, not the signal that would end the program: that is kept from the thread meanwhile. */
static void enter(sigset_t *before_out)
{
    sigset_t too_large;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_large, before_out);
    pthread_mutex_lock(&lock);
}

static void leave(const sigset_t *before)
{
    sigset_t too_large, pending;
    struct timespec at_once = { 0 };
    pthread_mutex_unlock(&lock);
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    if (!sigismember(before, SIGXFSZ) && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ))
        sigtimedwait(&too_large, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static bool find_functions(void)
{
    bool all = true;
#define F(name, type, parameters) all &= (*(void **)&h5.name = dlsym(h5.library, #name)) != NULL;
    FUNCTIONS(F)
#undef F
    h5.byte = dlsym(h5.library, "H5T_NATIVE_UCHAR_g");
    return all && h5.byte;
}

static const char *load_locked(void)
{
    const char *names[] = { orr_env_string(ORR_SETTING(ORRERY_HDF5_LIBRARY)),
                            "libhdf5_serial.so.103",
                            "libhdf5_serial.so.310",
                            "libhdf5.so.310",
                            "libhdf5.so.200",
                            "libhdf5.so.103",
                            "libhdf5.so" };
    unsigned version[3] = { 0, 0, 0 };
    if (h5.library) return NULL;
    for (size_t i = names[0] ? 0 : 1; !h5.library && i < (names[0] ? 1 : sizeof names / sizeof *names); i++)
        h5.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!h5.library) return "libhdf5 is not there (Debian: libhdf5-dev); ORRERY_HDF5_LIBRARY names it";
    const char *why = !find_functions() ? "it lacks functions"
                      : h5.H5open() < 0 ? "it does not start"
                      : h5.H5get_libversion(&version[0], &version[1], &version[2]) < 0 ||
                              (version[0] == 1 && version[1] < 10)
                          ? "it is older than 1.10"
                          : NULL;
    if (why) {
        dlclose(h5.library);
        h5.library = NULL;
    } else {
        h5.H5Eset_auto2(DEFAULT_ERRORS, NULL, NULL); /* errors are said here */
    }
    return why;
}

/* ---- objects ---- */

static void name_of(char name[32], unsigned long number)
{
    snprintf(name, 32, "datum%lu", number);
}

static id make_set_locked(struct file *f, unsigned long number, size_t size)
{
    char name[32];
    extent bytes = size;
    name_of(name, number);
    id space = h5.H5Screate_simple(1, &bytes, NULL);
    if (space < 0) return -1;
    id set = h5.H5Dcreate2(f->file, name, *h5.byte, space, DEFAULT, DEFAULT, DEFAULT);
    h5.H5Sclose(space);
    return set;
}

static void *hdf5_alloc(void *base, size_t size)
{
    sigset_t signals;
    struct file *f = base;
    struct object *o = orr_malloc(sizeof *o);
    if (!o) return NULL;
    enter(&signals);
    o->number = ++f->made;
    o->set = make_set_locked(f, o->number, size);
    leave(&signals);
    if (o->set >= 0) return o;
    orr_free(o);
    return NULL;
}

static void hdf5_free(void *base, void *obj, size_t size)
{
    sigset_t signals;
    struct file *f = base;
    struct object *o = obj;
    char name[32];
    (void)size;
    name_of(name, o->number);
    enter(&signals);
    h5.H5Dclose(o->set);
    h5.H5Ldelete(f->file, name, DEFAULT);
    leave(&signals);
    orr_free(o);
}

static void *hdf5_open(void *base, void *pos, size_t size)
{
    sigset_t signals;
    struct file *f = base;
    struct object *o = pos ? orr_calloc(1, sizeof *o) : NULL;
    (void)size;
    if (!o) return NULL;
    enter(&signals);
    o->set = h5.H5Dopen2(f->file, pos, DEFAULT);
    leave(&signals);
    if (o->set >= 0) return o;
    orr_error("starpu_disk_open: the HDF5 file has no data set \"%s\"", (const char *)pos);
    orr_free(o);
    return NULL;
}

static void hdf5_close(void *base, void *obj, size_t size)
{
    sigset_t signals;
    struct object *o = obj;
    (void)base;
    (void)size;
    enter(&signals);
    h5.H5Dclose(o->set);
    leave(&signals);
    orr_free(o);
}

/* Selects the bytes in the file's space and moves them. */
static status move_locked(id set, id there, extent offset, extent bytes, void *buf, bool writes)
{
    id here = h5.H5Screate_simple(1, &bytes, NULL);
    status r = here < 0 ? -1 : h5.H5Sselect_hyperslab(there, SELECT_SET, &offset, NULL, &bytes, NULL);
    if (r >= 0 && writes) r = h5.H5Dwrite(set, *h5.byte, here, there, DEFAULT, buf);
    if (r >= 0 && !writes) r = h5.H5Dread(set, *h5.byte, here, there, DEFAULT, buf);
    if (here >= 0) h5.H5Sclose(here);
    return r;
}

static int move(struct object *o, void *buf, off_t offset, size_t size, bool writes)
{
    sigset_t signals;
    enter(&signals);
    id there = h5.H5Dget_space(o->set);
    status r = there < 0 ? -1 : move_locked(o->set, there, (extent)offset, size, buf, writes);
    if (there >= 0) h5.H5Sclose(there);
    leave(&signals);
    return r < 0 ? -EIO : 0;
}

static int hdf5_read(void *base, void *obj, void *buf, off_t offset, size_t size)
{
    (void)base;
    int r = move(obj, buf, offset, size, false);
    return r ? r : (int)size;
}

static int hdf5_write(void *base, void *obj, const void *buf, off_t offset, size_t size)
{
    (void)base;
    return move(obj, (void *)buf, offset, size, true);
}

/* ---- files ---- */

/* A new file, which has no name any more once it is open: it goes with the process, whatever ends that. */
static id new_file_locked(const char *folder)
{
    static const char ending[] = ".h5";
    char *name = orr_printf_alloc("%s/orrery-XXXXXX%s", folder, ending);
    int fd = name ? mkostemps(name, sizeof ending - 1, O_CLOEXEC) : -1;
    id file = fd < 0 ? -1 : h5.H5Fcreate(name, FILE_NEW, DEFAULT, DEFAULT);
    if (fd >= 0) {
        unlink(name);
        close(fd);
    }
    orr_free(name);
    return file;
}

/* A folder: a new file in it. Else the program's file. Called with the lock. */
static id open_file_locked(const char *path, char **made_out)
{
    struct stat s;
    bool there = stat(path, &s) == 0;
    if (there && !S_ISDIR(s.st_mode)) return h5.H5Fopen(path, FILE_WRITE, DEFAULT);
    if (!there && mkdir(path, 0777) == 0) *made_out = orr_strdup(path);
    return new_file_locked(path);
}

static void *hdf5_plug(void *parameter, starpu_ssize_t size)
{
    sigset_t signals;
    struct file *f = parameter ? orr_calloc(1, sizeof *f) : NULL;
    (void)size;
    if (!f) return NULL;
    enter(&signals);
    const char *why = load_locked();
    f->file = why ? -1 : open_file_locked(parameter, &f->folder);
    leave(&signals);
    if (f->file >= 0) return f;
    orr_error("HDF5 cannot keep data in %s: %s", (const char *)parameter,
              why ? why : "it is no folder that may be written, nor an HDF5 file");
    orr_free(f->folder);
    orr_free(f);
    return NULL;
}

static void hdf5_unplug(void *base)
{
    sigset_t signals;
    struct file *f = base;
    enter(&signals);
    h5.H5Fclose(f->file);
    leave(&signals);
    if (f->folder) rmdir(f->folder);
    orr_free(f->folder);
    orr_free(f);
}

struct starpu_disk_ops starpu_disk_hdf5_ops = {
    .plug = hdf5_plug,
    .unplug = hdf5_unplug,
    .alloc = hdf5_alloc,
    .free = hdf5_free,
    .open = hdf5_open,
    .close = hdf5_close,
    .read = hdf5_read,
    .write = hdf5_write,
};
