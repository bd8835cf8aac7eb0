"""Forward rules: no longer than written by hand, one with the reverse rules, and given back by their transposes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Op
from primsplit.ir.names import NamedBlock
from primsplit.numpy.exponential import expit
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.programs.doors import make_session
from primsplit.rewrites import optimize
from primsplit.rewrites.inline import inline_calls
from primsplit.rules.table import FRULES, RULES, SYMMETRIC
from primsplit.testing.reference import Reference
from primsplit.transforms.tangents.pushforward import push_whole
from primsplit.transforms.tangents.transposition import transpose
from tests.recording import record
from tests.rules.row import sampled, subject_of
from tests.rules.rows import ROWS, Row

Forward = Callable[..., Any]


def cos(x: Any) -> Any:
    return op.Cos(x)


# What a person would write down for the tangent, given the inputs, the output and the tangents.
UNARY: dict[str, Forward] = {
    "Abs": lambda x, y, t: op.Clip(x * 1.7e308, -1.0, 1.0) * t,  # a third of the time of Sign
    "Acos": lambda x, y, t: t / -op.Sqrt((1.0 - x) * (1.0 + x)),
    "Acosh": lambda x, y, t: t / (op.Sqrt(x - 1.0) * op.Sqrt(x + 1.0)),
    "Asin": lambda x, y, t: t / op.Sqrt((1.0 - x) * (1.0 + x)),
    "Asinh": lambda x, y, t: t / op.Sqrt(x * x + 1.0),
    "Atan": lambda x, y, t: t / (x * x + 1.0),
    "Atanh": lambda x, y, t: t / ((1.0 - x) * (1.0 + x)),
    "Cos": lambda x, y, t: -op.Sin(x) * t,
    "Cosh": lambda x, y, t: op.Sinh(x) * t,
    "Elu": lambda x, y, t: op.Where(op.Greater(x, 0.0), t, t * (y + 1.5)),
    "Erf": lambda x, y, t: op.Exp(-(x * x)) * 1.1283791670955126 * t,
    "Exp": lambda x, y, t: y * t,
    "HardSigmoid": lambda x, y, t: op.Where(op.And(op.Greater(y, 0.0), op.Less(y, 1.0)), t * 0.2, 0.0),
    "Identity": lambda x, y, t: t,
    "LeakyRelu": lambda x, y, t: op.Where(op.Greater(x, 0.0), t, t * 0.25),
    "Log": lambda x, y, t: t / x,
    "Neg": lambda x, y, t: -t,
    "Reciprocal": lambda x, y, t: -(y * y) * t,
    "Relu": lambda x, y, t: op.Where(op.Greater(x, 0.0), t, 0.0),
    "Selu": lambda x, y, t: op.Where(op.Greater(x, 0.0), t * 1.05, t * (y + 1.7)),
    "Sigmoid": lambda x, y, t: y * (1.0 - y) * t,
    "Sin": lambda x, y, t: cos(x) * t,
    "Sinh": lambda x, y, t: op.Cosh(x) * t,
    "Softplus": lambda x, y, t: expit(x) * t,  # which does not overflow
    "Softsign": lambda x, y, t: t / (op.Abs(x) + 1.0) / (op.Abs(x) + 1.0),
    "Sqrt": lambda x, y, t: t * 0.5 / op.Max(y, 1e-300),
    "Tan": lambda x, y, t: (y * y + 1.0) * t,
    "Tanh": lambda x, y, t: (1.0 - y * y) * t,
    "ThresholdedRelu": lambda x, y, t: op.Where(op.Greater(x, 0.2), t, 0.0),
}
BINARY: dict[str, Forward] = {
    "Add": lambda x, y, z, s, t: s + t,
    "Sub": lambda x, y, z, s, t: s - t,
    "Mul": lambda x, y, z, s, t: s * y + x * t,
    "Div": lambda x, y, z, s, t: (s - z * t) / y,
    "Max": lambda x, y, z, s, t: op.Where(op.Greater(x, y), s, op.Where(op.Greater(y, x), t, (s + t) * 0.5)),
    "Min": lambda x, y, z, s, t: op.Where(op.Less(x, y), s, op.Where(op.Less(y, x), t, (s + t) * 0.5)),
    "Mod": lambda x, y, z, s, t: s - op.Round((x - z) / y) * t,
    "PRelu": lambda x, y, z, s, t: op.Where(op.Greater(x, 0.0), s, s * y + x * t),
}
ATTRIBUTES = {
    "Elu": {"alpha": 1.5},
    "LeakyRelu": {"alpha": 0.25},
    "ThresholdedRelu": {"alpha": 0.2},
    "Mod": {"fmod": 1},
}


def normal_share(x: Any) -> Any:
    return (op.Erf(x * np.sqrt(0.5)) + 1.0) * 0.5


def mish(x: Any, y: Any, t: Any) -> Any:
    share = op.Tanh(op.Softplus(x))
    return (share + x * (1.0 - share * share) * expit(x)) * t


def gelu(x: Any, y: Any, t: Any) -> Any:
    return (normal_share(x) + x * (op.Exp(x * x * -0.5) * np.sqrt(0.5 / np.pi))) * t


def gelu_by_tanh(x: Any, y: Any, t: Any) -> Any:
    scale, square = np.sqrt(2.0 / np.pi), x * x
    share = op.Tanh(x * (square * (scale * 0.044715) + scale))
    slope = (1.0 - share * share) * (square * (3.0 * scale * 0.044715) + scale) * 0.5
    return ((share + 1.0) * 0.5 + x * slope) * t


def power(x: Any, p: Any, z: Any, s: Any, t: Any) -> Any:
    """With 0 for the slopes of 0**0, as NumPy's users know it from PyTorch."""
    base = op.Where(op.And(op.Equal(p, 0), op.Equal(x, 0.0)), 1.0, x)
    log = op.Log(op.Where(op.And(op.Equal(x, 0.0), op.GreaterOrEqual(p, 0.0)), 1.0, x))
    return s * (op.Pow(base, p - 1) * p) + t * (z * log)


