"""A definition is compiled again as it was, or its source is another one by now."""

import ast
import linecache
import types
from typing import Any

import pytest

from primsplit.ir.definitions import copied, definition_in
from primsplit.ir.recompiled import compiles_to, recompiled


class Owner:
    def private(self, x: float = 2.0, *, y: float = 1.0) -> Any:
        self.__held = x

        class Inner:
            value = x + y

        return Inner.value + self.__held, super()


def outer(x: Any) -> Any:
    total = 0.0

    def inner(y: Any) -> Any:
        nonlocal total
        total += y
        return total + x

    return inner


FUNCTIONS = [outer, outer(1.0), Owner.private, lambda x: lambda y: y + x, pytest.raises]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_definition_compiles_to_the_code_of_its_function(function: Any) -> None:
    definition = definition_in(function.__code__)
    assert definition is not None
    before = ast.dump(definition.node)
    assert compiles_to(definition, function.__code__)
    assert ast.dump(definition.node) == before


@pytest.mark.parametrize(("was", "shown"), [("x + 1", "x + 2"), ("x + 1", "x - 1"), ("x.a", "x.b"), ("lambda: x", "x")])
def test_a_definition_that_was_changed_does_not(was: str, shown: str) -> None:
    name = f"<{was}, then {shown}>"
    text = f"def f(x):\n    return {shown}\n"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names: dict[str, Any] = {}
    exec(compile(f"def f(x):\n    return {was}\n", name, "exec"), names)
    definition = definition_in(names["f"].__code__)
    assert definition is not None
    assert not compiles_to(definition, names["f"].__code__)


def test_the_tree_is_given_away_before_it_is_compiled() -> None:
    f = lambda x: x + 1  # noqa: E731
    definition = definition_in(f.__code__)
    assert definition is not None

    class Doubled(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.Constant:
            return ast.copy_location(ast.Constant(2 * node.value if node.value == 1 else node.value), node)

    code = recompiled(
        definition._replace(node=copied(definition.node)),
        f.__code__,
        lambda tree: ast.fix_missing_locations(Doubled().visit(tree)),
    )
    assert types.FunctionType(code, {})(3) == 5
