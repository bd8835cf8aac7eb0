"""A page in a browser: what people do with it by pointer, by keys, on a phone and on paper."""

import time
from collections.abc import Iterator
from pathlib import Path

import onnx.helper as oh
import pytest

from primsplit.audit.page.render import to_page
from tests.audit.page.large import large_file
from tests.audit.page.pages import SPECS, foreign, loss, written
from tests.audit.page.test_render import HOSTILE
from tests.chromium import CHROMIUM, Browser, chromium

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "f.html").write_text(to_page(written(folder, loss, *SPECS, wrt="w")))
    return folder / "f.html"


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def browser(started: Browser, page: Path) -> Iterator[Browser]:
    """The browser with the page open; afterwards no script failed, and nothing was asked for from elsewhere."""
    started.size(1440, 900)
    started.open(page)
    started.run("page.show(1)")
    started.frame()
    yield started
    assert started.errors == []
    assert [url for url in started.requests if not url.startswith("file:")] == []


def position(browser: Browser, selector: str, text: str) -> int:
    """Return which of the elements begins with a text."""
    return next(i for i, found in enumerate(browser.texts(selector)) if found.startswith(text))


def test_three_panes_show_the_source_the_forward_pass_and_the_pullback(browser: Browser) -> None:
    assert browser.texts(".pane h2") == ["Source", "Forward", "Backward"]
    assert "hidden = np.tanh(x @ w)" in browser.texts(".source .code")
    assert "hidden = np.tanh(matmul_x)" in browser.texts(".forward .code")
    assert "# Grad of: hidden = np.tanh(x @ w)" in browser.texts(".backward .code")
    assert "return y, d_w" in browser.texts(".backward .code")


