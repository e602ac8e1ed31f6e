/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of settings, and what is said of variables that have no effect. Threads: each case in a child of
 * its own. Owns: nothing. Not here: nonsense as values (tests/core/env.c), the printed list (tests/tools).
 */
#include <orrery.h>

#include "tests/core/misuse.h"

/* Variables for the child, NULL at the end; with = they are set, without it unset. */
static const char *const *now;
static int rounds = 1;

static bool start_and_stop(void)
{
    bool well = true;
    for (int i = 0; now[i]; i++) putenv((char *)(uintptr_t)now[i]);
    for (int i = 0; i < rounds; i++) {
        struct starpu_conf conf;
        starpu_conf_init(&conf);
        conf.ncpus = 1;
        well &= starpu_init(&conf) == 0;
        if (well) starpu_shutdown();
    }
    return well;
}

static struct outcome run_with(const char *const *variables)
{
    static const struct misuse m = { "start and stop", start_and_stop, 0 };
    now = variables;
    struct outcome o = misuse_try(&m);
    if (o.status != 0) diag("%s", outcome_text(o.status));
    return o;
}
#define run(...) run_with((const char *const[]){ __VA_ARGS__, NULL })

static bool says(const struct outcome *o, int lines, const char *text)
{
    if (o->status == 0 && o->lines == lines && strstr(o->said, text)) return true;
    diag("%d lines, not %d with \"%s\"", o->lines, lines, text);
    outcome_show(o);
    return false;
}

static void what_is_said(void)
{
    struct outcome o = run("STARPU_NCPU=1");
    ok(says(&o, 0, ""), "nothing is said of a setting");
    o = run("STARPU_NCPUU=1");
    ok(says(&o, 1, "STARPU_NCPUU is set and is no setting; STARPU_NCPU is"), "the nearest name is said");
    o = run("ORRERY_QUITE_DIFFERENT=1");
    ok(says(&o, 1, "ORRERY_QUITE_DIFFERENT is set and is no setting (orrery_settings"), "if there is one");
    o = run("STARPU_GENERATE_TRACE=1");
    ok(says(&o, 1, "STARPU_GENERATE_TRACE is set and has no effect: recordings"),
       "why one of StarPU has no effect is said");
    o = run("STARPU_LIMIT_HIP_3_MEM=10");
    ok(says(&o, 1, "STARPU_LIMIT_HIP_3_MEM is set and has no effect"), "of one for each device too");
    o = run("STARPU_GENERATE_TRACE=");
    ok(says(&o, 0, ""), "an empty variable is not set");
    o = run("STARPU_FXT_TRACE=1", "STARPU_SILENT=1");
    ok(says(&o, 0, ""), "STARPU_SILENT silences it");
    o = run("STARPU_A1=1", "STARPU_A2=1", "STARPU_A3=1", "STARPU_A4=1", "STARPU_A5=1", "STARPU_A6=1",
            "STARPU_A7=1", "STARPU_A8=1");
    ok(says(&o, 6, "3 more variables are set"), "of eight, five are named and three counted");
    rounds = 3;
    o = run("STARPU_NCPUU=1");
    ok(says(&o, 1, "STARPU_NCPUU"), "it is said once in a process");
    rounds = 1;
    o = run("STARPU_NCPUU=1", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2");
    ok(says(&o, 0, ""), "and by one of the ranks of a node");
    o = run("PATH_OF_STARPU_THINGS=1", "STARPUFFT=1");
    ok(says(&o, 0, ""), "variables with other names are nobody's business");
}

/* The place of a setting in the list; -1: it is not there. */
static int place_of(const char *name, struct orrery_setting *s)
{
    for (unsigned n = 0; orrery_setting_get(n, s) == 0; n++)
        if (strcmp(s->name, name) == 0) return (int)n;
    return -1;
}

/* Whether the list has that value of a setting, from that source. */
static int comes_from(const char *name, const char *value, const char *source)
{
    struct orrery_setting s;
    int there = place_of(name, &s) >= 0;
    if (there && strcmp(s.source, source) == 0 && (value ? s.value && !strcmp(s.value, value) : !s.value))
        return 1;
    diag("%s is %s, from %s", name, there && s.value ? s.value : "(none)", there ? s.source : "?");
    return 0;
}

/* What the program gives in starpu_conf. */
static void given(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = 0;
    conf.sched_policy_name = "prio";
    conf.enable_map = 1;
    setenv("STARPU_NOPENCL", "0", 1);
    unsetenv("STARPU_SCHED");
    unsetenv("STARPU_NCPU");
    if (starpu_init(&conf) != 0) {
        ok(0, "the runtime starts");
        return;
    }
    ok(all_of(comes_from("STARPU_NCPU", "1", "starpu_conf"), comes_from("STARPU_NCUDA", "0", "starpu_conf"),
              comes_from("STARPU_SCHED", "prio", "starpu_conf"),
              comes_from("STARPU_ENABLE_MAP", "1", "starpu_conf")),
       "what starpu_conf gives comes from there");
    ok(all_of(comes_from("STARPU_NOPENCL", "0", "environment"),
              comes_from("STARPU_RESERVE_NCPU", NULL, "default"),
              comes_from("STARPU_CATCH_SIGNALS", NULL, "default")),
       "the rest does not");
    starpu_shutdown();
    ok(all_of(comes_from("STARPU_NCPU", NULL, "default"), comes_from("STARPU_SCHED", NULL, "default")),
       "and not when the runtime has ended");
    setenv("STARPU_SCHED", "eager", 1);
    setenv("STARPU_NCPU", "2", 1);
    setenv("STARPU_CATCH_SIGNALS", "0", 1);
    if (starpu_init(&conf) == 0) {
        ok(all_of(comes_from("STARPU_NCPU", "2", "environment"),
                  comes_from("STARPU_SCHED", "eager", "environment"),
                  comes_from("STARPU_CATCH_SIGNALS", "0", "environment")),
           "the environment goes before starpu_conf");
        starpu_shutdown();
    }
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) == 0) {
        ok(all_of(comes_from("STARPU_NCPU", "1", "starpu_conf"),
                  comes_from("STARPU_SCHED", "prio", "starpu_conf"),
                  comes_from("STARPU_CATCH_SIGNALS", "1", "starpu_conf")),
           "unless the program says otherwise");
        starpu_shutdown();
    }
    unsetenv("STARPU_SCHED");
    unsetenv("STARPU_NCPU");
    unsetenv("STARPU_CATCH_SIGNALS");
    unsetenv("STARPU_NOPENCL");
}

