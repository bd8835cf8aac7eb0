"""Recurrent layers over no steps or for no examples, and Einsum of nothing, where onnxruntime ends the process."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.targets.finish import finish

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
HIDDEN, SIZE = 3, 2


def layer(kind: str, dtype: str, steps: Any = "T", batch: Any = "N") -> Any:
    """The gradient file of a layer that reads in both directions, and its weights."""
    random = np.random.default_rng(0)
    rows = GATES[kind] * HIDDEN
    weights = [random.standard_normal(s).astype(dtype) for s in ((2, rows, SIZE), (2, rows, HIDDEN), (2, 2 * rows))]

    def loss(x: Any, start: Any, w: Any, r: Any, b: Any) -> Any:
        states = [start] * (2 if kind == "LSTM" else 1)
        y, *ends = getattr(op, kind)(
            x, w, r, b, None, *states, outputs=1 + len(states), hidden_size=HIDDEN, direction="bidirectional"
        )
        return np.sum(y**2), *ends

    specs = [ps.spec(dtype, [steps, batch, SIZE]), ps.spec(dtype, [2, batch, HIDDEN])]
    made = ps.split(loss, *specs, *(ps.spec(dtype, list(w.shape)) for w in weights), seed="ones")
    return made.joint(), weights


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(("steps", "batch"), [(0, 2), (3, 0), (0, 0), (1, 1)])
def test_a_layer_takes_empty_arrays_forward_and_back(kind: str, dtype: str, steps: int, batch: int) -> None:
    file, weights = layer(kind, dtype)
    x, start = np.ones((steps, batch, SIZE), dtype), np.ones((2, batch, HIDDEN), dtype)
    value, *found = file(x, start, *weights)
    states = 2 if kind == "LSTM" else 1
    assert [a.shape for a in found] == [start.shape] * states + [a.shape for a in (x, start, *weights)]
    if steps and batch:
        assert value > 0
    else:
        assert value == 0
        assert not any(np.any(a) for a in found)


def test_a_layer_that_is_never_empty_is_left_alone() -> None:
    file, _ = layer("GRU", "float32", 3, 2)
    assert all(inner.kind != "If" for inner in walk(finish(file.block)))


@pytest.mark.parametrize(("terms", "result", "shapes"), [
    (("a", "da"), "d", [(0,), (2, 0)]), (("bij", "bji"), "b", [(0, 2, 3), (0, 3, 2)]),
])  # fmt: skip
def test_an_einsum_of_empty_arrays_and_its_gradient_are_numpys(terms: Any, result: str, shapes: Any) -> None:
    equation = f"{','.join(terms)}->{result}"

    def product(x: Any, y: Any) -> Any:
        return op.Einsum(x, y, equation=equation)

    gradient = ps.grad(lambda x, y: np.sum(product(x, y) ** 2), wrt=(0, 1))
    specs = [ps.spec("float64", list(term)) for term in terms]
    program = ps.trace(lambda x, y: (product(x, y), *gradient(x, y)), *specs)
    for given in ([np.ones(s) for s in shapes], [np.ones([max(n, 1) for n in s]) for s in shapes]):
        value, *found = program(*given)
        np.testing.assert_array_equal(value, np.einsum(equation, *given))
        assert [a.shape for a in found] == [a.shape for a in given]


def chosen_sum(x: Any, axes: Any) -> Any:
    return op.ReduceSum(x, axes, keepdims=1, noop_with_empty_axes=1)


def test_a_sum_along_axes_that_the_run_knows_has_an_axis_to_sum_along_where_it_is_empty() -> None:
    program = ps.trace(chosen_sum, ps.spec("float64", ["N", "M"]), ps.spec("int64", ["K"]))
    written = finish(program.block)
    (choice,) = (step for step in written.ops if step.kind == "If")
    sums = [step for step in walk(choice.attributes["then_branch"]) if step.kind == "ReduceSum"]
    assert not any(step.attributes.get("noop_with_empty_axes") for step in sums)
    run = program.session()
    for shape in ((0, 3), (0, 1), (2, 0), (2, 3)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        for axes in ((), (0,), (1,), (-1,), (0, 1)):
            wanted = np.sum(x, axes, keepdims=True) if axes else x
            found = run(x, np.array(axes, np.int64))[0]
            assert found.shape == wanted.shape
            np.testing.assert_array_equal(found, wanted)


def test_a_sum_of_what_is_never_empty_stands_alone() -> None:
    program = ps.trace(chosen_sum, ps.spec("float64", [2, 3]), ps.spec("int64", ["K"]))
    assert [step.kind for step in finish(program.block).ops] == ["ReduceSum"]
