"""Whether a pullback is linear in its cotangents, read from its ops.

Every value is one of four: it is zero or NaN, it is linear in the cotangents (and zero where they are), it does not
depend on them, or it tests whether something linear is 0. A test may only choose between what is zero or linear. An op
that makes anything else of a linear value is named.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, is_call, reads
from primsplit.ir.analysis.carries import lead_and_carries, settled

Kind = Literal["zero", "linear", "free", "test"]

LINEAR_IN_FIRST = frozenset({
    "AveragePool", "Cast", "CastLike", "CenterCropPad", "Col2Im", "Compress", "CumSum", "DFT", "DepthToSpace",
    "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "GlobalAveragePool", "GridSample", "Identity",
    "MaxUnpool", "Neg", "ReduceMean", "ReduceSum", "Reshape", "Resize", "ReverseSequence", "STFT", "Slice",
    "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze",
})  # fmt: skip
"""Linear in their first input, which the other inputs do not depend on."""
SUMS = frozenset({"Add", "Sub", "Sum", "Concat", "Mean"})
PRODUCTS = frozenset({"Mul", "MatMul", "Einsum", "Conv", "ConvTranspose"})
SHAPES = frozenset({"Shape", "Size"})
TESTS = frozenset({"And", "Cast", "Equal", "Expand", "Greater", "Not", "Or", "ReduceMax", "ReduceSum", "Reshape"})
"""What gives a test where it reads one, and nothing linear."""


class NotLinear(Exception):
    """An op that is not linear in the cotangents."""


def explain_nonlinearity(block: Block, cotangents: Sequence[Var]) -> str:
    """The first op of a pullback that is not linear in the cotangents, or not known to be; "" where all are."""
    kinds: dict[Var, Kind] = dict.fromkeys(cotangents, "linear")
    try:
        _walk(block, kinds)
    except NotLinear as found:
        return str(found)
    for position, result in enumerate(block.results):
        if _kind(result, kinds) in {"free", "test"}:
            return f"cotangent {position} does not depend on the incoming cotangents, and is no zero"
    return ""


def _kind(value: Value | None, kinds: dict[Var, Kind]) -> Kind:
    if isinstance(value, Const):
        return "zero" if value.is_small and _is_zero_or_nan(value.numpy()) else "free"
    return "zero" if value is None else kinds.get(value, "free")


def _is_zero_or_nan(array: np.ndarray[Any, Any]) -> bool:
    return not np.any(array[~np.isnan(array)] if array.dtype.kind == "f" else array)


def _walk(block: Block, kinds: dict[Var, Kind]) -> None:
    for op in block.ops:
        known = [_kind(v, kinds) for v in op.inputs]
        if op.kind in _NESTED and any(kinds.get(v) == "linear" for v in reads(op)):
            kinds.update(zip(op.outputs, _NESTED[op.kind](op, known, kinds), strict=True))
            continue
        if is_call(op) and op.kind not in _RULES and "linear" in known:
            kinds.update(zip(op.outputs, _inside(op.attributes["body"], known, {}), strict=True))
            continue
        inside = any(kinds.get(v) in {"linear", "test"} for v in reads(op))
        found = _result(op, known, kinds) if inside or "zero" in known else _source(op)
        kinds.update(dict.fromkeys(op.outputs, found))


def _inside(block: Block, params: Sequence[Kind], kinds: dict[Var, Kind]) -> list[Kind]:
    """What the results of a sub-block are."""
    here = {**kinds, **dict(zip(block.params, params, strict=True))}
    _walk(block, here)
    return [_kind(result, here) for result in block.results]


def _either(op: Op, one: Kind, other: Kind) -> Kind:
    """What a value is that is now the one, now the other."""
    if {one, other} == {"linear", "free"}:
        raise NotLinear(f"{op.kind} gives now what is linear in the cotangent, now what does not depend on it")
    return one if other == "zero" else other


def _branches(op: Op, known: list[Kind], kinds: dict[Var, Kind]) -> list[Kind]:
    if known[0] == "linear":
        raise NotLinear("If decides by a cotangent")
    one, other = (_inside(block, [], kinds) for block in op.blocks())
    return [_either(op, a, b) for a, b in zip(one, other, strict=True)]


def _repeated(op: Op, known: list[Kind], kinds: dict[Var, Kind]) -> list[Kind]:
    """The outputs of a loop."""
    lead, _ = lead_and_carries(op)
    if "linear" in known[:lead]:
        raise NotLinear("Loop counts by a cotangent")
    (body,) = op.blocks()
    either = functools.partial(_either, op)
    ends, found = settled(op, known, "free", lambda params: _inside(body, params, kinds), either)
    if "linear" in ends:
        raise NotLinear(f"{op.kind} ends by a cotangent")
    return found


_NESTED: dict[str, Callable[[Op, list[Kind], dict[Var, Kind]], list[Kind]]] = {
    "If": _branches,
    "Loop": _repeated,
    "Scan": _repeated,
}


def _source(op: Op) -> Kind:
    """What an op is that reads no cotangent."""
    if op.kind != "ConstantOfShape":
        return "free"
    value = op.attributes.get("value")
    return "zero" if value is None or not np.any(value) else "free"


def _result(op: Op, known: list[Kind], kinds: dict[Var, Kind]) -> Kind:
    if op.kind in SHAPES:
        return "free"
    if "test" in known or (op.kind == "Equal" and sorted(known) == ["linear", "zero"]):
        return _tested(op, known)
    rule = _RULES.get(op.kind)
    if "linear" not in known:
        if rule is None or any(op.blocks()):
            if any(kinds.get(v) == "linear" for v in reads(op)):
                raise NotLinear(f"{op.kind} reads a cotangent inside a sub-block")
            return _source(op)
        return rule(known) or _source(op)
    found = None if rule is None else rule(known)
    if found is None:
        raise NotLinear(f"{op.kind} is not linear in the cotangent, or not known to be: inputs are {', '.join(known)}")
    return found


def _tested(op: Op, known: list[Kind]) -> Kind:
    """What an op makes of a test, or a test that an op makes."""
    if op.kind == "Where" and known[0] == "test" and set(known[1:]) <= {"zero", "linear"}:
        return "linear" if "linear" in known[1:] else "zero"
    if op.kind in TESTS and ("linear" not in known or "test" not in known):
        return "test"
    raise NotLinear(f"{op.kind} depends on whether a cotangent is 0: inputs are {', '.join(known)}")


def _first(known: list[Kind]) -> Kind | None:
    return None if "linear" in known[1:] else known[0]


def _sum(known: list[Kind]) -> Kind | None:
    if "free" in known:
        return None if "linear" in known else "free"
    return "linear" if "linear" in known else "zero"


def _product(known: list[Kind]) -> Kind | None:
    factors = known[:2]
    if known[2:] and "free" in known[2:]:
        return None if "linear" in known else "free"
    if "zero" in factors and "linear" not in known[2:]:
        return "zero"
    if factors.count("linear") > 1:
        return None
    return "linear" if "linear" in known else "free"


def _gemm(known: list[Kind]) -> Kind | None:
    product = _product(known[:2])
    return product if len(known) < 3 or product is None else _sum([product, known[2]])


def _where(known: list[Kind]) -> Kind | None:
    return None if known[0] == "linear" else _sum(known[1:])


def _scatter(known: list[Kind]) -> Kind | None:
    return None if known[1] == "linear" else _sum([known[0], known[2]])


def _pad(known: list[Kind]) -> Kind | None:
    fill: Kind = known[2] if len(known) > 2 else "zero"
    return None if "linear" in known[1:2] else _sum([known[0], fill])


def _normalized(known: list[Kind]) -> Kind | None:
    """(x - mean) slope + bias, by given statistics."""
    x, slope, bias, mean, variance = known
    if "linear" in {mean, variance}:
        return None
    product = _product([_sum([x, mean]) or "free", slope]) if x != "linear" or mean == "zero" else None
    return None if product is None else _sum([product, bias])


def _quotient(known: list[Kind]) -> Kind | None:
    return None if known[1] == "linear" else known[0]


_RULES: dict[str, Callable[[list[Kind]], Kind | None]] = {
    **dict.fromkeys(LINEAR_IN_FIRST, _first),
    **dict.fromkeys(SUMS, _sum),
    **dict.fromkeys(PRODUCTS, _product),
    "BatchNormalization": _normalized,
    "Div": _quotient,
    "Gemm": _gemm,
    "Pad": _pad,
    "ScatterElements": _scatter,
    "ScatterND": _scatter,
    "Where": _where,
    "call::nan_where": _where,
}
