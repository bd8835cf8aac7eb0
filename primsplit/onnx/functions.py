"""Write a derivative as one model whose forward pass and pullback (or tangent program) are model-local functions.

```
y, kept = ps::f(x);  dx = ps::f__pullback(kept, dy)
```

The main graph only calls `ps::<name>`, which returns the results and the values that the second pass reads, and then
`ps::<name>__pullback` or `ps::<name>__tangent`. From outside, the file is the joint form: the same inputs, outputs and
names.
"""

from collections.abc import Mapping

import numpy as np
import onnx

from primsplit.ir import Block, Const, Op, Type, Value, Var, is_call
from primsplit.ir.names import NamedBlock, Names
from primsplit.ir.providers import Provider
from primsplit.ir.runtimes import Runtime
from primsplit.onnx.provenance import NodeNames
from primsplit.onnx.save import Initializers, Model, Writer, document, new_model, tell
from primsplit.onnx.tensors import fill
from primsplit.ops.schema import OPSET
from primsplit.targets.finish import finish

DOMAIN = "ps"


def to_function_model(
    joint: NamedBlock, functions: Mapping[str, NamedBlock], metadata: Mapping[str, str] | None = None
) -> Model:
    """Return the model that calls these functions, of the domain `ps`, one after another."""
    main = _Main(joint, functions, metadata)
    for name, program in functions.items():
        main.call(name, program)
    for output in joint.outputs:
        main.graph.output.append(main.writer.value_info(output, main.types[output]))
    for name, const in joint.defaults.items():
        main.stored.hold(const, name)
    document(main.graph, joint.gradients)
    tell(main.proto, {**main.stored.told(), **main.nodes.told()})
    return Model(main.proto, main.stored.waiting, main.name_of, main.nodes.nodes)


class _Main:
    """The main graph: calls, and the types of the values that they read and return, by name."""

    def __init__(
        self, joint: NamedBlock, functions: Mapping[str, NamedBlock], metadata: Mapping[str, str] | None
    ) -> None:
        self.proto = new_model(next(iter(functions)), metadata)
        self.proto.opset_import.add(domain=DOMAIN, version=1)
        self.graph = self.proto.graph
        self.nodes = NodeNames(joint.provenance)
        self.functions = Functions(self.proto, joint.provider, joint.runtime, self.nodes)
        self.stored = Initializers(self.graph)
        programs = (joint, *functions.values())
        self.writer = Writer(self.stored.hold, self.nodes, {n for p in programs for n in (*p.inputs, *p.outputs)})
        self.ends = frozenset(joint.outputs)
        self.inputs = dict(zip(joint.block.params, joint.inputs, strict=True))
        self.types = {n: p.type for p, n in self.inputs.items()}
        self.graph.input.extend(self.writer.value_info(n, t) for n, t in self.types.items())

    def call(self, name: str, program: NamedBlock) -> None:
        """Add the function, and a node that calls it on the values of its inputs' names."""
        long = self.functions.write(name, program)
        for given, param in zip(program.inputs, program.block.params, strict=True):
            if given not in self.types:
                self.ones(given, param.type)
        inputs = [*program.inputs, *(self.writer.initializer(c) for c in long)]
        self.graph.node.add(domain=DOMAIN, op_type=name, name=name, input=inputs, output=program.outputs)
        for output, result in zip(program.outputs, program.block.results, strict=True):
            self.declare(output, result.type)

    def name_of(self, value: Value) -> str | None:
        """Return the graph's name of an input or a constant."""
        return self.inputs.get(value) if isinstance(value, Var) else self.writer.name_of(value)

    def declare(self, name: str, type: Type) -> None:
        """Declare the type of a value; the graph itself declares its outputs."""
        self.types[name] = type
        if name not in self.ends:
            self.graph.value_info.append(self.writer.value_info(name, type))

    def ones(self, name: str, type: Type) -> None:
        """Write the cotangent `d_<result>` of a split that is seeded with ones."""
        shape, result = f"{name}.shape", name.removeprefix("d_")
        self.graph.node.add(op_type="Shape", name=f"shape {name}", input=[result], output=[shape])
        node = self.graph.node.add(op_type="ConstantOfShape", name=f"ones {name}", input=[shape], output=[name])
        self.writer.attribute(node.attribute, "value", np.ones(1, type.dtype))
        self.declare(name, type)


