# SPDX-License-Identifier: BSD-3-Clause
"""Each public function, setting, policy and program has its page, pages are well formed, links lead somewhere.

Run by tests/reference.sh in a build folder. Asks the compiler, the libraries and the programs what there is, and not
scripts/reference, which made the pages. Prints TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["ORR_SRCDIR"], os.environ["ORR_BUILDDIR"]
BUILT = os.path.join(BUILD, "doc", "built")
PUBLIC = re.compile(r"_?(f?starpu(rm)?|orrery)_|sc_hypervisor|sched_ctx_hypervisor_|act_hypervisor_")
BY_PROGRAMS = {"starpu_get_sched_lib_policy", "starpu_get_sched_lib_policies", "starpu_prof_tool_library_register"}
facts = failures = 0


def fact(text, found):
    global facts, failures
    facts += 1
    failures += bool(found)
    print(f"{'not ok' if found else 'ok'} {facts} - {text}")
    for line in found[:20]:
        print("#   " + line)


def run(*command):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("STARPU_", "ORRERY_"))}
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=env)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def make_variable(name):
    return re.search(rf"^{name} =(.*)$", read(os.path.join(BUILD, "Makefile")), re.M).group(1).split()


def declared():
    """Functions of the installed headers, as the compiler sees them."""
    with_mpi = "STARPU_USE_MPI 1" in read(os.path.join(BUILD, "include", "starpu_config.h"))
    headers = re.findall(r"_HEADERS \+= include/(\S+)", read(os.path.join(SOURCE, "include", "local.mk")))
    headers = [h for h in headers if with_mpi or not re.match(r"(starpu|orrery)_mpi(_ft)?\.h", h)]
    with tempfile.TemporaryDirectory() as folder:
        source, listing = folder + "/all.c", folder + "/all.aux"
        with open(source, "w", encoding="utf-8") as file:
            file.write("".join(f"#include <{h}>\n" for h in headers))
        flags = make_variable("HWLOC_CFLAGS") + make_variable("MPI_CFLAGS")
        result = run("gcc", "-std=gnu11", "-w", "-fsyntax-only", "-aux-info", listing, f"-I{BUILD}/include", f"-I{SOURCE}/include",
                     *flags, source)
        if result.returncode:
            sys.exit("Bail out! the headers do not compile: " + result.stderr.split("\n")[0])
        inside = os.path.join(SOURCE, "include")
        return {m.group(2) for m in re.finditer(r"^/\* (\S+?):\d+:.[CF] \*/ (?:extern|static) .*?(\w+) \((?!\*)", read(listing), re.M)
                if m.group(1).startswith(inside) and PUBLIC.match(m.group(2))}


def exported():
    names = set()
    for library in ("liborrery.so", "liborrery-mpi.so"):
        path = os.path.join(BUILD, ".libs", library)
        for line in run("nm", "-D", "--defined-only", path).stdout.split("\n") if os.path.exists(path) else ():
            name = line.split()[-1].partition("@")[0] if line else ""
            if PUBLIC.match(name):
                names.add(name)
    return names


def without_page(names, folder):
    """Those that have no page, or one that does not show them."""
    found = []
    for name in sorted(names):
        path = f"{folder}/man3/{name}.3"
        if not os.path.exists(path):
            found.append(f"{name}: no page")
        elif not re.search(rf"\b{re.escape(name)}\b", read(path)):
            found.append(f"{name}: its page does not name it")
    return found


def not_listed(names, page):
    text = read(page).replace("\\-", "-")
    return [f"{name}: not in {os.path.basename(page)}" for name in names if f"\n.B {name}\n" not in text]


def programs():
    found = []
    for program in sorted(os.listdir(os.path.join(BUILD, "tools"))):
        path = os.path.join(BUILD, "tools", program)
        if os.path.isdir(path) or not os.access(path, os.X_OK):
            continue
        page = f"{BUILT}/man/man1/{program}.1"
        text = read(page).replace("\\-", "-") if os.path.exists(page) else ""
        if not text:
            found.append(f"{program}: no page")
        found += [f"{program}: its page does not have {option}" for option in re.findall(r"--[a-z][\w-]*", run(path, "--help").stdout)
                  if option not in text]
    return found


def not_completed():
    """What bash offers for "PROGRAM --" is what --help lists."""
    if not shutil.which("bash"):
        return []
    found, folder = [], f"{BUILT}/completion"
    for program in sorted(os.listdir(folder)):
        text = run(f"{BUILD}/tools/{program}", "--help").stdout
        script = f"source {folder}/{program}; COMP_WORDS=({program} --); COMP_CWORD=1; _{program}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        offered = set(run("bash", "-c", script).stdout.split())
        wanted = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))
        found += [f"{program}: {', '.join(sorted(offered ^ wanted))}"] if offered != wanted or not wanted else []
    return found or ([] if os.listdir(folder) else ["there are no completions"])


def dead_links():
    found, marks, links = [], {}, []
    for folder, _, files in os.walk(f"{BUILT}/html"):
        for name in files:
            path = os.path.join(folder, name)
            text = read(path) if name.endswith(".html") else ""
            marks[path] = set(re.findall(r'\bid="([^"]+)"', text))
            links += [(path, link) for link in re.findall(r'href="([^"]+)"', text) if "://" not in link]
    for path, link in links:
        target, _, mark = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if target not in marks:
            found.append(f"{path}: {link}: no such file")
        elif mark and mark not in marks[target]:
            found.append(f"{path}: {link}: no such place")
    return found if marks else ["there is no HTML"]


def main():
    man = BUILT + "/man"
    functions, names = declared(), exported()
    fact(f"each function of the public headers has a page (more than 1000: {len(functions) > 1000})",
         without_page(functions, man) or ([] if len(functions) > 1000 else [f"only {len(functions)} were found"]))
    fact("and each public name that the libraries export", without_page(names - BY_PROGRAMS, man))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(man, folder + "/man", symlinks=True)
        os.remove(folder + "/man/man3/starpu_task_submit.3")
        found = without_page(functions, folder + "/man")
        fact("a page that is missing is noticed", [] if found == ["starpu_task_submit: no page"] else found or ["it was not"])
    listing = run(f"{BUILD}/tools/orrery_settings").stdout + run(f"{BUILD}/tools/orrery_settings", "--foreign").stdout
    settings = re.findall(r"^  (\S+?)(?:=.*|(?: \[.*))?(?:  .*)?$", listing, re.M)
    fact("each setting is in orrery-settings(7)", not_listed(settings, man + "/man7/orrery-settings.7") if len(settings) > 100
         else ["orrery_settings listed but " + str(len(settings))])
    policies = run(f"{BUILD}/tools/starpu_sched_display").stdout.split()
    fact("each policy is in orrery-policies(7)", not_listed(policies, man + "/man7/orrery-policies.7") if len(policies) > 10
         else ["starpu_sched_display listed but " + str(policies)])
    fact("each program has a page with its options", programs())
    links = [os.path.join(folder, name) for folder, _, files in os.walk(man) for name in files]
    fact("each link among pages leads to one", [f"{path}: leads nowhere" for path in links if not os.path.exists(path)])
    if shutil.which("mandoc"):
        pages = [path for path in links if not os.path.islink(path)]
        said = run("mandoc", "-T", "lint", *pages)
        fact("mandoc -T lint finds nothing in the pages", (said.stdout + said.stderr).strip().split("\n") if said.stdout.strip() else [])
    else:
        fact("mandoc -T lint finds nothing in the pages # SKIP there is no mandoc", [])
    fact("bash completes each program's options", not_completed())
    fact("each link in the HTML leads to a place", dead_links())
    print(f"1..{facts}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
