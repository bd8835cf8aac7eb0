"""Read and write ONNX files. Only the modules here import onnx_ir."""
