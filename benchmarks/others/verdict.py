"""Whose fault a failure is: sorts what a program printed, and how it ended, into a few classes."""

from __future__ import annotations

import re

from others.device_messages import first_message, is_refusal
from others.process import RunResult

FINE, PROGRAM, ENVIRONMENT, PROJECT, TIME, OPEN = "", "program", "environment", "project", "time-out", "open"
CLASSES = (PROJECT, OPEN, TIME, PROGRAM, ENVIRONMENT)

_ENVIRONMENT = (
    r"fatal error: '[^']+' file not found",
    r"unable to find library -l\S+|cannot find -l\S+",
    r"No rule to make target [^\n]*",
    r"[^\n]*: (?:command )?not found",
    r"(?i)[^\n]*(?:can(?:no|')t|could not|unable to|failed to|fail to|error) "
    r"(?:open(?:ing)?|read file|find a (?:sub-)?directory)[^\n]*",
    r"[^\n]*No such file or directory[^\n]*",
    r"error while loading shared libraries: [^\n]*",
)
_BAD_ARGUMENTS = r"(?i)usage ?:[^\n]*"
# Only whole words match; "0 failures" and "no mismatch" do not.
_FAIL = re.compile(r"(?i)(?<!\bno )(?<!\b0 )\b(?:fail(?:ed|ure)?|mismatch|incorrect|not equal)\b(?!(?:\s+\w+)?\s*[:=]\s*0\b)")
_PASS = re.compile(r"(?i)\b(?:pass(?:ed)?|success(?:ful)?|correct)\b")


def self_check(output: str) -> str:
    """What the program reports about its own results; "none" if nothing is found."""
    return "FAIL" if _FAIL.search(output) else "PASS" if _PASS.search(output) else "none"


def of_build(ran: RunResult) -> tuple[str, str]:
    """Return (class, reason) for a build; the reason is empty if it succeeded."""
    if ran.status == 0:
        return FINE, ""
    if ran.status is None:
        return TIME, f"still building after {ran.seconds:.0f} s"
    message = _first_match(_ENVIRONMENT, ran.output)
    return (
        (ENVIRONMENT, message)
        if message
        else (PROGRAM, _first_match([r"[^\n]*error: [^\n]*"], ran.output) or last_line(ran.output))
    )


def of_run(ran: RunResult, check: str) -> tuple[str, str]:
    # What the device does not support is this project's fault; a kernel's fault may well be the program's.
    if message := first_message(ran.output):
        return (PROJECT if is_refusal(message) else OPEN), message
    if "Traceback (most recent" in ran.output:
        return PROJECT, last_line(ran.output)
    if ran.status is None:
        return TIME, f"still running after {ran.seconds:.0f} s"
    if ran.status == 0:
        return (OPEN, failing_line(ran.output)) if check == "FAIL" else (FINE, "")
    for cause in (_ENVIRONMENT, [_BAD_ARGUMENTS]):
        if message := _first_match(cause, ran.output):
            return (ENVIRONMENT if cause is _ENVIRONMENT else PROGRAM), message
    return OPEN, f"exit status {ran.status}: {last_line(ran.output)}"


def of_command(ran: RunResult) -> tuple[str, str]:
    """Return (class, reason) for one of this project's commands. The reason is its last error line, or else its last line."""
    if ran.status == 0:
        return FINE, ""
    if ran.status is None:
        return TIME, f"still running after {ran.seconds:.0f} s"
    messages = re.findall(r"(?m)^(?:error|rocm-perf)\b.*", ran.output)
    return (PROJECT if "Traceback (most recent" in ran.output else OPEN), f"exit status {ran.status}: " + (
        messages or [last_line(ran.output)]
    )[-1]


def failing_line(output: str) -> str:
    return next((line.strip() for line in output.splitlines() if _FAIL.search(line)), "")


def last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "nothing said")


def _first_match(patterns: tuple[str, ...] | list[str], output: str) -> str:
    return next((match.group().strip() for pattern in patterns if (match := re.search(pattern, output))), "")