def test_a_page_begins_with_mathematics_and_its_other_view_has_every_node(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.texts("#views [aria-pressed=true]") == ["Mathematics"]
    assert "hidden = tanh(x @ w)" in browser.texts(".forward .code")
    browser.click(".source .code", position(browser, ".source .code", "hidden ="))
    browser.click("#views button", 1)
    assert browser.texts(".forward .chosen.statement .code") == ["matmul_x = x @ w", "hidden = np.tanh(matmul_x)"]


def test_a_source_line_under_the_pointer_lights_its_statements_its_pullback_and_its_captures(browser: Browser) -> None:
    browser.run("page.dock('captures')")
    browser.point(".source .code", position(browser, ".source .code", "hidden ="))
    assert browser.texts(".source .lit .code") == ["hidden = np.tanh(x @ w)"]
    assert browser.texts(".forward .lit.statement .code") == ["matmul_x = x @ w", "hidden = np.tanh(matmul_x)"]
    lit = browser.texts(".backward .lit .code")
    assert lit[0] == "# Grad of: hidden = np.tanh(x @ w)"
    assert lit[-1].startswith("d_w = ")
    assert {"hidden", "x"} <= {*browser.texts(".bar.lit .barname")}
    browser.point("#signature")
    assert browser.texts(".lit") == []


def test_a_statement_of_the_pullback_lights_its_source_line(browser: Browser) -> None:
    browser.point(".backward .code", position(browser, ".backward .code", "d_w ="))
    assert browser.texts(".source .lit .code") == ["hidden = np.tanh(x @ w)"]
    assert browser.texts(".backward .own .code")[0].startswith("d_w =")


def test_a_chosen_line_stays_lit_and_is_told_with_its_captures(browser: Browser) -> None:
    browser.click(".source .code", position(browser, ".source .code", "hidden ="))
    browser.point("#signature")
    assert len(browser.texts(".forward .chosen.statement")) == 2
    told = browser.texts("#selection .block")
    assert any(text.startswith("Captures") and "hidden: float32[N,4]" in text for text in told)
    assert browser.run("decodeURIComponent(location.hash)").startswith("#pages.py:")
    browser.press("Escape")
    assert browser.texts(".chosen") == []


def test_the_sheet_below_leaves_its_room_to_the_panes_while_nothing_is_chosen(browser: Browser) -> None:
    height = "document.getElementById('dock').offsetHeight"
    resting = browser.run(height)
    assert resting < 100
    browser.click(".source .code", position(browser, ".source .code", "hidden ="))
    assert browser.run(height) >= 200
    browser.click(".source .code", position(browser, ".source .code", "hidden ="))
    assert browser.run(height) == resting
    browser.run("document.getElementById('grip').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp'}))")
    assert browser.run(height) > resting


def test_a_name_leads_to_its_definition_in_another_pane(browser: Browser) -> None:
    link = position(browser, ".backward a.name:not(.defined)", "hidden")
    browser.click(".backward a.name:not(.defined)", link)
    assert browser.texts(".forward .own .code") == ["hidden = np.tanh(matmul_x)"]


def test_heads_fold_what_is_below_them(browser: Browser) -> None:
    before = len(browser.texts(".forward .row"))
    browser.click(".forward .function .code", position(browser, ".forward .function .code", "loss"))
    assert "matmul_x = x @ w" not in browser.texts(".forward .code")
    assert "y = np.sum(mul_hidden, axis=1)" in browser.texts(".forward .code")
    browser.click("#folds")
    assert len(browser.texts(".forward .row")) < before - 3
    browser.click("#folds")
    assert len(browser.texts(".forward .row")) == before


def test_a_search_marks_all_panes_and_enter_goes_on(browser: Browser) -> None:
    browser.press("/")
    for key in "tanh":
        browser.press(key)
    assert browser.texts("#matches") == [str(len(browser.texts(".row.found")))]
    assert {*browser.texts("mark")} == {"tanh"}
    assert len(browser.texts(".source .found")) == 1
    browser.press("Enter")
    assert browser.texts("#matches")[0].startswith("1 of ")
    browser.press("Escape")
    assert browser.texts("mark") == []


def test_a_search_finds_what_is_folded(browser: Browser) -> None:
    browser.click("#folds")
    browser.run("page.find('matmul')")
    browser.run("page.step(1)")
    assert "matmul_x = x @ w" in browser.texts(".forward .active .code")


def test_all_can_be_done_by_keys(browser: Browser) -> None:
    browser.run("page.focus(0)")
    while "hidden =" not in "".join(browser.texts(".source .active .code")):
        browser.press("j")
    browser.press("Enter")
    assert len(browser.texts(".forward .chosen.statement")) == 2
    browser.press("l")
    assert browser.run("document.activeElement.getAttribute('aria-label')") == "Forward"
    browser.press("c")
    assert browser.run("!document.getElementById('captures').hidden")
    browser.press("t")
    assert browser.run("document.documentElement.dataset.theme") == "light"


def test_the_chart_of_captures_follows_the_sizes(browser: Browser) -> None:
    browser.click("#tab-captures")
    assert browser.texts(".bar .barname")[0] == "hidden"
    assert browser.texts(".bar .bytes")[0] == "512 B"
    browser.run("(() => { const e = document.querySelector('.sizes input'); e.value = 1000;"
                "e.dispatchEvent(new Event('input')) })()")  # fmt: skip
    assert browser.texts(".bar .bytes")[0] == "16.0 kB"
    browser.click(".barname")
    assert "hidden = np.tanh(matmul_x)" in browser.texts(".forward .own .code")


def test_the_graph_has_a_box_for_each_statement_and_leads_there(browser: Browser) -> None:
    browser.click("#tab-graph")
    boxes = browser.texts("#graph .node text")
    assert {"matmul_x = x @ w", "hidden = np.tanh(matmul_x)", "w", "x"} <= {*boxes}
    assert len(browser.texts("#graph .edge")) >= len(boxes) - 1
    assert browser.texts("#graph .edge.capture")
    browser.run("document.querySelectorAll('#graph .node')"
                f"[{boxes.index('hidden = np.tanh(matmul_x)')}].dispatchEvent(new MouseEvent('click'))")  # fmt: skip
    assert browser.texts(".forward .own .code") == ["hidden = np.tanh(matmul_x)"]


def test_a_phone_shows_a_pane_at_a_time_and_nothing_is_wider_than_it(browser: Browser, page: Path) -> None:
    browser.size(390, 844, mobile=True)
    browser.open(page)
    seen = "[...document.querySelectorAll('.pane')].filter(e => e.offsetHeight).map(e => e.getAttribute('aria-label'))"
    assert browser.run(seen) == ["Source"]
    browser.click("#tabs button", 2)
    assert browser.run(seen) == ["Backward"]
    browser.click(".backward .statement .code")
    assert "Backward" in "".join(browser.texts("#selection h3"))
    for tab in range(len(browser.texts("#tabs button"))):
        browser.click("#tabs button", tab)
        assert browser.run("document.documentElement.scrollWidth") <= 390


def test_a_link_to_a_line_opens_the_page_there(browser: Browser, page: Path) -> None:
    browser.click(".source .code", position(browser, ".source .code", "hidden ="))
    address = browser.run("location.href")
    browser.open("about:blank")
    browser.open(address)
    assert browser.texts(".source .chosen .code") == ["hidden = np.tanh(x @ w)"]


def test_on_paper_every_row_is_there(browser: Browser) -> None:
    count = browser.run("page.view.rows.length + page.sourceRows.length")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.frame()
    assert len(browser.texts(".row")) == count
    assert browser.run("[...document.querySelectorAll('.row')].every(e => e.offsetHeight > 0)")
    browser.run("dispatchEvent(new Event('afterprint'))")
    browser.ask("Emulation.setEmulatedMedia", media="")
    assert browser.ask("Page.printToPDF")["data"]


def test_hostile_texts_run_nothing(browser: Browser, tmp_path: Path) -> None:
    node = oh.make_node("Nope", ["x"], ["y"], name=HOSTILE, domain="com.microsoft", text=HOSTILE)
    (tmp_path / "g.html").write_text(to_page([foreign(tmp_path, node)]))
    browser.run("window.alert = () => { throw new Error('ran') }")
    browser.open(tmp_path / "g.html")
    browser.click(".forward .statement .code")
    assert browser.run("document.scripts.length") == 10 + browser.run("page.data.views.length")
    assert any("alert(1)" in text for text in browser.texts("#selection li"))


def test_a_page_of_20000_nodes_opens_within_two_seconds_and_scrolls(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "large.html").write_text(to_page([large_file(tmp_path / "large.onnx", 20_000)]))
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        browser.open(tmp_path / "large.html")
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 2
    assert browser.run("page.view.rows.length") > 20_000
    assert 0 < len(browser.texts(".row")) < 300
    browser.run("document.querySelector('.backward .scroller').scrollTop = 1e9")
    browser.frame()
    assert "return h4999, d0" in browser.texts(".backward .code")
    assert len(browser.texts(".row")) < 300
