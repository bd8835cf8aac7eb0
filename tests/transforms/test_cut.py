"""A derivative that is 0 since a comparison or a rounding cuts the way is told at the line; any other 0 is not."""

import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import scipy.integrate
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import ZeroGradientWarning

X = np.array([1.0, -2.0, 3.0])
EDGES = np.array([0.0, 1.0])


def told(run: Callable[[], Any]) -> list[warnings.WarningMessage]:
    """The warnings about derivatives that are 0."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [w for w in found if issubclass(w.category, ZeroGradientWarning)]


def bisection(y: Any, turns: Callable[[Any, Any], Any]) -> Any:
    """The root of m**3 + m = y, the interval halved by a loop of some kind."""

    def step(ends):
        low, high = ends
        middle = (low + high) / 2
        above = middle**3 + middle > y
        return np.where(above, low, middle), np.where(above, middle, high)

    low, high = turns(step, (np.zeros_like(y), np.full_like(y, 5.0)))
    return np.sum(low + high) / 2


def unrolled(step: Any, ends: Any) -> Any:
    for _ in range(10):
        ends = step(ends)
    return ends


def branching(y: Any) -> Any:
    low, high = 0.0, 5.0
    for _ in range(4):
        middle = (low + high) / 2
        if middle**3 + middle > y[0]:
            high = middle
        else:
            low = middle
    return low + high


def switched(off: Any) -> Any:
    def rate(t, y):
        return -np.where(t <= off, 0.7, 0.0) * y

    return scipy.integrate.solve_ivp(rate, (0, 2.0), [1.0], max_step=0.5).y[0, -1]


def counted(y: Any) -> Any:
    return ps.while_loop(lambda c: c[0] > 0.1, lambda c: (c[0] / 2, c[1] + 1.0), (y[0], 0.0))[1]


@ps.primitive
def straight_through(y: Any) -> Any:
    return np.round(y)


@ps.rrule(straight_through)
def _straight_through(y: Any) -> Any:
    return straight_through(y), lambda dz: (dz,)


@ps.primitive
def rounded(y: Any) -> Any:
    return np.round(y)


cached_rounding = ps.cached(lambda y: np.sum(np.round(y)))

CUT: dict[str, Callable[[Any], Any]] = {
    "sign": lambda y: np.sum(np.sign(y)),
    "floor": lambda y: np.sum(np.floor(y)),
    "round": lambda y: np.sum(np.round(y * 2.0) / 2.0),
    "floor division": lambda y: np.sum(y // 2.0),
    "divisor of a floor division": lambda y: np.sum(5.0 // y),
    "divmod": lambda y: np.sum(np.divmod(y, 2.0)[0]),
    "spacing": lambda y: np.sum(np.spacing(y)),
    "integral over a region": lambda y: scipy.integrate.dblquad(
        lambda u, v: np.where(u + v < y[0], 1.0, 0.0), 0, 1, 0, 1
    )[0],
    "cast": lambda y: np.sum(y.astype(int) * 1.0),
    "mask": lambda y: np.sum(np.where(y > 0, 1.0, 0.0)),
    "share": lambda y: np.mean(y > 0),
    "position of the largest": lambda y: 1.0 * np.argmax(y),
    "rank": lambda y: np.sum(np.argsort(np.argsort(y)) * 1.0),
    "table": lambda y: np.sum(EDGES[np.searchsorted(EDGES, y) % 2]),
    "if": lambda y: 1.0 if y[0] > 0 else 2.0,
    "cond": lambda y: ps.cond(y[0] > 0, lambda: 1.0, lambda: 2.0),
    "while": counted,
    "branches of Python": branching,
    "primitive": lambda y: np.sum(rounded(y)),
    "checkpoint": lambda y: ps.checkpoint(lambda z: np.sum(np.floor(z)))(y),
    "cached": cached_rounding,
    "bisection, unrolled": lambda y: bisection(y, unrolled),
    "bisection, fori_loop": lambda y: bisection(y, lambda f, ends: ps.fori_loop(0, 9, lambda i, c: f(c), ends)),
    "bisection, scan": lambda y: bisection(y, lambda f, e: ps.scan(lambda c, _: (f(c), None), e, None, length=9)[0]),
    "bisection, while_loop": lambda y: bisection(
        y, lambda f, ends: ps.while_loop(lambda c: np.sum(c[1] - c[0]) > 1e-3, f, ends)
    ),
}
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "relu": lambda y: np.sum(np.maximum(y, 0)),
    "mask of itself": lambda y: np.sum(np.where(y > 0, y, 0.0)),
    "absolute": lambda y: np.sum(np.abs(y)),
    "clip": lambda y: np.sum(np.clip(y, 0, 1)),
    "linear": lambda y: np.sum(3 * y),
    "zero times": lambda y: np.sum(0.0 * y),
    "constant": lambda y: 3.0 * y.shape[0],
    "stop_gradient": lambda y: np.sum(ps.stop_gradient(y)),
    "stop_gradient and a mask": lambda y: np.sum(ps.stop_gradient(y) * (y > 0)),
    "straight-through by stop_gradient": lambda y: np.sum(y + ps.stop_gradient(np.round(y) - y)),
    "straight-through by a rule": lambda y: np.sum(straight_through(y)),
    "largest by its position": lambda y: y[np.argmax(y)],
    "sorted": lambda y: np.sum(np.sort(y)[:2]),
    "rows in order": lambda y: np.sum(y[np.argsort(y)] * np.arange(3)),
    "fraction": lambda y: np.sum(y % 1.0),
    "if": lambda y: y[0] if y[0] > 0 else 2.0 * y[1],
    "cond": lambda y: ps.cond(y[0] > 0, lambda: y[0] * y[1], lambda: 2.0),
    "element behind a stop_gradient": lambda y: y[1] * (ps.stop_gradient(y[0]) > 0),
    "element of a constant": lambda y: y[1] + 0.0 * y[0],
    "element that a slice holds too": lambda y: np.sum(y[0:2]) * (y[0] > 0),
    "loop": lambda y: ps.fori_loop(0, 3, lambda i, c: c * y[0], 1.0),
    "carries that change places": lambda y: ps.fori_loop(0, 3, lambda i, c: (c[1], c[0]), (np.sum(y), 0.0))[1],
    "nanmean": lambda y: np.nanmean(y),
    "safe logarithm": lambda y: np.sum(np.where(y > 0, np.log(np.where(y > 0, y, 1.0)), 0.0)),
}
FOUR = np.array([1.0, -2.0, 3.0, 4.0])
"""Of another shape than X, so that functions are recorded anew."""
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: ps.grad(f)(FOUR),
    "value_and_grad": lambda f: ps.value_and_grad(f)(FOUR),
    "vjp": lambda f: ps.vjp(f, FOUR),
    "jvp": lambda f: ps.jvp(f, (FOUR,), (FOUR,)),
    "linearize": lambda f: ps.linearize(f, FOUR),
    "jacobian": lambda f: ps.jacobian(f)(FOUR),
    "hessian": lambda f: ps.hessian(f)(FOUR),
    "hvp": lambda f: ps.hvp(f)(FOUR, FOUR),
    "gradients of a batch": lambda f: ps.vmap(ps.grad(f))(np.stack([FOUR, FOUR])),
    "gradient of a batch": lambda f: ps.grad(lambda y: np.sum(ps.vmap(f)(y)))(np.stack([FOUR, FOUR])),
    "split": lambda f: ps.split(f, FOUR),
}


@pytest.mark.parametrize("name", CUT)
def test_a_way_that_is_cut_is_told_once_at_the_line(name: str) -> None:
    found = told(lambda: ps.grad(CUT[name])(X))
    assert [pathlib.Path(w.filename).name for w in found] == ["test_cut.py"]
    assert "the derivative by " in str(found[0].message)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_zero_that_is_right_is_not_told(name: str) -> None:
    assert told(lambda: ps.grad(SMOOTH[name])(X)) == []
    assert told(lambda: ps.hessian(SMOOTH[name])(X)) == []


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_tells(transform: str) -> None:
    run = TRANSFORMS[transform]
    for name in ("sign", "mask"):
        assert told(lambda: run(CUT[name])), name  # noqa: B023  # called at once
    for name in ("relu", "mask of itself", "absolute", "linear"):
        assert not told(lambda: run(SMOOTH[name])), name  # noqa: B023  # called at once


def test_the_solver_of_a_field_that_is_switched_tells_the_time_of_the_switch() -> None:
    (found,) = told(lambda: ps.grad(switched)(1.0))
    assert str(found.message).startswith("the derivative by off is 0: off acts on the result through LessOrEqual alone")


def switched_by_element(p: Any) -> Any:
    def rate(t, y):
        return -np.where(t <= p[0], p[1], 0.0) * y

    return scipy.integrate.solve_ivp(rate, (0, 2.0), [1.0], max_step=0.5).y[0, -1]


def unpacked(p: Any) -> Any:
    edge, height, _ = p
    return height * np.mean(edge > EDGES)


ELEMENTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "solver": (switched_by_element, "p[0] acts on the result through LessOrEqual alone"),
    "integral": (
        lambda p: scipy.integrate.quad(lambda x: np.where(x < p[2], p[1] * x, 0.0), 0.0, 1.0)[0],
        "p[2] acts on the result through Less alone",
    ),
    "unpacked": (unpacked, "p[0] acts on the result through Greater alone"),
    "last": (lambda p: p[0] * np.round(p[-1]), "p[2] acts on the result through Round alone"),
    "slice": (lambda p: p[0] * np.sum(p[1:] > 0), "p[1:3] acts on the result through Greater alone"),
    "cond": (lambda p: ps.cond(p[0] > 0, lambda: p[1], lambda: 2.0), "p[0] acts on the result through Greater alone"),
    "loop": (
        lambda p: ps.fori_loop(0, 9, lambda i, c: c + np.where(i < p[0], p[1], 0.0), 0.0),
        "p[0] acts on the result through Less alone",
    ),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_element_whose_way_is_cut_is_told_beside_smooth_ones(name: str) -> None:
    function, says = ELEMENTS[name]
    (found,) = told(lambda: ps.grad(function)(np.array([0.7, 1.5, 0.4])))
    assert says in str(found.message)
    assert pathlib.Path(found.filename).name == "test_cut.py"


def test_an_integral_of_a_jump_tells_its_place() -> None:
    def area(edge):
        return scipy.integrate.quad(lambda x: np.where(x < edge, 1.0, 0.0), 0.0, 1.0)[0]

    (found,) = told(lambda: ps.grad(area)(0.5))
    assert "edge acts on the result through Less alone" in str(found.message)


def test_only_what_is_differentiated_is_told() -> None:
    def f(w, mask):
        return np.sum(np.where(mask > 0, w, 0.0))

    assert not told(lambda: ps.grad(f)(X, X))
    assert told(lambda: ps.grad(f, wrt=1)(X, X))
    assert not told(lambda: ps.grad(lambda w: (np.sum(w * w), np.mean(w > 0)), has_aux=True)(X))
    assert not told(lambda: ps.grad(lambda w, unused: np.sum(w), wrt=(0, 1))(X, X))
    (found,) = told(lambda: ps.grad(lambda p: np.sum(np.where(p["t"] < X, p["w"], 0.0)))({"w": X, "t": np.array(0.5)}))
    assert "the derivative by p.t is 0" in str(found.message)


def test_a_mixed_second_derivative_is_told_where_the_function_itself_is_cut() -> None:
    def mixed(f: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        return lambda t: ps.grad(lambda w: np.sum(f(w, t)))(X)[0]

    assert told(lambda: ps.grad(mixed(lambda w, t: np.where(t < X, w**2, 0.0)))(0.5))
    assert not told(lambda: ps.grad(mixed(lambda w, t: np.maximum(X - t, 0) * w))(0.5))
    assert not told(lambda: ps.grad(mixed(lambda w, t: w + t))(0.5))


def test_a_node_of_a_loaded_model_is_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "m.onnx"
    ps.trace(lambda x: np.round(x) * 2.0, X).save(path)
    model = ps.load(path)
    for run in (lambda: ps.split(model), lambda: ps.grad(lambda y: np.sum(model(y)))(X)):
        (found,) = told(run)
        assert "m.onnx" in str(found.message)
        assert "Round alone" in str(found.message)


def test_a_quantizing_operator_with_a_derivative_is_not_told(tmp_path: pathlib.Path) -> None:
    weight, scale = np.arange(8, dtype=np.int8).reshape(4, 2), np.array(0.1, np.float32)
    graph = helper.make_graph(
        [helper.make_node("DynamicQuantizeMatMul", ["x", "w", "s"], ["y"], domain="com.microsoft")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(scale, "s")],
    )
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=10), tmp_path / "m.onnx")
    model, x, found = ps.load(tmp_path / "m.onnx"), np.array([[1, -2, 3, 0.5]], np.float32), []
    assert told(lambda: found.append(ps.grad(lambda y: np.sum(model(y)))(x))) == []
    np.testing.assert_allclose(found[0], 0.1 * weight.sum(axis=1)[None], rtol=1e-6)
    assert len(told(lambda: ps.grad(lambda y: np.sum(model(np.round(y))))(x))) == 1


def test_a_call_tells_nothing_more_and_a_line_is_told_once() -> None:
    gradient = ps.grad(lambda y: np.sum(np.ceil(y)))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for size in (2, 3, 3, 4):
            gradient(np.ones(size))
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ZeroGradientWarning)
        gradient(np.ones(5))
