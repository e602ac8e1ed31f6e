#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the examples for all kinds of devices on those that this machine has: CPUs, simulated ones that run the CPUs'
# functions on a memory apart, and OpenCL on the CPUs where it is installed. Prints TAP; each example checks its result.
set -u
top=$(cd "${ORR_SRCDIR:-.}" && pwd) build=$(cd "${ORR_BUILDDIR:-.}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export STARPU_HOME=$scratch STARPU_SILENT=1 STARPU_OPENCL_PROGRAM_DIR=$top STARPU_HOSTNAME=examples
count=0 failures=0

# fact TEXT COMMAND...: it ends well and says that it is right.
fact() {
    local text=$1
    shift
    count=$((count + 1))
    if timeout -k 5 "${ORR_TEST_LIMIT:-60}" "$@" > "$scratch/said" 2>&1 && grep -q '; right$' "$scratch/said"; then
        echo "ok $count - $text"
    else
        failures=$((failures + 1))
        echo "not ok $count - $text"
        sed 's/^/#   /' "$scratch/said" | head -n 20
    fi
}

# skip TEXT WHY
skip() {
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

programs='scale gemm lu heat spmv cg'
# Sanitizers report what they do not understand of an OpenCL library that was built without them.
opencl=
if [ "${ORR_SANITIZER:-none}" = none ] && STARPU_NCPU=0 STARPU_OPENCL_ON_CPUS=1 timeout 60 "$build/examples/devices/scale" \
    > "$scratch/said" 2>&1; then opencl=1; fi
[ -x "$build/examples/devices/mandelbrot" ] && programs+=' mandelbrot'
for program in $programs; do
    run=$build/examples/devices/$program
    fact "$program is right on CPUs" env STARPU_NCPU=2 "$run"
    fact "$program is right on a CPU and two simulated devices without links between them, by models" \
        env STARPU_NCPU=1 ORRERY_SIM_DEVICES=2 STARPU_SCHED=dmda "$run"
    if [ -n "$opencl" ]; then
        fact "$program is right on a CPU and OpenCL, by models" \
            env STARPU_NCPU=1 STARPU_OPENCL_ON_CPUS=1 STARPU_SCHED=dmda "$run"
    else
        skip "$program is right on a CPU and OpenCL, by models" 'no OpenCL here, or a sanitizer'
    fi
done
[ -x "$build/examples/devices/mandelbrot" ] &&
    fact 'mandelbrot writes an image' bash -c '"$0" "$1" 64 48 && [ "$(head -c 4 "$1" | tail -c 3)" = PNG ] &&
        echo "; right"' "$build/examples/devices/mandelbrot" "$scratch/image.png"
fact 'cg is right where its data do not fit into the device' env STARPU_NCPU=1 ORRERY_SIM_DEVICES=1 \
    ORRERY_SIM_MEM_MB=0.1 STARPU_SCHED=dmda "$build/examples/devices/cg"
echo "1..$count"
[ $failures -eq 0 ]
