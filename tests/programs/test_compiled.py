"""Calls that were prepared: what a short way to onnxruntime must not lose."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from tests.threads import in_threads

X, V = np.array([1.0, 2.0]), np.array([1.0, 0.0])


def square(x: Any) -> Any:
    return np.sum(x * x)


def weighed(x: Any, y: Any) -> Any:
    return np.sum(x * x * y)


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


def product_and_power(x: Any, y: Any) -> Any:
    return np.exp(x) * y, np.exp(y)


@pytest.mark.parametrize("size", [2, 100_000])
def test_what_is_made_at_a_point_stays_when_its_arrays_are_written_to(size: int) -> None:
    """As a step of gradient descent does, `x -= rate * gradient`; the value may be written to as well."""
    x, y, ones = np.linspace(0.5, 1.0, size), np.linspace(1.0, 2.0, size), np.ones(size)
    slopes = np.exp(x) * y, np.exp(x), np.exp(y)
    for make in (ps.vjp, ps.linearize):
        given = x.copy(), {"y": y.copy()}
        value, derivative = make(lambda x, p: product_and_power(x, p["y"]), *given)
        for array in (given[0], given[1]["y"], *value):
            array[:] = 7.0
        if make is ps.vjp:
            by_x, by_y = derivative((ones, ones))
            np.testing.assert_allclose(by_x, slopes[0])
            np.testing.assert_allclose(by_y["y"], slopes[1] + slopes[2])
        else:
            np.testing.assert_allclose(derivative(ones, {"y": ones})[0], slopes[0] + slopes[1])


def test_a_pullback_is_that_of_what_the_function_read() -> None:
    weights = np.array([1.0, 2.0])
    value, pullback = ps.vjp(lambda x: np.sum(weights * x * x), X)
    first = pullback(1.0)[0]
    weights[:] = 5.0
    np.testing.assert_allclose((value, *pullback(1.0)[0]), (9.0, 2.0, 8.0))
    np.testing.assert_allclose(pullback(np.array(2.0))[0], 2.0 * first)
    np.testing.assert_allclose(pullback(2.0, out=(np.empty(2),))[0], 2.0 * first)
    with pytest.raises(SpecError, match="reads has changed since the pullback was made"):
        pullback(None)
    with pytest.raises(SpecError, match="reads has changed since the pullback was made"):
        ps.grad(lambda c: pullback(c)[0][0])(1.0)


def test_a_pullback_of_what_counts_its_calls_is_called_again_and_again() -> None:
    class Counting:
        calls = 0

        def __call__(self, x: Any) -> Any:
            self.calls += 1
            return np.sum(x * x)

    counting = Counting()
    for _ in range(2):
        _, pullback = ps.vjp(counting, X)
        for scale in (1.0, 3.0):
            np.testing.assert_allclose(pullback(scale)[0], 2.0 * scale * X)
