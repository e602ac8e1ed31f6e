/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c: models in text files.
 * Threads: any. Owns: the format. Not here: when models are saved (perfmodel.c).
 *
 * A file is lines: "orrery-perfmodel 1", the symbol, the model's type, then for each architecture and
 * implementation an "arch" line and its "entry" lines, and at the end the checksum (FNV-1a, 64 bits) of all
 * bytes before its line. It is read whole and checked before anything is believed. Files in folders that
 * others can write may be traps: links, files of other users, and anything that is not a regular file are
 * refused. A file that is refused is one warning, and the model is calibrated anew. */
#include "core/perf/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/perf/perfmodel.h"

enum { FILE_BYTES_MAX = 64 << 20, NAME_BYTES = 256, DEVICES_MAX = 64, PARAMETERS_MAX = 64 };

static const char first_line[] = "orrery-perfmodel 1";
static const char magic_word[] = "orrery-perfmodel ";
enum { VERSION = 1 };

/* ---- names ---- */

/* Writes s so that it is safe as a part of a file name. False when it does not fit. */
static bool encode(const char *s, char *out, size_t maxlen)
{
    size_t n = 0;
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                     c == '-' || c == '+' || (c == '.' && p != s);
        if (n + (plain ? 1 : 3) >= maxlen) return false;
        if (plain)
            out[n++] = (char)c;
        else
            n += (size_t)snprintf(out + n, maxlen - n, "%%%02x", c);
    }
    out[n] = 0;
    return n > 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void decode(char *s)
{
    char *out = s;
    for (; *s; s++) {
        if (*s == '%' && hex_digit(s[1]) >= 0 && hex_digit(s[2]) >= 0) {
            *out++ = (char)(16 * hex_digit(s[1]) + hex_digit(s[2]));
            s += 2;
        } else {
            *out++ = *s;
        }
    }
    *out = 0;
}

static bool host_suffix(char *out, size_t maxlen)
{
    char host[NAME_BYTES];
    const char *given = orr_env_string(ORR_SETTING(STARPU_HOSTNAME));
    if (!given && gethostname(host, sizeof host) != 0) strcpy(host, "localhost");
    host[sizeof host - 1] = 0;
    out[0] = '.';
    return encode(given ? given : host, out + 1, maxlen - 1);
}

static int make_folders(char *path)
{
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/') continue;
        char kept = *p;
        *p = 0;
        int status = mkdir(path, 0755) != 0 && errno != EEXIST ? -errno : 0;
        *p = kept;
        if (status != 0 && (!kept || status != -EROFS)) return status;
        if (!kept) return 0;
    }
}

/* The folder in which the files of the models lie, under base. */
static bool folder_under(const char *base, const char *between, const char *of, char *path, size_t maxlen)
{
    int n = snprintf(path, maxlen, "%s%s/%s/orrery", base, between, of);
    return n > 0 && (size_t)n < maxlen;
}

static int directory_of(const char *of, char *path, size_t maxlen, bool make)
{
    const char *base = orr_env_string(ORR_SETTING(STARPU_PERF_MODEL_DIR)), *between = "";
    if (!base) {
        base = orr_env_string(ORR_SETTING(STARPU_HOME));
        if (!base) base = orr_env_string(ORR_SETTING(HOME));
        if (!base) return -ENOENT;
        between = "/.starpu/sampling";
    }
    if (!folder_under(base, between, of, path, maxlen)) return -ENAMETOOLONG;
    return make ? make_folders(path) : 0;
}

int orr_store_folder(const char *of, char *path, size_t maxlen, bool make)
{
    return directory_of(of, path, maxlen, make);
}

int orr_store_directory(char *path, size_t maxlen, bool make)
{
    return directory_of("codelets", path, maxlen, make);
}

/* path holds a folder: appends "/SYMBOL.HOST". */
static int append_file(const char *symbol, char *path, size_t maxlen)
{
    char name[NAME_BYTES], host[NAME_BYTES];
    size_t used = strlen(path);
    if (!encode(symbol, name, sizeof name) || !host_suffix(host, sizeof host)) return -ENAMETOOLONG;
    if (strlen(name) + strlen(host) >= NAME_BYTES - 32)
        return -ENAMETOOLONG; /* the temporary name is longer */
    int n = snprintf(path + used, maxlen - used, "/%s%s", name, host);
    return n > 0 && (size_t)n < maxlen - used ? 0 : -ENAMETOOLONG;
}

