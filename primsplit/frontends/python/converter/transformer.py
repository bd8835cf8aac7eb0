"""Rewrites a definition: its calls, elements, attributes, operators and iterations call operators of this package.

    table[i] = math.sin(x) + 1      _ps.indexed(table)[i] = _ps.add(_ps.called(_ps.owner(math).sin)(x), 1)

Statements, names and Python's order of evaluation stay as they are: an operator receives the value that Python has
evaluated there, and its result takes that place.
"""

import ast
from typing import TypeVar

Made = TypeVar("Made", bound=ast.AST)

OPERATORS = "_ps"
"""The name of the operators in a copy."""
LOOP = "_loop_"
"""The prefix of the names that hold loop recorders in a rewritten function."""

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mult", ast.MatMult: "matmult", ast.Div: "div", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "bit_or", ast.BitXor: "bit_xor",
    ast.BitAnd: "bit_and", ast.FloorDiv: "floor_div",
}  # fmt: skip
"""The operators for Python's binary operators."""
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "not_eq", ast.Lt: "lt", ast.LtE: "lte", ast.Gt: "gt", ast.GtE: "gte",
    ast.Is: "is_", ast.IsNot: "is_not", ast.In: "in_", ast.NotIn: "not_in",
}  # fmt: skip


class Transformer(ast.NodeTransformer):
    """A rewrite of a function. Calls of `helpers`, which are names of this package, stay unchanged."""

    def __init__(self, helpers: frozenset[str] = frozenset()) -> None:
        self.helpers = helpers | {OPERATORS}
        self.in_place: set[ast.expr] = set()
        """The targets of augmented assignments."""

    def _asked(self, node: ast.AST, operator: str, *operands: ast.expr) -> ast.expr:
        owner = ast.Attribute(ast.Name(OPERATORS, ast.Load()), operator, ast.Load())
        return at(node, ast.Call(owner, [*operands], []))

    def _body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        visited = (self.visit(s) for s in statements)
        return [s for each in visited for s in (each if isinstance(each, list) else [each])]

    def _is_ours(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return False
        return node.value.id in self.helpers or node.value.id.startswith(LOOP)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        func = node.func
        self.generic_visit(node)
        is_super = isinstance(func, ast.Name) and func.id == "super" and not node.args
        if not self._is_ours(func) and not is_super:
            node.func = self._asked(node.func, "called", node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        if self._is_ours(node):
            return node
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._asked(node.value, "owner", node.value)
        else:
            operator = "owner_in_place" if node in self.in_place else "changed_owner"
            node.value = self._asked(node.value, operator, node.value, _attribute_name(node.attr))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        self.generic_visit(node)
        operator = "indexed_in_place" if node in self.in_place else "changed"
        node.value = self._asked(node.value, "indexed" if isinstance(node.ctx, ast.Load) else operator, node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        is_text = isinstance(node.left, ast.JoinedStr) or isinstance(getattr(node.left, "value", None), str)
        if is_text or (isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)):
            return node
        return self._asked(node, BINARY[type(node.op)], node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if type(node.op) not in UNARY or isinstance(node.operand, ast.Constant):
            return node
        return self._asked(node, UNARY[type(node.op)], node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1:  # the middle terms must be evaluated once
            return node
        return self._asked(node, COMPARISONS[type(node.ops[0])], node.left, *node.comparators)

    def visit_Global(self, node: ast.Global) -> list[ast.stmt]:
        return [node, *(self._noted(node, name) for name in node.names)]

    def visit_Nonlocal(self, node: ast.Nonlocal) -> list[ast.stmt]:
        return [node, *(self._noted(node, name) for name in node.names)]

    def _noted(self, node: ast.stmt, name: str) -> ast.stmt:
        """Return a statement that notes a global or nonlocal name before the function may assign it."""
        return at(node, ast.Expr(self._asked(node, "assigning", later(ast.Name(name, ast.Load())))))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.in_place.add(node.target)
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        read = at(node, ast.Name(node.target.id, ast.Load()))
        value = self._asked(node, f"in_place_{BINARY[type(node.op)]}", read, node.value)
        return at(node, ast.Assign([node.target], value))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        self.generic_visit(node)
        node.body.insert(0, at(node.body[0], ast.Expr(self._asked(node.body[0], "caught"))))
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = self._asked(node.iter, "iterated", node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = self._asked(node.iter, "iterated", node.iter)
        return node

    def visit_withitem(self, node: ast.withitem) -> ast.withitem:
        self.generic_visit(node)
        node.context_expr = self._asked(node.context_expr, "managed", node.context_expr)
        return node

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AsyncWith:
        node.body = self._body(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.target = self.visit(node.target)
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        node.body = self._body(node.body)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node  # its annotation is for readers

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        node.guard = self.visit(node.guard) if node.guard else None
        node.body = self._body(node.body)
        return node  # a pattern is no expression


def _attribute_name(name: str) -> ast.expr:
    """Return an expression for an attribute's name; for a private one, a function, whose code has the mangled name."""
    if not name.startswith("__") or name.endswith("__"):
        return ast.Constant(name)
    owner = ast.arg("owner")
    arguments = ast.arguments([], [owner], None, [], [], None, [])
    return ast.Lambda(arguments, ast.Attribute(ast.Name("owner", ast.Load()), name, ast.Load()))


def later(value: ast.expr) -> ast.Lambda:
    """Return the expression as a function without arguments."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def at(node: ast.AST, new: Made) -> Made:
    """Return a new node, and the new nodes in it, at the position of another."""
    return ast.fix_missing_locations(ast.copy_location(new, node))
