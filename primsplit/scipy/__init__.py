"""SciPy functions that cannot be intercepted, since SciPy turns its arguments into NumPy arrays first.

They have SciPy's names and arguments, and work on traced arrays; those of `linalg` and `special` on NumPy arrays alike.
"""

from primsplit.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]
