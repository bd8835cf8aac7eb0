"""Let commands share groups of options: a parameter whose annotation is a dataclass stands for the options in it.

```
@dataclass(kw_only=True)
class Size:
    width: Annotated[int, typer.Option("--width")] = 1

def draw(*, size: Size) -> None    ->    def draw(*, width: Annotated[int, typer.Option("--width")] = 1) -> None
```

A field whose annotation says no option is none: the command's own code may set it.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from typer.models import OptionInfo


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose signature has the options of its groups, and which hands them on as groups.

    Python code may call it with a group as it is.
    """
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    options: dict[str, list[inspect.Parameter]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if is_dataclass(hints[name]):
            options[name] = [*_options(hints[name])]
            parameters += options[name]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @functools.wraps(command)
    def call(*args: Any, **named: Any) -> None:
        for name, group in options.items():
            if name not in named:
                said = {option.name: named.pop(option.name) for option in group if option.name in named}
                named[name] = hints[name](**said)
        command(*args, **named)

    vars(call)["__signature__"] = signature.replace(parameters=parameters)
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def said_in(group: Any) -> list[str]:
    """Return the options of a group that differ from what they are if nobody says them: `["--wrt"]`."""
    found = ((option, getattr(group, option.name)) for option in _options(type(group)))
    return [_info(option).default for option, value in found if value and value != option.default]


def _options(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        found = inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        if _info(found) is not None:
            yield found


def _info(option: inspect.Parameter) -> Any:
    return next((i for i in getattr(option.annotation, "__metadata__", ()) if isinstance(i, OptionInfo)), None)
