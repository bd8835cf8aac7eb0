"""Forward mode, products and Hessians: right, prepared once, nested in any order, and refused by name."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, MissingRule, ShapeError, SpecError
from primsplit.rules.table import RULES
from tests.threads import in_threads

Array = np.ndarray[Any, Any]


def square(x: Any) -> Any:
    return np.sum(x * x)


def rosenbrock(x: Any) -> Any:
    return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2


def planes(x: Any) -> Any:
    return np.stack([x[0] ** 2 + x[1], x[0] * x[1]])


# Fixtures F13 to F16, with the numbers of the specification.


def test_a_thousand_products_trace_build_and_load_once() -> None:
    product = ps.value_grad_and_hvp(square)
    x, v = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    before = ps.counts()
    value, gradient, hv = product(x, v)
    assert (float(value), gradient.tolist(), hv.tolist()) == (5.0, [2.0, 4.0], [2.0, 0.0])
    prepared = ps.counts()
    assert (prepared[0] - before[0], prepared[2] - before[2]) == (1, 1)
    for _ in range(1000):
        product(x, v)
    assert ps.counts() == prepared


def test_products_asked_for_directly_are_prepared_once_too() -> None:
    x, v = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    assert ps.hvp(square, (x,), v).tolist() == [2.0, 0.0]
    prepared = ps.counts()
    for _ in range(10):
        ps.hvp(square, (x,), v)
    assert ps.counts() == prepared


def test_the_vector_of_a_product_is_called_v_after_the_arguments_of_the_function() -> None:
    def scaled(x: Any, scale: float = 2.0) -> Any:
        return np.sum(x * x) * scale

    def of_many(*parts: Any) -> Any:
        return np.sum(parts[0] * parts[0])

    x = np.ones(2)
    assert ps.value_grad_and_hvp(scaled).program(x, x).inputs == ("x", "v")
    assert ps.hvp(scaled, wrt=(0, 1)).program(x, 3.0, (x, 1.0)).inputs == ("x", "scale", "v.0", "v.1")
    assert ps.hvp(of_many).program(x, x).inputs == ("parts.0", "v")
    assert ps.hvp(lambda v: np.sum(v * v)).program(x, x).inputs == ("v", "v_1")


def test_rosenbrock_has_the_published_derivatives() -> None:
    x = np.array([1.2, 1.2])
    value, gradient, product = ps.value_grad_and_hvp(rosenbrock)(x, np.array([1.0, 2.0]))
    np.testing.assert_allclose([value, *gradient, *product], [5.8, 115.6, -48.0, 290.0, -80.0], rtol=1e-13)
    np.testing.assert_allclose(ps.hessian(rosenbrock)(x), [[1250.0, -480.0], [-480.0, 200.0]], rtol=1e-13)


@pytest.mark.parametrize(("power", "first", "second"), [(4, 32.0, 48.0), (6, 192.0, 480.0)])
def test_powers_have_their_derivatives_by_all_nestings(power: int, first: float, second: float) -> None:
    def f(x: Any) -> Any:
        return x**power

    assert ps.derivative(f)(2.0) == ps.grad(f)(2.0) == first
    for outer, inner in itertools.product((ps.derivative, ps.grad), repeat=2):
        assert outer(inner(f))(2.0) == second
    if power == 4:
        for nest in itertools.product((ps.derivative, ps.grad), repeat=3):
            assert nest[0](nest[1](nest[2](f)))(2.0) == 48.0


def test_the_hessian_of_the_gams_objective() -> None:
    """Mooncake's test: H[0,0] = 4, H[i,i] = 16, H[i,9] = H[9,i] = 8, H[9,9] = 140 (from x_i = 1, counted from 0)."""

    def objective(x: Any) -> Any:
        return 2.0 * x[0] ** 2 + np.sum(8.0 * x[1:9] ** 2 + 8.0 * x[1:9] * x[9]) + 70.0 * x[9] ** 2

    hessian = ps.hessian(objective)(np.ones(10))
    wanted = np.diag([4.0, *[16.0] * 8, 140.0])
    wanted[1:9, 9] = wanted[9, 1:9] = 8.0
    np.testing.assert_allclose(hessian, wanted)


