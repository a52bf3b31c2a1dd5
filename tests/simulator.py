"""Numba's CUDA simulator with its threads kept apart; imported where it is in use.

It runs the threads of a block as threads of Python. Two things go wrong when these take turns at a bad moment:

- While one is in a device function, a stand-in takes the place of ``cuda`` in the globals of that function's module. Of
  several threads there the first to leave puts the real one back, which the others fall over. Here the stand-ins stay
  until the kernel ends.
- Two threads that ask for the same shared array for the first time both make one, and then share nothing. Here one
  after the other asks.
"""

import sys
import threading
from contextlib import contextmanager

import numpy as np
from numba import cuda
from numba.core import types
from numba.cuda.simulator import kernel, kernelapi
from numba.np import numpy_support

# threads that wait for each other all the time are switched between as often
sys.setswitchinterval(1e-5)

_taken = []  # (globals, name) where a stand-in is
_one = threading.Lock()


@contextmanager
def _stand_in(function, module):
    found = function.__globals__
    for name in [name for name, value in list(found.items()) if value is cuda]:
        _taken.append((found, name))
        found[name] = module
    try:
        yield
    finally:
        if not isinstance(threading.current_thread(), kernel.BlockThread):  # the launch itself
            while _taken:
                where, name = _taken.pop()
                where[name] = cuda


_of_any_size = kernelapi.FakeCUDAShared.array


def _shared(self, shape, dtype):
    if shape == 0:  # dynamic: there from the start
        return _of_any_size(self, shape, dtype)
    asking = sys._getframe(1)
    place = asking.f_code.co_filename, asking.f_lineno
    with _one:
        if place not in self._allocations:
            kind = numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
            self._allocations[place] = np.empty(shape, kind)
        return self._allocations[place]


kernel.swapped_cuda_module = _stand_in
kernelapi.FakeCUDAShared.array = _shared
