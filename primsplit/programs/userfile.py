"""Load a user's file by its path, and find the function that is meant in it.

A file may set more for its main function, all of it optional: `main` (the function, or its name), `wrt` (the arguments
to differentiate), `mode` (what to export: see `export.derive`), `example_inputs()` (a tuple or dict of arguments), and
`specs` (types of inputs by their name in the file, `{"images": "[N,64]"}`). In a file without a main function,
`example_inputs()` is for each function that takes these arguments. A file of a package may import relatively.
"""

import ast
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

from primsplit.ir.errors import FileError, Place, SpecError
from primsplit.ir.parsing import parsed_text
from primsplit.tracing import defined_at
from primsplit.tracing.functionlike import unbound

Function = Callable[..., Any]
_TARGET = re.compile(r"^(?P<path>.+?)(?::(?P<name>[^\W\d][\w.]*(?<!\.py))?)?$")


@dataclass(frozen=True, slots=True)
class UserFile:
    """A function of a user's file, and the file's settings for it."""

    path: str
    module: ModuleType
    function: Function
    is_main: bool

    @property
    def name(self) -> str:
        """The function's name."""
        function = unbound(self.function)
        return getattr(function, "__name__", type(function).__name__)

    @property
    def wrt(self) -> tuple[str, ...] | None:
        """The arguments to differentiate, if the file says so. Raises SpecError for anything but names."""
        said = getattr(self.module, "wrt", None) if self.is_main else None
        if said is None:
            return None
        names = (said,) if isinstance(said, str) else tuple(said) if isinstance(said, Iterable) else (said,)
        if not all(isinstance(n, str) for n in names):
            raise SpecError(f"wrt in {_short(self.path)} must hold names of inputs, not {said!r}")
        return names

    @property
    def mode(self) -> str | None:
        """The mode to export, if the file says so. Raises SpecError for anything but a text."""
        said = getattr(self.module, "mode", None) if self.is_main else None
        if said is not None and not isinstance(said, str):
            raise SpecError(f"mode in {_short(self.path)} must be a text such as 'hvp', not {said!r}")
        return said

    @property
    def specs(self) -> Mapping[str, str]:
        """The file's `specs`: texts like `f32[N,3]` by the name of an input. Raises SpecError for anything else."""
        said = getattr(self.module, "specs", {}) if self.is_main else {}
        if not isinstance(said, Mapping) or not all(isinstance(v, str) for pair in said.items() for v in pair):
            raise SpecError(
                f"specs in {_short(self.path)} must be a dict of texts, not {said!r}",
                cure='Write it like specs = {"x": "f32[N,3]"}.',
            )
        return dict(said)

    @property
    def examples_of(self) -> str:
        """The main function, if the file has `example_inputs()` for that and this takes others; else ""."""
        main = getattr(self.module, "main", None)
        if self.is_main or main is None or not hasattr(self.module, "example_inputs"):
            return ""
        function = getattr(self.module, main, None) if isinstance(main, str) else main
        if callable(function) and _parameters(function) == _parameters(self.function):
            return ""
        return main if isinstance(main, str) else str(getattr(main, "__name__", "main"))

    def example(self) -> inspect.BoundArguments | None:
        """Return the result of `example_inputs()` as arguments of the function; None if the file has none for it.

        Raises SpecError if it is not a function, or does not return arguments of the main function.
        """
        make = getattr(self.module, "example_inputs", None)
        if make is None or self.examples_of:
            return None
        if not callable(make):
            told = f"example_inputs in {_short(self.path)} must be a function, not {make!r:.60}"
            raise SpecError(told, cure="Write def example_inputs(): return (x, ...).")
        given = make()
        if not isinstance(given, tuple | list | dict):
            told = f"example_inputs() returns a {type(given).__name__}, which is no tuple of arguments"
            raise SpecError(told, place=defined_at(make), cure="Return a tuple, also of one argument: return (x,).")
        args, named = ((), given) if isinstance(given, dict) else (given, {})
        try:
            return inspect.signature(self.function).bind(*args, **named)
        except TypeError as error:
            if not self.is_main:
                return None
            raise SpecError(
                f"example_inputs() does not fit {self.name}: {error}",
                place=defined_at(make),
                cure=f"Return a tuple with one value for each of {self.name}'s arguments, or a dict by their names.",
            ) from None


def _parameters(function: Function) -> list[str]:
    return list(inspect.signature(function).parameters)


