"""Examples of each style, shown below the help of `audit` and `diff`."""

import re
from collections.abc import Sequence

AUDIT = (
    ("--style math", "hidden = tanh(x @ w + b)          mlp.py:5   [N, 4]"),
    ("", "# Grad of: hidden = tanh(x @ w + b)"),
    ("", "d_hidden_in = d_hidden * (1 - hidden**2)"),
    ("--style text", "hidden: float32[N,4] = Tanh(add)  # mlp.py:5"),
    ("--style python", "hidden = op.Tanh(add)"),
    ("--style numpy", "hidden = np.tanh(add)"),
    ("--style html", "primsplit audit mlp.py --output mlp.html"),
    ("--json", '{"operator": "Tanh", "section": "forward", ...}'),
)
DIFF = (
    ("--style text", "- # hidden = np.maximum(x @ w, 0)  old.py:5"),
    ("", "+ # hidden = np.tanh(x @ w)  new.py:5"),
    ("", "- hidden = maximum(x @ w, 0)"),
    ("", "+ hidden = tanh(x @ w)"),
    ("--style markdown", "| section | same | changed | added | removed |"),
    ("--nodes", "+ hidden = Tanh(matmul)"),
    ("--json", '{"status": "added", "section": "forward", ...}'),
)
NO_BREAK = "\N{NO-BREAK SPACE}"


def epilog(rows: Sequence[tuple[str, str]]) -> str:
    """Return examples for typer, which joins spaces, strips those before a line, and reads brackets as markup."""
    lines = (f"{option:17} {example}" for option, example in rows)
    kept = (re.sub(r"^ +| {2,}", lambda m: NO_BREAK * len(m[0]), line) for line in lines)
    return "\n\n".join(["Examples:", *(line.replace("[", r"\[") for line in kept)])
