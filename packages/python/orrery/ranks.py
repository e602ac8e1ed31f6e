# SPDX-License-Identifier: BSD-3-Clause
"""Tasks on several ranks: the same program, started by mpirun.

    from orrery import RW, ranks
    with ranks.Runtime() as here:
        x = ranks.Data(array, owner=0)        # on all ranks, in the same order; the array of rank 0 is what counts
        ranks.submit(scale, RW(x), 3.0)       # on all ranks; the owner of what is written runs it, or rank=1
        x.fetch(1)                            # on all ranks; then the value is on rank 1, too
        if here.rank == 1:
            with x.acquired("R") as values:
                ...

What a callable raises is raised where it ran.
"""
import ctypes
import itertools
import os

import orrery
from orrery import _array, _check, _constant, _drop, _library, _list, _pointer

__all__ = ["Runtime", "Data", "submit"]


def _load():
    names = [os.environ["PYORRERY_MPI_LIBRARY"]] if "PYORRERY_MPI_LIBRARY" in os.environ else ["liborrery-mpi.so.0", "liborrery-mpi.so"]
    for name in names:
        try:
            library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)  # parts of MPI that are loaded later look there
            break
        except OSError as error:
            said = error
    else:
        raise ImportError(f"liborrery-mpi was not found ({said}): install it, and set LD_LIBRARY_PATH to its folder") from said
    number, tag = ctypes.c_int, ctypes.c_int64
    for name, result, arguments in (
            ("fstarpu_mpi_init_comm", number, [number, number, number]), ("starpu_mpi_shutdown", number, []),
            ("starpu_mpi_world_rank", number, []), ("starpu_mpi_world_size", number, []),
            ("fstarpu_mpi_world_comm", number, []), ("fstarpu_mpi_wait_for_all", number, [number]),
            ("fstarpu_mpi_data_register", None, [_pointer, tag, number]),
            ("fstarpu_mpi_get_data_on_node", None, [number, _pointer, number]),
            ("fstarpu_mpi_task_build", _pointer, [ctypes.POINTER(_pointer)]),
            ("fstarpu_mpi_task_post_build", number, [ctypes.POINTER(_pointer)])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    _library.starpu_task_submit.restype, _library.starpu_task_submit.argtypes = number, [_pointer]
    _library.starpu_data_get_local_ptr.restype, _library.starpu_data_get_local_ptr.argtypes = _pointer, [_pointer]
    return library


_mpi = _load()
_tags = itertools.count(1)
_comm = ctypes.c_int(0)


class Runtime(orrery.Runtime):
    """The runtime and its ranks, while a with statement lasts: rank, of size. All ranks enter and leave."""

    rank, size = 0, 1

    def __enter__(self):
        super().__enter__()
        status = _mpi.fstarpu_mpi_init_comm(1, 0, 0)
        if status:
            super().__exit__(None, None, None)
            _check(status, "starpu_mpi_init")
        _comm.value = _mpi.fstarpu_mpi_world_comm()
        self.rank, self.size = _mpi.starpu_mpi_world_rank(), _mpi.starpu_mpi_world_size()
        return self

    def _wait(self):
        if _mpi.starpu_mpi_world_rank() >= 0:
            _mpi.fstarpu_mpi_wait_for_all(_comm.value)
        super()._wait()

    def _stop(self):
        if _mpi.starpu_mpi_world_rank() >= 0:
            _mpi.starpu_mpi_shutdown()
        super()._stop()


class Data(orrery.Data):
    """orrery.Data with an owner; made on all ranks in the same order, with buffers of the same size. The owner's is the
    data's; those of others say what they are like."""

    def __init__(self, buffer, owner):
        self.owner = owner
        super().__init__(buffer)
        _mpi.fstarpu_mpi_data_register(self._handle, next(_tags), owner)

    def _home(self):
        return 0 if _mpi.starpu_mpi_world_rank() == self.owner else -1

    def _held(self, mode):
        if self._home() == 0:
            return self.buffer
        return self._view(_library.starpu_data_get_local_ptr(self._handle), mode != "R")

    def split(self, parts):
        raise ValueError("data of several ranks are not cut: make a Data of each piece, with its owner")

    def fetch(self, rank):
        """On all ranks: brings the value to a rank, which may acquire it then."""
        _mpi.fstarpu_mpi_get_data_on_node(_comm.value, self._handle, rank)


def submit(function, *arguments, priority=None, rank=None, **keywords):
    """orrery.submit on all ranks, with the same data in the same order: the owner of the first that is written runs it, or
    that rank. Other arguments count where it runs."""
    number, listed = _list(function, arguments, keywords, priority)
    listed.insert(0, ctypes.pointer(_comm))
    if rank is not None:
        listed += [_constant("FSTARPU_EXECUTE_ON_NODE"), ctypes.pointer(ctypes.c_int(rank))]
    task = _mpi.fstarpu_mpi_task_build(_array(listed))
    status = _library.starpu_task_submit(task) if task else 0
    if not task or status:
        _drop(number)
    _check(status, "starpu_task_submit")
    _check(_mpi.fstarpu_mpi_task_post_build(_array(listed)), "starpu_mpi_task_post_build")