@pytest.mark.parametrize("derivative", [ps.derivative, ps.grad])
def test_perturbations_are_not_confused(derivative: Callable[..., Any]) -> None:
    d = derivative
    assert d(lambda x: x * d(lambda y: x * y)(1.0))(4.0) == 8.0
    assert d(lambda x: x * d(lambda y: x + y)(1.0))(1.0) == 1.0


# What each transform gives.


@pytest.mark.parametrize("mode", ["forward", "reverse", None])
@pytest.mark.parametrize("chunk", [None, 1, 2, 3])
def test_rows_and_columns_make_the_same_jacobian(mode: Any, chunk: int | None) -> None:
    found = ps.jacobian(planes, mode=mode, chunk=chunk)(np.array([2.0, 3.0]))
    assert found.tolist() == [[4.0, 1.0], [3.0, 2.0]]


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 5, 6, 7, 8, None])
def test_chunks_of_any_width_make_the_same_hessian_at_sizes_that_only_the_run_knows(chunk: int | None) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x)) * np.sum(x)

    program = ps.trace(ps.hessian(f, chunk=chunk), ps.spec("float64", ["N"]))
    for n in (0, 1, 5):
        x = np.linspace(0.2, 1.0, n)
        cos = np.cos(x)
        wanted = cos[:, None] + cos[None, :] - np.diag(np.sin(x) * x.sum())
        np.testing.assert_allclose(program(x), wanted, atol=1e-14)


def test_jacobians_have_the_structure_of_result_and_argument() -> None:
    def f(p: Any, s: Any) -> Any:
        return {"a": p["w"] * s, "b": np.sum(p["w"]) + p["c"]}

    p = {"w": np.array([1.0, 2.0]), "c": np.array(4.0)}
    found = ps.jacobian(f, wrt=(0, 1))(p, 3.0)
    np.testing.assert_array_equal(found["a"][0]["w"], 3.0 * np.eye(2))
    np.testing.assert_array_equal(found["a"][0]["c"], [0.0, 0.0])
    np.testing.assert_array_equal(found["a"][1], [1.0, 2.0])
    np.testing.assert_array_equal(found["b"][0]["w"], [1.0, 1.0])
    assert (found["b"][0]["c"], found["b"][1]) == (1.0, 0.0)


def test_the_hessian_of_several_arguments_has_a_block_for_each_pair() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(a * a) * b

    a, b = np.array([1.0, 2.0]), np.array(3.0)
    ((aa, ab), (ba, bb)) = ps.hessian(f, wrt=(0, 1))(a, b)
    np.testing.assert_array_equal(aa, 6.0 * np.eye(2))
    assert (ab.tolist(), ba.tolist(), bb) == ([2.0, 4.0], [2.0, 4.0], 0.0)
    product = ps.hvp(f, wrt=(0, 1))(a, b, (np.array([1.0, 0.0]), np.array(1.0)))
    assert (product[0].tolist(), product[1]) == ([8.0, 4.0], 2.0)


@pytest.mark.parametrize("sizes", [(0, 2), (0, 0), (2, 0)])
def test_products_of_arguments_without_elements(sizes: tuple[int, int]) -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(a * a) + np.sum(b * b * b)

    a, b = (np.arange(1.0, n + 1) for n in sizes)
    value, gradient, product = ps.value_grad_and_hvp(f, wrt=(0, 1))(a, b, (np.ones_like(a), np.ones_like(b)))
    assert value == np.sum(a * a) + np.sum(b**3)
    for found, wanted in zip((*gradient, *product), (2 * a, 3 * b * b, 2 * np.ones_like(a), 6 * b), strict=True):
        np.testing.assert_allclose(found, wanted)
    assert ps.hessian(f)(a, b).shape == (sizes[0], sizes[0])


def test_the_laplacian_is_the_trace_of_the_hessian() -> None:
    x = np.array([[0.5, 1.0], [1.5, 2.0]])
    assert ps.laplacian(lambda x: np.sum(x**3))(x) == 6.0 * x.sum()
    assert ps.laplacian(lambda x: np.sum(x))(x) == 0.0


