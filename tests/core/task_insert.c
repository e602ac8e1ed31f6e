/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * starpu_task_insert: each kind of argument, packing and unpacking of values, more buffers than the fixed
 * number.
 * Threads: main inserts; workers execute. Owns: what the codelets saw. Not here: access modes and
 * their order (data_modes.c).
 */
#include "tests/helper.h"

static int seen_int;
static double seen_double;
static char seen_text[8];

static void values_func(void *buffers[] UNUSED, void *arg)
{
    starpu_codelet_unpack_args(arg, &seen_int, &seen_double, seen_text);
}
static struct starpu_codelet values_cl = { .cpu_funcs = { values_func }, .name = "values" };

static void values(void)
{
    int i = 42;
    double d = 2.5;
    char text[8] = "orrery";
    int status = starpu_task_insert(&values_cl, STARPU_VALUE, &i, sizeof i, STARPU_VALUE, &d, sizeof d,
                                    STARPU_VALUE, text, sizeof text, 0);
    i = 0;
    d = 0;
    memset(text, 0, sizeof text);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, seen_int == 42, seen_double == 2.5, strcmp(seen_text, "orrery") == 0),
       "values are copied at insertion and unpacked in order");
}

static void packed_by_hand(void)
{
    int i = 7, j = 0;
    double d = -1.25;
    char text[8] = "packed";
    void *arg = NULL;
    size_t size = 0;
    starpu_codelet_pack_args(&arg, &size, STARPU_VALUE, &i, sizeof i, STARPU_VALUE, &d, sizeof d,
                             STARPU_VALUE, text, sizeof text, 0);
    ok(all_of(arg, size >= sizeof i + sizeof d + sizeof text),
       "arguments are packed into one buffer of known size");
    int status = starpu_task_insert(&values_cl, STARPU_CL_ARGS, arg, size, 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, seen_int == 7, seen_double == -1.25, strcmp(seen_text, "packed") == 0),
       "STARPU_CL_ARGS gives a packed buffer to the task");

    struct starpu_codelet_pack_arg_data state;
    starpu_codelet_pack_arg_init(&state);
    i = 8;
    starpu_codelet_pack_arg(&state, &i, sizeof i);
    starpu_codelet_pack_arg(&state, &d, sizeof d);
    starpu_codelet_pack_arg(&state, text, sizeof text);
    arg = NULL;
    size = 0;
    starpu_codelet_pack_arg_fini(&state, &arg, &size);
    double e = 0;
    char back[8] = "";
    starpu_codelet_unpack_args(arg, &j, &e, back);
    ok(all_of(j == 8, e == d, strcmp(back, text) == 0), "arguments packed one by one are unpacked alike");
    status = starpu_task_insert(&values_cl, STARPU_CL_ARGS_NFREE, arg, size, 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, seen_int == 8), "STARPU_CL_ARGS_NFREE lends a packed buffer");
    j = 0;
    starpu_codelet_unpack_args(arg, &j, NULL);
    is_int(j, 8, "the lent buffer is untouched, and unpacking may stop early");
    free(arg);
}

static int copy_first;
static double copy_second;
static char copy_third[8];
static void copyleft_func(void *buffers[] UNUSED, void *arg)
{
    char rest[128];
    starpu_codelet_unpack_args_and_copyleft(arg, rest, sizeof rest, &copy_first, NULL);
    starpu_codelet_unpack_args(rest, &copy_second, copy_third);
}
static struct starpu_codelet copyleft_cl = { .cpu_funcs = { copyleft_func }, .name = "copyleft" };

static void unpacked_in_parts(void)
{
    int i = 3;
    double d = 4.5;
    char text[8] = "rest";
    int status = starpu_task_insert(&copyleft_cl, STARPU_VALUE, &i, sizeof i, STARPU_VALUE, &d, sizeof d,
                                    STARPU_VALUE, text, sizeof text, 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, copy_first == 3, copy_second == 4.5, strcmp(copy_third, "rest") == 0),
       "what is not unpacked yet is copied for a later unpacking");
}

