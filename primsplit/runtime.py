"""onnxruntime: sessions, and its errors told at the user's line."""

import ctypes
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from primsplit.errors import RunError
from primsplit.ir import BFLOAT16


class Counters:
    """How often work was done that should be done once."""

    sessions = 0


class Session:
    """A model loaded into onnxruntime. `inputs` are those a run must give, then those with defaults.

    Called with one array an input; returns one an output, owned by the caller. With `plan_memory` a run takes its
    memory in one piece, which halves the time of thousands of tiny operators and, from the second run on, doubles the
    memory. Raises RunError.
    """

    def __init__(
        self, model: onnx.ModelProto | str, *, threads: int = 0, optimize: bool = True, plan_memory: bool = False
    ) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.enable_mem_pattern = plan_memory
        options.intra_op_num_threads = threads
        if not optimize:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.places = {} if isinstance(model, str) else _places(model)
        source = model if isinstance(model, str) else model.SerializeToString()
        try:
            self.session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001  # onnxruntime raises classes that share no ancestor of its own
            raise self._told("onnxruntime cannot load the program", error) from None
        Counters.sessions += 1
        ends = [*self.session.get_inputs(), *self.session.get_outputs()]
        given = [*self.session.get_inputs(), *self.session.get_overridable_initializers()]
        self.inputs = [i.name for i in given]
        self.outputs = [o.name for o in self.session.get_outputs()]
        self._has_bfloat16 = any(e.type == BFLOAT16_TENSOR for e in ends)

    def __call__(self, *arrays: npt.ArrayLike) -> list[npt.NDArray[Any]]:
        return self.run(dict(zip(self.inputs, arrays, strict=True)))

    def run(self, feeds: Mapping[str, npt.ArrayLike], outputs: Sequence[str] | None = None) -> list[npt.NDArray[Any]]:
        """The outputs, by default all, for inputs given by name."""
        arrays = {name: np.asarray(value) for name, value in feeds.items()}
        try:
            if self._has_bfloat16:
                return self._run_values(arrays, outputs)
            found: list[npt.NDArray[Any]] = self.session.run(outputs, arrays)
        except Exception as error:  # noqa: BLE001  # see above
            raise self._told("onnxruntime failed", error) from None
        return found

    def _run_values(
        self, arrays: Mapping[str, npt.NDArray[Any]], outputs: Sequence[str] | None
    ) -> list[npt.NDArray[Any]]:
        """`run` through onnxruntime's own values: its NumPy interface has no bfloat16."""
        feeds = {name: _to_value(array) for name, array in arrays.items()}
        return [_to_array(v) for v in self.session.run_with_ort_values(outputs or self.outputs, feeds)]

    def _told(self, what: str, error: Exception) -> RunError:
        text = str(error)
        node = re.search(r"[Nn]ode[^'(]*[('](?:[^'()]*Name:\s*')?([A-Za-z]+_\d+)", text)
        place = self.places.get(node.group(1), "") if node else ""
        reason = text.rsplit("Status Message:", maxsplit=1)[-1].strip().splitlines()[0][:300]
        return RunError(f"{what}: {reason}", because=(f"at {place}",) if place else ())


BFLOAT16_TENSOR = "tensor(bfloat16)"


def _to_value(array: npt.NDArray[Any]) -> onnxruntime.OrtValue:
    if array.dtype != BFLOAT16:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = np.ascontiguousarray(array).view(np.uint16).reshape(array.shape)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)


def _to_array(value: onnxruntime.OrtValue) -> npt.NDArray[Any]:
    """A copy of the elements, which are onnxruntime's own only while the value lives."""
    if value.data_type() != BFLOAT16_TENSOR:
        return np.array(value.numpy())
    shape = tuple(value.shape())
    raw = ctypes.string_at(value.data_ptr(), math.prod(shape) * BFLOAT16.itemsize)
    return np.frombuffer(raw, BFLOAT16).reshape(shape).copy()


def _places(model: onnx.ModelProto) -> dict[str, str]:
    """The user's line of each node, by the node's name."""
    found: dict[str, str] = {}
    for node in model.graph.node:
        told = {p.key: p.value for p in node.metadata_props}
        if "place" in told:
            found[node.name] = f"{told['place']}:  {told.get('source', '')}"
    return found
