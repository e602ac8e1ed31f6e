/* SPDX-License-Identifier: BSD-3-Clause */
/* utf8.h: names as programs have them, of any bytes, for files and terminals that want characters.
 * Threads: any. Owns: nothing. Not here: what each form says in its own way (export.c, html.c, paje.c). */
#ifndef ORR_REPORT_UTF8_H
#define ORR_REPORT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How many bytes the character at s has; 0: it is none. */
static inline size_t utf8_length(const char *s)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char c = (unsigned char)*s;
    size_t n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;
    uint32_t code = n > 1 ? c & (0x7fu >> n) : c;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0; /* the end, too */
        code = code << 6 | (s[i] & 0x3f);
    }
    if (n == 0 || code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
    return n;
}

/* What a terminal would obey, and not show; ends of lines and tabs apart. */
static inline bool utf8_is_control(const char *s)
{
    unsigned char c = (unsigned char)s[0];
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || (c == 0xc2 && (s[1] & 0xe0) == 0x80);
}

/* What is no character, or a control, becomes '?', for each byte one. */
static inline void utf8_clean(char *s)
{
    while (*s) {
        size_t n = utf8_length(s);
        bool bad = n == 0 || utf8_is_control(s);
        for (n = n ? n : 1; n > 0; n--, s++)
            if (bad) *s = '?';
    }
}

/* Between the quotes of JSON, which may stand in a page. */
static inline void utf8_put_json(FILE *out, const char *s)
{
    while (s && *s) {
        size_t n = utf8_length(s);
        unsigned char c = (unsigned char)*s;
        if (n == 0)
            fputs("\\ufffd", out);
        else if (n == 1 &&
                 (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f))
            fprintf(out, "\\u%04x", c);
        else
            fwrite(s, 1, n, out);
        s += n ? n : 1;
    }
}

/* In a column of so many characters, on one line; the beginning of a long one. */
static inline void utf8_put_column(FILE *out, const char *s, int width)
{
    enum { MOST = 60 };
    int shown = 0;
    for (size_t n; *s && shown < MOST; s += n, shown++) {
        n = utf8_length(s);
        bool bad = n == 0 || utf8_is_control(s);
        if (n == 0) n = 1;
        if (bad || *s == '\n' || *s == '\t')
            putc(bad ? '?' : ' ', out);
        else
            fwrite(s, 1, n, out);
    }
    if (*s) fputs("...", out);
    fprintf(out, "%*s", shown < width ? width - shown : 0, "");
}

#endif
