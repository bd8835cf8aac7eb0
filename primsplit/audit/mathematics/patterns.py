"""Write what several statements compute as the function that it is: `log_softmax(z, axis=1)`, `log1p(x)`, a polynomial.

```
shifted = z - max(z, axis=1, keepdims=True)                       ->   p = log_softmax(z, axis=1)
p = shifted - log(sum(exp(shifted), axis=1, keepdims=True))

a = 0.5 * t + 0.1; b = a * t + 0.2; y = b * t + 0.3               ->   y = polyval([0.5, 0.1, 0.2, 0.3], t)
```

A pattern is an expression with holes. Statements without a name of the user's are expanded while it is compared. One
that nothing else reads is then shown no more, and its nodes are counted where the function is.
"""

import ast
import copy
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from primsplit.audit.mathematics.attention import Shapes, with_attention
from primsplit.audit.mathematics.ordering import read_by, targets_of
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import number_tree
from primsplit.audit.mathematics.sizes import Shape
from primsplit.audit.trees import call, fill, tree
from primsplit.ir import dims
from primsplit.ir.dims import Dim

HOLES = frozenset({"x", "z", "k", "LOW", "HIGH", "COUNT", "DIVISOR", "FACTOR", "e", "p", "q"})
"""Names in patterns that stand for any expression."""
MAX = "max(z, axis=k, keepdims=True)"
MEAN = "mean(x, axis=k, keepdims=True)"
HOW = ("", ", axis=k", ", axis=k, keepdims=True")
"""The ends of the call of a reduction."""
EVERY_HOW = (*HOW, ", keepdims=True")
IS_NAN = "isnan(x).astype(int32)"
REFUSED = "array([nan])[(p == 0).astype(int64)]"
"""A missing number, or an index error where there are no numbers, as NumPy's maximum has."""
CLIPPED = "clip(x, p, q)"
LARGER, SMALLER = "maximum(abs(x), abs(z))", "minimum(abs(x), abs(z))"
LARGEST = "max(abs(x), axis=0, keepdims=True)"
SCALE = f"where({LARGEST} == 0, 1, {LARGEST})"
LOW_BITS = "(x & 4194303)"
REST = f"divide(x - {LOW_BITS}, 4194304)"
MIDDLE_BITS = f"({REST} & 4194303)"
EXPONENT = "floor(e * log(clip(max(abs(x){axis}, keepdims=True), LOW, HIGH)))"
"""The power of two near the largest size, by which a norm divides."""
NORMS = {
    **{("", "", f"[{', '.join(['0'] * rank)}]"): "norm(x)" for rank in range(1, 5)},
    **{(", axis=k", ", axis=k", f"[{', '.join([*[':'] * axis, '0'])}]"): "norm(x, axis=k)" for axis in range(4)},
    ("", ", keepdims=True", ""): "norm(x, keepdims=True)",
    (", axis=k", ", axis=k, keepdims=True", ""): "norm(x, axis=k, keepdims=True)",
}
"""The axis of the largest size, the end of the call of the sum, and the index behind the power of two."""
VARIANCES = {
    how: f"mean((x - mean(x{', axis=k' if 'axis' in how else ''}, keepdims=True))**2{how})" for how in EVERY_HOW
}
"""Variances by the end of their call."""
FREE_VARIANCES = {
    how: [form.format(variance.removeprefix("mean")) for form in ("sum{} / DIVISOR", "FACTOR * sum{}")]
    for how, variance in VARIANCES.items()
}
"""Those that divide by fewer numbers than they add."""
SAFE_ROOT = "where({0} > 0, sqrt(where({0} > 0, {0}, 1)), 0 * ({0}))"
"""A root that has no slope at 0."""
PATTERNS = {
    f"where(isnan(sum(clip(x, -1, 1){how})), nan, {name}(x{how}))": f"{name}(x{how})"
    for name in ("max", "min")
    for how in HOW
}
PATTERNS |= {
    f"where(isnan(sum(clip(x, -1, 1){how})), {REFUSED}, {name}(x{how}))": f"{name}(x{how})"
    for name in ("max", "min")
    for how in HOW
}
PATTERNS |= {
    f"where(max({IS_NAN}, axis=k) > 0, {name}({IS_NAN}, axis=k), {name}(where(isnan(x), {least}, x), axis=k))": (
        f"{name}(x, axis=k)"
    )
    for name, least in (("argmax", "-inf"), ("argmin", "inf"))
}
PATTERNS |= {SAFE_ROOT.format(variance): f"std(x{how})" for how, variance in VARIANCES.items()}
PATTERNS |= {variance: f"var(x{how})" for how, variance in VARIANCES.items()}
PATTERNS |= {
    pattern: f"{function}(x{how}, ddof=DDOF)"
    for how, variances in FREE_VARIANCES.items()
    for variance in variances
    for pattern, function in ((SAFE_ROOT.format(variance), "std"), (variance, "var"))
}
PATTERNS |= {
    SAFE_ROOT.format(squares): f"sqrt({squares})"
    for how in EVERY_HOW
    for squares in (f"mean(x**2{how})", f"sum(x**2{how}) / COUNT")
}
PATTERNS |= {
    f"sqrt(sum((x * 2**(-{exponent}))**2{how})) * {power}": norm
    for (axis, how, index), norm in NORMS.items()
    for exponent in [EXPONENT.format(axis=axis)]
    for power in [f"(2**{exponent}){index}"]
}
PATTERNS |= {
    f"log(sum(exp(z - where(abs({largest}) < inf, {largest}, 0)){how}, keepdims=True)) + {largest}": (
        f"logsumexp(z{how}, keepdims=True)"
    )
    for how in ("", ", axis=k")
    for largest in [f"max(z{how}, keepdims=True)"]
}
PATTERNS |= {
    f"where(isnan({CLIPPED}), (x + p + q) * where(isnan({CLIPPED}), nan, 1), {CLIPPED})": CLIPPED,
    f"where(isnan({CLIPPED}), (x + p + q) * nan, {CLIPPED})": CLIPPED,
    f"where((abs(x) == inf) | (abs(z) == inf), inf,"
    f" where({LARGER} == 0, {LARGER}, {LARGER} * sqrt(({SMALLER} / {LARGER})**2 + 1)))": "hypot(x, z)",
    f"({SCALE} * sqrt(sum((x / {SCALE})**2, axis=0, keepdims=True)))[0]": "norm(x, axis=0)",
    f"sum({LOW_BITS}.astype(float64)).astype(int64)"
    f" + 4194304 * sum({MIDDLE_BITS}.astype(float64)).astype(int64)"
    f" + 17592186044416 * sum(divide({REST} - {MIDDLE_BITS}, 4194304).astype(float64)).astype(int64)": "sum(x)",
    f"z - {MAX} - log(sum(exp(z - {MAX}), axis=k, keepdims=True))": "log_softmax(z, axis=k)",
    f"exp(z - {MAX}) / sum(exp(z - {MAX}), axis=k, keepdims=True)": "softmax(z, axis=k)",
    f"(x - {MEAN}) / sqrt(mean((x - {MEAN})**2, axis=k, keepdims=True) + e)": "normalized(x, axis=k, epsilon=e)",
    "(x - (minimum(x + 1, HIGH) - 1)) / (minimum(x + 1, HIGH) + LOW) + log(x + 1)": "log1p(x)",
    "(x - (clip(x + 1, LOW, HIGH) - 1)) / clip(x + 1, LOW, HIGH) + log(x + 1)": "log1p(x)",  # of earlier versions
    "where(p == 0, 0, q / where(p == 0, 1, p))": "where(p == 0, 0, q / p)",
    "1 - 2 * sin(0.5 * x)**2": "cos(x)",
    "1 / (1 + exp(-x))": "sigmoid(x)",
    "exp(-x) / (1 + exp(-x))": "sigmoid(-x)",
}
"""Expressions by what people call them, with NumPy's meaning for NaN: it is the maximum of what has one."""
SOFTMAX = frozenset({"softmax", "log_softmax"})
"""Functions that people write out with variables of their own, which one statement reads."""
PASSES = 2
"""The number of searches for functions: a softmax is found once its maximum has its name."""
TINY, HUGE = 1e-4, 6e4
"""Between the least and greatest numbers of every dtype of floats."""
MOST_DDOF = 2
"""The most that `ddof` takes from the divisor of a variance that has its name."""
SHORTEST = 4
"""The least degree of a polynomial that is written as one."""
Bound = dict[str, ast.expr]


