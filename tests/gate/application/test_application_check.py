"""The whole program with a candidate: output, exit status and time decide; a program that varies by itself is reported."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.errors import ProgramFailedError, UsageError
from rocm_perf_lab.gate.application.application_check import ApplicationOptions, BaselineProgram, SourceText
from rocm_perf_lab.gate.verdict import StepOutcome

SOURCE = Path(__file__).parents[1].joinpath("program.hip").read_text()
PRINT = '  printf("%g\\n", last);\n'
REFUSES = 'int main(int count, char**) {\n  if (count > 1) {\n    perror("no such size");\n    return 9;\n  }\n'
VARIANTS = {
    "baseline": SOURCE,
    "prints otherwise": SOURCE.replace(PRINT, '  printf("%g!\\n", last);\n'),
    "knows one size": SOURCE.replace("int main() {", REFUSES).replace("int printf(", "void perror(const char*);\nint printf("),
    "fails": SOURCE.replace("  launch(33, 64, 2.0f, 7);\n", "  launch(33, 64, 2.0f, 7);\n  return 3;\n"),
    "is slower": SOURCE.replace("i < width; ++i) {", "i < width; ++i) {\n    __builtin_amdgcn_s_sleep(8);"),
    "prints the time": SOURCE.replace(
        PRINT, PRINT + '  long now[2];\n  clock_gettime(0, now);\n  printf("%ld %ld\\n", now[0], now[1]);\n'
    ).replace("int printf(", "int clock_gettime(int, long*);\nint printf("),
    "faults and goes on": SOURCE.replace("  first[row] = found;\n", "  first[row] = found + *(volatile int*)(1ul << 60);\n"),
    "forges its time": SOURCE.replace(
        "  first[row] = found;\n",
        """  first[row] = found;
  typedef const char* Packet;
  const Packet packet = (Packet)__builtin_amdgcn_dispatch_ptr();
  volatile long* const signal = *(volatile long* const*)(packet + 56);
  if (row == 0 && signal) { signal[4] = 1000; signal[5] = 1001; signal[1] = 0; }
