"""rocprofv3 as the collector, on a machine with a simulated GPU and a stand-in for rocprofv3.

The stand-in (rocprofv3_stand_in/) accepts the real options, runs the program on the software device and leaves the real files.
"""

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import rocpd_database
import served_cli
from rocm_perf_lab.arch.counter_passes import counter_passes
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.collect.rocprofv3 import Rocprofv3
from rocm_perf_lab.passes import ThreadTraceTarget
from slow_variants import every, only

STAND_IN = Path(__file__).with_name("rocprofv3_stand_in")
COUNTERS = set(family_of("gfx942").counters())
FEW = ("-n", "32768")  # elements that vcopy copies where their number does not matter

# The only change in the command line's process is the GPU that its kernel driver shows.
WITH_A_GPU = """
from rocm_perf_lab.collect import gpu
gpu.find = lambda: gpu.Gpus(("gfx942",), None)
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory, native_dir) -> Path:
    """A folder for PATH that holds the stand-in, and the decoder library for thread traces."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "rocprofv3").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(STAND_IN))} "$@"\n')
    (folder / "rocprofv3").chmod(0o755)
    (folder / "lib").mkdir()
    (folder / "lib" / "librocprof-trace-decoder.so").touch()
    return folder


class Machine:
    """profile(*arguments, **environment) runs there, in `work`; .calls are those of rocprofv3."""

    def __init__(self, command_line: Callable[..., subprocess.CompletedProcess], programs: Path, folder: Path):
        self._command_line = command_line
        self.work = folder / "work"
        self.work.mkdir()
        self._calls = folder / "calls"
        self._environment = os.environ | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "ROCPROF_ATT_LIBRARY_PATH": str(programs / "lib"),
            "STAND_IN_CALLS": str(self._calls),
            served_cli.FIRST: WITH_A_GPU,
        }

    def profile(self, *arguments, cwd=None, **environment) -> subprocess.CompletedProcess:
        return self.rocm_perf("profile", *arguments, cwd=cwd, **environment)

    def rocm_perf(self, *arguments, cwd=None, **environment) -> subprocess.CompletedProcess:
        return self._command_line(
            arguments, cwd=cwd or self.work, env=self._environment | environment,
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=180,
        )  # fmt: skip

    @property
    def calls(self) -> list[dict]:
        return [json.loads(line) for line in self._calls.read_text().splitlines()] if self._calls.exists() else []


@pytest.fixture
def machine(command_line, programs, tmp_path) -> Machine:
    return Machine(command_line, programs, tmp_path)


@pytest.fixture(scope="module")
def whole(command_line, programs, testbed, tmp_path_factory):
    """A complete profile: (machine, completed process, run directory)."""
    machine = Machine(command_line, programs, tmp_path_factory.mktemp("whole"))
    shutil.copy(testbed("softmax_testbed"), machine.work)
    done = machine.profile("--runs", "2", "--json", "./softmax_testbed")
    assert done.returncode == 0, done.stderr
    return machine, done, machine.work / "softmax_testbed.rocm-perf"


def test_options_are_those_of_the_real_help(shared_data, monkeypatch):
    monkeypatch.syspath_prepend(STAND_IN)
    import options

    text = (shared_data / "rocprofv3" / "rocprofv3_help.txt").read_text()
    heads = re.findall(r"(?m)^  (-\S.*?)(?:  |$)", text)
    real = {name for head in heads for name in re.findall(r"(?:^|, )(--?[\w-]+)", head)}
    assert real == options.option_names()