Written = tuple[str, Forward, Forward, list[str], list[int]]
OTHERS: list[Written] = [
    ("Mish", lambda x: op.Mish(x), mish, ["float64[N]"], [0]),
    ("Gelu", lambda x: op.Gelu(x), gelu, ["float64[N]"], [0]),
    ("Gelu, float32", lambda x: op.Gelu(x), gelu, ["float32[N]"], [0]),
    ("Gelu by tanh", lambda x: op.Gelu(x, approximate="tanh"), gelu_by_tanh, ["float64[N]"], [0]),
    (
        "HardSwish",
        lambda x: op.HardSwish(x),
        lambda x, y, t: op.Where(op.GreaterOrEqual(x, 3.0), t, op.Where(op.Greater(x, -3.0), t * (x / 3 + 0.5), 0.0)),
        ["float64[N]"],
        [0],
    ),
    (
        "Celu",
        lambda x: op.Celu(x, alpha=2.0),
        lambda x, y, t: op.Where(op.Greater(x, 0.0), t, t * (y * 0.5 + 1.0)),
        ["float32[N]"],
        [0],
    ),
    (
        "Shrink",
        lambda x: op.Shrink(x, lambd=0.5, bias=0.1),
        lambda x, y, t: op.Where(op.Or(op.Greater(x, 0.5), op.Less(x, -0.5)), t, 0.0),
        ["float64[N]"],
        [0],
    ),
    (
        "Clip",
        lambda x: op.Clip(x, -1.0, 1.0),
        lambda x, y, t: op.Where(op.Or(op.Less(x, -1.0), op.Greater(x, 1.0)), 0.0, t),
        ["float64[N]"],
        [0],
    ),
    (
        "Clip from below",
        lambda x: op.Clip(x, -1.0),
        lambda x, y, t: op.Where(op.Less(x, -1.0), 0.0, t),
        ["float64[N]"],
        [0],
    ),
    ("Pow 2", lambda x: op.Pow(x, 2.0), lambda x, y, t: x * 2.0 * t, ["float64[N]"], [0]),
    ("Pow 3", lambda x: op.Pow(x, 3.0), lambda x, y, t: x * x * 3.0 * t, ["float64[N]"], [0]),
    ("Pow -1.5", lambda x: op.Pow(x, -1.5), lambda x, y, t: op.Pow(x, -2.5) * -1.5 * t, ["float64[N]"], [0]),
    ("Pow", lambda x, p: op.Pow(x, p), power, ["float64[N]", "float64[N]"], [0, 1]),
    (
        "Where",
        lambda c, x, y: op.Where(c, x, y),
        lambda c, x, y, z, s, t: op.Where(c, s, t),
        ["bool[N]", "float64[N]", "float64[N]"],
        [1, 2],
    ),
    (
        "one side of Where",
        lambda c, x, y: op.Where(c, x, y),
        lambda c, x, y, z, s: op.Where(c, s, 0.0),
        ["bool[N]", "float64[N]", "float64[N]"],
        [1],
    ),
    ("Sum", lambda x, y: op.Sum(x, y), lambda x, y, z, s, t: op.Sum(s, t), ["float64[3,4]", "float64[4]"], [0, 1]),
    ("Mean", lambda x, y: op.Mean(x, y), lambda x, y, z, s, t: op.Mean(s, t), ["float64[3,4]", "float64[4]"], [0, 1]),
    ("Cast", lambda x: op.Cast(x, to=np.float32), lambda x, y, t: op.Cast(t, to=np.float32), ["float64[N]"], [0]),
    (
        "CastLike",
        lambda x, y: op.CastLike(x, y),
        lambda x, y, z, s: op.CastLike(s, y),
        ["float64[N]", "float32[N]"],
        [0],
    ),
]
"""Operators with attributes, constants or inputs that have no tangent."""