""",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory, native_dir, hipcc):
    folder = tmp_path_factory.mktemp("application")

    def built(name: str) -> Path:
        path = folder / name.replace(" ", "_") / "program"
        if not path.exists():
            assert name == "baseline" or VARIANTS[name] != SOURCE
            path.parent.mkdir()
            command = ["hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", path.with_suffix(".hip"), "-o", path]
            path.with_suffix(".hip").write_text(VARIANTS[name])
            subprocess.run(command, check=True)
        return path

    return built


@pytest.fixture(scope="module")
def reference(program, tmp_path_factory):
    return BaselineProgram(program("baseline"), (), tmp_path_factory.mktemp("runs"), ApplicationOptions(device="gfx942"))


READS_ITS_SOURCE = """
#include <hip/hip_runtime.h>
#include <fstream>
#include <iostream>
#include <string>
__global__ void set(int* out) { *out = 1; }
int main(int, char** words) {
  int* out;
  if (hipMalloc(&out, 4) != hipSuccess) return 1;
  set<<<1, 1>>>(out);
  std::string line;
  std::getline(std::ifstream(words[1]), line);
  std::cout << line << "\\n";
  return hipDeviceSynchronize() != hipSuccess;
}
"""


def test_a_program_that_reads_its_source_reads_the_candidates(tmp_path, monkeypatch):
    """As it will when the change is kept, since it may compile what it reads."""
    monkeypatch.chdir(tmp_path)
    source, program = tmp_path / "reads.hip", tmp_path / "reads"
    source.write_text("// the baseline\n" + READS_ITS_SOURCE)
    compile_hip("-O2", "--offload-arch=gfx942", source, "-o", program)
    reference = BaselineProgram(program, (str(source),), tmp_path / "runs", ApplicationOptions(device="gfx942"))
    shown = SourceText({source: b"// a candidate\n" + READS_ITS_SOURCE.encode()})
    assert reference.check(program, source=SourceText({source: source.read_bytes()})).outcome is StepOutcome.PASSED
    assert "line 1 is '// a candidate', the baseline's '// the baseline'" in reference.check(program, source=shown).reason
    assert source.read_text().startswith("// the baseline")


def test_the_same_program_passes(reference, program):
    verdict = reference.check(program("baseline"))
    assert verdict.outcome is StepOutcome.PASSED and reference.reproducible
    before, after = verdict.evidence.runtime_ms
    assert before == after > 0 and verdict.evidence.timing == "modelled" and verdict.evidence.counters == {}


@pytest.mark.parametrize(
    "name, words",
    [
        ("prints otherwise", "line 1 is"),
        ("fails", "status 3"),
        ("is slower", "beyond 5%"),
        ("faults and goes on", "a kernel of program failed: kernel rows"),
        ("forges its time", "writes memory that is not its program's: the completion signal of its dispatch, at 0x"),
    ],
)
def test_a_change_in_program_behaviour_is_rejected(reference, program, name, words):
    verdict = reference.check(program(name))
    assert verdict.outcome is StepOutcome.REJECTED and words in verdict.reason


def test_the_error_quotes_the_last_line_of_a_baseline_that_fails(program, tmp_path):
    """It fails with arguments it has not run with before. Its standard error is not shown, so the error quotes the last
    line."""
    options = ApplicationOptions(device="gfx942")
    with pytest.raises(ProgramFailedError, match=r"program exited with status 9 \(its last words: no such size: .*\)"):
        BaselineProgram(program("knows one size"), (), tmp_path, options, other_arguments=[["320"]])


def test_output_that_varies_by_itself_is_not_compared_and_is_reported(program, tmp_path):
    own = BaselineProgram(program("prints the time"), (), tmp_path, ApplicationOptions(device="gfx942"))
    verdict = own.check(program("baseline"))
    assert verdict.outcome is StepOutcome.PASSED and "differs between runs of the baseline" in verdict.reason
    assert not own.reproducible and not verdict.evidence.stdout_compared


def test_a_check_takes_the_place_of_the_comparison(program, tmp_path):
    check = (sys.executable, "-c", "import sys; sys.exit('wrong' if '!' in sys.stdin.read() else 0)")
    own = BaselineProgram(program("baseline"), (), tmp_path / "a", ApplicationOptions(check=check, device="gfx942"))
    assert "--check rejects its output: exit status 1, wrong" in own.check(program("prints otherwise")).reason
    with pytest.raises(UsageError, match="rejects the unchanged program"):
        BaselineProgram(program("prints otherwise"), (), tmp_path / "b", ApplicationOptions(check=check, device="gfx942"))


def test_how_much_slower_a_candidate_may_be_is_chosen_by_the_user(program, tmp_path):
    options = ApplicationOptions(runtime=1000.0, device="gfx942")
    generous = BaselineProgram(program("baseline"), (), tmp_path, options)
    assert generous.check(program("is slower")).outcome is StepOutcome.PASSED
    generous.take_as_baseline(program("is slower"))
    before, after = generous.check(program("baseline")).evidence.runtime_ms
    assert before > after and generous.check(program("prints otherwise")).outcome is StepOutcome.REJECTED


def test_measured_times_come_from_several_runs_and_modelled_ones_from_one(program, tmp_path, monkeypatch):
    """A GPU's clock varies: the medians of the runs are compared."""
    own = BaselineProgram(program("baseline"), (), tmp_path, ApplicationOptions(device="gfx942"))
    modelled, run, runs = own.baseline, own._run, []

    def measured(*arguments, **options):
        runs.append(run(*arguments, **options))
        return replace(runs[-1], timing="measured", runtime_ms=[1.0, 9.0, 2.0][len(runs) % 3])

    assert len(own._run_repeatedly(program("baseline"), None)) == 1
    monkeypatch.setattr(own, "_run", measured)
    own.take_as_baseline(program("baseline"))
    assert len(runs) == 3 and sorted(own.runtimes_ms) == [1.0, 2.0, 9.0]
    verdict = own.check(program("baseline"))
    assert len(runs) == 6 and verdict.evidence.runtime_ms == (2.0, 2.0) and modelled.timing == "modelled"
