"""Keep a compiled function apart from its callers.

LLVM inlines whatever is called in one place only, so that a driver of many parts is optimised as one huge function, and
every level of calls compiles the parts below it again.
"""

from numba.core.config import DISABLE_JIT

if DISABLE_JIT:

    def apart():
        """Nothing, when interpreted."""

else:
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def apart(typingctx):
        """Called first in a compiled function: it is never inlined by LLVM."""

        def generate(context, builder, signature, args):
            builder.function.attributes.add("noinline")
            return context.get_dummy_value()

        return types.void(), generate
