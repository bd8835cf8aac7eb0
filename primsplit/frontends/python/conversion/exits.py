"""Rewrites loops that end by a traced condition into parts that run while the loop has not ended.

    for k in range(100):            ended = False
        a                           for k in range(100):
            if c:                       a               # the first part
                break                   if c:
            b                               ended = True
    else:                               b               # the second part, which runs if not ended
        d                           if not ended:
                                        d

The test of a `while` becomes the first statement of its first part. A `return` ends the loop, and the function returns
after the loop, with the values that the names had at the end. A `raise` works likewise, and an `assert` is a branch
that raises.
"""

import ast
from collections.abc import Callable, Iterator, Sequence

from primsplit.frontends.python.conversion.plainer import OwnStatements, assignment
from primsplit.frontends.python.converter.transformer import at

Asks = Callable[[ast.expr], bool]
_LAST = ast.Return | ast.Raise
"""The statements that end the function as well as the loop."""
_ENDED = "_joined_ended"


class Part(ast.stmt):
    """Statements of a loop that run if the loop has not ended."""

    _fields = ("body",)

    def __init__(self, body: list[ast.stmt]) -> None:
        super().__init__()
        self.body = body


class Steps(ast.stmt):
    """A loop without `break` and `return`; `target` and `iter` are those of a `for`.

    The name `ended` is true once the loop has ended, and the name `item` holds the current item of a `for`.
    """

    _fields = ("target", "iter", "parts")

    def __init__(self, loop: ast.For | ast.While, parts: list[Part], number: int) -> None:
        super().__init__()
        self.target: ast.expr | None = getattr(loop, "target", None)
        self.iter: ast.expr | None = getattr(loop, "iter", None)
        self.parts = parts
        self.ended, self.item = f"{_ENDED}_{number}", f"_joined_item_{number}"


class _NotPlain(Exception):
    """The loop has an exit that this rewrite does not support."""


def with_steps(function: ast.FunctionDef, asks: Asks) -> None:
    """Rewrite the loops of a function as Steps if a test that ends them satisfies `asks`."""
    _Loops(asks).generic_visit(function)


class _Loops(OwnStatements):
    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return self._in_steps(node, node.body)

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if node.orelse:
            return node
        if isinstance(node.test, ast.Constant):
            return self._in_steps(node, node.body)
        last = at(node.test, ast.If(ast.UnaryOp(ast.Not(), node.test), [at(node.test, ast.Break())], []))
        return self._in_steps(node, [last, *node.body])

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if not __debug__ or not self.asks(node.test):
            return node  # `python -O` leaves it out
        error = ast.Call(ast.Name("AssertionError", ast.Load()), [node.msg] if node.msg else [], [])
        return at(node, ast.If(ast.UnaryOp(ast.Not(), node.test), [at(node, ast.Raise(error))], []))

    def _in_steps(self, node: ast.For | ast.While, body: list[ast.stmt]) -> ast.AST | list[ast.stmt]:
        tests = [*_tests_of_exits(body)]
        if not tests or not any(map(self.asks, (*tests, *_tests_before(body)))):
            return node
        number = next(self.numbers)
        ends = _Ends(number)
        try:
            steps = Steps(node, ends.parts(body), number)
        except _NotPlain:
            return node
        names = (ends.ended, *(name for name, _, _ in ends.returns))
        before: list[ast.stmt] = [at(node, assignment(name, False)) for name in names]
        after: list[ast.stmt] = []
        if node.orelse:
            after.append(at(tests[0], ast.If(_not(ends.ended), node.orelse, [])))
        for name, test, last in ends.returns:
            after.append(at(test, ast.If(ast.Name(name, ast.Load()), [last], [])))
        return [*before, at(node, steps), *after]


