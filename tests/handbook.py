# SPDX-License-Identifier: BSD-3-Clause
"""Compiles and runs each program of doc/handbook, compares what it prints with the page, and looks up the names on the pages.

A program is a block that begins with ```c program (or ```python program) NAME [ranks=N] [status=N] [VARIABLE=VALUE ...]; what it prints is the block
```text output after it, and ```text says has lines that it says on stderr. Run by tests/handbook.sh. Prints TAP."""
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SOURCE, BUILD = os.environ["ORR_SRCDIR"], os.environ["ORR_BUILDDIR"]
PAGES = os.path.join(SOURCE, "doc", "handbook")
BLOCK = re.compile(r"^```(\w+) (program|output|says)\b *([^\n]*)\n(.*?)^```$", re.M | re.S)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def make_variable(name):
    match = re.search(rf"^{name} =(.*)$", read(os.path.join(BUILD, "Makefile")), re.M)
    return match.group(1).split() if match else []


class Program:
    def __init__(self, page, words, text, language="c"):
        self.page, self.text, self.output, self.says, self.language = page, text, None, None, language
        self.name, self.ranks, self.status, self.env = words[0], 0, 0, {}
        for word in words[1:]:
            key, _, value = word.partition("=")
            if key in ("ranks", "status"):
                setattr(self, key, int(value))
            else:
                self.env[key] = value


def programs_of(page):
    found = []
    for language, kind, words, text in BLOCK.findall(read(os.path.join(PAGES, page))):
        if kind == "program":
            found.append(Program(page, words.split(), text, language))
        elif found and kind == "output":
            found[-1].output = text
        elif found and kind == "says":
            found[-1].says = text
    return found


def flags(with_mpi):
    found = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{BUILD}/include", f"-I{SOURCE}/include"]
    libraries = [f"-L{BUILD}/.libs", f"-Wl,-rpath,{BUILD}/.libs"] + (["-lorrery-mpi"] if with_mpi else []) + ["-lorrery", "-lpthread"]
    mpi = (make_variable("MPI_CFLAGS"), make_variable("MPI_LIBS")) if with_mpi else ([], [])
    return found + mpi[0], libraries + mpi[1]


def try_program(program, folder):
    """Returns what is wrong with it, as lines."""
    home = tempfile.mkdtemp(prefix=program.name + "-", dir=folder)  # pages may use a name twice
    ending = ".py" if program.language == "python" else ".c"
    source, binary = os.path.join(home, program.name + ending), os.path.join(home, program.name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(program.text)
    if program.language == "c":
        before, after = flags(bool(program.ranks))
        built = subprocess.run([*make_variable("CC")[-1:], *before, source, "-o", binary, *after], capture_output=True, text=True,
                               check=False)
        if built.returncode:
            return ["does not compile"] + built.stderr.split("\n")[:8]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("STARPU_", "ORRERY_", "SC_HYPERVISOR_"))}
    env.update({"STARPU_HOME": home, "TMPDIR": home, "STARPU_NCPU": "2", "ORRERY_CUDA_LIBRARY": "none", **program.env})
    if program.language == "python":
        env.update(PYORRERY_LIBRARY=f"{BUILD}/.libs/liborrery.so", PYTHONPATH=f"{SOURCE}/packages/python", PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, source] if program.language == "python" else [binary]
    if program.ranks:
        command = [os.environ.get("ORR_MPIRUN") or "mpirun", "-n", str(program.ranks), *command]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=env, cwd=home, timeout=50)
    except subprocess.TimeoutExpired:
        return ["ran longer than 50 s"]
    found = []
    if ran.returncode != program.status:
        found += [f"ended with {ran.returncode} and not {program.status}"] + ran.stderr.split("\n")[:8]
    if program.output is not None and ran.stdout.rstrip() != program.output.rstrip():
        found += ["printed"] + ran.stdout.split("\n")[:12]
    for line in (program.says or "").split("\n"):
        if line.strip() and line.strip() not in ran.stderr:
            found += [f"did not say: {line.strip()}"]
    if found and program.says:
        found += ["said"] + ran.stderr.split("\n")[:12]
    return found


def missing_names(text):
    """The names that a page's section "Not there" has in the first column of its table: those that we lack."""
    section = text.partition("\n## Not there\n")[2].partition("\n## ")[0]
    first = " ".join(row.split("|")[1] for row in section.split("\n") if row.startswith("|"))
    return set(re.findall(r"\bf?starpu_\w+", first))


