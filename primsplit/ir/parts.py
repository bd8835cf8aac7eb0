"""Define Split: a program as a primal and a pullback, two lists of ops with no closure between them.

The primal maps parameters to results. The pullback maps the *captures*, values of the primal that it reads, and the
cotangents of the results to the cotangents of parameters. Both lists share Vars: a capture is the same Var in both.

```
f(x):                    f.pullback(b, dc):    # captures b
  b = Exp(x)        ->     dx = Mul(dc, b)
  return b                 return dx
```
"""

from dataclasses import dataclass
from typing import Literal

from primsplit.ir import Block, Var
from primsplit.ir.analysis.dependence import SHAPES

CaptureKind = Literal["input", "output", "intermediate", "shape"]


@dataclass(frozen=True, slots=True)
class Split:
    """A program split into a primal and a pullback.

    `wrt` are the positions of the parameters whose gradient was requested; `targets` those of them that the results
    depend on, one for each result of the pullback. `of` are the positions of the results that have a cotangent.
    """

    primal: Block
    pullback: Block
    captures: tuple[Var, ...]
    wrt: tuple[int, ...]
    targets: tuple[int, ...]
    of: tuple[int, ...]

    @property
    def cotangents(self) -> tuple[Var, ...]:
        """The pullback's parameters after the captures: one for each result in `of`."""
        return self.pullback.params[len(self.captures) :]

    def kinds(self) -> dict[Var, CaptureKind]:
        """Return the kind of each capture: an input or output of the primal costs no memory of its own."""
        shapes = {v for op in self.primal.ops if op.kind in SHAPES for v in op.outputs}
        kinds: dict[Var, CaptureKind] = {c: "shape" if c in shapes else "intermediate" for c in self.captures}
        kinds.update({r: "output" for r in self.primal.results if isinstance(r, Var) and r in kinds})
        kinds.update({p: "input" for p in self.primal.params if p in kinds})
        return kinds

    def kind(self, capture: Var) -> CaptureKind:
        """Return the kind of one capture."""
        return self.kinds()[capture]

    def stored(self) -> tuple[Var, ...]:
        """Return the captures that are neither inputs nor outputs: what the forward pass must keep."""
        kinds = self.kinds()
        return tuple(c for c in self.captures if kinds[c] in {"intermediate", "shape"})

    def joint(self) -> Block:
        """Return one block: parameters and cotangents in; results and the targets' cotangents out."""
        return Block(
            self.primal.name,
            (*self.primal.params, *self.cotangents),
            (*self.primal.ops, *self.pullback.ops),
            (*self.primal.results, *self.pullback.results),
        )

    @property
    def forward(self) -> Block:
        """The primal, with the captures that must be stored as further results."""
        primal = self.primal
        return Block(primal.name, primal.params, primal.ops, (*primal.results, *self.stored()))

    @property
    def backward(self) -> Block:
        """The pullback alone: captures and cotangents in, the targets' cotangents out."""
        return self.pullback
