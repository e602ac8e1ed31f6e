/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model files: what is saved is loaded; a file that is truncated anywhere, has a flipped bit, is random, a
 * link, a pipe or somebody else's is one warning and an empty model; processes that save at once, or are
 * killed while they do, never leave a broken file.
 * Threads: main, and child processes. Owns: a folder of its own. Not here: what models learn
 * (perfmodel_fit.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/perf/perfmodel.h"
#include "core/perf/store.h"
#include "tests/tap.h"

static const struct starpu_perfmodel_device cpu = { STARPU_CPU_WORKER, 0, 1 },
                                            cuda = { STARPU_CUDA_WORKER, 1, 1 };
static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "a strange/symbol" };
static char folder[64], path[4096], victim[4200];

static struct orr_perfmodel_state *create(void)
{
    struct orr_perfmodel_state *s = orr_perfmodel_state_create(&model);
    if (s) return s;
    printf("Bail out! no memory\n");
    exit(1);
}

static void fill(struct orr_perfmodel_state *s, unsigned entries)
{
    for (unsigned i = 0; i < entries; i++) {
        struct orr_perf_key key = {
            .footprint = 0x1234567u * (i + 1), .size = 100 * i, .flops = 1e9 / (i + 3), .tag = i
        };
        struct orr_perf_arch *pa =
            orr_perfmodel_arch_make(s, orr_arch_intern(1, i % 2 ? &cpu : &cuda), i % 3 == 0);
        for (unsigned k = 0; k < 10 + i; k++) orr_history_record(pa, &key, 1.0 / 3 + i + 0.01 * k, 1, 0);
    }
}

static void count_one(struct orr_perf_arch *pa, int comb, unsigned nimpl, void *arg)
{
    (void)comb;
    (void)nimpl;
    for (struct starpu_perfmodel_history_list *l = pa->pub.list; l; l = l->next) ++*(unsigned *)arg;
}

static unsigned entries_of(struct orr_perfmodel_state *s)
{
    unsigned n = 0;
    orr_perfmodel_each(s, count_one, &n);
    return n;
}

struct comparison {
    struct orr_perfmodel_state *other;
    int different;
};

static void compare_one(struct orr_perf_arch *pa, int comb, unsigned nimpl, void *arg)
{
    struct comparison *c = arg;
    struct orr_perf_arch *q = orr_perfmodel_arch(c->other, comb, nimpl);
    for (struct starpu_perfmodel_history_list *l = pa->pub.list; l; l = l->next) {
        struct orr_history_entry *e = q ? orr_history_find(q, l->entry->footprint) : NULL;
        if (!e || e->pub.sum != l->entry->sum || e->pub.sum2 != l->entry->sum2 ||
            e->pub.nsample != l->entry->nsample || e->pub.size != l->entry->size ||
            e->pub.flops != l->entry->flops || e->pub.duration != l->entry->duration ||
            e->pub.mean != l->entry->mean || e->pub.tag != l->entry->tag)
            c->different++;
    }
}

enum { READ_MAX = 4 << 20 };

/* The file and a final zero. */
static char *read_file(const char *name, size_t *length_out)
{
    FILE *f = fopen(name, "rb");
    char *bytes = calloc(1, READ_MAX + 1);
    if (!f || !bytes) {
        printf("Bail out! %s cannot be read\n", name);
        exit(1);
    }
    *length_out = fread(bytes, 1, READ_MAX, f);
    fclose(f);
    return bytes;
}

static void write_file(const char *name, const char *bytes, size_t length)
{
    unlink(name); /* a file cut off and rewritten is flushed to disk by some file systems; a new one is not */
    FILE *f = fopen(name, "wb");
    if (!f || fwrite(bytes, 1, length, f) != length || fclose(f) != 0) {
        printf("Bail out! %s cannot be written\n", name);
        exit(1);
    }
}

/* ---- counting warnings ---- */

static int saved_stderr = -1;
static char warnings[128];

