"""--kernel: one dialect and one meaning in every command, and a mistake in it is reported before anything runs."""

from __future__ import annotations

import json
import sqlite3

import pytest

import rocpd_database
from rocpd_database import Dispatch

COMMANDS = {
    "analyze": ["no.db"],
    "profile": ["./program"],
    "isolate": ["./program"],
    "optimize": ["./program"],
    "prompt": ["./program"],
    "llm-optimize": ["./program"],
    "gate": ["one.hip", "two.hip", "./program"],
}


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program"
    path.write_text("#!/bin/sh\ntouch ran\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("pattern", ["softmax(", "(?<=a*)b"])
def test_an_invalid_regular_expression_is_reported_before_anything_runs(rocm_perf, program, tmp_path, command, pattern):
    done = rocm_perf(command, "--kernel", pattern, *COMMANDS[command])
    assert done.returncode == 2 and f"'--kernel' / '-k': {pattern!r} is not a regular expression" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_describes_it_alike(rocm_perf, command):
    text = " ".join(rocm_perf(command, "--help").stdout.split())
    assert "-k, --kernel REGEX" in text
    assert "a Python regular expression, matched anywhere in the demangled or mangled name." in text


@pytest.mark.parametrize("pattern", ["softmax_naive", "(?i:SOFTMAX_N)aive", "^_Z13softmax_naive", r"\Asoftmax_(?=n)"])
def test_analyze_matches_both_names(rocm_perf, tmp_path, pattern):
    work = [Dispatch("softmax_naive(float const*)", 0, 10), Dispatch("softmax_lds(float const*)", 20, 40)]
    database = rocpd_database.write(tmp_path / "t.db", work)
    with sqlite3.connect(database) as connection:
        symbol = "UPDATE rocpd_info_kernel_symbol SET kernel_name = ? WHERE display_name LIKE 'softmax_naive%'"
        connection.execute(symbol, ("_Z13softmax_naivePKf.kd",))
    done = rocm_perf("analyze", "--kernel", pattern, "--what-if", f"{pattern}=2", "--json", database)
    assert done.returncode == 0, done.stderr
    documents = json.loads(done.stdout)
    assert [kernel["kernel"] for kernel in documents["analysis"]["kernels"]] == ["softmax_naive(float const*)"]
    assert documents["analysis"]["kernels"][0]["symbol"] == "_Z13softmax_naivePKf"
    assert [one["kernels"] for one in documents["dag"]["what_if"]][0] == ["softmax_naive(float const*)"]
