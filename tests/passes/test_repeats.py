"""The steps of an unrolled loop become calls of one function."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps


def unrolled(x, w):
    h = x[0] * 0.0
    for i in range(50):
        h = np.tanh(w * h + x[i]) + 0.001 * i * h
    return h.sum() + x.sum()


SPECS = (ps.spec("float64", [50, 3]), ps.spec("float64", [3]))


@pytest.mark.filterwarnings("ignore")
def test_a_python_loop_folds_into_calls_of_one_step() -> None:
    program = ps.trace(unrolled, *SPECS)
    folded = program.folded()
    calls = [op for op in folded.block.ops if op.kind == "call::step"]
    assert len(calls) >= 45
    assert len({id(op.attributes["body"]) for op in calls}) == 1
    assert len(folded.block.ops) < len(program.block.ops) / 3


@pytest.mark.filterwarnings("ignore")
def test_the_numbers_and_the_gradient_stay() -> None:
    random = np.random.default_rng(0)
    x, w = random.normal(size=(50, 3)) * 0.3, random.normal(size=3) * 0.3
    program = ps.trace(unrolled, *SPECS)
    plain, folded = (ps.split(p).joint()(x, w) for p in (program, program.folded()))
    for a, b in zip(plain, folded, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_what_does_not_repeat_stays_as_it_is() -> None:
    program = ps.trace(lambda x: np.sin(x) * np.cos(x) + np.tanh(x), ps.spec("float64", [3]))
    assert program.folded().block is program.block


def test_steps_that_read_other_values_of_the_step_before_are_told_apart() -> None:
    def f(x):
        a, b = x[0], x[1]
        for i in range(12):
            a, b = (b * 0.5 + a, a) if i % 2 else (a * 0.5 + b, b)
        return a * b

    program = ps.trace(f, ps.spec("float64", [2]))
    folded = program.folded()
    x = np.array([0.3, 0.7])
    assert folded(x) == program(x)


@pytest.mark.filterwarnings("ignore")
def test_a_file_of_functions_keeps_the_step_as_one_function_and_its_pullback_as_another(tmp_path: Path) -> None:
    path = tmp_path / "folded.onnx"
    ps.split(ps.trace(unrolled, *SPECS).folded()).save(path, form="functions")
    sizes = {function.name: len(function.node) for function in onnx.load(path).functions}
    assert set(sizes) == {"step__forward", "step__pullback", "unrolled", "unrolled__pullback"}
    x, w = np.full((50, 3), 0.1), np.full(3, 0.2)
    found = onnxruntime.InferenceSession(path).run(None, {"x": x, "w": w})
    np.testing.assert_allclose(found[0], unrolled(x, w))
    slope = (unrolled(x, w + 1e-5) - unrolled(x, w - 1e-5)) / 2e-5
    np.testing.assert_allclose(np.sum(found[2]), slope, rtol=1e-8)
