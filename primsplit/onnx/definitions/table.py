"""The table of definitions: what operators beyond the opset that is written mean, in the operators of that opset.

A definition is a function `(*inputs, outputs, **attributes) -> array or tuple of arrays` that records its meaning. An
absent input is None (trailing ones may be left to defaults), an absent attribute has the function's own default, and
`outputs` says how many outputs the node has; the function may return more.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Definition:
    """The meaning of one operator from the version `since` of its domain on.

    `rule` is a derivative in the form of `rules.table`, where the one through the definition is slower or less
    stable. It is called with all that the definition is called with: the inputs, `outputs`, and the attributes,
    defaults included. `frule` is likewise one in forward mode, for a rule whose pullback is not linear. `sizing` are
    the positions of inputs of floats that sizes follow from: the function sees their numbers where they are constant.
    """

    kind: str
    since: int
    function: Function
    rule: Function | None
    frule: Function | None
    signature: inspect.Signature
    sizing: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The operator's name without its domain."""
        return self.kind.rpartition("::")[2]

    @property
    def defaults(self) -> dict[str, Any]:
        """The attributes that have a default."""
        parameters = [p for p in self.signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        return {p.name: p.default for p in parameters if p.default is not p.empty and p.name != "outputs"}


DEFINITIONS: dict[str, Definition] = {}
"""By kind; a definition that holds from a version on only has the key `Kind@version`."""

_VERSIONS: dict[str, list[Definition]] = {}


def defines(
    kind: str,
    *,
    since: int = 0,
    rule: Function | None = None,
    frule: Function | None = None,
    sizing: tuple[int, ...] = (),
) -> Callable[[Function], Function]:
    """Register the definition of an operator, `Name` or `domain::Name`.

    `since` is for an operator that the written opset has too, with a narrower meaning: the first version of the
    domain whose meaning this is.
    """

    def register(function: Function) -> Function:
        made = Definition(kind, since, function, rule, frule, inspect.signature(function), sizing)
        DEFINITIONS[f"{kind}@{since}" if since else kind] = made
        _VERSIONS.setdefault(kind, []).append(made)
        _VERSIONS[kind].sort(key=lambda d: d.since)
        return function

    return register


def definition_of(kind: str, version: int | None = None) -> Definition | None:
    """The definition of an operator in a model with this version of the operator's domain, by default the newest."""
    found = [d for d in _VERSIONS.get(kind, ()) if version is None or d.since <= version]
    return found[-1] if found else None
