"""Sequences and optional values at the ends of a model are lists, and tensors with names of their own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError
from tests.onnx.sequence_rows import drawn
from tests.onnx.sequences.subjects import ENDS, saved


def test_sequences_at_the_ends_are_lists_of_any_sizes(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, ENDS), lengths={"x": 2})
    assert program.inputs == ("x.0", "x.1", "o")
    assert program.outputs == ("s.0", "s.1", "p", "q")
    x = [drawn(2), drawn(5)]
    s, p, q = program(x, drawn(2))
    np.testing.assert_allclose(s[0], np.sin(x[0]))
    np.testing.assert_allclose(s[1], np.sin(x[1]))
    np.testing.assert_array_equal(p, drawn(2))
    np.testing.assert_array_equal(q, [1, 2])


def test_an_optional_input_that_is_not_given_is_none_in_and_out(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, ENDS), lengths={"x": 0}, given={"o": False})
    assert program.inputs == ()
    s, p, _ = program([], None)
    assert (s, p) == ([], None)


SPREAD = """m (double[N, 2] x, int64 size) => (seq(double[2]) rows, seq(double[K, 2]) pieces) {
    rows = SplitToSequence <keepdims = 0> (x)
    pieces = SplitToSequence (x, size)
}"""


def test_sequences_of_a_length_that_the_run_knows_come_out_as_a_stack_or_as_elements_in_a_row(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, SPREAD))
    assert program.outputs == ("rows", "pieces.elements", "pieces.shapes")
    x = drawn(5, 2)
    rows, pieces = program(x, np.array(2))
    np.testing.assert_array_equal(rows, x)
    np.testing.assert_array_equal(pieces["elements"], x.reshape(-1))
    np.testing.assert_array_equal(pieces["shapes"], [[2, 2], [2, 2], [1, 2]])


def test_a_traced_function_calls_a_model_with_a_list(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, ENDS), lengths={"x": 2})
    x, o = [drawn(2), drawn(3)], drawn(2)

    def f(x: Any, o: Any) -> Any:
        s, p, _ = program(x, o)
        return np.sum(s[0]) * np.sum(s[1]) + np.sum(p)

    dx = ps.grad(f)(x, o)
    np.testing.assert_allclose(dx[0], np.cos(x[0]) * np.sum(np.sin(x[1])))
    np.testing.assert_allclose(dx[1], np.cos(x[1]) * np.sum(np.sin(x[0])))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"lengths": {"o": 1}}, "no input o that is a sequence"),
        ({"lengths": {"x": -1}}, "cannot have -1"),
        ({"given": {"x": True}}, "no input x that is an optional"),
    ],
)
def test_what_is_said_of_inputs_must_fit_them(more: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=told):
        ps.load(saved(tmp_path, ENDS), **more)
