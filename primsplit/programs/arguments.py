"""Find the arguments with which a file's function is exported and checked: their types, and example values.

For each parameter the file's `example_inputs()` come first, then a text, then its annotation; a parameter with a
default may have none. A text such as `f32[N,3]`, from the file's `specs` or from the caller, is the type of one input
by its name in the file (`params.w`); without a dtype, `[N,3]`, it keeps that of the example.
"""

import dataclasses
import inspect
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir import Type
from primsplit.ir.dims import Dim, Kinded, Size, SymbolKind, evaluate, symbols
from primsplit.ir.errors import SpecError
from primsplit.ir.machine import memory
from primsplit.programs.api import called
from primsplit.programs.labels import input_names
from primsplit.programs.userfile import UserFile
from primsplit.tracing import defined_at, trees
from primsplit.tracing.specs import annotated_type, annotation_told, leaf_type, parse_spec, read_dtype

Call = tuple[tuple[Any, ...], dict[str, Any]]
GIVEN = (np.ndarray, np.generic, float, complex)
"""The classes of examples that are arrays or numbers of a program."""
SEED = 0
"""Without an example, the same arrays are drawn each time."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call of a function: `specs` with types if they are known, `values` with arrays of those types."""

    specs: Call
    values: Call
    function: Callable[..., Any]
    """The function of the values: the file's own, or for a callable dataclass, one of it and its arguments."""
    drawn: bool
    """Whether some of the values are random numbers, since there is no example."""


def arguments_of(
    file: UserFile, texts: Mapping[str, str] | None = None, dtype: npt.DTypeLike | None = None
) -> Arguments:
    """Return the arguments of a file's function. `texts` override the file's own `specs`; `dtype` is for floating ones.

    Raises SpecError for a parameter without any information, a text that cannot be read, names no input or does not fit
    the example.
    """
    said = {**file.specs, **(texts or {})}
    signature = inspect.signature(file.function)
    example = file.example()
    trees_of = _trees(file, signature, {} if example is None else example.arguments, said)
    bound = inspect.BoundArguments(signature, OrderedDict(trees_of))
    leaves, structure = trees.flatten((bound.args, bound.kwargs))
    names = input_names(file.function, structure)
    unknown = [n for n in said if n not in names]
    if unknown:
        raise SpecError(
            f"{file.name} has no input {unknown[0]}",
            place=defined_at(file.function),
            because=(f"its inputs are {', '.join(names)}",),
        )
    annotated = {n: annotated_type(file.function, p) for n, p in signature.parameters.items()}
    cast = None if dtype is None else read_dtype(dtype)
    specs = [_spec(n, x, said.get(n), annotated.get(n), cast) for n, x in zip(names, leaves, strict=True)]
    sizes = _sizes(names, specs, leaves)
    random = np.random.default_rng(SEED)
    values = [_value(s, x, sizes, random) for s, x in zip(specs, leaves, strict=True)]
    drawn = any(isinstance(x, Type) for x in leaves)
    function: Any = file.function
    args, named = trees.unflatten(structure, values)
    if dataclasses.is_dataclass(function) and not isinstance(function, type):
        args, function = (function, *args), called(type(function))
    return Arguments(trees.unflatten(structure, specs), (args, named), function, drawn)


def _trees(
    file: UserFile, signature: inspect.Signature, example: Mapping[str, Any], said: Mapping[str, str]
) -> dict[str, Any]:
    """Return the argument of each parameter that has one."""
    found: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        own = {n: t for n, t in said.items() if n == name or n.startswith(f"{name}.")}
        annotation = annotated_type(file.function, parameter)
        if parts := [n for n in own if annotation is not None and annotation.dtype.kind == "c" and n != name]:
            raise SpecError(
                f"{parts[0]} is part of a complex array", cure=f"Say the whole: --spec {name}:{annotation}."
            )
        if name in example:
            found[name] = example[name]
        elif own:
            found[name] = _nested(name, own)
        elif annotation is not None:
            found[name] = annotation
        elif parameter.default is parameter.empty and parameter.kind not in {
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        }:
            unknown = [n for n in said if n.split(".")[0] not in signature.parameters]
            other = [f"the file's example_inputs() is for {file.examples_of}"] if file.examples_of else []
            raise SpecError(
                f"{file.name} has no spec for its parameter {name}",
                place=defined_at(file.function),
                because=(
                    *annotation_told(parameter),
                    *(f"there is one for {n}, which is no parameter" for n in unknown[:1]),
                    *other,
                ),
                cure=f"Say --spec {name}:f32[N,3], or annotate it{'.' if other else ', or write example_inputs().'}",
            )
    return found


