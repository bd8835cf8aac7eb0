"""Code of installed packages is recorded as it stands, and only that of the packages that ask."""

import importlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.caching import fingerprint
from primsplit.ir.errors import NumberAsked, PrimsplitError
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])
FILTERS = """
import hashlib
import math
import numpy as np
from published.tables import WEIGHTS, checked

class Filter:
    def __init__(self, size):
        self.state = np.zeros((size, 1))
        self.spread = np.eye(size)
        self.weights = np.arange(float(size))

    def weight(self, x):
        return self.weights[x.astype(int)]

def smoothed(x):
    x = checked(x)
    total = np.zeros(3)
    for i in range(3):
        total[i] = math.exp(-x[i]) * WEIGHTS[np.argsort(x)[i]]
    return np.array([total[0], x[1]]) * total[2]

def compiled(x):
    return memoryview(x)

def hashed(x):
    return hashlib.md5(np.array([x, 2 * x])).digest()

def named(x):
    raise TypeError(f"cannot take {type(x)}")
"""
TABLES = """
import numpy as np
WEIGHTS = np.array([0.5, -1.0, 2.0])

def checked(x):
    return np.ascontiguousarray(np.asarray(x, dtype=np.float64))
"""
ANOTHER = "import numpy as np\nfrom published.filters import smoothed\n"


@pytest.fixture(name="published", scope="module")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A package as pip installs one, and another that is imported beside it."""
    folder: Path = tmp_path_factory.mktemp("site-packages")
    for name, text in {"published/__init__": "", "published/filters": FILTERS, "published/tables": TABLES}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(text)
    (folder / "published_beside.py").write_text(ANOTHER)
    known = fingerprint._installed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "_installed", lambda: (*known, str(folder)))
        patch.syspath_prepend(str(folder))
        importlib.import_module("published_beside")
        yield importlib.import_module("published.filters")
        for name in [n for n in sys.modules if n.startswith("published")]:
            del sys.modules[name]


def test_a_package_that_asks_for_numbers_is_recorded_as_it_stands(published: ModuleType) -> None:
    check_grads(published.smoothed, X)
    check_grads(lambda x: published.smoothed(np.tanh(x)) * x[:2], X, symbolic=False, order=1)


def test_the_names_of_a_package_mean_what_they_meant(published: ModuleType) -> None:
    def f(x: Any) -> Any:
        seen.append(tuple(type(vars(m)["np"]) is ModuleType for m in (published, sys.modules["published_beside"])))
        return published.smoothed(x)

    seen: list[tuple[bool, ...]] = []
    ps.trace(f, X)
    assert seen[0] == (True, True)
    assert seen[-1] == (True, True)
    assert published.np is np
    assert published.math is math
    assert type(sys.modules["published.tables"].WEIGHTS) is np.ndarray


def test_arrays_that_a_packages_object_made_take_traced_values(published: ModuleType) -> None:
    def f(x: Any) -> Any:
        made = published.Filter(2)
        made.spread *= x[0]
        made.state[1] = x[1]
        return made.spread @ made.state

    check_grads(f, X)


def test_arrays_that_a_packages_object_holds_are_indexed(published: ModuleType) -> None:
    held = published.Filter(3)
    check_grads(lambda x: held.weight(x) * np.sin(x), np.array([0.7, 1.9, 2.4]))


@pytest.mark.parametrize("name", ["compiled", "hashed", "named"])
def test_what_a_package_cannot_take_is_refused_at_the_users_line(published: ModuleType, name: str) -> None:
    def user(x: Any) -> Any:
        return getattr(published, name)(x)

    with pytest.raises(NumberAsked) as refused:
        ps.trace(user, X)
    assert "getattr(published, name)(x)" in str(refused.value)
    assert len(str(refused.value).splitlines()) < 10


def test_an_error_inside_a_package_tells_its_line_and_the_users(published: ModuleType) -> None:
    with pytest.raises(PrimsplitError) as refused:
        ps.trace(lambda x: published.smoothed(x), ps.spec("float64", [2]))
    lines = str(refused.value).splitlines()
    assert "filters.py" in lines[1]
    assert "published.smoothed(x), ps.spec" in lines[2]


DISPATCHING = """
import numpy as np

def kind(x):
    return "array" if type(x) is np.ndarray else "other"

def scaled(x):
    return 3.0 * x if kind(x) == "array" else 2.0 * x

class Table:
    def __init__(self):
        self.known = {np.ndarray: 3.0}

    def __call__(self, x):
        return self.factor(x) * x

    def factor(self, x):
        return self.known.get(type(x), 2.0)
"""


@pytest.mark.parametrize("named", ["scaled", "Table()", "Table().__call__"])
def test_a_package_that_asks_for_classes_gets_numpys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    folder = tmp_path / "site-packages"
    (folder / "asking").mkdir(parents=True)
    (folder / "asking" / "__init__.py").write_text(DISPATCHING)
    monkeypatch.syspath_prepend(str(folder))
    asking = importlib.import_module("asking")
    try:
        function = eval(named, vars(asking))
        assert ps.grad(lambda x: function(x).sum())(X).tolist() == [3.0, 3.0, 3.0]
    finally:
        del sys.modules["asking"]
