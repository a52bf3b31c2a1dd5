"""Layouts for the tests of the reordering controller: every family, short blocks, the smallest."""

from spare_mc.layouts import Layout

LAYOUTS = {
    "golomb 31/5": Layout.golomb(31, 5),
    "golomb 13/4, perfect": Layout.golomb(13, 4),
    "contiguous 20/4": Layout.contiguous(20, 4),
    "partition 17/4, short block": Layout.partition(17, 4),
    "partition 9/4, block of one": Layout.partition(9, 4),
    "random 24/3": Layout.random(24, 3, seed=5),
    "random 12/6": Layout.random(12, 6, seed=1),
    "custom 15/4": Layout.custom(15, (0, 4, 5, 11)),
    "everything everywhere": Layout.contiguous(6, 6),
    "no redundancy": Layout.contiguous(5, 1),
    "two groups": Layout.contiguous(2, 2),
}
