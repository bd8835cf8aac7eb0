"""The dependencies of a cached program: a change of one traces again, a change of anything else does not."""

import array
import collections
import contextvars
import ctypes
import dataclasses
import functools
import os
import types
import weakref
from collections.abc import Callable
from os import environb, getenv
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.optimize

import primsplit as ps
from primsplit.ir.caching.counters import Counters
from primsplit.ir.caching.fingerprint import fingerprint, is_library
from primsplit.rules.table import partials, rrule

X = np.array([1.0, 2.0, 3.0])
SCALE = 2.0
TABLE = {"a": 1.0}
NOTED = [1.0]
settings = types.ModuleType("settings_of_the_test")
settings.scale = 2.0  # type: ignore[attr-defined]


def traces(call: Callable[[], Any]) -> int:
    """Return the number of traces during a call."""
    before = Counters.traces
    call()
    return Counters.traces - before


def check(gradient: Callable[..., Any], change: Callable[[], Any], before: float, after: float) -> None:
    """One trace before the change, one after it, none otherwise; the gradient is a number times ones."""
    for expected in (before, after):
        assert traces(lambda: np.testing.assert_allclose(gradient(X), expected * np.ones(3))) == 1  # noqa: B023
        assert traces(lambda: gradient(X + 1.0)) == 0
        change()


def total(x: Any) -> Any:
    return np.sum(x)


def test_a_closed_over_scalar() -> None:
    scale = 2.0

    def f(x: Any) -> Any:
        return total(x) * scale

    def change() -> None:
        nonlocal scale
        scale = 5.0

    check(ps.grad(f), change, 2.0, 5.0)


def test_the_contents_of_a_closed_over_array() -> None:
    weights = np.array([2.0, 2.0, 2.0])
    check(ps.grad(lambda x: total(x * weights)), lambda: weights.fill(7.0), 2.0, 7.0)


def test_the_contents_of_a_closed_over_container() -> None:
    held = {"layers": [2.0]}
    check(ps.grad(lambda x: total(x) * held["layers"][0]), lambda: held.update(layers=[4.0]), 2.0, 4.0)


def test_a_default_argument() -> None:
    def f(x: Any, scale: float = 2.0) -> Any:
        return total(x) * scale

    check(ps.grad(f), lambda: setattr(f, "__defaults__", (3.0,)), 2.0, 3.0)


def test_a_keyword_default() -> None:
    def f(x: Any, *, scale: float = 2.0) -> Any:
        return total(x) * scale

    check(ps.grad(f), lambda: setattr(f, "__kwdefaults__", {"scale": 3.0}), 2.0, 3.0)


def test_a_global(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return total(x) * SCALE

    check(ps.grad(f), lambda: monkeypatch.setitem(globals(), "SCALE", 6.0), 2.0, 6.0)


def test_a_global_that_a_called_function_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def inner(x: Any) -> Any:
        return x * SCALE

    check(ps.grad(lambda x: total(inner(x))), lambda: monkeypatch.setitem(globals(), "SCALE", 6.0), 2.0, 6.0)


def test_a_variable_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return total(x) * settings.scale

    check(ps.grad(f), lambda: monkeypatch.setattr(settings, "scale", 6.0), 2.0, 6.0)


def test_a_function_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "twice", lambda x: x * 2.0, raising=False)

    def f(x: Any) -> Any:
        return total(settings.twice(x))

    check(ps.grad(f), lambda: monkeypatch.setattr(settings, "twice", lambda x: x * 3.0), 2.0, 3.0)


class Held:
    factor = 1.0

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return total(x) * self.scale

    def loss(self, x: Any) -> Any:
        return total(x) * self.scale * self.factor


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale: float) -> None:
        self.scale = scale


@dataclasses.dataclass
class Inner:
    held: Held


def test_an_attribute_of_a_held_object() -> None:
    held = Held(2.0)
    check(ps.grad(lambda x: held(x)), lambda: setattr(held, "scale", 3.0), 2.0, 3.0)


