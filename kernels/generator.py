"""The name of the generator that results files store; here, as reading it must not load Numba."""

GENERATOR = "philox4x32-10"
GENERATOR_VERSION = 1  # raised when the meaning of a counter word or a conversion changes
