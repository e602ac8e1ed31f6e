/* SPDX-License-Identifier: BSD-3-Clause */
/* loan.h: what lender and borrower share: the state of both on one rank, and what they say to each other.
 * Threads: any; fields say more. Owns: struct orr_lend, and the formats. Not here: giving (lend.c), running
 * (borrow.c), when to ask (hungry.c).
 *
 * An answer (a control message, as the question is: so who is stuck and asks does not seem to move), then
 * that many tasks, each a message with head, data and arguments, and one for each value that is read. Back
 * comes how long the task was there, and one message for each value that was written. Values are sent from
 * where they are, and received where they belong; what the borrower sees in the lender's memory (ranks of one
 * node, core/mem/arena.h) is not sent, but used there. */
#ifndef ORR_MPI_LOAN_H
#define ORR_MPI_LOAN_H

#include "core/data/access.h"
#include "core/worker/lending.h"
#include "mpi/live/control.h"
#include "mpi/live/stream.h"
#include "mpi/wire/cluster.h"

enum { ORR_LEND_AT_ONCE = 8, ORR_LEND_UNKNOWN = 16, ORR_LEND_QUESTIONS = 4 };

/* What was lent and borrowed. */
struct orr_lend_counts {
    uint64_t asked, refused;   /* by this rank: how often; how often there was nothing */
    uint64_t lent, undone;     /* tasks; of those, how many came back as they were */
    uint64_t borrowed, failed; /* tasks of others that came here; of those, how many could not be run */
    uint64_t bytes;            /* of lent tasks, sent to and fro */
    uint64_t in_place;         /* data of lent tasks that were not sent */
};

struct orr_borrowed;
struct orr_hungry;
struct loan;

/* A question of another rank's. */
struct orr_loan_ask {
    int peer;
    uint32_t count;      /* tasks that it wants; 0: it has taken that back */
    uint32_t to_run;     /* that it has borrowed already */
    uint64_t insertions; /* that it had made */
};

struct orr_loan_answer {
    uint32_t given, surplus; /* surplus: what waits for a worker there */
};

/* A question of this rank's. [own: who asks, then the answer's way; the second half: lock of struct orr_lend]
 */
struct orr_question {
    struct orr_waiter waiter; /* first */
    struct orr_lend *lend;
    struct orr_loan_answer answer;
    struct orr_borrowed *spare; /* room for what may be given */
    int peer;
    bool out;  /* it has no answer yet */
    bool late; /* and is not waited for any more: another rank may be asked meanwhile */
    bool news; /* the last one was answered, and that was not heard yet (orr_borrow_hear) */
    uint64_t asked_ns, answered_ns;
    uint32_t given, surplus; /* what the answer said */
};

struct orr_lend {
    struct orr_lender lender;      /* first */
    struct orr_cluster *cluster;   /* [const while on] */
    struct orr_controls *controls; /* [const while on] */
    bool on;                       /* [own: main thread] between begin and end */
    _Atomic int64_t open;          /* questions without answer, and loans of either side [atomic] */
    _Atomic bool closing;          /* it lends no more [atomic] */
    struct orr_waiter waiter;      /* for who answers; used while answering */
    struct orr_question questions[ORR_LEND_QUESTIONS]; /* to different ranks; one at most that is not late */
    _Atomic(struct orr_hungry *) hungry;               /* hungry.c; NULL: this rank does not ask [atomic] */
    void (*look)(struct orr_hungry *g);                /* its [const while hungry is set] */
    _Atomic uint32_t lookers;                          /* who may be in there [atomic] */
    ORR_SPIN(lend) lock;                               /* protects what follows; leaf */
    uint64_t next_id;
    struct orr_loan_ask *asks; /* of others, in order; one of each rank at most */
    uint32_t nasks;
    bool answering;                  /* somebody is about to look at them */
    struct loan *given, *given_last; /* what others have of this rank, the oldest first */
    bool *wanted_back;               /* by rank: it has asked for what it lent */
    bool giving_back;                /* somebody is about to look at these */
    struct orr_waiter back_waiter;   /* for that one; used while giving_back */
    struct {
        const struct starpu_codelet *cl;
        int peer;
    } unknown[ORR_LEND_UNKNOWN]; /* who does not know which codelet: the latest */
    uint32_t nunknown;
    double *slowness;                   /* by rank: how long tasks take there, over here; 0: not known */
    double transfer_ns, transfer_bytes; /* of recent loans, to and fro: means; 0: not known */
    uint32_t borrowed;                  /* tasks that are here, or on their way */
    uint32_t to_run;                    /* of those, how many were not run yet */
    struct orr_borrowed *kept;          /* records for others */
    uint32_t nkept;
    struct orr_borrowed *unrun, *unrun_last; /* of those: all is here, and none has begun */
    struct orr_lend_counts counts;
};

