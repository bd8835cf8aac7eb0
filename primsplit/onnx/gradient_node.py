"""Lower the Gradient operator of `ai.onnx.preview.training`: split the ops before it.

```
dx = Gradient(x, xs=["x"], y="loss")   ->   the ops from x to loss, and their pullback of 1
```
"""

from collections.abc import Mapping, Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Value, Var, reads
from primsplit.ir.errors import ParseError
from primsplit.rewrites.promote import promote
from primsplit.rewrites.seed import with_unit_seeds
from primsplit.tracing.array import Array
from primsplit.transforms.split import gradient_or_zeros, split_whole

KIND = "ai.onnx.preview.training::Gradient"


def record_gradient(
    inputs: Sequence[Value | None], attributes: Mapping[str, Any], known: Mapping[str, Value]
) -> tuple[Value, ...]:
    """Record the gradient of the value named `y` with respect to those named `xs`, at the values in `inputs`.

    `known` are the values of the graph by name. Other values that `y` depends on stay constant. The gradient of a `y`
    with axes is that of its sum. Raises ParseError for names that the graph does not have.
    """
    xs, zs = attributes.get("xs", ()), attributes.get("zs", ())
    names = [*xs, *zs]
    missing = [name for name in (*names, attributes["y"]) if name not in known]
    if missing or len(inputs) != len(names) or None in inputs:
        told = f"no value {', '.join(missing)}" if missing else f"{len(names)} names and {len(inputs)} inputs"
        raise ParseError(f"a Gradient node has {told}", place=tracing.current().place)
    given = [v for v in inputs if v is not None]
    block = _function([known[name] for name in names], known[attributes["y"]])
    split = split_whole(block, range(len(xs)), [0])
    made = tracing.inline(with_unit_seeds(split.joint(), dict(zip(split.cotangents, split.of, strict=True))), given)
    gradients = [Array(v) for v in made[len(split.primal.results) :]]
    return tuple(g.value for g in gradient_or_zeros(split, gradients, [Array(v) for v in given[: len(xs)]]))


def _function(sources: Sequence[Value], target: Value) -> Block:
    """Return the ops recorded so far between the sources and the target, the sources as parameters."""
    stops = {v for v in sources if isinstance(v, Var)}
    needed = {target} if isinstance(target, Var) and target not in stops else set()
    chosen: list[Op] = []
    for op in reversed(tracing.recorded_ops()):
        if any(v in needed for v in op.outputs):
            chosen.append(op)
            needed.update(v for v in reads(op) if v not in stops)
    params = [v if isinstance(v, Var) else Var(v.type) for v in sources]
    block = Block("gradient", tuple(v for v in sources if isinstance(v, Var)), tuple(reversed(chosen)), (target,))
    constants = [v for v in sources if isinstance(v, Const)]
    if not constants:
        return block
    # Constants become parameters after the others; the order of the sources is put back.
    promoted = promote(block, constants)
    added = iter(promoted.params[len(block.params) :])
    ordered = tuple(p if isinstance(v, Var) else next(added) for v, p in zip(sources, params, strict=True))
    return Block(promoted.name, ordered, promoted.ops, promoted.results)
