"""Turns the tables of timing parameters (TOML) into a C++ header. Usage: generate_parameters.py HEADER TABLE [TABLE...]

The first table contains every parameter. Each further table, timing_<target>.toml, lists those that differ on its target.
"""

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


def one_of_each_type(name: str, values: list) -> str:
    """The C++ type of a parameter. Raises SystemExit if the type is not the same in all tables."""
    if len({type(value) for value in values}) != 1:
        sys.exit(f"{name}: a whole number in some tables but not in others")
    return "double" if isinstance(values[0], float) else "long"


def header(tables: dict[str, dict]) -> str:
    """The header. Parameters are constants, except for adjustable ones and those that differ between targets."""
    lines = ["// Generated: edit timing_*.toml instead.", "#pragma once", "", "#include <cstddef>", ""]
    lines += ["namespace rpd::parameter {", ""]
    variables = []
    first, *others = tables.values()
    for name, entry in first.items():
        values = [table[name]["value"] for table in tables.values()]
        kind = one_of_each_type(name, values)
        adjustable = bool(entry.get("adjustable"))
        varies = adjustable or len(set(values)) > 1
        if varies:
            place = f"nullptr, &{name}" if kind == "double" else f"&{name}, nullptr"
            usual = ", ".join(map(str, values))
            variables.append(f'    {{"{name}", {place}, {{{usual}}}, {str(adjustable).lower()}, {entry.get("most", 1e12)}}},')
        lines.append(f"{'inline' if varies else 'constexpr'} {kind} {name} = {values[0]};")
    for table in others:
        if unknown := table.keys() - first.keys():
            sys.exit(f"{', '.join(sorted(unknown))}: not in the first table")
    hashes = ", ".join(f'"{parameters_hash(table)}"' for table in tables.values())
    targets = ", ".join(f'"{target}"' for target in tables)
    lines += ["", f"constexpr size_t tables = {len(tables)};", f"constexpr const char* targets[] = {{{targets}}};"]
    lines += [f"constexpr const char* hashes[] = {{{hashes}}};", ""]
    lines += ["struct Variable {", "  const char* name;", "  long* integer;  // null if it is real", "  double* real;"]
    lines += ["  double usual[tables];", "  bool adjustable;", "  double most;", "};"]
    lines += ["inline const Variable variables[] = {", *variables, "};"]
    return "\n".join([*lines, "", "}  // namespace rpd::parameter", ""])


def main() -> None:
    output, first, *others = map(Path, sys.argv[1:])
    usual = tomllib.loads(first.read_text())
    tables = {path.stem.removeprefix("timing_"): usual | tomllib.loads(path.read_text()) for path in (first, *others)}
    text = header(tables)
    # The header stays as it is if only comments have changed, so that nothing is recompiled.
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
