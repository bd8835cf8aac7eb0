"""`primsplit check`: right files pass, wrong ones fail and say where."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import primsplit as ps

WRONG_RULE = """
import numpy as np
import primsplit as ps

@ps.primitive
def cube(x):
    return x * x * x

@ps.rrule(cube)
def cube_rule(x):
    def pullback(dz):
        return (FACTOR * x * x * dz,)
    return cube(x), pullback

def loss(x, t):
    return np.sum(cube(x) * np.sin(t))

main = loss

def example_inputs():
    return np.linspace(0.5, 2.0, SIZE), np.linspace(-1.0, 1.0, SIZE)
"""


def _with(factor: float, size: int) -> str:
    return WRONG_RULE.replace("FACTOR", str(factor)).replace("SIZE", str(size))


@pytest.mark.parametrize("size", [4, 400])
@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_a_right_gradient_passes_in_each_form(
    primsplit: Callable[..., Any], model: Callable[..., Path], form: str, size: int
) -> None:
    done = primsplit("check", model(_with(3.0, size)), "--form", form, "--json")
    assert done.status == 0, done.error
    assert done.json["ok"]
    assert [r["name"] for r in done.json["rows"]] == ["y", "d_x", "d_t"]
    assert all(r["error"] < 1e-6 for r in done.json["rows"])


@pytest.mark.parametrize(("mode", "form"), [("hvp", "functions"), ("jvp", "split"), ("linearize", "joint")])
def test_a_right_tangent_passes_in_each_form(
    primsplit: Callable[..., Any], model: Callable[..., Path], mode: str, form: str
) -> None:
    done = primsplit("check", model(_with(3.0, 4)), "--mode", mode, "--form", form, "--json")
    assert done.status == 0, done.error
    assert {r["verdict"] for r in done.json["rows"]} == {"ok"}


@pytest.mark.parametrize("size", [4, 400])
@pytest.mark.parametrize("factor", [3.0001, -3.0, 0.0])
def test_a_wrong_rule_fails_and_the_input_is_named(
    primsplit: Callable[..., Any], model: Callable[..., Path], factor: float, size: int
) -> None:
    done = primsplit("check", model(_with(factor, size)), "--json")
    assert done.status == 1
    assert {r["name"]: r["verdict"] for r in done.json["rows"]} == {"y": "ok", "d_x": "wrong", "d_t": "ok"}


def test_a_file_made_from_an_older_function_fails(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    text = """
        import numpy as np

        def loss(x):
            return np.sum(np.sin(2.0 * x))

        def example_inputs():
            return (np.linspace(0.1, 1.0, 5),)
        """
    primsplit("export", model(text), "--onnx", tmp_path / "old.onnx")
    assert primsplit("check", model(text), "--onnx", tmp_path / "old.onnx").status == 0
    done = primsplit("check", model(text.replace("2.0", "2.5")), "--onnx", tmp_path / "old.onnx")
    assert done.status == 1
    assert done.out.count("wrong") == 2
    assert "2 of 2 not ok" in done.out


@pytest.mark.parametrize(
    ("dtype", "most"), [("float64", 1e-6), ("float32", 1e-3), ("float16", 5e-2), ("bfloat16", 2e-1), ("f32", 1e-3)]
)
def test_every_precision_is_compared_with_differences_in_float64(
    primsplit: Callable[..., Any], model: Callable[..., Path], dtype: str, most: float
) -> None:
    path = model("""
        import numpy as np

        def loss(w, x):
            return np.tanh(x * w) * x

        def example_inputs():
            return np.linspace(0.5, 1.5, 6), np.linspace(-1.0, 1.0, 6)
        """)
    done = primsplit("check", path, "--dtype", dtype, "--json")
    assert done.status == 0, done.out
    assert [r["type"] for r in done.json["rows"]] == [f"{'float32' if dtype == 'f32' else dtype}[6]"] * 3
    assert all(r["error"] < most for r in done.json["rows"])


def test_a_python_number_beside_float32_is_weak_in_numpy_too(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    """The gradient of such a number is float64, and has the digits of float32."""
    path = model("""
        import numpy as np

        def loss(x, rate):
            return 1.0 - np.sum(np.tanh(rate * x) / 3)

        def example_inputs():
            return np.array([0.3, 0.7, 1.9], np.float32), 0.7
        """)
    done = primsplit("check", path, "--json")
    assert done.status == 0, done.out
    assert [r["type"] for r in done.json["rows"]] == ["float32", "float32[3]", "float64"]


@pytest.mark.parametrize("spec", ["f64[]", "f32[]"])
def test_what_is_said_to_have_no_axes_is_a_number(
    primsplit: Callable[..., Any], model: Callable[..., Path], spec: str
) -> None:
    path = model(f"""
        def total(s: "{spec}", x: "{spec[:3]}[3]"):
            reached = s
            for element in x:
                reached += element * s
            return s * reached
        """)
    done = primsplit("check", path, "--json")
    assert done.status == 0, done.error
    assert done.json["ok"]


def test_parameters_at_zero_are_moved_all_the_same(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model("""
        import numpy as np

        def loss(bias, scale, x):
            return np.sum(np.exp(x + bias) * (1.0 + scale))

        def example_inputs():
            return np.zeros(3), np.array(0.0), np.array([1.0, 2.0, 3.0])
        """)
    done = primsplit("check", path, "--wrt", "bias", "--wrt", "scale", "--json")
    assert done.status == 0, done.out


def test_a_convention_at_a_kink_is_no_error_and_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
        import numpy as np

        def loss(x):
            return np.where(x > 0, x, 0.0).sum()

        def example_inputs():
            return (np.array([0.0, 1.0, -1.0]),)
        """)
    done = primsplit("check", path, "--json")
    assert done.status == 0, done.out
    assert done.json["rows"][1]["note"] == "at a kink"