def _nested(name: str, texts: Mapping[str, str]) -> Any:
    """Return the types of a parameter's inputs in the containers of their names: dicts, and lists for numbers."""
    if name in texts:
        if len(texts) > 1:
            raise SpecError(f"--spec {name} is given together with {', '.join(n for n in texts if n != name)}")
        return parse_spec(texts[name])
    keys = dict.fromkeys(n.removeprefix(f"{name}.").split(".")[0] for n in texts)
    inner = {}
    for key in keys:
        path = f"{name}.{key}"
        inner[key] = _nested(path, {n: t for n, t in texts.items() if n == path or n.startswith(f"{path}.")})
    if all(k.isdecimal() for k in keys):
        if sorted(map(int, keys)) != list(range(len(keys))):
            raise SpecError(f"the specs of {name} leave out some of its {max(map(int, keys)) + 1} items")
        return [inner[k] for k in sorted(keys, key=int)]
    return inner


def _spec(name: str, leaf: Any, text: str | None, annotation: Type | None, dtype: np.dtype[Any] | None) -> Any:
    """Return the spec with which the function is traced in place of this leaf."""
    own = leaf_type(leaf)
    if text is not None:
        bare = text.lstrip().startswith("[")
        if bare and own is None:
            raise SpecError(f"--spec {name}:{text} says no dtype", cure=f"Write it like {name}:f32{text.strip()}.")
        said = parse_spec(f"{own.dtype.name}{text.strip()}" if bare and own is not None else text)
        _check_fits(name, said, leaf)
    elif annotation is not None and own is not None:
        said = Type(own.dtype, annotation.shape)
        _check_fits(name, said, leaf)
    elif own is None:
        return leaf
    else:
        said = own
    if dtype is not None:
        said = _cast(name, said, dtype)
    if isinstance(leaf, GIVEN) and said == own:
        return leaf
    return said


def _cast(name: str, said: Type, dtype: np.dtype[Any]) -> Type:
    """Return the type in this dtype if it is floating point, with parts of this dtype if it is complex."""
    if said.dtype.kind != "c":
        return Type(dtype, said.shape) if said.is_float else said
    if dtype not in trees.COMPLEX_OF:
        raise SpecError(
            f"{name} is complex, and there are no complex numbers of {dtype}", cure="Say float32 or float64."
        )
    return Type(trees.COMPLEX_OF[dtype], said.shape)


def _check_fits(name: str, said: Type, leaf: Any) -> None:
    if not isinstance(leaf, GIVEN):
        return
    shape = np.shape(leaf)
    wanted = said.shape or ()
    fits = len(shape) == len(wanted) and all(isinstance(w, Size) or w == s for w, s in zip(wanted, shape, strict=True))
    if not fits:
        raise SpecError(f"{name} is said to be {said}, and its example has shape {list(shape)}")


def _sizes(names: list[str], specs: list[Any], leaves: list[Any]) -> dict[str, int]:
    """Return a number for each symbol: the examples', else small ones that differ."""
    sizes: dict[str, int] = {}
    for name, spec, leaf in zip(names, specs, leaves, strict=True):
        if isinstance(leaf, np.ndarray) and isinstance(spec, Type):
            for dim, size in zip(spec.shape or (), leaf.shape, strict=True):
                symbol = dim.symbol if isinstance(dim, Size) else None
                if symbol is not None and sizes.setdefault(symbol, size) != size:
                    raise SpecError(
                        f"{symbol} is {sizes[symbol]} in one example and {size} in that of {name}",
                        cure="Name the two sizes differently.",
                    )
    found = [s for spec in specs if isinstance(spec, Type) for d in spec.shape or () for s in sorted(symbols(d))]
    for symbol in dict.fromkeys(found):
        sizes.setdefault(symbol, 3 + len(sizes))
    return sizes


def _value(
    spec: Any,
    leaf: Any,
    sizes: Mapping[str, int],
    random: np.random.Generator,
    bounds: tuple[float, float] | None = None,
) -> Any:
    """Return the example in the spec's dtype; without one numbers in the bounds, or positive ones about 1 (or 0 and 1).

    A spec without axes becomes one of NumPy's numbers, and is traced as such.
    """
    if not isinstance(spec, Type):
        return leaf
    found = _drawn(spec, sizes, random, bounds) if isinstance(leaf, Type) else np.asarray(leaf).astype(spec.dtype)
    return np.asarray(found)[()]


