"""Hold the facts of the ONNX standard about operators: schemas, type inference, kernels, and the namespace `op`."""

from primsplit.ops.namespace import op as op
