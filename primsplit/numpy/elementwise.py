"""Imports the elementwise functions of NumPy, one family per file, and registers the ufuncs that are refused."""

from typing import Any

from primsplit import tracing
from primsplit.ir.errors import UnsupportedFunction
from primsplit.ir.families import import_families
from primsplit.numpy.ufuncs import ELEMENTWISE

families = import_families(
    "primsplit.numpy",
    "arithmetic", "bits", "comparison", "divisors", "exponential", "neighbours", "rounding", "selection",
    "transformations", "trigonometric",
)  # fmt: skip

REFUSED = {"isnat": "there are no dates here"}
"""Ufuncs without a traced form, and why."""


def _refuse(name: str, because: str) -> None:
    def refused(*_: Any) -> Any:
        raise UnsupportedFunction(
            f"np.{name} has no form for traced arrays: {because}",
            place=tracing.user_place(),
            cure="Compute it outside of the traced function and pass the result in.",
        )

    ELEMENTWISE[name] = refused


for _name, _because in REFUSED.items():
    _refuse(_name, _because)
