"""The comparison as a page: planted changes are shown with their intervals, limits and directions."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rocpd_database
from rocm_perf_lab.cli.page_file import write_page
from rocm_perf_lab.comparison.compare import compare
from rocm_perf_lab.comparison.limits import parsed
from rocm_perf_lab.errors import OutputError
from rocpd_database import Dispatch

HOSTILE = "evil</script><img src=x onerror=alert(1)>(float*)"


def runs(folder, factor, kernels=("alpha(int)", HOSTILE), has_more=False):
    """Five runs, the first kernel `factor` times slower."""
    folder.mkdir()
    paces = (1, 1.001, 1.002, 1.003, 1.004) if factor == 1 else (1.0005, 1.0015, 1.002, 1.0025, 1.0035)
    for run, pace in enumerate(paces):
        begin = 1_000_000 * run
        work = [
            Dispatch(kernels[0], begin, begin + round(50_000 * factor * pace)),
            Dispatch(kernels[1], begin + 200_000, begin + 200_000 + round(9000 * pace)),
        ]
        more = [Dispatch("only here", begin + 300_000, begin + 300_000 + round(1000 * pace))] if has_more else []
        rocpd_database.write(folder / f"{run}.db", work + more)
    return folder


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The folder with three builds and their comparison, as the command line writes it."""
    folder = tmp_path_factory.mktemp("compared")
    runs(folder / "base", 1)
    runs(folder / "slow", 1.2)
    runs(folder / "fast", 0.5, has_more=True)
    command = [
        sys.executable,
        "-m",
        "rocm_perf_lab",
        "compare",
        "base",
        "slow",
        "fast",
        "--fail-on",
        "time>5%",
        "--html",
        "page.html",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 54 and done.stderr == "rocm-perf: wrote page.html\n"
    return folder


def test_planted_changes(compared, opened, expect_accessible):
    tab = opened(compared / "page.html")
    assert tab.inner_text("h1").endswith("limits exceeded")
    slow, fast = tab.locator("section").all()
    assert [one.inner_text() for one in slow.locator(".limits > li > .tag").all()] == ["exceeded"]
    assert [one.inner_text() for one in fast.locator(".limits > li > .tag").all()] == ["kept"]
    rows = {row.split("\t")[0]: row.split("\t") for row in slow.locator("table >> nth=0").locator("tbody tr").all_inner_texts()}
    assert rows["alpha"][1:4] == ["50.1 us", "60.1 us", "+20.0 %"] and rows["alpha"][6] == "slower"
    assert rows["evil</script><img src=x onerror=alert(1)>"][6] == "as before"
    assert "only here" in fast.inner_text() and tab.locator("img").count() == 0
    document = compare([compared / "base", compared / "slow"], parsed(["time>5%"]))
    interval = document.comparisons[0].kernels[0].changes[0].interval
    shown = [float(part) for part in rows["alpha"][5].removesuffix(" %").split(" to ")]
    assert shown == pytest.approx([100 * (interval.low - 1), 100 * (interval.high - 1)], abs=0.051)
    expect_accessible(tab)


def test_bars_and_details(compared, opened):
    tab = opened(compared / "page.html")
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


def test_a_page_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="none/page.html cannot be written"):
        write_page(tmp_path / "none" / "page.html", "")
