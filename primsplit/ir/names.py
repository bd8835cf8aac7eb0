"""Give Vars unique, readable names when a program is printed or saved: the user's own where there are any.

```
h = np.exp(x)   # in the user's function     ->   h = Exp(x)      and its cotangent d_h
np.exp(x) * y                                ->   a = Exp(x), b = Mul(a, y)              in a listing
                                             ->   exp_x = Exp(x), mul_x = Mul(exp_x, y)  in a file
```

In a file a value without a name is called by its operator and its root: the first named value that it is computed from.
A change elsewhere in a program leaves such a name.
"""

import keyword
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, product
from string import ascii_lowercase
from typing import Any

import numpy.typing as npt

from primsplit.ir import Block, Const, Op, Var
from primsplit.ir.providers import GivenAs, Provenance, Provider, check_given_as, check_provenance, check_provider
from primsplit.ir.runtimes import OLDEST, Runtime, read_target

LONGEST_ROOT = 24
"""The most characters of a name that the names of other values are made of."""


class Names:
    """Unique names for the Vars of a program.

    After `learn` has seen the program, no letter is used that a Var has as its hint. A cotangent is called `d_h`, a
    tangent `t_h`, if it is the only one of that name and only one value is called `h`. Otherwise it gets a letter,
    since numbers would not show which belong together: `unclear` are those hints. Without `hints` every Var gets a
    letter.
    """

    def __init__(self, taken: Iterable[str] = (), *, hints: bool = True) -> None:
        self.has_hints = hints
        self.of: dict[Var, str] = {}
        self.taken = set(taken)
        self.letters = _letters()
        self.numbers: dict[str, Iterator[int]] = {}
        self.hints: set[str] = set()
        self.unclear: set[str] = set()
        self.roots: dict[Var, str] = {}

    def learn(self, *blocks: Block) -> None:
        """Collect the hints in these blocks, and those that would be unclear."""
        uses = Counter(var.hint for var in {v for block in blocks for v in variables(block)})
        self.hints.update(uses)
        derived = (hint for hint in uses if hint.startswith(("d_", "t_")))
        self.unclear.update(hint for hint in derived if uses[hint] > 1 or uses[hint[2:]] > 1)

    def learn_roots(self, block: Block) -> None:
        """Find the root of each value of a block, and of the blocks inside of it."""
        self.roots.update((p, self._own_root(p)) for p in block.params)
        for op in block.ops:
            for inner in op.blocks():
                self.learn_roots(inner)
            for i, out in enumerate(op.outputs):
                self.roots[out] = self._own_root(out) or self._root_of(op, i)

    def _own_root(self, var: Var) -> str:
        return _short(self.of.get(var) or self.hint(var))

    def _root_of(self, op: Op, position: int) -> str:
        """Return the root of a result: that of the first operand that has one, floating-point ones before others."""
        branches = [inner.results[position] for inner in op.blocks()] if op.kind == "If" else []
        values = [*branches, *(v for v in op.inputs if v is not None)]
        read = sorted(values, key=lambda v: not v.type.is_float)
        roots = (self.roots.get(v, "") if isinstance(v, Var) else _short(v.hint) * v.is_weight for v in read)
        return next(filter(None, roots), "")

    def hint(self, var: Var) -> str:
        """Return the hint of a Var, "" if it would be unclear."""
        return "" if not self.has_hints or var.hint in self.unclear else var.hint

    def give(self, var: Var, wanted: str = "") -> str:
        """Return the name of a Var: the one it has, else `wanted` or its hint, else the next free letter."""
        known = self.of.get(var)
        if known is not None:
            return known
        stem = wanted or self.hint(var)
        name = self._numbered(stem) if stem else next(self.letters)
        while name in self.taken or (not stem and name in self.hints):
            name = next(self.letters)
        self.taken.add(name)
        self.of[var] = name
        return name

    def give_made(self, var: Var, kind: str) -> str:
        """Return the name of what an operator makes: like `give`, but `exp_x`, `exp_x_1` in the place of letters."""
        if not self.has_hints or var in self.of or self.hint(var):
            return self.give(var)
        root = self.roots.get(var, "")
        stem = f"{_stem(kind).rstrip('_')}_{root}" if root else _stem(kind)
        self.of[var] = name = self._numbered(stem, self.hints)
        self.taken.add(name)
        return name

    def _numbered(self, stem: str, kept: Collection[str] = ()) -> str:
        if stem not in self.taken and stem not in kept:
            return stem
        numbers = self.numbers.setdefault(stem, count(1))
        return next(name for i in numbers if (name := f"{stem}_{i}") not in self.taken and name not in kept)


