#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make installcheck: programs outside the tree against what make install left. Prints TAP; status 1 if a fact fails.
# Wants libdir, bindir, includedir, builddir, CC and CXX (may be empty) in the environment.
set -u

scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-installed.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM
export LD_LIBRARY_PATH="$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PKG_CONFIG_PATH="$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export STARPU_HOME="$scratch" STARPU_NCPU=2
facts=0 failures=0

# fact TEXT COMMAND...: what the command says is shown only if it fails.
fact() {
    text=$1
    shift
    facts=$((facts + 1))
    if "$@" >"$scratch/said" 2>&1; then
        echo "ok $facts - $text"
    else
        failures=$((failures + 1))
        echo "not ok $facts - $text"
        sed 's/^/#   /' "$scratch/said" | head -n 20
    fi
}
not() { ! "$@"; }

cat >"$scratch/program.c" <<'PROGRAM'
#include <starpu.h>
#include <stdio.h>
static void add(void *buffers[], void *arg)
{
    (void)arg;
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}
int main(void)
{
    static struct starpu_codelet codelet;
    static struct starpu_perfmodel model;
    starpu_data_handle_t handle;
    int value = 40, round;
    model.type = STARPU_HISTORY_BASED;
    model.symbol = "installed_add";
    codelet.cpu_funcs[0] = add;
    codelet.nbuffers = 1;
    codelet.modes[0] = STARPU_RW;
    codelet.model = &model;
    if (starpu_init(NULL) != 0) return 77;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (round = 0; round < 2; round++)
        if (starpu_task_insert(&codelet, STARPU_RW, handle, 0) != 0) return 1;
    starpu_data_unregister(handle);
    starpu_shutdown();
    return value == 42 ? 0 : 1;
}
PROGRAM

# build NAME FLAGS...: program.c to NAME. Flags are words, as pkg-config gives them.
build() {
    name=$1
    shift
    # shellcheck disable=SC2086
    $CC -O -Wall -Wextra -Werror "$scratch/${source:-program}.c" -o "$scratch/$name" $*
}
build_and_run() {
    build program "$@" && timeout 60 "$scratch/program"
}
with_module() {
    pkg-config --exists --print-errors "$1" && build_and_run "$(pkg-config --cflags --libs "$1")"
}

fact "pkg-config orrery: a program is built and runs" with_module orrery
if [ -e "$libdir/pkgconfig/starpu-1.3.pc" ]; then
    for module in starpu-1.0 starpu-1.1 starpu-1.2 starpu-1.3 starpu-1.4 libstarpu; do
        fact "pkg-config $module: a program is built and runs" with_module $module
    done
    old='-DSTARPU_USE_DEPRECATED_ONE_ZERO_API'
    fact "pkg-config starpu-1.0 asks for the names of 1.0" sh -c "pkg-config --cflags starpu-1.0 | grep -q -e $old"
    for version in 1.3 1.4; do
        fact "include/starpu/$version and -lstarpu-$version: a program is built and runs" \
            build_and_run -I "$includedir/starpu/$version" -L "$libdir" -lstarpu-$version
        fact "the file libstarpu-$version.so: a program is built and runs" \
            build_and_run -I "$includedir/starpu/$version" "$libdir/libstarpu-$version.so"
    done
    # Somebody else's StarPU in the same place stays as it is; of Orrery's own files none stays.
    mkdir -p "$scratch/dest$includedir/starpu/1.3"
    touch "$scratch/dest$includedir/starpu/1.3/starpu.h"
    fact "make install beside another StarPU goes on" \
        make -s -C "$builddir" install DESTDIR="$scratch/dest"
    fact "and leaves its headers alone" test -z "$(find "$scratch/dest$includedir/starpu/1.3" -type l)"
    fact "make uninstall goes well" make -s -C "$builddir" uninstall DESTDIR="$scratch/dest"
    fact "and leaves that header, and no other file or link" \
        test "$(cd "$scratch/dest" && find . ! -type d)" = ".$includedir/starpu/1.3/starpu.h"
else
    fact "--disable-compat: no file has a name of StarPU's but headers" \
        test -z "$(find "$libdir" "$includedir" -name 'libstarpu*' -o -name 'starpu*.pc' -o -path "$includedir/starpu")"
fi

