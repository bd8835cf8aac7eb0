"""The namespace of NumPy: NumPy itself outside of a trace."""

import pathlib
from typing import Any

import numpy

import primsplit as ps
from primsplit import numpy as np

X = numpy.array([0.3, 1.2, -0.7, 0.9])


def test_outside_of_a_trace_it_is_numpy() -> None:
    assert np.sin is numpy.sin
    assert np.linalg is numpy.linalg
    assert type(np.zeros(3)) is numpy.ndarray
    assert np.pi == numpy.pi


def test_it_is_what_importing_the_package_gives() -> None:
    import primsplit.numpy as imported

    assert imported is np is ps.numpy
    assert np.__name__ == "primsplit.numpy"
    assert np.__array_namespace_info__().default_device() == "cpu"
    namespaces: list[Any] = []
    ps.trace(lambda x: namespaces.append(x.__array_namespace__()) or x, X)
    assert set(namespaces) == {np}


def test_no_module_has_the_name_of_a_function_of_numpy() -> None:
    named = {
        path.stem for path in pathlib.Path(np.__path__[0]).iterdir() if path.stem not in {"__init__", "__pycache__"}
    }
    assert named & {*numpy.__all__} == set()
    assert set(dir(numpy)) == set(dir(np))
