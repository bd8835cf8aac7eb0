"""Each node of a file is in one statement."""

from collections import Counter
from pathlib import Path

import pytest

from primsplit.audit.statement_maker import statements_of
from primsplit.audit.written import read_written
from primsplit.cli.options import Exported, FunctionDerivation
from primsplit.programs.export import save_derived

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.py"))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_each_node_of_a_model_is_in_one_statement(path: Path, tmp_path: Path) -> None:
    made = Exported(str(path), FunctionDerivation(), quiet=True)
    for written in save_derived(made.derived, str(tmp_path / "model.onnx"), made.mode, "joint"):
        file = read_written(written)
        statements = statements_of(file)
        found = [op for function in (statements.main, *statements.functions) for op in function.every_op()]
        assert Counter(map(id, found)) == Counter(map(id, file.ops()))