@pytest.mark.parametrize("wrt", [(0, 1), (1, 0), ("b", "a"), ("b", 0)])
def test_the_laplacian_of_several_arguments_in_any_order(wrt: Any) -> None:
    """By the arrays of one argument and of the other, never across; also of two dtypes, of which it is the wider."""

    def f(a: Any, b: Any) -> Any:
        return np.sum(a**3) + np.sum(b * b) * a[0]

    a = np.array([1.0, 2.0, 3.0])
    assert ps.laplacian(f, wrt=wrt)(a, a) == 6.0 * np.sum(a) + 2.0 * 3 * a[0]
    assert ps.laplacian(f, wrt=wrt)(a, b=a) == 6.0 * np.sum(a) + 2.0 * 3 * a[0]
    mixed = ps.laplacian(lambda a, b: np.sum(a**2) * np.sum(b**2), wrt=wrt)(a, a.astype(np.float32))
    assert (mixed, mixed.dtype) == (168.0, np.float64)


def test_value_gradient_and_hessian_come_together() -> None:
    value, gradient, hessian = ps.value_grad_and_hessian(square)(np.array([1.0, 2.0, 3.0]))
    assert (float(value), gradient.tolist(), hessian.tolist()) == (14.0, [2.0, 4.0, 6.0], (2.0 * np.eye(3)).tolist())


def test_a_derivative_of_a_curve_is_its_velocity() -> None:
    velocity = ps.derivative(lambda t: {"x": np.cos(t), "y": np.sin(t) * np.ones(2)})(0.5)
    np.testing.assert_allclose(velocity["x"], -np.sin(0.5))
    np.testing.assert_allclose(velocity["y"], [np.cos(0.5)] * 2)


def test_transforms_of_a_loaded_model(tmp_path: Any) -> None:
    path = str(tmp_path / "model.onnx")
    ps.trace(lambda w, x: np.sum(np.tanh(x @ w)), ps.spec("float64", [2]), ps.spec("float64", [3, 2])).save(path)
    model = ps.load(path)
    w, x, v = np.array([0.3, -0.2]), np.arange(6.0).reshape(3, 2) / 5, np.array([1.0, 2.0])
    slope = 1.0 - np.tanh(x @ w) ** 2
    np.testing.assert_allclose(ps.jvp(model, (w, x), (v, None))[1], np.sum(slope * (x @ v)))
    curvature = -2.0 * np.tanh(x @ w) * slope
    np.testing.assert_allclose(ps.hvp(model)(w, x, v), x.T @ (curvature * (x @ v)))
    np.testing.assert_allclose(ps.hessian(model)(w, x), x.T @ (curvature[:, None] * x))


def test_arguments_of_programs_and_loaded_models_have_the_names_of_their_inputs(tmp_path: Any) -> None:
    """In `wrt`, in errors and in what is made of their derivatives; a complex one is two inputs."""

    def f(p: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ p["w"]) ** 2)

    w, x, path = np.array([0.3, -0.2]), np.arange(6.0).reshape(3, 2) / 5, str(tmp_path / "model.onnx")
    program = ps.trace(f, {"w": ps.spec("float64", [2])}, ps.spec("float64", ["N", 2]))
    program.save(path)
    model = ps.load(path)
    wanted = ps.grad(f, wrt=1)({"w": w}, x)
    np.testing.assert_allclose(ps.grad(program, wrt="x")({"w": w}, x), wanted)
    np.testing.assert_allclose(ps.grad(model, wrt="x")(w, x), wanted)
    np.testing.assert_allclose(ps.grad(program, wrt="p")({"w": w}, x)["w"], ps.grad(model, wrt="p.w")(w, x))
    assert [h.shape for h in ps.hessian(model, wrt=("x", "p.w"))(w, x)[0]] == [(3, 2, 3, 2), (3, 2, 2)]
    assert ps.jacobian(ps.grad(model, wrt="x"), wrt="p.w").program(w, x).inputs == ("p.w", "x")
    assert ps.value_grad_and_hvp(program, wrt="x").program({"w": w}, x, x).inputs == ("p.w", "x", "v")
    with pytest.raises(SpecError, match=r"its arguments are p\.w, x"):
        ps.grad(model, wrt="y")(w, x)
    ps.trace(lambda z, x: np.sum(np.abs(z) ** 2 * x), w * 1j, w).save(path)
    model = ps.load(path)
    np.testing.assert_allclose(ps.grad(model, wrt="z")(w * 1j, w), 2 * w * w * 1j)
    np.testing.assert_allclose(ps.grad(model, wrt="x")(w * 1j, w), w * w)
    np.testing.assert_allclose(ps.grad(model, wrt="z.imag")(np.zeros(2), w, w), 2 * w * w)


