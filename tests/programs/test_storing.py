"""The store of a cached function: other processes read recordings rather than make them, and nothing else."""

import collections
import dataclasses
import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, RunError, StoreWarning
from primsplit.testing import check_grads
from tests.threads import in_threads

WEIGHTS = np.linspace(-1.0, 1.0, 300)
Both = collections.namedtuple("Both", "total each")


@dataclasses.dataclass
class Pair:
    """A container of the user's."""

    left: object
    right: object


@ps.primitive
def doubled_gradient(x):
    return np.sin(x)


@ps.rrule(doubled_gradient)
def _doubled(x):
    return doubled_gradient(x), lambda dy: (2.0 * dy * np.cos(x),)


@ps.cached
def inner_cached(x):
    return np.tanh(x) * x


def plain(x):
    return (np.exp(np.sin(x)) * x).sum()


def with_library_rules(x):
    return np.log1p(np.abs(x)).sum() + np.linalg.slogdet(np.outer(x, x) + np.eye(3))[1] + ps.stop_gradient(x).sum()


def with_own_rule(x):
    return (doubled_gradient(x) ** 2).sum()


def with_calls_that_stay(x):
    return (inner_cached(x) * inner_cached(2 * x)).sum()


def with_weights(x):
    return (np.resize(x, 300) * ps.param(WEIGHTS, "w")).sum() + (x * np.float32(2.0)).sum()


def with_branches_and_loops(x):
    def step(c, row):
        return (np.tanh(c + row) if row > 0 else c * row), c

    last, each = ps.scan(step, 0.3, x)
    return last + (each**2).sum() + ps.while_loop(lambda c: c > 1, lambda c: 0.5 * c, x[0] + 3.0)


FUNCTIONS = [plain, with_library_rules, with_own_rule, with_calls_that_stay, with_weights, with_branches_and_loops]
X = np.array([0.3, -0.7, 1.1])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_read_is_what_was_recorded(function, tmp_path: pathlib.Path) -> None:
    made, again = (ps.cached(function, store=tmp_path) for _ in range(2))
    expected = ps.value_and_grad(made)(X)
    assert made.statistics.misses == 1
    assert "store" not in made.explain_miss()
    found = ps.value_and_grad(again)(X)
    assert (again.statistics.misses, again.statistics.read) == (0, 1)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    second = [ps.grad(lambda x, f=f: ps.grad(f)(x).sum())(X) for f in (made, again, function)]
    np.testing.assert_array_equal(second[0], second[1])
    np.testing.assert_allclose(second[1], second[2], rtol=1e-9)
    listings = [ps.trace(f, ps.spec("float64", [3])).listing() for f in (made, again)]
    assert listings[0] == listings[1]


def test_containers_static_arguments_and_symbols_are_part_of_the_file_or_its_name(tmp_path: pathlib.Path) -> None:
    def f(pair, scale, options=("a", 2)):
        left = pair.left["u"] * scale * options[1]
        return Both(left.sum(), [left, None, {"r": Pair(pair.right, left)}])

    made, again = (ps.cached(f, store=tmp_path) for _ in range(2))
    pair = Pair({"u": np.arange(3.0)}, np.arange(4.0))
    for function in (made, again):
        result = function(pair, 3)
        assert type(result) is Both
        np.testing.assert_array_equal(result.each[2]["r"].left, np.arange(4.0))
        np.testing.assert_array_equal(result.each[0], 6 * np.arange(3.0))
    assert (again.statistics.misses, again.statistics.read) == (0, 1)
    again(pair, 4)
    assert again.statistics.misses == 1
    symbolic = Pair({"u": ps.spec("float64", ["N"])}, ps.spec("float32", ["M", 2]))
    for function in (made, again):
        program = ps.trace(lambda p, function=function: function(p, 3), symbolic)
        np.testing.assert_array_equal(program(Pair({"u": np.ones(5)}, np.zeros((0, 2), np.float32))).total, 30.0)
    assert again.statistics.read == 2


SCRIPT = """
import sys
import numpy as np, primsplit as ps
offset = float(sys.argv[2])
@ps.cached(store=sys.argv[1])
def g(x):
    assert x.sum() < 100, "too much"
    return (np.log1p(x * x) * offset).sum()
value, gradient = ps.value_and_grad(lambda x: 2 * g(x))(np.array([1.0, 2.0]))
outer = ps.counts().traces
g(np.array([1.0, 2.0]))
try:
    g(np.array([100.0, 2.0]))
except ps.PrimsplitError as error:
    told = str(error)
print([float(value), *map(float, gradient), outer, ps.counts().traces, g.statistics.misses, told])
"""


