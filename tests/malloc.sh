#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# orrery_malloc: how it is used, and programs of ranks whose memory of malloc others see, a fact for each. Prints TAP; status 1 if a
# fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
tool=$builddir/tools/orrery_malloc library=$builddir/.libs/liborrery-malloc.so
[ -f "$library" ] || { echo "1..0 # SKIP this build has no liborrery-malloc.so: beside a sanitizer, or another C library"; exit 0; }
. "$srcdir/tests/instead.sh"
# ends STATUS TEXT COMMAND...: it ends so, and what it says has TEXT.
ends() {
    number=$((number + 1)) wanted=$1 text=$2
    shift 2
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    if [ $status -eq "$wanted" ] && grep -q -e "$text" "$log"; then
        echo "ok $number - $(basename "$1") ${2:-} ends with $wanted and says $text"
    else
        echo "not ok $number - $(basename "$1") ${2:-} ends with $status, not $wanted, or does not say $text"
        sed 's/^/# /' "$log"
        failures=1
    fi
}
ends 0 'EXIT STATUS' "$tool" --help
ends 0 '^orrery_malloc [0-9]' "$tool" --version
ends 2 'which program' "$tool"
ends 2 'unknown option' "$tool" --fast true
ends 127 'not found' "$tool" /nowhere/to/be/found
ends 3 'liborrery-malloc.so:first.so$' env LD_PRELOAD=first.so "$tool" sh -c 'echo "$LD_PRELOAD"; exit 3'
spaced=$(mktemp -d "${TMPDIR:-/tmp}/orrery malloc.XXXXXX") || exit 99
trap 'rm -rf "$log" "$spaced"' EXIT
mkdir "$spaced/tools" "$spaced/.libs"
cp "$tool" "$spaced/tools"
cp "$library" "$spaced/.libs"
ends 1 'no path with a blank' "$spaced/tools/orrery_malloc" true
runner=run-mpi suffix=mpi
export LD_PRELOAD ORR_RANKS
LD_PRELOAD=$library ORR_RANKS=2
run_each 'with malloc of orrery_malloc' 'sent where it does not (of malloc: [1-9]' mpi/lending_mpi
run_each 'with malloc of orrery_malloc' '^ok' mpi/soak_short mpi/migrate mpi/communicators
echo "1..$number"
exit $failures
