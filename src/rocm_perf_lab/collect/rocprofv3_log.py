"""What rocprofv3 says on stderr when something is amiss, in our words.

Source: the messages of rocprofiler-sdk 1.0 and 1.1 (rocprofv3.py, rocprofiler-sdk-tool, att-tool) and reports of users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Complaint:
    """reason: for people. divisible: fewer counters at once may do. hopeless: no other pass of this kind will do either."""

    reason: str
    divisible: bool = False
    hopeless: bool = False


_COMPLAINTS = (
    (r"rocprof-trace-decoder library path not found|Decoder library not found",
     Complaint("rocprof-trace-decoder is not installed (https://github.com/ROCm/rocprof-trace-decoder)", hopeless=True)),
    (r"Error loading decoder", Complaint("the library rocprof-trace-decoder cannot be loaded", hopeless=True)),
    (r"INVALID_SHADER_DATA|Agent not supported",
     Complaint("the thread trace cannot be decoded: aqlprofile or rocprof-trace-decoder is too old", hopeless=True)),
    (r"EXCEEDS_HW_LIMIT|exceeds? (the )?hardware|Could not construct profile cfg|cannot be collected in (a )?single pass",
     Complaint("the GPU cannot collect these counters together", divisible=True)),
    (r"(?i)permission[ _]denied|operation not permitted|insufficient privilege",
     Complaint("permission denied: the GPU's counters are not open to this user", hopeless=True)),
    (r"SQLite3 error|database (disk image is malformed|or disk is full)",
     Complaint("rocprofv3 broke off while it wrote the database")),
)  # fmt: skip

_MISSING = re.compile(r"Unable to find all counters for agent.*?Missing: \[([^\]]*)\]", re.DOTALL)
_TROUBLE = re.compile(r"(?i)\b(fatal|error|abort|terminate|exception|warning)|^[FEW]\d{8} ")


def complaint(log: str) -> Complaint | None:
    """The first known complaint in the log; None if there is none."""
    return next((known for pattern, known in _COMPLAINTS if re.search(pattern, log)), None)


def missing_counters(log: str) -> set[str]:
    """Counters that rocprofv3 says no GPU of this machine has... as far as it says so: it goes on without them."""
    return {name.strip() for match in _MISSING.finditer(log) for name in match[1].split(",") if name.strip()}


def last_words(log: str, limit: int = 200) -> str:
    """The last line that speaks of trouble, or the last line at all, in at most `limit` characters; '' if none."""
    lines = [" ".join(line.split()) for line in log.splitlines() if line.strip()]
    troubles = [line for line in lines if _TROUBLE.search(line)]
    return (troubles or lines or [""])[-1][:limit]