# MPI: the constant, the header, the library and their modules are there together or not at all.
has_mpi() { echo '#include <starpu_config.h>' | $CC -I "$includedir/orrery" -dM -E - | grep -q 'define STARPU_USE_MPI '; }
cat >"$scratch/mpi.c" <<'PROGRAM'
#include <starpu_mpi.h>
int main(int argc, char **argv)
{
    int rank, ret = starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, NULL);
    if (ret != 0) return 1;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_shutdown();
    return rank < 0;
}
PROGRAM
if [ -e "$libdir/liborrery-mpi.so" ]; then
    fact "STARPU_USE_MPI is set, as there is liborrery-mpi" has_mpi
    modules=orrery-mpi
    [ ! -e "$libdir/pkgconfig/starpumpi-1.3.pc" ] || modules="$modules starpumpi-1.0 starpumpi-1.3 starpumpi-1.4 libstarpumpi"
    for module in $modules; do
        source=mpi fact "pkg-config $module: an MPI program links" build mpi "$(pkg-config --cflags --libs "$module")"
    done
    if [ -e "$libdir/libstarpumpi-1.3.so" ]; then
        source=mpi fact "-lstarpumpi-1.3 -lstarpu-1.3: an MPI program links" build mpi \
            "$(pkg-config --cflags orrery-mpi)" -L "$libdir" -lstarpumpi-1.3 -lstarpu-1.3 \
            "$(pkg-config --libs orrery-mpi | sed 's/-lorrery\(-mpi\)\?//g')"
    fi
else
    fact "STARPU_USE_MPI is not set, as there is no liborrery-mpi" not has_mpi
    fact "nor is there a starpu_mpi.h" test ! -e "$includedir/orrery/starpu_mpi.h"
fi

