"""SciPy functions that cannot be intercepted, since SciPy turns its arguments into NumPy arrays first.

They have SciPy's names and arguments, and work on traced arrays; those of `distance`, `integrate`, `linalg` and
`special` on NumPy arrays alike.
"""

from primsplit.frontends.scipy import distance, fft, integrate, linalg, ndimage, signal, special, stats

__all__ = ["distance", "fft", "integrate", "linalg", "ndimage", "signal", "special", "stats"]
