"""Test programs based on googletest: which cases they have, and the outcomes of those that were reached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from others.device_messages import first_message, is_refusal

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
REFUSED, FAULTED, CRASHED, TOO_LONG = "refused", "faulted", "crashed", "too long"  # these end the process
OUTCOMES = (PASSED, FAILED, REFUSED, FAULTED, CRASHED, TOO_LONG, SKIPPED)

# Tests may print on the same line as googletest, so its marks are searched for anywhere in a line.
_BEGIN = re.compile(r"\[ RUN {6}\] (\S+)")
_END = re.compile(r"\[ {7}OK \] (\S+?),? |\[ {2}(FAILED|SKIPPED) ? ?\] (\S+?),? ")
_NOISE = re.compile(r"^\s*$|^\[|^Note:|^Value of:|^Which is:|Google Test trace|^Warning: Resource leak")


def listed(output: str) -> list[str]:
    """The cases that --gtest_list_tests prints, as full names."""
    names, suite = [], ""
    for line in output.splitlines():
        name = line.partition("  # ")[0].rstrip()
        if re.fullmatch(r"\S+\.", name):
            suite = name
        elif suite and re.fullmatch(r"  \S+", name):
            names.append(suite + name.strip())
    return [name for name in names if "DISABLED_" not in name]


@dataclass
class Progress:
    """The progress of one process, followed line by line."""

    cases: Sequence[str] = ()  # those that the process was told to run
    outcomes: dict[str, tuple[str, str]] = field(default_factory=dict)  # name: (outcome, beginning of the reason)
    current: str | None = None
    _lines: list[str] = field(default_factory=list)
    _device: str = ""

    def line(self, text: str) -> None:
        """Read one line, which may contain the end of one case and the beginning of the next."""
        self._device = self._device or first_message(text)
        if self.current and (ended := _END.search(text + " ")):
            self._end(PASSED if ended[1] else ended[2].lower())
        elif self.current and len(self._lines) < 200 and not _NOISE.search(text):
            self._lines.append(text.strip())
        if begun := _BEGIN.search(text):
            self.current, self._lines, self._device = begun[1], [], ""

    def _end(self, outcome: str) -> None:
        if outcome == FAILED and self._device:
            outcome = refused_or_faulted(self._device)
        why = "" if outcome in (PASSED, SKIPPED) else self._device or cause(self._lines)
        self.outcomes[self.current or ""] = (outcome, why[:400])
        self.current = None

    @property
    def broken(self) -> bool:
        """Whether later outcomes of this process mean nothing: a queue accepts no more packets after a fault."""
        return any(outcome in (REFUSED, FAULTED) for outcome, _ in self.outcomes.values())

    def process_ended(self, status: int | None) -> None:
        """Record the end of the process as the outcome of the case that was running, if any. status: None if it was stopped."""
        if self.current is None:
            return
        why = self._device or (f"exit status {status}: " + " ".join(self._lines[-3:]))
        kind = refused_or_faulted(self._device) if self._device else TOO_LONG if status is None else CRASHED
        self.outcomes[self.current] = (kind, "" if kind == TOO_LONG else why[:400])
        self.current = None


def cause(lines: list[str]) -> str:
    """The reason for a failure. HIP's own error comes first, because it says more than the comparison that noticed it."""
    return " ".join([*re.findall(r"hipError\w+", " ".join(lines))[:1], *lines])


def refused_or_faulted(message: str) -> str:
    return REFUSED if is_refusal(message) else FAULTED


LIST = ("--gtest_list_tests",)
AT_ONCE = 2000  # cases per process: their names form a filter that every case is compared with


def parts(program: str, cases: list[str]) -> dict[str, list[str]]:
    """The cases by the part that has its own time limit and result, here the whole program."""
    return {program: cases}


def selection(cases: Iterable[str], file: Path) -> list[str]:
    """The arguments that select the cases, by way of a file: command lines are too short for thousands of names."""
    file.write_text("--gtest_filter=" + ":".join(cases) + "\n", "utf-8")
    return [f"--gtest_flagfile={file}", "--gtest_color=no"]


def counts(outcomes: dict[str, list[str]]) -> dict[str, int]:
    kinds = [outcome for outcome, _ in outcomes.values()]
    return {kind: kinds.count(kind) for kind in OUTCOMES}


def words(message: str) -> str:
    """The message without the parts that differ from case to case, so that equal causes can be counted."""
    kernel = re.sub(r"kernel .*?: pc 0x[0-9a-f]+ \([^)]*\): ", "", message)
    return re.sub(r"0x[0-9a-f]+|\b[asv]?\d+(?:\.\d+)?(?:e[-+]\d+)?\b", "N", kernel)[:160]
