"""The file of tangents or of a Jacobian is compared with central differences."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.programs.export import derive
from primsplit.testing.derived import DerivedCheck

X = np.array([0.5, -1.25, 2.0])
SPEC = ps.spec("float64", [3])


def f(x: Any) -> Any:
    return np.sin(x) * x[::-1]


def by_hand(x: Any) -> Any:
    return np.diag(np.cos(x) * x[::-1]) + np.diag(np.sin(x))[:, ::-1]


def verdicts(derived: Any, scale: float) -> list[str]:
    """The verdicts of a file by hand whose derivative is multiplied by a number."""
    made = ps.split(f, SPEC)
    program = derived.joint() if hasattr(derived, "joint") else derived

    def file(given: dict[str, Any]) -> dict[str, Any]:
        x, *tangents = given.values()
        slope = by_hand(x) if not tangents else by_hand(x) @ tangents[0]
        return dict(zip(program.outputs, [f(x), scale * slope], strict=True))

    return [row.verdict for row in DerivedCheck(derived, made, f, ((X,), {}), file, second=False).rows()]


def test_a_jacobian_is_right_or_wrong() -> None:
    derived = derive(f, SPEC, mode="jacobian")
    assert verdicts(derived, 1.0) == ["ok", "ok"]
    assert verdicts(derived, 1.001) == ["ok", "wrong"]


def test_tangents_are_right_or_wrong() -> None:
    derived = derive(f, SPEC, mode="jvp")
    assert verdicts(derived, 1.0) == ["ok", "ok"]
    assert verdicts(derived, -1.0) == ["ok", "wrong"]
