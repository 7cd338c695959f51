"""Takes the pictures of the documents: profiles the softmax testbed and photographs its page in Chromium.

    ./dev run python docs/images/take.py [FOLDER]

FOLDER: where to write report.png and source.png; the folder of this file if it is not given.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

_HERE = Path(__file__).resolve().parent
_TESTBED = _HERE.parents[1] / "testbed"
_BUILD = ("hipcc", "--offload-arch=gfx942", "-O3", "-std=c++20", "softmax.hip", "-o", "softmax_testbed")
_PROFILE = ("rocm-perf", "profile", "--device", "gfx942", "-o", "run", "--", "./softmax_testbed")
_SECTION, _WAIT = "#source-section", "#source-section tr[data-kind=isa]"


def _profiled(folder: Path, *build_options: str) -> Path:
    """The report of the testbed, built with these options in a new folder."""
    shutil.copytree(_TESTBED, folder)
    for command in ((*_BUILD, *build_options), _PROFILE):
        subprocess.run(command, cwd=folder, check=True)
    return folder / "run" / "report.html"


def _page(browser: Browser, report: Path, width: int, height: int) -> Page:
    page = browser.new_context(offline=True, viewport={"width": width, "height": height}).new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("body[data-ready]")
    return page


def take(scratch: Path, folder: Path) -> None:
    """Write both pictures to `folder`. scratch: an empty folder."""
    report, with_lines = _profiled(scratch / "plain"), _profiled(scratch / "lines", "-g")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        _page(browser, report, 1100, 1350).screenshot(path=folder / "report.png")
        source = _page(browser, with_lines, 1250, 900)
        source.locator(_WAIT, has_text="s_waitcnt").last.focus()
        source.locator(_SECTION).screenshot(path=folder / "source.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        take(Path(scratch), Path(sys.argv[1]) if sys.argv[1:] else _HERE)
