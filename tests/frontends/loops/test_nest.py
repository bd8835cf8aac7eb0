"""Nests as functions: called on arrays, one op in a trace, and under every transform."""

import math
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.frontends.loops.nest import Nest
from primsplit.ir.caching.counters import buffers
from primsplit.ir.errors import DtypeError, InterpretedNestWarning, SpecError, UnsupportedFunction

ROWS, COLUMNS = np.arange(72)[:, None], np.arange(72)
A = (7 * ROWS + 3 * COLUMNS) % 11 / 11
B = (5 * ROWS + 2 * COLUMNS) % 13 / 13


def softplus(x: Any) -> Any:
    """A scalar function that nests do not know."""
    return np.log1p(np.exp(x))


amulb = ps.loops("C[m,n] := A[m,k] * B[k,n]", name="amulb")
log_loss = ps.loops("target := log1p(0.25 * (C[i,j] - 18)**2)", name="log_loss")


@ps.loops
def amulb_by_loops(C: Any, A: Any, B: Any) -> None:
    """The product as the loops that one writes."""
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            C[m, n] = 0.0
            for k in range(A.shape[1]):
                C[m, n] += A[m, k] * B[k, n]


@ps.loops
def softened(x: Any, n: int) -> Any:
    """The sum of a user's function over the first n elements."""
    total = 0.0
    for i in range(n):
        total += softplus(x[i])
    return total


def diff_example(a: Any, b: Any) -> Any:
    """The example of the thread: two nests in a program."""
    return -2.5 * log_loss(amulb(a, b))


def written_out(a: Any, b: Any) -> Any:
    """The same in NumPy."""
    return -2.5 * np.sum(np.log1p(0.25 * (a @ b - 18) ** 2))


def test_the_example_of_two_nests_has_the_published_numbers_from_its_file(tmp_path: Path) -> None:
    (path,) = ps.export(diff_example, A, B, path=tmp_path / "diff_example.onnx", wrt=(0, 1))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = {i.name: v for i, v in zip(session.get_inputs(), (A, B, np.ones(())), strict=False)}
    value, d_a, d_b = session.run(None, given)
    assert value == pytest.approx(-14587.445439986341, rel=1e-12)
    found = [d_a[0, 0], d_a[-1, -1], d_b[0, 0], d_b[-1, -1], d_a.sum(), d_b.sum()]
    expected = [
        37.271790788025,
        37.892630675070,
        37.767531877650,
        38.414157359456,
        200586.7594933912,
        197468.3508256589,
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_its_product_with_the_hessian_has_the_published_numbers() -> None:
    found = ps.hvp(lambda a: diff_example(a, B))(A, np.ones_like(A))
    assert found.sum() == pytest.approx(744396.5310387588, rel=1e-12)
    assert found[0, 0] == pytest.approx(165.39004791542794, rel=1e-12)


def test_a_program_of_nests_is_the_same_program_in_numpy() -> None:
    value, gradients = ps.value_and_grad(diff_example, (0, 1))(A, B)
    traced, expected = ps.value_and_grad(written_out, (0, 1))(A, B)
    assert value == pytest.approx(traced, rel=1e-12)
    assert value == pytest.approx(written_out(A, B), rel=1e-12)
    for gradient, right in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, right, rtol=1e-12)


def test_arguments_are_given_by_position_or_name_in_the_order_of_their_appearance() -> None:
    nest = ps.loops("C[m,n] += A[m,k] * B[k,n] * x[$at]")
    assert nest.names == ("A", "B", "x", "C", "at")
    a, b, x, c = A[:2, :3], B[:3, :4], np.arange(3.0), np.ones((2, 4))
    expected = c + 2 * (a @ b)
    np.testing.assert_allclose(nest(a, b, x, c, 2), expected)
    np.testing.assert_allclose(nest(a, b, at=2, C=c, x=x), expected)
    np.testing.assert_allclose(c, 1.0)


def test_a_python_function_of_loops_keeps_its_arguments_and_is_the_same_nest() -> None:
    assert amulb_by_loops.names == ("C", "A", "B")
    np.testing.assert_allclose(amulb_by_loops(np.ones((72, 72)), A, B), A @ B, rtol=1e-13)
    gradient = ps.grad(lambda c: np.sum(amulb_by_loops(c, A, B)))(np.ones((72, 72)))
    assert not gradient.any()


