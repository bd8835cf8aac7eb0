"""The names of the package: each is what its module defines, and none is imported before it is asked for."""

import ast
import inspect
import json
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

import primsplit as ps
from primsplit.programs import public


def test_every_public_name_is_there_under_its_own_name() -> None:
    for name in ps.__all__:
        found = getattr(ps, name)
        assert found is not None
        assert name in dir(ps)
    assert {*public.__all__} <= {*ps.__all__}
    assert all(getattr(ps, name) is getattr(public, name) for name in public.__all__)


def test_type_checkers_see_what_is_imported_when_it_is_asked_for() -> None:
    tree = ast.parse(Path(inspect.getfile(ps)).read_text(encoding="utf-8"))
    (checked,) = (n for n in tree.body if isinstance(n, ast.If))
    imported = {a.asname or a.name for n in checked.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert imported | {"errors", "PrimsplitError"} == {*ps.__all__}


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'gradd'"):
        ps.gradd  # noqa: B018  # the attribute alone


@pytest.mark.parametrize(
    "statement",
    [
        "from primsplit import *; assert map is not __builtins__.map and grad(lambda x: x * x)(2.0) == 4.0",
        "from primsplit.errors import TraceError; import primsplit; assert primsplit.errors.TraceError is TraceError",
        "from primsplit import numpy as np; assert np.sin(0.0) == 0.0",
        "import primsplit.extend; import primsplit as ps; assert ps.extend is primsplit.extend",
        "from primsplit.programs.compiled import grad; import numpy as np; assert grad(np.tanh)(0.0) == 1.0",
        "import primsplit; assert 'vmap' in dir(primsplit); primsplit.random.normal",
    ],
)
def test_it_works_in_whatever_order_it_is_imported(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)


def test_an_installation_in_place_is_a_path_that_type_checkers_follow() -> None:
    pointers = [
        Path(str(file.locate()))
        for installed in distributions(name="primsplit")
        if json.loads(installed.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable")
        for file in installed.files or ()
        if file.suffix == ".pth"
    ]
    if not pointers:
        pytest.skip("primsplit is not installed in place")
    for pointer in pointers:
        assert (Path(pointer.read_text(encoding="utf-8").strip()) / "primsplit" / "py.typed").is_file()
