"""Sizes have units; tables fit a terminal."""

from rich.console import Console

from primsplit.cli.output import size_text, table


def test_sizes_are_told_in_units() -> None:
    assert [size_text(n) for n in (999, 1000, 1_234_567)] == ["999 B", "1 kB", "1.23 MB"]


def test_a_table_in_a_narrow_terminal_breaks_the_columns_that_may_be_broken() -> None:
    name, test, note = "com.microsoft::QMoE", "definitions/test_standard.py", "a note that is as long as notes are"
    made = table(("operator", "status", "tested by", ""), [(name, "definition", test, note)], whole=("tested by",))
    out = Console(width=60)
    with out.capture() as captured:
        out.print(made)
    told = captured.get()
    assert test in told
    assert max(map(len, told.splitlines())) <= 60
    assert "note" in told
