"""Small valid models of many kinds, and what may go wrong with one: bytes, or fields, that are not what they were."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ODD_NUMBERS = (0, 1, -1, 2, 3, 7, 255, 2**15, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
ODD_FLOATS = (0.0, -0.0, 1.0, float("nan"), float("inf"), 1e38, -1.5)
ODD_TEXTS = ("", "x", "y", "W", "N", "N+1", "N//0", "?", "a b", "é", "\0", "Neg", "If", "Loop", "ai.onnx", "9" * 400)


def _info(name: str, shape: Any, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: dict[str, Any] | None = None, **more: Any
) -> onnx.ModelProto:
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "seed", inputs, outputs, stored)
    imports = [helper.make_opsetid("", more.pop("opset", 17)), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, **more)


def perceptron() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Gemm", ["x", "W", "b"], ["z"], alpha=0.5, transB=1),
        helper.make_node("Relu", ["z"], ["r"]),
        helper.make_node("Softmax", ["r"], ["s"], axis=-1),
        helper.make_node("ReduceSum", ["s", "axes"], ["y"], keepdims=0),
    ]
    constants = {"W": np.ones((2, 3), np.float32), "b": np.zeros(2, np.float32), "axes": np.array([1])}
    return _model(nodes, [_info("x", ["N", 3])], [_info("y", ["N"])], constants)


def convolution() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "K"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c", "one", "one", "one", "one"], ["n"]),
        helper.make_node("MaxPool", ["n"], ["m"], kernel_shape=[2, 2]),
        helper.make_node("GlobalAveragePool", ["m"], ["g"]),
        helper.make_node("Flatten", ["g"], ["y"]),
    ]
    constants = {"K": np.ones((2, 1, 3, 3), np.float32), "one": np.ones(2, np.float32)}
    return _model(nodes, [_info("x", ["N", 1, 8, 8])], [_info("y", ["N", 2])], constants, opset=15)


def shapes() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "first"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["r"]),
        helper.make_node("Slice", ["r", "first", "rest"], ["c"]),
        helper.make_node("Transpose", ["c"], ["p"], perm=[1, 0]),
        helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.array(2, np.float32))),
        helper.make_node("Pow", ["p", "k"], ["y"]),
    ]
    constants = {"first": np.array([0]), "rest": np.array([-1])}
    return _model(nodes, [_info("x", ["N", 2, "M"])], [_info("y", ["A", "B"])], constants)


def branches() -> onnx.ModelProto:
    inner = [_info("o", ["N"])]
    then = helper.make_graph([helper.make_node("Sin", ["x"], ["o"])], "then", [], inner)
    other = helper.make_graph([helper.make_node("Mul", ["x", "W"], ["o"])], "other", [], inner)
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        helper.make_node("Greater", ["m", "W"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    return _model(nodes, [_info("x", ["N"])], [_info("y", ["N"])], {"W": np.float32(2)})


def loop() -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Tanh", ["v"], ["w"])],
        "body",
        [_info("i", [], TensorProto.INT64), _info("go", [], TensorProto.BOOL), _info("v", ["N"])],
        [_info("on", [], TensorProto.BOOL), _info("w", ["N"])],
    )
    nodes = [helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)]
    return _model(nodes, [_info("x", ["N"])], [_info("y", ["N"])], {"count": np.array(3)})


def function() -> onnx.ModelProto:
    body = [helper.make_node("Mul", ["a", "a"], ["t"]), helper.make_node("Exp", ["t"], ["c"])]
    made = helper.make_function("own", "bell", ["a"], ["c"], body, [helper.make_opsetid("", 17)])
    nodes = [helper.make_node("bell", ["x"], ["y"], domain="own")]
    return _model(nodes, [_info("x", ["N"])], [_info("y", ["N"])], functions=[made])


def recurrent() -> onnx.ModelProto:
    nodes = [helper.make_node("LSTM", ["x", "W", "R"], ["", "", "y"], hidden_size=2, direction="forward")]
    constants = {"W": np.ones((1, 8, 3), np.float32), "R": np.ones((1, 8, 2), np.float32)}
    return _model(nodes, [_info("x", ["T", "B", 3])], [_info("y", [1, "B", 2])], constants)


def old() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Unsqueeze", ["x"], ["u"], axes=[0]),
        helper.make_node("Dropout", ["u"], ["d"], ratio=0.5),
        helper.make_node("Upsample", ["d", "scales"], ["y"], mode="nearest"),
    ]
    constants = {"scales": np.array([1, 1, 2, 2], np.float32)}
    return _model(nodes, [_info("x", [1, 4, 4])], [_info("y", [1, 1, 8, 8])], constants, opset=9)


def sequences() -> onnx.ModelProto:
    """The rows of x, mapped, then appended one by one in a Loop, and joined."""
    rows = helper.make_tensor_sequence_value_info
    body = helper.make_graph([helper.make_node("Sin", ["v"], ["w"])], "each", [_info("v", [3])], [_info("w", [3])])
    step = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("SequenceAt", ["t", "i"], ["r"]),
            helper.make_node("SequenceInsert", ["before", "r"], ["after"]),
        ],
        "step",
        [_info("i", [], TensorProto.INT64), _info("go", [], TensorProto.BOOL), rows("before", TensorProto.FLOAT, [3])],
        [_info("on", [], TensorProto.BOOL), rows("after", TensorProto.FLOAT, [3])],
    )
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0),
        helper.make_node("SequenceMap", ["s"], ["t"], body=body),
        helper.make_node("SequenceLength", ["t"], ["n"]),
        helper.make_node("SequenceEmpty", [], ["e"]),
        helper.make_node("Loop", ["n", "", "e"], ["u"], body=step),
        helper.make_node("ConcatFromSequence", ["u"], ["y"], axis=0, new_axis=1),
    ]
    return _model(nodes, [_info("x", ["N", 3])], [_info("y", ["N", 3])])


SEEDS: list[Callable[[], onnx.ModelProto]] = [
    perceptron,
    convolution,
    shapes,
    branches,
    loop,
    function,
    recurrent,
    old,
    sequences,
]


def changed_bytes(data: bytes, random: random.Random) -> bytes:
    """The bytes with a few of them changed, taken away, or put in twice."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        start = random.randrange(len(found) + 1)
        length = random.choice((1, 1, 2, 8, 40))
        kind = random.randrange(4)
        if kind == 0:
            found[start : start + 1] = bytes([random.randrange(256)])
        elif kind == 1:
            del found[start : start + length]
        elif kind == 2:
            found[start:start] = found[start : start + length]
        else:
            del found[start:]
    return bytes(found)


