"""The command line as a module: it starts light."""

import subprocess
import sys


def test_the_commands_run_as_a_module_and_help_is_light() -> None:
    done = subprocess.run([sys.executable, "-m", "primsplit", "--help"], capture_output=True, text=True, check=True)
    assert "export" in done.stdout
    code = (
        "import sys, primsplit.cli; heavy = ('onnx_ir', 'onnxruntime', 'scipy', 'jinja2', 'onnx.reference');"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
