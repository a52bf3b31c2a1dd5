"""The CPU kernels' functions once more, for a GPU: the same source, other names behind it.

A function of ``kernels`` is plain Python on flat arrays. :class:`Linker` takes its code object and gives it globals of
its own, in which every compiled function is a device function made in the same way, some functions are others (a
vector of sixteen trials becomes one of a thread's own trial) and some constants have other values. Nothing is copied,
nothing of the CPU's functions is changed, and the simulator (``NUMBA_ENABLE_CUDASIM=1``) runs the same functions
interpreted.
"""

import types

import numba
from numba import cuda

try:
    from numba.cuda.core import config
except ImportError:  # numba's own numba.cuda, older than the package numba-cuda: its simulator does as well
    from numba.core import config

SIMULATED = bool(config.ENABLE_CUDASIM)
_HOME = __name__.rpartition(".")[0]  # the package of the kernels

if SIMULATED:

    def device(function):
        """``function`` as a device function; one that uses ``cuda`` needs it in the simulator too."""
        return cuda.jit(device=True)(function)

    def _linked(function, apart):
        return function

else:
    from numba.cuda.extending import intrinsic

    def device(function):
        """``function`` as a device function, inlined."""
        return cuda.jit(device=True, forceinline=True)(function)

    @intrinsic
    def _noinline(typingctx):
        def generate(context, builder, sig, args):
            builder.function.attributes.add("noinline")
            return context.get_dummy_value()

        return numba.types.void(), generate

    def _linked(function, apart):
        compiled = cuda.jit(device=True)(function)
        if not apart:
            return compiled

        # NVVM inlines whatever it can: a training run would be one function that takes a minute to compile.
        def call(*args):
            _noinline()
            return compiled(*args)

        return cuda.jit(device=True)(call)


def _names(code):
    """Global names (and attributes) that a code object and those within it use."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


class Linker:
    """Makes device functions of the CPU kernels' functions.

    swapped : pairs (object, other), the other stands wherever a function names the object
    constants : name -> value, in every function that has a global of that name
    apart : whether to keep functions apart that are not inlined on the CPU either
    """

    def __init__(self, swapped=(), constants=None, apart=False):
        self._swapped = {id(old): (old, new) for old, new in swapped}
        self._constants = dict(constants or {})
        self._apart = apart
        self._made = {}

    def __call__(self, function):
        """The device function of a function of ``kernels``, compiled there or not."""
        plain = getattr(function, "py_func", function)
        if plain not in self._made:
            hot = getattr(function, "targetoptions", {}).get("inline") == "always"
            self._made[plain] = _linked(self._twin(plain), self._apart and not hot)
        return self._made[plain]

    def _twin(self, plain):
        names = _names(plain.__code__)
        space = {"__builtins__": __builtins__, "__name__": plain.__module__}
        for name in names & plain.__globals__.keys():
            space[name] = self._constants.get(name, self._value(plain.__globals__[name], names))
        twin = types.FunctionType(
            plain.__code__, space, plain.__name__, plain.__defaults__, plain.__closure__
        )
        twin.__qualname__, twin.__module__ = plain.__qualname__, plain.__module__
        return twin

    def _value(self, value, names):
        if id(value) in self._swapped:
            return self._swapped[id(value)][1]
        if isinstance(value, types.ModuleType) and value.__name__.startswith(_HOME + "."):
            module = types.ModuleType(value.__name__)
            for name in names & vars(value).keys():
                setattr(module, name, self._value(vars(value)[name], names))
            return module
        ours = isinstance(value, types.FunctionType) and value.__module__.startswith(_HOME + ".")
        return self(value) if ours or hasattr(value, "py_func") else value
