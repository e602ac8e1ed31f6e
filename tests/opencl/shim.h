/* SPDX-License-Identifier: BSD-3-Clause */
/* shim.h: what a test asks of tests/opencl/shim.c, by its symbol shim_control.
 * Threads: main. Owns: nothing. Not here: the calls themselves. */
#ifndef ORR_TESTS_OPENCL_SHIM_H
#define ORR_TESTS_OPENCL_SHIM_H

struct shim_counts {
    long events;         /* made, less given back */
    long copies;         /* and boxes of them, put into queues */
    long markers, rings; /* put into queues; calls asked for at the end of an event */
};

struct shim {
    /* Counts from 1 on again: these calls fail, and none else. */
    void (*fail)(long first, long last);
    /* All calls of that function fail; NULL: none does for its name. */
    void (*fail_always)(const char *name);
    /* How many have failed since; the name of the first. */
    long (*failed)(const char **name_out);
    /* Whether commands seem to go on for ever. */
    void (*silent)(int now);
    /* Whether who asked to be told of the end of an event is told late. */
    void (*late)(int now);
    /* Where devices say that they are plugged in (cl_khr_pci_bus_info), in the order in which they are asked
     * first: n of domain, bus, device, function; the others do not know the question. 0: as the library says.
     */
    void (*plug_in)(const unsigned (*at)[4], int n);
    /* Since the library was loaded. */
    struct shim_counts (*counts)(void);
};

#endif
