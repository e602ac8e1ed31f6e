# SPDX-License-Identifier: BSD-3-Clause
# Sourced by run-tap and run-mpi: how the sanitizers are to behave in a test, where the caller has not said otherwise.
# Status 66 says that one found something. srcdir is the source folder.
orr_asan=exitcode=66:detect_stack_use_after_return=1
# Open MPI is built without frame pointers: its leaks are told from ours by walking the stack exactly, which is slow.
[ "${ORR_UNDER_MPI:-}" ] && orr_asan=$orr_asan:fast_unwind_on_malloc=0
ASAN_OPTIONS=${ASAN_OPTIONS:-$orr_asan}
UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:exitcode=66}
LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$srcdir/tests/lsan.supp:print_suppressions=0}

# ThreadSanitizer waits for a second at the end of each program whose threads still run (atexit_sleep_ms), so that these may
# meet what main left; a fiftieth of that serves, as hundreds of programs end.
# Under MPI, what happens inside libraries that are not built with ThreadSanitizer is not looked at: they have too many
# ways to hand memory from thread to thread. All accesses of ours are looked at, in both cases.
orr_tsan=exitcode=66:second_deadlock_stack=1:history_size=4:atexit_sleep_ms=20
if [ "${ORR_UNDER_MPI:-}" ]; then
    orr_tsan=$orr_tsan:ignore_noninstrumented_modules=1
else
    orr_tsan=$orr_tsan:suppressions=$srcdir/tests/tsan.supp
fi
TSAN_OPTIONS=${TSAN_OPTIONS:-$orr_tsan}
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS LSAN_OPTIONS

# ThreadSanitizer's address map breaks with much randomisation of addresses; a container may forbid to switch it off.
launch=
if [ "${ORR_SANITIZER:-none}" = thread ] && setarch "$(uname -m)" -R true 2>/dev/null; then
    launch="setarch $(uname -m) -R"
fi
