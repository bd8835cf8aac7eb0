"""An error of a traced function is caught by the class that the function, Python or NumPy gives it."""

import copy
import dataclasses
import enum
import pathlib
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, RunError

BAD = -np.ones(2)


class Negative(Exception):
    """An error with an `__init__` and a text of its own."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(f"{index}: {why}")
        self.index = index

    def __str__(self) -> str:
        return f"bad {self.index}"


class Slotted(Exception):
    """An error that keeps its attributes in slots."""

    __slots__ = ("index", "why")

    def __init__(self, index: int) -> None:
        self.index = index


class Both(Negative, ValueError):
    """An error of two kinds."""


class Named(KeyError):
    """An error that takes no argument by position."""

    def __init__(self, *, index: int) -> None:
        self.index = index


class Made(RuntimeError):
    """An error whose `__new__` wants two arguments."""

    def __new__(cls, first: Any, second: Any) -> "Made":
        return super().__new__(cls, first)

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__(first)


class Meta(type):
    """A metaclass."""


class OfMeta(LookupError, metaclass=Meta):
    """An error of another metaclass."""


class Hiding(ValueError):
    """An error with a property that has the name of a field of ours."""

    @property
    def what(self) -> str:
        return "mine"


class Final(ArithmeticError):
    """An error that refuses to be inherited from."""

    def __init_subclass__(cls) -> None:
        raise TypeError("final")


class Counted(Exception):
    """An error that knows its subclasses."""

    known: ClassVar[list[type]] = []

    def __init_subclass__(cls, *, name: str) -> None:
        cls.known.append(cls)


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    """An error whose attributes cannot be set."""

    index: int


class Colour(enum.Enum):
    """What an error may be of."""

    RED = 1


def raising(error: BaseException) -> Callable[[Any], Any]:
    def f(x):
        if x[0] < 0:
            raise error
        return np.sum(x * x)

    return f


ERRORS: list[tuple[BaseException, type[BaseException]]] = [
    (ValueError("negative"), ValueError),
    (AssertionError(), AssertionError),
    (KeyError("k"), LookupError),
    (ZeroDivisionError("none"), ArithmeticError),
    (StopIteration(3), StopIteration),
    (OSError(2, "nothing there"), FileNotFoundError),
    (UnicodeDecodeError("utf8", b"a", 0, 1, "no"), UnicodeDecodeError),
    (UserWarning("w"), UserWarning),
    (Negative(3, "why"), Negative),
    (Both(3, "why"), ValueError),
    (Both(3, "why"), Both),
    (Named(index=3), Named),
    (Made(1, 2), Made),
    (OfMeta("k"), OfMeta),
    (Hiding("h"), Hiding),
    (Final("f"), Final),
    (Counted("c"), Counted),
    (Frozen(3), Frozen),
    (SyntaxError("s", ("file", 3, 1, "text")), SyntaxError),
    (SystemExit(3), RunError),
]
NAMES = [f"{type(e).__name__} as {c.__name__}" for e, c in ERRORS]


@pytest.mark.parametrize(("error", "caught_as"), ERRORS, ids=NAMES)
def test_an_error_is_caught_by_its_class(error: BaseException, caught_as: type[BaseException]) -> None:
    with pytest.raises(caught_as) as caught:
        ps.grad(raising(error))(BAD)
    assert isinstance(caught.value, RunError)
    assert f"raises {type(error).__name__}" in str(caught.value)
    assert "raise error" in str(caught.value)


@pytest.mark.parametrize(("error", "caught_as"), ERRORS, ids=NAMES)
def test_such_an_error_is_pickled_and_copied(error: BaseException, caught_as: type[BaseException]) -> None:
    with pytest.raises(caught_as) as caught:
        ps.trace(raising(error), np.ones(2))(BAD)
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert isinstance(again, caught_as)
        assert isinstance(again, RunError)
        assert (str(again), again.args) == (str(caught.value), caught.value.args)


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": ps.grad,
    "value_and_grad": ps.value_and_grad,
    "hessian": ps.hessian,
    "jvp": lambda f: lambda x: ps.jvp(f, (x,), (x,)),
    "vmap": lambda f: lambda x: ps.vmap(f)(np.stack([x, -x])),
    "gradients of a batch": lambda f: lambda x: ps.vmap(ps.grad(f))(np.stack([-x, x])),
    "cached": lambda f: ps.grad(ps.cached(f)),
    "split": lambda f: lambda x: ps.split(f, x).forward(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_an_error_leaves_every_transform_by_its_class(name: str) -> None:
    with pytest.raises(Both) as caught:
        TRANSFORMS[name](raising(Both(3, "why")))(BAD)
    assert caught.value.index == 3


def test_arguments_and_attributes_are_those_of_the_error() -> None:
    with pytest.raises(OSError, match="nothing there") as caught:
        ps.grad(raising(OSError(2, "nothing there", "the file")))(BAD)
    assert (caught.value.errno, caught.value.filename) == (2, "the file")
    with pytest.raises(KeyError) as of_key:
        ps.grad(raising(KeyError("k", 3)))(BAD)
    assert of_key.value.args == ("k", 3)


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (StopIteration(3), ["value"]),
        (UnicodeDecodeError("utf8", b"ab", 0, 1, "no"), ["encoding", "object", "start", "end", "reason"]),
        (ImportError("none", name="n", path="p"), ["msg", "name", "path"]),
        (NameError("none", name="n"), ["name"]),
        (Frozen(3), ["index"]),
        (KeyError(Colour.RED, [1, {"a": (2.0,)}], np.dtype("f4")), []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_hold_traced_values_leaves_with_an_error(error: Exception, names: list[str]) -> None:
    vars(error)["__notes__"] = ["a note"]  # a frozen dataclass takes no other
    with pytest.raises(type(error)) as caught:
        ps.grad(raising(error))(BAD)
    for name in ("args", "__notes__", *names):
        assert getattr(caught.value, name) == getattr(error, name), name
    assert not Counted.known


def test_an_error_has_the_cause_that_the_function_gave_it() -> None:
    def f(x):
        if x[0] < 0:
            raise Negative(3, "why") from Frozen(4)
        if x[1] < 0:
            raise Negative(3, "why") from None
        try:
            return np.sum(np.linalg.inv(np.diag(x)))
        except np.linalg.LinAlgError as error:
            raise KeyError("singular") from error

    with pytest.raises(Negative) as caught:
        ps.grad(f)(BAD)
    assert isinstance(caught.value.__cause__, Frozen)
    assert caught.value.__cause__.index == 4
    with pytest.raises(Negative) as caught:
        ps.grad(f)(np.array([1.0, -1.0]))
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)
    with pytest.raises(KeyError) as of_key:
        ps.grad(f)(np.zeros(2))
    assert isinstance(of_key.value.__cause__, np.linalg.LinAlgError)


def test_attributes_in_slots_are_those_of_the_error() -> None:
    with pytest.raises(Slotted) as caught:
        ps.grad(raising(Slotted(3)))(BAD)
    assert caught.value.index == 3
    assert pickle.loads(pickle.dumps(caught.value)).index == 3
    assert not hasattr(caught.value, "why")


def test_a_traced_value_does_not_leave_with_an_error() -> None:
    def f(x):
        if x[0] < 0:
            raise ValueError("negative", x[0])
        return np.sum(x)

    with pytest.raises(ValueError, match="negative") as caught:
        ps.grad(f)(BAD)
    what, number = caught.value.args
    assert what == "negative"
    assert type(number) is str
    assert number.endswith("numbers of the run are not kept>")


def test_arrays_leave_with_an_error_as_copies() -> None:
    table = np.arange(3.0)

    def f(x):
        if x[0] < 0:
            raise ValueError(7, table)
        return np.sum(x)

    gradient = ps.grad(f)
    with pytest.raises(ValueError, match="7") as caught:
        gradient(BAD)
    np.testing.assert_array_equal(caught.value.args[1], [0.0, 1.0, 2.0])
    assert caught.value.args[1] is not table


def by_str(x: Any) -> Any:
    if x[0] < 0:
        raise ValueError("x = " + str(x[0]))
    return np.sum(x)


def by_repr(x: Any) -> Any:
    if x[0] < 0:
        raise ValueError(repr(x) + " is bad")
    return np.sum(x)


def by_a_name(x: Any) -> Any:
    if x[0] < 0:
        message = "x = " + str(x)
        raise KeyError(message)
    return np.sum(x)


@pytest.mark.parametrize("function", [by_str, by_repr, by_a_name])
def test_a_message_that_is_joined_from_texts_of_traced_values_leaves(function: Callable[[Any], Any]) -> None:
    with pytest.raises((ValueError, KeyError)) as caught:
        ps.grad(function)(BAD)
    (message,) = caught.value.args
    assert type(message) is str
    assert "float64" in message


def test_each_branch_raises_its_own_class() -> None:
    def f(x):
        assert x[0] < 10, "large"
        if x[0] < 0:
            raise Negative(1, "first")
        if x[1] < 0:
            raise KeyError("second")
        return np.prod(x)

    gradient = ps.grad(f)
    np.testing.assert_array_equal(gradient(np.array([2.0, 3.0])), [3.0, 2.0])
    for x, caught_as in (([11.0, 1.0], AssertionError), ([-1.0, 1.0], Negative), ([1.0, -1.0], KeyError)):
        with pytest.raises(caught_as):
            gradient(np.array(x))


def test_an_error_of_a_loop_is_caught_by_its_class() -> None:
    def unrolled(x):
        total = 0.0
        for i in range(3):
            if x[i] < 0:
                raise Negative(i, "unrolled")
            total = total + x[i]
        return total

    def step(carry, x):
        if x < 0:
            raise Negative(1, "scanned")
        return carry + x, carry

    for f in (unrolled, lambda x: ps.scan(step, 0.0, x)[0]):
        with pytest.raises(Negative) as caught:
            ps.grad(f)(np.array([1.0, -1.0, 2.0]))
        assert caught.value.index == 1


def test_classes_of_the_same_name_are_told_apart() -> None:
    def made() -> tuple[Callable[[Any], Any], type[Exception]]:
        class Local(Exception):
            pass

        return raising(Local("local")), Local

    for _ in range(2):
        f, local = made()
        with pytest.raises(local):
            ps.grad(f)(BAD)


def test_a_file_tells_classes_of_python(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "m.onnx"
    ps.trace(raising(ValueError("negative")), np.ones(2)).save(path)
    with pytest.raises(ValueError, match="negative") as caught:
        ps.load(path)(BAD)
    assert caught.value.args == ("negative",)
    ps.trace(raising(Negative(1, "why")), np.ones(2)).save(path)
    with pytest.raises(RunError, match="raises Negative"):
        ps.load(path)(BAD)


def test_a_store_tells_the_classes_that_the_function_reads(tmp_path: pathlib.Path) -> None:
    def f(x):
        if x[0] < 0:
            raise Both(1, "why")
        return np.sum(x)

    for read in (0, 1):
        cached = ps.cached(f, store=tmp_path)
        with pytest.raises(Both):
            ps.grad(cached)(BAD)
        assert cached.statistics.read == read


X, TABLE = np.ones(3), np.ones((3, 4))
WRONG_INDICES: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "element": (lambda x, i: x[i], X, 5),
    "element from the end": (lambda x, i: x[i], X, -4),
    "elements": (lambda x, i: np.sum(x[i]), X, [0, 5]),
    "of two axes": (lambda x, i: x[i, i], TABLE, 3),
    "column": (lambda x, i: np.sum(x[:, i]), TABLE, 4),
    "take": (lambda x, i: np.sum(np.take(x, i, axis=1)), TABLE, [4]),
    "take_along_axis": (lambda x, i: np.sum(np.take_along_axis(x, i, 0)), TABLE, np.full((3, 4), 3)),
    "list": (lambda x, i: [x[0], x[1]][i], X, 2),
}


@pytest.mark.parametrize("name", WRONG_INDICES)
def test_an_index_beyond_the_end_is_an_index_error(name: str) -> None:
    f, x, i = WRONG_INDICES[name]
    index = np.array(i)
    with pytest.raises(IndexError):
        f(x, index)
    for run in (ps.grad(f), ps.trace(f, x, index)):
        with pytest.raises(IndexError) as caught:
            run(x, index)
        assert isinstance(caught.value, PrimsplitError)


SIZES: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "sum": (lambda x, y: x + y, X, np.ones(2)),
    "product of vectors": (lambda x, y: x @ y, X, np.ones(2)),
    "where": (lambda x, y: np.where(x > 0, x, y), X, np.ones(2)),
    "concatenate": (lambda x, y: np.concatenate([x, y]), TABLE, np.ones((2, 3))),
    "stack": (lambda x, y: np.stack([x, y]), X, np.ones(2)),
    "split": (lambda x, y: np.split(x, 2)[0] + y[0], X, np.ones(2)),
    "no maximum": (lambda x, y: np.max(x) + y, np.ones(0), np.ones(2)),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_do_not_fit_in_the_run_are_a_value_error(name: str) -> None:
    f, x, y = SIZES[name]
    specs = [ps.spec("f64", [f"{letter}{i}" for i in range(a.ndim)]) for letter, a in (("n", x), ("m", y))]
    with pytest.raises(ValueError):  # noqa: PT011  # NumPy's own text
        f(x, y)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # onnxruntime's own text
        ps.trace(f, *specs)(x, y)
    assert isinstance(caught.value, RunError)
    assert not isinstance(caught.value, IndexError)


class Several(ExceptionGroup[Exception]):
    """A group of the user's own."""


