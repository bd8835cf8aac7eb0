"""Random numbers of a program: their distributions, their gradients, and that a pullback reads what was drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit import random
from primsplit.audit.frozen import frozen_values
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError

N = ps.spec("float64", ["N"])
X = np.array([0.5, -1.0, 2.0, 3.0])
MANY = 40_000


def run(function: Callable[..., Any], *args: Any) -> Any:
    return ps.trace(function, *args)(*args)


# Mean and standard deviation. The error of a mean is 0.005 standard deviations here.
DISTRIBUTIONS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "normal": (random.normal, 0.0, 1.0),
    "normal of mean and deviation": (lambda **o: random.normal(3.0, 2.0, **o), 3.0, 2.0),
    "uniform": (random.uniform, 0.5, 12**-0.5),
    "uniform between": (lambda **o: random.uniform(-1.0, 3.0, **o), 1.0, 4 * 12**-0.5),
    "exponential": (random.exponential, 1.0, 1.0),
    "exponential of scale": (lambda **o: random.exponential(2.5, **o), 2.5, 2.5),
    "bernoulli": (lambda **o: random.bernoulli(0.2, **o), 0.2, 0.4),
    "gamma": (lambda **o: random.gamma(2.25, 2.0, **o), 4.5, 3.0),
    "gamma of a small shape": (lambda **o: random.gamma(0.25, **o), 0.25, 0.5),
    "chisquare": (lambda **o: random.chisquare(4.5, **o), 4.5, 3.0),
    "beta": (lambda **o: random.beta(0.5, 1.5, **o), 0.25, 0.25),
    "standard_t": (lambda **o: random.standard_t(8.0, **o), 0.0, (8 / 6) ** 0.5),
    "dirichlet": (lambda size, seed: random.dirichlet([0.5, 1.0, 0.5], size, seed=seed)[..., 1], 0.5, 12**-0.5),
}


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_have_the_mean_and_deviation_of_their_distribution(name: str, seed: int | None) -> None:
    draw, mean, deviation = DISTRIBUTIONS[name]
    program = ps.trace(lambda x: draw(size=x.shape, seed=seed) * 1.0 + 0.0 * x, N)
    for found in (program(np.zeros(MANY)), np.asarray(draw(size=MANY, seed=seed)) * 1.0):
        assert found.shape == (MANY,)
        np.testing.assert_allclose(found.mean(), mean, atol=0.03 * deviation)
        np.testing.assert_allclose(found.std(), deviation, rtol=0.05)
        np.testing.assert_allclose(np.corrcoef(found[1:], found[:-1])[0, 1], 0, atol=0.03)


def of_shape_2(**options: Any) -> Any:
    return random.gamma(2.0, **options)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("draw", [random.normal, random.uniform, random.exponential, of_shape_2])
def test_a_draw_has_the_dtype_and_shape_asked_for_inside_and_outside_of_a_trace(draw: Any, dtype: str) -> None:
    for size, shape in ((None, ()), (3, (3,)), ((2, 0), (2, 0)), ((), ())):
        inside = run(lambda x, s=size: (draw(size=s, dtype=dtype), x)[0], X)
        outside = draw(size=size, dtype=dtype)
        assert type(outside) is np.ndarray
        assert (inside.shape, outside.shape) == (shape, shape)
        assert (inside.dtype, outside.dtype) == (dtype, dtype)


def test_without_a_dtype_a_draw_has_that_of_its_traced_parameters_else_float64() -> None:
    single = X.astype(np.float32)
    assert run(lambda x: random.normal(x, 1.0), single).dtype == np.float32
    assert run(lambda x: random.normal(x, np.ones(4)), single).dtype == np.float64
    assert run(lambda x: (random.normal(size=2), x)[0], single).dtype == np.float64
    assert run(lambda x: (random.bernoulli(0.5, 3), x)[0], single).dtype == np.bool_
    assert run(lambda x: (random.bernoulli(0.5, 3, dtype=np.float32), x)[0], single).dtype == np.float32


@pytest.mark.parametrize("n", [0, 1, 5])
def test_sizes_may_be_known_only_at_run_time(n: int) -> None:
    def program(x: Any) -> Any:
        size = x.shape[0]
        return random.normal(size=size), random.uniform(x, x + 1, (2, size)), random.permutation(size)

    normal, uniform, order = ps.trace(program, N)(np.zeros(n))
    assert (normal.shape, uniform.shape) == ((n,), (2, n))
    np.testing.assert_array_equal(np.sort(order), np.arange(n))


def test_probabilities_may_be_traced_and_are_kept_at_their_ends() -> None:
    chances = np.array([0.0, 0.3, 1.0])
    found = run(lambda p: random.bernoulli(p, (MANY, 3)), chances)
    np.testing.assert_allclose(found.mean(0), chances, atol=0.02)
    assert not found[:, 0].any()
    assert found[:, 2].all()


def test_onnxs_bernoulli_gives_1_with_the_probability_that_it_is_given() -> None:
    for dtype in ("float32", "float64", "float16"):
        found = run(ps.ops.op.Bernoulli, np.full(MANY, 0.2, dtype))
        assert found.dtype == dtype
        np.testing.assert_allclose(found.mean(dtype=np.float64), 0.2, atol=0.02)


# Seeds.


def test_with_a_seed_a_program_draws_the_same_each_time_that_it_is_loaded() -> None:
    def draws(x: Any) -> Any:
        return random.normal(size=x.shape, seed=5), random.normal(size=x.shape, seed=6)

    (first, other), (again, _) = (ps.trace(draws, N)(np.zeros(9)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.9
    np.testing.assert_array_equal(random.normal(size=3, seed=5), random.normal(size=3, seed=5))


def test_neighbouring_seeds_draw_unrelated_first_numbers() -> None:
    found = [run(lambda x, s=s: (random.uniform(seed=s), x)[0], X) for s in range(12)]
    assert len({round(float(f), 2) for f in found}) > 8
    assert max(found) > 0.6
    assert min(found) < 0.4


def test_each_run_and_each_draw_without_a_seed_is_fresh() -> None:
    program = ps.trace(lambda x: tuple(draw(size=x.shape) for draw in (random.normal, *[of_shape_2] * 2)), N)
    runs = [draw for _ in range(2) for draw in program(np.zeros(5))]
    for i, a in enumerate(runs):
        for b in runs[:i]:
            assert not np.any(a == b)


def test_draws_in_different_loops_and_branches_are_different() -> None:
    def draws(x: Any) -> list[Any]:
        first, second = (ps.scan(lambda c, _: (c, random.normal()), x, None, length=3)[1] for _ in range(2))
        taken = ps.cond(x > 5.0, lambda: x, lambda: random.normal())
        return [*first, *second, taken, random.normal(), *random.normal(size=2)]

    drawn = np.concatenate([run(draws, 0.0) for _ in range(2)])
    assert len(drawn) == 20
    assert np.min(np.diff(np.sort(drawn[:10]))) > 0


def test_two_draws_of_one_seed_are_equal_and_are_two_operators() -> None:
    program = ps.trace(lambda x: [random.uniform(size=x.shape, seed=2) for _ in range(2)], N)
    first, second = program(np.zeros(5))
    np.testing.assert_array_equal(first, second)
    assert [n.op_type for n in program.to_onnx().graph.node].count("RandomUniformLike") == 2


def test_the_seed_is_an_attribute_of_the_file_and_is_left_out_without_one() -> None:
    program = ps.trace(lambda x: random.normal(size=3, seed=5) + random.uniform(size=3) + 0.0 * x, X[:3])
    nodes = {node.op_type: {a.name for a in node.attribute} for node in program.to_onnx().graph.node}
    assert "seed" in nodes["RandomNormal"]
    assert "seed" not in nodes["RandomUniform"]


@pytest.mark.parametrize("seed", [-1, 0.5, "1", [1, 2], np.nan, np.inf])
def test_a_seed_that_is_no_whole_number_is_refused(seed: Any) -> None:
    with pytest.raises(PrimsplitError, match="whole number"):
        random.normal(seed=seed)
    with pytest.raises(PrimsplitError, match=r"test_random\.py"):
        ps.trace(lambda x: random.normal(x, seed=seed), X)


# Gradients.


def test_the_mean_and_deviation_have_gradients_and_the_draw_has_none() -> None:
    def program(mean: Any, deviation: Any) -> Any:
        eps = random.normal(size=mean.shape)
        return mean + deviation * eps, eps

    made = ps.split(program, N, N, of=[0])
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    (value, eps, dmean, ddeviation) = made.joint().session()(X, X * 2, weights)
    np.testing.assert_allclose(value, X + 2 * X * eps)
    np.testing.assert_array_equal(dmean, weights)
    np.testing.assert_allclose(ddeviation, weights * eps)
    assert ps.split(program, N, N, of=[1]).split.targets == ()


PARAMETERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "normal": (lambda a, b: random.normal(a, b), lambda a, b, z: [np.ones(4), (z - a) / b]),
    "uniform": (lambda a, b: random.uniform(a, b), lambda a, b, z: [(b - z) / (b - a), (z - a) / (b - a)]),
    "exponential": (lambda a, b: random.exponential(a) + 0 * b, lambda a, b, z: [z / a, np.zeros(4)]),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_have_gradients_through_the_draw(name: str) -> None:
    draw, slopes = PARAMETERS[name]
    a, b = np.array([0.5, 1.0, 1.5, 2.0]), np.array([2.5, 3.0, 4.0, 5.0])
    z, *found = ps.split(draw, N, N).joint().session()(a, b, np.ones(4))
    np.testing.assert_allclose(found, slopes(a, b, z), rtol=1e-12)


QUANTILES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "gamma": (
        lambda a, b: random.gamma(a, b),
        lambda z, a, b: sp.gammainc(a, z / b),
        lambda u, a, b: sp.gammaincinv(a, u) * b,
    ),
    "beta": (
        lambda a, b: random.beta(a, b),
        lambda z, a, b: sp.betainc(a, b, z),
        lambda u, a, b: sp.betaincinv(a, b, u),
    ),
    "chisquare": (
        lambda a, b: random.chisquare(a) * b,
        lambda z, a, b: sp.chdtr(a, z / b),
        lambda u, a, b: sp.chdtri(a, 1 - u) * b,
    ),
}
"""The draw of two parameters, its distribution function and that one's inverse."""