def unknown_names():
    """Words on the pages that look like ours and are nowhere in headers, settings, tools, modules and files; and those that
    a page says we lack although they are there."""
    known = set()
    for folder in ("include", "include/schedulers"):
        for name in os.listdir(os.path.join(SOURCE, folder)):
            if name.endswith((".h", ".in")):
                known.update(re.findall(r"\w+", read(os.path.join(SOURCE, folder, name))))
    settings = read(os.path.join(SOURCE, "doc", "SETTINGS.md"))
    known.update(re.findall(r"^\| `(\w+)`", settings, re.M))
    patterns = re.findall(r"^\| `([\w*]+)`", settings, re.M)
    for _, folders, files in os.walk(SOURCE):
        folders[:] = [f for f in folders if not f.startswith((".", "build"))]
        known.update(os.path.splitext(f)[0] for f in files)
        known.update(folders)
    for name in ("fstarpu_mod", "fstarpu_mpi_mod"):
        known.update(re.findall(r"\w+", read(os.path.join(SOURCE, "packages", "fortran", name + ".f90"))))
    known.update(re.findall(r"\btools/(\w+)", read(os.path.join(SOURCE, "tools", "local.mk"))))
    found = []
    for page in sorted(os.listdir(PAGES)):
        text = read(os.path.join(PAGES, page))
        missing = missing_names(text)
        found += [f"{page}: {word} is there" for word in sorted(missing & known)]
        own = set(re.findall(r"^(?:static |struct |int |void |double ).*?\b((?:starpu|orrery)_\w+)\s*[({=]", text, re.M))
        for word in sorted(set(re.findall(r"\b(?:f?starpu|orrery|STARPU|ORRERY)_\w*\*?", text)) - own):
            stem = word.rstrip("*")
            if stem in known | missing or any(fnmatch.fnmatch(stem, p) for p in patterns):
                continue
            if stem.endswith("_") and any(k.startswith(stem) for k in known):
                continue
            found.append(f"{page}: {word}")
    return found


def wrong_pictures():
    """Pictures that pages show and that are not there, too large, or not what scripts/pictures makes of the lines in them."""
    found = []
    shown = {(page, name) for page in os.listdir(PAGES) for name in re.findall(r"!\[[^\]]+\]\(\.\./images/([^)]+)\)", read(os.path.join(PAGES, page)))}
    for page, name in sorted(shown):
        path = os.path.join(SOURCE, "doc", "images", name)
        if not os.path.exists(path) or os.path.getsize(path) > 50000:
            found.append(f"{page}: {name} is not there, or larger than 50 kB")
        elif name.startswith("schedules-"):
            lines = xml.etree.ElementTree.parse(path).getroot().find("{http://www.w3.org/2000/svg}desc").text
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "pictures"), folder], input=lines, text=True, check=False)
                again = os.path.join(folder, name)
                if not os.path.exists(again) or read(again) != read(path):
                    found.append(f"{page}: {name} is not what scripts/pictures makes of its lines")
    return found if shown else ["no page shows a picture"]


def main():
    pages = sorted(name for name in os.listdir(PAGES) if name.endswith(".md"))
    programs = [program for page in pages for program in programs_of(page)]
    if not re.search(r"STARPU_USE_MPI 1", read(os.path.join(BUILD, "include", "starpu_config.h"))):
        programs = [program for program in programs if not program.ranks]
    failures = 0
    print(f"1..{len(programs) + 3}")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda program: try_program(program, folder), programs))
        wrong = Program("none", ["wrong"], 'int main(void) { return 3; }\n')
        wrong.output = "nothing of the kind\n"
        noticed = try_program(wrong, folder)
    for number, (program, found) in enumerate(zip(programs, results), 1):
        failures += bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - {program.page}: {program.name} compiles, runs, and prints what the page says")
        for line in found:
            print("#   " + line)
    names = unknown_names()
    failures += bool(names)
    print(f"{'not ok' if names else 'ok'} {len(programs) + 1} - each name on the pages is one that there is")
    for line in names[:20]:
        print("#   " + line)
    told = any("and not 0" in line for line in noticed) and "printed" in noticed
    failures += not told
    print(f"{'ok' if told else 'not ok'} {len(programs) + 2} - a program that ends and prints otherwise is noticed")
    pictures = wrong_pictures()
    failures += bool(pictures)
    print(f"{'not ok' if pictures else 'ok'} {len(programs) + 3} - the pictures are there, and those of policies show the lines in them")
    for line in pictures:
        print("#   " + line)
    return 1 if failures else 0


if __name__ == "__main__":
    if not shutil.which("gcc"):
        print("1..0 # SKIP there is no gcc")
        sys.exit(0)
    sys.exit(main())