@pytest.mark.parametrize("kind", [ExceptionGroup, Several])
def test_a_group_of_errors_is_a_group_whose_errors_are_caught_by_their_class(kind: Any) -> None:
    def f(x: Any) -> Any:
        if x[0] < 0:
            raise kind("bad", [ValueError("a"), kind("worse", [Negative(3, "b"), OSError(2, "none")])])
        return np.sum(x)

    with pytest.raises(RunError, match="bad") as found:
        ps.grad(f)(BAD)
    error = found.value
    assert isinstance(error, kind)
    first, second = error.exceptions
    assert (type(first), first.args, first.__traceback__) == (ValueError, ("a",), None)
    assert isinstance(second.exceptions[0], Negative)
    assert second.exceptions[0].index == 3
    assert second.exceptions[1].errno == 2
    kept, rest = error.split(ValueError)
    assert kept.exceptions == (first,)
    assert rest.exceptions[0].exceptions == second.exceptions


@pytest.mark.parametrize("member", [Made("a", "b"), Negative(3, "b")])
def test_a_group_with_an_error_that_python_cannot_copy_is_an_error_still(member: Exception) -> None:
    def f(x: Any) -> Any:
        if x[0] < 0:
            raise ExceptionGroup("bad", [member])
        return np.sum(x)

    with pytest.raises(RunError, match="bad") as found:
        ps.grad(f)(BAD)
    assert isinstance(found.value, ExceptionGroup) == isinstance(member, Negative)


def test_a_group_is_pickled_with_its_errors() -> None:
    def f(x: Any) -> Any:
        if x[0] < 0:
            raise ExceptionGroup("bad", [ValueError("a")])
        return np.sum(x)

    with pytest.raises(RunError) as found:
        ps.grad(f)(BAD)
    assert pickle.loads(pickle.dumps(found.value)).exceptions[0].args == ("a",)