def count(block: Block) -> int:
    return len(optimize(inline_calls(block)).ops)


def added_ops(block: Block) -> int:
    """The ops that the tangent adds to the value."""
    flat = inline_calls(block)
    joint = push_whole(flat, range(len(flat.params)), [0]).joint()
    return count(joint) - count(flat)


def by_hand(kind: str, rule: Forward, shapes: list[str]) -> int:
    """The ops that a hand-written rule adds to the value."""
    attributes = ATTRIBUTES.get(kind, {})

    def value(*inputs: Any) -> Any:
        return getattr(op, kind)(*inputs, **attributes)

    def both(*given: Any) -> Any:
        inputs = given[: len(shapes)]
        z = value(*inputs)
        return z, rule(*inputs, z, *given[len(shapes) :])

    names = [f"x{i}" for i in range(2 * len(shapes))]
    return count(_recorded(both, names, shapes * 2)) - count(_recorded(value, names[: len(shapes)], shapes))


def _recorded(function: Forward, names: list[str], types: list[str]) -> Block:
    source = f"lambda {', '.join(names)}: f({', '.join(names)})"
    return record(eval(source, {"f": function}), *types)


@pytest.mark.parametrize("kind", UNARY)
@pytest.mark.parametrize("shape", ["float64[3,4]", "float64[N]"])
def test_the_tangent_of_a_function_is_no_longer_than_written_by_hand(kind: str, shape: str) -> None:
    attributes = ATTRIBUTES.get(kind, {})
    block = record(lambda x: getattr(op, kind)(x, **attributes), shape)
    assert added_ops(block) <= by_hand(kind, UNARY[kind], [shape])


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize(
    "shapes", [("float64[3,4]", "float64[3,4]"), ("float64[3,4]", "float64[4]"), ("float64[N,4]", "float64[4]")]
)
def test_the_tangent_of_two_operands_is_no_longer_than_written_by_hand(kind: str, shapes: tuple[str, str]) -> None:
    attributes = ATTRIBUTES.get(kind, {})
    block = record(lambda x, y: getattr(op, kind)(x, y, **attributes), *shapes)
    assert added_ops(block) <= by_hand(kind, BINARY[kind], list(shapes))


@pytest.mark.parametrize(("value", "rule", "types", "wrt"), [o[1:] for o in OTHERS], ids=[o[0] for o in OTHERS])
def test_the_tangent_of_the_other_operators_is_no_longer_than_written_by_hand(
    value: Forward, rule: Forward, types: list[str], wrt: list[int]
) -> None:
    def both(*given: Any) -> Any:
        inputs = given[: len(types)]
        z = value(*inputs)
        return z, rule(*inputs, z, *given[len(types) :])

    names = [f"x{i}" for i in range(len(types) + len(wrt))]
    block = _recorded(value, names[: len(types)], types)
    flat = inline_calls(block)
    added = count(push_whole(flat, wrt, [0]).joint()) - count(flat)
    assert added <= count(_recorded(both, names, [*types, *(types[i] for i in wrt)])) - count(block)