def test_the_options_that_rocprofv3_gets(whole, programs):
    machine, _, _ = whole
    asked = [call["options"] for call in machine.calls]
    for options in asked:
        assert options.pop("output_file") == "%pid%" and options.pop("output_directory")
    traced, counted, attached = asked[:2], asked[2:-1], asked[-1]
    base = {"kernel_trace": True, "memory_copy_trace": True, "hip_trace": True, "output_format": ["rocpd"]}
    assert traced == [base, base]
    assert [options.pop("output_format") for options in counted] == [["rocpd"]] * len(counted)
    assert [list(options) for options in counted] == [["pmc"]] * len(counted)
    assert sorted(name for options in counted for name in options["pmc"]) == sorted(COUNTERS)
    assert attached == {
        "advanced_thread_trace": True, "att_target_cu": "1", "att_simd_select": "0xf", "att_shader_engine_mask": "0x1",
        "kernel_include_regex": r"^softmax_naive\(float const\*, float\*, int, int\)(\.kd)?$",
        "kernel_iteration_range": ["[1]"], "att_library_path": [str(programs / "lib")], "output_format": ["csv"],
    }  # fmt: skip
    assert {tuple(call["application"]) for call in machine.calls} == {("./softmax_testbed",)}
    for variables in (call["variables"] for call in machine.calls):
        assert variables["ROCPROF_SIGNAL_HANDLERS"] == "0"
        assert f"{machine.work}/.softmax_testbed.rocm-perf.partial-" in variables["ROCPROF_TMPDIR"]


def test_the_run_directory(whole):
    machine, _, directory = whole
    assert {path.name for path in machine.work.iterdir()} == {"softmax_testbed", directory.name}
    assert not list(directory.rglob(".rocprofv3"))
    names = {path.name for path in (directory / ".rocpd_profile").iterdir()}
    passes = range(1, len(counter_passes("gfx942")) + 1)
    logs = {f"counters_{number}.log" for number in passes}
    assert names - {"att"} == {"base_results.db", "repeat_1_results.db"} | {f"counters_{n}_results.db" for n in passes} | logs