def test_the_nestings_of_forward_and_reverse_give_one_hessian_vector_product() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(x) * np.sin(x[::-1])) + np.prod(x)

    x, v = np.array([0.3, 0.8, -0.4]), np.array([1.0, -2.0, 0.5])

    def along(g: Any) -> Any:
        return lambda y: ps.jvp(g, (y,), (v,))[1]

    found = [
        ps.jvp(ps.grad(f), (x,), (v,))[1],
        ps.grad(along(f))(x),
        ps.grad(lambda y: np.sum(ps.grad(f)(y) * v))(x),
        np.array([ps.jvp(along(f), (x,), (e,))[1] for e in np.eye(3)]),
    ]
    step = 1e-5
    differences = (ps.grad(f)(x + step * v) - ps.grad(f)(x - step * v)) / (2 * step)
    for product in found:
        np.testing.assert_allclose(product, found[0], rtol=1e-12)
        np.testing.assert_allclose(product, differences, rtol=1e-8)


def test_fourth_derivatives_through_every_nesting() -> None:
    """The fourth derivative of exp(2 x) is 16 exp(2 x)."""
    for nest in itertools.product((ps.derivative, ps.grad), repeat=4):

        def f(x: Any) -> Any:
            return np.exp(2.0 * x)

        for transform in nest:
            f = transform(f)
        np.testing.assert_allclose(f(0.3), 16.0 * np.exp(0.6), rtol=1e-12)


# Prepared objects: what they refuse, and threads.


@pytest.mark.parametrize("kept", [ps.cached, lambda f: ps.primitive(f, inline=False)], ids=["cached", "not inlined"])
def test_orders_three_and_four_of_calls_that_stay_calls(kept: Callable[..., Any]) -> None:
    """A call in a tangent list may have outputs that no tangent reaches; what reads those comes after the call."""
    called = kept(lambda y: y * np.exp(y))
    x, v = np.array([0.5, 1.5, -1.0]), np.array([1.0, -2.0, 0.5])

    def second(x: Any) -> Any:
        return np.sum(ps.hessian(lambda y: np.sum(called(y)))(x))

    third, fourth = (x + 3) * np.exp(x), (x + 4) * np.exp(x)
    np.testing.assert_allclose(second(x), np.sum((x + 2) * np.exp(x)), rtol=1e-12)
    np.testing.assert_allclose(ps.grad(second)(x), third, rtol=1e-12)
    np.testing.assert_allclose(ps.hvp(second)(x, v), fourth * v, rtol=1e-12)
    np.testing.assert_allclose(ps.jvp(ps.grad(second), (x,), (v,))[1], fourth * v, rtol=1e-12)
    np.testing.assert_allclose(ps.jvp(second, (x,), (v,))[1], np.sum(third * v), rtol=1e-12)


def pulled(cotangent: Any) -> Any:
    return ps.vjp(lambda x: (x * 2.0, np.sum(x)), np.ones(2))[1](cotangent)