def kept_apart(names: Iterable[str]) -> list[str]:
    """Return the names, with a number added to one that came before."""
    wanted = list(names)
    taken = set(wanted)
    seen: set[str] = set()
    unique: list[str] = []
    for name in wanted:
        chosen = next(n for i in count() if (n := f"{name}_{i}" if i else name) not in (taken if i else seen))
        seen.add(chosen)
        taken.add(chosen)
        unique.append(chosen)
    return unique


def name_captures(
    primal: Block, captures: Iterable[Var], inputs: Sequence[str], outputs: Sequence[str], taken: Iterable[str] = ()
) -> dict[Var, str]:
    """Return names for a primal's parameters and results, and for its captures.

    A capture has the input's name, the output's, that of the user's variable, or else that of its operator: `exp`,
    `exp_1`. None gets a name that is `taken`.
    """
    names = dict(zip(primal.params, inputs, strict=True))
    names.update((r, n) for r, n in zip(primal.results, outputs, strict=True) if isinstance(r, Var))
    free = Names((*inputs, *outputs, *taken))
    stored = set(captures) - names.keys()
    names.update((v, free.give(v, v.hint or _stem(op.kind))) for op in primal.ops for v in op.outputs if v in stored)
    return names


def _stem(kind: str) -> str:
    """Return a name for the result of an operator: `exp`, `max` for ReduceMax, `ndtr` for call::ndtr."""
    name = re.sub(r"\W", "_", kind.rpartition("::")[2].removeprefix("Reduce")).lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def _short(name: str) -> str:
    """Return the last part of a name, for names that are made of it: `w1` of `params.w1`; "" if it is long."""
    part = re.sub(r"\W", "_", re.split(r"[./:]", name)[-1])
    return part if len(part) <= LONGEST_ROOT else ""


def _letters() -> Iterator[str]:
    """Yield a to z, aa to zz, and so on."""
    return map("".join, chain.from_iterable(product(ascii_lowercase, repeat=length) for length in count(1)))


def variables(block: Block, enters: Callable[[Op], bool] = lambda op: True) -> Iterator[Var]:
    """Yield the Vars that a block, and the sub-blocks of the ops that are to be entered, define, in order."""
    yield from block.params
    for op in block.ops:
        for inner in op.blocks() if enters(op) else ():
            yield from variables(inner, enters)
        yield from op.outputs


@dataclass(frozen=True, slots=True)
class StatePair:
    """A state in a file: the input for its value, the output with the next value, and the first value.

    A state that is only read has no output.
    """

    name: str
    input: str
    output: str | None
    initial: npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class NamedBlock:
    """A block with the names of its inputs and outputs in a file.

    `gradients` are the positions of results that are gradients, which are computed last. `defaults` are the numbers
    that inputs have if a run sets none; `states` are the inputs and outputs that a run hands on to the next. `provider`
    is the execution provider of onnxruntime that the file is for, `runtime` the oldest version that runs it,
    `provenance` what it tells of its source.
    """

    block: Block
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    gradients: tuple[int, ...] = ()
    defaults: Mapping[str, Const] = field(default_factory=dict)
    states: tuple[StatePair, ...] = ()
    provider: Provider = "cpu"
    runtime: Runtime = OLDEST
    provenance: Provenance = "full"

    def on(
        self,
        provider: Provider,
        weights: GivenAs = "inputs",
        target: str | None = None,
        provenance: Provenance = "full",
    ) -> "NamedBlock":
        """Return the named block for another provider, without defaults unless weights are to keep their numbers.

        `target` is that of `read_target`. Raises SpecError for a provider or target that files are not written for, or
        another way to take weights, or another provenance.
        """
        check_provider(provider)
        check_given_as(weights)
        check_provenance(provenance)
        runtime, defaults = read_target(target), self.defaults if weights == "defaults" else {}
        return replace(self, provider=provider, runtime=runtime, defaults=defaults, provenance=provenance)
