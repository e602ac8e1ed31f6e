/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a symmetric matrix from a Matrix Market file, plain or compressed with gzip.
 * Threads: any; all state is in struct reader.
 * Owns: the open file while reading.
 * Not here: what a matrix is (sparse_matrix.c).
 *
 * Entries are collected with their line numbers, in memory that grows with what was really read (a count in
 * the file is never trusted for an allocation), then sorted by column and row. That makes duplicates
 * neighbours. For a general file the entries above the diagonal are sorted as their mirror images; pairs must
 * then agree. */
#include "matrix_market.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum { LINE_BYTES = 4096 };

struct entry {
    int row, column; /* from 0; row >= column after mirroring */
    bool mirrored;   /* it stood above the diagonal */
    int64_t line;
    double value;
};

struct reader {
    const char *path;
    gzFile file;
    int64_t line; /* number of the line in text[] */
    char text[LINE_BYTES];
    bool pattern, general;
    int size;
    int64_t promised; /* entries the size line announces */
    struct entry *entries;
    int64_t count, room;
    char *error;
    size_t error_size;
};

/* Notes "path:line: message"; returns -1 so that callers can return it. */
static int __attribute__((format(printf, 3, 4))) fail(struct reader *r, int64_t line, const char *format, ...)
{
    va_list args;
    int used = line > 0 ? snprintf(r->error, r->error_size, "%s:%lld: ", r->path, (long long)line)
                        : snprintf(r->error, r->error_size, "%s: ", r->path);
    if (used < 0 || (size_t)used >= r->error_size) return -1;
    va_start(args, format);
    vsnprintf(r->error + used, r->error_size - (size_t)used, format, args);
    va_end(args);
    return -1;
}

/* Reads the next line. Returns 1, 0 at a proper end of the file, -1 on an error that was noted. */
static int read_line(struct reader *r)
{
    if (!gzgets(r->file, r->text, LINE_BYTES)) {
        int code;
        const char *why = gzerror(r->file, &code);
        if (code == Z_BUF_ERROR) return fail(r, r->line, "the compressed file is truncated after this line");
        if (code == Z_ERRNO) return fail(r, 0, "%s", strerror(errno));
        if (code != Z_OK && code != Z_STREAM_END)
            return fail(r, r->line, "damaged compressed data after this line: %s", why);
        return 0;
    }
    r->line++;
    if (!strchr(r->text, '\n') && strlen(r->text) == LINE_BYTES - 1)
        return fail(r, r->line, "line longer than %d bytes", LINE_BYTES - 2);
    return 1;
}

static bool is_blank(const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    return *text == '\0';
}

static int read_banner(struct reader *r)
{
    char object[32], format[32], field[32], symmetry[32];
    int got = read_line(r);
    if (got < 0) return -1;
    if (got == 0) return fail(r, 0, "the file is empty");
    if (strncasecmp(r->text, "%%MatrixMarket", 14) ||
        sscanf(r->text + 14, "%31s %31s %31s %31s", object, format, field, symmetry) != 4)
        return fail(r, 1,
                    "not a Matrix Market file: "
                    "the first line must read %%%%MatrixMarket matrix coordinate FIELD SYMMETRY");
    if (strcasecmp(object, "matrix") || strcasecmp(format, "coordinate"))
        return fail(r, 1, "'%s %s' is not supported, only 'matrix coordinate'", object, format);
    if (strcasecmp(field, "real") && strcasecmp(field, "integer") && strcasecmp(field, "pattern"))
        return fail(r, 1, "field '%s' is not supported, only real, integer and pattern", field);
    if (strcasecmp(symmetry, "symmetric") && strcasecmp(symmetry, "general"))
        return fail(r, 1, "symmetry '%s' is not supported, only symmetric and general", symmetry);
    r->pattern = !strcasecmp(field, "pattern");
    r->general = !strcasecmp(symmetry, "general");
    return 0;
}

/* Parses a non-negative integer at *text and moves past it. */
static bool parse_count(char **text, long long *value_out)
{
    char *end;
    errno = 0;
    long long value = strtoll(*text, &end, 10);
    if (end == *text || errno || value < 0 || (*end && !isspace((unsigned char)*end))) return false;
    *text = end;
    *value_out = value;
    return true;
}

static int read_sizes(struct reader *r)
{
    long long rows, columns, entries;
    int got;
    do {
        got = read_line(r);
        if (got < 0) return -1;
        if (got == 0) return fail(r, r->line, "the file ends before the line with the sizes");
    } while (r->text[0] == '%' || is_blank(r->text));
    char *text = r->text;
    if (!parse_count(&text, &rows) || !parse_count(&text, &columns) || !parse_count(&text, &entries) ||
        !is_blank(text))
        return fail(r, r->line, "bad size line: three whole numbers are needed, rows columns entries");
    if (rows != columns)
        return fail(r, r->line, "the matrix is not square: %lld rows, %lld columns", rows, columns);
    if (rows < 1 || rows > INT_MAX - 1)
        return fail(r, r->line, "%lld rows: only 1 to %d are possible", rows, INT_MAX - 1);
    long long most = r->general ? rows * rows : rows * (rows + 1) / 2;
    if (entries > most)
        return fail(r, r->line, "%lld entries: %lld rows can have at most %lld", entries, rows, most);
    if (entries < rows)
        return fail(r, r->line,
                    "only %lld entries for %lld rows: a diagonal entry is missing, "
                    "so the matrix is not positive definite",
                    entries, rows);
    r->size = (int)rows;
    r->promised = entries;
    return 0;
}

