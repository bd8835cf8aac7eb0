"""Random programs of branches and loops, as Python source: `if`, `for` and `while` beside ps.cond, ps.scan and so on.

Every program is a function of two vectors `x`, `y` [N] and two scalars `s`, `t` that gives the same four again, works
for every N, and keeps its numbers small. Conditions are asked by `over(a, b)`, so that a run can tell how near it came
to taking another way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import primsplit as ps

STATE = "x, y, s, t"
DEPTH, DECISIONS = 3, 4

VECTORS = (
    "np.tanh({v} + {s})", "np.sin({v} * {s}) + 0.2 * {w}", "0.5 * ({v} - {w})", "{v} * np.cos({w})",
    "np.where(over({v}, 0.21), 0.5 * {v}, np.sin({w}))", "0.3 * {v} + {k}", "np.sin({v}[::-1]) + 0.1 * {v}",
    "np.maximum({v}, {v} * {s} - 3.0)", "np.tanh(np.cumsum({v}))",
)  # fmt: skip
SCALARS = (
    "np.tanh(np.sum({v}))", "np.sin({s} + {r})", "0.7 * {s} * np.tanh({r})",
    "np.sum({v} * {w}) / (2 + np.sum({v} ** 2))", "{k} + 0.5 * np.tanh({s})", "np.exp(-({s} ** 2)) - {k}",
    "{k}", "np.tanh({v} @ {w})",
)  # fmt: skip
NUMBERS = ("0.3", "-0.4", "0.15", "0.9", "-1.1")


@dataclass
class Writer:
    """The lines written so far; the names that may be read; how many Python decisions there may still be."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    names: int = 0
    decisions: int = DECISIONS

    def new_name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def choose(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def expression(self, forms: Any, scope: "Scope") -> str:
        vectors, scalars = ["x", "y", *scope.vectors], ["s", "t", *scope.scalars]
        text: str = self.choose(forms)
        for letter, names in (("v", vectors), ("w", vectors), ("s", scalars), ("r", scalars), ("k", NUMBERS)):
            if f"{{{letter}}}" in text:
                text = text.replace(f"{{{letter}}}", self.choose(names))
        return text

    def condition(self, scope: "Scope") -> str:
        return f"over({self.expression(SCALARS, scope)}, {self.choose(NUMBERS)})"

    def write(self, scope: "Scope", text: str) -> None:
        self.lines.append("    " * scope.indent + text)


@dataclass(frozen=True)
class Scope:
    """The position of a statement: its depth, its runs by Python loops, what it may read besides the state."""

    indent: int = 1
    depth: int = DEPTH
    times: int = 1
    vectors: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()

    def inside(self, *, times: int = 1, vectors: tuple[str, ...] = (), scalars: tuple[str, ...] = ()) -> "Scope":
        return Scope(
            self.indent + 1, self.depth - 1, self.times * times, self.vectors + vectors, self.scalars + scalars
        )


def _assign(writer: Writer, scope: Scope) -> None:
    if writer.choose([True, False]):
        writer.write(scope, f"{writer.choose('xy')} = {writer.expression(VECTORS, scope)}")
    else:
        writer.write(scope, f"{writer.choose('st')} = {writer.expression(SCALARS, scope)}")


def _in_place(writer: Writer, scope: Scope) -> None:
    name = writer.choose("xy")
    writer.write(scope, f"{name} = {name}.copy()")
    line = writer.choose([f"{name}[:1] = {{s}}", f"{name}[1:] *= 0.5", f"{name} += 0.1 * {{w}}"])
    writer.write(scope, writer.expression([line], scope))


def _python_if(writer: Writer, scope: Scope) -> None:
    if writer.decisions < scope.times:
        return _cond(writer, scope)
    writer.decisions -= scope.times
    writer.write(scope, f"if {writer.condition(scope)}:")
    _statements(writer, scope.inside())
    if writer.choose([True, False]):
        writer.write(scope, "else:")
        _statements(writer, scope.inside())
    return None


def _python_for(writer: Writer, scope: Scope) -> None:
    times = writer.choose([1, 2])
    writer.write(scope, f"for {writer.new_name('i')} in range({times}):")
    _statements(writer, scope.inside(times=times))


def _python_while(writer: Writer, scope: Scope) -> None:
    if writer.decisions < 2 * scope.times:
        return _while_loop(writer, scope)
    writer.decisions -= 2 * scope.times
    count = writer.new_name("n")
    writer.write(scope, f"{count} = 0")
    writer.write(scope, f"while {count} < 2 and {writer.condition(scope)}:")
    writer.write(scope.inside(), f"{count} += 1")
    return _statements(writer, scope.inside(times=2))


def _function(writer: Writer, scope: Scope, parameters: str, unpacked: str, result: str, **more: Any) -> str:
    """A nested function whose body are statements of the state."""
    name = writer.new_name("f")
    writer.write(scope, f"def {name}({parameters}):")
    inner = scope.inside(**more)
    if unpacked:
        writer.write(inner, f"{unpacked} = c")
    _statements(writer, inner)
    writer.write(inner, f"return {result}")
    return name


def _cond(writer: Writer, scope: Scope) -> None:
    sides = [_function(writer, scope, STATE, "", STATE) for _ in range(2)]
    writer.write(scope, f"{STATE} = ps.cond({writer.condition(scope)}, {', '.join(sides)}, {STATE})")


def _switch(writer: Writer, scope: Scope) -> None:
    sides = [_function(writer, scope, STATE, "", STATE) for _ in range(3)]
    first, second = writer.condition(scope), writer.condition(scope)
    writer.write(scope, f"index = 1 * {first} + 1 * {second}")
    writer.write(scope, f"{STATE} = ps.switch(index, [{', '.join(sides)}], {STATE})")


def _saved(writer: Writer, scope: Scope) -> tuple[str, str]:
    """Names of a vector and a scalar that a body reads and does not change."""
    vector, scalar = writer.new_name("v"), writer.new_name("r")
    writer.write(scope, f"{vector}, {scalar} = {writer.choose('xy')}, {writer.choose('st')}")
    return vector, scalar


def _scan(writer: Writer, scope: Scope) -> None:
    vector, scalar = _saved(writer, scope)
    stacked = writer.choose(["s", "e * s", "(s, x)"])
    name = _function(writer, scope, "c, e", STATE, f"({STATE}), {stacked}", vectors=(vector,), scalars=(scalar, "e"))
    more = writer.choose(["", "", ", reverse=True", ', checkpoint="sqrt"', ', checkpoint="sqrt", reverse=True'])
    rows = writer.new_name("rows")
    writer.write(scope, f"({STATE}), {rows} = ps.scan({name}, ({STATE}), {writer.choose('xy')}{more})")
    if stacked == "(s, x)":
        writer.write(scope, f"s = np.tanh(np.sum({rows}[1] * {rows}[0][:, None]))")
    else:
        writer.write(scope, f"y = 0.5 * (y + np.sin({rows}))")


def _counted_scan(writer: Writer, scope: Scope) -> None:
    name = _function(writer, scope, "c, _", STATE, f"({STATE}), s")
    rows = writer.new_name("rows")
    writer.write(scope, f"({STATE}), {rows} = ps.scan({name}, ({STATE}), length=3)")
    writer.write(scope, f"t = np.sin(np.sum({rows} * np.arange(3.0)))")


def _fori_loop(writer: Writer, scope: Scope) -> None:
    vector, scalar = _saved(writer, scope)
    name = _function(writer, scope, "i, c", STATE, STATE, vectors=(vector,), scalars=(scalar, "(0.1 * i)"))
    bounds = writer.choose(["0, 3", "1, 3", "0, x.shape[0]", "2, 2"])
    writer.write(scope, f"{STATE} = ps.fori_loop({bounds}, {name}, ({STATE}))")


def _while_loop(writer: Writer, scope: Scope) -> None:
    name = _function(writer, scope, "c", f"{STATE}, n", f"{STATE}, n + 1")
    test = writer.new_name("p")
    writer.write(scope, f"def {test}(c):")
    writer.write(scope.inside(), f"{STATE}, n = c")
    writer.write(scope.inside(), f"return np.logical_and({writer.condition(scope)}, n < {writer.choose([1, 3])})")
    writer.write(scope, f"{STATE}, _ = ps.while_loop({test}, {name}, ({STATE}, 0))")


def _map(writer: Writer, scope: Scope) -> None:
    text = writer.expression(["np.sin(e * {s}) + np.sum({v}) * e", "np.tanh(e + {s}) * {r}"], scope)
    writer.write(scope, f"x = 0.5 * np.tanh(ps.map(lambda e: {text}, {writer.choose('xy')}))")


PLAIN: tuple[Callable[[Writer, Scope], None], ...] = (_assign, _assign, _assign, _in_place, _map)
NESTED: tuple[Callable[[Writer, Scope], None], ...] = (
    _python_if, _python_if, _python_for, _python_while, _cond, _switch, _scan, _scan, _counted_scan, _fori_loop,
    _while_loop,
)  # fmt: skip


def _statements(writer: Writer, scope: Scope) -> None:
    for _ in range(writer.draw(st.integers(1, 2))):
        form = writer.choose([*PLAIN, *(NESTED if scope.depth > 0 else ())])
        form(writer, scope)


@st.composite
def sources(draw: st.DrawFn) -> str:
    """The source of a random program."""
    writer = Writer(draw)
    scope = Scope()
    for form in (_assign, draw(st.sampled_from(NESTED)), _assign):
        form(writer, scope)
    return "\n".join([f"def program({STATE}):", *writer.lines, f"    return {STATE}", ""])


class Asked:
    """`over` for a run on plain arrays: it remembers how near the two sides came."""

    def __init__(self) -> None:
        self.nearest = np.inf

    def __call__(self, a: Any, b: float) -> Any:
        self.nearest = min(self.nearest, float(np.min(np.abs(np.asarray(a) - b), initial=np.inf)))
        return a > b


def compiled(source: str, over: Callable[[Any, float], Any]) -> Callable[..., Any]:
    """The program, which asks its conditions by `over`."""
    namespace: dict[str, Any] = {"np": np, "ps": ps, "over": over}
    exec(compile(source, "<drawn>", "exec"), namespace)
    made: Callable[..., Any] = namespace["program"]
    return made
