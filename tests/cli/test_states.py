"""`primsplit run --state`, and the other commands on a function that keeps states."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODEL = """
import numpy as np
import primsplit as ps

moment = ps.state("moment", np.zeros(3, np.float32))
weights = ps.state("weights", np.array([0.5, -0.25, 2.0], np.float32))
mode = "value"
specs = {"rows": "f32[N,3]", "target": "f32[N]"}


def step(rows, target):
    def loss(w):
        return np.mean((rows @ w - target) ** 2)

    value, slope = ps.value_and_grad(loss)(weights)
    moment[...] = np.float32(0.9) * moment + slope
    weights[...] = weights - np.float32(0.05) * moment
    return value


def example_inputs():
    return np.ones((7, 3), np.float32), np.zeros(7, np.float32)
"""
ROWS = np.random.default_rng(5).standard_normal((7, 3)).astype(np.float32)
FEEDS = {"rows": ROWS, "target": np.ones(7, np.float32)}
Run = Callable[..., Any]


def by_hand(steps: int) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Momentum's steps for the mean square of ROWS w - 1, in NumPy: the losses, the moment and the weights."""
    moment, weights, losses = np.zeros(3), np.array([0.5, -0.25, 2.0]), []
    for _ in range(steps):
        apart = ROWS @ weights - 1.0
        losses.append(float(np.mean(apart**2)))
        moment = 0.9 * moment + 2 * ROWS.T @ apart / 7
        weights = weights - 0.05 * moment
    return losses, moment, weights


@pytest.fixture
def path(model: Callable[..., Path], tmp_path: Path) -> Path:
    np.savez(tmp_path / "in.npz", **FEEDS)
    return model(MODEL)


@pytest.mark.parametrize("is_exported", [False, True])
def test_a_run_goes_on_where_the_last_one_left_the_states(is_exported: bool, path: Path, primsplit: Run) -> None:
    target, kept = path, path.with_name("state.npz")
    if is_exported:
        target = path.with_suffix(".onnx")
        assert primsplit("export", path, "--onnx", target).status == 0
    for count in (1, 2, 3):
        out = path.with_name("out.npz")
        done = primsplit("run", target, "--inputs", path.with_name("in.npz"), "--state", kept, "--out", out)
        assert done.status == 0, done.error
        losses, moment, weights = by_hand(count)
        with np.load(out) as found, np.load(kept) as states:
            np.testing.assert_allclose(found["y"], losses[-1], rtol=1e-4)
            assert sorted(states.files) == ["moment", "weights"]
            np.testing.assert_allclose(states["moment"], moment, rtol=1e-4)
            np.testing.assert_allclose(states["weights"], weights, rtol=1e-4)


def test_audit_lists_the_states(path: Path, primsplit: Run) -> None:
    done = primsplit("audit", path)
    assert done.status == 0, done.error
    assert "States: what calls hand on to the next" in done.out
    (found,) = primsplit("audit", path, "--json").json["files"]
    roles = {given["name"]: given["role"] for given in found["inputs"]}
    assert roles["state.moment.in"] == roles["state.weights.in"] == "state"
    assert found["states"] == [
        {
            "name": name,
            "type": "float32[3]",
            "bytes": 12,
            "initial": initial,
            "input": f"state.{name}.in",
            "output": f"state.{name}.out",
        }
        for name, initial in (("weights", "[0.5, -0.25, 2.0]"), ("moment", "[0.0, 0.0, 0.0]"))
    ]


def test_without_a_file_of_states_every_run_is_the_first(path: Path, primsplit: Run) -> None:
    for _ in range(2):
        done = primsplit("run", path, "--inputs", path.with_name("in.npz"), "--out", path.with_name("out.npz"))
        assert done.status == 0, done.error
        with np.load(path.with_name("out.npz")) as found:
            np.testing.assert_allclose(found["y"], by_hand(1)[0][0], rtol=1e-4)


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"moment": np.zeros(3)}, "the state moment must be float32, not float64"),
        ({"moment": np.zeros(4, np.float32)}, "the state moment has size 4 at axis 0, not 3"),
        ({"other": np.zeros(3)}, "holds other, which is no state"),
    ],
)
def test_a_file_of_states_that_does_not_fit_is_refused_by_name_and_left_alone(
    arrays: dict[str, np.ndarray], told: str, path: Path, primsplit: Run
) -> None:
    kept = path.with_name("state.npz")
    np.savez(kept, **arrays)
    done = primsplit("run", path, "--state", kept)
    assert done.status != 0
    assert told in done.error
    with np.load(kept) as found:
        assert found.files == list(arrays)