def test_an_attribute_of_the_second_of_two_held_objects() -> None:
    first, second = Held(1.0), Held(2.0)
    check(ps.grad(lambda x: first(x) * second.scale), lambda: setattr(second, "scale", 3.0), 2.0, 3.0)


def test_an_attribute_of_an_object_inside_an_object() -> None:
    outer = Inner(Held(2.0))
    check(ps.grad(lambda x: outer.held(x)), lambda: setattr(outer.held, "scale", 3.0), 2.0, 3.0)


def test_an_attribute_of_an_object_with_slots() -> None:
    held = Slotted(2.0)
    check(ps.grad(lambda x: total(x) * held.scale), lambda: setattr(held, "scale", 3.0), 2.0, 3.0)


def test_a_slotted_object_replaced_by_another() -> None:
    held = [Slotted(2.0)]

    def change() -> None:
        held.clear()
        held.append(Slotted(3.0))

    check(ps.grad(lambda x: total(x) * held[0].scale), change, 2.0, 3.0)


def test_an_attribute_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(2.0)
    check(ps.grad(held.loss), lambda: monkeypatch.setattr(Held, "factor", 4.0), 2.0, 8.0)


def test_a_method_and_a_callable_object() -> None:
    held = Held(2.0)
    check(ps.grad(held.loss), lambda: setattr(held, "scale", 3.0), 2.0, 3.0)
    held = Held(2.0)
    check(ps.grad(held), lambda: setattr(held, "scale", 3.0), 2.0, 3.0)


def test_an_argument_of_a_partial() -> None:
    inner = {"scale": 2.0}
    partial = functools.partial(lambda held, x: total(x) * held["scale"], inner)
    check(ps.grad(partial), lambda: inner.update(scale=3.0), 2.0, 3.0)


NUMBERS = {"k": 2.0}
FLAG: contextvars.ContextVar[float] = contextvars.ContextVar("flag", default=2.0)


class Metered(type):
    """A class whose classes have a property."""

    @property
    def level(cls) -> float:
        return NUMBERS["k"]


class Level(metaclass=Metered):
    pass


def scale_of(held: Held | None) -> float:
    assert held is not None
    return held.scale


def held_without_attributes() -> list[tuple[str, Callable[[], float], Callable[[], Any]]]:
    """Return Python's own objects without attributes, each with a way to read 2.0, and one to set it to 5.0."""
    queue, raw, numbers = collections.deque([2.0]), bytearray(b"\2"), array.array("d", [2.0])
    first, second, third = {"k": 2.0}, {"k": 2.0}, {"k": 2.0}
    proxy, values, get = types.MappingProxyType(first), second.values(), third.get
    items, held, view = [2.0], Held(2.0), memoryview(bytearray(b"\2"))
    item, reference = items.__getitem__, weakref.ref(held)
    return [
        ("a deque", lambda: queue[0], lambda: queue.appendleft(5.0)),
        ("a bytearray", lambda: float(raw[0]), lambda: raw.__setitem__(0, 5)),
        ("a memoryview", lambda: float(view[0]), lambda: view.__setitem__(0, 5)),
        ("an array of Python's", lambda: numbers[0], lambda: numbers.__setitem__(0, 5.0)),
        ("a proxy", lambda: proxy["k"], lambda: first.update(k=5.0)),
        ("the values of a dictionary", lambda: next(iter(values)), lambda: second.update(k=5.0)),
        ("a method of a dictionary", lambda: get("k", 0.0), lambda: third.update(k=5.0)),
        ("a method of a list", lambda: item(0), lambda: items.__setitem__(0, 5.0)),
        ("a reference", lambda: scale_of(reference()), lambda: setattr(held, "scale", 5.0)),
        ("a context's variable", lambda: FLAG.get(), lambda: FLAG.set(5.0)),
        ("a class's class", lambda: Level.level, lambda: NUMBERS.update(k=5.0)),
        ("a global by its name", lambda: globals()["NUMBERS"]["k"], lambda: NUMBERS.update(k=5.0)),
        ("an expression", lambda: eval("NUMBERS['k']"), lambda: NUMBERS.update(k=5.0)),
        ("a variable by its name", lambda: vars(settings)["scale"], lambda: setattr(settings, "scale", 5.0)),
        ("the environment", lambda: float(os.environ["LEVEL"]), lambda: os.environ.update(LEVEL="5.0")),
        ("getenv by its name", lambda: float(getenv("LEVEL", "")), lambda: os.environ.update(LEVEL="5.0")),
        ("the environment's bytes", lambda: float(environb[b"LEVEL"]), lambda: os.environ.update(LEVEL="5.0")),
        ("a text with it", lambda: float(os.path.expandvars("$LEVEL")), lambda: os.environ.update(LEVEL="5.0")),
    ]


