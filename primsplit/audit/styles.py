"""List files in a style: mathematics, text, Python that traces to them, a page of HTML, or a module of NumPy."""

from collections.abc import Sequence

from primsplit.audit.file_listing import list_file
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.page.render import to_page
from primsplit.audit.written import Written
from primsplit.ir import Var
from primsplit.ir.errors import PrimsplitError, SpecError
from primsplit.ops.schema import OPSET
from primsplit.programs.python_text import to_python


def list_files(files: Sequence[Written], style: str, *, everything: bool = False) -> str:
    """Return the files of one derivative in one of the styles; `everything` shows what the style math folds away."""
    if style == "python":
        blocks = [block for file in files for block in (file.block, *file.functions.values())]
        names = {v: name for file in files for v, name in file.names.items() if isinstance(v, Var)}
        try:
            return to_python(*blocks, names=names)
        except PrimsplitError as error:
            opset = min(file.opsets.get("", OPSET) for file in files)
            if opset >= OPSET:
                raise
            cure = f"The file is of opset {opset}, and Python is written for {OPSET}: say --style text or math."
            raise SpecError(error.what, cure=cure) from None
    if style == "math":
        return "\n\n".join(_mathematics(file, files, everything=everything) for file in files)
    if style == "numpy":
        return to_numpy(files).text
    if style == "html":
        return to_page(files)
    return "\n".join(text for file in files for text in list_file(file))


def for_people(files: Sequence[Written]) -> list[str]:
    """Return the files of one derivative as mathematics; as text where a value has a dtype that NumPy lacks."""
    try:
        return [_mathematics(file, files) for file in files]
    except PrimsplitError:
        return ["\n".join(list_file(file)) for file in files]


def _mathematics(file: Written, files: Sequence[Written], *, everything: bool = False) -> str:
    return list_as_mathematics(file, None if file is files[0] else files[0], everything=everything)
