/* SPDX-License-Identifier: BSD-3-Clause */
/* records.c: reads files of records: which model and footprint each has, and its lines as they are.
 * Threads: main. Owns: a line and a record. Not here: what is done with them (records.h says where). */
#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>

#include "tools/grow.h"
#include "tools/records.h"

bool records_open(struct records *r, const struct tool *tool, const char *path)
{
    bool standard = !path || strcmp(path, "-") == 0;
    struct stat is;
    *r = (struct records){ .tool = tool, .path = standard ? "standard input" : path };
    r->in = standard ? stdin : fopen(path, "re");
    if (r->in && fstat(fileno(r->in), &is) == 0 && S_ISDIR(is.st_mode))
        errno = EISDIR;
    else if (r->in)
        return true;
    tool_complain(tool, "%s cannot be read: %s", r->path, strerror(errno));
    records_close(r);
    return false;
}

void records_close(struct records *r)
{
    if (r->in && r->in != stdin) fclose(r->in);
    free(r->line), free(r->text), free(r->model);
    *r = (struct records){ .tool = r->tool };
}

/* The beginning of a text that may be anything, for a message. */
static const char *shown(const char *s)
{
    static char text[44];
    size_t n = 0;
    for (; s[n] && n < 40; n++) text[n] = iscntrl((unsigned char)s[n]) ? '?' : s[n];
    strcpy(text + n, s[n] ? "..." : "");
    return text;
}

/* What stands behind a field's name; NULL: it is another. */
static const char *value_of(const char *line, const char *name)
{
    size_t n = strlen(name);
    return strncmp(line, name, n) == 0 && line[n] == ':' ? line + n + 1 + strspn(line + n + 1, " \t") : NULL;
}

static void keep(struct records *r, size_t n)
{
    while (r->bytes + n + 1 >= r->text_room) r->text = tool_grow(r->text, r->text_room, &r->text_room, 1);
    memcpy(r->text + r->bytes, r->line, n);
    r->bytes += n;
    if (r->line[n - 1] != '\n') r->text[r->bytes++] = '\n'; /* the last of a file */
}

static bool set_footprint(struct records *r, const char *value)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(value, &end, 16);
    if (!isxdigit((unsigned char)*value) || end[strspn(end, " \t")] || errno || v > UINT32_MAX) {
        tool_complain(r->tool, "%s:%zu: \"%s\" is no footprint", r->path, r->number, shown(value));
        return false;
    }
    r->footprint = (uint32_t)v;
    r->has_footprint = true;
    return true;
}

/* A field, or what such files have between them: comments, kinds of records, a value's further lines. Nothing
 * that a terminal would obey: names are told. */
static bool is_line(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (iscntrl((unsigned char)line[i]) && line[i] != '\t') return false;
    return strchr("#%+", *line) || memchr(line, ':', n);
}

/* A line of n characters, which goes on with its end. */
static bool take(struct records *r, size_t n)
{
    const char *value;
    if (!is_line(r->line, n)) {
        tool_complain(r->tool, "%s:%zu: \"%s\" is no line of a record, which are NAME: VALUE", r->path,
                      r->number, shown(r->line));
        return false;
    }
    if ((value = value_of(r->line, "Model"))) {
        free(r->model);
        r->model = tool_copy(value, strlen(value));
    } else if ((value = value_of(r->line, "Footprint"))) {
        return set_footprint(r, value);
    }
    return true;
}

enum records_status records_next(struct records *r)
{
    free(r->model);
    r->model = NULL;
    r->has_footprint = r->closed = false;
    r->bytes = 0;
    for (ssize_t n; (n = getline(&r->line, &r->line_room, r->in)) > 0;) {
        size_t length = (size_t)n;
        r->number++;
        if (r->line[length - 1] == '\n') length--;
        if (length > 0 && r->line[length - 1] == '\r') length--;
        r->closed = length == 0;
        if (r->closed) return RECORDS_ONE;
        keep(r, (size_t)n);
        r->line[length] = 0;
        if (!take(r, length)) return RECORDS_DAMAGED;
    }
    if (feof(r->in)) return r->bytes ? RECORDS_ONE : RECORDS_END;
    tool_complain(r->tool, "%s cannot be read: %s", r->path, strerror(errno));
    return RECORDS_DAMAGED;
}
