"""Times on the command line."""

from __future__ import annotations

import click
import pytest

from rocm_perf_lab.cli.duration import Duration
from rocm_perf_lab.optimize.time_budget import in_words


@pytest.mark.parametrize(
    "text, seconds, words",
    [("90s", 90, "90 s"), ("90", 90, "90 s"), ("10m", 600, "10 min"), ("1.5 h", 5400, "90 min"), ("2h", 7200, "2 h")],
)
def test_times_are_parsed_and_printed(text, seconds, words):
    assert Duration().convert(text, None, None) == seconds and in_words(seconds) == words


@pytest.mark.parametrize("text", ["", "0", "0s", "-5m", "ten", "5 days", "1e3", "nan", "5m3s", "9" * 400])
def test_text_that_is_not_a_time_is_refused(text):
    with pytest.raises(click.BadParameter):
        Duration().convert(text, None, None)
