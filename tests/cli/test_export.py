"""`primsplit export`: from a file to a file that onnxruntime runs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import BranchError

LOSS = """
import numpy as np

wrt = ("w",)

def loss(w, x):
    return np.sum(np.tanh(x @ w))

def example_inputs():
    return np.array([[0.5], [-1.0]]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
"""

W, X = np.array([[0.5], [-1.0]]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def _gradient(w: Any, x: Any) -> Any:
    return x.T @ (1 - np.tanh(x @ w) ** 2)


def _names(path: Path) -> tuple[list[str], list[str]]:
    session = onnxruntime.InferenceSession(str(path))
    return [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()]


def test_a_file_with_example_inputs_becomes_one_gradient_file(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "loss.onnx"
    done = primsplit("export", model(LOSS), "--onnx", out)
    assert (done.status, done.error) == (0, "")
    assert "d_w" in done.out
    assert _names(out) == (["w", "x"], ["y", "d_w"])
    value, gradient = onnxruntime.InferenceSession(str(out)).run(None, {"w": W, "x": X})
    assert value == pytest.approx(np.tanh(X @ W).sum())
    np.testing.assert_allclose(gradient, _gradient(W, X), rtol=1e-12)


def test_a_file_of_a_package_may_import_relatively(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "told nowhere" / "outer" / "inner"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").write_text("")
    (folder.parent / "rates.py").write_text("RATE = 3.0\n")
    (folder / "shapes.py").write_text("from ..rates import RATE\ndef grown(x): return RATE * x\n")
    (folder / "model.py").write_text("from .shapes import grown\ndef loss(x): return grown(x)\n")
    out = tmp_path / "loss.onnx"
    done = primsplit("export", folder / "model.py", "--onnx", out, "--spec", "x:f64")
    assert (done.status, done.error) == (0, "")
    _, slope = onnxruntime.InferenceSession(str(out)).run(None, {"x": np.array(2.0)})
    assert slope == 3.0


@pytest.mark.parametrize("main", ["", "main = 'first'"], ids=["without a main one", "the main one's"])
def test_an_example_serves_each_function_that_takes_it(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, main: str
) -> None:
    path = model(f"""
        {main}
        def first(x, y): return x * y
        def second(x, y): return x / y
        def third(z): return z * z
        def example_inputs(): return {{"x": 2.0, "y": 3.0}}
    """)
    for name in ("first", "second"):
        assert primsplit("export", f"{path}:{name}", "--onnx", tmp_path / "out.onnx").status == 0
        assert _names(tmp_path / "out.onnx")[0] == ["x", "y"]
    assert "no spec for its parameter z" in primsplit("export", f"{path}:third", "--onnx", tmp_path / "o.onnx").error
    assert primsplit("export", f"{path}:third", "--onnx", tmp_path / "o.onnx", "--spec", "z:f32[N]").status == 0


def test_a_parameter_may_be_annotated_with_a_spec(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model("""
        import primsplit as ps
        def loss(x: ps.spec("float32", ["N", 3])): return x.sum()
    """)
    done = primsplit("export", path, "--onnx", tmp_path / "out.onnx", "--json")
    assert done.json["inputs"] == [{"name": "x", "type": "float32[N,3]"}]


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
def test_a_parameter_may_be_annotated_with_the_text_of_a_spec(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, future: str
) -> None:
    path = model(f"""
        {future}
        def loss(x: "f32[N,3]", y: "float64[]", z: "bool[2]" = None): return x.sum() * y * z[0]
    """)
    done = primsplit("export", path, "--onnx", tmp_path / "out.onnx", "--json")
    assert done.status == 0, done.error
    assert [i["type"] for i in done.json["inputs"]] == ["float32[N,3]", "float64", "bool[2]"]


def test_without_a_path_the_file_is_named_after_the_model(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert primsplit("export", model(LOSS, "pendulum.py")).status == 0
    assert (tmp_path / "pendulum.onnx").exists()


def test_a_named_size_in_a_spec_is_left_open_and_the_dtype_is_the_examples(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "loss.onnx"
    assert primsplit("export", model(LOSS), "--onnx", out, "--spec", "x:[N,2]").status == 0
    session = onnxruntime.InferenceSession(str(out))
    assert [i.shape for i in session.get_inputs()] == [[2, 1], ["N", 2]]
    for count in (0, 1, 7):
        x = np.linspace(-1, 1, 2 * count).reshape(count, 2)
        np.testing.assert_allclose(session.run(["d_w"], {"w": W, "x": x})[0], _gradient(W, x), atol=1e-12)


def test_the_files_own_specs_are_read_and_the_command_line_goes_before_them(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(LOSS + '\nspecs = {"x": "[M,2]", "w": "f64[2,K]"}\n')
    done = primsplit("export", path, "--onnx", tmp_path / "a.onnx", "--spec", "x:f64[N,2]", "--json")
    assert [i["type"] for i in done.json["inputs"]] == ["float64[2,K]", "float64[N,2]"]


def test_specs_alone_are_enough_and_dotted_names_build_the_containers(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model("""
        def loss(params, x):
            return ((x @ params["w"] + params["layers"][0] * params["layers"][1]) ** 2).sum()
        """)
    specs = ["params.w:f32[3,2]", "params.layers.0:f32[2]", "params.layers.1:f32", "x:f32[N,3]"]
    flags = [part for s in specs for part in ("--spec", s)]
    done = primsplit("export", path, "--onnx", tmp_path / "a.onnx", *flags, "--wrt", "params", "--json")
    assert done.status == 0, done.error
    assert [i["name"] for i in done.json["inputs"]] == ["params.layers.0", "params.layers.1", "params.w", "x"]
    assert [o["name"] for o in done.json["outputs"]][1:] == [
        "d_params.layers.0",
        "d_params.layers.1",
        "d_params.w",
    ]


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
def test_jaxtyping_annotations_are_specs(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, future: str
) -> None:
    path = model(f"""
        {future}
        import numpy as np
        from jaxtyping import Float32

        def loss(w: Float32[np.ndarray, "D"], x: Float32[np.ndarray, "N D"]):
            return np.sum(np.exp(x @ w))
        """)
    done = primsplit("export", path, "--onnx", tmp_path / "a.onnx", "--json")
    assert done.status == 0, done.error
    assert [i["type"] for i in done.json["inputs"]] == ["float32[D]", "float32[N,D]"]


def test_an_annotation_opens_the_sizes_of_an_example(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model("""
        import numpy as np
        from jaxtyping import Float

        def loss(x: Float[np.ndarray, "N 2"]):
            return np.sum(np.exp(x))

        def example_inputs():
            return {"x": np.ones((3, 2), np.float32)}
        """)
    done = primsplit("export", path, "--onnx", tmp_path / "a.onnx", "--json")
    assert done.json["inputs"] == [{"name": "x", "type": "float32[N,2]"}]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtype_casts_the_floating_inputs_and_no_others(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, dtype: str
) -> None:
    path = model("""
        import numpy as np

        def loss(x, count):
            return np.sum(x * x) * 0.5 + count.sum() * 0

        def example_inputs():
            return np.arange(3.0), np.arange(2)
        """)
    done = primsplit("export", path, "--onnx", tmp_path / "a.onnx", "--dtype", dtype, "--json")
    assert [i["type"] for i in done.json["inputs"]] == [f"{dtype}[3]", "int64[2]"]
    assert done.json["outputs"][-1]["type"] == f"{dtype}[3]"


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_each_form_is_written_and_told(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, form: str
) -> None:
    done = primsplit("export", model(LOSS), "--onnx", tmp_path / "a.onnx", "--form", form, "--json")
    files = [Path(f["path"]) for f in done.json["files"]]
    assert [f.name for f in files] == (["a.forward.onnx", "a.backward.onnx"] if form == "split" else ["a.onnx"])
    for file in files:
        onnx.checker.check_model(str(file), full_check=True)
    assert sorted(os.listdir(tmp_path)) == sorted([*(f.name for f in files), "model.py"])


def test_wrt_on_the_command_line_replaces_the_files(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "a.onnx"
    primsplit("export", model(LOSS), "--onnx", out, "--wrt", "x", "--wrt", "w")
    assert _names(out)[1] == ["y", "d_w", "d_x"]


def test_a_function_is_chosen_by_name_and_main_may_be_a_function_or_its_name(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    text = """
        import numpy as np

        def square(x):
            return (x * x).sum()

        def cube(x):
            return (x * x * x).sum()
        """
    spec = ("--spec", "x:f64[2]", "--onnx", tmp_path / "a.onnx", "--json")
    assert primsplit("export", f"{model(text)}:cube", *spec).json["function"] == "cube"
    for main in ('"cube"', "cube"):
        path = model(text + f"\n        main = {main}\n")
        assert primsplit("export", path, *spec).json["function"] == "cube"
        assert primsplit("export", f"{path}:square", *spec).json["function"] == "square"


def test_a_partial_is_a_function_of_the_file_and_has_the_name_of_what_it_calls(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model("""
        import functools
        import math

        def _power(x, n):
            return (x**n).sum()

        imported = functools.partial(math.hypot, 1.0)
        cube = functools.partial(functools.partial(_power), n=3)
        """)
    told = primsplit("export", path, "--spec", "x:f64[2]", "--onnx", tmp_path / "a.onnx", "--json").json
    assert told["function"] == "_power"
    assert [row["name"] for row in told["inputs"]] == ["x"]
    assert onnx.load(tmp_path / "a.onnx").graph.name == "_power"


def test_a_method_is_chosen_by_the_name_of_its_object_or_class(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model("""
        class Spring:
            k = 3.0

            def energy(self, x):
                return 0.5 * self.k * (x * x).sum()

            @staticmethod
            def length(x):
                return (x * x).sum() ** 0.5

        spring = Spring()
        """)
    for name in ("spring.energy", "Spring.length", "spring.length"):
        done = primsplit("export", f"{path}:{name}", "--spec", "x:f64[2]", "--onnx", tmp_path / "a.onnx", "--json")
        assert (done.status, done.json["function"]) == (0, name.partition(".")[2])


def test_a_model_may_import_its_neighbours_and_print(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    model("SCALE = 3.0\n", "neighbour_of_the_model.py")
    path = model("""
        import neighbour_of_the_model as neighbour

        print("loading")

        def loss(x):
            print("tracing")
            return (x * neighbour.SCALE).sum()
        """)
    done = primsplit("export", path, "--spec", "x:f64[2]", "--onnx", tmp_path / "a.onnx", "--json")
    assert done.json["function"] == "loss"
    assert done.error.split() == ["loading", "tracing"]


BRANCHING = """
import numpy as np
def loss(x):
    return x.sum() ** 3 if x.sum() > 1 else x.sum() ** 2
def example_inputs():
    return {"x": np.array([0.1, 0.2, 0.3])}
"""


def test_python_branches_are_explored_refused_or_taken_as_the_example_goes(primsplit, model, tmp_path) -> None:
    path, out = model(BRANCHING), tmp_path / "out.onnx"
    for policy, low, high in (("explore", 1.2, 38.88), ("static", 1.2, None)):
        assert primsplit("export", path, "--onnx", out, "--branches", policy).status == 0
        gradient = ps.load(str(out))
        np.testing.assert_allclose(gradient(np.array([0.1, 0.2, 0.3]))[1], [low] * 3)
        if high is None:
            with pytest.raises(BranchError):
                gradient(np.array([1.1, 1.2, 1.3]))
        else:
            np.testing.assert_allclose(gradient(np.array([1.1, 1.2, 1.3]))[1], [high] * 3)
    refused = primsplit("export", path, "--onnx", tmp_path / "no.onnx", "--branches", "error")
    assert refused.status == 1
    assert "a branch depends" in refused.error


@pytest.mark.parametrize("mode", ["gradient", "hvp", "jacobian"])
def test_a_branch_goes_as_the_example_does_for_specs_of_any_size(primsplit, model, tmp_path, mode) -> None:
    out = tmp_path / "out.onnx"
    given = ("--spec", "x:[N]", "--branches", "static", "--mode", mode)
    assert primsplit("export", model(BRANCHING), "--onnx", out, *given).status == 0
    derived = ps.load(str(out))
    rest = [np.ones(2)] if mode == "hvp" else []
    np.testing.assert_allclose(derived(np.array([0.1, 0.2]), *rest)[1], [0.6] * 2)
    with pytest.raises(BranchError):
        derived(np.array([1.1, 1.2]), *rest)


def test_a_branch_that_no_example_tells_is_refused(primsplit, model, tmp_path) -> None:
    text = BRANCHING.partition("def example_inputs")[0]
    refused = primsplit(
        "export", model(text), "--onnx", tmp_path / "no.onnx", "--spec", "x:f64[N]", "--branches", "static"
    )
    assert (refused.status, "arrays, not specs" in refused.error, "example_inputs" in refused.error) == (1, True, True)


GUARDED = """
import numpy as np, primsplit as ps
@ps.guarded
def loss(x: "f64[N]"):
    total = np.sum(x)
    while total > 1:
        total = 0.5 * total
    return total
for start in (0.1, 1.0, 2.0):
    loss(np.array([start, start]))
"""


def test_a_guarded_function_is_exported_with_the_ways_that_it_took(primsplit, model, tmp_path) -> None:
    out = tmp_path / "out.onnx"
    assert primsplit("export", model(GUARDED), "--onnx", out, "--branches", "guard").status == 0
    gradient = ps.load(str(out))
    for x, slope in (([0.5], 1.0), ([1.0, 0.5, 0.3], 0.5), ([3.0], 0.25)):
        np.testing.assert_allclose(gradient(np.array(x))[1], [slope] * len(x))
    with pytest.raises(BranchError):
        gradient(np.array([9.0]))


DRAWING = """
import numpy as np

def loss(x):
    return np.sum((x + np.random.normal(size=3)) ** 2)

def example_inputs():
    return (np.ones(3),)
"""


@pytest.mark.parametrize("mode", ["gradient", "hvp", "value"])
def test_numbers_that_were_drawn_while_the_file_was_written_are_told(primsplit, model, tmp_path, mode) -> None:
    done = primsplit("export", model(DRAWING), "--onnx", tmp_path / "out.onnx", "--mode", mode, "--json")
    (drawn,) = done.json["drawn"]
    assert (drawn["name"], drawn["line"]) == ("np.random.normal()", 4)
    told = primsplit("export", model(DRAWING), "--onnx", tmp_path / "out.onnx", "--mode", mode).out
    assert "np.random.normal() at model.py:4 drew while the file was written" in told
    assert primsplit("export", model(BRANCHING), "--onnx", tmp_path / "o.onnx", "--json").json["drawn"] == []


def test_no_node_is_placed_in_the_command_line(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    """Nodes that are recorded outside of the user's function have no line, also of no library behind the commands."""
    path = tmp_path / "mean.py"
    path.write_text(
        'import numpy as np\nspecs = {"x": "f32[N,3]"}\ndef loss(x):\n    return np.mean(np.sum(x * x, axis=1))\n'
    )
    assert primsplit("export", path, "--onnx", tmp_path / "mean.onnx").status == 0
    written = (tmp_path / "mean.onnx").read_bytes()
    assert b"mean.py:4" in written
    assert b"callback" not in written
    assert b"core.py" not in written
    assert b"main.py" not in written
