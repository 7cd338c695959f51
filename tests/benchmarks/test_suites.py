"""Third-party test programs are run so that every case is reached once, and the table states each result."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from others import clients, ggml_tests, gtest, libraries, packages, thrust_tests
from others.results import Results
from others.testing import Binary, CannotList

FAKE = [sys.executable, str(Path(__file__).parent / "fake_gtest.py")]
EXPECTED = {
    "Quick.pass1": gtest.PASSED,
    "Quick.fail": gtest.FAILED,
    "Quick.refuse": gtest.REFUSED,
    "Quick.pass2": gtest.PASSED,
    "Other.fault": gtest.FAULTED,
    "Other.crash": gtest.CRASHED,
    "Other.sleep": gtest.TOO_LONG,
    "Other.skip": gtest.SKIPPED,
    "Param/0.refuse_and_fail": gtest.REFUSED,
    "Param/0.pass3": gtest.PASSED,
}


@pytest.fixture
def notes(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    return tmp_path / "notes"


def test_every_case_is_reached_once_whatever_ends_its_process(tmp_path, notes):
    binary = Binary(FAKE, tmp_path, case_cap=8)
    cases = binary.cases(60)
    assert cases == list(EXPECTED)
    outcomes = binary.attempt(cases, cap=120)
    assert {case: outcome for case, (outcome, _) in outcomes.items()} == EXPECTED
    noted = Counter(notes.read_text().split())
    # One more process after each of refuse, fault, crash, sleep, refuse_and_fail.
    assert noted.pop("start") == 6
    # A fault need not end the process at once: the next case may begin, be stopped, and begin again.
    behind = {"Other.crash", "Param/0.pass3"}
    assert {case for case, times in noted.items() if times != 1} <= behind
    assert set(noted) == set(EXPECTED)
    assert outcomes["Quick.refuse"][1].endswith("v_new v1: the device does not know this instruction")
    assert outcomes["Quick.fail"][1].startswith("hipErrorOutOfMemory test.cpp:3: Failure")
    assert "exit status -6" in outcomes["Other.crash"][1]


def test_running_out_of_time_is_no_fault_of_the_running_case(tmp_path, notes):
    outcomes = Binary(FAKE, tmp_path, case_cap=50).attempt(["Quick.pass1", "Other.sleep", "Other.skip"], cap=5)
    assert {case: outcome for case, (outcome, _) in outcomes.items()} == {"Quick.pass1": gtest.PASSED}


def test_a_program_that_lists_no_cases_is_reported_with_the_reason(tmp_path):
    with pytest.raises(CannotList, match="no such library"):
        Binary(["sh", "-c", "echo no such library; exit 127"], tmp_path, 1).cases(10)


def test_thrust_prints_the_reason_after_the_end_of_a_case():
    progress = thrust_tests.Progress()
    said = (
        "Running 3 unit tests.\nRunning TestA...\r[PASS]    239.796 ms TestA\nRunning TestB...\r[ERROR]              TestB\n"
        "\n======\nERROR: TestB\nstd::bad_alloc: hipErrorOutOfMemory: out of memory\n======\nRunning TestC..."
    )
    for line in said.split("\n"):
        progress.line(line)
    progress.process_ended(-11)
    assert progress.outcomes == {
        "TestA": (gtest.PASSED, ""),
        "TestB": (gtest.FAILED, "hipErrorOutOfMemory std::bad_alloc: hipErrorOutOfMemory: out of memory"),
        "TestC": (gtest.CRASHED, "exit status -11: "),
    }
    assert thrust_tests.listed("TestA\nTestB\nWarning: Resource leak\n") == ["TestA", "TestB"]


def test_known_failures_of_thrust_are_left_out():
    progress = thrust_tests.Progress()
    for line in ("Running TestA...[KNOWN FAILURE]      TestA", "KNOWN FAILURE: TestA", "[testing/device_delete.cu:43]"):
        progress.line(line)
    assert progress.outcomes == {"TestA": (gtest.SKIPPED, "")}


def test_ggml_names_a_case_when_it_has_ended():
    table = '"backend_name","op_name","op_params"\n"ROCm0","ADD","type=f16,ne=[1,2]"\n"CPU","ADD","type=f16,ne=[1,2]"\n'
    table += '"ROCm0","ADD","type=f16,ne=[1,2]"\n"ROCm0","SUM","ne=[4]"\n'
    assert ggml_tests.listed("loaded\n" + table) == ["ADD(type=f16,ne=[1,2])", "SUM(ne=[4])"]
    assert ggml_tests.parts("", ["ADD(1)", "SUM(1)", "ADD(2)"]) == {"ADD": ["ADD(1)", "ADD(2)"], "SUM": ["SUM(1)"]}
    progress = ggml_tests.Progress(["ADD(1)", "ADD(2)", "ADD(3)", "ADD(4)"])
    assert progress.current is None  # not before the backend is ready
    for line in ("Backend 1/1: ROCm0", "  ADD(1): \x1b[1;32mOK\x1b[0m", "  ADD(2): not supported [ROCm0] "):
        progress.line(line)
    progress.line("[ADD] NMSE = 0.5 > 0.0000001   ADD(3): FAIL")  # its output about the running case
    assert progress.current == "ADD(3)"
    progress.line("  ADD(3): [ADD] NMSE = 0.5 > 0.0000001 \x1b[1;31mFAIL\x1b[0m")
    progress.process_ended(-6)
    assert {case: outcome for case, (outcome, _) in progress.outcomes.items()} == {
        "ADD(1)": gtest.PASSED, "ADD(2)": gtest.SKIPPED, "ADD(3)": gtest.FAILED, "ADD(4)": gtest.CRASHED,
    }  # fmt: skip


@given(st.lists(st.integers(0, 255), min_size=1, max_size=50), st.integers(1, 40), st.integers(0, 60), st.integers())
def test_sampled_test_data_is_a_subset(tmp_path_factory, values, size, count, seed):
    folder = tmp_path_factory.mktemp("data")
    layout, records = b"\1" * size, [bytes([value]) * size for value in values]
    head = b"rocSPARSE\0" + layout + b"ROCsparse\0"
    (folder / "all").write_bytes(head + b"".join(records))
    clients.draw(folder / "all", folder / "some", seed, count)
    drawn = (folder / "some").read_bytes()
    assert drawn.startswith(head)
    rest = drawn[len(head) :]
    some = [rest[i : i + size] for i in range(0, len(rest), size)]
    assert len(some) == min(count, len(values))
    assert not Counter(some) - Counter(records)
    if count >= len(values):
        assert some == records


def test_the_packages_to_install_are_read_from_the_plan(monkeypatch):
    plan = "Inst librocrand1 (7.2.4-1~exp1 Debian:experimental [amd64])\nInst b [1.0] (2:1.1 Debian:unstable [all])\nConf b\n"
    monkeypatch.setattr(packages.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, plan, ""))
    assert packages.packages_to_install("librocrand1") == [("librocrand1", "7.2.4-1~exp1"), ("b", "2:1.1")]
    absent = (
        "The following packages have unmet dependencies:\n a : Depends: libamd-smi26 (>= 7.1.0) but it is not installable\n"
    )
    monkeypatch.setattr(packages.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 100, absent, "E: no"))
    with pytest.raises(packages.CannotUnpack, match="libamd-smi26"):
        packages.packages_to_install("a")


def test_only_programs_of_the_package_are_started(tmp_path):
    library = libraries.Library("some", "libsome-tests")
    folder = tmp_path / "usr/libexec/rocm/libsome-tests"
    folder.mkdir(parents=True)
    for name, content, mode in (("test_a", b"\x7fELF", 0o755), ("run-tests", b"#!/bin/sh", 0o755), ("data", b"\x7fELF", 0o644)):
        (folder / name).write_bytes(content)
        (folder / name).chmod(mode)
    assert libraries.binaries(tmp_path, library) == ["/usr/libexec/rocm/libsome-tests/test_a"]


def test_the_table_counts_cases_and_names_causes(repository, tmp_path):
    why = "rocm-perf-device: kernel a: pc 0x{0} (entry + 0x4): illegal instruction: v_new v{0}: the device does not know it"
    outcomes = {"A.1": ["passed", ""], "A.2": ["refused", why.format(1)], "A.3": ["refused", why.format(2)]}
    results = Results(tmp_path / "results")
    results.put("rocPRIM.t", {"library": "rocPRIM", "binary": "t", "problem": "", "cases": 5, "outcomes": outcomes})
    results.put("ROCr", {"library": "ROCr", "binary": "", "problem": "libamd-smi26 is absent", "cases": 0, "outcomes": {}})
    command = [sys.executable, repository / "benchmarks" / "suites.py", tmp_path, "--cap", "0"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line]
    assert ["rocPRIM", "1", "5", "1", "0", "2", "0", "0", "0", "0", "2"] in rows
    assert ["rocPRIM t", "5", "1", "0", "2", "0", "0", "0", "0", "2"] in rows
    assert next(row for row in rows if row[1:3] == ["refused", "2"])[4] == "t A.2"
    assert any(row[:2] == ["ROCr", "not started"] and "libamd-smi26" in row[3] for row in rows)
    assert json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout) == results.all()


def test_without_a_folder_nothing_is_fetched(repository):
    ran = subprocess.run([sys.executable, repository / "benchmarks" / "suites.py"], check=True, capture_output=True, text=True)
    assert "name one" in ran.stdout
