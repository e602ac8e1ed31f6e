# SPDX-License-Identifier: BSD-3-Clause
"""Tasks over Python callables and buffers, by Orrery.

    import orrery
    with orrery.Runtime(ncpus=4):
        x = orrery.Data(array)                       # a NumPy array, or anything with a writable buffer
        orrery.submit(scale, orrery.RW(x), 3.0)      # calls scale(array of x, 3.0) in a task
        x.wait()                                     # or: await x; or: orrery.wait_for_all()

    pieces = x.split(8)                              # along the first axis; tasks use x and its pieces, in any order

Tasks that use the same data run in the order of their submission as far as they must. A callable gets NumPy arrays where
NumPy is there and the data is one, else memoryviews; positional arguments that are no data are passed on. Workers run
Python one at a time, as its interpreter does; functions that release it (most of NumPy's) run in parallel.
An exception in a callable is raised by the wait that comes next, as the cause of a TaskError.
"""
import asyncio
import atexit
import ctypes
import itertools
import os
import threading

__all__ = ["Runtime", "Data", "Access", "R", "W", "RW", "TaskError", "submit", "wait_for_all", "version", "worker_id", "worker_count"]

_MODES = {"R": "FSTARPU_R", "W": "FSTARPU_W", "RW": "FSTARPU_RW"}
_pointer = ctypes.c_void_p
_kernel_type = ctypes.CFUNCTYPE(None, ctypes.POINTER(_pointer), _pointer)
_callback_type = ctypes.CFUNCTYPE(None, _pointer)


class TaskError(RuntimeError):
    """A callable of a task raised; its exception is the cause."""


