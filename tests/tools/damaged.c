/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of recordings, and all that is made of them, on damaged ones: cut at every 64 bytes, and with
 * each word of it changed in several ways, sums being made right again so that the damage is looked at.
 * Threads: main; a child for each word, which is to end in time. Owns: nothing but memory.
 * Not here: what is said of damage (report.c).
 */
#include <math.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/helper.h"
#include "tests/tools/by_hand.h"
#include "tools/report/report.h"

enum { MOST_WORDS = 4096, CUT = 64, SECONDS = 20, HEAD = sizeof(struct otrace_file) / 8 };
static const char *const path = "damaged.otrace", *const beside = "damaged.1.otrace";

/* ---- a recording with every kind of record ---- */

static void one_rank(uint64_t rank)
{
    const double us = 1e3;
    const uint64_t data = 4096, piece = 8192, request = 12288, tag = 77, other = !rank;
    const char name[8] = "kernel";
    uint64_t text;
    memcpy(&text, name, sizeof text);
    begin_by_hand(
        rank ? beside : path, (int)rank,
        "host a\nprogram p\npolicy dmda\nnode 0 RAM\nnode 1 cave\nworker 0 0 0 left\nworker 1 1 1 right\n",
        1e9, 1, 0);
    PUT(OTRACE_THREAD, 1 * us, 5);
    PUT(OTRACE_NAME, 1 * us, 99, 6, text);
    PUT(OTRACE_REGISTERED, 2 * us, data, OTRACE_PAIR(1000, 0));
    PUT(OTRACE_REGISTERED, 2 * us, piece, OTRACE_PAIR(10, 0));
    PUT(OTRACE_MEMORY, 2 * us, OTRACE_PAIR(1000, 1), 5000);
    PUT(OTRACE_ALLOCATED, 2 * us, data, OTRACE_PAIR(1000, 1));
    PUT(OTRACE_IDLE, 2 * us, 0, 0);
    PUT(OTRACE_SLEEPS, 2 * us, 0);
    PUT(OTRACE_ITERATION, 3 * us, 1, 0);
    for (uint64_t job = 1; job <= 12; job++) /* readers enough for a step between groups */
        PUT(OTRACE_SUBMITTED, 3 * us, job, 99 | 5ULL << 32 | (job == 1 ? (uint64_t)OTRACE_DIVIDED << 48 : 0),
            data | (job < 2    ? OTRACE_WRITE
                    : job < 12 ? OTRACE_READ
                               : OTRACE_REDUX));
    PUT(OTRACE_ACCESSES, 3 * us, 1, piece | OTRACE_COMMUTE, data | OTRACE_READ | OTRACE_LATE);
    PUT(OTRACE_JOINED, 3 * us, OTRACE_PAIR(request, 1), data | (rank ? OTRACE_WRITE : OTRACE_READ));
    PUT(OTRACE_JOINED, 3 * us, OTRACE_PAIR(request, 0), piece | OTRACE_WRITE);
    PUT(OTRACE_DECLARED, 3 * us, 3, 2);
    put_record(OTRACE_READY, 3 * us, NULL, 0); /* the last that was submitted */
    for (uint64_t i = 1; i < 40; i++) PUT(OTRACE_TAG_BOUND, 3 * us, tag + i, 4); /* tables grow */
    PUT(OTRACE_TAG_BOUND, 3 * us, tag, 4);
    PUT(OTRACE_TAG_DECLARED, 3 * us, tag, tag + 1);
    PUT(OTRACE_TAG_FREED, 3 * us, tag);
    PUT(OTRACE_USER_NUMBER, 3 * us, 42);
    PUT(OTRACE_USER_TEXT, 3 * us, 99);
    PUT(OTRACE_WEIGHED, 4 * us, OTRACE_PAIR(1, 1), OTRACE_PAIR(500, 0), 400 | 100ULL << 32,
        OTRACE_PAIR(300, 1), 300);
    PUT(OTRACE_READY, 4 * us, 1);
    PUT(OTRACE_WAKES, 4 * us, 0);
    PUT(OTRACE_BUSY, 4 * us, 0);
    PUT(OTRACE_TAKEN, 4 * us, OTRACE_PAIR(1, 1));
    PUT(OTRACE_COPY_STARTED, 4 * us, data, OTRACE_PAIR(1000, 0), OTRACE_PAIR(OTRACE_LOADED, 1));
    PUT(OTRACE_COPY_ENDED, 5 * us, data, OTRACE_PAIR(0, 0), OTRACE_PAIR(0, 1));
    PUT(OTRACE_STARTED, 5 * us, OTRACE_PAIR(1, 1), 900);
    PUT(OTRACE_ENDED, 6 * us, OTRACE_PAIR(1, 1), 1000);
    PUT(OTRACE_READY, 6 * us, 2);
    PUT(OTRACE_STARTED, 6 * us, OTRACE_PAIR(2, 0));
    PUT(OTRACE_GIVEN_UP, 7 * us, OTRACE_PAIR(2, 0), 500);
    PUT(OTRACE_FAILED, 7 * us, 2, (uint64_t)-5);
    PUT(OTRACE_PART, 7 * us, OTRACE_PAIR(300, 1));
    PUT(OTRACE_PART, 7.5 * us, OTRACE_PAIR(300, 1), 1);
    for (uint64_t job = 3; job <= 11; job++) PUT(OTRACE_READY, 7 * us, job);
    for (uint64_t job = 3; job <= 11; job++)
        PUT(OTRACE_RAN, (7 + (double)job) * us, OTRACE_PAIR(job, job % 2), 900, 800);
    PUT(OTRACE_RUNNING, 19 * us, OTRACE_PAIR(12, 0));
    PUT(OTRACE_MESSAGE, 20 * us, request, OTRACE_PAIR(other, !rank), 7);
    PUT(OTRACE_PASSED, 20 * us, request + 64, other, request);
    PUT(OTRACE_SENT, 20 * us, request + 64, 500, other, 9, 1);
    PUT(OTRACE_PASSED, 20 * us, request + 64, OTRACE_DECLINED, 0);
    PUT(OTRACE_PASSED, 20 * us, request, other, 0);
    PUT(rank ? OTRACE_RECEIVED : OTRACE_SENT, (20 + (double)rank) * us, request, 500, other, 7, 1);
    PUT(rank ? OTRACE_SENT : OTRACE_RECEIVED, (22 + (double)other) * us, request, 500, other, 8, 1);
    PUT(OTRACE_EVICTED, 24 * us, data, OTRACE_PAIR(0, 1));
    PUT(OTRACE_BOUND, 24 * us, 5000);
    PUT(OTRACE_ITERATION_END, 24 * us, 1, 0);
    PUT(OTRACE_UNREGISTERED, 24 * us, data, 99);
    end_by_hand(25 * us);
}

