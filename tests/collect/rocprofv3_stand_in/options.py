"""The options of rocprofv3, as its --help lists them: the stand-in accepts these and nothing else.

`test_options_are_those_of_the_real_help` compares the table with a recorded --help.
"""

from __future__ import annotations

import argparse

BOOLEAN, TEXT, INTEGER, WORDS = "boolean", "text", "integer", "words"
TRUTH = {"y": True, "yes": True, "t": True, "true": True, "on": True, "1": True,
         "n": False, "no": False, "f": False, "false": False, "off": False, "0": False}  # fmt: skip

# names -> what follows; a tuple of choices; or (WORDS, choices)
OPTIONS = {
    "-i --input": TEXT,
    "-o --output-file": TEXT,
    "-d --output-directory": TEXT,
    "-f --output-format": (WORDS, ("csv", "json", "pftrace", "otf2", "rocpd")),
    "--output-config": BOOLEAN,
    "--log-level": ("fatal", "error", "warning", "info", "trace", "env", "config"),
    "-E --extra-counters": TEXT,
    "-r --runtime-trace": BOOLEAN,
    "-s --sys-trace": BOOLEAN,
    "--hip-trace": BOOLEAN,
    "--marker-trace": BOOLEAN,
    "--kernel-trace": BOOLEAN,
    "--memory-copy-trace": BOOLEAN,
    "--memory-allocation-trace": BOOLEAN,
    "--scratch-memory-trace": BOOLEAN,
    "--hsa-trace": BOOLEAN,
    "--rccl-trace": BOOLEAN,
    "--kokkos-trace": BOOLEAN,
    "--rocdecode-trace": BOOLEAN,
    "--rocjpeg-trace": BOOLEAN,
    "--hip-runtime-trace": BOOLEAN,
    "--hip-compiler-trace": BOOLEAN,
    "--hsa-core-trace": BOOLEAN,
    "--hsa-amd-trace": BOOLEAN,
    "--hsa-image-trace": BOOLEAN,
    "--hsa-finalizer-trace": BOOLEAN,
    "--pmc": WORDS,
    "--pc-sampling-beta-enabled": BOOLEAN,
    "--pc-sampling-unit": ("instructions", "cycles", "time"),
    "--pc-sampling-method": ("stochastic", "host_trap"),
    "--pc-sampling-interval": INTEGER,
    "--stats": BOOLEAN,
    "-S --summary": BOOLEAN,
    "-D --summary-per-domain": BOOLEAN,
    "--summary-groups": WORDS,
    "--summary-output-file": TEXT,
    "-u --summary-units": ("sec", "msec", "usec", "nsec"),
    "-M --mangled-kernels": BOOLEAN,
    "-T --truncate-kernels": BOOLEAN,
    "--kernel-rename": BOOLEAN,
    "--kernel-include-regex": TEXT,
    "--kernel-exclude-regex": TEXT,
    "--kernel-iteration-range": WORDS,
    "-P --collection-period": WORDS,
    "--collection-period-unit": ("hour", "min", "sec", "msec", "usec", "nsec"),
    "--selected-regions": BOOLEAN,
    "--perfetto-backend": ("inprocess", "system"),
    "--perfetto-buffer-size": INTEGER,
    "--perfetto-buffer-fill-policy": ("discard", "ring_buffer"),
    "--perfetto-shmem-size-hint": INTEGER,
    "-L --list-avail": BOOLEAN,
    "--group-by-queue": BOOLEAN,
    "--preload": WORDS,
    "--rocm-root": TEXT,
    "--sdk-soversion": TEXT,
    "--sdk-version": TEXT,
    "-A --agent-index": ("absolute", "relative", "type-relative"),
    "--disable-signal-handlers": BOOLEAN,
    "--minimum-output-data": INTEGER,
    "--advanced-thread-trace --att": BOOLEAN,
    "--att-library-path": WORDS,
    "--att-target-cu": TEXT,
    "--att-simd-select": TEXT,
    "--att-buffer-size": TEXT,
    "--att-shader-engine-mask": TEXT,
    "--att-gpu-index": TEXT,
    "--att-perfcounters": TEXT,
    "--att-perfcounter-ctrl": INTEGER,
    "--att-activity": INTEGER,
    "--att-serialize-all": BOOLEAN,
}


def parse(words: list[str]) -> argparse.Namespace:
    """The options before `--`. Anything else ends the program as argparse does, with status 2."""
    parser = argparse.ArgumentParser(prog="rocprofv3", allow_abbrev=False)
    parser.add_argument("-v", "--version", action="store_true")
    for names, follows in OPTIONS.items():
        parser.add_argument(*names.split(), **_settings(follows))
    return parser.parse_args(words)


def _settings(follows) -> dict:
    if follows == BOOLEAN:
        return {"nargs": "?", "const": True, "default": None, "type": lambda text: TRUTH[text.lower()]}
    if follows == WORDS:
        return {"nargs": "*"}
    if follows == INTEGER:
        return {"type": int}
    if follows == TEXT:
        return {}
    if follows[0] == WORDS:
        return {"nargs": "+", "choices": follows[1]}
    return {"choices": follows}


def option_names() -> set[str]:
    return {name for names in OPTIONS for name in names.split()} | {"-h", "--help", "-v", "--version"}