def test_nests_are_pickled_and_a_function_of_loops_keeps_its_name_and_text() -> None:
    assert pickle.loads(pickle.dumps(amulb_by_loops)) is amulb_by_loops
    assert (amulb_by_loops.__name__, amulb_by_loops.__doc__) == (
        "amulb_by_loops",
        "The product as the loops that one writes.",
    )
    again = pickle.loads(pickle.dumps(ps.loops("y[i] := x[i] * 2")))
    assert again(np.ones(2)).tolist() == [2.0, 2.0]


def test_several_results_are_a_tuple() -> None:
    s, y = ps.loops("s[i] := x[i] + 1; y[i] := s[i] * x[i]")(np.array([1.0, 2.0]))
    assert (s.tolist(), y.tolist()) == ([2.0, 3.0], [2.0, 6.0])


def test_a_function_of_the_users_has_its_derivative_in_a_nest() -> None:
    x = np.array([-1.0, 0.5, 2.0, 3.0])
    assert softened(x, 3) == pytest.approx(softplus(x[:3]).sum())
    slope = 1 / (1 + np.exp(-x[:3]))
    np.testing.assert_allclose(ps.grad(softened)(x, 3), [*slope, 0.0], rtol=1e-12)
    named = ps.loops("t := soft(x[i], y[j])", functions={"soft": lambda a, b: softplus(a) * b})
    d_x, d_y = ps.grad(named, (0, 1))(x, np.array([2.0, 3.0]))
    np.testing.assert_allclose(d_x, 5 / (1 + np.exp(-x)), rtol=1e-12)
    np.testing.assert_allclose(d_y, [softplus(x).sum()] * 2, rtol=1e-12)


def test_a_nest_is_traced_once_for_each_signature_and_is_one_op_in_a_trace() -> None:
    nest = ps.loops("y[i] := x[i] * 2")
    nest(np.ones(3))
    traces = ps.counts().traces
    for _ in range(3):
        nest(np.ones(3))
    assert ps.counts().traces == traces
    program = ps.trace(lambda x: nest(nest(x)), ps.spec("f32", ["N"]))
    assert [op.kind for op in program.block.ops] == ["call::nest", "call::nest"]


def test_what_the_reverse_nest_keeps_are_the_captures_of_a_split() -> None:
    nest = ps.loops("y[i] := z[i] * exp(x[i])")
    (kept,) = nest.derive(["z", "x"]).temporaries
    made = ps.split(nest, ps.spec("f64", ["N"]), ps.spec("f64", ["N"]), wrt=["z", "x"])
    stored = [row for row in made.capture_table() if row["kind"] == "intermediate"]
    assert [row["type"] for row in stored] == ["float64[N]"]
    assert kept.loops == ("i",)


def test_only_what_is_asked_for_is_computed() -> None:
    made = ps.split(amulb, A, B, wrt="A")
    assert [op.kind for op in made.pullback.ops].count("MatMul") == 1
    assert [row["name"] for row in made.capture_table()] == ["B"]


TEXT = "y[i] := x[mod(i+a)] * k[a] * exp(x[i]) |> tanh, i in range(len(x))"


def _curved(nest: Nest, k: Any) -> Any:
    return lambda x: np.sum(np.sin(nest(x, k)))


def test_forward_mode_second_derivatives_and_batches_are_those_of_differences() -> None:
    nest = ps.loops(TEXT)
    random = np.random.default_rng(1)
    x, k, v = random.normal(size=6), random.normal(size=3), random.normal(size=6)
    loss, gradient = _curved(nest, k), ps.grad(_curved(nest, k))
    step = 1e-6
    slope = (loss(x + step * v) - loss(x - step * v)) / (2 * step)
    turn = (gradient(x + step * v) - gradient(x - step * v)) / (2 * step)
    np.testing.assert_allclose(ps.jvp(loss, (x,), (v,))[1], slope, rtol=1e-6)
    np.testing.assert_allclose(gradient(x) @ v, slope, rtol=1e-6)
    np.testing.assert_allclose(ps.hvp(loss)(x, v), turn, rtol=1e-5, atol=1e-8)
    rows = np.stack([x, v, x - v])
    np.testing.assert_allclose(ps.vmap(gradient)(rows), [gradient(row) for row in rows], rtol=1e-12)


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_every_form_of_file_can_be_written(form: Any, tmp_path: Path) -> None:
    specs = [ps.spec("f32", ["M", "K"]), ps.spec("f32", ["K", "N"])]
    for path in ps.export(amulb, *specs, path=tmp_path / f"{form}.onnx", form=form):
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def test_results_are_written_into_given_arrays() -> None:
    out = np.zeros((72, 72))
    assert amulb.compiled.run_into(out, A, B) is out
    np.testing.assert_allclose(out, A @ B, rtol=1e-13)


