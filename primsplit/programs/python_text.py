"""Write a program as Python: a function of `op.` calls that `ps.trace` turns into the same program.

```python
def loss(x: ps.spec("float32", ["N", 3]), y: ps.spec("float32", [3])):
    a = op.Sub(x, y)
    return op.Mul(a, a)
```

Nothing in a file becomes code: names become identifiers, texts and sizes string literals in one line.

A sub-block is a function inside, given to its op by `body`; types are written out if they do not follow. Long constants
are read from `constants`: `audit.rebuild.run_source` provides them, or else the source holds them packed, or says how
to write the file that it loads them from. Rules are read from there too, and no file holds them: without them a call is
its own program.
"""

import base64
import json
import keyword
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Type, Value, Var, free, is_call
from primsplit.ir.dims import Size
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.names import Names, variables
from primsplit.ir.notation.listing import Line, layout, wrapped
from primsplit.ir.notation.literals import Constants, dim_text, is_literal, number_text
from primsplit.ir.plain_text import in_one_line, is_shown
from primsplit.ops.inference import infer
from primsplit.ops.schema import schema
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import lift

TAKEN = {"op", "np", "ps", "body", "call", "constants", "unpacked", "globals", "__debug__", *keyword.kwlist}
"""Names that a program may not have in its source."""
PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""A name that Python reads as it is written, if it is no keyword."""
RESERVED = frozenset({"types", "outputs"})
"""Parameters of calls that are no attributes."""
MOST_PACKED = 2**16
"""The most bytes of constants that a source holds itself."""


def to_python(*blocks: Block, names: Mapping[Var, str] | None = None) -> str:
    """Return the source of blocks that capture nothing, a function each. Raises PrimsplitError if one does capture."""
    for block in blocks:
        if outer := free(block):
            raise PrimsplitError(f"{block.name} reads {outer[0]} of a block around it, so it is no function of its own")
    constants = Constants(*blocks)
    sources = [_Source(block, names or {}, constants) for block in blocks]
    functions = [layout(source.lines()) for source in sources]
    helpers = {helper for source in sources for helper in source.helpers}
    held = ""
    if constants.by_digest:
        held = f'\nconstants = globals().get("constants") or {_loading(constants, blocks[0].name, helpers)}\n'
    heads = "import numpy as np\nimport primsplit as ps\n"
    if helpers:
        heads += f"from primsplit.programs.python_text import {', '.join(sorted(helpers))}\n"
    return "\n\n".join([f"{heads}from primsplit.ops import op\n{held}", *functions])


def _loading(constants: Constants, name: str, helpers: set[str]) -> str:
    """Return the expression of the long constants: the arrays packed, or a file and the source of its arrays."""
    arrays = {digest: value for digest, value in constants.by_digest.items() if isinstance(value, np.ndarray)}
    if not arrays:
        return "{}"
    if sum(array.nbytes for array in arrays.values()) > MOST_PACKED:
        return f'np.load("{identifier(name)}.npz")  # the arrays of primsplit.ir.notation.listing.constants(block)'
    helpers.add("unpacked")
    return f'unpacked("""\n{packed(arrays)}""")'


def packed(arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """Return arrays by name as text, a line each: name, dtype, shape and the bytes, compressed, in base 85."""
    return "".join(
        f"{name} {array.dtype.name} {json.dumps(array.shape, separators=(',', ':'))} "
        f"{base64.b85encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()}\n"
        for name, array in arrays.items()
    )


def unpacked(text: str) -> dict[str, np.ndarray[Any, Any]]:
    """Undo `packed`."""
    found = {}
    for line in text.split("\n")[1:-1]:
        name, dtype, shape, body = line.split(" ")
        numbers = np.frombuffer(zlib.decompress(base64.b85decode(body)), np.dtype(dtype))
        found[name] = numbers.reshape(json.loads(shape))
    return found


def body(function: Callable[..., Any], *types: Type) -> Block:
    """Return the sub-block of a function whose parameters have these types. It returns a tuple."""
    with tracing.recording() as recorded:
        params = [recorded.param(t) for t in types]
        results = [lift(r) for r in function(*map(Array, params))]
    return tracing.close(function.__name__, params, recorded, results)


def call(kind: str, /, *inputs: Any, types: Sequence[Type], **attributes: Any) -> tuple[Array, ...]:
    """Record an op without checking it against the standard: the call of a traced function, a custom operator.

    An attribute that is None, for a rule that is not available, is left out.
    """
    given = {name: value for name, value in attributes.items() if value is not None}
    values = [None if x is None else lift(x) for x in inputs]
    made = tuple(map(Var, types))
    tracing.append(Op(kind, tuple(values), made, given, tracing.user_place()))
    return tuple(map(Array, made))


class _Source:
    """Writes a block."""

    def __init__(self, block: Block, given: Mapping[Var, str], constants: Constants) -> None:
        self.block = block
        self.constants = constants
        self.names = Names(TAKEN | {_function_name(block.name)})
        self.names.learn(block)
        for var in variables(block):
            name = given.get(var, self.names.hint(var))
            self.names.give(var, name and identifier(name))
        self.helpers: set[str] = set()

    def lines(self) -> Iterator[Line]:
        """Yield the block as a function; `helpers` are then the functions that it calls."""
        params = [f"{self.names.of[p]}: {spec_text(p.type)}" for p in self.block.params]
        yield from self.function(self.block, _function_name(self.block.name), params, 0)

    def function(self, block: Block, name: str, params: Sequence[str], depth: int) -> Iterator[Line]:
        yield from wrapped(depth, "", f"def {name}(", params, "):", "")
        for op in block.ops:
            yield from self.op(op, depth + 2)
        results = [self.value(r, None) for r in block.results]
        joined = ", ".join(results) if depth == 0 else f"({''.join(f'{r}, ' for r in results).rstrip()})"
        yield Line(depth + 2, "", f"return {joined}", "")

    def op(self, op: Op, depth: int) -> Iterator[Line]:
        items = [self.value(v, op) for v in op.inputs]
        for name, value in op.attributes.items():
            if isinstance(value, Block):
                own = self.names.give(Var(Type("bool", ())), identifier(value.name))
                yield from self.function(value, own, [self.names.of[p] for p in value.params], depth)
                specs = "".join(f", {spec_text(p.type)}" for p in value.params)
                items.append(_keyword(op, name, f"body({own}{specs})"))
                self.helpers.add("body")
            else:
                items.append(_keyword(op, name, self.attribute(value)))
        targets = ", ".join(self.names.of[v] for v in op.outputs)
        if is_call(op) or "::" in op.kind:
            self.helpers.add("call")
            items = [repr(op.kind), *items, f"types=[{', '.join(spec_text(v.type) for v in op.outputs)}]"]
            yield from wrapped(depth, f"{targets},", "call(", items, ")", op.remark)
            return
        yield from self.standard(op, items, targets, depth)

    def standard(self, op: Op, items: list[str], targets: str, depth: int) -> Iterator[Line]:
        found = schema(op.kind)
        if len(op.outputs) > 1 and op.kind not in {"TopK", "Split"} and not any(op.blocks()):
            items.append(f"outputs={len(op.outputs)}")
        if not _follows(op):
            items.append(f"types=[{', '.join(spec_text(v.type) for v in op.outputs)}]")
        comma = "," if found.variadic_outputs and len(op.outputs) == 1 else ""
        yield from wrapped(depth, targets + comma, f"op.{op.kind}(", items, ")", op.remark)

    def value(self, value: Value | None, op: Op | None) -> str:
        if value is None:
            return "None"
        if isinstance(value, Var):
            return self.names.of[value]
        if op is not None and value.type.rank == 1 and value.type.dtype == np.int64 and value.type.shape != (0,):
            text = self.constants.value(value, op, "")
            if text.startswith("["):
                return text
        if op is not None and value.type.rank == 0 and _is_tied(op, value):
            return number_source(value.numpy()[()])
        return self.array(value)

    def array(self, const: Const) -> str:
        held = self.constants.texts[id(const.data)]
        if "@" in held and "(" not in held:
            return f'constants["{held.rpartition("@")[2]}"]'
        return array_source(const.numpy())

    def attribute(self, value: Any) -> str:
        if isinstance(value, np.ndarray):
            held = self.constants.texts[id(value)]
            return f'constants["{held.rpartition("@")[2]}"]' if "(" not in held else array_source(value)
        if isinstance(value, list | tuple):
            inner = ", ".join(map(self.attribute, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
        if isinstance(value, np.generic):
            value = value.item()
        if is_literal(value):
            return re.sub(r"\b(inf|nan)\b", r"np.\1", repr(value)) if isinstance(value, float) else repr(value)
        return f'constants.get("{self.constants.texts[id(value)]}")'


def _keyword(op: Op, name: str, value: str) -> str:
    """Return the argument for an attribute: a file may give it any name, which Python reads as no code.

    Raises PrimsplitError for a name that the call has for something else.
    """
    if name in RESERVED:
        raise PrimsplitError(f"{op.kind} has an attribute {name}, which cannot be written as Python", place=op.place)
    if PARAMETER.fullmatch(name) and not keyword.iskeyword(name):
        return f"{name}={value}"
    return f"**{{{_text_source(name)}: {value}}}"


def identifier(name: str) -> str:
    """Return the name as letters, digits and `_`, which Python reads as they are. It may be taken."""
    letters = unicodedata.normalize("NFKC", name)
    text = "".join(c if f"_{c}".isidentifier() and is_shown(c) else "_" for c in letters) or "program"
    return text if text.isidentifier() else f"_{text}"


def _function_name(name: str) -> str:
    """Return the name of a block's function, which hides nothing that the source uses."""
    text = identifier(name)
    return f"_{text}" if text in TAKEN else text