def test_another_process_does_not_trace(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    runs = [_run(script, tmp_path / "store", offset) for offset in ("1.0", "1.0", "2.0")]
    traces = [run[3:6] for run in runs]
    assert traces == [[2, 2, 1], [1, 1, 0], [2, 2, 1]]
    expected = [2 * np.log1p([1.0, 4.0]).sum(), 2.0, 2 * 4 / 5]
    np.testing.assert_allclose(runs[0][:3], expected, rtol=1e-12)
    assert runs[0][:3] == runs[1][:3]
    np.testing.assert_allclose(runs[2][:3], 2 * np.array(expected), rtol=1e-12)
    assert runs[0][6] == runs[1][6]
    assert "too much" in runs[1][6]
    assert 'assert x.sum() < 100, "too much"' in runs[1][6]


def _run(script: pathlib.Path, *args: object) -> list:
    done = subprocess.run([sys.executable, script, *map(str, args)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return eval(done.stdout)  # what the test's own script printed


def file_of(function, folder: pathlib.Path) -> pathlib.Path:
    ps.trace(ps.cached(function, store=folder), ps.spec("float64", [3]))
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "number", "constant", "kind", "binary", "list"])
def test_a_damaged_or_foreign_file_is_told_and_written_again(damage, tmp_path: pathlib.Path) -> None:
    path = file_of(plain, tmp_path)
    good = path.read_text()
    told = json.loads(good)
    bad = {
        "cut": good[: len(good) // 2],
        "empty": "",
        "other": '{"format": 7}',
        "number": "3",
        "constant": json.dumps({**told, "result": ["tuple", [0, 1]]}),
        "kind": good.replace('"Sin"', '"Cos"'),
        "list": json.dumps([told]),
        "binary": "",
    }[damage]
    path.write_text(bad)
    if damage == "binary":
        path.write_bytes(b"\x80\x04\x95\xff\x00")
    again = ps.cached(plain, store=tmp_path)
    with pytest.warns(StoreWarning, match="is not used, and is written again") as caught:
        np.testing.assert_allclose(again(X), plain(X))
    assert len(caught) == 1
    assert again.statistics.misses == 1
    assert json.loads(path.read_text()) == told
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ps.cached(plain, store=tmp_path)(X) == again(X)


def test_a_file_whose_digest_is_right_and_whose_content_is_not_runs_nothing(tmp_path: pathlib.Path) -> None:
    from primsplit.programs.storing import _digest

    path = file_of(with_library_rules, tmp_path)
    told = json.loads(path.read_text())
    text = json.dumps(told["recording"])
    for where in (["os", "system"], ["primsplit.programs.storing", "os"], 10**6, ["primsplit.absent", "x"]):
        recording = json.loads(text)
        calls = [op for block in recording["blocks"] for op in block[2] if op[6] and "primitive" in op[6]]
        calls[0][6]["primitive"]["where"] = where
        path.write_text(json.dumps({**told, "recording": recording, "digest": _digest(told["result"], recording)}))
        with pytest.warns(StoreWarning, match="not used"):
            ps.trace(ps.cached(with_library_rules, store=tmp_path), ps.spec("float64", [3]))


def test_what_the_function_reads_its_rules_and_its_lines_are_part_of_the_key(tmp_path: pathlib.Path) -> None:
    scale = [2.0]

    def f(x):
        return (doubled_gradient(x) * scale[0]).sum()

    def uses():
        again = ps.cached(f, store=tmp_path)
        ps.trace(again, ps.spec("float64", [3]))
        return again.statistics.misses

    assert [uses(), uses()] == [1, 0]
    scale[0] = 3.0
    assert [uses(), uses()] == [1, 0]
    before = doubled_gradient.rule
    try:
        ps.rrule(doubled_gradient)(lambda x: (doubled_gradient(x), lambda dy: (3.0 * dy,)))
        assert [uses(), uses()] == [1, 0]
    finally:
        ps.rrule(doubled_gradient)(before)
    assert uses() == 0


def test_a_new_rule_of_an_operator_makes_new_recordings(tmp_path: pathlib.Path) -> None:
    from primsplit.rules import table

    def f(x):
        return ps.grad(lambda x: np.sin(x).sum())(x).sum()

    def uses():
        again = ps.cached(f, store=tmp_path)
        value = again(X)
        return again.statistics.misses, float(value)

    first = uses()
    assert uses() == (0, first[1])
    old = table.RULES["Sin"]
    try:
        table.partials("Sin", lambda x, y: 2.0)
        assert uses() == (1, 6.0)
        assert uses() == (0, 6.0)
    finally:
        table.RULES["Sin"] = old
        table.Epoch.count += 1
    assert uses() == (0, first[1])


@ps.primitive
def squared_number(x):
    copy = x
    copy += 1.0
    return x * x


@ps.rrule(squared_number)
def _squared_number(x):
    copy = x
    copy += 1.0
    return x * x, lambda dy: (2.0 * x * dy,)


@pytest.mark.parametrize("get", [lambda x: x[0], lambda x: x[0, ...]], ids=["number", "array"])
def test_a_stored_rule_meets_numbers_and_arrays_as_its_primitive_did(get, tmp_path: pathlib.Path) -> None:
    x = np.array([3.0, 1.0])
    told = [ps.grad(ps.cached(lambda x: squared_number(get(x)), store=tmp_path))(x)[0] for _ in range(2)]
    assert told == [ps.grad(lambda x: squared_number(get(x)))(x)[0]] * 2


def test_what_no_other_process_can_know_is_recorded_there_and_told(tmp_path: pathlib.Path) -> None:
    generator = np.random.default_rng(0)
    local = ps.primitive(lambda x: x * 2.0, name="local")
    ps.rrule(local)(lambda x: (local(x), lambda dy: (dy,)))
    hidden = {"f": local}

    def reads_generator(x):
        return x * generator.normal()

    def calls_hidden(x):
        return vars(ps)["map"](lambda v: v * 1.0, x).sum() + eval("".join(["hid", "den"]))["f"](x).sum()

    calls_hidden.__globals__["hidden"] = hidden
    try:
        for function, why in ((reads_generator, "a Generator"), (calls_hidden, "which it does not read by a name")):
            cached = ps.cached(function, store=tmp_path)
            ps.trace(cached, ps.spec("float64", [3]))
            assert why in cached.explain_miss()
    finally:
        del calls_hidden.__globals__["hidden"]
    assert list(tmp_path.iterdir()) == []


def test_many_writers_leave_one_whole_file(tmp_path: pathlib.Path) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    made = ps.cached(plain, store=tmp_path)
                    assert made.store is not None
                    recorded = made.store.read(path) if path.exists() else None
                    if recorded is not None:
                        made.store.write(path, recorded)
        except BaseException as error:  # noqa: BLE001  # told by the assertion below
            errors.append(error)

    path = file_of(plain, tmp_path)
    in_threads(lambda _: work(), 4)
    assert errors == []
    assert [p.suffix for p in tmp_path.iterdir()] == [".json"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: pathlib.Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    cached = ps.cached(plain, store=blocked)
    with pytest.warns(StoreWarning):
        np.testing.assert_allclose(cached(X), plain(X))


def test_clearing_with_the_store_removes_its_files(tmp_path: pathlib.Path) -> None:
    made, other = ps.cached(plain, store=tmp_path), ps.cached(with_own_rule, store=tmp_path)
    assert made(X) == made(X)
    other(X)
    made.clear()
    assert len(list(tmp_path.iterdir())) == 2
    made.clear(store=True)
    assert [p.name.split("-")[0] for p in tmp_path.iterdir()] == ["with_own_rule"]


def test_a_failing_path_fails_when_it_was_read_too(tmp_path: pathlib.Path) -> None:
    def positive(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return np.sqrt(x.sum())

    for _ in range(2):
        cached = ps.cached(positive, store=tmp_path)
        check_grads(cached, np.array([0.3, 0.7]), order=2)
        for function in (cached, ps.grad(cached)):
            with pytest.raises(RunError, match="ValueError: negative") as caught:
                function(-np.ones(2))
            assert 'raise ValueError("negative")' in str(caught.value)
    assert cached.statistics.misses == 0


def test_the_store_is_told_of_by_an_error_class_of_its_own() -> None:
    assert issubclass(StoreWarning, UserWarning)
    assert not issubclass(StoreWarning, PrimsplitError)
