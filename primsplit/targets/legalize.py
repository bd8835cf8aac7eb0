"""Replace operators that onnxruntime has no kernel for by decompositions into those it has.

```
Softplus(x: float64)   ->   Add(Max(x, 0), log1p(Exp(Neg(Abs(x)))))     # log1p too is several ops
```

Nothing is computed in fewer bits than it was written in: float64 goes through decompositions accurate to a few units in
the last place, integers through wider dtypes that hold every value, float16 and bfloat16 through float32 and back.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from primsplit.ir import NOWHERE, Block, Const, Op, Renaming, Value, Var, is_call, own_symbols, rename, renamed, walk
from primsplit.ir.caching.limited import Limited
from primsplit.ir.carriers import FLOAT8
from primsplit.ir.errors import DtypeError, PrimsplitError, RuleError, UnsupportedFunction
from primsplit.ir.passes import pass_named
from primsplit.ir.providers import Provider
from primsplit.ir.runtimes import OLDEST, Runtime, cured_by, fault
from primsplit.ops.inference import infer
from primsplit.ops.kernels import KERNELS
from primsplit.ops.later_kernels import later_dtypes
from primsplit.ops.schema import schema
from primsplit.ops.traits import kinds_where, traits
from primsplit.rewrites.cse import attribute_key
from primsplit.rewrites.decompositions.few_bits import through_float16
from primsplit.rewrites.decompositions.own import DECOMPOSED
from primsplit.rewrites.decompositions.spread_windows import SPREAD, is_spread
from primsplit.rewrites.decompositions.table import (
    COMPOSITIONS,
    CORRECTED,
    MENDED,
    SPELT,
    Composition,
    is_odd,
    through_float32,
)
from primsplit.rewrites.decompositions.windows import unless_negative
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.rewriting import Rewriter
from primsplit.tracing import close, fresh_stack, recording
from primsplit.tracing.calls.recorded import open_inputs
from primsplit.tracing.registering import Epoch
from primsplit.tracing.trees import as_list

HALVES = frozenset({"float16", "bfloat16"})
WRITTEN_OUT = kinds_where(lambda t: t.elementwise) & ({*COMPOSITIONS} | {kind for kind, _ in CORRECTED})
"""The elementwise operators that may be written out in others."""
UNTOLD = frozenset({"object", "str"}) | FLOAT8
"""Texts and floats of 8 bits, which the table of kernels does not contain."""
WITHOUT_FLOAT8 = frozenset({"ConstantOfShape", "Flatten", "Pad", "Squeeze", "Unsqueeze"})
"""The operators that only move numbers but have no kernel for floats of 8 bits. No trait: a lack of onnxruntime."""


def legalize(block: Block, provider: Provider = "cpu", runtime: Runtime = OLDEST) -> Block:
    """Return the block in operators and dtypes that onnxruntime runs.

    Raises DtypeError at the user's line for others.
    """
    return _Legalizer(provider, runtime).run(block)


def written_ops(op: Op, provider: Provider = "cpu", runtime: Runtime = OLDEST) -> int:
    """Return how many ops a file holds for one: above 1 only for elementwise ops that are written out in others."""
    if op.kind not in WRITTEN_OUT:
        return 1
    try:
        composition = _composition_of(op, provider, runtime)
        return 1 if composition is None else len(_composed(op, composition, provider, runtime).ops)
    except PrimsplitError:  # it is told where the op is replaced, if it is still there
        return 1


class _Legalizer(Rewriter):
    def __init__(self, provider: Provider, runtime: Runtime) -> None:
        super().__init__()
        self.provider: Provider = provider
        self.runtime = runtime

    def visit(self, op: Op) -> Op | None:
        if is_call(op):
            attributes = self.inside(op)
            return op if attributes is op.attributes else replace(op, attributes=attributes)
        composition = _composition_of(op, self.provider, self.runtime)
        if composition is None:
            return op
        body = _composed(op, composition, self.provider, self.runtime)
        arguments = [v for v in op.inputs if v is not None and _is_parameter(v)]
        inner: Renaming = dict(zip(body.params, arguments, strict=True))
        for result, output in zip(body.results, op.outputs, strict=False):
            if isinstance(result, Var) and result not in inner:
                inner[result] = Var(output.type, output.hint, output.sizes)
        remark = op.remark or f"for {op.kind}"
        self.kept += [rename(step, inner, place=op.place, remark=remark) for step in body.ops]
        for result, output in zip(body.results, op.outputs, strict=False):
            self.replaced[output] = renamed(result, inner)
        return None


def _composition_of(op: Op, provider: Provider, runtime: Runtime) -> Composition | None:
    on_cuda = pass_named("targets.cuda.for_cuda")(op) if provider == "cuda" else None
    return on_cuda or (None if _is_sound(op, runtime) else find_composition(op, runtime))


def _dtypes(op: Op) -> tuple[str, ...]:
    return tuple(["" if v is None else v.type.key[0] for v in (*op.inputs, *op.outputs)])


_runs: dict[tuple[Runtime, str, tuple[str, ...], bool, bool, int], bool] = {}


def _is_sound(op: Op, runtime: Runtime) -> bool:
    """Whether onnxruntime runs the op as it is; decided once for each operator and its dtypes."""
    key = (runtime, op.kind, _dtypes(op), _overwrites(op), _spelt(op, runtime) is not None, Epoch.count)
    known = _runs.get(key)
    if known is None:
        known = _runs[key] = not is_call(op) and find_composition(op, runtime) is None
    return known


def _spelt(op: Op, runtime: Runtime) -> Composition | None:
    """Return how an op is written whose attributes onnxruntime refuses or reads otherwise; None if it is none."""
    if op.kind in SPREAD and is_spread(op):
        return SPREAD[op.kind]
    return SPELT[op.kind] if op.kind in SPELT and is_odd(op, runtime) else None


def _overwrites(op: Op) -> bool:
    """Whether it is batch normalization in training mode, which overwrites the running statistics that it reads.

    With a momentum of 0 it only returns the statistics of the batch.
    """
    training = op.kind == "BatchNormalization" and op.attributes.get("training_mode", 0) == 1
    return training and op.attributes.get("momentum", 0.9) != 0


def has_kernel(kind: str, dtypes: Mapping[str, str], runtime: Runtime = OLDEST) -> bool:
    """Whether onnxruntime runs the operator with its type variables bound to these dtypes."""
    rows = KERNELS.get(kind)
    if rows is None:
        return True
    later = later_dtypes(kind, runtime)
    told = {v: dtype for v, dtype in dtypes.items() if dtype not in UNTOLD and not (v == "T" and dtype in later)}
    return any(all(dtype in row.get(variable, {dtype}) for variable, dtype in told.items()) for row in rows)


def bound_dtypes(op: Op) -> dict[str, str]:
    """Return the dtype of each type variable of the op's schema."""
    found = schema(op.kind)
    bound: dict[str, str] = {}
    for position, value in enumerate(op.inputs):
        if value is not None and found.variable(position) in found.types:
            bound[found.variable(position)] = value.type.key[0]
    for (_, variable), output in zip(found.outputs, op.outputs, strict=False):
        if variable in found.types:
            bound[variable] = output.type.key[0]
    return bound


