"""Ask the processor for a cache line that will be read soon."""

from numba.core.config import DISABLE_JIT

if DISABLE_JIT:

    def fetch_ahead(array, index):
        """Nothing, when interpreted."""

else:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    @intrinsic
    def fetch_ahead(typingctx, array, index):
        """Fetch the line of an array's element (the first of its row, where it has rows), without waiting for it."""

        def generate(context, builder, signature, args):
            kind = signature.args[0]
            view = context.make_array(kind)(context, builder, args[0])
            stride = cgutils.unpack_tuple(builder, view.strides, kind.ndim)[0]
            offset = builder.mul(context.cast(builder, args[1], signature.args[1], types.intp), stride)
            byte = builder.gep(builder.bitcast(view.data, cgutils.voidptr_t), [offset])
            one = ir.IntType(32)
            wanted = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, one, one, one])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], wanted)
            builder.call(fetch, [byte, one(0), one(3), one(1)])  # to read, into all caches, data
            return context.get_dummy_value()

        return types.void(array, index), generate