def of_libraries() -> list[tuple[str, Callable[[], float], Callable[[], Any]]]:
    """The same for what libraries hold that is no array or container alone."""
    masked = np.ma.array([1.0, 2.0, 5.0], mask=[True, False, True])
    bounds = scipy.optimize.Bounds([2.0], [9.0])
    made: dict[str, float] = collections.defaultdict(lambda: NUMBERS["k"])
    return [
        ("a mask", lambda: float(masked.max()), lambda: masked.mask.__setitem__(2, False)),
        ("bounds", lambda: float(bounds.lb[0]), lambda: bounds.lb.__setitem__(0, 5.0)),
        ("what a dictionary makes", lambda: made.copy()["new"], lambda: NUMBERS.update(k=5.0)),
    ]


class Named(dict[str, float]):
    """Its elements are attributes too; a name that is none of them raises no AttributeError."""

    __getattr__ = dict.__getitem__


def test_a_dictionary_whose_elements_are_attributes() -> None:
    held = Named(k=2.0)
    check(ps.grad(lambda x: total(x) * held.k), lambda: held.update(k=5.0), 2.0, 5.0)


class Point(ctypes.Structure):
    _fields_ = (("level", ctypes.c_double),)


def of_ctypes() -> list[tuple[str, Callable[[], float], Callable[[], Any]]]:
    """The same for objects of ctypes."""
    number, shown, numbers, point = (
        ctypes.c_double(2.0),
        ctypes.c_double(2.0),
        (ctypes.c_double * 2)(2.0, 1.0),
        Point(2.0),
    )
    pointer = ctypes.pointer(shown)
    return [
        ("a number of C's", lambda: number.value, lambda: setattr(number, "value", 5.0)),
        ("what a pointer shows", lambda: pointer.contents.value, lambda: setattr(shown, "value", 5.0)),
        ("an array of C's", lambda: numbers[0], lambda: numbers.__setitem__(0, 5.0)),
        ("a structure of C's", lambda: point.level, lambda: setattr(point, "level", 5.0)),
    ]


class Levelled:
    """Attributes and a method of what is a value of Python's or NumPy's besides."""

    level = 2.0

    def read(self) -> float:
        return self.level * NUMBERS["k"] / 2.0


def derived() -> list[tuple[str, Callable[[], float], Callable[[], Any]]]:
    """The same for what a class of the user's adds to one of Python's."""
    made: list[tuple[str, Callable[[], float], Callable[[], Any]]] = []
    arguments: dict[type, tuple[Any, ...]] = {np.ndarray: ((1,),), array.array: ("d", [1.0]), float: (1.0,)}
    for kind in (dict, list, tuple, set, float, collections.deque, np.ndarray, array.array):
        for what in ("an attribute", "a class's attribute", "what a method reads"):
            of = type(f"Levelled_{kind.__name__}", (Levelled, kind), {"__module__": __name__})
            held = of(*arguments.get(kind, ()))
            change = {
                "an attribute": functools.partial(setattr, held, "level", 5.0),
                "a class's attribute": functools.partial(setattr, of, "level", 5.0),
                "what a method reads": functools.partial(NUMBERS.update, k=5.0),
            }[what]
            made.append((f"{what} of a {kind.__name__}", held.read, change))
    return made


READ_OTHERWISE = [*held_without_attributes(), *of_ctypes(), *of_libraries(), *derived()]