def test_every_elementwise_operator_is_in_a_table() -> None:
    """The rules of two files, but for softmax and its kin, which mix elements."""
    files = ("rules/elementwise.py", "rules/activation.py")
    found = {k for k, e in RULES.items() if e.form in {"rule", "partials"} and any(f in e.where for f in files)}
    others = {name.split(",")[0].split()[0] for name, *_ in OTHERS}
    assert sorted(found - {"Softmax", "LogSoftmax"} - set(UNARY) - set(BINARY) - others) == []


OTHERWISE = {
    "arctan2", "ldexp", "frexp", "modf", "divmod", "clip", "matmul", "matvec", "vecmat", "vecdot", "nextafter",
    "spacing",
}  # fmt: skip
"""Names in the table that are not of one or two floats, element by element, or have no form.

The quotients 0 / 0 of arctan2 are settled by more ops in the tangent than in the gradient.
"""
UFUNCS = [
    n
    for n in sorted(ELEMENTWISE.keys() - OTHERWISE)
    if isinstance(u := getattr(np, n, None), np.ufunc) and "d->d" in "".join(u.types)
]


@pytest.mark.parametrize("name", UFUNCS)
def test_the_tangent_of_a_ufunc_is_no_longer_than_its_gradient(name: str) -> None:
    """A Jacobian that is diagonal scales either way; the tangents of two operands are added besides."""
    ufunc = getattr(np, name)
    block = ps.trace(ufunc, *[ps.spec("float64", ["N"])] * ufunc.nin).block
    wrt = tuple(range(ufunc.nin))
    gradient = ps.split(ufunc, *[ps.spec("float64", ["N"])] * ufunc.nin, wrt=wrt).joint().block
    tangent = push_whole(block, wrt, [0]).joint()
    assert count(tangent) <= count(gradient) + ufunc.nin - 1


def test_an_operator_with_a_symmetric_jacobian_pushes_as_it_pulls() -> None:
    block = record(lambda x: op.Softmax(x, axis=1), "float64[3,4]")
    pushed = push_whole(block, [0], [0])
    assert [o.kind for o in pushed.tangent.ops] == ["Mul", "ReduceSum", "Sub", "Mul"]


def pushed_of(row: Row) -> tuple[Any, Any]:
    subject = subject_of(row)
    program = subject.program()
    wrt = [i for i, a in enumerate(subject.point) if a.dtype.kind == "f"]
    if row.kind == "Where" and "infinite" in str(row):
        wrt = [1]
    return subject, push_whole(program.block, wrt, [i for i, r in enumerate(program.block.results) if r.type.is_float])


WITH_RULES = [row for row in ROWS if row.kind in FRULES]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("row", sampled(WITH_RULES), ids=str)
def test_a_forward_rule_transposed_is_the_reverse_rule(row: Row) -> None:
    """P21: for each operator with both rules, transpose(frule) is the pullback, in numbers."""
    subject, pushed = pushed_of(row)
    results = pushed.primal.results
    stand_ins = [pushed.primal.params[i] for i in pushed.wrt]
    back = transpose(pushed.tangent, len(stand_ins), stand_ins, (*pushed.primal.params, *results), row.kind)
    ops: list[Op] = [*pushed.primal.ops, *back.ops]
    whole = Block("f", (*pushed.primal.params, *back.seeds), tuple(ops), tuple(back.results.values()))
    random = np.random.default_rng(1)
    values = Reference(pushed.primal, None)(*subject.point)
    shapes = [values[i].shape for i in pushed.targets]
    seeds = [np.asarray(random.standard_normal(s), v.type.dtype) for s, v in zip(shapes, back.seeds, strict=True)]
    session = make_session(
        NamedBlock(
            whole, *(tuple(f"{n}{i}" for i in range(len(vs))) for n, vs in (("x", whole.params), ("y", whole.results)))
        )
    )
    found = dict(zip(back.results, session(*subject.point, *seeds), strict=True))
    made = subject.split(pushed.wrt)
    given = dict(zip(pushed.targets, seeds, strict=True))
    cotangents = [given[i] for i in made.split.of]
    wanted = made.joint().session()(*subject.point, *cotangents)[len(results) :]
    for position, gradient in enumerate(wanted):
        if position in found:
            np.testing.assert_allclose(found[position], gradient, rtol=1e-5, atol=1e-5)
        else:
            assert not np.any(gradient)


def test_a_forward_rule_is_of_an_operator_with_a_reverse_rule() -> None:
    assert sorted((set(FRULES) | SYMMETRIC) - set(RULES)) == []
