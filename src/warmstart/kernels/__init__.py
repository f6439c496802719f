"""Arrays in, arrays out: the loops that no library does well. The only room with Numba."""
