"""The comparison as a page: planted changes are shown with their intervals, limits and directions."""

from __future__ import annotations

import pytest

import rocpd_database
from rocm_perf_lab.comparison.compare import compare
from rocm_perf_lab.comparison.limits import parsed
from rocm_perf_lab.comparison.page import page
from rocpd_database import Dispatch

HOSTILE = "evil</script><img src=x onerror=alert(1)>(float*)"


def runs(folder, factor, kernels=("alpha(int)", HOSTILE), has_more=False):
    """Five runs, the first kernel `factor` times slower."""
    folder.mkdir()
    for run in range(5):
        pace, begin = 1 + 0.002 * factor * run, 1_000_000 * run
        work = [
            Dispatch(kernels[0], begin, begin + round(50_000 * factor * pace)),
            Dispatch(kernels[1], begin + 200_000, begin + 200_000 + round(9000 * pace)),
        ]
        more = [Dispatch("only here", begin + 300_000, begin + 301_000)] if has_more else []
        rocpd_database.write(folder / f"{run}.db", work + more)
    return folder


@pytest.fixture
def compared(tmp_path, rocm_perf):
    runs(tmp_path / "base", 1)
    runs(tmp_path / "slow", 1.2)
    runs(tmp_path / "fast", 0.5, has_more=True)
    return rocm_perf("compare", "base", "slow", "fast", "--fail-on", "time>5%", "--html", "page.html")


def test_planted_changes(compared, opened, tmp_path, expect_accessible):
    assert compared.returncode == 54 and "rocm-perf: wrote page.html" in compared.stderr
    tab = opened(tmp_path / "page.html")
    assert tab.inner_text("h1").endswith("limits exceeded")
    slow, fast = tab.locator("section").all()
    assert [one.inner_text() for one in slow.locator(".limits > li > .tag").all()] == ["exceeded"]
    assert [one.inner_text() for one in fast.locator(".limits > li > .tag").all()] == ["kept"]
    rows = {row.split("\t")[0]: row.split("\t") for row in slow.locator("table >> nth=0").locator("tbody tr").all_inner_texts()}
    assert rows["alpha"][1:4] == ["50.2 us", "60.2 us", "+20.0 %"] and rows["alpha"][6] == "slower"
    assert rows["evil</script><img src=x onerror=alert(1)>"][6] == "as before"
    assert "only here" in fast.inner_text() and tab.locator("img").count() == 0
    document = compare([tmp_path / "base", tmp_path / "slow"], parsed(["time>5%"]))
    interval = document.comparisons[0].kernels[0].changes[0].interval
    shown = [float(part) for part in rows["alpha"][5].removesuffix(" %").split(" to ")]
    assert shown == pytest.approx([100 * (interval.low - 1), 100 * (interval.high - 1)], abs=0.051)
    expect_accessible(tab)


def test_bars_and_details(compared, opened, tmp_path):
    tab = opened(tmp_path / "page.html")
    slow, fast = tab.locator("section").all()
    bar = "section >> nth={} >> .bar >> nth=0 >> i.{}"
    assert tab.get_attribute(bar.format(0, "more"), "style").startswith("left: 50%")
    assert tab.locator(bar.format(1, "less")).count() == 1
    assert slow.locator(".card h3").inner_text() == "alpha(int)"
    slow.locator("button.choose >> nth=1").focus()
    tab.keyboard.press("Enter")
    assert slow.locator(".card h3").inner_text() == HOSTILE
    slow.locator("th button:text-is('after')").click()
    assert slow.locator("tbody tr >> nth=0").inner_text().startswith("alpha")
    assert "time" in slow.locator(".card").inner_text()


def test_the_same_comparison_gives_the_same_page(tmp_path):
    base = runs(tmp_path / "base", 1)
    assert page(compare([base, base])) == page(compare([base, base]))


def test_a_page_that_cannot_be_written(compared, rocm_perf):
    done = rocm_perf("compare", "base", "slow", "--html", "none/page.html")
    assert done.returncode == 73 and done.stderr.count("\n") == 1 and "none/page.html cannot be written" in done.stderr