static uint64_t whole[MOST_WORDS];
static size_t whole_words;

static bool load_whole(void)
{
    FILE *f = fopen(path, "rb");
    whole_words = f ? fread(whole, 8, MOST_WORDS, f) : 0;
    if (f) fclose(f);
    return whole_words > HEAD && whole_words < MOST_WORDS;
}

/* ---- reading ---- */

static void say_nothing(const char *name UNUSED, const char *what UNUSED)
{
}

/* What has to hold of whatever was read. */
static bool is_sound(const struct report_model *m)
{
    size_t nodes = m->ntasks + m->nsteps;
    bool sound = m->from <= m->to && isfinite(m->to - m->from) && m->critical_count <= m->ntasks;
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        sound &= t->worker < (int64_t)m->nlanes && t->name < m->ncodelets && t->file < m->run->nfiles;
        sound &= (size_t)t->first_dep + t->ndeps <= m->ndeps || !t->ndeps;
    }
    for (size_t i = 0; i < m->ndeps; i++) sound &= m->deps[i] < nodes;
    for (size_t i = 0; i < m->run->nmessages; i++)
        sound &= m->run->messages[i].from < m->run->nfiles && m->run->messages[i].to < m->run->nfiles;
    for (size_t i = 0; i < m->nlanes; i++)
        for (unsigned s = 0; s < REPORT_STATES; s++) sound &= !isnan(m->lanes[i].ns[s]);
    return sound;
}