int orr_store_bus_path(char *path, size_t maxlen, bool make)
{
    int status = directory_of("bus", path, maxlen, make);
    return status != 0 ? status : append_file("links", path, maxlen);
}

int orr_store_path(const char *symbol, char *path, size_t maxlen)
{
    int status = orr_store_directory(path, maxlen, true);
    return status != 0 ? status : append_file(symbol, path, maxlen);
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

int orr_store_find(const char *symbol, char *path, size_t maxlen)
{
    if (orr_store_directory(path, maxlen, false) == 0 && append_file(symbol, path, maxlen) == 0 &&
        is_there(path))
        return 0;
    const char *search = orr_env_string(ORR_SETTING(STARPU_PERF_MODEL_PATH));
    while (search && *search) {
        const char *colon = strchrnul(search, ':');
        char base[4096];
        int n = snprintf(base, sizeof base, "%.*s", (int)(colon - search), search);
        if (n > 0 && (size_t)n < sizeof base && folder_under(base, "", "codelets", path, maxlen) &&
            append_file(symbol, path, maxlen) == 0 && is_there(path))
            return 0;
        search = *colon ? colon + 1 : colon;
    }
    return -ENOENT;
}

int orr_store_each(void (*fn)(const char *symbol, void *arg), void *arg)
{
    char path[4096], host[NAME_BYTES];
    int status = orr_store_directory(path, sizeof path, false);
    if (status != 0) return status;
    if (!host_suffix(host, sizeof host)) return -ENAMETOOLONG;
    DIR *d = opendir(path);
    if (!d) return errno == ENOENT ? 0 : -errno;
    size_t host_length = strlen(host);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || n <= host_length || strcmp(e->d_name + n - host_length, host) != 0)
            continue;
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "%.*s", (int)(n - host_length), e->d_name);
        decode(name);
        fn(name, arg);
    }
    closedir(d);
    return 0;
}

/* ---- reading ---- */

uint64_t orr_store_checksum(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

/* Reads a whole regular file of ours (or of root's) into memory; the caller frees *text_out. 0 or -errno. */
static int read_whole(const char *path, char **text_out, size_t *length_out)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -errno;
    struct stat st;
    int status = fstat(fd, &st) != 0 ? -errno : 0;
    if (status == 0 && (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0))) status = -EPERM;
    if (status == 0 && st.st_size > FILE_BYTES_MAX) status = -EINVAL;
    size_t size = status == 0 ? (size_t)st.st_size : 0, done = 0;
    char *text = status == 0 ? orr_malloc(size + 1) : NULL;
    if (status == 0 && !text) status = -ENOMEM;
    while (status == 0 && done < size) {
        ssize_t n = read(fd, text + done, size - done);
        if (n < 0 && errno != EINTR) status = -errno;
        if (n == 0) break; /* it shrank: the checksum will not match */
        if (n > 0) done += (size_t)n;
    }
    close(fd);
    if (status != 0) {
        orr_free(text);
        return status;
    }
    text[done] = 0;
    *text_out = text;
    *length_out = done;
    return 0;
}

/* Checks that it begins with magic, and its checksum; cuts the checksum line off. NULL when all is well, else
 * what is wrong. */
static const char *check_frame(char *text, size_t *length, const char *magic)
{
    size_t n = *length;
    if (n == 0) return "it is empty";
    if (strlen(text) != n || strncmp(text, magic, strlen(magic) < n ? strlen(magic) : n) != 0)
        return "it was not written by this library";
    if (text[n - 1] != '\n') return "it is truncated";
    size_t start = n - 1;
    while (start > 0 && text[start - 1] != '\n') start--;
    char last_line[32];
    int expected = snprintf(last_line, sizeof last_line, "checksum %016llx\n",
                            (unsigned long long)orr_store_checksum(text, start));
    if (n - start != (size_t)expected || strncmp(text + start, "checksum ", 9) != 0) return "it is truncated";
    if (memcmp(text + start, last_line, n - start) != 0) return "its checksum does not match";
    text[start] = 0;
    *length = start;
    return NULL;
}

/* A reader of words; ok turns false at the first that is missing or wrong,
 * and the values are 0 from then on. */
struct words {
    char *at;
    bool ok;
};

static uint64_t word_u64(struct words *w, int base, uint64_t max)
{
    if (!w->ok) return 0;
    char *end;
    while (*w->at == ' ') w->at++;
    errno = 0;
    uint64_t v = strtoull(w->at, &end, base);
    if (end == w->at || errno || v > max || *w->at == '-' || *w->at == '+') w->ok = false;
    w->at = end;
    return w->ok ? v : 0; /* callers use it as a bound before they look at ok */
}