def test_json_is_all_of_stdout_equals_the_files_and_fits_the_schema(whole, rocm_perf_in, tmp_path):
    _, done, directory = whole
    result = json.loads(done.stdout)
    schema = json.loads(rocm_perf_in(tmp_path, "schema", "profile-command").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(result)
    assert list(result) == ["profile", "roofline", "dag", "analysis", "run_directory"]
    assert directory.name == result.pop("run_directory") and "PASS softmax_naive" in done.stderr
    for name, document in result.items():
        assert json.loads((directory / f"{name}.json").read_text()) == document
    result["profile"]["stability"]["runs"] = "three"
    assert [list(error.absolute_path)[:3] for error in validator.iter_errors(result | {"run_directory": ""})] == [
        ["profile", "stability", "runs"]
    ]


def test_times_come_from_the_base_pass_alone(whole):
    """The stand-in's kernels take three times as long while counters are collected, since real ones take longer too."""
    _, done, directory = whole
    profile = json.loads(done.stdout)["profile"]
    query = "SELECT SUM(duration) FROM kernels WHERE name NOT LIKE '\\_\\_amd%' ESCAPE '\\'"
    totals = []
    for name in ("base_results.db", "counters_1_results.db"):
        with sqlite3.connect(directory / ".rocpd_profile" / name) as database:
            totals.append(database.execute(query).fetchone()[0])
    assert profile["timing"] == "measured" and profile["stability"]["runs"] == 2
    assert profile["runtime_ms"] * 1e6 == pytest.approx(totals[0], abs=1) and totals[1] == 3 * totals[0]


def test_counters_from_passes_equal_those_of_one_run(whole, rocm_perf_in, tmp_path):
    """Compared with the same program with all counters in one run, which is possible only on the software device."""
    machine, done, _ = whole
    arguments = ("profile", "--json", "--runs", "1", "--no-deep-analysis", "--device", "gfx942")
    direct = json.loads(rocm_perf_in(tmp_path, *arguments, machine.work / "softmax_testbed").stdout)
    passes = json.loads(done.stdout)

    def counted(result):
        return {k["kernel"]: (k["flop"], [(level["level"], level["bytes"]) for level in k["levels"]])
                for k in result["roofline"]["kernels"]}  # fmt: skip

    assert counted(passes) == counted(direct) and len(counted(direct)) == 3
    found = passes["profile"]["passes"]
    assert {name for section in found for name in section["counters"]} == COUNTERS
    assert [section["missing"] for section in found] == [{}] * len(found)


def test_no_output_of_rocprofv3_reaches_the_terminal(whole):
    """Only this tool's notes and the program's own output from both runs are left."""
    _, done, _ = whole
    assert not re.search(r"(?m)^[IWEF]\d{8} |simple_timer|Opened result|partial-", done.stderr), done.stderr
    assert done.stderr.count("SharedSignalPool") == 2  # from ROCr, as without rocprofv3


# ---- what can go wrong: passes by themselves ----

SOFTMAX = ThreadTraceTarget("_Z13softmax_naivePKfPfii", "softmax_naive(float const*, float*, int, int)", 1, 1, 0xF)


@pytest.fixture(scope="module")
def memory(tmp_path_factory) -> str:
    """Lets the stand-in reuse traces between tests: passes differ in what is kept from a run, not in the run."""
    return str(tmp_path_factory.mktemp("memory"))


@pytest.fixture
def collector(programs, tmp_path, testbed, memory, monkeypatch):
    """.counters(limit, **environment) and .thread_trace(...) run rocprofv3 with softmax; .calls of it, .notes from it."""
    monkeypatch.setenv("STAND_IN_MEMORY", memory)
    monkeypatch.setenv("ROCPROF_ATT_LIBRARY_PATH", str(programs / "lib"))
    monkeypatch.setenv("STAND_IN_CALLS", str(tmp_path / "calls"))
    notes: list[str] = []
    device = Device(True, "gfx942", "gfx942", {}, (), ())
    command = resolve([str(testbed("softmax_testbed"))])

    class Under:
        def counters(self, limit=60.0, passes=None, **environment):
            made = Rocprofv3(device, programs / "rocprofv3", passes or counter_passes("gfx942"), notes.append, tmp_path)
            return made.collect_counters(command, os.environ | environment, tmp_path, limit)

        def thread_trace(self, limit=60.0, **environment):
            made = Rocprofv3(device, programs / "rocprofv3", [], notes.append, tmp_path)
            return made.record_thread_trace(SOFTMAX, command, os.environ | environment, tmp_path / "att", limit)

        @property
        def calls(self):
            return len((tmp_path / "calls").read_text().splitlines())

    Under.notes = notes
    return Under()


def collected(passes):
    return {name for found in passes if found.output for name in found.counters} - {n for p in passes for n in p.missing}


def test_a_counter_that_the_gpu_lacks_does_not_affect_others(collector):
    passes = collector.counters(STAND_IN_NO_COUNTERS="TCC_BUBBLE_sum,SQ_WAVES")
    reason = "rocprofv3 has no such counter on this GPU"
    assert {name: why for found in passes for name, why in found.missing.items()} == {
        "TCC_BUBBLE_sum": reason, "SQ_WAVES": reason,
    }  # fmt: skip
    assert collected(passes) == COUNTERS - {"TCC_BUBBLE_sum", "SQ_WAVES"} and collector.calls == len(passes)
    assert len(collector.notes) == 1 and "TCC_BUBBLE_sum, SQ_WAVES" in collector.notes[0]


def test_a_set_of_counters_that_does_not_fit_is_divided(collector):
    wanted = counter_passes("gfx942")[:1]
    passes = collector.counters(passes=wanted, STAND_IN_REGISTERS="4")
    assert collected(passes) == set(wanted[0]) and 1 < len(passes) < len(wanted[0]) and collector.notes == []


@pytest.mark.parametrize(
    "failure, reason",
    [
        ({"STAND_IN_FAIL": "counter-permission"}, "permission denied"),
        ({"STAND_IN_FAIL": "counter-hang"}, "still running after 3 s"),
    ],
)
def test_a_failure_that_would_recur_ends_the_passes_at_once(collector, failure, reason):
    passes = collector.counters(limit=3.0, **failure)
    assert collector.calls == 1 and not any(found.output for found in passes)
    assert {name for found in passes for name in found.missing} == COUNTERS
    assert all(reason in why for found in passes for why in found.missing.values()), passes


@pytest.mark.parametrize(
    "failure, reason",
    [
        ({"STAND_IN_FAIL": "counter-truncated"}, "damaged"),
        ({"STAND_IN_FAIL": "counter-journal"}, "stopped while it wrote"),
        ({"STAND_IN_FAIL": "counter-crash"}, "softmax_testbed was killed by SIGSEGV (signal 11)"),
        ({"STAND_IN_NO_COUNTERS": "all"}, "no such counter"),
    ],
)
def test_counters_of_a_pass_that_yields_nothing_are_unknown_with_a_reason(collector, failure, reason, tmp_path):
    wanted = counter_passes("gfx942")[:2]
    passes = collector.counters(passes=wanted, **failure)
    assert not any(found.output for found in passes)
    assert {name for found in passes for name in found.missing} == {*wanted[0], *wanted[1]}
    assert all(reason in why for found in passes for why in found.missing.values()), passes
    assert collector.calls <= 6 and collector.notes
    assert {path.suffix for path in tmp_path.glob("counters_*")} == {".log"}


def test_counters_collected_without_locked_clocks_are_kept_with_a_note(collector, machine, testbed):
    assert collected(collector.counters(STAND_IN_FAIL="counter-unlocked")) == COUNTERS
    assert len(collector.notes) == 1 and "CAP_PERFMON" in collector.notes[0]
    options = ("--json", "--runs", "1", "--no-deep-analysis")
    done = machine.profile(*options, testbed("vcopy"), *FEW, STAND_IN_FAIL="counter-unlocked")
    assert done.returncode == 0 and done.stderr.count(collector.notes[0]) == 1, done.stderr
    profile = json.loads(done.stdout)["profile"]
    assert [found["notes"] for found in profile["passes"]] == [collector.notes] * len(counter_passes("gfx942"))
    assert profile["roofline"] is not None


def test_the_separate_folder_of_a_pass_is_searched(collector):
    assert collected(collector.counters(STAND_IN_VERSION="later")) == COUNTERS


@pytest.mark.parametrize(
    "environment, reason, calls",
    [
        ({"ROCPROF_ATT_LIBRARY_PATH": "/nowhere"}, "rocprof-trace-decoder is not installed", 1),
        ({"STAND_IN_FAIL": "att-permission"}, "permission denied", 1),
        ({"STAND_IN_FAIL": "att-hang"}, "still running after 5 s", 1),
        ({"STAND_IN_FAIL": "att-empty,att-shader-data"}, "cannot be decoded", 1),
        ({"STAND_IN_FAIL": "att-empty"}, "no wave of the kernel ran on compute unit 1", 2),
    ],
)
def test_a_missing_thread_trace_has_a_reason(collector, environment, reason, calls):
    found = collector.thread_trace(limit=5.0 if "hang" in reason or "still" in reason else 60.0, **environment)
    assert found.output is None and reason in found.reason and collector.calls == calls, found
    assert collector.notes == [f"no thread trace: {found.reason}"]


# ---- what can go wrong: the whole way ----


def test_a_profile_without_counters_and_thread_trace_succeeds(machine, testbed):
    """Everything but the base pass fails: permission for the counters, no decoder for the thread trace."""
    arguments = ("--json", "--runs", "1", testbed("vcopy"), *FEW)
    done = machine.profile(*arguments, STAND_IN_FAIL="counter-permission", ROCPROF_ATT_LIBRARY_PATH="/nowhere")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["profile"]["roofline"] is None and "permission denied" in result["profile"]["reasons"]["roofline"]
    assert result["profile"]["runtime_ms"] > 0 and result["dag"]["critical_path_ns"] > 0
    assert [section["output"] for section in result["profile"]["passes"]] == [None] * (len(counter_passes("gfx942")) + 1)
    assert "not installed" in result["profile"]["passes"][-1]["reasons"]["output"]
    assert "permission denied" in done.stderr and "not installed" in done.stderr


def test_a_gpu_clock_that_cannot_be_read_leaves_times_unknown(machine, testbed):
    options = ("--json", "--runs", "1", "--no-roofline", "--no-deep-analysis")
    done = machine.profile(*options, testbed("vcopy"), *FEW, STAND_IN_FAIL="base-no-clock")
    assert done.returncode == 0, done.stderr
    profile = json.loads(done.stdout)["profile"]
    assert profile["runtime_ms"] is None and "start" in profile["reasons"]["runtime_ms"]
    assert profile["reasons"]["roofline"] == "switched off by --no-roofline" and profile["passes"] == []
    assert len(machine.calls) == 1


@pytest.mark.parametrize(
    "failure, status, words",
    [
        ("base-journal", 71, "stopped while it wrote"),
        ("base-none", 71, "of processes that end by _exit, quick_exit or exec"),
        ("base-truncated", 65, "damaged"),
        ("base-gpu-fault", 32, "was killed by SIGABRT (signal 6) (Memory access fault by GPU node-1"),
    ],
)
def test_without_a_base_pass_there_is_no_profile(machine, testbed, failure, status, words):
    done = machine.profile("--runs", "1", testbed("vcopy"), *FEW, STAND_IN_FAIL=failure)
    assert done.returncode == status and words in done.stderr.splitlines()[-1], done.stderr
    assert "Traceback" not in done.stderr and list(machine.work.iterdir()) == []


@pytest.mark.parametrize("version", only(["deaf"], ["", "deaf"]))
def test_a_program_that_aborts_ends_the_profile(machine, testbed, version):
    """Also with a rocprofv3 that then hangs."""
    began = time.monotonic()
    script = f"{testbed('vcopy')} -n 32768; kill -ABRT $$"
    done = machine.profile("--runs", "1", "sh", "-c", script, STAND_IN_VERSION=version)
    assert done.returncode == 32 and "sh was killed by SIGABRT (signal 6)" in done.stderr.splitlines()[-1], done.stderr
    assert time.monotonic() - began < 60 and list(machine.work.iterdir()) == []


def test_a_current_folder_that_cannot_be_written_does_not_matter(machine, testbed):
    destination = machine.work / "vcopy.rocm-perf"
    done = machine.profile("--runs", "1", "--no-deep-analysis", "-o", destination, testbed("vcopy"), *FEW, cwd="/proc")
    assert done.returncode == 0 and (destination / "profile.json").exists(), done.stderr


@pytest.mark.parametrize("name", every(3, ["%pid% {pid}.run", "$ENV{HOME}.run", "a b%.run"]))
def test_keys_that_rocprofv3_would_replace_in_paths_stay_unchanged(machine, testbed, name):
    done = machine.profile("--runs", "1", "-o", name, testbed("vcopy"), *FEW)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in machine.work.iterdir()] == [name]
    found = json.loads((machine.work / name / "profile.json").read_text())["passes"]
    assert [section["missing"] for section in found] == [{}] * len(found) and found[-1]["output"], found