@pytest.mark.parametrize("name", QUANTILES)
def test_shapes_have_gradients_how_the_quantile_of_the_draw_moves(name: str) -> None:
    draw, distribution, inverse = QUANTILES[name]
    given, step = (np.array([0.5, 1.0, 1.5, 8.0]), np.array([2.5, 0.3, 4.0, 5.0])), 1e-5
    z, *found = ps.split(draw, N, N).joint().session()(*given, np.ones(4))
    chance = distribution(z, *given)
    for i, slope in enumerate(found):
        ends = [inverse(chance, *(g + h * (j == i) for j, g in enumerate(given))) for h in (step, -step)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-9)


def test_students_numbers_move_with_their_freedom() -> None:
    found = ps.grad(lambda n: np.mean(random.standard_t(n, MANY, seed=1) ** 2))(np.float64(9.0))
    np.testing.assert_allclose(found, -2 / 7**2, atol=0.02)


def test_shapes_that_are_none_give_no_numbers_and_small_ones_never_a_quotient_of_zeros() -> None:
    shapes = np.array([0.0, -1.0, np.nan, np.inf, 1e-4, 1e7])
    found = run(lambda a: random.gamma(a), shapes)
    np.testing.assert_array_equal(np.isnan(found), [True] * 4 + [False] * 2)
    assert np.isfinite(run(lambda a: random.beta(a, a, 999), np.float64(1e-4))).all()
    assert np.isfinite(run(lambda a: random.dirichlet(a * np.ones(4), 99), np.float64(1e-4))).all()


