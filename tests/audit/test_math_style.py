"""A file as mathematics: each node in one statement, the numbers of the file, and text that a person would write."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from typer.testing import CliRunner

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics, mathematics_of
from primsplit.audit.written import Written, read_written
from primsplit.cli import app
from primsplit.cli.options import Exported, FunctionDerivation, ModeName
from primsplit.ir.errors import MissingRule, ShapeError, SpecError
from tests.mathematics import assert_covers, assert_statements_compute, inputs_of
from tests.networks import learned, light_network, random_inputs

SMALL = ("asian_option", "digits_classifier", "lennard_jones", "robust_regression")
MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.py"))
GOLDEN = Path(__file__).parent / "golden"
PROGRAMS = Path(__file__).parent / "programs"


def write(path: Path, folder: Path, mode: ModeName | None = None) -> tuple[Exported, str]:
    """The program of a file, and the ONNX file that the command line writes for it."""
    made = Exported(str(path), FunctionDerivation(mode=mode), quiet=True)
    written = str(folder / f"{path.stem}.onnx")
    done = CliRunner().invoke(app, ["export", str(path), "--onnx", written, *(["--mode", mode] if mode else [])])
    assert done.exit_code == 0, done.stderr
    return made, written


MOST = 0.35
"""The most statements for a node of a file."""


def assert_is_short(file: Written) -> None:
    """Assert that a listing has few statements, of which few move shapes or have names of operators."""
    (shown,) = mathematics_of(file)
    assert shown.count <= MOST * sum(1 for _ in file.ops())
    assert len(shown.moves) <= 0.05 * shown.count
    assert len(shown.operators) <= 0.1 * shown.count


@pytest.mark.sweep(18)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_statements_of_a_model_have_each_node_once_and_compute_its_file(path: Path, tmp_path: Path) -> None:
    made, written = write(path, tmp_path)
    file = read_written(written)
    assert_covers(file)
    assert_statements_compute(written, inputs_of(made, written))
    assert_is_short(file)


@pytest.mark.parametrize("name", SMALL)
def test_a_small_model_has_few_statements(name: str, tmp_path: Path) -> None:
    assert_is_short(read_written(write(MODELS[0].with_name(f"{name}.py"), tmp_path)[1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "double"), [("squeezenet", False), ("squeezenet", True), ("resnet50", False), ("resnet50", True)]
)
def test_the_gradient_of_a_network_has_few_statements_and_these_compute_it(
    name: str, double: bool, tmp_path: Path
) -> None:
    """In float32 rounding decides on which side of 0 a few of ResNet's numbers are, which changes its gradient."""
    model, path = light_network(name, double=double), str(tmp_path / "gradient.onnx")
    onnx.save(model, tmp_path / "network.onnx")
    ps.split(ps.load(tmp_path / "network.onnx"), wrt=learned(model)).save(path)
    file, random = read_written(path), np.random.default_rng(1)
    assert_covers(file)
    assert_is_short(file)
    if name == "squeezenet" or double:
        given = random_inputs(model)
        shapes: dict[str, Any] = {n: p.type.shape for n, p in zip(file.inputs, file.block.params, strict=True)}
        dtype = np.float64 if double else np.float32
        drawn = (given[n] if n in given else random.standard_normal(s) for n, s in shapes.items())
        assert_statements_compute(path, [a.astype(dtype) for a in drawn])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ModeName)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_statements_of_every_model_in_every_mode_have_each_node_once(
    path: Path, mode: ModeName, tmp_path: Path
) -> None:
    try:
        write(path, tmp_path, mode)
    except (ShapeError, MissingRule, SpecError):
        pytest.skip("the model has no such derivative")
    for written in tmp_path.glob("*.onnx"):  # two of a linearization
        assert_covers(read_written(str(written)))


GOLDEN_MODELS = [p for p in MODELS if p.stem in {"digits_classifier", "lennard_jones", "robust_regression"}]
LISTED = [*sorted(PROGRAMS.glob("*.py")), *GOLDEN_MODELS]


@pytest.mark.parametrize("path", LISTED, ids=lambda path: path.stem)
def test_a_listing_reads_as_a_person_would_write_it(path: Path, tmp_path: Path) -> None:
    made, written = write(path, tmp_path)
    text = list_as_mathematics(read_written(written))
    digest = read_written(written).digest[:16]
    golden = GOLDEN / f"{path.stem}.txt"
    if os.environ.get("WRITE_GOLDEN"):
        golden.write_text(text.replace(digest, "DIGEST") + "\n", encoding="utf-8")
    assert text.replace(digest, "DIGEST") + "\n" == golden.read_text(encoding="utf-8")
    assert_statements_compute(written, inputs_of(made, written))


