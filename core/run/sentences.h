/* SPDX-License-Identifier: BSD-3-Clause */
/* sentences.h: what tasks wait for, in words: the same at a deadlock and while a program runs.
 * Threads: none. Owns: nothing. Not here: who finds it out (deadlock.c, when nothing moves; why.c, when all
 * does).
 *
 * Formats for printf; the first %s is a task. */
#ifndef ORR_RUN_SENTENCES_H
#define ORR_RUN_SENTENCES_H

#define ORR_SAY_FOR_TASK "  task %s waits for task %s%s"
#define ORR_SAY_END_FOR_TASK "  task %s has run, and its end waits for task %s%s"
#define ORR_SAY_NEVER_SUBMITTED ", which was never submitted"
#define ORR_SAY_END_RELEASE "  task %s has run, and its end waits for %d calls of starpu_task_end_dep_release"
#define ORR_SAY_FOR_DATA "  task %s waits for data %s, %s"
#define ORR_SAY_PROGRAM_HOLDS "the program holds: starpu_data_acquire without starpu_data_release"
#define ORR_SAY_FOR_TAGS "  task %s waits for tags that its tag %llu depends on"
#define ORR_SAY_NO_WORKERS "  task %s is ready in scheduling context %u, which has no workers"
#define ORR_SAY_CONDITIONS "  task %s waits (%d conditions missing)"
#define ORR_SAY_TEAM "  task %s is to run on %u workers together, and %u have come: %s"

/* The first %s is "task NAME", or who else it is. */
#define ORR_SAY_FOR_MEMORY "  %s waits for %zu bytes of memory for data %s on memory node %u (%s)"
#define ORR_SAY_MEMORY_NODE                                                                                  \
    "  memory node %u (%s): %zu of %zu bytes are taken, and these cannot be thrown out:"
#define ORR_SAY_MEMORY_USE "    %zu bytes for data %s, which %s"
#define ORR_SAY_MEMORY_PROGRAM                                                                               \
    "the program holds there: starpu_data_acquire_on_node without starpu_data_release_on_node"

/* Of a message: what it is called, until what it holds. */
#define ORR_SAY_MESSAGE_HOLDS "the %s holds, %s"
#define ORR_SAY_UNTIL_MATCHED "until its other end comes"

#endif
