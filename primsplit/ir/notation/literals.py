"""Write names, sizes, types and constants as a listing shows them; `parsing` reads the same forms.

A constant is `float32(0.5)`, `float32[2](1.0, 2.0)`, `float32[5,3](1.0)` if all elements are equal, `int64[0]()`
without elements, and `float32[100,50]@9f3c2a1b` if it is long: the digest of its bytes, or of their place if a loaded
model has them in another file. Among the inputs of an op `[0, 1]` is an int64 vector, `2.0` a scalar of the dtype of
the op's first float variable, `3` one of the dtype of its first integer variable, or int64 if it has none, and `True` a
bool.
"""

import hashlib
import json
import keyword
import re
import unicodedata
from collections.abc import Iterator
from itertools import chain, count
from typing import Any

import numpy as np
import onnx.helper

from primsplit.ir import AnyArray, Attribute, Block, Const, Loaded, Op, Type, Value, Var
from primsplit.ir.dims import Atom, Call, Dim, Size, symbols
from primsplit.ir.plain_text import in_one_line

INLINE = 12
"""The most elements that are written out."""

PLAIN = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
KIND = re.compile(r"[^\W\d]\w*(?:(?:\.|::)\w+)*")
WORDS = frozenset({"None", "True", "False", "inf", "nan", "return", "with"})


def quoted(name: str) -> str:
    """Return the name, in backticks if a listing cannot hold it as it is."""
    if PLAIN.fullmatch(name) and name not in WORDS and in_one_line(name) == name:
        return name
    return _in_backticks(name)


def kind_text(kind: str) -> str:
    """Return the name of an operator, `domain::Name`, in backticks if a listing cannot hold it as it is."""
    return kind if KIND.fullmatch(kind) and in_one_line(kind) == kind else _in_backticks(kind)


def _in_backticks(name: str) -> str:
    body = json.dumps(name, ensure_ascii=in_one_line(name) != name)[1:-1]
    return "`" + body.replace("`", "\\u0060") + "`"


def unquoted(text: str) -> str:
    """Return the inverse of `quoted`."""
    return str(json.loads(f'"{text[1:-1]}"')) if text.startswith("`") else text


def is_plain_symbol(name: str) -> bool:
    """Whether the symbol can stand in an arithmetic expression, which Python reads as exactly this name."""
    is_name = name.isidentifier() and PLAIN.fullmatch(name) is not None and not keyword.iskeyword(name)
    return is_name and unicodedata.normalize("NFKC", name) == name and in_one_line(name) == name


def dim_text(dim: Dim) -> str:
    """Return the size as text; symbols with unusual names are in backticks."""
    if isinstance(dim, int) or all(is_plain_symbol(name) for name in symbols(dim)):
        return str(dim)
    terms = []
    for monomial, coefficient in dim.terms:
        factors = [_atom_text(atom) for atom in monomial]
        terms.append("*".join(factors if coefficient == 1 and factors else [str(coefficient), *factors]))
    return " + ".join(terms).replace("+ -", "- ")


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, Call):
        return f"{atom.function}({', '.join(map(dim_text, atom.arguments))})"
    return atom if is_plain_symbol(atom) else _in_backticks(atom)


def type_text(type: Type) -> str:
    """Return `float32[N,3]`, `float32` for a scalar, `float32[...]` for an unknown rank."""
    if type.shape is None:
        return f"{type.dtype.name}[...]"
    return f"{type.dtype.name}[{','.join(map(dim_text, type.shape))}]" if type.shape else type.dtype.name


def number_text(number: Any) -> str:
    """Return one element as text, such that reading the text in the element's dtype gives the same bits.

    A float whose bits the decimal number does not give (a NaN with a payload) is written as its bits: `0x7fc00001`.
    """
    if isinstance(number, str):
        return repr(number)
    dtype = np.asarray(number).dtype
    if dtype.kind in "biu" or "int" in dtype.name:
        return str(bool(number)) if dtype.kind == "b" else str(int(number))
    text = str(number)
    if np.asarray(float(text)).astype(dtype).tobytes() != np.asarray(number).tobytes():
        text = repr(float(number))
    if np.asarray(float(text)).astype(dtype).tobytes() != np.asarray(number).tobytes():
        return hex(int.from_bytes(np.asarray(number).tobytes(), "little"))
    return text if any(c in text for c in ".en") else f"{text}.0"


def array_text(array: AnyArray) -> str | None:
    """Return the array written out with its type; None if it is long."""
    if array.dtype.kind not in "biufOV" or (array.dtype.kind == "V" and array.dtype.itemsize > 2):
        return None
    flat = array.reshape(-1)
    if flat.size > 1 and array.dtype.kind != "O":
        raw = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
        if bool((raw == raw[0]).all()):
            flat = flat[:1]
    if flat.size > INLINE or (array.dtype.kind == "O" and flat.size == 1 < array.size):
        return None
    if array.dtype.kind == "O" and not all(isinstance(v, str) for v in flat):
        return None
    return f"{type_text(Type(array.dtype, array.shape))}({', '.join(number_text(v) for v in flat)})"