static atomic_int callback_sum;
static char order[8];
static atomic_int order_count;
static void add_callback(void *arg)
{
    atomic_fetch_add(&callback_sum, *(int *)arg);
}
static void mark(char c)
{
    order[atomic_fetch_add(&order_count, 1)] = c;
}
static void mark_callback(void *arg)
{
    mark(*(const char *)arg);
}

static struct starpu_task *current;
static int current_priority, current_worker;
static char current_name[32];
static unsigned current_order, current_color;
static double current_flops;
static void look_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    struct starpu_task *task = starpu_task_get_current();
    current_priority = task->priority;
    current_worker = starpu_worker_get_id();
    current_flops = task->flops;
    current_color = task->color;
    current_order = task->workerorder;
    snprintf(current_name, sizeof current_name, "%s", starpu_task_get_name(task));
    current = task;
    mark('f');
}
static struct starpu_codelet look_cl = { .cpu_funcs = { look_func }, .name = "look" };

static void callbacks(void)
{
    static int three = 3, five = 5;
    atomic_store(&callback_sum, 0);
    int status = starpu_task_insert(&look_cl, STARPU_CALLBACK_WITH_ARG_NFREE, add_callback, &three, 0);
    starpu_task_wait_for_all();
    status |=
        starpu_task_insert(&look_cl, STARPU_CALLBACK, add_callback, STARPU_CALLBACK_ARG_NFREE, &five, 0);
    starpu_task_wait_for_all();
    int *owned = malloc(sizeof *owned);
    *owned = 100;
    status |= starpu_task_insert(&look_cl, STARPU_CALLBACK_WITH_ARG, add_callback, owned, 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, callback_sum == 108), "callbacks get their argument, lent or given away");

    memset(order, 0, sizeof order);
    atomic_store(&order_count, 0);
    status = starpu_task_insert(&look_cl, STARPU_PROLOGUE_CALLBACK, mark_callback,
                                STARPU_PROLOGUE_CALLBACK_ARG_NFREE, "p", STARPU_PROLOGUE_CALLBACK_POP,
                                mark_callback, STARPU_PROLOGUE_CALLBACK_POP_ARG_NFREE, "o", STARPU_CALLBACK,
                                mark_callback, STARPU_CALLBACK_ARG_NFREE, "c", 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, strcmp(order, "pofc") == 0),
       "prologue, pop prologue and callback surround the function: %s", order);
}

static void attributes(void)
{
    atomic_store(&order_count, 0);
    int status = starpu_task_insert(&look_cl, STARPU_PRIORITY, 1, STARPU_NAME, "named", STARPU_FLOPS, 12.5,
                                    STARPU_TASK_COLOR, 0xff00ff, 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, current_priority == 1, strcmp(current_name, "named") == 0, current_flops == 12.5,
              current_color == 0xff00ff),
       "priority, name, flops and colour reach the task");
    int wrong = 0;
    for (int worker = 0; worker < (int)starpu_worker_get_count(); worker++)
        for (int i = 0; i < 5; i++) {
            atomic_store(&order_count, 0);
            wrong += starpu_task_insert(&look_cl, STARPU_EXECUTE_ON_WORKER, worker, STARPU_TASK_SYNCHRONOUS,
                                        1, 0) != 0;
            wrong += current_worker != worker;
        }
    is_int(wrong, 0,
           "STARPU_EXECUTE_ON_WORKER chooses the worker, and a synchronous insertion has run on return");

    atomic_store(&order_count, 0);
    status = starpu_task_insert(&look_cl, STARPU_TAG, (starpu_tag_t)0x77, 0);
    ok(all_of(status == 0, starpu_tag_wait(0x77) == 0, order_count == 1),
       "a task inserted with a tag is waited for by it");
    starpu_tag_remove(0x77);
}

