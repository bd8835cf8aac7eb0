"""What the ONNX standard says of an operator: its schema, its inference, and `op.MatMul`."""

from primsplit.ops.namespace import op as op
