"""What is known about a change to the program, and why the rest is not known."""

from __future__ import annotations

import pytest

from rocm_perf_lab.analysis.time_stack_verdict import Remedy
from rocm_perf_lab.report.remedies import NO_ERROR, NO_LINE, NO_PATH, remedy_section

NOT_ON_PATH = "no kernel of the program is on the path then"


@pytest.mark.parametrize(
    "line, low, high, program, then, reasons",
    [
        ("a.hip:7", 0.125, 0.5, 0.0625, "scan()", {}),
        ("a.hip:7", 0.0, 0.0, 0.0, "scan()", {}),
        (None, 0.125, 0.5, 0.0625, "scan()", {"line": NO_LINE}),
        ("a.hip:7", 0.125, 0.5, 0.0, None, {"then_dominant": NOT_ON_PATH}),
        ("a.hip:7", 0.125, 0.5, None, None, {"program_gain": NO_PATH, "then_dominant": NO_PATH}),
        ("a.hip:7", None, None, 0.0625, "scan()", {"gain_at_least": NO_ERROR, "gain_at_most": NO_ERROR}),
    ],
)
def test_each_number_or_why_it_is_not_known(line, low, high, program, then, reasons):
    found = remedy_section(Remedy("latency", "unroll", 0.25, line, low, high, program, then))
    assert (found.cause, found.change, found.gain) == ("latency", "unroll", 0.25)
    assert (found.line, found.gain_at_least, found.gain_at_most) == (line, low, high)
    assert (found.program_gain, found.then_dominant, found.reasons) == (program, then, reasons)
