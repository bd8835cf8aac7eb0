"""A converted function does on plain values what the function itself does."""

import argparse
import ast
import colorsys
import difflib
import fractions
import functools
import heapq
import importlib
import inspect
import io
import itertools
import json
import statistics
import string
import textwrap
import tokenize
import types
from collections.abc import Callable
from typing import Any

import pytest

from primsplit.frontends.python.converter.calls import callee
from primsplit.frontends.python.converter.copies import Conversion, Options, is_converted
from primsplit.frontends.python.converter.operators import OPERATORS

pydecimal = importlib.import_module("_pydecimal")
NUMBERS = [fractions.Fraction(1, 3), 2.5, 3, fractions.Fraction(-7, 4), 1e3]
TEXT = "The quick brown fox jumps over the lazy dog, and then it sleeps for a while in the warm afternoon sun."


class OfEverything(Conversion):
    """A conversion that copies Python's own library too."""

    def __init__(self) -> None:
        super().__init__(OPERATORS, Options())
        self.count = 0

    def is_convertible(self, function: types.FunctionType) -> bool:
        self.count += 1
        return not (function.__module__ or "").startswith("primsplit")


def decimals() -> Any:
    make, context = pydecimal.Decimal, pydecimal.Context(prec=30)
    a, b = make("3.14159265358979323846264338"), make("-2.5e-3")
    made = [a + b, a - b, a * b, a / b, a // b, a % b, -a, abs(b), a**3, 2 + a, 10 - b, a > b, a == make("3.14"), b < 0]
    with pydecimal.localcontext(context):
        made += [a.sqrt(), a.ln(), a.exp(), b.to_integral_value(), divmod(a, b), round(a, 3), make("NaN").is_nan()]
    caught = []
    for call in (lambda: a / 0, lambda: make("x"), lambda: make("sNaN") + 1):
        try:
            call()
        except pydecimal.DecimalException as error:
            caught.append(type(error).__name__)
    return [str(v) for v in made], caught, f"{a:.4f}", hash(make(5)), [make(1), make(2)] == [1, 2]


def of_fractions() -> Any:
    a, b = fractions.Fraction(3, 7), fractions.Fraction("1.25")
    return [a + b, a - 1, 2 * b, a / b, b**-2, a < b, b >= 1, a == 3, -a, +a, abs(-b), divmod(b, a), b // a, hash(a)], (
        str(b.limit_denominator(3)),
        round(b),
        f"{float(a):.3f}",
        sum([a, b]),
        sorted([b, a]),
        max(a, b),
    )


def statistics_of_numbers() -> Any:
    return (
        [f(NUMBERS) for f in (statistics.mean, statistics.median, statistics.pstdev, statistics.variance)],
        statistics.quantiles([1, 5, 2, 8, 7], n=4),
        statistics.multimode("aabbc"),
        statistics.NormalDist(1, 2).cdf(0.3),
    )


def texts() -> Any:
    other = TEXT.replace("quick", "slow").replace("warm", "cold")
    return (
        textwrap.fill(TEXT, 30, initial_indent="* "), textwrap.dedent("  a\n    b\n"), textwrap.shorten(TEXT, 25),
        list(difflib.unified_diff(TEXT.split(), other.split(), lineterm="")),
        difflib.get_close_matches("fix", TEXT.split()),
        string.Template("$a and ${b}").safe_substitute(a=1), string.capwords(TEXT),
    )  # fmt: skip


def of_json() -> Any:
    held = {"a": [1, 2.5, None, True], "b": {"c": "é\n"}, "d": []}
    text = json.dumps(held, indent=2, sort_keys=True, default=str)
    return text, json.JSONDecoder().decode(text) == held, "".join(json.JSONEncoder(indent=1).iterencode(held))


def syntax() -> Any:
    source = inspect.getsource(textwrap)
    tree = ast.parse(source)
    names = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    tokens = [t.string for t in tokenize.generate_tokens(io.StringIO(source).readline)]
    return ast.unparse(tree), names, len(tokens), ast.literal_eval("{'a': (1, [2, -3.5])}")


def arguments() -> Any:
    parser = argparse.ArgumentParser("run", description=TEXT)
    parser.add_argument("files", nargs="*", type=str)
    parser.add_argument("-n", "--number", type=int, default=3, choices=range(10))
    parser.add_argument("--flag", action="store_true")
    return vars(parser.parse_args(["a", "b", "-n", "4", "--flag"])), parser.format_help()


def heaps() -> Any:
    heap: list[int] = []
    for v in (5, 1, 4, 2):
        heapq.heappush(heap, v)
    return (
        heapq.nsmallest(2, heap),
        list(heapq.merge([1, 4], [2, 3], key=lambda v: -v)),
        colorsys.rgb_to_hls(0.1, 0.5, 0.3),
    )


class Counter:
    """A class whose methods Python calls itself."""

    __count = 0

    def __enter__(self) -> "Counter":
        return self

    def __exit__(self, *error: object) -> bool:
        return True

    def __iter__(self) -> Any:
        self.__count += 1
        yield from range(self.__count)

    def __contains__(self, value: object) -> bool:
        return value == 7

    @property
    def count(self) -> int:
        return self.__count

    @count.setter
    def count(self, new: int) -> None:
        self.__count = new + 1

    def __getattr__(self, name: str) -> str:
        return name * 2


def methods() -> Any:
    counter = Counter()
    seen: list[Any] = []
    with counter as entered:
        seen.append(([*entered], 7 in entered, 8 not in entered, entered.count, entered.other))
        raise ValueError
    counter.count = 4
    counter.count += 2
    return seen, counter.count


def closures() -> Any:
    total = 0

    def add(step: int = 2, *more: int, **named: int) -> int:
        nonlocal total
        total += step + sum(more) + sum(named.values())
        return total

    @functools.lru_cache
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    first, second = (lambda x, y=2: x if x > y else -y), (lambda x, y=2: x - y)
    return add(), add(1, 2, 3, k=4), fibonacci(12), first(1), second(1)


def statements() -> Any:
    seen: dict[Any, Any] = {}
    for k, (a, *rest) in enumerate([(1, 2, 3), (4,)]):
        seen[k] = a, rest, [i for i in range(k + 2) if i % 2 == 0], {i: i**2 for i in rest}
        if k:
            break
    else:
        seen["else"] = True
    seen["del"] = [1, 2, 3]
    del seen["del"][1]
    seen["del"][-1] += 5
    seen["walrus"] = (n := len(seen)) + n
    match seen["del"]:
        case [first, last] if last > first:
            seen["match"] = first
        case _:
            pass
    return seen, f"{n!r:>4} {-n:+}", TEXT[:9] % () + "%d of %s".__mod__((n, ~n)), 1 < n <= 3 != n


CASES: list[Callable[[], Any]] = [
    decimals, of_fractions, statistics_of_numbers, texts, of_json, syntax, arguments, heaps, methods, closures,
    statements,
]  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_a_converted_function_gives_what_the_function_gives(function: Callable[[], Any]) -> None:
    conversion = OfEverything()
    with conversion.running():
        found = callee(conversion, function, is_package=False)()
    assert repr(found) == repr(function())
    copies = [made for _, made in conversion.copies.values() if type(made) is types.FunctionType]
    assert any(is_converted(made.__code__) for made in copies)
    assert conversion.copies[id(function)][1].__code__ is not function.__code__


def test_a_copy_outside_of_a_conversion_does_what_the_function_does() -> None:
    for function in CASES:
        copied = OfEverything().copy(function)
        assert is_converted(copied.__code__)
        assert repr(copied()) == repr(function())


def test_itertools_and_generators_of_a_copy_are_lazy() -> None:
    def numbers() -> Any:
        taken = []
        for k in itertools.count():
            taken.append(k)
            yield taken

    copied = OfEverything().copy(numbers)
    assert next(copied()) == [0]