def test_a_path_that_rocprofv3_would_change_in_any_case_is_reported(machine, testbed):
    (machine.work / "%pid%").mkdir()
    done = machine.profile("--runs", "1", "-o", "%h", testbed("vcopy"), *FEW, TMPDIR=str(machine.work / "%pid%"))
    assert done.returncode == 72 and "TMPDIR=/path" in done.stderr.splitlines()[-1], done.stderr


def test_kernels_of_processes_that_end_by_exec_are_not_blamed_on_the_program(machine, testbed, tmp_path):
    """rocprofv3 keeps nothing from them, so only the database of a process without kernels is left."""
    trace = rocpd_database.write(tmp_path / "base_results.db", [])
    done = machine.rocm_perf("analyze", trace)
    assert done.returncode == 34 and "_exit, quick_exit or exec" in done.stderr and "--no-rocprof" in done.stderr, done.stderr


def test_the_programs_own_failure_in_one_pass_is_not_a_failure_of_rocprofv3(machine, testbed):
    """Its error uses words that rocprofv3 uses, too, and does not concern the other passes."""
    (machine.work / "app.sh").write_text(
        f"""#!/bin/sh
        {testbed("vcopy")} -n 32768 || exit
        [ "$ROCPROF_COUNTER_COLLECTION" = 1 ] && mkdir once 2>/dev/null || exit 0
        echo 'cannot open cache file: Permission denied' >&2
        exit 5
        """
    )
    (machine.work / "app.sh").chmod(0o755)
    done = machine.profile("--json", "--runs", "1", "--no-deep-analysis", "./app.sh")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["profile"]["passes"]
    assert {name for section in found for name in section["counters"]} == COUNTERS
    assert [why for section in found for why in section["missing"].values()] == [], found  # halved, and tried again


