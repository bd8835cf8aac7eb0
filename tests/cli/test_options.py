"""Options that several commands share: `--policy` and `--target`, told on the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.cli.options import read_ranges
from primsplit.ir.errors import SpecError

MODEL = """
import numpy as np

def layer(x, w):
    hidden = np.exp(x @ w)
    return np.sum(np.tanh(hidden) * hidden)

def example_inputs():
    return np.linspace(0, 1, 6).reshape(2, 3), np.ones((3, 2))
"""


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ([], {"hidden", "tanh"}),
        (["--policy", "nothing"], set()),
        (["--policy", "hidden"], {"hidden"}),
        (["--policy", "hidden", "--policy", "x"], {"hidden"}),
    ],
)
def test_audit_tells_what_is_kept_and_what_is_computed_again(
    primsplit: Callable[..., Any], model: Callable[..., Path], told: list[str], kept: set[str]
) -> None:
    found = primsplit("audit", f"{model(MODEL)}:layer", "--stage", "split", *told, "--json").json
    assert {c["name"] for c in found["captures"] if c["kind"] == "intermediate"} == kept
    assert {c["name"] for c in found["recomputed"]} == {"hidden", "tanh"} - kept
    assert found["stored"] == f"{32 * len(kept)} B"


def test_the_report_has_a_table_of_what_is_computed_again(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    found = primsplit("audit", f"{model(MODEL)}:layer", "--policy", "nothing")
    assert "Computed again" in found.out
    assert "hidden = np.exp(x @ w)" in found.out
    assert "Computed again" not in primsplit("audit", f"{model(MODEL)}:layer").out


def test_export_writes_a_forward_file_with_the_results_alone(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = str(tmp_path / "f.onnx")
    primsplit("export", f"{model(MODEL)}:layer", "--onnx", path, "--form", "split", "--policy", "nothing")
    assert ps.load(str(tmp_path / "f.forward.onnx")).outputs == ("y",)
    backward = ps.load(str(tmp_path / "f.backward.onnx"))
    x, w = np.linspace(0, 1, 6).reshape(2, 3), np.ones((3, 2))
    given = {"x": x, "w": w}
    h = np.exp(x @ w)
    dh = h * (np.tanh(h) + h * (1 - np.tanh(h) ** 2))
    found = dict(zip(backward.outputs, backward(*(given[n] for n in backward.inputs)), strict=True))
    np.testing.assert_allclose(found["d_w"], x.T @ dh, rtol=1e-6)
    np.testing.assert_allclose(found["d_x"], dh @ w.T, rtol=1e-6)


def test_an_onnx_model_has_policies_too(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    source, path = str(tmp_path / "m.onnx"), str(tmp_path / "g.onnx")
    ps.trace(lambda x: np.sum(np.tanh(np.exp(x))), ps.spec("float32", ["N"])).save(source)
    primsplit("grad", source, "--onnx", path, "--form", "split", "--policy", "nothing")
    assert len(ps.load(str(tmp_path / "g.forward.onnx")).outputs) == 1
    found = primsplit("audit", source, "--stage", "split", "--policy", "nothing", "--json").json
    assert found["stored"] == "0 B"


@pytest.mark.parametrize(
    ("told", "error"),
    [
        (["--policy", "nothing", "--policy", "hidden"], "stands alone"),
        (["--policy", "hiden"], "nearest names are 'hidden'"),
        (["--mode", "hvp", "--policy", "nothing"], "is for gradients"),
    ],
)
def test_what_cannot_be_is_refused(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, told: list[str], error: str
) -> None:
    done = primsplit("export", f"{model(MODEL)}:layer", "--onnx", str(tmp_path / "f.onnx"), *told)
    assert done.status != 0
    assert error in done.error


FUNCTION = """
    import numpy as np

    def main(x):
        return np.sum(np.cos(x) ** 2)
"""


COSINE = """<ir_version: 10, opset_import: ["": 21]> g (double[N] x) => (double y) {
    c = Cos(x) s = Mul(c, c) y = ReduceSum<keepdims = 0>(s)
}"""


@pytest.fixture
def sources(model: Callable[..., Path], tmp_path: Path) -> dict[str, Path]:
    """A file for each command."""
    onnx.save(onnx.parser.parse_model(COSINE), tmp_path / "cosine.onnx")
    return {"function": model(FUNCTION, "f.py"), "model": tmp_path / "cosine.onnx"}


@pytest.mark.parametrize(
    ("command", "source", "types"),
    [("export", "function", ("--spec", "x:float64[N]")), ("export", "model", ()), ("grad", "model", ())],
)
def test_a_file_for_newer_versions_has_the_operator(
    primsplit: Callable[..., Any], sources: dict[str, Path], tmp_path: Path, command: str, source: str, types: Any
) -> None:
    out = tmp_path / "out.onnx"
    for more, has_cosine in (((), False), (("--target", "onnxruntime>=1.32"), True)):
        assert primsplit(command, sources[source], *types, "--onnx", out, *more).status == 0
        assert ("Cos" in {node.op_type for node in onnx.load(out).graph.node}) is has_cosine


@pytest.mark.parametrize("command", ["export", "grad"])
def test_what_is_no_target_is_refused_with_the_right_form(
    primsplit: Callable[..., Any], sources: dict[str, Path], tmp_path: Path, command: str
) -> None:
    out = tmp_path / "out.onnx"
    found = primsplit(command, sources["model"], "--onnx", out, "--target", "onnxruntime=1.32")
    assert found.status != 0
    assert "onnxruntime>=1.32" in found.error
    assert not out.exists()


def test_a_range_is_two_numbers_in_order_whose_distance_is_finite() -> None:
    assert read_ranges(["x:0.5,2", "a:b:-1,-1", "y:1e308,1.5e308"]) == {
        "x": (0.5, 2.0), "a:b": (-1.0, -1.0), "y": (1e308, 1.5e308),
    }  # fmt: skip
    for text in ("x", "x:1", ":1,2", "x:2,1", "x:1,2,3", "x:0,inf", "x:nan,1", "x:-1e308,1e308", "x:a,b"):
        with pytest.raises(SpecError, match="cannot read --range"):
            read_ranges([text])
