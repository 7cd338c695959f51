"""The whole workflow of a user: a HIP program, the real HIP runtime, the software device, the documents."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from disassembly import compile_kernels, instructions
from hip_compiler import compile_hip

PROGRAMS = ("vcopy", "softmax_testbed", "pipeline", "copies")
ROWS, COLUMNS = 1024, 512
DOCUMENTS = ("profile.json", "roofline.json", "dag.json", "analysis.json")


@pytest.mark.parametrize("program", PROGRAMS)
def test_testbed_passes_alike_on_one_and_two_host_threads(program, testbed, rocm_perf):
    outputs = []
    for threads in ("1", "2"):
        run = rocm_perf("run", testbed(program), environment={"ROCM_PERF_DEVICE_THREADS": threads})
        assert run.returncode == 0, run.stdout + run.stderr
        outputs.append([line for line in run.stdout.splitlines() if line.startswith("PASS")])
    assert outputs[0] and outputs[0] == outputs[1]  # each line ends with a checksum of all results


@pytest.fixture(scope="module")
def softmax_run(testbed, tmp_path_factory, rocm_perf_in) -> tuple[dict, Path]:
    """The --json output of profiling the softmax testbed, and its run directory."""
    folder = tmp_path_factory.mktemp("softmax")
    run = rocm_perf_in(
        folder, "profile", "--json", "-o", folder / "run", testbed("softmax_testbed"), "--rows", ROWS, "--cols", COLUMNS
    )
    return json.loads(run.stdout), folder / "run"


def test_json_is_all_of_stdout_and_equals_the_files(softmax_run):
    output, directory = softmax_run
    for name in DOCUMENTS:
        assert output[name.removesuffix(".json")] == json.loads((directory / name).read_text())
    assert output["profile"]["timing"] == "modelled"


def naive(kernels: list[dict]) -> dict:
    return next(entry for entry in kernels if entry["kernel"].startswith("softmax_naive"))


def test_naive_softmax_is_bound_by_memory_and_on_the_critical_path(softmax_run):
    output, _ = softmax_run
    kernel = naive(output["analysis"]["kernels"])
    found = kernel["bottleneck"]
    assert (found["by"], found["name"], found["on_full_device"]) == ("experiments", "small-grid", "uncoalesced")
    assert found["classes"][0]["name"] in ("memory-bandwidth-bound", "latency-bound")  # by counters
    alone = {one["cause"]: one for one in found["remedies"]}
    of_program = {one["cause"]: one for one in output["dag"]["program_gains"]}
    for cause, one in alone.items():  # only this kernel has experiments, and nothing else gets shorter
        saved = one["gain"] * kernel["time_ms"] * 1e6
        assert of_program[cause]["gain"] * output["dag"]["critical_path_ns"] == pytest.approx(saved, abs=2)
        assert one["program_gain"] == of_program[cause]["gain"]
    program = output["dag"]["program_stack"]
    parts = {part["name"]: part for part in program["parts"]}
    assert program["span_ns"] == output["dag"]["critical_path_ns"] == program["without_ns"][0]
    assert sum(part["ns"] for part in parts.values()) + program["rest_ns"] == pytest.approx(program["span_ns"], abs=1e-3)
    stack = kernel["thread_trace"]["time_stack"]
    for part in stack["parts"]:  # the path stays the same, so the program's part equals the kernel's
        if part["name"] in parts:
            assert parts[part["name"]]["ns"] == pytest.approx(part["ns"], abs=0.01 * stack["duration_ns"])
    assert output["dag"]["dominant_symbol"].startswith("softmax_naive")
    entry = naive(output["dag"]["symbols"])
    assert entry["dispatches_on_path"] == entry["dispatches"] == 1
    assert entry["min_slack_ns"] == 0


# The arithmetic for one element in the second and the third pass, each in a kernel without loops.
FRAGMENTS = """
#include <hip/hip_runtime.h>
__global__ void summand(const float* x, float* y, float m, float z) { y[threadIdx.x] = z + expf(x[threadIdx.x] - m); }
__global__ void quotient(const float* x, float* y, float m, float z) { y[threadIdx.x] = expf(x[threadIdx.x] - m) / z; }
"""
FLOPS = (
    (2, r"v_(fma|fmac|fmamk|fmaak|div_fmas)_f32$"),
    (1, r"v_(add|sub|subrev|mul|exp|rcp)_f32$"),
)


def flops_of(names: list[str]) -> int:
    return sum(weight for name in names for weight, pattern in FLOPS if re.match(pattern, name))


def test_operational_intensity_follows_from_the_source(softmax_run, tmp_path):
    """FLOPs per element from the compiler's own listing of its arithmetic; bytes: each input and output once."""
    output, _ = softmax_run
    source = tmp_path / "fragments.hip"
    source.write_text(FRAGMENTS)
    code = compile_kernels(source, tmp_path / "fragments.hsaco")
    flops = flops_of(instructions(code, "summand")) + flops_of(instructions(code, "quotient"))
    expected = flops / 8  # four bytes read, four written
    kernel = naive(output["analysis"]["kernels"])
    assert kernel["operational_intensity"] == pytest.approx(expected, rel=0.10)
    roofline = naive(output["roofline"]["kernels"])
    assert roofline["flop"] == pytest.approx(flops * ROWS * COLUMNS, rel=0.10)


