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


def branching(x, w):
    h = x[0] * 0.0
    for i in range(30):
        step = np.tanh(w * h + x[i])
        if np.sum(step * step) > 0.5:
            step = step * 0.5 + h
        elif step[0] < 0:
            step = step + 0.01 * np.cos(w)
        h = h + 0.1 * step
    return h.sum()


def halved_while_long(x, w):
    h = w * 1.0
    for i in range(8):
        h = ps.while_loop(lambda s: np.sum(s * s) > 1.0, lambda s: s * 0.5, h + x[i])
        h = np.where(h > 0, np.sin(h), h * w)
    return h.sum()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "least"), [(branching, 28), (halved_while_long, 7)])
def test_steps_with_branches_and_loops_fold_too(function, least, tmp_path: Path) -> None:
    program = ps.trace(function, *SPECS)
    folded = program.folded()
    assert sum(op.kind == "call::step" for op in folded.block.ops) >= least
    random = np.random.default_rng(0)
    ps.split(folded).save(tmp_path / "folded.onnx", form="functions")
    session = onnxruntime.InferenceSession(tmp_path / "folded.onnx")
    unrolled, joint = ps.split(program).joint(), ps.split(folded).joint()
    for scale in (0.3, 1.0, 3.0):
        x, w = random.normal(size=(50, 3)) * scale, random.normal(size=3)
        np.testing.assert_allclose(folded(x, w), function(x, w), rtol=1e-12)
        plain = unrolled(x, w)
        for found in (joint(x, w), session.run(None, {"x": x, "w": w})):
            for a, b in zip(plain, found, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14)


def test_branches_that_read_other_values_are_told_apart() -> None:
    def f(x):
        a, b = x[0], x[1]
        for i in range(12):
            other = a if i % 3 else b
            a, b = ps.cond(a > b, lambda p, q, r: (p * 0.5 + r, q), lambda p, q, r: (q, p - r), a, b, other * 0.3)
        return a - 2 * b

    program = ps.trace(f, ps.spec("float64", [2]))
    for x in (np.array([0.3, 0.7]), np.array([0.9, -0.2])):
        np.testing.assert_allclose(program.folded()(x), f(x), rtol=1e-14)


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
