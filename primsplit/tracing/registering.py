"""Check what is registered in a table: the operator exists, has one owner, and the function takes its arguments.

An error is raised where the rule is registered, at the user's line. The package's own rules are asked for their names
alone: reading what the standard says of every operator would take longer than importing the package, so that a test
looks at their arguments.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from primsplit.ir.errors import RuleError
from primsplit.ops.schema import check_kinds as check_standard
from primsplit.ops.schema import schema
from primsplit.tracing.places import user_place

Function = Callable[..., Any]
OWN = "primsplit"


class Epoch:
    """A count of the changes to the tables; what is cached is as old as the count it was made at."""

    count = 0


NAMED: dict[str, Any] = {}
"""The primitives that are operators of other domains, by the names that files call them: see `onnx.definitions`."""


def check_kinds(*kinds: str) -> None:
    """Raise RuleError, which tells near names, for a name that is no operator's."""
    try:
        check_standard(*kinds, beside=NAMED)
    except RuleError as error:
        error.place = user_place()
        raise


def module_of(function: Any) -> str:
    """The module that a function is defined in; "" where it does not tell."""
    return getattr(function, "__module__", None) or ""


def is_own(function: Any) -> bool:
    """Whether a function is of this package."""
    return _is_of_package(module_of(function))


def _is_of_package(module: str) -> bool:
    return module.partition(".")[0] == OWN


def entry_of(table: dict[Any, Any], key: Any, new: Any) -> Any:
    """Return an entry of a table, None if there is none; for a user's function, once all modules have filled it."""
    return dict.get(table, key) if is_own(new) else table.get(key)


def claim(table: str, key: Any, was: str | None, owner: str, *, replace: bool) -> None:
    """Let the module `owner` fill an entry of a table, which the module `was` has filled; None where none has.

    A user's entry takes the place of the package's own. Raises RuleError where two modules of users, or two of the
    package, fill the same entry, unless `replace` is True.
    """
    is_override = was is not None and _is_of_package(was) and not _is_of_package(owner)
    if was is not None and not replace and not is_override and (not was or was != owner):
        raise RuleError(
            f"{getattr(key, '__name__', key)} has a {table} already" + (f", from {was}" if was else ""),
            place=user_place(),
            cure="Say replace=True to put yours in its place.",
        )
    if not _is_of_package(owner):  # what a module of this package registers when it is loaded changes nothing
        Epoch.count += 1


def check_takes(
    function: Any, what: str, counts: Iterable[int], names: Iterable[str] = (), *, cure: str, is_checked: bool = False
) -> None:
    """Raise RuleError for a function that takes none of these numbers of arguments beside the named ones.

    What has no signature, and with `is_checked` False what is this package's own, is not looked at.
    """
    if is_own(function) and not is_checked:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    named = dict.fromkeys(names)
    reason = ""
    for count in counts:
        try:
            signature.bind(*range(count), **named)
        except TypeError as error:
            reason = reason or str(error)
        else:
            return
    raise RuleError(f"{what} takes other arguments than it is given: {reason}", place=user_place(), cure=cure)


MOST = 8
"""The most inputs that are tried for an operator of any number."""


def input_counts(kind: str) -> range:
    """The numbers of inputs that an operator may have."""
    found = schema(kind)
    return range(found.least_inputs, 1 + (max(found.least_inputs, MOST) if found.variadic else len(found.inputs)))


def check_takes_inputs(kind: str, rule: Any, what: str, *, is_checked: bool = False) -> None:
    """Raise RuleError for a rule that takes other arguments than the operator's inputs and attributes."""
    if is_own(rule) and not is_checked:
        return
    found = schema(kind)
    names = sorted(found.required | set(found.defaults))
    check_takes(rule, f"the {what} of {kind}", input_counts(kind), names, cure=_form(kind), is_checked=is_checked)


def _form(kind: str) -> str:
    found = schema(kind)
    inputs = ", ".join(name for name, _ in found.inputs)
    named = f", and by keyword {', '.join(sorted(found.attributes))}" if found.attributes else ""
    return f"It takes the inputs {inputs}{named}."


def check_takes_arguments_of(function: Any, name: str, rule: Any, what: str, *, first: int = 0, cure: str = "") -> None:
    """Raise RuleError for a rule that takes other arguments than the function that it is for, behind `first` others."""
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    positional = [p for p in parameters.values() if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    least = sum(p.default is p.empty for p in positional)
    is_open = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    names = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    counts = range(least, 1 + (max(least, MOST) if is_open else len(positional)))
    given = [first + count for count in counts]
    check_takes(rule, f"the {what} of {name}", given, names, cure=cure or f"It takes the arguments of {name}.")