@pytest.mark.slow
def test_dirichlet_vectors_sum_to_one_and_move_with_their_shapes() -> None:
    shapes = np.array([0.3, 2.0, 0.7, 1.5])
    program = ps.trace(lambda a: random.dirichlet(a, (3, 2)), N)
    for count in (4, 1):
        found = program(shapes[:count])
        assert found.shape == (3, 2, count)
        np.testing.assert_allclose(found.sum(-1), 1.0)

    def mean(a: Any) -> Any:
        return np.mean(random.dirichlet(a, 4000, seed=3), axis=0)

    found, wanted = ps.jacobian(mean)(shapes), (np.eye(4) - shapes[:, None] / 4.5) / 4.5
    np.testing.assert_allclose(found, wanted, atol=0.02)
    assert random.dirichlet(shapes, 2).shape == (2, 4)


def noisy(x: Any) -> Any:
    """Draws whose value alone tells what was drawn: each enters a product with x."""
    scale = random.normal(size=x.shape)
    mask = random.bernoulli(0.5, x.shape)
    return x * scale, np.where(mask, x * x, 0.0), random.permutation(x * np.arange(1.0, 5.0))


def _check_pullback(x: Any, results: Any, seeds: Any, gradient: Any) -> None:
    scaled, masked, shuffled = results
    wanted = seeds[0] * scaled / x + seeds[1] * np.where(masked != 0, 2 * x, 0.0)
    products = x * np.arange(1.0, 5.0)
    back = np.array([np.flatnonzero(shuffled == p)[0] for p in products])
    wanted = wanted + seeds[2][back] * np.arange(1.0, 5.0)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-12)


