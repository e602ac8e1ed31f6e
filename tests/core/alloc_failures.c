/* SPDX-License-Identifier: BSD-3-Clause */
/* Of tests/core/alloc_failures.h: under lws and dmda; and what ends data needs no memory. Threads, Owns, Not
 * here: see there. */
#include "tests/core/alloc_failures.h"

/* ---- what ends data needs no memory ---- */

static atomic_int given_back;

static starpu_data_handle_t held(void)
{
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&total, sizeof total);
    starpu_data_acquire(h, STARPU_RW);
    return h;
}

static void give_back(void *h)
{
    starpu_data_release(h);
    atomic_fetch_add(&given_back, 1);
}

static void ends_of_data(void)
{
    runtime_start(2, NULL);
    orrery_set_error_hook(hook, NULL);
    atomic_store(&hooked, 0);
    starpu_data_handle_t gone = held(), empty = held(), both = held();
    orr_alloc_fail_after(0, true);
    starpu_data_unregister_submit(gone);
    starpu_data_invalidate_submit(empty);
    starpu_data_invalidate_submit(both);
    starpu_data_unregister_submit(both);
    ok(all_of(orr_data_valid(gone), orr_data_valid(both), atomic_load(&hooked) == 0),
       "data may be ended and invalidated without memory, while they are held");
    starpu_data_unregister_submit(both);
    starpu_data_invalidate_submit(empty);
    is_int(atomic_load(&hooked), 0, "a second invalidation behind the first changes nothing");
    orr_alloc_fail_after(-1, false);
    starpu_data_acquire_cb(empty, STARPU_W, give_back, empty);
    orr_alloc_fail_after(0, true);
    starpu_data_invalidate_submit(empty);
    is_int(atomic_load(&hooked), 1, "one behind what writes the data again is an error");
    starpu_data_release(gone);
    starpu_data_release(empty);
    starpu_data_release(both);
    ok(all_of(!orr_data_valid(gone), !orr_data_valid(both)), "given back, ended data are gone");
    orr_alloc_fail_after(-1, false);
    ok(all_of(starpu_data_acquire(empty, STARPU_R) == 0, atomic_load(&given_back) == 1),
       "and what was written after an invalidation stays");
    starpu_data_release(empty);
    starpu_data_invalidate_submit(empty);
    is_int(starpu_data_acquire(empty, STARPU_R), -EINVAL, "and invalidated ones have no value");
    starpu_data_acquire(empty, STARPU_W);
    orr_alloc_fail_after(0, true);
    starpu_data_invalidate_submit(empty);
    orr_alloc_fail_after(-1, false);
    starpu_data_release(empty);
    ok(all_of(starpu_data_acquire(empty, STARPU_R) == -EINVAL, atomic_load(&hooked) == 1),
       "which can be done as often as they are written");
    starpu_data_unregister(empty);
    starpu_shutdown();
    atomic_store(&hooked, 0); /* children count their own */
}

int main(void)
{
    begin_in_folder();
    ends_of_data();
    check_whole();
    check_policy("lws", false);
    check_policy("dmda", false);
    check_policy("dmda", true);
    return end_in_folder();
}