class Constants:
    """The text of each constant of some blocks: in full, or as a digest.

    `by_digest` holds the long arrays, and by their names the objects that no text can represent (a rule, say).
    """

    def __init__(self, *blocks: Block) -> None:
        self.texts: dict[int, str] = {}
        self.by_digest: dict[str, Any] = {}
        self._digests: dict[int, str] = {}
        long: dict[int, AnyArray] = {}
        for block in blocks:
            for key, item in _held(block):
                self._add(key, item, long)
        length = _unambiguous(set(self._digests.values()))
        for key, array in long.items():
            digest = self._digests[key][:length]
            self.by_digest[digest] = array
            self.texts[key] = f"{type_text(Type(array.dtype, array.shape))}@{digest}"

    def _add(self, key: int, item: Any, long: dict[int, AnyArray]) -> None:
        if key in self.texts or key in long:
            return
        if isinstance(item, Const | np.ndarray):
            array = item.numpy() if isinstance(item, Const) else item
            text = array_text(array) if not isinstance(item, Const) or _is_readable(item) else None
            if text is None:
                long[key] = array
                where = item.data.where if isinstance(item, Const) else ""
                self._digests[key] = _digest(array, where)
            else:
                self.texts[key] = text
            return
        name = self._free_name(item)
        self.texts[key] = name
        self.by_digest[name] = item

    def _free_name(self, item: Any) -> str:
        """Return a name for an object: its own or its class's, with a number if that is taken."""
        own = getattr(item, "__name__", "")
        stem = own if PLAIN.fullmatch(own) and own not in WORDS else type(item).__name__
        return next(n for n in chain([stem], (f"{stem}_{i}" for i in count(2))) if n not in self.by_digest)

    def value(self, value: Value | None, op: Op | None, name: str) -> str:
        """Return the text of an input of an op, or of a result; `name` is that of a variable."""
        if value is None:
            return "None"
        if isinstance(value, Var):
            return name
        text = self.texts[id(value.data)]
        rank = len(value.data.shape)
        if rank == 1 and value.type.dtype == np.int64 and op is not None and value.data.shape[0] <= INLINE:
            return str(value.numpy().tolist())
        if rank == 0 and op is not None and is_bare(value, op):
            number = number_text(value.numpy()[()])
            return text if number.startswith("0x") else number
        return text

    def attribute(self, name: str, value: Attribute) -> str:
        """Return the text of an attribute that is no block. Type codes are written as the dtype."""
        if name in {"to", "dtype"} and isinstance(value, int) and (dtype := code_name(value)) is not None:
            return dtype
        if isinstance(value, np.ndarray):
            return self.texts[id(value)]
        if isinstance(value, list | tuple):
            inner = ", ".join(self.attribute("", v) for v in value)
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
        if isinstance(value, np.generic):
            value = value.item()
        return repr(value) if is_literal(value) else self.texts[id(value)]


def is_bare(const: Const, op: Op) -> bool:
    """Whether the scalar's dtype follows from the op, so that the number alone is written."""
    dtype = bare_dtype(op, const.type.dtype.kind)
    return dtype is not None and dtype == const.type.dtype


def bare_dtype(op: Op, kind: str) -> np.dtype[Any] | None:
    """Return the dtype that a bare number of this kind (float, int, bool) has among the inputs of an op."""
    if kind == "b":
        return np.dtype(bool)
    kinds = "iu" if kind in "iu" else "fV"
    for value in op.inputs:
        if isinstance(value, Var) and value.type.dtype.kind in kinds:
            return value.type.dtype
    return np.dtype(np.int64) if kinds == "iu" else None


def code_name(code: int) -> str | None:
    """Return the name of the dtype with this ONNX code."""
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(code).name)
    except KeyError:
        return None


def is_literal(value: object) -> bool:
    """Whether Python has a literal for the value: a number, a text, bytes, None."""
    return value is None or isinstance(value, bool | int | float | str | bytes)


def _held(block: Block) -> Iterator[tuple[int, Any]]:
    """Yield everything in a block that is no variable and no literal, with its identity."""
    for op in block.ops:
        for value in op.inputs:
            if isinstance(value, Const):
                yield id(value.data), value
        for attribute in op.attributes.values():
            if isinstance(attribute, Block):
                yield from _held(attribute)
            else:
                yield from _held_by(attribute)
    for result in block.results:
        if isinstance(result, Const):
            yield id(result.data), result


def _held_by(attribute: Attribute) -> Iterator[tuple[int, Any]]:
    if isinstance(attribute, list | tuple):
        for item in attribute:
            yield from _held_by(item)
    elif not is_literal(attribute) and not isinstance(attribute, np.generic):
        yield id(attribute), attribute


def _is_readable(const: Const) -> bool:
    """Whether reading the elements costs nothing: they are in memory, or few."""
    return isinstance(const.data, Loaded) or const.is_short


def _digest(array: AnyArray, where: str) -> str:
    """Return a digest of the array, or of its place if its numbers lie in another file, which is not read."""
    if where:
        data = where.encode()
    else:
        data = repr(array.tolist()).encode() if array.dtype.kind == "O" else np.ascontiguousarray(array).tobytes()
    return hashlib.blake2b(f"{array.dtype.name}{array.shape}".encode() + data, digest_size=16).hexdigest()


def _unambiguous(digests: set[str]) -> int:
    """Return how many letters of these digests tell them apart; at least 8."""
    return next(n for n in range(8, 33) if len({d[:n] for d in digests}) == len(digests))


def bytes_text(count: Dim | None) -> str:
    """Return a number of bytes as text: `12 B`, `39.1 kB`, `4*N B`."""
    if count is None:
        return "? B"
    if isinstance(count, Size):
        return f"{dim_text(count)} B" if len(count.terms) == 1 else f"({dim_text(count)}) B"
    if count < 10_000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB"):
        amount /= 1000
        if amount < 1000:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} GB"
