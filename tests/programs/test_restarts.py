"""Files of training steps that draw random numbers with a seed warn: a step that is resumed draws other numbers."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RestartedDrawsWarning

W = ps.spec("float64", [4])


def draw(seed: int | None = 3) -> Any:
    return ps.random.uniform(0.0, 1.0, (4,), seed=seed) < 0.5


def step(w: Any, x: Any, seed: int | None = 3) -> Any:
    return w - 0.1 * ps.grad(lambda w: np.sum((w * draw(seed) * 2 - x) ** 2))(w)


def with_state() -> Callable[[Any], Any]:
    moment = ps.state("moment", np.zeros(4))

    def run(x: Any) -> Any:
        moment[...] = moment + draw() * x
        return np.sum(moment)

    return run


cached = ps.cached(lambda w: w * draw())


def in_a_loop(w: Any) -> Any:
    return ps.fori_loop(0, 3, lambda _, w: w * draw(), w)


WARN: dict[str, Callable[[Path], Any]] = {
    "a step": lambda path: ps.trace(step, W, W).save(path),
    "a state": lambda path: ps.trace(with_state(), W).save(path),
    "a gradient with a state": lambda path: ps.grad(with_state()).program(np.ones(4)).save(path),
    "export": lambda path: ps.export(step, W, W, path=path, mode="value"),
    "a protobuf": lambda path: ps.trace(step, W, W).to_onnx(),
    "a cached function": lambda path: ps.trace(lambda w: cached(w), W).save(path),
    "a loop": lambda path: ps.trace(in_a_loop, W).save(path),
    "both passes": lambda path: ps.split(lambda w: w * draw(), W).save(path, "split"),
    "functions": lambda path: ps.split(lambda w: w * draw(), W).save(path, "functions"),
}
SILENT: dict[str, Callable[[Path], Any]] = {
    "no seed": lambda path: ps.trace(lambda w, x: step(w, x, None), W, W).save(path),
    "no draw": lambda path: ps.trace(lambda w: w * 0.9, W).save(path),
    "a gradient": lambda path: ps.split(lambda w: np.sum(draw() * w), W).save(path),
    "both passes of a loss": lambda path: ps.split(lambda w: np.sum(draw() * w**2), W).save(path, "split"),
    "a mean of draws": lambda path: ps.trace(lambda s: np.mean(s * draw()), ps.spec("float64")).save(path),
    "a run": lambda path: ps.trace(step, W, W)(np.ones(4), np.ones(4)),
}


@pytest.mark.parametrize("name", WARN)
def test_what_hands_on_to_the_next_run_warns_at_the_line_of_the_draw(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WARN[name](tmp_path / "step.onnx")
    (warning,) = [w for w in caught if w.category is RestartedDrawsWarning]
    assert warning.filename == __file__
    assert "draws other numbers" in str(warning.message)


@pytest.mark.parametrize("name", SILENT)
def test_other_files_do_not(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RestartedDrawsWarning)
        SILENT[name](tmp_path / "loss.onnx")