# CMake's find_package, in the same ways. with_cmake TEXT: a project with
# that in its CMakeLists.txt is configured and built, and its program outside runs.
if command -v cmake >/dev/null 2>&1; then
    with_cmake() {
        rm -rf "$scratch/project" && mkdir -p "$scratch/project/build" && cp "$scratch"/*.c "$scratch/project" || return 1
        { echo 'cmake_minimum_required(VERSION 3.16)'; echo 'project(outside C)'; echo "$1"; } >"$scratch/project/CMakeLists.txt"
        (cd "$scratch/project/build" && CC="${CC##* }" cmake -DCMAKE_PREFIX_PATH="$libdir" -DOrrery_DIR="$libdir/cmake/Orrery" \
            -DSTARPU_DIR="$libdir/cmake/STARPU" .. && make && timeout 60 ./outside)
    }
    fact "CMake: find_package(Orrery) and Orrery::Orrery: a program is built and runs" with_cmake \
        'find_package(Orrery 0.1 REQUIRED)
         add_executable(outside program.c)
         target_link_libraries(outside Orrery::Orrery)'
    fact "CMake: a version that there is not is refused" not with_cmake \
        'find_package(Orrery 99 REQUIRED)
         add_executable(outside program.c)
         target_link_libraries(outside Orrery::Orrery)'
    if [ -e "$libdir/liborrery-mpi.so" ]; then
        fact "CMake: component MPI and Orrery::MPI: an MPI program is built" with_cmake \
            'find_package(Orrery REQUIRED COMPONENTS MPI)
             add_executable(ranks mpi.c)
             target_link_libraries(ranks Orrery::MPI)
             add_executable(outside program.c)
             target_link_libraries(outside Orrery::Orrery)'
    fi
    if [ -e "$libdir/cmake/STARPU" ]; then
        fact "CMake: find_package(STARPU 1.3) and its variables: a program is built and runs" with_cmake \
            'find_package(STARPU 1.3 REQUIRED CONFIG COMPONENTS HWLOC)
             include_directories(${STARPU_INCLUDE_DIRS})
             add_executable(outside program.c)
             target_link_libraries(outside ${STARPU_LIBRARIES})'
        fact "CMake: MORSE::STARPU, as Chameleon's modules name it: a program is built and runs" with_cmake \
            'find_package(STARPU REQUIRED CONFIG)
             add_executable(outside program.c)
             target_link_libraries(outside MORSE::STARPU)'
        fact "CMake: a component of STARPU that there is not is refused" not with_cmake \
            'find_package(STARPU REQUIRED CONFIG COMPONENTS SIMGRID)
             add_executable(outside program.c)'
        # As the modules of Chameleon do: pkg-config in order of versions, then functions and members looked for by linking.
        fact "CMake: a project that looks for functions of StarPU by pkg-config finds them, is built and runs" with_cmake \
            'include(CheckFunctionExists)
             include(CheckStructHasMember)
             find_package(PkgConfig REQUIRED)
             pkg_search_module(STARPU REQUIRED starpu-1.5 starpu-1.4 starpu-1.3)
             if(STARPU_VERSION VERSION_LESS 1.3)
                 message(FATAL_ERROR "StarPU ${STARPU_VERSION} is too old")
             endif()
             include_directories(${STARPU_INCLUDE_DIRS})
             link_directories(${STARPU_LIBRARY_DIRS})
             set(CMAKE_REQUIRED_INCLUDES ${STARPU_INCLUDE_DIRS})
             set(CMAKE_REQUIRED_LIBRARIES ${STARPU_LDFLAGS})
             foreach(name data_idle_prefetch_on_node iteration_push data_wont_use data_set_coordinates data_peek fxt_start_profiling
                     malloc_on_node_set_default_flags cublas_get_local_handle task_declare_deps sched_ctx_create interface_copy2d)
                 check_function_exists(starpu_${name} HAVE_${name})
                 if(NOT HAVE_${name} AND NOT name MATCHES cublas)
                     message(FATAL_ERROR "no starpu_${name}")
                 endif()
             endforeach()
             check_struct_has_member("struct starpu_codelet" where starpu.h HAVE_WHERE)
             check_struct_has_member("struct starpu_codelet" no_such_member starpu.h HAVE_NONE)
             if(NOT HAVE_WHERE OR HAVE_NONE)
                 message(FATAL_ERROR "members are not told")
             endif()
             add_executable(outside program.c)
             target_link_libraries(outside ${STARPU_LDFLAGS})'
        if [ -e "$libdir/liborrery-mpi.so" ]; then
            fact "CMake: STARPU with the component MPI has both libraries: an MPI program is built" with_cmake \
                'find_package(STARPU 1.3 REQUIRED CONFIG COMPONENTS MPI HWLOC)
                 include_directories(${STARPU_INCLUDE_DIRS})
                 add_executable(ranks mpi.c)
                 target_link_libraries(ranks ${STARPU_LIBRARIES})
                 add_executable(outside program.c)
                 target_link_libraries(outside ${STARPU_LIBRARIES})'
        fi
    fi
fi

# Every header, those of StarPU 1.3's starpu.h by name too.
of_starpu='bitmap bound clusters config cublas cusparse cuda data data_filters data_interfaces disk driver expert fxt
    hash helper openmp perfmodel profiling rand sched_ctx scheduler simgrid_wrap stdlib task task_bundle task_dep
    task_list task_util thread thread_util tree util worker'
{
    for name in $of_starpu; do echo "#include <starpu_$name.h>"; done
    (cd "$includedir/orrery" && find . -name '*.h' | sed -e 's,^\./,,' -e 's/.*/#include <&>/')
    echo 'int main(void) { return (int)sizeof(struct starpu_conf) == 0; }'
} >"$scratch/headers.c"
has_mpi && module=orrery-mpi || module=orrery
flags="-fsyntax-only -Wall -Wextra -Werror $(pkg-config --cflags $module | sed 's/-I/-isystem /g') -I $includedir/orrery"
# shellcheck disable=SC2086
fact "every header together compiles as C11" $CC -std=c11 $flags -x c "$scratch/headers.c"
if [ -n "${CXX:-}" ]; then
    for standard in c++11 c++20; do
        # shellcheck disable=SC2086
        fact "and as $standard" $CXX -std=$standard $flags -x c++ "$scratch/headers.c"
    done
fi