static double word_double(struct words *w)
{
    if (!w->ok) return 0;
    char *end;
    errno = 0;
    double v = strtod(w->at, &end);
    if (end == w->at || !isfinite(v)) w->ok = false;
    w->at = end;
    return w->ok ? v : 0;
}

static bool words_end(const struct words *w)
{
    return w->ok && *w->at == 0;
}

static struct orr_perf_arch *parse_arch(struct orr_perfmodel_state *s, char *line)
{
    struct starpu_perfmodel_device devices[DEVICES_MAX];
    struct words w = { line, true };
    int n = (int)word_u64(&w, 10, DEVICES_MAX);
    for (int i = 0; i < n; i++) {
        devices[i].type = (enum starpu_worker_archtype)word_u64(&w, 10, STARPU_NARCH - 1);
        devices[i].devid = (int)word_u64(&w, 10, 65535);
        devices[i].ncores = (int)word_u64(&w, 10, 65535);
    }
    unsigned nimpl = (unsigned)word_u64(&w, 10, STARPU_MAXIMPLEMENTATIONS - 1);
    if (n == 0 || !words_end(&w)) return NULL;
    return orr_perfmodel_arch_make(s, orr_arch_intern(n, devices), nimpl);
}

/* adopt: a state without a type of its own takes the number of parameters from the file. */
static bool parse_entry(struct orr_perfmodel_state *s, struct orr_perf_arch *pa, char *line, bool adopt)
{
    double parameters[PARAMETERS_MAX];
    struct words w = { line, true };
    struct starpu_perfmodel_history_entry e = { 0 };
    e.footprint = (uint32_t)word_u64(&w, 16, UINT32_MAX);
    e.size = word_u64(&w, 10, SIZE_MAX);
    e.flops = word_double(&w);
    e.nsample = (unsigned)word_u64(&w, 10, UINT32_MAX);
    e.nerror = (unsigned)word_u64(&w, 10, UINT32_MAX);
    e.sum = word_double(&w);
    e.sum2 = word_double(&w);
    e.duration = word_double(&w);
    e.tag = word_u64(&w, 10, UINT64_MAX);
    unsigned np = (unsigned)word_u64(&w, 10, PARAMETERS_MAX);
    for (unsigned i = 0; i < np; i++) parameters[i] = word_double(&w);
    if (!words_end(&w) || e.nsample == 0 || e.sum < 0 || e.sum2 < 0) return false;
    if (adopt && s->nparameters == 0) s->nparameters = np;
    if (np != s->nparameters && s->type == STARPU_MULTIPLE_REGRESSION_BASED) return false;
    e.parameters = np && np == s->nparameters ? parameters : NULL;
    return orr_history_restore(pa, &e) == 0;
}

static void refit(struct orr_perf_arch *pa, int comb, unsigned nimpl, void *arg)
{
    (void)comb;
    (void)nimpl;
    (void)arg;
    orr_history_refit(pa);
}

/* Fills s from the lines of text. NULL when all is well, else what is wrong. */
static const char *parse(struct orr_perfmodel_state *s, char *text)
{
    struct orr_perf_arch *pa = NULL;
    bool adopt = s->type == STARPU_PERFMODEL_INVALID;
    int number = 0;
    for (char *line = text, *next; *line; line = next) {
        char *end = strchrnul(line, '\n');
        next = *end ? end + 1 : end;
        *end = 0;
        number++;
        if (number == 1) {
            if (strcmp(line, first_line) != 0) return "it was written by another version";
        } else if (strncmp(line, "symbol ", 7) == 0) {
            decode(line + 7);
            if (!s->symbol && strcmp(line + 7, "-") != 0) s->symbol = orr_strdup(line + 7);
        } else if (strncmp(line, "type ", 5) == 0) {
            struct words w = { line + 5, true };
            uint64_t type = word_u64(&w, 10, STARPU_MULTIPLE_REGRESSION_BASED);
            if (!words_end(&w) || type < STARPU_HISTORY_BASED) return "its type is unknown";
            if (adopt) s->type = (enum starpu_perfmodel_type)type;
        } else if (strncmp(line, "arch ", 5) == 0) {
            pa = parse_arch(s, line + 5);
            if (!pa) return "it has a damaged architecture";
        } else if (strncmp(line, "entry ", 6) == 0) {
            if (!pa || !parse_entry(s, pa, line + 6, adopt)) return "it has a damaged entry";
        } else {
            return "it has an unknown line";
        }
    }
    if (number < 3) return "it is incomplete";
    orr_perfmodel_each(s, refit, NULL);
    return NULL;
}