WRONG = [
    ("no vector", lambda: ps.hvp(square)(np.ones(2)), SpecError, "then the vector"),
    ("a shorter vector", lambda: ps.hvp(square)(np.ones(2), np.ones(3)), ShapeError, "tangent of a float64[2]"),
    ("another dtype", lambda: ps.hvp(square)(np.ones(2), np.ones(2, np.float32)), DtypeError, "float32"),
    ("another structure", lambda: ps.jvp(square, (np.ones(2),), ({"a": np.ones(2)},)), SpecError, "structure"),
    ("too few tangents", lambda: ps.jvp(np.add, (1.0, 2.0), (1.0,)), SpecError, "1 tangents for 2 primals"),
    ("no tuple", lambda: ps.hvp(square, np.ones(2), np.ones(2)), SpecError, "must be a tuple"),
    ("integers", lambda: ps.jvp(lambda n: n * 2.0, (np.arange(3),), (np.ones(3),)), DtypeError, "has no tangent"),
    ("no tuple of primals", lambda: ps.jvp(square, np.ones(2), np.ones(2)), SpecError, "primals must be a tuple"),  # type: ignore[arg-type]
    ("a product without v", lambda: ps.hvp(square, (np.ones(2),)), SpecError, "has no v"),
    ("an integer's derivative", lambda: ps.derivative(lambda n: n**2.0)(3), DtypeError, "static int"),
    ("a leaf without a gradient", lambda: ps.grad(lambda p: p["a"])({"a": 1.0, "kind": "relu"}), DtypeError, "p.kind"),
    ("a cotangent's structure", lambda: pulled((np.ones(2),)), SpecError, "another structure than the result"),
    ("a cotangent for a tuple", lambda: pulled(np.ones(2)), SpecError, "another structure than the result"),
    ("a cotangent's shape", lambda: pulled((np.ones(3), 1.0)), ShapeError, "cotangent of a float64[2]"),
    ("a cotangent's dtype", lambda: pulled((np.ones(2, np.float32), 1.0)), DtypeError, "cotangent of a float64[2]"),
    ("a vector's derivative", lambda: ps.derivative(square)(np.ones(2)), ShapeError, "function of a number"),
    ("a vector's Hessian", lambda: ps.hessian(np.sin)(np.ones(2)), ShapeError, "scalar result"),
    ("a mode", lambda: ps.jacobian(np.sin, mode="sideways")(np.ones(2)), SpecError, "forward, reverse"),  # type: ignore[arg-type]
    ("a chunk", lambda: ps.jacobian(np.sin, chunk=0)(np.ones(2)), SpecError, "directions"),
    ("another argument", lambda: ps.hvp(square, wrt=1)(np.ones(2), np.ones(2)), SpecError, "names no argument"),
    ("twice", lambda: ps.grad(np.dot, wrt=(0, 0))(np.ones(2), np.ones(2)), SpecError, "an argument twice"),
    ("twice by its name", lambda: ps.jacobian(square, wrt=(0, "x"))(np.ones(2)), SpecError, "an argument twice"),
    (
        "a product by integers",
        lambda: ps.hvp(square)(np.arange(3), np.ones(3)),
        DtypeError,
        "respect to x: it is int64",
    ),
    ("an array's derivative", lambda: ps.derivative(square)(np.array(3)), DtypeError, "respect to x: it is int64"),
    ("a text's derivative", lambda: ps.derivative(square)("a"), DtypeError, "respect to x: it is a static str"),
    ("a container's", lambda: ps.derivative(square)({"a": 1.0}), ShapeError, "function of a number"),
    ("a linear function", lambda: ps.linearize(square, np.ones(2))[1](np.ones(3)), ShapeError, "t_x"),
]


@pytest.mark.parametrize(("call", "error", "told"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_does_not_fit_is_refused_by_name(call: Callable[[], Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert told in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10


def test_threads_share_one_prepared_product() -> None:
    product = ps.hvp(rosenbrock)
    before = ps.counts()
    wrong: list[Any] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(50):
            (a, b), v = random.standard_normal(2), random.standard_normal(2)
            hessian = np.array([[2.0 + 1200.0 * a * a - 400.0 * b, -400.0 * a], [-400.0 * a, 200.0]])
            if not np.allclose(product(np.array([a, b]), v), hessian @ v):
                wrong.append((a, b, v))

    in_threads(work, 8)
    assert wrong == []
    assert (ps.counts().since(before).traces, ps.counts().since(before).sessions) == (1, 1)


def test_an_operator_without_a_derivative_is_named_in_forward_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, "Asinh")
    with pytest.raises(MissingRule, match="Asinh has no derivative"):
        ps.jvp(np.arcsinh, (np.ones(3),), (np.ones(3),))
