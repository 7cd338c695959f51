"""The generated pages of the reference match what commands and documents currently say about themselves."""

from __future__ import annotations

import pytest

from rocm_perf_lab.cli.reference import PAGES


@pytest.mark.parametrize("path", PAGES)
def test_the_reference_is_up_to_date(repository, path: str):
    assert (repository / path).read_text("utf-8") == PAGES[path](), (
        "an option, a help text, an exit code or a field changed: "
        "run `./dev run python -m rocm_perf_lab.cli.reference` in the repository"
    )


def test_every_field_says_what_it_is():
    """An empty cell in a table would leave the reader without an answer."""
    assert not [
        line for page in PAGES.values() for line in page().splitlines() if line.startswith("|") and line.endswith("|  |")
    ]