def with_functions(
    lines: Sequence[Shown], named: frozenset[str], results: frozenset[str], shapes: Shapes
) -> list[Shown]:
    """Return statements with the functions that they compute; those in `named` or `results` stay."""
    return _Rewriting([*lines], named | results, results, shapes).run()


@dataclass
class _Rewriting:
    lines: list[Shown]
    kept: frozenset[str]
    results: frozenset[str]
    shapes: Shapes
    values: dict[str, ast.expr] = field(default_factory=dict)
    inner: dict[str, ast.expr] = field(default_factory=dict)

    def run(self) -> list[Shown]:
        for _ in range(PASSES):
            self.search()
            while self.drop():
                pass
        with_attention(self.lines, self.kept, self.shapes)
        while self.drop():
            pass
        return self.lines

    def search(self) -> None:
        """Replace the functions that values compute, the last statement first."""
        every = [line for top in self.lines for line in top.walk()]
        set_once = Counter(name for line in every for name in targets_of(line))
        once = {line.target: line.value for line in every if line.value is not None and set_once[line.target] == 1}
        self.values = {target: value for target, value in once.items() if target not in self.kept}
        readers = Counter(name for line in every for name in read_by(line))
        self.inner = {t: v for t, v in once.items() if t in self.kept - self.results and readers[t] == 1}
        for line in reversed(every):
            if line.value is not None:
                search = _Search(self.values, line.target, self.inner, self.shapes)
                found = search.visit(copy.deepcopy(line.value))
                assert isinstance(found, ast.expr)
                line.value, line.covers = found, search.used

    def drop(self) -> bool:
        """Drop the statements that nothing reads any more; False for none. Those that cover them get their ops."""
        every = [line for top in self.lines for line in top.walk()]
        owners = {name: line for line in every for name in line.covers}
        read = {name for line in every for name in read_by(line)} if owners else set()
        known = {*self.values, *self.inner}
        gone = {line.target for line in every if line.target in owners and line.target in known} - read
        return bool(gone) and self.drop_from(self.lines, gone, owners)

    def drop_from(self, lines: list[Shown], gone: set[str], owners: Mapping[str, Shown]) -> bool:
        """Drop these statements from a body and from those inside it."""
        for line in [line for line in lines if line.target in gone]:
            owners[line.target].ops += line.ops
            owners[line.target].covers |= line.covers | read_by(line)
            lines.remove(line)
        for line in lines:
            self.drop_from(line.below, gone, owners)
        return True