/* ---- messages ---- */

enum { ORR_LOAN_DATA = 32, ORR_LOAN_ALIGN = 64, ORR_LOAN_DIMS = 4, ORR_LOAN_INTERFACE = 256 };

/* Tags beside those of coll.c. */
#define ORR_LOAN_TAG_TASK (INT64_C(5) << 40)
#define ORR_LOAN_TAG_BACK (INT64_C(6) << 40)  /* + id */
#define ORR_LOAN_TAG_VALUE (INT64_C(7) << 40) /* + id * ORR_LOAN_DATA + which datum; there */
/* The same, back: not the name of what goes there, since the peer's loans have the same numbers. */
#define ORR_LOAN_TAG_RESULT (INT64_C(8) << 40)

/* Then ndata times struct orr_loan_datum; the arguments begin at an offset that is aligned. */
struct orr_loan_head {
    uint64_t id;
    struct orr_stream_first codelet;
    uint64_t args_at, args_bytes;
    uint32_t ndata, nimpl;
    int32_t priority;
    uint32_t unused;
};

/* One datum, a dense array. */
struct orr_loan_datum {
    uint64_t elemsize, nn[ORR_LOAN_DIMS];
    uint64_t at, ld[ORR_LOAN_DIMS]; /* where it is used in place, and its layout there; at 0: it is sent */
    uint32_t interface, ndim;
    uint32_t mode; /* as the kernel may ask for it: STARPU_R, W or RW, and what else the task says */
    uint32_t unused;
    uint64_t base; /* where in the whole a piece of a vector begins, in elements */
};

struct orr_loan_back {
    uint64_t held_ns;                          /* from when all of it was there until it was over */
    uint64_t body_ns;                          /* its function alone */
    uint64_t failed;                           /* starpu_task_ft_failed was called */
    uint64_t nn[ORR_LOAN_DATA][ORR_LOAN_DIMS]; /* of those data that there are: it may have shortened them */
};
static inline size_t orr_loan_back_bytes(uint32_t ndata)
{
    return offsetof(struct orr_loan_back, nn) + ndata * sizeof((struct orr_loan_back *)0)->nn[0];
}

static inline int64_t orr_loan_value_tag(int64_t way, uint64_t id, uint32_t datum)
{
    return way + (int64_t)(id * ORR_LOAN_DATA + datum);
}

/* One request of the layer's own, on its communicator: it is initialised, its payload and done are set. The
 * engine is not moved. */
void orr_loan_post(struct orr_lend *l, struct orr_request *r, enum orr_request_kind kind, int peer,
                   int64_t tag);
void orr_loan_move(struct orr_lend *l);
/* One thing less is under way. */
void orr_loan_over(struct orr_lend *l);
/* Tasks of others came, or one was run: asks for more of them if it is time. Any thread; not in the engine.
 */
void orr_loan_look(struct orr_lend *l);
struct orr_lend_counts orr_lend_get_counts(struct orr_lend *l);

#endif
