"""A split as one model whose forward pass and pullback are model-local functions.

The main graph is thin: it calls `ps::<name>`, which gives the results and what the pullback reads, and then
`ps::<name>__pullback`. From outside, the file is the joint form: the same inputs, outputs and names.
"""

from collections.abc import Collection

import numpy as np
import onnx_ir as oir

from primsplit.ir import Const, Value, Var
from primsplit.names import NamedBlock
from primsplit.onnxio.save import PRODUCER, Writer, data_key, dtype_of, shape_of, tensor_of
from primsplit.passes.finish import finish
from primsplit.schema import IR_VERSION, OPSET

DOMAIN = "ps"


def to_function_model(name: str, joint: NamedBlock, forward: NamedBlock, backward: NamedBlock) -> oir.Model:
    """The model of a split with the functions `<name>` and `<name>__pullback` in the domain `ps`."""
    main = _Main(joint)
    for function in (_Function(name, forward), _Function(f"{name}__pullback", backward)):
        main.call(function)
    graph = oir.Graph(
        main.inputs,
        [main.values[n] for n in joint.outputs],
        nodes=main.nodes,
        initializers=list(main.writer.initializers.values()),
        opset_imports={"": OPSET, DOMAIN: 1},
        name=name or PRODUCER,
    )
    return oir.Model(graph, ir_version=IR_VERSION, producer_name=PRODUCER, functions=main.functions)


def _declared(name: str, typed: Value) -> oir.Value:
    return oir.Value(name=name, type=oir.TensorType(dtype_of(typed.type)), shape=shape_of(typed.type))


class _Main:
    """The thin graph: calls, and the values that they read and give, by name."""

    def __init__(self, joint: NamedBlock) -> None:
        self.inputs = [_declared(n, p) for n, p in zip(joint.inputs, joint.block.params, strict=True)]
        self.values = dict(zip(joint.inputs, self.inputs, strict=True))
        self.nodes: list[oir.Node] = []
        self.functions: list[oir.Function] = []
        self.writer = Writer()
        self.writer.names.taken.update(joint.inputs, joint.outputs)

    def call(self, called: "_Function") -> None:
        """Add the function, and a node that calls it on the values of its inputs' names."""
        for name, param in zip(called.program.inputs, called.program.block.params, strict=True):
            if name not in self.values:
                self.values[name] = self._ones(name, param)
        inputs = [self.values[n] for n in called.program.inputs]
        inputs += [self.writer.initializer(c) for c in called.long]
        outputs = [_declared(n, r) for n, r in zip(called.program.outputs, called.program.block.results, strict=True)]
        self.values.update(zip(called.program.outputs, outputs, strict=True))
        self.nodes.append(oir.Node(DOMAIN, called.name, inputs, outputs=outputs, name=called.name))
        self.functions.append(called.function)

    def _ones(self, name: str, param: Var) -> oir.Value:
        """The cotangent `d_<result>` of a split that is seeded with ones."""
        shape = oir.Value(name=f"{name}.shape", type=oir.TensorType(oir.DataType.INT64))
        made = _declared(name, param)
        one = oir.AttrTensor("value", oir.tensor(np.ones(1, param.type.dtype)))
        result = self.values[name.removeprefix("d_")]
        self.nodes.append(oir.Node("", "Shape", [result], outputs=[shape], name=f"shape {name}"))
        self.nodes.append(oir.Node("", "ConstantOfShape", [shape], [one], outputs=[made], name=f"ones {name}"))
        return made


class _Function:
    """A named block as a model-local function.

    Short constants are Constant nodes in it; long ones are further parameters, `long`, so that the data of the model
    stay initializers, which may be stored outside of the file.
    """

    def __init__(self, name: str, program: NamedBlock) -> None:
        self.name = name
        self.program = program
        block = finish(program.block, is_function=True)
        writer = _FunctionWriter({*program.inputs, *program.outputs})
        params = [writer.declare(p, n) for p, n in zip(block.params, program.inputs, strict=True)]
        own = writer.reserve_results(block, program.outputs)
        nodes = [writer.node(op) for op in block.ops]
        results = [writer.result(r, n, o, nodes) for r, n, o in zip(block.results, program.outputs, own, strict=True)]
        self.long = writer.long
        graph = oir.Graph(
            [*params, *writer.parameters],
            results,
            nodes=[*writer.constants, *nodes],
            opset_imports={"": OPSET},
            name=name,
        )
        self.function = oir.Function(DOMAIN, name, graph=graph, attributes=[])


class _FunctionWriter(Writer):
    """Writes ops inside a function, which has no initializers."""

    def __init__(self, taken: Collection[str]) -> None:
        super().__init__()
        self.names.taken.update(taken)
        self.long: list[Const] = []
        self.parameters: list[oir.Value] = []
        self.constants: list[oir.Node] = []

    def initializer(self, const: Const) -> oir.Value:
        """The value that holds a constant: the output of a Constant node, or a parameter."""
        key = data_key(const)
        if key in self.initializers:
            return self.initializers[key]
        name = self.names.give(Var(const.type), const.hint or f"c{len(self.initializers)}")
        value = self.initializers[key] = _declared(name, const)
        self.kept.append(const)
        if const.is_small:
            tensor = oir.AttrTensor("value", tensor_of(const, name))
            self.constants.append(oir.Node("", "Constant", [], [tensor], outputs=[value], name=f"constant {name}"))
        else:
            self.parameters.append(value)
            self.long.append(const)
        return value
