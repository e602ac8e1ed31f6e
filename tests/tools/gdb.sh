#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The commands of tools/gdb in a debugger, on a program whose tasks wait (tests/tools/why.c), on its core file, and loaded by
# gdb itself. Prints TAP.
set -u
[ "${ORR_SANITIZER:-none}" = none ] || { echo "1..0 # SKIP a debugger sees the same without sanitizers"; exit 0; }
command -v gdb >/dev/null 2>&1 || { echo "1..0 # SKIP gdb is not installed"; exit 0; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-gdb.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
mkfifo "$scratch/in"
ORRERY_LIVE=0 "${ORR_BUILDDIR:-.}/tests/tools/why.tap" program <"$scratch/in" >"$scratch/out" 2>&1 &
program=$!
exec 3>"$scratch/in"
tries=0
while ! grep -q ready "$scratch/out" && [ $tries -lt 2000 ]; do
    sleep 0.01
    tries=$((tries + 1))
done
helper=${ORR_SRCDIR:-.}/tools/gdb/liborrery-gdb.py
timeout 40 gdb -nx -q -batch -p $program -ex "source $helper" -ex "orrery workers" -ex "orrery tasks" -ex "orrery task 2" \
    -ex "orrery data" -ex "orrery why" -ex "orrery task 99" -ex "generate-core-file $scratch/core" >"$scratch/live" 2>&1
echo . >&3
exec 3>&-
wait $program
status=$?
if grep -q "ptrace\|Operation not permitted" "$scratch/live"; then
    echo "1..0 # SKIP a debugger may not attach to a process here"
    exit 0
fi
if grep -q "with debugging symbols" "$scratch/live"; then
    echo "1..0 # SKIP the library has no debugging symbols"
    exit 0
fi
facts=0 failures=0
# fact TEXT FILE PATTERN...: each pattern is in some line of the file.
fact() {
    text=$1 file=$2
    shift 2
    facts=$((facts + 1))
    missed=
    for pattern in "$@"; do
        grep -q -e "$pattern" "$scratch/$file" || missed="$missed \"$pattern\""
    done
    if [ -z "$missed" ]; then
        echo "ok $facts - $text"
    else
        failures=$((failures + 1))
        echo "not ok $facts - $text (not there:$missed)"
        sed 's/^/#   /' "$scratch/$file" | tail -n 30
    fi
}
fact "orrery workers: what each runs" live '^worker 0 .* tasks, first (job 1)$'
fact "orrery tasks: those that have not ended" live '^job 1 first: runs$' '^job 3 free: ready$' '^job 4 third: waits$' '^8 tasks are'
fact "orrery task N: its data" live '^  data "the value": waits for it$' 'there is no job 99'
fact "orrery data: who has them" live '^data "the value": first (job 1) has it, 1 wait: second (job 2)$'
fact "orrery why: what each waits for" live '^task second (job 2) waits for data "the value", which task first' \
    '^task third (job 4) waits for task free (job 3)$' '^task fifth .* the program or a message has$'
echo "status $status" >"$scratch/status"
fact "the program goes on to its end" status '^status 0$'
if [ -s "$scratch/core" ]; then
    timeout 40 gdb -nx -q -batch "${ORR_BUILDDIR:-.}/tests/tools/why.tap" "$scratch/core" -ex "source $helper" -ex "orrery why" \
        >"$scratch/dead" 2>&1
    fact "the same of a core file" dead '^task third (job 4) waits for task free (job 3)$'
    # As make install lays it out, here below a folder that gdb is told to trust: by the library's real name.
    library=$(readlink -f "${ORR_BUILDDIR:-.}/.libs/liborrery.so")
    mkdir -p "$scratch/auto-load$(dirname "$library")"
    cp "${ORR_BUILDDIR:-.}"/tools/gdb/*-gdb.py "$scratch/auto-load$(dirname "$library")"
    timeout 40 gdb -nx -q -batch -iex "set auto-load scripts-directory $scratch/auto-load" \
        -iex "add-auto-load-safe-path $scratch/auto-load" "${ORR_BUILDDIR:-.}/tests/tools/why.tap" "$scratch/core" \
        -ex "orrery why" >"$scratch/by_itself" 2>&1
    fact "gdb loads them by itself, where it finds them by the library's name" by_itself \
        '^task third (job 4) waits for task free (job 3)$'
else
    facts=$((facts + 2))
    echo "ok $((facts - 1)) # SKIP no core file can be made here"
    echo "ok $facts # SKIP no core file can be made here"
fi
echo "1..$facts"
[ "$failures" -eq 0 ]
