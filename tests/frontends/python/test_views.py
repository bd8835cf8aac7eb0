"""Copies of functions read their module through a view; the functions and the module stay as they are."""

import linecache
import types
from typing import Any

from primsplit.frontends.python.views import copied, functions_by_name


def module(source: str, name: str = "users_copied") -> types.ModuleType:
    made = types.ModuleType(name)
    filename = f"<{name} {hash(source)}>"
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    exec(compile(source, filename, "exec"), vars(made))
    return made


def itself(value: Any) -> Any:
    return value


READING = "table = [1]\ndef f(x): return x + table[0]\ndef g(x): return 10 * f(x)\n"


def with_another_table(value: Any) -> Any:
    return [2] if value == [1] else value


def test_a_copy_and_what_it_calls_by_name_read_the_view() -> None:
    made = module(READING)
    functions = functions_by_name(made.g, itself)
    assert functions is not None
    assert {f.__name__ for f in functions} == {"f", "g"}
    with copied(made.g, functions, with_another_table) as copy:
        assert (copy(1), made.g(1)) == (30, 20)
        assert made.table == [1]
    assert copy(1) == 20


def test_modules_and_closures_lead_to_copies() -> None:
    inner = module(READING)

    def called(x: Any) -> Any:
        return inner.g(x) + 1

    functions = functions_by_name(called, itself)
    assert functions is not None
    with copied(called, functions, with_another_table) as copy:
        assert (copy(1), called(1)) == (31, 21)


def test_what_is_written_to_a_module_is_seen_through_the_view() -> None:
    made = module("limit = 3\ndef f(): return limit\n")
    functions = functions_by_name(made.f, itself)
    assert functions is not None
    with copied(made.f, functions, itself) as copy:
        made.limit = 4
        assert copy() == 4


CLOSURE = (
    "def outer():\n    g2 = g\n    def h(x):\n        nonlocal g2\n        g2 = f\n        return g2(x)\n"
    "    return h\nh = outer()\n"
)
NOT_COPIED: dict[str, str] = {
    "a container": READING + "held = [f]\ndef h(x): return held[0](x) + f(x)\n",
    "a method": READING + "class C:\n    def m(self, x): return f(x)\ndef h(x): return C().m(x) + f(x)\n",
    "a global that is deleted": "n = 0\ndef h(x):\n    global n\n    del n\n    return x\n",
    "a cell that is assigned": READING + CLOSURE,
    "a module's names": READING + "import sys\ndef h(x): return vars(sys.modules[__name__])['f'](x)\n",
}


def test_what_a_view_would_not_serve_is_not_copied() -> None:
    for name, source in NOT_COPIED.items():
        assert functions_by_name(module(source).h, itself) is None, name


def test_a_function_whose_source_cannot_be_read_is_not_copied() -> None:
    names: dict[str, Any] = {}
    exec(READING, names)
    assert functions_by_name(names["g"], itself) is None


def test_a_global_statement_of_a_copy_assigns_to_the_module() -> None:
    made = module("n = 0\ndef f():\n    global n\n    n += 1\n    return n\ndef g(): return f(), f(), n\n")
    functions = functions_by_name(made.g, itself)
    assert functions is not None
    with copied(made.g, functions, itself) as copy:
        assert copy() == (1, 2, 2)
    assert made.n == 2
