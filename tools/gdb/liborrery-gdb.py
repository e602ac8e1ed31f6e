# SPDX-License-Identifier: BSD-3-Clause
"""Commands of gdb for programs that use Orrery, live or as a core file: orrery workers, tasks, task N, data, why.

Read by gdb by itself where liborrery is installed (or: source liborrery-gdb.py). They read memory and call nothing in the program,
so the library must have its debugging symbols; what they say holds while the program stands.
"""
import gdb

CREATED, SUBMITTED, READY, PUSHED, RUNNING, DONE, CALLING = range(7)
STATES = ["created", "waits", "ready", "at its policy", "runs", "done", "calls back"]
STEPS = 1 << 16  # more steps than that along a list: it is damaged


def value(expression):
    return gdb.parse_and_eval(expression)


def number(field):
    """Of a plain or an atomic field."""
    return int(field.cast(gdb.lookup_type("unsigned long"))) if field.type.strip_typedefs().code != gdb.TYPE_CODE_PTR else int(field)


def text(pointer, otherwise="(unnamed)"):
    try:
        return pointer.string(errors="replace") if int(pointer) else otherwise
    except (gdb.MemoryError, gdb.error):
        return "(unreadable)"


def at(address, type_name):
    return gdb.Value(address).cast(gdb.lookup_type(type_name).pointer())


def task_name(task):
    public = task["pub"]
    name = public["name"]
    if not int(name) and int(public["cl"]):
        name = public["cl"]["name"]
    return text(name)


def describe(task):
    return f"{task_name(task)} (job {int(task['id'])})"


def blocks(which):
    """The addresses of all blocks of a slab, used or not."""
    index = int(value(which))
    slab = value("'slab.c'::slabs")[index]
    size = int(value("orr_slab_block_bytes")[index])
    head = int(value("ORR_SLAB_HEAD"))
    chunk, newest = slab["chunks"], True
    while int(chunk):
        start = int(chunk) + head
        end = int(slab["cut"]) if newest else int(chunk) + int(chunk["bytes"])
        while start + size <= end:
            yield start
            start += size
        chunk, newest = chunk["next"], False


def tasks():
    """Those that are submitted and have not ended."""
    for which in ("ORR_SLAB_TASK", "ORR_SLAB_JOB"):
        for address in blocks(which):
            task = at(address, "struct orr_task")
            if SUBMITTED <= number(task["state"]) <= RUNNING:
                yield task


def accesses(task):
    """Pairs of an access's address and its data."""
    heap = int(value("ORR_TF_ACCESS_HEAP"))
    first = task["heap_accesses"]["access"] if int(task["flags"]) & heap else task["inline_accesses"]["access"]
    public = task["pub"]
    if not int(public["cl"]):
        return
    for i in range(int(task["naccesses"])):
        access = first[i]
        handles = public["dyn_handles"] if int(public["dyn_handles"]) else public["handles"]
        yield int(access.address), handles[int(access["index"])]


def waiting(handle):
    """The addresses of the accesses that wait in the queue of a handle."""
    found = []
    for access in (handle["queue"]["head"], handle["queue"]["commuters"]):
        address = int(access)
        while address and len(found) < STEPS:
            found.append(address)
            address = int(at(address, "struct orr_waiter")["next"])
    return found


def label(handle):
    rare = number(handle["rare"])
    name = at(rare, "struct orr_data_rare")["name"] if rare else None
    return f'"{text(name)}"' if name is not None and int(name) else hex(int(handle))


def waiters_of(task):
    """The addresses of those that wait for a task by declaration."""
    edge = number(task["successors"])
    steps = 0
    while edge > 1 and steps < STEPS:
        entry = at(edge, "struct orr_edge")
        yield number(entry["waiter"])
        edge = int(entry["next"])
        steps += 1


def workers():
    for i in range(int(value("orr_worker_count"))):
        yield value("orr_workers")[i]