def _load():
    names = [os.environ["PYORRERY_LIBRARY"]] if "PYORRERY_LIBRARY" in os.environ else ["liborrery.so.0", "liborrery.so"]
    for name in names:
        try:
            library = ctypes.CDLL(name)
            break
        except OSError as error:
            said = error
    else:
        raise ImportError(f"liborrery was not found ({said}): install it, and set LD_LIBRARY_PATH to its folder") from said
    for name, result, arguments in (
            ("starpu_init", ctypes.c_int, [_pointer]), ("starpu_shutdown", None, []), ("orrery_version_string", ctypes.c_char_p, []),
            ("starpu_task_wait_for_all", ctypes.c_int, []), ("starpu_worker_get_id", ctypes.c_int, []),
            ("starpu_worker_get_count", ctypes.c_uint, []), ("fstarpu_get_constant", _pointer, [ctypes.c_char_p]),
            ("fstarpu_conf_allocate", _pointer, []), ("fstarpu_conf_free", None, [_pointer]),
            ("fstarpu_conf_set_ncpu", None, [_pointer, ctypes.c_int]),
            ("fstarpu_conf_set_sched_policy_name", None, [_pointer, ctypes.c_char_p]),
            ("fstarpu_codelet_allocate", _pointer, []), ("fstarpu_codelet_free", None, [_pointer]),
            ("fstarpu_codelet_set_name", None, [_pointer, ctypes.c_char_p]),
            ("fstarpu_codelet_set_variable_nbuffers", None, [_pointer]),
            ("fstarpu_codelet_add_cpu_func", None, [_pointer, _kernel_type]),
            ("fstarpu_task_insert", ctypes.c_int, [ctypes.POINTER(_pointer)]),
            ("fstarpu_vector_get_ptr", _pointer, [ctypes.POINTER(_pointer), ctypes.c_int]),
            ("starpu_vector_data_register", None,
             [ctypes.POINTER(_pointer), ctypes.c_int, _pointer, ctypes.c_size_t, ctypes.c_size_t]),
            ("fstarpu_df_alloc_vector_filter_block", _pointer, []), ("fstarpu_data_filter_free", None, [_pointer]),
            ("fstarpu_data_filter_set_nchildren", None, [_pointer, ctypes.c_int]),
            ("starpu_data_partition_plan", None, [_pointer, _pointer, ctypes.POINTER(_pointer)]),
            ("starpu_data_partition_clean", None, [_pointer, ctypes.c_uint, ctypes.POINTER(_pointer)]),
            ("starpu_vector_get_nx", ctypes.c_size_t, [_pointer]),
            ("starpu_data_unregister", None, [_pointer]), ("starpu_data_release", None, [_pointer]),
            ("fstarpu_data_acquire", ctypes.c_int, [_pointer, _pointer]),
            ("starpu_data_acquire_cb", ctypes.c_int, [_pointer, ctypes.c_int, _callback_type, _pointer])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()
_constants = {}


def _constant(name):
    if name not in _constants:
        _constants[name] = _library.fstarpu_get_constant(name.encode())
    return _constants[name]


def version():
    """The version of the library."""
    return _library.orrery_version_string().decode()


def worker_id():
    """The worker that runs the calling callable; -1 elsewhere."""
    return _library.starpu_worker_get_id()


def worker_count():
    return _library.starpu_worker_get_count()


def _check(status, what):
    if status:
        raise OSError(-status, f"{what}: {os.strerror(-status)}")


# ---- tasks: one codelet for all; the argument is the number of what is to be called ----

_lock = threading.Lock()
_numbers = itertools.count(1)
_calls = {}  # number: (callable, its arguments: data by (index, data) pairs)
_failures = []
_waiting = {}  # number: (event loop, future, handle) of who awaits data


class _Slot:
    """The place of a datum among the arguments of a callable."""

    def __init__(self, index, access):
        self.index, self.data, self.changes = index, access.data, access.mode != "R"


def _run(buffers, number):
    with _lock:
        function, arguments, keywords = _calls.pop(number)
    try:
        values = [a.data._view(_library.fstarpu_vector_get_ptr(buffers, a.index), a.changes) if isinstance(a, _Slot) else a for a in arguments]
        function(*values, **keywords)
    except BaseException as error:  # it must not pass through C
        with _lock:
            _failures.append(error)


_kernel = _kernel_type(_run)


def _tell(number):
    """Data that somebody awaits are there; on a thread of the runtime's."""
    with _lock:
        loop, future, handle = _waiting.pop(number)
    _library.starpu_data_release(handle)
    try:
        loop.call_soon_threadsafe(lambda: future.done() or future.set_result(None))
    except RuntimeError:
        pass  # the loop was closed meanwhile: nobody waits


_told = _callback_type(_tell)  # one for all, for good: C may call it after the waiter was cancelled


class _Codelet:
    pointer = None
    forked = False  # the process came of one that had the runtime, whose threads it lacks


def _after_fork():
    if _Codelet.pointer is not None:
        _Codelet.forked, _Codelet.pointer = True, None
        for data in list(Data._registered.values()):
            data._forget()
        Data._registered.clear()


def _refuse_forked():
    if _Codelet.forked:
        raise RuntimeError("this process was forked from one whose runtime is started, and has no workers: start the "
                           "runtime after forking, or processes by multiprocessing's method spawn")


def _before_exit():
    """Workers must not run callables in an interpreter that ends."""
    if _Codelet.pointer is not None:
        _library.starpu_task_wait_for_all()
        _library.starpu_shutdown()
        _Codelet.pointer = None


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_before_exit)


def _raise_failures():
    with _lock:
        found, _failures[:] = list(_failures), []
    if found:
        raise TaskError(f"{len(found)} tasks raised; the first: {found[0]!r}") from found[0]


class Runtime:
    """The runtime, while a with statement lasts. ncpus, policy: as STARPU_NCPU and STARPU_SCHED, which count more."""

    def __init__(self, ncpus=None, policy=None):
        self._ncpus, self._policy = ncpus, policy.encode() if policy else None

    def __enter__(self):
        _refuse_forked()
        if _Codelet.pointer is not None:
            raise RuntimeError("the runtime is started already")
        conf = _library.fstarpu_conf_allocate()
        if self._ncpus is not None:
            _library.fstarpu_conf_set_ncpu(conf, self._ncpus)
        if self._policy:
            _library.fstarpu_conf_set_sched_policy_name(conf, self._policy)
        status = _library.starpu_init(conf)
        _library.fstarpu_conf_free(conf)
        _check(status, "starpu_init")
        _Codelet.pointer = _library.fstarpu_codelet_allocate()
        _library.fstarpu_codelet_set_name(_Codelet.pointer, b"python")
        _library.fstarpu_codelet_set_variable_nbuffers(_Codelet.pointer)
        _library.fstarpu_codelet_add_cpu_func(_Codelet.pointer, _kernel)
        return self

    def __exit__(self, kind, value, trace):
        if _Codelet.forked:
            return
        self._wait()
        for data in list(Data._registered.values()):
            data.unregister()
        self._stop()
        _library.fstarpu_codelet_free(_Codelet.pointer)
        _Codelet.pointer = None
        if kind is None:
            _raise_failures()

    def _wait(self):
        _library.starpu_task_wait_for_all()

    def _stop(self):
        _library.starpu_shutdown()


