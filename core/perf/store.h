/* SPDX-License-Identifier: BSD-3-Clause */
/* store.h: models in files: where they are, reading and writing them.
 * Threads: any; several processes may save the same model at once, and one of them wins.
 * Owns: the format. Not here: what the numbers mean (history.h), transfers' speeds (bus.h). */
#ifndef ORR_PERF_STORE_H
#define ORR_PERF_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <starpu_perfmodel.h>

struct orr_perfmodel_state;

/* The folder that models are written to, made if need be. 0 or -errno. */
int orr_store_directory(char *path, size_t maxlen, bool make);

/* A folder beside it, for other things that are kept from one run to the next. 0 or -errno. */
int orr_store_folder(const char *of, char *path, size_t maxlen, bool make);

/* The file of symbol for this machine in that folder. 0; -ENAMETOOLONG or the folder's error. */
int orr_store_path(const char *symbol, char *path, size_t maxlen);
/* The file to read: the same, or one of that name in a folder of STARPU_PERF_MODEL_PATH. 0; -ENOENT: there is
 * none. */
int orr_store_find(const char *symbol, char *path, size_t maxlen);

/* Adds what the file holds to the empty state s, which takes type and symbol from the file if it has none. 0;
 * -ENOENT: no file; -EINVAL, -ELOOP, -EPERM, -EIO, -ENOMEM: the file is refused, one warning said so, and s
 * holds no measures. */
int orr_store_load(struct orr_perfmodel_state *s, const char *path);

/* Writes s to path: to a temporary file beside it, synced, renamed. 0 or -errno, after one warning; -EEXIST
 * without: a later version of the library wrote what is there, which stays. */
int orr_store_save(struct orr_perfmodel_state *s, const char *path);

/* The file of the machine's links (bus.c); its folder is made if need be. 0 or -errno. */
int orr_store_bus_path(char *path, size_t maxlen, bool make);

/* A small file of other numbers, protected like a model: calls line_fn for each line after the first, which
 * begins with magic, and before the checksum; false from it: the line is damaged. Numbers have a decimal
 * point. 0; -ENOENT; else one warning said what is wrong. */
typedef bool (*orr_store_line_fn)(const char *line, void *arg);
int orr_store_read_numbers(const char *path, const char *magic, orr_store_line_fn line_fn, void *arg);
/* Writes such a file: lines holds all but the checksum. 0 or -errno. */
int orr_store_write_numbers(const char *path, const char *lines);

/* Puts a file in the place of what is there, if that is a regular file of this user (else -EPERM): nobody
 * reads half of it, and who does so at the same time does it before or after. 0 or -errno. */
int orr_store_replace(const char *path, const void *bytes, size_t length);
/* FNV-1a, 64 bits. */
uint64_t orr_store_checksum(const void *bytes, size_t n);

/* Calls fn with the symbol of each file of this machine, in no order. 0 or -errno. */
int orr_store_each(void (*fn)(const char *symbol, void *arg), void *arg);

#endif