class _Ends:
    """The exits of one loop: the name that is true once it ended; a name and a test for each `return` and `raise`."""

    def __init__(self, number: int) -> None:
        self.ended, self.returned = f"{_ENDED}_{number}", f"_joined_returned_{number}"
        self.returns: list[tuple[str, ast.expr, ast.Return | ast.Raise]] = []

    def parts(self, body: Sequence[ast.stmt]) -> list[Part]:
        """Return the body of the loop, cut behind each statement that may end it."""
        for k, node in enumerate(body):
            if isinstance(node, ast.If) and _leaves(node) and not _goes_on([node]) and len(body) > k + 1:
                then, otherwise = (side and self.written(side, node.test) for side in (node.body, node.orelse))
                first = at(node, ast.If(node.test, then, otherwise))
                return [Part([*body[:k], first]), *self.parts(body[k + 1 :])]
            if _leaves(node):
                break
        return [Part(self.written(body))]

    def written(self, body: Sequence[ast.stmt], test: ast.expr | None = None) -> list[ast.stmt]:
        """Return statements that set names in place of leaving the loop. `test` is the innermost test around them."""
        for k, node in enumerate(body):
            if isinstance(node, ast.Continue):
                return [*body[:k], at(node, ast.Pass())]
            if isinstance(node, ast.Break | _LAST):
                return [*body[:k], *self._end(node, test)]
            if not _leaves(node):
                continue
            if not isinstance(node, ast.If):
                raise _NotPlain
            return [*body[:k], *self._branch(node, body[k + 1 :])]
        return [*body] or [ast.Pass()]

    def _end(self, node: ast.Break | ast.Return | ast.Raise, test: ast.expr | None) -> list[ast.stmt]:
        ended = at(node, assignment(self.ended, True))
        if isinstance(node, ast.Break):
            return [ended]
        if test is None:
            raise _NotPlain
        name = f"{self.returned}_{len(self.returns)}"
        self.returns.append((name, test, node))
        return [at(node, assignment(name, True)), ended]

    def _branch(self, node: ast.If, rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return an `if` that has an exit, with what follows in its other side or behind a test of `ended`."""
        then, otherwise = [*node.body], [*node.orelse]
        behind: list[ast.stmt] = []
        if _always_leaves(then):
            otherwise += rest
        elif otherwise and _always_leaves(otherwise):
            then += rest
        elif rest:
            if _goes_on([node]):
                raise _NotPlain
            behind = [at(node.test, ast.If(_not(self.ended), self.written(rest, node.test), []))]
        branch = ast.If(node.test, self.written(then, node.test), self.written(otherwise, node.test))
        return [at(node, branch), *behind]


def _own_exits(body: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """Yield the statements that leave the loop with this body, or continue with its next step."""
    for node in body:
        if isinstance(node, ast.Break | ast.Continue | _LAST):
            yield node
        elif isinstance(node, ast.For | ast.While | ast.AsyncFor):
            yield from (inner for inner in _own_exits(node.body) if isinstance(inner, _LAST))
            yield from _own_exits(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            yield from _own_exits([*ast.iter_child_nodes(node)])


def _leaves(node: ast.stmt) -> bool:
    return next(_own_exits([node]), None) is not None


def _goes_on(body: Sequence[ast.stmt]) -> bool:
    """Whether the statements have a `continue` of the loop."""
    return any(isinstance(inner, ast.Continue) for inner in _own_exits(body))


def _always_leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing of the step runs after the statements."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _always_leaves(last.body) and _always_leaves(last.orelse)
    return isinstance(last, ast.Break | ast.Continue | _LAST)


def _tests_of_exits(body: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the tests of the branches that leave the loop."""
    for node in body:
        if isinstance(node, ast.If) and any(not isinstance(e, ast.Continue) for e in _own_exits([node])):
            yield node.test
            yield from _tests_of_exits([*node.body, *node.orelse])


def _tests_before(body: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the tests of the branches that `continue` with the next step."""
    for node in body:
        if isinstance(node, ast.If) and _goes_on([node]):
            yield node.test
            yield from _tests_before([*node.body, *node.orelse])


def _not(name: str) -> ast.expr:
    return ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load()))


def with_item(node: Steps) -> list[list[ast.stmt]]:
    """Return the bodies of the loop's parts; the first one begins by assigning the item to the target."""
    first: list[ast.stmt] = []
    if node.target is not None:
        first = [ast.copy_location(ast.Assign([node.target], ast.Name(node.item, ast.Load())), node)]
    return [(first if k == 0 else []) + part.body for k, part in enumerate(node.parts)]


def made_here(items: ast.expr) -> ast.keyword:
    """Return a keyword argument: whether `items` is a call of `enumerate` or `zip`, which nothing else can hold."""
    is_call = isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id in {"enumerate", "zip"}
    return ast.keyword("is_made_here", ast.Constant(is_call))


def deciding(node: Steps) -> frozenset[str]:
    """Return the names that decide when a loop ends: what its exits read, what is assigned to that, and when."""
    flows = [flow for part in node.parts for flow in _flows(part, frozenset())]
    names = frozenset({node.ended})
    while more := frozenset[str]().union(*(read for given, read in flows if given & names)) - names:
        names |= more
    return names


def _flows(node: ast.AST, around: frozenset[str]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield for each statement the names that it assigns, and those that it reads or that decide whether it runs."""
    children = [*ast.iter_child_nodes(node)]
    is_whole = isinstance(node, ast.For | ast.While | ast.Try | ast.FunctionDef | ast.ClassDef)
    names = [
        name
        for child in ([node] if is_whole else [c for c in children if isinstance(c, ast.expr)])
        for name in ast.walk(child)
        if isinstance(name, ast.Name)
    ]
    read = around.union(name.id for name in names if isinstance(name.ctx, ast.Load))
    if isinstance(node, Steps):
        read |= {node.ended}
    yield frozenset(name.id for name in names if isinstance(name.ctx, ast.Store)), read
    for child in () if is_whole else children:
        if not isinstance(child, ast.expr):
            yield from _flows(child, read)
