"""The caller's options for an ONNX model's inputs: lengths of sequences, optional values, arrays, bounds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.cli.domains import integer_bounds
from primsplit.cli.loaded import LoadedModel
from primsplit.cli.options import FunctionDerivation, ModelOptions
from primsplit.programs.arguments import draw_arrays

HEAD = '<ir_version: 8, opset_import: ["" : 18, "ai.onnx.ml" : 3]>\n'
SEQUENCES = """g (seq(float[n,3]) xs, optional(float[3]) b) => (float[m,3] y) {
  z = ConcatFromSequence<axis: int = 0>(xs)
  y = Mul(z, z)
}"""
EMBEDDED = """g (int64[n] ids, float[n] w) => (float[n,1] y)
<float[40,2] table = {{{}}}> {{
  rows = Gather(table, ids)
  axis = Constant<value_ints: ints = [1]>()
  logs = Log(w)
  column = Unsqueeze(logs, axis)
  all = Mul(rows, column)
  y = ReduceMax<keepdims: int = 1>(all, axis)
}}""".format(", ".join(map(str, range(80))))  # fmt: skip
COMMANDS = {
    "grad": ["--onnx", "out.onnx"],
    "export": ["--onnx", "out.onnx"],
    "audit": ["--stage", "split"],
    "check": [],
    "bench": ["--runs", "2"],
}


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    monkeypatch.chdir(tmp_path)

    def save(text: str) -> Path:
        path = tmp_path / "model.onnx"
        onnx.save(onnx.parser.parse_model(HEAD + text), str(path))
        return path

    return save


@pytest.mark.parametrize("command", ["check", "bench"])
@pytest.mark.parametrize("said", [[], ["--spec", "b:[5,2]"]])
def test_inputs_that_name_no_size_are_drawn_with_as_many_rows(
    command: str, said: list[str], primsplit: Callable[..., Any], saved: Callable[[str], Path]
) -> None:
    """As converters of pipelines write a column each; sizes of different names differ."""
    path = saved("g (float[?,1] a, float[?,2] b) => (float[?,3] y) { y = Concat<axis: int = 1>(a, b) }")
    done = primsplit(command, path, *said, *COMMANDS[command], "--json")
    assert done.status == 0, done.error
    if command == "check":
        assert done.json["rows"][0]["type"] == f"float32[{5 if said else 3},3]"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("absent", "names"), [([], {"d_xs.0", "d_xs.1", "d_b"}), (["--absent", "b"], {"d_xs.1"})])
def test_every_command_takes_lengths_of_sequences_and_absent_optionals(
    command: str, absent: list[str], names: set[str], primsplit: Callable[..., Any], saved: Callable[[str], Path]
) -> None:
    done = primsplit(command, saved(SEQUENCES), "--length", "xs:2", *absent, *COMMANDS[command], "--json")
    assert done.status == 0, done.error
    if command == "check":
        assert done.json["ok"]
        assert names <= {row["name"] for row in done.json["rows"]}


STEP = "g (float[N] x) => (float[N] y) { z = ai.onnx.ml.Binarizer<threshold = 0.25>(x) y = Mul(z, x) }"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_operators_for_constants(
    command: str, primsplit: Callable[..., Any], saved: Callable[[str], Path]
) -> None:
    done = primsplit(command, saved(STEP), *COMMANDS[command])
    assert done.status == 1
    assert "Binarizer has no derivative" in done.error
    assert "--constant Binarizer" in done.error
    done = primsplit(command, saved(STEP), "--constant", "Binarizer", *COMMANDS[command], "--json")
    assert done.status == 0, done.error


@pytest.mark.parametrize("command", COMMANDS)
def test_a_sequence_without_a_length_is_refused_with_the_option(
    command: str, primsplit: Callable[..., Any], saved: Callable[[str], Path]
) -> None:
    done = primsplit(command, saved(SEQUENCES), *COMMANDS[command])
    assert done.status == 1
    assert "xs is a sequence of unknown length" in done.error
    assert "--length xs:3" in done.error


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--length", "xs"], "--length x:3"),
        (["--length", "xs:-1"], "cannot read --length"),
        (["--length", "q:1"], "no input q that is a sequence"),
        (["--absent", "xs"], "no input xs that is an optional"),
        (["--length", "xs:1", "--constant", "Floor"], "no node and no operator Floor"),
        (["--length", "xs:1", "--range", "b"], "--range x:0.5,2"),
        (["--length", "xs:1", "--range", "b:2,1"], "cannot read --range"),
        (["--length", "xs:1", "--range", "b:0,inf"], "cannot read --range"),
        (["--length", "xs:1", "--range", "q:1,2"], "there is no input q"),
        (["--length", "xs:1", "--inputs", "none.npz"], "cannot read none.npz"),
    ],
)
def test_what_fits_no_input_is_refused(
    options: list[str], told: str, primsplit: Callable[..., Any], saved: Callable[[str], Path]
) -> None:
    done = primsplit("check", saved(SEQUENCES), *options)
    assert done.status == 1
    assert told in done.error
    assert len(done.error.splitlines()) < 10


def test_a_model_is_checked_where_its_inputs_are_said_to_be(
    primsplit: Callable[..., Any], saved: Callable[[str], Path], tmp_path: Path
) -> None:
    path = saved(EMBEDDED)
    assert primsplit("check", path, "--range", "w:2,3").status == 0
    done = primsplit("check", path, "--range", "w:-3,-2")
    assert done.status == 1
    assert "--inputs PATH.npz" in done.out
    np.savez(tmp_path / "in.npz", w=np.full(6, 0.5, np.float32))
    done = primsplit("check", path, "--inputs", tmp_path / "in.npz", "--json")
    assert done.status == 0
    assert [row["type"] for row in done.json["rows"]] == ["float32[6,1]", "float32[6]"]
    np.savez(tmp_path / "wide.npz", w=np.full(6, 0.5))
    assert "w must be float32" in primsplit("check", path, "--inputs", tmp_path / "wide.npz").error


def test_positions_are_drawn_from_the_whole_of_the_table_that_they_pick_from(saved: Callable[[str], Path]) -> None:
    program = ps.load(str(saved(EMBEDDED)))
    bounds = dict(zip(program.inputs, integer_bounds(program.block), strict=True))
    assert bounds == {"ids": (0, 39), "w": None}
    types = dict(zip(program.inputs, program.types, strict=True))
    drawn = draw_arrays(types, {"ids": "[200]"}, ranges={"ids": (0, 39)})["ids"]
    assert drawn.dtype == np.int64
    assert drawn.min() == 0
    assert drawn.max() == 39


def test_positions_are_drawn_within_the_bounds_of_the_model_and_of_the_caller(saved: Callable[[str], Path]) -> None:
    path = str(saved(EMBEDDED))

    def drawn(options: ModelOptions) -> Any:
        asked = FunctionDerivation(spec=["ids:[200]"])
        ids, _ = LoadedModel(path, asked, options, quiet=True).arguments.values[0]
        return ids.min(), ids.max()

    assert drawn(ModelOptions()) == (0, 39)
    assert drawn(ModelOptions(ranges=["ids:3,7"])) == (3, 7)


CHOSEN = """g (float[n] x) => (float[n] y) {
  zero = Constant<value_float: float = 0.0>()
  is_above = Greater(x, zero)
  power = Constant<value_float: float = 1.5>()
  raised = Pow(x, power)
  y = Where(is_above, raised, x)
}"""


def test_a_side_of_a_where_that_is_not_taken_is_kept_out_of_the_gradient(
    primsplit: Callable[..., Any], saved: Callable[[str], Path]
) -> None:
    path = saved(CHOSEN)
    assert primsplit("check", path, "--range", "x:-2,-1").status == 1
    done = primsplit("check", path, "--range", "x:-2,-1", "--safe-where", "--json")
    assert done.status == 0, done.error
    assert [row["verdict"] for row in done.json["rows"]] == ["ok", "ok"]


def test_a_python_file_says_its_own_inputs(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model("def f(x):\n    return x * x\n")
    done = primsplit("check", path, "--spec", "x:f32[3]", "--range", "x:1,2")
    assert done.status == 1
    assert "example_inputs()" in done.error


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_type_of_an_input_that_has_no_rank(
    command: str, primsplit: Callable[..., Any], saved: Callable[[str], Path]
) -> None:
    path = saved(
        """g (float x) => (float y) {
  one = Constant<value_int: int = 1>()
  whole = Cast<to: int = 7>(x)
  none = Sub(whole, whole)
  ones = Add(none, one)
  parts = SplitToSequence<axis: int = 0>(x, ones)
  joined = ConcatFromSequence<axis: int = 0>(parts)
  squares = Mul(joined, joined)
  y = ReduceMean<keepdims: int = 0>(squares)
}"""
    )
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    refused = primsplit(command, path, *COMMANDS[command], "--json")
    assert refused.status in {1, 2}
    assert "--spec x:f32[N,3]" in refused.error or "--spec x:[2,3]" in refused.error
    done = primsplit(command, path, "--spec", "x:f32[4]", *COMMANDS[command], "--json")
    assert done.status == 0, done.error


def test_a_file_of_no_rank_says_what_the_checker_misses_and_how_to_say_it(
    primsplit: Callable[..., Any], saved: Callable[[str], Path], tmp_path: Path
) -> None:
    path = saved("g (float x) => (float y) { a = Sin(x) y = ReduceSum<keepdims: int = 0>(a) }")
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    written = str(tmp_path / "written.onnx")
    assert "--spec 'x:[N,3]'" in primsplit("grad", path, "--onnx", written).out
    assert primsplit("grad", path, "--onnx", written, "--json").json["without_rank"] == ["x"]
    done = primsplit("grad", path, "--onnx", written, "--spec", "x:[N,3]", "--json")
    assert done.json["without_rank"] == []
    onnx.checker.check_model(written, full_check=True)


ONE_SIZE = """g (float[n,2] x) => (float[2,7] y)
<int64[2] shape = {2, 7}> {
  y = Reshape(x, shape)
}"""


def test_a_model_that_does_not_run_at_drawn_inputs_says_what_to_tell(
    primsplit: Callable[..., Any], saved: Callable[[str], Path]
) -> None:
    path = saved(ONE_SIZE)
    done = primsplit("check", path)
    assert done.status == 1
    assert "the standard's reference fails in Reshape: cannot reshape array of size" in done.error
    assert "--spec x:" in done.error
    assert "inside primsplit" not in done.error
    assert primsplit("check", path, "--spec", "x:[7,2]").status == 0
