"""Inputs and names of nodes of com.microsoft."""

import numpy as np

from tests.onnx.definitions.kernels import Node


def ints(*rows: object) -> np.ndarray:
    return np.array(rows, np.int32)


def title(row: Node) -> str:
    given = "".join("x" if x is not None else "-" for x in row.inputs)
    return f"{row.kind.rpartition('::')[2]}-{given}-{','.join(f'{k}={v}' for k, v in row.attributes.items())}"