static void reach_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    mark('b');
}
static struct starpu_codelet reach_cl = { .cpu_funcs = { reach_func }, .name = "reach" };

static void dependencies(void)
{
    struct gate gate = { 0 };
    struct starpu_task *first = starpu_task_create();
    first->cl = &gate_cl;
    first->cl_arg = &gate;
    first->detach = 0;
    int status = starpu_task_submit(first);
    gate_wait_entered(&gate, 1);
    atomic_store(&order_count, 0);
    struct starpu_task *deps[1] = { first };
    status |= starpu_task_insert(&reach_cl, STARPU_TASK_DEPS_ARRAY, 1, deps, 0);
    rest_but(1);
    int early = order_count;
    gate_open(&gate);
    status |= starpu_task_wait(first);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, early == 0, order_count == 1),
       "STARPU_TASK_DEPS_ARRAY makes the task wait for others");
}

static void built(void)
{
    int i = 11;
    double d = 0.5;
    char text[8] = "built";
    struct starpu_task *task = starpu_task_build(&values_cl, STARPU_VALUE, &i, sizeof i, STARPU_VALUE, &d,
                                                 sizeof d, STARPU_VALUE, text, sizeof text, 0);
    seen_int = 0;
    rest_but(0);
    ok(all_of(task, task->cl == &values_cl, seen_int == 0), "a built task is not submitted");
    task->detach = 0;
    int status = starpu_task_submit(task) != 0 || starpu_task_wait(task) != 0;
    ok(all_of(status == 0, seen_int == 11, strcmp(seen_text, "built") == 0),
       "submitted by hand it has its arguments");
}

#define MANY 20
static int many_count, many_wrong;
static void many_func(void *buffers[], void *arg UNUSED)
{
    struct starpu_task *task = starpu_task_get_current();
    many_count = (int)STARPU_TASK_GET_NBUFFERS(task);
    for (int i = 0; i < many_count; i++) {
        int *value = (int *)STARPU_VARIABLE_GET_PTR(buffers[i]);
        many_wrong += *value != i;
        if (STARPU_TASK_GET_MODE(task, (unsigned)i) & STARPU_W) *value = 100 + i;
    }
}
static struct starpu_codelet many_cl = { .cpu_funcs = { many_func },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "many" };

static void arrays_of_handles(void)
{
    int data[MANY];
    starpu_data_handle_t handles[MANY];
    struct starpu_data_descr descrs[MANY];
    for (int i = 0; i < MANY; i++) {
        data[i] = i;
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&data[i], sizeof data[i]);
        descrs[i].handle = handles[i];
        descrs[i].mode = i % 2 ? STARPU_RW : STARPU_R;
    }
    many_wrong = 0;
    int status =
        starpu_task_insert(&many_cl, STARPU_R, handles[0], STARPU_RW, handles[1], STARPU_R, handles[2], 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, many_count == 3, many_wrong == 0),
       "a codelet of variable arity takes as many buffers as are given");
    data[1] = 1;
    status = starpu_task_insert(&many_cl, STARPU_DATA_MODE_ARRAY, descrs, MANY, 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, many_count == MANY, many_wrong == 0),
       "an array of 20 handles with their modes is taken");
    int wrong = 0;
    for (int i = 0; i < MANY; i++) starpu_data_unregister(handles[i]);
    for (int i = 0; i < MANY; i++) wrong += data[i] != (i % 2 ? 100 + i : i);
    is_int(wrong, 0, "each buffer was accessed by its own mode");
}

static int fixed_wrong;
static void fixed_func(void *buffers[], void *arg UNUSED)
{
    for (int i = 0; i < MANY; i++) fixed_wrong += (*(int *)STARPU_VARIABLE_GET_PTR(buffers[i]))++ != i;
}

