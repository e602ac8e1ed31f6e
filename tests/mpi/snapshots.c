/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a checkpoint: read as it was written; each byte that changes and each length that is cut is
 * noticed; of another run, program or number of ranks it is refused. Threads: main. Owns: a folder. Not here:
 * ranks (tests/mpi/checkpoints.c).
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "mpi/value/crc32c.h"
#include "mpi/value/snapshot.h"
#include "tests/tap.h"

static char folder[64], why[256];
static struct orr_snapshot_head head = { .shape = 7,
                                         .id = 3,
                                         .domain = 1,
                                         .rank = 1,
                                         .ranks = 4,
                                         .blocks = 3,
                                         .when = { 10, 2 },
                                         .program = "program" };
static const char *const values[] = { "first", "", "the third, which is longer" };

static int write_file(void)
{
    struct orr_snapshot_out out;
    int r = orr_snapshot_create(&out, folder, &head);
    for (uint32_t i = 0; i < 3 && !r; i++)
        r = orr_snapshot_add(&out, i, 1, 100 + i, values[i], strlen(values[i]));
    return r ? r : orr_snapshot_close(&out);
}

static int same(void *count, const struct orr_snapshot_block *b, const void *data, char *reason, size_t bytes)
{
    (void)reason;
    (void)bytes;
    bool right = b->entry < 3 && b->tag == 100 + b->entry && b->bytes == strlen(values[b->entry]) &&
                 memcmp(data, values[b->entry], b->bytes) == 0;
    *(int *)count += right;
    return right ? 0 : -EINVAL;
}

static int read_file(const struct orr_snapshot_head *h, int *count)
{
    *count = 0;
    why[0] = 0;
    return orr_snapshot_read(folder, h, same, count, why, sizeof why);
}

/* Changes the byte at `at` of the file (its length: cuts it there), and reads it; mends it again. */
static bool is_noticed(const char *path, const char *contents, size_t length, size_t at, bool cut)
{
    int count;
    FILE *f = fopen(path, "w");
    for (size_t i = 0; i < length; i++)
        if (!cut || i < at) putc(contents[i] ^ (i == at ? 0x20 : 0), f);
    fclose(f);
    int r = read_file(&head, &count);
    return r == -EBADMSG || (r == -EINVAL && !cut);
}

static void damage(void)
{
    static char contents[4096];
    char path[PATH_MAX];
    unsigned changed = 0, cut = 0;
    orr_snapshot_path(folder, &head, path, sizeof path);
    FILE *f = fopen(path, "r");
    size_t length = f ? fread(contents, 1, sizeof contents, f) : 0;
    if (f) fclose(f);
    for (size_t i = 0; i < length; i++) changed += is_noticed(path, contents, length, i, false);
    ok(all_of(length > 0, changed == length), "each of its %zu bytes that changes is noticed", length);
    for (size_t i = 0; i < length; i++) cut += is_noticed(path, contents, length, i, true);
    ok(cut == length, "and each length to which it is cut");
    int count;
    is_noticed(path, contents, length, length + 1, false);
    ok(read_file(&head, &count) == 0, "mended, it is read");
}

static void others(void)
{
    int count;
    struct orr_snapshot_head h = head;
    h.ranks = 2;
    ok(all_of(read_file(&h, &count) == -EINVAL, strstr(why, "4 ranks, this one has 2")),
       "of another number of ranks it is refused");
    h = head;
    strcpy(h.program, "other");
    ok(all_of(read_file(&h, &count) == -EINVAL, strstr(why, "program program wrote it, this is other")),
       "so it is of another program");
    h = head;
    h.shape = 8;
    ok(all_of(read_file(&h, &count) == -EINVAL, strstr(why, "other data")), "and of other data");
    h = head;
    h.when.instance = 3;
    ok(read_file(&h, &count) == -ENOENT, "one that is not there is said to be not there");
}

static void list(void)
{
    struct orr_snapshot_when found[3];
    const struct orr_snapshot_when before = { 11, 1 };
    static const struct orr_snapshot_when times[] = { { 10, 1 }, { 11, 1 }, { 10, 3 }, { 9, 7 } };
    for (unsigned i = 0; i < 4; i++) {
        head.when = times[i];
        write_file();
    }
    head.rank = 2;
    write_file();
    head.rank = 1;
    unsigned n = orr_snapshot_list(folder, &head, found, 3);
    ok(all_of(n == 3, found[0].run == 11, found[1].run == 10, found[1].instance == 3, found[2].instance == 2),
       "the latest are listed, a later run before a higher number");
    orr_snapshot_remove_before(folder, &head, &before);
    n = orr_snapshot_list(folder, &head, found, 3);
    head.rank = 2;
    ok(all_of(n == 1, found[0].run == 11, orr_snapshot_list(folder, &head, found, 3) == 1),
       "earlier ones of that rank are removed, no others");
}

int main(void)
{
    int count;
    char command[128];
    strcpy(folder, "/tmp/orrery-snapshots-XXXXXX");
    if (!mkdtemp(folder)) return 99;
    ok(orr_crc32c(0, "123456789", 9) == 0xe3069283u, "the checksum is CRC-32C");
    ok(orr_crc32c(orr_crc32c(0, "123456789abc", 5), "6789abc", 7) == orr_crc32c(0, "123456789abc", 12),
       "and can be continued");
    ok(all_of(write_file() == 0, read_file(&head, &count) == 0, count == 3), "what was written is read");
    damage();
    others();
    list();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return done_testing() | system(command);
}
