/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TAP 13 output for the test programs: one line per fact, a plan at the end, an exit status.
 * Threads: the facts are stated by one thread, usually main.
 * Owns: the counters of facts and of failures of this program.
 * Not here: starting the runtime, gates and codelets (tests/helper.h).
 */
#ifndef ORR_TESTS_TAP_H
#define ORR_TESTS_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Sanitizers make a program two to ten times slower: the second count is for them, where the fact does not
 * need the usual one. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#define SCALED(usual, sanitized) (SANITIZED ? (sanitized) : (usual))

static int tap_facts;
static int tap_failures;
static int tap_planned = -1;
static int tap_condition; /* of all_of: the number of the one that was looked at last */

/* Prints "ok" or "not ok" with the next number; returns cond so that a caller can stop. */
__attribute__((format(printf, 5, 6), unused)) static int tap_ok(int cond, const char *file, int line,
                                                                const char *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("%s %d - ", cond ? "ok" : "not ok", ++tap_facts);
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    if (!cond) {
        tap_failures++;
        printf("# %s:%d: %s\n", file, line, text);
        if (tap_condition) printf("#   condition %d of these does not hold\n", tap_condition);
    }
    tap_condition = 0;
    fflush(stdout);
    return cond;
}

__attribute__((format(printf, 6, 7), unused)) static int tap_is_int(long long got, long long want,
                                                                    const char *file, int line,
                                                                    const char *text, const char *fmt, ...)
{
    char fact[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(fact, sizeof fact, fmt, args);
    va_end(args);
    tap_ok(got == want, file, line, text, "%s", fact);
    if (got != want) printf("#   got %lld, want %lld\n", got, want);
    return got == want;
}

/* A fact that takes several conditions (2 to 8): all_of(a, b) is a && b, and a failure names the one. */
#define all_of(...)                                                                                          \
    (tap_condition = 0,                                                                                      \
     TAP_PICK_(__VA_ARGS__, TAP_8_, TAP_7_, TAP_6_, TAP_5_, TAP_4_, TAP_3_, TAP_2_, TAP_1_)(__VA_ARGS__))
#define TAP_PICK_(a, b, c, d, e, f, g, h, macro, ...) macro
#define TAP_1_(a) (tap_condition++, !!(a))
#define TAP_2_(a, ...) (TAP_1_(a) && TAP_1_(__VA_ARGS__))
#define TAP_3_(a, ...) (TAP_1_(a) && TAP_2_(__VA_ARGS__))
#define TAP_4_(a, ...) (TAP_1_(a) && TAP_3_(__VA_ARGS__))
#define TAP_5_(a, ...) (TAP_1_(a) && TAP_4_(__VA_ARGS__))
#define TAP_6_(a, ...) (TAP_1_(a) && TAP_5_(__VA_ARGS__))
#define TAP_7_(a, ...) (TAP_1_(a) && TAP_6_(__VA_ARGS__))
#define TAP_8_(a, ...) (TAP_1_(a) && TAP_7_(__VA_ARGS__))

#define ok(cond, ...) tap_ok(!!(cond), __FILE__, __LINE__, #cond, __VA_ARGS__)
#define is_int(got, want, ...) tap_is_int((got), (want), __FILE__, __LINE__, #got, __VA_ARGS__)

/* States a fact that could not be checked here, and why. */
__attribute__((format(printf, 1, 2), unused)) static void skip(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("ok %d # SKIP ", ++tap_facts);
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
}

/* Ends the program: nothing of it can be checked here. */
__attribute__((noreturn, unused)) static void skip_all(const char *reason)
{
    printf("1..0 # SKIP %s\n", reason);
    exit(0);
}

__attribute__((format(printf, 1, 2), unused)) static void diag(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("# ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    fflush(stdout);
}

/* Says in advance how many facts will be stated. */
__attribute__((unused)) static void plan(int facts)
{
    tap_planned = facts;
    printf("TAP version 13\n1..%d\n", facts);
}

/* Prints the plan if there was none; returns what main returns. */
__attribute__((unused)) static int done_testing(void)
{
    if (tap_planned < 0) printf("1..%d\n", tap_facts);
    fflush(stdout);
    return tap_failures > 0 || tap_facts == 0 || (tap_planned >= 0 && tap_planned != tap_facts);
}

#endif
