"""Which other arguments a program's own help text suggests."""

from __future__ import annotations

import pytest

from rocm_perf_lab.optimize.suggested_arguments import doubled, other_arguments

HELP = """usage: app [options]
  -s, --seed N        of the random numbers (default 1)
  -i, --iterations N  (default 100)
  -n, --size N        elements (default 4096)
  --rows=INT          rows of the matrix
  -o FILE             where to write
"""


@pytest.mark.parametrize(
    "help_text, arguments, found",
    [
        (HELP, (), ("--size", "8192")),
        (HELP, ("-n", "8"), ("-n", "16")),
        (HELP, ("--size", "100"), ("--size", "200")),
        (HELP, ("-o", "x", "--rows=7"), ("-o", "x", "--rows=14")),
        (HELP, ("-i", "5"), ("-i", "5", "--size", "8192")),
        ("usage: gemm [-n N] [--kernel naive|lds]", ("--kernel", "lds"), ("--kernel", "lds", "-n", "2048")),
        ("usage: app <file>\n  --width <n>  pixels, 640 by default", (), ("--width", "2048")),
        ("usage: app FILE [--seed N] [--device N] [--log LEVEL]", (), None),
        ("", ("-n", "4"), None),
    ],
)
def test_one_size_is_doubled(help_text, arguments, found):
    assert doubled(help_text, arguments) == found


def test_the_program_is_asked_for_its_help(tmp_path):
    program = tmp_path / "app"
    program.write_text("#!/bin/sh\ntest \"$1\" = --help && echo 'usage: app [-n N]' >&2; exit 64\n")
    program.chmod(0o755)
    assert other_arguments(program, ("-n", "3")) == ("-n", "6")