class Functions:
    """The functions of a model. Those that others call, of primitives that are not inlined, are written once each."""

    def __init__(self, proto: onnx.ModelProto, provider: Provider, runtime: Runtime, nodes: NodeNames) -> None:
        self.proto = proto
        self.nodes = nodes
        self.provider: Provider = provider
        self.runtime = runtime
        self.names = Names()
        self.called: list[tuple[str, list[Const], Block]] = []

    def write(self, name: str, program: NamedBlock) -> list[Const]:
        """Write a named block as a function; see `write_function`."""
        self.names.taken.add(name)
        block = self.with_calls(
            finish(program.block, is_function=True, keep_calls=True, provider=self.provider, runtime=self.runtime)
        )
        return write_function(self.proto.functions.add(domain=DOMAIN, name=name), program, block, self.nodes)

    def with_calls(self, block: Block) -> Block:
        """Return the block with its calls, also in sub-blocks, as ops of the model's own functions."""
        return Block(block.name, block.params, tuple(map(self.named, block.ops)), block.results)

    def named(self, op: Op) -> Op:
        """Return the op; a call as an op of the function that it calls, which is written if it is not yet."""
        if not is_call(op):
            return op.with_blocks(self.with_calls)
        name, long = self.function_of(op.kind.removeprefix("call::"), op.attributes["body"])
        return op.beside(f"{DOMAIN}::{name}", (*op.inputs, *long), op.outputs)

    def function_of(self, wanted: str, body: Block) -> tuple[str, list[Const]]:
        """Return the name of the function with this body, and the constants that a call must pass after its inputs."""
        for name, long, known in self.called:
            if known is body or known == body:
                return name, long
        called = "function" if self.nodes.provenance == "none" else wanted
        name = self.names.give(Var(Type(np.bool_, ())), called)
        inputs = tuple(f"x{i}" for i in range(len(body.params)))
        outputs = tuple(f"y{i}" for i in range(len(body.results)))
        long = self.write(name, NamedBlock(body, inputs, outputs))
        self.called.append((name, long, body))
        return name, long


def write_function(function: onnx.FunctionProto, program: NamedBlock, block: Block, nodes: NodeNames) -> list[Const]:
    """Write a named block, finished, as a model-local function.

    Return the constants that a call must pass after its inputs.

    Short constants are Constant nodes in it; long ones are further parameters, so that the data of the model stay
    initializers, which may be stored outside of the file.
    """
    function.opset_import.add(domain="", version=OPSET)
    function.opset_import.add(domain=DOMAIN, version=1)
    long: list[Const] = []
    constants: list[onnx.NodeProto] = []
    parameters: list[str] = []

    def hold(const: Const, name: str) -> None:
        if const.is_small:
            constants.append(_constant(const, name))
        else:
            long.append(const)
            parameters.append(name)

    writer = Writer(hold, nodes, {*program.inputs, *program.outputs})
    for param, name in zip(block.params, program.inputs, strict=True):
        writer.declare(param, name)
    body = onnx.FunctionProto()
    writer.body(block, program.outputs, body)
    function.input.extend([*program.inputs, *parameters])
    function.output.extend(program.outputs)
    function.node.extend([*constants, *body.node])
    function.value_info.extend(body.value_info)
    return long


def _constant(const: Const, name: str) -> onnx.NodeProto:
    node = onnx.NodeProto(op_type="Constant", name=f"constant {name}", output=[name])
    tensor = node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t
    fill(tensor, const.data)
    return node
