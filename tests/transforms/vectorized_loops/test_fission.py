"""Work of a step that does not need the step before is done for all steps at once."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.programs.export import derive
from primsplit.rewrites.inline import inline_calls
from primsplit.testing import check_grads
from primsplit.transforms.vectorized_loops.fission import split_up_scans


def body_kinds(program: ps.Program) -> list[list[str]]:
    """The operators inside each Scan, after the pass."""
    block = split_up_scans(inline_calls(program.block))
    return [[op.kind for op in scan.attributes["body"].ops] for scan in walk(block) if scan.kind == "Scan"]


def recurrent(xs, w, r, b):
    def step(h, x):
        h = np.tanh(x @ w + h @ r + b)
        return h, h

    return (ps.scan(step, np.zeros((2, 3)), xs)[1] ** 2).sum()


SPECS = (ps.spec("float64", ["N", 2, 4]), *(ps.spec("float64", s) for s in ([4, 3], [3, 3], [3])))


def test_the_product_with_the_elements_is_one_product_in_front() -> None:
    assert body_kinds(ps.trace(recurrent, *SPECS)) == [["MatMul", "Add", "Add", "Tanh"]]


def test_the_gradients_of_matrices_are_products_over_all_steps() -> None:
    forward, backward = body_kinds(ps.split(recurrent, *SPECS).joint())
    assert forward == ["MatMul", "Add", "Add", "Tanh"]
    assert backward.count("MatMul") == 1


def test_the_numbers_stay() -> None:
    random = np.random.default_rng(0)
    values = [random.normal(size=s) for s in ((4, 3), (3, 3), (3,))]
    check_grads(recurrent, random.normal(size=(5, 2, 4)), *values, order=2, symbolic=False)


def test_a_step_may_add_several_terms_to_a_sum() -> None:
    """As the product with the Hessian does to the tangent of a matrix's gradient."""
    product = derive(recurrent, *SPECS, mode="hvp", wrt="r").joint()
    bodies = body_kinds(product)
    assert [kinds.count("MatMul") for kinds in bodies] == [1, 1, 1, 1]


