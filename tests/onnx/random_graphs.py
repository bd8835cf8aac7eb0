"""Random valid models: nodes are proposed on the values that there are, and kept where onnxruntime runs them.

Smooth operators of many shapes, sizes computed as exporters compute them, branches and loops that read what is around
them, opsets 11 to 25, names that gradients have too, values that nobody reads or that many do.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]
SIZES = {"N": 3, "M": 4}
NAMES = ["d_x", "x", "y", "d_y", "t_x", "w", "N", "d_d_x", "y_1", "/layer/Add_output_0", "1"]
AXES_ARE_INPUTS = {"ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13}
"""Since which opset; of the other reductions since 18."""


class DoesNotFit(Exception):
    """A proposal that the values at hand do not admit."""


@dataclass
class Grower:
    """A graph that grows: its nodes, and what its values are at the sizes of `SIZES`."""

    random: random.Random
    opset: int
    outer: "Grower | None" = None
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    values: dict[str, Array] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def name(self) -> str:
        """A new one, which is none of this graph's or of those around it."""
        root = self if self.outer is None else self.outer
        odd = [n for n in NAMES if n not in root.names]
        root.names.append(self.random.choice(odd) if odd and self.random.random() < 0.3 else f"v{len(root.names)}")
        return root.names[-1]

    def known(self) -> dict[str, Array]:
        return self.values if self.outer is None else {**self.outer.known(), **self.values}

    def pick(self, fits: Callable[[Array], bool] = lambda a: True) -> tuple[str, Array]:
        """A floating-point value, rather a late one."""
        found = [(n, a) for n, a in self.known().items() if a.dtype == np.float64 and a.size <= 200 and fits(a)]
        if not found:
            raise DoesNotFit
        return self.random.choices(found, [1 + i * i for i in range(len(found))])[0]

    def weight(self, *shape: int) -> str:
        return self.stored(np.random.default_rng(self.random.randrange(2**31)).uniform(-0.8, 0.8, shape))

    def integers(self, *numbers: int) -> str:
        return self.stored(np.array(numbers, np.int64))

    def stored(self, array: Array) -> str:
        """An initializer, which another place may read already, or a Constant."""
        array = np.asarray(array)
        name = next((n for n, a in self.weights.items() if a.dtype == array.dtype and np.array_equal(a, array)), None)
        if name is not None:
            return name
        name = self.name()
        self.values[name] = array
        if self.random.random() < 0.5:
            self.weights[name] = array
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        return name

    def add(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> str:
        """Record a node that runs and gives finite numbers; the name of its first output."""
        made = [self.name() for _ in range(outputs)]
        node = helper.make_node(kind, inputs, made, **attributes)
        found = run([node], self.known(), made, self.opset)
        if any(a.dtype.kind == "f" and not (np.isfinite(a).all() and np.all(np.abs(a) < 20) and a.size) for a in found):
            raise DoesNotFit
        self.nodes.append(node)
        self.values.update(zip(made, found, strict=True))
        return made[0]

    def along(self, kind: str, x: str, axes: Sequence[int], **attributes: Any) -> str:
        """A node that is told axes as its opset has it."""
        if self.opset >= AXES_ARE_INPUTS.get(kind, 18):
            return self.add(kind, [x, self.integers(*axes)], **attributes)
        return self.add(kind, [x], axes=list(axes), **attributes)

    def inner(self) -> "Grower":
        return Grower(self.random, self.opset, self, names=self.names)

    def graph(self, inputs: Sequence[tuple[str, Array]], outputs: Sequence[str]) -> onnx.GraphProto:
        stored = [numpy_helper.from_array(a, n) for n, a in self.weights.items()]
        declared = [[described(n, a.dtype, [None] * a.ndim) for n, a in pairs] for pairs in (inputs, self.of(outputs))]
        return helper.make_graph(self.nodes, "inner", *declared, stored)

    def of(self, names: Sequence[str]) -> list[tuple[str, Array]]:
        return [(n, self.known()[n]) for n in names]


def described(name: str, dtype: np.dtype[Any], shape: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def run(nodes: Sequence[onnx.NodeProto], values: dict[str, Array], wanted: Sequence[str], opset: int) -> list[Array]:
    """Return onnxruntime's results for nodes at these values. Raises DoesNotFit where it refuses them."""
    inputs = [described(n, a.dtype, a.shape) for n, a in values.items()]
    graph = helper.make_graph(list(nodes), "tried", inputs, [onnx.ValueInfoProto(name=n) for n in wanted])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return [np.asarray(a) for a in session.run(list(wanted), values)]
    except Exception as error:  # onnxruntime's own classes differ from build to build
        raise DoesNotFit from error


def elementwise(g: Grower) -> None:
    g.add(g.random.choice(["Tanh", "Sin", "Sigmoid", "Atan", "Softplus", "Exp", "Identity", "Neg"]), [g.pick()[0]])


def broadcast(g: Grower) -> None:
    x, a = g.pick()
    shape = [n if g.random.random() < 0.6 else 1 for n in a.shape[g.random.randint(0, a.ndim) :]]
    others = [n for n, b in g.known().items() if b.dtype == a.dtype and a.shape[a.ndim - b.ndim :] == b.shape]
    pair = [x, g.random.choice([*others, g.weight(*shape)])]
    g.random.shuffle(pair)
    g.add(g.random.choice(["Add", "Sub", "Mul", "Mul"]), pair)


def chosen(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    is_less = g.add("Less", [x, g.weight()])
    g.add("Where", [is_less, g.add("Sin", [x]), g.weight(*a.shape[-1:])])


def product(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    n = a.shape[-1]
    g.add("MatMul", [x, g.weight(*g.random.choice([(n, 2), (n,), (2, n, 3)]))])


def affine(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim == 2)
    turned = g.random.choice([0, 1])
    inputs = [x, g.weight(2, a.shape[1 - turned]), g.weight(*g.random.choice([(2,), (1, 2), (a.shape[turned], 1)]))]
    g.add("Gemm", inputs, transA=turned, transB=1, alpha=0.5)


def contracted(g: Grower) -> None:
    x, a = g.pick(lambda a: 2 <= a.ndim <= 3)
    letters = "ijk"[: a.ndim]
    result = "".join(g.random.sample(letters[:-1] + "m", g.random.randint(1, a.ndim)))
    g.add("Einsum", [x, g.weight(a.shape[-1], 2)], equation=f"{letters},{letters[-1]}m->{result}")


def reduced(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    axes = [i - a.ndim * g.random.choice([0, 1]) for i in g.random.sample(range(a.ndim), g.random.randint(1, a.ndim))]
    kind = g.random.choice(["ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd"])
    g.along(kind, x, axes, keepdims=g.random.choice([0, 1]))


def normalized(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    if g.opset >= 17 and g.random.random() < 0.4:
        g.add("LayerNormalization", [x, g.weight(*a.shape[-1:])], epsilon=0.1)
    else:
        g.add(g.random.choice(["Softmax", "LogSoftmax"]), [x], axis=g.random.randrange(-a.ndim, a.ndim))


def turned(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 1)
    g.add("Transpose", [x], perm=g.random.sample(range(a.ndim), a.ndim))


def reshaped(g: Grower) -> None:
    """By a size that an exporter computes."""
    x, a = g.pick(lambda a: a.ndim > 0)
    size = g.add("Gather", [g.add("Shape", [x]), g.integers(g.random.randrange(a.ndim))])
    g.add("Reshape", [x, g.add("Concat", g.random.choice([[size, g.integers(-1)], [g.integers(1, -1), size]]), axis=0)])


def stretched(g: Grower) -> None:
    x, a = g.pick(lambda a: a.size <= 40)
    if g.random.random() < 0.5:
        g.add("Expand", [x, g.add("Shape", [g.pick()[0]])])
    else:
        g.add("Tile", [x, g.integers(*(g.random.choice([1, 2]) for _ in a.shape))])


def other_axes(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim < 4)
    wide = g.along("Unsqueeze", x, [g.random.randint(-a.ndim - 1, a.ndim)])
    ones = [i for i, n in enumerate(g.values[wide].shape) if n == 1]
    g.along("Squeeze", g.add("Sin", [wide]), [g.random.choice(ones)])


def cut(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    axis = g.random.randrange(a.ndim)
    step = g.random.choice([1, 2, -1])
    ends = [-(2**63) + 1 if step < 0 else g.random.choice([2, -1, 2**31 - 1])]
    told = [[g.random.randrange(-a.shape[axis], a.shape[axis])], ends, [axis - a.ndim], [step]]
    dtype = g.random.choice([np.int32, np.int64]) if step > 0 else np.int64
    g.add("Slice", [x, *(g.stored(np.array(t, dtype)) for t in told)])


def gathered(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    axis = g.random.randrange(a.ndim)
    places = np.array([[g.random.randrange(-a.shape[axis], a.shape[axis]) for _ in range(2)]])
    if g.random.random() < 0.5:
        g.add("Gather", [x, g.stored(places)], axis=axis)
    else:
        largest = g.add("ArgMax", [x], axis=axis, keepdims=1)
        g.add("GatherElements", [x, largest], axis=axis)


def scattered(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    rows = np.array([[g.random.randrange(a.shape[0])] for _ in range(2)])
    how = {"reduction": g.random.choice(["add", "mul"])} if g.opset >= 16 else {}
    g.add("ScatterND", [x, g.stored(rows if how else rows[:1]), g.weight(len(rows) if how else 1, *a.shape[1:])], **how)


def padded(g: Grower) -> None:
    x, a = g.pick(lambda a: 0 < a.ndim < 4)
    pads = [g.random.choice([0, 1]) for _ in range(2 * a.ndim)]
    g.add("Pad", [x, g.integers(*pads)], mode=g.random.choice(["constant", "edge", "reflect"]))


def joined(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    axis = g.random.randrange(a.ndim)
    shape = [2 if i == axis else n for i, n in enumerate(a.shape)]
    g.add("Concat", g.random.sample([x, x, g.weight(*shape)], 3), axis=axis - a.ndim)


def parted(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0 and a.shape[0] > 1)
    sizes = [1, a.shape[0] - 1]
    told = ([x, g.integers(*sizes)], {}) if g.opset >= 13 else ([x], {"split": sizes})
    g.add("Split", told[0], 2, axis=0, **told[1])


def ordered(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    axis = g.random.randrange(a.ndim)
    if g.random.random() < 0.5:
        g.add("TopK", [x, g.integers(g.random.randint(1, a.shape[axis]))], 2, axis=axis)
    else:
        g.add(
            "CumSum", [x, g.stored(np.array(axis))], exclusive=g.random.choice([0, 1]), reverse=g.random.choice([0, 1])
        )


def branched(g: Grower) -> None:
    """Grow an If, both branches of which read values from around it."""
    x, _ = g.pick()
    condition = g.add("Less", [g.add("ReduceSum", [x], keepdims=0), g.weight()])
    then, other = g.inner(), g.inner()
    sides = [then.add("Sin", [x]), other.add("Mul", [x, other.add("Tanh", [g.pick()[0]])])]
    if then.values[sides[0]].shape != other.values[sides[1]].shape:
        raise DoesNotFit
    bodies = [side.graph([], [name]) for side, name in zip((then, other), sides, strict=True)]
    g.add("If", [condition], then_branch=bodies[0], else_branch=bodies[1])


def repeated(g: Grower) -> None:
    """A Loop that keeps what each step makes; its steps may be as many as an axis is long."""
    x, a = g.pick()
    body = g.inner()
    params = [(body.name(), np.array(0)), (body.name(), np.array(True)), (body.name(), a)]
    body.values.update(params)
    again = body.add("Identity", [params[1][0]])
    grown(body, 2, SMALL)
    carry = body.add("Sin", [body.add("Add", [params[2][0], body.add("ReduceMean", [body.pick()[0]], keepdims=0)])])
    kept = body.add("Identity", [body.pick(lambda a: a.ndim > 0)[0]])
    steps = g.stored(np.array(2))
    if g.random.random() < 0.4:
        steps = g.add("Gather", [g.add("Shape", [g.pick(lambda a: a.ndim > 0)[0]]), g.stored(np.array(0))])
    g.add("Loop", [steps, "", x], 2, body=body.graph(params, [again, carry, kept]))


def walked(g: Grower) -> None:
    x, a = g.pick(lambda a: a.ndim > 0)
    axis = g.random.randrange(a.ndim)
    start = g.weight(2)
    body = g.inner()
    params = [(body.name(), g.known()[start]), (body.name(), np.take(a, 0, axis))]
    body.values.update(params)
    grown(body, 2, SMALL)
    carry = body.add("Tanh", [body.add("Mul", [params[0][0], body.add("ReduceSum", [params[1][0]], keepdims=0)])])
    kept = body.add("Identity", [body.pick()[0]])
    how = {"scan_input_axes": [axis], "scan_output_directions": [g.random.choice([0, 1])]}
    g.add("Scan", [start, x], 2, body=body.graph(params, [carry, kept]), num_scan_inputs=1, **how)


SMALL = (elementwise, broadcast, product, reduced, cut, other_axes, joined)
PROPOSALS = (
    *SMALL, chosen, affine, contracted, normalized, turned, reshaped, stretched, gathered, scattered, padded, parted,
    ordered, branched, repeated, walked,
)  # fmt: skip


def grown(g: Grower, count: int, proposals: Sequence[Callable[[Grower], None]]) -> None:
    """Try so many proposals twice over, and keep those that fit."""
    for _ in range(2 * count):
        try:
            g.random.choice(proposals)(g)
        except DoesNotFit:
            continue


@dataclass
class Grown:
    """A model, its inputs at the sizes of `SIZES`, and the sizes that each is declared with."""

    model: onnx.ModelProto
    inputs: dict[str, Array]
    sizes: dict[str, list[int | str]]

    def at(self, sizes: dict[str, int]) -> dict[str, Array]:
        """Inputs at other sizes."""
        numbers = np.random.default_rng(1)
        return {n: numbers.uniform(-1, 1, [sizes.get(str(d), d) for d in dims]) for n, dims in self.sizes.items()}


def random_model(seed: int) -> Grown:
    choices = random.Random(seed)
    g = Grower(choices, choices.randint(11, 25))
    sizes: dict[str, list[int | str]] = {}
    for _ in range(choices.randint(1, 2)):
        sizes[g.name()] = [choices.choice(["N", "M", 2, 1, "N"]) for _ in range(choices.randint(1, 3))]
    numbers = np.random.default_rng(seed)
    inputs = {n: numbers.uniform(-1, 1, [SIZES.get(str(d), d) for d in dims]) for n, dims in sizes.items()}
    g.values.update(inputs)
    grown(g, choices.randint(3, 10), PROPOSALS)
    made = [n for node in g.nodes for n in node.output if n in g.values and g.values[n].dtype == np.float64]
    first = g.add("Sin", [next(iter(inputs))])
    results = list(dict.fromkeys([*made[-1:], *choices.sample(made, min(len(made), 2)), first]))
    declared = [described(n, a.dtype, sizes[n]) for n, a in inputs.items()]
    given = [described(n, g.values[n].dtype, [None] * g.values[n].ndim) for n in results]
    stored = [numpy_helper.from_array(a, n) for n, a in g.weights.items()]
    graph = helper.make_graph(g.nodes, "random", declared, given, stored)
    opset = helper.make_opsetid("", g.opset)
    return Grown(helper.make_model(graph, opset_imports=[opset], ir_version=10), inputs, sizes)
