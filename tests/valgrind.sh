#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs test programs under valgrind: no invalid access, no use of what was never written, and at the end not a byte of ours
# lost or still held (tests/valgrind.supp names what others keep). One TAP line a program, what valgrind says below it.
# Usage: valgrind.sh [PROGRAM...]   (tests/core/data_modes where none is named), in the build folder
set -u

srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ "${ORR_SANITIZER:-none}" = none ] || skip_all "a build with a sanitizer does not run under valgrind"
command -v valgrind >/dev/null 2>&1 || skip_all "valgrind is not installed"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM

[ $# -gt 0 ] || set -- tests/core/data_modes
count=0 failures=0
for program in "$@"; do
    program=${program%.tap}
    count=$((count + 1))
    rm -rf "$scratch/home"
    mkdir "$scratch/home"
    # An error ends the program with 66. Threads take turns fairly, since workers spin before they sleep.
    STARPU_HOME=$scratch/home timeout -k 5 "${ORR_TEST_LIMIT:-300}" valgrind --quiet --fair-sched=yes \
        --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --error-exitcode=66 \
        --suppressions="$srcdir/tests/valgrind.supp" "./$program.tap" >"$scratch/out" 2>"$scratch/err"
    status=$?
    what="$program: no invalid access, nothing lost, nothing left"
    if [ $status -eq 0 ]; then
        echo "ok $count - $what"
    else
        failures=$((failures + 1))
        echo "not ok $count - $what"
        echo "#   it ended with status $status"
        grep '^not ok' "$scratch/out" | sed 's/^/#   /'
        grep '^==' "$scratch/err" | head -n 60 | sed 's/^/#   /'
    fi
done
echo "1..$count"
[ $failures -eq 0 ]
