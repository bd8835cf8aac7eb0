"""Complex arrays as arguments and results of programs: two tensors in a file, complex arrays where a call is made.

The gradient of a real number with respect to z is dL/dRe z + i dL/dIm z, as in PyTorch. Expected values are NumPy's,
central differences of it along real and imaginary parts, and formulas.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.errors import DtypeError, SpecError
from primsplit.testing import check_grads

Z = np.array([0.5 + 1.0j, -1.2 + 0.3j, 2.0 - 0.7j])
W = np.array([1.0 - 0.5j, 0.3 + 0.2j, -0.4 + 1.5j])
X = np.array([0.5, -1.5, 2.0])
MATRIX = np.array([[0.2, 1.5, 0.1], [-1.1, 0.4, 0.3], [0.2, -0.3, 1.9]])
STEP = 1e-6


def slopes(function: Callable[[Any], Any], z: Any) -> Any:
    """dL/dRe z + i dL/dIm z of a real function, by central differences."""
    found = np.zeros(np.shape(z), complex)
    for index in np.ndindex(np.shape(z)):
        for way in (1.0, 1j):
            step = np.zeros(np.shape(z), complex)
            step[index] = way * STEP
            found[index] += way * (function(z + step) - function(z - step)) / (2 * STEP)
    return found


def filtered(z: Any) -> Any:
    return np.sum(np.abs(np.fft.ifft(np.fft.fft(z) * np.array([1.0, 0.5j, 0.25]))) ** 3)


REAL_VALUED: dict[str, Callable[[Any], Any]] = {
    "moduli": lambda z: np.sum(np.abs(z) ** 3),
    "phases": lambda z: np.sum(np.angle(z) * np.array([1.0, 2.0, 3.0])),
    "product": lambda z: (z[0] * z[1] * np.conj(z[2])).real,
    "imaginary part of exp": lambda z: np.exp(z).sum().imag,
    "written in place": lambda z: np.abs(doubled_first(z)).sum(),
    "filter": filtered,
    "reads one part": lambda z: np.sum(z.imag**2),
}


def doubled_first(z: Any) -> Any:
    z[0] = 2j * z[0] ** 2
    return z


@pytest.mark.parametrize("name", REAL_VALUED)
def test_a_gradient_is_that_by_the_real_part_and_i_times_that_by_the_imaginary_one(name: str) -> None:
    function = REAL_VALUED[name]

    def plain(z: Any) -> Any:
        return function(z.copy())

    value, gradient = ps.value_and_grad(function)(Z)
    np.testing.assert_allclose(value, plain(Z), rtol=1e-13)
    assert gradient.dtype == np.complex128
    np.testing.assert_allclose(gradient, slopes(plain, Z), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(ps.grad(function)(Z), gradient, rtol=0, atol=0)


def test_single_precision_stays_single() -> None:
    z = Z.astype(np.complex64)
    value, gradient = ps.value_and_grad(REAL_VALUED["moduli"])(z)
    assert (value.dtype, gradient.dtype) == (np.float32, np.complex64)
    np.testing.assert_allclose(gradient, 3 * np.abs(Z) * Z, rtol=1e-5)
    assert ps.trace(np.fft.fft, z)(z).dtype == np.complex64


def test_a_number_of_pythons_is_a_complex_argument() -> None:
    assert ps.grad(lambda z: abs(z) ** 2)(1 + 2j) == 2 + 4j
    assert ps.grad(lambda z: abs(z) ** 2)(np.complex128(3j)) == 6j
    assert ps.trace(lambda z: z * z, ps.spec("complex128"))(2) == 4


def test_containers_of_complex_and_real_arrays_keep_their_structure() -> None:
    @dataclass
    class Gate:
        phase: Any
        weight: Any

    def total(params: Any) -> Any:
        return np.sum(np.abs(params["gate"].phase * params["gate"].weight - params["rest"][0]) ** 2)

    gradient = ps.grad(total)({"gate": Gate(Z, X), "rest": [W, None]})
    off = Z * X - W
    np.testing.assert_allclose(gradient["gate"].phase, 2 * off * X, rtol=1e-12)
    np.testing.assert_allclose(gradient["gate"].weight, 2 * (off * np.conj(Z)).real, rtol=1e-12)
    np.testing.assert_allclose(gradient["rest"][0], -2 * off, rtol=1e-12)
    assert gradient["gate"].weight.dtype == np.float64


def test_a_pullback_pairs_with_the_real_inner_product_of_complex_cotangents() -> None:
    value, pullback = ps.vjp(lambda z, x: z**2 * x, Z, X)
    np.testing.assert_allclose(value, Z**2 * X, rtol=1e-13)
    by_z, by_x = pullback(W)
    np.testing.assert_allclose(by_z, np.conj(2 * Z * X) * W, rtol=1e-12)
    np.testing.assert_allclose(by_x, (np.conj(Z**2) * W).real, rtol=1e-12)
    np.testing.assert_allclose(pullback(np.ones(3))[0], np.conj(2 * Z * X), rtol=1e-12)
    np.testing.assert_array_equal(pullback(None)[0], np.zeros(3, complex))


def test_tangents_are_complex_and_may_be_left_out() -> None:
    value, slope = ps.jvp(lambda z, x: z**2 * x, (Z, X), (W, None))
    np.testing.assert_allclose(value, Z**2 * X, rtol=1e-13)
    np.testing.assert_allclose(slope, 2 * Z * W * X, rtol=1e-12)
    _, slope = ps.jvp(lambda p: p[0] * p[1], ((Z, W),), ((None, X + 0j),))
    np.testing.assert_allclose(slope, Z * X, rtol=1e-12)
    _, linear = ps.linearize(lambda z, x: np.exp(z) * x, Z, X)
    np.testing.assert_allclose(linear(W, X), np.exp(Z) * (W * X + X), rtol=1e-12)
    np.testing.assert_allclose(linear(None, X), np.exp(Z) * X, rtol=1e-12)


def test_a_product_with_a_hessian_is_the_derivative_of_the_gradient() -> None:
    value, gradient, product = ps.value_grad_and_hvp(filtered)(Z, W)
    np.testing.assert_allclose(value, filtered(Z), rtol=1e-13)
    np.testing.assert_allclose(gradient, slopes(filtered, Z), rtol=1e-7)
    moved = [ps.grad(filtered)(Z + sign * 1e-5 * W) for sign in (1, -1)]
    np.testing.assert_allclose(product, (moved[0] - moved[1]) / 2e-5, rtol=1e-7)
    laplacian = ps.laplacian(lambda z: np.sum(np.abs(z) ** 4))(Z)
    np.testing.assert_allclose(laplacian, 16 * np.sum(np.abs(Z) ** 2), rtol=1e-12)


def test_derivatives_of_complex_results_by_real_arguments_are_complex() -> None:
    np.testing.assert_allclose(ps.derivative(lambda t: np.exp(1j * t))(0.5), 1j * np.exp(0.5j), rtol=1e-12)
    found = ps.jacobian(lambda p: (p["x"] ** 2 * (1 + 2j), p["x"].sum()))({"x": X})
    np.testing.assert_allclose(found[0]["x"], np.diag(2 * X) * (1 + 2j), rtol=1e-12)
    np.testing.assert_array_equal(found[1]["x"], np.ones(3))
    rows = ps.jacobian(lambda z: np.abs(z) ** 2)(Z)
    np.testing.assert_allclose(rows, np.diag(2 * Z), rtol=1e-12)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "gradient of a complex number": (lambda: ps.grad(np.sum)(Z), r"\.real or \.imag"),
    "gradient of a complex number, with aux": (
        lambda: ps.value_and_grad(lambda z: (z.sum(), z), has_aux=True)(Z), r"\.real or \.imag",
    ),
    "Jacobian": (lambda: ps.jacobian(np.square)(Z), r"f\(x \+ 1j \* y\)"),
    "Hessian": (lambda: ps.hessian(filtered)(Z), r"f\(x \+ 1j \* y\)"),
    "derivative": (lambda: ps.derivative(np.square)(1j), "along 1.0"),
    "complex cotangent of a real result": (lambda: ps.vjp(np.square, X)[1](Z), "cotangent of a float64"),
    "complex tangent of a real argument": (lambda: ps.jvp(np.square, (X,), (Z,)), "tangent of a float64"),
    "cotangent of another precision": (
        lambda: ps.vjp(np.square, Z)[1](Z.astype(np.complex64)), "cannot be float32",
    ),
    "complex array of a real program": (lambda: ps.trace(np.square, X)(Z), "must be float64, not complex128"),
    "other precision of a program": (lambda: ps.trace(np.square, Z)(Z.astype(np.complex64)), "not float32"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_complex_form_is_refused_with_the_way_out(name: str) -> None:
    call, told = REFUSED[name]
    with pytest.raises(DtypeError, match=told) as caught:
        call()
    assert "test_complex_programs.py" in str(caught.value)


def test_checks_of_gradients_take_complex_arguments() -> None:
    check_grads(filtered, Z, modes=("reverse", "forward"), symbolic=False)
    check_grads(lambda z, p: {"q": z * p["w"], "n": np.abs(z)}, Z, {"w": X}, modes=("reverse", "forward"))
    with pytest.raises(AssertionError, match="central differences"):
        check_grads(lambda z: np.abs(z) + ps.stop_gradient(z.real), Z)


def test_a_program_takes_and_gives_complex_arrays_and_names_both_parts() -> None:
    made = ps.split(lambda z, x: {"a": z * x, "b": np.abs(z)}, ps.spec("c128", ["N"]), ps.spec("float64", ["N"]))
    joint = made.joint()
    assert joint.inputs == ("z.real", "z.imag", "x", "d_a.real", "d_a.imag", "d_b")
    assert joint.outputs == ("a.real", "a.imag", "b", "d_z.real", "d_z.imag", "d_x")
    a, b, by_z, by_x = joint(Z, X, W, X)
    np.testing.assert_allclose(a, Z * X, rtol=1e-13)
    np.testing.assert_allclose(b, np.abs(Z), rtol=1e-13)
    np.testing.assert_allclose(by_z, W * X + X * Z / np.abs(Z), rtol=1e-12)
    np.testing.assert_allclose(by_x, (np.conj(Z) * W).real, rtol=1e-12)
    again = joint(Z.real, Z.imag, X, W.real, W.imag, X)
    np.testing.assert_array_equal(again[2], by_z)
    assert ps.trace(np.fft.fft, X).outputs == ("y.real", "y.imag")


def test_both_parts_are_named_by_the_whole_and_one_by_itself() -> None:
    spec = ps.spec("complex128", [3])
    assert ps.split(np.square, spec, wrt="x").joint().outputs[2:] == ("d_x.real", "d_x.imag")
    assert ps.split(np.square, spec, wrt=0, of="y").joint().inputs[2:] == ("d_y.real", "d_y.imag")
    one = ps.split(np.square, spec, wrt="x.imag", of="y.real").joint()
    assert (one.inputs[2:], one.outputs[2:]) == (("d_y.real",), ("d_x.imag",))
    y, by_imag = one(Z, X)
    np.testing.assert_allclose(y, Z**2, rtol=1e-13)
    np.testing.assert_allclose(by_imag, -2 * Z.imag * X, rtol=1e-12)


def test_a_program_writes_into_complex_arrays_and_is_prepared_with_them() -> None:
    program = ps.trace(lambda z, x: (np.fft.fft(z), x * z.real), Z, X)
    out = np.empty(3, complex), np.empty(3)
    assert program.run_into(out, Z, X) is out
    np.testing.assert_allclose(out[0], np.fft.fft(Z), rtol=1e-13)
    np.testing.assert_allclose(out[1], X * Z.real, rtol=1e-13)
    with pytest.raises(SpecError, match="nested otherwise"):
        program.run_into((np.empty(3), np.empty(3)), Z, X)
    prepared = program.prepare(Z, X)
    first = prepared(Z, X)
    np.testing.assert_allclose(first[0], np.fft.fft(Z), rtol=1e-13)
    again = prepared(W, X)
    assert again[0] is first[0]
    np.testing.assert_allclose(again[0], np.fft.fft(W), rtol=1e-13)


def test_arguments_that_do_not_fit_a_complex_input_are_refused() -> None:
    program = ps.trace(np.square, Z)
    np.testing.assert_allclose(program(X), X**2, rtol=1e-13)
    for given in ((), (Z, Z), ([Z],), (None,), ("z",)):
        with pytest.raises(SpecError, match="another structure"):
            program(*given)


def test_eigenvalues_roots_and_spectra_are_results_as_they_are() -> None:
    eigenvalues = ps.trace(np.linalg.eigvals, ps.spec("float64", [3, 3]))
    for matrix in (MATRIX, np.diag([3.0, 1.0, 2.0])):
        np.testing.assert_allclose(eigenvalues(matrix), np.linalg.eigvals(matrix), rtol=1e-12)
    roots = ps.trace(np.roots, ps.spec("float64", [4]))
    for coefficients in ([1.0, 2.0, 3.0, 4.0], [1.0, -6.0, 11.0, -6.0]):
        np.testing.assert_allclose(roots(np.array(coefficients)), np.roots(coefficients), rtol=1e-10)
    check_grads(np.linalg.eigvals, MATRIX, order=1, symbolic=False, value_tolerance=1e-11)
    fft = pytest.importorskip("scipy.fft")
    np.testing.assert_allclose(ps.trace(fft.rfft, X)(X), fft.rfft(X), rtol=1e-12)
    np.testing.assert_allclose(ps.trace(fft.ifft2, MATRIX)(MATRIX), fft.ifft2(MATRIX), rtol=1e-12)


def test_a_result_that_is_complex_on_one_path_is_complex_on_all() -> None:
    def turned(x: Any) -> Any:
        return {"y": x * 1j, "n": 1.0} if x.sum() > 0 else {"y": x, "n": 2.0}

    program = ps.trace(turned, ps.spec("float64", ["N"]))
    for x in (X, -X):
        np.testing.assert_array_equal(program(x)["y"], turned(x)["y"])
        assert program(x)["n"] == turned(x)["n"]
    _, pullback = ps.vjp(turned, -X)
    np.testing.assert_array_equal(pullback({"y": W, "n": 0.0})[0], W.real)


def test_gradients_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def loss(xp: Any, fft: Any, z: Any) -> Any:
        return (xp.abs(fft(z) * z) ** 2).sum() + (z**3).sum().imag

    z = torch.tensor(Z, requires_grad=True)
    loss(torch, torch.fft.fft, z).backward()
    np.testing.assert_allclose(ps.grad(lambda z: loss(np, np.fft.fft, z))(Z), z.grad.numpy(), rtol=1e-12)
    y = torch.exp(z) * z
    (wanted,) = torch.autograd.grad(y, z, torch.tensor(W))
    np.testing.assert_allclose(ps.vjp(lambda z: np.exp(z) * z, Z)[1](W)[0], wanted.numpy(), rtol=1e-12)