def _first_dtype(op: Op) -> str:
    """Return the dtype of the first input that is there, "" if there is none."""
    return next((v.type.key[0] for v in op.inputs if v is not None), "")


def _lacks_float64(kind: str) -> bool:
    """Whether an operator of floats has no kernel for float64."""
    rows = KERNELS.get(kind, ())
    return bool(rows) and all("float64" not in dtypes for row in rows for dtypes in row.values())


def _registered(op: Op, runtime: Runtime, *, runs: bool) -> Composition | None:
    """Return the composition that a user has registered for the dtype, or for ops without a kernel; None for none.

    One that is there for faults of a runtime is for runtimes that have one of them.
    """
    if not DECOMPOSED:
        return None
    found = DECOMPOSED.get((op.kind, _first_dtype(op))) or (None if runs else DECOMPOSED.get((op.kind, "")))
    faults = () if found is None else cured_by(found)
    return None if faults and not any(runtime.has(fault.name) for fault in faults) else found


@fault(
    "no_float64_kernel",
    kind="refuses",
    operators=tuple(sorted(filter(_lacks_float64, COMPOSITIONS))),
    says="There is no float64 kernel. Compositions of other operators stand for it, accurate to a few units in the "
    "last place.",
)
def find_composition(op: Op, runtime: Runtime = OLDEST) -> Composition | None:
    """Return the decomposition of an op that onnxruntime cannot run, or runs wrongly; None if it runs.

    Raises DtypeError if it runs for other dtypes alone, UnsupportedFunction if it does for none.
    """
    bound = bound_dtypes(op)
    runs = has_kernel(op.kind, bound, runtime)
    if (own := _registered(op, runtime, runs=runs)) is not None:
        return own
    if op.kind in WITHOUT_FLOAT8 and op.outputs[0].type.key[0] in FLOAT8:
        return through_float16(op.kind, op.outputs[0].type.dtype)
    if runs:
        if op.kind == "BatchNormalization" and not _overwrites(op):
            return None
        if (spelt := _spelt(op, runtime)) is not None:
            return spelt
        first = _first_dtype(op)
        mended = MENDED.get((op.kind, first))
        return CORRECTED.get((op.kind, first)) if mended is None or runtime.has(mended) else None
    if HALVES & {v.type.key[0] for v in op.inputs if v is not None}:
        return through_float32(op.kind, [v.type.dtype for v in op.outputs])
    if op.kind in COMPOSITIONS:
        return COMPOSITIONS[op.kind]
    if KERNELS.get(op.kind) == ():
        raise UnsupportedFunction(
            f"onnxruntime has no kernel of {op.kind}",
            place=op.place,
            cure="Compute it before the model, and give the result as an input.",
        )
    told = ", ".join(sorted(set(bound.values())))
    raise DtypeError(
        f"onnxruntime has no kernel of {op.kind} for {told}, and there is no composition of others for it",
        place=op.place,
        cure="Use another dtype.",
    )


