"""The documented table of vecCopy's durations is the one that the command prints."""

from __future__ import annotations

import re
import subprocess
import sys


def test_the_documented_table_is_that_of_the_command(repository, testbed, shared_data):
    document = (repository / "docs" / "DEVICE_MODEL.md").read_text("utf-8")
    shown = re.search(r"(?s)<!-- vcopy -->\n```\n(.*?)```", document)[1]
    script, recorded = repository / "benchmarks" / "vcopy_table.py", shared_data / "counters" / "vcopy_MI200"
    command = [sys.executable, script, testbed("vcopy"), recorded]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(printed)
    assert shown == printed
    # No copy, recorded or modelled, is faster than its memory allows.
    rates = [(line.split(",")[0], line.split(",")[1].split()[0], int(line.split()[-2])) for line in printed.splitlines()]
    peaks = {device.split()[0]: rate for device, kind, rate in rates if kind == "HBM"}
    assert all(rate <= peaks["MI200"] for device, kind, rate in rates if kind == "recorded")
    # The software device's second and later copies may hit in the Infinity Cache; the first cannot.
    assert next(rate for _, kind, rate in rates if kind == "modelled") <= peaks["MI300X"]
