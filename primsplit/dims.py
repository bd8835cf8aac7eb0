"""Sizes: an int, or a polynomial in named symbols; equality that is never a guess.

Every symbol stands for an integer >= 0 that is known at run time. `Size` is canonical: two sizes that are the
same polynomial are the same object in all but identity. `==`, `<` and `bool` answer only what holds for every
value of the symbols, and raise `UndecidableSize` otherwise; inside primsplit `same` is asked instead, which is True
only if equality is proven.
"""

import ast
import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Union

from primsplit.errors import ParseError, Place, UndecidableSize

Dim = Union[int, "Size"]
Shape = tuple[Dim, ...]


class Call(NamedTuple):
    """A function of sizes that is no polynomial, kept as it is: `floordiv(N, 2)`."""

    function: str
    arguments: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


Atom = str | Call
Monomial = tuple[Atom, ...]


def _broadcast(a: int, b: int) -> int:
    """The size two axes broadcast to; they are equal, or one of them is 1."""
    return b if a == 1 else a


FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
    "broadcast": _broadcast,
}


MAKING = "Arrays of such a size are made by primsplit's NumPy: from primsplit import numpy as np"


class Size:
    """A size known only at run time: an integer polynomial in symbols and calls. Immutable."""

    __slots__ = ("_hash", "terms", "text")
    lift: ClassVar[
        Callable[["Size"], Any]
    ]  # set by lifting.py: the traced scalar, for arithmetic that leaves the integers
    place: ClassVar[Callable[[], Place | None]] = lambda: None  # set by lifting.py: the user's line
    decide: ClassVar[Callable[["Dim", str, "Dim"], bool | None]] = lambda a, relation, b: None
    terms: tuple[tuple[Monomial, int], ...]
    text: str

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self.text = " + ".join(_term_text(m, c) for m, c in terms).replace("+ -", "- ")
        self._hash = hash(self.text)

    def __repr__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return self._hash

    @property
    def symbol(self) -> str | None:
        """The name, where this is a lone symbol."""
        if len(self.terms) == 1:
            (monomial, coefficient) = self.terms[0]
            if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str):
                return monomial[0]
        return None

    def __add__(self, other: object) -> Any:
        if not isinstance(other, int | Size):
            return Size.lift(self) + other if isinstance(other, float) else NotImplemented
        return _collect([*self.terms, *_terms(other)])

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return _collect((m, -c) for m, c in self.terms)

    def __sub__(self, other: object) -> Any:
        if not isinstance(other, int | Size):
            return Size.lift(self) - other if isinstance(other, float) else NotImplemented
        return self + (-other)

    def __rsub__(self, other: object) -> Any:
        if not isinstance(other, int):
            return other - Size.lift(self) if isinstance(other, float) else NotImplemented
        return (-self) + other

    def __mul__(self, other: object) -> Any:
        if not isinstance(other, int | Size):
            return Size.lift(self) * other if isinstance(other, float) else NotImplemented
        return _collect((_join(m, n), c * d) for m, c in self.terms for n, d in _terms(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Any:
        if not isinstance(other, int | Size):
            return Size.lift(self) // other if isinstance(other, float) else NotImplemented
        return floor_divide(self, other)

    def __rfloordiv__(self, other: object) -> Any:
        if not isinstance(other, int):
            return other // Size.lift(self) if isinstance(other, float) else NotImplemented
        return floor_divide(other, self)

    def __mod__(self, other: object) -> Any:
        if not isinstance(other, int | Size):
            return Size.lift(self) % other if isinstance(other, float) else NotImplemented
        return remainder(self, other)

    def __rmod__(self, other: object) -> Any:
        if not isinstance(other, int):
            return other % Size.lift(self) if isinstance(other, float) else NotImplemented
        return remainder(other, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Size):
            return NotImplemented
        return _decide(self, "==", other)

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, int | Size):
            return NotImplemented
        return not _decide(self, "==", other)

    def __truediv__(self, other: Any) -> Any:
        return Size.lift(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / Size.lift(self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and other >= 0:
            return product([self] * other)
        return Size.lift(self) ** other

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        lifted = [Size.lift(i) if isinstance(i, Size) else i for i in inputs]
        return getattr(ufunc, method)(*lifted, **options)

    def __float__(self) -> float:
        return float(self.__index__())

    def __lt__(self, other: "Dim") -> bool:
        return _decide(self, "<", other)

    def __le__(self, other: "Dim") -> bool:
        return _decide(self, "<=", other)

    def __gt__(self, other: "Dim") -> bool:
        return not _decide(self, "<=", other)

    def __ge__(self, other: "Dim") -> bool:
        return not _decide(self, "<", other)

    def __bool__(self) -> bool:
        return not _decide(self, "==", 0)

    def __index__(self) -> int:
        raise UndecidableSize(
            f"the size {self} is known only at run time, and a Python integer was asked of it",
            place=Size.place(),
            cure="Work on the whole axis at once, loop with ps.scan or ps.fori_loop, or give the axis a fixed size.\n"
            f"  {MAKING}",
        )


def _term_text(monomial: Monomial, coefficient: int) -> str:
    body = "*".join(map(str, monomial))
    if not body:
        return str(coefficient)
    return body if coefficient == 1 else f"{coefficient}*{body}"


def _join(left: Monomial, right: Monomial) -> Monomial:
    return tuple(sorted((*left, *right), key=str))


def _terms(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(dim, Size):
        return dim.terms
    return (((), dim),) if dim else ()


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    """The canonical dim of a sum of terms: like terms added, zeros dropped, the constant last."""
    totals: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        totals[monomial] = totals.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in totals.items() if c]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    return Size(tuple(sorted(kept, key=lambda term: (not term[0], [str(a) for a in term[0]]))))


def symbol(name: str) -> Size:
    """The size named `name`."""
    return Size((((name,), 1),))


LONG = 120
"""The length of a size's text from which on it gets a name of its own."""


def abbreviated(dim: Dim) -> Dim:
    """The size, or where it is long a symbol for it, the same for the same size.

    Each step of a loop over slices and joins may name the sizes of the step before twice; a size that is read from a
    value by its name does not grow.
    """
    if not isinstance(dim, Size) or len(dim.text) <= LONG:
        return dim
    return symbol(f"size_{hashlib.blake2b(dim.text.encode(), digest_size=8).hexdigest()}")


def _call(function: str, *arguments: Dim) -> Dim:
    if all(isinstance(a, int) for a in arguments):
        return functools.reduce(FUNCTIONS[function], arguments)  # type: ignore[arg-type]
    return Size((((Call(function, arguments),), 1),))


def exact_quotient(dividend: Dim, divisor: Dim) -> Dim | None:
    """The polynomial q with q * divisor == dividend, or None where there is no such monomial division."""
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend // divisor if divisor and dividend % divisor == 0 else None
    if same(dividend, divisor):
        return 1
    pieces = _terms(divisor)
    if len(pieces) != 1:
        return None
    monomial, coefficient = pieces[0]
    quotient: list[tuple[Monomial, int]] = []
    for other, factor in _terms(dividend):
        rest = list(other)
        for atom in monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if factor % coefficient:
            return None
        quotient.append((tuple(rest), factor // coefficient))
    return _collect(quotient)


def floor_divide(dividend: Dim, divisor: Dim) -> Dim:
    """`dividend // divisor`; whole multiples are divided out, the rest stays a call."""
    if isinstance(divisor, int) and divisor > 0 and isinstance(dividend, Size):
        whole = _collect((m, c // divisor) for m, c in dividend.terms if m and c % divisor == 0)
        constant = next((c for m, c in dividend.terms if not m), 0)
        rest = _collect((*((m, c) for m, c in dividend.terms if m and c % divisor), ((), constant % divisor)))
        return whole + constant // divisor + (_call("floordiv", rest, divisor) if isinstance(rest, Size) else 0)
    exact = exact_quotient(dividend, divisor)
    return _call("floordiv", dividend, divisor) if exact is None else exact


def remainder(dividend: Dim, divisor: Dim) -> Dim:
    """`dividend % divisor`."""
    return 0 if exact_quotient(dividend, divisor) is not None else _call("mod", dividend, divisor)


def maximum(a: Dim, b: Dim) -> Dim:
    """The larger of two sizes."""
    if at_least(a, b):
        return a
    return b if at_least(b, a) else _call("max", a, b)


def minimum(a: Dim, b: Dim) -> Dim:
    """The smaller of two sizes."""
    if at_least(a, b):
        return b
    return a if at_least(b, a) else _call("min", a, b)


def meet(a: Dim, b: Dim) -> Dim | None:
    """The size that two broadcast axes have together; None where they can never broadcast."""
    if same(a, b) or is_one(b):
        return a
    if is_one(a):
        return b
    for known, other in ((a, b), (b, a)):
        if isinstance(known, int):
            return known if not isinstance(other, int) else None
    return _broadcast_of(a, b)


def _broadcast_of(*sizes: Dim) -> Dim:
    """`broadcast(...)` of symbolic sizes: flat, sorted and without repetition, so that it is associative."""
    flat: dict[str, Dim] = {}
    for size in sizes:
        nested = _broadcast_arguments(size)
        flat.update((str(d), d) for d in nested)
    chosen = [flat[text] for text in sorted(flat)]
    return chosen[0] if len(chosen) == 1 else _call("broadcast", *chosen)


def _broadcast_arguments(size: Dim) -> tuple[Dim, ...]:
    if isinstance(size, Size) and len(size.terms) == 1 and size.terms[0][1] == 1 and len(size.terms[0][0]) == 1:
        atom = size.terms[0][0][0]
        if isinstance(atom, Call) and atom.function == "broadcast":
            return atom.arguments
    return (size,)


def same(a: Dim, b: Dim) -> bool:
    """True only where the two sizes are equal whatever the symbols are."""
    if isinstance(a, Size):
        return isinstance(b, Size) and a.text == b.text
    return not isinstance(b, Size) and a == b


def same_shape(a: Shape, b: Shape) -> bool:
    """True only where the two shapes are equal whatever the symbols are."""
    return len(a) == len(b) and all(map(same, a, b))


def is_one(dim: Dim) -> bool:
    """True only for the literal 1."""
    return not isinstance(dim, Size) and dim == 1


def could_be(a: Dim, b: Dim) -> bool:
    """False only where the two sizes differ whatever the symbols are."""
    return not (above(a, b) or above(b, a))


def lower_bound(dim: Dim) -> int | None:
    """A number that the size never falls below, or None where none is known."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms:
        if not monomial:
            total += coefficient
        elif coefficient < 0 or not all(_nonnegative(atom) for atom in monomial):
            return None
    return total


def _nonnegative(atom: Atom) -> bool:
    if isinstance(atom, str):
        return True
    bounds = [lower_bound(a) for a in atom.arguments]
    known = [b is not None and b >= 0 for b in bounds]
    return any(known) if atom.function == "max" else all(known)


def at_least(a: Dim, b: Dim) -> bool:
    """True only where a >= b whatever the symbols are."""
    if isinstance(a, int) and isinstance(b, int):
        return a >= b
    bound = lower_bound(a - b)
    return bound is not None and bound >= 0


def above(a: Dim, b: Dim) -> bool:
    """True only where a > b whatever the symbols are."""
    bound = lower_bound(a - b)
    return bound is not None and bound > 0


def _decide(a: Dim, relation: str, b: Dim) -> bool:
    if relation == "==":
        if same(a, b):
            return True
        if not could_be(a, b):
            return False
    elif relation == "<":
        if above(b, a):
            return True
        if at_least(a, b):
            return False
    else:
        if at_least(b, a):
            return True
        if above(a, b):
            return False
    answer = Size.decide(a, relation, b)
    if answer is not None:
        return answer
    raise UndecidableSize(
        f"whether {a} {relation} {b} is known only at run time",
        place=Size.place(),
        cure=f"Give the axis a fixed size in the spec, or write the program so that it does not ask.\n  {MAKING}",
    )


def product(dims: Iterable[Dim]) -> Dim:
    """The product of sizes; 1 for none."""
    total: Dim = 1
    for dim in dims:
        total = total * dim
    return total


def symbols(dim: Dim) -> frozenset[str]:
    """The names that the size is made of."""
    if isinstance(dim, int):
        return frozenset()
    found: set[str] = set()
    for monomial, _ in dim.terms:
        for atom in monomial:
            if isinstance(atom, str):
                found.add(atom)
            else:
                found.update(*(symbols(a) for a in atom.arguments))
    return frozenset(found)


def evaluate(dim: Dim, values: Mapping[str, int]) -> int:
    """The number that the size is for these values of its symbols."""
    result = substitute(dim, values)
    if isinstance(result, int):
        return result
    raise KeyError(f"{dim} has symbols without a value: {sorted(symbols(result))}")


def substitute(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """The size with symbols replaced."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for monomial, coefficient in dim.terms:
        total = total + product(_replace(atom, values) for atom in monomial) * coefficient
    return total


def _met(a: Dim, b: Dim) -> Dim:
    met = meet(a, b)
    return _broadcast_of(a, b) if met is None else met


_REBUILD: dict[str, Callable[[Dim, Dim], Dim]] = {
    "floordiv": floor_divide,
    "mod": remainder,
    "max": maximum,
    "min": minimum,
    "broadcast": _met,
}


def _replace(atom: Atom, values: Mapping[str, Dim]) -> Dim:
    if isinstance(atom, str):
        return values[atom] if atom in values else symbol(atom)
    return functools.reduce(_REBUILD[atom.function], [substitute(a, values) for a in atom.arguments])


def parse(text: str) -> Dim:
    """The dim that prints as `text`. A text that is no expression is one symbol of that name."""
    try:
        return _build(ast.parse(text, mode="eval").body)
    except (SyntaxError, ParseError):
        return symbol(text)


_OPERATORS: dict[type[ast.operator], Callable[[Dim, Dim], Dim]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: floor_divide,
    ast.Mod: remainder,
}


def _build(node: ast.expr) -> Dim:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_build(operand)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _OPERATORS[type(operator)](_build(left), _build(right))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _REBUILD and len(arguments) > 1:
            return functools.reduce(_REBUILD[name], map(_build, arguments))
    raise ParseError(f"not a size: {ast.unparse(node)}")
