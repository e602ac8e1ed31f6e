/* SPDX-License-Identifier: BSD-3-Clause */
/* order.h: what came before what: from accesses, tags, declarations and messages to dependencies of tasks.
 * Threads: main. Owns: nothing. Not here: tasks and their times (model.c). */
#ifndef ORR_REPORT_ORDER_H
#define ORR_REPORT_ORDER_H

#include "tools/report/table.h"

struct order {
    struct report_model *m;
    struct report_table data, tags, steps, ends;
    struct order_datum *datum;
    size_t ndatum, datum_room;
    struct order_tag *tag;
    size_t ntag, tag_room;
    struct order_edge *edges;
    size_t nedges, edges_room;
};

/* Events in the order of time. A task is its index in m->tasks. */
void order_access(struct order *o, uint32_t file, uint32_t task, uint64_t word); /* otrace.h: SUBMITTED */
void order_declared(struct order *o, uint32_t task, uint32_t before);
void order_tag(struct order *o, uint32_t file, const uint64_t *w); /* DECLARED or FREED */
void order_tag_bound(struct order *o, uint32_t file, uint64_t tag, uint32_t task);
void order_joined(struct order *o, uint32_t file, const uint64_t *w);      /* JOINED */
void order_passed(struct order *o, uint32_t file, const uint64_t *w);      /* PASSED */
void order_message_end(struct order *o, uint32_t file, const uint64_t *w); /* SENT or RECEIVED */
void order_forget(struct order *o, uint32_t file, uint64_t handle); /* its address is another's from now on */

/* Puts the dependencies into m, and ends o. m->tasks grows by steps. */
void order_finish(struct order *o);

#endif