def test_a_nest_without_a_form_in_onnx_runs_in_python_with_a_warning_and_is_refused_in_a_trace() -> None:
    nest = ps.loops("y[i] := after(x[i])", functions={"after": lambda x: x.view(np.int64) * 0.5}, name="odd")
    x = np.array([1.0, 2.0])
    with pytest.warns(InterpretedNestWarning, match="odd runs in Python") as told:
        found = nest(x)
    assert found.tolist() == (x.view(np.int64) * 0.5).tolist()
    assert told[0].filename == __file__
    with pytest.raises(UnsupportedFunction, match="view"):
        ps.trace(nest, x)


def test_a_whole_number_is_pythons_and_is_told_so() -> None:
    assert softened(np.ones(4), np.int64(2)) == pytest.approx(2 * math.log1p(math.e))
    with pytest.raises(DtypeError, match=r"n is a whole number, not 1\.5"):
        softened(np.ones(4), 1.5)
    with pytest.raises(DtypeError, match="known only at run time"):
        ps.trace(lambda x, n: softened(x, n), np.ones(4), np.array(3))


def test_wrong_arguments_are_told_with_the_nests_own() -> None:
    with pytest.raises(SpecError, match=r"amulb\(A, B\): missing a required argument: 'B'"):
        amulb(A)
    with pytest.raises(SpecError, match="amulb has no array q"):
        amulb.derive("q")


def test_lists_and_numbers_are_arrays() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ps.loops("y[i] := s * x[i]")(2, [1.0, 2.0]).tolist() == [2.0, 4.0]


def test_a_listing_shows_the_nest_and_with_tracked_its_derivative() -> None:
    assert amulb.listing().startswith("amulb(A[:, :], B[:, :]):")
    assert "amulb reverse(d_C[:, :], B[:, :]):" in amulb.listing("A")


def test_the_joint_program_of_72_by_72_allocates_nothing_once_it_is_prepared() -> None:
    seed = np.ones((72, 72))
    prepared = ps.split(amulb, A, B).joint().prepare(A, B, seed)
    prepared(A, B, seed)
    before = buffers()
    for _ in range(3):
        value, d_a, d_b = prepared(A, B, seed)
    assert buffers().since(before) == (0, 0)
    np.testing.assert_allclose(value, A @ B, rtol=1e-12)
    np.testing.assert_allclose(d_a, seed @ B.T, rtol=1e-12)
    np.testing.assert_allclose(d_b, A.T @ seed, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s := sqrt(x[i])**2", 1.0),
        ("s := cos(sqrt(x[i]))", -0.5),
        ("s := x[i]*sqrt(x[i])", 0.0),
        ("s := where(x[i] > 0, sqrt(x[i]), 0)", 0.0),
        ("s := sqrt(x[i])", np.inf),
    ],
)
def test_a_root_at_0_in_a_traced_program_has_the_slope_of_its_composition(text: str, expected: float) -> None:
    nest = ps.loops(text)
    assert ps.grad(lambda x: nest(x))(np.array([0.0, 4.0]))[0] == expected


def test_what_is_around_a_nest_decides_the_slope_of_its_root_too() -> None:
    roots = ps.loops("s[i] := sqrt(x[i])")
    x = np.array([0.0, 4.0])
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(np.where(x > 0, roots(x), 0)))(x), [0.0, 0.25])
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(roots(x) ** 2))(x), [1.0, 1.0])
    distances = ps.loops("d[i,j] := (x[i,k] - y[j,k])**2 |> sqrt")
    kernel = ps.hessian(lambda x: np.sum(np.exp(-(distances(x, np.zeros((1, 2))) ** 2))))(np.zeros((1, 2)))
    np.testing.assert_allclose(kernel[0, :, 0], -2 * np.eye(2))