@pytest.mark.parametrize(("factor", "verdict"), [(3.0, "ok"), (3.001, "unclear")])
def test_a_gradient_beside_a_jump_is_right_where_fine_differences_meet_it(
    primsplit: Callable[..., Any], model: Callable[..., Path], factor: float, verdict: str
) -> None:
    text = _with(factor, 1).replace("np.linspace(0.5, 2.0, 1)", "np.array([1.0])").replace("np.sin(t)", "1.0")
    path = model(text.replace("cube(x) *", "np.where(x > 1.000015, cube(x) + 0.01, cube(x)) *"))
    done = primsplit("check", path, "--wrt", "x", "--json")
    row = next(r for r in done.json["rows"] if r["name"] == "d_x")
    assert (row["verdict"], "at steps of" in row["note"]) == (verdict, verdict == "ok")


SATURATED = """
import numpy as np
import primsplit as ps

@ps.primitive
def certain(x):
    return OFFSET + 1 / (1 + np.exp(-x))

@ps.rrule(certain)
def certain_rule(x):
    y = certain(x)

    def pullback(dz):
        p = y - OFFSET
        return (FACTOR * dz * p * (1 - p),)

    return y, pullback

def main(x):
    return certain(x).sum()

def example_inputs():
    return (np.array([12.0], np.float32),)
"""


@pytest.mark.parametrize(
    ("offset", "factor", "verdict"),
    [("0", "1", "ok"), ("0", "1.01", "wrong"), ("0", "-1", "wrong"), ("9", "1", "ok"), ("9", "1.5", "wrong")],
)
def test_a_slope_that_float32_rounds_is_right_and_no_other(
    primsplit: Callable[..., Any], model: Callable[..., Path], offset: str, factor: str, verdict: str
) -> None:
    """1 - p has two digits where p is 0.999994, and fewer where p was told from 9 + p."""
    text = SATURATED.replace("OFFSET", offset).replace("FACTOR", factor)
    done = primsplit("check", model(text), "--json")
    row = next(r for r in done.json["rows"] if r["name"] == "d_x")
    assert row["verdict"] == verdict, row
    assert (row["note"] == "within rounding") == (verdict == "ok")


def test_a_model_that_computes_in_bfloat16_inside_is_judged_by_what_that_rounds(
    primsplit: Callable[..., Any], tmp_path: Path
) -> None:
    def mixed(w: Any, x: Any) -> Any:
        return np.tanh((x.astype(bfloat16) @ w).astype(np.float32))

    w = np.linspace(-1, 1, 12).reshape(4, 3).astype(bfloat16)
    ps.trace(lambda x: mixed(w, x), ps.spec("float32", ["N", 4])).save(tmp_path / "mixed.onnx")
    done = primsplit("check", tmp_path / "mixed.onnx", "--json")
    assert done.status == 0, done.out
    assert [r["note"] for r in done.json["rows"]] == ["within rounding", "within rounding"]
    ps.split(lambda x: 1.1 * mixed(w, x), ps.spec("float32", ["N", 4])).joint().save(tmp_path / "other.onnx")
    other = primsplit("check", tmp_path / "mixed.onnx", "--onnx", tmp_path / "other.onnx", "--json")
    assert [r["verdict"] for r in other.json["rows"]] == ["wrong", "wrong"], other.out


