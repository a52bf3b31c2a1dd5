# NumPy arrays for code without the GIL.


cdef size_t address(array, dtype) except 0:
    """Where the elements of a C-contiguous array of that dtype lie."""
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise ValueError(f"an array of {array.dtype} where contiguous {dtype} is read")
    return <size_t>array.ctypes.data
