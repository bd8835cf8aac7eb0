"""Checks for rule authors and users: rules and gradients against central differences, files against plain NumPy."""

from primsplit.testing.differences import directional_derivative
from primsplit.testing.failures import CheckFailed, GradientMismatch
from primsplit.testing.files import check_model
from primsplit.testing.gradients import check_grads
from primsplit.testing.job import Report
from primsplit.testing.reference import evaluate, play
from primsplit.testing.rewrites import check_rewrite
from primsplit.testing.rrule import check_rrule

__all__ = [
    "CheckFailed",
    "GradientMismatch",
    "Report",
    "check_grads",
    "check_model",
    "check_rewrite",
    "check_rrule",
    "directional_derivative",
    "evaluate",
    "play",
]