# Limits are configure's.
cat >"$scratch/limits.c" <<'PROGRAM'
#include <starpu.h>
#include <string.h>
static int ran[STARPU_NMAXWORKERS];
static void count(void *buffers[], void *arg)
{
    (void)buffers, (void)arg;
    ran[starpu_worker_get_id()]++;
}
int main(void)
{
    static struct starpu_codelet codelet, wide;
    starpu_data_handle_t handles[STARPU_NMAXBUFS];
    int values[STARPU_NMAXBUFS], i, n, missed = 0;
    struct starpu_task *task;
    codelet.cpu_funcs[0] = wide.cpu_funcs[STARPU_MAXIMPLEMENTATIONS - 1] = count;
    wide.cpu_funcs[0] = count;
    wide.nbuffers = STARPU_NMAXBUFS;
    if (starpu_init(NULL) != 0) return 77;
    n = (int)starpu_worker_get_count();
    task = starpu_task_create();
    for (i = 0; i < STARPU_NMAXBUFS; i++) {
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
        task->handles[i] = handles[i];
        wide.modes[i] = STARPU_W;
    }
    task->cl = &wide;
    if (starpu_task_submit(task) != 0) return 1;
    for (i = 0; i < n; i++)
        if (starpu_task_insert(&codelet, STARPU_EXECUTE_ON_WORKER, i, 0) != 0) return 1;
    for (i = 0; i < STARPU_NMAXBUFS; i++) starpu_data_unregister(handles[i]);
    starpu_task_wait_for_all();
    for (i = 0; i < n; i++) missed += ran[i] == 0;
    starpu_shutdown();
    return missed != 0 || n < 2;
}
PROGRAM
limit=$(echo '#include <starpu_config.h>
STARPU_MAXCPUS' | $CC -I "$includedir/orrery" -E - | tail -n 1)
many=$((limit < 300 ? limit : 300))
source=limits fact "a program with as many data as a task may have is linked" build limits "$(pkg-config --cflags --libs orrery)"
fact "it runs with $many workers" env STARPU_NCPU=$many timeout 60 "$scratch/limits"

# A static program: nothing that only a list names may be missing.
if [ -e "$libdir/liborrery.a" ]; then
    # hwloc stays shared: what its archive wants is not installed everywhere.
    static="$(pkg-config --cflags orrery) $libdir/liborrery.a $(pkg-config --libs hwloc)"
    static="$static $(sed -n 's/^Libs.private://p' "$libdir/pkgconfig/orrery.pc") -lpthread"
    fact "a program is linked with liborrery.a" build static "$static"
    fact "and does not need liborrery.so" not sh -c "readelf -d '$scratch/static' | grep -q 'NEEDED.*orrery'"
    for policy in eager dmda modular-heft heteroprio; do
        fact "it runs, with the policy $policy" env STARPU_SCHED=$policy timeout 60 "$scratch/static"
    done
    fact "and with a simulated device" env ORRERY_SIM_DEVICES=1 STARPU_SCHED=dmda timeout 60 "$scratch/static"
fi

if command -v gfortran >/dev/null 2>&1; then
    printf 'program one\nuse fstarpu_mod\nif (fstarpu_init(C_NULL_PTR) /= 0) stop 77\ncall fstarpu_shutdown()\nend program\n' >"$scratch/one.f90"
    fortran() {
        (cd "$scratch" && gfortran "$includedir/orrery/fstarpu_mod.f90" one.f90 -o one -L"$libdir" -lorrery && timeout 60 ./one)
    }
    fact "Fortran: a program uses fstarpu_mod.f90 from beside the headers" fortran
fi
if command -v man >/dev/null 2>&1 && [ -d "${mandir:-none}/man3" ]; then
    fact "man starpu_task_submit finds its page" sh -c "man -M '$mandir' -w starpu_task_submit && man -M '$mandir' -w 7 orrery-settings"
fi
for tool in starpu_machine_display starpu_sched_display; do
    fact "$tool runs where it is installed" timeout 60 "$bindir/$tool"
done

# A shell that has sourced starpu_env finds all of it, and has it once; a script that does so keeps its arguments.
cat >"$scratch/env.sh" <<'SCRIPT'
. "$bindir/starpu_env" && . "$bindir/starpu_env" || exit 1
[ "$1" = --help ] && [ "$(command -v starpu_config)" = "$bindir/starpu_config" ] || exit 2
[ "$(echo ":$PATH:" | sed "s|:$bindir:|@|g" | tr -cd @)" = @ ] || exit 3
[ "$(pkg-config --variable=libdir orrery)" = "$libdir" ] || exit 4
case $LD_LIBRARY_PATH in "$libdir" | "$libdir:"*) ;; *) exit 5 ;; esac
[ -z "$(set | grep '^orrery_env')" ] || exit 6
SCRIPT
export bindir libdir
for shell in sh bash dash zsh; do
    command -v $shell >/dev/null 2>&1 || continue
    fact "starpu_env sourced by $shell: a shell finds what is installed" \
        env -u LD_LIBRARY_PATH -u PKG_CONFIG_PATH $shell "$scratch/env.sh" --help
done
fact "starpu_env run: prints what eval sets" env -u LD_LIBRARY_PATH -u PKG_CONFIG_PATH sh -c \
    'eval "$("$bindir/starpu_env")" && [ "$(command -v starpu_config)" = "$bindir/starpu_config" ] && pkg-config --exists orrery'
if [ -e "$libdir/pkgconfig/starpu-1.3.pc" ]; then
    for tool in starpu_codelet_profile starpu_workers_activity starpu_paje_state_stats starpu_trace_state_stats.py starpu_lp2paje; do
        fact "$tool is installed under that name" "$bindir/$tool" --help
    done
    fact "starpu_mpi_comm_matrix has StarPU's name for it, too" "$bindir/starpu_mpi_comm_matrix.py" --version
fi
echo "1..$facts"
[ "$failures" -eq 0 ]
