"""Turns the table of the device's counters (TOML) into a C++ header. Usage: generate_counters.py TABLE HEADER"""

import json
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


def header(table: dict) -> str:
    offered = {name: entry for name, entry in table.items() if "model" in entry}
    lines = ["// Generated from counters.toml; edit that.", "#pragma once", "", '#include "include/rocm_perf_device.h"', ""]
    lines += ["namespace rpd {", "", "enum class Counter {", *(f"  {name}," for name in offered), "};", ""]
    lines += ["constexpr rpd_counter_info kCounters[] = {"]
    for name, entry in offered.items():
        description = f"{entry['meaning']} ({entry['unit']})"
        lines.append(f'    {{"{name}", "{name.split("_")[0]}", {json.dumps(description)}}},')
    lines += ["};", "", "// The targets on which hardware has the counter, between blanks; empty: it is the device's own."]
    lines += ["constexpr const char* kHardware[] = {"]
    lines += [f'    "{"".join(f" {target}" for target in entry["hardware"])} ",' for entry in offered.values()]
    lines += ["};", "", "}  // namespace rpd", ""]
    return "\n".join(lines)


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    target.write_text(header(tomllib.loads(source.read_text())))


if __name__ == "__main__":
    main()
