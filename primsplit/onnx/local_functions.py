"""Inline a model's functions, each read in the opset that it imports itself.

```
y = mine.Scale(x)  with  Scale(a): Mul(a, 2)   ->   y = Mul(x, 2)
```

onnx's checker accepts no function of another opset than its model's if the two know an operator in two ways, and its
inliner leaves such calls as they are. So those functions are checked beside the model. Their nodes are then in a domain
of their own, where neither sees their meaning, until the whole model is one graph.
"""

from collections.abc import Iterable, Mapping

import google.protobuf.message
import onnx
import onnx.helper
import onnx.inliner

from primsplit.ir.errors import ParseError, UnsupportedFunction
from primsplit.onnx.limits import check_functions
from primsplit.onnx.modelfile import check_model
from primsplit.onnx.protobufs import Key, call_key, function_key, invalid
from primsplit.onnx.versions import converted, domain_of, nodes_of, version_of
from primsplit.ops.schema import OPSET

APART = "primsplit.apart"


def inlined(proto: onnx.ModelProto, path: str) -> onnx.ModelProto:
    """Return the model, checked, without functions of its own. Raises ParseError if it is not valid."""
    check_with_functions(proto, path)
    if not proto.functions:
        return proto
    _give_defaults(proto, path)
    if strangers := _strangers(proto):
        return _inlined_in_one_opset(proto, strangers, path)
    return _inlined(proto, path)


def check_with_functions(proto: onnx.ModelProto, path: str) -> None:
    """Raise ParseError if onnx finds a model invalid, or one of its functions, each in its own opset.

    Functions are refused that call themselves, and those that would make the model too large where they are called.
    """
    if strangers := _strangers(proto):
        _check_apart(proto, strangers, path)
    else:
        check_model(proto, path)
    check_functions(proto, path)


def _strangers(proto: onnx.ModelProto) -> list[onnx.FunctionProto]:
    """Return the functions of another opset than the model's."""
    return [f for f in proto.functions if f.node and version_of(f) != version_of(proto)]


def _give_defaults(proto: onnx.ModelProto, path: str) -> None:
    """Write the default attributes of functions into the calls that leave them out.

    onnx's inliner drops what refers to an attribute that is left out.
    """
    functions = {function_key(f): f for f in proto.functions}
    for node in (n for holder in (proto.graph, *proto.functions) for n in nodes_of(holder)):
        if function := functions.get(call_key(node)):
            given = {a.name for a in node.attribute}
            node.attribute.extend(a for a in function.attribute_proto if a.name not in given)
            if absent := set(function.attribute) - given:
                _check_handed_on(function, absent, functions, path)


def _check_handed_on(
    function: onnx.FunctionProto, absent: set[str], functions: Mapping[Key, onnx.FunctionProto], path: str
) -> None:
    """Refuse an absent attribute that the function passes on to one with a default: other calls may give it."""
    for inner in (n for n in nodes_of(function) if call_key(n) in functions):
        called = functions[call_key(inner)]
        handed = {a.name for a in inner.attribute if a.ref_attr_name in absent}
        if lost := sorted(handed & {a.name for a in called.attribute_proto}):
            raise UnsupportedFunction(
                f"{path}: a call of {function.name} leaves out what {called.name}, which it calls, has a default for: "
                f"{', '.join(lost)}",
                cure=f"Give {function.name} that default too.",
            )
        if handed:
            _check_handed_on(called, handed, functions, path)


def _check_apart(proto: onnx.ModelProto, strangers: list[onnx.FunctionProto], path: str) -> None:
    """Check the model without functions of another opset, and those of each opset beside a graph that does nothing."""
    own = _without_functions(proto)
    own.functions.extend(f for f in proto.functions if f not in strangers)
    check_model(own, path)
    for version in sorted({version_of(f) for f in strangers}):
        model = onnx.helper.make_model(_idle_graph(), ir_version=max(proto.ir_version, 8))
        del model.opset_import[:]
        imports = {o.domain: o.version for o in proto.opset_import}
        for function in (f for f in strangers if version_of(f) == version):
            imports.update({o.domain: o.version for o in function.opset_import})
            model.functions.append(function)
        model.opset_import.extend(onnx.helper.make_opsetid(domain, number) for domain, number in imports.items())
        check_model(model, path)


def _idle_graph() -> onnx.GraphProto:
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("x", "y")]
    return onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "idle", ends[:1], ends[1:])


def _inlined_in_one_opset(proto: onnx.ModelProto, strangers: list[onnx.FunctionProto], path: str) -> onnx.ModelProto:
    """The model in one graph, with nodes older than the pinned opset converted to it, as a model of the newest one."""
    newest = max(OPSET, version_of(proto), *map(version_of, strangers))
    others = sorted({version_of(f) for f in strangers})
    for function in strangers:
        domain = f"{APART}.{version_of(function)}"
        _move(nodes_of(function), "", domain)
        _say_opset(function, version_of(proto))
        for holder in (function, proto):
            holder.opset_import.extend(onnx.helper.make_opsetid(name, 1) for name in (domain, APART))
    whole = _in_pinned_opset(_inlined(proto, path), path)
    for version in others:
        _move(nodes_of(whole.graph), "", APART)
        _move(nodes_of(whole.graph), f"{APART}.{version}", "")
        _say_opset(whole, version)
        whole = _in_pinned_opset(whole, path)
        _move(nodes_of(whole.graph), APART, "")
    _say_opset(whole, newest)
    return whole


def _in_pinned_opset(proto: onnx.ModelProto, path: str) -> onnx.ModelProto:
    """Return the model with nodes of an older opset converted to the pinned one; newer ones are read as they are."""
    return converted(proto, path) if version_of(proto) < OPSET else proto


def _inlined(proto: onnx.ModelProto, path: str) -> onnx.ModelProto:
    try:
        return onnx.inliner.inline_local_functions(proto)
    except google.protobuf.message.DecodeError:
        told = "its branches and loops are nested too deep for a file once its functions are put where they are called"
        raise ParseError(f"{path} is no valid model: {told}") from None
    except (RuntimeError, ValueError) as error:
        raise invalid(path, error) from None


def _move(nodes: Iterable[onnx.NodeProto], domain: str, to: str) -> None:
    for node in nodes:
        if domain_of(node.domain) == domain:
            node.domain = to


def _say_opset(holder: onnx.ModelProto | onnx.FunctionProto, version: int) -> None:
    for entry in holder.opset_import:
        entry.version = version if domain_of(entry.domain) == "" else entry.version


def _without_functions(proto: onnx.ModelProto) -> onnx.ModelProto:
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    del model.functions[:]
    return model