/* Numbers are written and read with a point, whatever the program's locale. */
static locale_t c_locale_begin(locale_t *c_out)
{
    *c_out = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *c_out ? uselocale(*c_out) : (locale_t)0;
}

static void c_locale_end(locale_t c, locale_t before)
{
    if (!c) return;
    uselocale(before);
    freelocale(c);
}

/* Why a file could not be read; NULL: it could. */
static const char *why_unread(int status)
{
    switch (status) {
    case 0: return NULL;
    case -ELOOP: return "it is a link";
    case -EPERM: return "it is not a regular file of this user";
    case -EINVAL: return "it is too large";
    default: return strerror(-status);
    }
}

int orr_store_read_numbers(const char *path, const char *magic, orr_store_line_fn line_fn, void *arg)
{
    char *text = NULL;
    size_t length = 0;
    int status = read_whole(path, &text, &length);
    if (status == -ENOENT) return status;
    const char *wrong = why_unread(status);
    if (!wrong) {
        locale_t c, before = c_locale_begin(&c);
        wrong = check_frame(text, &length, magic);
        for (char *line = text, *next; !wrong && *line; line = next) {
            char *end = strchrnul(line, '\n');
            next = *end ? end + 1 : end;
            *end = 0;
            if (line != text && !line_fn(line, arg)) wrong = "it has a damaged line";
        }
        c_locale_end(c, before);
        orr_free(text);
    }
    if (!wrong) return 0;
    orr_warn("%s is ignored: %s", path, wrong);
    return status ? status : -EINVAL;
}

/* Whether text is a model that a later version wrote:
 * it may be of more use there than what is measured here. */
static bool is_newer(const char *text)
{
    size_t n = strlen(magic_word);
    return strncmp(text, magic_word, n) == 0 && strtol(text + n, NULL, 10) > VERSION;
}

/* The same of a file; what cannot be read is not. */
static bool file_is_newer(const char *path)
{
    char head[64];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head - 1) : -1;
    if (fd >= 0) close(fd);
    head[n > 0 ? n : 0] = 0;
    return is_newer(head);
}

int orr_store_load(struct orr_perfmodel_state *s, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    int status = read_whole(path, &text, &length);
    if (status == -ENOENT) return status;
    const char *wrong = why_unread(status);
    if (status == 0 && is_newer(text)) {
        orr_warn(
            "performance model %s is ignored: it was written by a later version of this library. It is left "
            "as it is, and what is measured now is not kept",
            path);
        orr_free(text);
        return -EINVAL;
    }
    if (status == 0) {
        locale_t c, before = c_locale_begin(&c);
        wrong = check_frame(text, &length, magic_word);
        if (!wrong) wrong = parse(s, text);
        c_locale_end(c, before);
        orr_free(text);
        if (wrong) status = -EINVAL;
    }
    if (wrong) {
        orr_perfmodel_state_clear(s);
        orr_warn("performance model %s is ignored: %s; it is calibrated anew and written again", path, wrong);
    }
    return status;
}

/* ---- writing ---- */

struct text {
    char *bytes;
    size_t length, capacity;
    bool failed;
};

