"""onnxruntime: sessions, and its errors told at the user's line."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from primsplit.errors import RunError


class Counters:
    """How often work was done that should be done once."""

    sessions = 0


class Session:
    """A model loaded into onnxruntime.

    Called with one array an input; returns one an output, owned by the caller. Raises RunError.
    """

    def __init__(self, model: onnx.ModelProto | str, *, threads: int = 0, optimize: bool = True) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.enable_mem_pattern = False
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
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]

    def __call__(self, *arrays: npt.ArrayLike) -> list[npt.NDArray[Any]]:
        return self.run(dict(zip(self.inputs, arrays, strict=True)))

    def run(self, feeds: Mapping[str, npt.ArrayLike], outputs: Sequence[str] | None = None) -> list[npt.NDArray[Any]]:
        """The outputs, by default all, for inputs given by name."""
        arrays = {name: np.asarray(value) for name, value in feeds.items()}
        try:
            found: list[npt.NDArray[Any]] = self.session.run(outputs, arrays)
        except Exception as error:  # noqa: BLE001  # see above
            raise self._told("onnxruntime failed", error) from None
        return found

    def _told(self, what: str, error: Exception) -> RunError:
        text = str(error)
        node = re.search(r"[Nn]ode[^'(]*[('](?:[^'()]*Name:\s*')?([A-Za-z]+_\d+)", text)
        place = self.places.get(node.group(1), "") if node else ""
        reason = text.split("Status Message:")[-1].strip().splitlines()[0][:300]
        return RunError(f"{what}: {reason}", because=(f"at {place}",) if place else ())


def _places(model: onnx.ModelProto) -> dict[str, str]:
    """The user's line of each node, by the node's name."""
    found: dict[str, str] = {}
    for node in model.graph.node:
        told = {p.key: p.value for p in node.metadata_props}
        if "place" in told:
            found[node.name] = f"{told['place']}:  {told.get('source', '')}"
    return found
