"""`rrule`: set a user's reverse rule of a primitive or an operator."""

from collections.abc import Callable

from primsplit.ir.errors import RuleError
from primsplit.rules import table
from primsplit.tracing.calls import primitive as primitives
from primsplit.tracing.calls.primitive import FirstOrder, Function, Primitive
from primsplit.tracing.registering import NAMED


def rrule(
    target: Primitive | str, *, staged: bool = False, first_order_only: bool = False, replace: bool = False
) -> Callable[[Function], Function]:
    """Give a primitive, or an operator by its name, its reverse rule.

    The rule takes the primitive's arguments and returns its output and `pullback`, a function from the output's
    cotangent (in the output's structure) to one cotangent an argument, None where there is no tangent; those of
    arguments that a call leaves to their defaults may be among them. It may defer one, as a function without arguments;
    but cotangents that nobody needs are left out of the split anyway. The cotangent of a complex array is dL/dRe z + i
    dL/dIm z: of w = f(z), holomorphic, np.conj(f'(z)) * dw. An array passed by keyword has no cotangent, and its
    derivative is refused.

    A pullback is linear. One that ignores its cotangent, adds something to it, or multiplies it with itself, raises
    RuleError. One that clips or rounds it is used as it is in reverse mode; forward mode, which transposes it, refuses
    it (`testing.check_rrule` does too).

    With `staged`, what is decorated is a builder of the rule: it takes the primitive's arguments, a Type in the place
    of each array, and returns the rule. It runs once for each call site and signature, however often the call is traced
    and differentiated, and may prepare what depends on shapes and static arguments alone; what it prepares is that
    site's own. `ps.counts().builds` counts its runs. With `first_order_only`, second derivatives, which would
    differentiate the pullback, raise RuleError.

    The rule of an operator takes the inputs in ONNX's order (None for an absent one) and the attributes by keyword,
    those with a default too. It takes the place of the package's own rule. `replace=True` puts it in the place of a
    rule that another module of yours has registered. Raises RuleError where there is such a one and `replace` is False,
    for a target that is neither primitive nor operator, for a rule of other arguments, and for an operator's staged
    rule; a rule whose results do not fit its primitive raises it where it is used.

    >>> @ps.primitive
    ... def clipped(x):
    ...     return np.clip(x, -1.0, 1.0)
    >>> @ps.rrule(clipped)
    ... def straight_through(x):
    ...     return clipped(x), lambda dz: (dz,)
    >>> ps.grad(lambda x: np.sum(clipped(x)))(np.array([0.5, 3.0])).tolist()
    [1.0, 1.0]
    """
    target = NAMED.get(target, target) if isinstance(target, str) else target
    if not isinstance(target, str):
        return primitives.rrule(target, staged=staged, first_order_only=first_order_only, replace=replace)
    if staged:
        raise RuleError(f"the rule of {target} cannot be staged", cure="Give it as it is: ps.rrule(kind).")
    register = table.rrule(target, replace=replace)

    def registered(rule: Function) -> Function:
        register(FirstOrder(target, rule) if first_order_only else rule)
        return rule

    return registered
