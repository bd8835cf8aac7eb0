"""Cancel divisions by roots in tangents: that of `sqrt(x)**2` is the tangent of x, not 2 y times infinity.

The tangent of y = sqrt(x) is a quotient n / y. If a reader of y multiplies its tangent by a product with y, as y**2
does by 2 y, the result is n times 2, without a division:

    t_y = root_quotient(n, y)                    t_y = root_quotient(n, y)
    t_z = 2 y t_y                    becomes     t_z = 2 n
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from primsplit.ir import Op, Value, Var
from primsplit.ops import op as operators
from primsplit.tracing.array import Array
from primsplit.transforms.even_slopes import DEPTH, DIVIDED, EvenSlopes, whole

QUOTIENTS = DIVIDED | {"call::signed", "call::tangent_signed"}
"""Calls of n and y that are n divided by y, or by its size."""
Given = dict[Value, None]
"""The tangents that another one is computed from, in their order."""


@dataclass
class EvenTangents:
    """Tangents that are quotients: for each its numerator, its root, and whether the root may be NaN.

    `signed` are those that are a value times the sign of another.
    """

    slopes: EvenSlopes
    quotients: dict[Value, tuple[Array, Var, bool]] = field(default_factory=dict)
    signed: dict[Var, tuple[Array, Var]] = field(default_factory=dict)
    origins: dict[Value, Sequence[Var]] = field(default_factory=dict)
    """For each tangent those of `signed` that it may be a product with, at most DEPTH."""

    def stand(self, given: Given, made: Value) -> Value:
        """Return a tangent that was computed from the given ones, or a product in its place without a division."""
        inside = self.noted(made)
        tangents = given if inside is None else {inside: None}
        return self.unsigned({**tangents, **given}, self.divided(tangents, inside, made))

    def divided(self, given: Given, inside: Value | None, made: Value) -> Value:
        """Return a tangent, or a product in its place without a division."""
        if len(given) != 1 or not isinstance(made, Var) or inside is made:
            return made
        (tangent,) = given
        known = self.quotients.get(tangent)
        factor = self.slopes.over(made, tangent) if known is not None and isinstance(tangent, Var) else None
        if known is None or factor is None:
            return made
        n, root, is_open = known
        factor = whole(factor, made)
        smooth = self.slopes.over(factor.value, root)
        if smooth is None:
            self.quotients[made] = n * factor, root, is_open
            return made
        found = operators.Mul(n, whole(smooth, made), types=[made.type])
        return operators.Where(operators.IsNaN(Array(root)), Array(root), found).value if is_open else found.value

    def unsigned(self, given: Given, made: Value) -> Value:
        """Return a tangent without the sign of x, if it is that of |x| times a factor which has the sign again."""
        if not isinstance(made, Var):
            return made
        origins = [*dict.fromkeys(one for v in given for one in self.origins.get(v, ()))][:DEPTH]
        self.origins[made] = origins
        for tangent in origins:
            n, x = self.signed[tangent]
            factor = self.slopes.over(made, tangent) if self.slopes.has_sign(x) else None
            if factor is None:
                continue
            product = n * whole(factor, made)
            found = self.slopes.unsigned(product.value, x)
            if found is not None:
                made = whole(found, made).value
                self.origins.setdefault(made, origins)
                return made
            self.signed[made] = product, x
            self.origins[made] = [made, tangent]
            break
        return made

    def noted(self, made: Value) -> Value | None:
        """Return the quotient that a root's tangent is, or is a product with."""
        maker = self.slopes.maker(made)
        factors = maker.inputs if maker is not None and maker.kind == "Mul" else ()
        for value in (made, *factors):
            found = self.slopes.maker(value)
            if value is not None and found is not None and found.kind in QUOTIENTS:
                self.note(found, value)
                return value
        return None

    def note(self, maker: Op, made: Value) -> None:
        """Remember a tangent that is a quotient."""
        n, root = maker.inputs
        if n is None or not isinstance(root, Var):
            return
        if maker.kind in DIVIDED:
            self.quotients[made] = Array(n), root, maker.kind == "call::root_quotient"
            return
        if isinstance(made, Var):
            self.signed[made], self.origins[made] = (Array(n), root), [made]
        size = self.slopes.size_of(root)
        if size is not None:
            self.quotients[made] = Array(n) * Array(root), size, False
