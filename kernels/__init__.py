"""The hot loops. Imported as ``spare_mc.kernels``; imports nothing of ``spare_mc``.

Arrays in, arrays out: no objects, no files, no printing. Every Numba kernel has a plain-Python twin in
``reference`` that it must match to the bit.
"""
