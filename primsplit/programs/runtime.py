"""Run models in onnxruntime: sessions, and its errors with the user's line."""

import ctypes
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import onnxruntime

from primsplit.ir import Type
from primsplit.ir.caching.counters import Counters
from primsplit.ir.carriers import CARRIERS, DTYPE_OF, in_carrier
from primsplit.ir.errors import BranchError, DtypeError, RunError, ShapeError
from primsplit.ir.reasons import Reason, run_error, run_error_like
from primsplit.onnx.external_files import check_external_files
from primsplit.onnx.protobufs import parsed
from primsplit.onnx.provenance import Nodes, nodes_of_model
from primsplit.onnx.tensors import raw_bytes
from primsplit.onnx.threads import open_session
from primsplit.ops.inference import type_string


class Session:
    """A model loaded into onnxruntime. `inputs` are those a run must give, then those with defaults.

    Called with one array per input; returns one per output, owned by the caller. With `plan_memory` a run allocates its
    memory in one piece, which halves the time of thousands of tiny operators and, from the second run on, doubles the
    memory. `threads` is 0 for a share of the process's threads, or a number. `skipped` are the names of onnxruntime's
    passes over the graph that are left out. Without `packs` constant matrices are kept once, as they are, and packed by
    each run. `data` are initializers that the model declares as external. `carried` has the dtypes of inputs and
    outputs that the file holds in other ones, from its metadata. `nodes` is what is known of the nodes, by default
    as the model tells. Raises RunError; for a file with external data that it
    may not read, ParseError or FileError.
    """

    def __init__(
        self,
        model: onnx.ModelProto | str,
        *,
        threads: int = 0,
        optimize: bool = True,
        skipped: Sequence[str] = (),
        plan_memory: bool = False,
        packs: bool = True,
        data: Mapping[str, npt.NDArray[Any]] | None = None,
        nodes: Nodes | None = None,
    ) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.enable_mem_pattern = plan_memory
        if not optimize:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.data = {name: _to_value(np.ascontiguousarray(array)) for name, array in (data or {}).items()}
        if self.data:
            options.add_external_initializers(list(self.data), list(self.data.values()))
        if not packs:
            options.add_session_config_entry("session.disable_prepacking", "1")
            for name, value in self.data.items():  # else each is copied
                options.add_initializer(name, value)
        self.path = model if isinstance(model, str) else ""
        self._nodes = nodes if nodes is not None or isinstance(model, str) else nodes_of_model(model)
        if isinstance(model, str):
            check_external_files(model)
        source = model if isinstance(model, str) else model.SerializeToString()
        try:
            self.session = open_session(source, options, threads or None, disabled_optimizers=list(skipped))
            told = self.session.get_modelmeta().custom_metadata_map
        except Exception as error:  # noqa: BLE001  # onnxruntime raises classes that share no ancestor of its own
            raise self._told("onnxruntime cannot load the program", error) from None
        Counters.sessions += 1
        given = [*self.session.get_inputs(), *self.session.get_overridable_initializers()]
        self.inputs = [i.name for i in given]
        self.outputs = [o.name for o in self.session.get_outputs()]
        self._is_narrow = any(e.type in NARROW for e in (*given, *self.session.get_outputs()))
        self.carried = {
            n: said for n in (*self.inputs, *self.outputs) if (said := told.get(f"{DTYPE_OF}{n}")) in CARRIERS
        }

    def __call__(self, *arrays: npt.ArrayLike) -> list[npt.NDArray[Any]]:
        return self.run(dict(zip(self.inputs, arrays, strict=True)))

    def run(self, feeds: Mapping[str, npt.ArrayLike], outputs: Sequence[str] | None = None) -> list[npt.NDArray[Any]]:
        """Return the outputs, by default all, for inputs given by name."""
        arrays = {name: np.asarray(value) for name, value in feeds.items()}
        if self.carried:
            arrays = {name: self._held(name, array) for name, array in arrays.items()}
        try:
            found = self._run_values(arrays, outputs) if self._is_narrow else self.session.run(outputs, arrays)
        except Exception as error:  # noqa: BLE001  # see above
            told = self._told("onnxruntime failed", error)
            raise told from told.__cause__
        Counters.buffers += len(found)
        Counters.buffer_bytes += sum([a.nbytes for a in found])
        return self._as_said(found, outputs or self.outputs) if self.carried else found

    def runner(self, names: Sequence[str]) -> Callable[[Sequence[Any]], list[npt.NDArray[Any]]] | None:
        """Return a function that runs on arrays for inputs in this order, which it does not check.

        None if arrays have to be converted first.
        """
        if self.carried or self._is_narrow:
            return None
        # The wrapper of onnxruntime's run in Python checks names for 1.5 us, which are right here.
        run = getattr(self.session, "_sess", self.session).run
        outputs, count = self.outputs, len(self.outputs)

        def run_on(arrays: Sequence[Any]) -> list[npt.NDArray[Any]]:
            try:
                found: list[npt.NDArray[Any]] = run(outputs, dict(zip(names, arrays, strict=True)), None)
            except Exception as error:  # noqa: BLE001  # see above
                told = self._told("onnxruntime failed", error)
                raise told from told.__cause__
            Counters.buffers += count
            for array in found:
                Counters.buffer_bytes += array.nbytes
            return found

        return run_on

    def _held(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the array in the dtype in which the file holds this input."""
        return in_carrier(array) if name in self.carried else array

    def _as_said(self, found: Iterable[npt.NDArray[Any]], names: Iterable[str]) -> list[npt.NDArray[Any]]:
        """Return the outputs in their declared dtypes."""
        said = [self.carried.get(name) for name in names]
        return [a if s is None else a.astype(s) for a, s in zip(found, said, strict=True)]

    def run_into(
        self, feeds: Mapping[str, npt.ArrayLike], buffers: Sequence[npt.NDArray[Any] | None]
    ) -> list[npt.NDArray[Any]]:
        """Run, and write the outputs into these arrays; those without one are new. Returns one array per output.

        Raises ShapeError or DtypeError for an array that does not fit its output, RunError if the run fails; then the
        arrays hold whatever was written.
        """
        arrays = {name: np.asarray(self._held(name, np.asarray(v)), order="C") for name, v in feeds.items()}
        binding = self.session.io_binding()
        for name, array in arrays.items():
            binding.bind_ortvalue_input(name, _to_value(array))
        taken = [*arrays.values()]
        for output, buffer in zip(self.session.get_outputs(), buffers, strict=True):
            if buffer is None:
                binding.bind_output(output.name)
                continue
            self._check_buffer(output, buffer, taken)
            taken.append(buffer)
            element = NUMBERS.get(buffer.dtype, buffer.dtype.type)
            binding.bind_output(output.name, "cpu", 0, element, buffer.shape, buffer.ctypes.data)
        self._run_bound(binding)
        if all(b is not None for b in buffers):
            return [b for b in buffers if b is not None]
        made = [_to_array(v) if b is None else b for v, b in zip(binding.get_outputs(), buffers, strict=True)]
        Counters.buffers += sum(b is None for b in buffers)
        Counters.buffer_bytes += sum(a.nbytes for a, b in zip(made, buffers, strict=True) if b is None)
        return self._as_said(made, self.outputs) if self.carried else made

    def bound(self, inputs: Mapping[str, npt.NDArray[Any]], outputs: Mapping[str, npt.NDArray[Any]]) -> "Bound":
        """Bind every input and output to an array, which runs read and write in place.

        Raises ShapeError or DtypeError for an array that does not fit its output, or is that of an input.
        """
        binding = self.session.io_binding()
        for output in self.session.get_outputs():
            others = [a for name, a in outputs.items() if name != output.name]
            self._check_buffer(output, outputs[output.name], [*inputs.values(), *others])
        values = {name: _to_value(array) for name, array in {**inputs, **outputs}.items()}
        for name in inputs:
            binding.bind_ortvalue_input(name, values[name])
        for name in self.outputs:
            binding.bind_ortvalue_output(name, values[name])
        return Bound(lambda: self._run_bound(binding), values, binding.bind_ortvalue_input)

    def _run_bound(self, binding: Any) -> None:
        try:
            self.session.run_with_iobinding(binding)
        except Exception as error:  # noqa: BLE001  # see above
            told = self._told("onnxruntime failed", error)
            raise told from told.__cause__

    def _check_buffer(self, output: Any, buffer: npt.NDArray[Any], others: Iterable[npt.NDArray[Any]]) -> None:
        if output.name in self.carried:
            told = f"the output {output.name} is {self.carried[output.name]}, which a file holds in another dtype"
            raise DtypeError(told, cure="Call the program.")
        _check_buffer(output, buffer, others)

    def _run_values(
        self, arrays: Mapping[str, npt.NDArray[Any]], outputs: Sequence[str] | None
    ) -> list[npt.NDArray[Any]]:
        """`run` through onnxruntime's own values: its NumPy interface lacks the dtypes of `NARROW`."""
        feeds = {name: _to_value(array) for name, array in arrays.items()}
        return [_to_array(v) for v in self.session.run_with_ort_values(outputs or self.outputs, feeds)]

    def _told(self, what: str, error: Exception) -> RunError:
        text = str(error)
        nodes = self._nodes if self._nodes is not None else nodes_of_model(parsed(self.path))
        node = nodes.named_in(text)
        place, raised = nodes.places.get(node), nodes.raised.get(node)
        because = () if place is None else (f"at {place}:  {place.source}".rstrip(" :"),)
        if raised is not None:
            base = BranchError if raised.startswith("raises BranchError") else RunError
            reason = raised if isinstance(raised, Reason) else Reason.told(raised)
            return run_error(reason, f"the program {raised}", because, base=base)
        # Some kernels give no message.
        message = text.rsplit("Status Message:", maxsplit=1)[-1].strip() or text.strip() or type(error).__name__
        told = f"{what}: {message.splitlines()[0][:300]}"
        numpys = next((c for c, pattern in _AS_NUMPY.items() if pattern.search(message)), None)
        return RunError(told, because=because) if numpys is None else run_error_like(numpys, told, because)


_AS_NUMPY: dict[type[Exception], re.Pattern[str]] = {
    IndexError: re.compile(r"out of data bounds|[Ii]nvalid ind(ice|ex|ices) found|GatherElements op: .*[Ii]nd"),
    ValueError: re.compile(
        r"Attempting to broadcast|cannot be reshaped|Cannot split|invalid expand shape|MatMul dimension mismatch"
    ),
}
"""Kernels' messages about numbers for which NumPy raises an error of its own."""


class Bound:
    """A session with every input and output bound to an array: a `run` reads and writes them in place."""

    def __init__(
        self, run: Callable[[], None], values: Mapping[str, onnxruntime.OrtValue], bind: Callable[[str, Any], None]
    ) -> None:
        self.run = run
        self.values = dict(values)
        self._bind = bind

    def rebind(self, name: str, array: npt.NDArray[Any]) -> None:
        """Let runs read an input from another array."""
        self.values[name] = _to_value(array)
        self._bind(name, self.values[name])

    def addresses(self) -> dict[str, int]:
        """Return the memory address of each value."""
        return {name: value.data_ptr() for name, value in self.values.items()}


def _check_buffer(output: Any, buffer: npt.NDArray[Any], others: Iterable[npt.NDArray[Any]]) -> None:
    """Raise an error if an output cannot be written into this array."""
    if not (isinstance(buffer, np.ndarray) and buffer.flags.c_contiguous and buffer.flags.writeable):
        raise ShapeError(f"the output {output.name} takes a contiguous array that can be written to")
    if type_string(Type(buffer.dtype, None)) != output.type:
        raise DtypeError(f"the output {output.name} is a {output.type}, and the array given for it {buffer.dtype}")
    if buffer.dtype.name in PACKED:
        raise DtypeError(
            f"the output {output.name} is {buffer.dtype}, two elements a byte, and NumPy has one",
            cure="Call the program.",
        )
    wanted = output.shape
    fits = len(wanted) == buffer.ndim and all(
        not isinstance(w, int) or w == b for w, b in zip(wanted, buffer.shape, strict=True)
    )
    if not fits:
        raise ShapeError(f"the output {output.name} has the shape {wanted}, and the array given for it {buffer.shape}")
    if any(np.may_share_memory(buffer, array) for array in others):
        raise ShapeError(
            f"the output {output.name} shares memory with an input, or with another output",
            cure="Write into another array.",
        )


NARROW: dict[str, np.dtype[Any]] = {
    type_string(Type(dtype, None)): dtype
    for dtype in (
        np.dtype(getattr(ml_dtypes, name))
        for name in ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "int4", "uint4")
    )
}
"""The dtypes that NumPy itself lacks, by onnxruntime's names for tensors of them."""
NUMBERS = {dtype: int(onnx.helper.np_dtype_to_tensor_dtype(dtype)) for dtype in NARROW.values()}
PACKED = frozenset({"int4", "uint4"})
"""Two elements a byte, the first in the low half; NumPy has one a byte."""


def _to_value(array: npt.NDArray[Any]) -> onnxruntime.OrtValue:
    number = NUMBERS.get(array.dtype)
    Counters.buffers += 1
    if number is None:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    if array.dtype.name not in PACKED:
        bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(array.shape, number)
    packed = raw_bytes(array)
    Counters.buffer_bytes += len(packed)
    ctypes.memmove(value.data_ptr(), packed, len(packed))
    return value


def _to_array(value: onnxruntime.OrtValue) -> npt.NDArray[Any]:
    """Return a copy of the elements, which onnxruntime owns only while the value lives."""
    dtype = NARROW.get(value.data_type())
    if dtype is None:
        return np.array(value.numpy())
    shape = tuple(value.shape())
    count = math.prod(shape)
    if dtype.name not in PACKED:
        return np.frombuffer(ctypes.string_at(value.data_ptr(), count * dtype.itemsize), dtype).reshape(shape).copy()
    pairs = np.frombuffer(ctypes.string_at(value.data_ptr(), (count + 1) // 2), np.uint8)
    elements = np.stack([pairs & 15, pairs >> 4], 1).reshape(-1)[:count].astype(np.int8)
    return (elements if dtype.name == "uint4" else (elements ^ 8) - 8).astype(dtype).reshape(shape)
