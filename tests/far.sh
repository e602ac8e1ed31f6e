#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs of ranks that send their messages over MPI, as between nodes, instead of through memory; and where two of three ranks are
# near each other: a fact for each. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
log=$(mktemp "${TMPDIR:-/tmp}/orrery-test.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
number=0 failures=0

# run NEAR RANKS WHERE TEST...
run() {
    near=$1 ranks=$2 where=$3
    shift 3
    for test; do
        number=$((number + 1))
        ORRERY_MPI_NEAR=$near ORR_RANKS=$ranks "$srcdir/tests/run-mpi" "$builddir/tests/mpi/$test.mpi" >"$log" 2>&1
        if grep -q '^ok' "$log" && ! grep -q '^not ok' "$log"; then
            echo "ok $number - tests/mpi/$test holds $where: $(grep -c '^ok' "$log") facts"
        else
            echo "not ok $number - tests/mpi/$test holds $where"
            grep -A5 -e '^not ok' -e '^Bail' "$log" | sed 's/^/# /' | head -20
            failures=1
        fi
    done
}

run 0 '' 'over MPI' soak_short early communicators failed_messages coop barrier
run 2 3 'where two of three ranks are near' soak_short early communicators coop barrier reductions shared_blocks
echo "1..$number"
exit $failures