def _follows(op: Op) -> bool:
    """Whether inference returns the declared types of the outputs."""
    if any(op.blocks()):
        return False
    inferred = infer(op.kind, op.inputs, op.attributes, len(op.outputs))
    return all(v.type == found for v, (found, _) in zip(op.outputs, inferred, strict=True))


def _is_tied(op: Op, const: Const) -> bool:
    """Whether a number gets its dtype from another input of the op."""
    if "::" in op.kind or any(op.blocks()) or const.type.dtype.kind == "b" or "x" in number_text(const.numpy()[()]):
        return False
    found = schema(op.kind)
    own = {found.variable(i) for i, v in enumerate(op.inputs) if v is const}
    return all(
        any(isinstance(v, Var) and found.variable(i) == variable for i, v in enumerate(op.inputs)) for variable in own
    )


def spec_text(type: Type) -> str:
    """Return the type as a call of `ps.spec`. Raises PrimsplitError for an unknown rank."""
    if type.shape is None:
        raise PrimsplitError("a value whose number of axes is not known cannot be written as Python")
    sizes = ", ".join(_text_source(dim_text(d)) if isinstance(d, Size) else str(d) for d in type.shape)
    return f'ps.spec("{type.dtype.name}", [{sizes}])' if type.shape else f'ps.spec("{type.dtype.name}")'