@pytest.mark.parametrize(("read", "change"), [r[1:] for r in READ_OTHERWISE], ids=[r[0] for r in READ_OTHERWISE])
def test_what_is_read_otherwise(
    read: Callable[[], float], change: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVEL", "2.0")
    monkeypatch.setitem(NUMBERS, "k", 2.0)
    monkeypatch.setattr(settings, "scale", 2.0)
    check(ps.grad(lambda x: total(x) * read()), change, 2.0, 5.0)


def test_the_rule_of_an_operator() -> None:
    from primsplit.rules.table import RULES

    kept = RULES["Neg"]

    def again() -> None:
        partials("Neg", -3, replace=True)

    try:
        check(ps.grad(lambda x: total(-x)), again, -1.0, -3.0)
    finally:
        rrule("Neg", replace=True)(kept.rule)  # type: ignore[arg-type]
        RULES["Neg"] = kept


def test_the_rule_of_a_primitive() -> None:
    @ps.primitive
    def double(x: Any) -> Any:
        return x * 2.0

    gradient = ps.grad(lambda x: total(double(x)))
    check(gradient, lambda: ps.rrule(double)(lambda x: (double(x), lambda dy: (dy * 5.0,))), 2.0, 5.0)


def test_what_a_primitive_reads() -> None:
    scale = 2.0

    @ps.primitive
    def scaled(x: Any) -> Any:
        return x * scale

    def change() -> None:
        nonlocal scale
        scale = 5.0

    check(ps.grad(lambda x: total(scaled(x))), change, 2.0, 5.0)


def test_a_program_whose_block_is_another() -> None:
    program = ps.trace(lambda x: total(x * 2.0), X)
    other = ps.trace(lambda x: total(x * 3.0), X)
    check(ps.grad(lambda x: program(x)), lambda: setattr(program, "block", other.block), 2.0, 3.0)


def test_a_static_argument() -> None:
    gradient = ps.grad(lambda x, times: total(x) * times)
    assert traces(lambda: gradient(X, 2)) == 1
    assert traces(lambda: gradient(X, 3)) == 1
    assert traces(lambda: gradient(X, 2)) == 0
    assert gradient(X, 3).tolist() == [3.0, 3.0, 3.0]


def test_an_attribute_of_a_static_argument() -> None:
    held = Held(2.0)
    gradient = ps.grad(lambda x, held: held(x))
    check(lambda x: gradient(x, held), lambda: setattr(held, "scale", 3.0), 2.0, 3.0)


def test_arrays_of_other_dtypes_with_the_same_bytes() -> None:
    """Also of another order of bytes, and of dtypes that NumPy does not know."""
    small = ["int8", "uint8", "bool", "S1"]
    known = [*small, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
    two = ["<i2", ">i2", "<u2", "<f2", ml_dtypes.bfloat16, "S2"]
    eight = ["<f8", ">f8", "<i8", "<M8[s]", "<M8[ms]", "<m8[s]", "<c8", "<U2"]
    for dtypes in (known, two, eight):
        arrays = [np.zeros(3, np.dtype(dtype)) for dtype in dtypes]
        assert len({fingerprint(array) for array in arrays}) == len(arrays)
        assert len({fingerprint(array.dtype) for array in arrays}) == len(arrays)


def test_true_is_not_one() -> None:
    gradient = ps.grad(lambda x, flag: total(x) * (2.0 if flag is True else 3.0))
    assert gradient(X, True).tolist() == [2.0, 2.0, 2.0]
    assert gradient(X, 1).tolist() == [3.0, 3.0, 3.0]


def test_a_shape_and_a_dtype() -> None:
    gradient = ps.grad(lambda x: total(x * x))
    assert traces(lambda: gradient(X)) == 1
    assert traces(lambda: gradient(X[:2])) == 1
    assert traces(lambda: gradient(X.astype(np.float32))) == 1
    assert traces(lambda: gradient(X)) == 0


def test_the_structure_of_an_argument() -> None:
    gradient = ps.grad(lambda xs: total(xs[0]) * len(xs))
    assert traces(lambda: gradient([X])) == 1
    assert traces(lambda: gradient([X, X])) == 1
    assert traces(lambda: gradient((X,))) == 1
    assert traces(lambda: gradient([X])) == 0


def test_a_python_float_is_not_a_numpy_one() -> None:
    narrow = X.astype(np.float32)
    function = ps.value_and_grad(lambda x, s: total(x * s), 0)
    assert function(narrow, 2.0)[0].dtype == np.float32
    assert function(narrow, np.float64(2.0))[0].dtype == np.float64
    assert function(narrow, 2.0)[0].dtype == np.float32


def test_a_float_is_no_part_of_the_key() -> None:
    gradient = ps.grad(lambda x, s: total(x) * s)
    assert traces(lambda: gradient(X, 2.0)) == 1
    assert traces(lambda: gradient(X, 3.0)) == 0
    assert gradient(X, 3.0).tolist() == [3.0, 3.0, 3.0]


def test_what_the_function_does_not_read_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    gradient = ps.grad(lambda x: total(x) * SCALE)
    gradient(X)
    monkeypatch.setitem(globals(), "TABLE", {"a": 5.0})
    monkeypatch.setattr(settings, "scale", 9.0)
    assert traces(lambda: gradient(X)) == 0


def test_what_the_function_only_counts_or_notes_does_not_matter() -> None:
    calls, counts, count, more = [], {"calls": 0}, 0, 0

    def f(x: Any) -> Any:
        nonlocal count, more
        count += 1
        more = more + 1
        counts["calls"] += 1
        calls.append(x.shape)
        return total(x)

    gradient = ps.grad(f)
    gradient(X)
    before = len(calls), counts["calls"], count
    assert traces(lambda: gradient(X)) == 0
    assert (len(calls), counts["calls"], count) == before


@pytest.mark.parametrize(
    "read", [lambda: sum(NOTED), lambda: float(len(NOTED)), lambda: [*map(NOTED.append, ())] or NOTED[0]]
)
def test_what_is_noted_and_read_matters(read: Callable[[], float], monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        NOTED.append(1.0)
        return total(x) * read()

    gradient = ps.grad(f)
    assert traces(lambda: gradient(X)) == 1
    monkeypatch.setitem(globals(), "NOTED", [3.0])
    assert traces(lambda: gradient(X)) == 1


def test_a_primitive_that_was_used_elsewhere_does_not_matter() -> None:
    @ps.primitive
    def double(x: Any) -> Any:
        return x * 2.0

    gradient = ps.grad(lambda x: total(double(x)))
    assert traces(lambda: gradient(X)) == 1
    assert traces(lambda: gradient(X)) == 0
    ps.grad(lambda x: total(double(x)) * 2.0)(X[:2])
    assert traces(lambda: gradient(X)) == 0


def test_a_transformed_function_inside_does_not_matter_when_it_is_called() -> None:
    inner = ps.grad(lambda x: total(x * x))
    outer = ps.grad(lambda x: total(inner(x)))
    assert traces(lambda: outer(X)) == 1
    inner(X)
    inner(X[:1])
    assert traces(lambda: outer(X)) == 0
    assert outer(X).tolist() == [2.0, 2.0, 2.0]


def test_a_function_that_calls_itself_or_holds_itself_has_a_key() -> None:
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    gradient = ps.grad(lambda x: total(power(x, 3)))
    assert gradient(X).tolist() == [3.0, 12.0, 27.0]
    assert traces(lambda: gradient(X)) == 0


def test_vjp_traces_once() -> None:
    def f(x: Any) -> Any:
        return x * x

    ps.vjp(f, X)[1](X)
    assert traces(lambda: ps.vjp(f, X + 1.0)[1](X)) == 0


def test_an_array_of_objects_is_read_element_by_element() -> None:
    held = np.array([2.0, "a"], dtype=object)
    gradient = ps.grad(lambda x: np.sum(x * held[0]))
    np.testing.assert_array_equal(gradient(X), 2.0 * np.ones(3))
    held[0] = 3.0
    np.testing.assert_array_equal(gradient(X), 3.0 * np.ones(3))


def test_the_main_module_is_the_users_and_not_a_library() -> None:
    assert not is_library("__main__")
    assert not is_library(__name__)
    assert is_library("numpy.linalg")
    assert is_library("json")