def _bytes_of(buffer):
    """The memory of a buffer, byte by byte, and its shape."""
    if hasattr(buffer, "__array_interface__"):
        flags = buffer.flags
        if not flags.c_contiguous or not flags.writeable or buffer.dtype.hasobject:
            raise ValueError("the array must be writable, contiguous in C's order and without objects: pass a copy")
        return memoryview(buffer.reshape(-1).view("u1")), buffer.shape
    view = memoryview(buffer)
    if view.readonly or not view.c_contiguous:
        raise ValueError("the buffer must be writable and contiguous: pass a copy")
    return view.cast("B") if view.nbytes else memoryview(bytearray()), view.shape


class Data:
    """A buffer that tasks use: a contiguous, writable NumPy array, bytearray, array.array... It is the runtime's until it is
    acquired or unregistered."""

    _registered = {}

    def __init__(self, buffer):
        raw, shape = _bytes_of(buffer)
        self.buffer, self.pieces, self.whole = buffer, [], None
        self._memory = (ctypes.c_char * len(raw)).from_buffer(raw) if len(raw) else (ctypes.c_char * 1)()
        self._handle = _pointer()
        # An element is all that has one number on the first axis, so that pieces are parts of a vector.
        rows = shape[0] if shape and len(raw) else 1
        self._row_bytes = max(len(raw), 1) // rows
        _refuse_forked()
        home = self._home()
        _library.starpu_vector_data_register(ctypes.byref(self._handle), home, ctypes.addressof(self._memory) if home == 0 else None,
                                             rows, self._row_bytes)
        if not self._handle:
            raise RuntimeError("the data were not registered: is the runtime started (with orrery.Runtime():)?")
        Data._registered[self._handle.value] = self

    def _home(self):
        """The memory node that has the buffer."""
        return 0

    def _held(self, mode):
        """What the program gets of acquired data."""
        del mode
        return self.buffer

    def split(self, parts):
        """A list of that many pieces along the first axis, as even as they go. Tasks and waits use them, and the whole;
        the runtime sees to the order. Their buffers are views. They are given back with the whole."""
        rows = len(self.buffer) if not self.whole and not self.pieces else 0
        if not 1 <= parts <= rows:
            raise ValueError("data are cut once, not pieces of them, and into no more parts than there are on the first axis")
        children = (_pointer * parts)()
        cut = _library.fstarpu_df_alloc_vector_filter_block()
        _library.fstarpu_data_filter_set_nchildren(cut, parts)
        _library.starpu_data_partition_plan(self._handle, cut, children)
        _library.fstarpu_data_filter_free(cut)
        if not all(children):
            raise RuntimeError("the data were not cut")
        first, view = 0, self.buffer if hasattr(self.buffer, "__array_interface__") else memoryview(self.buffer)
        for child in children:
            piece = Data.__new__(Data)
            count = _library.starpu_vector_get_nx(child)
            piece.buffer, piece._handle, piece.pieces, piece.whole = view[first:first + count], _pointer(child), [], self
            piece._row_bytes = self._row_bytes
            self.pieces.append(piece)
            first += count
        return list(self.pieces)

    def _view(self, address, changes):
        """What a callable gets: the same type and shape, at the address that the task's worker has it."""
        view = self.buffer if hasattr(self.buffer, "__array_interface__") else memoryview(self.buffer)
        raw = (ctypes.c_char * view.nbytes).from_address(address)
        if not isinstance(view, memoryview):
            import numpy  # pylint: disable=import-outside-toplevel
            array = numpy.frombuffer(raw, dtype=view.dtype).reshape(view.shape)
            array.flags.writeable = changes
            return array
        given = memoryview(raw).cast("B")
        if view.format != "B" or view.ndim != 1:
            given = given.cast(view.format, view.shape)
        return given if changes else given.toreadonly()

    def _forget(self):
        for piece in self.pieces:
            piece._handle = _pointer()
        self._handle, self.pieces, self._memory = _pointer(), [], None

    def wait(self, mode="R"):
        """Waits for the tasks before; the buffer then has their values. Others go on."""
        with self.acquired(mode):
            pass
        _raise_failures()

    def acquired(self, mode="RW"):
        """with data.acquired(): the program may use the buffer."""
        return _Acquired(self, mode)

    def __await__(self):
        """await data: as wait(), in an event loop."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        number = next(_numbers)
        with _lock:
            _waiting[number] = (loop, future, self._handle)
        status = _library.starpu_data_acquire_cb(self._handle, _constant("FSTARPU_R"), _told, number)
        if status:
            with _lock:
                del _waiting[number]
            _check(status, "starpu_data_acquire_cb")
        yield from future
        _raise_failures()

    def unregister(self):
        """Waits for its tasks; then the buffer is the program's."""
        if self.whole:
            raise ValueError("a piece is given back with the whole")
        if self._handle:
            Data._registered.pop(self._handle.value, None)
            if self.pieces:
                children = (_pointer * len(self.pieces))(*(piece._handle.value for piece in self.pieces))
                _library.starpu_data_partition_clean(self._handle, len(self.pieces), children)
            _library.starpu_data_unregister(self._handle)
            self._forget()


