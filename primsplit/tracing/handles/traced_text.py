"""The text of a traced value: it can be printed, but no decision can depend on it.

A text that stands alone, `str(x)` or `f"{x}"`, refuses to be compared, searched, measured, read as a number or used as
a key. As part of a longer text it holds a number that no other value of the trace has: `Array(float64[3] #0)`.
"""

import ast
import os
from collections.abc import Callable, Hashable
from types import FrameType
from typing import Any, Protocol

from primsplit import tracing
from primsplit.ir import Type
from primsplit.tracing.handles.concretization import no_number

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
_LOOKS = (
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__contains__", "__len__", "__getitem__",
    "__iter__", "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit",
    "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "lower", "lstrip",
    "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip",
    "split", "splitlines", "startswith", "strip", "title", "translate", "upper", "casefold", "capitalize",
)  # fmt: skip
"""The methods of a text that reveal something of it."""


class TracedText(str):
    """The text of a value that only the run knows. Looking at it in the user's code raises NumberAsked."""

    __slots__ = ("type",)
    type: Type

    def __str__(self) -> str:
        return self

    def __format__(self, how: str) -> str:
        if tracing.is_decided_by(tracing.asking_frame()):
            raise no_number(self.type, "the text")
        return self

    def __add__(self, other: str) -> str:
        return _text(super().__add__(other), self.type)

    def __radd__(self, other: str) -> str:
        return _text(str.__add__(other, self), self.type)

    def __float__(self) -> float:
        raise no_number(self.type, "float()")

    def __int__(self) -> int:
        raise no_number(self.type, "int()")


def _is_asked(frame: FrameType) -> bool:
    """Whether the frame counts as the user's; other packages' consoles and loggers may look at what they print."""
    filename = frame.f_code.co_filename
    return filename.startswith(_OURS) or ("-packages" not in filename and tracing.is_asked_by_user(frame))


def _looking(name: str) -> Callable[..., Any]:
    original = getattr(str, name)

    def look(self: TracedText, *args: Any, **options: Any) -> Any:
        if _is_asked(tracing.asking_frame()):
            raise no_number(self.type, "the text")
        return original(self, *args, **options)

    return look


for _name in _LOOKS:
    setattr(TracedText, _name, _looking(_name))


def _text(text: str, type: Type) -> TracedText:
    traced = TracedText(text)
    traced.type = type
    return traced


class _Handle(Protocol):
    weak: bool

    @property
    def type(self) -> Type: ...
    @property
    def recording(self) -> tracing.Recording: ...
    def known(self) -> Any: ...
    def identity(self) -> Hashable: ...


def shown(array: _Handle, spell: Callable[[Any], str]) -> str:
    """Return `repr` or `str` of a handle: NumPy's text of known values, else its type and a number of its own.

    Raises NumberAsked if it becomes part of a text that is compared.
    """
    if not tracing.is_open(array.recording):
        return f"{type(array).__name__}({array.type})"
    known = array.known()
    if known is not None:
        return spell(known.item() if array.weak else known[()])
    if tracing.is_decided_by(tracing.asking_frame(2)):
        raise no_number(array.type, "the text")
    number = array.recording.variables.number(array.identity())
    return _text(f"{type(array).__name__}({array.type} #{number})", array.type)


def formatted(array: _Handle, how: str) -> str:
    """Return `f"{x:{how}}"` of a handle; for a value that only the run knows, only if the text is shown to people.

    Raises NumberAsked if the text may be used for anything else.
    """
    text = shown(array, str)
    if not isinstance(text, TracedText):
        known = array.known() if how else None
        return text if known is None else format(known.item(), how)
    frame = tracing.asking_frame(2)
    if tracing.is_decided_by(frame) or (how and not tracing.is_told(frame)):
        raise no_number(array.type, f"the text {how!r}" if how else "the text")
    return text


def is_only_spelled(frame: FrameType) -> bool:
    """Whether the frame needs a number only for `"%.3f" % x`, whose text is shown to people."""
    nodes = tracing.nodes_around(frame)
    is_remainder = bool(nodes) and isinstance(nodes[-1], ast.BinOp) and isinstance(nodes[-1].op, ast.Mod)
    return is_remainder and not tracing.is_decided_by(frame) and tracing.is_told(frame)
