# SPDX-License-Identifier: BSD-3-Clause
"""Tasks over Python callables and buffers, by Orrery.

    import orrery
    with orrery.Runtime(ncpus=4):
        x = orrery.Data(array)                       # a NumPy array, or anything with a writable buffer
        orrery.submit(scale, orrery.RW(x), 3.0)      # calls scale(array of x, 3.0) in a task
        x.wait()                                     # or: await x; or: orrery.wait_for_all()

Tasks that use the same data run in the order of their submission as far as they must. A callable gets NumPy arrays where
NumPy is there and the data is one, else memoryviews; positional arguments that are no data are passed on. Workers run
Python one at a time, as its interpreter does; functions that release it (most of NumPy's) run in parallel.
An exception in a callable is raised by the wait that comes next, as the cause of a TaskError.
"""
import asyncio
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
            ("starpu_vector_data_register", None, [ctypes.POINTER(_pointer), ctypes.c_int, _pointer, ctypes.c_uint, ctypes.c_size_t]),
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

    def __init__(self, index, data):
        self.index, self.data = index, data


def _run(buffers, number):
    with _lock:
        function, arguments, keywords = _calls.pop(number)
    try:
        values = [a.data._view(_library.fstarpu_vector_get_ptr(buffers, a.index)) if isinstance(a, _Slot) else a for a in arguments]
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
        _library.starpu_task_wait_for_all()
        for data in list(Data._registered.values()):
            data.unregister()
        _library.starpu_shutdown()
        _library.fstarpu_codelet_free(_Codelet.pointer)
        _Codelet.pointer = None
        if kind is None:
            _raise_failures()


class Data:
    """A buffer that tasks use: a contiguous, writable NumPy array, bytearray, array.array... It is the runtime's until it is
    acquired or unregistered."""

    _registered = {}

    def __init__(self, buffer):
        view = memoryview(buffer)
        if view.readonly or not view.c_contiguous:
            raise ValueError("the buffer must be writable and contiguous: pass a copy")
        self.buffer, self.bytes = buffer, view.nbytes
        self._memory = (ctypes.c_char * max(self.bytes, 1)).from_buffer(view.cast("B") if self.bytes else bytearray(1))
        self._handle = _pointer()
        # One element of all the bytes: the number of elements has 32 bits.
        _library.starpu_vector_data_register(ctypes.byref(self._handle), 0, ctypes.addressof(self._memory), 1, max(self.bytes, 1))
        if not self._handle:
            raise RuntimeError("the data were not registered: is the runtime started (with orrery.Runtime():)?")
        Data._registered[self._handle.value] = self

    def _view(self, address):
        """What a callable gets: the same type and shape, at the address that the task's worker has it."""
        raw = (ctypes.c_char * self.bytes).from_address(address)
        view = memoryview(self.buffer)
        if hasattr(self.buffer, "__array_interface__"):
            import numpy  # pylint: disable=import-outside-toplevel
            return numpy.frombuffer(raw, dtype=self.buffer.dtype).reshape(self.buffer.shape)
        return memoryview(raw).cast("B").cast(view.format, view.shape) if view.format != "B" else memoryview(raw).cast("B")

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
        if self._handle:
            Data._registered.pop(self._handle.value, None)
            _library.starpu_data_unregister(self._handle)
            self._handle, self._memory = _pointer(), None


class _Acquired:
    def __init__(self, data, mode):
        self._data, self._mode = data, mode

    def __enter__(self):
        _check(_library.fstarpu_data_acquire(self._data._handle, _constant(_MODES[self._mode])), "starpu_data_acquire")
        return self._data.buffer

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


def submit(function, *arguments, priority=None, **keywords):
    """Submits a task that calls function(*arguments, **keywords), with arrays in the place of R(x), W(x) and RW(x)."""
    if _Codelet.pointer is None:
        raise RuntimeError("the runtime is not started: with orrery.Runtime():")
    used, listed = [], [_Codelet.pointer]
    for argument in arguments:
        if isinstance(argument, Data):
            raise TypeError("say how the task uses the data: orrery.R(x), W(x) or RW(x)")
        if isinstance(argument, Access):
            listed += [_constant(_MODES[argument.mode]), argument.data._handle.value]
            used.append(_Slot(sum(isinstance(u, _Slot) for u in used), argument.data))
        else:
            used.append(argument)
    number = next(_numbers)
    listed += [_constant("FSTARPU_CL_ARGS_NFREE"), number, 0]
    if priority is not None:
        wanted = ctypes.c_int(priority)
        listed += [_constant("FSTARPU_PRIORITY"), ctypes.addressof(wanted)]
    with _lock:
        _calls[number] = (function, used, keywords)
    status = _library.fstarpu_task_insert((_pointer * (len(listed) + 1))(*listed, None))
    if status:
        with _lock:
            _calls.pop(number, None)
        _check(status, "fstarpu_task_insert")


def wait_for_all():
    """Waits until all tasks have ended; raises what callables raised."""
    status = _library.starpu_task_wait_for_all()
    _raise_failures()
    _check(status, "starpu_task_wait_for_all")