def listing(function: Callable[..., Any], *arguments: Any, folder: Path, **named: Any) -> str:
    """The listing of the file of a function."""
    path = folder / "f.onnx"
    ps.export(function, *arguments, path=path, **named)
    return list_as_mathematics(read_written(str(path)))


def test_a_cotangent_has_the_name_of_its_value_and_says_what_that_is(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden)

    text = listing(loss, np.ones((3, 4)), np.ones((2, 3)), folder=tmp_path, wrt="w")
    assert "  hidden = tanh(x @ w)" in text
    assert "  # Grad of: hidden = tanh(x @ w)\n" in text


def test_everything_shows_what_only_moves_shapes(tmp_path: Path) -> None:
    def spread(x: Any) -> Any:
        total = np.sum(x)
        return total * total

    path = tmp_path / "f.onnx"
    ps.export(spread, ps.spec("float64", ["N"]), path=path)
    file = read_written(str(path))
    assert "shape_" not in list_as_mathematics(file)
    assert "x.shape" not in list_as_mathematics(file)
    assert "x.shape" in list_as_mathematics(file, everything=True)
    assert "(--all)" not in list_as_mathematics(file, everything=True)


def test_a_comment_on_top_of_a_program_changes_only_the_numbers_of_lines(tmp_path: Path) -> None:
    source = (PROGRAMS / "classifier.py").read_text(encoding="utf-8")
    texts = []
    for folder, text in (("plain", source), ("comment", f"# a comment\n{source}")):
        path = tmp_path / folder / "classifier.py"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        _, written = write(path, path.parent)
        texts.append(list_as_mathematics(read_written(written)).splitlines())
    differ = [a for a, b in zip(*texts, strict=True) if a != b]
    assert 0 < len(differ) <= 5
    assert all("classifier.py:" in line or "sha256" in line for line in differ)


def test_another_function_on_a_line_changes_only_the_statements_of_that_line(tmp_path: Path) -> None:
    source = (PROGRAMS / "classifier.py").read_text(encoding="utf-8")
    texts = []
    for folder, text in (("tanh", source), ("sin", source.replace("np.tanh", "np.sin"))):
        path = tmp_path / folder / "classifier.py"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        _, written = write(path, path.parent)
        texts.append(set(list_as_mathematics(read_written(written)).splitlines()[4:-1]))
    differ = texts[0] - texts[1]
    assert {line.split()[0] for line in differ} <= {"hidden", "#", "d_hidden_in", "d_w1,"}
    assert any("hidden = tanh(" in line for line in differ)
    assert any("hidden = sin(" in line for line in texts[1] - texts[0])


def test_the_readme_shows_the_listing_of_its_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (source,) = (block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "layer.onnx" in block)
    (shown,) = (block for block in re.findall(r"```text\n(.*?)```", readme, re.DOTALL) if "# Grad of" in block)
    Path("model.py").write_text(source, encoding="utf-8")
    exec(compile(source, "model.py", "exec"), {"np": np, "ps": ps})
    text = list_as_mathematics(read_written("layer.onnx"))
    plain = (re.sub(r"sha256 \w+|model.py:\d+", "", found).strip() for found in (text, shown))
    assert next(plain) == next(plain)


@pytest.mark.parametrize("part", ["producer", "size", "input", "output"])
def test_a_head_is_two_lines_whatever_a_file_names(part: str, tmp_path: Path) -> None:
    forged = "'''\nimport os; os.system('touch taken')\n'''"
    told = {key: forged if key == part else key for key in ("producer", "size", "input", "output")}
    inputs = [helper.make_tensor_value_info(told["input"], 1, [told["size"], 3])]
    outputs = [helper.make_tensor_value_info(told["output"], 1, None)]
    graph = helper.make_graph([helper.make_node("Sin", [told["input"]], [told["output"]])], "g", inputs, outputs)
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name=told["producer"])
    onnx.save(model, tmp_path / "m.onnx")
    file = read_written(tmp_path / "m.onnx")
    assert "\n" not in file.producer
    assert not any(line.lstrip().startswith("import os;") for line in list_as_mathematics(file).splitlines())
