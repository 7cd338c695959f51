"""What the device says on stderr: that it has not built something, or that a kernel did what hardware would not carry out."""

from __future__ import annotations

import re

_ANY = re.compile(r"rocm-perf-device: (?!.*leak).+|model: Unimplemented.*")
_REFUSAL = re.compile(r"does not (?:know|model)|not modelled|not supported|cannot|Unimplemented")


def first_message(text: str) -> str:
    """Kernels of template libraries have names of thousands of characters, of which the first say enough."""
    found = _ANY.search(text)
    return re.sub(r"(kernel .{60}).*?(: pc )", r"\1...\2", found.group()) if found else ""


def is_refusal(message: str) -> bool:
    return bool(_REFUSAL.search(message))
