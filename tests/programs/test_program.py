"""Programs called on arrays: what fits, what is refused, and whose the results are."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from tests.programs.squares import square, weighed
from tests.threads import in_threads

X, V = np.array([1.0, 2.0]), np.array([1.0, 0.0])


FIXED = ps.trace(weighed, X, V)
NAMED = ps.trace(weighed, ps.spec("float64", ["N"]), ps.spec("float64", ["N"]))

WRONG: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("another dtype", lambda: FIXED(X, V.astype(np.float32)), DtypeError, "y must be float64, not float32"),
    ("integers", lambda: FIXED(X, V.astype(np.int64)), DtypeError, "y must be float64, not int64"),
    ("the other byte order", lambda: FIXED(X, V.astype(">f8")), DtypeError, "y must be float64, not >f8"),
    ("another size", lambda: FIXED(X, np.ones(3)), ShapeError, "y has size 3 at axis 0, not 2"),
    ("another rank", lambda: FIXED(X, np.ones((2, 1))), ShapeError, "y must have 1 axes"),
    ("too few", lambda: FIXED(X), SpecError, "arguments of another structure"),
    ("too many", lambda: FIXED(X, V, V), SpecError, "arguments of another structure"),
    ("a list", lambda: FIXED(X, [1.0, 0.0]), SpecError, "arguments of another structure"),
    ("an unknown name", lambda: FIXED(X, z=V), SpecError, "arguments of another structure"),
    ("sizes that differ", lambda: NAMED(X, np.ones(3)), ShapeError, "y has size 3 at axis 0, not N = 2"),
    ("another dtype of a named size", lambda: NAMED(X, V.astype(np.float32)), DtypeError, "y must be float64"),
    ("another rank of a named size", lambda: NAMED(X, np.float64(2.0)), ShapeError, "y must have 1 axes"),
]


@pytest.mark.parametrize(("call", "error", "told"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_program_that_ran_refuses_what_does_not_fit(call: Any, error: type[Exception], told: str) -> None:
    FIXED(X, V)
    NAMED(X, V)
    with pytest.raises(error) as caught:
        call()
    assert told in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10


ALIKE: list[tuple[str, Any]] = [
    ("strided", np.array([1.0, 9.0, 2.0, 9.0])[::2]),
    ("backwards", np.array([2.0, 1.0])[::-1]),
    ("read only", np.frombuffer(X.tobytes())),
    ("a column", np.array([[1.0, 5.0], [2.0, 6.0]])[:, 0]),
    ("a view of a class of one's own", X.view(type("Own", (np.ndarray,), {}))),
    ("unaligned", np.frombuffer(b"." + X.tobytes(), np.uint8)[1:].view(np.float64)),
]


@pytest.mark.parametrize("array", [a for _, a in ALIKE], ids=[name for name, _ in ALIKE])
def test_arrays_of_any_layout_are_read_alike(array: Any) -> None:
    product = ps.value_grad_and_hvp(square)
    for _ in range(2):
        value, gradient, found = product(array, V)
        assert (float(value), gradient.tolist(), found.tolist()) == (5.0, [2.0, 4.0], [2.0, 0.0])
        assert FIXED(array, V) == 1.0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: (x * 2.0, x),
        lambda x: x.reshape(2, 1),
        lambda x: np.ones(3),
        ps.jacobian(lambda x: x * 3),
    ],
    ids=["itself", "among others", "a view", "a constant", "a Jacobian"],
)
def test_results_belong_to_the_caller(function: Any) -> None:
    """They share no memory with arguments or with other results, and writing to them changes nothing."""
    x = X.copy()
    for call in (ps.trace(function, x), ps.cached(function)):
        call(x)
        first, second = (np.atleast_1d(r)[-1:] if isinstance(r, np.ndarray) else r[-1] for r in (call(x), call(x)))
        assert not np.shares_memory(first, second)
        assert not np.shares_memory(first, x)
        wanted = second.copy()
        first[...] = 77.0
        last = call(x)
        assert np.array_equal(np.atleast_1d(last)[-1:] if isinstance(last, np.ndarray) else last[-1], wanted)
        assert x.tolist() == [1.0, 2.0]


def test_threads_may_call_one_program_at_the_same_time() -> None:
    """Each thread has numbers of its own, and finds only them in what it gets."""
    product = ps.value_grad_and_hvp(lambda x, y: np.sum(x * x * y))
    program = product.program(np.ones(100), np.ones(100), np.ones(100))
    wrong: list[Any] = []
    start = threading.Barrier(8)

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        start.wait()
        kept = []
        for call in [product, program] * 40:
            x, y, v = random.standard_normal((3, 100))
            kept.append((*call(x, y, v)[1:], 2 * x * y, 2 * v * y))
        wrong.extend(k for k in kept if not (np.allclose(k[0], k[2]) and np.allclose(k[1], k[3])))

    in_threads(work, 8)
    assert wrong == []
    assert product.statistics.hits + product.statistics.misses >= 8 * 40


def test_a_call_on_plain_arrays_inside_a_trace_is_recorded() -> None:
    outer = ps.trace(lambda x: x + FIXED(X, V), X)
    assert {step.kind for step in FIXED.block.ops} <= {step.kind for step in outer.block.ops}
    np.testing.assert_allclose(outer(X), X + FIXED(X, V))
