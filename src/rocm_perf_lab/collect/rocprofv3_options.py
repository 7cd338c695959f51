"""The options of rocprofv3 that a profile uses, limited to those that ROCm 7.0, 7.1 and 7.2 have in common.

Source: the output of rocprofv3 --help in rocprofiler-sdk 1.0 and 1.1, and their source/bin/rocprofv3.py. Options that differ
between versions (7.1 added --pid, 7.2 added --profile-mpi-ranks, and later versions accept more than one --pmc) are not used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocm_perf_lab.passes import ThreadTraceTarget

BASE = ("--kernel-trace", "--memory-copy-trace", "--hip-trace")

DECODER_VARIABLE = "ROCPROF_ATT_LIBRARY_PATH"

_EVERY_SHADER_ENGINE = 0x11111111  # one in four in each XCD, as AMD's guide recommends if no wave ran on the first
_SPECIAL = re.compile(r"[\^$\\.*+?()\[\]{}|]")  # special in ECMAScript regular expressions, which rocprofv3 uses


def counters(names: Sequence[str], kernels: Sequence[str] | None = None) -> tuple[str, ...]:
    """Options for a counter pass, which records dispatches anyway; a kernel trace would only slow the program further.

    kernels: the demangled names of the kernels to count, None for all. The user's own pattern is never passed on, because
    rocprofv3 uses a different dialect of regular expressions.
    """
    only = () if kernels is None else ("--kernel-include-regex", "|".join(map(name_pattern, kernels)))
    return ("--pmc", *names, *only)


def thread_trace(target: ThreadTraceTarget, environment: Mapping[str, str], every_engine: bool) -> tuple[str, ...]:
    """Options for a thread trace of one dispatch. every_engine: trace one shader engine in four, not just the first."""
    options = (
        "--att",
        "--att-target-cu", str(target.cu),
        "--att-simd-select", hex(target.simds),
        "--att-shader-engine-mask", hex(_EVERY_SHADER_ENGINE if every_engine else 0x1),
        "--kernel-include-regex", name_pattern(target.name),
        "--kernel-iteration-range", f"[{target.iteration}]",
    )  # fmt: skip
    # The variable alone is not enough: without the option, rocprofv3 treats each character of the variable's value as a folder,
    # and so searches the whole file system.
    decoder = environment.get(DECODER_VARIABLE)
    return options + (("--att-library-path", decoder) if decoder else ())


def name_pattern(name: str) -> str:
    """A pattern that matches only the kernel with this name. rocprofv3 keeps the '.kd' at the end of C names."""
    return f"^{_SPECIAL.sub(lambda match: chr(92) + match[0], name)}(\\.kd)?$"


def variables(temporary: Path) -> dict[str, str]:
    """Settings for which some versions have no option. temporary: a folder for files that would otherwise be left in
    the program's working directory.

    rocprofv3's signal handlers, which can deadlock, are switched off, so that a program that aborts simply ends. Versions that
    do not know a variable ignore it.
    """
    return {"ROCPROF_TMPDIR": str(temporary), "ROCPROF_SIGNAL_HANDLERS": "0"}


def output(folder: str, file: str, form: str) -> tuple[str, ...]:
    return ("--output-format", form, "--output-directory", folder, "--output-file", file)
