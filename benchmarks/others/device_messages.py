"""The device's messages on stderr: a feature is not implemented, or a kernel did something that hardware refuses."""

from __future__ import annotations

import re

_MESSAGE = re.compile(r"rocm-perf-device: (?!.*leak).+|model: Unimplemented.*")
_REFUSAL = re.compile(r"does not (?:know|model)|not modelled|not supported|cannot|Unimplemented")


def first_message(text: str) -> str:
    """The first message in the text, or '' if there is none. Long kernel names, as in template libraries, are cut short."""
    match = _MESSAGE.search(text)
    return re.sub(r"(kernel .{60}).*?(: pc )", r"\1...\2", match.group()) if match else ""


def is_refusal(message: str) -> bool:
    return bool(_REFUSAL.search(message))
