"""Bad input: one clear error each, in under ten lines, at the user's line, with exit status 1 and no traceback."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

X = ("--spec", "x:f64[3]")


@dataclass(frozen=True)
class Row:
    """A model, the arguments it is exported with, phrases of the error, and the text of the line that it names."""

    name: str
    model: str
    says: tuple[str, ...]
    line: str = ""
    arguments: tuple[str, ...] = X


ROWS = [
    Row(
        "a dtype that the operation does not take",
        """
        import numpy as np
        def loss(x):
            return np.bitwise_and(x, x)
        """,
        ("bitwise_and", "float64"),
        "return np.bitwise_and(x, x)",
    ),
    Row(
        "a dtype that there is not",
        "def loss(x): return x",
        ("f33", "no dtype"),
        arguments=("--spec", "x:f33[3]"),
    ),
    Row(
        "an axis that the array does not have",
        """
        def loss(x):
            return x.sum(axis=5)
        """,
        ("axis 5",),
        "return x.sum(axis=5)",
    ),
    Row(
        "shapes that cannot broadcast",
        """
        import numpy as np
        BIAS = np.ones(4)
        def loss(x):
            y = x * 2
            return y + BIAS
        """,
        ("3", "4"),
        "return y + BIAS",
    ),
    Row(
        "shapes that cannot be multiplied",
        """
        def loss(w, x):
            return x @ w
        """,
        ("3", "4"),
        "return x @ w",
        arguments=("--spec", "x:f64[2,3]", "--spec", "w:f64[4,5]"),
    ),
    Row(
        "an input without a spec",
        """
        def loss(x, y):
            return x + y
        """,
        ("no spec for its parameter y", "--spec y:f32[N,3]"),
        "def loss(x, y):",
    ),
    Row(
        "an input without a spec, and a spec whose name is mistyped",
        "def loss(x, weights): return x * weights",
        ("no spec for its parameter weights", "there is one for weight, which is no parameter"),
        arguments=(*X, "--spec", "weight:f64[3]"),
    ),
    Row(
        "a relative import outside of a package",
        """
        from .shared import rate
        def loss(x): return rate * x
        """,
        ("attempted relative import",),
        "from .shared import rate",
    ),
    Row(
        "an operator without a derivative",
        """
        import numpy as np
        from primsplit.ops import op
        def loss(x):
            signal = op.DFT(x.reshape(1, 4, 2), np.int64(5), inverse=1, onesided=1)
            return signal.sum()
        """,
        ("DFT of a one-sided spectrum to a given length has no derivative", "stop_gradient"),
        "signal = op.DFT(x.reshape(1, 4, 2), np.int64(5), inverse=1, onesided=1)",
        ("--spec", "x:f32[8]"),
    ),
    Row(
        "a file that is not Python",
        """
        import numpy as np
        def loss(x):
            return np.sum(x
        """,
        ("model.py is not Python", "never closed"),
        "return np.sum(x",
    ),
    Row(
        "a rule that returns too few cotangents",
        """
        import primsplit as ps

        @ps.primitive
        def scaled(x, y):
            return x * y

        @ps.rrule(scaled)
        def scaled_rule(x, y):
            z = scaled(x, y)
            def pullback(dz):
                return (dz * y,)
            return z, pullback

        def loss(x):
            return scaled(x, x + 1.0).sum()

        main = loss
        """,
        ("1 cotangents for 2 arguments",),
        "def pullback(dz):",
        (*X,),
    ),
    Row(
        "a spec for an input that there is not",
        """
        def loss(x):
            return x
        """,
        ("no input y", "its inputs are x"),
        "def loss(x):",
        (*X, "--spec", "y:f64[3]"),
    ),
    Row("a spec that cannot be read", "def loss(x): return x", ("f64[3", "f32[N,3]"), arguments=("--spec", "x:f64[3")),
    Row("a spec without a name", "def loss(x): return x", ("--spec x:f32[N,3]",), arguments=("--spec", "f64[3]")),
    Row(
        "a gradient by an input that there is not",
        "def loss(x): return x.sum()",
        ("wrt='w' is no input", "the inputs are x"),
        arguments=(*X, "--wrt", "w"),
    ),
    Row(
        "several functions and no main",
        """
        def first(x): return x
        def second(x): return x
        """,
        ("several functions", "first, second", ":first"),
    ),
    Row("no function", "X = 1", ("has no function",)),
    Row("a main that is not there", 'main = "gone"\ndef loss(x): return x', ("gone", "its functions are loss")),
    Row(
        "an example that does not fit the function",
        """
        def loss(x):
            return x
        def example_inputs():
            return 1.0, 2.0
        """,
        ("example_inputs() does not fit loss", "too many positional arguments"),
        "def example_inputs():",
        (),
    ),
    Row(
        "an example that does not fit its spec",
        """
        import numpy as np
        def loss(x):
            return x
        def example_inputs():
            return (np.ones((2, 3)),)
        """,
        ("x is said to be float64[N,4]", "[2, 3]"),
        arguments=("--spec", "x:[N,4]"),
    ),
    Row(
        "branches on values of the run without end",
        """
        def loss(x):
            while x.sum() > 0:
                x = x - 1
            return x.sum()
        """,
        ("branches on traced values without end", "ps.while_loop"),
        "while x.sum() > 0:",
    ),
    Row(
        "a number asked of a value of the run",
        """
        def loss(x):
            return float(x[0])
        """,
        ("float()", "x.astype(float)"),
        "return float(x[0])",
    ),
    Row(
        "a function that NumPy knows and a trace does not",
        """
        import numpy as np
        def loss(x):
            return np.roots(x)
        """,
        ("np.roots", "it finds complex numbers"),
        "return np.roots(x)",
    ),
    Row(
        "an exception of the user's own",
        """
        def scale(x):
            raise KeyError("weights")
        def loss(x):
            return scale(x)
        main = loss
        """,
        ("KeyError: 'weights'",),
        'raise KeyError("weights")',
    ),
    Row(
        "an exception while the file is read",
        """
        import a_module_that_is_not_there
        def loss(x):
            return x
        """,
        ("ModuleNotFoundError", "a_module_that_is_not_there"),
        "import a_module_that_is_not_there",
    ),
    Row(
        "a function that asks a traced number for its text",
        """
        def loss(x):
            print(f"{x.sum():.2f}")
            return x.sum()
        """,
        ("known only at run time", "format it outside"),
        'print(f"{x.sum():.2f}")',
    ),
    Row(
        "a loop over an axis whose size only the run knows",
        """
        def loss(x):
            return sum(v for v in x)
        """,
        ("iteration asks for the size N", "ps.scan"),
        "return sum(v for v in x)",
        ("--spec", "x:f64[N]"),
    ),
    Row("a result that is no array", "def loss(x): return 'low'", ("returns a str, which is no array", "tuples")),
    Row("an asynchronous function", "async def loss(x): return x", ("returns a coroutine, which is no array",)),
    Row("a generator", "def loss(x): yield x", ("returns a generator, which is no array",)),
    Row("no result", "def loss(x): x.sum()", ("no result is floating point", "loss returns nothing")),
    Row(
        "a gradient by whole numbers",
        "def loss(x, n): return (x * n).sum()",
        ("wrt='n' is not floating point",),
        arguments=(*X, "--spec", "n:i64[3]", "--wrt", "n"),
    ),
    Row(
        "a function of another library",
        """
        import statistics
        def loss(x):
            return statistics.fmean(x)
        """,
        ("run time",),
        "return statistics.fmean(x)",
    ),
    Row(
        "an attribute that arrays do not have",
        "def loss(x): return x.foo()",
        ("no attribute 'foo'",),
        "def loss(x): return x.foo()",
    ),
    Row(
        "recursion without end",
        "def loss(x): return loss(x)",
        ("RecursionError",),
        "def loss(x): return loss(x)",
    ),
    Row(
        "an array that no memory holds",
        """
        import numpy as np
        def loss(x):
            return np.zeros((10**7, 10**7)) + x[0]
        """,
        ("MemoryError", "728. TiB"),
        "return np.zeros((10**7, 10**7)) + x[0]",
    ),
    Row(
        "a size that is no number",
        "def loss(x): return x.sum()",
        ("cannot read the size '2.5'",),
        arguments=("--spec", "x:f64[2.5]"),
    ),
    Row("no floating-point result", "def loss(x): return x > 0", ("no result is floating point",)),
    Row(
        "a file that ends the process, content with itself",
        """
        import sys
        def loss(x): return x.sum()
        sys.exit(0)
        """,
        ("SystemExit: 0",),
        "sys.exit(0)",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_bad_input_is_one_short_error_at_the_users_line(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, row: Row
) -> None:
    path = model(row.model)
    done = primsplit("export", path, "--onnx", tmp_path / "out.onnx", *row.arguments)
    assert done.status == 1
    assert done.out == ""
    assert len(done.error.rstrip().splitlines()) < 10
    assert "Traceback" not in done.error
    for phrase in row.says:
        assert phrase in done.error
    if row.line:
        numbers = [i for i, text in enumerate(path.read_text().splitlines(), 1) if text.strip() == row.line]
        assert any(f"at model.py:{n} in" in done.error for n in numbers), done.error
        assert row.line in done.error
    else:
        assert " at " not in done.error or "at model.py" in done.error
    assert not list(tmp_path.glob("*.onnx"))


GOOD = "def loss(x): return (x * x).sum()\n"


@pytest.mark.parametrize("command", ["export", "grad", "audit", "check", "bench", "run"])
def test_with_json_an_error_is_json_on_the_output_too(
    primsplit: Callable[..., Any], tmp_path: Path, command: str
) -> None:
    done = primsplit(command, tmp_path / "gone.onnx", "--json")
    assert done.status == 1
    assert done.json["error"]["kind"] == "FileError"
    assert done.json["error"]["text"] == done.error.strip()


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
@pytest.mark.parametrize("where", ["missing/out.onnx", "file/out.onnx", "folder.onnx"])
def test_a_path_that_cannot_be_written_is_told_and_nothing_is_left(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, form: str, where: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    for name in ("folder.onnx", "folder.forward.onnx"):
        (tmp_path / name).mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = primsplit("export", model(GOOD), *X, "--onnx", tmp_path / where, "--form", form)
    assert done.status == 1
    assert done.error.startswith("cannot write ")
    assert len(done.error.splitlines()) < 10
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "model.py"])


def test_a_file_that_is_not_there_or_no_text_is_told(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    done = primsplit("export", tmp_path / "gone.py")
    assert (done.status, "No such file" in done.error) == (1, True)
    for name, told in (("model.py", "model.py is not Python"), ("model.onnx", "is no valid model")):
        binary = tmp_path / name
        binary.write_bytes(b"\x08\x0a\x00\xff\xfe")
        done = primsplit("export", binary)
        assert done.status == 1
        assert told in done.error
        assert len(done.error.splitlines()) < 10


def test_a_function_that_the_file_has_not_is_told(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    done = primsplit("export", f"{model(GOOD)}:cost")
    assert done.status == 1
    assert done.error.splitlines() == ["model.py has no function cost", "  its functions are loss"]


def test_the_traceback_is_there_for_who_asks(
    primsplit: Callable[..., Any], model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model("def loss(x): return x.sum(axis=5)\n")
    assert "Traceback" not in primsplit("export", path, *X).error
    monkeypatch.setenv("PRIMSPLIT_TRACEBACK", "1")
    assert "Traceback" in primsplit("export", path, *X).error


RUN_ROWS = [
    ("a missing input", {"x": np.ones(3)}, ("bias missing", "the inputs are x, bias")),
    ("an extra input", {"x": np.ones(3), "bias": np.ones(3), "z": np.ones(3)}, ("z unknown",)),
    ("a wrong dtype", {"x": np.ones(3, np.float32), "bias": np.ones(3)}, ("x must be float64, not float32",)),
    ("a wrong number of axes", {"x": np.ones((3, 1)), "bias": np.ones(3)}, ("x must have 1 axes",)),
    ("a wrong size", {"x": np.ones(3), "bias": np.ones(4)}, ("bias has size 4 at axis 0, not N = 3",)),
]


@pytest.mark.parametrize(("name", "arrays", "says"), RUN_ROWS, ids=[r[0] for r in RUN_ROWS])
@pytest.mark.parametrize("kind", ["onnx", "py"])
def test_arrays_that_do_not_fit_a_file_are_told(
    primsplit: Callable[..., Any],
    model: Callable[..., Path],
    tmp_path: Path,
    name: str,
    arrays: dict[str, Any],
    says: tuple[str, ...],
    kind: str,
) -> None:
    specs = ("--spec", "x:f64[N]", "--spec", "bias:f64[N]")
    path = model("def loss(x, bias): return ((x + bias) * x).sum()\n")
    np.savez(tmp_path / "in.npz", **arrays)
    if kind == "onnx":
        primsplit("export", path, *specs, "--onnx", tmp_path / "loss.onnx")
        done = primsplit("run", tmp_path / "loss.onnx", "--inputs", tmp_path / "in.npz")
    else:
        done = primsplit("run", path, *specs, "--inputs", tmp_path / "in.npz")
    assert done.status == 1
    assert len(done.error.splitlines()) < 10
    for phrase in says:
        assert phrase in done.error


def test_files_that_cannot_be_run_or_read_are_told(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    done = primsplit("run", tmp_path / "gone.onnx")
    assert (done.status, "there is no such file" in done.error) == (1, True)
    broken = tmp_path / "broken.onnx"
    broken.write_text("not a model")
    done = primsplit("run", broken)
    assert (done.status, "onnxruntime cannot load" in done.error) == (1, True)
    assert len(done.error.splitlines()) < 10


def test_inputs_that_are_no_arrays_are_told(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(GOOD)
    for name, text in (("in.npz", "no archive"), ("in.npy", "no array")):
        (tmp_path / name).write_text(text)
        done = primsplit("run", path, *X, "--inputs", tmp_path / name)
        assert (done.status, "is no .npz or .npy file" in done.error) == (1, True)
    two = model("def loss(x, y): return (x * y).sum()\n", "two.py")
    np.save(tmp_path / "one.npy", np.ones(3))
    done = primsplit("run", two, *X, "--spec", "y:f64[3]", "--inputs", tmp_path / "one.npy")
    assert (done.status, "holds one array, and there are 2 inputs" in done.error) == (1, True)


def test_an_archive_that_was_cut_off_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones(3))
    whole = (tmp_path / "in.npz").read_bytes()
    for kept in (0, 50, len(whole) - 10):
        (tmp_path / "in.npz").write_bytes(whole[:kept])
        done = primsplit("run", model(GOOD), *X, "--inputs", tmp_path / "in.npz")
        assert (done.status, "is no .npz or .npy file" in done.error) == (1, True), done.error


def test_a_python_file_is_no_model_for_grad(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    done = primsplit("grad", model(GOOD))
    assert (done.status, "primsplit export" in done.error) == (1, True)


def test_an_unknown_option_is_told_by_the_parser(primsplit: Callable[..., Any]) -> None:
    done = primsplit("export", "model.py", "--colour", "red")
    assert done.status == 2
    assert "--colour" in textwrap.dedent(done.error)
