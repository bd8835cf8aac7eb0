"""Store recordings in a folder beyond their process: one file for each signature of a cached function.

A file is JSON: the recording in the form of `encoding`, and a digest of that. It is found by a digest of all that the
recording depends on: the function's code and what it reads, the signature, the derivative rules registered since
primsplit was imported, and the versions of primsplit (its sources), NumPy and Python. Files are written under another
name and then renamed, so that processes may share a folder. Reading one runs nothing of it.
"""

import functools
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Attribute, Block, Op
from primsplit.ir.atomic_files import write_whole
from primsplit.ir.caching.fingerprint import fingerprint, objects_read
from primsplit.ir.errors import PrimsplitError, StoreWarning
from primsplit.ir.notation.encoding import Calls, Unstorable, decoded, encoded
from primsplit.ir.reasons import RAISES, Reason
from primsplit.rewrites.decompositions.own import DECOMPOSED
from primsplit.rewrites.rewrites.patterns import PATTERNS
from primsplit.rules.table import BLOCK_RULES, FRULES, RULES
from primsplit.targets.stages import OWN
from primsplit.tracing.calls.flat_rules import Flat
from primsplit.tracing.calls.portable import References, portable, read_structure, told_structure
from primsplit.tracing.calls.primitive import Primitive
from primsplit.tracing.registering import Epoch
from primsplit.tracing.trees import TreeSpec
from primsplit.transforms.batching.table import BATCHING
from primsplit.transforms.boundaries import Bounded

FORMAT = 3
OF_KIND = (np.zeros(()), np.float64(0.0), 0.0)
"""The stand-ins for an array, a number of NumPy's and one of Python's among the arguments of a primitive."""
Recorded = tuple[Block, TreeSpec]


class Store:
    """The recordings of one function in a folder, which other functions and processes may share."""

    def __init__(self, folder: str | os.PathLike[str], function: Any, name: str) -> None:
        self.folder = os.path.abspath(os.fspath(folder))
        self.function = function
        self.name = "".join(c for c in name if c.isalnum() or c in "_-") or "recording"

    def path(self, spec: TreeSpec, parts: tuple[Any, ...]) -> str:
        """Return the path of the recording for arguments of this structure and signature. Raises Unstorable."""
        structure = json.dumps(told_structure(spec, self._references()))
        told = (FORMAT, _sources(), np.__version__, sys.version, _rules(Epoch.count), structure, parts)
        key = portable((*told, self.name, fingerprint(self.function)))
        return os.path.join(self.folder, f"{self.name}-{key[:40]}.json")

    def read(self, path: str) -> Recorded | None:
        """Return the recording in a file; None if there is no file, or, with a warning, if it cannot be read."""
        try:
            with open(path, encoding="utf-8") as file:
                told = json.load(file)
            if told["format"] != FORMAT or told["digest"] != _digest(told["result"], told["recording"]):
                raise ValueError("it is damaged, or no recording of this version")
            references = self._references()
            block = decoded(told["recording"], _Rules(references))
            return block, read_structure(told["result"], references)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, LookupError, AttributeError, PrimsplitError, OSError, RecursionError) as error:
            _warn(f"{path} is not used, and is written again: {error}")
            return None

    def write(self, path: str, recorded: Recorded) -> None:
        """Write a recording, completely or not at all. Raises Unstorable for one that a file cannot hold."""
        references = self._references()
        recording = encoded(recorded[0], _Rules(references))
        result = told_structure(recorded[1], references)
        told = {"format": FORMAT, "digest": _digest(result, recording), "result": result, "recording": recording}
        try:
            os.makedirs(self.folder, exist_ok=True)
            write_whole(path, lambda file: file.write(json.dumps(told).encode()))
        except OSError as error:
            _warn(f"the store does not keep it: {error}")

    def clear(self) -> None:
        """Remove the files of functions of this name."""
        if os.path.isdir(self.folder):
            for entry in os.listdir(self.folder):
                if entry.startswith(f"{self.name}-") and entry.endswith(".json"):
                    os.unlink(os.path.join(self.folder, entry))

    def _references(self) -> References:
        return References(objects_read(self.function))


