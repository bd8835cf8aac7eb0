"""Checks for rule authors and users: gradients against central differences, exported files against plain NumPy."""

from primsplit.testing.differences import directional_derivative
from primsplit.testing.failures import GradientMismatch
from primsplit.testing.gradients import check_grads

__all__ = ["GradientMismatch", "check_grads", "directional_derivative"]
