"""The verdicts of a file: its values against plain NumPy, its gradients against central differences."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError
from primsplit.testing.lines import Line
from primsplit.testing.verdicts import FileCheck, Row, difference_row, epsilon, in_float64, told_type

X = np.array([0.5, -1.25, 2.0])
Outputs = dict[str, Any]


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


MADE = ps.split(loss, ps.spec("float64", ["N"]))


def verdicts(change: Callable[[Outputs], Outputs]) -> dict[str, str]:
    """The verdicts of a file by hand, whose outputs are changed."""

    def file(given: Outputs) -> Outputs:
        x = given["x"]
        slope = (np.cos(x) * x + np.sin(x)) * given.get(MADE.cotangent_names[0] if MADE.cotangent_names else "", 1.0)
        return change({MADE.program.outputs[0]: np.asarray(loss(x)), MADE.gradient_names[0]: slope})

    return {row.name: row.verdict for row in FileCheck(MADE, loss, ((X,), {}), file).rows()}


def test_what_is_right_is_ok_and_what_is_off_is_wrong_where_it_is() -> None:
    right = verdicts(lambda outputs: outputs)
    assert set(right.values()) == {"ok"}
    value, gradient = right
    assert gradient == "d_x"
    assert verdicts(lambda o: {**o, value: o[value] + 1e-3}) == {value: "wrong", gradient: "ok"}
    assert verdicts(lambda o: {**o, gradient: -o[gradient]}) == {value: "ok", gradient: "wrong"}
    assert verdicts(lambda o: {**o, gradient: o[gradient] * [1, 1, 1.001]}) == {value: "ok", gradient: "wrong"}
    assert verdicts(lambda o: {**o, gradient: o[gradient][:2]}) == {value: "ok", gradient: "wrong"}


def test_an_output_that_a_file_does_not_give_is_told() -> None:
    with pytest.raises(SpecError, match="does not give d_x"):
        verdicts(lambda outputs: {k: v for k, v in outputs.items() if k != "d_x"})


def test_the_worst_line_decides_with_the_largest_error_of_its_verdict() -> None:
    lines = [Line(0.5, "ok"), Line(0.1, "unclear", "steep"), Line(0.2, "unclear"), Line(0.0, "ok")]
    row = difference_row("d_x", X, lines)
    assert (row.verdict, row.error, row.note, row.type) == ("unclear", 0.2, "steep", "float64[3]")
    assert difference_row("d_x", X, [*lines, Line(0.3, "wrong", "sign")]).verdict == "wrong"
    assert difference_row("d_x", X, lines[:1]).error == 0.5


def test_an_infinite_error_is_none_in_json() -> None:
    assert Row("y", "float64[]", "plain NumPy", np.inf, "wrong").as_dict()["error"] is None
    assert Row("y", "float64[]", "plain NumPy", 0.25, "ok").as_dict()["error"] == 0.25


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", ml_dtypes.bfloat16])
def test_a_dtype_has_its_epsilon_and_is_widened_and_integers_stay(dtype: Any) -> None:
    one = np.ones(2, dtype)
    step = epsilon(one)
    assert (one + np.array(step, dtype) != one).all()
    assert (one + np.array(step / 4, dtype) == one).all()
    assert in_float64(one).dtype == np.float64
    assert in_float64(np.arange(2, dtype=np.int32)).dtype == np.int32
    assert told_type(np.zeros((0, 2), np.int32)) == "int32[0,2]"


def test_a_result_of_whole_numbers_is_right_if_all_are() -> None:
    made = ps.split(lambda x: (np.sum(x**2), np.argsort(x)), X, of=0)
    value, places = made.program.outputs

    def verdict(order: list[int]) -> str:
        def file(given: Outputs) -> Outputs:
            x, seeds = given["x"], [given[name] for name in made.cotangent_names]
            slope = 2 * x * (seeds[0] if seeds else 1.0)
            return {value: np.asarray(np.sum(x**2)), places: np.array(order), made.gradient_names[0]: slope}

        rows = FileCheck(made, lambda x: (np.sum(x**2), np.argsort(x)), ((X,), {}), file).rows()
        return next(row.verdict for row in rows if row.name == places)

    assert verdict([1, 0, 2]) == "ok"
    assert verdict([0, 1, 2]) == "wrong"
