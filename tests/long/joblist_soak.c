/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soak of job lists: random programs of all kinds of jobs over every policy, 1 to 8 workers, with and
 * without simulated devices, against the rule.
 * Threads: main builds, workers execute. Owns: nothing. Not here: the rule (tests/sched/joblist.h), single
 * facts (tests/sched/joblist.c). Usage: joblist_soak.tap [--jobs N] [--seed S] [--rounds K]
 */
#include <stdlib.h>
#include "tests/sched/joblist.h"
#include "tests/core/sim_helper.h"

static struct job_program program;

static long option(int argc, char **argv, const char *name, long otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return atol(argv[i + 1]);
    return otherwise;
}

/* Names are copied: they belong to a runtime that ends. */
static int policies(char names[][32], int max)
{
    struct starpu_sched_policy **all = starpu_sched_get_predefined_policies();
    int n = 0;
    for (; all[n] && n < max; n++) snprintf(names[n], 32, "%s", all[n]->policy_name);
    return n;
}

static void start(int workers, int devices, const char *policy)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    conf.ncuda = devices ? -1 : 0;
    conf.sched_policy_name = policy;
    conf.precedence_over_environment_variables = 1;
    sim_setting("ORRERY_SIM_DEVICES", devices ? "2" : NULL);
    if (starpu_init(&conf) == 0) return;
    printf("Bail out! the runtime does not start with policy %s\n", policy);
    exit(1);
}

/* One program; returns the number of breaches. */
static int one(const char *policy, int jobs, uint64_t seed)
{
    uint64_t dice = seed;
    int devices = random_below(&dice, 3) == 0, workers = 1 + (int)random_below(&dice, 8);
    struct program_traits traits = { .handles = random_below(&dice, 2),
                                     .bound = random_below(&dice, 2),
                                     .empty = random_below(&dice, 2),
                                     .commuting = random_below(&dice, 2),
                                     .priorities = random_below(&dice, 2),
                                     .devices = devices,
                                     .depends = random_below(&dice, 2),
                                     .work = random_below(&dice, 4) ? 200 : 0 };
    int lists = random_below(&dice, 3) ? 1 + (int)random_below(&dice, 30) : PROGRAM_LISTS;
    start(workers, devices, policy);
    int all = (int)starpu_worker_get_count();
    program_open(&program, lists, 0);
    program_run(&program, &traits, jobs, dice);
    /* a device has taken a few jobs while it runs one */
    int breaches = program_breaches(&program, devices ? all * 4 : all);
    program_close(&program);
    starpu_shutdown();
    if (breaches)
        diag("%s, %d workers, devices %d, %d lists, %d jobs, seed %llu: %d breaches", policy, workers,
             devices, lists, jobs, (unsigned long long)seed, breaches);
    return breaches;
}

int main(int argc, char **argv)
{
    char names[64][32];
    long jobs = option(argc, argv, "--jobs", 3000), rounds = option(argc, argv, "--rounds", 30);
    uint64_t seed = (uint64_t)option(argc, argv, "--seed", 20240701);
    if (jobs > PROGRAM_JOBS) jobs = PROGRAM_JOBS;
    int n = policies(names, 64);
    for (int p = 0; p < n; p++) {
        int breaches = 0;
        for (long r = 0; r < rounds; r++)
            breaches += one(names[p], (int)jobs, seed + (uint64_t)r * 64 + (uint64_t)p);
        is_int(breaches, 0, "%s: %ld programs of %ld jobs keep the rule (seed %llu)", names[p], rounds, jobs,
               (unsigned long long)seed);
    }
    return done_testing();
}
