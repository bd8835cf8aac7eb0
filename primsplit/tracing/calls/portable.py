"""Turn a fingerprint into a text that is the same in every process that runs the same program.

Refer to objects by name.

In one process a module, a library's class or a ufunc equals only itself (`fingerprint.Same`); here its name and its
library's version stand for it. An object that no name leads to, such as a random generator, has no text.
"""

import collections
import dataclasses
import hashlib
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Block
from primsplit.ir.caching.fingerprint import Same, fingerprint
from primsplit.ir.notation.encoding import Unstorable
from primsplit.ir.notation.listing import constants, listing
from primsplit.ops.schema import Schema
from primsplit.tracing.trees import TreeSpec, flatten, unflatten

DEPTH = 100
"""The deepest nesting of a fingerprint."""
FIELD = type(vars(collections.namedtuple("_", "field"))["field"])
"""The class of a named tuple's field descriptors."""


def portable(value: Any) -> str:
    """Return a short text that stands for a fingerprint. Raises Unstorable if it depends on this process alone."""
    return hashlib.sha256(_text(value, DEPTH).encode()).hexdigest()


def _text(value: Any, depth: int) -> str:
    if depth == 0:
        raise Unstorable("it reads objects that are nested without end")
    if isinstance(value, Same):
        return _object(value.value, depth - 1)
    if isinstance(value, tuple):
        version = _version(value[1]) if len(value) > 1 and value[0] == "library" else ""
        return f"({version}{','.join(_text(v, depth - 1) for v in value)})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(_text(v, depth - 1) for v in value))}}}"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    return _object(value, depth - 1)


def _object(value: Any, depth: int) -> str:
    if isinstance(value, types.CodeType):
        return _code(value, depth)
    if isinstance(value, types.FunctionType):
        return _text(fingerprint(value), depth)
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__} {_version(value.__name__)}"
    if isinstance(value, type):
        return f"class {value.__module__}.{value.__qualname__} {_version(value.__module__)}"
    if isinstance(value, np.dtype):
        return f"dtype {value.str} {value.name}"
    if isinstance(value, Block):
        return _block(value)
    if isinstance(value, Schema):
        return f"operator {value.kind}"
    if value is Ellipsis or value is NotImplemented or isinstance(value, FIELD):
        return repr(value)
    owner = value.__self__ if isinstance(value, types.BuiltinFunctionType) else getattr(value, "__objclass__", None)
    if isinstance(owner, type | types.ModuleType):
        return f"{_object(owner, depth)}.{value.__name__}"
    return _named(value)


def _code(code: types.CodeType, depth: int) -> str:
    """Return a text of what makes code objects equal, line numbers included: errors show them."""
    parts = (
        code.co_filename, code.co_firstlineno, code.co_qualname, code.co_flags, code.co_argcount,
        code.co_posonlyargcount, code.co_kwonlyargcount, code.co_code, code.co_names, code.co_varnames,
        code.co_freevars, code.co_cellvars, code.co_consts, code.co_linetable, code.co_exceptiontable,
    )  # fmt: skip
    return f"code{_text(parts, depth)}"


def _block(block: Block) -> str:
    """Return a text for the program of a model or of a traced function that the function calls."""
    lines = [listing(block)]
    for digest, held in constants(block).items():
        if not isinstance(held, np.ndarray) or held.dtype.hasobject:
            raise Unstorable(f"it calls a program that holds a {type(held).__name__}")
        lines.append(f"{digest}: {hashlib.sha256(np.ascontiguousarray(held).tobytes()).hexdigest()}")
    return "\n".join(lines)


def _version(module: str) -> str:
    found = getattr(sys.modules.get(module.partition(".")[0]), "__version__", "")
    return found if isinstance(found, str) else ""


