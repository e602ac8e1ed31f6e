#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Debian packages from a copy of the sources, asks lintian about them, and runs what is in them from where they
# are unpacked: nothing is installed. Prints TAP. In make check-long. Not here: what make install leaves (tests/installed.sh).
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)} builddir=${ORR_BUILDDIR:-.}
[ "${ORR_SANITIZER:-none}" = none ] || { echo "1..0 # SKIP packages have no sanitizer"; exit 0; }
for tool in dpkg-buildpackage dh lintian; do
    command -v $tool >/dev/null 2>&1 || { echo "1..0 # SKIP there is no $tool (SETUP_OPTIONAL=1 scripts/setup)"; exit 0; }
done
if ! lacks=$(cd "$srcdir" && dpkg-checkbuilddeps packages/debian/control 2>&1); then
    echo "1..0 # SKIP $lacks" | tr '\n' ' '
    echo
    exit 0
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-debian.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES DESTDIR
facts=0 failures=0

# fact TEXT COMMAND...: what the command says is shown if it fails.
fact() {
    text=$1
    shift
    facts=$((facts + 1))
    if "$@" >"$scratch/said" 2>&1 </dev/null; then
        echo "ok $facts - $text"
    else
        failures=$((failures + 1))
        echo "not ok $facts - $text"
        tail -n 30 "$scratch/said" | sed 's/^/#   /'
    fi
}
finish() {
    echo "1..$facts"
    [ "$failures" -eq 0 ]
    exit
}
not() { ! "$@"; }

copy=$scratch/orrery
copied() {
    make -C "$builddir" distdir distdir="$copy" && cp -r "$copy/packages/debian" "$copy/debian" && chmod +x "$copy/debian/rules"
}
# The compilers and paths of whoever starts this are not those of the package.
built() {
    cd "$copy" && env -u CC -u CXX -u CFLAGS -u LDFLAGS -u LD_LIBRARY_PATH -u PKG_CONFIG_PATH PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        DEB_BUILD_OPTIONS="parallel=$(nproc)" dpkg-buildpackage -us -uc >"$scratch/log" 2>&1 || { tail -n 30 "$scratch/log"; return 1; }
}
fact "the archive's sources with packages/debian are a Debian source" copied
fact "dpkg-buildpackage makes source and packages of it" built
[ "$failures" -eq 0 ] || finish
fact "the compiler has no warning, with the flags that Debian wants" not grep -E '\.(c|h|cc):[0-9]+:[0-9]+: warning:' "$scratch/log"
packages=$(cd "$scratch" && ls -- *.deb | grep -v dbgsym | sed 's/_.*//' | tr '\n' ' ')
wanted='liborrery-dev liborrery-mpi0 liborrery0 orrery-doc orrery-starpu orrery-tools '
fact "the packages are $wanted" test "$packages" = "$wanted"
as_root=
[ "$(id -u)" -ne 0 ] || as_root=--allow-root
fact "lintian has no error, warning or remark" sh -c \
    "cd '$scratch' && lintian $as_root --no-cfg -I --fail-on error,warning,info *.changes >lint 2>&1; s=\$?; cat lint; [ \$s -eq 0 -a ! -s lint ]"

# Each package by itself, and all together as they would be installed.
root=$scratch/root
for package in $wanted; do
    mkdir -p "$scratch/$package"
    dpkg-deb -x "$scratch/$package"_*.deb "$scratch/$package" && dpkg-deb -x "$scratch/$package"_*.deb "$root"
done
libdir=$(cd "$root" && ls -d usr/lib/*-linux-gnu*)
depends() { dpkg-deb -f "$scratch/$1"_*.deb Depends | grep -E -q "$2"; }
files_of() { (cd "$scratch/$1" && find . ! -type d); }
fact "liborrery0 has the library alone, and what gdb loads by itself beside it" \
    sh -c "cd '$scratch/liborrery0' && test -f $libdir/liborrery.so.0.0.0 && test -f usr/share/gdb/auto-load/$libdir/liborrery.so.0.0.0-gdb.py && ! find . -name '*.h' -o -name '*.so' | grep ."
fact "liborrery-mpi0 wants liborrery0 of the same build" depends liborrery-mpi0 'liborrery0 \(= [0-9]'
fact "orrery-tools wants liborrery0, by the symbols' versions" depends orrery-tools 'liborrery0 \(>= 0.1.0'
starpu_names() { files_of "$1" | grep -v -E '/include/orrery/|/man3/' | grep -i starpu; }
for package in liborrery0 liborrery-mpi0 liborrery-dev orrery-tools; do
    fact "$package has no file that StarPU's packages have" not starpu_names $package
done

export LD_LIBRARY_PATH="$root/$libdir" PKG_CONFIG_LIBDIR="$root/$libdir/pkgconfig:/usr/$(basename "$libdir" | sed 's,^,lib/,')/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="" STARPU_HOME="$scratch" STARPU_NCPU=2
cat >"$scratch/program.c" <<'PROGRAM'
#include <starpu.h>
static int ran;
static void count(void *buffers[], void *arg)
{
    (void)buffers, (void)arg;
    ran++;
}
int main(void)
{
    static struct starpu_codelet codelet;
    codelet.cpu_funcs[0] = count;
    if (starpu_init(NULL) != 0) return 77;
    if (starpu_task_insert(&codelet, 0) != 0) return 1;
    starpu_task_wait_for_all();
    starpu_shutdown();
    return ran == 1 ? 0 : 1;
}
PROGRAM
# Where they are unpacked is not where they belong: pkg-config's words are moved there.
moved() { sed -e "s,-I/usr/include,-I$root/usr/include,g" -e "s,-L/usr/lib,-L$root/usr/lib,g"; }
with_module() {
    flags=$(pkg-config --cflags --libs "$1" | moved) || return 1
    case $flags in *"-I$root/usr/include"*) ;; *) echo "$flags"; return 1 ;; esac
    # shellcheck disable=SC2086
    gcc -Wall -Werror "$scratch/program.c" -o "$scratch/program" -L"$root/$libdir" $flags && timeout 60 "$scratch/program"
}
fact "a program is built over pkg-config orrery, and runs" with_module orrery
for module in starpu-1.3 starpu-1.4 libstarpu; do
    fact "and over pkg-config $module of orrery-starpu" with_module $module
done
programs=$(cd "$root/usr/bin" && ls)
for program in $programs; do
    page=${program%.py}
    fact "$program runs, and has its manual page and completion" sh -c \
        "timeout 60 '$root/usr/bin/$program' --help >/dev/null && zcat '$root/usr/share/man/man1/$page.1.gz' | grep -q . && test -f '$root/usr/share/bash-completion/completions/$page'"
done
finish