static int add_entry(struct reader *r, struct entry entry)
{
    if (r->count == r->room) {
        int64_t room = r->room ? 2 * r->room : 4096;
        struct entry *grown = realloc(r->entries, (size_t)room * sizeof *grown);
        if (!grown) return fail(r, r->line, "no memory for %lld entries", (long long)room);
        r->entries = grown;
        r->room = room;
    }
    r->entries[r->count++] = entry;
    return 0;
}

/* Parses the entry in r->text and adds it. */
static int parse_entry(struct reader *r)
{
    long long row, column;
    double value = 1.0;
    char *text = r->text;
    if (!parse_count(&text, &row) || !parse_count(&text, &column))
        return fail(r, r->line, "bad entry: row and column must be whole numbers");
    if (!r->pattern) {
        char *end;
        value = strtod(text, &end);
        if (end == text) return fail(r, r->line, "bad entry: the value is missing or is no number");
        text = end;
    }
    if (!is_blank(text))
        return fail(r, r->line, "bad entry: something follows the %s", r->pattern ? "column" : "value");
    if (row < 1 || row > r->size || column < 1 || column > r->size)
        return fail(r, r->line, "entry (%lld, %lld) lies outside the matrix of %d rows", row, column,
                    r->size);
    if (!isfinite(value))
        return fail(r, r->line, "the value of entry (%lld, %lld) is not finite", row, column);
    bool above = column > row;
    if (above && !r->general)
        return fail(r, r->line, "entry (%lld, %lld) lies above the diagonal of a symmetric file", row,
                    column);
    return add_entry(r, (struct entry){ .row = (int)(above ? column : row) - 1,
                                        .column = (int)(above ? row : column) - 1,
                                        .mirrored = above,
                                        .line = r->line,
                                        .value = value });
}

static int read_entries(struct reader *r)
{
    int got;
    while ((got = read_line(r)) > 0) {
        if (is_blank(r->text)) continue;
        if (r->count == r->promised)
            return fail(r, r->line, "more than the %lld entries that the size line announces",
                        (long long)r->promised);
        if (parse_entry(r)) return -1;
    }
    if (got < 0) return -1;
    if (r->count < r->promised)
        return fail(r, r->line, "the file ends after %lld of %lld entries", (long long)r->count,
                    (long long)r->promised);
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->mirrored != y->mirrored) return x->mirrored ? 1 : -1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static bool same_place(const struct entry *x, const struct entry *y)
{
    return x->row == y->row && x->column == y->column;
}

/* Checks the sorted entries and drops the mirror images of a general file. */
static int fold_entries(struct reader *r)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < r->count; i++) {
        struct entry *e = &r->entries[i], *twin = i + 1 < r->count ? e + 1 : NULL;
        if (twin && !same_place(e, twin)) twin = NULL;
        if (twin && e->mirrored == twin->mirrored)
            return fail(r, twin->line, "entry (%d, %d) was given already on line %lld",
                        1 + (e->mirrored ? e->column : e->row), 1 + (e->mirrored ? e->row : e->column),
                        (long long)e->line);
        if (r->general && e->row != e->column) {
            if (!twin)
                return fail(r, e->line, "the matrix is not symmetric: this entry has no counterpart (%d, %d)",
                            1 + (e->mirrored ? e->row : e->column), 1 + (e->mirrored ? e->column : e->row));
            if (e->value != twin->value)
                return fail(r, twin->line,
                            "the matrix is not symmetric: (%d, %d) is %.17g, but line %lld says %.17g",
                            1 + e->column, 1 + e->row, twin->value, (long long)e->line, e->value);
            struct entry *third = i + 2 < r->count ? e + 2 : NULL;
            if (third && same_place(e, third))
                return fail(r, third->line, "entry (%d, %d) was given already on line %lld", 1 + e->column,
                            1 + e->row, (long long)twin->line);
            i++;
        }
        r->entries[kept++] = *e;
    }
    r->count = kept;
    return 0;
}

/* Turns the folded entries into columns; every column must begin with its diagonal entry. */
static int build_matrix(struct reader *r, struct sparse_matrix *matrix_out)
{
    struct sparse_matrix matrix;
    if (sparse_matrix_init(&matrix, r->size, r->count))
        return fail(r, 0, "no memory for %lld entries", (long long)r->count);
    int column = -1;
    for (int64_t i = 0; i < r->count; i++) {
        const struct entry *e = &r->entries[i];
        if (e->column != column) {
            if (e->column != column + 1 || e->row != e->column) {
                int missing = e->column == column + 1 ? e->column : column + 1;
                sparse_matrix_fini(&matrix);
                return fail(r, 0, "diagonal entry %d is missing, so the matrix is not positive definite",
                            missing + 1);
            }
            matrix.column_start[++column] = i;
        }
        matrix.row[i] = e->row;
        matrix.value[i] = e->value;
    }
    if (column != r->size - 1) {
        sparse_matrix_fini(&matrix);
        return fail(r, 0, "diagonal entry %d is missing, so the matrix is not positive definite", column + 2);
    }
    matrix.column_start[r->size] = r->count;
    *matrix_out = matrix;
    return 0;
}

int matrix_market_read(const char *path, struct sparse_matrix *matrix_out, char *error_out, size_t error_size)
{
    struct reader r = { .path = path, .error = error_out, .error_size = error_size };
    int result = -1;
    errno = 0;
    r.file = gzopen(path, "rb");
    if (!r.file) return fail(&r, 0, "%s", errno ? strerror(errno) : "no memory");
    gzbuffer(r.file, 1 << 17);
    if (read_banner(&r) || read_sizes(&r) || read_entries(&r)) goto close_file;
    qsort(r.entries, (size_t)r.count, sizeof *r.entries, compare_entries);
    if (fold_entries(&r) == 0) result = build_matrix(&r, matrix_out);
close_file:
    free(r.entries);
    gzclose(r.file);
    return result;
}