class _Search(ast.NodeTransformer):
    """Replaces the expressions that patterns describe. `used` are the statements that were expanded for it.

    `inner` are variables of the user's that one statement reads: those of a function that is written out, such as `e`
    of a softmax, are in its name.
    """

    def __init__(
        self, values: Mapping[str, ast.expr], target: str, inner: Mapping[str, ast.expr], shapes: Shapes
    ) -> None:
        self.plain = self.values = values
        self.every = {**values, **inner}
        self.target = target
        self.shapes = shapes
        self.used: set[str] = set()

    def visit_Call(self, node: ast.Call) -> ast.expr:
        return self.function(node) or self.inside(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self.function(node) or self.inside(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self.polynomial(node) or self.inverse(node) or self.function(node) or self.inside(node)

    def inside(self, node: ast.expr) -> ast.expr:
        """Return an expression whose parts are searched."""
        self.generic_visit(node)
        return node

    def function(self, node: ast.expr) -> ast.expr | None:
        """Return the function of the first pattern that describes a node; None if none does."""
        found = (self.windows(node, pattern, function) for pattern, function in _compiled())
        return next((each for each in found if each is not None), None)

    def inverse(self, node: ast.BinOp) -> ast.expr | None:
        """Return `x * y**2` for `x / v * y`, where `y = 1 / v`: the derivative of an inverse."""
        left, inverse = node.left, node.right
        if not isinstance(node.op, ast.Mult) or not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Div):
            return None
        if not isinstance(inverse, ast.Name) or inverse.id not in self.values:
            return None
        value = ast.BinOp(ast.Constant(1), ast.Div(), left.right)
        if ast.dump(self.values[inverse.id]) != ast.dump(value):
            return None
        first = self.visit(left.left)
        return ast.BinOp(first, ast.Mult(), ast.BinOp(inverse, ast.Pow(), ast.Constant(2)))

    def windows(self, node: ast.expr, pattern: ast.expr, function: ast.expr) -> ast.expr | None:
        """Return the function for a node, or with it in the place of some terms of a sum, that a pattern describes."""
        bound: Bound = {}
        used: set[str] = set()
        is_softmax = isinstance(function, ast.Call) and ast.unparse(function.func) in SOFTMAX
        self.values = self.every if is_softmax else self.plain
        is_found = self.unify(pattern, node, bound, used) and _is_plain(bound) and self.is_free(bound)
        self.values = self.plain
        if is_found:
            self.used |= used
            return fill(function, bound)
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add) or not _is_sum(pattern):
            return None
        if not isinstance(node.left, ast.BinOp):
            return None
        if isinstance(node.left.op, ast.Add):
            last = ast.BinOp(node.left.right, ast.Add(), node.right)
            bound, used = {}, set()
            if self.unify(pattern, last, bound, used) and _is_plain(bound):
                self.used |= used
                return ast.BinOp(node.left.left, ast.Add(), fill(function, bound))
        return None

    def is_free(self, bound: Bound) -> bool:
        """Whether a variance divides by a few numbers less than it adds, if a pattern has such a one; binds DDOF."""
        told, variable = bound.get("DIVISOR", bound.get("FACTOR")), bound.get("x")
        if told is None:
            return True
        shape = self.shapes(variable.id) if isinstance(variable, ast.Name) else None
        added = None if shape is None else _added(shape, bound.get("k"))
        if added is None:
            return False
        for ddof in range(1, MOST_DDOF + 1):
            if ast.unparse(told) in _texts_of(added - ddof, is_factor="FACTOR" in bound):
                bound["DDOF"] = ast.Constant(ddof)
                return True
        return False

    def unify(self, pattern: ast.AST, node: ast.AST, bound: Bound, used: set[str]) -> bool:
        """Whether a pattern describes an expression; binds its holes, and notes the statements that are expanded."""
        if isinstance(pattern, ast.Name) and pattern.id in HOLES:
            assert isinstance(node, ast.expr)
            known = bound.setdefault(pattern.id, node)
            return self.equal(known, node, used)
        if isinstance(node, ast.Name) and node.id in self.values and not isinstance(pattern, ast.Name):
            if node.id == self.target:
                return False
            used.add(node.id)
            return self.unify(pattern, self.values[node.id], bound, used)
        if type(pattern) is not type(node):
            return False
        if (
            isinstance(pattern, ast.BinOp)
            and isinstance(node, ast.BinOp)
            and isinstance(pattern.op, ast.Add | ast.Mult)
        ):
            return type(pattern.op) is type(node.op) and self.either(pattern, node, bound, used)
        return self.fields(pattern, node, bound, used)

    def either(self, pattern: ast.BinOp, node: ast.BinOp, bound: Bound, used: set[str]) -> bool:
        """Whether a pattern describes the operands of a sum or a product, in one order or the other."""
        for left, right in ((node.left, node.right), (node.right, node.left)):
            tried, seen = dict(bound), set(used)
            if self.unify(pattern.left, left, tried, seen) and self.unify(pattern.right, right, tried, seen):
                bound.update(tried)
                used |= seen
                return True
        return False

    def fields(self, pattern: ast.AST, node: ast.AST, bound: Bound, used: set[str]) -> bool:
        for (name, one), (_, other) in zip(ast.iter_fields(pattern), ast.iter_fields(node), strict=True):
            if name == "ctx":
                continue
            if isinstance(one, list):
                if len(one) != len(other):
                    return False
                if not all(self.unify(a, b, bound, used) for a, b in zip(one, other, strict=True)):
                    return False
            elif isinstance(one, ast.AST):
                if not isinstance(other, ast.AST) or not self.unify(one, other, bound, used):
                    return False
            elif one != other:
                return False
        return True

    def equal(self, a: ast.expr, b: ast.expr, used: set[str]) -> bool:
        """Whether two expressions are equal, perhaps when a statement is expanded."""
        if ast.dump(a) == ast.dump(b):
            return True
        for one, other in ((a, b), (b, a)):
            if isinstance(one, ast.Name) and one.id in self.values and one.id != self.target:
                used.add(one.id)
                return self.equal(self.values[one.id], other, used)
        return False

    def polynomial(self, node: ast.BinOp) -> ast.expr | None:
        """Return `polyval([a, b, c], t)` for `(a * t + b) * t + c`, of a degree that is worth it."""
        used: set[str] = set()
        found = self.horner(node, used)
        if found is None or len(found[0]) <= SHORTEST:
            return None
        self.used |= used
        numbers, variable = found
        return call("polyval", ast.List(numbers, ast.Load()), variable)

    def horner(self, node: ast.expr, used: set[str]) -> tuple[list[ast.expr], ast.expr] | None:
        """Return the coefficients of a polynomial, the highest first, and its variable."""
        if isinstance(node, ast.Name) and node.id in self.values and node.id != self.target:
            found = self.horner(self.values[node.id], used)
            if found is not None:
                used.add(node.id)
            return found
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub) or not _is_number(node.right):
            return None
        last = node.right if isinstance(node.op, ast.Add) else ast.UnaryOp(ast.USub(), node.right)
        product, seen = node.left, set(used)
        if isinstance(product, ast.Name) and product.id in self.values and product.id != self.target:
            seen.add(product.id)
            product = self.values[product.id]
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            return None
        used |= seen
        for rest, variable in ((product.left, product.right), (product.right, product.left)):
            if _is_number(rest) and not _is_number(variable):
                return [rest, last], variable
            inner = None if _is_number(variable) else self.horner(rest, used)
            if inner is not None and ast.dump(inner[1]) == ast.dump(variable):
                return [*inner[0], last], variable
        return None


