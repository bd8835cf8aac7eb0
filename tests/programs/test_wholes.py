"""Complex arrays in and out of programs, which hold two real ones for each."""

from typing import Any

import numpy as np
import pytest

from primsplit.programs.wholes import both, flat_tree, given_parts, pairs_of, stem_of
from primsplit.tracing import trees


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [("z.real", "z.imag", "z"), ("a.z.real", "a.z.imag", "a.z"), ("z.imag", "z.real", None), ("z.real", "w.imag", None),
     ("real", "imag", None)],
)  # fmt: skip
def test_two_names_are_parts_of_one(first: str, second: str, wanted: str | None) -> None:
    assert stem_of(first, second) == wanted


def test_complex_leaves_are_two_arrays_each() -> None:
    found = both([1.0, 2 + 3j, np.array([1j])])
    np.testing.assert_equal(found, [1.0, 2.0, 3.0, np.array([0.0]), np.array([1.0])])


def test_a_structure_knows_the_names_of_both_parts() -> None:
    spec = trees.in_parts(([1.0, 2j],))[1]
    assert pairs_of(spec, ["x", "z.real", "z.imag"]) == [("z.real", "z.imag")]
    tree = flat_tree(["a", "z.real", "z.imag", "z.real"], [("z.real", "z.imag")])
    assert [type(item) is trees.Parts for item in tree] == [False, True, False]


def given(made: Any, names: list[str | None], *args: Any) -> Any:
    return given_parts(trees.in_parts((made, {}))[1], names, (args, {}))


def test_a_complex_argument_may_be_whole_real_or_its_two_inputs() -> None:
    names: list[str | None] = ["z.real", "z.imag", "x"]
    assert given((1j, 2.0), names, 3 + 4j, 5.0) == [3.0, 4.0, 5.0]
    assert given((1j, 2.0), names, 3.0, 4.0, 5.0) == [3.0, 4.0, 5.0]
    real = given((1j, 2.0), names, 3.0, 5.0)
    assert [float(v) for v in real] == [3.0, 0.0, 5.0]
    assert given((1j, 2.0), names, 3.0) is None
    assert given((1.0, 2.0, 5.0), names, 3 + 4j, 5.0) == [3.0, 4.0, 5.0]
    assert given((1.0, 2.0, 5.0), ["a", "b", "x"], 3 + 4j, 5.0) is None
