"""Programs of a checkout are built, run and judged; the checkout stays unchanged, and an interrupted run resumes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from others import building, checkout, smaller, verdict
from others.checkout import Program, ProgramEntry
from others.process import RunResult, run
from others.stages import next_stage

import needs

MAKEFILE = """
CC = hipcc
program = main
$(program): main.cu
\t$(CC) -O2 -I../{stem}-cuda -c main.cu -o main.o
\t$(CC) -O2 main.o -o $@ -lm
run: $(program)
\t./$(program) {arguments}
"""
SOURCE = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include "size.h"
__global__ void add(int* o, const int* a) { int i = blockIdx.x * 64 + threadIdx.x; if (i < N) o[i] += a[i]; }
int main(int argc, char** argv) {
  if (argc != 2) { printf("Usage: %s <repeat>\\n", argv[0]); return 1; }
  static int a[N], o[N]; int *da, *d_o; for (int i = 0; i < N; i++) a[i] = i;
  hipMalloc(&da, sizeof a); hipMalloc(&d_o, sizeof o);
  hipMemcpy(da, a, sizeof a, hipMemcpyHostToDevice); hipMemset(d_o, 0, sizeof o);
  for (int i = 0; i < atoi(argv[1]); i++) add<<<(N + 63) / 64, 64>>>(d_o, da);
  hipMemcpy(o, d_o, sizeof o, hipMemcpyDeviceToHost);
  bool good = N <= 1000; for (int i = 0; i < N; i++) good &= o[i] == a[i] * atoi(argv[1]);
  printf("%s\\n", good ? "PASS" : "FAIL");
}
"""


@pytest.fixture
def fake(tmp_path) -> Path:
    """A checkout with three programs: two that run (one with a size to be reduced), and one that needs a file."""
    root = tmp_path / "checkout"
    for stem, arguments in (("sum", "100"), ("wrong", "100"), ("data", "../data/list.txt 4")):
        _write(root / f"src/{stem}-hip/Makefile", MAKEFILE.format(stem=stem, arguments=arguments))
        _write(root / f"src/{stem}-hip/main.cu", SOURCE)
        _write(root / f"src/{stem}-cuda/size.h", "#define N 100000 // elements\n")
    return root


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "table.csv"
    rows = ["sum,=,N=1000,,,,", "wrong,3,N=1000,N <= 1000 -> N <= 10 ;; a[i] = i -> a[i] = 2,,,"]
    path.write_text("\n".join(["program,arguments,macros,edits,make,fault,note", *rows]) + "\n", "utf-8")
    return path


@pytest.mark.slow
def test_a_checkout_from_build_to_optimizer(fake, table, tmp_path, repository, native_dir):
    needs.program("hipcc")
    before = {path: path.read_bytes() for path in fake.rglob("*") if path.is_file()}
    words = ["--folder", tmp_path / "kept", "--table", table, "--timeout", "200"]
    command = [sys.executable, repository / "benchmarks" / "programs.py", fake, *words]
    ran = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert set(found) == {"sum", "wrong"}
    assert "list.txt" in json.loads((tmp_path / "kept" / "left_out.json").read_text())["data"]
    good = found["sum"]["stages"]
    assert {stage: one["result"] for stage, one in good.items()} == dict.fromkeys(good, "ok"), ran.stderr
    assert set(good) == {"build", "run", "profile", "isolate", "replay", "prompt", "optimize"}
    assert (good["run"]["check"], good["run"]["command"]) == ("PASS", "./main 2")
    wrong = found["wrong"]["stages"]["run"]
    assert (wrong["check"], wrong["class"], wrong["reason"]) == ("FAIL", verdict.OPEN, "FAIL")
    assert {path: path.read_bytes() for path in fake.rglob("*") if path.is_file()} == before
    # Nothing is tried twice, and earlier results are still reported.
    again = subprocess.run([*command, "--timeout", "0.01"], capture_output=True, text=True)
    assert "| sum | 2 | ok | ok | ok | ok | ok | ok | ok | PASS |" in again.stdout
    assert "1 PASS, 1 FAIL, 0 none" in again.stdout


def test_sizes_in_the_source_are_reduced_in_the_copy(fake, table, tmp_path):
    given = checkout.read_table(table)
    building.copy(Program(fake, "sum", given["sum"]), tmp_path / "sum")
    assert (tmp_path / "sum/sum-cuda/size.h").read_text() == "#define N 1000// elements\n"
    folder = building.copy(Program(fake, "wrong", given["wrong"]), tmp_path / "wrong")
    assert "a[i] = 2;" in (folder / "main.cu").read_text()
    with pytest.raises(ValueError, match="ABSENT"):
        building.copy(Program(fake, "sum", ProgramEntry(macros="ABSENT=1")), tmp_path / "other")


