"""Complex arrays as arguments and results of programs: two tensors in a file, complex arrays where a call is made.

The gradient of a real number with respect to z is dL/dRe z + i dL/dIm z, as in PyTorch. Expected values are NumPy's,
central differences of it along real and imaginary parts, and formulas.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, RuleError, SpecError, TraceError
from primsplit.testing import CheckFailed, check_grads, check_rrule

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


def test_a_complex_number_is_asked_for_its_class_as_in_python() -> None:
    def doubled(z: Any) -> Any:
        return 2 * z if isinstance(z, complex) else 3 * z

    for number in (2j, np.complex128(2j), np.complex64(2j), 2.0):
        assert ps.trace(doubled, number)(number) == doubled(number)
    assert ps.trace(lambda x: doubled(1j * x), 2.0)(2.0) == doubled(2j)
    assert not ps.trace(lambda z: np.asarray(isinstance(z, float)), 2j)(2j)


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
    "no such precision": (lambda: ps.grad(filtered)(Z.astype(np.clongdouble)), r"z\.astype\(complex\)"),
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
    assert ps.trace(lambda y, x: x * 1j, {"imag": X}, X).outputs == ("result.real", "result.imag")
    assert ps.trace(lambda z: (z, [z.real, z]), Z).outputs == (
        "y0.real", "y0.imag", "y1.0", "y1.1.real", "y1.1.imag",
    )  # fmt: skip


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
    check_grads(np.linalg.slogdet, MATRIX + 1j * MATRIX.T, order=1, symbolic=False, value_tolerance=1e-11)
    fft = pytest.importorskip("scipy.fft")
    np.testing.assert_allclose(ps.trace(fft.rfft, X)(X), fft.rfft(X), rtol=1e-12)
    np.testing.assert_allclose(ps.trace(fft.ifft2, MATRIX)(MATRIX), fft.ifft2(MATRIX), rtol=1e-12)


def test_transforms_nest_inside_of_traced_functions() -> None:
    inner = ps.grad(lambda z: np.sum(np.abs(z) ** 3))  # 3 |z| z
    np.testing.assert_allclose(ps.grad(lambda z: np.sum(np.abs(inner(z)) ** 2))(Z), 36 * np.abs(Z) ** 2 * Z, rtol=1e-12)

    def all_of(z: Any, v: Any) -> Any:
        _, pullback = ps.vjp(np.square, z)
        _, linear = ps.linearize(np.square, z)
        return pullback(v)[0], ps.jvp(np.square, (z,), (v,))[1], linear(v), ps.hvp(filtered, (z,), v)

    by_pullback, *tangents, product = ps.trace(all_of, Z, W)(Z, W)
    np.testing.assert_allclose(by_pullback, np.conj(2 * Z) * W, rtol=1e-12)
    for tangent in tangents:
        np.testing.assert_allclose(tangent, 2 * Z * W, rtol=1e-12)
    np.testing.assert_allclose(product, ps.hvp(filtered, (Z,), W), rtol=1e-12)


def test_batches_loops_and_branches_take_complex_arguments() -> None:
    rows = np.stack([Z, W, 2 * Z])
    each = ps.vmap(ps.grad(lambda z, x: np.sum(np.abs(z * x) ** 2)), in_axes=(0, None))(rows, X)
    np.testing.assert_allclose(each, 2 * rows * X**2, rtol=1e-12)
    columns = ps.vmap(np.fft.fft, out_axes=1)(rows)
    np.testing.assert_allclose(columns, np.fft.fft(rows).T, rtol=1e-12)

    def product(z: Any) -> Any:
        last, _ = ps.scan(lambda carry, x: (carry * x, None), 1 + 0j, z)
        return np.abs(ps.cond(np.abs(last) > 1, lambda w: w * w, lambda w: w, last)) ** 2

    for z in (Z, 0.2 * Z):
        np.testing.assert_allclose(ps.grad(product)(z), slopes(product, z), rtol=1e-6)


def test_guarded_and_cached_functions_take_complex_arguments(tmp_path: Any) -> None:
    def halved(z: Any) -> Any:
        return np.sum(np.abs(z)) if z.real.sum() > 0 else np.sum(np.abs(z) ** 2)

    for guard in (None, lambda z: bool(z.real.sum() > 0)):
        guarded = ps.guarded(halved, guard)
        for z in (Z, -Z, Z):
            np.testing.assert_allclose(guarded(z), halved(z), rtol=1e-12)
            np.testing.assert_allclose(ps.grad(guarded)(z), slopes(halved, z), rtol=1e-6)
        assert (guarded.statistics.misses, guarded.statistics.hits) == (2, 1)
        ps.export_guarded(guarded, tmp_path / "guarded.onnx")
        assert ps.load(tmp_path / "guarded.onnx")(Z) == guarded(Z)
    assert ps.grad(halved, branches="static")(Z).dtype == np.complex128

    def squared(z: Any) -> Any:
        return z * z

    for misses in (1, 0):
        cached = ps.cached(squared, store=tmp_path)
        np.testing.assert_allclose(cached(Z), Z**2, rtol=1e-13)
        np.testing.assert_allclose(ps.vjp(cached, Z)[1](W)[0], np.conj(2 * Z) * W, rtol=1e-12)
        assert cached.statistics.misses == misses


def test_a_signature_is_recorded_once() -> None:
    gradient = ps.grad(lambda z: np.sum(np.abs(z) ** 2))
    for z in (Z, W, Z.astype(np.complex64), W, [1j]):
        gradient(np.asarray(z))
    assert (gradient.statistics.misses, gradient.statistics.hits) == (3, 2)
    for number in (1j, 2 + 1j, 2.0):
        assert gradient(number) == 2 * number
    assert (gradient.statistics.misses, gradient.statistics.hits) == (5, 3)


def test_rules_take_and_give_complex_arrays() -> None:
    @ps.primitive
    def squared(z: Any, x: Any) -> Any:
        return z * z * x

    @ps.rrule(squared)
    def rule(z: Any, x: Any) -> Any:
        def pullback(dy: Any) -> Any:
            return ps.project_to(z)(np.conj(2 * z * x) * dy), ps.project_to(x)(np.conj(z * z) * dy)

        return squared(z, x), pullback

    def loss(z: Any, x: Any) -> Any:
        return np.sum(np.abs(squared(z, x)) ** 2)

    by_z, by_x = ps.grad(loss, wrt=(0, 1))(Z, 0.5)
    np.testing.assert_allclose(by_z, slopes(lambda z: np.sum(np.abs(z * z * 0.5) ** 2), Z), rtol=1e-7)
    np.testing.assert_allclose(by_x, np.sum(np.abs(Z) ** 4), rtol=1e-12)

    @ps.frule(squared)
    def forward_rule(z: Any, x: Any) -> Any:
        return squared(z, x), lambda dz, dx: 3 * z * x * dz

    np.testing.assert_allclose(ps.jvp(lambda z: squared(z, 2.0), (Z,), (W,))[1], 6 * Z * W, rtol=1e-12)

    @ps.rrule(squared)
    def wrong(z: Any, x: Any) -> Any:
        return squared(z, x), lambda dy: (dy, dy)

    with pytest.raises(RuleError, match="another structure than its argument") as caught:
        ps.grad(loss, wrt=1)(Z, X)
    assert "cotangent: complex" in str(caught.value)


def test_rules_of_complex_arrays_are_checked_by_their_parts() -> None:
    @ps.primitive
    def turned(z: Any, angle: Any) -> Any:
        return z * np.exp(1j * angle)

    def rule(sign: int) -> Any:
        def turned_rule(z: Any, angle: Any) -> Any:
            y = turned(z, angle)

            def pullback(dy: Any) -> Any:
                by_angle = (dy * np.conj(1j * y)).real
                return dy * np.exp(-1j * sign * angle), ps.project_to(angle)(by_angle)

            return y, pullback

        return turned_rule

    ps.rrule(turned)(rule(1))
    report = check_rrule(turned, Z, X)
    assert {"differences", "second_order", "forward", "sizes", "files"} <= set(report.checks)
    ps.rrule(turned)(rule(-1))
    with pytest.raises(CheckFailed, match="central differences"):
        check_rrule(turned, Z, X)


def test_what_has_a_rule_for_real_arrays_alone_refuses_complex_ones() -> None:
    kept = ps.forward(lambda x: x * x)
    with pytest.raises(TraceError, match="has a rule"):
        ps.grad(lambda z: np.sum(np.abs(kept(z))))(Z)


def test_no_gradient_flows_through_stop_gradient_and_checkpoints_keep_it() -> None:
    np.testing.assert_allclose(ps.grad(lambda z: np.sum(np.abs(ps.stop_gradient(z) * z)))(Z), Z, rtol=1e-12)
    kept = ps.checkpoint(lambda z: np.exp(z) * z)
    found = ps.grad(lambda z: np.sum(np.abs(kept(z)) ** 2))(Z)
    np.testing.assert_allclose(found, slopes(lambda z: np.sum(np.abs(np.exp(z) * z) ** 2), Z), rtol=1e-6)


def test_a_complex_parameter_has_both_parts_as_inputs() -> None:
    made = ps.split(lambda x: np.sum(np.abs(ps.param(W, "w") * x) ** 2), X, wrt="w").joint()
    assert made.inputs == ("x", "w.real", "w.imag")
    assert made.outputs == ("y", "d_w.real", "d_w.imag")
    np.testing.assert_allclose(made(X, W.real, W.imag)[2], 2 * W.imag * X**2, rtol=1e-12)


def test_a_file_is_standard_in_each_form(tmp_path: Any) -> None:
    made = ps.split(lambda z: np.fft.fft(z) ** 2, ps.spec("complex64", ["N"]))
    z, seed = Z.astype(np.complex64), W.astype(np.complex64)
    feeds = {"z.real": z.real, "z.imag": z.imag, "d_y.real": seed.real, "d_y.imag": seed.imag}
    for form in ("joint", "functions", "split"):
        held = {name: np.ascontiguousarray(array) for name, array in feeds.items()}
        for path in made.save(tmp_path / "made.onnx", form):
            session = onnxruntime.InferenceSession(path)
            given = {each.name: held[each.name] for each in session.get_inputs()}
            held |= dict(zip([each.name for each in session.get_outputs()], session.run(None, given), strict=True))
        assert held["d_z.real"].dtype == np.float32
        np.testing.assert_allclose(held["y.real"] + 1j * held["y.imag"], np.fft.fft(Z) ** 2, rtol=1e-4)
        np.testing.assert_allclose(held["d_z.real"] + 1j * held["d_z.imag"], pulled(W), rtol=1e-4)


def pulled(dy: Any) -> Any:
    """The pullback of the square of a Fourier transform: the adjoint of the transform after that of the square."""
    matrix = np.exp(-2j * np.pi * np.outer(np.arange(3), np.arange(3)) / 3)
    return matrix.conj().T @ (np.conj(2 * matrix @ Z) * dy)


def test_a_loaded_model_takes_a_complex_array_for_two_inputs_that_are_called_so(tmp_path: Any) -> None:
    ps.trace(lambda z: np.fft.fft(z), Z).save(tmp_path / "fft.onnx")
    model = ps.load(tmp_path / "fft.onnx")
    for given in ((Z,), (Z.real, Z.imag)):
        real, imag = model(*given)
        np.testing.assert_allclose(real + 1j * imag, np.fft.fft(Z), rtol=1e-12)
    np.testing.assert_allclose(
        ps.grad(lambda z: sum(np.sum(part**2) for part in model(z)))(Z), 6 * Z, rtol=1e-12
    )  # Parseval
    ps.trace(lambda a, b: a * b, X, X).save(tmp_path / "product.onnx")
    with pytest.raises(SpecError, match="another structure"):
        ps.load(tmp_path / "product.onnx")(Z)


def test_a_complex_start_of_a_real_equation_is_solved() -> None:
    integrate = pytest.importorskip("scipy.integrate")

    def solved(rate: Any) -> Any:
        return integrate.solve_ivp(lambda _, y: -rate * y, (0, 1), np.array([1 + 1j]), rtol=1e-9, atol=1e-12).y[:, -1]

    np.testing.assert_allclose(ps.trace(solved, 2.0)(2.0), [(1 + 1j) * np.exp(-2.0)], rtol=1e-7)


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
