#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# orrery_doctor: what it says of machines and settings that have something wrong. Prints TAP; status 1 if a fact fails.
set -u
[ "${ORR_SANITIZER:-none}" = none ] || { echo "1..0 # SKIP it starts MPI, whose leaks sanitizers report"; exit 0; }
doctor=${ORR_BUILDDIR:-.}/tools/orrery_doctor
timeout=$(command -v timeout)
. "${ORR_SRCDIR:-.}/scripts/env.sh"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-doctor.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
for name in $(env | sed -n 's/^\(\(STARPU\|ORRERY\)_[A-Z_0-9]*\)=.*/\1/p'); do unset "$name"; done
export STARPU_HOME="$scratch/home" STARPU_NCPU=1
mkdir "$scratch/home"
facts=0 failures=0

# after SETTING... -- ARGUMENT...: runs it with these settings; what it says is in $scratch/said, its status in $status.
after() {
    settings=
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    env $settings "$timeout" 50 "$doctor" "$@" >"$scratch/said" 2>&1
    status=$?
}
# fact TEXT STATUS PATTERN...: it ended so, and each pattern is in some line.
fact() {
    text=$1 wanted=$2
    shift 2
    facts=$((facts + 1))
    missed=
    for pattern in "$@"; do
        grep -q -e "$pattern" "$scratch/said" || missed="$missed \"$pattern\""
    done
    if [ "$status" -eq "$wanted" ] && [ -z "$missed" ]; then
        echo "ok $facts - $text"
    else
        failures=$((failures + 1))
        echo "not ok $facts - $text (status $status, not there:$missed)"
        sed 's/^/#   /' "$scratch/said" | head -n 25
    fi
}

after -- --help
fact "--help is a manual page" 0 '^NAME' '^SYNOPSIS' '^OPTIONS'
after -- nonsense
fact "what is no option is refused" 2 'see orrery_doctor --help'

after --
anything_wrong=0
! grep -q '^!!' "$scratch/said" || anything_wrong=1
fact "it looks at everything, and its status says whether something is wrong" "$anything_wrong" \
    '^..  versions: ' '^..  cores: ' '^..  runtime: ' '^..  devices: ' '^..  MPI: ' '^..  memory: ' '^..  models: ' '^..  settings: '
mpi=$(sed -n 's/^ok  MPI: //p' "$scratch/said")

echo "no folder" >"$scratch/file"
after STARPU_HOME="$scratch/file" -- -q
fact "a home that cannot be written is told, and what to do" 1 '^!!  models: ' '^      set STARPU_HOME'
after STARPU_SCHED=nosuch -- -q
fact "so is a policy that there is not" 1 '^!!  .*no scheduling policy "nosuch"' '^!!  runtime: starpu_init fails'
mkdir "$scratch/bin" "$scratch/others"
ln -s /usr/bin/* /bin/* "$scratch/others" 2>/dev/null
rm -f "$scratch"/others/mpirun*
after PATH="$scratch/others" -- -q
case $mpi in
?*) fact "and that there is no mpirun" 1 '^!!  MPI: there is no mpirun in PATH' ;;
esac
printf '#!/bin/sh\necho HYDRA build details:\n' >"$scratch/bin/mpirun"
chmod +x "$scratch/bin/mpirun"
case $mpi in
*"Open MPI"*)
    after PATH="$scratch/bin:$PATH" -- -q
    fact "and one of another MPI" 1 "^!!  MPI: mpirun is MPICH's and the library is Open MPI" 'mpirun of Open MPI'
    ;;
esac
after STARPU_NCPUU=2 --
fact "and a misspelt setting, with the nearest name" 1 '^!!  .*STARPU_NCPUU .*STARPU_NCPU is'
after STARPU_NCPU=$(($(nproc) + 2)) -- -q
fact "and more workers than cores" 1 '^!!  binding: .*share a core' '^      set STARPU_NCPU'
after ORRERY_SIM_DEVICES=1 --
fact "a device is named" "$anything_wrong" '^ok  device: .*Sim\|^ok  device: .*[Ss]imulat\|^ok  device: CUDA'
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null 2>&1; then
    taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')" timeout 50 "$doctor" >"$scratch/said" 2>&1
    status=$?
    fact "that it may use one core only is told" "$anything_wrong" '^--  cores: 1 of '
fi
case $mpi in
*"Open MPI"*)
    after OMPI_MCA_btl=nosuch OMPI_MCA_pml=ob1 -- -q
    fact "an MPI that does not start is told, and does not end the doctor" 1 '^!!  MPI: '
    ;;
esac
echo "1..$facts"
[ "$failures" -eq 0 ]