def _drawn(
    spec: Type, sizes: Mapping[str, int], random: np.random.Generator, bounds: tuple[float, float] | None
) -> npt.NDArray[Any]:
    shape = tuple(_number(d, sizes) for d in spec.shape or ())
    if spec.dtype.kind == "c":
        return (random.uniform(0.25, 1.25, shape) + 1j * random.uniform(0.25, 1.25, shape)).astype(spec.dtype)
    if spec.is_float:
        low, high = bounds or (0.25, 1.25)
        return random.uniform(low, high, shape).astype(spec.dtype)
    least, greatest = map(int, bounds or (0, 1))
    return random.integers(least, greatest, shape, endpoint=True).astype(spec.dtype)


def _number(dim: Dim, sizes: Mapping[str, int]) -> int:
    return evaluate(dim, sizes) if isinstance(dim, Size) else dim


def draw_arrays(
    types: Mapping[str, Type],
    texts: Mapping[str, str],
    *,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    known: Mapping[str, tuple[Type, npt.NDArray[Any]]] | None = None,
    seed: int = SEED,
    size: int | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return arrays of these types by name, drawn as for a parameter without an example.

    A text such as `[32,3]` or `f32[32,3]` is the shape of one; a size in it holds for all that name it. Sizes of
    different names differ, but first ones that the model leaves unnamed do not: they are the number of rows. `ranges`
    are the bounds, both included, of other than the usual numbers; `known` are arrays and their types' names of sizes.
    Sizes that nothing tells are `size`, or small numbers that differ. Raises SpecError for a text that does not fit,
    and for an unknown rank without a text.
    """
    ranges, known = ranges or {}, known or {}
    unknown = [n for n in (*texts, *ranges) if n not in types]
    if unknown:
        raise SpecError(f"there is no input {unknown[0]}", because=(f"the inputs are {', '.join(types)}",))
    sizes: dict[str, int] = _sizes(list(known), [t for t, _ in known.values()], [a for _, a in known.values()])
    found = {name: _fitted(name, t, texts.get(name), sizes) for name, t in types.items()}
    firsts = (d for t in found.values() for d in (t.shape or ())[:1])
    rows = [s for d in firsts for s in symbols(d) if isinstance(s, Kinded) and s.kind is SymbolKind.ROWS]
    count = next((sizes[s] for s in rows if s in sizes), size or 3 + len(sizes))
    sizes.update((s, count) for s in rows if s not in sizes)
    symbolic = (s for t in found.values() for d in t.shape or () for s in sorted(symbols(d)))
    for symbol in dict.fromkeys(symbolic):
        sizes.setdefault(symbol, size or 3 + len(sizes))
    _check_memory(found, sizes)
    random = np.random.default_rng(seed)
    return {name: np.asarray(_value(t, t, sizes, random, ranges.get(name))) for name, t in found.items()}


def _check_memory(types: Mapping[str, Type], sizes: Mapping[str, int]) -> None:
    """Raise SpecError for arrays that this machine cannot hold, drawn as 8 bytes a number."""
    for name, each in types.items():
        shape = [_number(d, sizes) for d in each.shape or ()]
        if 8 * math.prod(shape) > memory():
            raise SpecError(f"{name} of shape {shape} is larger than this machine's memory", cure="Tell smaller sizes.")


def _fitted(name: str, type: Type, text: str | None, sizes: dict[str, int]) -> Type:
    """Return the type; `sizes` learns its symbols from the text."""
    if text is None:
        if type.shape is None:
            raise SpecError(f"the rank of {name} is not known", cure=f"Say its shape: --spec {name}:[2,3].")
        return type
    said = parse_spec(f"{type.dtype.name}{text}" if text.startswith("[") else text)
    if type.shape is None and said.dtype == type.dtype:
        return said
    own, given = type.shape or (), said.shape or ()
    for size, number in zip(own, given, strict=False):
        if isinstance(size, Size) and size.symbol is not None and isinstance(number, int):
            sizes.setdefault(size.symbol, number)
    known = [sizes.get(d.symbol or "", d) if isinstance(d, Size) else d for d in own]
    fits = len(own) == len(given) and all(isinstance(b, Size) or a == b for a, b in zip(known, given, strict=True))
    if said.dtype != type.dtype or not fits:
        raise SpecError(f"{name} is said to be {said}, and the model takes {type}")
    return type