@pytest.mark.parametrize("spec", [ps.spec("float64", [4]), N], ids=["literal", "symbolic"])
def test_a_pullback_reads_what_the_forward_pass_drew(spec: Any, tmp_path: Path) -> None:
    made = ps.split(noisy, spec)
    seeds = list(np.random.default_rng(0).normal(size=(3, 4)))
    session = made.joint().session()
    for _ in range(3):
        *results, gradient = session(X, *seeds)
        _check_pullback(X, results, seeds, gradient)
    forward, backward = (onnxruntime.InferenceSession(p) for p in made.save(str(tmp_path / "f.onnx"), "split"))
    for _ in range(3):
        names = [o.name for o in forward.get_outputs()]
        values = dict(zip(names, forward.run(names, {"x": X}), strict=True))
        feeds = {**values, "x": X, **{f"d_{o}": s for o, s in zip(made.program.outputs, seeds, strict=True)}}
        (gradient,) = backward.run(None, {i.name: feeds[i.name] for i in backward.get_inputs()})
        _check_pullback(X, [values[o] for o in made.program.outputs], seeds, gradient)


def test_the_backward_file_draws_nothing(tmp_path: Path) -> None:
    forward, backward = (onnx.load(p) for p in ps.split(noisy, N).save(str(tmp_path / "f.onnx"), "split"))

    def drawn(model: Any) -> list[str]:
        return [n.op_type for n in model.graph.node if n.op_type.startswith("Random")]

    assert len(drawn(forward)) == 3
    assert drawn(backward) == []


def test_the_value_and_gradient_of_one_call_see_one_draw_and_those_of_a_primitive_too() -> None:
    @ps.primitive
    def scaled(x: Any) -> Any:
        return x * random.normal(size=x.shape)

    for function in (lambda x: x * random.normal(size=x.shape), scaled):
        value, gradient = ps.value_and_grad(lambda x, f=function: np.sum(f(x)))(X)
        np.testing.assert_allclose(value, X @ gradient)
        value, gradient = run(lambda x, f=function: ps.value_and_grad(lambda v: np.sum(f(v)))(x), X)
        np.testing.assert_allclose(value, X @ gradient)


def test_second_derivatives_read_the_same_draw() -> None:
    def cubic(x: Any) -> Any:
        return np.sum(x**3 * random.normal(size=x.shape))

    def both(x: Any) -> Any:
        value, first = ps.value_and_grad(cubic)(x)
        return value, first

    made = ps.split(lambda x: np.sum(both(x)[1]) + 0.0 * x[0], X)
    value, second = made.joint().session()(X)
    np.testing.assert_allclose(value, np.sum(second * X / 2))


# Order.


def test_a_permutation_keeps_the_elements_together_along_its_axis() -> None:
    table = np.arange(24.0).reshape(2, 3, 4)
    found = run(lambda x: random.permutation(x, 1, seed=3), table)
    np.testing.assert_array_equal(np.sort(found, 1), table)
    np.testing.assert_array_equal(found - found[:1, :, :1], np.broadcast_to(table - table[:1, :, :1], (2, 3, 4)))
    orders = {tuple(run(lambda x, s=s: (random.permutation(3, seed=s), x)[0], X)) for s in range(40)}
    assert len(orders) == 6


def test_a_shuffle_is_in_place_and_gradients_go_back() -> None:
    def program(x: Any) -> Any:
        y = x * 2.0
        random.shuffle(y)
        return y

    weights = np.array([1.0, 2.0, 3.0, 4.0])
    value, gradient = ps.split(program, N).joint().session()(X, weights)
    np.testing.assert_array_equal(np.sort(value), np.sort(2 * X))
    np.testing.assert_array_equal(gradient, [2 * weights[list(value).index(v)] for v in 2 * X])
    plain = X.copy()
    random.shuffle(plain, seed=1)
    np.testing.assert_array_equal(np.sort(plain), np.sort(X))
    np.testing.assert_array_equal(np.sort(random.permutation(4)), np.arange(4))


# Errors.


def test_what_cannot_be_drawn_is_refused_at_the_users_line() -> None:
    for size in (3, 1):
        with pytest.raises(ShapeError, match="broadcast") as caught:
            ps.trace(lambda x, s=size: random.normal(x, size=s), X)
        assert "test_random.py" in str(caught.value)
    with pytest.raises(DtypeError, match="int64 cannot be drawn"):
        ps.trace(lambda x: random.normal(x, dtype=np.int64), X)
    with pytest.raises(DtypeError, match="not traced"):
        ps.trace(lambda x: random.shuffle(np.arange(3)), X)


# NumPy's own.


def test_numpys_random_numbers_are_frozen_and_the_audit_tells_them() -> None:
    def frozen(x: Any) -> Any:
        return np.sum(x * np.random.normal(size=4))

    made = ps.split(frozen, X)
    assert made.program(X) == made.program(X)
    draw, array = frozen_values(made.program, frozen)
    assert (array.type, draw.name) == ("float64[4]", "np.random.normal()")
    assert array.place is not None
    assert "np.random.normal" in array.place.source
