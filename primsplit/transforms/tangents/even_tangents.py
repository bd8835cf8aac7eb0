"""Cancel divisions by roots in tangents: that of `sqrt(x)**2` is the tangent of x, not 2 y times infinity.

The tangent of y = sqrt(x) is a quotient n / y. If a reader of y multiplies its tangent by a product with y, as y**2
does by 2 y, the result is n times 2, without a division:

    t_y = root_quotient(n, y)                    t_y = root_quotient(n, y)
    t_z = 2 y t_y                    becomes     t_z = 2 n
"""

from dataclasses import dataclass, field

from primsplit.ir import Op, Value, Var
from primsplit.ops import op as operators
from primsplit.tracing.array import Array
from primsplit.transforms.even_slopes import DIVIDED, EvenSlopes, whole

QUOTIENTS = DIVIDED | {"call::signed", "call::tangent_signed"}
"""Calls of n and y that are n divided by y, or by its size."""


@dataclass
class EvenTangents:
    """Tangents that are quotients: for each its numerator, its root, and whether the root may be NaN.

    `signed` are those that are a value times the sign of another.
    """

    slopes: EvenSlopes
    quotients: dict[Value, tuple[Array, Var, bool]] = field(default_factory=dict)
    signed: dict[Var, tuple[Array, Var]] = field(default_factory=dict)

    def stand(self, given: set[Value], made: Value) -> Value:
        """Return a tangent that was computed from the given ones, or a product in its place without a division."""
        return self.unsigned(self.divided(given, made))

    def divided(self, given: set[Value], made: Value) -> Value:
        """Return a tangent, or a product in its place without a division."""
        inside = self.noted(made)
        given = given if inside is None else {inside}
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

    def unsigned(self, made: Value) -> Value:
        """Return a tangent without the sign of x, if it is that of |x| times a factor which has the sign again."""
        if not isinstance(made, Var):
            return made
        for tangent, (n, x) in [*self.signed.items()][::-1]:
            factor = self.slopes.over(made, tangent) if self.slopes.has_sign(x) else None
            if factor is None:
                continue
            product = n * whole(factor, made)
            found = self.slopes.unsigned(product.value, x)
            if found is not None:
                return whole(found, made).value
            self.signed[made] = product, x
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
            self.signed[made] = Array(n), root
        size = self.slopes.size_of(root)
        if size is not None:
            self.quotients[made] = Array(n) * Array(root), size, False
