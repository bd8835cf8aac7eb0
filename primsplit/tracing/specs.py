"""Read the type of an input from an array, `spec("float32", ["N", 784])`, a text, or a jaxtyping annotation.

```
"f32[N,784]"   ->   float32[N,784]
```
"""

import inspect
import operator
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Type, dims, is_held
from primsplit.ir.carriers import CARRIERS, FLOAT8
from primsplit.ir.dims import Dim, Size, evaluate, substitute, symbols
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from primsplit.ir.notation.tokens import read_dim
from primsplit.ops.inference import reserve
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import plain
from primsplit.tracing.functionlike import name_of
from primsplit.tracing.trees import PART_OF

SHORT = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool",
    "c64": "complex64", "c128": "complex128",
}  # fmt: skip


def spec(dtype: npt.DTypeLike, shape: Iterable[Dim | str] | Dim = ()) -> Type:
    """An input of this dtype and shape, or size; a name in the shape is a size known only at run time.

    Equal names are equal sizes, in all inputs of a function. One without axes stands for a number of NumPy's; pass an
    array as an example if it is one that `total = x; total += y` would write to. One of complex64 or complex128 is two
    inputs of a program, `z.real` and `z.imag`. Raises SpecError for a dtype or size that cannot be read.

    >>> print(ps.spec("float32", ["N", "2*N + 1", 3]), ps.spec(np.int64))
    float32[N,2*N + 1,3] int64
    """
    if isinstance(shape, str):
        raise SpecError(f"a shape is a list of sizes, not {shape!r}", cure='Write it like ["N", 3].')
    sizes = [shape] if isinstance(shape, int | Size) else shape
    if not isinstance(sizes, Iterable) or getattr(sizes, "shape", None) == ():
        raise SpecError(f"a shape is a list of sizes, not {reprlib.repr(shape)}", cure='Write it like ["N", 3].')
    return Type(read_dtype(dtype), [_read_size(s) for s in sizes])


def _read_size(size: Any) -> Dim:
    """Return a size of a spec, and reserve its names for the user. One in backticks may be any text."""
    quoted = isinstance(size, str) and "`" in size
    try:
        if isinstance(size, str):
            dim = read_dim(size) if quoted else dims.parse(size)
        else:
            dim = size if isinstance(size, Size) else operator.index(size)
    except (TypeError, ValueError):
        dim = None
    if dim is None or (isinstance(dim, int) and dim < 0):
        raise SpecError(
            f"a size cannot be {size}",
            place=tracing.user_place(),
            cure="Name a size that is known only at run time: 'N'.",
        )
    for name in symbols(dim):
        if not (quoted or name.isidentifier()):
            raise SpecError(
                f"cannot read the size {size!r}", place=tracing.user_place(), cure="Write a name or a sum: 'N + 1'."
            )
        reserve(name)
    return dim


