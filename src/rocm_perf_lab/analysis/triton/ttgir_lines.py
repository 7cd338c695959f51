"""Which TTGIR operations a line of a function was compiled to."""

from __future__ import annotations

import re
from collections import defaultdict

_ALIAS = re.compile(r"^#(loc\d*) = loc\((.*)\)$", re.MULTILINE)
_LOCATION = re.compile(r'"([^"]*)":(\d+):\d+')
_REFERENCE = re.compile(r"#(loc\d*)\b")
_OPERATION = re.compile(r"^\s+(?:%[\w:, %#]+ = )?(\"?[a-z_]+\.[\w.]+\"?[ (].*?) loc\(#(loc\d*)\)\s*\{?$", re.MULTILINE)
_TRIVIAL = ("arith.constant", "tt.return", "scf.yield", "ttg.memdesc_index")


def operations_by_line(ttgir: str, file: str) -> dict[int, list[str]]:
    """Line of the file -> operations in the order of the code, without constants and the like.

    The operations of a function in another file count toward the line that calls it.
    """
    aliases = dict(_ALIAS.findall(ttgir))
    operations: dict[int, list[str]] = defaultdict(list)
    for operation, location in _OPERATION.findall(ttgir):
        line = _line(location, aliases, file)
        if line is not None and not operation.startswith(_TRIVIAL):
            operations[line].append(operation)
    return dict(operations)


def _line(location: str, aliases: dict[str, str], file: str) -> int | None:
    """The innermost line in `file`, None if there is none. A call site names the callee's place before the caller's."""
    waiting = [location]
    while waiting:
        text = aliases.get(waiting.pop(0), "")
        match = _LOCATION.match(text)
        if match is not None and match[1] == file:
            return int(match[2])
        waiting = _REFERENCE.findall(text) + waiting
    return None
