"""Recomputed ops stay apart from the primal in one file, and are run late, by onnxruntime too."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir import Block, Type, Var
from primsplit.ir.dims import symbol
from primsplit.onnx.save import serialize, to_model
from primsplit.programs.flat import flat_program
from primsplit.rewrites.rematerialize import LATER, later, write_later
from primsplit.targets.finish import finish
from tools.bench import lifetimes

LAYERS = 12


def layer(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = np.tanh(x @ w)
    return x


def split_of(block: Any, policy: Any = "default", rows: Any = 64) -> ps.SplitProgram:
    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = block(w, x)
        return np.mean(x * x)

    specs = [ps.spec("float32", [16, 16])] * LAYERS, ps.spec("float32", [rows, 16])
    return ps.split(loss, *specs, wrt="weights", policy=policy)


def optimized(made: ps.SplitProgram, folder: Path) -> Counter[str]:
    """Return the number of nodes of each kind that onnxruntime leaves in the joint file."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(made.joint().to_onnx().SerializeToString(), options)
    return Counter(node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node)


@pytest.mark.parametrize("rows", [64, "N"])
def test_onnxruntime_runs_a_checkpointed_layer_twice_in_one_file(tmp_path: Path, rows: Any) -> None:
    assert optimized(split_of(layer, rows=rows), tmp_path)["Tanh"] == 3 * LAYERS
    assert optimized(split_of(ps.checkpoint(layer), rows=rows), tmp_path)["Tanh"] == 6 * LAYERS
    # The backward pass starts its segments from values of the forward pass, which are not computed again.
    assert 5 * LAYERS < optimized(split_of(layer, "nothing", rows=rows), tmp_path)["Tanh"] < 6 * LAYERS


def test_layers_that_are_computed_again_need_their_arguments_and_what_one_layer_needs(tmp_path: Path) -> None:
    """Of 36 activations 12 are kept, 3 are made again at once, and a cotangent and two factors are beside them."""

    def peak(made: ps.SplitProgram) -> float:
        nodes, results = lifetimes.profiled(made.joint().to_onnx().SerializeToString(), tmp_path)
        totals, _ = lifetimes.timeline(nodes, results)
        return float(max(totals)) / (64 * 16 * 4)

    assert peak(split_of(layer)) > 3 * LAYERS
    for made in (split_of(ps.checkpoint(layer)), split_of(layer, [f"x_{3 * i}" for i in range(1, LAYERS + 1)])):
        assert peak(made) < LAYERS + 3 + 4


def delayed(type: Type, after: Type) -> Block:
    x, d = Var(type, "x"), Var(after, "d")
    wait = later([x], [d])
    return Block("delayed", (x, d), (wait,), wait.outputs)


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (symbol("N"), 2)])
@pytest.mark.parametrize("after", [(), (2, 3), (symbol("M"), 0)])
def test_the_value_is_the_operand_bit_by_bit(shape: Any, after: Any) -> None:
    block = delayed(Type("float32", shape), Type("float32", after))
    program = flat_program(block, ["x", "d"], ["y"])
    given = np.resize(
        np.array([-0.0, np.nan, np.inf, 1e-45], np.float32), [d if isinstance(d, int) else 3 for d in shape]
    )
    cotangent = np.full([d if isinstance(d, int) else 2 for d in after], np.nan, np.float32)
    (found,) = program(given, cotangent)
    assert found.tobytes() == given.tobytes()
    assert found.shape == given.shape


def test_it_is_written_in_operators_that_touch_no_element() -> None:
    block = delayed(Type("float32", [4, 3]), Type("float32", [2]))
    written = [op.kind for op in finish(block).ops]
    assert written == ["Slice", "Reshape", "Cast", "Concat", "Reshape"]
    assert LATER not in written
    onnx.checker.check_model(serialize(to_model(finish(block))), full_check=True)


def test_a_value_of_unknown_rank_does_not_wait() -> None:
    for value, after in ((None, [2]), ([2], None)):
        block = delayed(Type("float32", value), Type("float32", after))
        written = write_later(block)
        assert written.ops == ()
        assert written.results == block.params[:1]