static void append(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append(struct text *t, const char *fmt, ...)
{
    if (t->failed) return;
    for (;;) {
        va_list ap;
        va_start(ap, fmt);
        int n = vsnprintf(t->bytes ? t->bytes + t->length : NULL, t->capacity - t->length, fmt, ap);
        va_end(ap);
        if (n >= 0 && t->length + (size_t)n < t->capacity) {
            t->length += (size_t)n;
            return;
        }
        size_t capacity = 2 * t->capacity + (size_t)(n > 0 ? n : 0) + 4096;
        char *bytes = n < 0 ? NULL : orr_realloc(t->bytes, capacity);
        if (!bytes) {
            t->failed = true;
            return;
        }
        t->bytes = bytes;
        t->capacity = capacity;
    }
}

static void append_entry(struct text *t, struct orr_perf_arch *pa,
                         const struct starpu_perfmodel_history_entry *shared)
{
    orr_spin_lock(&pa->lock);
    struct starpu_perfmodel_history_entry e = *shared;
    orr_spin_unlock(&pa->lock);
    if (e.nsample == 0) return;
    unsigned np = e.parameters ? pa->model->nparameters : 0;
    append(t, "entry %08x %zu %.17g %u %u %.17g %.17g %.17g %llu %u", e.footprint, e.size,
           isfinite(e.flops) ? e.flops : 0, e.nsample, e.nerror, e.sum, e.sum2, e.duration,
           (unsigned long long)e.tag, np);
    for (unsigned i = 0; i < np; i++) append(t, " %.17g", e.parameters[i]);
    append(t, "\n");
}

static void append_arch(struct orr_perf_arch *pa, int comb, unsigned nimpl, void *arg)
{
    struct text *t = arg;
    const struct starpu_perfmodel_arch *arch = orr_arch_get(comb);
    orr_spin_lock(&pa->lock);
    struct starpu_perfmodel_history_list *list =
        pa->pub.list; /* grows at its head only: the rest may be walked unlocked */
    orr_spin_unlock(&pa->lock);
    if (!list) return;
    append(t, "arch %d", arch->ndevices);
    for (int i = 0; i < arch->ndevices; i++)
        append(t, " %d %d %d", (int)arch->devices[i].type, arch->devices[i].devid, arch->devices[i].ncores);
    append(t, " %u\n", nimpl);
    for (; list; list = list->next) append_entry(t, pa, list->entry);
}

static int format(struct orr_perfmodel_state *s, struct text *t)
{
    char name[NAME_BYTES] = "-";
    locale_t c, before = c_locale_begin(&c);
    if (s->symbol && !encode(s->symbol, name, sizeof name)) strcpy(name, "-");
    append(t, "%s\nsymbol %s\ntype %d\n", first_line, name, (int)s->type);
    orr_perfmodel_each(s, append_arch, t);
    if (!t->failed)
        append(t, "checksum %016llx\n", (unsigned long long)orr_store_checksum(t->bytes, t->length));
    c_locale_end(c, before);
    return t->failed ? -ENOMEM : 0;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, p, n);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? -errno : -EIO;
        p += written;
        n -= (size_t)written;
    }
    return fsync(fd) != 0 ? -errno : 0;
}

/* A file that grows past the process's limit is an error, not the signal that would end the program. */
static int write_synced(int fd, const char *p, size_t n)
{
    sigset_t too_large, before;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    int status = write_all(fd, p, n);
    struct timespec at_once = { 0 };
    if (status == -EFBIG) sigtimedwait(&too_large, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Opens a new file beside path, hidden, whose name nobody else has. Returns the descriptor or -errno. */
static int open_temporary(const char *path, char *name, size_t maxlen)
{
    static _Atomic unsigned counter;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    for (int attempt = 0; attempt < 100; attempt++) {
        int n = snprintf(name, maxlen, "%.*s.%s.%ld.%u", folder, path, path + folder, (long)getpid(),
                         orr_add_relaxed(&counter, 1));
        if (n < 0 || (size_t)n >= maxlen) return -ENAMETOOLONG;
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0) return fd;
        if (errno != EEXIST) return -errno;
    }
    return -EEXIST;
}

static void sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd); /* the file itself is safe; some file systems cannot sync a folder */
    close(fd);
}

int orr_store_replace(const char *path, const void *bytes, size_t length)
{
    char temporary[4200];
    struct stat st;
    if (lstat(path, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid())) return -EPERM;
    int fd = open_temporary(path, temporary, sizeof temporary);
    if (fd < 0) return fd;
    int status = write_synced(fd, bytes, length);
    if (close(fd) != 0 && status == 0) status = -errno;
    if (status == 0 && rename(temporary, path) != 0) status = -errno;
    if (status != 0)
        unlink(temporary);
    else
        sync_folder(path);
    return status;
}

int orr_store_write_numbers(const char *path, const char *lines)
{
    struct text t = { 0 };
    append(&t, "%schecksum %016llx\n", lines, (unsigned long long)orr_store_checksum(lines, strlen(lines)));
    int status = t.failed ? -ENOMEM : orr_store_replace(path, t.bytes, t.length);
    orr_free(t.bytes);
    return status;
}

int orr_store_save(struct orr_perfmodel_state *s, const char *path)
{
    struct text t = { 0 };
    if (file_is_newer(path)) return -EEXIST; /* was said when it was loaded */
    int status = format(s, &t);
    if (status == 0) status = orr_store_replace(path, t.bytes, t.length);
    orr_free(t.bytes);
    if (status == -EPERM)
        orr_warn(
            "performance model %s is not saved: it is a link, or not a regular file of this user; remove it",
            path);
    else if (status != 0)
        orr_warn("performance model %s is not saved: %s", path, strerror(-status));
    return status;
}
