"""Write `softmax(q @ k.mT / sqrt(8) + mask) @ v` as `attention(q, k, v, mask)`, where nothing else reads the weights.

```
weights = softmax(q @ k.mT / sqrt(8) + mask, axis=-1); y = weights @ v   ->   y = attention(q, k, v, mask)
```

Where the pullback reads the weights, they are a statement of their own, and the product with the values is another.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from primsplit.audit.mathematics.axes import is_swap, transposed
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import number_tree, text_of
from primsplit.audit.mathematics.sizes import Shape
from primsplit.audit.mathematics.terms import is_known
from primsplit.audit.trees import call, variable_nodes

Shapes = Callable[[str], Shape | None]


def with_attention(lines: Sequence[Shown], kept: frozenset[str], shapes: Shapes) -> None:
    """Replace attention that is written out in statements; the values in `kept` have statements."""
    every = [line for top in lines for line in top.walk()]
    read = Counter(
        node.id for line in every for part in (line.value, line.expression) if part for node in variable_nodes(part)
    )
    values = {
        line.target: line.value
        for line in every
        if line.value is not None and line.target not in kept and read[line.target] == 1
    }
    for line in every:
        if line.value is not None and not line.below:
            search = _Search(values, shapes)
            line.value = search.visit(copy.deepcopy(line.value))
            line.covers = line.covers | search.used


@dataclass
class _Search(ast.NodeTransformer):
    """Replaces attention in an expression; `values` are those that are read once, `used` those that are in it then."""

    values: Mapping[str, ast.expr]
    shapes: Shapes
    used: set[str] = field(default_factory=set)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        before = set(self.used)
        found = self.attention(node) if isinstance(node.op, ast.MatMult) else None
        if found is not None:
            return found
        self.used = before
        self.generic_visit(node)
        return node

    def seen(self, node: ast.expr) -> ast.expr:
        """Return the value of a variable that is read once, and the expression itself of another."""
        while isinstance(node, ast.Name) and node.id in self.values:
            self.used.add(node.id)
            node = self.values[node.id]
        return node

    def attention(self, node: ast.BinOp) -> ast.expr | None:
        """Return the call of attention for a product of weights and values."""
        weights = self.seen(node.left)
        if not isinstance(weights, ast.Call) or ast.unparse(weights.func) != "softmax":
            return None
        mask: ast.expr | None = None
        scores = self.seen(weights.args[0])
        if isinstance(scores, ast.BinOp) and isinstance(scores.op, ast.Add):
            mask, scores = scores.right, self.seen(scores.left)
        scaled = self.scaled(scores)
        if scaled is None:
            return None
        queries, keys, scale = scaled
        axis = [ast.unparse(k.value) for k in weights.keywords if k.arg == "axis"]
        rank = self.rank(queries, keys, node.right)
        if rank is None or axis not in (["-1"], [str(rank - 1)]):
            return None
        turned = transposed(keys)
        if isinstance(keys, ast.Attribute) and keys.attr == "T" and rank == 2:
            plain = keys.value
        elif turned is not None and is_swap(turned[1]):
            plain = turned[0]
        else:
            return None
        told = {} if self.is_usual(scale, queries, plain) else {"scale": scale}
        return call("attention", queries, plain, node.right, *([] if mask is None else [mask]), **told)

    def scaled(self, node: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr] | None:
        """Return the queries, the keys with their axes exchanged and the scale of scores."""
        scale: ast.expr = ast.Constant(1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and is_known(node.right):
            scale, node = ast.BinOp(ast.Constant(1), ast.Div(), node.right), self.seen(node.left)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and is_known(node.left):
            scale, node = node.left, self.seen(node.right)
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.MatMult):
            return None
        queries = node.left
        if isinstance(queries, ast.BinOp) and isinstance(queries.op, ast.Mult) and is_known(queries.left):
            if ast.unparse(scale) != "1":
                return None
            scale, queries = queries.left, queries.right
        return queries, node.right, scale

    def rank(self, *nodes: ast.expr) -> int | None:
        """Return the number of axes of the first operand for which it is known."""
        for node in nodes:
            found = transposed(node)
            if found is not None:
                return len(found[1])
            inner = node.value if isinstance(node, ast.Attribute) and node.attr == "T" else node
            shape = self.shapes(inner.id) if isinstance(inner, ast.Name) else None
            if shape is not None:
                return len(shape)
        return None

    def is_usual(self, scale: ast.expr, *nodes: ast.expr) -> bool:
        """Whether a scale is one over the root of the number of elements of a query."""
        shapes = (self.shapes(node.id) for node in nodes if isinstance(node, ast.Name))
        last = next((shape[-1] for shape in shapes if shape), None)
        if not isinstance(last, int):
            return False
        usual = number_tree(last**0.5), number_tree(last**-0.5)
        return text_of(scale) in {f"1 / {text_of(usual[0])}", text_of(usual[1])}