def _added(shape: Shape, axis: ast.expr | None) -> Dim | None:
    """Return the number of elements along an axis, None for all; None where the axis is no number."""
    if axis is None:
        return dims.product(shape)
    number = int(ast.unparse(axis)) if ast.unparse(axis).removeprefix("-").isdigit() else len(shape)
    return shape[number] if -len(shape) <= number < len(shape) else None


def _texts_of(divisor: Dim, *, is_factor: bool) -> set[str]:
    """Return the texts of a divisor, or of the number to multiply by in its place."""
    if not is_factor:
        return {str(divisor), f"maximum({divisor}, 0)"}
    return {ast.unparse(number_tree(1 / divisor))} if isinstance(divisor, int) and divisor > 0 else set()


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is of numbers alone: `0.5`, `-1 / 3`."""
    parts = ast.Constant | ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop | ast.expr_context
    return all(isinstance(part, parts) for part in ast.walk(node))


def _is_sum(pattern: ast.expr) -> bool:
    return isinstance(pattern, ast.BinOp) and isinstance(pattern.op, ast.Add)


def _is_plain(bound: Bound) -> bool:
    """Whether LOW and HIGH are the least and greatest numbers of a dtype, and COUNT a count, if a pattern has them."""
    if "COUNT" in bound and not _is_count(bound["COUNT"]):
        return False
    low, high = bound.get("LOW"), bound.get("HIGH")
    if low is None or high is None:
        return True
    values = [node.value if isinstance(node, ast.Constant) else None for node in (low, high)]
    least, greatest = (v if isinstance(v, int | float) else 0.0 for v in values)
    return 0 < least < TINY and greatest > HUGE


def _is_count(node: ast.expr) -> bool:
    """Whether an expression is a positive number, or `maximum(n, 0)`."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and node.value > 0
    return isinstance(node, ast.Call) and ast.unparse(node).startswith("maximum(") and ast.unparse(node.args[-1]) == "0"


@functools.cache
def _compiled() -> tuple[tuple[ast.expr, ast.expr], ...]:
    """Return the patterns and the functions that they describe."""
    return tuple((tree(pattern), tree(function)) for pattern, function in PATTERNS.items())
