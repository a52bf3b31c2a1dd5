"""Failure-order keys drawn by one thread of a GPU."""

import numpy as np

from .cuda_link import Linker, device
from .philox import PURPOSE_PATTERN, philox

_philox = Linker()(philox)
_WORD1 = np.uint32(PURPOSE_PATTERN << 24)
_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)


@device
def draw(number, k0, k1, trial):
    """The keys of groups 4 number .. 4 number + 3 in a trial (uint64): four uint32. ``k0, k1``: uint32."""
    return _philox(np.uint32(number), _WORD1, np.uint32(trial & _LOW), np.uint32(trial >> _32), k0, k1)


@device
def draw_keys(keys, k0, k1, trial):
    """Fill ``keys`` (uint32[N]) with the failure-order keys of one trial."""
    groups = keys.shape[0]
    for number in range((groups + 3) >> 2):
        g = 4 * number
        for key in draw(number, k0, k1, trial):
            if g < groups:
                keys[g] = key
            g += 1
