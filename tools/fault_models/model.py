"""A model of a few nodes with inputs, and what a runtime without a certain fault gives for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.parser

Given = Mapping[str, Any]


@dataclass(frozen=True)
class FaultModel:
    """A model in ONNX's text form without its head, or a function that makes one.

    `given` are its inputs. `wanted` are its outputs, one that is None of any value; a function tells of the outputs
    whether they are right. `runs` is how often it is run, in each of which it must be right. `seconds` is the longest
    time that a run takes where the fault is not there.
    """

    graph: str | Callable[[], onnx.ModelProto]
    given: Given
    wanted: tuple[Any, ...] | Callable[[list[Any]], bool]
    opset: int = 21
    rtol: float = 1e-5
    atol: float = 0.0
    runs: int = 3
    seconds: float = 20.0
    options: Mapping[str, Any] = field(default_factory=dict)

    def proto(self) -> onnx.ModelProto:
        """The model."""
        if callable(self.graph):
            return self.graph()
        made: onnx.ModelProto = onnx.parser.parse_model(
            f'<ir_version: 10, opset_import: ["": {self.opset}]> g {self.graph}'
        )
        return made

    def is_right(self, outputs: list[Any]) -> bool:
        """Whether these are the outputs of a runtime without the fault."""
        if callable(self.wanted):
            return self.wanted(outputs)
        return all(map(self._is_alike, outputs, self.wanted))

    def _is_alike(self, found: Any, wanted: Any) -> bool:
        if wanted is None:
            return True
        found, wanted = np.asarray(found), np.asarray(wanted)
        if found.shape != wanted.shape:
            return False
        if wanted.dtype.kind != "f":
            return bool(np.array_equal(found, wanted))
        if not self.atol and not np.array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0])):
            return False
        return bool(np.allclose(found, wanted, rtol=self.rtol, atol=self.atol, equal_nan=True))


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    """Numbers in order, from 1 on, so that each can be told from the others."""
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)
