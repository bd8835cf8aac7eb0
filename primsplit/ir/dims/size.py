"""Size: an integer polynomial in symbols, in one canonical form, and its arithmetic.

`2*N + N + 0` is `3*N`; `(N*M) // M` is `N`; `N // 2` stays `floordiv(N, 2)`.
"""

import enum
import functools
import hashlib
import operator
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Union

from primsplit.ir.errors import Place, UndecidableSize

Dim = Union[int, "Size"]
Shape = tuple[Dim, ...]


class Call(NamedTuple):
    """A function of sizes that is no polynomial, kept as a term: `floordiv(N, 2)`."""

    function: str
    arguments: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"

    def __eq__(self, other: object) -> bool:
        """Whether the two are the same call by their texts: comparing the arguments might need the run."""
        return isinstance(other, Call) and str(self) == str(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))


class SymbolKind(enum.Enum):
    """A fact about the size that a symbol stands for."""

    KEPT = "kept"
    """A branch keeps a value with this size for its pullback; the other branch returns an empty array."""
    VARYING = "varying"
    """A loop's carry has this size, which a step is known to change."""
    ROWS = "rows"
    """The first axis of a model's input has this size, without a name in the model's file."""


class Kinded(str):
    """The name of a symbol of a kind, or the stem of such names. It equals a text, and does not tell it apart."""

    __slots__ = ("kind",)
    kind: SymbolKind

    def __new__(cls, text: str, kind: SymbolKind) -> "Kinded":
        """Return the name with its kind."""
        made = super().__new__(cls, text)
        made.kind = kind
        return made


Atom = str | Call
Monomial = tuple[Atom, ...]
Terms = tuple[tuple[Monomial, int], ...]


def _broadcast(a: int, b: int) -> int:
    """Return the size that two axes broadcast to; they are equal, or one of them is 1."""
    return b if a == 1 else a


FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
    "broadcast": _broadcast,
}
"""The functions that a Call stands for, on numbers."""


def _arithmetic(
    exact: Callable[[Dim, Dim], Dim], python: Callable[[Any, Any], Any]
) -> tuple[Callable[["Size", Any], Any], Callable[["Size", Any], Any]]:
    """Return an operator and its reflection: exact on sizes, a traced number's if the other operand is a float."""

    def forward(self: "Size", other: Any) -> Any:
        if isinstance(other, int | Size):
            return exact(self, other)
        return python(Size.lift(self), other) if isinstance(other, float | complex) else NotImplemented

    def reflected(self: "Size", other: Any) -> Any:
        if isinstance(other, int):
            return exact(other, self)
        return python(other, Size.lift(self)) if isinstance(other, float | complex) else NotImplemented

    return forward, reflected


def _lifted(python: Callable[[Any, Any], Any]) -> tuple[Callable[["Size", Any], Any], Callable[["Size", Any], Any]]:
    """Return an operator and its reflection whose results are no polynomials: traced numbers compute them."""
    return lambda self, other: python(Size.lift(self), other), lambda self, other: python(other, Size.lift(self))


def _add(a: Dim, b: Dim) -> Dim:
    return _collect([*_terms(a), *_terms(b)])


def _subtract(a: Dim, b: Dim) -> Dim:
    return _collect([*_terms(a), *((m, -c) for m, c in _terms(b))])


def _multiply(a: Dim, b: Dim) -> Dim:
    return _collect((_join(m, n), c * d) for m, c in _terms(a) for n, d in _terms(b))


