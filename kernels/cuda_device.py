"""GPUs, and how work gets onto them.

Any number of threads may call the kernels. A call takes a *slot*: a stream of one GPU with memory of its own. Each GPU
has two, so that one computes while the other's results are read; threads beyond them wait. With several GPUs the slots
take turns, so blocks spread over all of them.
"""

import queue
import threading
from contextlib import contextmanager

import numpy as np
from numba import cuda, types

from .cuda_link import SIMULATED, config

_SLOTS = 1 if SIMULATED else 2  # the simulator runs one kernel at a time
_SHARE = 0.3  # of a GPU's free memory that a slot's scratch may take
_SIMULATED_BLOCKS = 2
SHARED = 48 * 1024  # bytes of shared memory that a block may have without asking

config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a small study is no mistake
config.CUDA_WARN_ON_IMPLICIT_COPY = 0


class Kernel:
    """A kernel, compiled at its first launch on each GPU.

    function : Python, of plain arguments
    signature : numba types of the arguments; every launch must match them
    options : of numba.cuda.jit
    """

    def __init__(self, function, signature, **options):
        self.options = options
        options = {} if SIMULATED else {"lto": False, **options}
        self.function, self.types = function, signature
        # Without link-time optimization, PTX is what runs: what is compiled offline (cuda_ptx), and half the time.
        self._dispatcher = cuda.jit(**options)(function)
        self._lock = threading.Lock()

    def blocks(self, threads, shared=0):
        """How many blocks of so many threads and bytes of shared memory the present GPU runs at once."""
        if SIMULATED:
            return _SIMULATED_BLOCKS
        with self._lock:
            compiled = self._dispatcher.compile(self.types)
        return compiled.max_cooperative_grid_blocks(threads, shared)

    def launch(self, slot, blocks, threads, arguments, shared=0):
        """Start the kernel on a slot's stream."""
        if SIMULATED:
            _check(self.types, arguments)
        self._dispatcher[blocks, threads, slot.stream, shared](*arguments)


def _check(signature, arguments):
    """The simulator takes anything; a GPU would compile the kernel once more for other types."""
    for wanted, argument in zip(signature, arguments, strict=True):
        if isinstance(wanted, types.Array):
            shape = wanted.ndim, np.dtype(str(wanted.dtype)), True
            found = argument.ndim, argument.dtype, argument.is_c_contiguous()
        else:
            shape, found = np.dtype(str(wanted)), np.dtype(type(argument))
        if shape != found:
            raise TypeError(f"a kernel takes {wanted}, not {found}")


class Slot:
    """A stream of one GPU and arrays there that are kept from call to call."""

    def __init__(self, gpu):
        self.gpu = gpu
        with cuda.gpus[gpu]:
            self.stream = cuda.stream()
        self._held = {}

    def array(self, name, shape, dtype):
        """An array of that shape (a tuple) on the GPU, contents undefined; the one of that name before is given up."""
        held = self._held.get(name)
        if held is None or held.shape != shape or held.dtype != dtype:
            self._held.pop(name, None)  # before the new one asks for its memory
            held = self._held[name] = cuda.device_array(shape, dtype)
        return held

    def zeros(self, name, shape, dtype):
        """:meth:`array` of zeros."""
        array = self.array(name, shape, dtype)
        array.copy_to_device(np.zeros(shape, dtype), stream=self.stream)
        return array

    def put(self, name, values):
        """A copy of a host array on the GPU."""
        array = self.array(name, values.shape, values.dtype)
        array.copy_to_device(np.ascontiguousarray(values), stream=self.stream)
        return array

    def get(self, array):
        """A copy of an array of the GPU on the host, once all that was launched is done."""
        found = array.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return found

    def room(self, each):
        """How many threads may have ``each`` bytes of scratch."""
        if SIMULATED:
            return 10**6
        held = sum(array.nbytes for array in self._held.values())
        free = cuda.current_context().get_memory_info().free
        return max(32, int((_SHARE * free + held) // max(1, each)))


class _Slots:
    def __init__(self):
        self._lock = threading.Lock()
        self._free = None

    @contextmanager
    def take(self):
        with self._lock:
            if self._free is None:
                self._free = queue.Queue()
                for _ in range(_SLOTS):
                    for gpu in range(len(cuda.gpus)):
                        self._free.put(Slot(gpu))
        slot = self._free.get()
        try:
            with cuda.gpus[slot.gpu]:
                yield slot
        finally:
            self._free.put(slot)


_slots = _Slots()
take = _slots.take


class Held:
    """Read-only arrays of a plan, copied to every GPU that works on it, for as long as the plan lives."""

    def __init__(self, **arrays):
        self._arrays = arrays
        self._copies = {}
        self._lock = threading.Lock()

    def on(self, slot):
        """name -> array on the slot's GPU."""
        with self._lock:
            if slot.gpu not in self._copies:
                self._copies[slot.gpu] = {
                    name: cuda.to_device(np.ascontiguousarray(array)) for name, array in self._arrays.items()
                }
            return self._copies[slot.gpu]
