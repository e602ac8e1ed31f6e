/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random stream of tasks over a few handles, and the same stream executed by one loop: the oracle that
 * every policy, mode and transport is held against.
 * Threads: main submits; workers execute. Owns: nothing;
 * the caller has the operations and the values. Not here: how the tasks are submitted.
 */
#ifndef ORR_TESTS_STREAM_H
#define ORR_TESTS_STREAM_H

#include "tests/helper.h"

#define STREAM_MOST 5

struct operation {
    int count;
    int which[STREAM_MOST];
    enum starpu_data_access_mode mode[STREAM_MOST];
    uint64_t salt;
    uint64_t result;
};

static inline uint64_t stream_mix(uint64_t a, uint64_t b)
{
    uint64_t state = a ^ (b * 0xd6e8feb86659fd93ULL);
    return random_next(&state);
}

/* Hashes what the operation reads into its result, and writes a hash of that to each value it writes. */
static inline void stream_operate(struct operation *operation, uint64_t *values[])
{
    uint64_t hash = operation->salt;
    for (int i = 0; i < operation->count; i++)
        if (operation->mode[i] & STARPU_R) hash = stream_mix(hash, *values[i]);
    for (int i = 0; i < operation->count; i++)
        if (operation->mode[i] & STARPU_W) *values[i] = stream_mix(hash, (uint64_t)i);
    operation->result = hash;
}

UNUSED static void stream_func(void *buffers[], void *arg)
{
    struct operation *operation = arg;
    uint64_t *values[STREAM_MOST];
    for (int i = 0; i < operation->count; i++) values[i] = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[i]);
    stream_operate(operation, values);
}

/* Draws the next operation: one to five different handles of so many, each read, written or both. */
static inline void stream_draw(struct operation *operation, uint64_t *seed, unsigned handles)
{
    static const enum starpu_data_access_mode modes[] = { STARPU_R, STARPU_R, STARPU_W, STARPU_RW };
    memset(operation, 0, sizeof *operation);
    operation->salt = random_next(seed);
    int want = 1 + (int)random_below(seed, STREAM_MOST);
    for (int i = 0; i < want; i++) {
        int which = (int)random_below(seed, handles), again = 0;
        for (int j = 0; j < operation->count; j++) again |= operation->which[j] == which;
        if (again) continue;
        operation->which[operation->count] = which;
        operation->mode[operation->count++] = modes[random_below(seed, LENGTH(modes))];
    }
}

/* Executes the operation on the oracle's values. */
static inline void stream_oracle(struct operation *operation, uint64_t values[])
{
    uint64_t *targets[STREAM_MOST];
    for (int j = 0; j < operation->count; j++) targets[j] = &values[operation->which[j]];
    stream_operate(operation, targets);
}

/* Submits the operation as a task of the given codelet (variable arity, stream_func). */
static inline int stream_submit(struct starpu_codelet *cl, struct operation *operation,
                                starpu_data_handle_t handles[])
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = operation;
    task->nbuffers = operation->count;
    for (int j = 0; j < operation->count; j++) {
        task->handles[j] = handles[operation->which[j]];
        task->modes[j] = operation->mode[j];
    }
    return starpu_task_submit(task);
}

#define STREAM_HANDLES 12

/* Runs a stream of so many tasks; returns how many results and values differ from the oracle's. */
UNUSED static int stream_run(struct starpu_codelet *cl, uint64_t seed, int length)
{
    struct operation *stream = calloc((size_t)length, sizeof *stream),
                     *oracle = calloc((size_t)length, sizeof *oracle);
    uint64_t values[STREAM_HANDLES], expected[STREAM_HANDLES];
    starpu_data_handle_t handles[STREAM_HANDLES];
    int wrong = 0;
    for (int i = 0; i < STREAM_HANDLES; i++) {
        values[i] = expected[i] = (uint64_t)i;
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
    }
    for (int i = 0; i < length; i++) {
        stream_draw(&stream[i], &seed, STREAM_HANDLES);
        oracle[i] = stream[i];
        wrong += stream_submit(cl, &stream[i], handles) != 0;
    }
    for (int i = 0; i < length; i++) stream_oracle(&oracle[i], expected);
    for (int i = 0; i < STREAM_HANDLES; i++) starpu_data_unregister(handles[i]);
    for (int i = 0; i < length; i++) wrong += stream[i].result != oracle[i].result;
    for (int i = 0; i < STREAM_HANDLES; i++) wrong += values[i] != expected[i];
    free(stream);
    free(oracle);
    return wrong;
}

#endif
