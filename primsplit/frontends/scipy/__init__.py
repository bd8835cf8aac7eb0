"""Implements functions of SciPy that cannot be intercepted, because SciPy turns arguments into NumPy arrays first.

They have SciPy's names and arguments and accept traced arrays; those of `distance`, `integrate`, `linalg` and `special`
also accept NumPy arrays.
"""

from primsplit.frontends.scipy import distance, fft, integrate, linalg, ndimage, signal, special, stats

__all__ = ["distance", "fft", "integrate", "linalg", "ndimage", "signal", "special", "stats"]
