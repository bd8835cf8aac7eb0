"""List files in a style: text, Python that traces to them, a page of HTML, or a module of NumPy."""

from collections.abc import Sequence

from primsplit.audit.file_listing import list_file
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.page.render import to_page
from primsplit.audit.written import Written
from primsplit.ir import Var
from primsplit.programs.python_text import to_python


def list_files(files: Sequence[Written], style: str) -> str:
    """Return the files of one derivative in one of the styles."""
    if style == "python":
        blocks = [block for file in files for block in (file.block, *file.functions.values())]
        names = {v: name for file in files for v, name in file.names.items() if isinstance(v, Var)}
        return to_python(*blocks, names=names)
    if style == "numpy":
        return to_numpy(files).text
    if style == "html":
        return to_page(files)
    return "\n".join(text for file in files for text in list_file(file))