_cache: Limited[Any, Block] = Limited(4096)


def _is_parameter(value: Value) -> bool:
    """Whether a value is a parameter of the decomposition; a small constant is part of it."""
    return not (isinstance(value, Const) and value.is_small)


def _composed(op: Op, composition: Composition, provider: Provider, runtime: Runtime) -> Block:
    """Return the legal block that replaces an op, recorded once per signature.

    Each time if it defines sizes of its own.
    """
    key = (
        provider,
        runtime,
        op.kind,
        tuple(
            None if v is None else (v.type.key, _small(v), None if v.sizes is None else str(v.sizes)) for v in op.inputs
        ),
        attribute_key(op.attributes),
        len(op.outputs),
        Epoch.count,
    )
    known = _cache.get(key)
    if known is None:
        try:
            body = _without_itself(inline_calls(_record(op, composition)), op, composition)
            known = legalize(body, provider, runtime)
        except PrimsplitError as error:
            if error.place is None or error.place is NOWHERE:
                error.place = op.place
            raise
        if not own_symbols(known):  # two uses must not share the name of a size that depends on data
            _cache[key] = known
    return known


def _small(value: Value) -> bytes | None:
    return value.numpy().tobytes() if isinstance(value, Const) and value.is_small else None


def _without_itself(block: Block, op: Op, composition: Composition) -> Block:
    """Return the block that stands for an op. Raises RuleError if a user's holds that op again, for the same dtypes."""
    if composition in DECOMPOSED.values() and any(s.kind == op.kind and _dtypes(s) == _dtypes(op) for s in walk(block)):
        raise RuleError(f"the decomposition of {op.kind} holds {op.kind} itself", cure="Write it in other operators.")
    return block


def _record(op: Op, composition: Composition) -> Block:
    given = {**schema(op.kind).defaults, **op.attributes}
    attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in given.items()}
    with fresh_stack(), recording(place=NOWHERE) as inner:
        params, inputs = open_inputs(op.inputs, inner, _is_parameter)
        made = as_list(composition(*inputs, **attributes))
        if traits(op.kind).windows in {"pool", "filter"}:
            # Kernels refuse windows that do not fit, where a composition of Slices would give what is of another shape.
            read = [None if x is None else x.value for x in inputs]
            ((inferred, _), *_) = infer(op.kind, read, op.attributes, len(op.outputs))
            made[0] = unless_negative(made[0], inferred.shape or ())
        results = [r.value for r in made]
    return close(op.kind.lower(), params, inner, results)
