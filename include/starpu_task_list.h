/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_task_list.h: doubly linked lists of tasks, through starpu_task::prev and next; for scheduling
 * policies.
 *
 * Threads: the caller keeps others out of a list while it uses it.
 * Owns: nothing; a list owns no task, and a task is in one list at most.
 * Not here: policies (starpu_scheduler.h).
 */
#ifndef STARPU_TASK_LIST_H
#define STARPU_TASK_LIST_H

#include <starpu_task.h>
#include <starpu_util.h>

#define STARPU_TASK_LIST_INLINE static STARPU_INLINE

/* An empty list has NULL twice. */
struct starpu_task_list {
    struct starpu_task *head;
    struct starpu_task *tail;
};

/* Make a list empty, whatever it held. */
STARPU_TASK_LIST_INLINE void starpu_task_list_init(struct starpu_task_list *list)
{
    list->head = NULL;
    list->tail = NULL;
}

/* Is it empty? */
STARPU_TASK_LIST_INLINE int starpu_task_list_empty(const struct starpu_task_list *list)
{
    return list->head == NULL;
}

/* Put a task, which is in no list, before the first. */
STARPU_TASK_LIST_INLINE void starpu_task_list_push_front(struct starpu_task_list *list,
                                                         struct starpu_task *task)
{
    task->prev = NULL;
    task->next = list->head;
    if (list->head)
        list->head->prev = task;
    else
        list->tail = task;
    list->head = task;
}

/* The same, behind the last. */
STARPU_TASK_LIST_INLINE void starpu_task_list_push_back(struct starpu_task_list *list,
                                                        struct starpu_task *task)
{
    task->next = NULL;
    task->prev = list->tail;
    if (list->tail)
        list->tail->next = task;
    else
        list->head = task;
    list->tail = task;
}

/* The first task, which stays in the list; NULL: the list is empty. */
STARPU_TASK_LIST_INLINE struct starpu_task *starpu_task_list_front(const struct starpu_task_list *list)
{
    return list->head;
}

/* The last task, which stays there; NULL: the list is empty. */
STARPU_TASK_LIST_INLINE struct starpu_task *starpu_task_list_back(const struct starpu_task_list *list)
{
    return list->tail;
}

/* Take a task out of the list that holds it. */
STARPU_TASK_LIST_INLINE void starpu_task_list_erase(struct starpu_task_list *list, struct starpu_task *task)
{
    if (task->prev)
        task->prev->next = task->next;
    else
        list->head = task->next;
    if (task->next)
        task->next->prev = task->prev;
    else
        list->tail = task->prev;
    task->prev = NULL;
    task->next = NULL;
}

/* Take out and return the first task; NULL: the list is empty. */
STARPU_TASK_LIST_INLINE struct starpu_task *starpu_task_list_pop_front(struct starpu_task_list *list)
{
    struct starpu_task *task = list->head;
    if (task) starpu_task_list_erase(list, task);
    return task;
}

/* The same of the last task. */
STARPU_TASK_LIST_INLINE struct starpu_task *starpu_task_list_pop_back(struct starpu_task_list *list)
{
    struct starpu_task *task = list->tail;
    if (task) starpu_task_list_erase(list, task);
    return task;
}

/* A walk: for (t = begin(l); t != end(l); t = next(t)). They return the first task, what follows the last
 * (NULL), and the one behind a task. */
STARPU_TASK_LIST_INLINE struct starpu_task *starpu_task_list_begin(const struct starpu_task_list *list)
{
    return list->head;
}

/* What a walk ends with: NULL. */
STARPU_TASK_LIST_INLINE struct starpu_task *starpu_task_list_end(
    const struct starpu_task_list *list STARPU_ATTRIBUTE_UNUSED)
{
    return NULL;
}

/* The task behind this one; NULL: it is the last. */
STARPU_TASK_LIST_INLINE struct starpu_task *starpu_task_list_next(const struct starpu_task *task)
{
    return task->next;
}

/* Is the task in the list? O(length). */
STARPU_TASK_LIST_INLINE int starpu_task_list_ismember(const struct starpu_task_list *list,
                                                      const struct starpu_task *look)
{
    const struct starpu_task *task;
    for (task = list->head; task; task = task->next)
        if (task == look) return 1;
    return 0;
}

/* Move all tasks of lsrc to ldst, which need not be initialised: what it held is forgotten. */
STARPU_TASK_LIST_INLINE void starpu_task_list_move(struct starpu_task_list *ldst,
                                                   struct starpu_task_list *lsrc)
{
    *ldst = *lsrc;
    starpu_task_list_init(lsrc);
}

#endif
