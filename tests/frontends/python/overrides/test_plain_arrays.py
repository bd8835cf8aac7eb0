"""NumPy arrays that a function reads: traced numbers index them wherever they are held; copies take traced values."""

import copy
import dataclasses
import itertools
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.stats

import primsplit as ps
from primsplit.ir import Const
from primsplit.ir.errors import PrimsplitError
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])
TABLE = np.array([0.5, -1.0, 2.0, 0.25])


class Mesh:
    heights: ClassVar[npt.NDArray[Any]] = TABLE + 1.0

    def __init__(self) -> None:
        self.points = TABLE.reshape(2, 2) * 2
        self.levels: dict[str, Any] = {"low": TABLE - 3.0, "all": [TABLE * 2, (TABLE * 3, "x")]}

    def moved(self, shift: Any) -> Any:
        points = self.points.copy()
        points[1] += shift
        points[0] = points[1] * shift
        return points


@dataclasses.dataclass(frozen=True)
class Curve:
    values: npt.NDArray[Any]

    def __call__(self, x: Any) -> Any:
        return self.values[np.argmax(x)] * x


class Held:
    """An object into which no tree of arguments looks."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self.values = values

    def __call__(self, x: Any) -> Any:
        return self.values[np.argmax(x)] * x


MESH = Mesh()
SETTINGS = SimpleNamespace(values=TABLE**2)
PAIR = (TABLE * 4, TABLE * 5)
ROWS = [TABLE, TABLE * 6]


def in_objects(x: Any) -> Any:
    place = np.argmax(x)
    held = MESH.points[place % 2] @ x[:2] + MESH.heights[place] + SETTINGS.values[place]
    return held * x + MESH.moved(x[:2]).sum()


def in_containers(x: Any) -> Any:
    place = np.argmin(x)
    low = MESH.levels["low"][place] + MESH.levels["all"][0][place] + MESH.levels["all"][1][0][place]
    return x * (low + PAIR[1][place] + ROWS[1][place])


def in_an_object_made_inside(x: Any) -> Any:
    return Curve(np.linspace(0.0, 1.0, 5) ** 2)(x) + Curve(TABLE[1:])(x)


def in_results_of_numpy(x: Any) -> Any:
    place = np.argmax(x)
    grid = np.arange(4) * 0.5
    low, high = np.meshgrid(grid, TABLE)
    parts = np.split(np.concatenate([grid, TABLE]), 2)
    return x * (
        grid[place] + low[place, 1] * high[place, 2] + np.stack(parts)[1, place] + np.where(grid > 0, grid, 9)[place]
    )


def written_copies_of_what_is_computed(x: Any) -> Any:
    wave, rows = np.sin(np.linspace(0.0, 1.0, 4)).copy(), np.array(np.hstack([MESH.heights, SETTINGS.values]))
    wave[0], rows[5] = x[0], x[1] * x[2]
    wave[2:] += x[1:]
    return wave * rows[3:7]


def counted_by_arrays(x: Any) -> Any:
    """Decisions by known numbers are taken while the function is recorded."""
    names = {i: f"n{i}" for i in np.arange(3)}
    half = np.arange(4.0) * 0.5
    total = sum(x[i] * len(names[i]) for i in np.arange(3) if half[i] < 0.9)
    total = total + x[0] * len({names[i] for i in np.array([0, 2, 0])} | set(np.zeros(3)))
    spline = scipy.interpolate.CubicSpline(half, np.sin(half))
    for i, weight in enumerate(np.linspace(0.1, 0.3, 3)):
        total = total + x[i] * weight * max(half[i], 0.2) * int(half[2])
    return total * spline(x[0]) * np.array([x[0], 1.0])


def an_assembled_matrix(x: Any) -> Any:
    nodes = np.linspace(0.0, 1.0, 4)
    stiffness, load = 0 * np.outer(nodes, nodes), nodes * 0.0
    for k, element in enumerate(np.stack([np.arange(3), np.arange(1, 4)], axis=1)):
        pair = np.ix_(element, element)
        stiffness[pair] += x[k] / np.diff(nodes[element]) * np.array([[1.0, -1.0], [-1.0, 1.0]])
    load[1:-1] += x[2]
    return np.linalg.solve(stiffness[1:, 1:], load[1:])


def views_of_what_is_computed(x: Any) -> Any:
    grid = np.arange(9.0).reshape(3, 3) * 1
    turned, row, middle = grid.T, np.reshape(grid, 9), grid[1]
    middle[0] = x[0]
    row[8] = x[1]
    turned[0, 2] += x[2]
    return np.concatenate([grid, turned, row.reshape(3, 3), middle[None]])


def results_of_methods(x: Any) -> Any:
    rows, picked = np.arange(3.0).repeat(3).reshape(3, 3), np.arange(6)[np.array([1, 2, 3])].astype(float)
    sums, product = (np.arange(3.0) + 1).cumsum(), np.ones((3, 3)).dot(np.arange(3.0))
    rows[0], picked[1] = x, x[0]
    sums[2] *= x[1]
    product[0] -= x[2]
    masked = np.roll(np.arange(3.0), 1)
    masked[x > 0] = x[x > 0]
    return rows @ picked + sums + product + masked


def written_by_functions(x: Any) -> Any:
    diagonal, put, copied = np.outer(np.arange(3.0), np.ones(3)), np.arange(4.0) * 2, np.arange(3.0) * 2
    masked, added, result = np.arange(3.0) * 2, np.arange(3.0) * 2, np.arange(3.0) * 2
    np.fill_diagonal(diagonal, x[0])
    np.put(put, [0, 2], x[:2])
    np.copyto(copied, x * 2)
    np.putmask(masked, masked > 1, x)
    np.add.at(added, [0, 0, 1], x)
    np.multiply(x, 2.0, out=result)
    np.sin(result, out=result)
    return diagonal @ x + put[1:] * copied + masked * added * result


def written_in_tuples(x: Any) -> Any:
    negative, parts = np.ones(3), (np.zeros(3), np.zeros(3))
    np.negative(x, out=(negative,))
    np.modf(x * 1.3, out=parts)
    return negative * parts[0] + parts[1] * x


def written_before_traced_values_are(x: Any) -> Any:
    put, placed, powers = np.arange(3.0) * 2, np.arange(3.0) * 2, np.arange(3.0) * 0.5
    np.put(put, 0, 9.0)
    np.place(placed, placed > 1, [1.0, 2.0])
    np.putmask(placed, placed > 1.5, -1.0)
    np.exp(powers, powers)
    np.clip(powers, 0, 2, powers)
    put[1], placed[0] = x[0], x[1]
    powers += x
    return put * placed * powers


def written_where_known_numbers_say_so(x: Any) -> Any:
    squares = np.arange(3.0) * 2
    np.multiply(squares, squares, out=squares, where=squares > 1)
    squares[0] = x[0]
    return squares * x


def written_under_the_same_dtype(x: Any) -> Any:
    base = np.zeros((3, 3)) * 2
    same = base.astype(float, copy=False)
    same[1:, :] = same[:2, :] + x
    held = np.arange(9.0).reshape(3, 3).T * 2
    also = np.array(held, copy=False)
    np.copyto(also, x, where=x > 0)
    also[:1] *= x[0]
    return base @ x + same.T[0] + held @ x


def written_by_place(x: Any) -> Any:
    even, filled, counts = np.arange(4.0).reshape(2, 2) * 2, np.arange(3.0) * 2, np.arange(3)
    even.flat[1] = x[0]
    even.flat[::3] = x[1]
    filled.fill(x[0])
    filled += x
    counts[0] = np.argmax(x)
    return even.sum() * filled * x[counts]


def complex_waves(x: Any) -> Any:
    wave = np.exp(1j * np.arange(3.0))
    wave[0] = 1j * x[0]
    wave *= x
    return np.abs(wave + 0.1)


class Rod:
    def __init__(self) -> None:
        self.heat = np.linspace(0.0, 1.0, 3) ** 2

    def step(self, x: Any) -> None:
        self.heat[1:-1] += x[0] * (self.heat[2:] - 2 * self.heat[1:-1] + self.heat[:-2])


def written_in_an_object(x: Any) -> Any:
    rod = Rod()
    rod.step(x)
    rod.step(x)
    return rod.heat * x


@dataclasses.dataclass
class Cell:
    vectors: Any

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.vectors, dtype=dtype)


def held_by_an_object_that_stands_for_it(x: Any) -> Any:
    vectors = np.zeros((3, 3))
    vectors[:] = Cell(np.diag(TABLE[1:]))
    vectors[0, 1:] = x[:2]
    vectors[1] = Cell(x**2)
    return np.linalg.det(np.asarray(Cell(vectors))) * np.array(Cell(x))


class Joint:
    """A joint of a robot as people generate it: its function's names are no module's."""

    def __init__(self) -> None:
        names: dict[str, Any] = {"array": np.array, "sin": np.sin}
        exec("def turn(q): return array([[sin(q), 1.0], [q, 2.0]])", names)
        self.turn: Callable[[Any], Any] = names["turn"]


JOINTS = [Joint()]


def generated_functions_of_objects(x: Any) -> Any:
    return JOINTS[0].turn(x[0]) @ x[:2] * x[-1]


SERVED: list[Callable[[Any], Any]] = [
    in_objects, in_containers, in_an_object_made_inside, in_results_of_numpy, written_copies_of_what_is_computed,
    counted_by_arrays, an_assembled_matrix, views_of_what_is_computed, results_of_methods, written_by_functions,
    written_where_known_numbers_say_so, written_under_the_same_dtype,
    written_before_traced_values_are, written_in_tuples, written_by_place, complex_waves, written_in_an_object,
    MESH.moved, held_by_an_object_that_stands_for_it, generated_functions_of_objects,
]  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", SERVED, ids=lambda f: f.__name__)
def test_tables_are_read_and_copies_written_wherever_they_are_held(function: Callable[[Any], Any]) -> None:
    check_grads(function, X[:2] if function == MESH.moved else X, symbolic=False, order=1, value_tolerance=1e-12)
    assert "If" not in [op.kind for op in ps.trace(function, X[:2] if function == MESH.moved else X).block.ops]


def test_a_table_of_an_argument_is_read() -> None:
    held = Held(TABLE)
    program = ps.trace(lambda curve, x: curve(x), held, X)
    np.testing.assert_array_equal(program(held, X), held(X))
    assert type(held.values) is np.ndarray


def test_what_holds_a_table_holds_it_again_afterwards() -> None:
    held = (MESH.points, Mesh.heights, MESH.levels["low"], MESH.levels["all"][0], SETTINGS.values, PAIR, ROWS[1])
    ps.trace(in_objects, X)
    ps.trace(in_containers, X)
    again = (MESH.points, Mesh.heights, MESH.levels["low"], MESH.levels["all"][0], SETTINGS.values, PAIR, ROWS[1])
    assert all(a is b for a, b in zip(held, again, strict=True))
    assert {type(v) for v in held if v is not PAIR} == {np.ndarray}


def test_another_thread_may_write_to_a_table_meanwhile() -> None:
    rows = {"a": np.arange(3.0)}
    met, gone = threading.Barrier(2, timeout=20), threading.Barrier(2, timeout=20)

    def f(x: Any) -> Any:
        if isinstance(rows["a"][np.argmax(x)], ps.Array):
            met.wait()
            gone.wait()
        return np.sum(rows["a"][np.argmax(x)] * x)

    worker = threading.Thread(target=lambda: ps.trace(f, X))
    worker.start()
    met.wait()
    rows["a"] += 1.0
    rows["a"][0] = 7.0
    gone.wait()
    worker.join()
    np.testing.assert_array_equal(rows["a"], [7.0, 2.0, 3.0])


def to_a_table(x: Any) -> Any:
    MESH.points[0, 0] = x[0]
    return x


def to_rows_of_a_table(x: Any) -> Any:
    MESH.points[1] += x[0]
    return x


def at_places_of_a_table(x: Any) -> Any:
    np.add.at(MESH.points, (0, [1, 1]), x[0])
    return x


def to_a_view_of_a_table(x: Any) -> Any:
    MESH.points.reshape(4)[2:][0] = x[0]
    return x


WRITING = [
    (to_a_table, "MESH.points[0, 0] = x[0]"),
    (to_rows_of_a_table, "MESH.points[1] += x[0]"),
    (at_places_of_a_table, "np.add.at(MESH.points, (0, [1, 1]), x[0])"),
    (to_a_view_of_a_table, "MESH.points.reshape(4)[2:][0] = x[0]"),
]


@pytest.mark.parametrize(("function", "line"), WRITING, ids=lambda v: getattr(v, "__name__", ""))
def test_a_traced_value_is_not_written_to_a_table_itself(function: Callable[[Any], Any], line: str) -> None:
    before = MESH.points.copy()
    with pytest.raises(PrimsplitError) as caught:
        ps.trace(function, X)
    told = str(caught.value)
    assert line in told
    assert ".copy()" in told
    assert len(told.splitlines()) < 10
    np.testing.assert_array_equal(MESH.points, before)


def test_a_changed_element_of_a_held_table_is_read_again() -> None:
    mesh = Mesh()
    gradient = ps.grad(lambda x: np.sum(mesh.levels["low"][np.argsort(x)] * x))
    for number in itertools.islice(itertools.count(), 2):
        mesh.levels["low"][:] = TABLE + number
        np.testing.assert_array_equal(gradient(X), mesh.levels["low"][np.argsort(X)])


def test_a_table_that_a_traced_index_reads_has_its_variable() -> None:
    program = ps.trace(lambda x: TABLE[np.floor(x).astype(np.int64)] * x, np.array([1.25, 0.5]))
    (table,) = [v for op in program.block.ops for v in op.inputs if isinstance(v, Const) and v.type.rank]
    assert table.place is not None
    assert table.place.variables == ("TABLE",)


CREATED: dict[str, Callable[[], Any]] = {
    "a generator": lambda: np.random.default_rng(7).normal(size=4),
    "a generator's choice": lambda: np.random.default_rng(7).choice(TABLE, 4),
    "RandomState": lambda: np.random.RandomState(7).randn(4),
    "copy": lambda: copy.copy(TABLE),
    "deepcopy": lambda: copy.deepcopy({"of": [TABLE, 1]})["of"][0],
    "a named tuple": lambda: np.linalg.eigh(np.diag(TABLE)).eigenvalues,
    "scipy.linalg": lambda: scipy.linalg.toeplitz(TABLE)[0],
    "scipy.stats": lambda: scipy.stats.norm.ppf([0.1, 0.2, 0.3, 0.4]),
    "scipy.ndimage": lambda: scipy.ndimage.gaussian_filter1d(TABLE, 1.0),
    "np.vectorize": lambda: np.vectorize(lambda v: v * 2)(TABLE),
    "np.r_": lambda: np.r_[0.0, 1.0:4.0],
}


@pytest.mark.parametrize("create", CREATED.values(), ids=CREATED)
@pytest.mark.filterwarnings("ignore")
def test_a_traced_value_is_written_to_what_a_library_creates(create: Callable[[], Any]) -> None:
    def f(x: Any) -> Any:
        values = create()
        values[0] = values[0] * x[0]
        if x[1] > 0:
            values[2] = x[1] * values[3]
        return np.sum(values**2)

    for x in (X, -X):
        check_grads(f, x)
        np.testing.assert_allclose(ps.trace(f, ps.spec("float64", [3]))(x), f(x), rtol=1e-12)


def test_a_traced_value_is_not_written_to_what_an_object_of_a_library_holds() -> None:
    spline = scipy.interpolate.UnivariateSpline(np.arange(6.0), np.arange(6.0) ** 2)

    def f(x: Any) -> Any:
        coefficients = spline.get_coeffs()
        coefficients[0] = x[0]
        return coefficients.sum() + float(spline(0.0)) * x[1]

    with pytest.raises(PrimsplitError, match="a traced value is written to an array of NumPy's"):
        ps.trace(f, ps.spec("float64", [3]))
