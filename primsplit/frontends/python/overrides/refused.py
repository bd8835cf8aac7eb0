"""Refuses functions of SciPy whose steps depend on values, and suggests what to write instead."""

import sys
from collections.abc import Callable
from typing import Any

from primsplit import tracing
from primsplit.frontends.python.overrides.table import Substitute, register
from primsplit.frontends.scipy.overrides.solving import is_asked
from primsplit.ir.errors import ConcretizationError, UnsupportedFunction

STEPS = "how many steps it takes, and where, depends on the values"
_RULE = "compute it outside of the function, or give it a rule: @ps.primitive and @ps.rrule."
CURES = {
    "integral": "Sum over fixed points, np.polynomial.legendre.leggauss say; " + _RULE,
    "equation": "Write the steps with ps.fori_loop or ps.scan, Runge-Kutta's say; " + _RULE,
    "solution": "Write the steps with ps.while_loop, Newton's say; " + _RULE,
}
REFUSED: dict[str, dict[str, tuple[str, ...]]] = {
    "scipy.integrate": {
        "integral": ("cubature", "tanhsinh"),
        "equation": ("solve_bvp",),
    },
    "scipy.optimize": {
        "solution": (
            "basinhopping", "bracket", "differential_evolution", "dual_annealing", "linprog", "milp",
            "shgo",
        ),
    },
}  # fmt: skip


def _refusing(name: str, original: Callable[..., Any], cure: str) -> Callable[..., Any]:
    """Return the function with an error that states why it needs the number of a traced value."""

    def call(*args: Any, **options: Any) -> Any:
        try:
            return original(*args, **options)
        except (ConcretizationError, ValueError, TypeError) as error:
            if not is_asked(error):
                raise
            raise UnsupportedFunction(
                f"{name} has no form for traced arrays: {STEPS}", place=tracing.user_place(), cure=cure
            ) from None

    return call


def register_refused(module: str) -> None:
    """Register errors for the functions of a loaded module that have no form for traced arrays."""
    for kind, names in REFUSED.get(module, {}).items():
        for name in names:
            original = getattr(sys.modules[module], name, None)
            if original is not None:
                register(original, Substitute(original, _refusing(f"{module}.{name}", original, CURES[kind])))
