"""Read the ONNX standard's schema of an operator, at the one opset that primsplit writes."""

import difflib
import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import onnx.defs
import onnx.helper

from primsplit.ir.carriers import CARRIERS, CHANGING, MOVING, TYPE_STRINGS
from primsplit.ir.errors import PrimsplitError, RuleError
from primsplit.ops.traits import traits

OPSET = 21
IR_VERSION = 10


@dataclass(frozen=True, slots=True)
class Schema:
    """One operator: how many inputs and outputs it takes, its attributes, and the types they share.

    `inputs` and `outputs` hold (name, type variable) of each formal parameter; the last input is repeated if
    `variadic`. `needed` are the positions of inputs that no node leaves out. `types` maps a type variable to the dtypes
    that it admits, including later ones, which files hold in a carrier.
    """

    kind: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    least_inputs: int
    needed: tuple[int, ...]
    variadic: bool
    variadic_outputs: bool
    defaults: Mapping[str, Any]
    attributes: frozenset[str]
    required: frozenset[str]
    types: Mapping[str, frozenset[str]]
    deterministic: bool

    def name(self, position: int) -> str:
        """Return the name of the input at this position."""
        return self.inputs[min(position, len(self.inputs) - 1)][0]

    def variable(self, position: int) -> str:
        """Return the type variable, or fixed type, of the input at this position."""
        return self.inputs[min(position, len(self.inputs) - 1)][1]


def exists(kind: str) -> bool:
    """Whether the standard has the operator at this opset."""
    domain, _, name = kind.rpartition("::")
    return onnx.defs.has(name, max_inclusive_version=OPSET, domain=domain)


def check_kinds(*kinds: str, beside: Collection[str] = ()) -> None:
    """Raise RuleError for a name that is no operator's: what is registered under it would never be used.

    `beside` are names of other domains that are known too.
    """
    for kind in kinds:
        if not exists(kind) and kind not in beside:
            raise RuleError(f"{kind} is no operator of ONNX opset {OPSET}", cure=near_names(kind, beside))


def near_names(kind: str, beside: Collection[str] = ()) -> str:
    """Suggest the names of the domain, and of `beside`, that are near a name that is no operator's.

    A name of `beside` is near also without its domain: `acme::Swoosh` is near Swooosh.
    """
    domain, _, name = kind.rpartition("::")
    own = (
        f"{domain}::{each.name}" if domain else each.name
        for each in onnx.defs.get_all_schemas()
        if each.domain == domain
    )
    known = {each.lower(): each for each in own if exists(each)}
    known |= {each.lower(): each for each in beside}
    bare = {each.rpartition("::")[2].lower(): each for each in beside}
    near = [known[each] for each in difflib.get_close_matches(kind.lower(), known, n=3)]
    near += [bare[each] for each in difflib.get_close_matches(name.lower(), bare, n=3, cutoff=0.75)]
    return f"Did you mean {' or '.join(list(dict.fromkeys(near))[:3])}?" if near else ""


@functools.cache
def schema(kind: str) -> Schema:
    """Return the schema of an operator. Raises PrimsplitError if there is none at this opset."""
    if not exists(kind):
        raise PrimsplitError(f"{kind} is no operator of ONNX opset {OPSET}")
    domain, _, name = kind.rpartition("::")
    found: Any = onnx.defs.get_schema(name, max_inclusive_version=OPSET, domain=domain)
    option = onnx.defs.OpSchema.FormalParameterOption
    return Schema(
        kind=kind,
        inputs=tuple((p.name, p.type_str) for p in found.inputs),
        outputs=tuple((p.name, p.type_str) for p in found.outputs),
        least_inputs=found.min_input,
        needed=tuple(i for i, p in enumerate(found.inputs) if p.option == option.Single),
        variadic=bool(found.inputs) and found.inputs[-1].option == option.Variadic,
        variadic_outputs=bool(found.outputs) and found.outputs[-1].option == option.Variadic,
        defaults={
            key: text(value) if isinstance(value := onnx.helper.get_attribute_value(a.default_value), bytes) else value
            for key, a in found.attributes.items()
            if a.default_value.type
        },
        attributes=frozenset(found.attributes),
        required=frozenset(key for key, a in found.attributes.items() if a.required),
        types={
            c.type_param_str: frozenset(c.allowed_type_strs) | _later(name, c.type_param_str)
            for c in found.type_constraints
        },
        deterministic=not (traits(kind).random or traits(kind).bodies),
    )


def _later(kind: str, variable: str) -> frozenset[str]:
    """Return the dtypes of later opsets that this type variable admits in a program."""
    is_open = (kind in MOVING and variable in {"T", "V"}) or variable in CHANGING.get(kind, ())
    return frozenset(f"tensor({TYPE_STRINGS[name]})" for name in CARRIERS) if is_open else frozenset()


def text(value: str | bytes) -> str:
    """Return a text attribute, which protobuf holds as bytes."""
    return value.decode() if isinstance(value, bytes) else value


@functools.cache
def kinds() -> tuple[str, ...]:
    """Return every operator of the standard domain at this opset that is not deprecated."""
    names = {s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}
    return tuple(sorted(n for n in names if exists(n) and not onnx.defs.get_schema(n, OPSET).deprecated))
