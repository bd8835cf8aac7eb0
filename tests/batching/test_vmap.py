"""`vmap`: axes, structures, sizes, and its meeting with other transforms."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.counters import Counters
from primsplit.errors import ShapeError, SpecError
from primsplit.ir import walk
from primsplit.ops import op

RANDOM = np.random.default_rng(0)
X, Y, W = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(3, 5)), RANDOM.normal(size=(3, 4))


def same(found: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("axes", "arguments", "wanted"),
    [
        (0, (X, X), X * X + X),
        ((0, 1), (X, Y), X * Y.T + X),
        ((-2, np.int64(-1)), (X, Y), X * Y.T + X),
        ([1, None], (Y, X[0]), Y.T * X[0] + Y.T),
        ((None, 0), (X[0], X), X[0] * X + X[0]),
    ],
)
def test_in_axes_say_where_the_examples_of_each_argument_lie(axes: Any, arguments: Any, wanted: np.ndarray) -> None:
    same(ps.vmap(lambda x, y: x * y + x, in_axes=axes)(*arguments), wanted)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_out_axes_say_where_the_batch_goes(axis: int) -> None:
    found = ps.vmap(lambda x: x[:, None] * W, out_axes=axis)(X)
    same(found, np.moveaxis(X[:, :, None] * W, 0, axis))


def test_axes_are_nested_like_arguments_and_results() -> None:
    def layer(params: dict[str, Any], data: tuple[Any, Any]) -> dict[str, Any]:
        x, scale = data
        return {"y": np.tanh(x @ params["w"] + params["b"]) * scale, "parts": (x, params["b"])}

    params, scales = {"w": W, "b": RANDOM.normal(size=(4, 5))}, np.arange(5.0)
    mapped = ps.vmap(layer, in_axes=({"w": None, "b": 1}, (0, 0)), out_axes={"y": 0, "parts": (1, -1)})
    found = mapped(params, (X, scales))
    same(found["y"], np.tanh(X @ W + params["b"].T) * scales[:, None])
    same(found["parts"][0], X.T)
    same(found["parts"][1], params["b"])


def test_keyword_arguments_are_mapped_over_their_first_axis_and_static_ones_are_passed_on() -> None:
    found = ps.vmap(lambda x, *, shift, power: (x + shift) ** power)(X, shift=X[:, 0], power=2)
    same(found, (X + X[:, :1]) ** 2)


def test_an_element_of_a_vector_is_a_number() -> None:
    def accumulate(x: Any) -> Any:
        total = x
        total += 1.0
        return total * x

    same(ps.vmap(accumulate)(X[:, 0]), (X[:, 0] + 1) * X[:, 0])


def test_what_all_examples_share_is_computed_once() -> None:
    program = ps.trace(ps.vmap(lambda x, w: x @ np.tanh(w).T, in_axes=(0, None)), X[:, 1:], W[:, :2])
    tanh = next(o for o in program.block.ops if o.kind == "Tanh")
    assert tanh.outputs[0].type.shape == (3, 2)


def test_a_result_that_all_examples_share_is_repeated_or_with_out_axes_none_given_once() -> None:
    def both(x: Any, w: Any) -> Any:
        return x.sum(), w + 1.0

    total, shared = ps.vmap(both, in_axes=(0, None), out_axes=(0, None))(X, W)
    same(total, X.sum(axis=1))
    same(shared, W + 1)
    same(ps.vmap(both, in_axes=(0, None))(X, W)[1], np.stack([W + 1] * 5))


@pytest.mark.parametrize("size", [0, 1, 4])
def test_the_size_of_the_batch_may_be_known_only_at_run_time(size: int) -> None:
    def features(x: Any) -> Any:
        y = x.reshape(x.shape[0] * 2, -1)
        return np.concatenate([y.sum(axis=0), y.max(axis=0)]) / x.size, np.sort(x, axis=0)[0] @ np.ones((6, 2))

    program = ps.trace(ps.vmap(features), ps.spec("float64", ["B", "N", 6]))
    x = RANDOM.normal(size=(size, 3, 6))
    first, second = program(x)
    y = x.reshape(size, 6, 3)
    same(first, np.concatenate([y.sum(axis=1), y.max(axis=1)], axis=1) / 18)
    same(second, np.min(x, axis=1).sum(axis=1)[:, None] * np.ones(2))


def test_a_shape_is_that_of_one_example_and_no_batch() -> None:
    def shaped(x: Any) -> Any:
        return op.Shape(x), op.Size(x), x.reshape(-1, x.shape[0])

    program = ps.trace(ps.vmap(shaped, out_axes=(None, None, 0)), ps.spec("float64", ["B", "N", 4]))
    sizes, count, turned = program(np.ones((2, 3, 4)))
    assert sizes.tolist() == [3, 4]
    assert count == 12
    assert turned.shape == (2, 4, 3)


def _sum(x: Any, y: Any) -> Any:
    return x + y


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ps.vmap(_sum)(X, X[:4]), ShapeError, "sizes 5 and 4, which differ"),
        (lambda: ps.vmap(_sum, in_axes=(0, 2))(X, X), ShapeError, "axis 2 of argument 1"),
        (lambda: ps.vmap(lambda p: p["w"])({"w": W.sum()}), ShapeError, r"axis 0 of argument 0\['w'\]"),
        (lambda: ps.vmap(_sum, in_axes=True)(X, X), SpecError, "True, which is no axis"),
        (lambda: ps.vmap(_sum, in_axes=(0, 1.5))(X, X), SpecError, "1.5, which is no axis"),
        (lambda: ps.vmap(_sum)(X, 1.0), ShapeError, "axis 0"),
        (lambda: ps.vmap(_sum, in_axes=(0, 0, 0))(X, X), SpecError, "does not fit 2"),
        (lambda: ps.vmap(_sum, in_axes=(0, (0, 1)))(X, X), SpecError, "does not fit the structure"),
        (lambda: ps.vmap(_sum, in_axes=None)(X, X), SpecError, "no axis to map over"),
        (lambda: ps.vmap(_sum, out_axes=None)(X, X), ShapeError, "out_axes is None"),
        (lambda: ps.vmap(_sum, out_axes=2)(X[:, 0], X[:, 0]), ShapeError, "out_axes is 2"),
        (lambda: ps.vmap(lambda x, n: x * n)(X, 2), SpecError, "static int"),
        (lambda: ps.trace(ps.vmap(_sum), ps.spec("float64", ["N"]), ps.spec("float64", ["M"])), ShapeError, "N and M"),
    ],
)
def test_axes_that_do_not_fit_are_told_at_the_users_line(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    told = str(caught.value)
    assert "test_vmap.py" in told
    assert len(told.splitlines()) < 10


def test_a_result_whose_size_differs_between_examples_is_refused_at_its_line() -> None:
    with pytest.raises(ShapeError, match="would differ between examples") as caught:
        ps.vmap(lambda x: x[x > 0])(X)
    assert "test_vmap.py" in str(caught.value)


def test_what_a_mask_picks_may_be_reduced_and_differentiated() -> None:
    def picked(x: Any) -> Any:
        return (x[x > 0] ** 3).sum() * x[0]

    positive = np.where(X > 0, X, 0)
    same(ps.vmap(picked)(X), (positive**3).sum(axis=1) * X[:, 0])
    wanted = 3 * positive**2 * X[:, :1]
    wanted[:, 0] += (positive**3).sum(axis=1)
    same(ps.vmap(ps.grad(picked))(X), wanted)
    same(ps.grad(lambda x: ps.vmap(picked)(x).sum())(X), wanted)
    second = ps.vmap(lambda x: ps.grad(lambda y: (y[y > 0] ** 3).sum())(x) * 2.0)
    same(ps.grad(lambda x: second(x).sum())(X), 12 * positive)


def test_a_mask_that_writes_keeps_the_size() -> None:
    def rectified(x: Any) -> Any:
        y = x.copy()
        y[y < 0] = 0.0
        return y * np.arange(1.0, 4.0)

    same(ps.vmap(rectified)(X), np.maximum(X, 0) * [1, 2, 3])


def test_several_masks_in_a_row_make_several_regions() -> None:
    def halves(x: Any) -> Any:
        above = x[x > 0].sum()
        return above, x[x < above].sum()

    above, below = ps.vmap(halves)(X)
    same(above, [x[x > 0].sum() for x in X])
    same(below, [x[x < a].sum() for x, a in zip(X, above, strict=True)])


def test_vmap_of_vmap_is_a_batch_of_batches() -> None:
    distances = ps.vmap(ps.vmap(lambda a, b: np.sqrt(((a - b) ** 2).sum()), in_axes=(None, 0)), in_axes=(0, None))
    same(distances(X, Y.T), np.sqrt(((X[:, None] - Y.T[None]) ** 2).sum(axis=-1)))
    program = ps.trace(distances, ps.spec("float64", ["A", 3]), ps.spec("float64", ["B", 3]))
    assert program(X[:2], X[:0]).shape == (2, 0)


@pytest.mark.parametrize(
    "one",
    [
        lambda x: np.linalg.solve(np.outer(x, x) + np.eye(3), x),
        lambda x: np.sort(x)[::-1].cumsum(),
        lambda x: np.where(x > 0, x, 0)[np.argsort(x)],
        lambda x: op.Gather(W, op.ArgMax(x, axis=0), axis=1),
        lambda x: x[x > 0].sum(),
    ],
)
def test_a_batch_of_batches_is_that_of_all_examples(one: Any) -> None:
    whole = np.stack([X, 2 * X, -X])
    flat = ps.vmap(one)(whole.reshape(15, 3))
    found = ps.vmap(ps.vmap(one))(whole)
    same(found.reshape(flat.shape), flat)


def _loss(w: Any, x: Any, y: Any) -> Any:
    return (np.tanh(x @ w) ** 2).sum() * y


def test_per_example_gradients_are_those_of_each_example() -> None:
    found = ps.vmap(ps.grad(_loss), in_axes=(None, 0, 0))(W, X, X[:, 0])
    one = ps.grad(_loss)
    same(found, np.stack([one(W, x, y) for x, y in zip(X, X[:, 0], strict=True)]))


def test_the_gradient_of_a_batch_is_the_sum_of_per_example_gradients() -> None:
    found = ps.grad(lambda w: ps.vmap(_loss, in_axes=(None, 0, 0))(w, X, X[:, 0]).sum())(W)
    same(found, ps.vmap(ps.grad(_loss), in_axes=(None, 0, 0))(W, X, X[:, 0]).sum(axis=0))


def test_a_pullback_of_a_batch_of_cotangents_is_a_jacobian() -> None:
    def jacobian(x: Any) -> Any:
        _, pullback = ps.vjp(lambda v: np.tanh(v @ W), x)
        (rows,) = ps.vmap(pullback)(np.eye(4))
        return rows

    same(ps.trace(jacobian, X[0])(X[0]), (1 - np.tanh(X[0] @ W) ** 2)[:, None] * W.T)


def test_a_batch_of_hessians() -> None:
    def hessian(x: Any) -> Any:
        def slope(v: Any) -> Any:
            return ps.vjp(ps.grad(lambda u: np.sin(u).prod()), x)[1](v)[0]

        return ps.vmap(slope)(np.eye(3))

    found = ps.vmap(hessian)(X)
    s, c = np.sin(X), np.cos(X)
    for h, sines, cosines in zip(found, s, c, strict=True):
        for i in range(3):
            for j in range(3):
                factors = [-sines[k] if i == j == k else cosines[k] if k in {i, j} else sines[k] for k in range(3)]
                assert abs(h[i, j] - np.prod(factors)) < 1e-12


@pytest.mark.parametrize("one", [lambda x: np.tanh(x @ W).prod(), lambda x: (x[x > 0] ** 3).sum() * x[1]])
def test_forward_mode_goes_through_a_batch_and_a_batch_through_forward_mode(one: Any) -> None:
    wanted = np.stack([ps.jvp(one, (x,), (x + 1,))[1] for x in X])
    same(ps.jvp(ps.vmap(one), (X,), (X + 1,))[1], wanted)
    same(ps.vmap(lambda x: ps.jvp(one, (x,), (x + 1,))[1])(X), wanted)
    same(ps.vmap(ps.hessian(one))(X), np.stack([ps.hessian(one)(x) for x in X]))


def test_what_the_function_reads_from_around_it_is_shared_and_differentiated() -> None:
    def total(w: Any) -> Any:
        return ps.vmap(lambda x: np.tanh(x @ w))(X).sum()

    same(ps.grad(total)(W), X.T @ (1 - np.tanh(X @ W) ** 2))


@ps.primitive
def _cube(x: Any, scale: Any) -> Any:
    return x**3 * scale


@ps.rrule(_cube)
def _cube_rule(x: Any, scale: Any) -> Any:
    return _cube(x, scale), lambda dy: (100 * dy * x, dy.sum())


def test_a_primitive_keeps_its_rule_in_a_batch() -> None:
    same(ps.vmap(_cube, in_axes=(0, None))(X, 2.0), X**3 * 2)

    def total(x: Any, scale: Any) -> Any:
        return ps.vmap(_cube, in_axes=(0, None))(x, scale).sum()

    dx, d_scale = ps.grad(total, wrt=(0, 1))(X, 2.0)
    same(dx, 100 * X)
    same(d_scale, 15.0)
    same(ps.vmap(ps.grad(lambda x: _cube(x, 2.0).sum()))(X), 100 * X)


def test_no_gradient_flows_through_a_stopped_batch() -> None:
    found = ps.grad(lambda x: ps.vmap(lambda v: ps.stop_gradient(v) * v)(x).sum())(X)
    same(found, X)


def test_the_floor_is_differentiated_by_the_rule_of_what_it_loops_over() -> None:
    def layer(w: Any, x: Any) -> Any:
        sequence, *_ = op.LSTM(x, w, op.Concat(w, w, axis=2)[:, :, :2], hidden_size=2, outputs=3)
        return (sequence**2).sum()

    weights, data = RANDOM.normal(size=(4, 1, 8, 1)), RANDOM.normal(size=(3, 2, 1))
    program = ps.trace(ps.vmap(layer, in_axes=(0, None)), weights, data)
    assert [o.kind for o in program.block.ops if "LSTM" in o.kind] == ["call::each_LSTM"]
    one = ps.grad(layer, wrt=(0, 1))
    wanted = [one(w, data) for w in weights]
    total = ps.grad(lambda w, x: ps.vmap(layer, in_axes=(0, None))(w, x).sum(), wrt=(0, 1))
    dw, dx = total(weights, data)
    same(dw, np.stack([w for w, _ in wanted]))
    same(dx, sum(x for _, x in wanted))


def test_the_floor_has_derivatives_of_any_order() -> None:
    def cut(x: Any, k: Any) -> Any:
        return (op.Trilu(x, k) ** 3).sum()

    squares, diagonals = RANDOM.normal(size=(3, 4, 4)), np.array([-1, 0, 2])
    mapped = ps.vmap(cut)
    second = ps.grad(lambda x: (ps.grad(lambda v: mapped(v, diagonals).sum())(x) ** 2).sum())
    kept = np.stack([np.triu(x, k) for x, k in zip(squares, diagonals, strict=True)])
    same(second(squares), 36 * kept**3)


def test_a_loaded_model_is_batched(tmp_path: Path) -> None:
    path = str(tmp_path / "layer.onnx")
    ps.trace(lambda x, w: np.tanh(x @ w).sum(axis=0), ps.spec("float64", ["N", 3]), ps.spec("float64", [3, 4])).save(
        path
    )
    model = ps.load(path)
    stacks = RANDOM.normal(size=(2, 5, 3))
    found = ps.vmap(model, in_axes=(0, None))(stacks, W)
    same(found, np.tanh(stacks @ W).sum(axis=1))
    slopes = ps.vmap(ps.grad(lambda x: model(x, W).sum()))(stacks)
    same(slopes, (1 - np.tanh(stacks @ W) ** 2) @ W.T)


def test_a_batch_is_one_file_of_standard_operators(tmp_path: Path) -> None:
    path = str(tmp_path / "batch.onnx")
    ps.trace(
        ps.vmap(ps.grad(_loss), in_axes=(None, 0, 0)), W, ps.spec("float64", ["B", 3]), ps.spec("float64", ["B"])
    ).save(path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert {n.domain for n in model.graph.node} == {""}
    assert not model.functions


def test_a_batch_is_traced_once() -> None:
    mapped = ps.vmap(lambda x: np.sin(x).sum())
    mapped(X)
    before = Counters.traces
    for _ in range(3):
        mapped(X)
    assert Counters.traces == before


def test_a_product_behind_a_padding_is_that_of_each_example() -> None:
    # onnxruntime moves a Transpose past a Pad of some axes wrongly, so that all axes are named.
    z = RANDOM.normal(size=(2, 3))

    def loss(x: Any) -> Any:
        y = z @ x
        return np.cos(y + y[:1]).sum()

    batch = RANDOM.normal(size=(4, 3, 2))
    one = ps.grad(loss)
    same(ps.vmap(one)(batch), np.stack([one(x) for x in batch]))


@ps.primitive
def _bent(x: Any) -> Any:
    return np.abs(x) * x


@ps.frule(_bent)
def _bent_forward(x: Any) -> Any:
    y = np.tanh(x)
    return _bent(x), lambda tx: 10 * y * tx


def test_a_primitive_keeps_its_forward_rule_in_a_batch() -> None:
    wanted = 10 * np.tanh(X) * (X + 1)
    same(ps.jvp(ps.vmap(_bent), (X,), (X + 1,))[1], wanted)
    same(ps.vmap(lambda x: ps.jvp(_bent, (x,), (x + 1,))[1])(X), wanted)
    same(ps.grad(lambda x: ps.vmap(_bent)(x).sum())(X), 10 * np.tanh(X))


@pytest.mark.parametrize("count", [2, 0])
@pytest.mark.parametrize("size", [3, 1, 0])
def test_the_gradient_of_a_call_in_a_batch_has_no_loop_over_the_examples(count: int, size: int) -> None:
    """What the call keeps of shapes is that of one example, which all share."""
    energy = ps.cached(lambda x, t: np.sum(x * x) * t)
    specs = ps.spec("float64", ["B", "N"]), ps.spec("float64", ["B"])
    program = ps.trace(ps.vmap(ps.grad(energy, wrt=(0, 1))), *specs)
    assert not any(o.kind == "Loop" for o in walk(program.block))
    x, t = np.arange(1.0, count * size + 1).reshape(count, size), np.arange(1.0, count + 1)
    by_x, by_t = program(x, t)
    np.testing.assert_array_equal(by_x, 2.0 * x * t[:, None])
    np.testing.assert_array_equal(by_t, np.sum(x * x, axis=1))


def test_an_output_that_examples_share_stays_so_where_a_rule_makes_it_of_one_that_differs() -> None:
    @ps.primitive
    def with_size(x: Any) -> Any:
        return np.sum(x * x), np.int64(3)

    @ps.rrule(with_size)
    def rule(x: Any) -> Any:
        count = np.sum((x < np.inf).astype(np.int64))
        return (np.sum(x * x), count), lambda d: (2.0 * d[0] * x,)

    def f(x: Any) -> Any:
        value, count = with_size(x)
        return value * count

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(ps.vmap(f)(x), 3.0 * np.sum(x * x, axis=1))
    np.testing.assert_array_equal(ps.vmap(ps.grad(f))(x), 6.0 * x)
    np.testing.assert_array_equal(ps.vmap(ps.hessian(f))(x), np.broadcast_to(6.0 * np.eye(3), (2, 3, 3)))
