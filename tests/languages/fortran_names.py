# SPDX-License-Identifier: BSD-3-Clause
"""The names of the Fortran modules: those of StarPU's (fortran_names.tsv) with their arguments, and C functions behind them
that take as many arguments of the same width. Wants ORR_SRCDIR and ORR_BUILDDIR. Prints TAP. Run by
tests/languages/fortran.sh."""
import ctypes
import os
import re
import shlex
import subprocess
import sys

SOURCE, BUILD = os.environ["ORR_SRCDIR"], os.environ["ORR_BUILDDIR"]
KINDS = {"c_ptr": "p", "c_funptr": "f", "c_int": "i", "c_long_long": "l", "c_long": "l", "c_int64_t": "l", "c_size_t": "l",
         "c_intptr_t": "l", "c_double": "d", "c_float": "r", "c_char": "c"}
HAS_MPI = os.path.exists(f"{BUILD}/.libs/liborrery-mpi.so")
facts = failures = 0


def fact(wrong, text):
    global facts, failures
    facts += 1
    failures += bool(wrong)
    for line in wrong:
        print("#", line)
    print(f"{'not ok' if wrong else 'ok'} {facts} - {text}")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def module(path):
    """name: (s or f, its arguments' kinds, whether each is a value, its C function or None)."""
    text = re.sub(r"&\s*\n\s*", " ", read(path))
    found = {}
    for kind, name, arguments, rest, body in re.findall(
            r"^ +(subroutine|function) (\w+)\(([^)]*)\)(.*)\n((?:(?! +end ).*\n)*)", text, re.M):
        types = {}
        for declared, names in re.findall(r"^ +(.*?) :: (.*)$", body, re.M):
            for variable in re.findall(r"\w+", re.sub(r"\([^)]*\)", "", names)):
                types.setdefault(variable, declared)
        bound = re.search(r'bind\(C(?:, name="(\w+)")?\)', rest)
        declared = [types[argument] for argument in re.findall(r"\w+", arguments)]
        codes = [next((KINDS[word] for word in re.findall(r"\w+", d) if word in KINDS), "i") for d in declared]
        found[name] = (kind[0], codes, ["value" in d for d in declared], bound and (bound.group(1) or name))
    return found


def prototypes():
    """name: the widths of the arguments of a C function, of all headers."""
    headers = ["starpu.h", "starpu_fxt.h", "starpu_fortran.h", "starpu_scheduler.h", "starpu_sched_ctx_hypervisor.h"] + (["starpu_mpi_fortran.h"] if HAS_MPI else [])
    command = shlex.split(os.environ.get("CC", "cc")) + ["-E", "-P", f"-I{SOURCE}/include", f"-I{BUILD}/include", "-x", "c", "-"]
    if HAS_MPI:
        command += shlex.split(subprocess.run(["mpicc", "-show"], capture_output=True, text=True, check=True).stdout)[1:]
    said = subprocess.run(command, input="".join(f"#include <{h}>\n" for h in headers), capture_output=True, text=True, check=True).stdout
    found = {}
    for name, text in re.findall(r"\b(f?starpu_\w+)\s*\(((?:[^;{}()]|\([^;{}()]*\))*)\)[^;{}()]*(?:__attribute__[^;]*)?;", said):
        flat = re.sub(r"\([^()]*\)", "", text.replace("(*", "*("))  # a function pointer has a star
        arguments = [] if flat.strip() in ("", "void") else flat.split(",")
        found.setdefault(name, "".join(width(argument) for argument in arguments))
    return found


def width(argument):
    if re.search(r"\*|\[|_func_t\b|_fn\b", argument) or re.search(r"\bstarpu_(data_handle_t|arbiter_t|mpi_req)\b", argument):
        return "8"
    if re.search(r"\b(size_t|u?intptr_t|u?int64_t|long|starpu_tag_t|starpu_mpi_tag_t)\b", argument):
        return "8"
    return "d" if "double" in argument else "r" if "float" in argument else "4"


def fits(codes, values, widths):
    """C reads no more of an argument than Fortran passes. A narrower one is the lower half."""
    if widths is None or len(codes) != len(widths):
        return False
    for code, value, wanted in zip(codes, values, widths):
        given = "8" if not value or code in "pfl" else {"i": "4", "d": "d", "r": "r", "c": "4"}[code]
        if given != wanted and not (given == "8" and wanted == "4"):
            return False
    return True


def main():
    text = read("packages/fortran/fstarpu_mod.f90")
    ours = {"fstarpu_mod": module("packages/fortran/fstarpu_mod.f90"),
            "fstarpu_mpi_mod": module("packages/fortran/fstarpu_mpi_mod.f90")}
    constants = set(re.findall(r":: (FSTARPU_\w+) =", text))
    rows = [line.split("\t") for line in read("tests/languages/fortran_names.tsv").splitlines() if not line.startswith("#")]
    missing, other, stale = [], [], []
    for where, name, arguments, why in rows:
        has = ours[where].get(name) or (arguments == "c" and name in constants)
        if bool(has) != (why == "there"):
            (missing if why == "there" else stale).append(f"{where}: {name}: {why}")
        elif has and arguments != "c" and f"{has[0]}({','.join(has[1])})" != arguments:
            other.append(f"{where}: {name}: {has[0]}({','.join(has[1])}), and {arguments} there")
    fact(missing, f"the modules have the {sum(row[3] == 'there' for row in rows)} names of StarPU's that they should")
    fact(other, "with the same arguments")
    fact(stale, f"the {sum(row[3] != 'there' for row in rows)} others, each with a reason, are not there")
    known = prototypes()
    if not HAS_MPI:
        del ours["fstarpu_mpi_mod"]
    wrong = [f"{name}: {codes} for {bound}: {known.get(bound, 'no prototype')}"
             for names in ours.values() for name, (_, codes, values, bound) in names.items()
             if bound and bound not in ("ip_to_p", "sz_to_p", "p_to_ip", "fstarpu_init", "fstarpu_mpi_init") and
             not fits(codes, values, known.get(bound))]
    fact(wrong, "each is bound to a C function with as many arguments of its widths")
    library = ctypes.CDLL(f"{BUILD}/.libs/liborrery.so")
    library.fstarpu_get_constant.restype = ctypes.c_ssize_t
    libraries = [library] + ([ctypes.CDLL(f"{BUILD}/.libs/liborrery-mpi.so")] if HAS_MPI else [])
    unbound = [bound for names in ours.values() for *_, bound in names.values()
               if bound in known and not any(hasattr(one, bound) for one in libraries)]
    fact(unbound, "that the libraries export")
    asked = set(re.findall(r'= (?:int\(p_to_ip\()?constant\("(\w+)"\)', text))
    unset = [c for c in constants if c[8:] not in asked and not c.startswith("FSTARPU_SZ_")]
    unknown = [name for name in asked if library.fstarpu_get_constant(f"FSTARPU_{name}".encode()) == -1]
    fact(unset + unknown, f"{len(asked)} constants are set, from the library's")
    print(f"1..{facts}")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
