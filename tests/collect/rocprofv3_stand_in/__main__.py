"""Stands in for AMD's rocprofv3: takes its options, runs the program on the software device, leaves its files.

What a real one does is known from its source, its recorded output and reports of users. Environment variables choose among
its versions and its failures:

    STAND_IN_CALLS=FILE         gets one JSON line a call: options and application
    STAND_IN_MEMORY=FOLDER      the first run's traces are kept there and used again: the device is deterministic
    STAND_IN_VERSION=later      as after 7.2: the database of a counter pass goes to a folder pass_1
    STAND_IN_NO_COUNTERS=A,B    counters that this GPU does not have ("all": none)
    STAND_IN_REGISTERS=N        every block has N registers: a pass with more is aborted
    STAND_IN_FAIL=WORD,...      base-journal, base-none, base-no-clock: of the base pass
                                counter-permission, counter-hang, counter-truncated, counter-journal, counter-crash
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
import time
from collections import Counter
from pathlib import Path

import database
import options

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.collect.tracer import BuiltinTracer
from rocm_perf_lab.errors import NoKernelsError, ProgramFailedError, ProgramKilledError

FAILURES = set(filter(None, os.environ.get("STAND_IN_FAIL", "").split(",")))
REGISTERS = {"SQ": 8, "SQC": 8, "TCP": 4, "TCC": 4, "TA": 2, "TD": 2, "GRBM": 2, "SPI": 6, "CPC": 2, "CPF": 2}
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
    with tempfile.TemporaryDirectory(prefix="stand-in-") as scratch:
        try:
            profile(chosen, application, Path(scratch))
        except ProgramFailedError as error:  # The real one becomes the program, and so ends like it.
            return error.status
        except ProgramKilledError as error:
            os.kill(os.getpid(), error.signal)
    return 0


def note_call(chosen, application: list[str]) -> None:
    if calls := os.environ.get("STAND_IN_CALLS"):
        given = {name: value for name, value in vars(chosen).items() if value not in (None, False)}
        with open(calls, "a") as file:
            print(json.dumps({"options": given, "application": application}), file=file)


def fatal(text: str) -> None:
    sys.stderr.write(f"Fatal error: {text}\n")
    sys.exit(1)


def profile(chosen, application: list[str], scratch: Path) -> None:
    if chosen.advanced_thread_trace:
        if chosen.pmc and (chosen.att_perfcounters or chosen.att_activity):
            fatal("ATT perfcounters cannot be enabled with PMC")
        check_decoder(chosen)
        fail_as_asked("att")
        thread_trace(chosen, application, scratch)
        return
    counters = check_counters(chosen.pmc) if chosen.pmc else []
    fail_as_asked("counter" if chosen.pmc else "base")
    write_databases(chosen, counters, traced(application, scratch))


def fail_as_asked(kind: str) -> None:
    if f"{kind}-permission" in FAILURES:
        log("F", "hsa: ROCPROFILER_STATUS_ERROR_PERMISSION_DENIED: permission denied")
        os.abort()
    if f"{kind}-crash" in FAILURES:
        os.kill(os.getpid(), signal.SIGSEGV)
    if f"{kind}-hang" in FAILURES:
        time.sleep(600)
    if f"{kind}-shader-data" in FAILURES:
        log("W", "Callback failed with status 4: ROCPROFILER_THREAD_TRACE_DECODER_STATUS_ERROR_INVALID_SHADER_DATA")


def log(severity: str, text: str) -> None:
    sys.stderr.write(f"{severity}20260101 00:00:00.000000 {os.getpid()} tool.cpp:1] {text}\n")
    sys.stderr.flush()


def check_counters(names: list[str]) -> list[str]:
    """What the GPU has of them. It says what it does not have; it aborts if they are too many for one pass."""
    names = sorted({name for word in names for name in word.split(",") if name})
    lacks = os.environ.get("STAND_IN_NO_COUNTERS", "").split(",")
    found = [name for name in names if name not in lacks and lacks != ["all"]]
    if len(found) < len(names):
        missing = ", ".join(name for name in names if name not in found)
        log("W", f"Unable to find all counters for agent 1 (gpu-0, gfx942) in [{', '.join(names)}]. "
                 f"Found: [{', '.join(found)}]. Missing: [{missing}]")  # fmt: skip
    limit = os.environ.get("STAND_IN_REGISTERS")
    for block, count in Counter(name.split("_")[0] for name in found).items():
        if count > (int(limit) if limit else REGISTERS[block]):
            log("F", "Could not construct profile cfg failed with error code 40 (EXCEEDS_HW_LIMIT)")
            os.abort()
    return found


def check_decoder(chosen) -> None:
    folders = chosen.att_library_path or os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if not any(DECODER in file for folder in folders if folder for _, _, files in os.walk(folder) for file in files):
        fatal(f"rocprof-trace-decoder library path not found in {folders}")


def traced(application: list[str], scratch: Path) -> list[Path]:
    """The databases of the built-in tracer, one a process; none if the program never starts ROCm."""
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


def write_databases(chosen, counters: list[str], traces: list[Path]) -> None:
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
        )
        if chosen.pmc and not counters:
            continue  # No record of any kind: nothing is written, and the status is 0.
        path = output_path(chosen, pid)
        path.write_bytes(trace.read_bytes())
        break_as_asked("counter" if chosen.pmc else "base", path)


def output_path(chosen, pid: int) -> Path:
    folder = Path(chosen.output_directory or ".")
    if chosen.pmc and os.environ.get("STAND_IN_VERSION") == "later":
        folder /= "pass_1"
    name = chosen.output_file or "%hostname%/%pid%"
    path = folder / (name.replace("%pid%", str(pid)).replace("%hostname%", os.uname().nodename) + "_results.db")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def break_as_asked(kind: str, path: Path) -> None:
    if f"{kind}-truncated" in FAILURES:
        os.truncate(path, path.stat().st_size * 2 // 3)
    if f"{kind}-journal" in FAILURES:
        path.with_name(path.name + "-journal").write_bytes(b"hot")


def thread_trace(chosen, application: list[str], scratch: Path) -> None:
    """The device writes the files; which kernel is meant has to be found out first, by the name that rocprofv3 knows."""
    folder = Path(chosen.output_directory)
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
