"""The page of the table is what the measurements say, and each row that is lost has its cause."""

from tools.bench import table
from tools.bench.table import PAGE, bounds, cause, causes, load, losses, lost, milliseconds, ratio, render

ROW = {
    "dtype": "float32",
    "size": "3 x 4",
    "ms": 2.0,
    "work": {"products": {"float32": 1e6}, "functions": {}, "moved": 2.5e6, "calls": 1200},
    "shares": {"MatMul": 0.75, "Add": 0.1},
    "peers": {
        "torch eager": {"ratio": 0.5, "median": 0.5, "low": 0.49, "high": 0.51},
        "jax.jit": {"missing": "absent"},
        "by hand": {"ratio": 1.5, "median": 1.6, "low": 1.2, "high": 1.9},
    },
}
LIMITS = {
    "products": {"MLAS float32 64": 50.0, "MLAS float32 256": 60.0},
    "memory": {"MLAS float32 copy": 5.0},
    "functions": {"NumPy float64 Exp": 0.5},
    "call": 0.25,
}
FOUND = {
    "processor": "Some CPU",
    "date": "2026-01-02",
    "versions": {"numpy": "2.4"},
    "limits": {"1": LIMITS},
    "rows": {"bench case": {"1": ROW}, "other": {"2": ROW}},
}
PART = """
## Some CPU

Measured on 2026-01-02 with numpy 2.4.

### One core

Products, at best: MLAS float32 60 GFLOP/s.
Functions, at best: NumPy float64 0.5 10^9 elements/s.
Memory, copying: MLAS 5 GB/s. A call of a kernel: 0.25 us.

| bench | dtype | size | ours, ms | limit | calls | torch eager | torch.compile | jax.jit | autograd | others |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| bench case | float32 | 3 x 4 | 2 | 4 x memory | 15 % | **0.50** |  | absent |  | by hand 1.50 (1.20 to 1.90) |

Rows below 0.9, and why:

* `bench case`, torch eager: It is slow. Measured: by a profile. 1,200 calls of kernels, 1.7 us each; \
time in kernels: MatMul 75 %, Add 10 %.
"""


def test_the_page_is_rendered_from_the_measurements() -> None:
    assert render({"some": FOUND}, {"bench case": {"cause": "It is slow.", "measured": "by a profile."}}).endswith(PART)


def test_tables_of_several_processors_stand_on_one_page() -> None:
    page = render({"some": FOUND, "other": {**FOUND, "processor": "Other CPU"}}, {})
    assert page.index("## Some CPU") < page.index("## Other CPU")


def test_a_lost_row_without_a_cause_says_so() -> None:
    assert "torch eager: not yet known. 1,200 calls of kernels" in render({"some": FOUND}, {})
    uncounted = {**ROW, "work": {"calls": 0}, "shares": {}}
    assert cause("bench case", uncounted, {}) == "not yet known."


def test_a_ratio_is_bold_where_we_lose_and_has_its_quartiles_where_they_are_apart() -> None:
    quartiles = {"low": 0.89, "high": 0.91}
    assert ratio({"ratio": 0.899, "median": 0.899, **quartiles}) == "**0.90**"
    assert ratio({"ratio": 0.9, "median": 0.8, **quartiles}) == "0.90"
    assert ratio({"ratio": 0.8, "median": 0.9, **quartiles}) == "0.80"
    assert ratio({"ratio": 2.0, "median": 2.0, "low": 1.5, "high": 2.5}) == "2.00 (1.50 to 2.50)"
    assert ratio({"missing": "absent"}) == "absent"
    assert ratio({"missing": "cannot: TypeError: no such argument"}) == "cannot"


def test_a_peer_without_a_gradient_wins_no_row() -> None:
    assert (
        lost({"peers": {"NumPy forward": {"ratio": 0.1, "median": 0.1}, "jax.jit": {"ratio": 0.95, "median": 0.95}}})
        == []
    )
    assert lost(ROW) == ["torch eager"]


def test_times_have_three_digits() -> None:
    assert [milliseconds(x) for x in (0.01234, 12.34, 1234.5)] == ["0.0123", "12.3", "1234"]


def test_a_bound_stands_beside_a_counted_row_and_calls_from_5_percent_on() -> None:
    work = {"products": {"float32": 1e8}, "functions": {}, "moved": 1e6, "calls": 100}
    assert bounds({"ms": 4.0, "work": work}, LIMITS) == ("2.4 x products", "")
    assert bounds({"ms": 4.0, "work": {**work, "calls": 1000}}, LIMITS) == ("2.4 x products", "6 %")
    assert bounds({"ms": 4.0, "work": {**work, "calls": 10**6}}, LIMITS) == ("2.4 x products", "100 %")
    assert bounds({"ms": 4.0, "work": {**work, "calls": 0}}, LIMITS) == ("", "")


def test_the_written_page_is_up_to_date() -> None:
    assert PAGE.read_text() == render(load(), causes()), "python -m tools.bench.table"


def test_check_tells_a_page_that_is_not_up_to_date(tmp_path, monkeypatch) -> None:
    assert table.main(["--check"]) == 0
    (tmp_path / "page.md").write_text("old")
    monkeypatch.setattr(table, "PAGE", tmp_path / "page.md")
    assert table.main(["--check"]) == 1
    assert table.main([]) == 0
    assert table.main(["--check"]) == 0


def test_each_row_that_is_lost_has_its_cause() -> None:
    found = [by_cores for processor in load().values() for by_cores in processor["rows"].values()]
    assert found
    rows = {f"{n}": r for p in load().values() for n, each in p["rows"].items() for r in each.values() if lost(r)}
    assert not {name for name, _, _ in losses(rows)} - set(causes())