def test_a_run_whose_outputs_cannot_be_written_is_no_step(path: Path, primsplit: Run) -> None:
    kept = path.with_name("state.npz")
    assert primsplit("run", path, "--state", kept).status == 0
    before = kept.read_bytes()
    for out in ("missing/out.npz", "out.npy", "out.txt", "state.npz"):
        done = primsplit("run", path, "--state", kept, "--out", path.with_name(out) if "/" not in out else path / out)
        assert done.status == 1, out
        assert kept.read_bytes() == before


def test_outputs_and_states_go_to_two_files_also_where_there_is_neither_yet(path: Path, primsplit: Run) -> None:
    kept = path.with_name("both.npz")
    done = primsplit("run", path, "--state", kept, "--out", kept)
    assert (done.status, "would be written over" in done.error) == (1, True)
    assert not kept.exists()


def test_what_is_no_npz_and_a_program_without_states_are_refused(
    path: Path, primsplit: Run, model: Callable[..., Path]
) -> None:
    done = primsplit("run", path, "--state", path.with_name("state.txt"))
    assert (done.status != 0, "must be an .npz" in done.error) == (True, True)
    plain = model("def f(x):\n    return x * x\n\n\ndef example_inputs():\n    return (2.0,)\n", "plain.py")
    done = primsplit("run", plain, "--state", path.with_name("state.npz"))
    assert (done.status != 0, "keeps none" in done.error) == (True, True)


def test_an_export_of_the_function_alone_lists_the_pairs(path: Path, primsplit: Run) -> None:
    done = primsplit("export", path, "--onnx", path.with_suffix(".onnx"), "--json")
    assert done.status == 0, done.error
    assert [v["name"] for v in done.json["inputs"]] == ["rows", "target", "state.weights.in", "state.moment.in"]
    assert [v["name"] for v in done.json["outputs"]] == ["y", "state.weights.out", "state.moment.out"]


AVERAGING = """
import numpy as np
import primsplit as ps

mean = ps.state("mean", np.ones(3, np.float32))
calls = ps.state("calls", 0)


def distance(x):
    mean[...] = np.float32(0.5) * (mean + x)
    calls[...] = calls + 1
    return np.sum((x - mean) ** 2)


def example_inputs():
    return (np.array([1.0, 2.0, 3.0], np.float32),)
"""


def test_a_function_with_states_is_checked_from_where_they_start(primsplit: Run, model: Callable[..., Path]) -> None:
    path = model(AVERAGING)
    file = path.with_suffix(".onnx")
    assert primsplit("export", path, "--onnx", file).status == 0
    for more in ((path,), (path, "--onnx", file)):
        done = primsplit("check", *more, "--json")
        assert done.status == 0, done.out + done.error
        names = [row["name"] for row in done.json["rows"]]
        assert names == ["y", "state.mean.out", "state.calls.out", "d_x"]
    done = primsplit("check", file)
    assert done.status == 0, done.out + done.error


def test_bench_tells_the_buffers_of_the_first_call_and_of_later_ones(path: Path, primsplit: Run) -> None:
    done = primsplit("bench", path, "--runs", 3, "--json")
    assert done.status == 0, done.error
    told = done.json
    results = 4 + 3 * 4 + 3 * 4 + 7 * 3 * 4 + 7 * 4
    assert (told["gradient"]["made"], told["gradient"]["bytes"]) == (5, results)
    assert (told["gradient, bound"]["made"], told["gradient, bound"]["bytes"]) == (0, 0)
    assert told["gradient, bound"]["first"]["bytes"] == results
    done = primsplit("bench", path, "--runs", 2)
    assert "gradient, bound" in done.out
    assert "first call" in done.out