def test_a_step_may_add_its_product_with_a_matrix_from_outside() -> None:
    def f(w, xs):
        total, _ = ps.scan(lambda c, x: (c + x.T @ w, None), np.zeros((2, 4)), xs)
        return (total**2).sum()

    random = np.random.default_rng(4)
    check_grads(f, random.normal(size=(3, 4)), random.normal(size=(5, 3, 2)), order=2, symbolic=False)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_one_file_still_serves_every_length(n) -> None:
    random = np.random.default_rng(1)
    values = [random.normal(size=s) for s in ((4, 3), (3, 3), (3,))]
    xs = random.normal(size=(n, 2, 4))
    joint = ps.split(recurrent, *SPECS).joint()
    unrolled = ps.split(
        lambda xs, w, r, b: sum((h**2).sum() for h in _states(xs, w, r, b)) + 0.0 * xs.sum(), xs, *values
    ).joint()
    for found, expected in zip(joint(xs, *values), unrolled(xs, *values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def _states(xs, w, r, b):
    h = np.zeros((2, 3))
    for i in range(xs.shape[0]):
        h = np.tanh(xs[i] @ w + h @ r + b)
        yield h


@pytest.mark.parametrize("width", [3, 4096])
def test_a_map_has_no_scan_left(width) -> None:
    program = ps.trace(lambda xs: ps.map(lambda x: np.exp(x) * x, xs), ps.spec("float64", ["N", width]))
    assert body_kinds(program) == []
    assert program(np.zeros((0, width))).shape == (0, width)


@pytest.mark.parametrize(("width", "kinds"), [(8, ["Add"]), (4096, ["Exp", "Add"])])
def test_what_works_on_many_elements_of_a_step_stays_beside_the_carry(width, kinds) -> None:
    def f(xs):
        return ps.scan(lambda h, x: (h + np.exp(x), None), np.ones(width), xs)[0] ** 2

    def doubled(xs):
        return ps.scan(lambda h, x: ((h + np.exp(x)) / 2, None), np.ones(width), xs)[0]

    assert body_kinds(ps.trace(f, ps.spec("float64", ["N", width]))) == []
    (body,) = body_kinds(ps.trace(doubled, ps.spec("float64", ["N", width])))
    assert body == [*kinds, "Div"]


def test_what_is_for_a_product_in_front_is_in_front() -> None:
    def f(xs, w):
        return ps.scan(lambda h, x: (np.tanh(h + np.exp(x) @ w), None), np.ones((64, 32)), xs)[0]

    program = ps.trace(f, ps.spec("float64", ["N", 64, 32]), ps.spec("float64", [32, 32]))
    assert body_kinds(program) == [["Add", "Tanh"]]


def test_a_large_state_is_not_stacked_for_a_small_result() -> None:
    def f(xs):
        def step(h, x):
            h = np.tanh(h + x)
            return h, h.sum()

        return ps.scan(step, np.zeros(1000), xs)[1]

    (inside,) = body_kinds(ps.trace(f, ps.spec("float64", ["N"])))
    assert "ReduceSum" in inside


def test_small_values_are_stacked_where_that_saves_more_operators_of_a_step() -> None:
    def f(w, start, xs):
        def step(c, x):
            ahead = c + x * w * c[::-1]
            return c + x * w * ahead[::-1], None

        return (ps.scan(step, start, xs)[0] ** 2).sum()

    two = ps.spec("float64", [2])
    _, backward = body_kinds(ps.split(f, two, two, ps.spec("float64", ["N"]), wrt=0).joint())
    assert backward == ["Mul", "Slice", "Add"] * 2  # the way back through both lines; nothing for w
    random = np.random.default_rng(5)
    check_grads(f, *random.normal(size=(2, 2)), random.normal(size=4), order=2, symbolic=False)


def test_a_walk_from_the_end_is_split_up_too() -> None:
    def f(xs, w):
        last, ys = ps.scan(lambda h, x: (np.tanh(h @ w + x @ w), h * x), np.zeros((1, 3)), xs, reverse=True)
        return (last**2).sum() + (ys * np.arange(3.0)).sum()

    random = np.random.default_rng(2)
    check_grads(f, random.normal(size=(4, 1, 3)), random.normal(size=(3, 3)), order=2, symbolic=False)


def directions(scan):
    """The ways in which a Scan reads and writes along its sequences."""
    given = scan.attributes
    sequences = given["num_scan_inputs"]
    stacked = len(scan.outputs) - (len(scan.inputs) - sequences)
    return {
        *given.get("scan_input_directions", [0] * sequences),
        *given.get("scan_output_directions", [0] * stacked),
    }


@pytest.mark.parametrize("is_reverse", [False, True], ids=["forwards", "backwards"])
def test_the_scans_of_a_product_with_the_hessian_are_split_up_too(is_reverse) -> None:
    """A Scan that reads from the end stacks from the end: its own derivative then goes one way all through."""

    def f(xs, w):
        def step(h, x):
            h = np.tanh(x + h @ w)
            return h, h

        return (ps.scan(step, np.zeros((2, 3)), xs, reverse=is_reverse)[1] ** 2).sum()

    specs = (ps.spec("float64", ["N", 2, 3]), ps.spec("float64", [3, 3]))
    random = np.random.default_rng(3)
    xs, w = random.normal(size=(5, 2, 3)), random.normal(size=(3, 3))
    check_grads(f, xs, w, order=2, symbolic=False)
    program = ps.trace(lambda x, m, v: ps.hvp(lambda a: f(a, m))(x, v), *specs, specs[0])
    assert all(len(directions(op)) == 1 for op in walk(program.block) if op.kind == "Scan")
    bodies = body_kinds(program)
    assert len(bodies) == 4
    inside = [kind for kinds in bodies for kind in kinds]
    assert inside.count("Tanh") == 1
    assert "Sub" not in inside  # 1 - tanh(x) ** 2 of all steps at once


def test_what_reads_its_size_from_an_element_stays_in_the_step() -> None:
    """Its form for all steps would be a loop over them, or none."""
    energy = ps.primitive(lambda x, t: (0.5 * x, np.sum(x * x) / (2.0 + t * t)), inline=False)

    def f(x, t):
        (x, t), _ = ps.scan(lambda c, _: (energy(*c), None), (x, t), length=3, checkpoint="sqrt")
        return np.sum(np.sin(x)) * t

    specs = ps.spec("float64", ["N"]), ps.spec("float64", [])
    product = derive(f, *specs, mode="hvp").joint()
    gradient = ps.grad(f, wrt=(0, 1))
    for size in (3, 1, 0):
        x, v = np.linspace(0.2, 0.9, size), np.linspace(-1.0, 1.0, size)
        ahead, behind = (gradient(x + h * v, 0.3 + h * 0.7) for h in (1e-5, -1e-5))
        found = product(x, 0.3, v, 0.7)
        for told, a, b in zip(found[3:], ahead, behind, strict=True):
            np.testing.assert_allclose(told, (a - b) / 2e-5, rtol=1e-7, atol=1e-8)
