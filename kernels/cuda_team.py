"""What the threads of a block find together: the least of their values, sums.

Threads of a warp exchange registers, which the simulator cannot do: there an atomic operation on shared memory takes
their place.
"""

import numpy as np
from numba import cuda

from .cuda_link import SIMULATED, device

PART = 34  # int64 elements of shared memory that these functions need
_LEAST, _TOTAL = 32, 33
_HALF = np.uint32(0x80000000)
_TOP64 = np.int64(2**63 - 1)


@device
def least64(value, part):
    """The least of the threads' values (int64); slow. ``part``: shared int64[PART]."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        part[_LEAST] = _TOP64
    cuda.syncthreads()
    cuda.atomic.min(part, _LEAST, value)
    cuda.syncthreads()
    return part[_LEAST]


@device
def total64(value, part):
    """The sum of the threads' values (int64); slow."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        part[_TOTAL] = np.int64(0)
    cuda.syncthreads()
    cuda.atomic.add(part, _TOTAL, value)
    cuda.syncthreads()
    return part[_TOTAL]


if SIMULATED:

    @device
    def least(value, part):
        """The least of the threads' values (uint32). ``part``: shared int64[PART]."""
        return np.uint32(least64(np.int64(value), part))

    @device
    def total(value, part):
        """The sum of the threads' values (int32)."""
        return np.int32(total64(np.int64(value), part))

else:
    # Blocks are whole warps.

    @device
    def least(value, part):
        """The least of the threads' values (uint32). ``part``: shared int64[PART]."""
        x = np.int32(np.uint32(value) ^ _HALF)  # in the order of signed numbers
        x = min(x, cuda.shfl_xor_sync(0xFFFFFFFF, x, 16))
        x = min(x, cuda.shfl_xor_sync(0xFFFFFFFF, x, 8))
        x = min(x, cuda.shfl_xor_sync(0xFFFFFFFF, x, 4))
        x = min(x, cuda.shfl_xor_sync(0xFFFFFFFF, x, 2))
        x = min(x, cuda.shfl_xor_sync(0xFFFFFFFF, x, 1))
        if cuda.blockDim.x > 32:
            cuda.syncthreads()
            if cuda.threadIdx.x & 31 == 0:
                part[cuda.threadIdx.x >> 5] = np.int64(x)
            cuda.syncthreads()
            for warp in range(cuda.blockDim.x >> 5):
                x = min(x, np.int32(part[warp]))
        return np.uint32(np.uint32(x) ^ _HALF)

    @device
    def total(value, part):
        """The sum of the threads' values (int32)."""
        x = np.int32(value)
        x = np.int32(x + cuda.shfl_xor_sync(0xFFFFFFFF, x, 16))
        x = np.int32(x + cuda.shfl_xor_sync(0xFFFFFFFF, x, 8))
        x = np.int32(x + cuda.shfl_xor_sync(0xFFFFFFFF, x, 4))
        x = np.int32(x + cuda.shfl_xor_sync(0xFFFFFFFF, x, 2))
        x = np.int32(x + cuda.shfl_xor_sync(0xFFFFFFFF, x, 1))
        if cuda.blockDim.x > 32:
            cuda.syncthreads()
            if cuda.threadIdx.x & 31 == 0:
                part[cuda.threadIdx.x >> 5] = np.int64(x)
            cuda.syncthreads()
            x = np.int32(0)
            for warp in range(cuda.blockDim.x >> 5):
                x = np.int32(x + np.int32(part[warp]))
        return x
