#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What programs for CUDA compile, where CUDA's toolkit is: nothing is run. Prints TAP; status 1 if a fact fails.
set -u
[ -n "${ORR_NVCC:-}" ] || { echo "1..0 # SKIP nvcc is not here"; exit 0; }
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
cuda=$(dirname "$ORR_NVCC")/../include
failures=0

# fact NUMBER TEXT COMMAND...
fact() {
    number=$1 text=$2
    shift 2
    if "$@" >"$scratch/log" 2>&1; then
        echo "ok $number - $text"
    else
        echo "not ok $number - $text"
        sed 's/^/# /' "$scratch/log" | head -20
        failures=1
    fi
}

fact 1 'the driver declares what CUDA does' \
    gcc -std=gnu11 -fsyntax-only -I"$srcdir" -isystem "$cuda" "$srcdir/tests/double/headers.c"
fact 2 'a codelet with a kernel and all headers compiles' \
    "$ORR_NVCC" -DSTARPU_USE_CUDA=1 -I"$builddir/include" -I"$srcdir/include" -c -o "$scratch/codelet.o" \
    "$srcdir/tests/double/codelet.cu"
for kernels in "$srcdir"/examples/devices/*.cu; do echo "#include \"$kernels\""; done >"$scratch/kernels.cu"
fact 3 'the kernels of the examples compile' \
    "$ORR_NVCC" -DSTARPU_USE_CUDA=1 -I"$builddir/include" -I"$srcdir/include" -c -o "$scratch/kernels.o" "$scratch/kernels.cu"
fact 4 'so do those of mpi_cholesky' \
    gcc -std=gnu11 -Wall -Wextra -Werror -DSTARPU_USE_CUDA=1 -DWITH_CUDA_KERNELS -I"$builddir/include" -I"$srcdir/include" \
    -isystem "$cuda" -c -o "$scratch/cholesky.o" "$srcdir/examples/cholesky/kernels_cuda.c"
# As after configure --enable-cuda: programs see STARPU_USE_CUDA where the headers are.
{
    (cd "$srcdir/include" && ls starpu*.h) | grep -v -e mpi -e fortran | sed 's/.*/#include <&>/'
    echo '#ifndef STARPU_USE_CUDA'
    echo '#error STARPU_USE_CUDA is not defined'
    echo '#endif'
    echo 'static void f(void *b[], void *a) { (void)b, (void)a, STARPU_CUDA_REPORT_ERROR(cudaGetLastError()); }'
    echo 'static struct starpu_codelet c;'
    echo 'int main(void) { c.cuda_funcs[0] = f; return starpu_cuda_get_local_stream() != cudaStreamDefault; }'
} >"$scratch/program.c"
flags="-DORRERY_CUDA_FOR_PROGRAMS=1 -DSTARPU_USE_DEPRECATED_API -Wall -Wextra -Werror -I$builddir/include -I$srcdir/include"
# shellcheck disable=SC2086
fact 5 'programs in C see STARPU_USE_CUDA and all of its headers after --enable-cuda' \
    gcc -std=gnu11 $flags -isystem "$cuda" -fsyntax-only "$scratch/program.c"
# shellcheck disable=SC2086
fact 6 'so do those in C++' g++ -std=c++17 $flags -isystem "$cuda" -fsyntax-only -x c++ "$scratch/program.c"
# shellcheck disable=SC2086
fact 7 'ORRERY_WITHOUT_CUDA leaves it away' \
    sh -c "gcc -std=gnu11 -DORRERY_WITHOUT_CUDA $flags -isystem '$cuda' -fsyntax-only '$scratch/program.c' 2>&1 |
        grep 'STARPU_USE_CUDA is not defined'"
echo '#include <starpu.h>
#include <cublas.h>
cublasStatus stream(void);
cublasStatus stream(void) { return starpu_cublas_set_stream(), cublasGetError(); }' >"$scratch/old.c"
# shellcheck disable=SC2086
fact 8 'programs with the older cublas.h compile' gcc -std=gnu11 $flags -isystem "$cuda" -fsyntax-only "$scratch/old.c"
echo 1..8
exit $failures
