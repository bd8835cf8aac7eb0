"""Copies of functions read their module through a view; the functions and the module stay as they are."""

import types
from typing import Any

from primsplit.frontends.python.copies import Copying, copied, functions_by_name

Function = types.FunctionType


def module(source: str, name: str = "users_copied") -> types.ModuleType:
    made = types.ModuleType(name)
    exec(source, vars(made))
    return made


def other(source: str) -> types.CodeType:
    code: types.CodeType = module(source).f.__code__
    return code


TWO = "def f(x): return x + 1\ndef g(x): return 10 * f(x)\n"


def test_a_copy_calls_copies_by_name() -> None:
    made = module(TWO)
    functions = functions_by_name(made.g)
    assert functions is not None
    assert {f.__name__ for f in functions} == {"f", "g"}
    own = made.f.__code__
    with copied(made.g, Copying(functions), {made.f: other("def f(x): return x + 2")}) as copy:
        assert (copy(1), made.g(1)) == (30, 20)
        assert made.f.__code__ is own
    assert copy(1) == 20


def test_modules_and_closures_lead_to_copies() -> None:
    inner = module(TWO)

    def called(x: Any) -> Any:
        return inner.g(x) + 1

    functions = functions_by_name(called)
    assert functions is not None
    with copied(called, Copying(functions), {inner.f: other("def f(x): return x + 2")}) as copy:
        assert (copy(1), called(1)) == (31, 21)


def test_what_is_written_to_a_module_is_seen_through_the_view() -> None:
    made = module("limit = 3\ndef f(): return limit\n")
    functions = functions_by_name(made.f)
    assert functions is not None
    with copied(made.f, Copying(functions)) as copy:
        made.limit = 4
        assert copy() == 4


NOT_COPIED: dict[str, str] = {
    "a container": TWO + "table = [f]\ndef h(x): return table[0](x) + f(x)\n",
    "a method": TWO + "class C:\n    def m(self, x): return f(x)\ndef h(x): return C().m(x) + f(x)\n",
    "a global that is deleted": "n = 0\ndef h(x):\n    global n\n    del n\n    return x\n",
    "a module's names": TWO + "import sys\ndef h(x): return vars(sys.modules[__name__])['f'](x)\n",
}


def test_what_a_view_would_not_serve_is_not_copied() -> None:
    for name, source in NOT_COPIED.items():
        found = functions_by_name(module(source).h)
        assert found is None, name


def test_a_global_statement_of_a_copy_assigns_to_the_module() -> None:
    made = module("n = 0\ndef f():\n    global n\n    n += 1\n    return n\ndef g(): return f(), f(), n\n")
    functions = functions_by_name(made.g)
    assert functions is not None
    with copied(made.g, Copying(functions)) as copy:
        assert copy() == (1, 2, 2)
    assert made.n == 2


def test_globals_are_the_view() -> None:
    made = module(TWO + "def h(x): return globals()['f'](x)\n")
    functions = functions_by_name(made.h)
    assert functions is not None
    with copied(made.h, Copying(functions), {made.f: other("def f(x): return x + 2")}) as copy:
        assert (copy(1), made.h(1)) == (3, 2)