def floor_divide(dividend: Dim, divisor: Dim) -> Dim:
    """Return `dividend // divisor`: whole multiples are divided out, and one call holds the rest."""
    if isinstance(divisor, int) and divisor > 0 and isinstance(dividend, Size):
        whole = _collect((m, c // divisor) for m, c in dividend.terms if m and c % divisor == 0)
        constant = next((c for m, c in dividend.terms if not m), 0)
        rest = _collect((*((m, c) for m, c in dividend.terms if m and c % divisor), ((), constant % divisor)))
        return whole + constant // divisor + (_floored(rest, divisor) if isinstance(rest, Size) else 0)
    exact = exact_quotient(dividend, divisor)
    return call("floordiv", dividend, divisor) if exact is None else exact


def _floored(dividend: "Size", divisor: int) -> Dim:
    """Return `dividend // divisor` as a call: (a // b + c) // d is (a + b*c) // (b*d)."""
    match dividend.terms:
        case [((Call("floordiv", (inner, int(before))),), 1), *rest] if before > 0 and all(not m for m, _ in rest):
            return floor_divide(inner + before * sum(c for _, c in rest), before * divisor)
    return call("floordiv", dividend, divisor)


def remainder(dividend: Dim, divisor: Dim) -> Dim:
    """Return `dividend % divisor`."""
    return 0 if exact_quotient(dividend, divisor) is not None else call("mod", dividend, divisor)


def exact_quotient(dividend: Dim, divisor: Dim) -> Dim | None:
    """Return the polynomial q with q * divisor == dividend, by long division; None if there is none."""
    if not (pieces := _terms(divisor)):
        return None
    if same(dividend, divisor):
        return 1
    lead, coefficient = max(pieces, key=_degree)
    quotient: list[tuple[Monomial, int]] = []
    while rest := _terms(dividend):
        monomial, factor = max(rest, key=_degree)
        over = _without(monomial, lead)
        if over is None or factor % coefficient:
            return None
        quotient.append((over, factor // coefficient))
        dividend = dividend - _collect(quotient[-1:]) * divisor
    return _collect(quotient)


def _degree(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    """Return a key that orders monomials: a product keeps the order of its factors."""
    return len(term[0]), [str(atom) for atom in term[0]]


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """Return the monomial divided by another; None if that is no factor of it."""
    rest = list(monomial)
    for atom in part:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _lone_symbol(terms: Terms) -> str | None:
    if len(terms) == 1:
        (monomial, coefficient) = terms[0]
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str):
            return monomial[0]
    return None


class Size:
    """A size known only at run time: an integer polynomial in symbols and calls. Immutable.

    Later modules set its hooks: `compare`, the proofs (`order.py`); `lift`, the traced scalar for arithmetic that
    leaves the integers, and `place`, the user's line (`tracing/asarray.py`); `decide`, the branch to take where only
    the run knows the answer (`tracing/branching/exploring.py`); `told`, the number on that branch
    (`tracing/branching/whole_numbers.py`).
    """

    __slots__ = ("_hash", "symbol", "terms", "text")
    compare: ClassVar[Callable[[Dim, str, Dim], bool]]
    lift: ClassVar[Callable[["Size"], Any]]
    place: ClassVar[Callable[[], Place | None]] = lambda: None
    decide: ClassVar[Callable[[Dim, str, Dim], bool | None]] = lambda a, relation, b: None
    told: ClassVar[Callable[[Dim], int | None]] = lambda size: None
    terms: Terms
    text: str
    symbol: str | None
    """The name, if this is a lone symbol, else None."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.text = " + ".join(_term_text(m, c) for m, c in terms).replace("+ -", "- ")
        self.symbol = _lone_symbol(terms)
        self._hash = hash(self.text)

    def __repr__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return self._hash

    __add__, __radd__ = _arithmetic(_add, operator.add)
    __sub__, __rsub__ = _arithmetic(_subtract, operator.sub)
    __mul__, __rmul__ = _arithmetic(_multiply, operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(floor_divide, operator.floordiv)
    __mod__, __rmod__ = _arithmetic(remainder, operator.mod)

    def __neg__(self) -> Dim:
        return _collect((m, -c) for m, c in self.terms)

    __truediv__, __rtruediv__ = _lifted(operator.truediv)
    __lshift__, __rlshift__ = _lifted(operator.lshift)
    __rshift__, __rrshift__ = _lifted(operator.rshift)
    __and__, __rand__ = _lifted(operator.and_)
    __or__, __ror__ = _lifted(operator.or_)
    __xor__, __rxor__ = _lifted(operator.xor)
    _power, __rpow__ = _lifted(operator.pow)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and other >= 0:
            return product([self] * other)
        return self._power(other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __abs__(self) -> Any:
        return abs(Size.lift(self))

    def __invert__(self) -> Dim:
        return -self - 1

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None or digits >= 0 else round(Size.lift(self), digits)

    def __format__(self, spec: str) -> str:
        return format(self.text, spec.rstrip("dn,_"))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        lifted = [Size.lift(i) if isinstance(i, Size) else i for i in inputs]
        return getattr(ufunc, method)(*lifted, **options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Size):
            return NotImplemented
        return Size.compare(self, "==", other)

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, int | Size):
            return NotImplemented
        return not Size.compare(self, "==", other)

    def __lt__(self, other: Dim) -> bool:
        return Size.compare(self, "<", other)

    def __le__(self, other: Dim) -> bool:
        return Size.compare(self, "<=", other)

    def __gt__(self, other: Dim) -> bool:
        return not Size.compare(self, "<=", other)

    def __ge__(self, other: Dim) -> bool:
        return not Size.compare(self, "<", other)

    def __bool__(self) -> bool:
        return not Size.compare(self, "==", 0)

    def __float__(self) -> float:
        return float(self.__index__())

    def __index__(self) -> int:
        told = Size.told(self)
        if told is not None:
            return told
        raise UndecidableSize(
            f"the size {self} is known only at run time, and a Python integer was asked of it",
            place=Size.place(),
            cure="Work on the whole axis at once, loop with ps.scan or ps.fori_loop, or give the axis a fixed size.",
        )


def _term_text(monomial: Monomial, coefficient: int) -> str:
    body = "*".join(map(str, monomial))
    if not body:
        return str(coefficient)
    return body if coefficient == 1 else f"{coefficient}*{body}"


def _join(left: Monomial, right: Monomial) -> Monomial:
    return tuple(sorted((*left, *right), key=str))


def _terms(dim: Dim) -> Terms:
    if isinstance(dim, Size):
        return dim.terms
    return (((), dim),) if dim else ()


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    """Return the canonical dim of a sum of terms: like terms added, zeros dropped, the constant last."""
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
    """Return the size named `name`."""
    return Size((((name,), 1),))


def call(function: str, *arguments: Dim) -> Dim:
    """Return the function of these sizes: a number if they are numbers, else a Call."""
    if all(isinstance(a, int) for a in arguments):
        return functools.reduce(FUNCTIONS[function], arguments)  # type: ignore[arg-type]
    return Size((((Call(function, arguments),), 1),))


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of sizes; 1 for none."""
    total: Dim = 1
    for dim in dims:
        total = total * dim
    return total


def factors(dim: Dim) -> tuple[Dim, ...]:
    """Return sizes of which the size is the product: the symbols that all of its terms share, and the rest."""
    found: list[Dim] = []
    rest = dim
    for atom in dim.terms[0][0] if isinstance(dim, Size) else ():
        shared = Size((((atom,), 1),))
        quotient = exact_quotient(rest, shared)
        if quotient is not None:
            found.append(shared)
            rest = quotient
    return (*found, rest)


def same(a: Dim, b: Dim) -> bool:
    """Whether the two sizes are equal for all values of the symbols; False if that is not proven."""
    if isinstance(a, Size):
        return isinstance(b, Size) and a.text == b.text
    return not isinstance(b, Size) and a == b


def same_shape(a: Shape, b: Shape) -> bool:
    """Whether the two shapes are equal for all values of the symbols; False if that is not proven."""
    return len(a) == len(b) and all(map(same, a, b))


def is_one(dim: Dim) -> bool:
    """Whether the size is the literal 1."""
    return not isinstance(dim, Size) and dim == 1


LONG = 120
"""A size whose text is longer than this is replaced by a symbol."""


def abbreviated(dim: Dim) -> Dim:
    """Return the size, or a symbol for it if its text is long; equal sizes get equal symbols.

    Each step of a loop over slices and joins may mention the sizes of the step before twice; a size that is read from a
    value by its name does not grow.
    """
    if not isinstance(dim, Size) or len(dim.text) <= LONG:
        return dim
    return symbol(f"size_{hashlib.blake2b(dim.text.encode(), digest_size=8).hexdigest()}")
