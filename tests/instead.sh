# SPDX-License-Identifier: BSD-3-Clause
# Sourced by double.sh, simulated.sh, far.sh, opencl/instead.sh and opencl/several.sh: runs test programs with the devices, or the
# ways of messages, that these chose, a fact for each program. srcdir and builddir are set. Prints TAP.
# Left out are tests that are about something else: CPUs (combined workers, sockets, what main memory holds and what is counted
# there), kinds of workers by name, how simulated devices fail, map or store, and what measures.
log=$(mktemp "${TMPDIR:-/tmp}/orrery-test.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
number=0 failures=0

# CPU workers are replaced (tests/helper.h): data, then policies; and those that take longer.
data='core/data_modes core/data_acquire core/data_filters core/data_plans core/data_pieces core/data_first_value
core/data_end core/data_lifecycle core/data_shapes core/interfaces core/long_chains core/set_beside'
policies='sched/predefined sched/graph_test'
slow='core/plans_uses core/waiters core/wait_pause core/task_deps core/task_regenerate sched/policies sched/components_own
sched/hypervisor_leaving sched/hypervisor_strategies sched/hypervisor_first_names'
# Simulated devices are replaced (tests/core/sim_helper.h), of any kind, or of CUDA's alone.
on_devices='core/coherency_places core/plans_devices core/coherency_random core/codelet_constant core/copies_random
core/data_requests core/data_together core/contexts_devices'
slow_on_devices='core/many_data sched/every_policy'
on_cuda='core/data_own_interface core/own_cache core/task_failed core/multiformat core/driven_devices'
slow_on_cuda='sched/components_devices sched/heteroprio sched/hypervisor_devices'

# Sanitizers make each take five times as long; there some stand for all of their kind.
if [ "${ORR_SANITIZER:-none}" != none ]; then
    data='core/data_modes core/data_acquire core/data_pieces core/data_end core/data_shapes core/interfaces core/set_beside'
    policies=
fi

# run_each WHERE SAYS TEST...: SAYS is a line by which to see that it was so. Programs of ranks: with runner=run-mpi suffix=mpi.
runner=run-tap suffix=tap
run_each() {
    where=$1 says=$2
    shift 2
    for test; do
        number=$((number + 1))
        "$srcdir/tests/$runner" "$builddir/tests/$test.$suffix" >"$log" 2>&1
        if grep -q "$says" "$log" && grep -q '^ok' "$log" && ! grep -q '^not ok' "$log"; then
            echo "ok $number - tests/$test holds $where: $(grep -c '^ok' "$log") facts"
        else
            echo "not ok $number - tests/$test holds $where"
            grep -A5 -e '^not ok' -e '^Bail' -e 'double of CUDA' "$log" | sed 's/^/# /' | head -20
            failures=1
        fi
    done
}

# The same, and nothing else.
run_all() {
    where=$1
    shift
    run_each "on $where" "$@"
    echo "1..$number"
}

# run_cuda LIBRARY WHERE SAYS: on devices of CUDA, by a library of tests/double; some, or with ORR_DOUBLE=all those that take longer, too.
run_cuda() {
    ORR_TEST_CUDA=$builddir/tests/double/$1
    ORR_DOUBLE_CUDA_SAY=1
    export ORR_TEST_CUDA ORR_DOUBLE_CUDA_SAY
    tests="$data $policies $on_devices $on_cuda"
    [ "${ORR_DOUBLE:-few}" = all ] && tests="$tests $slow $slow_on_devices $slow_on_cuda"
    # shellcheck disable=SC2086
    run_all "$2" "$3" $tests
}
