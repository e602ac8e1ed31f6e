/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of tasks, as policies use them.
 * Threads: main.
 * Owns: nothing.
 * Not here: policies that use them (tests/sched/user_policy.c).
 */
#include "tests/helper.h"

enum { N = 6 };
static struct starpu_task tasks[N];

/* Whether the list holds exactly these tasks, read from the front and linked both ways. */
static int holds(struct starpu_task_list *list, const char *digits)
{
    struct starpu_task *task = starpu_task_list_begin(list), *previous = NULL;
    for (; *digits; digits++) {
        if (task == starpu_task_list_end(list) || task != &tasks[*digits - '0'] || task->prev != previous)
            return 0;
        previous = task;
        task = starpu_task_list_next(task);
    }
    return task == starpu_task_list_end(list) && starpu_task_list_back(list) == previous;
}

int main(void)
{
    struct starpu_task_list list, other;
    for (int i = 0; i < N; i++) starpu_task_init(&tasks[i]);
    starpu_task_list_init(&list);
    ok(all_of(starpu_task_list_empty(&list), holds(&list, "")), "a new list is empty");
    starpu_task_list_push_back(&list, &tasks[1]);
    starpu_task_list_push_back(&list, &tasks[2]);
    starpu_task_list_push_front(&list, &tasks[0]);
    starpu_task_list_push_back(&list, &tasks[3]);
    ok(holds(&list, "0123"), "pushing at both ends keeps the order");
    ok(all_of(starpu_task_list_front(&list) == &tasks[0], starpu_task_list_back(&list) == &tasks[3],
              !starpu_task_list_empty(&list)),
       "front and back are looked at without taking them");
    ok(all_of(starpu_task_list_ismember(&list, &tasks[2]), !starpu_task_list_ismember(&list, &tasks[4])),
       "membership is known");
    starpu_task_list_erase(&list, &tasks[2]);
    ok(holds(&list, "013"), "a task in the middle is erased");
    starpu_task_list_erase(&list, &tasks[0]);
    starpu_task_list_erase(&list, &tasks[3]);
    ok(holds(&list, "1"), "and at both ends");
    ok(all_of(starpu_task_list_pop_back(&list) == &tasks[1], starpu_task_list_empty(&list)),
       "popping the last one empties the list");
    starpu_task_list_push_back(&list, &tasks[4]);
    starpu_task_list_push_back(&list, &tasks[5]);
    starpu_task_list_init(&other);
    starpu_task_list_move(&other, &list);
    ok(all_of(starpu_task_list_empty(&list), holds(&other, "45")), "a list is moved to another");
    ok(all_of(starpu_task_list_pop_front(&other) == &tasks[4],
              starpu_task_list_pop_front(&other) == &tasks[5], starpu_task_list_empty(&other)),
       "popping from the front gives the tasks in order");
    for (int i = 0; i < N; i++) starpu_task_clean(&tasks[i]);
    return done_testing();
}
