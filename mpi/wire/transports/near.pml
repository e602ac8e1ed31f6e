/* SPDX-License-Identifier: BSD-3-Clause */
/* near.pml: a model of one ring of near.c for spin: a writer that may find it full and sleep, and its reader. Run by
 * scripts/check-models.
 *
 * Each step is one atomic access of the C code, or a full fence between two. How a ring wakes the writer is another model
 * (core/worker/bell.pml); here it is remembered. A writer that sleeps beside an empty ring is a deadlock, and spin reports it.
 * That a cell is not written before it was read, and is read once, is asserted. The reader takes some at a time, any number of them,
 * and looks whether its writer waits after every LOOK cells: who is refused has left more than those in the ring.
 *
 * MUTANTS: -DNO_LAST_LOOK -DLOOK_BEFORE_WISH -DREADER_LOOKS_FIRST,-DLOOK=6 -DLOOK=8 -DCLEARED_LATE -DFREED_EARLY,-DNEED=1
 * SIZES: -DMESSAGES=9 -DMESSAGES=14,-DNEED=1 -DMESSAGES=12,-DLOOK=2 -DMESSAGES=14,-DLOOK=6
 */
#ifndef MESSAGES
#define MESSAGES 12
#endif
#ifndef LOOK
#define LOOK 4
#endif
#ifndef NEED
#define NEED 3 /* free cells, for one message: the others are kept */
#endif
#define CELLS 8

bool is_full[CELLS]; /* round, as the reader understands it */
byte taken;       /* of the reader */
bool wanted, rung;

#define FITS (CELLS - (put - seen) >= NEED)

active proctype writer()
{
    byte put, seen;
    do
    :: put == MESSAGES -> break
    :: put < MESSAGES ->
        if
        :: FITS -> skip
        :: else ->
            seen = taken;
            if
            :: FITS -> skip
            :: else ->
#ifdef LOOK_BEFORE_WISH
                seen = taken;
                wanted = true;
#else
                wanted = true;
#ifndef NO_LAST_LOOK
                seen = taken;
#endif
#endif
                if
                :: FITS -> skip
                :: else -> /* refused: it sleeps, and tries again */
                    rung;
                    rung = false
                fi
            fi
        fi;
        if
        :: FITS ->
            assert(!is_full[put % CELLS]);
            is_full[put % CELLS] = true;
            put++
        :: else -> skip
        fi
    od
}

active proctype reader()
{
    byte got;
    bool looks, waits;
    do
    :: got == MESSAGES -> break
    :: is_full[got % CELLS] ->
#ifdef FREED_EARLY
        taken = got + 1;
#endif
        is_full[got % CELLS] = false;
        got++;
        looks = looks || got % LOOK == 0;
#ifdef READER_LOOKS_FIRST
        waits = wanted;
        taken = got;
#else
        taken = got;
#endif
        if
        :: is_full[got % CELLS] && got < MESSAGES -> skip /* of the same poll */
        :: looks ->
            looks = false;
#ifndef READER_LOOKS_FIRST
            waits = wanted;
#endif
            if
            :: waits ->
#ifdef CLEARED_LATE
                rung = true;
                wanted = false
#else
                wanted = false;
                rung = true
#endif
            :: else -> skip
            fi
        :: !looks -> skip
        fi
    od
}
