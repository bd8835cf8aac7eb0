"""Record a node with a definition as a call: one op with the definition's program inside.

```
y = FastGelu(x, b)   ->   y = call::com.microsoft::FastGelu(x, b) { Gelu(Add(x, b), approximate="tanh") }
```
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import (
    NOWHERE,
    Block,
    Const,
    Op,
    Renaming,
    Value,
    Var,
    free,
    live_ops,
    own_symbols,
    rename,
    renamed,
    walk,
)
from primsplit.ir.caching.limited import Limited
from primsplit.ir.errors import Place, PrimsplitError, RuleError, UnsupportedFunction
from primsplit.onnx.definitions.table import Definition, definition_of
from primsplit.rewrites.promote import promote
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.calls.recorded import open_inputs
from primsplit.tracing.registering import Epoch
from primsplit.tracing.trees import as_list

_bodies: Limited[Any, Block] = Limited(8192)


def record_call(
    kind: str,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Any],
    outputs: int = 1,
    *,
    version: int | None = None,
) -> tuple[Value, ...]:
    """Record an operator by its definition: one op `call::kind`, whose body is the definition traced on these types.

    A definition is traced once for each signature (types, small integer constants, attributes). One that takes a single
    op, and has no rule, is recorded as that op. Raises UnsupportedFunction for inputs or attributes that the definition
    does not take, and the definition's own errors, at the caller's place.
    """
    definition = definition_of(kind, version)
    if definition is None:
        raise PrimsplitError(f"{kind} has no definition")
    attributes, lifted = _with_constants_outside(attributes)
    try:
        body = _body(definition, inputs, attributes, outputs)
    except PrimsplitError as error:
        if error.place is None or error.place is NOWHERE:
            error.place = tracing.current().place or tracing.user_place()
        raise
    is_open = _is_open(definition, inputs)
    arguments: list[Value] = [v for v in inputs if v is not None and is_open(v)]
    into = tracing.current()
    place = into.place or tracing.user_place()
    if len(body.ops) <= 1 and definition.rule is None:
        return _as_its_op(body, arguments, place)
    outer = free(body) if any(isinstance(a, Block) for a in attributes.values()) else []
    body = Block(body.name, (*body.params, *outer), body.ops, body.results) if outer else body
    made = tuple(Var(r.type, r.hint, r.sizes) for r in body.results)
    held: dict[str, Any] = {"body": body}
    if definition.rule is not None:
        held["rule"] = BoundRule(definition, inputs, attributes, outputs)
    if definition.frule is not None:
        held["frule"] = BoundRule(definition, inputs, attributes, outputs, is_forward=True)
    arguments += [lifted.get(v, v) for v in outer]
    tracing.append(Op(f"call::{definition.kind}", tuple(arguments), made, held, place, into.remark))
    return tuple(r if isinstance(r, Const) else v for r, v in zip(body.results, made, strict=True))


def _as_its_op(body: Block, arguments: Sequence[Value], place: Place | None) -> tuple[Value, ...]:
    """Record the one op of a body, or none, called on these values."""
    renaming: Renaming = dict(zip(body.params, arguments, strict=True))
    for op in body.ops:
        tracing.append(rename(op, renaming, place=place, remark=tracing.current().remark))
    return tuple(renamed(r, renaming) for r in body.results)


def _with_constants_outside(attributes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[Var, Value]]:
    """Return the attributes with their blocks' float constants turned into Vars, as for inputs.

    And these Vars' values.
    """
    made = dict(attributes)
    lifted: dict[Var, Value] = {}
    for name, block in attributes.items():
        if not isinstance(block, Block):
            continue
        read = (v for op in walk(block) for v in op.inputs)
        constants = list({id(v): v for v in read if isinstance(v, Const) and v.type.is_float}.values())
        count = len(block.params)
        opened = promote(block, constants)
        made[name] = Block(opened.name, opened.params[:count], opened.ops, opened.results)
        lifted.update(zip(opened.params[count:], constants, strict=True))
    return made, lifted


def _is_open(definition: Definition, inputs: Sequence[Value | None]) -> Callable[[Value], bool]:
    """Return a function that decides which inputs are parameters of the body; the others are constants inside of it.

    Inside are small integer constants, and those that sizes follow from. Other float constants are not: they may be
    weights that need a gradient.
    """
    inside = [
        v
        for i, v in enumerate(inputs)
        if isinstance(v, Const) and v.is_small and (not v.type.is_float or i in definition.sizing)
    ]
    return lambda value: all(value is not v for v in inside)


def _body(definition: Definition, inputs: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int) -> Block:
    key = _key(definition, inputs, attributes, outputs)
    known = None if key is None else _bodies.get(key)
    if known is not None:
        return known
    _check_form(definition, inputs, attributes)
    is_open = _is_open(definition, inputs)
    with tracing.fresh_stack(), tracing.recording(place=NOWHERE) as recorded:
        params, given = open_inputs(inputs, recorded, is_open)
        for param, value in zip(params, (v for v in inputs if v is not None and is_open(v)), strict=True):
            param.hint = value.hint
        results = _results(definition, definition.function(*given, outputs=outputs, **attributes), outputs)
    body = Block(definition.name.lower(), tuple(params), tuple(live_ops(recorded.ops, results)), tuple(results))
    if key is not None and not own_symbols(body):
        _bodies[key] = body
    return body


def _results(definition: Definition, made: Any, outputs: int) -> list[Value]:
    arrays = as_list(made)
    if len(arrays) < outputs:
        raise UnsupportedFunction(f"{definition.kind} has {len(arrays)} outputs, and {outputs} are asked for")
    return [as_array(a).value for a in arrays[:outputs]]


def _check_form(definition: Definition, inputs: Sequence[Value | None], attributes: Mapping[str, Any]) -> None:
    """Raise UnsupportedFunction for a node that has other inputs or attributes than the definition."""
    try:
        definition.signature.bind(*inputs, outputs=1, **attributes)
    except TypeError as error:
        raise UnsupportedFunction(
            f"{definition.kind} cannot be read in this form: {error}",
            because=(f"the node has {len(inputs)} inputs and the attributes {', '.join(attributes) or 'none'}",),
        ) from None


def _key(definition: Definition, inputs: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int) -> Any:
    """Return the key of the body; None if an attribute is a block, which is new each time."""
    if any(isinstance(a, Block) for a in attributes.values()):
        return None
    is_open = _is_open(definition, inputs)
    types = tuple(None if v is None else _input_key(v, is_open) for v in inputs)
    named = tuple((k, _content(v)) for k, v in sorted(attributes.items()))
    # A rule that is registered later is in the calls that are recorded then.
    return definition, Epoch.count, types, named, outputs


def _content(value: Any) -> Any:
    """Return a key of an attribute or a constant that is the same only for equal ones."""
    if isinstance(value, np.ndarray):
        held = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
        # Dtypes that NumPy does not know, such as int4 and uint4, have one `str`.
        return value.dtype.name, value.dtype.str, value.shape, held
    return repr(value)


def _input_key(value: Value, is_open: Callable[[Value], bool]) -> Any:
    if isinstance(value, Const) and not is_open(value):
        return _content(value.numpy())
    known = value.sizes if isinstance(value, Var) else None
    return value.type.key, None if known is None else tuple(map(str, known))


class BoundRule:
    """A definition's rule, for all inputs and attributes of a node, as a rule of the call's inputs."""

    def __init__(
        self,
        definition: Definition,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Any],
        outputs: int,
        *,
        is_forward: bool = False,
    ) -> None:
        self.definition = definition
        is_open = _is_open(definition, inputs)
        self.fixed = [None if v is None or is_open(v) else v for v in inputs]
        self.open = [i for i, v in enumerate(inputs) if v is not None and is_open(v)]
        self.attributes = {**definition.defaults, **attributes}
        self.outputs = outputs
        self.is_forward = is_forward

    def __call__(self, *inputs: Array) -> tuple[Any, Any]:
        """Return the outputs, and the pullback to the call's own inputs, or the pushforward of their tangents."""
        given: list[Array | None] = [None if v is None else Array(v) for v in self.fixed]
        for position, value in zip(self.open, inputs, strict=True):
            given[position] = value
        rule = self.definition.frule if self.is_forward else self.definition.rule
        if rule is None:
            raise RuleError(f"{self.definition.kind} has no rule")
        made, back = rule(*given, outputs=self.outputs, **self.attributes)
        results = tuple(as_list(made)[: self.outputs])

        def pulled(*cotangents: Array | None) -> list[Array | None]:
            every = self.told(back(*cotangents), len(given), "cotangents for {} inputs")
            return [every[i] for i in self.open]

        def pushed(*tangents: Array | None) -> list[Array | None]:
            places = dict(zip(self.open, tangents, strict=True))
            return self.told(back(*(places.get(i) for i in range(len(given)))), len(results), "tangents for {} results")

        return results, pushed if self.is_forward else pulled

    def told(self, found: Any, count: int, what: str) -> list[Array | None]:
        """Return a rule's results as a list. Raises RuleError for a wrong number."""
        every = as_list(found)
        if len(every) != count:
            raise RuleError(
                f"the rule of {self.definition.kind} returned {len(every)} {what.format(count)}",
                cure="A pullback returns one cotangent an input, a pushforward one tangent a result; None for none.",
            )
        return every