def test_without_an_example_the_inputs_are_random_and_that_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
        import numpy as np

        def loss(x, which):
            return np.log(x)[which].sum()
        """)
    done = primsplit("check", path, "--spec", "x:f64[N,3]", "--spec", "which:i64[M]")
    assert done.status == 0, done.out + done.error
    assert "at random inputs" in done.out


def test_the_tolerance_may_be_given(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model(_with(3.0001, 4))
    assert primsplit("check", path).status == 1
    assert primsplit("check", path, "--tolerance", "1e-3").status == 0


def test_a_tolerance_that_differences_cannot_show_leaves_a_right_gradient_unclear(primsplit, model) -> None:
    smooth = model("import numpy as np\ndef f(x: 'f64[3]'):\n    return np.sum(np.sin(x) ** 3)\n")
    for tolerance, status, told in (("1e-30", 1, "differences show no error below"), ("1e-9", 0, "all ok")):
        found = primsplit("check", smooth, "--tolerance", tolerance)
        assert (found.status, told in found.out) == (status, True)


def test_a_tolerance_of_zero_admits_no_error(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model(_with(3.0000001, 4))
    assert primsplit("check", path).status == 0
    assert primsplit("check", path, "--tolerance", "0").status == 1
    assert primsplit("check", path, "--tolerance", "-1").status == 2


def test_an_input_may_be_called_like_a_cotangent(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model("""
        import numpy as np
        def product(x, d_y): return x * d_y
        def example_inputs(): return np.ones(2), np.arange(2.0)
    """)
    assert primsplit("check", path).status == 0


def test_a_file_of_another_mode_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(_with(3.0, 4))
    for mode, told in (("hvp", "takes t_x, t_t, which is not given"), ("jacobian", "does not give d_x, d_t")):
        primsplit("export", path, "--mode", mode, "--onnx", tmp_path / "other.onnx")
        done = primsplit("check", path, "--onnx", tmp_path / "other.onnx")
        assert (done.status, told in done.error) == (1, True), done.error


SECOND = """
import numpy as np
import primsplit as ps

@ps.primitive
def sine(x):
    return np.sin(x)

@ps.primitive
def cosine(x):
    return np.cos(x)

ps.rrule(sine)(lambda x: (sine(x), lambda dy: (FIRST * dy * cosine(x),)))
ps.rrule(cosine)(lambda x: (cosine(x), lambda dy: (SECOND * dy * np.sin(x),)))

def main(x, k):
    return np.sum(k * sine(x))

def example_inputs():
    return np.linspace(0.3, 1.0, 3), np.float32(2.0)
"""


@pytest.mark.parametrize(
    ("mode", "first", "second", "names", "wrong"),
    [
        ("jvp", 1, 1, ["y", "t_y"], []),
        ("jvp", 2, 1, ["y", "t_y"], ["t_y"]),
        ("linearize", 1, 1, ["y", "t_y"], []),
        ("linearize", 2, 1, ["y", "t_y"], ["t_y"]),
        ("jacobian", 1, 1, ["y", "j_x", "j_k"], []),
        ("jacobian", 2, 1, ["y", "j_x", "j_k"], ["j_x"]),
        ("hvp", 1, -1, ["y", "d_x", "d_k", "t_d_x", "t_d_k"], []),
        ("hvp", 1, 1, ["y", "d_x", "d_k", "t_d_x", "t_d_k"], ["t_d_x"]),
        ("hessian", 1, -1, ["y", "d_x", "d_k", "h_x_x", "h_x_k", "h_k_x", "h_k_k"], []),
        ("hessian", 1, 1, ["y", "d_x", "d_k", "h_x_x", "h_x_k", "h_k_x", "h_k_k"], ["h_x_x"]),
        ("value", 2, 2, ["y"], []),
    ],
)
def test_every_output_of_each_mode_is_checked(
    primsplit: Callable[..., Any],
    model: Callable[..., Path],
    mode: str,
    first: int,
    second: int,
    names: list[str],
    wrong: list[str],
) -> None:
    text = SECOND.replace("FIRST", str(first)).replace("SECOND", str(second)) + f"\nmode = {mode!r}\n"
    done = primsplit("check", model(text), "--json")
    assert done.status == bool(wrong), done.out
    assert [r["name"] for r in done.json["rows"]] == names
    assert [r["name"] for r in done.json["rows"] if r["verdict"] == "wrong"] == wrong
    assert done.json["mode"] == mode


@pytest.mark.parametrize("mode", ["jvp", "jacobian", "hvp", "hessian", "value"])
def test_a_models_derivatives_of_each_mode_are_checked(
    primsplit: Callable[..., Any], tmp_path: Path, mode: str
) -> None:
    weights = np.linspace(-1.0, 1.0, 3)
    ps.trace(lambda x: np.sum(np.tanh(x @ weights) ** 2), ps.spec("float32", [4, 3])).save(tmp_path / "model.onnx")
    done = primsplit("check", tmp_path / "model.onnx", "--mode", mode, "--json")
    assert done.status == 0, done.out + done.error


def test_several_results_are_checked_with_random_cotangents(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
        import numpy as np

        def both(x):
            return {"sine": np.sin(x), "count": np.argmax(x), "square": x * x}

        def example_inputs():
            return (np.array([0.3, 0.9, 0.1]),)
        """)
    done = primsplit("check", path, "--json")
    assert done.status == 0, done.error
    assert [r["name"] for r in done.json["rows"]] == ["count", "sine", "square", "d_x"]
    assert np.isfinite([r["error"] for r in done.json["rows"]]).all()