def read_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the dtype for a NumPy dtype, or a name like `float32`, `f32` or `bfloat16`. Raises SpecError."""
    name = SHORT.get(dtype, dtype) if isinstance(dtype, str) else dtype
    try:
        # NumPy takes None for float64.
        found = None if name is None else np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    except (TypeError, ValueError):
        found = None
    if found is None:
        raise SpecError(
            f"{reprlib.repr(dtype)} is no dtype",
            place=tracing.user_place(),
            cure=f"Known short names: {', '.join(SHORT)}.",
        )
    if not is_held(found) and found not in PART_OF:
        raise SpecError(
            f"inputs of dtype {found} cannot be part of a program", place=tracing.user_place(), cure=_conversion(found)
        )
    return found


def _conversion(dtype: np.dtype[Any]) -> str:
    """Return advice for arrays of a dtype that no program holds."""
    if not dtype.isnative:
        return f"Convert them: x.astype({dtype.newbyteorder('=').name!r})."
    if dtype.kind == "c":
        return "Convert them: x.astype(complex)."
    return "Convert them: x.astype(float)." if dtype.kind in "Of" else "Pass numbers or truth values."


_TEXT = re.compile(r"^\s*(\w+)\s*(?:\[(.*)\])?\s*$")


def parse_spec(text: str) -> Type:
    """Return the spec that a text like `f32[N,3]` or `float64` describes. Raises SpecError."""
    match = _TEXT.match(text)
    if match is None:
        raise SpecError(f"cannot read the spec {text!r}", cure="Write it like f32[N,3].")
    sizes = [s.strip() for s in (match.group(2) or "").split(",") if s.strip()]
    return spec(match.group(1), sizes)


def leaf_type(leaf: Any) -> Type | None:
    """Return the type that a leaf of specs stands for; None for a leaf that is a static argument."""
    if isinstance(leaf, Type):
        return leaf
    if isinstance(leaf, Array):
        return leaf.type
    if isinstance(leaf, np.ndarray | np.generic):
        array = plain(leaf)
        return spec(array.dtype, array.shape)
    if isinstance(leaf, float | complex):
        return Type(np.complex128 if isinstance(leaf, complex) else np.float64, ())
    if hasattr(leaf, "dim_str") and hasattr(leaf, "dtypes"):
        return _from_annotation(leaf)
    if isinstance(leaf, str) and _TEXT.match(leaf) and "[" in leaf and leaf.split("[")[0].strip() in SHORT:
        told = parse_spec(leaf)
        sizes = [d if isinstance(d, int) else str(d) for d in told.shape or ()]
        raise SpecError(
            f"the argument {leaf!r} is a text, and no spec",
            place=tracing.user_place(),
            cure=f"Write ps.spec({told.dtype.name!r}, {sizes}).",
        )
    return None


def may_be(given: Type, own: Type) -> bool:
    """Whether an array of the one type may be of the other."""
    if given.dtype != own.dtype or given.shape is None or own.shape is None:
        return given.dtype == own.dtype
    return len(given.shape) == len(own.shape) and all(map(dims.could_be, given.shape, own.shape))


def _from_annotation(annotation: Any) -> Type:
    """Return the spec of a jaxtyping annotation such as `Float32[np.ndarray, "N 784"]`."""
    dtypes = [d for d in annotation.dtypes if isinstance(d, str)]
    chosen = (
        next((d for d in ("float64", "complex128", "int64", "bool") if d in dtypes), None)
        if len(dtypes) > 1
        else dtypes[0]
    )
    if chosen is None:
        raise SpecError(f"the annotation {annotation} admits several dtypes: {', '.join(dtypes)}")
    if "..." in annotation.dim_str or "*" in annotation.dim_str:
        raise SpecError(f"the annotation {annotation} leaves the number of axes open", cure="Name each axis.")
    names = [d.lstrip("#").split("=")[-1] for d in annotation.dim_str.split()]
    sizes: list[Dim | str] = [int(n) if n.isdigit() else _anonymous(n, i) for i, n in enumerate(names)]
    return spec(chosen, sizes)


def _anonymous(name: str, axis: int) -> str:
    return f"size{axis}" if name in {"_", ""} else name


def annotated_type(function: Callable[..., Any], parameter: inspect.Parameter) -> Type | None:
    """Return the type that a parameter's annotation names: what `leaf_type` reads, or a text like "f32[N,3]".

    Else None.
    """
    annotation = parameter.annotation
    if isinstance(annotation, str) and not _says_type(annotation):
        try:
            annotation = inspect.signature(function, eval_str=True).parameters[parameter.name].annotation
        except Exception:  # noqa: BLE001  # running an annotation may raise anything; then it says no type
            return None
    if isinstance(annotation, str):
        return parse_spec(annotation.strip("'\"")) if _says_type(annotation) else None
    return leaf_type(annotation)


def _says_type(annotation: str) -> bool:
    """Whether a text is a spec with axes, also if it is quoted: postponed annotations are texts themselves."""
    name, bracket, _ = annotation.strip("'\" ").partition("[")
    return bool(bracket) and {name} <= {*SHORT, *SHORT.values(), "bfloat16", *FLOAT8, *CARRIERS}


def annotation_told(parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return a line about an annotation that names no type."""
    if parameter.annotation is parameter.empty:
        return ()
    return (f"its annotation {inspect.formatannotation(parameter.annotation)} says no dtype and shape",)