def test_output_of_the_program_is_not_the_reason_for_a_failed_pass(machine, testbed):
    script = f'{testbed("vcopy")} -n 32768; [ -z "$ROCPROF_COUNTER_COLLECTION" ] || {{ echo "Permission denied" >&2; exit 5; }}'
    done = machine.profile("--json", "--runs", "1", "--no-deep-analysis", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    reasons = {why for section in json.loads(done.stdout)["profile"]["passes"] for why in section["missing"].values()}
    failed = "sh exited with status 5"
    assert reasons == {failed, f"not tried after an earlier pass failed: {failed}"}


@pytest.mark.parametrize(
    "failure, why",
    every(
        2,
        [
            ("counter-half", "SQ_ITEMS is 524288, and the grid has 1048576 work-items"),
            ("counter-zero", "GRBM_GUI_ACTIVE is 0 for work that ran"),
        ],
    ),
)
def test_counters_that_cannot_be_true_are_left_out(machine, testbed, failure, why):
    """vcopy launches 16384 waves; with a count of 0 it would seem too small for the GPU."""
    done = machine.profile("--runs", "1", "--no-deep-analysis", testbed("vcopy"), STAND_IN_FAIL=failure)
    assert done.returncode == 0, done.stderr
    written = machine.work / "vcopy.rocm-perf"
    profile, analysis, roofline = (json.loads((written / f"{name}.json").read_text())
                                   for name in ("profile", "analysis", "roofline"))  # fmt: skip
    reason = profile["reasons"]["roofline"]
    assert profile["roofline"] is None and why in reason, reason
    kernel = analysis["kernels"][0]
    assert kernel["bottleneck"]["name"] != "under-occupied" and kernel["bottleneck"]["certainty"] == "low", kernel["bottleneck"]
    assert all(level["bytes"] is None for found in roofline["kernels"] for level in found["levels"])
    assert "its counters are invalid and were left out" in " ".join(done.stdout.split()), done.stdout


def test_autotune_measures_with_rocprofv3(machine, testbed):
    shutil.copy(testbed("vcopy"), machine.work)
    (machine.work / "space.json").write_text('{"parameters": {"n": [1024, 2048]}}')
    done = machine.rocm_perf("autotune", "--space", "space.json", "--cmd-template", "./vcopy -n {n}", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert sorted(call["application"] for call in machine.calls) == [["./vcopy", "-n", "1024"], ["./vcopy", "-n", "2048"]]


def test_the_exit_status_is_reported_as_the_programs_or_possibly_rocprofs(machine):
    done = machine.profile("sh", "-c", "exit 3")
    assert done.returncode == 31 and "sh exited with status 3" in done.stderr and "--no-rocprof" in done.stderr
    assert list(machine.work.iterdir()) == []


def test_of_several_processes_the_first_with_kernels_is_analysed(machine, testbed):
    script = f"{testbed('vcopy')} -n 32768; {testbed('softmax_testbed')}"
    done = machine.profile("--json", "--runs", "1", "--no-roofline", "--no-deep-analysis", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert "vcopy" in json.loads(done.stdout)["profile"]["run"]["command"]
    traces = {path.name for path in machine.work.glob("sh-*.rocm-perf/.rocpd_profile/*")}
    assert len(traces) == 2 and all(re.fullmatch(r"base_results(_\d+)?\.db", name) for name in traces)
    assert "another process" in done.stderr


def test_counters_and_thread_trace_of_some_kernels(machine, testbed):
    """rocprofv3 gets the names of the matching kernels, never the pattern, which it would read in another dialect."""
    shutil.copy(testbed("softmax_testbed"), machine.work)
    done = machine.profile("--json", "--runs", "1", "--kernel", r"(?i:LDS)\b|^_Z11softmax_lds", "./softmax_testbed")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [kernel["kernel"].partition("(")[0] for kernel in found["analysis"]["kernels"]] == ["softmax_lds"]
    traced, *counted, attached = [call["options"] for call in machine.calls]
    exactly = r"^softmax_lds\(float const\*, float\*, int\)(\.kd)?$"
    assert "kernel_include_regex" not in traced
    assert counted and {options["kernel_include_regex"] for options in counted} == {exactly}
    assert attached["kernel_include_regex"] == exactly
    assert len(found["dag"]["symbols"]) > 2, "the critical path is still that of all"