class _Acquired:
    def __init__(self, data, mode):
        self._data, self._mode = data, mode

    def __enter__(self):
        _check(_library.fstarpu_data_acquire(self._data._handle, _constant(_MODES[self._mode])), "starpu_data_acquire")
        return self._data._held(self._mode)

    def __exit__(self, kind, value, trace):
        _library.starpu_data_release(self._data._handle)


class Access:
    """A datum and how a task uses it."""

    def __init__(self, data, mode):
        self.data, self.mode = data, mode


def R(data):
    """The task reads it."""
    return Access(data, "R")


def W(data):
    """The task writes all of it."""
    return Access(data, "W")


def RW(data):
    """The task reads and writes it."""
    return Access(data, "RW")


def _list(function, arguments, keywords, priority):
    """The number of a call, and the list of its task, without the NULL at the end."""
    _refuse_forked()
    if _Codelet.pointer is None:
        raise RuntimeError("the runtime is not started: with orrery.Runtime():")
    used, listed = [], [_Codelet.pointer]
    for argument in arguments:
        if isinstance(argument, Data):
            raise TypeError("say how the task uses the data: orrery.R(x), W(x) or RW(x)")
        if isinstance(argument, Access):
            if not argument.data._handle:
                raise ValueError("the data were unregistered")
            listed += [_constant(_MODES[argument.mode]), argument.data._handle.value]
            used.append(_Slot(sum(isinstance(u, _Slot) for u in used), argument))
        else:
            used.append(argument)
    number = next(_numbers)
    listed += [_constant("FSTARPU_CL_ARGS_NFREE"), number, 0]
    if priority is not None:
        listed += [_constant("FSTARPU_PRIORITY"), ctypes.pointer(ctypes.c_int(priority))]
    with _lock:
        _calls[number] = (function, used, keywords)
    return number, listed


def _array(listed):
    """Pointers of C; what they point to lives as long as listed."""
    return (_pointer * (len(listed) + 1))(*(ctypes.cast(p, _pointer) if hasattr(p, "contents") else p for p in listed), None)


def _drop(number):
    """The task of this call will not be: forgets the call."""
    with _lock:
        _calls.pop(number, None)


def submit(function, *arguments, priority=None, **keywords):
    """Submits a task that calls function(*arguments, **keywords), with arrays in the place of R(x), W(x) and RW(x)."""
    number, listed = _list(function, arguments, keywords, priority)
    status = _library.fstarpu_task_insert(_array(listed))
    if status:
        _drop(number)
        _check(status, "fstarpu_task_insert")


def wait_for_all():
    """Waits until all tasks have ended; raises what callables raised."""
    status = _library.starpu_task_wait_for_all()
    _raise_failures()
    _check(status, "starpu_task_wait_for_all")