def specs_from_annotations(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the specs from the annotations of a function's parameters; defaults stand for unannotated parameters.

    Raises SpecError that names the parameter if there is neither.
    """
    specs: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        annotated = annotated_type(function, parameter)
        if annotated is not None:
            specs.append(annotated)
        elif parameter.default is not parameter.empty:
            specs.append(parameter.default)
        else:
            raise SpecError(
                f"{name_of(function)} has no spec for its parameter {parameter.name}",
                place=tracing.defined_at(function),
                because=annotation_told(parameter),
                cure=f'Annotate it ("f32[N,3]", or jaxtyping\'s), or say --spec {parameter.name}:f32[N,3].',
            )
    return tuple(specs)


def check_array(array: npt.NDArray[Any], name: str, type: Type, sizes: dict[str, int]) -> None:
    """Raise DtypeError or ShapeError if the array is not of this type; store the symbols' values in `sizes`."""
    if array.dtype != type.dtype:
        raise DtypeError(f"{name} must be {type.dtype}, not {array.dtype}", place=tracing.user_place())
    if type.shape is None:
        return
    if array.ndim != len(type.shape):
        raise ShapeError(
            f"{name} must have {len(type.shape)} axes, {type}, not shape {list(array.shape)}",
            place=tracing.user_place(),
        )
    for axis, (dim, size) in enumerate(zip(type.shape, array.shape, strict=True)):
        if isinstance(dim, Size) and dim.symbol is not None:
            wanted = sizes.setdefault(dim.symbol, size)
        elif isinstance(dim, Size):
            wanted = evaluate(dim, sizes) if symbols(dim) <= set(sizes) else size
        else:
            wanted = dim
        if wanted != size:
            told = f"{dim} = {wanted}" if isinstance(dim, Size) else str(dim)
            raise ShapeError(f"{name} has size {size} at axis {axis}, not {told}", place=tracing.user_place())


def check_expressions(given: Iterable[tuple[str, tuple[int, ...], Type]], sizes: dict[str, int]) -> None:
    """Raise ShapeError if the value of an expression fits no values of its symbols, or not those of other inputs.

    `sizes` has the values that `check_array` found; a sum of one symbol adds that symbol's.
    """
    told = [
        (name, axis, dim, size)
        for name, shape, wanted in given
        for axis, (dim, size) in enumerate(zip(wanted.shape or (), shape, strict=False))
        if isinstance(dim, Size) and dim.symbol is None
    ]
    for name, axis, dim, size in told:
        unknown = [*(symbols(dim) - set(sizes))]
        if len(unknown) == 1:
            _learn(dim, size, unknown[0], sizes)
        if symbols(dim) <= set(sizes) and evaluate(dim, sizes) != size:
            at = ", ".join(f"{n} = {sizes[n]}" for n in sorted(symbols(dim)))
            raise ShapeError(f"{name} has size {size} at axis {axis}, not {dim} with {at}", place=tracing.user_place())


def _learn(dim: Size, size: int, name: str, sizes: dict[str, int]) -> None:
    """Store the symbol's value in `sizes` if the expression is a multiple of it plus a known number."""
    told = substitute(dim, sizes)
    factor = dict(told.terms).get((name,), 0) if isinstance(told, Size) else 0
    rest = told - factor * dims.symbol(name)
    if factor and isinstance(rest, int):
        sizes[name] = max(0, (size - rest) // factor)


def check_names(inputs: Sequence[str], arrays: Mapping[str, Any]) -> None:
    """Raise SpecError if the arrays are not exactly those of the inputs."""
    missing = [n for n in inputs if n not in arrays]
    extra = [n for n in arrays if n not in inputs]
    if missing or extra:
        what = [f"{', '.join(missing)} missing"] if missing else []
        what += [f"{', '.join(extra)} unknown"] if extra else []
        raise SpecError(f"the inputs do not fit: {'; '.join(what)}", because=(f"the inputs are {', '.join(inputs)}",))
