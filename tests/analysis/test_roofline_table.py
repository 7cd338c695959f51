"""The documented table of recorded bytes is what the command prints, and its copy kernel moves the bytes it must."""

from __future__ import annotations

import re
import subprocess
import sys


def test_the_documented_table_is_that_of_the_command(repository, shared_data):
    document = (repository / "docs" / "ROOFLINE_DESIGN.md").read_text("utf-8")
    shown = re.search(r"(?s)<!-- recorded copy -->\n```\n(.*?)```", document)[1]
    folders = [shared_data / "counters" / name for name in ("vcopy_MI300X_A1", "vcopy_MI200")]
    command = [sys.executable, repository / "benchmarks" / "roofline_table.py", *folders]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert shown == printed
    rows = [line.split() for line in printed.splitlines()[1:]]
    l2 = {(row[0], " ".join(row[1:-3])): float(row[-2]) for row in rows}
    assert l2["gfx942", "this tool"] == l2["gfx90a", "this tool"] == 16  # 8 MiB read, 8 MiB written
    assert l2["gfx942", "roofline_calc.py"] == 12  # half of what was read
