"""Transform traced functions: split, gradients, tangents, batching.

Each records the transformed program where it is called.
"""

from primsplit.transforms.gradient import value_and_gradient, vector_jacobian

__all__ = ["value_and_gradient", "vector_jacobian"]