/* Reads a recording and makes of it what can be made: of all forms every third, another in each turn. False:
 * something of that is unsound. */
static bool survives(const uint64_t *words, size_t bytes, size_t turn, FILE *out)
{
    static bool (*const forms[])(FILE *, const struct report_model *) = {
        report_text, report_html, report_chrome,  report_csv,      report_dot,
        report_rec,  report_paje, report_distrib, report_activity, report_states
    };
    struct report_run run;
    struct report_model model;
    char name[64];
    int fd = memfd_create("damaged", 0);
    if (fd < 0 || write(fd, words, bytes) != (ssize_t)bytes) return false;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    bool good = true;
    if (report_read(&run, (char *[]){ name, (char *)beside }, 2, say_nothing) == 0) {
        report_model(&model, &run);
        good = is_sound(&model);
        for (size_t i = turn % 3; i < LENGTH(forms); i += 3) good &= forms[i](out, &model);
    }
    close(fd);
    return good;
}

/* ---- damage ---- */

/* Makes the sums of all blocks right again, as far as blocks are where they were. */
static void sum_again(uint64_t *words)
{
    enum { BLOCK = sizeof(struct otrace_block) / 8 };
    for (size_t i = HEAD; i + BLOCK <= whole_words;) {
        struct otrace_block *b = (struct otrace_block *)&words[i];
        const struct otrace_block *was = (const struct otrace_block *)&whole[i];
        size_t n = b->bytes / 8 <= whole_words - i - BLOCK ? b->bytes / 8 : 0;
        b->checksum = otrace_sum(otrace_sum(0, &words[i], BLOCK - 1), &words[i + BLOCK], n);
        i += BLOCK + was->bytes / 8;
    }
}

static bool changes(size_t at, FILE *out)
{
    static uint64_t copy[MOST_WORDS];
    const uint64_t old = whole[at];
    const uint64_t values[] = { 0,           UINT64_MAX,       old + 1,   old - 1,   old ^ 0xff00,
                                old ^ 0x100, old ^ 1ULL << 63, old << 16, INT64_MAX, old ^ 0xffULL << 48 };
    for (size_t i = 0; i < LENGTH(values); i++) {
        memcpy(copy, whole, whole_words * 8);
        copy[at] = values[i];
        sum_again(copy);
        if (!survives(copy, whole_words * 8, i, out)) return false;
    }
    return true;
}

/* In a process of its own: 0, or what it ended with. */
static int status_of(bool (*fn)(size_t at, FILE *out), size_t at)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        FILE *out = fopen("/dev/null", "w");
        alarm(SECONDS);
        _exit(out && fn(at, out) ? 0 : 1);
    }
    if (child > 0) waitpid(child, &status, 0);
    return status;
}

static bool is_cut(size_t at, FILE *out)
{
    return survives(whole, at, 0, out) && survives(whole, at, 1, out) && survives(whole, at, 2, out);
}

int main(void)
{
    size_t bad = 0;
    one_rank(0);
    one_rank(1);
    if (!load_whole()) {
        printf("Bail out! no recording could be made\n");
        return 1;
    }
    is_int(status_of(is_cut, whole_words * 8), 0, "a recording with every kind of record is read");
    for (size_t at = 0; at <= whole_words * 8; at += CUT) {
        int status = status_of(is_cut, at);
        bad += status != 0;
        if (status) diag("cut at %zu: status %#x", at, status);
    }
    is_int((long long)bad, 0, "cut at every %d bytes it is read as far as it goes, or refused", CUT);
    bad = 0;
    for (size_t at = 0; at < whole_words; at++) {
        int status = status_of(changes, at);
        bad += status != 0;
        if (status) diag("word %zu of %zu changed: status %#x", at, whole_words, status);
    }
    is_int((long long)bad, 0, "with any word of it changed it is read, or refused");
    unlink(path), unlink(beside);
    return done_testing();
}
