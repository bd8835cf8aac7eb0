"""Bad input: one clear error each, in under ten lines, at the user's line, with exit status 1 and no traceback."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        "an axis of unknown size that compiled code walks along, and tells in words of its own",
        """
        from functools import reduce
        def loss(x):
            return reduce(lambda a, b: a * b, x)
        """,
        ("iteration asks for the size N", "ps.scan"),
        "return reduce(lambda a, b: a * b, x)",
        arguments=("--spec", "x:f64[N]"),
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
        "an annotation that is no type",
        'def loss(x: "float65[3]"): return x',
        ("no spec for its parameter x", "its annotation 'float65[3]' says no dtype and shape"),
        arguments=(),
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
            signal = op.DFT(x.reshape(1, 4, 2), np.int64(5), x[0].astype(int), inverse=1, onesided=1)
            return signal.sum()
        """,
        ("DFT of a one-sided spectrum to a given length has no derivative rule along", "stop_gradient"),
        "signal = op.DFT(x.reshape(1, 4, 2), np.int64(5), x[0].astype(int), inverse=1, onesided=1)",
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
        "an example that is no function",
        "def loss(x): return x\nexample_inputs = 3",
        ("example_inputs in model.py must be a function, not 3",),
        arguments=(),
    ),
    Row(
        "an example that is no tuple",
        """
        import numpy as np
        def loss(x):
            return x.sum()
        def example_inputs():
            return np.ones((1, 3))
        """,
        ("example_inputs() returns a ndarray, which is no tuple", "return (x,)"),
        "def example_inputs():",
        (),
    ),
    Row("a wrt that names nothing", "def loss(x): return x.sum()\nwrt = 7", ("wrt in model.py must hold names", "7")),
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
        import statistics
        def loss(x):
            return statistics.fmean([x[0], 1.0])
        """,
        ("float()", "functions of whole arrays"),
        "return statistics.fmean([x[0], 1.0])",
    ),
    Row(
        "a function that NumPy knows and a trace does not",
        """
        import numpy as np
        def loss(x):
            return np.array2string(x)
        """,
        ("np.array2string", "known only at run time"),
        "return np.array2string(x)",
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
            label = str(x.sum())
            return x.sum() if label == "1.0" else x
        """,
        ("known only at run time", "Compare the value, not its text"),
        'return x.sum() if label == "1.0" else x',
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
        ("wrt='n' is an input of int64, which has no derivative", "of floating point are x"),
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
    *(
        Row(
            f"a function of Python's library, {module}",
            f"""
            import {module}
            def loss(x):
                return {call}
            """,
            (f"{module}.{called} raised TypeError for values that are known only at run time", "@ps.primitive"),
            f"return {call}",
        )
        for module, call, called in [
            ("statistics", "statistics.mean(x)", "mean"),
            ("fractions", "fractions.Fraction(x) * x", "Fraction.__new__"),
            ("json", "len(json.dumps(x)) * x[0]", "dumps"),
        ]
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


def test_of_a_line_of_thousands_of_characters_the_beginning_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(f"def loss(x): return x.sum(axis=5){' + x.sum()' * 1000}\n")
    done = primsplit("export", path, "--onnx", tmp_path / "out.onnx", *X)
    assert done.status == 1
    assert "at model.py:1 in loss:  def loss(x): return x.sum(axis=5)" in done.error
    assert len(done.error) < 400


GOOD = "def loss(x): return (x * x).sum()\n"


def test_examples_of_the_main_function_are_told_where_another_lacks_a_spec(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model(f'main = "loss"\n{GOOD}def other(z): return z.sum()\ndef example_inputs(): return (2.0,)\n')
    done = primsplit("export", f"{path}:other")
    assert "other has no spec for its parameter z" in done.error
    assert "the file's example_inputs() is for loss" in done.error
    assert "write example_inputs()" not in done.error


def test_a_function_that_the_file_has_not_is_told(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    done = primsplit("export", f"{model(GOOD)}:cost")
    assert done.status == 1
    assert done.error.splitlines() == ["model.py has no function cost", "  its functions are loss"]
    for name, near in (("lss", "The nearest name is loss."), ("loss.gone", ""), ("gone.loss", "")):
        done = primsplit("export", f"{model(GOOD)}:{name}")
        assert done.error.splitlines()[0] == f"model.py has no function {name}"
        assert near in done.error


def test_the_traceback_is_there_for_who_asks(
    primsplit: Callable[..., Any], model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model("def loss(x): return x.sum(axis=5)\n")
    assert "Traceback" not in primsplit("export", path, *X).error
    monkeypatch.setenv("PRIMSPLIT_TRACEBACK", "1")
    assert "Traceback" in primsplit("export", path, *X).error