def _named(value: Any) -> str:
    """Return a text for an object of a library, by the name that leads to it. Raises Unstorable for one without."""
    if isinstance(value, np.ufunc):
        places = [(m, value.__name__) for m in ("numpy", "scipy.special")]
    else:
        places = [(getattr(value, "__module__", ""), getattr(value, "__qualname__", ""))]
    for module, name in places:
        if isinstance(name, str) and getattr(sys.modules.get(module or ""), name, None) is value:
            return f"{type(value).__name__} {module}.{name} {_version(module)}"
    if names := _own_names(value):
        return f"{type(value).__name__} {'.'.join(names[0])}"
    raise Unstorable(f"it reads a {type(value).__name__}, which other processes have no name for")


def _own_names(value: Any) -> list[tuple[str, ...]]:
    """Return the names under which the modules of this package, and dictionaries in them, hold an object."""
    own = __name__.partition(".")[0]
    modules = [(n, vars(m)) for n, m in sorted(sys.modules.copy().items()) if n.partition(".")[0] == own]
    names: list[tuple[str, ...]] = [(n, held) for n, m in modules for held, found in m.items() if found is value]
    return names or [
        (name, held, key)
        for name, module in modules
        for held, table in module.items()
        if isinstance(table, dict) and not held.startswith("__")
        for key, found in table.items()
        if found is value and isinstance(key, str)
    ]


class References:
    """Refers to objects by where they are: among those that a function reads, or in a module of this package.

    `read` are the objects that the function reads, as `fingerprint.objects_read` lists them.
    """

    def __init__(self, read: Sequence[Any]) -> None:
        self.read = read

    def tell(self, value: Any) -> Any:
        """Return a reference to an object. Raises Unstorable if it is in neither place."""
        for place, met in enumerate(self.read):
            if met is value:
                return place
        names = _own_names(value)
        if not names:
            raise Unstorable(
                f"it calls or makes {getattr(value, '__qualname__', value)}, which it does not read by a name"
            )
        return list(names[0])

    def find(self, told: Any) -> Any:
        """Return the object of a reference. Raises LookupError if there is none."""
        if isinstance(told, int):
            return self.read[told]
        module, *names = told
        if module.partition(".")[0] != __name__.partition(".")[0]:
            raise LookupError(f"{module} is no module of this package")
        current = vars(sys.modules[module])
        for name in names:
            current = current[name]
        return current


# The structure of nested arguments and results.


def told_structure(spec: TreeSpec, references: References) -> Any:
    """Return a structure as JSON values. Raises Unstorable for a container that cannot be built from them again."""
    encoded = _tell(unflatten(spec, list(range(spec.num_leaves))), references)
    if read_structure(encoded, references) != spec:
        raise Unstorable(f"it takes or returns {spec}")
    return encoded


def _tell(tree: Any, references: References) -> Any:
    def inner(items: Sequence[Any]) -> list[Any]:
        return [_tell(v, references) for v in items]

    if tree is None or isinstance(tree, int):
        return tree
    if type(tree) is list or type(tree) is tuple:
        return [type(tree).__name__, inner(tree)]
    if type(tree) is dict and all(isinstance(k, str) for k in tree):
        return ["dict", list(tree), inner(list(tree.values()))]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return ["named", references.tell(type(tree)), inner(tree)]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [f.name for f in dataclasses.fields(tree)]
        return ["fields", references.tell(type(tree)), names, inner([getattr(tree, n) for n in names])]
    raise Unstorable(f"it takes or returns a {type(tree).__name__}")


def read_structure(told: Any, references: References) -> TreeSpec:
    """Return the structure that `told_structure` wrote."""
    return flatten(_read(told, references))[1]


def _read(told: Any, references: References) -> Any:
    if told is None or isinstance(told, int):
        return told
    form, *rest = told
    items = [_read(v, references) for v in rest[-1]]
    if form in _PLAIN:
        return _PLAIN[form](items)
    if form == "dict":
        return dict(zip(rest[0], items, strict=True))
    kind = references.find(rest[0])
    if not isinstance(kind, type):
        raise LookupError(f"{kind} is no class")
    if form == "named":
        return tuple.__new__(kind, items)
    instance: Any = object.__new__(kind)
    for name, value in zip(rest[1], items, strict=True):
        object.__setattr__(instance, name, value)
    return instance


_PLAIN: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple}
