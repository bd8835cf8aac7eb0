"""Calls that were prepared: what a short way to onnxruntime must not lose."""

import threading
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from tests.programs.squares import square, weighed

X, V = np.array([1.0, 2.0]), np.array([1.0, 0.0])


FIXED = ps.trace(weighed, X, V)


TOLD: list[tuple[Any, str]] = [
    (FIXED, "Program weighed(x: float64[2], y: float64[2])"),
    (ps.grad(square), "Compiled gradient_of(square)"),
    (ps.cached(square), "Cached square"),
    (ps.guarded(square), "Guarded square"),
    (ps.primitive(square), "Primitive square"),
    (ps.split(weighed, X, V, wrt="y"), "SplitProgram weighed wrt y"),
]


@pytest.mark.parametrize(("made", "told"), TOLD, ids=[told for _, told in TOLD])
def test_what_primsplit_makes_says_what_it_is(made: Any, told: str) -> None:
    assert repr(made) == told


def test_a_matrix_or_masked_array_is_refused_by_what_was_called_on_arrays() -> None:
    gradient = ps.grad(square)
    gradient(np.ones((2, 2)))
    for array in (np.asmatrix(np.ones((2, 2))), np.ma.masked_array(np.ones((2, 2)), mask=np.eye(2))):
        with pytest.raises(DtypeError, match="cannot be part of a program"):
            gradient(array)


def test_a_spec_is_no_argument_after_an_array_of_its_type() -> None:
    gradient = ps.grad(square)
    gradient(X)
    with pytest.raises(DtypeError):
        gradient(ps.spec("float64", [2]))


def test_numbers_and_arrays_of_one_type_find_their_own_programs() -> None:
    double = ps.cached(lambda x, n: x * n)
    for _ in range(2):
        assert double(np.float32(2.0), 3.0).dtype == np.float32
        assert double(np.array(2.0, np.float32), np.array(3.0)).dtype == np.float64
        assert double(np.float32(2.0), np.float64(3.0)).dtype == np.float64


def test_a_number_takes_the_dtype_of_the_input_it_is_given_for_at_every_call() -> None:
    program = ps.trace(lambda x, n: x * 3.0 * n, ps.spec("float32"), ps.spec("int32"))
    for _ in range(3):
        value, pullback = ps.vjp(program, 2.0, 5, wrt=0)
        assert float(value) == 30.0
        assert float(pullback(1.0)) == 15.0


def test_a_change_of_what_the_function_reads_is_seen_by_every_thread() -> None:
    held = {"scale": 1.0}
    gradient = ps.grad(lambda x: np.sum(x) * held["scale"])
    wrong: list[Any] = []
    turn = threading.Barrier(4)

    def work(first: bool) -> None:
        for scale in (1.0, 2.0, 3.0, 2.0):
            turn.wait()
            if first:
                held["scale"] = scale
            turn.wait()
            wrong.extend(g for g in (gradient(X) for _ in range(20)) if g.tolist() != [scale, scale])

    threads = [threading.Thread(target=work, args=(i == 0,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert gradient.statistics.misses == 3


def test_programs_are_forgotten_beyond_a_number_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("primsplit.programs.compiled.CACHE_SIZE", 3)
    gradient = ps.grad(lambda x: np.sum(x * x))
    for n in (1, 2, 3, 4, 5, 1):
        for _ in range(2):
            assert gradient(np.ones(n)).tolist() == [2.0] * n
    assert len(gradient.programs) == 3
    assert gradient.known is not None
    assert len(gradient.known.programs) <= 3
    assert gradient.statistics.misses == 6


def test_a_linear_function_called_again_and_again_refuses_what_does_not_fit() -> None:
    _, linear = ps.linearize(lambda x, y: np.sin(x) * y, X, V)
    for _ in range(2):
        np.testing.assert_allclose(linear(V, X), np.cos(X) * V * V + np.sin(X) * X)
        np.testing.assert_allclose(linear(None, X), np.sin(X) * X)
    for wrong, error in (((V,), SpecError), ((V, np.ones(3)), ShapeError), ((V, X.astype("f4")), DtypeError)):
        with pytest.raises(error):
            linear(*wrong)


def test_a_linear_function_becomes_part_of_what_is_traced() -> None:
    _, linear = ps.linearize(lambda x, y, n: np.sin(x) * y + n, X, V, 2)
    rows = ps.vmap(lambda t: linear(t, None, None))(np.eye(X.size))
    np.testing.assert_allclose(rows, np.diag(np.cos(X) * V))
    squares = ps.grad(lambda t: np.sum(linear(t, V, None) ** 2))
    np.testing.assert_allclose(squares(X), 2 * (np.cos(X) * V * X + np.sin(X) * V) * np.cos(X) * V)
    with pytest.raises(ShapeError):
        ps.vmap(lambda t: linear(t, None, None))(np.eye(X.size + 1))


def test_a_linear_function_of_a_list_takes_a_list() -> None:
    _, linear = ps.linearize(lambda xs, ys: xs[0] * xs[1], [X, V], [])
    np.testing.assert_allclose(linear([V, V], []), V * V + X * V)
    with pytest.raises(SpecError):
        linear(V, V)


def test_what_primsplit_makes_takes_the_functions_name_and_leaves_the_function_as_it_is() -> None:
    def cubed(x: Any) -> Any:
        """Sum the cubes."""
        return np.sum(x**3)

    before = dict(vars(cubed))
    made = ps.grad(cubed)
    assert (made.__name__, made.__doc__, made.__wrapped__) == ("cubed", "Sum the cubes.", cubed)
    assert vars(cubed) == before
    assert cubed.__name__ == "cubed"