def _digest(*told: Any) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _warn(told: str) -> None:
    place = tracing.user_place()
    warnings.warn_explicit(told, StoreWarning, place.filename if place else __file__, place.line if place else 0)


@functools.cache
def _sources() -> str:
    """Return a digest of this package's own code."""
    root = os.path.dirname(os.path.abspath(sys.modules["primsplit.ir.errors"].__file__ or ""))
    digest = hashlib.sha256()
    for folder, inner, files in os.walk(root):
        inner.sort()
        for name in sorted(f for f in files if f.endswith((".py", ".json"))):
            with open(os.path.join(folder, name), "rb") as file:
                digest.update(name.encode() + file.read())
    return digest.hexdigest()


_TABLES: tuple[dict[Any, Any], ...] = (RULES, FRULES, BLOCK_RULES, BATCHING, PATTERNS, DECOMPOSED, OWN)
_OWN = tuple(map(dict, _TABLES))


@functools.lru_cache(4)
def _rules(epoch: int) -> str:
    """Return a key of the rules that were registered after this package was imported."""
    changed = [
        (kind, fingerprint(getattr(entry, "rule", entry)), fingerprint(getattr(entry, "form", None)))
        for table, own in zip(_TABLES, _OWN, strict=True)
        for kind, entry in sorted(table.items())
        if own.get(kind) is not entry
    ]
    return portable(tuple(changed))


class _Rules(Calls):
    """The rules of calls: those of primitives, by where the primitive is found, and those of calls that stay."""

    def __init__(self, references: References) -> None:
        self.references = references

    def tell(self, op: Op) -> Any:
        rules = [op.attributes.get(name) for name in ("rule", "frule", "batch")]
        told: dict[str, Any] = {n: v for n, v in op.attributes.items() if n not in {"body", "rule", "frule", "batch"}}
        if not all(isinstance(v, bool | int | str) for v in told.values()):
            raise Unstorable(f"{op.kind} holds an object")
        flat = next((rule for rule in rules if isinstance(rule, Flat)), None)
        if flat is not None:
            told["primitive"] = self._tell(flat)
        elif isinstance(rules[0], Bounded):
            told["bounded"] = rules[0].name
        made = self.attributes(told, op.attributes["body"])
        if {n: type(v) for n, v in made.items()} != {n: type(v) for n, v in op.attributes.items()}:
            raise Unstorable(f"{op.kind} has a rule that no other process has")
        return told

    def _tell(self, flat: Flat) -> Any:
        if flat.site is not None:
            raise Unstorable(f"{flat.primitive.name} has a staged rule, which is made for each of its call sites")
        if not all(x is None or isinstance(x, bool | int | str) for x in flat.static):
            raise Unstorable(f"{flat.primitive.name} has a static argument that is no number or text")
        return {
            "where": self.references.tell(flat.primitive),
            "static": flat.static,
            "kinds": flat.kinds,
            "arguments": told_structure(flat.spec, self.references),
            "results": told_structure(flat.result_spec, self.references),
        }

    def attributes(self, told: Any, body: Block) -> Mapping[str, Attribute]:
        held = {n: v for n, v in told.items() if n not in {"primitive", "bounded"}}
        if "bounded" in told:
            return {"body": body, **held, "rule": Bounded(told["bounded"], body)}
        if "primitive" not in told:
            return {"body": body, **held}
        return self._primitive(told["primitive"], body)

    def remark(self, told: str) -> str:
        """Return the remark.

        For an op that fails, with the class of the error, which the function reads by its name.
        """
        if not told.startswith(RAISES):
            return told
        read = (value for value in self.references.read if isinstance(value, type))
        return Reason.told(told, {c.__name__: c for c in read if issubclass(c, BaseException)})

    def _primitive(self, told: Any, body: Block) -> Mapping[str, Attribute]:
        primitive = self.references.find(told["where"])
        if not isinstance(primitive, Primitive):
            raise LookupError(f"{primitive} is no primitive")
        leaves = [s if k is None else OF_KIND[k] for k, s in zip(told["kinds"], told["static"], strict=True)]
        arguments = read_structure(told["arguments"], self.references)
        return primitive.attributes(body, leaves, arguments, read_structure(told["results"], self.references))