static void fixed_number_over_the_limit(void)
{
    static enum starpu_data_access_mode modes[MANY];
    static struct starpu_codelet fixed_cl = {
        .cpu_funcs = { fixed_func }, .nbuffers = MANY, .dyn_modes = modes, .name = "fixed"
    };
    int data[MANY];
    starpu_data_handle_t handles[MANY];
    for (int i = 0; i < MANY; i++) {
        modes[i] = STARPU_RW;
        data[i] = i;
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&data[i], sizeof data[i]);
    }
    int status = starpu_task_insert(&fixed_cl, STARPU_DATA_ARRAY, handles, MANY, 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, fixed_wrong == 0),
       "a codelet with %d buffers in dyn_modes takes an array of handles", MANY);

    struct starpu_task *task = starpu_task_create();
    task->cl = &fixed_cl;
    task->dyn_handles = malloc(MANY * sizeof *task->dyn_handles);
    for (int i = 0; i < MANY; i++) task->dyn_handles[i] = handles[MANY - 1 - i];
    for (int i = 0; i < MANY; i++) {
        starpu_data_acquire(handles[i], STARPU_W);
        data[i] = MANY - 1 - i;
        starpu_data_release(handles[i]);
    }
    task->synchronous = 1;
    status = starpu_task_submit(task);
    ok(all_of(status == 0, fixed_wrong == 0), "dyn_handles given by hand are taken in their order");
    for (int i = 0; i < MANY; i++) starpu_data_unregister(handles[i]);
}

static void modes_of_the_task(void)
{
    static struct starpu_codelet silent_cl = { .cpu_funcs = { fixed_func },
                                               .nbuffers = MANY,
                                               .name = "silent" };
    int data[MANY];
    starpu_data_handle_t handles[MANY];
    struct starpu_task *task = starpu_task_create();
    task->cl = &silent_cl;
    task->dyn_handles = malloc(MANY * sizeof *task->dyn_handles);
    task->dyn_modes = malloc(MANY * sizeof *task->dyn_modes);
    for (int i = 0; i < MANY; i++) {
        data[i] = i;
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&data[i], sizeof data[i]);
        task->dyn_handles[i] = handles[i];
        task->dyn_modes[i] = STARPU_RW;
    }
    fixed_wrong = 0;
    task->synchronous = 1;
    int status = starpu_task_submit(task);
    for (int i = 0; i < MANY; i++) starpu_data_unregister(handles[i]);
    ok(all_of(status == 0, fixed_wrong == 0),
       "a task may bring the modes of %d buffers that its codelet does not tell", MANY);
}

static void mixed_func(void *buffers[], void *arg)
{
    int add;
    starpu_codelet_unpack_args(arg, &add);
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]) = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) + add;
}
static struct starpu_codelet mixed_cl = {
    .cpu_funcs = { mixed_func },
    .nbuffers = 2,
    .modes = { STARPU_R, STARPU_W },
    .name = "mixed",
};

static void mixed(void)
{
    int from = 5, to = 0, add = 37;
    starpu_data_handle_t source, target;
    starpu_variable_data_register(&source, STARPU_MAIN_RAM, (uintptr_t)&from, sizeof from);
    starpu_variable_data_register(&target, STARPU_MAIN_RAM, (uintptr_t)&to, sizeof to);
    int status = starpu_task_insert(&mixed_cl, STARPU_VALUE, &add, sizeof add, STARPU_R, source,
                                    STARPU_PRIORITY, 0, STARPU_W, target, 0);
    starpu_data_unregister(target);
    starpu_data_unregister(source);
    ok(all_of(status == 0, to == 42), "data, values and attributes mix in any order");
#if STARPU_AT_LEAST(1, 4) /* 1.3 stops the program instead */
    ok(starpu_task_insert(&mixed_cl, STARPU_VALUE, &add, sizeof add, 0) != 0,
       "an insertion with too few handles is refused");
#endif
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    values();
    packed_by_hand();
    unpacked_in_parts();
    callbacks();
    attributes();
    dependencies();
    built();
    arrays_of_handles();
    fixed_number_over_the_limit();
    modes_of_the_task();
    mixed();
    starpu_shutdown();
    return done_testing();
}
