"""Turns the table of the device's counters (TOML) into a C++ header. Usage: generate_counters.py TABLE HEADER"""

import json
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


# The block whose registers hold a counter, if it is not the first part of the counter's name: the scalar caches' events are
# among the SQ's, and RDNA's L2 has the same registers as CDNA's.
REGISTERS_OF = {"SQC": "SQ", "GL2C": "TCC"}


def header(table: dict) -> str:
    offered = {name: entry for name, entry in table.items() if "model" in entry}
    lines = ["// Generated: edit counters.toml instead.", "#pragma once", "", '#include "include/rocm_perf_device.h"', ""]
    lines += ["namespace rpd {", "", "enum class Counter {", *(f"  {name}," for name in offered), "};", ""]
    lines += ["constexpr rpd_counter_info kCounters[] = {"]
    for name, entry in offered.items():
        description = f"{entry['meaning']} ({entry['unit']})"
        lines.append(f'    {{"{name}", "{name.split("_")[0]}", {json.dumps(description)}}},')
    lines += ["};", "", "// The hardware's events; a counter without an entry here exists only on this device."]
    lines += ["struct HardwareEvent {", "  Counter counter;", "  const char* target;", "  const char* block;", "  unsigned event;", "};"]
    lines += ["constexpr HardwareEvent kHardwareEvents[] = {"]
    for name, entry in offered.items():
        block = name.split("_")[0]
        for target, event in entry["hardware"].items():
            lines.append(f'    {{Counter::{name}, "{target}", "{REGISTERS_OF.get(block, block)}", {event}}},')
    lines += ["};", "", "}  // namespace rpd", ""]
    return "\n".join(lines)


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    target.write_text(header(tomllib.loads(source.read_text())))


if __name__ == "__main__":
    main()