def read_target(target: str) -> tuple[str, str | None]:
    """Return the path and the function's name of `model.py` or `model.py:function`."""
    match = _TARGET.match(target)
    return (target, None) if match is None else (match["path"], match["name"] or None)


def load(target: str) -> UserFile:
    """Return the function that `model.py` or `model.py:function` means.

    Without a name it is the file's `main`, or its only public function. Raises FileError if the file cannot be read or
    is not Python, SpecError if it is not clear which function is meant; and errors of running the file.
    """
    path, name = read_target(target)
    module = load_module(path)
    function, is_main = _find(module, path, name)
    return UserFile(path, module, function, is_main)


def load_module(path: str) -> ModuleType:
    """Return the module of the file at `path`; its folder is importable from. Raises FileError."""
    syntax = _syntax(path)
    folder = os.path.dirname(os.path.abspath(path))
    name = "primsplit_model_" + re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    importable = [folder]
    if any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(syntax)):
        package, root = _package(folder)
        if package:
            name = f"{package}.{name}"
            importable.append(root)
    sys.path[:0] = [place for place in importable if place not in sys.path]
    loader = _Loader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader) if path.endswith(".py") else None
    if spec is None:
        raise FileError(f"{path} is not Python: its name does not end in .py", cure=_named_as(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


class _Loader(SourceFileLoader):
    """Reads a user's file, and leaves no `__pycache__` beside it."""

    def set_data(self, *_: object, **__: object) -> None:
        """Write nothing."""


def _package(folder: str) -> tuple[str, str]:
    """Return the package of a folder, "" if it is none, and the folder that it is imported from."""
    names: list[str] = []
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    return ".".join(names), folder


def _syntax(path: str) -> ast.Module:
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise FileError(f"cannot read {path or repr(path)}: {error.strerror or error}") from None
    try:
        compile(source, path, "exec")
        return parsed_text(source, path)
    except SyntaxError as error:
        line = error.lineno or 0
        place = Place(path, line, "<module>") if line else None
        raise FileError(f"{_short(path)} is not Python: {error.msg}", place=place, cure=_named_as(path)) from None
    except ValueError as error:
        raise FileError(f"{_short(path)} is not Python: {error}", cure=_named_as(path)) from None


def _named_as(path: str) -> str:
    """Return how to name a file, if its name is wrong."""
    return "" if path.endswith(".py") else "The name of a Python file ends in .py, that of an ONNX model in .onnx."


def _find(module: ModuleType, path: str, name: str | None) -> tuple[Function, bool]:
    """Return the function meant, and whether it is the one that the file's `example_inputs` are for."""
    public = _public_functions(module)
    main = getattr(module, "main", None)
    main = getattr(module, main, main) if isinstance(main, str) else main
    if name is None and callable(main):
        return main, True
    if name is None and main is not None:
        raise SpecError(f"{_short(path)} says main = {main!r}, which is no function in it", because=_told(public))
    if name is None and len(public) == 1:
        return next(iter(public.values())), True
    if name is None:
        what = "has several functions" if public else "has no function"
        cure = (
            f"Say which: {path}:{next(iter(public))}, or write main = {next(iter(public))!r} in it." if public else ""
        )
        raise SpecError(f"{_short(path)} {what}", because=_told(public), cure=cure)
    found = _attribute(module, name)
    if not callable(found):
        near = get_close_matches(name, public, n=1)
        cure = f"The nearest name is {near[0]}." if near else ""
        raise SpecError(f"{_short(path)} has no function {name}", because=_told(public), cure=cure)
    return found, found is main or (main is None and len(public) == 1)


def _attribute(module: ModuleType, name: str) -> Any:
    """Return the value of `loss`, `model.energy` or `Model.energy` in a file, None if it is not there."""
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _public_functions(module: ModuleType) -> dict[str, Function]:
    """Return the functions that the file itself defines, in its order, without those that serve the main one."""
    return {
        name: value
        for name, value in vars(module).items()
        if callable(value)
        and not isinstance(value, type)
        and getattr(unbound(value), "__module__", None) == module.__name__
        and not name.startswith("_")
        and name not in {"example_inputs", "demo", "main"}
    }


def _told(functions: Mapping[str, Function]) -> tuple[str, ...]:
    names = list(functions)
    if not names:
        return ()
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (f"its functions are {', '.join(names[:8])}{more}",)


def _short(path: str) -> str:
    return os.path.basename(path)