def without_run(document: dict) -> dict:
    return {key: value for key, value in document.items() if key != "run"}


def test_two_profiles_differ_only_in_the_run_section(softmax_run, testbed, tmp_path, rocm_perf_in):
    _, first = softmax_run
    rocm_perf_in(tmp_path, "profile", "-o", tmp_path / "run", testbed("softmax_testbed"), "--rows", ROWS, "--cols", COLUMNS)
    for name in DOCUMENTS:
        a, b = (json.loads((directory / name).read_text()) for directory in (first, tmp_path / "run"))
        assert json.dumps(without_run(a)) == json.dumps(without_run(b)), name


def test_two_streams_overlap_and_events_order_them(testbed, tmp_path, rocm_perf_in):
    rocm_perf_in(tmp_path, "profile", "--runs", 2, "-o", tmp_path / "run", testbed("pipeline"))
    profile = json.loads((tmp_path / "run" / "profile.json").read_text())
    assert profile["stability"]["cv"] == 0  # modelled time does not vary
    dag = json.loads((tmp_path / "run" / "dag.json").read_text())
    assert dag["dependencies"] == "exact"
    assert dag["edges"]["signal"] > 0  # hipStreamWaitEvent
    assert dag["critical_path_ns"] == dag["work_ns"] + dag["delay_ns"] + dag["lead_ns"]
    total_ns = sum(symbol["total_ms"] for symbol in dag["symbols"]) * 1e6
    assert dag["critical_path_ns"] < 0.8 * total_ns  # some of it ran in parallel


FAULTY = {
    "no_kernels": "int main() { int n; return hipGetDeviceCount(&n) == hipSuccess ? 0 : 1; }",
    "exits_3": "int main() { int n; (void)hipGetDeviceCount(&n); return 3; }",
    "is_killed": "#include <csignal>\nint main() { int n; (void)hipGetDeviceCount(&n); raise(SIGKILL); }",
}


@pytest.mark.parametrize("name", [*FAULTY, "missing"])
def test_each_failure_has_its_line_and_code_and_leaves_nothing(name, native_dir, tmp_path, rocm_perf):
    program = tmp_path / name
    if name in FAULTY:
        source = tmp_path / f"{name}.hip"
        source.write_text("#include <hip/hip_runtime.h>\n" + FAULTY[name])
        compile_hip("--offload-arch=gfx942", "-o", program, source)
    run = rocm_perf("profile", program)
    lines = [line for line in run.stderr.splitlines() if line.startswith("rocm-perf: error:")]
    assert len(lines) == 1 and name in lines[0], run.stderr
    assert run.stdout == ""
    assert not list(tmp_path.glob("*.rocm-perf*"))
    codes = rocm_perf("--help").stdout
    assert re.search(rf"^\s*{run.returncode}\b", codes, re.MULTILINE), f"{run.returncode} is not documented:\n{codes}"


UNKNOWN_INSTRUCTION = """
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void odd(int* out) { asm volatile("s_rfe_b64 s[0:1]"); *out = 1; }
int main() {
  int* out;
  if (hipMalloc(&out, 4) != hipSuccess) return 9;
  odd<<<1, 64>>>(out);
  hipError_t error = hipDeviceSynchronize();
  std::printf("%s\\n", hipGetErrorString(error));
  return error == hipSuccess ? 0 : 4;
}
"""


def test_an_unknown_instruction_is_a_named_error_never_a_result(native_dir, tmp_path, rocm_perf):
    source = tmp_path / "odd.hip"
    source.write_text(UNKNOWN_INSTRUCTION)
    compile_hip("--offload-arch=gfx942", "-o", tmp_path / "odd", source)
    run = rocm_perf("run", tmp_path / "odd", timeout=60)
    assert run.returncode != 0
    line = next(line for line in run.stderr.splitlines() if "s_rfe_b64" in line)
    assert "odd" in line and re.search(r"pc 0x[0-9a-f]+", line)
