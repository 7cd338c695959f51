"""Turns the timing parameter table (TOML) into a C++ header. Usage: generate_parameters.py TABLE HEADER"""

import hashlib
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


def parameters_hash(table: dict) -> str:
    """First 16 hex digits of the SHA-256 of all names and values; descriptions are not included."""
    text = "".join(f"{name}={table[name]['value']!r}\n" for name in sorted(table))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def header(table: dict) -> str:
    """Constants, except for the adjustable parameters: those are variables, of which there is also a table."""
    lines = ["// Generated from timing_gfx942.toml; edit that.", "#pragma once", "", "namespace rpd::parameter {", ""]
    adjustable = []
    for name, entry in table.items():
        kind = "double" if isinstance(entry["value"], float) else "long"
        if entry.get("adjustable"):
            adjustable.append(f'    {{"{name}", {"nullptr" if kind == "double" else "&" + name}, '
                              f'{"&" + name if kind == "double" else "nullptr"}, {entry["value"]}, {entry.get("most", 1e12)}}},')
        lines.append(f"{'inline' if entry.get('adjustable') else 'constexpr'} {kind} {name} = {entry['value']};")
    lines += ["", f'constexpr const char* hash = "{parameters_hash(table)}";', ""]
    lines += ["struct Adjustable {", "  const char* name;", "  long* integer;  // null for one that is", "  double* real;"]
    lines += ["  double usual;", "  double most;", "};", "inline const Adjustable adjustable[] = {", *adjustable, "};"]
    return "\n".join([*lines, "", "}  // namespace rpd::parameter", ""])


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    target.write_text(header(tomllib.loads(source.read_text())))


if __name__ == "__main__":
    main()