def test_the_makefile_says_how_a_program_is_started(fake):
    program = Program(fake, "sum")
    assert program.start == ["./main", "100"]
    (program.folder / "main.cu").write_text("#include <hipcub/hipcub.hpp>\n")
    assert program.libraries(lambda _: False, lambda name: name == "m") == ["hipcub"]
    assert program.libraries(lambda name: name == "hipcub/hipcub.hpp", lambda _: False) == ["libm"]


@pytest.mark.parametrize(
    ("given", "usage", "expected"),
    [
        ("100000 784 0 100", "<number of slices> <slice size> <implementations> <repeat>", "512 512 0 2"),
        ("16 8", "<size> <iterations>", "16 2"),
        ("268435456 1000", "", "262144 2"),
        ("1000", "", "1000"),
        ("--lmem -n=4 x.txt 50", "", "--lmem -n=4 x.txt 2"),
    ],
)
def test_arguments_are_reduced(given, usage, expected):
    source = f'if (argc < 2) {{ std::cerr << "Usage: " << argv[0]\\n << "{usage}\\n"; }} a = b < c;'
    assert smaller.smaller(given.split(), smaller.usage_of(["#include <vector>", source])) == expected.split()


FAULT = "rocm-perf-device: kernel k: pc 0x10 (entry + 0x4): memory access fault: global_load_dword"
REFUSAL = (
    "rocm-perf-device: kernel k: pc 0x10 (entry + 0x4): illegal instruction: v_x v0: the device does not know this instruction"
)


@pytest.mark.parametrize(
    ("status", "output", "check", "expected"),
    [
        (0, "PASS\n", "PASS", verdict.FINE),
        (0, "0 failures, no mismatch\n", "none", verdict.FINE),
        (0, "Number of incorrect matches: 0\n", "none", verdict.FINE),
        (0, "PASS\nFAIL\n", "FAIL", verdict.OPEN),
        (1, "Usage: main <n>\n", "none", verdict.PROGRAM),
        (1, "Failed to open file ./x.dat\n", "FAIL", verdict.ENVIRONMENT),
        (139, "", "none", verdict.OPEN),
        (None, "PASS\n", "PASS", verdict.TIME),
        (0, FAULT, "none", verdict.OPEN),
        (134, REFUSAL, "none", verdict.PROJECT),
        (None, REFUSAL, "none", verdict.PROJECT),
        (134, "model: Unimplemented KFD ioctl", "none", verdict.PROJECT),
    ],
)
def test_whose_fault_a_run_is(status, output, check, expected):
    assert verdict.self_check(output) == check
    assert verdict.of_run(RunResult(status, 1.0, output), check)[0] == expected


def test_whose_fault_a_build_is():
    absent = verdict.of_build(RunResult(2, 1.0, "main.cu:3:10: fatal error: 'mpi.h' file not found\n"))
    assert absent == (verdict.ENVIRONMENT, "fatal error: 'mpi.h' file not found")
    assert verdict.of_build(RunResult(2, 1.0, "main.cu:3:1: error: unknown type\n"))[0] == verdict.PROGRAM


def test_a_stage_waits_for_what_it_needs():
    fine, failed = {"result": "ok"}, {"result": "failed"}
    stages = ["build", "run", "isolate", "replay"]
    assert next_stage({}, stages) == "build"
    assert next_stage({"build": failed}, stages) is None
    assert next_stage({"build": fine, "run": fine}, stages) == "isolate"
    assert next_stage({"build": fine, "run": fine, "isolate": failed}, stages) is None


def test_processes_that_a_command_started_end_with_it(tmp_path):
    ran = run(["sh", "-c", "(sleep 1; touch late) & echo begun; sleep 60"], tmp_path, tmp_path / "log", 0.3)
    assert (ran.status, ran.output) == (None, "begun\n")
    assert run(["sleep", "1.5"], tmp_path, tmp_path / "log", 10).status == 0
    assert not (tmp_path / "late").exists()


def test_every_row_of_the_table_is_well_formed(repository):
    for name, given in checkout.read_table(repository / "benchmarks" / "others" / "programs.csv").items():
        assert building.changes(given) is not None, name
        assert given.fault in ("", verdict.PROGRAM, verdict.ENVIRONMENT), name
        assert bool(given.fault) == bool(given.note), name


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ending_the_benchmark_ends_the_program_that_it_runs(tmp_path, process_is_gone, number):
    script = f"""
import sys, pathlib, threading
sys.path.insert(0, {str(needs.REPOSITORY / "benchmarks")!r})
from others.process import end_with_sessions, run
end_with_sessions()
folder = pathlib.Path({str(tmp_path)!r})
sleeper = ["sh", "-c", "echo $$ >new; mv new pid; exec sleep 600"]
worker = threading.Thread(target=run, args=(sleeper, folder, folder / "log", 600))
worker.start()
worker.join()
"""
    benchmark = subprocess.Popen([sys.executable, "-c", script])
    while not (tmp_path / "pid").exists():
        time.sleep(0.01)
    benchmark.send_signal(number)
    assert benchmark.wait(30) == 128 + number
    assert process_is_gone(int((tmp_path / "pid").read_text()))
