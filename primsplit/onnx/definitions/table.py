"""The table of definitions: operators beyond the written opset, defined by operators of that opset.

A definition is a function `(*inputs, **attributes) -> array or tuple of arrays` that computes the result with NumPy or
records its operators. An absent input is None (trailing ones may be left to defaults), an absent attribute has the
function's own default. It may return more outputs than the node has; one that takes `outputs` by keyword gets their
number.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from primsplit.ir.errors import RuleError
from primsplit.ops.schema import exists
from primsplit.tracing.calls.primitive import Primitive
from primsplit.tracing.places import user_place
from primsplit.tracing.registering import NAMED, claim, module_of
from primsplit.transforms.boundaries import primitive

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Definition:
    """The meaning of one operator from the version `since` of its domain on.

    `rule` is a derivative in the form of `rules.table`, if the one through the definition is slower or less stable. It
    is called with the definition's arguments: the inputs, `outputs`, and the attributes, defaults included. `frule` is
    likewise one in forward mode, for a rule whose pullback is not linear. `sizing` are the positions of float inputs
    that sizes follow from: the function sees their numbers if they are constant.
    """

    kind: str
    since: int
    function: Function
    rule: Function | None
    frule: Function | None
    signature: inspect.Signature
    sizing: tuple[int, ...] = ()
    owner: str = ""

    @property
    def name(self) -> str:
        """The operator's name without its domain."""
        return self.kind.rpartition("::")[2]

    @property
    def defaults(self) -> dict[str, Any]:
        """Return the attributes that have a default."""
        parameters = [p for p in self.signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        return {p.name: p.default for p in parameters if p.default is not p.empty and p.name != "outputs"}


DEFINITIONS: dict[str, Definition] = {}
"""By kind; a definition that is valid only from a version on has the key `Kind@version`."""

_VERSIONS: dict[str, list[Definition]] = {}


def defines(
    *name: str,
    since: int = 0,
    rule: Function | None = None,
    frule: Function | None = None,
    sizing: tuple[int, ...] = (),
    replace: bool = False,
) -> Callable[[Function], Any]:
    """Register what an operator of a file computes, by domain and name: `"acme", "Swoosh"` or `"acme::Swoosh"`.

    The function takes the node's inputs by position (None for an absent one) and its attributes by keyword, and returns
    the output, or a tuple of several. `load` reads nodes of that name by it, types and sizes follow from it, and
    written files contain it in standard operators. It becomes a primitive, which NumPy functions may call, and to which
    `rrule`, `frule` and `batch` give rules, also by the operator's name; without them it is differentiated and batched
    through. `since` is the first version of its domain that has this meaning.

    A function that takes `outputs` by keyword gets the number of the node's outputs. It remains a plain function, which
    takes and returns arrays of a program; `rule` and `frule` are its rules, of the same arguments, and `sizing` are the
    positions of float inputs that sizes follow from.

    Raises RuleError for an operator of the standard, and for one that another module has defined, unless `replace` is
    True.

    >>> @extend.defines("acme", "Doubled")
    ... def doubled(x, *, by=2.0):
    ...     return x * by
    >>> float(ps.grad(doubled)(3.0))
    2.0
    """
    kind = "::".join(name)

    def register(function: Function) -> Any:
        _check_free(kind, since, replace=replace)
        key, owner = f"{kind}@{since}" if since else kind, module_of(function)
        known = DEFINITIONS.get(key)
        claim("definition", kind, None if known is None else known.owner, owner, replace=replace)
        signature = inspect.signature(function)
        if "outputs" in signature.parameters:
            found, made = function, Definition(kind, since, function, rule, frule, signature, sizing, owner)
        else:
            found = function if isinstance(function, Primitive) else primitive(function, name=kind)
            made = Definition(kind, since, _node_of(found), None, None, _with_outputs(signature), sizing, owner)
            NAMED[kind] = found
        _VERSIONS[kind] = sorted([*(d for d in _VERSIONS.get(kind, ()) if d.since != since), made], key=_since)
        DEFINITIONS[key] = made
        return found

    return register


def _check_free(kind: str, since: int, *, replace: bool) -> None:
    """Raise RuleError for an operator that the standard has at the written opset in every version of its domain."""
    if "::" not in kind and exists(kind) and not since and not replace:
        raise RuleError(
            f"{kind} is an operator of the standard",
            place=user_place(),
            cure="Give it another domain; replace=True reads the standard's own nodes so.",
        )


def _node_of(function: Primitive) -> Function:
    """Return the definition that calls a primitive, which has all outputs."""

    def node(*inputs: Any, outputs: int, **attributes: Any) -> Any:
        return function(*inputs, **attributes)

    return node


def _with_outputs(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature with the keyword `outputs`."""
    parameters = list(signature.parameters.values())
    at = next((i for i, p in enumerate(parameters) if p.kind is p.VAR_KEYWORD), len(parameters))
    outputs = inspect.Parameter("outputs", inspect.Parameter.KEYWORD_ONLY, default=1)
    return signature.replace(parameters=[*parameters[:at], outputs, *parameters[at:]])


def _since(definition: Definition) -> int:
    return definition.since


def definition_of(kind: str, version: int | None = None) -> Definition | None:
    """Return the definition of an operator in a model with this version of its domain, by default the newest."""
    found = [d for d in _VERSIONS.get(kind, ()) if version is None or d.since <= version]
    return found[-1] if found else None


def defined_names() -> set[str]:
    """Return the operators that files may hold and that are defined; the package's own spellings are none."""
    every = {key.partition("@")[0] for key in DEFINITIONS}
    return {name for name in every if not name.startswith(("primsplit::", "primsplit."))}