def _messages(message: Any) -> Iterator[Any]:
    """A protobuf message and those in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield from _messages(inner)


def changed_field(model: onnx.ModelProto, random: random.Random) -> None:
    """Change one field of one message in the model."""
    message = random.choice(list(_messages(model)))
    fields = message.DESCRIPTOR.fields
    there = [f for f, _ in message.ListFields()]
    field = random.choice(there if there and random.random() < 0.7 else fields)
    if random.random() < 0.2:
        message.ClearField(field.name)
    elif field.message_type is not None:
        _change_messages(message, field, random)
    else:
        _change_numbers(message, field, random)


def _change_messages(message: Any, field: Any, random: random.Random) -> None:
    if not field.is_repeated:
        getattr(message, field.name).SetInParent()
        return
    values = getattr(message, field.name)
    if values and random.random() < 0.5:
        values.add().CopyFrom(random.choice(values))
    elif values:
        del values[random.randrange(len(values))]
    else:
        values.add()


def _change_numbers(message: Any, field: Any, random: random.Random) -> None:
    value = _odd(field, random)
    try:
        if not field.is_repeated:
            setattr(message, field.name, value)
            return
        values = getattr(message, field.name)
        if values and random.random() < 0.6:
            values[random.randrange(len(values))] = value
        else:
            values.extend([value] * random.choice((1, 1, 3)))
    except (ValueError, TypeError):
        message.ClearField(field.name)


def _odd(field: Any, random: random.Random) -> Any:
    if field.cpp_type in {field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE}:
        return random.choice(ODD_FLOATS)
    if field.enum_type is not None:
        return random.choice([v.number for v in field.enum_type.values])
    if field.type == field.TYPE_BYTES:
        return random.choice((b"", b"\xff\xfe", b"abc", bytes(64)))
    if field.type == field.TYPE_STRING:
        return random.choice(ODD_TEXTS)
    return random.choice(ODD_NUMBERS)
