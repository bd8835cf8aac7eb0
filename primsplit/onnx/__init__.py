"""The doors to files. Only the modules here import onnx_ir."""