static void warnings_begin(void)
{
    snprintf(warnings, sizeof warnings, "%s/warnings", folder);
    int fd = open(warnings, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    saved_stderr = dup(2);
    dup2(fd, 2);
    close(fd);
}

static long warnings_end(void)
{
    fflush(stderr);
    dup2(saved_stderr, 2);
    close(saved_stderr);
    size_t length;
    char *text = read_file(warnings, &length);
    long lines = 0;
    for (size_t i = 0; i < length; i++) lines += text[i] == '\n';
    free(text);
    return lines;
}

/* 1 when the file is refused with an error other than "absent", and nothing of it stayed. */
static int is_refused(const char *name)
{
    struct orr_perfmodel_state *s = create();
    int status = orr_store_load(s, name);
    int refused = status < 0 && status != -ENOENT && entries_of(s) == 0;
    orr_perfmodel_state_destroy(s);
    return refused;
}

static void test_round_trip(void)
{
    struct orr_perfmodel_state *s = create(), *t = create();
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where it exists: a comma instead of the point */
    fill(s, 9);
    is_int(orr_store_path(model.symbol, path, sizeof path), 0,
           "a symbol with a slash and a blank has a file");
    ok(all_of(strncmp(path, folder, strlen(folder)) == 0, !strstr(path + strlen(folder), "strange/")),
       "inside the folder: %s", path + strlen(folder));
    is_int(orr_store_save(s, path), 0, "it is saved");
    char found[4096];
    ok(all_of(orr_store_find(model.symbol, found, sizeof found) == 0, strcmp(found, path) == 0),
       "it is found");
    is_int(orr_store_load(t, path), 0, "it is loaded");
    struct comparison c = { .other = t };
    orr_perfmodel_each(s, compare_one, &c);
    ok(all_of(c.different == 0, entries_of(t) == 9), "with every number as it was");
    setlocale(LC_ALL, "C");
    is_int(orr_store_load(t, "/nonexistent/file"), -ENOENT, "no file is no warning, only ENOENT");
    orr_perfmodel_state_destroy(s);
    orr_perfmodel_state_destroy(t);
}

static void test_damage(void)
{
    size_t length;
    char *good = read_file(path, &length);
    char *bad = malloc(length + 64);
    unsigned long refused = 0;
    warnings_begin();
    for (size_t cut = 0; cut < length; cut++) {
        write_file(victim, good, cut);
        refused += (unsigned long)is_refused(victim);
    }
    long lines = warnings_end();
    is_int(refused, (long long)length, "truncated at any of %zu bytes: refused", length);
    is_int(lines, (long long)length, "with one warning each");
    refused = 0;
    warnings_begin();
    for (size_t bit = 0; bit < 8 * length; bit++) {
        memcpy(bad, good, length);
        bad[bit / 8] = (char)(bad[bit / 8] ^ (1 << bit % 8));
        write_file(victim, bad, length);
        refused += (unsigned long)is_refused(victim);
    }
    lines = warnings_end();
    is_int(refused, (long long)(8 * length), "any of %zu bits flipped: refused", 8 * length);
    is_int(lines, (long long)(8 * length), "with one warning each");
    memcpy(bad, good, length);
    memcpy(bad + length, "entry 1\n", 8);
    write_file(victim, bad, length + 8);
    warnings_begin();
    ok(is_refused(victim), "lines after the checksum: refused");
    warnings_end();
    free(good);
    free(bad);
}

static uint64_t fnv(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return h;
}

/* Writes text with a checksum that matches: only the parser stands between it and the program. */
static void write_sealed(const char *text, size_t length)
{
    unlink(victim);
    FILE *f = fopen(victim, "wb");
    fwrite(text, 1, length, f);
    fprintf(f, "checksum %016llx\n", (unsigned long long)fnv(text, length));
    fclose(f);
}

static void test_sealed_nonsense(void)
{
    static const char *const texts[] = {
        "",
        "orrery-perfmodel 1\n",
        "orrery-perfmodel 2\nsymbol a\ntype 4\n",
        "orrery-perfmodel 1\nsymbol a\ntype 99\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\nentry 00000001 1 0 10 0 1 1 1 0 0\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\narch 0 0\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\narch 65 0 0 1 0\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\narch 1 0 0 1 99\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\narch 1 -1 0 1 0\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\narch 1 0 0 1 0\nentry 00000001 1 0 10 0 nan 1 1 0 0\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\narch 1 0 0 1 0\nentry 00000001 1 0 10 0 1e999 1 1 0 0\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\narch 1 0 0 1 0\nentry 00000001 1 0 10 0 1 1 1 0 9\n",
        "orrery-perfmodel 1\nsymbol a\ntype 4\narch 1 0 0 1 0\nentry 00000001 1 0 0 0 1 1 1 0 0\n",
        ("orrery-perfmodel 1\nsymbol a\ntype 4\narch 1 0 0 1 0\nentry 1 1 0 9 0 1 1 1 0 0\n"
         "entry 1 1 0 9 0 1 1 1 0 0\n"),
        "orrery-perfmodel 1\nsymbol a\ntype 4\nsurprise\n",
        "##################\n# Performance Model Version\n45\n",
    };
    int refused = 0, count = (int)(sizeof texts / sizeof texts[0]);
    warnings_begin();
    for (int i = 0; i < count; i++) {
        write_sealed(texts[i], strlen(texts[i]));
        refused += is_refused(victim);
    }
    long lines = warnings_end();
    is_int(refused, count, "well-sealed nonsense is refused");
    is_int(lines, count, "with one warning each");
}

static void test_later_version(void)
{
    static const char later[] = "orrery-perfmodel 12\nof which nothing is known here\n";
    static const char earlier[] = "orrery-perfmodel 0\nof which nothing is known either\n";
    struct orr_perfmodel_state *s = create();
    size_t length;
    fill(s, 3);
    write_file(victim, later, strlen(later));
    warnings_begin();
    int refused = is_refused(victim), status = orr_store_save(s, victim);
    long lines = warnings_end();
    char *text = read_file(victim, &length);
    ok(all_of(refused, lines == 1), "a file of a later version is not read, with one warning");
    ok(all_of(status == -EEXIST, length == strlen(later), memcmp(text, later, length) == 0),
       "nor written over");
    free(text);
    write_file(victim, earlier, strlen(earlier));
    is_int(orr_store_save(s, victim), 0, "one of an earlier version is");
    orr_perfmodel_state_destroy(s);
}

static uint64_t seed = 2026;

static uint32_t next_random(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

static void test_random(void)
{
    enum { ROUNDS = 2000 };
    size_t length;
    char *good = read_file(path, &length), *bad = malloc(length + 4096);
    char *end = strstr(good, "checksum ");
    size_t body = end ? (size_t)(end - good) : length;
    int refused = 0, survived = 0;
    warnings_begin();
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = next_random() % 4096;
        for (size_t k = 0; k < n; k++) bad[k] = (char)next_random();
        write_file(victim, bad, n);
        refused += is_refused(victim);
    }
    for (int i = 0; i < ROUNDS; i++) { /* damage that the checksum agrees with */
        static const char letters[] = "0123456789-+.e xnaif\n\t\377";
        memcpy(bad, good, body);
        for (unsigned k = 1 + next_random() % 4; k > 0; k--)
            bad[next_random() % body] = letters[next_random() % (sizeof letters - 1)];
        write_sealed(bad, body);
        struct orr_perfmodel_state *s = create();
        int status = orr_store_load(s, victim);
        survived += status == 0 || entries_of(s) == 0;
        orr_perfmodel_state_destroy(s);
    }
    warnings_end();
    is_int(refused, ROUNDS, "random bytes are refused (seed 2026)");
    is_int(survived, ROUNDS, "sealed random damage loads whole or not at all");
    free(good);
    free(bad);
}

static void test_traps(void)
{
    warnings_begin();
    unlink(victim);
    int made = symlink(path, victim) == 0, link_read = made && is_refused(victim);
    struct orr_perfmodel_state *s = create();
    fill(s, 2);
    int link_written = made && orr_store_save(s, victim) == -EPERM;
    unlink(victim);
    made = mkfifo(victim, 0600) == 0;
    int fifo = made && is_refused(victim) && orr_store_save(s, victim) == -EPERM;
    unlink(victim);
    int directory = mkdir(victim, 0700) == 0 && is_refused(victim) && orr_store_save(s, victim) == -EPERM;
    rmdir(victim);
    orr_store_save(s, victim);
    int foreign = -1;
    if (geteuid() == 0 && chown(victim, 12345, 12345) == 0)
        foreign = is_refused(victim) && orr_store_save(s, victim) == -EPERM;
    unlink(victim);
    long lines = warnings_end();
    ok(all_of(link_read, link_written), "a link is neither read nor written");
    ok(fifo, "nor is a pipe, and nobody waits for it");
    ok(directory, "nor a folder");
    if (foreign < 0)
        skip("only root can give a file away: foreign owners are not checked");
    else
        ok(foreign, "nor another user's file");
    is_int(lines, foreign < 0 ? 6 : 8, "each refusal is one warning");
    orr_perfmodel_state_destroy(s);
}

/* Children save models of different sizes; whatever is read meanwhile is one of them, whole. */
static void test_processes(void)
{
    enum { CHILDREN = 3, SAVES = 60 };
    pid_t children[CHILDREN];
    unlink(victim);
    for (int c = 0; c < CHILDREN; c++) {
        children[c] = fork();
        if (children[c] == 0) {
            struct orr_perfmodel_state *s = create();
            int failed = 0;
            fill(s, 10 * (unsigned)(c + 1));
            for (int i = 0; i < SAVES; i++) failed |= orr_store_save(s, victim);
            _exit(failed != 0);
        }
    }
    int left = CHILDREN, failures = 0, reads = 0, torn = 0;
    while (left > 0) {
        int status;
        pid_t done = waitpid(-1, &status, WNOHANG);
        if (done > 0) left--, failures += status != 0;
        struct orr_perfmodel_state *s = create();
        int r = orr_store_load(s, victim);
        if (r != -ENOENT) {
            unsigned n = entries_of(s);
            reads++;
            torn += r != 0 || (n != 10 && n != 20 && n != 30);
        }
        orr_perfmodel_state_destroy(s);
    }
    is_int(failures, 0, "three processes save sixty times each at once");
    ok(all_of(torn == 0, reads > 0), "each of the %d reads meanwhile finds a whole file", reads);
    char command[256];
    snprintf(command, sizeof command, "test -z \"$(find '%s' -name '.*.*' -type f)\"", folder);
    ok(system(command) == 0, "no temporary file is left");
}

/* Saves for ever models of 10, 20 and 30 entries, until it is killed. */
static void save_until_killed(int which)
{
    struct orr_perfmodel_state *s = create();
    fill(s, 10 * (unsigned)(which + 1));
    for (;;) orr_store_save(s, victim);
}

/* Three processes that save are killed at a random moment, many times. */
static void test_killed(void)
{
    enum { CHILDREN = 3, ROUNDS = 100, LONGEST_US = 8000 };
    struct orr_perfmodel_state *s = create();
    fill(s, 10);
    orr_store_save(s, victim);
    int torn = 0, not_killed = 0, seen[4] = { 0 };
    for (int round = 0; round < ROUNDS; round++) {
        pid_t children[CHILDREN];
        for (int c = 0; c < CHILDREN; c++)
            if ((children[c] = fork()) == 0) save_until_killed(c);
        usleep(next_random() % LONGEST_US);
        for (int c = 0; c < CHILDREN; c++) { /* each is the last to be killed now and then */
            pid_t child = children[(round + c) % CHILDREN];
            if (child > 0) kill(child, SIGKILL);
        }
        for (int c = 0; c < CHILDREN; c++) {
            int status = 0;
            if (children[c] < 0 || waitpid(children[c], &status, 0) != children[c] || !WIFSIGNALED(status))
                not_killed++;
        }
        orr_perfmodel_state_clear(s);
        unsigned n = orr_store_load(s, victim) == 0 ? entries_of(s) : 0;
        torn += n != 10 && n != 20 && n != 30;
        seen[n / 10 < 4 ? n / 10 : 0]++;
    }
    ok(all_of(torn == 0, not_killed == 0),
       "three processes that save are killed, %d times: a whole file is left", ROUNDS);
    ok((seen[1] > 0) + (seen[2] > 0) + (seen[3] > 0) >= 2, "which was any of theirs: %d, %d, %d times",
       seen[1], seen[2], seen[3]);
    is_int(orr_store_save(s, victim), 0, "and it can be saved again");
    orr_perfmodel_state_destroy(s);
}

static void test_life(void)
{
    struct starpu_perfmodel m = { .type = STARPU_HISTORY_BASED, .symbol = "life" };
    struct orr_perfmodel_state *s = orr_perfmodel_get(&m);
    fill(s, 4);
    orr_perf_fini();
    ok(all_of(m.state == NULL, !m.is_loaded), "shutdown saves a model and lets go of it");
    s = orr_perfmodel_get(&m);
    ok(all_of(s, entries_of(s) == 4, m.is_loaded), "the next use loads it");
    struct starpu_perfmodel twin = { .type = STARPU_HISTORY_BASED, .symbol = "life" };
    ok(orr_perfmodel_get(&twin) == s, "models of one symbol share what they know");
    orr_perf_fini();
    ok(all_of(!m.state, !twin.state), "and lose it together");
    setenv("STARPU_CALIBRATE", "2", 1);
    orr_perf_init(-1, false);
    s = orr_perfmodel_get(&m);
    ok(all_of(s, entries_of(s) == 0, m.benchmarking), "STARPU_CALIBRATE=2 forgets what was measured before");
    orr_perf_fini();
    unsetenv("STARPU_CALIBRATE");
    orr_perf_init(1, false);
    s = orr_perfmodel_get(&m);
    ok(all_of(s, entries_of(s) == 4), "but keeps the file until there are new measures");
    ok(orr_load_relaxed(&s->benchmarking), "starpu_conf.calibrate = 1 measures always");
    orr_perf_fini();
    struct starpu_perfmodel tool = { 0 };
    char found[4096];
    ok(all_of(orr_store_find("life", found, sizeof found) == 0, starpu_perfmodel_load_file(found, &tool) == 0,
              tool.type == STARPU_HISTORY_BASED, tool.symbol, strcmp(tool.symbol, "life") == 0),
       "a tool loads the file into an empty model");
    starpu_perfmodel_unload_model(&tool);
    ok(all_of(!tool.state, !tool.symbol), "and unloads it");
    starpu_perfmodel_free_sampling();
}

int main(void)
{
    char command[128];
    snprintf(folder, sizeof folder, "perfmodel_store.XXXXXX");
    if (!mkdtemp(folder)) skip_all("no folder can be made here");
    setenv("STARPU_PERF_MODEL_DIR", folder, 1);
    setenv("STARPU_HOSTNAME", "host", 1);
    unsetenv("STARPU_CALIBRATE");
    unsetenv("STARPU_SILENT");
    snprintf(victim, sizeof victim, "%s/victim", folder);
    test_round_trip();
    test_damage();
    test_sealed_nonsense();
    test_later_version();
    test_random();
    test_traps();
    test_processes();
    test_killed();
    test_life();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) diag("%s is left", folder);
    return done_testing();
}
