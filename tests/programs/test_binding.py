"""Arguments of a call bound to a program's inputs."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, SpecError


def f(params: dict[str, Any], x: Any, times: int = 2) -> Any:
    return x @ params["w"] * times


PROGRAM = ps.trace(f, {"w": np.ones(3)}, ps.spec("float32", ["N", 3]), 2)
X = np.ones((2, 3), np.float32)


def test_leaves_of_a_call_are_bound_to_the_inputs_without_static_ones() -> None:
    assert PROGRAM.given_names == ["params.w", "x"]
    assert PROGRAM.leaf_names == ["params.w", "x", None]
    w, x = PROGRAM.bind(({"w": np.zeros(3)}, X, 2), {})
    assert x is X
    np.testing.assert_array_equal(w, np.zeros(3))


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (({"v": np.ones(3)}, X, 2), "arguments of another structure"),
        (({"w": np.ones(3)}, X), "arguments of another structure"),
        (({"w": np.ones(3)}, X, 3), "static argument 2, not 3"),
    ],
)
def test_another_structure_or_static_argument_is_refused(args: tuple[Any, ...], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        PROGRAM.bind(args, {})


def test_arrays_fit_the_types_of_the_inputs_and_tell_the_sizes() -> None:
    sizes: dict[str, int] = {}
    arrays = PROGRAM.check_arrays([np.ones(3), X], sizes)
    assert sizes == {"N": 2}
    assert [a.dtype.name for a in arrays] == ["float64", "float32"]
    number = ps.trace(lambda x: x * 2, ps.spec("float32", []))
    assert number.check_arrays([3])[0].dtype == np.float32


@pytest.mark.parametrize(
    ("leaves", "kind"),
    [([np.ones(2), X], ShapeError), ([np.ones(3), X[0]], ShapeError), ([np.ones(3), X.astype(float)], DtypeError)],
)
def test_arrays_that_do_not_fit_are_refused(leaves: list[Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        PROGRAM.check_arrays(leaves)


def test_sizes_of_one_symbol_are_equal() -> None:
    program = ps.trace(lambda x, y: (x, y), ps.spec("float64", ["N"]), ps.spec("float64", ["N"]))
    program.check_arrays([np.ones(2), np.ones(2)])
    with pytest.raises(ShapeError):
        program.check_arrays([np.ones(2), np.ones(3)])