def _text_source(text: str) -> str:
    """Return the literal of a text, in double quotes if it needs no escapes."""
    literal = in_one_line(repr(text))
    return f'"{literal[1:-1]}"' if literal == f"'{text}'" and '"' not in text else literal


def number_source(number: Any) -> str:
    """Return one element as source; its bits as an integer if no decimal number gives them."""
    text = number_text(number)
    return text if isinstance(number, str) else re.sub(r"\b(inf|nan)\b", r"np.\1", text)


def array_source(array: np.ndarray[Any, Any]) -> str:
    """Return a NumPy expression of the array, bit by bit."""
    texts = [number_source(v) for v in array.reshape(-1)]
    dtype = f'"{array.dtype.name}"'
    shape = "" if array.ndim == 1 else f".reshape({array.shape!r})"
    if any(t.startswith("0x") for t in texts):
        bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
        return f'np.array({bits.tolist()}, "{bits.dtype.name}").view({dtype}){shape}'
    if array.ndim == 0:
        return f"np.{array.dtype.name}({texts[0]})" if array.dtype.kind in "fiu" else f"np.array({texts[0]}, {dtype})"
    if len(texts) > 1 and len(set(texts)) == 1:
        return f"np.full({array.shape!r}, {texts[0]}, {dtype})"
    return f"np.array([{', '.join(texts)}], {dtype}){shape}"
