# SPDX-License-Identifier: BSD-3-Clause
"""orrery.ranks on two ranks or more: owners, tasks where they are written and where the program says, values that travel,
exceptions. Prints TAP. Run by tests/languages/python.sh under tests/run-mpi."""
import array
import sys

import orrery
from orrery import RW, R, ranks

facts = 0


def say(line):
    """A line in one piece: ranks write beside each other, and print() may write the end of the line by itself."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def fact(holds, text):
    global facts
    facts += 1
    say(f"{'ok' if holds else 'not ok'} {facts} - {text}")


def add(values, more):
    for k in range(len(values)):
        values[k] += more[k] if hasattr(more, "__len__") else more


def note(values, here):
    values[0] = here


def explode(values):
    raise KeyError(values[0])


def main():
    with ranks.Runtime(ncpus=1) as here:
        owned = [ranks.Data(array.array("q", [10 * owner, owner]), owner) for owner in range(here.size)]
        for data in owned:
            ranks.submit(add, RW(data), 1)
        for data in owned[1:]:
            ranks.submit(add, RW(owned[0]), R(data))
        last = here.size - 1
        owned[0].fetch(last)
        if here.rank == last:
            with owned[0].acquired("R") as values:
                total = list(values)
        fact(here.rank != last or total == [sum(10 * k + 1 for k in range(here.size)), sum(k + 1 for k in range(here.size))],
             "tasks on data of all ranks add up, and the sum travels")
        with owned[here.rank].acquired("R") as values:
            mine = list(values)
        fact(here.rank == 0 or mine == [10 * here.rank + 1, here.rank + 1], "each rank has what it owns")
        where = ranks.Data(array.array("q", [-1]), 0)
        ranks.submit(note, RW(where), here.rank, rank=last)
        if here.rank == 0:
            where.wait()
        fact(here.rank != 0 or where.buffer[0] == last, "a task runs on the rank that the program says, with that rank's arguments")
        ranks.submit(explode, R(where), rank=last)
        raised = None
        try:
            orrery.wait_for_all()
        except orrery.TaskError as error:
            raised = error.__cause__
        fact(isinstance(raised, KeyError) == (here.rank == last), "what a callable raises is raised on its rank")
        fact(not orrery._calls, "no rank keeps calls, of tasks that ran elsewhere neither")
        try:
            where.split(1)
            refused = False
        except ValueError:
            refused = True
        fact(refused, "data of several ranks are not cut")
    fact(True, "the ranks end")
    say(f"1..{facts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
