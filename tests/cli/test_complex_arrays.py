"""Complex arguments and results on the command line: examples, specs, whole arrays in `run`, both parts in `check`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GATE = """
import numpy as np

def fidelity(params, state):
    half = params["angle"] / 2
    gate = np.stack([np.stack([np.cos(half), -1j * np.sin(half)]), np.stack([-1j * np.sin(half), np.cos(half)])])
    out = gate @ state
    return {"p": np.abs(out[0]) ** 2, "out": out}

def example_inputs():
    return {"params": {"angle": 0.3}, "state": np.array([0.6, 0.8j])}
"""

FILTER = """
import numpy as np

def loss(z: "c64[N]", w: "f32[N]"):
    return np.sum(np.abs(np.fft.fft(z) * w) ** 2)
"""


def _inputs(done: Any) -> dict[str, str]:
    return {each["name"]: each["type"] for each in done.json["inputs"]}


@pytest.mark.parametrize("options", [[], ["--form", "split"], ["--form", "functions"], ["--mode", "jvp"]], ids=str)
def test_both_parts_are_checked_in_each_form(
    primsplit: Callable[..., Any], model: Callable[..., Path], options: list[str]
) -> None:
    done = primsplit("check", model(GATE), *options, "--json")
    assert (done.status, done.json["ok"]) == (0, True), done.error
    names = {row["name"] for row in done.json["rows"]}
    assert {"p", "out.real", "out.imag"} <= names
    assert options[-1:] == ["jvp"] or {"d_params.angle", "d_state.real", "d_state.imag"} <= names


def test_a_wrong_gradient_by_the_imaginary_part_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    text = """
        import numpy as np
        import primsplit as ps

        def loss(z: "c128[3]"):
            return np.sum(z.real**2) + np.sum(ps.stop_gradient(z.imag) ** 2)
    """
    done = primsplit("check", model(text), "--json")
    verdicts = {row["name"]: row["verdict"] for row in done.json["rows"]}
    assert (done.status, verdicts) == (1, {"y": "ok", "d_z.real": "ok", "d_z.imag": "wrong"})


def test_annotations_texts_and_dtypes_say_complex_types(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path, out = model(FILTER), ["--onnx", tmp_path / "out.onnx", "--json"]
    assert _inputs(primsplit("export", path, *out)) == {
        "z.real": "float32[N]",
        "z.imag": "float32[N]",
        "w": "float32[N]",
    }
    wide = primsplit("export", path, *out, "--spec", "z:c128[4]", "--spec", "w:f64[4]")
    assert _inputs(wide) == {"z.real": "float64[4]", "z.imag": "float64[4]", "w": "float64[4]"}
    narrow = primsplit("export", model(GATE, "gate.py"), *out, "--dtype", "float32", "--wrt", "state")
    assert _inputs(narrow)["state.imag"] == "float32[2]"
    assert [each["name"] for each in narrow.json["outputs"]][3:] == ["d_state.real", "d_state.imag"]
    half = primsplit("export", path, *out, "--dtype", "float16")
    assert (half.status, "no complex numbers of float16" in half.error) == (1, True)
    wrong = primsplit("export", path, *out, "--spec", "z.real:f32[4]")
    assert (wrong.status, "--spec z:complex64[N]" in wrong.error) == (1, True)


def test_jaxtyping_annotations_say_complex_types(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    pytest.importorskip("jaxtyping")
    text = """
        import numpy as np
        from jaxtyping import Complex, Complex64

        def loss(z: Complex64[np.ndarray, "N"], w: Complex[np.ndarray, "N"]):
            return np.abs(z).sum() + np.abs(w).sum()
    """
    done = primsplit("export", model(text), "--onnx", tmp_path / "out.onnx", "--json")
    types = {"z.real": "float32[N]", "z.imag": "float32[N]", "w.real": "float64[N]", "w.imag": "float64[N]"}
    assert _inputs(done) == types, done.error


def test_a_run_takes_whole_arrays_or_parts_and_writes_whole_ones(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path, given, out = tmp_path / "gate.onnx", tmp_path / "in.npz", tmp_path / "out.npz"
    assert primsplit("export", model(GATE), "--onnx", path, "--wrt", "state").status == 0
    state, seed = np.array([1.0, 0.5j]), np.array([1.0 + 1j, -2j])
    more = {"params.angle": np.array(0.3), "d_p": np.array(0.0), "d_out": seed}
    np.savez(given, state=state, **more)
    done = primsplit("run", path, "--inputs", given, "--out", out)
    assert done.status == 0, done.error
    gate = np.array([[np.cos(0.15), -1j * np.sin(0.15)], [-1j * np.sin(0.15), np.cos(0.15)]])
    with np.load(out) as found:
        assert sorted(found.files) == ["d_state", "out", "p"]
        np.testing.assert_allclose(found["out"], gate @ state, rtol=1e-14)
        np.testing.assert_allclose(found["d_state"], gate.conj().T @ seed, rtol=1e-14)
        whole = found["out"]
    np.savez(given, **{"state.real": state.real, "state.imag": state.imag}, **more)
    assert primsplit("run", path, "--inputs", given, "--out", out).status == 0
    with np.load(out) as found:
        np.testing.assert_array_equal(found["out"], whole)
    np.savez(given, state=state, **{"state.real": state.real}, **more)
    done = primsplit("run", path, "--inputs", given)
    assert (done.status, "state.real is in in.npz twice" in done.error) == (1, True)


def test_one_complex_array_is_an_npy(primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path) -> None:
    text = """
        import numpy as np

        def spectrum(z: "c128[N]"):
            return np.fft.fft(z)

        mode = "value"
    """
    path, given, out = tmp_path / "fft.onnx", tmp_path / "in.npy", tmp_path / "out.npy"
    assert primsplit("export", model(text), "--onnx", path).status == 0
    for z in (np.array([1.0, 2j, -1.0]), np.array([1.0, 2.0, 3.0, 4.0])):
        np.save(given, z)
        assert primsplit("run", path, "--inputs", given, "--out", out).status == 0
        np.testing.assert_allclose(np.load(out), np.fft.fft(z), rtol=1e-13)


def test_eigenvalues_that_numpy_gives_as_real_numbers_are_checked(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    text = """
        import numpy as np

        def spectrum(a):
            return np.linalg.eigvals(a)

        def example_inputs():
            return (np.array([[1.0, 0.2, 0.0], [0.3, 2.0, 0.1], [0.0, 0.4, 3.5]]),)
    """
    done = primsplit("check", model(text), "--json")
    assert (done.status, [row["verdict"] for row in done.json["rows"]]) == (0, ["ok"] * 3), done.error


def test_an_audit_names_both_parts(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    done = primsplit("audit", model(FILTER), "--style", "text")
    assert done.status == 0, done.error
    assert "loss(z.real: float32[N], z.imag: float32[N], w: float32[N]):" in done.out
