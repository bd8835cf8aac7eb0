"""Primitives that are not inlined: one op for what differentiates them, and functions of their own in a file."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.programs.export import derive
from primsplit.testing import check_rrule
from primsplit.tracing import trees


def model(*, inline: bool) -> Any:
    @ps.primitive(inline=inline)
    def layer(x: Any, w: Any, b: Any) -> Any:
        return np.tanh(x @ w + b)

    def loss(x: Any, w: Any, b: Any) -> Any:
        return np.sum(layer(layer(x, w, b), w, b) ** 2)

    return loss


RANDOM = np.random.default_rng(0)
ARGS = (RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((3, 3)), RANDOM.standard_normal(3))
SPECS = (ps.spec("float64", ["N", 3]), ps.spec("float64", [3, 3]), ps.spec("float64", [3]))


def saved(tmp_path: Path, *, inline: bool) -> onnx.ModelProto:
    path = str(tmp_path / f"inline_{inline}.onnx")
    ps.export(model(inline=inline), *SPECS, path=path, form="functions")
    found = onnx.load(path)
    onnx.checker.check_model(found, full_check=True)
    return found


def nodes(function: onnx.FunctionProto) -> list[str]:
    return [n.op_type for n in function.node]


def test_a_file_of_functions_keeps_the_boundary(tmp_path: Path) -> None:
    functions = {f.name: nodes(f) for f in saved(tmp_path, inline=False).functions}
    assert set(functions) == {"layer", "loss", "layer__pullback", "loss__pullback"}
    assert functions["loss"].count("layer") == 2
    assert functions["loss__pullback"].count("layer__pullback") == 2
    assert "Tanh" in functions["layer"]
    assert {f.name for f in saved(tmp_path, inline=True).functions} == {"loss", "loss__pullback"}


def test_the_numbers_and_the_graph_that_onnxruntime_runs_are_the_same(tmp_path: Path) -> None:
    """Functions are inlined when a model is loaded: the file's nodes differ, those that are run do not."""
    found, kinds, written = [], [], []
    for inline in (True, False):
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(tmp_path / f"loaded_{inline}.onnx")
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        proto = saved(tmp_path, inline=inline)
        written.append({f.name: nodes(f) for f in proto.functions})
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found.append(session.run(None, dict(zip(("x", "w", "b"), ARGS, strict=True))))
        loaded = onnx.load(options.optimized_model_filepath).graph
        kinds.append(sorted(n.op_type for n in loaded.node))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert written[0] != written[1]
    assert kinds[0] == kinds[1]
    assert not {k for k in kinds[1] if k.startswith("layer")}


def test_outer_transforms_see_one_op() -> None:
    split = ps.split(model(inline=False), *SPECS)
    kinds = [op.kind for op in split.pullback.ops]
    assert kinds.count("call::layer__pullback") == 2
    assert [op.kind for op in split.primal.ops].count("call::layer") == 2
    assert "Tanh" not in kinds


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: ps.grad(f, (0, 1, 2)),
        lambda f: ps.hessian(f, 2),
        lambda f: ps.grad(lambda *a: np.sum(ps.grad(f, 2)(*a) ** 2), (0, 1, 2)),
        lambda f: lambda *a: ps.jvp(f, a, a),
        lambda f: ps.jacobian(ps.grad(f), 1, chunk=2),
        lambda f: lambda x, w, b: ps.vmap(ps.grad(f), in_axes=(0, None, None))(np.stack([x, 2.0 * x]), w, b),
    ],
    ids=["gradient", "hessian", "twice reverse", "forward", "chunks", "vmap"],
)
def test_derivatives_of_any_kind_are_those_of_the_inlined_function(transform: Any) -> None:
    found, wanted = (trees.flatten(transform(model(inline=i))(*ARGS))[0] for i in (False, True))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_a_rule_of_its_own_goes_before_the_boundary() -> None:
    double = ps.primitive(lambda x: x * 2.0, name="double", inline=False)
    ps.rrule(double)(lambda x: (double(x), lambda dy: (dy * 100.0,)))
    assert ps.grad(double)(1.0) == 100.0


def test_a_primitive_with_several_results_and_captured_intermediates() -> None:
    @ps.primitive(inline=False)
    def both(x: Any) -> Any:
        inner = np.exp(np.sin(x))
        return inner * x, np.sum(inner**2)

    def f(x: Any) -> Any:
        a, b = both(x)
        return a * b

    check_rrule(f, np.array([0.3, -0.5, 1.0]), only=["differences", "second_order", "forward", "sizes"])


@pytest.mark.parametrize("kept", ["cached", "bounded"])
def test_sizes_that_data_tell_stay_apart_in_calls_that_are_used_and_inlined_twice(kept: str) -> None:
    def picked(x: Any) -> Any:
        return np.sum(np.sin(x[x > 0]) ** 3)

    call = ps.cached(picked) if kept == "cached" else ps.primitive(picked, inline=False)

    def twice(f: Any) -> Any:
        return lambda x: f(x) * f(-2.0 * x)

    x = np.array([0.5, -1.0, 2.0, 0.3])
    for transform in (ps.grad, ps.hessian):
        np.testing.assert_allclose(transform(twice(call))(x), transform(twice(picked))(x), rtol=1e-12, atol=1e-14)
    rows = np.stack([x, -x])
    np.testing.assert_allclose(ps.vmap(ps.grad(call))(rows), ps.vmap(ps.grad(picked))(rows), rtol=1e-12)
    made = derive(twice(call), ps.spec("float64", ["N"]), mode="hessian")
    assert isinstance(made, ps.Program)
    for point in (x, x[:1], x[:0]):
        np.testing.assert_allclose(made(point)[2], ps.hessian(twice(picked))(point), rtol=1e-12, atol=1e-14)