class Orrery(gdb.Command):
    """Orrery: what its workers, tasks and data do. orrery workers | tasks | task N | data | why"""

    def __init__(self):
        super().__init__("orrery", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class Sub(gdb.Command):
    def __init__(self, word, act, doc):
        self.__doc__ = doc
        self.act = act
        super().__init__("orrery " + word, gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        try:
            self.act(argument)
        except gdb.MemoryError as error:
            raise gdb.GdbError(f"orrery: memory cannot be read: {error}")
        except gdb.error as error:
            raise gdb.GdbError(f"orrery: {error}; is the library there, with debugging symbols?")


def running():
    """By worker's number: what its thread runs."""
    on = {}
    record = value("'thread.c'::threads")
    while int(record):
        worker = at(int(record["room_worker"].address), "struct orr_worker_thread")["worker"]
        current = at(int(record["room_task"].address), "struct orr_task_thread")["current"]
        if int(worker) and int(current):
            on[int(worker["id"])] = describe(current)
        record = record["next"]
    for worker in workers():
        pipeline = at(number(worker["pipeline"]), "struct orr_pipeline") if number(worker["pipeline"]) else None
        if pipeline is not None and int(pipeline["submitted"]) and int(worker["id"]) not in on:
            on[int(worker["id"])] = describe(pipeline["stages"][int(pipeline["first"])]["load"]["task"])
    return on


def show_workers(_):
    on = running()
    for worker in workers():
        runs = on.get(int(worker["id"])) or ("idle" if number(worker["idle_since_ns"]) else "busy")
        print(f"worker {int(worker['id'])} {worker['name'].string()}: {number(worker['tasks_run'])} tasks, {runs}")


def show_tasks(_):
    count = 0
    for task in tasks():
        print(f"job {int(task['id'])} {task_name(task)}: {STATES[number(task['state'])]}")
        count += 1
    print(f"{count} tasks are submitted and have not ended")


def show_task(argument):
    if not argument.isdigit():
        raise gdb.GdbError("orrery task N: N is the number of a job")
    for task in tasks():
        if int(task["id"]) != int(argument):
            continue
        print(f"job {argument} {task_name(task)}: {STATES[number(task['state'])]}")
        print(f"  private half: (struct orr_task *) {hex(int(task))}, public: (struct starpu_task *) {hex(int(task['pub']))}")
        print(f"  conditions missing: {number(task['pending'])}, priority {int(task['priority'])}")
        for address, handle in accesses(task):
            print(f"  data {label(handle)}: {'waits for it' if address in waiting(handle) else 'has it'}")
        return
    raise gdb.GdbError(f"there is no job {argument} that has not ended")


def show_data(_argument):
    seen = {}
    for task in tasks():
        for address, handle in accesses(task):
            _, has, waits = seen.setdefault(int(handle), (handle, [], []))
            (waits if address in waiting(handle) else has).append(describe(task))
    for handle, has, waits in seen.values():
        print(f"data {label(handle)}: {', '.join(has) or 'no task'} has it, {len(waits)} wait" + (f": {', '.join(waits[:8])}" if waits else ""))
    print(f"{len(seen)} data are used by tasks")


def show_why(_):
    all_tasks = list(tasks())
    known = {int(task): task for task in all_tasks}
    blocked = {}
    for task in all_tasks:
        for waiter in waiters_of(task):
            blocked.setdefault(waiter, []).append(task)
    for task in all_tasks:
        state = number(task["state"])
        if state in (READY, PUSHED):
            print(f"task {describe(task)} is ready, and waits for a worker")
        if state != SUBMITTED:
            continue
        said = False
        for other in blocked.get(int(task), []):
            print(f"task {describe(task)} waits for task {describe(other)}")
            said = True
        for address, handle in accesses(task):
            queue = waiting(handle)
            if address not in queue:
                continue
            has = [describe(o) for o in all_tasks for a, h in accesses(o) if int(h) == int(handle) and a not in queue]
            print(f"task {describe(task)} waits for data {label(handle)}, which {'task ' + has[0] if has else 'the program or a message'} has")
            said = True
        if not said:
            print(f"task {describe(task)} waits ({number(task['pending'])} conditions missing)")
    print(f"{len(known)} tasks are submitted and have not ended")


Orrery()
Sub("workers", show_workers, "What each worker of Orrery does.")
Sub("tasks", show_tasks, "The tasks that are submitted and have not ended.")
Sub("task", show_task, "orrery task N: one of them, by the number of its job, with its data.")
Sub("data", show_data, "The data that tasks use: who has them, who waits.")
Sub("why", show_why, "What each waiting task waits for.")
