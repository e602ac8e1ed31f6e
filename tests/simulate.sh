#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The simulator of placements (tools/orrery_simulate): cases whose result is known, and the same table each time.
# Prints TAP; status 1 if a fact fails.
set -u
simulate=${ORR_BUILDDIR:-.}/tools/orrery_simulate
[ -x "$simulate" ] || { echo "1..0 # SKIP built without MPI"; exit 0; }
facts=0 failures=0

# fact TEXT CONDITION...: of test(1).
fact() {
    text=$1
    shift
    facts=$((facts + 1))
    if [ "$@" ]; then
        echo "ok $facts - $text"
    else
        failures=$((failures + 1))
        echo "not ok $facts - $text ($*)"
    fi
}

# COLUMN OPTION...: that column of the last line.
column() {
    wanted=$1
    shift
    "$simulate" "$@" | tail -1 | awk -v n="$wanted" '{ print $n }'
}
# All but the nanoseconds of a choice.
table() { "$simulate" "$@" | awk '{ $NF = ""; print }'; }
makespan=7 over=8 messages=9

fact 'one worker takes the sum of all lengths' "$(column $over -r 1 -w 1 -g cholesky)" = 1.000
fact 'and sends nothing' "$(column $messages -r 1 -w 1)" = 0
fact 'many take the longest path' "$(column $over -r 1 -w 500 -n 10)" = 1.000
fact 'a stencil on equal ranks is balanced' "$(column $over -g stencil -n 8 -l 0 -B 1000000 -s 1)" = 1.000
fact 'a stencil in four blocks: 32 tiles along the rims are sent in each step' \
    "$(column $messages -g stencil -n 8 -t 11)" = 352
fact 'Cholesky of 14 tiles on 4 ranks sends 182, as a run does (bench/cluster)' "$(column $messages -n 14)" = 182
fact 'LU of 2 tiles on 4 ranks sends 4' "$(column $messages -g lu -n 2)" = 4
fact 'two leave by one port, one behind the other: 3 of 1 ms and twice 5 us besides the kernels' \
    "$(column $makespan -g lu -n 2 -u 1000 -b 1000000 -B 1 -l 5)" = 6.210
fact 'twice the speed takes half the time' \
    "$(column $makespan -r 1 -w 1 -s 2 -u 2000)" = "$(column $makespan -r 1 -w 1 -u 1000)"
# FIGURE LIMIT
is_below() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > 0 && a + 0 < b + 0 ? "below" : "not " a) }'; }
fact 'dmda finds out that ranks differ: within 1.3 of the bound' \
    "$(is_below "$(column $over -s 1,2,3,4 -x 5 dmda)" 1.3)" = below
fact 'owner-computes does not: above twice the bound' "$(is_below "$(column $over -s 1,2,3,4 -x 5)" 2)" != below
fact 'and stays with owners of equal ranks where messages and the longest path take long, not the load' \
    "$(column $messages -r 128 -w 4 -n 50 -i 4 dmda)" = "$(column $messages -r 128 -w 4 -n 50 -i 4 owner)"
fact 'the same options give the same table' \
    "$(table -g random,cholesky -n 30 -r 16 -x 20 -S 7 owner dmda)" = \
    "$(table -g random,cholesky -n 30 -r 16 -x 20 -S 7 owner dmda)"
fact 'another seed another' "$(table -g random -n 100 -S 7)" != "$(table -g random -n 100 -S 8)"
"$simulate" -g nonsense > /dev/null 2>&1
fact 'a graph that is none is refused' $? = 1
"$simulate" -r 5000 > /dev/null 2>&1
fact 'and more ranks than there may be' $? = 2
"$simulate" nobody > /dev/null 2>&1
fact 'and a placement that is none' $? = 1
echo "1..$facts"
[ $failures = 0 ]
