"""Stands in for AMD's rocprofv3: accepts its options, runs the program on the software device and leaves its files.

The behaviour of the real one is known from its source, its recorded output, and runs of rocprofv3 1.0 on the software device.
Environment variables choose among its versions and its failures:

    STAND_IN_CALLS=FILE         gets one JSON line a call: options and application
    STAND_IN_MEMORY=FOLDER      the first run's traces are kept there and used again: the device is deterministic
    STAND_IN_VERSION=WORD       later: as after 7.2: the database of a counter pass goes to a folder pass_1
                                deaf: whatever it is told of signal handlers, it keeps its own
    STAND_IN_NO_COUNTERS=A,B    counters that this GPU does not have ("all": none)
    STAND_IN_REGISTERS=N        every block has N registers: a pass with more is aborted
    STAND_IN_FAIL=WORD,...      base-journal, base-none, base-no-clock, base-gpu-fault: of the base pass
                                counter-permission, counter-unlocked, counter-hang, counter-truncated, counter-journal,
                                counter-crash, counter-zero, counter-half (SQ counts half of what it should)
                                att-hang, att-shader-data, att-empty (always), att-empty-once (with one shader engine)
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import database
import options
from speech import Speech, end_by, hang, write

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.collect.tracer import BuiltinTracer
from rocm_perf_lab.errors import KernelFailedError, NoKernelsError, ProgramFailedError, ProgramKilledError

FAILURES = set(filter(None, os.environ.get("STAND_IN_FAIL", "").split(",")))
REGISTERS = {"SQ": 8, "SQC": 8, "TCP": 4, "TCC": 4, "TA": 2, "TD": 2, "GRBM": 2, "SPI": 6, "CPC": 2, "CPF": 2}
CONFIGURE = "rocprofiler_create_counter_config(agent_id, counters_v.data(), counters_v.size(), &profile_v)"
VARIABLES = ("ROCPROF_SIGNAL_HANDLERS", "ROCPROF_TMPDIR")
MISCOUNTS = {"counter-zero": 0.0, "counter-half": 0.5}
DECODER = "librocprof-trace-decoder.so"


def main() -> int:
    words = sys.argv[1:]
    here = words.index("--") if "--" in words else len(words)
    chosen, application = options.parse(words[:here]), words[here + 1 :]
    note_call(chosen, application)
    if chosen.version:
        print("             version: 1.1.0")
        return 0
    if chosen.input or chosen.list_avail:
        sys.exit("the stand-in does not do this")
    if not application:
        fatal("No application provided")
    if not any((chosen.kernel_trace, chosen.memory_copy_trace, chosen.hip_trace, chosen.pmc, chosen.advanced_thread_trace)):
        sys.stderr.write("Warning: No tracing options were enabled.\n")
    speech = Speech(chosen.log_level, has_handlers(chosen))
    with tempfile.TemporaryDirectory(prefix="stand-in-") as scratch:
        try:
            profile(chosen, application, Path(scratch), speech)
        except ProgramFailedError as error:  # The real one becomes the program (by exec), and so ends with its status.
            speech.end(application)
            return error.status
        except ProgramKilledError as error:
            end_by(error.signal) if error.signal == signal.SIGKILL else speech.die(error.signal)
        except KernelFailedError:
            speech.gpu_fault()
    return 0


def has_handlers(chosen) -> bool:
    wanted = options.TRUTH[os.environ.get("ROCPROF_SIGNAL_HANDLERS", "1")]
    if chosen.disable_signal_handlers is not None:
        wanted = not chosen.disable_signal_handlers
    return wanted or os.environ.get("STAND_IN_VERSION") == "deaf"


def note_call(chosen, application: list[str]) -> None:
    if calls := os.environ.get("STAND_IN_CALLS"):
        given = {name: value for name, value in vars(chosen).items() if value not in (None, False)}
        with open(calls, "a") as file:
            variables = {name: value for name, value in os.environ.items() if name in VARIABLES}
            print(json.dumps({"options": given, "application": application, "variables": variables}), file=file)


def fatal(text: str) -> None:
    sys.stderr.write(f"Fatal error: {text}\n")
    sys.exit(1)


def profile(chosen, application: list[str], scratch: Path, speech: Speech) -> None:
    if chosen.advanced_thread_trace:
        if chosen.pmc and (chosen.att_perfcounters or chosen.att_activity):
            fatal("ATT perfcounters cannot be enabled with PMC")
        check_decoder(chosen)
    speech.begin()
    kind = "att" if chosen.advanced_thread_trace else "counter" if chosen.pmc else "base"
    leave_temporary_files(kind, speech)
    counters = check_counters(chosen.pmc, speech) if chosen.pmc else []
    fail_as_asked(kind, speech)
    if kind == "counter":
        os.environ["ROCPROF_COUNTER_COLLECTION"] = "1"
    if kind == "att":
        thread_trace(chosen, application, scratch)
    else:
        write_databases(chosen, counters, traced(application, scratch), speech)
    speech.end(application)


def leave_temporary_files(kind: str, speech: Speech) -> None:
    """In the working directory unless an option names another; those of counters stay."""
    folder = Path(expanded(os.environ.get("ROCPROF_TMPDIR") or os.getcwd(), os.getpid())) / ".rocprofv3"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if kind == "counter":
            (folder / f"{os.getppid()}-{os.getpid()}-counter_values.dat").write_bytes(bytes(64))
    except OSError as error:
        write("terminate called after throwing an instance of 'ghc::filesystem::filesystem_error'\n"
              f"  what():  {error.strerror}: '{folder}'\n")  # fmt: skip
        speech.die(signal.SIGABRT)


def fail_as_asked(kind: str, speech: Speech) -> None:
    if f"{kind}-permission" in FAILURES:
        speech.fatal(CONFIGURE, "Could not construct profile cfg failed with error code 41: "
                     "Required permission (CAP_PERFMON) is not set, permission denied")  # fmt: skip
    if f"{kind}-unlocked" in FAILURES:
        speech.say(
            "warning",
            "ioctl.cpp:68",
            "Device 1 could not be locked for profiling due to lack of permissions "
            "(capability SYS_PERFMON). PMC Counters may be inaccurate and System Counter Collection will be degraded.",
        )
    if f"{kind}-crash" in FAILURES:
        speech.die(signal.SIGSEGV)
    if f"{kind}-gpu-fault" in FAILURES:
        speech.gpu_fault()
    if f"{kind}-hang" in FAILURES:
        hang()
    if f"{kind}-shader-data" in FAILURES:
        status = "ROCPROFILER_THREAD_TRACE_DECODER_STATUS_ERROR_INVALID_SHADER_DATA"
        speech.say("error", "decode.cpp:245", f"Callback failed with status 4: {status}")


def check_counters(names: list[str], speech: Speech) -> list[str]:
    """The counters among them that the GPU has. Missing ones are reported; too many for one pass abort the run."""
    names = sorted({name for word in names for name in word.split(",") if name})
    lacks = os.environ.get("STAND_IN_NO_COUNTERS", "").split(",")
    found = [name for name in names if name not in lacks and lacks != ["all"]]
    if len(found) < len(names):
        missing = ", ".join(name for name in names if name not in found)
        speech.say("warning", "tool.cpp:1183", f"Unable to find all counters for agent 1 (gpu-0, gfx942) in "
                   f"[{', '.join(names)}]. Found: [{', '.join(found)}]. Missing: [{missing}]")  # fmt: skip
    limit = os.environ.get("STAND_IN_REGISTERS")
    for block, count in Counter(name.split("_")[0] for name in found).items():
        if count > (int(limit) if limit else REGISTERS[block]):
            speech.fatal(CONFIGURE, "Could not construct profile cfg failed with error code 38: "
                         "Request exceeds the capabilities of the hardware to collect")  # fmt: skip
    return found


def check_decoder(chosen) -> None:
    folders = chosen.att_library_path or os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if not any(DECODER in file for folder in folders if folder for _, _, files in os.walk(folder) for file in files):
        fatal(f"rocprof-trace-decoder library path not found in {folders}")


def traced(application: list[str], scratch: Path) -> list[Path]:
    """The databases of the built-in tracer, one per process; none if the program never starts ROCm."""
    folder = scratch / "trace"
    folder.mkdir()
    memory = Path(os.environ.get("STAND_IN_MEMORY") or folder)
    for known in sorted(memory.glob("*.db")) if memory != folder else []:
        shutil.copy(known, folder)
    if any(folder.iterdir()):
        return sorted(folder.iterdir())
    device = devices.select(devices.SOFTWARE_TARGET, scratch)
    with contextlib.suppress(NoKernelsError):
        BuiltinTracer.on(device, scratch, None).trace(resolve(application), os.environ, folder / "trace.db", None)
    for made in folder.glob("*.db") if memory != folder else []:
        shutil.copy(made, memory)
    return sorted(folder.glob("*.db"))


def write_databases(chosen, counters: list[str], traces: list[Path], speech: Speech) -> None:
    if "base-none" in FAILURES and not chosen.pmc:
        return
    for trace in traces:
        pid = database.as_rocprofv3_writes_it(
            trace,
            counters=counters,
            pmc=bool(chosen.pmc),
            hip=bool(chosen.hip_trace),
            copies=bool(chosen.memory_copy_trace),
            clock="base-no-clock" not in FAILURES,
            scale=next((scale for name, scale in MISCOUNTS.items() if name in FAILURES), 1.0),
        )
        if chosen.pmc and not counters:
            continue  # No record of any kind: nothing is written, and the status is 0.
        path = output_path(chosen, pid)
        path.write_bytes(trace.read_bytes())
        speech.wrote(path)
        break_as_asked("counter" if chosen.pmc else "base", path)


def output_path(chosen, pid: int) -> Path:
    folder = chosen.output_directory or "."
    if chosen.pmc and os.environ.get("STAND_IN_VERSION") == "later":
        folder += "/pass_1"
    path = Path(expanded(f"{folder}/{chosen.output_file or '%hostname%/%pid%'}_results.db", pid))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def expanded(path: str, pid: int) -> str:
    """Replaces some of the keys that rocprofv3 replaces, in any part of a path."""
    for key, value in {"pid": str(pid), "hostname": os.uname().nodename, "ppid": str(os.getppid())}.items():
        path = path.replace(f"%{key}%", value).replace(f"{{{key}}}", value)
    for form in (r"%(?:env|ENV)\{([A-Z0-9_]+)\}%", r"\$(?:env|ENV)\{([A-Z0-9_]+)\}", r"%q\{([A-Z0-9_]+)\}"):
        path = re.sub(form, lambda match: os.environ.get(match[1], ""), path)
    return path.replace("%p", str(pid))


def break_as_asked(kind: str, path: Path) -> None:
    if f"{kind}-truncated" in FAILURES:
        os.truncate(path, path.stat().st_size * 2 // 3)
    if f"{kind}-journal" in FAILURES:
        path.with_name(path.name + "-journal").write_bytes(b"hot")


def thread_trace(chosen, application: list[str], scratch: Path) -> None:
    """The device writes the files. The kernel has to be determined first, by the name that rocprofv3 knows."""
    folder = Path(expanded(chosen.output_directory, os.getpid()))
    folder.mkdir(parents=True, exist_ok=True)
    traces = traced(application, scratch)
    pattern = re.compile(chosen.kernel_include_regex or ".*")
    symbols = sorted(symbol for trace in traces for symbol, name in database.kernels(trace) if pattern.search(name))
    first, last = database.iterations(chosen.kernel_iteration_range or ["1"])
    one_engine = int(chosen.att_shader_engine_mask or "0x1", 0) == 1
    if "att-empty" in FAILURES or ("att-empty-once" in FAILURES and one_engine):
        (folder / "stats_ui_output_agent_1_dispatch_1.csv").write_text(
            '"Codeobj","Vaddr","Instruction","Hitcount","Latency","Stall","Idle","Source"\n'
        )
        (folder / "ui_output_agent_1_dispatch_1").mkdir()
        return
    if not symbols or first != last:
        return
    device = devices.select(devices.SOFTWARE_TARGET, scratch)
    environment = device.environment(os.environ) | {
        devices.THREAD_TRACE_VARIABLE: str(folder),
        devices.THREAD_TRACE_KERNEL_VARIABLE: "^(" + "|".join(map(re.escape, symbols)) + ")(\\.kd)?$",
        devices.THREAD_TRACE_ITERATION_VARIABLE: str(first),
        devices.THREAD_TRACE_CU_VARIABLE: str(int(chosen.att_target_cu or "1", 0)),
        devices.THREAD_TRACE_SIMDS_VARIABLE: hex(int(chosen.att_simd_select or "0xF", 0)),
    }
    execute(resolve(application), environment, stdout=None)


if __name__ == "__main__":
    sys.exit(main())
