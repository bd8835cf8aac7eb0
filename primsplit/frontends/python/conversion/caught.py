"""Rewrites an error that one `try` raises and catches as a boolean name, so that nothing is raised.

    try:                                caught = False
        a                               try:
        if c:                               a
            raise ValueError                if c:
        b                                       caught = True
    except ValueError:                      else:
        d                                       b
                                        except ValueError:
                                            d
                                        if caught:
                                            d

Other errors are caught as before. If `d` ends by raising an error, the enclosing `try` is rewritten next.
"""

import ast
import builtins
import copy
from collections.abc import Sequence

from primsplit.frontends.python.conversion.exits import Asks
from primsplit.frontends.python.conversion.plainer import OwnStatements, assignment
from primsplit.frontends.python.converter.transformer import at


def without_raising(function: ast.FunctionDef, asks: Asks) -> None:
    """Rewrite the `try` statements of a function in which a test that guards a `raise` satisfies `asks`."""
    _Tries(asks).generic_visit(function)


class _Tries(OwnStatements):
    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        branches = [branch for branch in node.body if isinstance(branch, ast.If) and self._raises(branch, node)]
        tests = [branch.test for branch in branches]
        errors = [last.exc for branch in branches if isinstance(last := branch.body[-1], ast.Raise)]
        body = node.handlers and _handling(node.handlers[0], errors)
        if not body or not any(map(self.asks, tests)):
            return node
        caught = f"_joined_caught_{next(self.numbers)}"
        first = at(node, assignment(caught, False))
        tried = at(node, ast.Try(self._body(node, node.body, caught), node.handlers, self._behind(node, caught), []))
        handled = at(tests[0], ast.If(ast.Name(caught, ast.Load()), body, []))
        if not node.finalbody:
            return [first, tried, handled]
        return [first, at(node, ast.Try([tried, handled], [], [], node.finalbody))]

    def _raises(self, branch: ast.If, node: ast.Try) -> bool:
        """Whether a branch leaves only by a `raise` at its end, of an error that the first handler catches."""
        if branch.orelse or not node.handlers:
            return False
        *before, last = branch.body
        name, handler = _raised(last), node.handlers[0]
        if not name or not _catches(handler, name):
            return False
        handling = handler.body[:-1] if isinstance(handler.body[-1], ast.Raise) else handler.body
        return not any(isinstance(n, _LEAVING) for part in (*before, *handling) for n in ast.walk(part))

    def _body(self, node: ast.Try, body: Sequence[ast.stmt], caught: str) -> list[ast.stmt]:
        """Return statements that set the name `caught` instead of raising, and run the rest only where they do not."""
        for k, branch in enumerate(body):
            if isinstance(branch, ast.If) and self._raises(branch, node):
                then = [*branch.body[:-1], at(branch.body[-1], assignment(caught, True))]
                rest = self._body(node, body[k + 1 :], caught) or [at(branch, ast.Pass())]
                return [*body[:k], at(branch, ast.If(branch.test, then, rest))]
        return [*body]

    @staticmethod
    def _behind(node: ast.Try, caught: str) -> list[ast.stmt]:
        """Return the `else` of the `try` as a branch that runs if nothing was raised."""
        if not node.orelse:
            return []
        return [at(node.orelse[0], ast.If(ast.UnaryOp(ast.Not(), ast.Name(caught, ast.Load())), node.orelse, []))]


_LEAVING = (ast.Raise, ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)


def _handling(handler: ast.ExceptHandler, errors: Sequence[ast.expr | None]) -> list[ast.stmt] | None:
    """Return the body of a handler for these errors; None if the handler may read the error object.

    No error object exists then. If the handler ends by raising, the new branch raises; a bare `raise`, and
    `raise X from error`, have the expression of the error. Of several errors of one class of Python's, a bare `raise`
    has the class alone.
    """
    *before, last = copy.deepcopy(handler.body)
    if isinstance(last, ast.Raise):
        error, cause = _one_error(errors, before), last.cause
        if last.exc is None and error is not None:
            last.exc = ast.copy_location(copy.deepcopy(error), last)
        is_of_error = isinstance(cause, ast.Name) and cause.id == handler.name
        if is_of_error:
            last.cause = None
        if not _raised(last):
            return None
        if is_of_error and error is not None:
            last.cause = ast.copy_location(copy.deepcopy(error), last)
    body = [*before, last]
    is_read = any(isinstance(n, ast.Name) and n.id == handler.name for part in body for n in ast.walk(part))
    return None if is_read else body


def _one_error(errors: Sequence[ast.expr | None], before: Sequence[ast.stmt]) -> ast.expr | None:
    """Return the expression of all the errors; None if there are several, or if statements `before` may change it."""
    first = errors[0] if errors else None
    if first is None or any(error is None for error in errors):
        return None
    if len({ast.dump(error) for error in errors if error is not None}) > 1:
        names = {_name(error) for error in errors if error is not None}
        return ast.Name(names.pop(), ast.Load()) if len(names) == 1 and _is_pythons(*names) else None
    arguments = [*first.args, *(k.value for k in first.keywords)] if isinstance(first, ast.Call) else []
    return None if before and not all(isinstance(a, ast.Constant) for a in arguments) else first


def _catches(handler: ast.ExceptHandler, name: str) -> bool:
    """Whether a handler catches an error of the class with this name."""
    if handler.type is None:
        return True
    handled = handler.type.id if isinstance(handler.type, ast.Name) else ""
    return handled == name or (handled == "Exception" and _is_pythons(name))


def _is_pythons(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, Exception)


def _raised(statement: ast.stmt) -> str:
    """Return the name of the class of the error that a statement raises; "" for any other statement."""
    return _name(statement.exc) if isinstance(statement, ast.Raise) and statement.exc is not None else ""


def _name(error: ast.expr) -> str:
    """Return the name of the class of an error; "" if it has none."""
    raised = error.func if isinstance(error, ast.Call) else error
    return raised.id if isinstance(raised, ast.Name) and raised.id[:1].isupper() else ""
