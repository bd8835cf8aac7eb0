"""`vmap`: axes, structures, sizes, masks, nesting, and files. Its derivatives are in `test_vmap_derivatives.py`."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.caching.counters import Counters
from primsplit.ir.errors import ShapeError, SpecError
from primsplit.ops import op

RANDOM = np.random.default_rng(0)
X, Y, W = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(3, 5)), RANDOM.normal(size=(3, 4))


def same(found: Any, wanted: Any) -> None:
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


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


def test_a_size_with_a_name_of_its_own_is_that_of_one_example() -> None:
    """The size of the product is told by its operator alone: its text is too long to be computed from the symbols."""

    def outer(x: Any, y: Any) -> Any:
        return np.outer(np.concatenate([x, x[1:], y]), np.concatenate([y, y[1:], x])).reshape(-1)

    rows, columns = (f"number_of_{name}_of_the_table" for name in ("the_first_rows", "the_last_columns"))
    program = ps.trace(ps.vmap(outer), ps.spec("float64", ["B", rows]), ps.spec("float64", ["B", columns]))
    x, y = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(3, 2))
    same(program(x, y), np.stack([outer(*pair) for pair in zip(x, y, strict=True)]))


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


RANKS = """
<ir_version: 10, opset_import: ["" : 21]>
agraph (double[N] x, bool summed) => (z) {
  z = If (summed) <
    then_branch = number () => (double a) { a = ReduceSum <keepdims = 0> (x) },
    else_branch = vector () => (double[N] b) { b = Neg (x) }
  >
}
"""


def test_a_rank_that_only_the_run_knows_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = str(tmp_path / "ranks.onnx")
    onnx.save(onnx.parser.parse_model(RANKS), path)
    with pytest.raises(ShapeError, match=r"rank of a float64 value is not known[^?]*specs="):
        ps.vmap(ps.load(path), in_axes=(0, None))(X, np.array(True))


NUMBER_OR_VECTOR = """
<ir_version: 10, opset_import: ["" : 21]>
agraph (double[3] x, bool whole) => (double[3] z) {
  y = If (whole) <
    then_branch = number () => (double a) { a = ReduceSum <keepdims = 0> (x) },
    else_branch = vector () => (double[1] b) { b = ReduceMax (x) }
  >
  w = Mul (x, y)
  half = Constant <value_float = 0.5> ()
  factor = CastLike (half, y)
  z = Mul (w, factor)
}
"""


@pytest.mark.parametrize("whole", [True, False])
def test_a_branch_that_gives_a_number_or_a_vector_has_a_batch(whole: bool, tmp_path: Path) -> None:
    """At most the dtype is read of its own rank."""
    path = str(tmp_path / "ranks.onnx")
    onnx.save(onnx.parser.parse_model(NUMBER_OR_VECTOR), path)
    model = ps.load(path)
    batch = ps.vmap(model, in_axes=(0, None))
    summed, largest = X.sum(axis=1, keepdims=True), X.max(axis=1, keepdims=True)
    same(batch(X, np.array(whole)), 0.5 * X * (summed if whole else largest))
    slope = summed + 0.0 * X if whole else 0.5 * (largest + (largest == X) * summed)
    same(ps.grad(lambda x: batch(x, np.array(whole)).sum())(X), slope)


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
