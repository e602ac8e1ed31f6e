/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In builds with a sanitizer: a leak, an access out of bounds, an overflow, a race and locks in two orders
 * are seen and end the program with status 66, so that a clean run says something. Threads: a child for each
 * error, one with a second thread. Owns: the errors made on purpose. Not here: the runtime's own errors (all
 * other tests find them).
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "core/base/alloc.h"
#include "core/base/thread.h"
#include "tests/helper.h"

enum { SEEN = 66 }; /* tests/sanitizers.sh */

static void *volatile lost;
static volatile int number = 2147483647, steps = 3;

/* From the library's allocator, as its own leaks would be. */
static void leak(void)
{
    for (int i = 0; i < 100; i++) lost = orr_malloc(100);
    lost = NULL;
}

static void read_out_of_bounds(void)
{
    char *block = orr_malloc(16);
    number = block[16 + steps];
    orr_free(block);
}

/* The buffer of data without a home, which the runtime keeps for other data. */
static void use_after_unregister(void)
{
    starpu_data_handle_t handle;
    runtime_start(1, NULL);
    starpu_vector_data_register(&handle, -1, 0, 1 << 20, 1);
    starpu_data_acquire(handle, STARPU_W);
    char *block = starpu_data_get_local_ptr(handle);
    starpu_data_release(handle);
    starpu_data_unregister(handle);
    number = block[1 << 18];
}

static void overflow(void)
{
    number += steps;
}

/* Not synchronised on purpose; volatile so that the compiler leaves all of it. */
static volatile int shared;

static void *increment(void *arg UNUSED)
{
    for (int i = 0; i < 1000; i++) shared++;
    return NULL;
}

static void race(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, increment, NULL) != 0) return;
    increment(NULL);
    pthread_join(thread, NULL);
}

/* One after the other: they need not meet for it to be seen. */
static void lock_in_two_orders(void)
{
    static orr_spin a, b;
    orr_self(); /* known threads are watched */
    orr_spin_lock(&a);
    orr_spin_lock(&b);
    orr_spin_unlock(&b);
    orr_spin_unlock(&a);
    orr_spin_lock(&b);
    orr_spin_lock(&a);
    orr_spin_unlock(&a);
    orr_spin_unlock(&b);
}

/* The exit status of a child that does it; what it says is not shown. */
static int status_after(void (*error)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        error();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(void)
{
    const char *build = getenv("ORR_SANITIZER");
    if (!build || strcmp(build, "none") == 0) skip_all("this build has no sanitizer");
    if (strstr(build, "address")) {
        is_int(status_after(leak), SEEN, "AddressSanitizer sees a leak of the library's memory");
        is_int(status_after(read_out_of_bounds), SEEN, "and a read out of bounds");
        is_int(status_after(use_after_unregister), SEEN, "and a read of memory that unregistered data had");
    }
    if (strstr(build, "undefined")) is_int(status_after(overflow), SEEN, "UBSan sees an overflow");
    if (strstr(build, "thread")) {
        is_int(status_after(race), SEEN, "ThreadSanitizer sees a race");
        is_int(status_after(lock_in_two_orders), SEEN, "and spin locks that are taken in two orders");
    }
    return done_testing();
}
