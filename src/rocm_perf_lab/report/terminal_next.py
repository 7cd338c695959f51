"""What to do next: the rules' advice or, if missing counters prevent any advice, the commands that collect them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.arch.counter_passes import counter_passes
from rocm_perf_lab.report.schema import KernelAnalysis, ProfileDocument
from rocm_perf_lab.report.terminal_paragraphs import heading, say
from rocm_perf_lab.rocpd.trace import UNNAMED

if TYPE_CHECKING:
    from rich.console import Console

_NOTHING_SPEAKS = "no number stands out: make a thread trace to see where its waves spend their time"


def first_advice(kernel: KernelAnalysis, limit: int) -> list[str]:
    if kernel.bottleneck.advice or not kernel.bottleneck.undecided:
        return kernel.bottleneck.advice[:limit] or [_NOTHING_SPEAKS]
    return ["collect the missing counters: the end of the full report says how"]


def render_next(profile: ProfileDocument, kernel: KernelAnalysis, console: Console) -> None:
    heading(console, "What to try next")
    if kernel.bottleneck.advice or not kernel.bottleneck.undecided:
        for line in kernel.bottleneck.advice or [_NOTHING_SPEAKS]:
            say(console, f"- {line}")
        return
    passes = counter_passes(profile.gpu.target) if profile.timing == "measured" else []
    if not passes:
        how = "profile without --no-roofline" if profile.timing == "modelled" else "rocm-perf knows no counters of this GPU"
        say(console, f"- collect the missing counters: without them, no cause can be identified ({how})")
        return
    say(console, "- collect the missing counters, then give all databases to `rocm-perf analyze` together:")
    from rich.text import Text

    program = "PROGRAM" if profile.run.command == UNNAMED else profile.run.command
    for counters in passes:
        # The command stays on one line, however long it is, so that it can be copied.
        command = f"rocprofv3 --pmc {' '.join(counters)} --output-format rocpd -d counters -- {program}"
        console.print(Text(f"    {command}"), no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)
