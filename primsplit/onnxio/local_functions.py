"""Functions of a model: each is put where it is called, read in the opset that it imports itself.

onnx's checker takes no function of another opset than its model's where the two know an operator in two ways, and its
inliner leaves such calls as they are. So those functions are checked beside the model, and told in its opset.
"""

from collections.abc import Iterator

import onnx
import onnx.helper
import onnx.inliner
import onnx.version_converter
from onnx.shape_inference import InferenceError

from primsplit.definitions.earlier import EARLIER
from primsplit.errors import UnsupportedFunction
from primsplit.onnxio.modelfile import check_functions, check_model, first_line, invalid
from primsplit.onnxio.versions import converted, domain_of, version_of
from primsplit.schema import OPSET


def inlined(proto: onnx.ModelProto, path: str) -> onnx.ModelProto:
    """The model, checked, without functions of its own. Raises ParseError where it is no valid one."""
    strangers = [f for f in proto.functions if f.node and version_of(f) != version_of(proto)]
    if strangers:
        _check_apart(proto, strangers, path)
    else:
        check_model(proto, path)
    if not proto.functions:
        return proto
    check_functions(proto, path)
    if strangers:
        return _inlined_in_one_opset(proto, strangers, path)
    try:
        return onnx.inliner.inline_local_functions(proto)
    except (RuntimeError, ValueError) as error:
        raise invalid(path, error) from None


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
    """The model told in the newest opset of its functions and its own, at least the pinned one, all in one graph."""
    newest = max(OPSET, version_of(proto), *map(version_of, strangers))
    _require_one_meaning(proto, path)
    whole = _without_functions(proto)
    if version_of(whole) < OPSET:
        whole = converted(whole, path)
    for entry in whole.opset_import:
        entry.version = newest if domain_of(entry.domain) == "" else entry.version
    whole.functions.extend(proto.functions)
    try:
        found = onnx.inliner.inline_local_functions(whole, convert_version=True)
    except (RuntimeError, ValueError, onnx.version_converter.ConvertError, InferenceError) as error:
        told = ", ".join(sorted({f"{f.name} of {version_of(f)}" for f in strangers}))
        raise UnsupportedFunction(
            f"{path} has opset {version_of(proto)} and functions of others, which cannot be told in one: {told}",
            because=(first_line(error),),
            cure="Export the model with functions of its own opset.",
        ) from None
    del found.functions[:]
    return found


def _without_functions(proto: onnx.ModelProto) -> onnx.ModelProto:
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    del model.functions[:]
    return model


def _require_one_meaning(proto: onnx.ModelProto, path: str) -> None:
    """Raise UnsupportedFunction where operators have several earlier meanings, as those of several old opsets may."""
    versions = sorted({o.version for holder in _holders(proto) for o in holder.opset_import if o.domain == EARLIER})
    if len(versions) > 1:
        raise UnsupportedFunction(
            f"{path} and its functions use operators of the opsets {versions[0]} and {versions[1]} that changed since",
            cure=f"Export the model at opset {OPSET}.",
        )


def _holders(proto: onnx.ModelProto) -> Iterator[onnx.ModelProto | onnx.FunctionProto]:
    yield proto
    yield from proto.functions
