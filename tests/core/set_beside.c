/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one thread says of data while others look at it: names in messages, the first thing that is ever said
 * of a handle. Threads: main, one beside it. Owns: nothing. Not here: using data from several threads
 * (data_lifecycle.c).
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "tests/helper.h"

enum { ROUNDS = 20000, LETTERS = 50 };

static starpu_data_handle_t data;
static atomic_int over;
static atomic_int renamed;
static int torn, named;

/* A line that names data has LETTERS times one letter between quotes. */
static void read_lines(FILE *f)
{
    char line[512];
    rewind(f);
    while (fgets(line, sizeof line, f)) {
        const char *first = strchr(line, '"');
        if (!first++) continue;
        size_t n = strspn(first, (char[]){ *first, '\0' });
        torn += n != LETTERS || first[n] != '"';
        named++;
    }
}

static void *rename_data(void *arg UNUSED)
{
    char name[LETTERS + 1] = "";
    for (int i = 0; !atomic_load(&over); i++) {
        memset(name, 'a' + i % 2, LETTERS);
        starpu_data_set_name(data, name);
        atomic_fetch_add(&renamed, 1);
    }
    return NULL;
}

static void names(void)
{
    pthread_t thread;
    starpu_variable_data_register(&data, -1, 0, (size_t)64 << 20); /* more than the limit */
    FILE *said = tmpfile();
    int before = dup(STDERR_FILENO);
    if (!ok(said && before >= 0, "messages can be looked at")) return;
    dup2(fileno(said), STDERR_FILENO);
    pthread_create(&thread, NULL, rename_data, NULL);
    comes_to(&renamed, 1, 10000);
    int refused = 0;
    for (int i = 0; i < ROUNDS; i++) refused += starpu_data_acquire(data, STARPU_W) == -ENOMEM;
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
    dup2(before, STDERR_FILENO);
    close(before);
    read_lines(said);
    fclose(said);
    ok(all_of(refused == ROUNDS, named == ROUNDS), "each message names the data");
    is_int(torn, 0, "a name is whole while another thread changes it");
    starpu_data_unregister(data);
}

static void *say_something(void *arg UNUSED)
{
    starpu_data_set_user_data(data, &data);
    return NULL;
}

static void first_words(void)
{
    int right = 0;
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        starpu_variable_data_register(&data, -1, 0, 8);
        pthread_create(&thread, NULL, say_something, NULL);
        while (!starpu_data_get_user_data(data)) sched_yield();
        right += starpu_data_get_user_data(data) == &data;
        pthread_join(thread, NULL);
        starpu_data_unregister(data);
    }
    is_int(right, 200, "what another thread said of data first is there, or not yet");
}

int main(void)
{
    alarm(50);
    setenv("STARPU_LIMIT_CPU_MEM", "1", 1);
    runtime_start(1, NULL);
    names();
    first_words();
    starpu_shutdown();
    return done_testing();
}
