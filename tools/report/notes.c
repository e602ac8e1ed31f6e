/* SPDX-License-Identifier: BSD-3-Clause */
/* notes.c: what is to be known of the recordings themselves before anything in them is believed.
 * Threads: main. Owns: nothing. Not here: how it is found out (read.c, clocks.c). */
#include "tools/report/report.h"

static char *note_of(const struct report_file *f, enum report_note which, char text[REPORT_NOTE_BYTES])
{
    switch (which) {
    case REPORT_CUT_OFF:
        if (f->ended) return NULL;
        snprintf(text, REPORT_NOTE_BYTES, "the recording was cut off: the program did not end it");
        return text;
    case REPORT_DAMAGED:
        if (!f->damaged) return NULL;
        snprintf(text, REPORT_NOTE_BYTES, "%llu places of the file are damaged and left out",
                 (unsigned long long)f->damaged);
        return text;
    case REPORT_LOST:
        if (!f->lost) return NULL;
        snprintf(text, REPORT_NOTE_BYTES, "%llu records were lost: ORRERY_TRACE_BUFFER makes room for more",
                 (unsigned long long)f->lost);
        return text;
    case REPORT_CLOCK:
        if (!(f->early_ns > 0)) return NULL;
        snprintf(
            text, REPORT_NOTE_BYTES,
            "its clock cannot be put right: messages arrive %.0f ms before they were sent; a clock jumped",
            f->early_ns * 1e-6);
        return text;
    default: return NULL;
    }
}

size_t report_notes(const struct report_run *run,
                    void (*tell)(void *arg, const struct report_file *file, const char *note), void *arg)
{
    size_t count = 0;
    for (size_t i = 0; i < run->nfiles; i++)
        for (int which = 0; which < REPORT_NOTES; which++) {
            char text[REPORT_NOTE_BYTES];
            const char *note = note_of(&run->files[i], (enum report_note)which, text);
            if (!note) continue;
            tell(arg, &run->files[i], note);
            count++;
        }
    return count;
}
