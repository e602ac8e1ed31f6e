/* SPDX-License-Identifier: BSD-3-Clause */
/* dependencies shows order without data: tags name tasks that may not exist yet, declare_deps ties tasks at
 * hand.
 * Threads: main submits; workers run the tasks.
 *
 *   cut --(tag)--> glue --(declare_deps)--> paint, while dry runs between glue and paint
 * Expected output:
 *   cut glue dry paint; right */
#include <starpu.h>
#include <stdio.h>
#include <string.h>

enum { TAG_CUT = 1, TAG_GLUE = 2 };

/* Each task waits for the one before, so no two write this at once. */
static char history[64];

static void note(void *buffers[], void *args)
{
    (void)buffers;
    strcat(history, args);
    strcat(history, " ");
}

static struct starpu_codelet step = { .cpu_funcs = { note }, .nbuffers = 0, .name = "step" };

static struct starpu_task *create_step(const char *name)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &step;
    task->cl_arg = (void *)(uintptr_t)name;
    task->cl_arg_size = strlen(name) + 1;
    return task;
}

int main(void)
{
    if (starpu_init(NULL)) {
        fprintf(stderr, "dependencies: the runtime did not start\n");
        return 77;
    }
    struct starpu_task *cut = create_step("cut"), *glue = create_step("glue");
    struct starpu_task *dry = create_step("dry"), *paint = create_step("paint");
    cut->use_tag = 1;
    cut->tag_id = TAG_CUT;
    glue->use_tag = 1;
    glue->tag_id = TAG_GLUE;
    /* By tag: declared before either task is submitted. */
    starpu_tag_declare_deps(TAG_GLUE, 1, (starpu_tag_t)TAG_CUT);
    /* By task: declared before the waiting task is submitted. */
    starpu_task_declare_deps(dry, 1, glue);
    starpu_task_declare_deps(paint, 2, glue, dry);
    /* Submitted in the wrong order on purpose. */
    struct starpu_task *tasks[] = { paint, dry, glue, cut };
    int error = 0;
    for (int k = 0; k < 4; k++) error |= starpu_task_submit(tasks[k]);
    starpu_task_wait_for_all();
    int is_right = !error && !strcmp(history, "cut glue dry paint ");
    printf("%.*s; %s\n", (int)strlen(history) - 1, history, is_right ? "right" : "WRONG");
    starpu_shutdown();
    return !is_right;
}
