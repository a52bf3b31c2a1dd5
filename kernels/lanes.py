"""Short vectors as values inside Numba kernels: 16 lanes of uint16, or 4 lanes of uint64 (256 bits both).

LLVM vectorises the hot loops of survival only by luck: NumPy arrays carry no promise that they do not overlap, and
the checks it would need cost more than the loops. Here a vector is an ordinary value that lives in a register, and
``load``, ``^``, ``umax``... are one instruction each; on a CPU with other vector widths LLVM splits or pairs them.
With ``NUMBA_DISABLE_JIT=1`` the same names are NumPy functions on arrays of 16 or 4 elements.

Lane order in memory is index order. Vectors of both kinds can be stored to, and loaded from, any unsigned array:
a uint64 store into a uint16 array fills 16 elements, least significant first (little-endian machines).
"""

import operator

import numpy as np
from numba.core import config

if config.DISABLE_JIT:

    def load16(array, start):
        """16 uint16 lanes from ``array`` (uint16, 1-D), starting at element ``start``."""
        return array[start : start + 16].copy()

    def load64(array, start):
        """4 uint64 lanes from ``array`` (uint64, 1-D), starting at element ``start``."""
        return array[start : start + 4].copy()

    def store(array, start, vector):
        """Write the 32 bytes of ``vector`` to ``array`` (1-D, unsigned), starting at element ``start``."""
        piece = vector.view(array.dtype)
        array[start : start + piece.size] = piece

    def splat16(value):
        """16 lanes of the same numpy.uint16."""
        return np.full(16, value, np.uint16)

    def splat64(value):
        """4 lanes of the same numpy.uint64."""
        return np.full(4, value, np.uint64)

    umax = np.maximum
    umin = np.minimum

    def tally_below(tally, values, bound):
        """``tally`` with one added in each lane where ``values < bound`` (uint16 lanes; wraps at 65,536)."""
        return tally + (values < bound).astype(np.uint16)

    def tally_equal(tally, values, bound):
        """``tally`` with one added in each lane where ``values == bound``."""
        return tally + (values == bound).astype(np.uint16)

    def _mask(flags):
        return np.uint16(np.packbits(flags, bitorder="little").view("<u2")[0])

    def mask_below(values, bound):
        """numpy.uint16 whose bit i says whether lane i has ``values < bound``."""
        return _mask(values < bound)

    def mask_equal(values, bound):
        """numpy.uint16 whose bit i says whether lane i has ``values == bound``."""
        return _mask(values == bound)

    def weave_low(a, b):
        """uint64 lanes a0 b0 a1 b1."""
        return np.array([a[0], b[0], a[1], b[1]])

    def weave_high(a, b):
        """uint64 lanes a2 b2 a3 b3."""
        return np.array([a[2], b[2], a[3], b[3]])

else:
    from llvmlite import ir
    from numba.core import types
    from numba.core.datamodel import models
    from numba.core.typing.templates import AbstractTemplate, infer_global, signature
    from numba.extending import intrinsic, lower_builtin, register_model
    from numba.np.arrayobj import make_array

    class Lanes(types.Type):
        """Numba type of a vector of ``count`` unsigned integers of ``bits`` bits."""

        def __init__(self, count, bits):
            self.count, self.bits = count, bits
            super().__init__(name=f"lanes({count} x uint{bits})")

    _U16 = Lanes(16, 16)
    _U64 = Lanes(4, 64)
    _I32 = ir.IntType(32)

    def _vector(lanes):
        return ir.VectorType(ir.IntType(lanes.bits), lanes.count)

    @register_model(Lanes)
    class _LanesModel(models.PrimitiveModel):
        def __init__(self, manager, lanes):
            super().__init__(manager, lanes, _vector(lanes))

    def _operator(function, instruction):
        class Template(AbstractTemplate):
            def generic(self, args, kws):
                if len(args) == 2 and isinstance(args[0], Lanes) and args[0] == args[1]:
                    return signature(args[0], *args)

        @lower_builtin(function, Lanes, Lanes)
        def lower(context, builder, sig, args):
            return getattr(builder, instruction)(*args)

        infer_global(function)(Template)

    for _function, _instruction in (
        (operator.xor, "xor"),
        (operator.and_, "and_"),
        (operator.or_, "or_"),
        (operator.mul, "mul"),
        (operator.add, "add"),
        (operator.rshift, "lshr"),
        (operator.lshift, "shl"),
    ):
        _operator(_function, _instruction)

    def _pointer(context, builder, array_type, array, start, lanes):
        data = make_array(array_type)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [start]), _vector(lanes).as_pointer())

    def _make_load(lanes):
        @intrinsic
        def load(typingctx, array, start):
            def generate(context, builder, sig, args):
                pointer = _pointer(context, builder, sig.args[0], *args, lanes)
                return builder.load(pointer, align=lanes.bits // 8)

            return lanes(array, types.intp), generate

        return load

    @intrinsic
    def store(typingctx, array, start, vector):
        def generate(context, builder, sig, args):
            pointer = _pointer(context, builder, sig.args[0], *args[:2], vector)
            builder.store(args[2], pointer, align=array.dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(array, types.intp, vector), generate

    def _make_splat(lanes):
        @intrinsic
        def splat(typingctx, value):
            def generate(context, builder, sig, args):
                blank = ir.Constant(_vector(lanes), ir.Undefined)
                first = builder.insert_element(blank, args[0], ir.Constant(_I32, 0))
                zeros = ir.Constant(ir.VectorType(_I32, lanes.count), [0] * lanes.count)
                return builder.shuffle_vector(first, blank, zeros)

            return lanes(getattr(types, f"uint{lanes.bits}")), generate

        return splat

    def _make_pick(comparison):
        @intrinsic
        def pick(typingctx, a, b):
            def generate(context, builder, sig, args):
                return builder.select(builder.icmp_unsigned(comparison, *args), *args)

            return _U16(_U16, _U16), generate

        return pick

    def _make_tally(comparison):
        @intrinsic
        def tally(typingctx, tally, values, bound):
            def generate(context, builder, sig, args):
                true = builder.icmp_unsigned(comparison, args[1], args[2])
                return builder.sub(args[0], builder.sext(true, _vector(_U16)))

            return _U16(_U16, _U16, _U16), generate

        return tally

    def _make_mask(comparison):
        @intrinsic
        def mask(typingctx, values, bound):
            def generate(context, builder, sig, args):
                return builder.bitcast(builder.icmp_unsigned(comparison, *args), ir.IntType(16))

            return types.uint16(_U16, _U16), generate

        return mask

    def _make_weave(order):
        @intrinsic
        def weave(typingctx, a, b):
            def generate(context, builder, sig, args):
                return builder.shuffle_vector(*args, ir.Constant(ir.VectorType(_I32, 4), order))

            return _U64(_U64, _U64), generate

        return weave

    load16, load64 = _make_load(_U16), _make_load(_U64)
    splat16, splat64 = _make_splat(_U16), _make_splat(_U64)
    umax, umin = _make_pick(">"), _make_pick("<")
    tally_below, tally_equal = _make_tally("<"), _make_tally("==")
    mask_below, mask_equal = _make_mask("<"), _make_mask("==")
    weave_low, weave_high = _make_weave([0, 4, 1, 5]), _make_weave([2, 6, 3, 7])
