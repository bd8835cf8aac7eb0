"""DFT and STFT of loaded models: NumPy's numbers to the last bits, at any length, and their transposes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps

random = np.random.default_rng(5)


def loaded(folder: Path, text: str) -> Any:
    path = str(folder / "model.onnx")
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 20]> {text}'), path)
    return ps.load(path)


def pairs(z: Any) -> Any:
    return np.stack([z.real, z.imag], axis=-1)


def complex_of(x: Any) -> Any:
    return x[..., 0] + 1j * x[..., 1]


FORMS: dict[str, tuple[dict[str, int], int, Any]] = {
    "whole": ({}, 2, lambda x: pairs(np.fft.fft(complex_of(x), axis=1))),
    "of real numbers": ({}, 1, lambda x: pairs(np.fft.fft(x[..., 0], axis=1))),
    "half": ({"onesided": 1}, 1, lambda x: pairs(np.fft.rfft(x[..., 0], axis=1))),
    "inverse": ({"inverse": 1}, 2, lambda x: pairs(np.fft.ifft(complex_of(x), axis=1))),
    "inverse of half": (
        {"inverse": 1, "onesided": 1}, 2, lambda x: np.fft.irfft(complex_of(x), axis=1)[..., None]
    ),
}  # fmt: skip


@pytest.mark.parametrize("declared", ["1000", "N"])
@pytest.mark.parametrize("form", FORMS)
def test_a_transform_of_a_thousand_numbers_is_exact_in_float32(form: str, declared: str, tmp_path: Path) -> None:
    attributes, parts, expected = FORMS[form]
    said = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    text = f"m (float[2, {declared}, {parts}] x) => (float[A, B, C] y) {{ y = DFT {f'<{said}>' if said else ''} (x) }}"
    program = loaded(tmp_path, text)
    x = random.standard_normal((2, 1000, parts)).astype(np.float32)
    wanted = expected(x.astype(np.float64))
    np.testing.assert_allclose(program(x), wanted, atol=1e-6 * np.abs(wanted).max())
    joint = ps.split(program).joint()
    seed = random.standard_normal(wanted.shape).astype(np.float32)
    gradient = joint(x, seed)[-1]
    line = random.standard_normal(x.shape)
    along = np.sum(seed * expected(line))
    np.testing.assert_allclose(np.sum(gradient * line), along, atol=1e-5 * np.sqrt(np.sum(wanted**2)))


@pytest.mark.parametrize("length", [5, 7, 8, 12])
@pytest.mark.parametrize("form", FORMS)
def test_a_length_that_is_given_cuts_or_fills_with_zeros(form: str, length: int, tmp_path: Path) -> None:
    attributes, parts, _ = FORMS[form]
    said = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    text = f"""m (double[2, 7, {parts}] x) => (double[A, B, C] y) <int64 n = {{{length}}}, int64 axis = {{1}}>
        {{ y = DFT {f"<{said}>" if said else ""} (x, n, axis) }}"""
    x = random.standard_normal((2, 7, parts))
    z = x[..., 0] if parts == 1 else complex_of(x)
    way = {
        "whole": np.fft.fft, "of real numbers": np.fft.fft, "half": np.fft.rfft, "inverse": np.fft.ifft,
        "inverse of half": np.fft.irfft,
    }[form]  # fmt: skip
    made = way(z, length, axis=1)
    wanted = made[..., None] if form == "inverse of half" else pairs(made)
    np.testing.assert_allclose(loaded(tmp_path, text)(x), wanted, atol=1e-14)


@pytest.mark.parametrize("size", [400, 256, 45])
@pytest.mark.parametrize("onesided", [1, 0])
def test_the_frames_of_a_spectrogram_are_exact_in_float32(size: int, onesided: int, tmp_path: Path) -> None:
    window = np.hanning(size).astype(np.float32)
    numbers = ", ".join(map(str, window))
    program = loaded(
        tmp_path,
        f"""m (float[2, N, 1] x) => (float[A, B, C, D] y) <int64 step = {{160}}, float[{size}] w = {{{numbers}}}>
        {{ y = STFT <onesided = {onesided}> (x, step, w) }}""",
    )
    x = random.standard_normal((2, 1000, 1)).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(x[..., 0].astype(np.float64), size, axis=1)[:, ::160] * window
    wanted = pairs((np.fft.rfft if onesided else np.fft.fft)(frames))
    np.testing.assert_allclose(program(x), wanted, atol=1e-6 * np.abs(wanted).max())
    joint = ps.split(program, wrt="x").joint()
    gradient = joint(x, wanted.astype(np.float32))[-1]
    np.testing.assert_allclose(np.sum(gradient * x), np.sum(wanted**2), rtol=1e-5)


def test_an_axis_that_only_the_run_knows_is_onnxruntimes_own(tmp_path: Path) -> None:
    text = "m (double[3, 5, 1] x, int64 axis) => (double[A, B, C] y) { y = DFT (x, , axis) }"
    program = loaded(tmp_path, text)
    x = random.standard_normal((3, 5, 1))
    for axis in (0, 1):
        np.testing.assert_allclose(program(x, np.array(axis)), pairs(np.fft.fft(x[..., 0], axis=axis)), atol=1e-13)
