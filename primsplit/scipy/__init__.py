"""SciPy functions that cannot be intercepted, since SciPy turns its arguments into NumPy arrays first.

They have SciPy's names and arguments, and work on traced arrays and on NumPy arrays alike.
"""

from primsplit.scipy import linalg, special

__all__ = ["linalg", "special"]