static void the_list(void)
{
    struct orrery_setting s, other;
    unsigned total = 0;
    int complete = 1, unique = 1, in_order = 1, honoured = 1;
    for (; orrery_setting_get(total, &s) == 0; total++) {
        complete &= s.theme && s.name && s.help && *s.help && (!s.is_honoured || (s.default_value && s.unit));
        unique &= place_of(s.name, &other) == (int)total;
        in_order &= honoured || !s.is_honoured;
        honoured = s.is_honoured;
    }
    ok(all_of(total > 150, orrery_setting_get(total, &s) == -EINVAL), "there are %u settings and no more",
       total);
    ok(complete, "each has what there is to say of it");
    ok(unique, "none is there twice");
    ok(in_order, "those without effect are at the end");
    ok(orrery_setting_get(0, NULL) == -EINVAL, "NULL is refused");

    unsetenv("STARPU_CALIBRATE_MINIMUM");
    ok(all_of(place_of("STARPU_CALIBRATE_MINIMUM", &s) >= 0, !s.value, strcmp(s.default_value, "10") == 0),
       "one that is not set has its default");
    setenv("STARPU_CALIBRATE_MINIMUM", "12", 1);
    ok(all_of(place_of("STARPU_CALIBRATE_MINIMUM", &s) >= 0, s.value, strcmp(s.value, "12") == 0),
       "one that is set, its value");
    given();
    setenv("STARPU_OF_THE_PROGRAM", "7", 1);
    is_int(starpu_get_env_number("STARPU_OF_THE_PROGRAM"), 7, "programs may ask for variables of their own");
    unsetenv("STARPU_OF_THE_PROGRAM");
}

int main(void)
{
    unsetenv("STARPU_SILENT");
    what_is_said();
    the_list();
    return done_testing();
}
